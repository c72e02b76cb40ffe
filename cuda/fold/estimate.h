/* estimate.h - how long the interpreter takes for a walk, roughly: it divides long work into pieces and decides what is
** worth a compilation. */
#ifndef GB_CUDA_FOLD_ESTIMATE_H
#define GB_CUDA_FOLD_ESTIMATE_H

#include "cuda/device/gpu.h"
#include "cuda/fold/encode.h"
#include "cuda/fold/kernels.h"

/* Seconds for one combination of the reduced OUTER axes. */
double gb_cuda_vm_seconds (const gb_cuda *gpu, gb_cuda_type type, const gb_cuda_walk *w, const gb_fold *f);

#endif
