/* mutate.c - mutations of bytes and of texts. */
#include "support/io/mutate.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

uint64_t mutator_draw (mutator *m, uint64_t below) {
  m->g = gb_hash_u64(m->g, 0x9E3779B97F4A7C15);
  return below == 0 ? 0 : (m->g >> 11) % below;
}

void add_seed (mutator *m, const void *p, size_t n) {
  if (m->nseeds == MUTANT_SEEDS || n > MUTANT_MOST) return;
  memcpy(m->seed[m->nseeds].data, p, n);
  m->seed[m->nseeds++].n = n;
}

/* Half of the time near the start, where headings are. */
static size_t place (mutator *m) {
  if (m->n == 0) return 0;
  const size_t near = m->n < 160 ? m->n : 160;
  return mutator_draw(m, 2) == 0 ? mutator_draw(m, near) : mutator_draw(m, m->n);
}

/* Mostly short lengths. */
static size_t stretch (mutator *m, size_t most) {
  const size_t n = (size_t)1 << mutator_draw(m, 8);
  const size_t some = 1 + mutator_draw(m, n);
  return some < most ? some : most;
}

static void replace (mutator *m, size_t at, size_t drop, const void *p, size_t n) {
  if (at > m->n) at = m->n;
  if (drop > m->n - at) drop = m->n - at;
  if (m->n - drop + n > sizeof m->data) return;
  unsigned char held[512];
  if (n > sizeof held) n = sizeof held;
  memcpy(held, p, n); /* it may lie in the mutant */
  memmove(m->data + at + n, m->data + at + drop, m->n - at - drop);
  memcpy(m->data + at, held, n);
  m->n += n - drop;
}

static void put_number (mutator *m) {
  static const char *const limits[] = {"0",
                                       "1",
                                       "-1",
                                       "-0",
                                       "7",
                                       "8",
                                       "9",
                                       "255",
                                       "256",
                                       "65535",
                                       "65536",
                                       "2147483647",
                                       "2147483648",
                                       "4294967295",
                                       "4294967296",
                                       "9007199254740993",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "-9223372036854775808",
                                       "-9223372036854775809",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "99999999999999999999999",
                                       "1e308",
                                       "1e309",
                                       "1e-400",
                                       "1e999999999999",
                                       "0.1",
                                       "1e5",
                                       "00",
                                       "0x10",
                                       "inf",
                                       "nan",
                                       "1,5",
                                       "1.",
                                       ".5",
                                       "+3",
                                       "1e",
                                       "3L"};
  size_t at = place(m), n = 0;
  for (size_t i = 0; i < m->n && (m->data[at] < '0' || m->data[at] > '9'); i++) at = (at + 1) % m->n;
  while (at + n < m->n && m->data[at + n] >= '0' && m->data[at + n] <= '9') n++;
  const char *text = limits[mutator_draw(m, sizeof limits / sizeof limits[0])];
  replace(m, at, n, text, strlen(text));
}

static void put_binary (mutator *m) {
  static const uint64_t limits[] = {0,
                                    1,
                                    7,
                                    8,
                                    0x7F,
                                    0xFF,
                                    0x100,
                                    0x7FFF,
                                    0xFFFF,
                                    0x10000,
                                    0x7FFFFFFF,
                                    0xFFFFFFFF,
                                    0x100000000,
                                    0x7FFFFFFFFFFFFFFF,
                                    0xFFFFFFFFFFFFFFFF,
                                    0x8000000000000000};
  const uint64_t v = limits[mutator_draw(m, sizeof limits / sizeof limits[0])] + mutator_draw(m, 3) - 1;
  const size_t width = (size_t)1 << mutator_draw(m, 4);
  replace(m, mutator_draw(m, 2) == 0 ? mutator_draw(m, 16) : place(m), width, &v, width);
}

static void mutate_once (mutator *m) {
  unsigned char junk[64];
  const size_t at = place(m), some = stretch(m, m->n - at);
  switch (mutator_draw(m, 12)) {
    case 0: m->n = at; break;
    case 1:
      if (m->n > 0) m->data[at] ^= (unsigned char)(1u << mutator_draw(m, 8));
      break;
    case 2:
      if (m->n > 0) m->data[at] = (unsigned char)mutator_draw(m, 256);
      break;
    case 3: replace(m, at, some, "", 0); break;
    case 4:
      for (size_t i = 0; i < sizeof junk; i++) junk[i] = (unsigned char)mutator_draw(m, 256);
      replace(m, at, mutator_draw(m, 2) * some, junk, stretch(m, sizeof junk));
      break;
    case 5: replace(m, at, 0, m->data + at, some); break; /* duplicate */
    case 6:
      replace(m, place(m), mutator_draw(m, 2) * some, m->data + at, some);
      break; /* copy to another place */
    case 7: {
      const size_t k = mutator_draw(m, m->nseeds), from = mutator_draw(m, m->seed[k].n + 1);
      replace(m, at, mutator_draw(m, 2) * some, m->seed[k].data + from, stretch(m, m->seed[k].n - from));
      break;
    }
    case 8:
    case 9:
      if (m->nwords > 0) {
        const char *word = m->words[mutator_draw(m, m->nwords)];
        replace(m, at, mutator_draw(m, 2) * stretch(m, 8), word, strlen(word));
      }
      break;
    case 10: put_number(m); break;
    default: put_binary(m); break;
  }
}

/* A change that keeps the length, so that stored lengths still match. */
static void alter_once (mutator *m) {
  if (m->n == 0) return;
  size_t at = place(m);
  const size_t some = stretch(m, m->n - at);
  switch (mutator_draw(m, 4)) {
    case 0: m->data[at] ^= (unsigned char)(1u << mutator_draw(m, 8)); break;
    case 1: m->data[at] = (unsigned char)mutator_draw(m, 256); break;
    case 2: replace(m, at, some, m->data + mutator_draw(m, m->n - some + 1), some); break;
    default:
      for (size_t i = 0; i < m->n && (m->data[at] < '0' || m->data[at] > '9'); i++) at = (at + 1) % m->n;
      m->data[at] = (unsigned char)('0' + mutator_draw(m, 10));
  }
}

void mutate (mutator *m) {
  m->chosen = mutator_draw(m, m->nseeds);
  m->n = m->seed[m->chosen].n;
  memcpy(m->data, m->seed[m->chosen].data, m->n);
  const bool alter = mutator_draw(m, 2) == 0;
  for (uint64_t k = 1 + mutator_draw(m, 3); k > 0; k--) {
    if (alter) alter_once(m);
    else mutate_once(m);
  }
}

void begin_mutants (mutator *m, uint64_t seed, const char *const *words) {
  m->g = seed;
  m->words = words;
  m->nseeds = m->nwords = 0;
  while (words[m->nwords] != NULL) m->nwords++;
}
