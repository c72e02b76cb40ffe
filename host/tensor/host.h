/* host.h - the only door to the elements of a tensor: where the host may read and write them.
**
** A storage in the host's memory is its own host storage. Any other has a mirror: a storage of the host,
** made when it is first looked at, dropped with it. Values of tensors do not change once they are made, so
** a mirror stays right. */
#ifndef GB_TENSOR_HOST_H
#define GB_TENSOR_HOST_H

#include "tensor/tensor.h"

/* '*out' is t with elements that can be read: borrowed, it lives as long as t's storage. Cost: none in the
** host's memory; else one copy of the storage, the first time. Errors: ENOMEM, EDEVICE. */
gb_status gb_host_of (const gb_tensor *t, gb_tensor *out, gb_error *err);

/* For who makes the elements of a new tensor: '*out' is where they are written, what it holds is
** undefined; gb_host_flush then takes them to where the tensor is. Cost and errors as above. */
gb_status gb_host_stage (const gb_tensor *t, gb_tensor *out, gb_error *err);
gb_status gb_host_flush (const gb_tensor *t, gb_error *err);

/* t becomes a tensor of the ledger's device, contiguous, with the same elements and provenance. Nothing
** happens where it is there already. Errors: ENOMEM, EDEVICE; t is then as it was. */
gb_status gb_tensor_move (gb_ledger *to, gb_tensor *t, gb_error *err);

#endif
