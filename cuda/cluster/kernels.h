/* kernels.h - passes over points as kernels see them. A launch has some of a pass's points; each call returns what the launch
** returned. */
#ifndef GB_CUDA_CLUSTER_KERNELS_H
#define GB_CUDA_CLUSTER_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  GB_CUDA_SEEDS = 64,    /* GB_CLUSTER_SEEDS */
  GB_CUDA_BLOCK = 960,   /* GB_CLUSTER_BLOCK */
  GB_CUDA_LITTLE = 8,    /* features of points that a thread holds */
  GB_CUDA_QUARTET = 4,   /* centres that lie side by side where points are so small */
  GB_CUDA_PHALANX = 128, /* where they are not */
};

/* What a pass counts, in its scratch. Bits of weights, not negative, have the order of the weights. */
typedef struct gb_cuda_tally {
  unsigned long long moved, weight;
  unsigned long long bad; /* row (d + 2) + column of the first bad point; all bits 1: every one is good */
  long long high, low;
  long long total[GB_CUDA_SEEDS];
} gb_cuda_tally;

/* A row that is taken divided by its length: its elements times 'scale', a power of two, times 'by'. */
typedef struct gb_cuda_unit {
  double scale, by;
} gb_cuda_unit;

/* Centres of 'gb_cuda_assign': 'width' of them lie side by side, the rest in multiples of 4; first their squared lengths,
** then -2 times each feature. Those beyond k are infinitely far, features beyond d are 0. */
typedef struct gb_cuda_ranks {
  size_t count, width, height; /* of centres; features and one more */
} gb_cuda_ranks;

static inline gb_cuda_ranks gb_cuda_ranks_of (size_t k, size_t d) {
  const size_t width = d <= GB_CUDA_LITTLE ? GB_CUDA_QUARTET : GB_CUDA_PHALANX;
  gb_cuda_ranks r = {(k + 3) / 4 * 4, width, d + 1};
  if (d == 5 || d == 7) r.height++; /* kernels have 1, 2, 3, 4, 6 and 8 features, or more */
  return r;
}
/* Of tiles, for any number of features; not more than those. */
static inline gb_cuda_ranks gb_cuda_wide_ranks_of (size_t k, size_t d) {
  const gb_cuda_ranks r = {(k + 3) / 4 * 4, GB_CUDA_PHALANX, d + 1};
  return r;
}

typedef struct gb_cuda_pass {
  const void *at;      /* element (i, t) is number i * row + t * column from here */
  const double *given; /* weights; NULL: 1 each */
  int64_t row, column;
  int dtype;
  bool f64;            /* T is double */
  size_t first, n, d;  /* first: number of the launch's first point in the pass */
  gb_cuda_unit *unit;  /* (n); NULL: rows are taken as they are */
  const int32_t *some; /* numbers of the points whose lengths are wanted, and how many; NULL: of all */
  const unsigned *have;
  size_t k;
  const void *shift;   /* (d) of T */
  const void *centres; /* of T: (k, d), or as 'ranks' says */
  gb_cuda_ranks ranks;
  gb_cuda_tally *tally;
  double point, weight, scale; /* quanta of a point and its weight; of potentials and spreads */
  int32_t *label;
  int32_t *found, number; /* of k-means||: the nearest of some centres, of which the first has this number */
  int64_t *sums;          /* (k, d + 1) */
  void *near;             /* (n) of T */
  bool fresh;             /* 'near' is infinite before */
  int64_t *block;
  double *apart;            /* (n), -1 where a point has no weight */
  unsigned long long *ends; /* (2, d): the least and the greatest of each column, as keys (range.cu) */
} gb_cuda_pass;

/* Of seeds by the thousand: the points that are drawn, as gb_stream and 'share' say. */
typedef struct gb_cuda_lot {
  unsigned long long row;
  double apart;
} gb_cuda_lot;

typedef struct gb_cuda_drawing {
  uint64_t seed, stream, base;
  double share;
  unsigned long long *count;
  gb_cuda_lot *lot; /* (n) */
} gb_cuda_drawing;

/* Bounds of distances, those that centres moved, and the points of a launch that are left open, by number. */
typedef struct gb_cuda_bounding {
  float *upper, *lower; /* (n) */
  const float *move;    /* (k) */
  int32_t farthest;     /* it moved by 'most', the others by at most 'next' */
  float most, next;
  float linear, constant;    /* upper^2 + linear upper + constant < lower^2: the label stays */
  double spare, reach, tiny; /* what chains of pairs err by is below spare (reach + |x|^2) + tiny */
  unsigned *count;           /* of the two lists */
  int32_t *open, *left;      /* (n): by their bounds; by the distance from their own centre, too */
  int32_t *found;            /* (n): of the points that are left, the nearest centres */
  void *second;              /* (n) of T: the least sum of another centre */
} gb_cuda_bounding;

/* 'groups': thread blocks that the GPU has room for, about. */
cudaError_t gb_cuda_assign_many (const gb_cuda_pass *p, unsigned groups,
                                 cudaStream_t s); /* assign.cu: d > LITTLE */
cudaError_t gb_cuda_assign_little (const gb_cuda_pass *p, unsigned groups, cudaStream_t s); /* little.cu */
static inline cudaError_t gb_cuda_assign (const gb_cuda_pass *p, unsigned groups, cudaStream_t s) {
  return p->d <= GB_CUDA_LITTLE ? gb_cuda_assign_little(p, groups, s) : gb_cuda_assign_many(p, groups, s);
}
cudaError_t gb_cuda_relabel (const gb_cuda_pass *p, int32_t to,
                             cudaStream_t s); /* the launch's point; point.cu */
/* point.cu: features first .. first + count - 1 of the launch's point, numbers of T. */
cudaError_t gb_cuda_features (const gb_cuda_pass *p, size_t first, size_t count, double *out, cudaStream_t s);
cudaError_t gb_cuda_find_lengths (const gb_cuda_pass *p, unsigned groups,
                                  cudaStream_t s);                      /* unit.cu: to 'unit' */
cudaError_t gb_cuda_clear_ends (const gb_cuda_pass *p, cudaStream_t s); /* range.cu */
cudaError_t gb_cuda_find_ends (const gb_cuda_pass *p, unsigned groups, cudaStream_t s);
double gb_cuda_end_of (unsigned long long key);
cudaError_t gb_cuda_add_spread (const gb_cuda_pass *p, unsigned groups, cudaStream_t s); /* spread.cu */
cudaError_t gb_cuda_find_apart (const gb_cuda_pass *p, unsigned groups, cudaStream_t s);
cudaError_t gb_cuda_come_closer (const gb_cuda_pass *p, cudaStream_t s); /* seeds.cu */
cudaError_t gb_cuda_add_potentials (const gb_cuda_pass *p, unsigned groups, cudaStream_t s);
cudaError_t gb_cuda_list_potentials (const gb_cuda_pass *p, cudaStream_t s); /* each, to 'block' */
cudaError_t gb_cuda_come_nearer (const gb_cuda_pass *p, cudaStream_t s);     /* many.cu */
/* bounded.cu: points that bounds leave open, those that their own distance does; the nearest centres of these; their bounds, labels and
** sums. */
cudaError_t gb_cuda_screen (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups,
                            cudaStream_t s);
cudaError_t gb_cuda_look_at (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups,
                             cudaStream_t s);
cudaError_t gb_cuda_compare (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups,
                             cudaStream_t s);
cudaError_t gb_cuda_settle (const gb_cuda_pass *p, const gb_cuda_bounding *b, unsigned groups,
                            cudaStream_t s);
cudaError_t gb_cuda_draw_lots (const gb_cuda_pass *p, const gb_cuda_drawing *d, unsigned groups,
                               cudaStream_t s);
/* 'block' (k) += weights of the points with labels number .. number + k - 1. */
cudaError_t gb_cuda_tally_labels (const gb_cuda_pass *p, unsigned groups, cudaStream_t s);

#endif
