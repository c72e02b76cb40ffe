/* measure.c - the figures of the GPU at hand: rates of its units, of copies, and of dense algebra by order. Each
** measurement grows until it takes MEASURABLE seconds, so that a slow device (the emulation) is measured as soon
** as a fast one. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cuda/dense/opaque.h"
#include "cuda/device/gpu.h"
#include "cuda/price/profile.h"
#include "cuda/price/rates.h"

#define MEASURABLE 1e-3   /* seconds */
#define PATIENCE 0.02     /* seconds of the host, whatever the clock of the device says */
#define DENSE_SECONDS 0.1 /* of the host: an order that took so long is the last one that is measured */
#define COPY_BYTES ((size_t)32 << 20)

typedef struct bench {
  gb_device *dev;
  gb_cuda *gpu;
  gb_cuda_profile *p;
  cudaEvent_t from, to;
  char *memory; /* GB_CUDA_MEASURE_ROOM bytes of the device */
  gb_error *err;
} bench;

/* What is measured: 'n' times over, or of size n. */
typedef gb_status work (const bench *b, const void *what, size_t n);

static gb_status seconds_of (const bench *b, work *w, const void *what, size_t n, double *out) {
  float ms = 0;
  gb_error *err = b->err;
  GB_CUDA_TRY(cudaEventRecord(b->from, b->gpu->stream));
  GB_TRY(w(b, what, n));
  GB_CUDA_TRY(cudaEventRecord(b->to, b->gpu->stream));
  GB_CUDA_TRY(cudaEventSynchronize(b->to));
  GB_CUDA_TRY(cudaEventElapsedTime(&ms, b->from, b->to));
  *out = fmax(ms * 1e-3, 1e-8);
  return GB_OK;
}

/* The least of three, after one that is not counted. */
static gb_status best_of (const bench *b, work *w, const void *what, size_t n, double *out) {
  double s;
  GB_TRY(seconds_of(b, w, what, n, out));
  GB_TRY(seconds_of(b, w, what, n, out));
  const double began = gb_clock();
  for (int i = 0; i < 2 && gb_clock() - began < PATIENCE; i++) {
    GB_TRY(seconds_of(b, w, what, n, &s));
    *out = fmin(*out, s);
  }
  return GB_OK;
}

/* Seconds a unit of n, where n is as large as it takes to be measured. */
static gb_status each_of (const bench *b, work *w, const void *what, double *out) {
  double s = 0;
  size_t n = 1;
  GB_TRY(seconds_of(b, w, what, n, &s));
  for (; n < (size_t)1 << 24; n *= 4) {
    const double began = gb_clock();
    GB_TRY(seconds_of(b, w, what, n, &s));
    if (s >= MEASURABLE || gb_clock() - began > PATIENCE) break;
  }
  GB_TRY(best_of(b, w, what, n, &s));
  *out = s / (double)n;
  return GB_OK;
}

/* -- units */

static unsigned blocks_of (const bench *b) { return (unsigned)b->gpu->multiprocessors * 8; }

static gb_status turn (const bench *b, const void *what, size_t n) {
  gb_error *err = b->err;
  gb_cuda_rate_start(*(const gb_cuda_rate *)what, blocks_of(b), (unsigned)n, b->memory, b->gpu->stream);
  return gb_cuda_status(cudaGetLastError(), "a kernel that is timed", err);
}

static gb_status launch (const bench *b, const void *what, size_t n) {
  gb_error *err = b->err;
  for (size_t i = 0; i < n; i++)
    gb_cuda_rate_start(*(const gb_cuda_rate *)what, 1, 1, b->memory, b->gpu->stream);
  return gb_cuda_status(cudaGetLastError(), "a kernel that is timed", err);
}

static gb_status rate_of (const bench *b, gb_cuda_rate what, double *out) {
  double s;
  GB_TRY(each_of(b, turn, &what, &s));
  *out = (double)blocks_of(b) * GB_CUDA_RATE_THREADS * GB_CUDA_RATE_CHAINS / s;
  return GB_OK;
}

/* -- copies */

static gb_status fill (const bench *b, const void *unused, size_t n) {
  gb_error *err = b->err;
  (void)unused;
  for (size_t i = 0; i < n; i++) GB_CUDA_TRY(cudaMemsetAsync(b->memory, 0, COPY_BYTES, b->gpu->stream));
  return GB_OK;
}

static gb_status copy (const bench *b, const void *unused, size_t n) {
  gb_error *err = b->err;
  (void)unused;
  for (size_t i = 0; i < n; i++)
    GB_CUDA_TRY(cudaMemcpyAsync(b->memory + COPY_BYTES, b->memory, COPY_BYTES, cudaMemcpyDeviceToDevice,
                                b->gpu->stream));
  return GB_OK;
}

/* Copies to the host end when they return, so the clock of the host measures them. */
static gb_status across (const bench *b, bool down, size_t bytes, size_t times, double *out) {
  gb_block room;
  GB_TRY(gb_ledger_alloc(&b->gpu->home->ledger, GB_MEM_WORKSPACE, bytes, "", "calibration", &room, b->err));
  char *host = room.data;
  memset(host, 0, bytes);
  gb_status st = gb_memory_upload(&b->dev->memory, b->memory, host, bytes, b->err);
  if (st == GB_OK) st = gb_cuda_wait(b->gpu, b->err);
  const double start = gb_clock();
  for (size_t i = 0; i < times && st == GB_OK; i++)
    st = down ? gb_memory_download(&b->dev->memory, host, b->memory, bytes, b->err)
              : gb_memory_upload(&b->dev->memory, b->memory, host, bytes, b->err);
  if (st == GB_OK) st = gb_cuda_wait(b->gpu, b->err);
  *out = fmax((gb_clock() - start) / (double)times, 1e-9);
  gb_ledger_free(&b->gpu->home->ledger, &room);
  return st;
}

static gb_status measure_copies (const bench *b) {
  gb_cuda_profile *p = b->p;
  double s;
  GB_TRY(each_of(b, fill, NULL, &s));
  p->write = (double)COPY_BYTES / s;
  GB_TRY(each_of(b, copy, NULL, &s));
  p->read = fmax(2 * (double)COPY_BYTES / s, p->write);
  GB_TRY(across(b, true, 8, 16, &p->copy_s));
  GB_TRY(across(b, true, COPY_BYTES / 4, 2, &s));
  p->down = (double)(COPY_BYTES / 4) / s;
  GB_TRY(across(b, false, COPY_BYTES / 4, 2, &s));
  p->up = (double)(COPY_BYTES / 4) / s;
  return GB_OK;
}

/* -- dense algebra */

static gb_opaque dense_op (gb_cuda_dense d, gb_dtype t, size_t n) {
  static const gb_op op[GB_CUDA_DENSE] = {GB_OP_GEMM,      GB_OP_CHOLESKY, GB_OP_TRISOLVE, GB_OP_QR,
                                          GB_OP_LU_LOGDET, GB_OP_EIGH,     GB_OP_SVD};
  const gb_shape square = gb_shape_of(2, (size_t[]){n, n}), one = gb_shape_of(1, (size_t[]){n}), none = {0};
  const int pairs = d == GB_CUDA_TIME_GEMM || d == GB_CUDA_TIME_TRSM ? 2 : 1;
  gb_opaque o = {.op = op[d], .nin = pairs, .nout = 1, .unit = 1};
  for (int i = 0; i < pairs; i++) o.in_dtype[i] = t, o.in_shape[i] = square;
  o.out_dtype[0] = t, o.out_shape[0] = square;
  if (d == GB_CUDA_TIME_GEQRF) o.nout = 2, o.out_shape[1] = square, o.out_dtype[1] = t;
  if (d == GB_CUDA_TIME_SYEVD) o.nout = 2, o.out_shape[0] = one, o.out_shape[1] = square, o.out_dtype[1] = t;
  if (d == GB_CUDA_TIME_GESVD) {
    o.nout = 3;
    o.out_shape[1] = one, o.out_shape[2] = square;
    o.out_dtype[1] = o.out_dtype[2] = t;
  }
  if (d == GB_CUDA_TIME_GETRF) o.nout = 2, o.out_shape[0] = none, o.out_shape[1] = none, o.out_dtype[1] = t;
  return o;
}

/* Operands, results and scratch one behind the other in the memory of the bench; false: they do not fit. */
static bool lay_out (const bench *b, const gb_opaque *o, const void *in[4], void *out[4], void **scratch) {
  size_t at = 0;
  const size_t slot = (gb_shape_bytes(&o->in_shape[0], o->in_dtype[0]) + 511) & ~(size_t)511;
  for (int i = 0; i < o->nin; i++, at += slot) in[i] = b->memory + at;
  for (int i = 0; i < o->nout; i++, at += slot) out[i] = b->memory + at;
  *scratch = b->memory + at;
  const size_t more = gb_cuda_opaque_scratch(b->dev, o);
  return more != SIZE_MAX && at + more <= GB_CUDA_MEASURE_ROOM;
}

/* The identity, which every factorisation accepts. */
static gb_status fill_operands (const bench *b, const gb_opaque *o, size_t n) {
  const size_t size = gb_dtype_size(o->in_dtype[0]), bytes = n * n * size;
  const size_t slot = (bytes + 511) & ~(size_t)511;
  gb_block room;
  GB_TRY(gb_ledger_alloc(&b->gpu->home->ledger, GB_MEM_WORKSPACE, bytes, "", "calibration", &room, b->err));
  memset(room.data, 0, bytes);
  for (size_t i = 0; i < n; i++)
    if (size == 8) ((double *)room.data)[i * n + i] = 1 + 1e-3 * (double)i;
    else ((float *)room.data)[i * n + i] = 1 + 1e-3f * (float)i;
  gb_status st = GB_OK;
  for (int i = 0; i < o->nin && st == GB_OK; i++)
    st = gb_memory_upload(&b->dev->memory, b->memory + (size_t)i * slot, room.data, bytes, b->err);
  if (st == GB_OK) st = gb_cuda_wait(b->gpu, b->err);
  gb_ledger_free(&b->gpu->home->ledger, &room);
  return st;
}

static gb_status run_dense (const bench *b, const void *what, size_t unused) {
  const gb_opaque *o = what;
  const void *in[4];
  void *out[4], *scratch;
  (void)unused;
  if (!lay_out(b, o, in, out, &scratch)) return gb_fail(b->err, GB_EINTERNAL, "a calibration has no room");
  return gb_cuda_opaque(b->dev, o, in, out, scratch, b->err);
}

/* Orders past the last one that is measured follow from it and from the product. */
static gb_status measure_dense (const bench *b, gb_cuda_dense d, gb_dtype t) {
  double *seconds = b->p->dense[t == GB_F32][d];
  const double *gemm = b->p->dense[t == GB_F32][GB_CUDA_TIME_GEMM];
  bool more = true;
  for (int i = 0; i < GB_CUDA_ORDERS; i++) {
    const size_t n = (size_t)GB_CUDA_LEAST_ORDER << i;
    const gb_opaque o = dense_op(d, t, n);
    const void *in[4];
    void *out[4], *scratch;
    gb_lack lack;
    more = more && gb_cuda_supports(b->dev, NULL, &o, &lack) && lay_out(b, &o, in, out, &scratch);
    if (more) {
      GB_TRY(fill_operands(b, &o, n));
      GB_TRY(
          seconds_of(b, run_dense, &o, 1, &seconds[i])); /* a library loads its kernels at their first call */
      const double began = gb_clock();
      GB_TRY(best_of(b, run_dense, &o, 1, &seconds[i]));
      more = gb_clock() - began < DENSE_SECONDS;
    } else seconds[i] = i == 0 ? 1 : gb_cuda_beyond(d, seconds[i - 1], gemm[i - 1], 2);
    if (i > 0) seconds[i] = fmax(seconds[i], seconds[i - 1]);
  }
  return GB_OK;
}

/* -- all */

static gb_status measure (const bench *b) {
  static const gb_cuda_rate none = GB_CUDA_NOTHING;
  gb_cuda_profile *p = b->p;
  double first;
  p->multiprocessors = b->gpu->multiprocessors;
  GB_TRY(rate_of(b, GB_CUDA_FFMA, &first));
  GB_TRY(rate_of(b, GB_CUDA_EX2, &p->special));
  GB_TRY(rate_of(b, GB_CUDA_DFMA, &p->fma64));
  GB_TRY(each_of(b, launch, &none, &p->launch_s));
  p->step_s = p->launch_s; /* lists are written into arguments: nothing is copied */
  GB_TRY(measure_copies(b));
  for (int d = 0; d < GB_CUDA_DENSE; d++) {
    GB_TRY(measure_dense(b, (gb_cuda_dense)d, GB_F64));
    GB_TRY(measure_dense(b, (gb_cuda_dense)d, GB_F32));
  }
  GB_TRY(rate_of(b, GB_CUDA_FFMA, &p->issue));
  p->taken.when = (double)time(NULL);
  p->taken.share = 1;
  p->taken.spread = fmax(first, p->issue) / fmin(first, p->issue) - 1;
  p->taken.calm = p->taken.spread < 0.2;
  return GB_OK;
}

gb_status gb_cuda_measure (gb_device *dev, gb_cuda_profile *out, gb_error *err) {
  gb_block memory;
  bench b = {.dev = dev, .gpu = gb_cuda_of(dev), .p = out, .err = err};
  memset(out, 0, sizeof *out);
  GB_TRY(gb_cuda_enter(b.gpu, err));
  GB_TRY(
      gb_ledger_alloc(&dev->ledger, GB_MEM_WORKSPACE, GB_CUDA_MEASURE_ROOM, "", "calibration", &memory, err));
  b.memory = memory.data;
  gb_status st = gb_cuda_status(cudaEventCreate(&b.from), "cudaEventCreate", err);
  if (st == GB_OK) st = gb_cuda_status(cudaEventCreate(&b.to), "cudaEventCreate", err);
  if (st == GB_OK) st = measure(&b);
  if (b.from != NULL) cudaEventDestroy(b.from);
  if (b.to != NULL) cudaEventDestroy(b.to);
  gb_ledger_free(&dev->ledger, &memory);
  return st;
}
