/* chain_random.h - random fold programs that are likely to become chains: fronts, profiles and short
** elementwise steps over values read late and often, loops with several accumulators, and outputs that chains
** support, with some that they do not. Tame programs have finite data and values small enough to be compared
** with the reference. */
#ifndef GB_CHAIN_RANDOM_H
#define GB_CHAIN_RANDOM_H

#include "support/cpu/fold_fixture.h"

typedef struct bounded {
  int v;
  double most;
} bounded; /* a value and a bound of its magnitude, if tame */

typedef struct gen {
  fx x;
  /* axes; outer: -1 = none; one: an INNER axis of extent 1 */
  int lane, tile, outer, loop, column, feature, one;
  int xl, xt; /* points along 'feature' */
  bool tame, sym;
  bounded pool[MOST];
  int npool, far; /* far: an earlier distance, -1 = none */
} gen;

void chain_program (gen *g, uint64_t seed);
bool is_cheap_and_tame (const gen *g);

#endif
