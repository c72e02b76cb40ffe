/* lists.h - the lists of a launch: what was fixed when the fold was compiled, with the addresses, offsets, strides and
** numbers of the part. */
#ifndef GB_CUDA_FOLD_LISTS_H
#define GB_CUDA_FOLD_LISTS_H

#include "cuda/fold/layout.h"
#include "device/device.h"

/* Puts the lists into scratch, in the stream, and all addresses in scratch but those of totals into 'l->p'. */
gb_status gb_cuda_send_lists (gb_cuda *gpu, gb_cuda_layout *l, const gb_cuda_walk *w,
                              const gb_fold_args *args, gb_error *err);

#endif
