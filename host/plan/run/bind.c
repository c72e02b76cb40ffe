/* bind.c - runs with other values for the leaves: iterative solvers, plan:run{...}. */
#include <stdlib.h>
#include <string.h>

#include "plan/parts.h"

/* Remembers the set of leaves, so that a loop pays for the search once. What depends on them is neither
** looked up nor cached. */
static gb_status bind_leaves (gb_plan *p, size_t n, gb_node *const *leaf, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  if (p->binding != NULL && p->nbound == n && (n == 0 || memcmp(p->bound, leaf, n * sizeof *leaf) == 0))
    return GB_OK;
  if (p->binding == NULL) p->binding = calloc((size_t)low->nbufs + 1, sizeof *p->binding);
  gb_node **bound = realloc(p->bound, (n + 1) * sizeof *bound);
  if (bound != NULL) p->bound = bound;
  if (p->binding == NULL || bound == NULL) return gb_fail(err, GB_ENOMEM, "no memory to bind %zu leaves", n);
  if (n > 0) memcpy(p->bound, leaf, n * sizeof *leaf);
  p->nbound = n;
  for (int b = 0; b < low->nbufs; b++) {
    p->binding[b] = -1;
    p->depends[b] = false;
    for (size_t i = 0; low->buf[b].cls == GB_BUF_LEAF && i < n; i++)
      if (p->node[low->buf[b].source] == leaf[i]) {
        p->binding[b] = (int)i;
        p->depends[b] = true;
      }
  }
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    bool any = false;
    for (int i = 0; i < st->nin; i++) any |= p->depends[st->in[i]];
    for (int i = 0; i < st->nout; i++) p->depends[st->out[i]] |= any;
  }
  return GB_OK;
}

bool gb_plan_has_leaf (const gb_plan *p, const gb_node *leaf) {
  const gb_lowered *low = p->prog->low;
  for (int b = 0; b < low->nbufs; b++)
    if (low->buf[b].cls == GB_BUF_LEAF && p->node[low->buf[b].source] == leaf) return true;
  return false;
}

static bool same_layout (const gb_buf *buf, const gb_tensor *t) {
  if (t->storage == NULL || t->dtype != buf->dtype || !gb_shape_equal(&t->shape, &buf->shape)) return false;
  for (int i = 0; i < t->shape.ndim; i++)
    if (t->shape.dim[i] > 1 && t->stride[i] != buf->stride[i]) return false;
  return true;
}

static gb_status check_values (const gb_plan *p, const gb_tensor *value, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  for (int b = 0; b < low->nbufs; b++) {
    const gb_buf *buf = &low->buf[b];
    if (p->binding[b] < 0 || same_layout(buf, &value[p->binding[b]])) continue;
    char want[GB_SHAPE_TEXT], got[GB_SHAPE_TEXT];
    const gb_tensor *t = &value[p->binding[b]];
    return gb_fail(err, GB_ESHAPE, "a %s %s leaf of the same layout is planned here, got %s %s",
                   gb_shape_text(&buf->shape, want), gb_dtype_name(buf->dtype), gb_shape_text(&t->shape, got),
                   gb_dtype_name(t->dtype));
  }
  return GB_OK;
}

static void take_values (gb_plan *p, const gb_tensor *value) {
  for (int b = 0; b < p->prog->low->nbufs; b++)
    if (p->binding[b] >= 0) p->value[b] = gb_tensor_ref(&value[p->binding[b]]);
}

static void want_all (gb_plan *p) {
  for (size_t i = 0; i < p->nouts; i++) p->want[p->prog->low->out[i]] = true;
}

gb_status gb_plan_run_with (gb_plan *p, size_t n, gb_node *const *leaf, const gb_tensor *value,
                            gb_tensor *out, gb_error *err) {
  GB_TRY(bind_leaves(p, n, leaf, err));
  GB_TRY(check_values(p, value, err));
  for (int b = 0; b < p->prog->low->nbufs; b++) {
    p->want[b] = false;
    p->have[b] = !p->depends[b] && gb_plan_has_value(p, b);
    p->keep[b] = !p->depends[b];
  }
  want_all(p);
  GB_TRY(gb_plan_choose(p, err));
  take_values(p, value);
  const gb_status rc = gb_plan_execute(p, NULL, false, err);
  for (size_t i = 0; rc == GB_OK && i < p->nouts; i++)
    out[i] = gb_tensor_ref(&p->value[p->prog->low->out[i]]);
  gb_plan_clear(p);
  return rc;
}

/* A value that stays as long as its node: no cache. */
static bool is_pinned (const gb_plan *p, int b) {
  return gb_plan_has_value(p, b) && gb_plan_value(p, b)->tensor.storage->block.purpose != GB_MEM_CACHE;
}

/* The placement of runs whose memory is all the caller's. */
static gb_status place_closed (gb_plan *p, bool values, gb_error *err) {
  gb_plan_follow_threads(p);
  for (int b = 0; b < p->prog->low->nbufs; b++) {
    p->want[b] = p->keep[b] = false;
    p->have[b] = values && is_pinned(p, b);
  }
  want_all(p);
  gb_placement_unref(p->place);
  p->place = NULL;
  return gb_plan_find_whole(p, (gb_demand){p->want, p->have, p->keep}, &p->place, err);
}

gb_status gb_plan_arena (gb_plan *p, bool values, size_t *bytes, gb_error *err) {
  GB_TRY(place_closed(p, values, err));
  *bytes = p->place->arena;
  return GB_OK;
}

gb_status gb_plan_run_into (gb_plan *p, size_t n, gb_node *const *leaf, const gb_tensor *value,
                            const gb_tensor *out, bool values, void *arena, gb_error *err) {
  const gb_lowered *low = p->prog->low;
  GB_TRY(bind_leaves(p, n, leaf, err));
  GB_TRY(check_values(p, value, err));
  GB_TRY(place_closed(p, values && n == 0, err));
  take_values(p, value);
  for (size_t i = 0; i < p->nouts; i++) {
    const int b = low->out[i];
    if (low->buf[b].cls != GB_BUF_LEAF && !p->have[b] && p->value[b].storage == NULL)
      p->value[b] = gb_tensor_ref(&out[i]);
  }
  const gb_status rc = gb_plan_execute(p, arena, false, err);
  for (size_t i = 0; rc == GB_OK && i < p->nouts; i++)
    if (gb_tensor_data(&p->value[low->out[i]]) != gb_tensor_data(&out[i]))
      gb_tensor_copy(&out[i], &p->value[low->out[i]]);
  gb_plan_clear(p);
  return rc;
}
