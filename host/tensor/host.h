/* host.h - the only access to the elements of a tensor: where the host may read and write them.
**
** A storage in the host's memory is its own host storage. Any other gets a mirror: a host storage,
** made on first access and released with it. Values of tensors never change, so a mirror stays
** valid. */
#ifndef GB_TENSOR_HOST_H
#define GB_TENSOR_HOST_H

#include "tensor/tensor.h"

/* '*out' is t with readable elements: borrowed, valid as long as t's storage. Cost: none in the host's
** memory; else one copy of the storage, the first time. Errors: ENOMEM, EDEVICE. */
gb_status gb_host_of (const gb_tensor *t, gb_tensor *out, gb_error *err);

/* The address of element (0, ..., 0) of a tensor whose elements the host reads and writes: one of the host's
** own ledger, or one that gb_host_of or gb_host_stage gave. NULL for any other. */
void *gb_host_elements (const gb_tensor *t);

/* To write the elements of a new tensor: '*out' is where the caller writes them (its contents are undefined);
** gb_host_flush then copies them to the tensor's memory, and '*out' is gone. Cost and errors as above. */
gb_status gb_host_stage (const gb_tensor *t, gb_tensor *out, gb_error *err);
gb_status gb_host_flush (const gb_tensor *t, gb_error *err);

/* Copies elements in index order, wherever the two are, converting the dtype; dst is contiguous where the
** host cannot read it. Where such a copy changes the layout or the dtype it passes through the device's home,
** which holds src's storage and dst's elements meanwhile. Errors: ENOMEM, EDEVICE. */
gb_status gb_tensor_copy (const gb_tensor *dst, const gb_tensor *src, gb_error *err);

/* t becomes a tensor of the ledger's device, contiguous, with the same elements and provenance. No effect if
** it is there already. Errors: ENOMEM, EDEVICE; t is then unchanged. */
gb_status gb_tensor_move (gb_ledger *to, gb_tensor *t, gb_error *err);

#endif
