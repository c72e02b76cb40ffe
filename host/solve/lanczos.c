/* lanczos.c - the three-term recurrence with full orthogonalisation, and quadrature from its coefficients. */
#include "solve/lanczos.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/plain.h"
#include "iterate/columns.h"

#define SWEEPS 60 /* of one eigenvalue; a handful are usual */

/* One implicit QL sweep over rows l .. m, with Wilkinson's shift; z is the first row of the eigenvectors. */
static void sweep (size_t l, size_t m, double *d, double *e, double *z) {
  double g = (d[l + 1] - d[l]) / (2 * e[l]), r = hypot(g, 1);
  g = d[m] - d[l] + e[l] / (g + copysign(r, g));
  double s = 1, c = 1, p = 0;
  for (size_t i = m; i-- > l;) {
    const double f = s * e[i], b = c * e[i];
    r = hypot(f, g);
    e[i + 1] = r;
    if (r == 0) { /* the matrix split by itself */
      d[i + 1] -= p;
      e[m] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    const double q = (d[i] - g) * s + 2 * c * b;
    p = s * q;
    d[i + 1] = g + p;
    g = c * q - b;
    const double z1 = z[i + 1];
    z[i + 1] = s * z[i] + c * z1;
    z[i] = c * z[i] - s * z1;
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}

/* Source: Dubrulle, Martin & Wilkinson (1968), The implicit QL algorithm; Golub & Welsch (1969). */
bool gb_tridiagonal_quadrature (size_t t, double *d, double *e, double *w) {
  memset(w, 0, t * sizeof *w);
  if (t == 0) return true;
  w[0] = 1;
  e[t - 1] = 0;
  for (size_t l = 0; l < t; l++)
    for (int sweeps = 0;; sweeps++) {
      size_t m = l;
      while (m + 1 < t && fabs(e[m]) > DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1]))) m++;
      if (m == l) break;
      if (sweeps == SWEEPS) return false;
      sweep(l, m, d, e, w);
    }
  for (size_t i = 0; i < t; i++) w[i] *= w[i];
  return true;
}

size_t gb_trace_tridiagonal (const gb_cg_trace *trace, size_t r, size_t c, double *d, double *e) {
  const size_t t = (size_t)trace->steps[c];
  for (size_t j = 0; j < t; j++) {
    const double alpha = trace->alpha[j * r + c], beta = trace->beta[j * r + c];
    d[j] = 1 / alpha;
    if (j > 0) d[j] += trace->beta[(j - 1) * r + c] / trace->alpha[(j - 1) * r + c];
    e[j] = sqrt(beta) / alpha;
  }
  return t;
}

/* Nodes and weights of column c in memory (3, steps) to be freed; NULL where there are none. */
static double *quadrature_of (const gb_cg_trace *trace, size_t r, size_t c, size_t *t) {
  *t = (size_t)trace->steps[c];
  double *m = *t == 0 ? NULL : malloc(3 * *t * sizeof *m);
  if (m == NULL) return NULL;
  gb_trace_tridiagonal(trace, r, c, m, m + *t);
  if (gb_tridiagonal_quadrature(*t, m, m + *t, m + 2 * *t)) return m;
  free(m);
  return NULL;
}

double gb_trace_condition (const gb_cg_trace *trace, size_t r, size_t c) {
  size_t t;
  double *m = quadrature_of(trace, r, c, &t), low = INFINITY, high = 0;
  if (m == NULL) return 0;
  for (size_t i = 0; i < t; i++) {
    low = fmin(low, m[i]);
    high = fmax(high, m[i]);
  }
  free(m);
  return high / low;
}

gb_status gb_trace_log (const gb_cg_trace *trace, size_t r, size_t c, double *out, gb_error *err) {
  size_t t;
  *out = 0;
  if (trace->steps[c] == 0) return GB_OK;
  double *m = quadrature_of(trace, r, c, &t);
  if (m == NULL) return gb_fail(err, GB_ENOTCONV, "quadrature of %d steps did not converge", trace->steps[c]);
  gb_status st = GB_OK;
  for (size_t i = 0; i < t; i++) {
    if (m[i] > 0) *out += m[2 * t + i] * log(m[i]);
    else if (m[2 * t + i] > DBL_EPSILON)
      st = gb_fail(err, GB_ENOTPD, "the matrix has an eigenvalue near %g", gb_plain(m[i]));
  }
  free(m);
  return st;
}

/* -- log det */

/* e1' log(T) e1 for the leading four fifths of column c's steps. */
static gb_status shorter_log (const gb_cg_trace *trace, size_t r, size_t c, double *out, gb_error *err) {
  const int all = trace->steps[c];
  trace->steps[c] = all - (all + 4) / 5;
  const gb_status st = gb_trace_log(trace, r, c, out, err);
  trace->steps[c] = all;
  return st;
}

gb_status gb_probes_logdet (const gb_precond *p, const gb_cg_trace *trace, size_t n, size_t r, size_t first,
                            size_t probes, gb_logdet_info *info, gb_error *err) {
  double sum = 0, squares = 0, shorter = 0;
  for (size_t c = first; c < first + probes; c++) {
    double q, s;
    GB_TRY(gb_trace_log(trace, r, c, &q, err));
    GB_TRY(shorter_log(trace, r, c, &s, err));
    sum += q;
    squares += q * q;
    shorter += s;
  }
  const double k = (double)probes, mean = sum / k, spread = fmax(squares / k - mean * mean, 0);
  info->value = (double)n * mean + (p != NULL ? p->logdet : 0);
  info->standard_error = probes < 2 ? INFINITY : (double)n * sqrt(spread / (k - 1));
  info->truncation = (double)n * fabs(mean - shorter / k);
  return GB_OK;
}

static gb_status logdet_in (gb_cg_matrix *m, const gb_logdet_options *o, double *memory, gb_logdet_info *info,
                            gb_error *err) {
  const size_t n = m->a.n, r = m->a.r, nr = n * r;
  double *z = memory, *x = memory + nr, *residual = memory + 2 * nr;
  gb_cg_trace trace = gb_cg_trace_bind(&o->cg, r, memory + 3 * nr);
  gb_precond_sample(o->cg.precond, m->a.graph->device->pool, o->seed, n, r, 0, z);
  GB_TRY(gb_cg_columns(m, &o->cg, z, false, x, residual, &trace, &info->cg, err));
  if (info->cg.too_narrow) { /* the quadrature needs the steps that solved it */
    gb_cg_options full = o->cg;
    full.mixed = false;
    GB_TRY(gb_cg_columns(m, &full, z, false, x, residual, &trace, &info->cg, err));
  }
  return gb_probes_logdet(o->cg.precond, &trace, n, r, 0, r, info, err);
}

gb_status gb_logdet_slq (gb_node *a, const gb_logdet_options *o, gb_logdet_info *info, gb_error *err) {
  gb_cg_matrix m;
  *info = (gb_logdet_info){0};
  if (o->probes < 2) return gb_fail(err, GB_EOPTION, "probes: expected at least 2, got %zu", o->probes);
  GB_TRY(gb_cg_matrix_init(&m, a, o->probes, &o->cg, err));
  gb_ledger *ledger = &a->graph->device->ledger;
  const size_t bytes = 3 * m.a.n * m.a.r * sizeof(double) + gb_cg_trace_bytes(&o->cg, m.a.r);
  gb_block memory = {0};
  gb_status st = gb_ledger_alloc(ledger, GB_MEM_WORKSPACE, bytes, "", "log det by probes", &memory, err);
  if (st == GB_OK) st = logdet_in(&m, o, memory.data, info, err);
  info->cg.bytes += bytes;
  gb_ledger_free(ledger, &memory);
  gb_cg_matrix_clear(&m);
  return st;
}

/* z that a standard normal is below with probability p < 1 / 2, by Newton's method from the left of it. */
static double normal_deviate (double p) {
  double z = -sqrt(-2 * log(p));
  for (int i = 0; i < 50; i++) {
    const double step = (0.5 * erfc(-z * M_SQRT1_2) - p) / (exp(-z * z / 2) * 0.5 * M_SQRT1_2 * M_2_SQRTPI);
    z -= step;
    if (fabs(step) < 1e-15 * fabs(z)) break;
  }
  return z;
}

/* Hill's expansions: in the normal deviate and, far in the tails, in a power. */
double gb_student_quantile (double degrees, double level) {
  const double n = degrees, p = 1 - level;
  if (n < 1.5) return 1 / tan(p * M_PI_2);
  if (n < 2.5) return sqrt(2 / (p * (2 - p)) - 2);
  const double a = 1 / (n - 0.5), b = 48 / (a * a);
  double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
  const double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI_2) * n;
  double y = pow(d * p, 2 / n);
  if (y > 0.05 + a) {
    const double x = normal_deviate(p / 2);
    y = x * x;
    if (n < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y = expm1(a * y * y);
  } else {
    y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) /
            (n + 2) +
        1 / y;
  }
  return sqrt(n * y);
}

/* -- a basis */

typedef struct basis {
  gb_product a;
  size_t steps, done;
  double *v;     /* (steps, n): basis vectors in rows */
  double *w, *q; /* (n): the next one; A's argument */
  double *d, *e; /* (steps) */
} basis;

/* Removes from w its part along the basis, twice; the first pass's last coefficient belongs to T. */
static void orthogonalise (basis *b, double *w) {
  for (int pass = 0; pass < 2; pass++)
    for (size_t j = b->done; j-- > 0;) {
      double h;
      gb_columns_dot(b->a.n, 1, b->v + j * b->a.n, w, &h);
      if (j + 1 == b->done) b->d[j] = pass == 0 ? h : b->d[j] + h;
      h = -h;
      gb_columns_axpy(b->a.n, 1, &h, b->v + j * b->a.n, w);
    }
}

static gb_status extend (basis *b, gb_lanczos_info *info, gb_error *err) {
  const size_t n = b->a.n;
  double norm;
  gb_columns_dot(n, 1, b->w, b->w, &norm);
  norm = sqrt(norm);
  if (!(norm > 0))
    return gb_fail(err, isnan(norm) ? GB_ENAN : GB_EOPTION, "the first vector has norm %g", gb_plain(norm));
  double largest = 0;
  while (b->done < b->steps) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    double *v = b->v + b->done++ * n;
    for (size_t i = 0; i < n; i++) v[i] = b->w[i] / norm;
    memcpy(b->q, v, n * sizeof *v);
    GB_TRY(gb_product_run(&b->a, b->q, b->w, err));
    orthogonalise(b, b->w);
    gb_columns_dot(n, 1, b->w, b->w, &norm);
    norm = sqrt(norm);
    if (isnan(norm)) return gb_fail(err, GB_ENAN, "a product with the matrix is not finite");
    b->e[b->done - 1] = norm;
    info->residual = norm;
    largest = fmax(largest, fmax(norm, fabs(b->d[b->done - 1])));
    if (norm <= (b->a.dtype == GB_F64 ? DBL_EPSILON : (double)FLT_EPSILON) * (double)n * largest) break;
  }
  info->steps = (int)b->done;
  return GB_OK;
}

/* Q and T as leaves; the basis turns from rows into columns. */
static gb_status basis_leaves (const basis *b, gb_node **q, gb_node **t, gb_error *err) {
  gb_graph *g = b->a.graph;
  gb_ledger *l = &g->device->ledger;
  const gb_shape qs = gb_shape_of(2, (size_t[]){b->a.n, b->done}),
                 ts = gb_shape_of(2, (size_t[]){b->done, b->done});
  gb_tensor qv = {0}, tv = {0};
  gb_status st = gb_tensor_new(l, b->a.dtype, &qs, GB_MEM_TENSOR, g->where, "", &qv, err);
  if (st == GB_OK) st = gb_tensor_new(l, b->a.dtype, &ts, GB_MEM_TENSOR, g->where, "", &tv, err);
  if (st == GB_OK) {
    for (size_t j = 0; j < b->done; j++)
      for (size_t i = 0; i < b->a.n; i++)
        gb_element_set(gb_tensor_data(&qv), i * b->done + j, b->a.dtype, b->v[j * b->a.n + i]);
    for (size_t j = 0; j < b->done; j++)
      for (size_t i = 0; i < b->done; i++)
        gb_element_set(gb_tensor_data(&tv), i * b->done + j, b->a.dtype,
                       i == j       ? b->d[i]
                       : i + 1 == j ? b->e[i]
                       : j + 1 == i ? b->e[j]
                                    : 0);
    st = gb_node_leaf(g, &qv, 0, "", q, err);
    if (st == GB_OK) {
      st = gb_node_leaf(g, &tv, 0, "", t, err);
      if (st != GB_OK) gb_node_unref(*q);
    }
  }
  gb_tensor_clear(&qv);
  gb_tensor_clear(&tv);
  return st;
}

gb_status gb_lanczos (gb_node *a, gb_node *q, size_t steps, gb_node **out, gb_node **t, gb_lanczos_info *info,
                      gb_error *err) {
  basis b = {0};
  *info = (gb_lanczos_info){0};
  GB_TRY(gb_product_init(&b.a, a, 1, err));
  const size_t n = b.a.n;
  b.steps = steps < n ? steps : n;
  gb_block memory = {0};
  gb_ledger *ledger = &a->graph->device->ledger;
  gb_status st = GB_OK;
  if (gb_node_shape(q)->ndim != 1 || gb_node_shape(q)->dim[0] != n)
    st = gb_fail(err, GB_ESHAPE, "lanczos: expected a first vector of %zu entries", n);
  if (st == GB_OK)
    st = gb_ledger_alloc(ledger, GB_MEM_WORKSPACE, (b.steps * (n + 2) + 2 * n) * sizeof(double), "",
                         "lanczos", &memory, err);
  if (st == GB_OK) {
    b.v = memory.data, b.w = b.v + b.steps * n, b.q = b.w + n, b.d = b.q + n, b.e = b.d + b.steps;
    st = gb_node_doubles(q, b.w, err);
  }
  if (st == GB_OK) st = extend(&b, info, err);
  if (st == GB_OK) st = basis_leaves(&b, out, t, err);
  gb_ledger_free(ledger, &memory);
  gb_product_clear(&b.a);
  return st;
}
