/* fold_random.h - random fold programs: every instruction, output and monoid, odd sizes, strides and
** dtypes. Data are multiples of 1/16; values known to be exact in the compute type are marked, so that
** their results compare equal. */
#ifndef GB_FOLD_RANDOM_H
#define GB_FOLD_RANDOM_H

#include "support/cpu/fold_fixture.h"

typedef struct gen {
  fx x;
  int lane, tile, outer[2], feature, column, loop; /* axes, -1 = none */
  fx_value pool[MOST];
  int npool;
} gen;

void random_program (gen *g, uint64_t seed);

#endif
