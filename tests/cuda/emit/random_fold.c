/* random_fold.c - one random program on the heap. */
#include "support/random/fold_random.h"

#include "cuda/emit/generated_programs.h"

fx *random_fold (uint64_t seed) {
  gen *g = calloc(1, sizeof *g);
  assert_non_null(g);
  random_program(g, seed);
  return &g->x; /* its first member */
}
