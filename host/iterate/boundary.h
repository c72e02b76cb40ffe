/* boundary.h - a lazy matrix as a function of what it is made of: the values at its boundary, which are
** few and stay the same while it is multiplied, and the elements between, which are many and never stored. */
#ifndef GB_ITERATE_BOUNDARY_H
#define GB_ITERATE_BOUNDARY_H

#include "graph/build.h"

/* Nodes where the elements begin: leaves, results of opaque ops, and whatever has fewer elements than the
** matrix. */
typedef struct gb_boundary {
  size_t n;
  gb_node **in; /* counted; by age */
} gb_boundary;

/* Of all roots together. Errors: ENOMEM. On failure '*b' is clear. */
gb_status gb_boundary_find (size_t nroots, gb_node *const *roots, gb_boundary *b, gb_error *err);
void gb_boundary_clear (gb_boundary *b); /* idempotent */

/* The roots over to[i] in place of in[i]. Where these have another float type than the roots, 'dtype', the
** elements between have it too. */
gb_status gb_boundary_rebuild (const gb_boundary *b, gb_node *const *to, gb_dtype dtype, size_t nroots,
                               gb_node *const *roots, gb_node **out, gb_error *err);

/* Is the matrix more than what it is made of: do its elements exist nowhere? false where that cannot be
** found out. */
bool gb_is_streamed (gb_node *a);

/* The same lazy matrix over its boundary in another float type. Evaluates the boundary. */
gb_status gb_retype (gb_node *a, gb_dtype t, gb_node **out, gb_error *err);

#endif
