/* open.c - opens a GPU by its number, or says in one sentence why it does not open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cluster/cluster.h"
#include "cuda/cluster/feed.h"
#include "cuda/compile/compile.h"
#include "cuda/dense/libraries.h"
#include "cuda/dense/opaque.h"
#include "cuda/device/gpu.h"
#include "cuda/device/memory.h"
#include "cuda/device/probe.h"
#include "cuda/fold/code.h"
#include "cuda/fold/fold.h"
#include "cuda/panel/panel.h"
#include "cuda/price/profile.h"
#include "device/registry.h"

#define LEAST_CAPABILITY 80

static int major_of (int version) { return version / 1000; }
static int minor_of (int version) { return version % 1000 / 10; }

/* -- reasons */

static gb_status no_driver (gb_error *err) {
  return gb_fail(err, GB_EDEVICE, "no NVIDIA driver is loaded (libcuda.so.1 was not found)");
}

static gb_status old_driver (int has, gb_error *err) {
  return gb_fail(err, GB_EDEVICE,
                 "the NVIDIA driver knows CUDA up to %d.%d and %d.%d is needed: install a newer driver",
                 major_of(has), minor_of(has), major_of(CUDART_VERSION), minor_of(CUDART_VERSION));
}

static gb_status no_gpu (gb_error *err) {
  const char *shown = getenv("CUDA_VISIBLE_DEVICES");
  if (shown == NULL) return gb_fail(err, GB_EDEVICE, "the NVIDIA driver finds no GPU");
  return gb_fail(err, GB_EDEVICE, "the NVIDIA driver finds no GPU; CUDA_VISIBLE_DEVICES is '%.60s'", shown);
}

/* How many GPUs there are, at least 1. Makes no context. */
static gb_status count_gpus (int *count, gb_error *err) {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return no_driver(err);
  const cudaError_t e = cudaGetDeviceCount(count);
  if (e == cudaErrorInsufficientDriver) return old_driver(version, err);
  if (e == cudaErrorNoDevice) return no_gpu(err);
  GB_TRY(gb_cuda_status(e, "cudaGetDeviceCount", err));
  return *count == 0 ? no_gpu(err) : GB_OK;
}

static gb_status check_number (int ordinal, int count, gb_error *err) {
  if (ordinal < count) return GB_OK;
  return gb_fail(err, GB_EDEVICE, "there is no GPU number %d: the NVIDIA driver finds %d, counted from 0",
                 ordinal, count);
}

/* -- one GPU */

/* What the runtime says where this program cannot use a GPU that is there. */
static gb_status first_call (const gb_cuda *gpu, cudaError_t e, const char *call, gb_error *err) {
  const int n = gpu->ordinal;
  if (e == cudaErrorDevicesUnavailable)
    return gb_fail(err, GB_EDEVICE, "GPU %d is in exclusive mode and another process uses it", n);
  if (e == cudaErrorNoKernelImageForDevice || e == cudaErrorUnsupportedPtxVersion)
    return gb_fail(err, GB_EDEVICE, "the library has no code for GPU %d: build it for capability %d.%d", n,
                   gpu->capability / 10, gpu->capability % 10);
  if (e == cudaErrorMemoryAllocation)
    return gb_fail(err, GB_ENOMEM, "GPU %d has no room for a context: other processes hold its memory", n);
  return gb_cuda_status(e, call, err);
}

static gb_status read_attributes (gb_cuda *gpu, gb_error *err) {
  int major, minor, shared;
  struct cudaDeviceProp *p = malloc(sizeof *p);
  if (p == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a device");
  const gb_status st =
      gb_cuda_status(cudaGetDeviceProperties(p, gpu->ordinal), "cudaGetDeviceProperties", err);
  if (st == GB_OK) {
    major = p->major, minor = p->minor, shared = (int)p->sharedMemPerBlockOptin;
    gpu->capability = 10 * major + minor;
    gpu->multiprocessors = p->multiProcessorCount;
    gpu->shared = (size_t)shared;
    gpu->total = p->totalGlobalMem;
    snprintf(gpu->isa, sizeof gpu->isa, "sm_%d", gpu->capability);
    snprintf(gpu->text, sizeof gpu->text, "%.100s, %d multiprocessors, CUDA %d.%d", p->name,
             gpu->multiprocessors, major_of(CUDART_VERSION), minor_of(CUDART_VERSION));
  }
  free(p);
  GB_TRY(st);
  if (gpu->capability >= LEAST_CAPABILITY) return GB_OK;
  return gb_fail(err, GB_EDEVICE, "GPU %d has capability %d.%d, and %d.%d is needed", gpu->ordinal,
                 gpu->capability / 10, gpu->capability % 10, LEAST_CAPABILITY / 10, LEAST_CAPABILITY % 10);
}

/* The first kernel, which shows that the library has code for this GPU and that results arrive: in pinned
** memory. */
static gb_status probe (gb_cuda *gpu, gb_error *err) {
  const unsigned asked = 20u + (unsigned)gpu->ordinal;
  volatile unsigned *answer = (void *)gpu->staging.at;
  *answer = 0;
  GB_TRY(first_call(gpu, gb_cuda_probe((unsigned *)answer, asked, gpu->stream), "the first kernel", err));
  GB_TRY(gb_cuda_wait(gpu, err));
  if (*answer == gb_cuda_probe_answer(asked)) return GB_OK;
  return gb_fail(err, GB_EDEVICE, "the first kernel on GPU %d gave a wrong result", gpu->ordinal);
}

static gb_status open_gpu (gb_cuda *gpu, gb_error *err) {
  GB_TRY(first_call(gpu, cudaSetDevice(gpu->ordinal), "cudaSetDevice", err));
  GB_TRY(read_attributes(gpu, err));
  GB_TRY(first_call(gpu, cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "cudaStreamCreate",
                    err));
  for (int i = 0; i < 2; i++)
    GB_CUDA_TRY(cudaEventCreateWithFlags(&gpu->piece[i], cudaEventDisableTiming | cudaEventBlockingSync));
  void *room;
  GB_TRY(first_call(gpu, cudaMalloc(&room, GB_CUDA_ROOM), "cudaMalloc", err));
  gpu->room = room;
  gpu->room_bytes = GB_CUDA_ROOM;
  GB_TRY(gb_cuda_staging_open(&gpu->staging, &gpu->home->ledger, err));
  GB_TRY(gb_cuda_compilation_open(gpu, err));
  return probe(gpu, err);
}

static void close_gpu (gb_cuda *gpu) {
  cudaSetDevice(gpu->ordinal);
  gb_cuda_compilation_close(gpu);
  gb_cuda_libraries_close(gpu);
  gb_cuda_clock_close(gpu);
  gb_cuda_staging_close(&gpu->staging);
  if (gpu->room != NULL) cudaFree(gpu->room);
  for (int i = 0; i < 2; i++)
    if (gpu->piece[i] != NULL) cudaEventDestroy(gpu->piece[i]);
  if (gpu->stream != NULL) cudaStreamDestroy(gpu->stream);
  free(gpu);
}

/* Ten percent of what is free now are left to what CUDA and its libraries take later. */
static gb_status choose_limit (size_t *limit, gb_error *err) {
  size_t free_bytes, total;
  if (*limit != 0) return GB_OK;
  GB_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total));
  *limit = free_bytes / 10 * 9;
  return GB_OK;
}

/* -- the device */

static gb_status set_threads (gb_device *dev, int threads, gb_error *err) {
  gb_device *home = gb_cuda_of(dev)->home;
  GB_TRY(gb_device_set_threads(home, threads, err));
  for (gb_device *d = dev; d != NULL; d = d->next) d->pool = home->pool;
  return GB_OK;
}

static void close_device (gb_device *dev) {
  gb_cuda *gpu = gb_cuda_of(dev);
  cudaSetDevice(gpu->ordinal);
  cudaStreamSynchronize(gpu->stream); /* blocks may be in use */
  gb_cuda_feed_close(gpu);
  for (gb_device *d = dev; d != NULL; d = d->next) gb_cuda_memory_close(&d->memory);
  close_gpu(gpu);
}

static gb_status wait (gb_device *dev, gb_error *err) { return gb_cuda_wait(gb_cuda_of(dev), err); }
static gb_status settle (gb_device *dev, bool *more, gb_error *err) {
  (void)err;
  *more = gb_cuda_compilation_settle(gb_cuda_of(dev));
  return GB_OK;
}
static const char *isa (const gb_device *dev) { return gb_cuda_of(dev)->isa; }
static const char *library (const gb_device *dev) { return gb_cuda_of(dev)->text; }
static const char *kernels (const gb_device *dev) { return gb_cuda_compilation_text(gb_cuda_of(dev)); }

static const gb_device_ops cuda_ops = {.name = "cuda",
                                       .memory = gb_cuda_memory,
                                       .set_threads = set_threads,
                                       .close = close_device,
                                       .schedule = gb_cuda_fold_schedule,
                                       .block = GB_CUDA_DENSE_BLOCK,
                                       .compile = gb_cuda_fold_compile,
                                       .release = gb_cuda_fold_release,
                                       .kernel_scratch = gb_cuda_fold_scratch,
                                       .kernel_state = gb_cuda_fold_state,
                                       .launch = gb_cuda_fold_launch,
                                       .opaque_scratch = gb_cuda_opaque_scratch,
                                       .opaque = gb_cuda_opaque,
                                       .supports = gb_cuda_supports,
                                       .wait = wait,
                                       .clock = &gb_cuda_clock_ops,
                                       .settle = settle,
                                       .panel = &gb_cuda_panel_ops,
                                       .cluster = &gb_cuda_cluster_ops,
                                       .arithmetics = gb_cuda_arithmetics,
                                       .isa = isa,
                                       .library = library,
                                       .kernels = kernels,
                                       .price = &gb_cuda_price_ops};

/* GIBBOUS_CUDA_PANEL, for tests: results do not depend on it. */
static size_t panel_of_environment (void) {
  const char *text = getenv("GIBBOUS_CUDA_PANEL");
  return text == NULL ? 0 : (size_t)strtoull(text, NULL, 10);
}

static gb_status make_device (gb_cuda *gpu, size_t limit, gb_device **out, gb_error *err) {
  GB_TRY(open_gpu(gpu, err));
  gpu->panel = panel_of_environment();
  int arithmetic;
  GB_TRY(gb_cuda_arithmetic_chosen(&arithmetic, err));
  GB_TRY(choose_limit(&limit, err));
  gb_device *dev = calloc(1, sizeof *dev);
  if (dev == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a device");
  dev->priv = gpu;
  dev->pool = gpu->home->pool;
  gb_device_init(dev, &cuda_ops, gb_cuda_memory(dev), limit);
  snprintf(dev->name, sizeof dev->name, "cuda:%d", gpu->ordinal);
  dev->arithmetic = arithmetic;
  *out = dev;
  return GB_OK;
}

static gb_status check_abi (unsigned abi, gb_error *err) {
  if (abi == GB_DEVICE_ABI) return GB_OK;
  return gb_fail(err, GB_EDEVICE, "libgibbous_cuda.so is of another version of the program");
}

gb_device_open_function gb_device_open_plugin;
gb_status gb_device_open_plugin (unsigned abi, gb_device *home, int ordinal, size_t limit, gb_device **out,
                                 gb_error *err) {
  int count;
  GB_TRY(check_abi(abi, err));
  GB_TRY(count_gpus(&count, err));
  GB_TRY(check_number(ordinal, count, err));
  gb_cuda *gpu = calloc(1, sizeof *gpu);
  if (gpu == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a device");
  gpu->ordinal = ordinal;
  gpu->home = home;
  const gb_status st = make_device(gpu, limit, out, err);
  if (st != GB_OK) close_gpu(gpu);
  return st;
}

gb_device_count_function gb_device_count_plugin;
gb_status gb_device_count_plugin (unsigned abi, int *count, gb_error *err) {
  GB_TRY(check_abi(abi, err));
  return count_gpus(count, err);
}
