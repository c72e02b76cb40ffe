/* launch.h - what a .cu file needs to run on a GPU, where nvcc compiles it, or on a processor in tests, where
** g++ does. The only place with <<< >>>. A .cu file starts kernels with GB_LAUNCH alone and names dynamic
** shared memory with GB_SHARED_ROOM alone, gives masks to warp functions, and returns from no kernel before a
** barrier. */
#ifndef GB_CUDA_LAUNCH_H
#define GB_CUDA_LAUNCH_H

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define GB_DEVICE __device__ __forceinline__
#define GB_CALLED __device__ __noinline__    /* a call costs less than its code in many places */
#define GB_PARAMETER const __grid_constant__ /* read where the driver put it */
#define GB_LAUNCH(k, grid, block, shared, stream, ...)                                                       \
  (k)<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)
#define GB_SHARED_ROOM(type, name)                                                                           \
  extern __shared__ __align__(16) unsigned char gb_shared_room[];                                            \
  type *name = reinterpret_cast<type *>(gb_shared_room)
#else
#include "cuda_emulation/device.h"
#define GB_DEVICE inline
#define GB_CALLED __attribute__((noinline))
#define GB_PARAMETER const
#endif

#endif
