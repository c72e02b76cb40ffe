/* shape.h - shapes with checked products. Axes count from 0 here; Lua counts from 1. */
#ifndef GB_TENSOR_SHAPE_H
#define GB_TENSOR_SHAPE_H

#include "base/status.h"
#include "tensor/dtype.h"

#define GB_MAXDIM 8

typedef struct gb_shape {
  int ndim;              /* 0 = one element */
  size_t dim[GB_MAXDIM]; /* entries past ndim are 0, so shapes compare bytewise */
} gb_shape;

gb_shape gb_shape_of (int ndim, const size_t *dim);
bool gb_shape_equal (const gb_shape *a, const gb_shape *b);

/* Product of the extents, 0 if any is 0. Returns false if it does not fit in a ptrdiff_t. */
bool gb_shape_numel_checked (const gb_shape *s, size_t *out);
size_t gb_shape_numel (const gb_shape *s); /* for shapes already checked */

/* Bytes of a contiguous tensor; SIZE_MAX if the product overflows. */
size_t gb_shape_bytes (const gb_shape *s, gb_dtype t);

/* "500x3", "()" for a scalar. Returns 'buf'. */
#define GB_SHAPE_TEXT 96
char *gb_shape_text (const gb_shape *s, char buf[GB_SHAPE_TEXT]);

/* Broadcast aligned at the right; axes of extent 1 grow; with unequal ranks at most one side may grow (so (n)
** with (n,1) is an error, an outer form needs unsqueeze). Returns false if they do not match. 'out' may be
** 'a' or 'b'. */
bool gb_shape_broadcast (const gb_shape *a, const gb_shape *b, gb_shape *out);

#endif
