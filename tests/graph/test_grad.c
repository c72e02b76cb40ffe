/* test_grad.c - the gradient of every op in ops.def against differences of the reference; a row without a
** case fails. */
#include <math.h>

#include "support/graph/grad_check.h"

static bool contains (gb_node *y, gb_op op) {
  gb_node **order;
  size_t count;
  bool found = false;
  assert_int_equal(gb_graph_order(fx.g, 1, &y, GB_WALK_ALL, &order, &count, &fx.err), GB_OK);
  for (size_t i = 0; i < count; i++) found |= order[i]->op == op;
  free(order);
  return found;
}

/* -- a case for every op */

typedef struct made {
  gb_node *y, *x[4];
  size_t n;
} made;

static gb_node *diagonal_ (gb_node *x) { return op_of(GB_OP_DIAGONAL, 1, &x, (gb_attr){0}); }

static gb_node *lower_leaf (size_t n) {
  double v[64];
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      v[i * n + j] = i == j ? 1.2 + 0.1 * (double)i : j < i ? 0.3 * sin((double)(i + 5 * j)) : 0;
  return leaf_of(GB_F64, GB_NODE_GRAD, 2, (size_t[]){n, n}, v, 0, 0);
}

static gb_node *positions (size_t n, const double *at) { return leaf_of(GB_I64, 0, 1, &n, at, 0, 0); }

static made unary (gb_op op, double lo, double hi) {
  made m = {.n = 1};
  m.x[0] = mat_in(3, 4, lo, hi);
  m.y = map1(op, m.x[0]);
  return m;
}

static made binary (gb_op op, double lo, double hi) {
  made m = {.n = 2};
  m.x[0] = mat_in(3, 4, lo, hi);
  m.x[1] = leaf_in(1, (size_t[]){4}, lo, hi);
  m.y = map2(op, m.x[0], m.x[1]);
  return m;
}

static made reduced (gb_op op, unsigned mask) {
  made m = {.n = 1};
  m.x[0] = leaf_in(3, (size_t[]){2, 3, 4}, 0.3, 1.7);
  m.y = BUILD(gb_reduce, op, m.x[0], mask, false);
  return m;
}

static made one (gb_node *x, gb_node *y) { return (made){.y = y, .x = {x}, .n = 1}; }

static made view_case (gb_op op) {
  gb_node *x = mat_in(4, 3, -1, 1), *lone = mat_in(4, 1, -1, 1);
  const gb_shape flat = gb_shape_of(2, (size_t[]){2, 6}), wide = gb_shape_of(3, (size_t[]){2, 4, 5});
  switch (op) {
    case GB_OP_RESHAPE: return one(x, BUILD(gb_reshape, x, &flat));
    case GB_OP_UNSQUEEZE: return one(x, unsq(x, 1));
    case GB_OP_SQUEEZE: return one(lone, sq(lone, 1));
    case GB_OP_PERMUTE: return one(x, tr(x));
    case GB_OP_EXPAND: return one(lone, BUILD(gb_expand, lone, &wide));
    case GB_OP_SLICE: return one(x, BUILD(gb_slice, x, 0, 3, -2, 2));
    default: return one(x, diagonal_(x));
  }
}

static made radial_case (int profile, int order) {
  made m = {.x = {mat_in(4, 2, -1, 1), mat_in(3, 2, -1, 1), leaf0(1.3), leaf0(0.8)},
            .n = profile == GB_RQ ? 4 : 3};
  gb_node *in[] = {dist(m.x[0], m.x[1], NULL), m.x[2], m.x[3]};
  m.y = op_of(GB_OP_RADIAL, (int)m.n - 1, in, (gb_attr){.i = {profile, order}});
  return m;
}

static made position_case (gb_op op) {
  gb_node *x = mat_in(5, 3, -1, 1), *y = mat_in(3, 3, -1, 1);
  gb_node *at = positions(3, (double[]){4, 1, 3}), *twice = positions(3, (double[]){4, 1, 4});
  const gb_attr attr = {0};
  if (op == GB_OP_INDEX) return one(x, op_of(op, 2, (gb_node *[]){x, twice}, attr));
  return (made){
      .x = {x, y}, .n = 2, .y = op_of(op, 3, (gb_node *[]){x, op == GB_OP_PUT ? at : twice, y}, attr)};
}

/* More values than there are: those past the end pass nothing on. */
static made kmin_case (void) {
  gb_node *x = mat_in(3, 4, -1, 1), *few = pick_(op_of(GB_OP_KMIN, 1, &x, (gb_attr){.i = {0, 2}}), 0);
  gb_node *all = pick_(op_of(GB_OP_KMIN, 1, &x, (gb_attr){.i = {0, 6}}), 0);
  return one(x,
             add(sum_axis(square(few), 1), sum_axis(map1(GB_OP_SIN, BUILD(gb_slice, all, 1, 0, 1, 4)), 1)));
}

static made linalg_case (gb_op op) {
  gb_node *x = mat_in(4, 4, -1, 1), *b = mat_in(4, 2, -1, 1), *a = spd(x), *l = lower_leaf(4);
  gb_node *general = add(mat_in(4, 4, -0.5, 0.5), mul(eye(4), num(2)));
  const gb_attr attr = {0};
  switch (op) {
    case GB_OP_CHOLESKY: return one(x, BUILD(gb_cholesky, a, 0.1));
    case GB_OP_TRISOLVE:
      return (made){.y = BUILD(gb_triangular_solve, l, b, false, false), .x = {l, b}, .n = 2};
    case GB_OP_CHOL_INVERSE:
    case GB_OP_LOGDET: return one(l, op_of(op, 1, &l, attr));
    case GB_OP_INV_QUAD:
    case GB_OP_SOLVE_CHOL: return (made){.y = op_of(op, 2, (gb_node *[]){l, b}, attr), .x = {l, b}, .n = 2};
    case GB_OP_LU_SOLVE: return (made){.y = BUILD(gb_solve, general, b), .x = {general, b}, .n = 2};
    case GB_OP_LU_LOGDET: return one(general, BUILD(gb_logdet, general));
    case GB_OP_QR: {
      gb_node *tall = mat_in(5, 3, -1, 1), *qr = op_of(op, 1, &tall, attr);
      return one(tall, mm(pick_(qr, 0), map1(GB_OP_SIN, pick_(qr, 1))));
    }
    case GB_OP_EIGH: {
      gb_node *e = op_of(op, 1, &a, attr);
      return one(x, mul(pick_(e, 1), map1(GB_OP_LOG, pick_(e, 0))));
    }
    default: {
      gb_node *tall = mat_in(4, 3, -1, 1), *s = op_of(GB_OP_SVD, 1, &tall, attr);
      return one(tall, mm(mul(pick_(s, 0), pick_(s, 1)), map1(GB_OP_EXP, tr(pick_(s, 2)))));
    }
  }
}

/* The same of batches: of one axis and of two, with axes of 1 and right-hand sides that broadcast. */
static gb_node *lower_batch (gb_node *x) {
  gb_node *l = op_of(GB_OP_CHOLESKY, 1, (gb_node *[]){spd(x)}, (gb_attr){.f = {0.2}});
  return l;
}

static made batch_case (gb_op op, bool wide) {
  const gb_attr attr = {0};
  gb_node *x = wide ? leaf_in(4, (size_t[]){2, 1, 3, 3}, -1, 1) : leaf_in(3, (size_t[]){2, 3, 3}, -1, 1);
  gb_node *b = wide ? leaf_in(4, (size_t[]){1, 2, 3, 2}, -1, 1) : mat_in(3, 2, -1, 1), *l = lower_batch(x);
  gb_node *general = add(mul(x, num(0.5)), mul(eye(3), num(2)));
  gb_node *tall = wide ? leaf_in(4, (size_t[]){2, 1, 4, 3}, -1, 1) : leaf_in(3, (size_t[]){2, 4, 3}, -1, 1);
  switch (op) {
    case GB_OP_CHOLESKY: return one(x, l);
    case GB_OP_TRISOLVE:
      return (made){.y = op_of(op, 2, (gb_node *[]){wide ? tr(l) : l, b}, (gb_attr){.i = {wide, wide}}),
                    .x = {x, b},
                    .n = 2};
    case GB_OP_CHOL_INVERSE:
    case GB_OP_LOGDET: return one(x, op_of(op, 1, &l, attr));
    case GB_OP_INV_QUAD:
    case GB_OP_SOLVE_CHOL: return (made){.y = op_of(op, 2, (gb_node *[]){l, b}, attr), .x = {x, b}, .n = 2};
    case GB_OP_LU_SOLVE:
      return (made){.y = op_of(op, 2, (gb_node *[]){general, b}, attr), .x = {x, b}, .n = 2};
    case GB_OP_LU_LOGDET: return one(x, BUILD(gb_logdet, general));
    case GB_OP_QR: {
      gb_node *qr = op_of(op, 1, &tall, attr);
      return one(tall, mm(pick_(qr, 0), map1(GB_OP_SIN, pick_(qr, 1))));
    }
    case GB_OP_EIGH: {
      gb_node *a = spd(x), *e = op_of(op, 1, &a, attr);
      return one(x, mul(pick_(e, 1), unsq(map1(GB_OP_LOG, pick_(e, 0)), gb_node_shape(x)->ndim - 2)));
    }
    default: {
      gb_node *s = op_of(GB_OP_SVD, 1, &tall, attr);
      gb_node *values = unsq(pick_(s, 1), gb_node_shape(tall)->ndim - 2);
      return one(tall, mm(mul(pick_(s, 0), values), map1(GB_OP_EXP, tr(pick_(s, 2)))));
    }
  }
}

static const gb_op factored_ops[] = {GB_OP_CHOLESKY, GB_OP_TRISOLVE,   GB_OP_CHOL_INVERSE, GB_OP_LOGDET,
                                     GB_OP_INV_QUAD, GB_OP_SOLVE_CHOL, GB_OP_LU_SOLVE,     GB_OP_LU_LOGDET,
                                     GB_OP_QR,       GB_OP_EIGH,       GB_OP_SVD};
enum { FACTORED = sizeof factored_ops / sizeof *factored_ops };

/* Nothing is computed: the graph knows the device by its number. */
static made move_case (void) {
  static gb_device other;
  int number;
  gb_node *x = mat_in(4, 3, -1, 1);
  assert_int_equal(gb_graph_add_device(fx.g, &other, &number, &fx.err), GB_OK);
  return one(x, BUILD(gb_move, map1(GB_OP_SIN, x), number));
}

static made other_case (gb_op op) {
  gb_node *x = mat_in(4, 3, -1, 1), *y = mat_in(5, 3, -1, 1), *w = leaf1(3);
  gb_node *apart = mat_in(4, 3, -100, 100); /* no step of a difference changes the order */
  const gb_attr plain = {0};
  switch (op) {
    case GB_OP_WHERE: {
      gb_node *b = leaf_in(1, (size_t[]){3}, -1, 1), *c = map2(GB_OP_GT, x, num(0));
      return (made){.y = BUILD(gb_map3, op, c, x, b), .x = {x, b}, .n = 2};
    }
    case GB_OP_POLYGAMMA: {
      gb_node *z = mat_in(3, 4, 0.4, 3);
      return one(z, map2(op, num(3), z));
    }
    case GB_OP_WITH_SLOPE: {
      gb_node *in[3] = {map1(GB_OP_SIN, x), x, map1(GB_OP_COS, x)};
      return one(x, op_of(op, 3, in, plain));
    }
    case GB_OP_MATMUL:
    case GB_OP_GEMM: {
      gb_node *a = leaf_in(3, (size_t[]){2, 4, 3}, -1, 1),
              *b = op == GB_OP_MATMUL ? mat_in(3, 5, -1, 1) : mat_in(3, 2, -1, 1);
      if (op == GB_OP_GEMM) a = x;
      return (made){.y = op_of(op, 2, (gb_node *[]){a, b}, plain), .x = {a, b}, .n = 2};
    }
    case GB_OP_SQDIST: return (made){.y = dist(x, y, w), .x = {x, y, w}, .n = 3};
    case GB_OP_DIFFMV: {
      gb_node *k = mat_in(4, 5, -1, 1);
      return (made){.y = op_of(op, 3, (gb_node *[]){k, x, y}, plain), .x = {k, x, y}, .n = 3};
    }
    case GB_OP_CAST: return one(x, BUILD(gb_node_build, fx.g, op, 1, &x, NULL, NULL, GB_F32));
    case GB_OP_MOVE: return move_case();
    case GB_OP_CAT: return (made){.y = BUILD(gb_cat, 2, ((gb_node *[]){x, y}), 0), .x = {x, y}, .n = 2};
    case GB_OP_CUMSUM: return one(x, op_of(op, 1, &x, (gb_attr){.i = {0, 1}}));
    case GB_OP_SORT: return one(apart, pick_(op_of(op, 1, &apart, (gb_attr){.i = {0, 1}}), 0));
    case GB_OP_TOPK: return one(apart, pick_(op_of(op, 1, &apart, (gb_attr){.i = {1, 2, 1}}), 0));
    case GB_OP_PICK: return one(apart, pick_(op_of(GB_OP_SORT, 1, &apart, (gb_attr){.i = {0}}), 0));
    default: return (made){0};
  }
}

static made map_case (gb_op op) {
  switch (op) {
    case GB_OP_NEG:
    case GB_OP_ABS:
    case GB_OP_SQUARE:
    case GB_OP_EXP:
    case GB_OP_EXPM1:
    case GB_OP_SIN:
    case GB_OP_COS:
    case GB_OP_TAN:
    case GB_OP_ATAN:
    case GB_OP_TANH:
    case GB_OP_SIGMOID:
    case GB_OP_SOFTPLUS:
    case GB_OP_RELU:
    case GB_OP_ERF:
    case GB_OP_NDTR:
    case GB_OP_LOG_NDTR:
    case GB_OP_NDTR_RATIO:
    case GB_OP_NDTR_GAP:
    case GB_OP_NDTR_SPREAD: return unary(op, -1.2, 1.3);
    case GB_OP_ASIN:
    case GB_OP_ACOS:
    case GB_OP_LOG1P: return unary(op, -0.8, 0.8);
    case GB_OP_RECIP:
    case GB_OP_SQRT:
    case GB_OP_RSQRT:
    case GB_OP_LOG:
    case GB_OP_LGAMMA:
    case GB_OP_DIGAMMA:
    case GB_OP_TRIGAMMA: return unary(op, 0.3, 3);
    case GB_OP_ADD:
    case GB_OP_SUB:
    case GB_OP_MUL:
    case GB_OP_MAXIMUM:
    case GB_OP_MINIMUM: return binary(op, -1, 1);
    case GB_OP_DIV:
    case GB_OP_POW:
    case GB_OP_MOD: return binary(op, 0.4, 2.1);
    default: return other_case(op);
  }
}

static made case_of (gb_op op) {
  switch (op) {
    case GB_OP_RESHAPE:
    case GB_OP_UNSQUEEZE:
    case GB_OP_SQUEEZE:
    case GB_OP_PERMUTE:
    case GB_OP_EXPAND:
    case GB_OP_SLICE:
    case GB_OP_DIAGONAL: return view_case(op);
    case GB_OP_SUM:
    case GB_OP_PROD:
    case GB_OP_MIN:
    case GB_OP_MAX:
    case GB_OP_LOGSUMEXP: return reduced(op, 5u);
    case GB_OP_KMIN: return kmin_case();
    case GB_OP_RADIAL: return radial_case(GB_RQ, 0);
    case GB_OP_INDEX:
    case GB_OP_PUT:
    case GB_OP_INDEX_ADD:
    case GB_OP_INDEX_MAX:
    case GB_OP_INDEX_MIN: return position_case(op);
    case GB_OP_CHOLESKY:
    case GB_OP_TRISOLVE:
    case GB_OP_CHOL_INVERSE:
    case GB_OP_LOGDET:
    case GB_OP_INV_QUAD:
    case GB_OP_SOLVE_CHOL:
    case GB_OP_QR:
    case GB_OP_EIGH:
    case GB_OP_SVD:
    case GB_OP_LU_SOLVE:
    case GB_OP_LU_LOGDET: return linalg_case(op);
    default: return map_case(op);
  }
}

static const struct {
  gb_op op;
  const char *rule;
} rows[] = {
#define X(id, name, nin, kind, shape, grad, ...) {GB_OP_##id, #grad},
#include "program/ops.def"
#undef X
};

static void every_op_with_a_rule_has_the_right_gradient (void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < GB_NOPS; i++) {
    if (!strcmp(rows[i].rule, "none") || rows[i].op == GB_OP_CALL) continue;
    const made m = case_of(rows[i].op);
    if (!m.y) fail_msg("%s has no case in this test", gb_ops[rows[i].op].id);
    if (!contains(m.y, rows[i].op)) fail_msg("the case of %s does not contain it", gb_ops[rows[i].op].id);
    wrong += !gradient_is_right(gb_ops[rows[i].op].id, m.y, m.n, m.x, 2e-8);
  }
  assert_int_equal(wrong, 0);
}

static void batches_have_the_right_gradient (void **state) {
  (void)state;
  int wrong = 0;
  for (int i = 0; i < FACTORED; i++)
    for (int wide = 0; wide < 2; wide++) {
      const made m = batch_case(factored_ops[i], wide);
      assert_true(contains(m.y, factored_ops[i]));
      wrong += !gradient_is_right(gb_ops[factored_ops[i]].id, m.y, m.n, m.x, 1e-7);
    }
  assert_int_equal(wrong, 0);
}

/* To the factor itself, and to one matrix from a batch of right-hand sides. */
static void batches_of_right_hand_sides_have_the_right_gradient (void **state) {
  (void)state;
  const gb_op ops[] = {GB_OP_TRISOLVE, GB_OP_SOLVE_CHOL, GB_OP_INV_QUAD, GB_OP_LU_SOLVE};
  gb_node *l = lower_leaf(3), *b = leaf_in(4, (size_t[]){2, 1, 3, 2}, -1, 1),
          *v = leaf_in(2, (size_t[]){2, 3}, -1, 1);
  gb_node *x = leaf_in(3, (size_t[]){2, 3, 3}, -1, 1), *a = spd(x), *general = add(x, mul(eye(3), num(3)));
  int wrong = 0;
  for (int i = 0; i < 4; i++) {
    gb_node *y = op_of(ops[i], 2, (gb_node *[]){l, b}, (gb_attr){0});
    wrong += !gradient_is_right(gb_ops[ops[i]].id, y, 2, (gb_node *[]){l, b}, 2e-8);
  }
  gb_node *many[] = {BUILD(gb_solve, a, v),       BUILD(gb_solve, general, v),
                     BUILD(gb_inv_quad, a, v),    BUILD(gb_inv_quad, general, v),
                     BUILD(gb_lstsq, general, v), BUILD(gb_triangular_solve, lower_batch(x), v, false, true)};
  for (int i = 0; i < 6; i++) wrong += !gradient_is_right("vectors", many[i], 2, (gb_node *[]){x, v}, 1e-7);
  assert_int_equal(wrong, 0);
}

/* A cotangent b w needs no other solve where w is the same along the rows, and one where it is not: the gradient is that of the
** same numbers without b. */
static void weighted_right_hand_sides_are_seen_as_such (void **state) {
  (void)state;
  const size_t dim[] = {2, 1, 3, 2};
  gb_node *l = lower_leaf(3), *b = leaf_in(4, dim, -1, 1),
          *y = op_of(GB_OP_SOLVE_CHOL, 2, (gb_node *[]){l, b}, (gb_attr){0});
  double *v = value_of(b, NULL);
  gb_node *same = leaf_of(GB_F64, 0, 4, dim, v, 0, 0);
  gb_node *w[] = {leaf_in(4, (size_t[]){2, 1, 1, 2}, 1, 2), leaf_in(4, (size_t[]){1, 1, 3, 1}, 1, 2)};
  for (int i = 0; i < 2; i++) {
    gb_node *short_bar, *long_bar;
    take_gradient(y, mul(b, w[i]), 1, &b, &short_bar);
    take_gradient(y, mul(same, w[i]), 1, &b, &long_bar);
    double *got = value_of(short_bar, NULL), *want = value_of(long_bar, NULL);
    assert_true(reference_all_close(got, want, 12, 1e-10, 1e-12));
    free(got), free(want);
  }
  free(v);
}

static void variants_have_the_right_gradient (void **state) {
  (void)state;
  int wrong = 0;
  for (int p = 0; p < GB_NPROFILES; p++)
    for (int order = 0; order <= (p == GB_M12 ? 1 : 2); order++) {
      const made m = radial_case(p, order);
      wrong += !gradient_is_right("profile", m.y, order < 2 ? m.n : 3, m.x, 2e-7);
    }
  for (int kind = 0; kind < 4; kind++) { /* triangular solves, all four */
    gb_node *l = lower_leaf(4), *b = leaf1(4);
    gb_node *y = BUILD(gb_triangular_solve, kind & 1 ? tr(l) : l, b, kind & 1, kind >> 1);
    wrong += !gradient_is_right("triangular solve", y, 2, (gb_node *[]){l, b}, 2e-8);
  }
  const size_t starts[] = {1, 3, 0, 2, 4}, extents[] = {3, 3, 5, 1, 3};
  const ptrdiff_t steps[] = {1, -1, 1, 1, -2};
  for (int i = 0; i < 5; i++) {
    gb_node *x = mat_in(2, 5, -1, 1);
    wrong += !gradient_is_right("slice", BUILD(gb_slice, x, 1, starts[i], steps[i], extents[i]), 1, &x, 2e-8);
  }
  gb_node *wide = mat_in(3, 5, -1, 1), *s = op_of(GB_OP_SVD, 1, &wide, (gb_attr){0});
  gb_node *y = mm(mul(pick_(s, 0), square(pick_(s, 1))), tr(pick_(s, 2)));
  wrong += !gradient_is_right("wide svd", y, 1, &wide, 2e-8);
  for (int k = 0; k < 3; k++) wrong += !gradient_is_right("svd parts", pick_(s, k), 1, &wide, 1e-6);
  for (int k = 0; k < 2; k++) {
    gb_node *tall = mat_in(5, 3, -1, 1);
    wrong +=
        !gradient_is_right("qr parts", pick_(op_of(GB_OP_QR, 1, &tall, (gb_attr){0}), k), 1, &tall, 1e-7);
  }
  gb_node *rect = mat_in(3, 5, -1, 1), *turned = tr(rect);
  wrong += !gradient_is_right("wide diagonal", diagonal_(rect), 1, &rect, 2e-8);
  wrong += !gradient_is_right("tall diagonal", diagonal_(turned), 1, &rect, 2e-8);
  gb_node *cube = leaf_in(3, (size_t[]){3, 2, 2}, -1, 1);
  for (int axis = 0; axis < 3; axis++)
    wrong += !gradient_is_right(
        "sort", pick_(op_of(GB_OP_SORT, 1, &cube, (gb_attr){.i = {axis, axis & 1}}), 0), 1, &cube, 2e-8);
  assert_int_equal(wrong, 0);
}

static void products_of_zeros_have_gradients (void **state) {
  (void)state;
  const double v[] = {2, 0, 3, 0, 0, 4, 1, 2, 3};
  gb_node *x = leaf_of(GB_F64, GB_NODE_GRAD, 2, (size_t[]){3, 3}, v, 0, 0);
  assert_true(gradient_is_right("prod", BUILD(gb_reduce, GB_OP_PROD, x, 2u, false), 1, &x, 1e-8));
}

static gb_node *given (size_t n, const double *v) { return leaf_of(GB_F64, GB_NODE_GRAD, 1, &n, v, 0, 0); }

static void holes_and_ties_follow_the_table (void **state) {
  (void)state;
  gb_node *x = given(3, (double[]){2, 2, 1}), *y = given(3, (double[]){2, 1, 3});
  expect_gradient(BUILD(gb_reduce, GB_OP_MAX, x, 0, false), x, (double[]){0.5, 0.5, 0});
  expect_gradient(sum_all(map2(GB_OP_MAXIMUM, x, y)), x, (double[]){0.5, 1, 0});
  expect_gradient(sum_all(map2(GB_OP_MINIMUM, x, y)), x, (double[]){0.5, 0, 1});
  gb_node *z = given(2, (double[]){0, 4});
  expect_gradient(sum_all(map1(GB_OP_SQRT, z)), z, (double[]){0, 0.25});
  gb_node *none = given(2, (double[]){-INFINITY, -INFINITY});
  expect_gradient(BUILD(gb_reduce, GB_OP_LOGSUMEXP, none, 0, false), none, (double[]){0, 0});
  gb_node *base = given(2, (double[]){0, 2}), *p = given(2, (double[]){2, 0});
  expect_gradient(sum_all(map2(GB_OP_POW, base, p)), base, (double[]){0, 0});
  expect_gradient(sum_all(map2(GB_OP_POW, base, p)), p, (double[]){0, log(2)});
}

/* Equal points: every profile's gradient is finite, and so is the norm's. */
static void equal_points_have_finite_gradients (void **state) {
  (void)state;
  const double v[] = {1, 2, 1, 2, 0, 1};
  gb_node *x = leaf_of(GB_F64, GB_NODE_GRAD, 2, (size_t[]){3, 2}, v, 0, 0), *c = leaf0(1.1), *bar;
  for (int p = 0; p < GB_NPROFILES; p++) {
    gb_node *k = BUILD(gb_radial, (gb_profile)p, dist(x, x, NULL), c, p == GB_RQ ? leaf0(2) : NULL);
    take_gradient(sum_all(k), NULL, 1, &x, &bar);
    double *got = value_of(bar, NULL);
    for (int i = 0; i < 6; i++) assert_true(isfinite(got[i]));
    free(got);
  }
  gb_node *r = map1(GB_OP_SQRT, dist(x, x, NULL));
  take_gradient(sum_all(r), NULL, 1, &x, &bar);
  double *got = value_of(bar, NULL);
  for (int i = 0; i < 6; i++) assert_true(isfinite(got[i]));
  free(got);
}

/* -- second derivatives: the gradient of <w, gradient> */

static bool second_is_right (const char *what, gb_node *y, size_t n, gb_node *const *xs, double tol) {
  gb_node *bar[4];
  take_gradient(y, like_leaf(y), n, xs, bar);
  bool ok = true;
  for (size_t k = 0; k < n; k++) ok = gradient_is_right(what, bar[k], n, xs, tol) && ok;
  return ok;
}

static void second_derivatives_are_right (void **state) {
  (void)state;
  int wrong = 0;
  const gb_op ops[] = {
      GB_OP_SQUARE,     GB_OP_EXP,      GB_OP_LOG,         GB_OP_SQRT,         GB_OP_RSQRT,
      GB_OP_RECIP,      GB_OP_SIN,      GB_OP_TANH,        GB_OP_SIGMOID,      GB_OP_SOFTPLUS,
      GB_OP_ERF,        GB_OP_NDTR,     GB_OP_LOG_NDTR,    GB_OP_LGAMMA,       GB_OP_DIV,
      GB_OP_NDTR_RATIO, GB_OP_NDTR_GAP, GB_OP_NDTR_SPREAD, GB_OP_DIGAMMA,      GB_OP_TRIGAMMA,
      GB_OP_POLYGAMMA,  GB_OP_MUL,      GB_OP_POW,         GB_OP_LOGSUMEXP,    GB_OP_PROD,
      GB_OP_MATMUL,     GB_OP_SQDIST,   GB_OP_DIFFMV,      GB_OP_SLICE,        GB_OP_INDEX,
      GB_OP_PUT,        GB_OP_CAT,      GB_OP_CUMSUM,      GB_OP_CHOLESKY,     GB_OP_TRISOLVE,
      GB_OP_LOGDET,     GB_OP_INV_QUAD, GB_OP_SOLVE_CHOL,  GB_OP_CHOL_INVERSE, GB_OP_LU_SOLVE,
      GB_OP_LU_LOGDET,  GB_OP_EIGH,     GB_OP_QR,          GB_OP_SORT,         GB_OP_TAN,
      GB_OP_ATAN,       GB_OP_ASIN,     GB_OP_EXPM1,       GB_OP_LOG1P};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    const made m = case_of(ops[i]);
    wrong += !second_is_right(gb_ops[ops[i]].id, m.y, m.n, m.x, 2e-6);
  }
  for (int i = 0; i < FACTORED - 1; i++) { /* SVD: only once, as of one matrix */
    const made m = batch_case(factored_ops[i], i % 2);
    wrong += !second_is_right(gb_ops[factored_ops[i]].id, m.y, m.n, m.x, 5e-6);
  }
  for (int p = 0; p < GB_NPROFILES; p++) {
    const made m = radial_case(p, 0);
    wrong += !second_is_right("profile", m.y, 3, m.x, 2e-6); /* not twice in alpha */
  }
  assert_int_equal(wrong, 0);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FIXTURE_TEST(every_op_with_a_rule_has_the_right_gradient),
      FIXTURE_TEST(batches_have_the_right_gradient),
      FIXTURE_TEST(batches_of_right_hand_sides_have_the_right_gradient),
      FIXTURE_TEST(weighted_right_hand_sides_are_seen_as_such),
      FIXTURE_TEST(variants_have_the_right_gradient),
      FIXTURE_TEST(products_of_zeros_have_gradients),
      FIXTURE_TEST(holes_and_ties_follow_the_table),
      FIXTURE_TEST(equal_points_have_finite_gradients),
      FIXTURE_TEST(second_derivatives_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
