/* probe.h - the first kernel of a GPU, which computes a number that the host knows. */
#ifndef GB_CUDA_DEVICE_PROBE_H
#define GB_CUDA_DEVICE_PROBE_H

#include <cuda_runtime_api.h>

static inline unsigned gb_cuda_probe_answer (unsigned asked) { return asked * 2654435761u; }

#ifdef __cplusplus
extern "C"
#endif
    cudaError_t
    gb_cuda_probe (unsigned *out, unsigned asked, cudaStream_t stream);

#endif
