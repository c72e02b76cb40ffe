/* moves.cuh - points that change their label leave one sum for another: in shared memory where all sums fit there, which are
** added to those of the pass when the thread block is done. */
#ifndef GB_CUDA_CLUSTER_MOVES_CUH
#define GB_CUDA_CLUSTER_MOVES_CUH

#include "cuda/cluster/points.cuh"

#define GB_CUDA_NEAR_SUMS ((size_t)1024) /* that fit */

static inline size_t gb_cuda_near_sums (const gb_cuda_pass *p) {
  const size_t count = p->k * (p->d + 1);
  return p->sums != NULL && count <= GB_CUDA_NEAR_SUMS ? count : 0;
}

/* The sums that a thread block adds to. */
static GB_DEVICE int64_t *gb_open_sums (const gb_cuda_pass &p, size_t near, int64_t *room) {
  for (size_t i = threadIdx.x; i < near; i += blockDim.x) room[i] = 0;
  return near > 0 ? room : p.sums;
}

static GB_DEVICE void gb_close_sums (const gb_cuda_pass &p, size_t near, const int64_t *room) {
  __syncthreads();
  for (size_t i = threadIdx.x; i < near; i += blockDim.x)
    if (room[i] != 0) gb_add_whole(p.sums + i, room[i]);
}

/* R reads points. Feature t of a point, or its weight, t = d. */
template <class R>
static GB_DEVICE void gb_move_feature (const gb_cuda_pass &p, size_t row, size_t t, int32_t from, int32_t to,
                                       int64_t *sums) {
  const size_t width = p.d + 1;
  const double w = gb_weight(p, row);
  const int64_t q = gb_quanta(t < p.d ? (double)R::shifted(p, row, t) * (w * p.point) : w * p.weight);
  gb_add_whole(sums + (size_t)to * width + t, q);
  if (from >= 0) gb_add_whole(sums + (size_t)from * width + t, -q);
}

/* Points first .. first + count - 1; LANES threads share one. from, to: their labels, in shared memory. sums NULL: labels alone
** are wanted. */
template <class R, int LANES>
static GB_DEVICE void gb_move_points (const gb_cuda_pass &p, size_t first, int count, const int32_t *from,
                                      const int32_t *to, int64_t *sums) {
  if (sums == NULL) return;
  for (int i = (int)threadIdx.x / LANES; i < count; i += (int)blockDim.x / LANES)
    for (size_t t = threadIdx.x % LANES; t <= p.d && from[i] != to[i]; t += LANES)
      gb_move_feature<R>(p, first + (size_t)i, t, from[i], to[i], sums);
}

/* The point gets its label. Gives how many labels that changes. */
static GB_DEVICE int gb_label_point (const gb_cuda_pass &p, size_t row, int32_t to, int32_t *from) {
  *from = p.label[row];
  if (*from == to) return 0;
  p.label[row] = to;
  return 1;
}

#endif
