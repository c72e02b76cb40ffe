/* memory.cpp - what devices and the host hold: regions by address, limits, guard pages, canaries. A piece
** of cudaMalloc lies between pages that cannot be touched; the bytes that rounding leaves before and after it are
** compared after each piece of work that came near. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emulation.h"
#include "graph.h"
#include "internal.h"

namespace emu {

static const size_t page = 4096, guard = size_t(1) << 20; /* closed on both sides of a piece */
static const unsigned char canary = 0x5A;
static size_t up (size_t n, size_t to) { return (n + to - 1) / to * to; }

std::map<char *, region> &regions (void) {
  static auto *all = new std::map<char *, region>; /* outlives what runs at exit */
  return *all;
}

/* -- regions */

static const region *region_at (const char *p) {
  auto it = regions().upper_bound((char *)(uintptr_t)p);
  if (it == regions().begin()) return nullptr;
  --it;
  return p < it->first + it->second.bytes || p == it->first ? &it->second : nullptr;
}

const region *region_of (const void *at, size_t bytes) {
  const char *p = (const char *)at, *end = p + bytes;
  const region *first = region_at(p);
  if (first == nullptr) return nullptr;
  for (const region *r = first; r != nullptr; r = region_at(p)) {
    auto it = regions().upper_bound((char *)(uintptr_t)p);
    --it;
    if (end <= it->first + r->bytes) return first;
    p = it->first + r->bytes;
    if (r->of != kind::mapped) return nullptr;
  }
  return nullptr;
}

static std::string describe_in (const char *p, const char *at, const region &r) {
  char text[160];
  const char *what = r.of == kind::pinned ? "pinned memory" : "memory of device";
  if (p >= at && p < at + r.bytes)
    snprintf(text, sizeof text, "%p, byte %zu of %zu of %s %d", (const void *)p, (size_t)(p - at), r.bytes,
             what, r.device);
  else
    snprintf(text, sizeof text, "%p, %td bytes from the begin of %zu bytes of %s %d", (const void *)p, p - at,
             r.bytes, what, r.device);
  return text;
}

std::string describe_address (const void *address) {
  const char *p = (const char *)address;
  for (auto &entry : regions())
    if (p >= entry.first && p < entry.first + entry.second.bytes)
      return describe_in(p, entry.first, entry.second);
  for (auto &entry : regions())
    if (p + guard >= entry.second.base && p < entry.second.base + entry.second.mapped + guard)
      return describe_in(p, entry.first, entry.second);
  char text[64];
  snprintf(text, sizeof text, "%p, no memory of a device", address);
  return text;
}

cudaError_t charge (int d, size_t bytes) {
  device &dev = devices()[(size_t)d];
  if (bytes > dev.limit - dev.used) return cudaErrorMemoryAllocation;
  dev.used += bytes;
  if (dev.used > dev.most) dev.most = dev.used;
  return cudaSuccess;
}
void uncharge (int d, size_t bytes) { devices()[(size_t)d].used -= bytes; }

/* Of a huge piece only the ends, so that it costs no memory. */
void fill_fresh (char *at, size_t bytes) {
  const size_t whole = size_t(64) << 20, end = size_t(1) << 20;
  if (!set.poison) return;
  if (bytes <= whole) {
    memset(at, 0xFF, bytes);
    return;
  }
  memset(at, 0xFF, end);
  memset(at + bytes - end, 0xFF, end);
}

static void check_bytes (const char *after, const char *from, const char *to, const char *at,
                         const region &r) {
  if (from == to || !is_open(from)) return;
  for (const char *p = from; p < to; p++)
    if ((unsigned char)*p != canary)
      stop("%s wrote at byte %td of a piece of %zu bytes", after, p - at, r.bytes);
}
void check_canaries (const char *after) {
  for (auto &entry : regions()) {
    const region &r = entry.second;
    if (r.of != kind::device) continue;
    const char *at = entry.first;
    check_bytes(after, r.base, at, at, r);
    check_bytes(after, at + r.bytes, r.base + r.mapped, at, r);
  }
}

/* -- cudaMalloc and the like */

static size_t charged (size_t bytes) { return up(bytes, 512); }

static cudaError_t take_device (void **out, size_t bytes, kind of) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  const int d = current_device();
  if (bytes > SIZE_MAX / 2) return cudaErrorMemoryAllocation;
  if (charge(d, charged(bytes)) != cudaSuccess) return cudaErrorMemoryAllocation;
  const size_t body = up(bytes, 256), mapped = up(body, page);
  char *low = (char *)mmap(nullptr, mapped + 2 * guard, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (low == MAP_FAILED) {
    uncharge(d, charged(bytes));
    return cudaErrorMemoryAllocation;
  }
  char *base = low + guard;
  mprotect(base, mapped, PROT_READ | PROT_WRITE);
  char *at = base + mapped - body;
  fill_fresh(at, bytes);
  memset(base, canary, (size_t)(at - base));
  memset(at + bytes, canary, body - bytes);
  const region made = {bytes, base, mapped, of, d, false, {}};
  regions()[at] = made;
  set_door(made);
  *out = at;
  return cudaSuccess;
}

static cudaError_t give_device (void *p) {
  if (p == nullptr) return cudaSuccess;
  auto it = regions().find((char *)p);
  if (it == regions().end() || (it->second.of != kind::device && it->second.of != kind::managed))
    return cudaErrorInvalidValue;
  const region r = it->second;
  regions().erase(it);
  forget_doors(r.base, r.mapped);
  uncharge(r.device, charged(r.bytes));
  munmap(r.base - guard, r.mapped + 2 * guard);
  return cudaSuccess;
}

static cudaError_t take_pinned (void **out, size_t bytes) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  const size_t mapped = up(bytes == 0 ? 1 : bytes, page);
  char *p = (char *)mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return cudaErrorMemoryAllocation;
  regions()[p] = {bytes, p, mapped, kind::pinned, current_device(), false, {}};
  *out = p;
  return cudaSuccess;
}

static cudaError_t give_pinned (void *p, bool registered) {
  if (p == nullptr && !registered) return cudaSuccess;
  auto it = regions().find((char *)p);
  const bool known = it != regions().end() && it->second.of == kind::pinned &&
                     it->second.registered == registered;
  if (!known) return registered ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue;
  if (!registered) munmap(it->second.base, it->second.mapped);
  regions().erase(it);
  return cudaSuccess;
}

static cudaError_t register_pinned (void *p, size_t bytes) {
  if (p == nullptr || bytes == 0) return cudaErrorInvalidValue;
  auto next = regions().lower_bound((char *)p);
  const bool into_next = next != regions().end() && next->first < (char *)p + bytes;
  if (into_next || region_at((char *)p) != nullptr) return cudaErrorHostMemoryAlreadyRegistered;
  regions()[(char *)p] = {bytes, (char *)p, 0, kind::pinned, current_device(), true, {}};
  return cudaSuccess;
}

}   // namespace emu

using namespace emu;
extern "C" {

cudaError_t cudaMalloc (void **out, size_t bytes) {
  EMU_CALL("cudaMalloc");
  const cudaError_t e = not_while_recording();
  return remember(e != cudaSuccess ? e : take_device(out, bytes, kind::device));
}
cudaError_t cudaMallocManaged (void **out, size_t bytes, unsigned) {
  EMU_CALL("cudaMallocManaged");
  return remember(take_device(out, bytes, kind::managed));
}
cudaError_t cudaFree (void *p) {
  EMU_CALL("cudaFree");
  const cudaError_t e = not_while_recording();
  if (e != cudaSuccess) return remember(e);
  if (p != nullptr) run_all(-1);
  if (current().lost != cudaSuccess) return remember(current().lost);
  return remember(give_device(p));
}
cudaError_t cudaMallocAsync (void **out, size_t bytes, cudaStream_t stream) {
  EMU_CALL("cudaMallocAsync");
  emu::stream *s;
  const cudaError_t e = check_stream(stream, &s);
  return remember(e != cudaSuccess ? e : take_device(out, bytes, kind::device));
}
cudaError_t cudaFreeAsync (void *p, cudaStream_t stream) {
  EMU_CALL("cudaFreeAsync");
  emu::stream *s;
  const cudaError_t e = check_stream(stream, &s);
  if (e != cudaSuccess) return remember(e);
  if (p != nullptr && regions().count((char *)p) == 0) return remember(cudaErrorInvalidValue);
  enqueue(s, task::mark, "cudaFreeAsync", 1e-6, [p] { give_device(p); });
  return cudaSuccess;
}

cudaError_t cudaMallocHost (void **out, size_t bytes) {
  EMU_CALL("cudaMallocHost");
  const cudaError_t e = not_while_recording();
  return remember(e != cudaSuccess ? e : take_pinned(out, bytes));
}
cudaError_t cudaHostAlloc (void **out, size_t bytes, unsigned) {
  EMU_CALL("cudaHostAlloc");
  const cudaError_t e = not_while_recording();
  return remember(e != cudaSuccess ? e : take_pinned(out, bytes));
}
cudaError_t cudaFreeHost (void *p) {
  EMU_CALL("cudaFreeHost");
  const cudaError_t e = not_while_recording();
  if (e != cudaSuccess) return remember(e);
  run_all(-1);
  return remember(give_pinned(p, false));
}
cudaError_t cudaHostRegister (void *p, size_t bytes, unsigned) {
  EMU_CALL("cudaHostRegister");
  return remember(register_pinned(p, bytes));
}
cudaError_t cudaHostUnregister (void *p) {
  EMU_CALL("cudaHostUnregister");
  run_all(-1);
  return remember(give_pinned(p, true));
}
cudaError_t cudaHostGetDevicePointer (void **out, void *p, unsigned) {
  EMU_CALL("cudaHostGetDevicePointer");
  const region *r = region_of(p, 1);
  if (r == nullptr || r->of != kind::pinned) return remember(cudaErrorInvalidValue);
  *out = p;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo (size_t *idle, size_t *total) {
  EMU_CALL("cudaMemGetInfo");
  *idle = current().limit - current().used;
  *total = current().limit;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes (cudaPointerAttributes *out, const void *p) {
  EMU_CALL("cudaPointerGetAttributes");
  const region *r = region_of(p, 1);
  *out = cudaPointerAttributes();
  out->type = r == nullptr             ? cudaMemoryTypeUnregistered
              : r->of == kind::pinned  ? cudaMemoryTypeHost
              : r->of == kind::managed ? cudaMemoryTypeManaged
                                       : cudaMemoryTypeDevice;
  out->device = r == nullptr ? -2 : r->device;
  out->devicePointer = r == nullptr ? nullptr : (void *)(uintptr_t)p;
  out->hostPointer = r == nullptr || r->of == kind::device || r->of == kind::mapped ? nullptr
                                                                                    : (void *)(uintptr_t)p;
  return cudaSuccess;
}

size_t emu_bytes (int device) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  return devices()[(size_t)device].used;
}
size_t emu_most_bytes (int device) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  return devices()[(size_t)device].most;
}
size_t emu_pieces (void) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  return regions().size();
}

bool emu_is_real (void) { return false; }
}
