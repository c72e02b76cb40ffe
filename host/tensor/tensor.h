/* tensor.h - refcounted storage under strided views. A gb_tensor is a value; its storage is counted. */
#ifndef GB_TENSOR_TENSOR_H
#define GB_TENSOR_TENSOR_H

#include "device/ledger.h"
#include "tensor/shape.h"

/* Bytes of a device's memory: 'block.data' is an address there, which the host may not be able to read
** (tensor/host.h reads it). */
typedef struct gb_storage {
  int refs;
  gb_block block;
  gb_ledger *ledger;
  struct gb_storage *mirror; /* copy that the host reads (tensor/host.h); NULL: none, or it is the host's */
  /* Of bytes that are addresses: the objects there; their release, before the bytes are freed; and bringing
  ** the addresses up to date, before they are read. NULL: the bytes are numbers. */
  void *owned;
  void (*release)(struct gb_storage *st);
  gb_status (*refresh)(struct gb_storage *st, gb_error *err);
} gb_storage;

typedef struct gb_tensor {
  gb_storage *storage; /* NULL = closed or empty handle */
  gb_dtype dtype;
  gb_shape shape;
  ptrdiff_t stride[GB_MAXDIM]; /* in elements; may be 0 (expanded) or negative (flipped) */
  size_t offset;               /* in elements, of element (0, ..., 0) */
} gb_tensor;

/* Contiguous, row-major, uninitialised. Errors: ENOMEM, ESHAPE (product overflows). */
gb_status gb_tensor_new (gb_ledger *l, gb_dtype t, const gb_shape *s, gb_purpose p, const char *where,
                         const char *name, gb_tensor *out, gb_error *err);
gb_tensor gb_tensor_ref (const gb_tensor *t); /* takes a count */
void gb_tensor_clear (gb_tensor *t);          /* drops its count; idempotent */
void gb_storage_drop_mirror (gb_storage *st);
bool gb_tensor_is_contiguous (const gb_tensor *t);
void *gb_tensor_data (const gb_tensor *t); /* address of element (0, ..., 0) in its device's memory */
void gb_strides_of (const gb_shape *s, ptrdiff_t stride[GB_MAXDIM]); /* row-major */

/* Copies elements in index order between views of one shape, converting the dtype, of tensors that the host
** can read and write; gb_tensor_copy (host.h) takes any. */
void gb_host_copy (const gb_tensor *dst, const gb_tensor *src);

/* Passes the elements in index order, in their stored form, to 'take', in runs of GB_VISIT elements (the last
** may be shorter), for any strides. Stops at the first failure of 'take' and returns it. */
#define GB_VISIT 4096
gb_status gb_tensor_visit (const gb_tensor *t, gb_status (*take)(void *ud, const void *p, size_t bytes),
                           void *ud);

/* Element at a multi-index, as a double. */
double gb_tensor_at (const gb_tensor *t, const size_t *index);
int64_t gb_tensor_integer_at (const gb_tensor *t, const size_t *index); /* of i64 and i32, exactly */

#endif
