/* bind.c - runs with other values for the leaves: iterative solvers, plan:run{...}. */
#include <stdlib.h>
#include <string.h>

#include "plan/run/run.h"
#include "tensor/host.h"

static void mark_bound (gb_run *r, size_t n, gb_node *const *leaf) {
  const gb_lowered *low = r->plan->prog->low;
  for (int b = 0; b < low->nbufs; b++) {
    r->binding[b] = -1;
    r->depends[b] = false;
    for (size_t i = 0; low->buf[b].cls == GB_BUF_LEAF && i < n; i++)
      if (gb_plan_node(r->plan, b) == leaf[i]) {
        r->binding[b] = (int)i;
        r->depends[b] = true;
      }
  }
}

static void mark_dependent (gb_run *r) {
  const gb_lowered *low = r->plan->prog->low;
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    bool any = false;
    for (int i = 0; i < st->nin; i++) any |= r->depends[st->in[i]];
    for (int i = 0; i < st->nout; i++) r->depends[st->out[i]] |= any;
  }
}

/* Remembers the set of leaves, so that a loop pays for the search once. What depends on them is neither
** looked up nor cached. */
static gb_status bind_leaves (gb_run *r, size_t n, gb_node *const *leaf, gb_error *err) {
  if (r->binding != NULL && r->nbound == n && (n == 0 || memcmp(r->bound, leaf, n * sizeof *leaf) == 0))
    return GB_OK;
  if (r->binding == NULL) r->binding = calloc((size_t)r->plan->prog->low->nbufs + 1, sizeof *r->binding);
  gb_node **bound = realloc(r->bound, (n + 1) * sizeof *bound);
  if (bound != NULL) r->bound = bound;
  if (r->binding == NULL || bound == NULL) return gb_fail(err, GB_ENOMEM, "no memory to bind %zu leaves", n);
  if (n > 0) memcpy(r->bound, leaf, n * sizeof *leaf);
  r->nbound = n;
  mark_bound(r, n, leaf);
  mark_dependent(r);
  return GB_OK;
}

bool gb_plan_has_leaf (const gb_plan *p, const gb_node *leaf) {
  const gb_lowered *low = p->prog->low;
  for (int b = 0; b < low->nbufs; b++)
    if (low->buf[b].cls == GB_BUF_LEAF && gb_plan_node(p, b) == leaf) return true;
  return false;
}

static bool same_layout (const gb_buf *buf, const gb_tensor *t) {
  if (t->storage == NULL || t->dtype != buf->dtype || !gb_shape_equal(&t->shape, &buf->shape)) return false;
  for (int i = 0; i < t->shape.ndim; i++)
    if (t->shape.dim[i] > 1 && t->stride[i] != buf->stride[i]) return false;
  return true;
}

/* The device of a leaf reads its value where it lies. */
static gb_status check_device (const gb_run *r, const gb_buf *buf, const gb_tensor *t, gb_error *err) {
  const gb_graph *g = r->plan->request.graph;
  const int at = gb_graph_device_of(g, t);
  if (at == buf->device) return GB_OK;
  const char *planned = gb_graph_device(g, buf->device)->name;
  return gb_fail(err, GB_EDEVICE, "a leaf on %s is planned here, got a value on %s: move it, y:to '%s'",
                 planned, gb_graph_device(g, at)->name, planned);
}

static gb_status check_values (const gb_run *r, const gb_tensor *value, gb_error *err) {
  const gb_lowered *low = r->plan->prog->low;
  for (int b = 0; b < low->nbufs; b++) {
    const gb_buf *buf = &low->buf[b];
    if (r->binding[b] < 0) continue;
    if (same_layout(buf, &value[r->binding[b]])) {
      GB_TRY(check_device(r, buf, &value[r->binding[b]], err));
      continue;
    }
    char want[GB_SHAPE_TEXT], got[GB_SHAPE_TEXT];
    const gb_tensor *t = &value[r->binding[b]];
    return gb_fail(err, GB_ESHAPE, "a %s %s leaf of the same layout is planned here, got %s %s",
                   gb_shape_text(&buf->shape, want), gb_dtype_name(buf->dtype), gb_shape_text(&t->shape, got),
                   gb_dtype_name(t->dtype));
  }
  return GB_OK;
}

static void take_values (gb_run *r, const gb_tensor *value) {
  for (int b = 0; b < r->plan->prog->low->nbufs; b++)
    if (r->binding[b] >= 0) r->value[b] = gb_tensor_ref(&value[r->binding[b]]);
}

static void want_outputs (gb_run *r) {
  const gb_lowered *low = r->plan->prog->low;
  for (int i = 0; i < low->nouts; i++) r->choice.want[low->out[i]] = true;
}

static gb_status run_bound (gb_run *r, size_t n, gb_node *const *leaf, const gb_tensor *value,
                            gb_error *err) {
  gb_choice *c = &r->choice;
  GB_TRY(bind_leaves(r, n, leaf, err));
  GB_TRY(check_values(r, value, err));
  for (int b = 0; b < r->plan->prog->low->nbufs; b++) {
    c->want[b] = false;
    c->have[b] = !r->depends[b] && gb_plan_has_value(r->plan, b);
    c->keep[b] = !r->depends[b];
  }
  want_outputs(r);
  GB_TRY(gb_choose(c, err));
  take_values(r, value);
  return gb_run_execute(r, NULL, false, err);
}

gb_status gb_plan_run_with (gb_plan *p, size_t n, gb_node *const *leaf, const gb_tensor *value,
                            gb_tensor *out, gb_error *err) {
  gb_run *r;
  GB_TRY(gb_run_open(p, &r, err));
  const gb_status rc = run_bound(r, n, leaf, value, err);
  for (int i = 0; rc == GB_OK && i < p->prog->low->nouts; i++)
    out[i] = gb_tensor_ref(&r->value[p->prog->low->out[i]]);
  gb_run_close(r);
  return rc;
}

/* A value that stays as long as its node: no cache. */
static bool is_pinned (const gb_plan *p, int b) {
  return gb_plan_has_value(p, b) && gb_plan_value(p, b)->tensor.storage->block.purpose != GB_MEM_CACHE;
}

/* The placement of runs whose memory is all the caller's. */
static gb_status choose_closed (gb_run *r, bool values, gb_error *err) {
  gb_choice *c = &r->choice;
  for (int b = 0; b < r->plan->prog->low->nbufs; b++) {
    c->want[b] = c->keep[b] = false;
    c->have[b] = values && is_pinned(r->plan, b);
  }
  want_outputs(r);
  return gb_choose_whole(c, err);
}

gb_status gb_plan_arena (gb_plan *p, bool values, size_t *bytes, gb_error *err) {
  gb_run *r;
  GB_TRY(gb_run_open(p, &r, err));
  const gb_status rc = choose_closed(r, values, err);
  if (rc == GB_OK) *bytes = r->choice.place->arena;
  gb_run_close(r);
  return rc;
}

/* The run writes to the caller's tensors, but for outputs that exist or are asked for twice. They may have been read
** before: their mirrors go. */
static gb_status run_closed (gb_run *r, size_t n, gb_node *const *leaf, const gb_tensor *value,
                             const gb_tensor *out, bool values, void *arena, gb_error *err) {
  const gb_lowered *low = r->plan->prog->low;
  GB_TRY(bind_leaves(r, n, leaf, err));
  GB_TRY(check_values(r, value, err));
  GB_TRY(choose_closed(r, values && n == 0, err));
  take_values(r, value);
  for (int i = 0; i < low->nouts; i++) {
    const int b = low->out[i];
    gb_storage_drop_mirror(out[i].storage);
    if (low->buf[b].cls != GB_BUF_LEAF && !r->choice.have[b] && r->value[b].storage == NULL)
      r->value[b] = gb_tensor_ref(&out[i]);
  }
  GB_TRY(gb_run_execute(r, arena, false, err));
  for (int i = 0; i < low->nouts; i++)
    if (gb_tensor_data(&r->value[low->out[i]]) != gb_tensor_data(&out[i]))
      GB_TRY(gb_tensor_copy(&out[i], &r->value[low->out[i]], err));
  return GB_OK;
}

gb_status gb_plan_run_into (gb_plan *p, size_t n, gb_node *const *leaf, const gb_tensor *value,
                            const gb_tensor *out, bool values, void *arena, gb_error *err) {
  gb_run *r;
  GB_TRY(gb_run_open(p, &r, err));
  const gb_status rc = run_closed(r, n, leaf, value, out, values, arena, err);
  gb_run_close(r);
  return rc;
}
