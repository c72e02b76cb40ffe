/* partial.c - partial Cholesky factors, pivots in blocks.
**
** A pivot changes what is left of every diagonal entry, and so who is next. But entries only fall. What
** was known of them when a block began bounds the turn of every point from one side, so that the next few
** pivots are among the CANDIDATES that were then first, as long as the best of them, followed exactly, is
** before the bound of all others. Then the rows of the block are eliminated together, as products of
** matrices.
**
** Drawn pivots are a race: a clock runs at each point, faster the more is left of its diagonal entry,
** until the exponential lot of the point is used up. The first to end is a draw in proportion to what is
** left, and as such lots have no memory, so is the next among clocks that merely go on. Lots are numbers
** of the seed: a small change of K moves few pivots, and what is made of them stays a function that can be
** followed. Source of the pivots' law: Chen, Epperly, Tropp & Webber (2025). */
#include "solve/precond/partial.h"
#include "base/plain.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/tasks.h"
#include "cpu/linalg/blas.h"
#include "iterate/product.h"

#define CANDIDATES 32
#define LONG 2048 /* entries of a task that updates rows of L' */
#define OWN                                                                                                  \
  UINT64_C(0x9e3779b97f4a7c15) /* keeps lots apart from probes of the same seed, which must not know them */

typedef struct partial {
  gb_node *k;
  gb_pool *pool;
  gb_pivoting how;
  size_t n, most, rank;
  double *lt;
  double *left;  /* (n): of the diagonal, when the block began; 0 at pivots, not finite where a row was not */
  double *lot;   /* (n), drawn: left of the lots, likewise */
  double *sums;  /* (pieces, CANDIDATES): of what is left after each row of the block */
  double *known; /* (most, CANDIDATES): the candidates' columns of L' */
  double *factors; /* (rank, rows): those of the block's pivots */
  /* the block */
  size_t candidate[CANDIDATES], ncandidates;
  double bound; /* the turn of all others is no earlier */
  double candidate_left[CANDIDATES], candidate_lot[CANDIDATES];
  size_t rows, pivot[CANDIDATES], place[CANDIDATES]; /* of each pivot among the candidates */
  /* of the pivot's entry; what the race's time advanced before it */
  double root[CANDIDATES], step[CANDIDATES];
} partial;

static size_t pieces (size_t n) { return (n + LONG - 1) / LONG; }

/* -- turns */

/* When a point is next, from now, if nothing more of its entry goes: INFINITY for never. The largest entry
** first, or the lot that is used up first. */
static double turn (const partial *p, double left, double lot) {
  if (!(left > 0)) return INFINITY;
  return p->how.drawn ? lot / left : -left;
}

static double turn_of_point (const partial *p, size_t i) {
  return turn(p, p->left[i], p->how.drawn ? p->lot[i] : 0);
}

/* The points whose turns are first, earlier indices before later ones of the same turn, and the bound of
** the others. */
static void find_candidates (partial *p) {
  double at[CANDIDATES + 1];
  size_t who[CANDIDATES + 1], count = 0;
  for (size_t i = 0; i < p->n; i++) {
    const double t = turn_of_point(p, i);
    if (t == INFINITY || (count == CANDIDATES + 1 && t >= at[count - 1])) continue;
    size_t j = count < CANDIDATES + 1 ? count++ : CANDIDATES;
    for (; j > 0 && at[j - 1] > t; j--) at[j] = at[j - 1], who[j] = who[j - 1];
    at[j] = t, who[j] = i;
  }
  p->bound = count == CANDIDATES + 1 ? at[CANDIDATES] : INFINITY;
  p->ncandidates = count < CANDIDATES ? count : CANDIDATES;
  for (size_t c = 0; c < p->ncandidates; c++) {
    const size_t i = p->candidate[c] = who[c];
    p->candidate_left[c] = p->left[i];
    p->candidate_lot[c] = p->how.drawn ? p->lot[i] : 0;
    for (size_t m = 0; m < p->rank; m++) p->known[m * CANDIDATES + c] = p->lt[m * p->n + i];
  }
}

/* The candidate whose turn is next, and when; ncandidates where it is nobody's. */
static size_t next_candidate (const partial *p, double *when) {
  size_t best = p->ncandidates;
  *when = INFINITY;
  for (size_t c = 0; c < p->ncandidates; c++) {
    const double t = turn(p, p->candidate_left[c], p->candidate_lot[c]);
    if (t < *when) *when = t, best = c;
  }
  return best;
}

/* -- a block */

static gb_status read_row (gb_node *k, size_t i, double *out, gb_error *err) {
  gb_node *row;
  GB_TRY(gb_select(k, 0, i, &row, err));
  const gb_status st = gb_node_doubles(row, out, err);
  gb_node_unref(row);
  return st;
}

/* What is left of an entry beside the square of v; not finite where v is not. */
static double less_square (double left, double v) {
  const double rest = left - v * v;
  return rest < 0 && isfinite(v) ? 0 : rest;
}

/* The candidates' entries of row j of L', of pivot 'c', from its row of K; what is left of theirs. */
static void follow (partial *p, size_t j, size_t c, double root, const double *row) {
  double sum[CANDIDATES];
  for (size_t o = 0; o < p->ncandidates; o++) sum[o] = row[p->candidate[o]];
  for (size_t m = 0; m < j; m++) {
    const double *known = p->known + m * CANDIDATES, f = known[c];
    for (size_t o = 0; o < p->ncandidates; o++) sum[o] -= f * known[o];
  }
  double *out = p->known + j * CANDIDATES;
  for (size_t o = 0; o < p->ncandidates; o++) {
    out[o] = p->candidate_left[o] == 0 ? 0 : sum[o] / root;
    p->candidate_left[o] = less_square(p->candidate_left[o], out[o]);
  }
  out[c] = root;
  p->candidate_left[c] = 0;
}

static gb_status take_pivot (partial *p, size_t c, double wait, gb_error *err) {
  const size_t r = p->rows, j = p->rank + r;
  double *row = p->lt + j * p->n;
  GB_TRY(read_row(p->k, p->candidate[c], row, err));
  p->place[r] = c;
  p->pivot[r] = p->candidate[c];
  p->root[r] = sqrt(p->candidate_left[c]);
  p->step[r] = p->how.drawn ? wait : 0;
  for (size_t o = 0; o < p->ncandidates; o++)
    p->candidate_lot[o] = fmax(p->candidate_lot[o] - p->candidate_left[o] * p->step[r], 0);
  follow(p, j, c, p->root[r], row);
  p->rows++;
  return GB_OK;
}

/* Pivots whose turns are known to be next, with their rows of K in place of those of L'. */
static gb_status take_pivots (partial *p, gb_error *err) {
  double now = 0, wait;
  p->rows = 0;
  find_candidates(p);
  while (p->rank + p->rows < p->most) {
    const size_t c = next_candidate(p, &wait);
    if (c == p->ncandidates || (p->rows > 0 && now + wait > p->bound)) break;
    GB_TRY(take_pivot(p, c, wait, err));
    if (p->how.drawn) now += wait;
  }
  return GB_OK;
}

/* Row r of the block over entries i0 .. i0 + len - 1, of which earlier blocks are eliminated; what is left
** of entries and lots. */
static double eliminate_row (partial *p, size_t r, size_t i0, size_t len) {
  double *row = p->lt + (p->rank + r) * p->n + i0, *left = p->left + i0, sum = 0;
  for (size_t m = 0; m < r; m++) {
    const double *earlier = p->lt + (p->rank + m) * p->n + i0,
                 f = p->known[(p->rank + m) * CANDIDATES + p->place[r]];
    for (size_t i = 0; i < len; i++) row[i] -= f * earlier[i];
  }
  if (p->how.drawn)
    for (size_t i = 0; i < len; i++) p->lot[i0 + i] = fmax(p->lot[i0 + i] - left[i] * p->step[r], 0);
  for (size_t i = 0; i < len; i++) {
    row[i] = left[i] == 0 ? 0 : row[i] / p->root[r];
    left[i] = less_square(left[i], row[i]);
  }
  if (p->pivot[r] - i0 < len) {
    row[p->pivot[r] - i0] = p->root[r];
    left[p->pivot[r] - i0] = 0;
  }
  for (size_t i = 0; i < len; i++) sum += left[i];
  return sum;
}

static void eliminate_piece (void *ud, gb_tasks *s, size_t task, int thread) {
  partial *p = ud;
  const size_t i0 = task * LONG, len = p->n - i0 < LONG ? p->n - i0 : LONG;
  (void)s, (void)thread;
  if (p->rank > 0)
    gb_blas_gemm(GB_F64, true, false, p->rows, len, p->rank, -1, p->factors, p->rows, p->lt + i0, p->n, 1,
                 p->lt + p->rank * p->n + i0, p->n);
  for (size_t r = 0; r < p->rows; r++) p->sums[task * CANDIDATES + r] = eliminate_row(p, r, i0, len);
}

static gb_status eliminate (partial *p, gb_error *err) {
  GB_TRY(gb_blas_ready(err));
  for (size_t m = 0; m < p->rank; m++)
    for (size_t r = 0; r < p->rows; r++) p->factors[m * p->rows + r] = p->known[m * CANDIDATES + p->place[r]];
  const double work = (double)p->n * (double)p->rows * (double)(p->rank + p->rows);
  return gb_tasks_run(gb_pool_for(p->pool, work), pieces(p->n), eliminate_piece, p, err);
}

/* -- all of them */

/* What is left of the diagonal after row r of the block. */
static double left_after (const partial *p, size_t r) {
  double sum = 0;
  for (size_t task = 0; task < pieces(p->n); task++) sum += p->sums[task * CANDIDATES + r];
  return sum;
}

static gb_status factor (partial *p, double tol, double *left, gb_error *err) {
  double trace = 0;
  for (size_t i = 0; i < p->n; i++) trace += p->left[i];
  *left = trace > 0 ? 1 : 0;
  while (p->rank < p->most && (*left > tol)) {
    GB_TRY(take_pivots(p, err));
    if (p->rows == 0) break;
    GB_TRY(eliminate(p, err));
    for (size_t r = 0; r < p->rows && (*left > tol); r++, p->rank++) {
      *left = left_after(p, r) / trace;
      if (!isfinite(*left))
        return gb_fail(err, GB_ENAN, "row %zu of the kernel matrix is not finite", p->pivot[r] + 1);
    }
  }
  return GB_OK;
}

gb_status gb_partial_diagonal (gb_node *k, double *out, gb_error *err) {
  gb_node *d;
  const gb_attr attr = {0};
  GB_TRY(gb_node_build(k->graph, GB_OP_DIAGONAL, 1, &k, &attr, NULL, gb_node_dtype(k), &d, err));
  const gb_status st = gb_node_doubles(d, out, err);
  gb_node_unref(d);
  return st;
}

static gb_status begin (partial *p, gb_error *err) {
  GB_TRY(gb_partial_diagonal(p->k, p->left, err));
  for (size_t i = 0; i < p->n; i++) {
    if (!isfinite(p->left[i]))
      return gb_fail(err, GB_ENAN, "diagonal entry %zu of the kernel matrix is %g", i + 1,
                     gb_plain(p->left[i]));
    if (p->left[i] < 0)
      return gb_fail(err, GB_ENOTPD, "diagonal entry %zu of the kernel matrix is %g", i + 1,
                     gb_plain(p->left[i]));
  }
  for (size_t i = 0; i < p->n && p->how.drawn; i++)
    p->lot[i] = -log(gb_rand_uniform(p->how.seed ^ OWN, 0, i));
  return GB_OK;
}

size_t gb_partial_bytes (size_t n, size_t most) {
  return (2 * n + pieces(n) * CANDIDATES + 2 * most * CANDIDATES) * sizeof(double);
}

gb_status gb_partial_cholesky (gb_node *k, gb_pivoting how, size_t most, double tol, double *lt, size_t *rank,
                               double *trace_left, gb_error *err) {
  gb_device *dev = k->graph->device;
  const size_t n = gb_node_shape(k)->dim[0];
  gb_block memory;
  GB_TRY(gb_ledger_alloc(&dev->ledger, GB_MEM_WORKSPACE, gb_partial_bytes(n, most), "", "preconditioner",
                         &memory, err));
  double *room = memory.data;
  partial p = {.k = k,
               .pool = dev->pool,
               .how = how,
               .n = n,
               .most = most,
               .lt = lt,
               .left = room,
               .lot = room + n,
               .sums = room + 2 * n};
  p.known = p.sums + pieces(n) * CANDIDATES;
  p.factors = p.known + most * CANDIDATES;
  gb_status st = begin(&p, err);
  if (st == GB_OK) st = factor(&p, tol, trace_left, err);
  gb_ledger_free(&dev->ledger, &memory);
  *rank = p.rank;
  return st;
}
