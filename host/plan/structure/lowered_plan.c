/* lowered_plan.c - lowering a structure, the axes it can be cut along, and what it takes. */
#include "plan/structure/lowered_plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan/place/orders.h"
#include "plan/place/signature.h"
#include "plan/structure/supports.h"

/* axes */

static bool is_known_axis (const gb_axes_found *found, int b, int dim) {
  for (int i = 0; i < found->n; i++)
    if (found->tiling[i]->dim[b] == dim) return true;
  return false;
}

static bool is_known (const gb_axes_found *found, const gb_tiling *c) {
  for (int i = 0; i < found->n; i++) {
    const gb_tiling *f = found->tiling[i];
    if (f->unit == c->unit && memcmp(f->phase, c->phase, (size_t)c->nsteps) == 0 &&
        memcmp(f->dim, c->dim, (size_t)c->nbufs * sizeof *c->dim) == 0 &&
        memcmp(f->again, c->again, (size_t)c->nbufs * sizeof *c->again) == 0)
      return true;
  }
  return false;
}

/* Of one axis with more loops, while more cut more steps: first with what is cheap computed again, then with all. 'found' may have
** the axis in one loop. */
static gb_status look_for_chains (const gb_lowered *low, const int *seed, gb_cut_rules rules, bool limited,
                                  gb_axes_found *found, gb_error *err) {
  static const int most[] = {2, 4, 8, GB_LOOPS};
  const int n = 2 * (int)(sizeof most / sizeof most[0]);
  gb_status rc = GB_OK;
  for (int i = 0; i < n && rc == GB_OK && (limited || i % 2 == 1) && found->n < GB_CHAINS; i++) {
    gb_tiling *c = NULL;
    rules.loops = most[i / 2];
    rules.thrifty = i % 2 == 0;
    rc = gb_cut_along(low, seed, rules, &c, err);
    limited = c != NULL && c->limited;
    if (c != NULL && c->nloops > 1 && c->unit < c->extent && !is_known(found, c))
      found->tiling[found->n++] = c;
    else gb_tiling_unref(c);
  }
  return rc;
}

/* How the axis of prog->batch is cut: its sums are those that can be summed in grains in any number of loops. */
static gb_status find_batch_cuts (gb_lowered_plan *prog, const int *seed, gb_error *err) {
  gb_axes_found *found = &prog->batch_cuts;
  const gb_cut_rules rules = {.grain = prog->batch->grain, .of = prog->batch};
  gb_tiling *c;
  GB_TRY(gb_cut_along(prog->low, seed, rules, &c, err));
  if (c != NULL) found->tiling[found->n++] = c;
  return prog->low->ndevices > 1
             ? GB_OK
             : look_for_chains(prog->low, seed, rules, c == NULL || c->limited, found, err);
}

/* The leaves that name an axis of the same extent as the first that does. */
static gb_status find_batch (gb_lowered_plan *prog, gb_node *const *node, gb_error *err) {
  const gb_lowered *low = prog->low;
  int *seed = malloc(((size_t)low->nbufs + 1) * sizeof *seed);
  size_t extent = 0;
  if (seed == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  for (int b = 0; b < low->nbufs; b++) {
    const gb_node *n = node[low->buf[b].source];
    seed[b] = low->buf[b].cls == GB_BUF_LEAF ? n->batch - 1 : -1;
    if (seed[b] < 0) continue;
    if (extent == 0) extent = low->buf[b].shape.dim[seed[b]];
    if (low->buf[b].shape.dim[seed[b]] != extent) seed[b] = -1;
  }
  gb_status rc = GB_OK;
  if (extent > 1)
    rc = gb_cut_along(low, seed, (gb_cut_rules){.grain = gb_grain(extent), .loops = GB_LOOPS}, &prog->batch,
                      err);
  if (rc == GB_OK && prog->batch != NULL) rc = find_batch_cuts(prog, seed, err);
  free(seed);
  return rc;
}

/* An axis that a tiling has already may be cut from another leaf on, in fewer steps: of few steps that is
** tried too. */
static gb_status look_along (const gb_lowered *low, int b, int dim, int *seed, bool math, gb_cut_rules rules,
                             gb_axes_found *found, gb_error *err) {
  const size_t extent = low->buf[b].shape.dim[dim];
  gb_tiling *c = NULL;
  if (found->n == (gb_is_short(low) ? GB_TILINGS : GB_AXES) || extent < 2) return GB_OK;
  if (!gb_is_short(low) && is_known_axis(found, b, dim)) return GB_OK;
  seed[b] = dim;
  if (math) rules.grain = gb_grain(extent);
  const gb_status rc = gb_cut_along(low, seed, rules, &c, err);
  seed[b] = -1;
  if (c != NULL && c->unit < c->extent && !is_known(found, c)) found->tiling[found->n++] = c;
  else gb_tiling_unref(c);
  return rc;
}

/* Axes that begin at no leaf: of the results of steps, where none of the tilings has them. */
static gb_status look_at_results (const gb_lowered *low, int *seed, bool math, gb_cut_rules rules,
                                  gb_axes_found *found, gb_error *err) {
  int tries = 0;
  for (int s = 0; s < low->nsteps; s++)
    for (int i = 0; i < low->step[s].nout; i++) {
      const int b = low->step[s].out[i];
      for (int k = 0; k < low->buf[b].shape.ndim && tries < GB_SOURCES; k++) {
        if (low->buf[b].shape.dim[k] < 2 || is_known_axis(found, b, k)) continue;
        tries++;
        GB_TRY(look_along(low, b, k, seed, math, rules, found, err));
      }
    }
  return GB_OK;
}

/* One axis of one leaf after the other, each as far as it gives something new; then those of results. */
gb_status gb_lowered_plan_find_tilings (gb_lowered_plan *prog, bool math, bool sums,
                                        const gb_axes_found **out, gb_error *err) {
  const gb_lowered *low = prog->low;
  gb_axes_found *found = sums ? &prog->sums : math ? &prog->math : &prog->bits;
  *out = found;
  if (found->looked) return GB_OK;
  int *seed = malloc(((size_t)low->nbufs + 1) * sizeof *seed);
  if (seed == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  for (int b = 0; b < low->nbufs; b++) seed[b] = -1;
  const gb_cut_rules rules = {.grains = math ? NULL : prog->batch, .sums = sums};
  gb_status rc = GB_OK;
  for (int b = 0; b < low->nbufs; b++)
    for (int k = 0; rc == GB_OK && low->buf[b].cls == GB_BUF_LEAF && k < low->buf[b].shape.ndim; k++)
      rc = look_along(low, b, k, seed, math, rules, found, err);
  if (rc == GB_OK && !sums) rc = look_at_results(low, seed, math, rules, found, err);
  free(seed);
  found->looked = rc == GB_OK;
  return rc;
}

/* Where all lies on one device. */
gb_status gb_lowered_plan_find_chains (gb_lowered_plan *prog, bool math, const gb_axes_found **out,
                                       gb_error *err) {
  const gb_lowered *low = prog->low;
  const gb_axes_found *axes;
  gb_axes_found *found = math ? &prog->math_chains : &prog->bits_chains;
  *out = found;
  if (found->looked || low->ndevices > 1) return GB_OK;
  GB_TRY(gb_lowered_plan_find_tilings(prog, math, false, &axes, err));
  int *seed = malloc(((size_t)low->nbufs + 1) * sizeof *seed);
  if (seed == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  for (int b = 0; b < low->nbufs; b++) seed[b] = -1;
  gb_status rc = GB_OK;
  for (int i = 0; rc == GB_OK && i < axes->n; i++) {
    const gb_tiling *c = axes->tiling[i];
    const gb_cut_rules rules = {.grain = c->grain, .grains = math ? NULL : prog->batch};
    seed[c->leaf] = c->dim[c->leaf];
    rc = look_for_chains(low, seed, rules, c->limited, found, err);
    seed[c->leaf] = -1;
  }
  free(seed);
  found->looked = rc == GB_OK;
  return rc;
}

/* lowering */

static void max_int (int *a, int b) {
  if (b > *a) *a = b;
}

enum { FEW = 1 << 22 }; /* elements: a staged product of so many may exist whole */

/* Returns the source of the innermost large staged product that cannot be made in windows, or -1. */
static int find_uncut (const gb_lowered *low, const gb_nest *nest, gb_node *const *node,
                       const bool *inlined) {
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    const gb_buf *b = &low->buf[st->out[0]];
    const bool product = node[b->source]->op == GB_OP_MATMUL && !inlined[b->source];
    if (b->staged && b->cls == GB_BUF_TEMP && product && gb_shape_numel(&b->shape) > FEW &&
        (nest == NULL || !nest->inside[s]))
      return (int)b->source;
  }
  return -1;
}

/* Lowers, with products staged but for large ones that would exist whole: those are inlined where that can
** be lowered. A function of the graph alone. */
static gb_status lower (gb_graph *g, const gb_order *o, size_t nouts, gb_node *const *outs,
                        gb_lowered_plan *p, gb_error *err) {
  bool *inlined = calloc(o->count + 1, sizeof *inlined);
  if (inlined == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  gb_status rc = gb_lower_ordered(g, o, nouts, outs, NULL, &p->low, err);
  if (rc == GB_OK) rc = gb_lowered_bring_home(g, p->low, err);
  if (rc == GB_OK) rc = gb_find_nest(p->low, &p->nest, err);
  for (int at; rc == GB_OK && (at = find_uncut(p->low, p->nest, o->node, inlined)) >= 0;) {
    gb_lowered *low;
    gb_error refused;
    inlined[at] = true;
    const gb_status tried = gb_lower_ordered(g, o, nouts, outs, inlined, &low, &refused);
    if (tried == GB_EREFUSED) break;
    if (tried != GB_OK) {
      *err = refused;
      rc = tried;
      break;
    }
    gb_nest_free(p->nest, p->low->nsteps);
    gb_lowered_free(p->low);
    p->low = low;
    p->nest = NULL;
    rc = gb_lowered_bring_home(g, p->low, err);
    if (rc == GB_OK) rc = gb_find_nest(p->low, &p->nest, err);
  }
  free(inlined);
  return rc;
}

/* kernels */

static gb_status compile_step (gb_kernels *k, int s, gb_error *err) {
  const gb_lowered *low = gb_kernels_lowered(k);
  const gb_step *st = &low->step[s];
  if (!st->is_fold || gb_step_is_idle(low, st)) return GB_OK;
  return gb_kernels_compile(k, s, &st->fold, err);
}

gb_kernels *gb_lowered_plan_kernels (const gb_lowered_plan *p, const gb_device *dev) {
  for (int i = 0; i < GB_DEVICES && p->kernels[i] != NULL; i++)
    if (gb_kernels_device(p->kernels[i]) == dev) return p->kernels[i];
  return NULL;
}

gb_status gb_lowered_plan_compile (gb_lowered_plan *p, const gb_graph *g, gb_device *dev,
                                   const gb_tiling *tiling, gb_error *err) {
  gb_kernels *k = gb_lowered_plan_kernels(p, dev);
  int at = 0;
  while (k == NULL && at < GB_DEVICES && p->kernels[at] != NULL) at++;
  if (at == GB_DEVICES) return gb_fail(err, GB_EDEVICE, "a plan has at most %d devices", GB_DEVICES);
  if (k == NULL) {
    GB_TRY(gb_kernels_new(dev, g, p->low, &p->kernels[at], err));
    k = p->kernels[at];
  }
  for (int s = 0; s < p->low->nsteps; s++)
    if (gb_is_within(tiling, s)) GB_TRY(compile_step(k, s, err));
  return GB_OK;
}

/* The factors that can be packed on the device. */
static gb_status find_packed (const gb_graph *g, gb_lowered_plan *p, gb_error *err) {
  int found, kept = 0;
  GB_TRY(gb_find_triangles(p->low, &p->packed_factor, &found, err));
  for (int i = 0; i < found; i++)
    if (gb_packed_factor_supported(g, p->low, &p->packed_factor[i]))
      p->packed_factor[kept++] = p->packed_factor[i];
  p->npacked_factors = kept;
  return GB_OK;
}

static int threads_of (const gb_graph *g, int number) {
  return gb_pool_threads(gb_graph_device(g, number)->pool);
}

static void note_threads (gb_lowered_plan *p, const gb_graph *g) {
  for (int i = 0; i < p->low->ndevices; i++) p->threads[i] = threads_of(g, i);
}

gb_status gb_lowered_plan_new (gb_graph *g, const gb_order *o, size_t nouts, gb_node *const *outs,
                               gb_lowered_plan **out, gb_error *err) {
  gb_lowered_plan *p = calloc(1, sizeof *p);
  if (p == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  *p = (gb_lowered_plan){.refs = 1, .structure = o->structure, .nnodes = o->count, .nouts = nouts};
  gb_status rc = lower(g, o, nouts, outs, p, err);
  if (rc == GB_OK) rc = gb_lowered_supported(g, g->device, p->low, err);
  if (rc == GB_OK) {
    p->scratch = calloc((size_t)p->low->nsteps + 1, sizeof *p->scratch);
    p->arithmetic = calloc((size_t)p->low->nbufs + 1, sizeof *p->arithmetic);
    if (p->scratch == NULL || p->arithmetic == NULL)
      rc = gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", p->low->nsteps);
    else rc = find_batch(p, o->node, err);
    if (rc == GB_OK) rc = find_packed(g, p, err);
    if (rc == GB_OK) rc = gb_buffer_signatures(p->low, p->batch, p->arithmetic, err);
  }
  if (rc != GB_OK) {
    if (p->low != NULL) gb_lowered_plan_unref(p);
    else free(p);
    return rc;
  }
  note_threads(p, g);
  rc = gb_kernels_new(g->device, g, p->low, &p->kernels[0], err);
  for (int s = 0; s < p->low->nsteps && rc == GB_OK; s++) {
    const gb_step *st = &p->low->step[s];
    rc = gb_step_contract(st, err);
    if (rc == GB_OK) rc = compile_step(p->kernels[0], s, err);
    if (rc == GB_OK) p->scratch[s] = gb_step_scratch(p->kernels[0], s);
    max_int(&p->widest_in, st->nin);
    max_int(&p->widest_out, st->nout);
    max_int(&p->most_constants, st->nconstants);
  }
  if (rc == GB_OK) *out = p;
  else gb_lowered_plan_unref(p);
  return rc;
}

/* the whole */

void gb_lowered_plan_unref (gb_lowered_plan *p) {
  if (p == NULL || --p->refs > 0) return;
  for (int i = 0; i < GB_PLACEMENTS; i++) gb_placement_unref(p->placed[i].place);
  for (int i = 0; i < p->bits.n; i++) gb_tiling_unref(p->bits.tiling[i]);
  for (int i = 0; i < p->math.n; i++) gb_tiling_unref(p->math.tiling[i]);
  for (int i = 0; i < p->sums.n; i++) gb_tiling_unref(p->sums.tiling[i]);
  for (int i = 0; i < p->bits_chains.n; i++) gb_tiling_unref(p->bits_chains.tiling[i]);
  for (int i = 0; i < p->math_chains.n; i++) gb_tiling_unref(p->math_chains.tiling[i]);
  for (int i = 0; i < p->batch_cuts.n; i++) gb_tiling_unref(p->batch_cuts.tiling[i]);
  gb_tiling_unref(p->batch);
  free(p->packed_factor);
  gb_nest_free(p->nest, p->low->nsteps);
  for (int i = 0; i < GB_DEVICES; i++) gb_kernels_free(p->kernels[i]);
  gb_lowered_free(p->low);
  free(p->scratch);
  free(p->arithmetic);
  if (p->ledger != NULL) gb_ledger_unbook(p->ledger, p->booked);
  free(p);
}

/* Bytes of host memory behind a program: its steps, values and kernels, and as much again for each placement that
** it remembers, which is a little more than they take. */
static size_t bytes_of (const gb_lowered_plan *p) {
  const gb_lowered *low = p->low;
  size_t bytes = sizeof *p + (size_t)low->nbufs * (sizeof *low->buf + sizeof *p->arithmetic);
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    const gb_fold *f = &st->fold;
    bytes += sizeof *st + sizeof *p->scratch + (size_t)(st->nin + st->nout) * sizeof(int) +
             (size_t)st->nconstants * sizeof(size_t);
    bytes += (size_t)f->noperands * sizeof *f->operand + (size_t)f->nins * sizeof *f->ins +
             (size_t)f->nouts * sizeof *f->out;
  }
  const size_t placement = sizeof(gb_placement) + (size_t)low->nbufs * (sizeof(gb_life) + 8 * sizeof(int)) +
                           (size_t)low->nsteps * (2 * sizeof(gb_life) + 4 * sizeof(int));
  for (int i = 0; i < GB_PLACEMENTS; i++)
    if (p->placed[i].place != NULL)
      bytes += placement + (size_t)p->placed[i].place->nplaces * (sizeof(gb_life) + sizeof(int));
  for (int i = 0; i < GB_DEVICES && p->kernels[i] != NULL; i++) bytes += gb_kernels_bytes(p->kernels[i]);
  return bytes;
}

gb_status gb_lowered_plan_book (gb_lowered_plan *p, gb_ledger *l, gb_error *err) {
  p->ledger = l;
  gb_ledger_unbook(l, p->booked);
  p->booked = 0;
  const size_t now = bytes_of(p);
  GB_TRY(gb_ledger_book(l, now, "a plan", err));
  p->booked = now;
  return GB_OK;
}

bool gb_lowered_plan_has_threads (const gb_lowered_plan *p, const gb_graph *g) {
  for (int i = 0; i < p->low->ndevices; i++)
    if (p->threads[i] != threads_of(g, i)) return false;
  return true;
}

void gb_lowered_plan_follow_threads (gb_lowered_plan *p, const gb_graph *g) {
  if (gb_lowered_plan_has_threads(p, g)) return;
  note_threads(p, g);
  for (int s = 0; s < p->low->nsteps; s++) p->scratch[s] = gb_step_scratch(p->kernels[0], s);
  for (int i = 0; i < GB_PLACEMENTS; i++) {
    gb_placement_unref(p->placed[i].place);
    p->placed[i].place = NULL;
  }
}
