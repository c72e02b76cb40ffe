/* pass.c - see pass.h. */
#include "cuda/cluster/pass.h"

#include <math.h>

#include "cuda/cluster/feed.h"

/* -- scratch: the tally, the shift (d), centres; of 'range' the ends of columns, where centres are; how far these moved (k) */

static size_t rounded (size_t bytes) { return (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN; }

static size_t centre_bytes (size_t size, size_t k, size_t d) {
  const gb_cuda_ranks r = gb_cuda_ranks_of(k, d);
  const size_t ranks = r.count * r.height * size, ends = 2 * d * sizeof(unsigned long long);
  return ranks > ends ? ranks : ends;
}

size_t gb_cuda_pass_bytes (gb_dtype compute, size_t k, size_t d) {
  const size_t size = gb_dtype_size(compute);
  return rounded(sizeof(gb_cuda_tally)) + rounded(d * size) + rounded(centre_bytes(size, k, d)) +
         rounded(k * sizeof(float));
}

static size_t size_of (const gb_cuda_points *s) { return s->p.f64 ? sizeof(double) : sizeof(float); }

/* Points of a launch whose lengths take half of the room. */
static size_t units_of (const gb_cuda *gpu) {
  return gpu->room_bytes / (2 * sizeof(gb_cuda_unit)) / GB_CLUSTER_BLOCK * GB_CLUSTER_BLOCK;
}

gb_status gb_cuda_pass_open (gb_device *dev, const gb_points *x, size_t k, void *scratch, gb_cuda_points *out,
                             gb_error *err) {
  char *at = scratch;
  *out = (gb_cuda_points){.gpu = gb_cuda_of(dev),
                          .p = {.at = x->at,
                                .given = x->weight,
                                .row = x->row,
                                .column = x->column,
                                .dtype = (int)x->dtype,
                                .f64 = gb_points_compute(x->dtype) == GB_F64,
                                .n = x->n,
                                .d = x->d,
                                .k = k,
                                .ranks = gb_cuda_ranks_of(k, x->d)}};
  const size_t units = x->unit ? rounded(units_of(out->gpu) * sizeof(gb_cuda_unit)) : 0;
  if (x->unit) out->p.unit = (gb_cuda_unit *)(void *)out->gpu->room;
  out->room = out->gpu->room + units;
  out->room_bytes = out->gpu->room_bytes - units;
  if (at != NULL) {
    out->p.tally = (gb_cuda_tally *)(void *)at;
    out->p.shift = at += rounded(sizeof(gb_cuda_tally));
    out->p.centres = at += rounded(x->d * size_of(out));
    out->p.ends = (unsigned long long *)(void *)at;
    out->move = (float *)(void *)(at + rounded(centre_bytes(size_of(out), k, x->d)));
  }
  return gb_cuda_enter(out->gpu, err);
}

gb_status gb_cuda_pass_clear (gb_cuda_points *s, gb_error *err) {
  gb_cuda_tally *t = s->p.tally;
  GB_CUDA_TRY(cudaMemsetAsync(t, 0, sizeof *t, s->gpu->stream));
  GB_CUDA_TRY(cudaMemsetAsync(&t->bad, 0xff, sizeof t->bad, s->gpu->stream));
  return GB_OK;
}

gb_status gb_cuda_pass_tally (gb_cuda_points *s, gb_cuda_tally *out, gb_error *err) {
  return gb_cuda_download(s->gpu, out, s->p.tally, sizeof *out, err);
}

/* -- numbers of T on their way, some at a time */

enum { SOME = 512 };

typedef struct numbers {
  gb_cuda_sending to;
  bool f64;
  size_t n;
  union {
    float f[SOME];
    double d[SOME];
  } v;
} numbers;

static numbers numbers_to (const gb_cuda_points *s, const void *to) {
  numbers b;
  b.to = gb_cuda_send_to(s->gpu, (void *)to);
  b.f64 = s->p.f64;
  b.n = 0;
  return b;
}

static gb_status flush (numbers *b, gb_error *err) {
  const size_t bytes = b->n * (b->f64 ? sizeof(double) : sizeof(float));
  b->n = 0;
  return gb_cuda_send(&b->to, &b->v, bytes, err);
}

static gb_status add (numbers *b, double v, gb_error *err) {
  if (b->f64) b->v.d[b->n++] = v;
  else b->v.f[b->n++] = (float)v;
  return b->n == SOME ? flush(b, err) : GB_OK;
}

static gb_status end (numbers *b, gb_error *err) {
  GB_TRY(flush(b, err));
  return gb_cuda_send_end(&b->to, err);
}

static gb_status send (const gb_cuda_points *s, const void *to, const double *v, size_t count,
                       gb_error *err) {
  numbers b = numbers_to(s, to);
  for (size_t i = 0; i < count; i++) GB_TRY(add(&b, v[i], err));
  return end(&b, err);
}

gb_status gb_cuda_pass_send_shift (gb_cuda_points *s, const double *shift, gb_error *err) {
  return send(s, s->p.shift, shift, s->p.d, err);
}

gb_status gb_cuda_pass_send_centres (gb_cuda_points *s, const double *centre, gb_error *err) {
  return send(s, s->p.centres, centre, s->p.k * s->p.d, err);
}

/* In f64, features ascending. */
static double square_of (size_t d, const double *c) {
  double sum = 0;
  for (size_t t = 0; t < d; t++) sum += c[t] * c[t];
  return sum;
}

gb_status gb_cuda_pass_send_ranks (gb_cuda_points *s, const double *centre, gb_error *err) {
  const size_t k = s->p.k, d = s->p.d;
  const gb_cuda_ranks r = s->p.ranks;
  numbers b = numbers_to(s, s->p.centres);
  for (size_t first = 0; first < r.count; first += r.width) {
    const size_t some = r.count - first < r.width ? r.count - first : r.width;
    for (size_t i = first; i < first + some; i++)
      GB_TRY(add(&b, i < k ? square_of(d, centre + i * d) : INFINITY, err));
    for (size_t t = 0; t + 1 < r.height; t++)
      for (size_t i = first; i < first + some; i++)
        GB_TRY(add(&b, i < k && t < d ? -2 * centre[i * d + t] : 0, err));
  }
  return end(&b, err);
}

gb_status gb_cuda_pass_bring_centres (gb_cuda_points *s, const gb_centres *c, gb_error *err) {
  GB_TRY(gb_cuda_pass_clear(s, err));
  GB_TRY(gb_cuda_pass_send_shift(s, c->shift, err));
  return gb_cuda_pass_send_centres(s, c->centre, err);
}

gb_status gb_cuda_pass_bring_ranks (gb_cuda_points *s, const gb_centres *c, gb_error *err) {
  GB_TRY(gb_cuda_pass_clear(s, err));
  GB_TRY(gb_cuda_pass_send_shift(s, c->shift, err));
  return gb_cuda_pass_send_ranks(s, c->centre, err);
}

static void add_whole (void *ud, const void *piece, size_t bytes) {
  int64_t **out = ud;
  const int64_t *v = piece;
  for (size_t i = 0; i < bytes / sizeof *v; i++) *(*out)++ += v[i];
}

gb_status gb_cuda_pass_add (const gb_cuda_points *s, const int64_t *from, size_t count, int64_t *out,
                            gb_error *err) {
  return gb_cuda_look(s->gpu, from, count * sizeof *from, add_whole, &out, err);
}

/* -- launches */

/* About: of fused multiply-adds that a multiprocessor does in a second. */
static double seconds_of (const gb_cuda_points *s, double n, size_t others) {
  const double rate = s->p.f64 ? 2e10 : 6e10;
  return n * (double)(others + 8) * (double)(s->p.d + 8) / (rate * s->gpu->multiprocessors);
}

/* With panels that a test has chosen, of as many labels. */
size_t gb_cuda_pass_some (const gb_cuda_points *s, size_t others) {
  const double most = 0.01 / seconds_of(s, GB_CLUSTER_BLOCK, others);
  size_t blocks = most < 1 ? 1 : most < 0x1p20 ? (size_t)most : (size_t)1 << 20;
  if (s->gpu->panel != 0) blocks = s->gpu->panel / (GB_CLUSTER_BLOCK * sizeof(int32_t)) + 1;
  const size_t some = blocks * GB_CLUSTER_BLOCK;
  return s->p.unit == NULL || some < units_of(s->gpu) ? some : units_of(s->gpu);
}

gb_cuda_pass gb_cuda_pass_part (const gb_cuda_points *s, size_t first, size_t n) {
  gb_cuda_pass p = s->p;
  p.at = (const char *)p.at + (ptrdiff_t)first * p.row * (ptrdiff_t)gb_dtype_size((gb_dtype)p.dtype);
  if (p.given != NULL) p.given += first;
  if (p.label != NULL) p.label += first;
  if (p.near != NULL) p.near = (char *)p.near + first * size_of(s);
  p.first = first;
  p.n = n;
  return p;
}

unsigned gb_cuda_pass_groups (const gb_cuda_points *s) { return 4 * (unsigned)s->gpu->multiprocessors; }

gb_status gb_cuda_pass_measure (gb_cuda_points *s, const gb_cuda_pass *part, gb_error *err) {
  if (part->unit == NULL) return GB_OK;
  GB_CUDA_TRY(gb_cuda_find_lengths(part, gb_cuda_pass_groups(s), s->gpu->stream));
  return GB_OK;
}

gb_status gb_cuda_pass_wait (gb_cuda_points *s, size_t n, size_t others, gb_error *err) {
  return gb_cuda_pace(s->gpu, seconds_of(s, (double)n, others), err);
}

gb_status gb_cuda_pass_turn (gb_cuda_points *s, const gb_cuda_pass *part, size_t others, gb_error *err) {
  GB_TRY(gb_cuda_pass_wait(s, part->n, others, err));
  return gb_cuda_pass_measure(s, part, err);
}

gb_status gb_cuda_pass_run (gb_cuda_points *s, size_t others, gb_cuda_pass_launch *launch, gb_error *err) {
  const size_t some = gb_cuda_pass_some(s, others);
  for (size_t first = 0; first < s->p.n; first += some) {
    const size_t n = s->p.n - first < some ? s->p.n - first : some;
    const gb_cuda_pass part = gb_cuda_pass_part(s, first, n);
    GB_TRY(gb_cuda_pass_turn(s, &part, others, err));
    GB_CUDA_TRY(launch(&part, gb_cuda_pass_groups(s), s->gpu->stream));
  }
  return gb_cuda_feed_on(s->gpu, err);
}
