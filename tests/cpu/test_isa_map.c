/* test_isa_map.c - elementwise ops of every kernel table: each op of the table in ops.def against long
** double, special values, and the same bits in every form. */
#include "support/cpu/isa_harness.h"

/* -- references */

static long double digamma (long double x) {
  if (x <= 0)
    return x == floorl(x) ? (long double)NAN : digamma(1 - x) - M_PIl / tanl(M_PIl * (x - floorl(x)));
  long double s = 0;
  for (; x < 40; x += 1) s -= 1 / x;
  const long double z = 1 / (x * x);
  return s + logl(x) - 0.5L / x -
         z * (1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L - z * (1 / 240.0L - z / 132.0L))));
}

static long double trigamma (long double x) {
  if (x <= 0) {
    const long double s = sinl(M_PIl * (x - floorl(x)));
    return M_PIl * M_PIl / (s * s) - trigamma(1 - x);
  }
  long double s = 0;
  for (; x < 40; x += 1) s += 1 / (x * x);
  const long double z = 1 / (x * x);
  return s + 1 / x + z / 2 +
         z / x * (1 / 6.0L - z * (1 / 30.0L - z * (1 / 42.0L - z * (1 / 30.0L - z * 5 / 66.0L))));
}

static long double ndtr (long double x) { return erfcl(-x * M_SQRT1_2l) / 2; }

static long double log_ndtr (long double x) {
  if (x > 0) return log1pl(-ndtr(-x));
  if (x > -100) return logl(ndtr(x));
  const long double z = 1 / (x * x);
  return -x * x / 2 - logl(-x) - 0.91893853320467274178L +
         log1pl(-z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z))));
}

static long double ndtr_ratio (long double x) {
  return expl(-x * x / 2) / (2.50662827463100050242L * ndtr(x));
}

/* By the sum itself, whose rest is that of its midpoint. */
static long double polygamma (int n, long double x) {
  long double s = 0, factorial = 1;
  if (n == 0) return digamma(x);
  for (int i = 2; i <= n; i++) factorial *= i;
  for (; x < 3000; x += 1) s += powl(x, -n - 1);
  const long double m = x - 0.5L;
  s += powl(m, -n) / n - (n + 1) * powl(m, -n - 2) / 24;
  return (n % 2 == 0 ? -1 : 1) * factorial * s;
}

static long double sign (long double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static long double mod (long double x, long double y) {
  const long double r = fmodl(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static long double value_of_several (gb_op op, long double x, long double y, long double z) {
  switch (op) {
    case GB_OP_ADD: return x + y;
    case GB_OP_SUB: return x - y;
    case GB_OP_MUL: return x * y;
    case GB_OP_DIV: return x / y;
    case GB_OP_MOD: return mod(x, y);
    case GB_OP_POW: return powl(x, y);
    case GB_OP_MAXIMUM: return x > y ? x : y;
    case GB_OP_MINIMUM: return x < y ? x : y;
    case GB_OP_LT: return x < y;
    case GB_OP_LE: return x <= y;
    case GB_OP_GT: return x > y;
    case GB_OP_GE: return x >= y;
    case GB_OP_EQ: return x == y;
    case GB_OP_NE: return x != y;
    case GB_OP_AND: return x != 0 && y != 0;
    case GB_OP_OR: return x != 0 || y != 0;
    case GB_OP_WHERE: return x != 0 ? y : z;
    default: return (long double)NAN;
  }
}

static long double value (gb_op op, long double x, long double y, long double z) {
  switch (op) {
    case GB_OP_NEG: return -x;
    case GB_OP_ABS: return fabsl(x);
    case GB_OP_SIGN: return sign(x);
    case GB_OP_FLOOR: return floorl(x);
    case GB_OP_CEIL: return ceill(x);
    case GB_OP_ROUND: return rintl(x);
    case GB_OP_SQUARE: return x * x;
    case GB_OP_RECIP: return 1 / x;
    case GB_OP_SQRT: return sqrtl(x);
    case GB_OP_RSQRT: return 1 / sqrtl(x);
    case GB_OP_EXP: return expl(x);
    case GB_OP_EXPM1: return expm1l(x);
    case GB_OP_LOG: return logl(x);
    case GB_OP_LOG1P: return log1pl(x);
    case GB_OP_SIN: return sinl(x);
    case GB_OP_COS: return cosl(x);
    case GB_OP_TAN: return tanl(x);
    case GB_OP_ASIN: return asinl(x);
    case GB_OP_ACOS: return acosl(x);
    case GB_OP_ATAN: return atanl(x);
    case GB_OP_TANH: return tanhl(x);
    case GB_OP_SIGMOID: return 1 / (1 + expl(-x));
    case GB_OP_SOFTPLUS: return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
    case GB_OP_RELU: return x > 0 ? x : 0;
    case GB_OP_ERF: return erfl(x);
    case GB_OP_NDTR: return ndtr(x);
    case GB_OP_LOG_NDTR: return log_ndtr(x);
    case GB_OP_NDTR_RATIO: return ndtr_ratio(x);
    case GB_OP_NDTR_GAP: return x + ndtr_ratio(x);
    case GB_OP_NDTR_SPREAD: return 1 - ndtr_ratio(x) * (x + ndtr_ratio(x));
    case GB_OP_POLYGAMMA: return polygamma((int)x, y);
    case GB_OP_LGAMMA: return lgammal(x);
    case GB_OP_DIGAMMA: return digamma(x);
    case GB_OP_TRIGAMMA: return trigamma(x);
    case GB_OP_ISNAN: return isnan(x);
    case GB_OP_ISFINITE: return isfinite(x);
    case GB_OP_NOT: return x == 0;
    case GB_OP_DETACH:
    case GB_OP_WITH_SLOPE: return x;
    default: return value_of_several(op, x, y, z);
  }
}

/* Ranges of the first two arguments and the error allowed in ulp; 'floor' is the least size an error is
** held against, where the function crosses zero. */
typedef struct domain {
  double lo, hi, lo2, hi2, ulp, floor;
} domain;

static domain domain_of (gb_op op) {
  const domain wide = {-50, 50, -50, 50, 0.5, 0};
  switch (op) {
    case GB_OP_EXP:
    case GB_OP_EXPM1: return (domain){-80, 80, 0, 0, 1.1, 0};
    case GB_OP_SIN:
    case GB_OP_COS: return (domain){-1000, 1000, 0, 0, 2, 0};
    case GB_OP_TAN: return (domain){-1000, 1000, 0, 0, 1.1, 0};
    case GB_OP_ASIN:
    case GB_OP_ACOS: return (domain){-1, 1, 0, 0, 1.1, 0};
    case GB_OP_ATAN:
    case GB_OP_ERF: return (domain){-4, 4, 0, 0, 1.1, 0};
    case GB_OP_TANH: return (domain){-12, 12, 0, 0, 1.1, 0};
    case GB_OP_LOG: return (domain){0, 10, 0, 0, 1.1, 0};
    case GB_OP_LOG1P: return (domain){-0.99, 10, 0, 0, 1.1, 0};
    case GB_OP_SQRT: return (domain){0, 100, 0, 0, 0.5, 0};
    case GB_OP_RSQRT: return (domain){0, 100, 0, 0, 1.5, 0};
    case GB_OP_SIGMOID: return (domain){-40, 40, 0, 0, 3, 0};
    case GB_OP_SOFTPLUS: return (domain){-40, 40, 0, 0, 4, 0};
    case GB_OP_NDTR:
      return (domain){-3, 8, 0, 0, 24, 0}; /* x^2 ulp from rounding x / sqrt 2 */
    /* the same, in ulp of up to twice the size */
    case GB_OP_LOG_NDTR: return (domain){-60, 6, 0, 0, 74, 0};
    case GB_OP_NDTR_RATIO: return (domain){-60, 12, 0, 0, 6, 0};
    case GB_OP_NDTR_GAP: return (domain){-12, 12, 0, 0, 40, 0};
    case GB_OP_NDTR_SPREAD: return (domain){-5, 5, 0, 0, 200, 0};
    case GB_OP_POLYGAMMA: return (domain){1, 6, 0.01, 30, 24, 0};
    case GB_OP_LGAMMA: return (domain){0.01, 60, 0, 0, 2, 0.5};
    case GB_OP_DIGAMMA:
    case GB_OP_TRIGAMMA:
      return (domain){-5.5, 30, 0, 0, 400, 1};
      /* near poles of the mirror */
    case GB_OP_POW: return (domain){0, 20, -9, 9, 1.1, 0};
    case GB_OP_NOT:
    case GB_OP_AND:
    case GB_OP_OR:
    case GB_OP_WHERE: return (domain){-1, 1, -1, 1, 0, 0};
    default: return wide;
  }
}

static gb_arg full (const void *p) { return (gb_arg){p, GB_FORM_FULL}; }

static void check_op (const table *t, gb_op op) {
  enum { NJ = 32, N = NJ * GB_TI };
  const domain in = domain_of(op);
  const double unit = t->single ? 0x1p-23 : 0x1p-52;
  void *x = random_values(t, N, in.lo, in.hi), *y = random_values(t, N, in.lo2, in.hi2);
  void *z = random_values(t, N, -1, 1), *got = room(t, N);
  for (size_t i = 0; i < N; i += 3) { /* truth values and ties too */
    if (op == GB_OP_NOT || op == GB_OP_AND || op == GB_OP_OR || op == GB_OP_WHERE) put(t, x, i, i % 2 == 0);
    if (in.lo2 < 0 && op != GB_OP_POW && op != GB_OP_MOD && op != GB_OP_IDIV) put(t, y, i, get(t, x, i));
  }
  for (size_t i = 0; op == GB_OP_POLYGAMMA && i < N; i++) put(t, x, i, floor(get(t, x, i)));
  t->k->map(op, GB_FORM_FULL, NJ, got, full(x), full(y), full(z));
  for (size_t i = 0; i < N; i++) {
    const double a = get(t, x, i), b = get(t, y, i);
    long double want = value(op, a, b, get(t, z, i));
    if (op == GB_OP_IDIV)
      want = t->single ? (long double)floorf((float)a / (float)b) : (long double)floor(a / b);
    if (fabsl(want) < in.floor && fabsl(get(t, got, i) - want) <= in.ulp * unit * in.floor) continue;
    check_ulps(t, get(t, got, i), want, op == GB_OP_MOD ? 0.51 : in.ulp + 0.01, gb_ops[op].name, a);
  }
  free(x);
  free(y);
  free(z);
  free(got);
}

static void every_elementwise_op_agrees_with_long_double_in (const table *t) {
  for (int op = 0; op < GB_NOPS; op++)
    if (gb_ops[op].kind == GB_KIND_MAP && op != GB_OP_RADIAL) check_op(t, (gb_op)op);
}
EACH_TABLE(every_elementwise_op_agrees_with_long_double)

/* -- special values */

static double one (const table *t, gb_op op, double x, double y) {
  double room_a[1], room_b[1], room_d[1];
  put(t, room_a, 0, x);
  put(t, room_b, 0, y);
  const gb_arg a = {room_a, GB_FORM_ONE}, b = {room_b, GB_FORM_ONE};
  t->k->map(op, GB_FORM_ONE, 1, room_d, a, b, b);
  return get(t, room_d, 0);
}

static bool same (double a, double b) { return (isnan(a) && isnan(b)) || a == b; }

/* Wanted in f64; in f32 the same, rounded. */
static const struct {
  gb_op op;
  double x, y, want;
} special[] = {{GB_OP_MAXIMUM, NAN, 1, NAN},
               {GB_OP_MAXIMUM, 1, NAN, NAN},
               {GB_OP_MINIMUM, NAN, 1, NAN},
               {GB_OP_MINIMUM, 1, NAN, NAN},
               {GB_OP_MAXIMUM, -INFINITY, 1, 1},
               {GB_OP_MINIMUM, -INFINITY, 1, -INFINITY},
               {GB_OP_LT, NAN, 1, 0},
               {GB_OP_LE, NAN, NAN, 0},
               {GB_OP_GT, 1, NAN, 0},
               {GB_OP_GE, NAN, 1, 0},
               {GB_OP_EQ, NAN, NAN, 0},
               {GB_OP_NE, NAN, NAN, 1},
               {GB_OP_EQ, 0.0, -0.0, 1},
               {GB_OP_SIGN, NAN, 0, NAN},
               {GB_OP_SIGN, -INFINITY, 0, -1},
               {GB_OP_SIGN, 0, 0, 0},
               {GB_OP_RELU, NAN, 0, NAN},
               {GB_OP_RELU, -3, 0, 0},
               {GB_OP_RELU, INFINITY, 0, INFINITY},
               {GB_OP_ISNAN, NAN, 0, 1},
               {GB_OP_ISNAN, INFINITY, 0, 0},
               {GB_OP_ISFINITE, NAN, 0, 0},
               {GB_OP_ISFINITE, -INFINITY, 0, 0},
               {GB_OP_ISFINITE, 1, 0, 1},
               {GB_OP_ROUND, 2.5, 0, 2},
               {GB_OP_ROUND, 3.5, 0, 4},
               {GB_OP_ROUND, -0.5, 0, 0},
               {GB_OP_FLOOR, -0.5, 0, -1},
               {GB_OP_CEIL, 0x1p90, 0, 0x1p90},
               {GB_OP_FLOOR, INFINITY, 0, INFINITY},
               {GB_OP_EXP, INFINITY, 0, INFINITY},
               {GB_OP_EXP, -INFINITY, 0, 0},
               {GB_OP_EXP, NAN, 0, NAN},
               {GB_OP_EXPM1, -INFINITY, 0, -1},
               {GB_OP_EXPM1, INFINITY, 0, INFINITY},
               {GB_OP_LOG, 0, 0, -INFINITY},
               {GB_OP_LOG, -1, 0, NAN},
               {GB_OP_LOG, INFINITY, 0, INFINITY},
               {GB_OP_LOG1P, -1, 0, -INFINITY},
               {GB_OP_LOG1P, -2, 0, NAN},
               {GB_OP_LOG1P, INFINITY, 0, INFINITY},
               {GB_OP_SQRT, -1, 0, NAN},
               {GB_OP_RSQRT, 0, 0, INFINITY},
               {GB_OP_RSQRT, INFINITY, 0, 0},
               {GB_OP_RECIP, 0, 0, INFINITY},
               {GB_OP_SIN, INFINITY, 0, NAN},
               {GB_OP_COS, -INFINITY, 0, NAN},
               {GB_OP_TAN, INFINITY, 0, NAN},
               {GB_OP_ASIN, 2, 0, NAN},
               {GB_OP_ACOS, -2, 0, NAN},
               {GB_OP_TANH, INFINITY, 0, 1},
               {GB_OP_TANH, -INFINITY, 0, -1},
               {GB_OP_TANH, NAN, 0, NAN},
               {GB_OP_ERF, INFINITY, 0, 1},
               {GB_OP_ERF, -INFINITY, 0, -1},
               {GB_OP_ERF, NAN, 0, NAN},
               {GB_OP_SIGMOID, INFINITY, 0, 1},
               {GB_OP_SIGMOID, -INFINITY, 0, 0},
               {GB_OP_SIGMOID, NAN, 0, NAN},
               {GB_OP_SOFTPLUS, INFINITY, 0, INFINITY},
               {GB_OP_SOFTPLUS, -INFINITY, 0, 0},
               {GB_OP_SOFTPLUS, 1e4, 0, 1e4},
               {GB_OP_SOFTPLUS, NAN, 0, NAN},
               {GB_OP_NDTR, INFINITY, 0, 1},
               {GB_OP_NDTR, -INFINITY, 0, 0},
               {GB_OP_NDTR, NAN, 0, NAN},
               {GB_OP_LOG_NDTR, INFINITY, 0, 0},
               {GB_OP_LOG_NDTR, -INFINITY, 0, -INFINITY},
               {GB_OP_LOG_NDTR, NAN, 0, NAN},
               {GB_OP_LOG_NDTR, -1e4, 0, -50000010.12927891518},
               {GB_OP_LGAMMA, 1, 0, 0},
               {GB_OP_LGAMMA, 2, 0, 0},
               {GB_OP_LGAMMA, INFINITY, 0, INFINITY},
               {GB_OP_LGAMMA, NAN, 0, NAN},
               {GB_OP_DIGAMMA, 0, 0, -INFINITY},
               {GB_OP_DIGAMMA, -3, 0, NAN},
               {GB_OP_DIGAMMA, INFINITY, 0, INFINITY},
               {GB_OP_DIGAMMA, NAN, 0, NAN},
               {GB_OP_TRIGAMMA, 0, 0, INFINITY},
               {GB_OP_TRIGAMMA, INFINITY, 0, 0},
               {GB_OP_POW, -2, 3, -8},
               {GB_OP_POW, -2, 2, 4},
               {GB_OP_POW, -2, 0.5, NAN},
               {GB_OP_POW, 0, 0, 1},
               {GB_OP_POW, 0, -1, INFINITY},
               {GB_OP_POW, NAN, 1, NAN},
               {GB_OP_POW, 2, -1, 0.5},
               {GB_OP_POW, 10, 2, 100},
               {GB_OP_MOD, 5.5, 2, 1.5},
               {GB_OP_MOD, -5.5, 2, 0.5},
               {GB_OP_MOD, 5.5, -2, -0.5},
               {GB_OP_MOD, -5.5, -2, -1.5},
               {GB_OP_MOD, 5, INFINITY, 5},
               {GB_OP_MOD, -5, INFINITY, INFINITY},
               {GB_OP_MOD, 5, 0, NAN},
               {GB_OP_MOD, NAN, 2, NAN},
               {GB_OP_IDIV, 7, 2, 3},
               {GB_OP_IDIV, -7, 2, -4},
               {GB_OP_IDIV, 7, 0, INFINITY},
               {GB_OP_DIV, 1, 0, INFINITY}};

static void special_values_are_those_of_the_definitions_in (const table *t) {
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
    const double want = t->single ? (double)(float)special[i].want : special[i].want;
    const double got = one(t, special[i].op, special[i].x, special[i].y);
    if (!same(got, want))
      fail_msg("%s f%zu %s(%g, %g) = %.17g, expected %.17g", t->isa->name, 8 * t->width,
               gb_ops[special[i].op].name, special[i].x, special[i].y, got, want);
  }
}
EACH_TABLE(special_values_are_those_of_the_definitions)

static void odd_functions_keep_the_sign_of_zero_in (const table *t) {
  static const gb_op odd[] = {GB_OP_SIN, GB_OP_TAN,   GB_OP_ASIN, GB_OP_TANH,
                              GB_OP_ERF, GB_OP_EXPM1, GB_OP_LOG1P};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    for (int negative = 0; negative < 2; negative++) {
      const double got = one(t, odd[i], negative ? -0.0 : 0.0, 0);
      if (!(got == 0) || !!signbit(got) != negative)
        fail_msg("%s f%zu %s(%s0) = %g", t->isa->name, 8 * t->width, gb_ops[odd[i]].name, negative ? "-" : "",
                 got);
    }
}
EACH_TABLE(odd_functions_keep_the_sign_of_zero)

/* -- forms */

/* Element (j, i) of an argument of the given form, copied to a FULL one. */
static void *spread (const table *t, const void *p, gb_form form, size_t nj) {
  void *out = room(t, nj * GB_TI);
  for (size_t j = 0; j < nj; j++)
    for (size_t i = 0; i < GB_TI; i++)
      put(t, out, j * GB_TI + i,
          get(t, p,
              form == GB_FORM_ONE    ? 0
              : form == GB_FORM_LANE ? i
              : form == GB_FORM_TILE ? j
                                     : j * GB_TI + i));
  return out;
}

static bool fits (gb_form arg, gb_form dst) {
  return arg == GB_FORM_ONE || arg == dst || dst == GB_FORM_FULL;
}

static void check_form (const table *t, gb_op op, const gb_form f[4], size_t nj) {
  const domain in = domain_of(op);
  void *p[3], *wide[3], *got = zeros(t, nj * GB_TI), *want = room(t, nj * GB_TI);
  for (int k = 0; k < 3; k++) {
    p[k] = random_values(t, nj * GB_TI, k == 1 ? in.lo2 : in.lo, k == 1 ? in.hi2 : in.hi);
    wide[k] = spread(t, p[k], f[k], nj);
  }
  t->k->map(op, GB_FORM_FULL, (int)nj, want, full(wide[0]), full(wide[1]), full(wide[2]));
  t->k->map(op, f[3], (int)nj, got, (gb_arg){p[0], f[0]}, (gb_arg){p[1], f[1]}, (gb_arg){p[2], f[2]});
  void *all = spread(t, got, f[3], nj);
  check_same(t, all, want, nj * GB_TI, gb_ops[op].name);
  for (int k = 0; k < 3; k++) {
    free(p[k]);
    free(wide[k]);
  }
  free(got);
  free(want);
  free(all);
}

static void a_value_has_the_same_bits_in_every_form_in (const table *t) {
  for (int op = 0; op < GB_NOPS; op++) {
    if (gb_ops[op].kind != GB_KIND_MAP || op == GB_OP_RADIAL) continue;
    for (int code = 0; code < 256; code++) {
      const gb_form f[4] = {(gb_form)(code & 3), (gb_form)(code >> 2 & 3), (gb_form)(code >> 4 & 3),
                            (gb_form)(code >> 6)};
      if (!fits(f[0], f[3]) || !fits(f[1], f[3]) || !fits(f[2], f[3])) continue;
      if (gb_ops[op].inputs < 3 && f[2] != f[0]) continue;
      if (gb_ops[op].inputs < 2 && f[1] != f[0]) continue;
      check_form(t, (gb_op)op, f, 5);
    }
  }
}
EACH_TABLE(a_value_has_the_same_bits_in_every_form)

/* Any sign and magnitude, zeros, infinities and NaN beside each other. */
static double wild (void) {
  const double kind = uniform(0, 1), top = uniform(0, 1) < 0.3 ? 60 : 10;
  if (kind < 0.02) return 0.0;
  if (kind < 0.03) return (double)INFINITY;
  if (kind < 0.04) return (double)NAN;
  return exp2(uniform(-10, top)) * (uniform(-1, 1) < 0 ? -1 : 1);
}

static void a_lane_does_not_depend_on_its_neighbours_in (const table *t) {
  void *x = room(t, GB_TI), *y = room(t, GB_TI), *all = room(t, GB_TI);
  for (int op = 0; op < GB_NOPS; op++) {
    if (gb_ops[op].kind != GB_KIND_MAP || op == GB_OP_RADIAL) continue;
    for (int n = 0; n < 20; n++) {
      for (size_t i = 0; i < GB_TI; i++) {
        put(t, x, i, wild());
        put(t, y, i, uniform(-9, 9));
      }
      const gb_arg a = {x, GB_FORM_LANE}, b = {y, GB_FORM_LANE};
      t->k->map((gb_op)op, GB_FORM_LANE, 1, all, a, b, b);
      for (size_t i = 0; i < GB_TI; i++) {
        const double alone = one(t, (gb_op)op, get(t, x, i), get(t, y, i));
        if (!same(alone, get(t, all, i)))
          fail_msg("%s f%zu %s(%.17g): %.17g alone, %.17g among others", t->isa->name, 8 * t->width,
                   gb_ops[op].name, get(t, x, i), alone, get(t, all, i));
      }
    }
  }
  free(x);
  free(y);
  free(all);
}
EACH_TABLE(a_lane_does_not_depend_on_its_neighbours)

static void a_narrow_result_writes_only_its_own_elements_in (const table *t) {
  void *x = random_values(t, GB_CANON, 0, 1), *out = zeros(t, GB_CANON + 16);
  const gb_arg a = {x, GB_FORM_TILE};
  for (int nj = 1; nj <= GB_CANON; nj += 17) {
    put(t, out, (size_t)nj, 77.0);
    t->k->map(GB_OP_EXP, GB_FORM_TILE, nj, out, a, a, a);
    assert_true(get(t, out, (size_t)nj) == 77.0);
    assert_true(get(t, out, (size_t)nj - 1) >= 1.0);
  }
  free(x);
  free(out);
}
EACH_TABLE(a_narrow_result_writes_only_its_own_elements)

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_elementwise_op_agrees_with_long_double),
                                     cmocka_unit_test(special_values_are_those_of_the_definitions),
                                     cmocka_unit_test(odd_functions_keep_the_sign_of_zero),
                                     cmocka_unit_test(a_value_has_the_same_bits_in_every_form),
                                     cmocka_unit_test(a_lane_does_not_depend_on_its_neighbours),
                                     cmocka_unit_test(a_narrow_result_writes_only_its_own_elements)};
  return cmocka_run_group_tests_name("isa_map", tests, NULL, NULL);
}
