/* cut.h - steps over a part of one axis: what a step reads and writes of it, and the step cut down to a
** window.
**
** An axis of the computation (the rows of a batch, the test points of a prediction) is an axis of each
** fold's domain and a dimension of buffers. To a step it is
**   map      its results have it: a part of the results needs that part of the operands only;
**   reduce   its results are sums (or other monoids) over it: parts are accumulated in ascending order;
**   coupled  anything else: the step needs all of it at once.
** Folds say this themselves, through strides; opaque ops by their rule in program/ops.def. */
#ifndef GB_PLAN_TILE_CUT_H
#define GB_PLAN_TILE_CUT_H

#include "lower/lower.h"

#define GB_CUT_SLOTS 4 /* operands of an opaque op that may be cut each in its own way */

/* How a step is cut along the axis. */
typedef struct gb_cut {
  bool cut;
  bool reduces;  /* some result is accumulated over it */
  int axis;      /* fold: of its domain; GEMM: rows, columns, inner, batch */
  size_t factor; /* indices of that axis to one of the cut axis: others are joined to it */
  int joined;    /* fold: 1 + the axis that was joined to it and is walked outside it again; 0: nothing */
  /* opaque: dimension of each operand and result; -1 = whole */
  int in_dim[GB_CUT_SLOTS], out_dim[GB_MAX_OUTPUTS];
  int rest_dim; /* CAT: of the operands past these */
  size_t unit;  /* windows begin at multiples of it, a power of two, and give the bits of the whole */
} gb_cut;

/* The indices [lo, lo + n) of an axis of 'extent'. Compact buffers hold [base, base + held), which
** contains them. */
typedef struct gb_window {
  size_t lo, n, base, held, extent;
} gb_window;

/* The axis is looped outside tiles, or holds columns that are sums of their own: it has windows. */
bool gb_cut_walks (const gb_fold *f, int axis);

/* The fold axis along which a strided access to a buffer moves dimension 'dim', index by index and nothing
** else moving it. False, or fills c->axis, c->factor and c->joined. grain: as in gb_cut_fold_unit. */
bool gb_cut_axis_of (const gb_fold *f, const ptrdiff_t *stride, ptrdiff_t offset, const gb_buf *b, int dim,
                     size_t grain, gb_cut *c);
/* Both run along the same indices of the fold. */
static inline bool gb_cut_same (const gb_cut *a, const gb_cut *b) {
  return a->axis == b->axis && a->factor == b->factor && a->joined == b->joined;
}
/* The dimension of 'b' of extent 'extent' that the access moves along the cut axis alone, -1: none. */
int gb_cut_dim_of (const gb_fold *f, const ptrdiff_t *stride, ptrdiff_t offset, const gb_buf *b,
                   const gb_cut *c, size_t extent);

/* Fills c->reduces and c->unit for a fold cut along c->axis, c->factor. With a grain (not 0) accumulations
** run in pieces of it, whole or cut, and the unit is the grain. False: the fold cannot be cut there. */
bool gb_cut_fold_unit (const gb_fold *f, gb_cut *c, size_t grain);
/* the same where its results exist whole */
bool gb_cut_whole_unit (const gb_fold *f, gb_cut *c, size_t grain);

/* An opaque op whose operand 'slot' is cut along 'dim': fills 'c', result by result. False: coupled. */
bool gb_cut_opaque (const gb_opaque *o, int slot, int dim, size_t grain, gb_cut *c);

/* A fold cut down: 'w' has room for operands, instructions and outputs of 'f' (gb_window_room).
** compact[b]: buffer b holds the window only, along dimension dim[b]; else, and where 'compact' is NULL,
** all of the axis. */
typedef struct gb_window_fold {
  gb_fold fold;
  gb_operand *operand;
  gb_ins *ins;
  gb_out *out;
} gb_window_fold;
bool gb_window_room (gb_window_fold *w, const gb_fold *f);
void gb_window_free (gb_window_fold *w);
void gb_window_of_fold (gb_window_fold *w, const gb_lowered *low, const gb_step *st, const gb_cut *c,
                        gb_window at, const bool *compact, const int *dim);
/* Shape of an operand of an opaque op, and the dimension along which it is cut, -1: it is read whole. */
gb_shape gb_opaque_operand (const gb_opaque *o, int slot);
static inline int gb_cut_operand (const gb_cut *c, int slot) {
  return slot < GB_CUT_SLOTS ? c->in_dim[slot] : c->rest_dim;
}
/* Elements between two indices of a dimension of a contiguous tensor. */
size_t gb_elements_apart (const gb_shape *s, int dim);
/* A window along the dimension of an operand (result: slot -1) need not be one run of memory: the op takes
** strides. */
bool gb_takes_strides (const gb_opaque *o, int slot, int dim);

/* An opaque op cut down, in place; of one that is cut already along another axis, both. Operands in [0,
** nin) and results behind them are 'compact' where only the window of them exists; NULL: all are. */
void gb_window_of_opaque (gb_opaque *o, const gb_cut *c, gb_window at, const bool *compact);

#endif
