/* driver.c - functions of the driver by name. */
#include "cuda/device/driver.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

void *gb_cuda_driver_function (const char *name, unsigned version) {
  void *at = NULL;
  enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t e = cudaGetDriverEntryPointByVersion(name, &at, version, cudaEnableDefault, &found);
  cudaGetLastError();
  return e == cudaSuccess && found == cudaDriverEntryPointSuccess ? at : NULL;
}
