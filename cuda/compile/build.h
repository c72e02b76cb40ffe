/* build.h - the text of a kernel to the code of a GPU, or to PTX, by NVRTC. */
#ifndef GB_CUDA_COMPILE_BUILD_H
#define GB_CUDA_COMPILE_BUILD_H

#include "cuda/compile/key.h"

/* For a target (key.h). From any thread; the image is to be freed. Errors: EDEVICE (no NVRTC; it failed), EFORMAT (it refuses the text), with one
** line of why; ENOMEM. */
gb_status gb_cuda_build (const char *text, int target, char **image, size_t *bytes, gb_error *err);

#endif
