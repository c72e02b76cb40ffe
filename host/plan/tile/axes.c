/* axes.c - following an axis through the steps of a lowered graph. */
#include "plan/tile/axes.h"

#include <stdlib.h>

#include "program/work.h"

size_t gb_grain (size_t extent) {
  size_t g = 1;
  while (g < 256 && g * 16 <= extent) g *= 2;
  return g;
}

typedef struct follow {
  const gb_lowered *low;
  const int *seed; /* [nbufs] the dimension along which the axis begins at a buffer, -1: it does not */
  gb_tiling *c;
  bool *made;              /* [nbufs] by a step within: only a window of it need exist */
  int *ready;              /* [nbufs] loops before it can be read; made: before its windows can be */
  bool *barred;            /* [nsteps] may not be cut */
  bool *whole;             /* [nbufs] made, and exists whole */
  unsigned *loops, *asked; /* [nsteps], [nbufs] of gb_find_loops */
  gb_cut_rules rules;
  bool again; /* another leaf turned out to have the axis, or a step may not be cut */
} follow;

static bool is_leaf (const follow *f, int b) { return f->low->buf[b].cls == GB_BUF_LEAF; }

/* Dimensions before 'dim' have one index: a window of the buffer is one run of memory. */
static bool leads (const gb_buf *b, int dim) {
  for (int k = 0; k < dim; k++)
    if (b->shape.dim[k] != 1) return false;
  return true;
}

/* folds */

/* What the fold reads and writes agrees with a cut along its axis; results get their dimension. */
static bool fold_agrees (follow *f, const gb_step *st, const gb_cut *c) {
  const gb_fold *p = &st->fold;
  for (int i = 0; i < p->noperands; i++) {
    const gb_operand *o = &p->operand[i];
    if (o->slot < 0 || !f->made[st->in[o->slot]]) continue;
    const int b = st->in[o->slot];
    gb_cut own;
    if (f->c->dim[b] < 0 ||
        !gb_cut_axis_of(p, o->stride, o->offset, &f->low->buf[b], f->c->dim[b], f->c->grain, &own) ||
        !gb_cut_same(&own, c))
      return false;
  }
  for (int i = 0; i < p->nouts; i++) {
    const gb_out *o = &p->out[i];
    if (o->reduced >> c->axis & 1) continue;
    if (gb_cut_dim_of(p, o->stride, o->offset, &f->low->buf[st->out[o->slot]], c, f->c->extent) < 0)
      return false;
  }
  return true;
}

static bool try_axis (follow *f, const gb_step *st, gb_cut *c) {
  c->cut = true;
  return gb_cut_fold_unit(&st->fold, c, f->c->grain) && fold_agrees(f, st, c);
}

/* The first axis along which some operand has the cut dimension and everything agrees; where the results
** keep it, if there is one. */
static bool cut_fold (follow *f, const gb_step *st, gb_cut *c) {
  const gb_fold *p = &st->fold;
  bool found = false;
  for (int i = 0; i < p->noperands; i++) {
    const gb_operand *o = &p->operand[i];
    const int b = o->slot < 0 ? -1 : st->in[o->slot];
    gb_cut each;
    if (b < 0 || f->c->dim[b] < 0) continue;
    if (!gb_cut_axis_of(p, o->stride, o->offset, &f->low->buf[b], f->c->dim[b], f->c->grain, &each)) continue;
    if (!try_axis(f, st, &each) || (found && each.reduces)) continue;
    *c = each;
    found = true;
    if (!each.reduces) break;
  }
  return found;
}

/* The axis begins at a result of the fold: nothing that it reads has it. */
static bool cut_source (follow *f, const gb_step *st, gb_cut *c) {
  const gb_fold *p = &st->fold;
  for (int i = 0; i < p->nouts; i++) {
    const gb_out *o = &p->out[i];
    const int b = st->out[o->slot];
    if (f->seed[b] < 0 ||
        !gb_cut_axis_of(p, o->stride, o->offset, &f->low->buf[b], f->seed[b], f->c->grain, c))
      continue;
    if (try_axis(f, st, c) && !c->reduces) return true;
  }
  return false;
}

/* Other leaves that the fold walks along the same axis have it too. */
static void find_leaves (follow *f, const gb_step *st, const gb_cut *c) {
  const gb_fold *p = &st->fold;
  for (int i = 0; i < p->noperands; i++) {
    const gb_operand *o = &p->operand[i];
    const int b = o->slot < 0 ? -1 : st->in[o->slot];
    if (b < 0 || !is_leaf(f, b) || f->c->dim[b] >= 0 || o->stride[c->axis] == 0) continue;
    const int dim = gb_cut_dim_of(p, o->stride, o->offset, &f->low->buf[b], c, f->c->extent);
    if (dim < 0) continue;
    f->c->dim[b] = dim;
    f->again = true;
  }
}

static void mark_fold (follow *f, const gb_step *st, const gb_cut *c, int loop) {
  const gb_fold *p = &st->fold;
  for (int i = 0; i < p->nouts; i++) {
    const gb_out *o = &p->out[i];
    const int b = st->out[o->slot];
    const bool reduced = o->reduced >> c->axis & 1;
    f->ready[b] = loop + reduced;
    f->made[b] = !reduced;
    f->c->dim[b] = reduced ? -1 : gb_cut_dim_of(p, o->stride, o->offset, &f->low->buf[b], c, f->c->extent);
  }
  find_leaves(f, st, c);
}

/* opaque ops */

/* The dimension of 'to' that steps through memory as dimension 'dim' of 'from' does, -1 if 'to' has no such
** dimension. An op may see its operand with axes of extent 1 more or fewer, or otherwise reshaped. */
static int same_dim (const gb_shape *from, int dim, const gb_shape *to) {
  for (int k = 0; dim >= 0 && k < to->ndim; k++)
    if (to->dim[k] == from->dim[dim] && gb_elements_apart(to, k) == gb_elements_apart(from, dim)) return k;
  return -1;
}

static const gb_shape *shape_of (const follow *f, int b) { return &f->low->buf[b].shape; }

/* Buffers of which only a window exists are cut as the op cuts them; those that exist whole lie in one
** run. */
static bool opaque_agrees (const follow *f, const gb_step *st, const gb_cut *c) {
  for (int i = 0; i < st->nin; i++) {
    const int b = st->in[i], dim = gb_cut_operand(c, i);
    const gb_shape in = gb_opaque_operand(&st->opaque, i);
    const int own = dim < 0 ? -1 : same_dim(&in, dim, shape_of(f, b));
    if (f->made[b] && f->c->dim[b] != own) return false;
    if (f->made[b] || dim < 0) continue;
    if (own < 0 || shape_of(f, b)->dim[own] != f->c->extent) return false;
    if (!leads(&f->low->buf[b], own) && !gb_takes_strides(&st->opaque, i, dim)) return false;
  }
  for (int k = 0; k < st->nout; k++)
    if (c->out_dim[k] >= 0 && same_dim(&st->opaque.out_shape[k], c->out_dim[k], shape_of(f, st->out[k])) < 0)
      return false;
  return true;
}

static bool cut_opaque (const follow *f, const gb_step *st, gb_cut *c) {
  /* a function of so many keeps no shapes */
  if (st->nin > GB_CUT_SLOTS && st->opaque.op != GB_OP_CAT) return false;
  for (int i = 0; i < st->nin; i++) {
    const gb_shape in = gb_opaque_operand(&st->opaque, i);
    const int b = st->in[i], dim = same_dim(shape_of(f, b), f->c->dim[b], &in);
    if (dim < 0 || !gb_cut_opaque(&st->opaque, i, dim, f->c->grain, c)) continue;
    if (opaque_agrees(f, st, c)) return true;
  }
  return false;
}

static void mark_opaque (follow *f, const gb_step *st, const gb_cut *c, int loop) {
  for (int k = 0; k < st->nout; k++) {
    const int b = st->out[k];
    f->c->dim[b] = c->out_dim[k] < 0 ? -1 : same_dim(&st->opaque.out_shape[k], c->out_dim[k], shape_of(f, b));
    f->made[b] = c->out_dim[k] >= 0;
    f->ready[b] = loop + !f->made[b];
  }
}

/* the whole */

static bool has_axis (const follow *f, const gb_step *st) {
  for (int i = 0; i < st->nin; i++)
    if (f->c->dim[st->in[i]] >= 0) return true;
  return false;
}

static bool begins_axis (const follow *f, const gb_step *st) {
  for (int k = 0; k < st->nout; k++)
    if (f->seed[st->out[k]] >= 0) return true;
  return false;
}

/* Loops that are over before the step can run; 'whole': before it can run once, on all of what it reads. */
static int loops_before (const follow *f, const gb_step *st, bool whole) {
  int most = 0;
  for (int i = 0; i < st->nin; i++) {
    const int b = st->in[i], n = f->ready[b] + (whole && f->made[b]);
    if (n > most) most = n;
  }
  return most;
}

static bool reads_made (const follow *f, const gb_step *st) {
  for (int i = 0; i < st->nin; i++)
    if (f->made[st->in[i]]) return true;
  return false;
}

/* A fold, or joined entries, of what exists whole to results that lack the axis: windows would spare it nothing, and run
** before them its results are there for all windows. */
static bool gains_nothing (const follow *f, const gb_step *st, const gb_cut *c) {
  if (!st->is_fold) return gb_op_joins_entries(st->opaque.op) && c->reduces && !reads_made(f, st);
  for (int i = 0; i < st->fold.nouts && st->is_fold; i++)
    if (!(st->fold.out[i].reduced >> c->axis & 1)) return false;
  return st->is_fold && !reads_made(f, st);
}

static void run_once (follow *f, int s) {
  const gb_step *st = &f->low->step[s];
  const int before = loops_before(f, st, true);
  f->c->cut[s].cut = false;
  f->c->phase[s] = (unsigned char)(2 * before);
  for (int k = 0; k < st->nout; k++) {
    f->ready[st->out[k]] = before;
    f->c->dim[st->out[k]] = f->seed[st->out[k]];
  }
}

/* A sum in grains of another axis adds them in order: windows of this one would come between. */
static bool keeps_grains (const follow *f, int s) {
  const gb_tiling *g = f->rules.grains, *of = f->rules.of;
  if (of != NULL && f->c->cut[s].reduces)
    return gb_is_within(of, s) && of->cut[s].reduces && gb_cut_same(&of->cut[s], &f->c->cut[s]);
  return !(gb_is_within(g, s) && g->cut[s].reduces && f->c->cut[s].reduces);
}

static void run_within (follow *f, int s, int loop) {
  const gb_step *st = &f->low->step[s];
  const gb_cut *c = &f->c->cut[s];
  f->c->phase[s] = (unsigned char)(2 * loop + 1);
  f->c->within++;
  if (loop >= f->c->nloops) f->c->nloops = loop + 1;
  if (c->unit > f->c->unit) f->c->unit = c->unit;
  if (st->is_fold) mark_fold(f, st, c, loop);
  else mark_opaque(f, st, c, loop);
}

static void follow_step (follow *f, int s) {
  const gb_step *st = &f->low->step[s];
  gb_cut *c = &f->c->cut[s];
  const int loop = loops_before(f, st, false);
  const bool has = has_axis(f, st), allowed = loop < f->rules.loops;
  *c = (gb_cut){0};
  if (!has && begins_axis(f, st)) {
    if (st->is_fold && !f->barred[s] && cut_source(f, st, c)) run_within(f, s, loop);
    else run_once(f, s);
    return;
  }
  if (has && allowed && !f->barred[s] && (st->is_fold ? cut_fold(f, st, c) : cut_opaque(f, st, c)) &&
      keeps_grains(f, s)) {
    if (f->rules.sums || !gains_nothing(f, st, c)) run_within(f, s, loop);
    else run_once(f, s);
    return;
  }
  f->c->limited |= has && !allowed;
  if (has && f->c->coupled < 0) f->c->coupled = s;
  run_once(f, s);
}

/* computed again */

/* Operations a byte from which a step is no cheap one. */
enum { MANY_FLOPS = 4 };

static bool is_dear (const gb_step *st) {
  const gb_work w = st->is_fold ? gb_fold_work(&st->fold) : gb_opaque_work(&st->opaque);
  return w.flops > MANY_FLOPS * w.bytes;
}

/* A registered op is called once; a factorisation is nothing to repeat; totals run through one loop. */
static bool may_repeat (const follow *f, int s) {
  const gb_step *st = &f->low->step[s];
  if (f->c->cut[s].reduces || gb_step_is_home(st)) return false;
  if (!st->is_fold && (st->opaque.op == GB_OP_CALL || st->opaque.op == GB_OP_MOVE ||
                       gb_op_has(st->opaque.op, GB_TRAIT_DIRECT)))
    return false;
  return !f->rules.thrifty || !is_dear(st);
}

/* Exists whole although it is made window by window: it was asked for, or is read by a step that runs once; or in
** other loops than those that make it. */
static void find_whole (follow *f) {
  gb_tiling *c = f->c;
  for (int b = 0; b < c->nbufs; b++) f->whole[b] = f->low->buf[b].cls == GB_BUF_OUTPUT, c->again[b] = false;
  for (int s = 0; s < c->nsteps; s++)
    for (int i = 0; !gb_is_within(c, s) && i < f->low->step[s].nin; i++)
      f->whole[f->low->step[s].in[i]] = true;
  if (c->nloops < 2) return;
  for (int s = 0; s < c->nsteps; s++)
    for (int k = 0; gb_is_within(c, s) && k < f->low->step[s].nout; k++) {
      const int b = f->low->step[s].out[k];
      c->again[b] = f->made[b] && !f->whole[b] && may_repeat(f, s);
    }
  gb_find_loops(f->low, c, NULL, NULL, f->loops, f->asked);
  for (int s = 0; s < c->nsteps; s++)
    for (int k = 0; gb_is_within(c, s) && k < f->low->step[s].nout; k++) {
      const int b = f->low->step[s].out[k];
      if (f->asked[b] & ~f->loops[s]) f->whole[b] = true;
    }
}

void gb_find_loops (const gb_lowered *low, const gb_tiling *c, const bool *runs, const bool *need,
                    unsigned *loops, unsigned *asked) {
  for (int b = 0; b < c->nbufs; b++) asked[b] = 0;
  for (int s = c->nsteps - 1; s >= 0; s--) {
    const gb_step *st = &low->step[s];
    loops[s] = 0;
    if (!gb_is_within(c, s) || (runs != NULL && !runs[s])) continue;
    for (int k = 0; k < st->nout; k++) {
      const int b = st->out[k];
      if (c->again[b]) loops[s] |= asked[b];
      else if (need == NULL || need[b]) loops[s] |= 1u << gb_loops_before(c, s);
    }
    for (int i = 0; i < st->nin; i++) asked[st->in[i]] |= loops[s];
  }
}

/* Most opaque ops take runs of memory: a window of what exists whole is one only along its first
** dimension. */
static void bar_scattered (follow *f, int s) {
  const gb_step *st = &f->low->step[s];
  if (!gb_is_within(f->c, s) || st->is_fold) return;
  for (int i = 0; i < st->nin + st->nout; i++) {
    const int b = i < st->nin ? st->in[i] : st->out[i - st->nin], slot = i < st->nin ? i : -1;
    const gb_cut *c = &f->c->cut[s];
    if (!f->made[b] || leads(&f->low->buf[b], f->c->dim[b])) continue;
    if (gb_takes_strides(&st->opaque, slot, slot < 0 ? c->out_dim[i - st->nin] : c->in_dim[i])) continue;
    f->c->scattered[b] = true;
    if (!f->whole[b]) continue;
    f->barred[s] = f->again = true;
    return;
  }
}

static void follow_all (follow *f) {
  gb_tiling *c = f->c;
  c->within = c->nloops = 0;
  c->limited = false;
  c->unit = c->grain == 0 ? 1 : c->grain;
  c->coupled = -1;
  f->again = false;
  for (int b = 0; b < c->nbufs; b++) {
    f->made[b] = c->scattered[b] = false;
    f->ready[b] = 0;
    if (!is_leaf(f, b)) c->dim[b] = -1;
  }
  for (int s = 0; s < c->nsteps; s++) follow_step(f, s);
  find_whole(f);
  for (int s = 0; s < c->nsteps; s++) bar_scattered(f, s);
}

static gb_tiling *new_cutting (const gb_lowered *low, const int *seed, size_t grain) {
  const size_t ns = (size_t)low->nsteps + 1, nb = (size_t)low->nbufs + 1;
  gb_tiling *c = calloc(1, sizeof *c);
  if (c == NULL) return NULL;
  *c = (gb_tiling){.refs = 1,
                   .grain = grain,
                   .nsteps = low->nsteps,
                   .nbufs = low->nbufs,
                   .leaf = -1,
                   .phase = calloc(ns, 1),
                   .cut = calloc(ns, sizeof *c->cut),
                   .dim = malloc(nb * sizeof *c->dim),
                   .scattered = calloc(nb, sizeof *c->scattered),
                   .again = calloc(nb, sizeof *c->again)};
  if (c->phase == NULL || c->cut == NULL || c->dim == NULL || c->scattered == NULL || c->again == NULL) {
    gb_tiling_unref(c);
    return NULL;
  }
  for (int b = 0; b < low->nbufs; b++) {
    c->dim[b] = seed[b];
    if (c->dim[b] < 0 || c->leaf >= 0) continue;
    c->leaf = b;
    c->extent = low->buf[b].shape.dim[c->dim[b]];
  }
  return c;
}

gb_status gb_cut_along (const gb_lowered *low, const int *seed, gb_cut_rules rules, gb_tiling **out,
                        gb_error *err) {
  const size_t nb = (size_t)low->nbufs + 1, ns = (size_t)low->nsteps + 1;
  follow f = {.low = low,
              .seed = seed,
              .rules = rules,
              .c = new_cutting(low, seed, rules.grain),
              .made = calloc(nb, sizeof *f.made),
              .ready = calloc(nb, sizeof *f.ready),
              .barred = calloc(ns, sizeof *f.barred),
              .whole = calloc(nb, sizeof *f.whole),
              .loops = calloc(ns, sizeof *f.loops),
              .asked = calloc(nb, sizeof *f.asked)};
  const bool ok = f.c != NULL && f.made != NULL && f.ready != NULL && f.barred != NULL && f.whole != NULL &&
                  f.loops != NULL && f.asked != NULL;
  if (f.rules.loops < 1) f.rules.loops = 1;
  if (ok) f.c->grains = rules.of;
  *out = NULL;
  for (f.again = ok; f.again;) follow_all(&f);
  free(f.made);
  free(f.ready);
  free(f.barred);
  free(f.whole);
  free(f.loops);
  free(f.asked);
  if (!ok) {
    gb_tiling_unref(f.c);
    return gb_fail(err, GB_ENOMEM, "no memory to cut a plan of %d steps", low->nsteps);
  }
  if (f.c->within > 0 && f.c->extent > 1 && f.c->dim[f.c->leaf] >= 0) *out = f.c;
  else gb_tiling_unref(f.c);
  return GB_OK;
}

void gb_tiling_unref (gb_tiling *c) {
  if (c == NULL || --c->refs > 0) return;
  free(c->phase);
  free(c->cut);
  free(c->dim);
  free(c->scattered);
  free(c->again);
  free(c);
}
