/* preview.h - expressions restricted to a box of their indices. */
#ifndef GB_LUA_PREVIEW_H
#define GB_LUA_PREVIEW_H

#include "graph/build.h"

typedef struct gb_box { /* entries past the rank are 0 */
  size_t start[GB_MAXDIM], extent[GB_MAXDIM];
} gb_box;

/* The elements of n inside 'box', as an expression of its own; counted. */
gb_status lgb_restrict (gb_node *n, const gb_box *box, gb_node **out, gb_error *err);

#endif
