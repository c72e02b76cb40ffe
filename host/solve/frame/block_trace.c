/* block_trace.c - extreme eigenvalues and logarithms of a block tridiagonal matrix. */
#include "solve/frame/block_trace.h"

#include <math.h>
#include <string.h>

#include "solve/frame/small.h"

#define COLUMNS 16384 /* of T, at most */

static size_t kept (int max_iter, size_t r) {
  const size_t most = COLUMNS / r + 1;
  return max_iter < 0 ? 0 : (size_t)max_iter < most ? (size_t)max_iter : most;
}

#define BLOCKS 3   /* of each step */
#define WORKROOM 4 /* blocks, and vectors of T's order */

static size_t numbers_of (size_t steps, size_t r) {
  return (1 + BLOCKS * steps + WORKROOM) * r * r + WORKROOM * steps * r;
}

size_t gb_block_trace_bytes (int max_iter, size_t r) {
  const size_t steps = kept(max_iter, r);
  return numbers_of(steps, r) * sizeof(double) + steps * sizeof(size_t);
}

gb_block_trace gb_block_trace_bind (int max_iter, size_t r, void *memory) {
  const size_t steps = kept(max_iter, r), block = r * r;
  double *d = memory;
  gb_block_trace t = {.r = r, .max_steps = (int)steps, .first = d};
  t.step = d + block;
  t.diagonal = t.step + steps * block;
  t.below = t.diagonal + steps * block;
  t.work = t.below + steps * block;
  t.rank = (size_t *)(void *)(d + numbers_of(steps, r));
  return t;
}

/* -- extreme eigenvalues: powers of T and of its inverse */

#define POWERS 60

/* y = T x; vectors have r entries for each block. */
static void multiply (const gb_block_trace *t, const double *x, double *y) {
  const size_t r = t->r;
  for (int j = 0; j < t->steps; j++) {
    const size_t p = t->rank[j];
    const double *d = t->diagonal + (size_t)j * r * r, *b = t->below + (size_t)j * r * r;
    const double *own = x + (size_t)j * r;
    double *out = y + (size_t)j * r;
    gb_small_product(p, p, 1, d, own, out);
    if (j == 0) continue;
    const size_t before = t->rank[j - 1];
    const double *last = x + (size_t)(j - 1) * r;
    double *out_last = y + (size_t)(j - 1) * r;
    for (size_t i = 0; i < p; i++)
      for (size_t k = 0; k < before; k++) {
        out[i] += b[i * before + k] * last[k];
        out_last[k] += b[i * before + k] * own[i];
      }
  }
}

/* y = T^-1 x by L D L'; below times step is -L's block. */
static void solve (const gb_block_trace *t, const double *x, double *y, double *part) {
  const size_t r = t->r;
  memcpy(y, x, (size_t)t->steps * r * sizeof *y);
  for (int j = 1; j < t->steps; j++) { /* y = L^-1 x */
    const size_t before = t->rank[j - 1];
    gb_small_product(before, before, 1, t->step + (size_t)(j - 1) * r * r, y + (size_t)(j - 1) * r, part);
    for (size_t i = 0; i < t->rank[j]; i++)
      for (size_t k = 0; k < before; k++)
        y[(size_t)j * r + i] -= t->below[(size_t)j * r * r + i * before + k] * part[k];
  }
  for (int j = t->steps; j-- > 0;) { /* y = L'^-1 D^-1 y */
    const size_t p = t->rank[j];
    double *own = y + (size_t)j * r;
    if (j + 1 < t->steps) /* D^-1 (own - below' next) */
      for (size_t i = 0; i < t->rank[j + 1]; i++)
        for (size_t k = 0; k < p; k++)
          own[k] -= t->below[(size_t)(j + 1) * r * r + i * p + k] * y[(size_t)(j + 1) * r + i];
    gb_small_product(p, p, 1, t->step + (size_t)j * r * r, own, part);
    memcpy(own, part, p * sizeof *own);
  }
}

static double dot (const gb_block_trace *t, const double *x, const double *y) {
  double sum = 0;
  for (int j = 0; j < t->steps; j++)
    for (size_t k = 0; k < t->rank[j]; k++) sum += x[(size_t)j * t->r + k] * y[(size_t)j * t->r + k];
  return sum;
}

static void divide (const gb_block_trace *t, double *x, double by) {
  for (int j = 0; j < t->steps; j++)
    for (size_t k = 0; k < t->rank[j]; k++) x[(size_t)j * t->r + k] /= by;
}

static double largest_entry (const gb_block_trace *t, const double *x) {
  double most = 0;
  for (int j = 0; j < t->steps; j++)
    for (size_t k = 0; k < t->rank[j]; k++) most = fmax(most, fabs(x[(size_t)j * t->r + k]));
  return most;
}

/* Rayleigh's quotient after POWERS steps from a vector of all blocks. Squares of x are of size 1, whatever T's is. */
static double power (const gb_block_trace *t, bool inverse) {
  const size_t order = (size_t)t->steps * t->r;
  double *x = t->work, *y = x + order, *part = y + order, value = 0;
  for (size_t i = 0; i < order; i++) x[i] = 1 + 0.5 * sin((double)(i + 1));
  for (int i = 0; i < POWERS; i++) {
    divide(t, x, largest_entry(t, x));
    divide(t, x, sqrt(dot(t, x, x)));
    if (inverse) solve(t, x, y, part);
    else multiply(t, x, y);
    value = dot(t, x, y);
    memcpy(x, y, order * sizeof *x);
  }
  return value;
}

void gb_block_trace_extremes (const gb_block_trace *t, double *smallest, double *largest) {
  *smallest = *largest = 0;
  if (t->steps == 0) return;
  *largest = power(t, false);
  *smallest = 1 / power(t, true);
}

/* -- log T = log s + the integral over u of e^u (1 / (1 + e^u) - (T / s + e^u)^-1) for a size s amid the eigenvalues of T, by
** the trapezoidal rule, whose error is at most 8 pi exp(-2 pi^2 / STEP) and falls with exp(-TAIL) */

#define STEP 0.8
#define TAIL 24.0
#define MARGIN 2.5 /* how far the eigenvalues may lie beyond those known: factors e^MARGIN */

/* root (rank[0], rank[0]) = the Cholesky factor of the first block of Schur's complements of T + shift, from the last
** block upwards. */
static bool factor_first (const gb_block_trace *t, int steps, double shift, double *root, double *next,
                          double *w) {
  const size_t r = t->r;
  double pivot;
  for (int j = steps; j-- > 0;) {
    const size_t p = t->rank[j];
    memcpy(root, t->diagonal + (size_t)j * r * r, p * p * sizeof *root);
    for (size_t i = 0; i < p; i++) root[i * p + i] += shift;
    if (j + 1 < steps) { /* less (L^-1 below)' (L^-1 below) */
      const size_t q = t->rank[j + 1];
      memcpy(w, t->below + (size_t)(j + 1) * r * r, q * p * sizeof *w);
      gb_small_solve_lower(q, p, next, w);
      for (size_t i = 0; i < q; i++)
        for (size_t a = 0; a < p; a++)
          for (size_t b = 0; b <= a; b++) root[a * p + b] -= w[i * p + a] * w[i * p + b];
    }
    if (!gb_small_cholesky(p, root, &pivot)) return false;
    memcpy(next, root, p * p * sizeof *next);
  }
  return true;
}

static void square_columns (size_t p, size_t r, const double *x, double factor, double *out) {
  for (size_t i = 0; i < p; i++)
    for (size_t c = 0; c < r; c++) out[c] += factor * x[i * r + c] * x[i * r + c];
}

/* out[c] = C' (log T_00 - log size) C of each column, for eigenvalues from 'smallest' to 'largest'; false where T is not
** positive definite. */
static bool sum_quadrature (const gb_block_trace *t, int steps, double smallest, double largest, double size,
                            double *out) {
  const size_t r = t->r, p = t->rank[0];
  const double from = log(smallest / size) - MARGIN - TAIL, to = log(largest / size) + MARGIN + TAIL;
  double *root = t->work, *next = root + r * r, *w = next + r * r, *x = w + r * r;
  for (double u = from; u < to; u += STEP) {
    const double at = exp(u);
    if (!factor_first(t, steps, size * at, root, next, w)) return false;
    memcpy(x, t->first, p * r * sizeof *x);
    square_columns(p, r, x, STEP * at / (1 + at), out);
    gb_small_solve_lower(p, r, root, x);
    square_columns(p, r, x, -STEP * at * size, out);
  }
  return true;
}

void gb_block_trace_log (const gb_block_trace *t, int steps, double *out) {
  const size_t r = t->r;
  double smallest, largest, *length = t->work;
  memset(out, 0, r * sizeof *out);
  if (steps == 0) return;
  gb_block_trace_extremes(t, &smallest, &largest);
  const double size = sqrt(smallest) * sqrt(largest); /* NaN or 0 where T has no eigenvalues above 0 */
  const bool sound = size > 0 && isfinite(size) && sum_quadrature(t, steps, smallest, largest, size, out);
  memset(length, 0, r * sizeof *length);
  square_columns(t->rank[0], r, t->first, 1, length);
  for (size_t c = 0; c < r; c++) out[c] = !sound ? NAN : length[c] > 0 ? out[c] / length[c] + log(size) : 0;
}
