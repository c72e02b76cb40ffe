/* work.c - operations and bytes of a fold and of an opaque op. */
#include "program/work.h"

#include <math.h>

#include "program/slices.h"

/* -- folds */

static double extent (const gb_fold *f, int axis) { return axis < 0 ? 1 : (double)f->axis[axis].extent; }

/* Indices of a set of axes but for INNER ones, over which loops run. */
static double points (const gb_fold *f, gb_axes axes) {
  double n = 1;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role != GB_AXIS_INNER && (axes >> a & 1)) n *= extent(f, a);
  return n;
}

static gb_axes domain_of (const gb_fold *f) { return ((gb_axes)1 << f->naxes) - 1; }

/* Operations of one value of an instruction. */
static double flops_of (const gb_fold *f, const gb_ins *i) {
  switch (i->kind) {
    case GB_INS_IOTA: return 2;
    case GB_INS_MAP: return 1;
    case GB_INS_SQDIST: return (i->w >= 0 ? 4 : 3) * extent(f, i->axis);
    case GB_INS_DOT: return 2 * extent(f, i->axis);
    case GB_INS_RADIAL: return i->profile == GB_RBF ? 2 : 4;
    case GB_INS_ACC: return 1;
    default: return 0;
  }
}

/* Operations of one value that an output takes. */
static double flops_of_sink (const gb_fold *f, const gb_out *o) {
  switch (o->kind) {
    case GB_OUT_REDUCE: return 1;
    case GB_OUT_CONTRACT: return 2 * extent(f, o->axis);
    case GB_OUT_DIFF: return 3 * extent(f, o->axis);
    default: return 0;
  }
}

/* What the instructions of the loop that begins at n depend on together. */
static gb_axes loop_deps (const gb_fold *f, int n) {
  gb_axes deps = 0;
  int depth = 0;
  do {
    const gb_ins *i = &f->ins[n];
    if (i->kind == GB_INS_LOOP) depth++;
    else if (i->kind == GB_INS_ENDLOOP) depth--;
    else deps |= i->deps;
  } while (++n < f->nins && depth > 0);
  return deps;
}

/* Of a symmetric fold each pair is one value for two places. */
static double visited (const gb_fold *f, gb_axes deps) {
  gb_axes sides = 0;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role == GB_AXIS_LANE || f->axis[a].role == GB_AXIS_TILE) sides |= (gb_axes)1 << a;
  return points(f, deps) * (f->symmetric && (deps & sides) == sides ? 0.5 : 1);
}

static double flops_of_fold (const gb_fold *f) {
  double times[GB_FOLD_AXES + 1] = {1}, flops = 0;
  gb_axes deps[GB_FOLD_AXES + 1] = {0};
  int depth = 0;
  for (int n = 0; n < f->nins; n++) {
    const gb_ins *i = &f->ins[n];
    if (i->kind == GB_INS_LOOP && depth < GB_FOLD_AXES) {
      times[depth + 1] = times[depth] * extent(f, i->axis);
      deps[depth + 1] = deps[depth] | loop_deps(f, n);
      depth++;
    } else if (i->kind == GB_INS_ENDLOOP && depth > 0) depth--;
    else if (i->kind == GB_INS_EMIT)
      flops += times[depth] * points(f, domain_of(f)) * flops_of_sink(f, &f->out[i->x]);
    else flops += times[depth] * visited(f, i->deps | deps[depth]) * flops_of(f, i);
  }
  return flops;
}

/* Elements that are reached along these strides. */
static double reached (const gb_fold *f, const ptrdiff_t *stride) {
  double n = 1;
  for (int a = 0; a < f->naxes; a++)
    if (stride[a] != 0) n *= extent(f, a);
  return n;
}

gb_work gb_fold_work (const gb_fold *f) {
  gb_work w = {.flops = flops_of_fold(f), .compute = f->compute};
  for (int x = 0; x < f->noperands; x++) {
    bool again = false; /* other operands of one buffer bring nothing new */
    for (int y = 0; y < x; y++) again |= f->operand[y].slot == f->operand[x].slot;
    if (!again) w.bytes += reached(f, f->operand[x].stride) * (double)gb_dtype_size(f->operand[x].dtype);
  }
  for (int o = 0; o < f->nouts; o++)
    w.bytes += reached(f, f->out[o].stride) * (double)gb_dtype_size(f->out[o].dtype);
  return w;
}

/* -- opaque ops */

static double dim (const gb_shape *s, int back) {
  return s->ndim < back ? 1 : (double)s->dim[s->ndim - back];
}

static double numel (const gb_shape *s) {
  double n = 1;
  for (int a = 0; a < s->ndim; a++) n *= (double)s->dim[a];
  return n;
}

/* Of matrices (n, m) and k right-hand sides, 'batch' of them. */
static double flops_of_opaque (const gb_opaque *o) {
  const gb_shape *a = &o->in_shape[0];
  const double n = dim(a, 2), m = dim(a, 1), least = fmin(n, m);
  const double batch = gb_has_slices(o) ? (double)gb_slices_of(o).count : 1;
  const double k = o->nin > 1 && o->in_shape[1].ndim > 1 ? dim(&o->in_shape[1], 1) : 1;
  switch (o->op) {
    case GB_OP_GEMM: return 2 * numel(&o->out_shape[0]) * m;
    case GB_OP_CHOLESKY: return batch * n * n * n / 3;
    case GB_OP_TRISOLVE: return batch * n * n * k;
    case GB_OP_INV_QUAD: return batch * (n * n + 2 * n) * k;
    case GB_OP_SOLVE_CHOL: return batch * 2 * n * n * k;
    case GB_OP_CHOL_INVERSE: return batch * 2 * n * n * n / 3;
    case GB_OP_LU_SOLVE: return batch * (2 * n * n * n / 3 + 2 * n * n * k);
    case GB_OP_LU_LOGDET: return batch * 2 * n * n * n / 3;
    case GB_OP_QR: return batch * 4 * fmax(n, m) * least * least;
    case GB_OP_EIGH: return batch * 9 * n * n * n;
    case GB_OP_SVD: return batch * 20 * n * m * least;
    case GB_OP_CUMSUM: return numel(a);
    default: return 0;
  }
}

gb_work gb_opaque_work (const gb_opaque *o) {
  gb_work w = {.flops = o->nin > 0 ? flops_of_opaque(o) : 0,
               .compute = o->nin > 0 ? o->in_dtype[0] : o->out_dtype[0]};
  double written = 0;
  for (int i = 0; i < o->nin && i < 4; i++)
    w.bytes += numel(&o->in_shape[i]) * (double)gb_dtype_size(o->in_dtype[i]);
  for (int i = 0; i < o->nout; i++)
    written += numel(&o->out_shape[i]) * (double)gb_dtype_size(o->out_dtype[i]);
  if (o->op == GB_OP_CAT) w.bytes = written; /* more inputs than have a shape here */
  w.bytes += written;
  return w;
}
