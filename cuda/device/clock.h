/* clock.h - the clock of a GPU: events in its stream. */
#ifndef GB_CUDA_DEVICE_CLOCK_H
#define GB_CUDA_DEVICE_CLOCK_H

#include "device/clock.h"

struct gb_cuda;
typedef struct gb_cuda_clock gb_cuda_clock; /* of a GPU; opened by its first span */

extern const gb_clock_ops gb_cuda_clock_ops;
void gb_cuda_clock_close (struct gb_cuda *gpu);

#endif
