/* exec_select.c - monoids that remember positions: ARGMINIMUM, ARGMAXIMUM, KSMALLEST.
**
** A state is k pairs (key, position), ascending, where keys are integers ordered as the values are to be: NaN first for
** ARG*, last for KSMALLEST. A pair with position 0 is empty and comes last. The k least pairs of a set do not depend on
** the order in which they are found, so these states need no chains. */
#include <math.h>
#include <string.h>

#include "cpu/exec.h"

static int64_t key_of_float (double v, gb_monoid m) {
  if (v != v) return m == GB_KSMALLEST ? INT64_MAX - 1 : INT64_MIN;
  int64_t bits;
  v += 0.0;                               /* -0 and 0 are equal */
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

void gb_exec_select_one (const gb_xprog *p, const gb_xout *x, gb_word *state, const void *row, size_t i, int64_t position) {
  insert(state, x->words, key_of(p->compute, x->o->monoid, row, i), position);
}

void gb_exec_select_merge (gb_word *into, const gb_word *from, size_t words) {
  for (size_t q = 0; q < words && from[q + 1].i != 0; q += 2) insert(into, words, from[q].i, from[q + 1].i);
}

/* First state of a row of the tile, and the words between the states of neighbouring lanes: 0 where a row has one. */
static gb_word *states (gb_xthread *t, const gb_xout *x, size_t slot, size_t j, size_t *step) {
  gb_word *part = (gb_word *)(t->ws + x->part);
  *step = 0;
  if (x->reach == GB_REACH_ROW) {
    *step = x->words;
    return part + ((size_t)t->block * x->slots + slot) * GB_TI * x->words;
  }
  if (x->reach == GB_REACH_ALL) return part + ((size_t)t->block * x->slots + slot) * x->words;
  if (t->p->strip) return part + (j / GB_BLOCKS * x->slots + slot) * x->words;
  return (gb_word *)(t->ws + x->chain) + (slot * GB_CANON + (t->tile0 - t->chunk0) + j) * x->words;
}

void gb_exec_select (gb_xthread *t, gb_xout *x, size_t slot, const void *tile) {
  const gb_xprog *p = t->p;
  int64_t base = 1;
  for (int a = 0; a < p->f->naxes; a++) base += (int64_t)(t->idx[a] * x->pmul[a]);
  int64_t by_lane = p->lane < 0 ? 0 : (int64_t)x->pmul[p->lane], by_tile = p->tile < 0 ? 0 : (int64_t)x->pmul[p->tile];
  for (size_t j = 0; j < (size_t)t->nj; j++) {
    const char *row = (const char *)tile + j * GB_TI * p->size;
    size_t lane = (p->strip ? j : (size_t)t->block) * GB_TI, step;
    size_t valid = t->lanes - lane < GB_TI ? t->lanes - lane : GB_TI;
    int64_t first = base + (int64_t)(t->lane0 + lane) * by_lane + (int64_t)(t->tile0 + j) * by_tile;
    gb_word *state = states(t, x, slot, j, &step);
    for (size_t i = 0; i < valid; i++, state += step)
      gb_exec_select_one(p, x, state, row, i, first + (int64_t)i * by_lane);
  }
}
