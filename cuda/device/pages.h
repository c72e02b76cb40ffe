/* pages.h - one range of a GPU's addresses, of which parts have memory: pages get it when a block needs them
** and give it back when none does. Where the driver has no such ranges, all of it has memory from the
** beginning. */
#ifndef GB_CUDA_DEVICE_PAGES_H
#define GB_CUDA_DEVICE_PAGES_H

#include "cuda/device/gpu.h"
#include "cuda/device/heap.h"

/* Pages that got their memory together and lose it together. */
typedef struct gb_cuda_mapping {
  size_t at, bytes;
  unsigned long long handle;
} gb_cuda_mapping;

typedef struct gb_cuda_pages {
  char *base; /* NULL: not open */
  size_t extent, page;
  gb_cuda_mapping *mapping; /* ascending */
  size_t nmappings, room, mapped;
  bool whole; /* one allocation: no mappings */
} gb_cuda_pages;

/* A range with twice the bytes of the GPU, so that room never ends by fragments; else an allocation of
** 'limit' bytes. Errors: ENOMEM, EDEVICE. */
gb_status gb_cuda_pages_open (gb_cuda *gpu, gb_cuda_pages *p, size_t limit, gb_error *err);
void gb_cuda_pages_close (gb_cuda_pages *p);
/* Gives memory to the pages of these bytes that have none. After a failure some of them may have got it.
** Errors: ENOMEM, EDEVICE. */
gb_status gb_cuda_pages_map (gb_cuda *gpu, gb_cuda_pages *p, size_t at, size_t bytes, gb_error *err);
/* Bytes of mappings that hold no block; and taking their memory away, which waits for the work of the GPU. */
size_t gb_cuda_pages_idle (const gb_cuda_pages *p, const gb_cuda_heap *h);
void gb_cuda_pages_trim (gb_cuda *gpu, gb_cuda_pages *p, const gb_cuda_heap *h);
/* The smallest free span of pages that have memory, with room for so many bytes; false where there is
** none. */
bool gb_cuda_pages_find (const gb_cuda_pages *p, const gb_cuda_heap *h, size_t bytes, size_t *at);

#endif
