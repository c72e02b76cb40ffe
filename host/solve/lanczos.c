/* lanczos.c - the three-term recurrence with full orthogonalisation, and quadrature from its coefficients. */
#include "solve/lanczos.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/plain.h"

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

/* Entries of probes, solutions and residuals; numbers of the trace. */
static gb_status logdet_in (gb_cg_matrix *m, const gb_logdet_options *o, gb_room work, gb_logdet_info *info,
                            gb_error *err) {
  const size_t n = m->a.n, r = m->a.r;
  gb_panel panel[3];
  for (size_t i = 0; i < 3; i++)
    panel[i] = gb_panel_of(work.device, gb_panel_address(work.entries, i * n * r), n, r);
  gb_cg_trace trace = gb_cg_trace_bind(&o->cg, r, work.numbers);
  gb_precond_sample(o->cg.precond, o->seed, 0, panel[0]);
  GB_TRY(gb_cg_columns(m, &o->cg, panel[0], false, panel[1], panel[2], &trace, &info->cg, err));
  if (info->cg.too_narrow) { /* the quadrature needs the steps that solved it */
    gb_cg_options full = o->cg;
    full.mixed = false;
    GB_TRY(gb_cg_columns(m, &full, panel[0], false, panel[1], panel[2], &trace, &info->cg, err));
  }
  return gb_probes_logdet(o->cg.precond, &trace, n, r, 0, r, info, err);
}

gb_status gb_logdet_slq (gb_node *a, const gb_logdet_options *o, gb_logdet_info *info, gb_error *err) {
  gb_cg_matrix m;
  *info = (gb_logdet_info){0};
  if (o->probes < 2) return gb_fail(err, GB_EOPTION, "probes: expected at least 2, got %zu", o->probes);
  GB_TRY(gb_cg_matrix_init(&m, a, o->probes, &o->cg, err));
  const size_t entries = 3 * m.a.n * m.a.r * sizeof(double), numbers = gb_cg_trace_bytes(&o->cg, m.a.r);
  gb_work work;
  gb_status st = gb_work_new(a->graph->device, entries, numbers, "log det by probes", &work, err);
  if (st == GB_OK) st = logdet_in(&m, o, work.at, info, err);
  info->cg.bytes += entries + numbers;
  gb_work_free(&work);
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
  gb_panel v;    /* (steps, n): basis vectors in rows */
  gb_panel w, q; /* (n, 1): the next one; A's argument */
  double *d, *e; /* (steps) */
} basis;

static gb_panel vector (const basis *b, size_t j) {
  return gb_panel_of(b->v.device, gb_panel_address(b->v.at, j * b->a.n), b->a.n, 1);
}

/* Removes from w its part along the basis, twice; the first pass's last coefficient belongs to T. */
static void orthogonalise (basis *b) {
  for (int pass = 0; pass < 2; pass++)
    for (size_t j = b->done; j-- > 0;) {
      double h;
      gb_panel_dot(vector(b, j), b->w, NULL, &h);
      if (j + 1 == b->done) b->d[j] = pass == 0 ? h : b->d[j] + h;
      h = -h;
      gb_panel_axpy(&h, vector(b, j), b->w);
    }
}

static double norm_of (gb_panel w) {
  double square;
  gb_panel_dot(w, w, NULL, &square);
  return sqrt(square);
}

static gb_status extend (basis *b, gb_lanczos_info *info, gb_error *err) {
  const size_t n = b->a.n;
  double norm = norm_of(b->w), largest = 0;
  if (!(norm > 0))
    return gb_fail(err, isnan(norm) ? GB_ENAN : GB_EOPTION, "the first vector has norm %g", gb_plain(norm));
  while (b->done < b->steps) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    const gb_panel v = vector(b, b->done++);
    gb_panel_divide(&norm, b->w, v);
    gb_panel_copy(v, b->q);
    GB_TRY(gb_product_run(&b->a, b->q, b->w, err));
    orthogonalise(b);
    norm = norm_of(b->w);
    if (isnan(norm)) return gb_fail(err, GB_ENAN, "a product with the matrix is not finite");
    b->e[b->done - 1] = norm;
    info->residual = norm;
    largest = fmax(largest, fmax(norm, fabs(b->d[b->done - 1])));
    if (norm <= (b->a.dtype == GB_F64 ? DBL_EPSILON : (double)FLT_EPSILON) * (double)n * largest) break;
  }
  info->steps = (int)b->done;
  return gb_interrupted() ? gb_fail(err, GB_EINTR, "interrupted") : GB_OK; /* sums may have been cut short */
}

/* T (done, done) in the memory of the basis vectors, which are in Q by then. */
static gb_panel tridiagonal (const basis *b) {
  const size_t t = b->done;
  gb_panel m = gb_panel_of(b->v.device, b->v.at, t, t), above = m, below = m;
  above.at = gb_panel_address(m.at, 1);
  below.at = gb_panel_address(m.at, t);
  gb_panel_fill(m, 0);
  gb_panel_write(gb_panel_diagonal(m, t), b->d);
  gb_panel_write(gb_panel_diagonal(above, t - 1), b->e);
  gb_panel_write(gb_panel_diagonal(below, t - 1), b->e);
  return m;
}

/* Q as a leaf: the basis turns from rows into columns. */
static gb_status basis_leaf (const basis *b, gb_node **q, gb_error *err) {
  gb_graph *g = b->a.graph;
  const gb_shape s = gb_shape_of(2, (size_t[]){b->a.n, b->done});
  const bool f32 = b->a.dtype == GB_F32;
  gb_tensor x;
  gb_status st = GB_OK;
  GB_TRY(gb_tensor_new(&g->device->ledger, b->a.dtype, &s, GB_MEM_TENSOR, g->where, "", &x, err));
  char *to = gb_tensor_data(&x);
  for (size_t j = 0; j < b->done && st == GB_OK; j++)
    st = gb_panel_store(vector(b, j), to + j * gb_dtype_size(b->a.dtype), f32, b->done, false, err);
  if (st == GB_OK) st = gb_node_leaf(g, &x, 0, "", q, err);
  gb_tensor_clear(&x);
  return st;
}

/* Q and T as leaves. */
static gb_status basis_leaves (const basis *b, gb_node **q, gb_node **t, gb_error *err) {
  const gb_shape s = gb_shape_of(2, (size_t[]){b->done, b->done});
  GB_TRY(basis_leaf(b, q, err));
  const gb_status st = gb_leaf_entries(b->a.graph, &s, b->a.dtype, tridiagonal(b).at, "", t, err);
  if (st != GB_OK) gb_node_unref(*q);
  return st;
}

/* Entries of the basis and two vectors; numbers of two diagonals. */
static gb_status lanczos_in (basis *b, gb_room work, gb_node *q, gb_node **out, gb_node **t,
                             gb_lanczos_info *info, gb_error *err) {
  const size_t n = b->a.n, all = b->steps * n;
  b->v = gb_panel_of(work.device, work.entries, b->steps, n);
  b->w = gb_panel_of(work.device, gb_panel_address(work.entries, all), n, 1);
  b->q = gb_panel_of(work.device, gb_panel_address(work.entries, all + n), n, 1);
  b->d = work.numbers;
  b->e = b->d + b->steps;
  GB_TRY(gb_node_entries(q, b->w.at, err));
  GB_TRY(extend(b, info, err));
  return basis_leaves(b, out, t, err);
}

gb_status gb_lanczos (gb_node *a, gb_node *q, size_t steps, gb_node **out, gb_node **t, gb_lanczos_info *info,
                      gb_error *err) {
  basis b = {0};
  gb_work work = {0};
  *info = (gb_lanczos_info){0};
  GB_TRY(gb_product_init(&b.a, a, 1, err));
  const size_t n = b.a.n;
  b.steps = steps < n ? steps : n;
  gb_status st = GB_OK;
  if (gb_node_shape(q)->ndim != 1 || gb_node_shape(q)->dim[0] != n)
    st = gb_fail(err, GB_ESHAPE, "lanczos: expected a first vector of %zu entries", n);
  if (st == GB_OK)
    st = gb_work_new(a->graph->device, (b.steps + 2) * n * sizeof(double), 2 * b.steps * sizeof(double),
                     "lanczos", &work, err);
  if (st == GB_OK) st = lanczos_in(&b, work.at, q, out, t, info, err);
  gb_work_free(&work);
  gb_product_clear(&b.a);
  return st;
}
