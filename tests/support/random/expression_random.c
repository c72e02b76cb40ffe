/* expression_random.c - one random step after another. */
#include "support/random/expression_random.h"

uint64_t draw_seed, drawn;

size_t draw (size_t below) {
  uint32_t w[4];
  gb_philox(draw_seed, 17, drawn++, w);
  return w[0] % below;
}

expression_sizes sizes = {{1, 5, 17, 70}, 30000};

gb_node *random_input (void) {
  const size_t a = sizes.extent[draw(4)], b = sizes.extent[draw(4)];
  switch (draw(3)) {
    case 0: return in1(a, -1, 1);
    case 1: return in2(a, b, -1, 1);
    default: return in3(draw(2) + 1, a, 1 + draw(4), -1, 1);
  }
}

static gb_node *pick_node (const pool *p) { return p->at[draw((size_t)p->n)]; }

gb_node *tame (gb_node *x) { return map1(draw(2) ? GB_OP_SIN : GB_OP_TANH, x); }

static gb_node *step_map1 (gb_node *x) {
  static const gb_op ops[] = {GB_OP_NEG,  GB_OP_ABS,      GB_OP_SQUARE,   GB_OP_EXP,  GB_OP_COS,
                              GB_OP_ATAN, GB_OP_SIGMOID,  GB_OP_SOFTPLUS, GB_OP_RELU, GB_OP_ERF,
                              GB_OP_NDTR, GB_OP_LOG_NDTR, GB_OP_EXPM1};
  return map1(ops[draw(sizeof ops / sizeof ops[0])], x);
}

static gb_node *step_map2 (gb_node *x, gb_node *y) {
  static const gb_op ops[] = {GB_OP_ADD, GB_OP_SUB, GB_OP_MUL, GB_OP_MAXIMUM, GB_OP_MINIMUM};
  gb_shape s;
  if (!gb_shape_broadcast(gb_node_shape(x), gb_node_shape(y), &s)) y = num(0.7);
  else if (gb_shape_numel(&s) > sizes.most) return x;
  return tame(map2(ops[draw(5)], x, y));
}

static bool fits (size_t n, size_t m) { return n * m <= sizes.most; }

static gb_node *step_outer (gb_node *x, gb_node *y) {
  const gb_shape *s = gb_node_shape(x), *t = gb_node_shape(y);
  if (s->ndim != 1 || t->ndim != 1 || !fits(s->dim[0], t->dim[0])) return step_map2(x, y);
  return tame(mul(unsq(x, 1), unsq(y, 0)));
}

static gb_node *step_view (gb_node *x) {
  const gb_shape *s = gb_node_shape(x);
  if (s->ndim == 0 || s->ndim > 5) return x;
  const int axis = (int)draw((size_t)s->ndim);
  switch (draw(6)) {
    case 0: return s->ndim < 4 ? unsq(x, (int)draw((size_t)s->ndim + 1)) : x;
    case 1: return s->dim[axis] == 1 ? sq(x, axis) : x;
    case 2: return s->ndim >= 2 ? tr(x) : x;
    case 3: {
      const size_t k = 1 + draw(s->dim[axis]);
      return BUILD(gb_slice, x, axis, draw(s->dim[axis] - k + 1), 1, k);
    }
    case 4: return BUILD(gb_flip, x, axis);
    default: {
      const gb_shape flat = gb_shape_of(1, (size_t[]){gb_shape_numel(s)});
      return BUILD(gb_reshape, x, &flat);
    }
  }
}

static gb_node *step_reduce (gb_node *x) {
  static const gb_op ops[] = {GB_OP_SUM, GB_OP_SUM, GB_OP_MAX, GB_OP_MIN, GB_OP_LOGSUMEXP};
  const gb_shape *s = gb_node_shape(x);
  if (s->ndim == 0) return x;
  const unsigned mask = 1u << draw((size_t)s->ndim);
  gb_node *y = BUILD(gb_reduce, ops[draw(5)], x, mask, draw(2) == 0);
  return tame(mul(y, num(0.1)));
}

static gb_node *step_contract (gb_node *x, gb_node *y) {
  const gb_shape *s = gb_node_shape(x), *t = gb_node_shape(y);
  if (s->ndim != 2 || t->ndim != 2) return step_map2(x, y);
  if (s->dim[1] == t->dim[0] && fits(s->dim[0], t->dim[1])) return tame(mul(mm(x, y), num(0.1)));
  if (s->dim[1] == t->dim[1] && fits(s->dim[0], t->dim[0])) {
    gb_node *d = BUILD(gb_sqdist, x, y, NULL);
    return draw(3) == 0 ? tame(mul(d, num(0.1))) : BUILD(gb_radial, (gb_profile)draw(4), d, num(0.5), NULL);
  }
  return fits(s->dim[1], s->dim[1]) ? tame(mul(mm(tr(x), x), num(0.1))) : step_map2(x, y);
}

static gb_node *step_opaque (gb_node *x) {
  const gb_shape *s = gb_node_shape(x);
  if (s->ndim == 0) return x;
  const int axis = (int)draw((size_t)s->ndim);
  switch (draw(4)) {
    case 0: return tame(mul(attr_node(GB_OP_CUMSUM, 1, &x, (gb_attr){.i = {axis, draw(2) == 0}}), num(0.1)));
    case 1: return BUILD(gb_pick, attr_node(GB_OP_SORT, 1, &x, (gb_attr){.i = {axis, draw(2) == 0}}), 0);
    case 2: return BUILD(gb_cat, 2, ((gb_node *[]){x, x}), axis);
    default: {
      if (s->ndim != 2 || s->dim[0] > 20) return x;
      gb_node *a = add(mm(x, tr(x)), mul(BUILD(gb_eye, fx.g, s->dim[0], gb_node_dtype(x)), num(3)));
      return draw(2) ? tame(BUILD(gb_solve, a, x)) : tame(mul(BUILD(gb_logdet, a), num(0.05)));
    }
  }
}

static gb_node *random_step (const pool *p) {
  gb_node *x = pick_node(p), *y = pick_node(p);
  switch (draw(10)) {
    case 0:
    case 1: return tame(step_map1(x));
    case 2:
    case 3: return step_map2(x, y);
    case 4: return step_outer(x, y);
    case 5: return step_view(x);
    case 6:
    case 7: return step_reduce(x);
    case 8: return step_contract(x, y);
    default: return step_opaque(x);
  }
}

void grow (pool *p) {
  for (int i = 0; i < STEPS; i++) {
    gb_node *next = random_step(p);
    p->at[p->n++] = next;
  }
}
