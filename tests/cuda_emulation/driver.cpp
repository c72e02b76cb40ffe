/* driver.cpp - libcuda: devices, names of errors, and the table by which cudaGetDriverEntryPoint finds its calls. */
#include "driver.h"

#include <string.h>

using namespace emu;
extern "C" {

CUresult cuInit (unsigned) {
  EMU_DRIVER_CALL("cuInit", needs::nothing);
  return devices().empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion (int *out) {
  EMU_DRIVER_CALL("cuDriverGetVersion", needs::nothing);
  *out = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount (int *out) {
  EMU_DRIVER_CALL("cuDeviceGetCount", needs::nothing);
  *out = (int)devices().size();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet (CUdevice *out, int d) {
  EMU_DRIVER_CALL("cuDeviceGet", needs::nothing);
  if (d < 0 || (size_t)d >= devices().size()) return CUDA_ERROR_INVALID_DEVICE;
  *out = d;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute (int *out, CUdevice_attribute what, CUdevice d) {
  if (what == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) {
    EMU_DRIVER_CALL("cuDeviceGetAttribute", needs::nothing);
    *out = 1;
    return CUDA_SUCCESS;
  }
  return driver_result(cudaDeviceGetAttribute(out, (cudaDeviceAttr)what, d)); /* the same numbers */
}
CUresult cuGetErrorName (CUresult code, const char **out) {
  *out = cudaGetErrorName((cudaError_t)code);
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString (CUresult code, const char **out) {
  *out = cudaGetErrorString((cudaError_t)code);
  return CUDA_SUCCESS;
}
}

#define ENTRY(f)                                                                                             \
  { #f, (void *)f }
static const struct {
  const char *name;
  void *at;
} entries[] = {
    ENTRY(cuInit),
    ENTRY(cuDriverGetVersion),
    ENTRY(cuDeviceGetCount),
    ENTRY(cuDeviceGet),
    ENTRY(cuDeviceGetAttribute),
    ENTRY(cuGetErrorName),
    ENTRY(cuGetErrorString),
    ENTRY(cuMemGetAllocationGranularity),
    ENTRY(cuMemAddressReserve),
    ENTRY(cuMemAddressFree),
    ENTRY(cuMemCreate),
    ENTRY(cuMemRelease),
    ENTRY(cuMemMap),
    ENTRY(cuMemUnmap),
    ENTRY(cuMemSetAccess),
    ENTRY(cuModuleLoadData),
    ENTRY(cuModuleLoadDataEx),
    ENTRY(cuModuleUnload),
    ENTRY(cuModuleGetFunction),
    ENTRY(cuFuncSetAttribute),
    ENTRY(cuLaunchKernel),
    {"cuMemGetAddressRange", (void *)cuMemGetAddressRange},
};

static cudaError_t find_entry (const char *name, void **out, cudaDriverEntryPointQueryResult *found) {
  *out = nullptr;
  for (auto &e : entries)
    if (strcmp(e.name, name) == 0) *out = e.at;
  if (found != nullptr)
    *found = *out != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

extern "C" {
cudaError_t cudaGetDriverEntryPoint (const char *name, void **out, unsigned long long,
                                     cudaDriverEntryPointQueryResult *found) {
  EMU_CALL("cudaGetDriverEntryPoint", needs::nothing);
  return find_entry(name, out, found);
}
cudaError_t cudaGetDriverEntryPointByVersion (const char *name, void **out, unsigned, unsigned long long,
                                              cudaDriverEntryPointQueryResult *found) {
  EMU_CALL("cudaGetDriverEntryPoint", needs::nothing);
  return find_entry(name, out, found);
}
}
