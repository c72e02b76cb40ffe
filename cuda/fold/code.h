/* code.h - what a fold becomes for a GPU before there is one: the class of its arithmetic and the texts of its generated
** kernels. Kernels that are compiled ahead of time (cuda/ahead) come from here, too. */
#ifndef GB_CUDA_FOLD_CODE_H
#define GB_CUDA_FOLD_CODE_H

#include "cuda/compile/key.h"
#include "device/device.h"

/* Names of the classes, in the order of gb_cuda_arithmetic; NULL after the last. */
extern const char *const gb_cuda_arithmetics[];
/* That of GIBBOUS_CUDA_ARITHMETIC, else UNIT. Errors: EDEVICE, no class has that name. */
gb_status gb_cuda_arithmetic_chosen (int *out, gb_error *err);
/* Programs of other types than f32 have one class. */
gb_cuda_arithmetic gb_cuda_arithmetic_of (const gb_fold *f, int chosen);

/* Two a walk: of its own reach, and MIRROR; or one of WAVE. A walk without a text is the interpreter's; NULL: memory is short. */
gb_cuda_code *gb_cuda_codes_new (const gb_fold *f, const gb_cuda_walk *walks, int nwalks,
                                 gb_cuda_arithmetic a);
void gb_cuda_codes_free (gb_cuda_code *codes, int nwalks); /* NULL is fine */
size_t gb_cuda_codes_bytes (const gb_cuda_code *codes, int nwalks);

#endif
