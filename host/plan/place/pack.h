/* pack.h - intervals of steps to offsets in one arena.
** Source: Pisarchyk & Lee (2020), Efficient Memory Management for Deep Neural Net Inference (greedy by
** size, best gap). */
#ifndef GB_PLAN_PLACE_PACK_H
#define GB_PLAN_PLACE_PACK_H

#include "base/status.h"

#define GB_ARENA_ALIGN ((size_t)64)
#define GB_PACK_EXACT 10 /* up to so many intervals the packing is optimal */

typedef struct gb_life { /* live in steps first .. last, both included */
  size_t bytes, offset;
  int first, last;
} gb_life;

/* a + b, staying at SIZE_MAX: a plan of sizes past the address space answers, it does not wrap. */
static inline size_t gb_add_sizes (size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

static inline size_t gb_round_size (size_t bytes) {
  return bytes > SIZE_MAX - GB_ARENA_ALIGN ? SIZE_MAX
                                           : (bytes + GB_ARENA_ALIGN - 1) / GB_ARENA_ALIGN * GB_ARENA_ALIGN;
}

/* The most bytes live in one step: no arena is smaller. Sizes are rounded to GB_ARENA_ALIGN. Errors:
** ENOMEM. */
gb_status gb_pack_bound (size_t n, const gb_life *life, int nsteps, size_t *bound, gb_error *err);

/* Fills the offsets, multiples of GB_ARENA_ALIGN, so that intervals that share a step share no byte;
** '*arena' = the end of the highest. SIZE_MAX where a size or the sum overflows (the offsets then mean
** nothing). A pure function of its arguments; cost O(n log n) where few intervals share a step, O(n^2)
** where most do, and at most GB_PACK_TRIES placements of exact search. Errors: ENOMEM. */
#define GB_PACK_TRIES 200000
gb_status gb_pack (size_t n, gb_life *life, int nsteps, size_t *arena, size_t *bound, gb_error *err);

#endif
