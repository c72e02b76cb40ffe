/* split.h - the parts in which a placement runs a step: once, window by window of a cut axis, and sums
** over a batch in pieces of its grain, whole or cut. */
#ifndef GB_PLAN_PLACE_SPLIT_H
#define GB_PLAN_PLACE_SPLIT_H

#include "plan/place/place.h"

/* Windows in the order in which they run: [lo, lo + chunk), [lo + chunk, lo + 2 chunk), ... up to hi. */
static inline gb_window gb_window_at (const gb_placement *p, size_t lo) {
  const size_t rest = p->hi - lo;
  const size_t n = rest < p->chunk ? rest : p->chunk;
  return (gb_window){lo, n, lo, n, p->tiling->extent};
}

/* An axis in pieces: so many of each size; the last may be smaller. An axis that is not cut is one piece,
** of all of it. */
typedef struct gb_pieces {
  int n;
  size_t size[2], count[2], extent;
} gb_pieces;

/* What the loop cuts step s into, where it runs windows of the batch itself in pieces of the grain; and,
** within each of these, what the grains of another axis cut it into. */
gb_pieces gb_loop_pieces (const gb_placement *p, const gb_step *st, int s);
gb_pieces gb_grain_pieces (const gb_placement *p, int s);

/* The fold of step s cut down, in w: to 'grain', a piece of p->grains, and to 'window' of the loop; NULL:
** not. */
const gb_fold *gb_fold_of_part (gb_window_fold w[2], const gb_lowered *low, const gb_placement *p, int s,
                                const gb_window *grain, const gb_window *window);

/* The same of an opaque step, on packed triangles where its operands are. Products over a batch run in
** blocks of the grain by themselves. */
gb_opaque gb_opaque_of_part (const gb_lowered *low, const gb_placement *p, int s, const gb_window *window);

/* Bytes of step s in this placement; for gb_form_of_run.workspace: 'ud' is a gb_split_job. Errors show as
** SIZE_MAX. */
typedef struct gb_split_job {
  gb_kernels *kernels; /* of the device that runs */
  const gb_lowered *low;
  const size_t *scratch;                 /* [steps] bytes of steps that run once; NULL: the device is asked */
  const gb_packed_factor *packed_factor; /* those that may be packed */
  int npacked_factors;
} gb_split_job;
void gb_split_workspace (const void *job, const gb_placement *p, int s, size_t *scratch, size_t *state);

void gb_nest_workspace (const void *job, const gb_placement *p, int node, size_t *scratch, size_t *state);

#endif
