/* map.c - derivatives of elementwise ops. One line an op: the cotangent of x from x, y = op(x) and g = y's
** cotangent. A denominator that may be 0 is replaced before dividing, so that second derivatives contain no 0
** * inf: by 1, or by infinity if the quotient shall be 0. */
#include <math.h>

#include "graph/grad/rules.h"

typedef gb_node *rule1 (gb_formula *e, gb_node *x, gb_node *y, gb_node *g);

static gb_status apply1 (rule1 *r, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                         gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, y->graph, err);
  if (!need[0]) return GB_OK;
  return gb_formula_take(&e, r(&e, y->in[0], y, out_bar[0]), &in_bar[0]);
}

/* One-input rule 'suffix': the expression may use e, x, y and g. */
#define RULE1(suffix, formula)                                                                               \
  static gb_node *d_##suffix(gb_formula *e, gb_node *x, gb_node *y, gb_node *g) {                            \
    (void)x, (void)y;                                                                                        \
    return formula;                                                                                          \
  }                                                                                                          \
  gb_status gb_grad_##suffix(gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,        \
                             gb_error *err) {                                                                \
    return apply1(d_##suffix, y, out_bar, need, in_bar, err);                                                \
  }

#define M1(op, a) gb_ex_map1(e, GB_OP_##op, a)
#define M2(op, a, b) gb_ex_map2(e, GB_OP_##op, a, b)
#define NUM(v) gb_ex_like(e, v, g)

/* 1 where a is 0, else a */
static gb_node *nonzero (gb_formula *e, gb_node *a) {
  gb_node *zero = gb_ex_like(e, 0, a);
  return gb_ex_where(e, M2(EQ, a, zero), gb_ex_like(e, 1, a), a);
}

static gb_node *where_zero (gb_formula *e, gb_node *a, gb_node *then, gb_node *otherwise) {
  return gb_ex_where(e, M2(EQ, a, gb_ex_like(e, 0, a)), then, otherwise);
}

/* infinity where a is 0, else a */
static gb_node *or_infinity (gb_formula *e, gb_node *a) {
  gb_node *zero = gb_ex_like(e, 0, a);
  return gb_ex_where(e, M2(EQ, a, zero), gb_ex_like(e, INFINITY, a), a);
}

/* factor * exp(-scale x^2) */
static gb_node *bell (gb_formula *e, gb_node *x, double factor, double scale) {
  return gb_ex_scale(e, M1(EXP, gb_ex_scale(e, gb_ex_square(e, x), -scale)), factor);
}

/* The third derivative of log_ndtr. Its terms cancel in the lower tail, where, with z = -1 / x^2, it is (2 z
** / x) (1 + sum (2k + 1) (2k + 2) c_k z^k), the asymptotic series term by term: c_k / k are the coefficients
** of log(1 + sum (2k - 1)!! t^k). Each branch sees only its own x, so that derivatives of any order stay
** finite. */
#define TAIL -16.0
#define TAIL_TERMS 15

static gb_node *tail_series (gb_formula *e, gb_node *z) {
  double odd[TAIL_TERMS + 1] = {1}, c[TAIL_TERMS + 1] = {0}; /* odd[k] = (2k - 1)!! */
  for (int k = 1; k <= TAIL_TERMS; k++) {
    odd[k] = odd[k - 1] * (2 * k - 1);
    c[k] = k * odd[k];
    for (int j = 1; j < k; j++) c[k] -= c[j] * odd[k - j];
  }
  gb_node *sum = gb_ex_like(e, 0, z);
  for (int k = TAIL_TERMS; k >= 0; k--) {
    const double factor = k == 0 ? 1 : (2 * k + 1) * (2 * k + 2) * c[k];
    sum = gb_ex_shift(e, M2(MUL, sum, z), factor);
  }
  return sum;
}

static gb_node *third_of_log_ndtr (gb_formula *e, gb_node *x) {
  gb_node *edge = gb_ex_like(e, TAIL, x), *is_tail = M2(LT, x, edge);
  gb_node *far = gb_ex_where(e, is_tail, x, edge), *near = gb_ex_where(e, is_tail, edge, x),
          *by = M1(RECIP, far);
  gb_node *z = gb_ex_neg(e, gb_ex_square(e, by));
  gb_node *series = M2(MUL, gb_ex_scale(e, M2(MUL, z, by), 2), tail_series(e, z));
  gb_node *cumulant = M2(SUB, gb_ex_square(e, M1(NDTR_GAP, near)), M1(NDTR_SPREAD, near));
  return gb_ex_where(e, is_tail, series, M2(MUL, M1(NDTR_RATIO, near), cumulant));
}

/* The second derivative of log_ndtr, from the first. */
static gb_node *second_of_log_ndtr (gb_formula *e, gb_node *x, gb_node *ratio) {
  gb_node *in[3] = {gb_ex_neg(e, M2(MUL, ratio, M1(NDTR_GAP, x))), x, third_of_log_ndtr(e, x)};
  return gb_ex_op(e, GB_OP_WITH_SLOPE, 3, in, NULL, NULL, gb_node_dtype(x));
}

RULE1(neg, gb_ex_neg(e, g))
RULE1(abs, M2(MUL, g, M1(SIGN, x)))
RULE1(square, M2(MUL, gb_ex_scale(e, g, 2), x))
RULE1(recip, gb_ex_neg(e, M2(MUL, g, gb_ex_square(e, y))))
RULE1(sqrt, M2(MUL, g, M2(DIV, NUM(0.5), or_infinity(e, y))))
RULE1(rsqrt, M2(MUL, gb_ex_scale(e, g, -0.5), M2(MUL, y, gb_ex_square(e, y))))
RULE1(exp, M2(MUL, g, y))
RULE1(expm1, M2(MUL, g, M1(EXP, x)))
RULE1(log, M2(DIV, g, x))
RULE1(log1p, M2(DIV, g, gb_ex_shift(e, x, 1)))
RULE1(sin, M2(MUL, g, M1(COS, x)))
RULE1(cos, gb_ex_neg(e, M2(MUL, g, M1(SIN, x))))
RULE1(tan, M2(MUL, g, gb_ex_shift(e, gb_ex_square(e, y), 1)))
RULE1(asin, M2(MUL, g, M1(RSQRT, M2(SUB, NUM(1), gb_ex_square(e, x)))))
RULE1(acos, gb_ex_neg(e, M2(MUL, g, M1(RSQRT, M2(SUB, NUM(1), gb_ex_square(e, x))))))
RULE1(atan, M2(DIV, g, gb_ex_shift(e, gb_ex_square(e, x), 1)))
RULE1(tanh, M2(MUL, g, M2(SUB, NUM(1), gb_ex_square(e, y))))
RULE1(sigmoid, M2(MUL, g, M2(MUL, y, M2(SUB, NUM(1), y))))
RULE1(softplus, M2(MUL, g, M1(SIGMOID, x)))
RULE1(relu, gb_ex_where(e, M2(GT, x, NUM(0)), g, NUM(0)))
RULE1(erf, M2(MUL, g, bell(e, x, M_2_SQRTPI, 1)))
RULE1(ndtr, M2(MUL, g, bell(e, x, M_SQRT1_2 *M_2_SQRTPI / 2, 0.5)))
RULE1(log_ndtr, M2(MUL, g, M1(NDTR_RATIO, x)))
RULE1(ndtr_ratio, M2(MUL, g, second_of_log_ndtr(e, x, y)))
RULE1(ndtr_gap, M2(MUL, g, M1(NDTR_SPREAD, x)))
RULE1(ndtr_spread, M2(MUL, g, third_of_log_ndtr(e, x)))
RULE1(lgamma, M2(MUL, g, M1(DIGAMMA, x)))
RULE1(digamma, M2(MUL, g, M1(TRIGAMMA, x)))
RULE1(trigamma, M2(MUL, g, M2(POLYGAMMA, NUM(2), x)))
RULE1(move, gb_ex_move(e, g, x->device))
RULE1(cast, gb_dtype_is_float(gb_node_dtype(x)) ? gb_ex_cast(e, g, gb_node_dtype(x)) : NULL)

typedef gb_node *rule2 (gb_formula *e, gb_node *a, gb_node *b, gb_node *y, gb_node *g);

static gb_status apply2 (rule2 *const r[2], gb_node *y, gb_node *const *out_bar, const bool *need,
                         gb_node **in_bar, gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, y->graph, err);
  for (int i = 0; i < 2; i++)
    if (need[i]) {
      gb_node *bar = r[i](&e, y->in[0], y->in[1], y, out_bar[0]);
      gb_bar_put(&e, gb_ex_unbroadcast(&e, bar, gb_node_shape(y->in[i])), in_bar, i);
    }
  return gb_bar_finish(&e, 2, in_bar);
}

/* Two-input rule: the cotangents of a and b before the sum over broadcast axes. */
#define RULE2(suffix, of_a, of_b)                                                                            \
  static gb_node *da_##suffix(gb_formula *e, gb_node *a, gb_node *b, gb_node *y, gb_node *g) {               \
    (void)e, (void)a, (void)b, (void)y;                                                                      \
    return of_a;                                                                                             \
  }                                                                                                          \
  static gb_node *db_##suffix(gb_formula *e, gb_node *a, gb_node *b, gb_node *y, gb_node *g) {               \
    (void)e, (void)a, (void)b, (void)y;                                                                      \
    return of_b;                                                                                             \
  }                                                                                                          \
  gb_status gb_grad_##suffix(gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,        \
                             gb_error *err) {                                                                \
    return apply2((rule2 *const[]){da_##suffix, db_##suffix}, y, out_bar, need, in_bar, err);                \
  }

/* p x^(p - 1); 0 if p is 0, also at x = 0 */
static gb_node *power_slope (gb_formula *e, gb_node *x, gb_node *p) {
  gb_node *less = gb_ex_shift(e, p, -1);
  if (p->op == GB_OP_CONST) return p->attr.f[0] == 0 ? gb_ex_like(e, 0, x) : M2(MUL, M2(POW, x, less), p);
  return M2(MUL, M2(POW, x, where_zero(e, p, where_zero(e, x, gb_ex_like(e, 1, x), less), less)), p);
}

/* g if a beats b, half of it on ties */
static gb_node *winner (gb_formula *e, gb_op beats, gb_node *a, gb_node *b, gb_node *g) {
  gb_node *tie = gb_ex_where(e, M2(EQ, a, b), gb_ex_scale(e, g, 0.5), NUM(0));
  return gb_ex_where(e, gb_ex_map2(e, beats, a, b), g, tie);
}

RULE2(add, g, g)
RULE2(sub, g, gb_ex_neg(e, g))
RULE2(mul, M2(MUL, g, b), M2(MUL, g, a))
RULE2(div, M2(DIV, g, b), gb_ex_neg(e, M2(MUL, g, M2(DIV, y, b))))
RULE2(mod, g, gb_ex_neg(e, M2(MUL, g, M2(IDIV, a, b))))
RULE2(pow, M2(MUL, g, power_slope(e, a, b)), M2(MUL, g, M2(MUL, y, M1(LOG, nonzero(e, a)))))
/* Polygamma has no derivative by its order: NaN. */
RULE2(polygamma, M2(MUL, g, NUM(NAN)), M2(MUL, g, M2(POLYGAMMA, gb_ex_shift(e, a, 1), b)))
RULE2(maximum, winner(e, GB_OP_GT, a, b, g), winner(e, GB_OP_GT, b, a, g))
RULE2(minimum, winner(e, GB_OP_LT, a, b, g), winner(e, GB_OP_LT, b, a, g))

gb_status gb_grad_where (gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                         gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, y->graph, err);
  gb_node *c = y->in[0], *g = out_bar[0], *zero = gb_ex_like(&e, 0, g);
  for (int i = 1; i < 3; i++)
    if (need[i]) {
      gb_node *bar = i == 1 ? gb_ex_where(&e, c, g, zero) : gb_ex_where(&e, c, zero, g);
      gb_bar_put(&e, gb_ex_unbroadcast(&e, bar, gb_node_shape(y->in[i])), in_bar, i);
    }
  return gb_bar_finish(&e, 3, in_bar);
}

gb_status gb_grad_with_slope (gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                              gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, y->graph, err);
  if (need[1]) {
    gb_node *bar = gb_ex_mul(&e, out_bar[0], y->in[2]);
    gb_bar_put(&e, gb_ex_unbroadcast(&e, bar, gb_node_shape(y->in[1])), in_bar, 1);
  }
  return gb_bar_finish(&e, 3, in_bar);
}

/* -- RADIAL */

static gb_node *radial (gb_formula *e, const gb_node *y, gb_node *c, gb_node *alpha, gb_profile p,
                        int64_t order, int64_t dalpha) {
  gb_node *in[3] = {y->in[0], c, alpha};
  const gb_attr attr = {.i = {p, order, dalpha}};
  return gb_ex_op(e, GB_OP_RADIAL, alpha ? 3 : 2, in, &attr, NULL, gb_node_dtype(y));
}

/* d/du of the profile y has. Orders past 2 step down to the next smoother-by-one member of the family:
**   M52' = -5/6 M32(5u/3),  M32' = -3/2 M12(3u),  RQ_a' = -1/2 RQ_{a+1}(u (a+1)/a). */
static gb_node *slope (gb_formula *e, gb_node *y) {
  gb_node *c = y->in[1], *alpha = y->nin == 3 ? y->in[2] : NULL;
  const gb_profile p = (gb_profile)y->attr.i[0];
  const int64_t order = y->attr.i[1], dalpha = y->attr.i[2];
  if (p == GB_RBF) return gb_ex_scale(e, y, -0.5);
  if (order < 2) return radial(e, y, c, alpha, p, order + 1, dalpha);
  if (p == GB_M52 || p == GB_M32) {
    const double k = p == GB_M52 ? 5.0 / 3 : 3;
    gb_node *below = radial(e, y, gb_ex_scale(e, c, k), NULL, p == GB_M52 ? GB_M32 : GB_M12, order, 0);
    return gb_ex_scale(e, below, -k / 2 * pow(k, (double)order));
  }
  if (p == GB_RQ && !dalpha) {
    gb_node *next = gb_ex_shift(e, alpha, 1), *ratio = gb_ex_div(e, next, alpha),
            *factor = gb_ex_like(e, -0.5, c);
    for (int64_t i = 0; i < order; i++) factor = gb_ex_mul(e, factor, ratio);
    return gb_ex_mul(e, radial(e, y, gb_ex_mul(e, c, ratio), next, GB_RQ, order, 0), factor);
  }
  if (e->status == GB_OK)
    e->status =
        gb_fail(e->err, GB_EOPTION, "radial: no derivative of order %d of this profile", (int)order + 1);
  return NULL;
}

static gb_node *alpha_slope (gb_formula *e, gb_node *y) {
  if (y->attr.i[2] == 0) return radial(e, y, y->in[1], y->in[2], GB_RQ, y->attr.i[1], 1);
  if (e->status == GB_OK) e->status = gb_fail(e->err, GB_EOPTION, "radial: no second derivative in alpha");
  return NULL;
}

gb_status gb_grad_radial (gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                          gb_error *err) {
  gb_formula e;
  gb_formula_init(&e, y->graph, err);
  gb_node *s = y->in[0], *c = y->in[1], *g = out_bar[0];
  gb_node *w = need[0] || need[1] ? gb_ex_mul(&e, g, slope(&e, y)) : NULL;
  if (need[0]) gb_bar_put(&e, gb_ex_unbroadcast(&e, gb_ex_mul(&e, w, c), gb_node_shape(s)), in_bar, 0);
  if (need[1]) gb_bar_put(&e, gb_ex_unbroadcast(&e, gb_ex_mul(&e, w, s), gb_node_shape(c)), in_bar, 1);
  if (y->nin == 3 && need[2]) {
    gb_node *bar = gb_ex_mul(&e, g, alpha_slope(&e, y));
    gb_bar_put(&e, gb_ex_unbroadcast(&e, bar, gb_node_shape(y->in[2])), in_bar, 2);
  }
  return gb_bar_finish(&e, y->nin, in_bar);
}
