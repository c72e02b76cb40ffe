/* reference_linalg.c - textbook factorisations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/graph/reference.h"

size_t reference_cholesky (const double *a, double jitter, size_t n, double *l) {
  memset(l, 0, n * n * sizeof *l);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double s = a[i * n + j] + (i == j ? jitter : 0);
      for (size_t k = 0; k < j; k++) s -= l[i * n + k] * l[j * n + k];
      if (i == j && !(s > 0)) return i + 1;
      l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
    }
  return 0;
}

void reference_trisolve (const double *l, size_t n, bool upper, bool transposed, size_t r, double *b) {
  const bool forward = upper == transposed;
  for (size_t c = 0; c < r; c++)
    for (size_t step = 0; step < n; step++) {
      const size_t i = forward ? step : n - 1 - step;
      double s = b[i * r + c];
      for (size_t k = forward ? 0 : i + 1; k < (forward ? i : n); k++)
        s -= (transposed ? l[k * n + i] : l[i * n + k]) * b[k * r + c];
      b[i * r + c] = s / l[i * n + i];
    }
}

void reference_solve_chol (const double *l, size_t n, size_t r, double *b) {
  reference_trisolve(l, n, false, false, r, b);
  reference_trisolve(l, n, false, true, r, b);
}

bool reference_lu_solve (const double *a, size_t n, size_t r, double *b, double *log_abs_det) {
  double *m = malloc((n * n + 1) * sizeof *m), det = 0;
  memcpy(m, a, n * n * sizeof *m);
  for (size_t k = 0; k < n; k++) {
    size_t p = k;
    for (size_t i = k + 1; i < n; i++)
      if (fabs(m[i * n + k]) > fabs(m[p * n + k])) p = i;
    if (m[p * n + k] == 0) {
      free(m);
      return false;
    }
    for (size_t j = 0; j < n && p != k; j++) {
      const double t = m[k * n + j];
      m[k * n + j] = m[p * n + j];
      m[p * n + j] = t;
    }
    for (size_t c = 0; c < r && p != k; c++) {
      const double t = b[k * r + c];
      b[k * r + c] = b[p * r + c];
      b[p * r + c] = t;
    }
    det += log(fabs(m[k * n + k]));
    for (size_t i = k + 1; i < n; i++) {
      const double f = m[i * n + k] / m[k * n + k];
      for (size_t j = k; j < n; j++) m[i * n + j] -= f * m[k * n + j];
      for (size_t c = 0; c < r; c++) b[i * r + c] -= f * b[k * r + c];
    }
  }
  reference_trisolve(m, n, true, false, r, b);
  *log_abs_det = det;
  free(m);
  return true;
}

/* Gram-Schmidt, each column orthogonalised twice. */
void reference_qr (const double *a, size_t n, size_t m, double *q, double *r) {
  memcpy(q, a, n * m * sizeof *q);
  memset(r, 0, m * m * sizeof *r);
  for (size_t j = 0; j < m; j++) {
    for (int pass = 0; pass < 2; pass++)
      for (size_t k = 0; k < j; k++) {
        double s = 0;
        for (size_t i = 0; i < n; i++) s += q[i * m + k] * q[i * m + j];
        for (size_t i = 0; i < n; i++) q[i * m + j] -= s * q[i * m + k];
        r[k * m + j] += s;
      }
    double norm = 0;
    for (size_t i = 0; i < n; i++) norm += q[i * m + j] * q[i * m + j];
    r[j * m + j] = sqrt(norm);
    for (size_t i = 0; i < n; i++) q[i * m + j] /= r[j * m + j];
  }
}

static void rotate (double *x, double *y, double c, double s) {
  const double t = *x;
  *x = c * t - s * *y;
  *y = s * t + c * *y;
}

static void swap_columns (double *a, size_t n, size_t m, size_t i, size_t j) {
  for (size_t k = 0; k < n; k++) {
    const double t = a[k * m + i];
    a[k * m + i] = a[k * m + j];
    a[k * m + j] = t;
  }
}

/* -1 where the largest component of column j is negative. */
static double sign_of_column (const double *a, size_t n, size_t m, size_t j) {
  double big = 0;
  for (size_t k = 0; k < n; k++)
    if (fabs(a[k * m + j]) > fabs(big) * (1 + 1e-9)) big = a[k * m + j];
  return big < 0 ? -1 : 1;
}

/* Jacobi rotations. */
void reference_eigh (const double *a, size_t n, double *w, double *v) {
  double *m = malloc((n * n + 1) * sizeof *m);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      m[i * n + j] = i >= j ? a[i * n + j] : a[j * n + i];
      v[i * n + j] = i == j;
    }
  for (int sweep = 0; sweep < 60; sweep++)
    for (size_t p = 0; p < n; p++)
      for (size_t q = p + 1; q < n; q++) {
        if (m[p * n + q] == 0) continue;
        const double theta = (m[q * n + q] - m[p * n + p]) / (2 * m[p * n + q]);
        const double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
        const double c = 1 / sqrt(t * t + 1), s = t * c;
        for (size_t k = 0; k < n; k++) rotate(&m[k * n + p], &m[k * n + q], c, s);
        for (size_t k = 0; k < n; k++) rotate(&m[p * n + k], &m[q * n + k], c, s);
        for (size_t k = 0; k < n; k++) rotate(&v[k * n + p], &v[k * n + q], c, s);
      }
  for (size_t i = 0; i < n; i++) w[i] = m[i * n + i];
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++)
      if (w[j] < w[i]) {
        const double t = w[i];
        w[i] = w[j];
        w[j] = t;
        swap_columns(v, n, n, i, j);
      }
  for (size_t j = 0; j < n; j++) {
    const double sign = sign_of_column(v, n, n, j);
    for (size_t k = 0; k < n; k++) v[k * n + j] *= sign;
  }
  free(m);
}

static void transpose (const double *a, size_t n, size_t m, double *t) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < m; j++) t[j * n + i] = a[i * m + j];
}

/* One-sided Jacobi: columns of U = A V made orthogonal. */
void reference_svd (const double *a, size_t n, size_t m, double *u, double *s, double *v) {
  if (n < m) {
    double *t = malloc((n * m + 1) * sizeof *t);
    transpose(a, n, m, t);
    reference_svd(t, m, n, v, s, u);
    free(t);
    return;
  }
  memcpy(u, a, n * m * sizeof *u);
  for (size_t i = 0; i < m * m; i++) v[i] = i % (m + 1) == 0;
  for (int sweep = 0; sweep < 60; sweep++)
    for (size_t p = 0; p < m; p++)
      for (size_t q = p + 1; q < m; q++) {
        double pp = 0, qq = 0, pq = 0;
        for (size_t k = 0; k < n; k++) {
          pp += u[k * m + p] * u[k * m + p];
          qq += u[k * m + q] * u[k * m + q];
          pq += u[k * m + p] * u[k * m + q];
        }
        if (fabs(pq) <= 1e-17 * sqrt(pp * qq)) continue;
        const double theta = (qq - pp) / (2 * pq);
        const double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
        const double c = 1 / sqrt(t * t + 1), sn = t * c;
        for (size_t k = 0; k < n; k++) rotate(&u[k * m + p], &u[k * m + q], c, sn);
        for (size_t k = 0; k < m; k++) rotate(&v[k * m + p], &v[k * m + q], c, sn);
      }
  for (size_t j = 0; j < m; j++) {
    double norm = 0;
    for (size_t k = 0; k < n; k++) norm += u[k * m + j] * u[k * m + j];
    s[j] = sqrt(norm);
  }
  for (size_t i = 0; i < m; i++)
    for (size_t j = i + 1; j < m; j++)
      if (s[j] > s[i]) {
        const double t = s[i];
        s[i] = s[j];
        s[j] = t;
        swap_columns(u, n, m, i, j);
        swap_columns(v, m, m, i, j);
      }
  for (size_t j = 0; j < m; j++) {
    const double sign = sign_of_column(v, m, m, j);
    for (size_t k = 0; k < n; k++) u[k * m + j] *= s[j] > 0 ? sign / s[j] : 0;
    for (size_t k = 0; k < m; k++) v[k * m + j] *= sign;
  }
}
