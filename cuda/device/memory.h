/* memory.h - the memory of a GPU as the table that accounts draw on. */
#ifndef GB_CUDA_DEVICE_MEMORY_H
#define GB_CUDA_DEVICE_MEMORY_H

#include "cuda/device/gpu.h"

/* One more memory of its own on the GPU of the device: its range is opened with the first block. */
gb_memory gb_cuda_memory (const gb_device *dev);
/* Gives all its bytes back; what is called later finds no room. */
void gb_cuda_memory_close (gb_memory *m);
/* Bytes that the GPU has given it, whole pages. */
size_t gb_cuda_memory_mapped (const gb_memory *m);

#endif
