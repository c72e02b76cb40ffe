/* rng.h - counter-based random numbers: a pure function of (seed, stream, index). Source: Salmon, Moraes,
** Dror & Shaw (2011), Parallel Random Numbers: As Easy as 1, 2, 3; Philox4x32-10. The same bits come out
** on any device and instruction set, for any number of threads and in any order of evaluation (draw.inc). */
#ifndef GB_BASE_RNG_H
#define GB_BASE_RNG_H

#include <stdint.h>

/* Four 32-bit words for counter (index, stream) under 'seed'. */
void gb_philox (uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4]);

/* Uniform in the open interval (0, 1), 52 bits; one counter an element. */
double gb_rand_uniform (uint64_t seed, uint64_t stream, uint64_t index);

/* Standard normal by Box-Muller on the element's own counter. */
double gb_rand_normal (uint64_t seed, uint64_t stream, uint64_t index);

#endif
