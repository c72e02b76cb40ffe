/* module.h - compiled code on a GPU: loaded, launched, unloaded, by functions of the driver. A module takes memory of the GPU
** outside its account: a part of the ten percent that the limit leaves free (device/open.c). */
#ifndef GB_CUDA_COMPILE_MODULE_H
#define GB_CUDA_COMPILE_MODULE_H

#include "cuda/device/gpu.h"
#include "cuda/emit/emit.h"

typedef struct gb_cuda_driver gb_cuda_driver; /* the functions */

typedef struct gb_cuda_module {
  const gb_cuda_driver *driver;
  void *module, *function; /* of the driver; NULL: not loaded */
  unsigned threads, shared;
} gb_cuda_module;

/* NULL: memory is short, or the driver lacks a function. To be freed when no module is loaded. */
gb_cuda_driver *gb_cuda_driver_open (void);

/* The kernel of a source from its image; the GPU is that of the thread. Errors: as gb_cuda_status. */
gb_status gb_cuda_module_load (const gb_cuda_driver *d, const char *image, const gb_cuda_source *s,
                               gb_cuda_module *out, gb_error *err);
/* Work on it is done; not loaded is fine. */
void gb_cuda_module_unload (gb_cuda_module *m);
/* On a grid of so many thread blocks. If this fails, nothing has been started. */
gb_status gb_cuda_module_launch (const gb_cuda_module *m, unsigned blocks, cudaStream_t stream,
                                 const gb_cuda_argument *a, gb_error *err);

#endif
