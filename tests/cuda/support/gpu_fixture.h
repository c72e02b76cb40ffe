/* gpu_fixture.h - GPUs of the emulation, opened by the function that the program calls. */
#ifndef GB_TESTS_GPU_FIXTURE_H
#define GB_TESTS_GPU_FIXTURE_H

#include "cuda_emulation/emulation.h"
#include "device/device.h"

#define GPU_HOME ((size_t)1 << 30) /* bytes of the host */

/* The CPU that GPUs have for their home, one for all tests of a program. */
gb_device *gpu_home (void);
/* GPU 'ordinal', 0 or 1, with this limit; 0: the library's choice. */
gb_status gpu_open (int ordinal, size_t limit, gb_device **out, gb_error *err);
/* Closes it and checks that nothing is left, in the emulation or on the host's account. NULL: checks
** alone. */
void gpu_close (gb_device *dev);
/* Settings of the emulation are the usual ones, and nothing is held. */
void gpu_begin (void);
/* GPU 0 for a group of tests, its work in the order of GPU_SCHEDULE; and its end. Not 0: it does not open, or something is left. */
int gpu_open_group (gb_device **out);
int gpu_close_group (gb_device *dev);

#endif
