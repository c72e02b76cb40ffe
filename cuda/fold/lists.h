/* lists.h - the lists of a launch: what was fixed when the fold was compiled, with the addresses, offsets, strides and
** numbers of the part. They travel in the argument of each kernel, or lie in scratch where they are too long. */
#ifndef GB_CUDA_FOLD_LISTS_H
#define GB_CUDA_FOLD_LISTS_H

#include "cuda/fold/layout.h"
#include "device/device.h"

/* Writes what fits into the argument; the rest goes to scratch, in the stream, but for instructions. Allocates nothing. */
gb_status gb_cuda_send_lists (gb_cuda *gpu, const gb_cuda_layout *l, const gb_cuda_walk *w,
                              const gb_fold_args *args, gb_cuda_argument *out, gb_error *err);
/* Instructions that did not fit: before the first kernel that reads them. */
gb_status gb_cuda_send_code (gb_cuda *gpu, const gb_cuda_layout *l, const gb_cuda_walk *w,
                             const gb_fold_args *args, gb_cuda_argument *out, gb_error *err);

#endif
