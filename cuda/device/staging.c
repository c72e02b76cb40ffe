/* staging.c - copies between a GPU and the host, piece by piece through pinned slots that take turns. */
#include "cuda/device/staging.h"

#include <string.h>

#include "cuda/device/gpu.h"

gb_status gb_cuda_staging_open (gb_cuda_staging *s, gb_ledger *account, gb_error *err) {
  void *at;
  GB_TRY(gb_ledger_book(account, GB_CUDA_SLOTS * GB_CUDA_SLOT, "pinned memory of a GPU", err));
  s->account = account;
  GB_CUDA_TRY(cudaMallocHost(&at, GB_CUDA_SLOTS * GB_CUDA_SLOT));
  s->at = at;
  for (int i = 0; i < GB_CUDA_SLOTS; i++)
    GB_CUDA_TRY(cudaEventCreateWithFlags(&s->done[i], cudaEventDisableTiming));
  return GB_OK;
}

void gb_cuda_staging_close (gb_cuda_staging *s) {
  for (int i = 0; i < GB_CUDA_SLOTS; i++)
    if (s->done[i] != NULL) cudaEventDestroy(s->done[i]);
  if (s->at != NULL) cudaFreeHost(s->at);
  if (s->account != NULL) gb_ledger_unbook(s->account, GB_CUDA_SLOTS * GB_CUDA_SLOT);
  *s = (gb_cuda_staging){.at = NULL};
}

static char *slot_at (const gb_cuda_staging *s, int slot) { return s->at + (size_t)slot * GB_CUDA_SLOT; }

static size_t least (size_t a, size_t b) { return a < b ? a : b; }
static size_t piece_of (size_t left) { return least(left, GB_CUDA_SLOT); }

/* The slot whose turn it is, with nothing under way. */
static gb_status next_slot (gb_cuda_staging *s, int *slot, gb_error *err) {
  *slot = s->next;
  s->next = (s->next + 1) % GB_CUDA_SLOTS;
  GB_CUDA_TRY(cudaEventSynchronize(s->done[*slot]));
  return GB_OK;
}

/* The slot is free when the event is met. Without an event it must be free at once: who takes it next would wait for an
** older copy. */
static gb_status mark_slot (gb_cuda *gpu, cudaStream_t stream, int slot, gb_error *err) {
  const cudaError_t e = cudaEventRecord(gpu->staging.done[slot], stream);
  if (e != cudaSuccess) cudaStreamSynchronize(stream);
  return gb_cuda_status(e, "cudaEventRecord", err);
}

gb_cuda_sending gb_cuda_send_to (gb_cuda *gpu, void *to) {
  return (gb_cuda_sending){.gpu = gpu, .stream = gpu->stream, .to = to};
}

gb_status gb_cuda_send_end (gb_cuda_sending *s, gb_error *err) {
  const size_t bytes = s->used;
  if (bytes == 0) return GB_OK;
  GB_CUDA_TRY(
      cudaMemcpyAsync(s->to, slot_at(&s->gpu->staging, s->slot), bytes, cudaMemcpyHostToDevice, s->stream));
  s->to += bytes;
  s->used = 0;
  return mark_slot(s->gpu, s->stream, s->slot, err);
}

gb_status gb_cuda_send (gb_cuda_sending *s, const void *from, size_t bytes, gb_error *err) {
  for (size_t done = 0, some; done < bytes; done += some) {
    if (s->used == 0) GB_TRY(next_slot(&s->gpu->staging, &s->slot, err));
    some = least(bytes - done, GB_CUDA_SLOT - s->used);
    memcpy(slot_at(&s->gpu->staging, s->slot) + s->used, (const char *)from + done, some);
    s->used += some;
    if (s->used == GB_CUDA_SLOT) GB_TRY(gb_cuda_send_end(s, err));
  }
  return GB_OK;
}

gb_status gb_cuda_upload (gb_cuda *gpu, void *to, const void *from, size_t bytes, gb_error *err) {
  gb_cuda_sending s = gb_cuda_send_to(gpu, to);
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_TRY(gb_cuda_send(&s, from, bytes, err));
  return gb_cuda_send_end(&s, err);
}

/* Piece number 'p' of 'bytes' on its way to a slot. */
static gb_status start_piece (gb_cuda *gpu, const char *from, size_t bytes, size_t p, int *slot,
                              gb_error *err) {
  gb_cuda_staging *s = &gpu->staging;
  GB_TRY(next_slot(s, slot, err));
  GB_CUDA_TRY(cudaMemcpyAsync(slot_at(s, *slot), from + p * GB_CUDA_SLOT, piece_of(bytes - p * GB_CUDA_SLOT),
                              cudaMemcpyDeviceToHost, gpu->stream));
  return mark_slot(gpu, gpu->stream, *slot, err);
}

/* While one piece is looked at, the next is under way. */
gb_status gb_cuda_look (gb_cuda *gpu, const void *from, size_t bytes,
                        void (*look)(void *ud, const void *piece, size_t bytes), void *ud, gb_error *err) {
  const size_t pieces = (bytes + GB_CUDA_SLOT - 1) / GB_CUDA_SLOT;
  int slot[2] = {0};
  GB_TRY(gb_cuda_enter(gpu, err));
  for (size_t p = 0; p <= pieces; p++) {
    if (p < pieces) GB_TRY(start_piece(gpu, from, bytes, p, &slot[p % 2], err));
    if (p == 0) continue;
    GB_CUDA_TRY(cudaEventSynchronize(gpu->staging.done[slot[(p - 1) % 2]]));
    look(ud, slot_at(&gpu->staging, slot[(p - 1) % 2]), piece_of(bytes - (p - 1) * GB_CUDA_SLOT));
  }
  return GB_OK;
}

static void take_piece (void *ud, const void *piece, size_t bytes) {
  char **to = ud;
  memcpy(*to, piece, bytes);
  *to += bytes;
}

gb_status gb_cuda_download (gb_cuda *gpu, void *to, const void *from, size_t bytes, gb_error *err) {
  char *at = to;
  return gb_cuda_look(gpu, from, bytes, take_piece, &at, err);
}
