/* pages.c - ranges of addresses, by functions of the driver. */
#include "cuda/device/pages.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/driver.h"

#define MOST_PAGES 64 /* of one mapping */

/* X(function, version that it has had since) */
#define FUNCTIONS(X)                                                                                         \
  X(cuMemAddressReserve, 10020)                                                                              \
  X(cuMemAddressFree, 10020)                                                                                 \
  X(cuMemCreate, 10020)                                                                                      \
  X(cuMemRelease, 10020)                                                                                     \
  X(cuMemMap, 10020)                                                                                         \
  X(cuMemUnmap, 10020)                                                                                       \
  X(cuMemSetAccess, 10020)                                                                                   \
  X(cuMemGetAllocationGranularity, 10020)

#define X(name, version) static PFN_##name##_v##version name##_;
FUNCTIONS(X)
#undef X

static bool all_there;

static void find_functions (void) {
  all_there = true;
#define X(name, version)                                                                                     \
  {                                                                                                          \
    void *at = gb_cuda_driver_function(#name, version);                                                      \
    memcpy(&name##_, &at, sizeof at);                                                                        \
    all_there &= at != NULL;                                                                                 \
  }
  FUNCTIONS(X)
#undef X
}

/* Results of the driver that the runtime has as well have the same numbers there. */
static gb_status result (CUresult r, const char *call, gb_error *err) {
  return gb_cuda_status((cudaError_t)r, call, err);
}

static CUmemAllocationProp kind_of_memory (const gb_cuda *gpu) {
  return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->ordinal}};
}

static size_t up (size_t bytes, size_t page) { return (bytes + page - 1) / page * page; }

/* False: the driver has no ranges, or none so wide. */
static bool reserve (gb_cuda *gpu, gb_cuda_pages *p) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const CUmemAllocationProp kind = kind_of_memory(gpu);
  CUdeviceptr at = 0;
  pthread_once(&once, find_functions);
  if (!all_there ||
      cuMemGetAllocationGranularity_(&p->page, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
    return false;
  p->extent = up(2 * gpu->total, p->page);
  if (cuMemAddressReserve_(&at, p->extent, 0, 0, 0) != CUDA_SUCCESS) return false;
  p->base = (char *)(uintptr_t)at;
  return true;
}

gb_status gb_cuda_pages_open (gb_cuda *gpu, gb_cuda_pages *p, size_t limit, gb_error *err) {
  *p = (gb_cuda_pages){.base = NULL};
  if (reserve(gpu, p)) return GB_OK;
  void *at;
  if (limit > gpu->total) limit = gpu->total;
  GB_CUDA_TRY(cudaMalloc(&at, limit));
  *p = (gb_cuda_pages){.base = at, .extent = limit, .page = limit, .mapped = limit, .whole = true};
  return GB_OK;
}

static void unmap (gb_cuda_pages *p, size_t i) {
  const gb_cuda_mapping m = p->mapping[i];
  cuMemUnmap_((CUdeviceptr)(uintptr_t)(p->base + m.at), m.bytes);
  cuMemRelease_(m.handle);
  p->mapped -= m.bytes;
  p->nmappings--;
  memmove(&p->mapping[i], &p->mapping[i + 1], (p->nmappings - i) * sizeof *p->mapping);
}

void gb_cuda_pages_close (gb_cuda_pages *p) {
  while (p->nmappings > 0) unmap(p, p->nmappings - 1);
  if (p->whole) cudaFree(p->base);
  else if (p->base != NULL) cuMemAddressFree_((CUdeviceptr)(uintptr_t)p->base, p->extent);
  free(p->mapping);
  *p = (gb_cuda_pages){.base = NULL};
}

/* The first mapping that ends behind 'at'. */
static size_t mapping_after (const gb_cuda_pages *p, size_t at) {
  size_t low = 0, high = p->nmappings;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (p->mapping[middle].at + p->mapping[middle].bytes <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

static gb_status make_room (gb_cuda_pages *p, gb_error *err) {
  if (p->nmappings < p->room) return GB_OK;
  const size_t room = p->room == 0 ? 64 : 2 * p->room;
  gb_cuda_mapping *wider = realloc(p->mapping, room * sizeof *wider);
  if (wider == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the pages of a GPU");
  p->mapping = wider;
  p->room = room;
  return GB_OK;
}

static gb_status give_access (const gb_cuda *gpu, CUdeviceptr at, size_t bytes, gb_error *err) {
  const CUmemAccessDesc access = {.location = kind_of_memory(gpu).location,
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return result(cuMemSetAccess_(at, bytes, &access, 1), "cuMemSetAccess", err);
}

/* One mapping of pages that have no memory. */
static gb_status map (const gb_cuda *gpu, gb_cuda_pages *p, size_t at, size_t bytes, gb_error *err) {
  const CUmemAllocationProp kind = kind_of_memory(gpu);
  const CUdeviceptr address = (CUdeviceptr)(uintptr_t)(p->base + at);
  CUmemGenericAllocationHandle handle;
  GB_TRY(make_room(p, err));
  GB_TRY(result(cuMemCreate_(&handle, bytes, &kind, 0), "cuMemCreate", err));
  gb_status st = result(cuMemMap_(address, bytes, 0, handle, 0), "cuMemMap", err);
  if (st == GB_OK && (st = give_access(gpu, address, bytes, err)) != GB_OK) cuMemUnmap_(address, bytes);
  if (st != GB_OK) {
    cuMemRelease_(handle);
    return st;
  }
  const size_t i = mapping_after(p, at);
  memmove(&p->mapping[i + 1], &p->mapping[i], (p->nmappings - i) * sizeof *p->mapping);
  p->mapping[i] = (gb_cuda_mapping){at, bytes, handle};
  p->nmappings++;
  p->mapped += bytes;
  return GB_OK;
}

gb_status gb_cuda_pages_map (gb_cuda *gpu, gb_cuda_pages *p, size_t at, size_t bytes, gb_error *err) {
  if (p->whole) return GB_OK;
  const size_t end = up(at + bytes, p->page);
  at -= at % p->page;
  while (at < end) {
    const size_t i = mapping_after(p, at);
    if (i < p->nmappings && p->mapping[i].at <= at) {
      at = p->mapping[i].at + p->mapping[i].bytes;
      continue;
    }
    size_t until = i < p->nmappings && p->mapping[i].at < end ? p->mapping[i].at : end;
    if (until - at > MOST_PAGES * p->page) until = at + MOST_PAGES * p->page;
    GB_TRY(map(gpu, p, at, until - at, err));
    at = until;
  }
  return GB_OK;
}

size_t gb_cuda_pages_idle (const gb_cuda_pages *p, const gb_cuda_heap *h) {
  size_t idle = 0;
  for (size_t i = 0; i < p->nmappings; i++)
    if (gb_cuda_heap_is_free(h, p->mapping[i].at, p->mapping[i].bytes)) idle += p->mapping[i].bytes;
  return idle;
}

/* Work that was started may use a block that has been given back since. */
void gb_cuda_pages_trim (gb_cuda *gpu, gb_cuda_pages *p, const gb_cuda_heap *h) {
  if (gb_cuda_pages_idle(p, h) == 0) return;
  cudaSetDevice(gpu->ordinal);
  gb_cuda_note(gpu, cudaStreamSynchronize(gpu->stream), "cudaStreamSynchronize");
  for (size_t i = p->nmappings; i-- > 0;)
    if (gb_cuda_heap_is_free(h, p->mapping[i].at, p->mapping[i].bytes)) unmap(p, i);
}

/* Spans and mappings are walked side by side: a run of mappings that touch is cut by the spans. */
bool gb_cuda_pages_find (const gb_cuda_pages *p, const gb_cuda_heap *h, size_t bytes, size_t *at) {
  size_t best = SIZE_MAX;
  for (size_t i = 0, s = 0; i < p->nmappings;) {
    const size_t from = p->mapping[i].at;
    size_t to = from;
    for (; i < p->nmappings && p->mapping[i].at == to; i++) to += p->mapping[i].bytes;
    for (; s < h->nspans && h->span[s].at < to; s++) {
      const size_t end = h->span[s].at + h->span[s].bytes, low = h->span[s].at > from ? h->span[s].at : from,
                   high = end < to ? end : to;
      if (high > low && high - low >= bytes && high - low < best) {
        best = high - low;
        *at = low;
      }
      if (end > to) break;
    }
  }
  return best != SIZE_MAX;
}
