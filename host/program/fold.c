/* fold.c - which folds one kernel serves. */
#include "program/fold.h"

#include <string.h>

/* -0 is not 0, and a NaN is itself. */
static bool same_number (double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static bool same_ins (const gb_ins *a, const gb_ins *b) {
  return a->kind == b->kind && a->op == b->op && a->profile == b->profile && a->order == b->order &&
         a->dalpha == b->dalpha && a->monoid == b->monoid && a->dst == b->dst && a->a == b->a &&
         a->b == b->b && a->c == b->c && a->x == b->x && a->y == b->y && a->w == b->w && a->axis == b->axis &&
         same_number(a->f, b->f) && same_number(a->g, b->g) && a->step == b->step && a->start == b->start &&
         a->seed[0] == b->seed[0] && a->seed[1] == b->seed[1] && a->deps == b->deps;
}

static int stride_class (ptrdiff_t stride) { return stride == 0 ? 0 : stride == 1 ? 1 : 2; }

static bool same_strides (int naxes, const ptrdiff_t *a, const ptrdiff_t *b) {
  for (int i = 0; i < naxes; i++)
    if (stride_class(a[i]) != stride_class(b[i])) return false;
  return true;
}

static bool same_operand (int naxes, const gb_operand *a, const gb_operand *b) {
  return a->slot == b->slot && a->dtype == b->dtype && a->deps == b->deps &&
         same_strides(naxes, a->stride, b->stride);
}

static bool same_out (int naxes, const gb_out *a, const gb_out *b) {
  return a->kind == b->kind && a->monoid == b->monoid && a->reduced == b->reduced && a->x == b->x &&
         a->y == b->y && a->axis == b->axis && a->k == b->k && a->slot == b->slot && a->slot2 == b->slot2 &&
         a->dtype == b->dtype && stride_class(a->kstride) == stride_class(b->kstride) &&
         same_strides(naxes, a->stride, b->stride);
}

bool gb_fold_same_program (const gb_fold *f, const gb_fold *g) {
  if (f->compute != g->compute || f->naxes != g->naxes || f->noperands != g->noperands ||
      f->nins != g->nins || f->nouts != g->nouts || f->nvalues != g->nvalues ||
      f->nconstants != g->nconstants || f->symmetric != g->symmetric)
    return false;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role != g->axis[a].role) return false;
  for (int i = 0; i < f->nins; i++)
    if (!same_ins(&f->ins[i], &g->ins[i])) return false;
  for (int i = 0; i < f->noperands; i++)
    if (!same_operand(f->naxes, &f->operand[i], &g->operand[i])) return false;
  for (int i = 0; i < f->nouts; i++)
    if (!same_out(f->naxes, &f->out[i], &g->out[i])) return false;
  return true;
}
