/* profile.h - the figures of a GPU: what it does in a second, and what follows from them (device/price.h). */
#ifndef GB_CUDA_PRICE_PROFILE_H
#define GB_CUDA_PRICE_PROFILE_H

#include "device/price.h"
#include "program/fold.h"
#include "program/library.h"

/* Orders of the matrices that dense algebra is measured with: 32, 64, .. 4096; between them seconds are log-linear, beyond
** them gb_cuda_beyond says how they grow. */
enum { GB_CUDA_ORDERS = 8, GB_CUDA_LEAST_ORDER = 32 };

typedef enum gb_cuda_dense {
  GB_CUDA_TIME_GEMM,
  GB_CUDA_TIME_POTRF,
  GB_CUDA_TIME_TRSM,
  GB_CUDA_TIME_GEQRF,
  GB_CUDA_TIME_GETRF,
  GB_CUDA_TIME_SYEVD,
  GB_CUDA_TIME_GESVD,
  GB_CUDA_DENSE
} gb_cuda_dense;

typedef struct gb_cuda_profile {
  gb_device_profile taken;
  double multiprocessors;
  double issue;       /* f32 instructions of a thread, of all multiprocessors together, a second */
  double special;     /* results of the special function units, a second */
  double fma64;       /* f64 instructions, a second */
  double read, write; /* bytes/s of its memory */
  double launch_s;    /* of a kernel with 4 KiB of arguments that does nothing, in a queue of them */
  double step_s;      /* the host's part of a step */
  double up, down;    /* bytes/s from and to the host, through pinned memory */
  double copy_s;      /* of a copy of a few bytes, complete */
  double dense[2][GB_CUDA_DENSE][GB_CUDA_ORDERS]; /* seconds: f64, f32 */
} gb_cuda_profile;

extern const gb_price_ops gb_cuda_price_ops;

/* What a kernel that is compiled from a fold issues, all launches of its walks together. */
typedef struct gb_cuda_work {
  double slots;   /* instructions of threads, f64 ones counted in 'f64' alone */
  double special; /* of them, results of the special function units */
  double f64;
  double bytes;    /* of chains, operands and results */
  double launches; /* kernels */
  double blocks;   /* thread blocks' worth of work */
} gb_cuda_work;

/* slots.c */
gb_cuda_work gb_cuda_work_of (const gb_fold *f, const char *arithmetic);

/* cost.c. Seconds, by these figures. */
double gb_cuda_cost_fold (const gb_cuda_profile *p, const gb_fold *f, double fraction);
double gb_cuda_cost_opaque (const gb_cuda_profile *p, const gb_opaque *o, double fraction);

/* Seconds of an op at 'ratio' times an order, whose seconds these are: its multiplications grow as n^3, at the rate of the product
** that takes 'gemm' seconds at that order, and the chain of steps that they wait for as n. */
double gb_cuda_beyond (gb_cuda_dense d, double seconds, double gemm, double ratio);

/* measure.c */
#define GB_CUDA_MEASURE_ROOM ((size_t)96 << 20)
gb_status gb_cuda_measure (gb_device *dev, gb_cuda_profile *out, gb_error *err);

#endif
