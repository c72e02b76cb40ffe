/* nest.h - staged values made a window at a time inside the steps that read them.
**
** Lowering stages a product of what streams: a step of its own computes it, which is as fast as storing.
** Where the whole of it does not fit, the step that reads it runs window by window of an axis that the
** staged value has, and before each window the step that makes the value runs for that window only, in
** windows of its own if it reads staged values that do not have the axis. They are the same steps, hence
** the same bits. What several steps read is made in each of them again. */
#ifndef GB_PLAN_PLACE_NEST_H
#define GB_PLAN_PLACE_NEST_H

#include "plan/place/pack.h"
#include "plan/tile/cut.h"

/* What a window of the reader's axis needs of a staged value. */
typedef struct gb_nest_read {
  int node; /* that makes it */
  int buf, dim;
  /* index i of the axis looks at i * step + low .. i * step + high of the dimension */
  ptrdiff_t step, low, high;
} gb_nest_read;

/* A step in one place of the nest. */
typedef struct gb_nest_node {
  int step;
  gb_cut made;   /* axis along which the reader asks for its result; not cut: it is the outermost reader */
  int dim;       /* the dimension of the result that this is */
  gb_cut own;    /* axis of its own windows; not cut: it has none */
  size_t extent; /* of that axis */
  gb_axes turns; /* OUTER axes that turn outside its windows, so that totals are added in order; */
  size_t nturns; /* combinations of their indices */
  int nreads, nbefore; /* the first 'nbefore' by the window that is asked for, the others by its own */
  gb_nest_read *read;
} gb_nest_node;

typedef struct gb_nest {
  int nnodes;
  gb_nest_node *node; /* readers after what they read */
  int *root;          /* [nsteps] node of the step that reads what is made inside it; -1: none is */
  bool *inside;       /* [nsteps] its result is only made inside others */
  size_t widest;      /* the largest extent of windows */
} gb_nest;

/* A range of indices. */
typedef struct gb_range {
  size_t lo, n;
} gb_range;

/* What a node holds while its outermost reader runs, and when: what is inside it runs from turn 'begin'
** on, the node itself in 'turn', its reader in 'end'. */
typedef struct gb_nest_room {
  gb_life result, scratch, state;
  int begin, turn, end;
} gb_nest_room;

/* *out NULL: nothing is staged, or nothing of it can be made by windows. Errors: ENOMEM. */
gb_status gb_find_nest (const gb_lowered *low, gb_nest **out, gb_error *err);
void gb_nest_free (gb_nest *n, int nsteps); /* NULL is fine */

/* Indices of a node's own window where 'rows' are asked for: at least the unit, at most all. */
size_t gb_nest_window (const gb_nest_node *n, size_t rows);
/* What a window of the axis needs. */
gb_range gb_nest_needs (const gb_nest_read *r, gb_range window);
/* The most indices of the result that any reader asks of node k at once. */
size_t gb_nest_held (const gb_nest *n, int k, size_t rows);

/* And of the last window, where that is smaller; else 0. */
size_t gb_nest_rest (const gb_nest *n, int k, size_t rows);

/* What runs at once: a range of the result that is asked for, and a window of the node's own in one of its
** turns. */
typedef struct gb_nest_part {
  gb_range asked, own;
  size_t turn;
} gb_nest_part;

/* The fold of a node for a part of it; 'w' has room for two. The result holds the range; operands with
** compact[buffer] hold what gb_nest_needs says. */
const gb_fold *gb_nest_fold (gb_window_fold w[2], const gb_lowered *low, const gb_nest *n,
                             const bool *compact, int k, gb_nest_part part);

#endif
