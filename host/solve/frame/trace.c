/* trace.c - from the coefficients of steps to a tridiagonal matrix, its eigenvalues and a quadrature. */
#include "solve/frame/trace.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"

#define KEPT 1000 /* steps */

static size_t kept (int max_iter) { return (size_t)(max_iter < KEPT ? max_iter : KEPT); }

size_t gb_trace_bytes (int max_iter, size_t r) {
  return kept(max_iter) * r * 2 * sizeof(double) + r * sizeof(int);
}

gb_trace gb_trace_bind (int max_iter, size_t r, void *memory) {
  const size_t steps = kept(max_iter);
  double *d = memory;
  gb_trace t = {.r = r, .max_steps = (int)steps, .alpha = d, .beta = d + steps * r};
  t.steps = (int *)(d + 2 * steps * r);
  memset(t.steps, 0, r * sizeof *t.steps);
  return t;
}

/* -- eigenvalues of a tridiagonal matrix */

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

/* -- traces */

size_t gb_trace_tridiagonal (const gb_trace *trace, size_t c, double *d, double *e) {
  const size_t t = (size_t)trace->steps[c];
  for (size_t j = 0; j < t; j++) {
    const double alpha = trace->alpha[j * trace->r + c], beta = trace->beta[j * trace->r + c];
    d[j] = 1 / alpha;
    if (j > 0) d[j] += trace->beta[(j - 1) * trace->r + c] / trace->alpha[(j - 1) * trace->r + c];
    e[j] = sqrt(beta) / alpha;
  }
  return t;
}

/* Nodes and weights of column c in memory (3, steps) to be freed; NULL if the column took no step or they cannot be computed. */
static double *quadrature_of (const gb_trace *trace, size_t c, size_t *t) {
  *t = (size_t)trace->steps[c];
  double *m = *t == 0 ? NULL : malloc(3 * *t * sizeof *m);
  if (m == NULL) return NULL;
  gb_trace_tridiagonal(trace, c, m, m + *t);
  if (gb_tridiagonal_quadrature(*t, m, m + *t, m + 2 * *t)) return m;
  free(m);
  return NULL;
}

void gb_trace_extremes (const gb_trace *trace, size_t c, double *smallest, double *largest) {
  size_t t;
  double *m = quadrature_of(trace, c, &t);
  *smallest = m == NULL ? 0 : INFINITY;
  *largest = 0;
  for (size_t i = 0; m != NULL && i < t; i++) {
    *smallest = fmin(*smallest, m[i]);
    *largest = fmax(*largest, m[i]);
  }
  free(m);
}

gb_status gb_trace_log (const gb_trace *trace, size_t c, double *out, gb_error *err) {
  size_t t;
  *out = 0;
  if (trace->steps[c] == 0) return GB_OK;
  double *m = quadrature_of(trace, c, &t);
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
