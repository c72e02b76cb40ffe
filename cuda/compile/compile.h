/* compile.h - generated kernels of a GPU: found in the pack or the cache, or compiled in the background, and used from the first launch
** that finds them complete. The interpreter runs until then, with the same bits and the same bytes, so that nothing but time
** tells when a kernel was adopted. Whatever fails here leaves the interpreter in place; gb_cuda_compilation_text says what.
**
** GIBBOUS_CUDA_COMPILE: 'off'; 'background', the usual one: a kernel is compiled when its walk has taken GB_CUDA_PATIENCE
** seconds in the interpreter, as estimated ('background:2': 2 seconds); 'wait': before its first launch. */
#ifndef GB_CUDA_COMPILE_COMPILE_H
#define GB_CUDA_COMPILE_COMPILE_H

#include "cuda/compile/key.h"
#include "cuda/compile/module.h"

#define GB_CUDA_PATIENCE 0.5

typedef struct gb_cuda_compilation gb_cuda_compilation; /* gb_cuda.compilation */

/* Errors: ENOMEM; EOPTION (GIBBOUS_CUDA_COMPILE). */
gb_status gb_cuda_compilation_open (gb_cuda *gpu, gb_error *err);
/* Its work is done. */
void gb_cuda_compilation_close (gb_cuda *gpu);

bool gb_cuda_compiles (const gb_cuda *gpu); /* else texts are of no use */

/* Finds the compiled kernel for a launch that the interpreter would run in so many seconds. '*out' is NULL if the kernel is
** not compiled yet, or cannot be compiled; it is valid until the next call. Errors: EDEVICE (the GPU is lost). */
gb_status gb_cuda_find (gb_cuda *gpu, const gb_cuda_code *c, double seconds, const gb_cuda_module **out,
                        gb_error *err);
/* The launch of a kernel was refused: it is not tried again. */
void gb_cuda_refuse (gb_cuda *gpu, const gb_cuda_code *c, const gb_error *err);

/* Waits for the kernels that are being compiled, and has those of the walks that have run compiled at their next launch,
** however short they are. Whether there are any of either: launches that follow find more of them complete. */
bool gb_cuda_compilation_settle (gb_cuda *gpu);

/* One line on what was compiled, and why something was not. */
const char *gb_cuda_compilation_text (gb_cuda *gpu);

#endif
