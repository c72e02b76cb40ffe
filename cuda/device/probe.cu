/* probe.cu - see probe.h. */
#include "cuda/device/probe.h"

#include "cuda/launch.h"

static __global__ void probe (unsigned *out, unsigned asked) { *out = asked * 2654435761u; }

cudaError_t gb_cuda_probe (unsigned *out, unsigned asked, cudaStream_t stream) {
  GB_LAUNCH(probe, 1, 1, 0, stream, out, asked);
  return cudaGetLastError();
}
