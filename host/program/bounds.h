/* bounds.h - what bounds of distances tell, of the chains that compare points to centres (Elkan's iterations). */
#ifndef GB_PROGRAM_BOUNDS_H
#define GB_PROGRAM_BOUNDS_H

#include <math.h>

#include "program/cluster.h"

/* What chains of pairs and |x|^2 err by is below spare (reach + |x|^2) + tiny; reach: the greatest |c|^2. */
typedef struct gb_margins {
  double spare, reach, tiny;
} gb_margins;

/* Centres moved by move[label], the one of number 'farthest' by most, the others by at most 'next'. A label stays where
** upper^2 + linear upper + constant < lower^2. */
typedef struct gb_screen {
  const float *move;
  float most, next, linear, constant;
  int32_t farthest;
} gb_screen;

/* Half a unit in the last place. */
static inline double gb_unit_of (gb_dtype compute) { return compute == GB_F64 ? 0x1p-53 : 0x1p-24; }

/* What sums of d products err by, by far: a chain by less than 2 (d + 1) u (|c|^2 + 2 |c| |x|), with two roundings a step. Where a
** centre is 2^40 or farther from the shift, sums might overflow: then no bound is of use. */
static inline gb_margins gb_margins_of (const gb_drift *drift, gb_dtype compute, size_t d) {
  const double n = (double)d, u = gb_unit_of(compute);
  return (gb_margins){drift->reach < 0x1p80 ? (8 * n + 16) * u * 1.01 : INFINITY, drift->reach, n * 0x1p-120};
}

static inline gb_screen gb_screen_of (const gb_drift *drift, gb_dtype compute, size_t k, size_t d) {
  const double n = (double)d, u = gb_unit_of(compute), reach = drift->reach;
  return (gb_screen){.move = drift->move,
                     .most = drift->move[drift->order[0]],
                     .next = k > 1 ? drift->move[drift->order[1]] : 0,
                     .farthest = drift->order[0],
                     .linear = (float)((8 * n + 16) * u * sqrt(reach) * 1.01),
                     .constant = (float)((12 * n + 16) * u * reach * 1.01 + n * 0x1p-120)};
}

#endif
