/* accumulate_select.c - monoids that remember positions: ARGMINIMUM, ARGMAXIMUM, KSMALLEST.
**
** A state is k pairs (key, position), ascending, where keys are integers ordered as the values are to be:
** NaN first for ARG*, last for KSMALLEST. A pair with position 0 is empty and comes last. The k least
** pairs of a set do not depend on the order in which they are found, so these states need no chains. */
#include <math.h>
#include <string.h>

#include "cpu/fold/fold.h"

static int64_t key_of_float (double v, gb_monoid m) {
  if (v != v) return m == GB_KSMALLEST ? INT64_MAX - 1 : INT64_MIN;
  int64_t bits;
  v += 0.0; /* -0 and 0 are equal */
  memcpy(&bits, &v, sizeof bits);
  if (bits < 0) bits ^= INT64_MAX;
  return m == GB_ARGMAXIMUM ? ~bits : bits;
}

static int64_t key_of (gb_dtype compute, gb_monoid m, const void *row, size_t i) {
  if (compute == GB_F32) return key_of_float((double)((const float *)row)[i], m);
  if (compute == GB_F64) return key_of_float(((const double *)row)[i], m);
  int64_t v = ((const int64_t *)row)[i];
  return m == GB_ARGMAXIMUM ? ~v : v;
}

/* The value of a KSMALLEST key. */
double gb_exec_key_value (int64_t key) {
  double v;
  if (key == INT64_MAX - 1) return NAN;
  if (key < 0) key ^= INT64_MAX;
  memcpy(&v, &key, sizeof v);
  return v;
}

static bool before (int64_t key, int64_t position, const gb_word *pair) {
  if (pair[1].i == 0) return true;
  return key < pair[0].i || (key == pair[0].i && position < pair[1].i);
}

static void insert (gb_word *state, size_t words, int64_t key, int64_t position) {
  if (words == 0 || !before(key, position, state + words - 2)) return;
  size_t at = words - 2;
  for (; at > 0 && before(key, position, state + at - 2); at -= 2) {
    state[at] = state[at - 2];
    state[at + 1] = state[at - 1];
  }
  state[at].i = key;
  state[at + 1].i = position;
}

void gb_exec_select_one (const gb_xprog *p, const gb_xout *x, gb_word *state, const void *row, size_t i,
                         int64_t position) {
  insert(state, x->words, key_of(p->compute, x->o->monoid, row, i), position);
}

void gb_exec_select_merge (gb_word *into, const gb_word *from, size_t words) {
  for (size_t q = 0; q < words && from[q + 1].i != 0; q += 2) insert(into, words, from[q].i, from[q + 1].i);
}

/* -- a tile of lanes: ROW
**
** Chains hold the bound for the next rows. ARG*: the best value of each lane in this chunk and its row, -1 =
** none yet; merged into the states at the end of the chunk. KSMALLEST: the largest value of each state;
** values not above it are examined, and NaN, which nothing exceeds, marks an unfilled state. */

/* 'now' is the best of rows [j, j + n) and 'best' together: lanes in which it differs from 'best' search for
** its first row. */
#define FIND_ROWS(NAME, T)                                                                                   \
  static void NAME(const T *t, int n, const T *now, T *best, int64_t *index, int64_t j) {                    \
    for (size_t i = 0; i < GB_TI; i++) {                                                                     \
      T v = now[i];                                                                                          \
      if (index[i] >= 0 && (v == best[i] || best[i] != best[i])) continue;                                   \
      int r = 0;                                                                                             \
      if (v == v)                                                                                            \
        while (r < n - 1 && t[r * GB_TI + i] != v) r++;                                                      \
      else                                                                                                   \
        while (r < n - 1 && t[r * GB_TI + i] == t[r * GB_TI + i]) r++;                                       \
      index[i] = j + r;                                                                                      \
      best[i] = v;                                                                                           \
    }                                                                                                        \
  }
FIND_ROWS(find_rows_f32, float)
FIND_ROWS(find_rows_f64, double)
FIND_ROWS(find_rows_i64, int64_t)

static void arg_rows (gb_xthread *t, gb_xout *x, size_t slot, const char *tile) {
  const gb_xprog *p = t->p;
  size_t width = GB_TI * p->size;
  void *best = gb_exec_row_state(t, x, x->chain) + slot * width, *now = t->ws + p->small;
  int64_t *index = (int64_t *)gb_exec_row_state(t, x, x->chain2) + slot * GB_TI;
  gb_monoid m = x->o->monoid == GB_ARGMAXIMUM ? GB_MAXIMUM : GB_MINIMUM;
  for (int j = 0; j < t->nj; j += GB_TJ, tile += GB_TJ * width) {
    int n = t->nj - j < GB_TJ ? t->nj - j : GB_TJ;
    int64_t row = (int64_t)(t->tile0 - t->chunk0) + j;
    memcpy(now, best, width);
    p->k->reduce_row(m, n, tile, now);
    if (p->compute == GB_F32) find_rows_f32((const float *)tile, n, now, best, index, row);
    else if (p->compute == GB_F64) find_rows_f64((const double *)tile, n, now, best, index, row);
    else find_rows_i64((const int64_t *)tile, n, now, best, index, row);
  }
}

static gb_word *row_states (const gb_xthread *t, const gb_xout *x, size_t slot) {
  return gb_exec_part(t, x) + ((size_t)t->block * x->slots + slot) * GB_TI * x->words;
}

static void set_bound (gb_dtype compute, char *bound, size_t i, const gb_word *last) {
  double v = last[1].i == 0 ? NAN : gb_exec_key_value(last[0].i);
  if (compute == GB_F32) ((float *)bound)[i] = (float)v;
  else if (compute == GB_F64) ((double *)bound)[i] = v;
  else ((int64_t *)bound)[i] = last[1].i == 0 ? INT64_MAX : last[0].i;
}

static bool above (gb_dtype compute, const char *row, const char *bound, size_t i) {
  if (compute == GB_F32) return ((const float *)row)[i] > ((const float *)bound)[i];
  if (compute == GB_F64) return ((const double *)row)[i] > ((const double *)bound)[i];
  return ((const int64_t *)row)[i] > ((const int64_t *)bound)[i];
}

void gb_exec_select_begin (gb_xthread *t, gb_xout *x) {
  const gb_xprog *p = t->p;
  if (x->o->monoid != GB_KSMALLEST) {
    gb_exec_fill(p->compute, gb_exec_row_state(t, x, x->chain), x->slots * GB_TI,
                 x->o->monoid == GB_ARGMAXIMUM ? GB_MAXIMUM : GB_MINIMUM);
    memset(gb_exec_row_state(t, x, x->chain2), 0xff, x->slots * GB_TI * sizeof(int64_t));
  } else
    for (size_t s = 0; s < x->slots && x->words > 0; s++)
      for (size_t i = 0; i < GB_TI; i++)
        set_bound(p->compute, gb_exec_row_state(t, x, x->chain) + s * GB_TI * p->size, i,
                  row_states(t, x, s) + (i + 1) * x->words - 2);
}

/* Position of lane 0 and row 0 at the current OUTER indices. */
static int64_t origin (const gb_xthread *t, const gb_xout *x) {
  int64_t at = 1;
  for (int a = 0; a < t->p->f->naxes; a++) at += (int64_t)(t->idx[a] * x->pmul[a]);
  return at;
}

static int64_t along (const gb_xout *x, int axis) { return axis < 0 ? 0 : (int64_t)x->pmul[axis]; }

void gb_exec_select_flush (gb_xthread *t, gb_xout *x) {
  const gb_xprog *p = t->p;
  if (x->o->monoid == GB_KSMALLEST) return;
  for (size_t s = 0; s < x->slots; s++) {
    const char *best = gb_exec_row_state(t, x, x->chain) + s * GB_TI * p->size;
    const int64_t *index = (const int64_t *)gb_exec_row_state(t, x, x->chain2) + s * GB_TI;
    gb_word *state = row_states(t, x, s);
    int64_t first = origin(t, x) + (int64_t)t->chunk0 * along(x, p->tile);
    for (size_t i = 0; i < (size_t)t->valid && index[i] >= 0; i++)
      gb_exec_select_one(p, x, state + i * 2, best, i, first + index[i] * along(x, p->tile));
  }
}

static void smallest_rows (gb_xthread *t, gb_xout *x, size_t slot, const char *tile) {
  const gb_xprog *p = t->p;
  char *bound = gb_exec_row_state(t, x, x->chain) + slot * GB_TI * p->size;
  gb_word *states = row_states(t, x, slot);
  for (size_t j = 0; j < (size_t)t->nj && x->words > 0; j++, tile += GB_TI * p->size) {
    int64_t position = origin(t, x) + (int64_t)(t->tile0 + j) * along(x, p->tile);
    for (size_t i = 0; i < (size_t)t->valid; i++) {
      if (above(p->compute, tile, bound, i)) continue;
      gb_word *state = states + i * x->words;
      gb_exec_select_one(p, x, state, tile, i, position);
      set_bound(p->compute, bound, i, state + x->words - 2);
    }
  }
}

/* -- lanes into one state: COL, ALL, strips */

static bool is_value (gb_dtype compute, const char *row, size_t i, gb_word w) {
  if (compute == GB_I64) return ((const int64_t *)row)[i] == w.i;
  const double v = compute == GB_F32 ? (double)((const float *)row)[i] : ((const double *)row)[i];
  return v == w.f || (v != v && w.f != w.f);
}

/* Rows [j, j + n) of the tile: examined one by one only if their best value could enter, for ARG* to find its
** position. */
static void scan_rows (gb_xthread *t, gb_xout *x, const char *tile, const char *masked, size_t j, size_t n,
                       gb_word *state) {
  const gb_xprog *p = t->p;
  size_t width = GB_TI * p->size, block = p->strip ? 0 : (size_t)t->block, strip = p->strip ? 1 : 0;
  int64_t by_lane = along(x, p->lane), by_row = along(x, p->tile) + (int64_t)(strip * GB_TI) * by_lane;
  int64_t position = origin(t, x) + (int64_t)(t->lane0 + block * GB_TI) * by_lane +
                     (int64_t)t->tile0 * along(x, p->tile);
  position += (int64_t)j * by_row; /* least position of these rows: positions ascend along both axes */
  gb_monoid m = x->o->monoid == GB_ARGMAXIMUM ? GB_MAXIMUM : GB_MINIMUM;
  const bool one = x->o->monoid != GB_KSMALLEST;
  const gb_word *last = state + x->words - 2;
  gb_word best = {0};
  if (x->words == 0) return;
  if (one || last[1].i != 0) {
    _Alignas(64) double lanes[GB_LANES];
    gb_exec_fill(p->compute, lanes, GB_LANES, m);
    p->k->reduce_all(m, (int)n, masked + j * width, lanes);
    best = gb_exec_fold_lanes(p->compute, m, lanes);
    int64_t key = key_of(p->compute == GB_I64 ? GB_I64 : GB_F64, x->o->monoid, &best, 0);
    /* a NaN hides the numbers */
    bool hidden = !one && p->compute != GB_I64 && best.f != best.f;
    if (!before(key, position, last) && !hidden) return;
  }
  for (size_t r = j; r < j + n; r++, position += by_row) {
    size_t lane = (block + strip * r) * GB_TI, valid = t->lanes - lane < GB_TI ? t->lanes - lane : GB_TI;
    for (size_t i = 0; i < valid; i++)
      if (!one || is_value(p->compute, tile + r * width, i, best))
        gb_exec_select_one(p, x, state, tile + r * width, i, position + (int64_t)i * by_lane);
  }
}

void gb_exec_select (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_xprog *p = t->p;
  if (x->reach == GB_REACH_ROW) {
    if (x->o->monoid == GB_KSMALLEST) smallest_rows(t, x, slot, tile);
    else arg_rows(t, x, slot, tile);
    return;
  }
  size_t step = x->reach == GB_REACH_ALL ? GB_TJ : p->strip ? GB_BLOCKS : 1, rows = (size_t)t->nj;
  const char *masked =
      gb_exec_masked(t, tile, t->nj, x->o->monoid == GB_ARGMAXIMUM ? GB_MAXIMUM : GB_MINIMUM);
  for (size_t j = 0; j < rows; j += step) {
    gb_word *state;
    if (x->reach == GB_REACH_ALL)
      state = gb_exec_part(t, x) + ((size_t)t->block * x->slots + slot) * x->words;
    else if (p->strip) state = gb_exec_part(t, x) + slot * x->words; /* one for the whole item */
    else state = (gb_word *)(t->ws + x->chain) + (slot * GB_CANON + (t->tile0 - t->chunk0) + j) * x->words;
    scan_rows(t, x, tile, masked, j, rows - j < step ? rows - j : step, state);
  }
}
