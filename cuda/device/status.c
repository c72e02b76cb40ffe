/* status.c - what a failing call of CUDA means. Two things are apart: a GPU without room works on, a GPU that
** is lost never does, because an error of this kind stays with the process. */
#include <stdio.h>
#include <string.h>

#include "cuda/device/gpu.h"

bool gb_cuda_is_loss (cudaError_t e) {
  switch (e) {
    case cudaErrorInitializationError:
    case cudaErrorCudartUnloading:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorDeviceUninitialized:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorExternalDevice:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorUnknown: return true;
    default: return false;
  }
}

gb_status gb_cuda_status (cudaError_t e, const char *call, gb_error *err) {
  if (e == cudaSuccess) return GB_OK;
  const int name = (int)strcspn(call, "(");
  cudaGetLastError(); /* the next call begins without it, unless it stays */
  if (gb_cuda_is_loss(e)) return gb_fail(err, GB_EDEVICE, "%.*s: %s", name, call, cudaGetErrorString(e));
  if (e == cudaErrorMemoryAllocation) return gb_fail(err, GB_ENOMEM, "%.*s: the GPU has no room", name, call);
  return gb_fail(err, GB_EINTERNAL, "%.*s: error %d, %s", name, call, (int)e, cudaGetErrorString(e));
}

void gb_cuda_note (gb_cuda *gpu, cudaError_t e, const char *call) {
  gb_error err;
  gb_cuda_note_error(gpu, gb_cuda_status(e, call, &err), &err);
}

void gb_cuda_note_error (gb_cuda *gpu, gb_status st, const gb_error *err) {
  if (st != GB_OK && gpu->failed[0] == '\0') snprintf(gpu->failed, sizeof gpu->failed, "%.250s", err->text);
}

/* A failure that was noted made values that nobody has checked: the GPU counts as lost. */
gb_status gb_cuda_enter (gb_cuda *gpu, gb_error *err) {
  if (gpu->failed[0] != '\0') return gb_fail(err, GB_EDEVICE, "%s", gpu->failed);
  GB_CUDA_TRY(cudaSetDevice(gpu->ordinal));
  return GB_OK;
}

gb_status gb_cuda_wait (gb_cuda *gpu, gb_error *err) {
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_CUDA_TRY(cudaStreamSynchronize(gpu->stream));
  return GB_OK;
}
