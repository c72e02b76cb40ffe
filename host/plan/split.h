/* split.h - running a placement: every step once, or window by window of a cut axis. */
#ifndef GB_PLAN_SPLIT_H
#define GB_PLAN_SPLIT_H

#include "plan/place.h"

/* Windows in the order in which they run: [lo, lo + chunk), [lo + chunk, lo + 2 chunk), ... up to hi. */
static inline gb_window gb_window_at (const gb_placement *p, size_t lo) {
  const size_t rest = p->hi - lo;
  const size_t n = rest < p->chunk ? rest : p->chunk;
  return (gb_window){lo, n, lo, n, p->cutting->extent};
}

/* Pieces of a window in which step s runs: the window itself, or the grains of a sum. */
static inline size_t gb_piece_of (const gb_placement *p, int s) {
  const size_t grain = p->cutting->grain;
  return grain != 0 && p->cutting->cut[s].reduces && grain < p->chunk ? grain : p->chunk;
}

/* Bytes of step s in this placement; for gb_form_of_run.workspace: 'ud' is a gb_split_job. Errors show as
** SIZE_MAX. */
typedef struct gb_split_job {
  const gb_backend *be;
  const gb_lowered *low;
  const size_t *scratch;         /* [steps] bytes of steps that run once */
  const gb_triangle *triangle;   /* those that may be packed */
  int ntriangles;
} gb_split_job;
void gb_split_workspace (const void *job, const gb_placement *p, int s, size_t *scratch, size_t *state);

/* An opaque step as it runs in a placement: on packed triangles where its operands are. */
gb_opaque gb_opaque_in (const gb_placement *p, const gb_step *st);

#endif
