/* virtual.cpp - the driver's calls for virtual memory: addresses are reserved, pages are made, and pages are mapped to
** addresses. Pages are parts of one file in memory a device, so they keep their values from one mapping to the next.
** The driver is reached by cudaGetDriverEntryPoint. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "internal.h"

namespace emu {

static const size_t granularity = size_t(2) << 20;

struct pages {
  int device;
  size_t bytes;
  off_t offset; /* in the device's file */
  int mappings;
  bool released;
};
struct file {
  int fd = -1;
  off_t end = 0;
};
static std::map<char *, size_t> reserved;
static std::map<CUmemGenericAllocationHandle, pages> made;
static std::map<char *, CUmemGenericAllocationHandle> mapped; /* beside regions() */
static std::map<int, file> files;

static bool whole (size_t n) { return n > 0 && n % granularity == 0; }

static CUresult reserve (CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wanted) {
  if (out == nullptr || !whole(bytes) || (alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t to = std::max(alignment, granularity);
  char *p =
      (char *)mmap((void *)wanted, bytes + to, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  char *at = (char *)(((uintptr_t)p + to - 1) / to * to);
  if (at > p) munmap(p, (size_t)(at - p));
  munmap(at + bytes, (size_t)(p + to - at));
  reserved[at] = bytes;
  *out = (CUdeviceptr)at;
  return CUDA_SUCCESS;
}

static CUresult unreserve (char *at, size_t bytes) {
  auto it = reserved.find(at);
  if (it == reserved.end() || it->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  auto inside = mapped.lower_bound(at);
  if (inside != mapped.end() && inside->first < at + bytes) return CUDA_ERROR_INVALID_VALUE;
  munmap(at, bytes);
  reserved.erase(it);
  return CUDA_SUCCESS;
}

/* -- pages */

static file &file_of (int device) {
  file &f = files[device];
  if (f.fd < 0) f.fd = memfd_create("emulated device", MFD_CLOEXEC);
  if (f.fd < 0) stop("no memory for the pages of device %d", device);
  return f;
}

static void fill_pages (const pages &p) {
  void *at = mmap(nullptr, p.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_of(p.device).fd, p.offset);
  if (at == MAP_FAILED) stop("no memory for pages of device %d", p.device);
  fill_fresh((char *)at, p.bytes);
  munmap(at, p.bytes);
}

static CUresult make (CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *how) {
  static CUmemGenericAllocationHandle next = 1;
  if (out == nullptr || how == nullptr || !whole(bytes) || how->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      how->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  const int d = how->location.id;
  if (d < 0 || (size_t)d >= devices().size()) return CUDA_ERROR_INVALID_DEVICE;
  if (charge(d, bytes) != cudaSuccess) return CUDA_ERROR_OUT_OF_MEMORY;
  file &f = file_of(d);
  const pages p = {d, bytes, f.end, 0, false};
  f.end += (off_t)bytes; /* places are used once: the file is sparse */
  if (ftruncate(f.fd, f.end) != 0) stop("no memory for pages of device %d", d);
  fill_pages(p);
  made[next] = p;
  *out = next++;
  return CUDA_SUCCESS;
}

static void drop_unused (CUmemGenericAllocationHandle handle) {
  const pages &p = made.at(handle);
  if (!p.released || p.mappings > 0) return;
  fallocate(file_of(p.device).fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, p.offset, (off_t)p.bytes);
  uncharge(p.device, p.bytes);
  made.erase(handle);
}

static CUresult release (CUmemGenericAllocationHandle handle) {
  auto it = made.find(handle);
  if (it == made.end() || it->second.released) return CUDA_ERROR_INVALID_VALUE;
  it->second.released = true;
  drop_unused(handle);
  return CUDA_SUCCESS;
}

/* -- mappings */

static bool is_reserved (const char *at, size_t bytes) {
  auto it = reserved.upper_bound((char *)(uintptr_t)at);
  if (it == reserved.begin()) return false;
  --it;
  return at + bytes <= it->first + it->second;
}

static bool overlaps (char *at, size_t bytes) {
  auto it = regions().lower_bound(at);
  if (it != regions().end() && it->first < at + bytes) return true;
  return region_of(at, 1) != nullptr;
}

static CUresult map_pages (char *at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle) {
  auto it = made.find(handle);
  if (it == made.end() || it->second.released || !whole(bytes) || offset != 0 || bytes > it->second.bytes ||
      (uintptr_t)at % granularity != 0 || !is_reserved(at, bytes) || overlaps(at, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  pages &p = it->second;
  if (mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file_of(p.device).fd, p.offset) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  p.mappings++;
  mapped[at] = handle;
  regions()[at] = {bytes, at, bytes, kind::mapped, p.device, false, {}};
  return CUDA_SUCCESS;
}

/* The mappings that [at, at + bytes) holds wholly; empty where it cuts one or leaves them. */
static std::vector<char *> mappings_in (char *at, size_t bytes) {
  std::vector<char *> all;
  char *p = at;
  while (p < at + bytes) {
    auto it = mapped.find(p);
    if (it == mapped.end()) return {};
    all.push_back(p);
    p += regions().at(p).bytes;
  }
  if (p != at + bytes) all.clear();
  return all;
}

static CUresult unmap_pages (char *at, size_t bytes) {
  const auto all = mappings_in(at, bytes);
  if (all.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (char *p : all) {
    const auto handle = mapped.at(p);
    mmap(p, regions().at(p).bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    forget_doors(p, regions().at(p).mapped);
    regions().erase(p);
    mapped.erase(p);
    made.at(handle).mappings--;
    drop_unused(handle);
  }
  return CUDA_SUCCESS;
}

static CUresult set_access (char *at, size_t bytes, const CUmemAccessDesc *wanted, size_t count) {
  const auto all = mappings_in(at, bytes);
  if (all.empty() || wanted == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    if (wanted[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    for (char *p : all)
      if (wanted[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        regions().at(p).access.insert(wanted[i].location.id);
      else regions().at(p).access.erase(wanted[i].location.id);
  }
  for (char *p : all) set_door(regions().at(p));
  return CUDA_SUCCESS;
}

}   // namespace emu

using namespace emu;
extern "C" {

CUresult cuMemGetAllocationGranularity (size_t *out, const CUmemAllocationProp *,
                                        CUmemAllocationGranularity_flags) {
  EMU_DRIVER_CALL("cuMemGetAllocationGranularity");
  *out = granularity;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve (CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wanted,
                              unsigned long long) {
  EMU_DRIVER_CALL("cuMemAddressReserve");
  return reserve(out, bytes, alignment, wanted);
}
CUresult cuMemAddressFree (CUdeviceptr at, size_t bytes) {
  EMU_DRIVER_CALL("cuMemAddressFree");
  return unreserve((char *)at, bytes);
}
CUresult cuMemCreate (CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *how,
                      unsigned long long) {
  EMU_DRIVER_CALL("cuMemCreate");
  return make(out, bytes, how);
}
CUresult cuMemRelease (CUmemGenericAllocationHandle handle) {
  EMU_DRIVER_CALL("cuMemRelease");
  return release(handle);
}
CUresult cuMemMap (CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                   unsigned long long) {
  EMU_DRIVER_CALL("cuMemMap");
  return map_pages((char *)at, bytes, offset, handle);
}
CUresult cuMemUnmap (CUdeviceptr at, size_t bytes) {
  EMU_DRIVER_CALL("cuMemUnmap");
  return unmap_pages((char *)at, bytes);
}
CUresult cuMemSetAccess (CUdeviceptr at, size_t bytes, const CUmemAccessDesc *wanted, size_t count) {
  EMU_DRIVER_CALL("cuMemSetAccess");
  return set_access((char *)at, bytes, wanted, count);
}
CUresult cuMemGetAddressRange (CUdeviceptr *base, size_t *bytes, CUdeviceptr at) {
  EMU_DRIVER_CALL("cuMemGetAddressRange");
  const region *r = region_of((void *)at, 1);
  if (!on_device(r)) return CUDA_ERROR_NOT_FOUND;
  for (auto &entry : regions())
    if (&entry.second == r) *base = (CUdeviceptr)entry.first;
  *bytes = r->bytes;
  return CUDA_SUCCESS;
}
}
