/* profile.c - the figures of a GPU in their order, fixed ones, and the table of its prices. */
#include "cuda/price/profile.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "cuda/device/gpu.h"
#include "program/work.h"

/* -- every figure */

typedef struct figure {
  const char *name;
  double *value;
} figure;

static void walk_dense (gb_cuda_profile *p, gb_figure_visitor *visit, void *ud) {
  static const char *const type[] = {"f64", "f32"};
  static const char *const name[] = {"gemm", "potrf", "trsm", "geqrf", "getrf", "syevd", "gesvd"};
  for (int t = 0; t < 2; t++)
    for (int d = 0; d < GB_CUDA_DENSE; d++)
      for (int n = 0; n < GB_CUDA_ORDERS; n++) {
        char full[64];
        snprintf(full, sizeof full, "%s.%s.%d", type[t], name[d], GB_CUDA_LEAST_ORDER << n);
        visit(ud, full, &p->dense[t][d][n]);
      }
}

static void walk (gb_device_profile *taken, gb_figure_visitor *visit, void *ud) {
  gb_cuda_profile *p = (gb_cuda_profile *)taken;
  const figure list[] = {{"multiprocessors", &p->multiprocessors},
                         {"issue", &p->issue},
                         {"special", &p->special},
                         {"fma64", &p->fma64},
                         {"read", &p->read},
                         {"write", &p->write},
                         {"launch_s", &p->launch_s},
                         {"step_s", &p->step_s},
                         {"up", &p->up},
                         {"down", &p->down},
                         {"copy_s", &p->copy_s},
                         {"when", &taken->when},
                         {"share", &taken->share},
                         {"spread", &taken->spread},
                         {"calm", &taken->calm}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) visit(ud, list[i].name, list[i].value);
  walk_dense(p, visit, ud);
}

/* -- fixed figures: an imaginary GPU of 132 multiprocessors at 1.75 GHz, close to an H200 */

static gb_cuda_profile imaginary;

/* Flop of an order: the usual counts. */
static double flops_of (gb_cuda_dense d, double n) {
  static const double factor[GB_CUDA_DENSE] = {2, 1.0 / 3, 1, 8.0 / 3, 2.0 / 3, 9, 20};
  return factor[d] * n * n * n;
}

static void fill_dense (gb_cuda_profile *p) {
  /* Flop/s of f64 with large matrices, twice as many of f32; seconds that the least matrix takes. */
  static const double rate[GB_CUDA_DENSE] = {4e13, 1e13, 1.5e13, 4e12, 8e12, 1e12, 2e11};
  static const double least[GB_CUDA_DENSE] = {5e-6, 4e-5, 1e-5, 2e-4, 1e-4, 1e-3, 5e-3};
  for (int t = 0; t < 2; t++)
    for (int d = 0; d < GB_CUDA_DENSE; d++)
      for (int i = 0; i < GB_CUDA_ORDERS; i++) {
        const double n = GB_CUDA_LEAST_ORDER << i;
        p->dense[t][d][i] = least[d] * sqrt(n / GB_CUDA_LEAST_ORDER) +
                            flops_of((gb_cuda_dense)d, n) / (rate[d] * (t + 1));
      }
}

static void fill (void) {
  gb_cuda_profile *p = &imaginary;
  p->taken.calm = 1;
  p->taken.share = 1;
  p->multiprocessors = 132;
  p->issue = 132 * 128 * 1.75e9;
  p->special = 132 * 16 * 1.75e9;
  p->fma64 = 132 * 64 * 1.75e9;
  p->read = 4e12;
  p->write = 3.5e12;
  p->launch_s = 3e-6;
  p->step_s = 3e-6;
  p->up = p->down = 5e10;
  p->copy_s = 1e-5;
  fill_dense(p);
}

static const gb_device_profile *fixed (void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill);
  return &imaginary.taken;
}

/* -- the table */

static double fold (const gb_device_profile *p, int threads, const gb_fold *f, double fraction) {
  (void)threads;
  return gb_cuda_cost_fold((const gb_cuda_profile *)p, f, fraction);
}

static double opaque (const gb_device_profile *p, int threads, const gb_opaque *o, double fraction) {
  (void)threads;
  return gb_cuda_cost_opaque((const gb_cuda_profile *)p, o, fraction);
}

/* Two operations an instruction. Libraries multiply f64 matrices faster, with tensor units. */
static double bound (const gb_device_profile *taken, int threads, const gb_work *w) {
  const gb_cuda_profile *p = (const gb_cuda_profile *)taken;
  (void)threads;
  return fmax(w->flops / (2 * (w->compute == GB_F32 ? p->issue : p->fma64)), w->bytes / p->read);
}

/* Its text names model, multiprocessors and CUDA. */
static void identity (const gb_device *dev, char *text, size_t size) {
  const gb_cuda *gpu = gb_cuda_of(dev);
  snprintf(text, size, "cuda %s, %s", gpu->text, gpu->isa);
}

static gb_status measure (gb_device *dev, gb_device_profile *out, gb_error *err) {
  return gb_cuda_measure(dev, (gb_cuda_profile *)out, err);
}

const gb_price_ops gb_cuda_price_ops = {.bytes = sizeof(gb_cuda_profile),
                                        .fixed = fixed,
                                        .walk = walk,
                                        .fold = fold,
                                        .opaque = opaque,
                                        .bound = bound,
                                        .identity = identity,
                                        .room = GB_CUDA_MEASURE_ROOM,
                                        .measure = measure};
