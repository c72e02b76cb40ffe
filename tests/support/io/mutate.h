/* mutate.h - nearly valid files: ranges cut, copied and moved, bytes and bits changed, words of the format's
** grammar and extreme numbers inserted. The same seed gives the same files. */
#ifndef GB_TESTS_MUTATE_H
#define GB_TESTS_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MUTANT_MOST = 1 << 16, MUTANT_SEEDS = 24 };

typedef struct mutator {
  uint64_t g;
  const char *const *words; /* of the grammar; ended by NULL */
  size_t nwords;
  struct {
    unsigned char data[MUTANT_MOST];
    size_t n;
  } seed[MUTANT_SEEDS];
  size_t nseeds;
  size_t chosen;                       /* the seed of the last mutant */
  unsigned char data[2 * MUTANT_MOST]; /* the mutant */
  size_t n;
} mutator;

uint64_t mutator_draw (mutator *m, uint64_t below);
void add_seed (mutator *m, const void *p, size_t n);

/* The next mutant, in m->data[0 .. m->n). */
void mutate (mutator *m);
void begin_mutants (mutator *m, uint64_t seed, const char *const *words);

#endif
