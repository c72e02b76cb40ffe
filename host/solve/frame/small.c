/* small.c - loops over rows, so that a compiler vectorises them. */
#include "solve/frame/small.h"

#include <math.h>
#include <string.h>

void gb_small_product (size_t a, size_t k, size_t b, const double *x, const double *y, double *out) {
  memset(out, 0, a * b * sizeof *out);
  for (size_t i = 0; i < a; i++)
    for (size_t m = 0; m < k; m++)
      for (size_t j = 0; j < b; j++) out[i * b + j] += x[i * k + m] * y[m * b + j];
}

void gb_small_transpose (size_t a, size_t b, const double *x, double *out) {
  for (size_t i = 0; i < a; i++)
    for (size_t j = 0; j < b; j++) out[j * a + i] = x[i * b + j];
}

bool gb_small_cholesky (size_t p, double *a, double *pivot) {
  for (size_t i = 0; i < p; i++) {
    double *row = a + i * p;
    for (size_t j = 0; j < i; j++) {
      const double *other = a + j * p;
      double sum = row[j];
      for (size_t k = 0; k < j; k++) sum -= row[k] * other[k];
      row[j] = sum / other[j];
    }
    double left = row[i];
    for (size_t k = 0; k < i; k++) left -= row[k] * row[k];
    *pivot = left;
    if (!(left > 0 && isfinite(left))) return false;
    row[i] = sqrt(left);
  }
  return true;
}

void gb_small_solve_lower (size_t p, size_t r, const double *l, double *x) {
  for (size_t i = 0; i < p; i++) {
    double *row = x + i * r;
    for (size_t k = 0; k < i; k++)
      for (size_t j = 0; j < r; j++) row[j] -= l[i * p + k] * x[k * r + j];
    for (size_t j = 0; j < r; j++) row[j] /= l[i * p + i];
  }
}

/* x (p, r) = l'^-1 x */
static void solve_upper (size_t p, size_t r, const double *l, double *x) {
  for (size_t i = p; i-- > 0;) {
    double *row = x + i * r;
    for (size_t k = i + 1; k < p; k++)
      for (size_t j = 0; j < r; j++) row[j] -= l[k * p + i] * x[k * r + j];
    for (size_t j = 0; j < r; j++) row[j] /= l[i * p + i];
  }
}

bool gb_small_inverse (size_t p, double *a, double *out, double *pivot) {
  if (!gb_small_cholesky(p, a, pivot)) return false;
  memset(out, 0, p * p * sizeof *out);
  for (size_t i = 0; i < p; i++) out[i * p + i] = 1;
  gb_small_solve_lower(p, p, a, out);
  solve_upper(p, p, a, out);
  return true;
}

/* -- a basis */

/* The vector of which the largest share of its square is left; s if no share is above 'tol'. */
static size_t next_vector (size_t s, const double *g, const double *left, double tol) {
  size_t best = s;
  double most = tol;
  for (size_t k = 0; k < s; k++) {
    const double share = left[k] / g[k * s + k];
    if (share > most) most = share, best = k;
  }
  return best;
}

/* m = the inverse of the columns of c that belong to the basis, in the rows of these vectors: column b by
** substitution from the bottom. */
static void invert (size_t s, size_t p, const double *c, const size_t *of, double *m) {
  memset(m, 0, s * p * sizeof *m);
  for (size_t b = 0; b < p; b++)
    for (size_t a = b + 1; a-- > 0;) {
      double sum = a == b ? 1 : 0;
      for (size_t k = a + 1; k <= b; k++) sum -= c[a * s + of[k]] * m[of[k] * p + b];
      m[of[a] * p + b] = sum / c[a * s + of[a]];
    }
}

/* Cholesky's factor, pivoted on the share of a square that is left. */
size_t gb_small_basis (size_t s, double *g, double tol, double *c, double *m, double *left, size_t *of) {
  size_t p = 0; /* vectors of[0 .. p - 1] are the basis */
  for (size_t i = 0; i < s; i++)
    for (size_t j = 0; j < i; j++) g[i * s + j] = g[j * s + i] = (g[i * s + j] + g[j * s + i]) / 2;
  for (size_t k = 0; k < s; k++) left[k] = g[k * s + k] > 0 ? g[k * s + k] : 0;
  for (size_t v; p < s && (v = next_vector(s, g, left, tol)) < s; p++) {
    double *row = c + p * s;
    const double root = sqrt(left[v]);
    for (size_t k = 0; k < s; k++) row[k] = left[k] > 0 ? g[v * s + k] : 0;
    for (size_t j = 0; j < p; j++)
      for (size_t k = 0; k < s; k++)
        if (left[k] > 0) row[k] -= c[j * s + v] * c[j * s + k];
    for (size_t k = 0; k < s; k++) row[k] /= root;
    row[v] = root;
    of[p] = v;
    for (size_t k = 0; k < s; k++) left[k] = fmax(left[k] - row[k] * row[k], 0);
    left[v] = 0;
  }
  invert(s, p, c, of, m);
  return p;
}
