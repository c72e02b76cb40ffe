/* generated_programs.h - the programs of test_generated.c. */
#ifndef GENERATED_PROGRAMS_H
#define GENERATED_PROGRAMS_H

#include "support/cpu/fold_fixture.h"

/* Of the two random generators, and of the first one with other reductions: LSE, ARG*, the least few. To be freed with fx_free
** and then free. NULL: too long for the test, or nothing is reduced. */
fx *random_fold (uint64_t seed);
fx *random_chain (uint64_t seed);
fx *random_kept (uint64_t seed);

/* Kernels of points: profiles, dimensions, columns, types, all reaches, gradients, symmetric ones. 'size' numbers extents, which
** the text of a kernel does not say. To be freed as those above. */
fx *kernel_program (int number, int size);
extern const int nkernel_programs;
extern const int nkernel_sizes; /* and one more, of three super-tiles, which takes long */

#endif
