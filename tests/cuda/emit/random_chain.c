/* random_chain.c - one random program that looks like a kernel, on the heap. */
#include "support/random/chain_random.h"

#include "cuda/emit/generated_programs.h"

fx *random_chain (uint64_t seed) {
  gen *g = calloc(1, sizeof *g);
  assert_non_null(g);
  chain_program(g, seed);
  if (is_cheap_and_tame(g)) return &g->x; /* its first member */
  fx_free(&g->x);
  free(g);
  return NULL;
}
