/* elements.h - elements of tensors wherever they lie. A test reads and writes none in another way. A tensor
** that the device does not give ends the process. */
#ifndef GB_TESTS_ELEMENTS_H
#define GB_TESTS_ELEMENTS_H

#include "tensor/tensor.h"

/* Where the host reads element (0, ..., 0): valid as long as the storage. Of a storage in another memory it is
** the copy of the first call. */
const void *elements (const gb_tensor *t);

double element_at (const gb_tensor *t, const size_t *index);

/* To write all elements of a new, contiguous tensor: fill '*at', then call elements_written. */
void *elements_to_write (const gb_tensor *t);
void elements_written (const gb_tensor *t);

/* The elements in index order, contiguous; freed by the caller. */
void *elements_copied (const gb_tensor *t);

/* One element of a contiguous tensor that a registered op was handed: it may be a window, or rewritten later,
** so no copy is kept. */
double handed_element (const gb_tensor *t, size_t i);
void set_handed_element (const gb_tensor *t, size_t i, double v);

#endif
