/* boundary.h - a lazy matrix as a function of its boundary: the values that it is computed from, which are
** few and stay while it is multiplied. The nodes between have as many elements as the matrix and are never
** stored. */
#ifndef GB_ITERATE_BOUNDARY_H
#define GB_ITERATE_BOUNDARY_H

#include "graph/build.h"

/* Leaves, results of opaque ops, and nodes that have fewer elements than the matrix. */
typedef struct gb_boundary {
  size_t n;
  gb_node **in; /* counted; by age */
} gb_boundary;

/* The boundary of all roots together. Errors: ENOMEM. On failure '*b' is clear. */
gb_status gb_boundary_find (size_t nroots, gb_node *const *roots, gb_boundary *b, gb_error *err);
void gb_boundary_clear (gb_boundary *b); /* idempotent */

/* Builds the roots again, over to[i] in place of in[i]. dtype: the float type of 'to'; nodes between take
** it in place of the roots'. */
gb_status gb_boundary_rebuild (const gb_boundary *b, gb_node *const *to, gb_dtype dtype, size_t nroots,
                               gb_node *const *roots, gb_node **out, gb_error *err);

/* True where the matrix is implicit: its boundary holds less than half as many values as it has elements.
** False where memory for the walk is missing. */
bool gb_is_streamed (gb_node *a);

/* The same lazy matrix over its boundary in another float type. Evaluates the boundary. */
gb_status gb_retype (gb_node *a, gb_dtype t, gb_node **out, gb_error *err);

#endif
