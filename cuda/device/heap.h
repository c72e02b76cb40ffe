/* heap.h - blocks of one range of addresses, by offsets from its beginning: no address is touched. The
** smallest span of free bytes that holds a block is the one that gives it; of equal ones the first. */
#ifndef GB_CUDA_DEVICE_HEAP_H
#define GB_CUDA_DEVICE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#define GB_CUDA_GRAIN ((size_t)256) /* of offsets and sizes */

typedef struct gb_cuda_span {
  size_t at, bytes;
} gb_cuda_span;

typedef struct gb_cuda_heap {
  gb_cuda_span *span; /* free, ascending; no two touch */
  size_t nspans, room;
  size_t live, blocks; /* bytes and number of blocks */
} gb_cuda_heap;

/* Bytes that a block takes: at least one grain. */
static inline size_t gb_cuda_grains (size_t bytes) {
  return bytes == 0 ? GB_CUDA_GRAIN : (bytes + GB_CUDA_GRAIN - 1) / GB_CUDA_GRAIN * GB_CUDA_GRAIN;
}

bool gb_cuda_heap_open (gb_cuda_heap *h, size_t extent); /* false: no memory of the host */
void gb_cuda_heap_close (gb_cuda_heap *h);
/* False where no span holds so many bytes, or the host has no memory for the record of one more. */
bool gb_cuda_heap_take (gb_cuda_heap *h, size_t bytes, size_t *at);
/* As the one above at this offset, whose bytes are free. */
bool gb_cuda_heap_take_at (gb_cuda_heap *h, size_t at, size_t bytes);
void gb_cuda_heap_give (gb_cuda_heap *h, size_t at, size_t bytes); /* as taken */
bool gb_cuda_heap_is_free (const gb_cuda_heap *h, size_t at, size_t bytes);

#endif
