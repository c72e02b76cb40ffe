/* memory.c - blocks of a GPU, and copies within it. */
#include "cuda/device/memory.h"

#include <stdlib.h>

#include "cuda/device/pages.h"

typedef struct gpu_memory {
  gb_cuda *gpu;
  gb_cuda_heap heap;
  gb_cuda_pages pages;
} gpu_memory;

/* -- blocks */

/* Errors stay with the GPU: the next call that returns a status reports what is more than a lack of room. */
static void note (gb_cuda *gpu, gb_status st, const gb_error *err) {
  if (st != GB_ENOMEM) gb_cuda_note_error(gpu, st, err);
}

static bool is_open (gb_memory *m) {
  gb_error err;
  gpu_memory *g = m->priv;
  if (g == NULL || g->gpu->failed[0] != '\0') return false;
  if (g->pages.base != NULL) return true;
  cudaSetDevice(g->gpu->ordinal);
  const size_t limit = m->owner != NULL ? m->owner->ledger.limit : g->gpu->total;
  const gb_status st = gb_cuda_pages_open(g->gpu, &g->pages, limit, &err);
  note(g->gpu, st, &err);
  if (st == GB_OK && gb_cuda_heap_open(&g->heap, g->pages.extent)) return true;
  gb_cuda_pages_close(&g->pages);
  return false;
}

static void *cuda_reuse (gb_memory *m, size_t bytes) {
  size_t at;
  bytes = gb_cuda_grains(bytes);
  if (!is_open(m)) return NULL;
  gpu_memory *g = m->priv;
  if (!gb_cuda_pages_find(&g->pages, &g->heap, bytes, &at)) return NULL;
  return gb_cuda_heap_take_at(&g->heap, at, bytes) ? g->pages.base + at : NULL;
}

/* Where the GPU has no more pages, those of freed blocks may be enough. */
static void *cuda_take (gb_memory *m, size_t bytes) {
  size_t at;
  gb_error err;
  bytes = gb_cuda_grains(bytes);
  if (!is_open(m)) return NULL;
  gpu_memory *g = m->priv;
  if (!gb_cuda_heap_take(&g->heap, bytes, &at)) return NULL;
  cudaSetDevice(g->gpu->ordinal);
  gb_status st = gb_cuda_pages_map(g->gpu, &g->pages, at, bytes, &err);
  if (st == GB_ENOMEM) {
    gb_cuda_pages_trim(g->gpu, &g->pages, &g->heap);
    st = gb_cuda_pages_map(g->gpu, &g->pages, at, bytes, &err);
  }
  note(g->gpu, st, &err);
  if (st == GB_OK) return g->pages.base + at;
  gb_cuda_heap_give(&g->heap, at, bytes);
  gb_cuda_pages_trim(g->gpu, &g->pages, &g->heap);
  return NULL;
}

static void cuda_give (gb_memory *m, void *p, size_t bytes) {
  gpu_memory *g = m->priv;
  if (g != NULL) gb_cuda_heap_give(&g->heap, (size_t)((char *)p - g->pages.base), gb_cuda_grains(bytes));
}

static size_t cuda_idle (const gb_memory *m) {
  const gpu_memory *g = m->priv;
  return g == NULL ? 0 : gb_cuda_pages_idle(&g->pages, &g->heap);
}

static void cuda_trim (gb_memory *m) {
  gpu_memory *g = m->priv;
  if (g != NULL) gb_cuda_pages_trim(g->gpu, &g->pages, &g->heap);
}

/* -- copies */

static gb_cuda *gpu_of (const gb_memory *m) { return ((gpu_memory *)m->priv)->gpu; }

static gb_status cuda_upload (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  return gb_cuda_upload(gpu_of(m), to, from, bytes, err);
}

static gb_status cuda_download (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  return gb_cuda_download(gpu_of(m), to, from, bytes, err);
}

static gb_status cuda_copy (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  gb_cuda *gpu = gpu_of(m);
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, gpu->stream));
  return GB_OK;
}

static gb_status cuda_fill (gb_memory *m, void *to, int byte, size_t bytes, gb_error *err) {
  gb_cuda *gpu = gpu_of(m);
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_CUDA_TRY(cudaMemsetAsync(to, byte, bytes, gpu->stream));
  return GB_OK;
}

/* -- the table */

static size_t cuda_capacity (const gb_memory *m) {
  const gpu_memory *g = m->priv;
  return g == NULL ? SIZE_MAX : g->gpu->total;
}

gb_memory gb_cuda_memory (const gb_device *dev) {
  static const gb_memory_ops ops = {.take = cuda_take,
                                    .give = cuda_give,
                                    .idle = cuda_idle,
                                    .reuse = cuda_reuse,
                                    .trim = cuda_trim,
                                    .mapped = gb_cuda_memory_mapped,
                                    .capacity = cuda_capacity,
                                    .upload = cuda_upload,
                                    .download = cuda_download,
                                    .copy = cuda_copy,
                                    .fill = cuda_fill};
  gpu_memory *g = calloc(1, sizeof *g);
  if (g != NULL) g->gpu = gb_cuda_of(dev);
  return (gb_memory){.ops = &ops, .priv = g, .home = &gb_cuda_of(dev)->home->ledger};
}

void gb_cuda_memory_close (gb_memory *m) {
  gpu_memory *g = m->priv;
  if (g == NULL) return;
  gb_cuda_pages_close(&g->pages);
  gb_cuda_heap_close(&g->heap);
  free(g);
  m->priv = NULL;
}

size_t gb_cuda_memory_mapped (const gb_memory *m) {
  const gpu_memory *g = m->priv;
  return g == NULL ? 0 : g->pages.mapped;
}
