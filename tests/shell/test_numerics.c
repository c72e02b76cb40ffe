/* test_numerics.c - exact Gaussian processes against a reference in __float128: 6 kernels x 4 lengthscales
** x 8 noise variances of models as scripts make them (tests/shell/numerics.lua), and gradients.
**
** Bound of every quantity q: |q - q128| <= (10 kappa u + 1e-13) |q128|, kappa the condition number of the
** covariance in the 2-norm, from the reference. */
#include <math.h>
#include <quadmath.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef __float128 quad;

enum { RBF, M12, M32, M52, RQ, PERIODIC, NKERNELS };
enum { ALPHA, LOGDET, MLL, MEAN, VARIANCE, NQUANTITIES };
static const char *const kernel_name[] = {"rbf",      "matern12",           "matern32",
                                          "matern52", "rational_quadratic", "periodic"};
static const char *const quantity_name[] = {"C^-1 y", "log |C|", "log p(y)", "mean", "f_var"};
static const double unit = 0x1p-53;

static FILE *models;

static double number (void) {
  double v;
  assert_int_equal(fread(&v, sizeof v, 1, models), 1);
  return v;
}

static double *numbers (size_t n) {
  double *v = malloc((n + 1) * sizeof *v);
  assert_int_equal(fread(v, sizeof *v, n, models), n);
  return v;
}

/* Reference */

typedef struct theta {
  quad lengthscale, variance, alpha, period, noise;
} theta;

static quad covariance (int kernel, const theta *t, double a, double b) {
  const quad r = fabsq((quad)a - b) / t->lengthscale;
  if (kernel == RBF) return t->variance * expq(-r * r / 2);
  if (kernel == M12) return t->variance * expq(-r);
  if (kernel == M32) return t->variance * (1 + sqrtq(3) * r) * expq(-sqrtq(3) * r);
  if (kernel == M52) return t->variance * (1 + sqrtq(5) * r + 5 * r * r / 3) * expq(-sqrtq(5) * r);
  if (kernel == RQ) return t->variance * powq(1 + r * r / (2 * t->alpha), -t->alpha);
  const quad s = sinq(M_PIq * ((quad)a - b) / t->period) / t->lengthscale;
  return t->variance * expq(-2 * s * s);
}

/* Lower triangle of A into L L'; false where a pivot is not positive. */
static bool factor (size_t n, quad *a) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      quad s = a[i * n + j];
      for (size_t k = 0; k < j; k++) s -= a[i * n + k] * a[j * n + k];
      if (i == j && !(s > 0)) return false;
      a[i * n + j] = i == j ? sqrtq(s) : s / a[j * n + j];
    }
  return true;
}

static void forward (size_t n, const quad *l, quad *b) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) b[i] -= l[i * n + k] * b[k];
    b[i] /= l[i * n + i];
  }
}

static void backward (size_t n, const quad *l, quad *b) {
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) b[i] -= l[k * n + i] * b[k];
    b[i] /= l[i * n + i];
  }
}

static quad *matrix (int kernel, const theta *t, size_t n, const double *x) {
  quad *c = calloc(n * n, sizeof *c);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      c[i * n + j] = c[j * n + i] = covariance(kernel, t, x[i], x[j]) + (i == j ? t->noise : 0);
  return c;
}

static double norm (size_t n, const quad *v) {
  quad s = 0;
  for (size_t i = 0; i < n; i++) s += v[i] * v[i];
  return (double)sqrtq(s);
}

/* Largest over smallest eigenvalue, each from below by at most a few per cent: 20 steps of power iteration
** on the matrix, and on its inverse through the factor. */
static double condition (size_t n, const quad *c, const quad *l) {
  double ends[2] = {0, 0};
  quad *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
  for (int inverse = 0; inverse < 2; inverse++) {
    for (size_t i = 0; i < n; i++) v[i] = 1 + (quad)((i * 7919) % 101) / 50 * (inverse && i % 2 ? -1 : 1);
    for (int step = 0; step < 20; step++) {
      const double size = norm(n, v);
      for (size_t i = 0; i < n; i++) w[i] = v[i] / size;
      if (inverse) {
        memcpy(v, w, n * sizeof *v);
        forward(n, l, v);
        backward(n, l, v);
      } else {
        for (size_t i = 0; i < n; i++) {
          v[i] = 0;
          for (size_t j = 0; j < n; j++) v[i] += c[i * n + j] * w[j];
        }
      }
    }
    ends[inverse] = norm(n, v);
  }
  free(v);
  free(w);
  return ends[0] * ends[1];
}

static quad marginal (size_t n, const quad *l, const double *y, quad *alpha, quad *logdet) {
  quad square = 0;
  *logdet = 0;
  for (size_t i = 0; i < n; i++) alpha[i] = y[i];
  forward(n, l, alpha);
  for (size_t i = 0; i < n; i++) {
    square += alpha[i] * alpha[i];
    *logdet += 2 * logq(l[i * n + i]);
  }
  backward(n, l, alpha);
  return -(square + *logdet + (quad)n * logq(2 * M_PIq)) / 2;
}

/* Cells */

typedef struct cell {
  int kernel;
  size_t n, m;
  theta t;
  bool refused;
  double *x, *y, *xs, *c, *alpha, *logdet, *mll, *mean, *variance;
} cell;

static bool read_cell (cell *q) {
  const int kernel = (int)number();
  *q = (cell){.kernel = kernel};
  if (kernel < 0) return false;
  q->n = (size_t)number();
  q->m = (size_t)number();
  q->t.lengthscale = number();
  q->t.noise = number();
  q->t.variance = number();
  q->t.alpha = number();
  q->t.period = number();
  q->refused = number() != 0;
  q->x = numbers(q->n);
  q->y = numbers(q->n);
  q->xs = numbers(q->m);
  q->c = numbers(q->n * q->n);
  if (q->refused) return true;
  q->alpha = numbers(q->n);
  q->logdet = numbers(1);
  q->mll = numbers(1);
  q->mean = numbers(q->m);
  q->variance = numbers(q->m);
  return true;
}

static void free_cell (cell *q) {
  double *const all[] = {q->x, q->y, q->xs, q->c, q->alpha, q->logdet, q->mll, q->mean, q->variance};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* The largest error relative to the largest value (at least 'floor'); NaN if any is. */
static double distance (size_t n, const double *got, const quad *want, double floor) {
  quad error = 0, size = floor;
  for (size_t i = 0; i < n; i++) {
    const quad e = fabsq(got[i] - want[i]);
    if (!(e <= error)) error = e;
    size = fmaxq(size, fabsq(want[i]));
  }
  return (double)(error / size);
}

typedef struct row {
  double worst[NQUANTITIES];  /* error over kappa u + 1e-14, where kappa u <= 1e-2 */
  double entry;               /* of C, in units of u times the largest entry */
  double beyond[NQUANTITIES]; /* largest relative error where kappa u is above that */
  int checked, refused, indefinite, ill, zero;
} row;

/* Profiles are good to 4 ulp of the variance, beside what their argument lost. A periodic kernel takes the
** distance of points on a circle, whose angles are rounded: that costs angle / lengthscale more. */
static void check_entries (const cell *q, const quad *c, row *r) {
  const double size = (double)(q->t.variance + q->t.noise);
  const double angle = q->kernel == PERIODIC ? 2 * M_PI / (double)(q->t.period * q->t.lengthscale) : 0;
  for (size_t i = 0; i < q->n * q->n; i++) {
    const double error = (double)fabsq(q->c[i] - c[i]) / (size * unit);
    if (!(error <= 8 + 2 * angle))
      fail_msg("%s: an entry of C is off by %g u", kernel_name[q->kernel], error);
    r->entry = fmax(r->entry, error);
  }
}

static void errors_of (const cell *q, const quad *l, double error[NQUANTITIES]) {
  const size_t n = q->n, m = q->m;
  quad *alpha = malloc(n * sizeof *alpha), *mean = calloc(m, sizeof *mean),
       *variance = malloc(m * sizeof *variance), *v = malloc(n * sizeof *v), logdet;
  const quad mll = marginal(n, l, q->y, alpha, &logdet);
  for (size_t j = 0; j < m; j++) {
    for (size_t i = 0; i < n; i++) {
      v[i] = covariance(q->kernel, &q->t, q->x[i], q->xs[j]);
      mean[j] += v[i] * alpha[i];
    }
    forward(n, l, v);
    variance[j] = q->t.variance;
    for (size_t i = 0; i < n; i++) variance[j] -= v[i] * v[i];
    assert_true(q->variance[j] >= 0);
  }
  error[ALPHA] = distance(n, q->alpha, alpha, 0);
  error[LOGDET] = distance(1, q->logdet, &logdet, 1);
  error[MLL] = distance(1, q->mll, &mll, 1);
  error[MEAN] = distance(m, q->mean, mean, 0);
  error[VARIANCE] = distance(m, q->variance, variance, 0);
  free(alpha);
  free(mean);
  free(variance);
  free(v);
}

/* Is the matrix as the model rounded it positive definite? */
static bool rounded_is_definite (const cell *q) {
  quad *c = malloc(q->n * q->n * sizeof *c);
  for (size_t i = 0; i < q->n * q->n; i++) c[i] = q->c[i];
  const bool is = factor(q->n, c);
  free(c);
  return is;
}

static void check_cell (const cell *q, row *r) {
  quad *c = matrix(q->kernel, &q->t, q->n, q->x), *l = malloc(q->n * q->n * sizeof *l);
  check_entries(q, c, r);
  memcpy(l, c, q->n * q->n * sizeof *l);
  const bool definite = factor(q->n, l); /* false where even 113 bits are too few */
  const double kappa = definite ? condition(q->n, c, l) : INFINITY;
  const bool rounded = rounded_is_definite(q);
  const double wrong = 10 * kappa * unit + 1e-13;
  char where[128];
  snprintf(where, sizeof where, "%s, lengthscale %g, noise %g, kappa %.2g", kernel_name[q->kernel],
           (double)q->t.lengthscale, (double)q->t.noise, kappa);
  if (q->refused) {
    r->refused++;
    r->indefinite += !rounded;
    if (rounded && kappa * unit <= 1e-2) fail_msg("%s: refused, but positive definite", where);
  } else {
    double error[NQUANTITIES];
    if (!rounded) fail_msg("%s: a number for an indefinite matrix", where);
    if (!definite) fail_msg("%s: a number where the reference has none", where);
    errors_of(q, l, error);
    for (size_t j = 0; j < q->m; j++) r->zero += q->variance[j] == 0;
    const bool ill = kappa * unit > 1e-2;
    r->ill += ill;
    r->checked += !ill;
    for (int k = 0; k < NQUANTITIES; k++) {
      if (!ill && !(error[k] <= wrong))
        fail_msg("%s: %s is off by %.3g, bound %.3g", where, quantity_name[k], error[k], wrong);
      double *worst = ill ? &r->beyond[k] : &r->worst[k];
      const double ratio = ill ? error[k] : error[k] / (kappa * unit + 1e-14);
      if (!(ratio <= *worst)) *worst = ratio;
    }
  }
  free(c);
  free(l);
}

static void print_rows (const row *r) {
  printf("worst error / (kappa u + 1e-14), entries of C in u; kappa u <= 1e-2\n%-20s", "kernel");
  for (int k = 0; k < NQUANTITIES; k++) printf("%10s", quantity_name[k]);
  printf("%10s%8s%9s%12s\n", "C", "cells", "not_pd", "indefinite");
  for (int k = 0; k < NKERNELS; k++) {
    printf("%-20s", kernel_name[k]);
    for (int i = 0; i < NQUANTITIES; i++) printf("%10.3g", r[k].worst[i]);
    printf("%10.3g%8d%9d%12d\n", r[k].entry, r[k].checked, r[k].refused, r[k].indefinite);
  }
  printf("where kappa u > 1e-2 and a factor was found: largest relative errors, variances that came out 0\n");
  for (int k = 0; k < NKERNELS; k++) {
    printf("%-20s", kernel_name[k]);
    for (int i = 0; i < NQUANTITIES; i++) printf("%10.3g", r[k].beyond[i]);
    printf("%10s%8d   %d of all cells\n", "", r[k].ill, r[k].zero);
  }
}

static void models_agree_with_float128_as_far_as_their_matrix_allows (void **unused) {
  (void)unused;
  row rows[NKERNELS] = {0};
  int cells = 0;
  for (cell q; read_cell(&q); cells++) {
    check_cell(&q, &rows[q.kernel]);
    free_cell(&q);
  }
  print_rows(rows);
  assert_int_equal(cells, 32 * NKERNELS);
  for (int k = 0; k < NKERNELS; k++) assert_true(rows[k].checked >= 16);
}

/* Gradients */

static quad marginal_at (int kernel, const theta *t, size_t n, const double *x, const double *y) {
  quad *l = matrix(kernel, t, n, x), *alpha = malloc(n * sizeof *alpha), logdet;
  assert_true(factor(n, l));
  const quad v = marginal(n, l, y, alpha, &logdet);
  free(l);
  free(alpha);
  return v;
}

/* d log p / d log parameter by a central difference: truncation and rounding are both below 1e-15. */
static quad slope (int kernel, const theta *t, size_t at, size_t n, const double *x, const double *y) {
  const quad h = 1e-9Q;
  theta up = *t, down = *t;
  *(quad *)((char *)&up + at) *= expq(h);
  *(quad *)((char *)&down + at) *= expq(-h);
  return (marginal_at(kernel, &up, n, x, y) - marginal_at(kernel, &down, n, x, y)) / (2 * h);
}

static void gradients_agree_with_differences_in_float128 (void **unused) {
  (void)unused;
  double worst = 0;
  int checked = 0;
  for (int kernel; (kernel = (int)number()) >= 0;) {
    const size_t n = (size_t)number();
    theta t;
    t.lengthscale = number();
    t.variance = number();
    t.alpha = number();
    t.period = number();
    t.noise = number();
    double *x = numbers(n), *y = numbers(n), *got = numbers(4);
    const size_t at[] = {offsetof(theta, lengthscale), offsetof(theta, variance),
                         kernel == RQ         ? offsetof(theta, alpha)
                         : kernel == PERIODIC ? offsetof(theta, period)
                                              : offsetof(theta, variance),
                         offsetof(theta, noise)};
    for (int k = 0; k < 4; k++) {
      const quad want = slope(kernel, &t, at[k], n, x, y);
      const double error = (double)(fabsq(got[k] - want) / fabsq(want));
      if (!(error <= 1e-9))
        fail_msg("%s, parameter %d: %.17g, want %.17g", kernel_name[kernel], k, got[k], (double)want);
      worst = fmax(worst, error);
      checked++;
    }
    free(x);
    free(y);
    free(got);
  }
  printf("gradients: %d, worst relative error %.2g\n", checked, worst);
  assert_int_equal(checked, 4 * NKERNELS);
}

static int start (void **unused) {
  (void)unused;
  models = popen("'" GIBBOUS_BINARY "' '" NUMERICS_SCRIPT "'", "r");
  return models == NULL;
}

static int stop (void **unused) {
  (void)unused;
  return pclose(models);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_agree_with_float128_as_far_as_their_matrix_allows),
      cmocka_unit_test(gradients_agree_with_differences_in_float128),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
