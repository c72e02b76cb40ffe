/* plan_random_opaque.c - steps that are opaque ops. */
#include "support/random/plan_random_opaque.h"

/* moving and ordering */

static void make_cat (void) {
  gb_node *x = with_axes(any_float()), *part[6] = {x, map1(GB_OP_SIN, x), x, x, map1(GB_OP_COS, x), x};
  const int axis = an_axis(x), n = 1 + (int)choice(6);
  keep(BUILD(gb_cat, n, part, axis), false);
}

static void make_order (gb_op op) {
  gb_node *x = with_axes(choice(12) == 11 ? any_whole() : any_float());
  const int axis = an_axis(x);
  const int64_t k = 1 + (int64_t)choice(dim(x, axis)), way = (int64_t)choice(2);
  if (op == GB_OP_CUMSUM) {
    keep(op1(op, nonempty(any_float()), (gb_attr){.i = {0, way}}), true);
    return;
  }
  const gb_attr attr = op == GB_OP_SORT ? (gb_attr){.i = {axis, way}}
                                        : (gb_attr){.i = {axis, dim(x, axis) > 0 ? k : 0, way}};
  gb_node *y = op1(op, x, attr);
  keep(picked(y, 0), false);
  if (choice(2)) keep(picked(y, 1), false);
}

/* Positions may repeat, except for PUT, where the last would win. */
static void make_place (gb_op op) {
  gb_node *x = nonempty(any_float());
  const int axis = an_axis(x);
  const size_t n = dim(x, axis), k = choice(8) == 7 ? 0 : 1 + choice(n);
  if (op == GB_OP_INDEX) {
    keep(op2(op, x, positions(k, n), (gb_attr){.i = {axis}}), false);
    return;
  }
  gb_node *all = generated(GB_OP_RANDPERM, 1, &n, GB_I64, stream());
  gb_node *at = op == GB_OP_PUT ? BUILD(gb_slice, all, 0, 0, 1, k) : positions(k, n);
  gb_node *y = map1(GB_OP_COS, BUILD(gb_slice, x, axis, 0, 1, k));
  keep(op_node(op, 3, ((gb_node *[]){x, at, y}), (gb_attr){.i = {axis}}), true);
}

/* linear algebra */

static size_t an_order (void) {
  static const size_t most[] = {17, 5, 17, 3, 17, 65, 17, 130};
  return most[choice(8)];
}

/* A matrix, or a batch of few. */
static gb_node *points (void) {
  if (choice(3) != 2) return matrix(1, an_order());
  const size_t dims[3] = {choice(8) == 7 ? 0 : 1 + choice(9), 1 + choice(an_order()), 1 + choice(5)};
  return leaf_like(made.dtype, 3, dims, 0);
}

static size_t rows_of (const gb_node *x) { return dim(x, rank(x) - 2); }

/* X X' / d + 2 I, or a covariance with noise. */
static gb_node *positive (void) {
  gb_node *x = points();
  gb_node *a = choice(3) == 2 && rank(x) == 2 ? covariance(x, x)
                                              : scaled(mm(x, tr(x)), 1 / (double)dim(x, rank(x) - 1));
  return add(a, scaled(square_eye(rows_of(x)), 2));
}

gb_node *dominant (void) {
  gb_node *x = points();
  const size_t n = rows_of(x);
  gb_node *a = choice(2) && rank(x) == 2 ? matrix_leaf(n, n) : mm(x, matrix_leaf(dim(x, rank(x) - 1), n));
  return add(scaled(map1(GB_OP_TANH, a), 1 / (double)n), scaled(square_eye(n), 2));
}

gb_node *side_of (const gb_node *a) {
  const size_t n = rows_of(a);
  if (rank(a) == 2) return choice(2) ? matrix_with(0, n, 17) : float_of(1, n, n);
  const size_t dims[3] = {choice(2) ? dim(a, 0) : 1, n, 1 + choice(5)};
  return choice(3) == 2 ? unsq(matrix_with(0, n, 17), 0) : leaf_like(made.dtype, 3, dims, 0);
}

static gb_node *tall (void) {
  if (choice(4) == 3) {
    const size_t m = 1 + choice(9), dims[3] = {choice(8) == 7 ? 0 : 1 + choice(9), m + choice(9), m};
    return leaf_like(made.dtype, 3, dims, 0);
  }
  gb_node *x = choice(2) ? matrix(1, an_order())
                         : matrix_leaf(1 + least(some_extent(), 64), 1 + least(some_extent(), 16));
  return dim(x, 0) < dim(x, 1) ? tr(x) : x;
}

static void make_factored (gb_op op) {
  const size_t composite = choice(3);
  gb_node *a = positive();
  if (op != GB_OP_CHOLESKY && op != GB_OP_TRISOLVE && op != GB_OP_CHOL_INVERSE && composite == 2) {
    keep(op == GB_OP_LOGDET     ? BUILD(gb_logdet, a)
         : op == GB_OP_INV_QUAD ? BUILD(gb_inv_quad, a, side_of(a))
                                : BUILD(gb_solve, a, side_of(a)),
         true);
    return;
  }
  gb_node *l = BUILD(gb_cholesky, a, choice(3) == 2 ? 0.25 : 0);
  switch (op) {
    case GB_OP_CHOLESKY: keep(l, true); return;
    case GB_OP_TRISOLVE: {
      const bool upper = choice(2) == 1;
      keep(op2(op, upper ? tr(l) : l, side_of(a), (gb_attr){.i = {upper, (int64_t)choice(2)}}), true);
      return;
    }
    case GB_OP_INV_QUAD:
    case GB_OP_SOLVE_CHOL: keep(op2(op, l, side_of(a), (gb_attr){0}), true); return;
    default: keep(map1(op, l), true); return;
  }
}

static void make_spectral (gb_op op) {
  gb_node *y = map1(op, op == GB_OP_EIGH ? positive() : tall());
  for (int o = 0; o < gb_ops[op].outputs; o++)
    if (choice(3) != 2 || o == 0) keep(picked(y, o), true);
}

/* registered ops, which represent loops and custom functions */

#define TURNS 7

static size_t call_scratch (void *ud, const gb_opaque *o) {
  (void)ud;
  return 40 + 8 * gb_shape_numel(&o->in_shape[0]);
}

/* y = (2/3)^TURNS (x1 + .. + xn) by a loop whose state lies in the scratch. */
static gb_status call_run (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                           void *scratch, gb_error *err) {
  (void)ud;
  const size_t n = gb_shape_numel(&o->in_shape[0]);
  gb_storage there = {.block = {.data = (char *)scratch + 40}, .ledger = &g->device->ledger};
  const gb_tensor state = {.storage = &there, .dtype = GB_F64};
  GB_TRY(gb_memory_fill(&g->device->memory, scratch, 1, 40, err));
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (int k = 0; k < o->nin; k++) sum += handed_element(&in[k], i);
    set_handed_element(&state, i, sum);
  }
  for (int turn = 0; turn < TURNS; turn++)
    for (size_t i = 0; i < n; i++) set_handed_element(&state, i, handed_element(&state, i) * (2.0 / 3));
  for (size_t i = 0; i < n; i++) set_handed_element(&out[0], i, handed_element(&state, i));
  return GB_OK;
}

static gb_status call_grad (void *ud, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                            gb_error *err) {
  (void)ud;
  gb_node *bar;
  GB_TRY(gb_scale(out_bar[0], pow(2.0 / 3, TURNS), &bar, err));
  for (int k = 0; k < y->nin; k++)
    if (need[k]) in_bar[k] = gb_node_ref(bar);
  gb_node_unref(bar);
  return GB_OK;
}

static void make_call (void) {
  static const gb_call loop = {
      .name = "loop", .scratch_bytes = call_scratch, .run = call_run, .grad = call_grad};
  gb_node *x = any_float(), *in[3] = {x, map1(GB_OP_SIN, x), x};
  const gb_attr attr = {.i = {gb_call_register(&loop)}};
  keep(BUILD(gb_node_build, fx.g, GB_OP_CALL, 1 + (int)choice(3), in, &attr, gb_node_shape(x), made.dtype),
       true);
}

/* any of them */

void make_opaque (gb_op op) {
  switch (op) {
    case GB_OP_CAST: make_cast(); return;
    case GB_OP_CAT: make_cat(); return;
    case GB_OP_CUMSUM:
    case GB_OP_SORT:
    case GB_OP_TOPK: make_order(op); return;
    case GB_OP_INDEX:
    case GB_OP_PUT:
    case GB_OP_INDEX_ADD:
    case GB_OP_INDEX_MAX:
    case GB_OP_INDEX_MIN: make_place(op); return;
    case GB_OP_SOBOL:
    case GB_OP_RANDPERM: make_generator(op); return;
    case GB_OP_GEMM: make_gemm(); return;
    case GB_OP_QR:
    case GB_OP_EIGH:
    case GB_OP_SVD: make_spectral(op); return;
    case GB_OP_LU_LOGDET: keep(map1(op, dominant()), true); return;
    case GB_OP_LU_SOLVE: {
      gb_node *a = dominant();
      keep(op2(op, a, side_of(a), (gb_attr){0}), true);
      return;
    }
    case GB_OP_CALL: make_call(); return;
    default: make_factored(op); return;
  }
}
