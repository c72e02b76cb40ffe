/* clock.c - spans of a GPU's work by its own clock: an event before and one after the work in the stream, and a range
** of NVTX around the calls, where NVTX is. */
#include "cuda/device/clock.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "cuda/device/gpu.h"
#include "cuda/device/library.h"

typedef struct span {
  cudaEvent_t begin, end; /* made once, for every span of this number */
} span;

struct gb_cuda_clock {
  span *at;
  size_t made, room, n;         /* n: spans that began */
  cudaEvent_t base;             /* events count from here: milliseconds in a float are coarse far from it */
  double origin;                /* when it was, by the host's clock */
  const gb_cuda_ranges *ranges; /* NULL: there is no NVTX */
};

/* -- opening */

static gb_status open_clock (gb_cuda *gpu, gb_error *err) {
  if (gpu->clock != NULL) return GB_OK;
  gb_cuda_clock *c = calloc(1, sizeof *c);
  if (c == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a clock");
  const gb_status st = gb_cuda_status(cudaEventCreate(&c->base), "cudaEventCreate", err);
  if (st != GB_OK) {
    free(c);
    return st;
  }
  if (gb_cuda_ranges_open(&c->ranges, NULL) != GB_OK) c->ranges = NULL;
  gpu->clock = c;
  return GB_OK;
}

void gb_cuda_clock_close (gb_cuda *gpu) {
  gb_cuda_clock *c = gpu->clock;
  if (c == NULL) return;
  for (size_t i = 0; i < c->made; i++) {
    cudaEventDestroy(c->at[i].begin);
    cudaEventDestroy(c->at[i].end);
  }
  cudaEventDestroy(c->base);
  free(c->at);
  free(c);
  gpu->clock = NULL;
}

static gb_status make_span (gb_cuda_clock *c, gb_error *err) {
  if (c->n < c->made) return GB_OK;
  if (!gb_grow(&c->at, c->made, &c->room, sizeof *c->at))
    return gb_fail(err, GB_ENOMEM, "no memory to time work");
  span s;
  GB_CUDA_TRY(cudaEventCreate(&s.begin));
  const gb_status st = gb_cuda_status(cudaEventCreate(&s.end), "cudaEventCreate", err);
  if (st == GB_OK) c->at[c->made++] = s;
  else cudaEventDestroy(s.begin);
  return st;
}

/* -- spans */

/* Both clocks at one time: when the GPU has nothing to do. */
static gb_status set_base (gb_cuda *gpu, gb_error *err) {
  GB_CUDA_TRY(cudaEventRecord(gpu->clock->base, gpu->stream));
  GB_CUDA_TRY(cudaEventSynchronize(gpu->clock->base));
  gpu->clock->origin = gb_clock();
  return GB_OK;
}

static gb_status begin_span (gb_device *dev, const char *name, int *number, gb_error *err) {
  gb_cuda *gpu = gb_cuda_of(dev);
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_TRY(open_clock(gpu, err));
  gb_cuda_clock *c = gpu->clock;
  GB_TRY(make_span(c, err));
  if (c->n == 0) GB_TRY(set_base(gpu, err));
  GB_CUDA_TRY(cudaEventRecord(c->at[c->n].begin, gpu->stream));
  if (c->ranges != NULL) c->ranges->nvtxRangePushA(name);
  *number = (int)c->n++;
  return GB_OK;
}

static gb_status end_span (gb_device *dev, int number, gb_error *err) {
  gb_cuda *gpu = gb_cuda_of(dev);
  if (gpu->clock->ranges != NULL) gpu->clock->ranges->nvtxRangePop();
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_CUDA_TRY(cudaEventRecord(gpu->clock->at[number].end, gpu->stream));
  return GB_OK;
}

static gb_status read_span (gb_device *dev, int number, double *from, double *to, gb_error *err) {
  gb_cuda *gpu = gb_cuda_of(dev);
  const span *s = &gpu->clock->at[number];
  float before, within;
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_CUDA_TRY(cudaEventElapsedTime(&before, gpu->clock->base, s->begin));
  GB_CUDA_TRY(cudaEventElapsedTime(&within, s->begin, s->end));
  *from = gpu->clock->origin + (double)before * 1e-3;
  *to = *from + (double)within * 1e-3;
  return GB_OK;
}

static void drop_spans (gb_device *dev, int number) {
  gb_cuda_clock *c = gb_cuda_of(dev)->clock;
  if (c != NULL && (size_t)number < c->n) c->n = (size_t)number;
}

const gb_clock_ops gb_cuda_clock_ops = {
    .begin = begin_span, .end = end_span, .read = read_span, .drop = drop_spans};
