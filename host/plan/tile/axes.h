/* axes.h - along which axes a lowered graph can be cut, and how: which steps run once a window, and in which
** loop over the windows, which run once, and after how many loops.
**
** The cut starts at leaves (the rows of x) and follows the values made of them, step by step (cut.h). It may also
** start at what a step makes that cannot be cut itself (random or sorted rows), or makes of indices alone. A
** step that needs all of the axis at once runs when the loop that makes its operands is over; what it reads
** is then kept whole. What needs a result accumulated over the axis runs after the loop that accumulates it:
** once, or window by window again in a loop of its own, where another is allowed. Values of an earlier loop
** that a later one reads are computed again there, window by window, by the steps that made them; those that
** may not be are kept whole. Nothing is ever computed otherwise than uncut: a step is cut only where its bits
** allow. */
#ifndef GB_PLAN_TILE_AXES_H
#define GB_PLAN_TILE_AXES_H

#include "plan/tile/cut.h"

#define GB_LOOPS 32 /* over one axis, one after the other; bits of an unsigned */
#define GB_PHASES (2 * GB_LOOPS + 1)

typedef struct gb_tiling {
  int refs;
  size_t extent; /* of the axis */
  size_t unit;   /* windows begin at multiples of it: a power of two */
  size_t grain;  /* 0: arithmetic as without a cut; else accumulations run in pieces of it, always */
  int nsteps, nbufs, within; /* steps that run once a window */
  int nloops;
  unsigned char
      *phase;  /* [nsteps] 2 k: once, after k loops; 2 k + 1: within loop k, the first that it can run in */
  gb_cut *cut; /* [nsteps] */
  int *dim;    /* [nbufs] dimension along which the buffer has the axis, -1: not, or whole */
  /* [nbufs] its window is no run of memory in the whole, and an opaque op needs one: only the window may
  ** exist, not a value made before */
  bool *scattered;
  bool *again;  /* [nbufs] a loop that reads it after the one that makes it first has it computed again */
  bool limited; /* more loops would cut more steps */
  int leaf;     /* a buffer it starts from: a leaf, where one has the axis */
  /* a tiling of the same axis in more loops, whose grains its sums have; lives as long; NULL: none */
  const struct gb_tiling *grains;
  int coupled; /* the first step that has the axis and needs all of it at once, -1: none */
} gb_tiling;

/* Windows of 'c' are windows of the axis whose sums run in the grains of 'g'. */
static inline bool gb_same_axis (const gb_tiling *c, const gb_tiling *g) {
  return c != NULL && g != NULL && (c == g || c->grains == g);
}

/* The extent of a batch decides the grain of its sums: clamp(2^floor(log2(extent / 8)), 1, 256), so that
** chunks of it are as good for 9 samples as for 9 million. */
size_t gb_grain (size_t extent);

static inline bool gb_is_within (const gb_tiling *c, int s) { return c != NULL && (c->phase[s] & 1) != 0; }
/* Step s runs once: after so many loops; within: the first loop that it can run in. */
static inline int gb_loops_before (const gb_tiling *c, int s) { return c->phase[s] / 2; }

/* What a tiling may do. grain 0: only what changes no bit. grains: the sums of another tiling run in
** pieces, window by window; a sum that both cut is left whole; NULL: there is no other. of: a tiling of the same axis whose
** sums run in grains: no others are cut, and these are in the same grains; NULL: none. sums: also folds
** whose windows spare no memory, which devices can share. loops: at most so many; 0: one. thrifty: no product or
** other step of many operations a byte is computed again. */
typedef struct gb_cut_rules {
  size_t grain;
  const gb_tiling *grains, *of;
  bool sums;
  int loops;
  bool thrifty;
} gb_cut_rules;

/* Cuts the axis that is dimension seed[b] of buffer b (-1: not a seed), of one extent. *out NULL: no step
** can be cut. Errors: ENOMEM. */
gb_status gb_cut_along (const gb_lowered *low, const int *seed, gb_cut_rules rules, gb_tiling **out,
                        gb_error *err);
void gb_tiling_unref (gb_tiling *c); /* NULL is fine */

/* loops[s]: bit k, step s runs in loop k; 0: it runs once, or not. Of the steps that run: a step runs in its first loop where
** some of its results are needed there, whole or as totals, and in every loop that reads windows of what is made
** again. runs, need: by step and by buffer; NULL: all. */
void gb_find_loops (const gb_lowered *low, const gb_tiling *c, const bool *runs, const bool *need,
                    unsigned *loops, unsigned *asked);

#endif
