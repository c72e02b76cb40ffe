/* remote.h - the steps within a loop placed on another device than the rest of the plan.
**
** Nothing that they read is there: leaves and values made before the loop are copied, whole or window by
** window, and results that have the axis are copied back. Totals come from the device that ran the part
** before, and go on to the one that runs the part after. So a device's part is a function of its range and
** of the totals that come in. */
#ifndef GB_PLAN_PLACE_REMOTE_H
#define GB_PLAN_PLACE_REMOTE_H

#include "plan/place/split.h"

/* How a buffer lies in memory: 'outer' blocks of 'extent' indices, 'step' elements apart, the last with
** 'tail'. */
typedef struct gb_window_layout {
  size_t width;  /* bytes of an element */
  ptrdiff_t low; /* lowest element, from element (0, ..., 0) */
  size_t span;   /* elements from the lowest to the highest, both included */
  bool windows;  /* a range of the axis is one run in each block; then low = 0 */
  size_t outer, extent, step, tail;
} gb_window_layout;

/* dim: of the axis, -1 = it has none. */
gb_window_layout gb_window_layout_of (const gb_buf *b, int dim);
size_t gb_window_layout_bytes (const gb_window_layout *l, size_t n); /* of n indices side by side */
/* Indices [lo, lo + n) of 'whole', whose element (0, ..., 0) is there, to 'part' in another memory, and the
** other way. Errors: EDEVICE. */
gb_status gb_window_layout_take (const gb_window_layout *l, gb_memory *from, const void *whole, gb_memory *to,
                                 void *part, size_t lo, size_t n, gb_error *err);
gb_status gb_window_layout_give (const gb_window_layout *l, gb_memory *to, void *whole, gb_memory *from,
                                 const void *part, size_t lo, size_t n, gb_error *err);

typedef enum gb_copy_kind {
  GB_COPY_WHOLE,   /* from home, once, before the first window */
  GB_COPY_WINDOW,  /* from home, each window, before the step at 'place' */
  GB_COPY_BACK,    /* to home, each window, after the step at 'place' */
  GB_COPY_TOTAL,   /* from the part before: what fold 'step' keeps between parts */
  GB_COPY_RUNNING, /* from the part before: a result to which products are added */
  GB_COPY_RESULT   /* to home, once, after the last window of the axis */
} gb_copy_kind;

typedef struct gb_copy {
  gb_copy_kind kind;
  int buf, step, place; /* buf: -1 for totals */
  gb_window_layout layout;
} gb_copy;

typedef struct gb_remote {
  gb_placement *place; /* arena only: places as at home, only steps within run */
  gb_copy *copy;
  int ncopies;
} gb_remote;

/* The part [lo, hi) of the axis of 'home', a placement of the whole, in windows of 'chunk' <= hi - lo. A
** pure function. Errors: ENOMEM. */
gb_status gb_place_away (const gb_split_job *job, const gb_placement *home, size_t lo, size_t hi,
                         size_t chunk, gb_remote *out, gb_error *err);
void gb_remote_clear (gb_remote *a);

#endif
