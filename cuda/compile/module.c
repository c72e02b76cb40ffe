/* module.c - modules of the driver. */
#include "cuda/compile/module.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/driver.h"

enum { SHARED = 48 << 10 }; /* bytes of dynamic shared memory that a kernel has without being asked */

/* X(function, version that it has had since) */
#define FUNCTIONS(X)                                                                                         \
  X(cuModuleLoadData, 2000)                                                                                  \
  X(cuModuleUnload, 2000)                                                                                    \
  X(cuModuleGetFunction, 2000)                                                                               \
  X(cuFuncSetAttribute, 9000)                                                                                \
  X(cuLaunchKernel, 4000)

#define X(name, version) PFN_##name##_v##version name;
struct gb_cuda_driver {
  FUNCTIONS(X)
};
#undef X

gb_cuda_driver *gb_cuda_driver_open (void) {
  gb_cuda_driver *d = calloc(1, sizeof *d);
  bool all = d != NULL;
#define X(name, version)                                                                                     \
  if (all) {                                                                                                 \
    void *at = gb_cuda_driver_function(#name, version);                                                      \
    memcpy(&d->name, &at, sizeof at);                                                                        \
    all = at != NULL;                                                                                        \
  }
  FUNCTIONS(X)
#undef X
  if (all) return d;
  free(d);
  return NULL;
}

/* Results of the driver that the runtime has as well have the same numbers there. */
static gb_status result (CUresult r, const char *call, gb_error *err) {
  return gb_cuda_status((cudaError_t)r, call, err);
}

static gb_status find_function (gb_cuda_module *m, gb_error *err) {
  const gb_cuda_driver *d = m->driver;
  CUfunction f;
  GB_TRY(result(d->cuModuleGetFunction(&f, m->module, GB_CUDA_EMIT_NAME), "cuModuleGetFunction", err));
  m->function = f;
  if (m->shared <= SHARED) return GB_OK;
  return result(d->cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)m->shared),
                "cuFuncSetAttribute", err);
}

gb_status gb_cuda_module_load (const gb_cuda_driver *d, const char *image, const gb_cuda_source *s,
                               gb_cuda_module *out, gb_error *err) {
  gb_cuda_module m = {.driver = d, .threads = (unsigned)s->threads, .shared = (unsigned)s->shared};
  CUmodule module;
  *out = (gb_cuda_module){.driver = d};
  GB_TRY(result(d->cuModuleLoadData(&module, image), "cuModuleLoadData", err));
  m.module = module;
  const gb_status st = find_function(&m, err);
  if (st == GB_OK) *out = m;
  else gb_cuda_module_unload(&m);
  return st;
}

void gb_cuda_module_unload (gb_cuda_module *m) {
  if (m->module != NULL) m->driver->cuModuleUnload(m->module);
  m->module = m->function = NULL;
}

gb_status gb_cuda_module_launch (const gb_cuda_module *m, unsigned blocks, cudaStream_t stream,
                                 const gb_cuda_argument *a, gb_error *err) {
  void *arguments[] = {(void *)(uintptr_t)a};
  return result(m->driver->cuLaunchKernel(m->function, blocks, 1, 1, m->threads, 1, 1, m->shared, stream,
                                          arguments, NULL),
                "cuLaunchKernel", err);
}
