/* opaque.h - what a GPU runs, and its opaque ops. */
#ifndef GB_CUDA_DENSE_OPAQUE_H
#define GB_CUDA_DENSE_OPAQUE_H

#include "device/device.h"

/* Side of the canonical blocks of products: what a library does with one of them does not depend on windows. */
#define GB_CUDA_DENSE_BLOCK ((size_t)2048)

bool gb_cuda_supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack);
/* All matrices of a batch are computed at once, a thread block each; else they follow one another. */
bool gb_cuda_slices_at_once (const gb_opaque *o);
size_t gb_cuda_opaque_scratch (const gb_device *dev, const gb_opaque *o);
/* Errors of data (ENOTPD, ENAN, EINDEX, ENOTCONV) are those of this call: it waits for the word of its kernels
** that says so. Ops that cannot fail this way return before their work is done. */
gb_status gb_cuda_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                          void *scratch, gb_error *err);

#endif
