/* kernels.h - what the GPU does itself around the calls of its libraries. Matrices are row-major, 'ld' elements
** from row to row, where not said otherwise; what is found goes into 'found', which lies on the GPU. Each call
** returns what the launch returned. */
#ifndef GB_CUDA_DENSE_KERNELS_H
#define GB_CUDA_DENSE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "cuda/dense/found.h"

/* check.cu: the first entry that is not finite of a (n, m), or of its lower triangle. */
cudaError_t gb_cuda_check (bool f32, const void *a, size_t n, size_t m, bool lower, enum gb_cuda_place place,
                           gb_cuda_found *found, cudaStream_t s);
/* The first entry of the diagonal of a (n, n) that is 0, or that is not above 0. */
cudaError_t gb_cuda_check_diagonal (bool f32, const void *a, size_t n, bool positive, gb_cuda_found *found,
                                    cudaStream_t s);
/* Columns of R (m, m), of a matrix of n rows, that depend on those before. */
cudaError_t gb_cuda_check_rank (bool f32, const void *r, size_t m, size_t n, gb_cuda_found *found,
                                cudaStream_t s);

/* range.cu: the largest magnitude of a; and the scaling by powers of 2 for matrices whose entries are near the
** limits of their type, as on the CPU: by 2^-e, e = 0 for ordinary matrices; 2^e; the first half and the second
** half of 2^-e. */
enum gb_cuda_power { GB_CUDA_DOWN, GB_CUDA_UP, GB_CUDA_FIRST_HALF, GB_CUDA_SECOND_HALF };
cudaError_t gb_cuda_largest (bool f32, const void *a, size_t count, gb_cuda_found *found, cudaStream_t s);
cudaError_t gb_cuda_scale (bool f32, void *a, size_t count, enum gb_cuda_power power,
                           const gb_cuda_found *found, cudaStream_t s);

/* copy.cu: the lower triangle of a + jitter I, zeros above; 'to' may be 'a'. */
cudaError_t gb_cuda_lower (bool f32, const void *a, void *to, size_t n, double jitter, cudaStream_t s);
cudaError_t gb_cuda_identity (bool f32, void *a, size_t n, cudaStream_t s);
/* The lower triangle of a (n, n) over the upper one. */
cudaError_t gb_cuda_mirror (bool f32, void *a, size_t n, cudaStream_t s);
/* to (m, n) = a (n, m) transposed, its column j times sign[j]; NULL: unchanged. */
cudaError_t gb_cuda_transpose (bool f32, const void *a, void *to, size_t n, size_t m, const void *sign,
                               cudaStream_t s);
/* a (n, n) transposed in place, column j of the result times sign[j]. */
cudaError_t gb_cuda_transpose_square (bool f32, void *a, size_t n, const void *sign, cudaStream_t s);
/* Element e of a times sign[e % k]. */
cudaError_t gb_cuda_turn (bool f32, void *a, size_t count, size_t k, const void *sign, cudaStream_t s);
/* sign[j] = -1 where the largest entry of vector j is below 0, else 1; k vectors of n entries, one after the
** other. */
cudaError_t gb_cuda_signs (bool f32, const void *a, size_t n, size_t k, void *sign, cudaStream_t s);
/* R (m, m) of the factors that geqrf leaves in a, n entries a column, with a positive diagonal, and what
** turned its rows. */
cudaError_t gb_cuda_take_r (bool f32, const void *a, size_t n, size_t m, void *r, void *sign, cudaStream_t s);

/* sum.cu: factor * the sum of the logs of |diagonal entries| of a (n, n), plus n e log 2 where 'found' says that
** a was divided by 2^e; NULL: it was not. A negative entry has no log unless 'magnitudes'. Of 'count' matrices, one after the
** other, each. */
cudaError_t gb_cuda_sum_logs (bool f32, const void *a, size_t n, size_t count, double factor, bool magnitudes,
                              const gb_cuda_found *found, void *out, cudaStream_t s);
/* The sum of squares of x, in blocks of 256 and then over the blocks: the order of the CPU. 'sums': an f64 a
** block. */
cudaError_t gb_cuda_sum_squares (bool f32, const void *x, size_t count, double *sums, void *out,
                                 cudaStream_t s);

/* product.cu: products of small matrices, all of a batch at once; a result is one chain in ascending inner
** index. Batch axes of the result, and how far each goes in the inputs: 0 where they broadcast. */
enum { GB_CUDA_BATCH_AXES = 8 };
typedef struct gb_cuda_batch {
  int axes;
  size_t first, count, extent[GB_CUDA_BATCH_AXES], x[GB_CUDA_BATCH_AXES], y[GB_CUDA_BATCH_AXES], z;
} gb_cuda_batch;
typedef struct gb_cuda_product {
  const void *x, *y;
  void *z;
  size_t n, m, k, row[3]; /* (n, k) x (k, m); elements from row to row of x, y, z */
  bool adds;              /* to the contents of z */
  gb_cuda_batch batch;
} gb_cuda_product;
cudaError_t gb_cuda_small_products (bool f32, const gb_cuda_product *p, cudaStream_t s);

/* small.cu: matrices of order n <= GB_CUDA_SMALL, all of a batch at once. Places in 'found' are numbers in the batch: slice * n^2 +
** entry, slice * n + row, and for a result the slice; those of one that is skipped come from nothing else. */
enum { GB_CUDA_SMALL = 32, GB_CUDA_SMALL_COLUMNS = 256 };
typedef struct gb_cuda_small {
  const void *a, *b;
  void *out;
  size_t n, r;         /* order; right-hand sides */
  double jitter;       /* factors */
  bool upper, trans;   /* systems: op(A) x = b */
  bool both;           /* then A' x = b */
  bool squares;        /* the sum of squares of x, not x; r <= GB_CUDA_SMALL_COLUMNS */
  bool judged;         /* rows that make A singular are noted: 0 on the diagonal, or */
  double least;        /* above 0: columns no longer than that beside those before */
  gb_cuda_batch batch; /* of A and b */
  gb_cuda_found *found;
} gb_cuda_small;
cudaError_t gb_cuda_small_factors (bool f32, const gb_cuda_small *p, cudaStream_t s);
cudaError_t gb_cuda_small_systems (bool f32, const gb_cuda_small *p, cudaStream_t s);
cudaError_t gb_cuda_small_inverses (bool f32, const gb_cuda_small *p, cudaStream_t s);

#endif
