/* heap.c - free spans in an array by address. */
#include "cuda/device/heap.h"

#include <stdlib.h>
#include <string.h>

bool gb_cuda_heap_open (gb_cuda_heap *h, size_t extent) {
  *h = (gb_cuda_heap){.room = 64};
  h->span = malloc(h->room * sizeof *h->span);
  if (h->span == NULL) return false;
  if (extent > 0) h->span[h->nspans++] = (gb_cuda_span){0, extent};
  return true;
}

void gb_cuda_heap_close (gb_cuda_heap *h) {
  free(h->span);
  *h = (gb_cuda_heap){.span = NULL};
}

/* The last span that begins at or before 'at'; nspans if all begin after it. */
static size_t span_before (const gb_cuda_heap *h, size_t at) {
  size_t low = 0, high = h->nspans;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (h->span[middle].at <= at) low = middle + 1;
    else high = middle;
  }
  return low == 0 ? h->nspans : low - 1;
}

static void insert (gb_cuda_heap *h, size_t i, gb_cuda_span s) {
  memmove(&h->span[i + 1], &h->span[i], (h->nspans - i) * sizeof *h->span);
  h->span[i] = s;
  h->nspans++;
}

static void drop (gb_cuda_heap *h, size_t i) {
  h->nspans--;
  memmove(&h->span[i], &h->span[i + 1], (h->nspans - i) * sizeof *h->span);
}

/* Between b blocks lie at most b + 1 spans: with this room, giving a block back needs no memory. */
static bool has_room (gb_cuda_heap *h) {
  if (h->blocks + 2 < h->room) return true;
  gb_cuda_span *wider = realloc(h->span, 2 * h->room * sizeof *wider);
  if (wider == NULL) return false;
  h->span = wider;
  h->room *= 2;
  return true;
}

static void take_from (gb_cuda_heap *h, size_t i, size_t at, size_t bytes) {
  gb_cuda_span *s = &h->span[i];
  const size_t before = at - s->at, after = s->bytes - before - bytes;
  if (before > 0) s->bytes = before;
  else if (after > 0) *s = (gb_cuda_span){at + bytes, after};
  else drop(h, i);
  if (before > 0 && after > 0) insert(h, i + 1, (gb_cuda_span){at + bytes, after});
  h->live += bytes;
  h->blocks++;
}

bool gb_cuda_heap_take (gb_cuda_heap *h, size_t bytes, size_t *at) {
  size_t best = h->nspans;
  if (!has_room(h)) return false;
  for (size_t i = 0; i < h->nspans; i++)
    if (h->span[i].bytes >= bytes && (best == h->nspans || h->span[i].bytes < h->span[best].bytes)) best = i;
  if (best == h->nspans) return false;
  *at = h->span[best].at;
  take_from(h, best, *at, bytes);
  return true;
}

bool gb_cuda_heap_take_at (gb_cuda_heap *h, size_t at, size_t bytes) {
  if (!has_room(h)) return false;
  take_from(h, span_before(h, at), at, bytes);
  return true;
}

bool gb_cuda_heap_is_free (const gb_cuda_heap *h, size_t at, size_t bytes) {
  const size_t i = span_before(h, at);
  return i < h->nspans && h->span[i].bytes - (at - h->span[i].at) >= bytes &&
         at - h->span[i].at <= h->span[i].bytes;
}

void gb_cuda_heap_give (gb_cuda_heap *h, size_t at, size_t bytes) {
  const size_t i = span_before(h, at), next = i == h->nspans ? 0 : i + 1;
  const bool joins = i < h->nspans && h->span[i].at + h->span[i].bytes == at,
             reaches = next < h->nspans && at + bytes == h->span[next].at;
  if (joins && reaches) {
    h->span[i].bytes += bytes + h->span[next].bytes;
    drop(h, next);
  } else if (joins) h->span[i].bytes += bytes;
  else if (reaches) h->span[next] = (gb_cuda_span){at, bytes + h->span[next].bytes};
  else insert(h, next, (gb_cuda_span){at, bytes});
  h->live -= bytes;
  h->blocks--;
}
