/* slices.h - dense algebra of a batch: one op a slice. Leading axes of matrices align at the right and broadcast, as those
** of products do; a right-hand side of one axis has none. */
#ifndef GB_PROGRAM_SLICES_H
#define GB_PROGRAM_SLICES_H

#include "program/library.h"

typedef struct gb_slices {
  gb_opaque one; /* the op of one slice */
  size_t count;  /* of slices */
  gb_shape lead; /* leading axes of the results */
  const gb_opaque *all;
} gb_slices;

/* An op of dense algebra whose inputs have leading axes; a product has tiles of its own. */
bool gb_has_slices (const gb_opaque *o);
gb_slices gb_slices_of (const gb_opaque *o);

/* Its matrices have at most a block of numbers each: what there is to compute of one slice is little work for a device, and
** slices are computed side by side. */
bool gb_slice_is_small (const gb_opaque *one);

/* Bytes from the first matrix of an input, or of a result, to that of slice k. */
size_t gb_slice_of_input (const gb_slices *s, int slot, size_t k);
size_t gb_slice_of_result (const gb_slices *s, int output, size_t k);

/* Number of the matrix of 'in', whose last two axes are its own, that belongs to index k of the leading axes 'lead'. */
size_t gb_matrix_at (const gb_shape *lead, const gb_shape *in, size_t k);

/* A failure of slice k: says first which matrix of input 0, counted in the whole batch from 1. Returns 'st'. */
gb_status gb_slice_failed (const gb_slices *s, size_t k, gb_status st, gb_error *err);

#endif
