/* opaque.h - what a GPU runs, and its opaque ops. */
#ifndef GB_CUDA_DEVICE_OPAQUE_H
#define GB_CUDA_DEVICE_OPAQUE_H

#include "device/device.h"

bool gb_cuda_supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack);
size_t gb_cuda_opaque_scratch (const gb_device *dev, const gb_opaque *o);
gb_status gb_cuda_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                          void *scratch, gb_error *err);

#endif
