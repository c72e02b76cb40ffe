/* product.cu - products of small matrices of a batch: a thread block a tile of a result. */
#include "cuda/dense/launch.cuh"

#include <string.h>

enum { SIDE = 16 };
#define MOST_GROUPS ((size_t)1 << 30) /* of a launch; a matrix has fewer tiles */

template <class T> static __global__ void small_products (GB_PARAMETER gb_cuda_product p) {
  __shared__ T left[SIDE][SIDE + 1], right[SIDE][SIDE + 1];
  const size_t across = (p.m + SIDE - 1) / SIDE, down = (p.n + SIDE - 1) / SIDE;
  const size_t b = p.batch.first + blockIdx.x / (across * down), tile = blockIdx.x % (across * down);
  const size_t tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  const size_t i = tile / across * SIDE + ty, j = tile % across * SIDE + tx;
  size_t at_x = 0, at_y = 0, rest = b;
  for (int axis = p.batch.axes - 1; axis >= 0; axis--) {
    const size_t at = rest % p.batch.extent[axis];
    at_x += at * p.batch.x[axis];
    at_y += at * p.batch.y[axis];
    rest /= p.batch.extent[axis];
  }
  const T *x = (const T *)p.x + at_x, *y = (const T *)p.y + at_y;
  T sum = 0;
  for (size_t k0 = 0; k0 < p.k; k0 += SIDE) {
    left[ty][tx] = i < p.n && k0 + tx < p.k ? x[i * p.row[0] + k0 + tx] : 0;
    right[ty][tx] = k0 + ty < p.k && j < p.m ? y[(k0 + ty) * p.row[1] + j] : 0;
    __syncthreads();
    for (size_t k = 0; k < SIDE && k0 + k < p.k; k++) sum = fma(left[ty][k], right[k][tx], sum);
    __syncthreads();
  }
  if (i < p.n && j < p.m) {
    T *z = (T *)p.z + b * p.batch.z + i * p.row[2] + j;
    *z = p.adds ? *z + sum : sum;
  }
}

extern "C" cudaError_t gb_cuda_small_products (bool f32, const gb_cuda_product *of, cudaStream_t s) {
  const size_t tiles = (of->n + SIDE - 1) / SIDE * ((of->m + SIDE - 1) / SIDE), count = of->batch.count;
  gb_cuda_product p = *of;
  for (size_t done = 0, some; tiles > 0 && done < count; done += some) {
    const size_t most = MOST_GROUPS / tiles;
    some = count - done < most ? count - done : most;
    p.batch.first = of->batch.first + done;
    if (f32) GB_LAUNCH((small_products<float>), (unsigned)(tiles * some), SIDE * SIDE, 0, s, p);
    else GB_LAUNCH((small_products<double>), (unsigned)(tiles * some), SIDE * SIDE, 0, s, p);
    const cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}
