/* fold_reference.c - nested loops over every axis of the domain, one scalar at a time. */
#include "support/cpu/fold_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

/* One element of an output. KSMALLEST keeps 'k' entries, the others one. */
typedef struct cell {
  double value;     /* sum, product, extreme; largest so far for LSE */
  double tail;      /* LSE: sum of exp(t - value) */
  int64_t position; /* from 1; 0 = none yet */
} cell;

typedef struct run {
  const gb_fold *f;
  const void *const *operand;
  const gb_number *constant;
  size_t index[GB_FOLD_AXES];
  double *value;
  cell **cells;   /* per output */
  gb_axes *inner; /* per output: loops around its EMIT */
} run;

static void die (const char *what) {
  fprintf(stderr, "fold_reference: %s\n", what);
  abort();
}

static double psi (double x) {
  double s = 0;
  if (x <= 0) return x == floor(x) ? NAN : psi(1 - x) - M_PI / tan(M_PI * x);
  for (; x < 20; x += 1) s -= 1 / x;
  double r = 1 / (x * x);
  return s + log(x) - 0.5 / x -
         r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

static double psi1 (double x) {
  double s = 0;
  if (x <= 0) {
    if (x == floor(x)) return NAN;
    double q = M_PI / sin(M_PI * x);
    return q * q - psi1(1 - x);
  }
  for (; x < 20; x += 1) s += 1 / (x * x);
  double r = 1 / (x * x);
  return s + 1 / x + r / 2 +
         r / x * (1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30 - r * 5 / 66))));
}

static double ndtr (double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

static double log_ndtr (double x) {
  if (x > -30) return x > 6 ? log1p(-ndtr(-x)) : log(ndtr(x));
  double r = 1 / (x * x);
  return -0.5 * x * x - log(-x) - 0.5 * log(2 * M_PI) + log1p(-r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r))));
}

/* For arguments that are not far below 0. */
static double ndtr_ratio (double x) { return exp(-0.5 * x * x) / (2.5066282746310005 * ndtr(x)); }

/* By the series, with the midpoint rule for its remainder. */
static double polygamma (int n, double x) {
  double s = 0, factorial = 1;
  if (n == 0) return psi(x);
  for (int i = 2; i <= n; i++) factorial *= i;
  for (; x < 400; x += 1) s += pow(x, -n - 1);
  const double m = x - 0.5;
  s += pow(m, -n) / n - (n + 1) * pow(m, -n - 2) / 24;
  return (n % 2 == 0 ? -1 : 1) * factorial * s;
}

static double map_of_several (gb_op op, double a, double b, double c) {
  switch (op) {
    case GB_OP_ADD: return a + b;
    case GB_OP_SUB: return a - b;
    case GB_OP_MUL: return a * b;
    case GB_OP_DIV: return a / b;
    case GB_OP_IDIV: return floor(a / b);
    case GB_OP_MOD: return a - floor(a / b) * b;
    case GB_OP_POW: return pow(a, b);
    case GB_OP_MAXIMUM: return isnan(a) ? a : isnan(b) ? b : a > b ? a : b;
    case GB_OP_MINIMUM: return isnan(a) ? a : isnan(b) ? b : a < b ? a : b;
    case GB_OP_LT: return a < b;
    case GB_OP_LE: return a <= b;
    case GB_OP_GT: return a > b;
    case GB_OP_GE: return a >= b;
    case GB_OP_EQ: return a == b;
    case GB_OP_NE: return a != b;
    case GB_OP_AND: return a != 0 && b != 0;
    case GB_OP_OR: return a != 0 || b != 0;
    case GB_OP_WHERE: return a != 0 ? b : c;
    default: die("op is not elementwise"); return NAN;
  }
}

double gb_reference_map (gb_op op, double a, double b, double c) {
  switch (op) {
    case GB_OP_NEG: return -a;
    case GB_OP_ABS: return fabs(a);
    case GB_OP_SIGN: return isnan(a) ? a : (double)((a > 0) - (a < 0));
    case GB_OP_FLOOR: return floor(a);
    case GB_OP_CEIL: return ceil(a);
    case GB_OP_ROUND: return nearbyint(a);
    case GB_OP_SQUARE: return a * a;
    case GB_OP_RECIP: return 1 / a;
    case GB_OP_SQRT: return sqrt(a);
    case GB_OP_RSQRT: return 1 / sqrt(a);
    case GB_OP_EXP: return exp(a);
    case GB_OP_EXPM1: return expm1(a);
    case GB_OP_LOG: return log(a);
    case GB_OP_LOG1P: return log1p(a);
    case GB_OP_SIN: return sin(a);
    case GB_OP_COS: return cos(a);
    case GB_OP_TAN: return tan(a);
    case GB_OP_ASIN: return asin(a);
    case GB_OP_ACOS: return acos(a);
    case GB_OP_ATAN: return atan(a);
    case GB_OP_TANH: return tanh(a);
    case GB_OP_SIGMOID: return 1 / (1 + exp(-a));
    case GB_OP_SOFTPLUS: return (a > 0 ? a : a < 0 ? 0 : a) + log1p(exp(-fabs(a)));
    case GB_OP_RELU: return a < 0 ? 0 : a;
    case GB_OP_ERF: return erf(a);
    case GB_OP_NDTR: return ndtr(a);
    case GB_OP_LOG_NDTR: return log_ndtr(a);
    case GB_OP_NDTR_RATIO: return ndtr_ratio(a);
    case GB_OP_NDTR_GAP: return a + ndtr_ratio(a);
    case GB_OP_NDTR_SPREAD: return 1 - ndtr_ratio(a) * (a + ndtr_ratio(a));
    case GB_OP_POLYGAMMA: return polygamma((int)a, b);
    case GB_OP_LGAMMA: return lgamma(a);
    case GB_OP_DIGAMMA: return psi(a);
    case GB_OP_TRIGAMMA: return psi1(a);
    case GB_OP_ISNAN: return isnan(a);
    case GB_OP_ISFINITE: return isfinite(a);
    case GB_OP_NOT: return a == 0;
    case GB_OP_DETACH:
    case GB_OP_WITH_SLOPE: return a;
    default: return map_of_several(op, a, b, c);
  }
}

static double rational_quadratic (int order, int dalpha, double u, double alpha) {
  double z = u / (2 * alpha), l = log1p(z), q = z / (alpha * (1 + z)), f, rate;
  switch (order) {
    case 0:
      f = exp(-alpha * l);
      rate = alpha * q - l;
      break;
    case 1:
      f = -0.5 * exp(-(alpha + 1) * l);
      rate = (alpha + 1) * q - l;
      break;
    default:
      f = (alpha + 1) / (4 * alpha) * exp(-(alpha + 2) * l);
      rate = 1 / (alpha + 1) - 1 / alpha + (alpha + 2) * q - l;
  }
  return dalpha ? f * rate : f;
}

double gb_reference_radial (gb_profile p, int order, int dalpha, double u, double alpha) {
  double a;
  switch (p) {
    case GB_RBF: return exp(-u / 2) * (order == 0 ? 1 : order == 1 ? -0.5 : 0.25);
    case GB_M12:
      a = sqrt(u);
      if (order == 0) return exp(-a);
      if (u == 0) return 0;
      return order == 1 ? -exp(-a) / (2 * a) : exp(-a) * (1 + 1 / a) / (4 * u);
    case GB_M32: a = sqrt(3 * u); return exp(-a) * (order == 0 ? 1 + a : order == 1 ? -1.5 : 2.25 / a);
    case GB_M52:
      a = sqrt(5 * u);
      return exp(-a) * (order == 0 ? 1 + a + a * a / 3 : order == 1 ? -5.0 / 6 * (1 + a) : 25.0 / 12);
    default: return rational_quadratic(order, dalpha, u, alpha);
  }
}

/* Element of operand 'o' at the current index. */
static ptrdiff_t place (const run *r, int o) {
  const gb_operand *p = &r->f->operand[o];
  ptrdiff_t at = p->offset;
  for (int a = 0; a < r->f->naxes; a++) at += (ptrdiff_t)r->index[a] * p->stride[a];
  return at;
}

static double fetch (const run *r, int o) {
  const gb_operand *p = &r->f->operand[o];
  const char *base = r->operand[p->slot];
  return gb_element_get(base + place(r, o) * (ptrdiff_t)gb_dtype_size(p->dtype), 0, p->dtype);
}

static gb_axes varies (const gb_fold *f, int o) {
  gb_axes s = 0;
  for (int a = 0; a < f->naxes; a++)
    if (f->operand[o].stride[a] != 0) s |= (gb_axes)1 << a;
  return s;
}

/* Axes of an output's elements: domain axes that it keeps, loops around its EMIT, its own inner axis. */
static gb_axes kept (const run *r, int o) {
  const gb_out *out = &r->f->out[o];
  gb_axes s = r->inner[o];
  for (int a = 0; a < r->f->naxes; a++)
    if (r->f->axis[a].role != GB_AXIS_INNER && !(out->reduced >> a & 1)) s |= (gb_axes)1 << a;
  if (out->axis >= 0) s |= (gb_axes)1 << out->axis;
  return s;
}

/* Row-major number of the current index within the axes of 's'. */
static size_t number (const run *r, gb_axes s) {
  size_t n = 0;
  for (int a = 0; a < r->f->naxes; a++)
    if (s >> a & 1) n = n * r->f->axis[a].extent + r->index[a];
  return n;
}

static size_t count (const gb_fold *f, gb_axes s) {
  size_t n = 1;
  for (int a = 0; a < f->naxes; a++)
    if (s >> a & 1) n *= f->axis[a].extent;
  return n;
}

static double identity (gb_monoid m) {
  switch (m) {
    case GB_PROD:
    case GB_ALLTRUE: return 1;
    case GB_MINIMUM:
    case GB_ARGMINIMUM:
    case GB_KSMALLEST: return INFINITY;
    case GB_MAXIMUM:
    case GB_ARGMAXIMUM:
    case GB_LSE: return -INFINITY;
    default: return 0;
  }
}

static void add_lse (cell *c, double t) {
  if (isnan(t) || isnan(c->value)) c->value = NAN;
  else if (t == -INFINITY) return;
  else if (t == INFINITY || c->value == INFINITY) c->value = INFINITY;
  else if (t > c->value) {
    c->tail = (c->value == -INFINITY ? 0 : c->tail * exp(c->value - t)) + 1;
    c->value = t;
  } else c->tail += exp(t - c->value);
}

/* NaN after every number, an empty entry (position 0) after NaN, ties by position. */
static int after (const cell *c, double t) {
  if (c->position == 0) return 1;
  if (isnan(t)) return 0;
  return isnan(c->value) || c->value > t;
}

static void combine (gb_monoid m, int k, cell *c, double t, int64_t position) {
  switch (m) {
    case GB_SUM: c->value += t; break;
    case GB_PROD: c->value *= t; break;
    case GB_MINIMUM: c->value = gb_reference_map(GB_OP_MINIMUM, c->value, t, 0); break;
    case GB_MAXIMUM: c->value = gb_reference_map(GB_OP_MAXIMUM, c->value, t, 0); break;
    case GB_LSE: add_lse(c, t); break;
    case GB_ANYTRUE: c->value = c->value != 0 || t != 0; break;
    case GB_ALLTRUE: c->value = c->value != 0 && t != 0; break;
    case GB_ARGMINIMUM:
    case GB_ARGMAXIMUM: {
      int better = isnan(t) ? !isnan(c->value) : m == GB_ARGMINIMUM ? t < c->value : t > c->value;
      int same = isnan(t) ? isnan(c->value) : t == c->value;
      if (c->position == 0 || better || (same && position < c->position)) *c = (cell){t, 0, position};
      break;
    }
    case GB_KSMALLEST: {
      int s = k;
      while (s > 0 && after(&c[s - 1], t)) s--;
      while (s > 0 && c[s - 1].value == t && c[s - 1].position > position) s--;
      if (s == k) break;
      for (int q = k - 1; q > s; q--) c[q] = c[q - 1];
      c[s] = (cell){t, 0, position};
      break;
    }
    default: die("unknown monoid");
  }
}

static int width (const gb_out *o) {
  return o->kind == GB_OUT_REDUCE && o->monoid == GB_KSMALLEST ? o->k : 1;
}

static void emit_one (run *r, int o, double t) {
  const gb_out *out = &r->f->out[o];
  int w = width(out);
  cell *c = r->cells[o] + number(r, kept(r, o)) * (size_t)w;
  int64_t position = (int64_t)number(r, out->reduced) + 1;
  if (out->kind == GB_OUT_STORE) c->value = t;
  else if (out->kind == GB_OUT_REDUCE) combine(out->monoid, w, c, t, position);
  else if (out->kind == GB_OUT_CONTRACT) c->value += t * fetch(r, out->x);
  else {
    /* in a symmetric program the reduced side may be first */
    int swap = r->f->symmetric && (varies(r->f, out->x) & out->reduced) &&
               !(varies(r->f, out->y) & out->reduced);
    double x = fetch(r, out->x), y = fetch(r, out->y);
    c->value += t * (swap ? y - x : x - y);
  }
}

static void emit (run *r, int o, double t) {
  int axis = r->f->out[o].axis;
  if (axis < 0) {
    emit_one(r, o, t);
    return;
  }
  for (size_t q = 0; q < r->f->axis[axis].extent; q++) {
    r->index[axis] = q;
    emit_one(r, o, t);
  }
  r->index[axis] = 0;
}

static double along (run *r, const gb_ins *i) {
  double s = 0;
  for (size_t q = 0; q < r->f->axis[i->axis].extent; q++) {
    r->index[i->axis] = q;
    double x = fetch(r, i->x), y = fetch(r, i->y);
    if (i->kind == GB_INS_DOT) s += x * y;
    else s += (i->w >= 0 ? fetch(r, i->w) : 1) * (x - y) * (x - y);
  }
  r->index[i->axis] = 0;
  return s;
}

static int loop_end (const gb_fold *f, int at) {
  int depth = 0;
  for (int n = at; n < f->nins; n++) {
    if (f->ins[n].kind == GB_INS_LOOP) depth++;
    if (f->ins[n].kind == GB_INS_ENDLOOP && --depth == 0) return n;
  }
  die("loop without an end");
  return 0;
}

static void block (run *r, int from, int to);

static void loop (run *r, int at, int end) {
  const gb_fold *f = r->f;
  int depth = 0, axis = f->ins[at].axis;
  for (int n = at + 1; n < end; n++) { /* accumulators of this loop, not of loops inside it */
    if (f->ins[n].kind == GB_INS_LOOP) depth++;
    if (f->ins[n].kind == GB_INS_ENDLOOP) depth--;
    if (f->ins[n].kind == GB_INS_ACC && depth == 0) r->value[f->ins[n].dst] = identity(f->ins[n].monoid);
  }
  for (size_t q = 0; q < f->axis[axis].extent; q++) {
    r->index[axis] = q;
    block(r, at + 1, end);
  }
  r->index[axis] = 0;
}

static void accumulate (run *r, const gb_ins *i) {
  double *dst = &r->value[i->dst], t = r->value[i->a];
  if (i->monoid == GB_LSE) {
    double hi = fmax(*dst, t), lo = fmin(*dst, t);
    *dst = isnan(*dst) || isnan(t) ? NAN : hi == lo ? hi + M_LN2 : hi + log1p(exp(lo - hi));
    if (!isnan(t) && isinf(lo) && lo < 0) *dst = hi;
    return;
  }
  cell c = {*dst, 0, 0};
  combine(i->monoid, 1, &c, t, 0);
  *dst = c.value;
}

static void step (run *r, const gb_ins *i) {
  double a = i->a >= 0 ? r->value[i->a] : 0, b = i->b >= 0 ? r->value[i->b] : 0;
  double c = i->c >= 0 ? r->value[i->c] : 0;
  switch (i->kind) {
    case GB_INS_LOAD: r->value[i->dst] = fetch(r, i->x); break;
    case GB_INS_CONST: r->value[i->dst] = i->f; break;
    case GB_INS_BIND:
      r->value[i->dst] = r->f->compute == GB_I64 ? (double)r->constant[i->x].i : r->constant[i->x].f;
      break;
    case GB_INS_IOTA:
      r->value[i->dst] =
          (i->axis < 0 ? (double)(ptrdiff_t)place(r, i->x) : (double)r->index[i->axis]) * i->f + i->g;
      break;
    case GB_INS_RAND: {
      uint64_t at = (uint64_t)place(r, i->x);
      r->value[i->dst] = i->profile ? gb_rand_normal(i->seed[0], i->seed[1], at)
                                    : fmin(gb_rand_uniform(i->seed[0], i->seed[1], at), i->f);
      break;
    }
    case GB_INS_MAP: r->value[i->dst] = gb_reference_map(i->op, a, b, c); break;
    case GB_INS_SQDIST:
    case GB_INS_DOT: r->value[i->dst] = along(r, i); break;
    case GB_INS_RADIAL:
      r->value[i->dst] = gb_reference_radial(i->profile, i->order, i->dalpha, a * b, c);
      break;
    case GB_INS_ACC: accumulate(r, i); break;
    case GB_INS_EMIT: emit(r, i->x, a); break;
    default: die("unknown instruction");
  }
}

static void block (run *r, int from, int to) {
  for (int n = from; n < to; n++) {
    if (r->f->ins[n].kind == GB_INS_LOOP) {
      int end = loop_end(r->f, n);
      loop(r, n, end);
      n = end;
    } else step(r, &r->f->ins[n]);
  }
}

static void domain (run *r, int axis) {
  if (axis == r->f->naxes) block(r, 0, r->f->nins);
  else if (r->f->axis[axis].role == GB_AXIS_INNER) domain(r, axis + 1);
  else {
    for (size_t q = 0; q < r->f->axis[axis].extent; q++) {
      r->index[axis] = q;
      domain(r, axis + 1);
    }
    r->index[axis] = 0;
  }
}

static double result (const gb_out *o, const cell *c) {
  if (o->kind != GB_OUT_REDUCE) return c->value;
  switch (o->monoid) {
    case GB_LSE: return c->tail > 0 ? c->value + log(c->tail) : c->value;
    case GB_ARGMINIMUM:
    case GB_ARGMAXIMUM: return (double)c->position;
    default: return c->value;
  }
}

/* Walks the elements of output 'o' and writes them. */
static void store (run *r, int o, void *const *out, int axis) {
  const gb_fold *f = r->f;
  const gb_out *q = &f->out[o];
  if (axis < f->naxes) {
    size_t n = kept(r, o) >> axis & 1 ? f->axis[axis].extent : 1;
    for (size_t e = 0; e < n; e++) {
      r->index[axis] = e;
      store(r, o, out, axis + 1);
    }
    r->index[axis] = 0;
    return;
  }
  ptrdiff_t at = q->offset;
  for (int a = 0; a < f->naxes; a++) at += (ptrdiff_t)r->index[a] * q->stride[a];
  int w = width(q);
  const cell *c = r->cells[o] + number(r, kept(r, o)) * (size_t)w;
  for (int k = 0; k < w; k++) {
    ptrdiff_t e = at + k * q->kstride;
    char *dst = (char *)out[q->slot] + e * (ptrdiff_t)gb_dtype_size(q->dtype);
    double v = result(q, &c[k]);
    if (q->dtype == GB_I64 && isinf(v)) *(int64_t *)dst = v > 0 ? INT64_MAX : INT64_MIN; /* of an empty set */
    else gb_element_set(dst, 0, q->dtype, v);
    if (w > 0 && q->monoid == GB_KSMALLEST && q->kind == GB_OUT_REDUCE && q->slot2 >= 0)
      ((int64_t *)out[q->slot2])[e] = c[k].position;
  }
}

static void *must (size_t n, size_t size) {
  void *p = calloc(n ? n : 1, size);
  if (p == NULL) die("no memory");
  return p;
}

void gb_fold_reference (const gb_fold *f, const void *const *operand, void *const *out,
                        const gb_number *constant) {
  run r = {.f = f, .operand = operand, .constant = constant};
  gb_axes open[GB_FOLD_AXES + 1] = {0};
  int depth = 0;
  r.value = must((size_t)f->nvalues, sizeof *r.value);
  r.cells = must((size_t)f->nouts, sizeof *r.cells);
  r.inner = must((size_t)f->nouts, sizeof *r.inner);
  for (int n = 0; n < f->nins; n++) {
    if (f->ins[n].kind == GB_INS_LOOP) {
      open[depth + 1] = open[depth] | (gb_axes)1 << f->ins[n].axis;
      depth++;
    }
    if (f->ins[n].kind == GB_INS_ENDLOOP) depth--;
    if (f->ins[n].kind == GB_INS_EMIT) r.inner[f->ins[n].x] = open[depth];
  }
  for (int o = 0; o < f->nouts; o++) {
    size_t n = count(f, kept(&r, o)) * (size_t)width(&f->out[o]);
    r.cells[o] = must(n, sizeof **r.cells);
    double start = f->out[o].kind == GB_OUT_REDUCE ? identity(f->out[o].monoid) : 0;
    for (size_t e = 0; e < n; e++) r.cells[o][e].value = start;
  }
  domain(&r, 0);
  for (int o = 0; o < f->nouts; o++) {
    store(&r, o, out, 0);
    free(r.cells[o]);
  }
  free(r.cells);
  free(r.inner);
  free(r.value);
}
