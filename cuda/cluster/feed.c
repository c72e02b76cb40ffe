/* feed.c - see feed.h. */
#include "cuda/cluster/feed.h"

#include <stdlib.h>
#include <string.h>

typedef struct gb_cuda_feeding {
  cudaStream_t stream;
  cudaEvent_t before, after; /* the work that was called before the points; their arrival */
  gb_points x;               /* on the host */
  void *to;                  /* NULL: nothing waits to be sent */
} gb_cuda_feeding;

static gb_status open_feeding (gb_cuda *gpu, gb_error *err) {
  if (gpu->feeding != NULL) return GB_OK;
  gb_cuda_feeding *f = gpu->feeding = calloc(1, sizeof *f);
  if (f == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the points on their way to a GPU");
  gb_status st =
      gb_cuda_status(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking), "cudaStreamCreate", err);
  if (st == GB_OK)
    st = gb_cuda_status(cudaEventCreateWithFlags(&f->before, cudaEventDisableTiming), "cudaEventCreate", err);
  if (st == GB_OK)
    st = gb_cuda_status(cudaEventCreateWithFlags(&f->after, cudaEventDisableTiming), "cudaEventCreate", err);
  if (st != GB_OK) gb_cuda_feed_close(gpu);
  return st;
}

void gb_cuda_feed_close (gb_cuda *gpu) {
  gb_cuda_feeding *f = gpu->feeding;
  if (f == NULL) return;
  if (f->stream != NULL) cudaStreamSynchronize(f->stream);
  if (f->before != NULL) cudaEventDestroy(f->before);
  if (f->after != NULL) cudaEventDestroy(f->after);
  if (f->stream != NULL) cudaStreamDestroy(f->stream);
  free(f);
  gpu->feeding = NULL;
}

/* -- packing, as gb_points_packed says */

enum { SOME = 4096 }; /* bytes of elements that do not lie side by side */

static gb_status send_apart (gb_cuda_sending *s, const char *at, ptrdiff_t step, size_t count, size_t size,
                             gb_error *err) {
  _Alignas(8) char some[SOME];
  for (size_t done = 0, n; done < count; done += n) {
    n = count - done < SOME / size ? count - done : SOME / size;
    for (size_t i = 0; i < n; i++) memcpy(some + i * size, at + (ptrdiff_t)(done + i) * step, size);
    GB_TRY(gb_cuda_send(s, some, n * size, err));
  }
  return GB_OK;
}

static gb_status send_points (gb_cuda_sending *s, const gb_points *x, gb_error *err) {
  const bool columns = gb_points_by_columns(x);
  const size_t size = gb_dtype_size(x->dtype), lines = columns ? x->d : x->n, count = columns ? x->n : x->d;
  const ptrdiff_t line = (columns ? x->column : x->row) * (ptrdiff_t)size,
                  step = (columns ? x->row : x->column) * (ptrdiff_t)size;
  const char *at = x->at;
  const bool plain = step == (ptrdiff_t)size || count == 1;
  if (plain && line == (ptrdiff_t)(count * size)) return gb_cuda_send(s, at, lines * count * size, err);
  for (size_t i = 0; i < lines; i++, at += line) {
    if (plain) GB_TRY(gb_cuda_send(s, at, count * size, err));
    else GB_TRY(send_apart(s, at, step, count, size, err));
  }
  return GB_OK;
}

/* -- the calls */

gb_status gb_cuda_feed_on (gb_cuda *gpu, gb_error *err) {
  gb_cuda_feeding *f = gpu->feeding;
  if (f == NULL || f->to == NULL) return GB_OK;
  gb_cuda_sending s = gb_cuda_send_to(gpu, f->to);
  s.stream = f->stream;
  f->to = NULL;
  gb_status st = send_points(&s, &f->x, err);
  if (st == GB_OK) st = gb_cuda_send_end(&s, err);
  return st;
}

gb_status gb_cuda_feed (gb_device *dev, const gb_points *x, void *to, gb_error *err) {
  gb_cuda *gpu = gb_cuda_of(dev);
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_TRY(open_feeding(gpu, err));
  gb_cuda_feeding *f = gpu->feeding;
  GB_CUDA_TRY(cudaEventRecord(f->before, gpu->stream));
  GB_CUDA_TRY(cudaStreamWaitEvent(f->stream, f->before, 0));
  f->x = *x;
  f->to = to;
  return GB_OK;
}

/* Work that follows waits for the points; where that cannot be said, the caller waits. */
static gb_status join (gb_cuda *gpu, gb_error *err) {
  const gb_cuda_feeding *f = gpu->feeding;
  GB_CUDA_TRY(cudaEventRecord(f->after, f->stream));
  GB_CUDA_TRY(cudaStreamWaitEvent(gpu->stream, f->after, 0));
  return GB_OK;
}

gb_status gb_cuda_fed (gb_device *dev, gb_error *err) {
  gb_cuda *gpu = gb_cuda_of(dev);
  if (gpu->feeding == NULL) return GB_OK;
  gb_status st = gb_cuda_enter(gpu, err);
  if (st == GB_OK) st = gb_cuda_feed_on(gpu, err);
  if (st == GB_OK) st = join(gpu, err);
  if (st == GB_OK) return GB_OK;
  gpu->feeding->to = NULL;
  cudaStreamSynchronize(gpu->feeding->stream);
  return st;
}
