/* fold.h - fold programs on a GPU: the slots of gb_device_ops that compile and launch them. */
#ifndef GB_CUDA_FOLD_FOLD_H
#define GB_CUDA_FOLD_FOLD_H

#include "device/device.h"

void gb_cuda_fold_schedule (const gb_device *dev, const gb_fold *f, gb_schedule *out);
bool gb_cuda_fold_supports (const gb_device *dev, const gb_fold *f, gb_lack *lack);
gb_status gb_cuda_fold_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err);
void gb_cuda_fold_release (gb_kernel *k);
size_t gb_cuda_fold_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *part);
size_t gb_cuda_fold_state (const gb_device *dev, const gb_kernel *k, const gb_fold *part);
gb_status gb_cuda_fold_launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err);

#endif
