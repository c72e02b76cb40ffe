/* partial.c - partial Cholesky factors, pivots in blocks.
**
** The remaining diagonal is diag(K - L L') for the rows of L' so far; it decides which pivot is next, and
** each pivot lowers it. A point's *turn* is a number by which pivots are ordered, the smallest first. As
** entries only fall, turns only grow: their values at the start of a block are lower bounds. So a block takes
** the GB_PIVOTS points of smallest turn as candidates, follows their turns exactly, and takes pivots among
** them as long as the smallest turn is below the bound of all other points. Then the rows of the block are
** eliminated together, as products of matrices.
**
** Drawn pivots are a race. Each point has an exponential random number, its lot, and a clock that runs at
** the speed of its remaining entry; the pivot is the point whose clock uses up its lot first. That is a
** draw in proportion to the remaining entries, and since exponential lots are memoryless, so is the next
** one if all clocks run on. Lots depend on the seed alone: a small change of K changes few pivots, so
** functions of the factor vary little. Source of the law: Chen, Epperly, Tropp & Webber (2025). */
#include "solve/precond/partial.h"

#include <math.h>

#include "base/plain.h"
#include "iterate/values.h"
#include "iterate/work.h"

/* Changes the seed: lots must be independent of probes of the same seed. */
#define OWN UINT64_C(0x9e3779b97f4a7c15)

typedef struct partial {
  gb_node *k;
  gb_device *device;
  gb_pivoting how;
  size_t n, most, rank;
  gb_panel lt; /* (most, n) */
  gb_panel
      left; /* (n, 1): remaining diagonal when the block began; 0 at pivots, not finite where a row was not */
  gb_panel lot;    /* (n, 1): remaining lots then, of drawn pivots; else without an address */
  void *sums;      /* gb_panel_elimination_sums */
  double *known;   /* (most, GB_PIVOTS): columns of L' at the candidates */
  double *factors; /* (rank, rows): columns of L' at the pivots of the block */
  /* the block */
  size_t candidate[GB_PIVOTS], ncandidates;
  double bound; /* lower bound on the turn of every other point */
  double candidate_left[GB_PIVOTS], candidate_lot[GB_PIVOTS];
  size_t rows, pivot[GB_PIVOTS], place[GB_PIVOTS]; /* of each pivot among the candidates */
  /* root of the pivot's remaining entry; advance of the race's time before it */
  double root[GB_PIVOTS], step[GB_PIVOTS];
} partial;

/* -- turns */

/* A point's turn, as gb_panel_first_turns has it: by the largest entry, or by the time that its lot lasts.
** INFINITY: never. */
static double turn (const partial *p, double left, double lot) {
  if (!(left > 0)) return INFINITY;
  return p->how.drawn ? lot / left : -left;
}

/* The points of smallest turn, and the bound of all others. */
static void find_candidates (partial *p) {
  double at[GB_PIVOTS + 1];
  size_t first[GB_PIVOTS + 1];
  const size_t count = gb_panel_first_turns(p->left, p->lot, GB_PIVOTS + 1, first, at);
  p->bound = count == GB_PIVOTS + 1 ? at[GB_PIVOTS] : INFINITY;
  p->ncandidates = count < GB_PIVOTS ? count : GB_PIVOTS;
  for (size_t c = 0; c < GB_PIVOTS; c++) { /* places without a candidate read point 0 */
    p->candidate[c] = c < p->ncandidates ? first[c] : 0;
    p->candidate_lot[c] = 0;
  }
  if (p->n == 0) return;
  gb_panel lt = gb_panel_columns(p->lt, GB_PIVOTS, p->candidate);
  lt.n = p->rank;
  gb_panel_read(lt, p->known);
  gb_panel_read(gb_panel_rows(p->left, GB_PIVOTS, p->candidate), p->candidate_left);
  if (p->how.drawn) gb_panel_read(gb_panel_rows(p->lot, GB_PIVOTS, p->candidate), p->candidate_lot);
}

/* The candidate of smallest turn, and that turn; ncandidates where all are INFINITY. */
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

static gb_status read_row (gb_node *k, size_t i, void *out, gb_error *err) {
  gb_node *row;
  GB_TRY(gb_select(k, 0, i, &row, err));
  const gb_status st = gb_node_entries(row, out, err);
  gb_node_unref(row);
  return st;
}

/* left - v^2, at least 0; not finite where v is not. */
static double less_square (double left, double v) {
  const double rest = left - v * v;
  return rest < 0 && isfinite(v) ? 0 : rest;
}

/* Row j of L', of pivot 'c', at the candidates: from their entries of its row of K, in place. Updates their
** remaining entries. */
static void follow (partial *p, size_t j, size_t c, double root, double *sum) {
  for (size_t m = 0; m < j; m++) {
    const double *known = p->known + m * GB_PIVOTS, f = known[c];
    for (size_t o = 0; o < p->ncandidates; o++) sum[o] -= f * known[o];
  }
  double *out = p->known + j * GB_PIVOTS;
  for (size_t o = 0; o < p->ncandidates; o++) {
    out[o] = p->candidate_left[o] == 0 ? 0 : sum[o] / root;
    p->candidate_left[o] = less_square(p->candidate_left[o], out[o]);
  }
  out[c] = root;
  p->candidate_left[c] = 0;
}

static gb_status take_pivot (partial *p, size_t c, double wait, gb_error *err) {
  const size_t r = p->rows, j = p->rank + r;
  const gb_panel row = gb_panel_of(p->device, gb_panel_address(p->lt.at, j * p->n), p->n, 1);
  double sum[GB_PIVOTS];
  GB_TRY(read_row(p->k, p->candidate[c], row.at, err));
  gb_panel_read(gb_panel_rows(row, p->ncandidates, p->candidate), sum);
  p->place[r] = c;
  p->pivot[r] = p->candidate[c];
  p->root[r] = sqrt(p->candidate_left[c]);
  p->step[r] = p->how.drawn ? wait : 0;
  for (size_t o = 0; o < p->ncandidates; o++)
    p->candidate_lot[o] = fmax(p->candidate_lot[o] - p->candidate_left[o] * p->step[r], 0);
  follow(p, j, c, p->root[r], sum);
  p->rows++;
  return GB_OK;
}

/* Finds the pivots of a block; their rows of K lie where those of L' will be. */
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

/* left[r]: sum of the remaining diagonal after row r of the block. */
static gb_status eliminate (partial *p, double *left, gb_error *err) {
  double among[GB_PIVOTS * GB_PIVOTS];
  for (size_t m = 0; m < p->rank; m++)
    for (size_t r = 0; r < p->rows; r++) p->factors[m * p->rows + r] = p->known[m * GB_PIVOTS + p->place[r]];
  for (size_t m = 0; m < p->rows; m++)
    for (size_t r = 0; r < p->rows; r++)
      among[m * GB_PIVOTS + r] = p->known[(p->rank + m) * GB_PIVOTS + p->place[r]];
  const gb_elimination e = {.rank = p->rank,
                            .rows = p->rows,
                            .lt = p->lt,
                            .left = p->left,
                            .lot = p->lot,
                            .factors = p->factors,
                            .among = among,
                            .pivot = p->pivot,
                            .root = p->root,
                            .step = p->step,
                            .sums = p->sums};
  return gb_panel_eliminate(&e, left, err);
}

/* -- all blocks */

static gb_status factor (partial *p, double tol, size_t *pivot, double *left, gb_error *err) {
  const double trace = gb_panel_sum(p->left);
  double after[GB_PIVOTS];
  *left = trace > 0 ? 1 : 0;
  while (p->rank < p->most && (*left > tol)) {
    GB_TRY(take_pivots(p, err));
    if (p->rows == 0) break;
    GB_TRY(eliminate(p, after, err));
    for (size_t r = 0; r < p->rows && (*left > tol); r++, p->rank++) {
      *left = after[r] / trace;
      if (!isfinite(*left))
        return gb_fail(err, GB_ENAN, "row %zu of the kernel matrix is not finite", p->pivot[r] + 1);
      if (pivot != NULL) pivot[p->rank] = p->pivot[r];
    }
  }
  return GB_OK;
}

gb_status gb_partial_diagonal (gb_node *k, void *out, gb_error *err) {
  gb_node *d;
  const gb_attr attr = {0};
  GB_TRY(gb_node_build(k->graph, GB_OP_DIAGONAL, 1, &k, &attr, NULL, gb_node_dtype(k), &d, err));
  const gb_status st = gb_node_entries(d, out, err);
  gb_node_unref(d);
  return st;
}

static gb_status begin (partial *p, gb_error *err) {
  double entry;
  GB_TRY(gb_partial_diagonal(p->k, p->left.at, err));
  const size_t i = gb_panel_first_invalid(p->left);
  if (i < p->n) {
    gb_panel_read(gb_panel_rows(p->left, 1, &i), &entry);
    return gb_fail(err, isfinite(entry) ? GB_ENOTPD : GB_ENAN,
                   "diagonal entry %zu of the kernel matrix is %g", i + 1, gb_plain(entry));
  }
  if (p->how.drawn) gb_panel_exponentials(p->lot, p->how.seed ^ OWN);
  return GB_OK;
}

static size_t entries (size_t n) { return (2 * n + gb_panel_elimination_sums(n)) * sizeof(double); }
static size_t numbers (size_t most) { return 2 * most * GB_PIVOTS * sizeof(double); }

gb_work_bytes gb_partial_bytes (size_t n, size_t most) { return (gb_work_bytes){entries(n), numbers(most)}; }

gb_status gb_partial_cholesky (gb_node *k, gb_pivoting how, size_t most, double tol, void *lt, size_t *pivot,
                               size_t *rank, double *trace_left, gb_error *err) {
  gb_device *dev = k->graph->device;
  const size_t n = gb_node_shape(k)->dim[0];
  gb_work work;
  GB_TRY(gb_work_new(dev, entries(n), numbers(most), "preconditioner", &work, err));
  void *lots = gb_panel_address(work.at.entries, n);
  partial p = {.k = k,
               .device = dev,
               .how = how,
               .n = n,
               .most = most,
               .lt = gb_panel_of(dev, lt, most, n),
               .left = gb_panel_of(dev, work.at.entries, n, 1),
               .lot = gb_panel_of(dev, how.drawn ? lots : NULL, n, 1),
               .sums = gb_panel_address(lots, n),
               .known = work.at.numbers};
  p.factors = p.known + most * GB_PIVOTS;
  gb_status st = begin(&p, err);
  if (st == GB_OK) st = factor(&p, tol, pivot, trace_left, err);
  gb_work_free(&work);
  *rank = p.rank;
  return st;
}

gb_status gb_partial_pivots (gb_node *k, gb_pivoting how, size_t most, double tol, size_t *pivot,
                             size_t *rank, double *trace_left, gb_error *err) {
  const gb_shape *s = gb_node_shape(k);
  char text[GB_NODE_TEXT];
  if (s->ndim != 2 || s->dim[0] != s->dim[1])
    return gb_fail(err, GB_ESHAPE, "expected a square matrix, got %s", gb_node_text(k, text));
  gb_work lt;
  GB_TRY(gb_work_new(k->graph->device, most * s->dim[0] * sizeof(double), 0, "pivots", &lt, err));
  const gb_status st = gb_partial_cholesky(k, how, most, tol, lt.at.entries, pivot, rank, trace_left, err);
  gb_work_free(&lt);
  return st;
}
