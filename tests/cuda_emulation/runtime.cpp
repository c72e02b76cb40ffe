/* runtime.cpp - the part of libcudart that a program sees apart from memory and streams: devices and what they are, peers,
** copies, launches, functions, errors. */
#include <stdio.h>
#include <string.h>

#include "emulation.h"
#include "faults.h"
#include "graph.h"
#include "internal.h"

namespace emu {

/* -- devices */

static const int multiprocessors = 132, most_shared = 232448, shared_of_multiprocessor = 233472;
static thread_local int chosen;

static size_t limit_of (size_t device) { return set.bytes[std::min(device, set.bytes.size() - 1)]; }

std::vector<device> &devices (void) {
  static auto *all = [] { /* outlives what runs at exit */
                          read_settings();
                          auto *made = new std::vector<device>(set.devices);
                          for (size_t i = 0; i < made->size(); i++) {
                            (*made)[i].limit = limit_of(i);
                            (*made)[i].legacy.reset(new stream{(int)i, 0, nullptr});
                          }
                          return made;
  }();
  return *all;
}
/* The number of devices stays, as it does in a process. */
void apply_limits (void) {
  for (size_t i = 0; i < devices().size(); i++) devices()[i].limit = std::max(limit_of(i), devices()[i].used);
}

int current_device (void) { return chosen; }
device &current (void) { return devices()[(size_t)chosen]; }

static bool is_device (int d) { return d >= 0 && (size_t)d < devices().size(); }

static void describe (cudaDeviceProp *p, int d) {
  *p = cudaDeviceProp();
  snprintf(p->name, sizeof p->name, "emulated device %d", d);
  p->major = 9;
  p->totalGlobalMem = devices()[(size_t)d].limit;
  p->multiProcessorCount = multiprocessors;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->sharedMemPerBlock = 49152;
  p->sharedMemPerBlockOptin = (size_t)most_shared;
  p->sharedMemPerMultiprocessor = (size_t)shared_of_multiprocessor;
  p->reservedSharedMemPerBlock = 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->totalConstMem = 65536;
  p->l2CacheSize = 50 << 20;
  p->memoryBusWidth = 6144;
  p->asyncEngineCount = 3;
  p->concurrentKernels = 1;
  p->unifiedAddressing = 1;
  p->managedMemory = 1;
  p->canMapHostMemory = 1;
  p->pciBusID = d + 1;
}

static cudaError_t attribute (int *out, cudaDeviceAttr what, int d) {
  cudaDeviceProp p;
  describe(&p, d);
  switch (what) {
    case cudaDevAttrComputeCapabilityMajor: *out = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *out = p.minor; break;
    case cudaDevAttrMultiProcessorCount: *out = p.multiProcessorCount; break;
    case cudaDevAttrWarpSize: *out = p.warpSize; break;
    case cudaDevAttrMaxThreadsPerBlock: *out = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *out = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *out = p.maxBlocksPerMultiProcessor; break;
    case cudaDevAttrMaxBlockDimX: *out = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *out = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *out = p.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *out = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *out = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *out = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *out = (int)p.sharedMemPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *out = (int)p.sharedMemPerBlockOptin; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *out = (int)p.sharedMemPerMultiprocessor; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *out = (int)p.reservedSharedMemPerBlock; break;
    case cudaDevAttrMaxRegistersPerBlock: *out = p.regsPerBlock; break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *out = p.regsPerMultiprocessor; break;
    case cudaDevAttrL2CacheSize: *out = p.l2CacheSize; break;
    case cudaDevAttrAsyncEngineCount: *out = p.asyncEngineCount; break;
    case cudaDevAttrConcurrentKernels: *out = p.concurrentKernels; break;
    case cudaDevAttrUnifiedAddressing: *out = p.unifiedAddressing; break;
    case cudaDevAttrManagedMemory: *out = p.managedMemory; break;
    case cudaDevAttrClockRate: *out = 1980000; break;
    case cudaDevAttrMemoryClockRate: *out = 3201000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *out = p.memoryBusWidth; break;
    case cudaDevAttrMemoryPoolsSupported: *out = 1; break;
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrIntegrated: *out = 0; break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

/* -- copies */

static double copy_seconds (size_t bytes) { return 5e-6 + (double)bytes / 50e9; }

/* Where the two ends may lie; a region that the copy leaves is refused. */
static cudaError_t check_end (const void *p, size_t bytes, bool wants_device, bool any) {
  const region *all = region_of(p, bytes);
  if (all == nullptr && region_of(p, 1) != nullptr) return cudaErrorInvalidValue;
  if (any) return cudaSuccess;
  const bool both = all != nullptr && all->of == kind::managed;
  return both || on_device(all) == wants_device ? cudaSuccess : cudaErrorInvalidValue;
}
static cudaError_t check_copy (const void *to, const void *from, size_t bytes, cudaMemcpyKind way) {
  if ((unsigned)way > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  const bool any = way == cudaMemcpyDefault;
  const bool to_device = way == cudaMemcpyHostToDevice || way == cudaMemcpyDeviceToDevice;
  const bool from_device = way == cudaMemcpyDeviceToHost || way == cudaMemcpyDeviceToDevice;
  const cudaError_t e = check_end(to, bytes, to_device, any);
  return e != cudaSuccess ? e : check_end(from, bytes, from_device, any);
}

struct rectangle {
  void *to;
  size_t to_pitch;
  const void *from;
  size_t from_pitch, width, rows;
};
static void copy_rows (const rectangle &r) {
  for (size_t i = 0; i < r.rows; i++)
    memmove((char *)r.to + i * r.to_pitch, (const char *)r.from + i * r.from_pitch, r.width);
}
static size_t span_of (size_t pitch, size_t width, size_t rows) { return (rows - 1) * pitch + width; }
static bool pageable (const void *p) { return region_of(p, 1) == nullptr; }

/* From memory that is not pinned the bytes are taken at the call; into such memory the call waits. A graph does neither. */
static cudaError_t copy (const char *name, const rectangle &r, cudaMemcpyKind way, cudaStream_t handle,
                         bool waits) {
  if (r.width == 0 || r.rows == 0) return cudaSuccess;
  if (r.rows > 1 && (r.to_pitch < r.width || r.from_pitch < r.width)) return cudaErrorInvalidPitchValue;
  const cudaError_t e = check_end(r.to, span_of(r.to_pitch, r.width, r.rows), false, true);
  const cudaError_t f = check_end(r.from, span_of(r.from_pitch, r.width, r.rows), false, true);
  const cudaError_t g = check_copy(r.to, r.from, r.width, way);
  if (e != cudaSuccess || f != cudaSuccess || g != cudaSuccess)
    return e != cudaSuccess ? e : f != cudaSuccess ? f : g;
  stream *s;
  const cudaError_t h = waits ? not_while_recording() : cudaSuccess, i = check_stream(handle, &s);
  if (h != cudaSuccess || i != cudaSuccess) return h != cudaSuccess ? h : i;
  const double seconds = copy_seconds(r.width * r.rows);
  if (!waits && s->into == nullptr && pageable(r.from)) {
    auto taken = std::make_shared<std::vector<char>>(r.width * r.rows);
    copy_rows({taken->data(), r.width, r.from, r.from_pitch, r.width, r.rows});
    const rectangle rest = {r.to, r.to_pitch, taken->data(), r.width, r.width, r.rows};
    enqueue(s, task::copy, name, seconds, [rest, taken] { copy_rows(rest); });
    return cudaSuccess;
  }
  auto w = enqueue(s, task::copy, name, seconds, [r] { copy_rows(r); });
  return waits || (s->into == nullptr && pageable(r.to)) ? wait_for(w) : cudaSuccess;
}

static cudaError_t fill (const char *name, void *to, size_t pitch, int byte, size_t width, size_t rows,
                         cudaStream_t handle) {
  if (width == 0 || rows == 0) return cudaSuccess;
  if (!on_device(region_of(to, span_of(pitch, width, rows)))) return cudaErrorInvalidValue;
  stream *s;
  const cudaError_t e = check_stream(handle, &s);
  if (e != cudaSuccess) return e;
  enqueue(s, task::copy, name, copy_seconds(width * rows), [=] {
    for (size_t i = 0; i < rows; i++) memset((char *)to + i * pitch, byte, width);
  });
  return cudaSuccess;
}

/* -- launches */

static std::map<const void *, int> shared_allowed;
static std::map<const void *, std::pair<std::string, by_address>> &by_addresses (void) {
  static std::map<const void *, std::pair<std::string, by_address>> all;
  return all;
}
void export_kernel (const void *function, const char *name, by_address run) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  by_addresses()[function] = {name, std::move(run)};
}

static cudaError_t check_launch (const launch_call &how) {
  const dim3 &g = how.grid, &b = how.block;
  const uint64_t threads = (uint64_t)b.x * b.y * b.z;
  auto allowed = shared_allowed.find(how.function);
  const size_t most = allowed == shared_allowed.end() ? 49152 : (size_t)allowed->second;
  if (threads == 0 || threads > 1024 || b.x > 1024 || b.y > 1024 || b.z > 64)
    return cudaErrorInvalidConfiguration;
  if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > 2147483647u || g.y > 65535 || g.z > 65535)
    return cudaErrorInvalidConfiguration;
  return how.shared > most ? cudaErrorInvalidValue : cudaSuccess;
}

/* A kernel that gets an address of the host would fault on a device; here it would work, so it is stopped. */
static void check_pointers (const launch_call &how, const std::vector<const void *> &pointers) {
  if (!set.strict) return;
  for (size_t i = 0; i < pointers.size(); i++) {
    const char *p = (const char *)pointers[i];
    if (p == nullptr || region_of(p, 0) != nullptr || region_of(p - 1, 1) != nullptr) continue;
    stop("kernel %s: its pointer %zu, %p, is no memory of a device", how.name, i + 1, (const void *)p);
  }
}

static thread_local int depth;
inside::inside() { depth++; }
inside::~inside() { depth--; }

cudaError_t launch (const launch_call &how, std::function<void()> thread,
                    const std::vector<const void *> &pointers) {
  EMU_CALL("cudaLaunchKernel");
  const cudaError_t asked = asked_failure((std::string("kernel:") + how.name).c_str());
  if (asked != cudaSuccess && !ends_device(asked)) return remember(asked);
  stream *s;
  cudaError_t e = check_stream(how.stream, &s);
  if (e == cudaSuccess) e = check_launch(how);
  if (e != cudaSuccess) return remember(e);
  check_pointers(how, pointers);
  const double threads = (double)how.grid.x * how.grid.y * how.grid.z * how.block.x * how.block.y *
                         how.block.z;
  const int device = s->device;
  if (asked != cudaSuccess) /* the launch succeeds, and a later wait says that the device is gone */
    enqueue(s, task::mark, how.name, 4e-6, [device, asked] { lose(device, asked); });
  else enqueue(s, task::kernel, how.name, 4e-6 + threads * 1e-10, [how, thread] { run_grid(how, thread); });
  return cudaSuccess;
}

cudaError_t launch_by_address (const launch_call &how, void **arguments) {
  auto it = by_addresses().find(how.function);
  if (it == by_addresses().end())
    stop("a kernel that is launched by its address is not exported (EMU_EXPORT)");
  launch_call named = how;
  named.name = it->second.first.c_str();
  return it->second.second(named, arguments);
}

cudaError_t allow_shared (const void *kernel, int bytes) {
  if (bytes < 0 || bytes > most_shared) return cudaErrorInvalidValue;
  shared_allowed[kernel] = bytes;
  return cudaSuccess;
}

/* Blocks that fit a multiprocessor by threads and shared memory; registers are not known. */
static int resident_blocks (int threads, size_t shared) {
  const int by_threads = 2048 / ((threads + 31) / 32 * 32);
  const int by_shared = (int)((size_t)shared_of_multiprocessor / (shared + 1024));
  return std::min(std::min(by_threads, by_shared), 32);
}

}   // namespace emu

using namespace emu;
extern "C" {

int emu_inside (void) { return depth > 0; }

/* -- devices */

cudaError_t cudaGetDeviceCount (int *out) {
  EMU_CALL("cudaGetDeviceCount", needs::nothing);
  *out = (int)devices().size();
  return remember(*out > 0 ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaSetDevice (int d) {
  EMU_CALL("cudaSetDevice", needs::nothing);
  if (!is_device(d)) return remember(cudaErrorInvalidDevice);
  chosen = d;
  return cudaSuccess;
}
cudaError_t cudaGetDevice (int *out) {
  EMU_CALL("cudaGetDevice", needs::nothing);
  *out = chosen;
  return cudaSuccess;
}
cudaError_t cudaInitDevice (int d, unsigned, unsigned) {
  EMU_CALL("cudaInitDevice");
  return remember(is_device(d) ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaSetDeviceFlags (unsigned) {
  EMU_CALL("cudaSetDeviceFlags");
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit (cudaLimit, size_t) {
  EMU_CALL("cudaDeviceSetLimit");
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties (cudaDeviceProp *out, int d) {
  EMU_CALL("cudaGetDeviceProperties", needs::nothing);
  if (!is_device(d)) return remember(cudaErrorInvalidDevice);
  describe(out, d);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute (int *out, cudaDeviceAttr what, int d) {
  EMU_CALL("cudaDeviceGetAttribute", needs::nothing);
  return remember(is_device(d) ? attribute(out, what, d) : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetPCIBusId (char *out, int bytes, int d) {
  EMU_CALL("cudaDeviceGetPCIBusId", needs::nothing);
  if (!is_device(d)) return remember(cudaErrorInvalidDevice);
  snprintf(out, (size_t)bytes, "0000:%02x:00.0", (unsigned)d + 1);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion (int *out) {
  EMU_CALL("cudaDriverGetVersion", needs::nothing);
  *out = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion (int *out) {
  EMU_CALL("cudaRuntimeGetVersion", needs::nothing);
  *out = CUDART_VERSION;
  return cudaSuccess;
}
/* As on a device, a sticky error outlives it. */
cudaError_t cudaDeviceReset (void) {
  EMU_CALL("cudaDeviceReset");
  run_all(chosen);
  return remember(current().lost);
}
cudaError_t cudaDeviceCanAccessPeer (int *out, int d, int peer) {
  EMU_CALL("cudaDeviceCanAccessPeer", needs::nothing);
  if (!is_device(d) || !is_device(peer)) return remember(cudaErrorInvalidDevice);
  *out = d != peer;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess (int peer, unsigned) {
  EMU_CALL("cudaDeviceEnablePeerAccess");
  if (!is_device(peer) || peer == chosen) return remember(cudaErrorInvalidDevice);
  return remember(current().peers.insert(peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDeviceDisablePeerAccess (int peer) {
  EMU_CALL("cudaDeviceDisablePeerAccess");
  return remember(current().peers.erase(peer) != 0 ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}

/* -- copies */

cudaError_t cudaMemcpy (void *to, const void *from, size_t bytes, cudaMemcpyKind way) {
  EMU_CALL("cudaMemcpy");
  return remember(copy("cudaMemcpy", {to, bytes, from, bytes, bytes, 1}, way, nullptr, true));
}
cudaError_t cudaMemcpyAsync (void *to, const void *from, size_t bytes, cudaMemcpyKind way,
                             cudaStream_t stream) {
  EMU_CALL("cudaMemcpyAsync");
  return remember(copy("cudaMemcpyAsync", {to, bytes, from, bytes, bytes, 1}, way, stream, false));
}
cudaError_t cudaMemcpy2D (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                          size_t rows, cudaMemcpyKind way) {
  EMU_CALL("cudaMemcpy2D");
  return remember(copy("cudaMemcpy2D", {to, to_pitch, from, from_pitch, width, rows}, way, nullptr, true));
}
cudaError_t cudaMemcpy2DAsync (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                               size_t rows, cudaMemcpyKind way, cudaStream_t stream) {
  EMU_CALL("cudaMemcpy2DAsync");
  return remember(
      copy("cudaMemcpy2DAsync", {to, to_pitch, from, from_pitch, width, rows}, way, stream, false));
}
static bool lies_on (const void *p, size_t bytes, int d) {
  const region *r = region_of(p, bytes);
  return on_device(r) && r->device == d;
}
cudaError_t cudaMemcpyPeerAsync (void *to, int to_device, const void *from, int from_device, size_t bytes,
                                 cudaStream_t stream) {
  EMU_CALL("cudaMemcpyPeerAsync");
  if (!is_device(to_device) || !is_device(from_device)) return remember(cudaErrorInvalidDevice);
  if (bytes > 0 && (!lies_on(to, bytes, to_device) || !lies_on(from, bytes, from_device)))
    return remember(cudaErrorInvalidValue);
  return remember(copy("cudaMemcpyPeerAsync", {to, bytes, from, bytes, bytes, 1}, cudaMemcpyDeviceToDevice,
                       stream, false));
}
cudaError_t cudaMemcpyPeer (void *to, int to_device, const void *from, int from_device, size_t bytes) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
}
cudaError_t cudaMemset (void *to, int byte, size_t bytes) {
  EMU_CALL("cudaMemset");
  return remember(fill("cudaMemset", to, bytes, byte, bytes, 1, nullptr));
}
cudaError_t cudaMemsetAsync (void *to, int byte, size_t bytes, cudaStream_t stream) {
  EMU_CALL("cudaMemsetAsync");
  return remember(fill("cudaMemsetAsync", to, bytes, byte, bytes, 1, stream));
}
cudaError_t cudaMemset2DAsync (void *to, size_t pitch, int byte, size_t width, size_t rows,
                               cudaStream_t stream) {
  EMU_CALL("cudaMemset2DAsync");
  return remember(fill("cudaMemset2DAsync", to, pitch, byte, width, rows, stream));
}
/* Symbols are variables of the host here. */
cudaError_t cudaMemcpyToSymbol (const void *symbol, const void *from, size_t bytes, size_t offset,
                                cudaMemcpyKind) {
  EMU_CALL("cudaMemcpyToSymbol");
  run_all(chosen);
  memcpy((char *)(uintptr_t)symbol + offset, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyFromSymbol (void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind) {
  EMU_CALL("cudaMemcpyFromSymbol");
  run_all(chosen);
  memcpy(to, (const char *)symbol + offset, bytes);
  return remember(current().lost);
}

/* -- functions */

cudaError_t cudaLaunchKernel (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                              cudaStream_t stream) {
  return launch_by_address({function, "?", grid, block, shared, stream}, arguments);
}
cudaError_t cudaFuncSetAttribute (const void *function, cudaFuncAttribute what, int value) {
  EMU_CALL("cudaFuncSetAttribute");
  if (what != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  return remember(allow_shared(function, value));
}
cudaError_t cudaFuncGetAttributes (cudaFuncAttributes *out, const void *function) {
  EMU_CALL("cudaFuncGetAttributes");
  *out = cudaFuncAttributes();
  out->maxThreadsPerBlock = 1024;
  out->numRegs = 32;
  auto allowed = shared_allowed.find(function);
  out->maxDynamicSharedSizeBytes = allowed == shared_allowed.end() ? 49152 : allowed->second;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor (int *out, const void *, int threads,
                                                           size_t shared) {
  EMU_CALL("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (threads <= 0 || threads > 1024) return remember(cudaErrorInvalidValue);
  *out = resident_blocks(threads, shared);
  return cudaSuccess;
}

/* -- errors */

cudaError_t cudaGetLastError (void) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  const cudaError_t e = forget();
  return !devices().empty() && current().lost != cudaSuccess ? current().lost : e;
}
cudaError_t cudaPeekAtLastError (void) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  return !devices().empty() && current().lost != cudaSuccess ? current().lost : remembered();
}
static const struct {
  cudaError_t code;
  const char *name, *text;
} errors[] = {
#define NAMED(code, text)                                                                                    \
  { code, #code, text }
    NAMED(cudaSuccess, "no error"),
    NAMED(cudaErrorInvalidValue, "invalid argument"),
    NAMED(cudaErrorMemoryAllocation, "out of memory"),
    NAMED(cudaErrorInitializationError, "initialization error"),
    NAMED(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    NAMED(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    NAMED(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    NAMED(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    NAMED(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    NAMED(cudaErrorInvalidDevice, "invalid device ordinal"),
    NAMED(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    NAMED(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    NAMED(cudaErrorNotReady, "device not ready"),
    NAMED(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    NAMED(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    NAMED(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    NAMED(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    NAMED(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    NAMED(cudaErrorHostMemoryAlreadyRegistered,
          "part or all of the requested memory range is already mapped"),
    NAMED(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    NAMED(cudaErrorHardwareStackError, "hardware stack error"),
    NAMED(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    NAMED(cudaErrorMisalignedAddress, "misaligned address"),
    NAMED(cudaErrorLaunchFailure, "unspecified launch failure"),
    NAMED(cudaErrorNotPermitted, "operation not permitted"),
    NAMED(cudaErrorNotSupported, "operation not supported"),
#undef NAMED
};
const char *cudaGetErrorName (cudaError_t e) {
  for (auto &known : errors)
    if (known.code == e) return known.name;
  return "unrecognized error code";
}
const char *cudaGetErrorString (cudaError_t e) {
  for (auto &known : errors)
    if (known.code == e) return known.text;
  return "unrecognized error code";
}
}
