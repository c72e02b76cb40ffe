/* view.cuh - panels as kernels see them, and the room in which lists and factors of the host reach them. */
#ifndef GB_CUDA_PANEL_VIEW_CUH
#define GB_CUDA_PANEL_VIEW_CUH

#include "cuda/launch.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "cuda/device/gpu.h"
#include "cuda/panel/panel.h"
}

enum { GB_CUDA_PANEL_THREADS = 256 };

/* Entry (i, k) is number row[i] * stride + column[k] from 'at'; lists lie in the GPU's memory, NULL: 0, 1, 2,
** ... */
struct gb_cuda_view {
  double *at;
  size_t n, r, stride;
  const size_t *row, *column;
};

static GB_DEVICE double *gb_cuda_row (const gb_cuda_view &v, size_t i) {
  return v.at + (v.row != NULL ? v.row[i] : i) * v.stride;
}
static GB_DEVICE double *gb_cuda_entry (const gb_cuda_view &v, size_t i, size_t k) {
  return gb_cuda_row(v, i) + (v.column != NULL ? v.column[k] : k);
}
static GB_DEVICE size_t gb_cuda_thread (void) { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }

static inline unsigned gb_cuda_groups (size_t items, size_t each) {
  return (unsigned)((items + each - 1) / each);
}

/* One piece of work: what it needs of the host goes to the GPU's room. The first failure ends it, and is
** noted. */
struct gb_cuda_work {
  gb_cuda *gpu; /* NULL: it has failed, or the device is lost */
  size_t used;  /* bytes of the room */
};

static inline gb_cuda_work gb_cuda_work_begin (const gb_device *dev) {
  gb_cuda_work w = {gb_cuda_of(dev), 0};
  gb_error err;
  const gb_status st = dev->lost[0] != '\0' ? GB_EDEVICE : gb_cuda_enter(w.gpu, &err);
  if (dev->lost[0] == '\0') gb_cuda_note_error(w.gpu, st, &err);
  if (st != GB_OK) w.gpu = NULL;
  return w;
}

static inline void gb_cuda_work_check (gb_cuda_work *w, cudaError_t e, const char *call) {
  if (w->gpu == NULL || e == cudaSuccess) return;
  gb_cuda_note(w->gpu, e, call);
  w->gpu = NULL;
}

/* After each launch. */
static inline void gb_cuda_work_launched (gb_cuda_work *w, const char *kernel) {
  if (w->gpu != NULL) gb_cuda_work_check(w, cudaGetLastError(), kernel);
}

/* Bytes of the room, aligned for every type; NULL where the work has failed. Callers ask for no more than
** there is. */
static inline void *gb_cuda_work_take (gb_cuda_work *w, size_t bytes) {
  const size_t at = (w->used + 63) / 64 * 64;
  if (w->gpu == NULL) return NULL;
  if (at > w->gpu->room_bytes || bytes > w->gpu->room_bytes - at) {
    gb_cuda_work_check(w, cudaErrorInvalidValue, "room of panels");
    return NULL;
  }
  w->used = at + bytes;
  return w->gpu->room + at;
}

static inline void gb_cuda_work_failed (gb_cuda_work *w, gb_status st, const gb_error *err) {
  if (st == GB_OK) return;
  gb_cuda_note_error(w->gpu, st, err);
  w->gpu = NULL;
}

static inline void gb_cuda_work_send (gb_cuda_work *w, void *to, const void *from, size_t bytes) {
  gb_error err;
  if (w->gpu != NULL) gb_cuda_work_failed(w, gb_cuda_upload(w->gpu, to, from, bytes, &err), &err);
}

static inline void gb_cuda_work_get (gb_cuda_work *w, void *to, const void *from, size_t bytes) {
  gb_error err;
  if (w->gpu != NULL) gb_cuda_work_failed(w, gb_cuda_download(w->gpu, to, from, bytes, &err), &err);
}

static inline void gb_cuda_work_look (gb_cuda_work *w, const void *from, size_t bytes,
                                      void (*look)(void *ud, const void *piece, size_t bytes), void *ud) {
  gb_error err;
  if (w->gpu != NULL) gb_cuda_work_failed(w, gb_cuda_look(w->gpu, from, bytes, look, ud, &err), &err);
}

/* Without work there are no sums: what is not a number cannot be taken for one. */
static inline void gb_cuda_work_spoil (const gb_cuda_work &w, double *out, size_t count) {
  for (size_t k = 0; w.gpu == NULL && k < count; k++) out[k] = NAN;
}

/* A copy of the host's bytes in the room; NULL for NULL. */
static inline void *gb_cuda_work_put (gb_cuda_work *w, const void *from, size_t bytes) {
  void *at = from == NULL ? NULL : gb_cuda_work_take(w, bytes);
  if (at != NULL) gb_cuda_work_send(w, at, from, bytes);
  return w->gpu == NULL ? NULL : at;
}

/* Rows i0 .. i0 + n - 1 of a panel. */
static inline gb_cuda_view gb_cuda_work_view (gb_cuda_work *w, const gb_panel &x, size_t i0, size_t n) {
  gb_cuda_view v = {(double *)x.at, n, x.r, x.stride, NULL, NULL};
  if (x.row == NULL) v.at += i0 * x.stride;
  else v.row = (const size_t *)gb_cuda_work_put(w, x.row + i0, n * sizeof *x.row);
  v.column = (const size_t *)gb_cuda_work_put(w, x.column, x.r * sizeof *x.column);
  return v;
}

/* Bytes of the room that a part of some work may take: lists of rows take a quarter at most, other lists
** little. */
static inline size_t gb_cuda_room (const gb_panel &x) { return gb_cuda_of(x.device)->room_bytes; }

/* Rows that are done at once, in whole blocks of sums: as many as there are where no list is needed. */
static inline size_t gb_cuda_listed_rows (const gb_panel &x) {
  return gb_cuda_room(x) / 4 / (4 * sizeof(size_t)) / GB_PANEL_BLOCK * GB_PANEL_BLOCK;
}
static inline size_t gb_cuda_rows_at_once (const gb_panel &x) {
  return x.row == NULL ? (x.n > 0 ? x.n : 1) : gb_cuda_listed_rows(x);
}

/* vector.cu: a part of a panel as dense rows in the room; NULL where the work has failed. Parts of so many
** rows take half of the room at most; their lists take a quarter. */
size_t gb_cuda_gathered_rows (const gb_panel &x);
double *gb_cuda_work_gather (gb_cuda_work *w, const gb_panel &x, size_t i0, size_t n);

#endif
