/* rates.cu - see rates.h. */
#include <string.h>

#include "cuda/launch.h"

extern "C" {
#include "cuda/price/rates.h"
}

/* One instruction of the special function unit; elsewhere the library's. */
static GB_DEVICE float power_of_2 (float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

static GB_DEVICE float once (float x, float c) { return fmaf(x, c, 1e-7f); }
static GB_DEVICE double once (double x, double c) { return fma(x, c, 1e-7); }

template <class T> static __global__ void multiply (T *out, unsigned turns, T c) {
  T x[GB_CUDA_RATE_CHAINS], sum = 0;
  for (int i = 0; i < GB_CUDA_RATE_CHAINS; i++) x[i] = (T)(threadIdx.x + i);
  for (unsigned n = 0; n < turns; n++)
#pragma unroll
    for (int i = 0; i < GB_CUDA_RATE_CHAINS; i++) x[i] = once(x[i], c);
  for (int i = 0; i < GB_CUDA_RATE_CHAINS; i++) sum += x[i];
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/* x -> 2^-x stays between 0 and 1. */
static __global__ void powers (float *out, unsigned turns) {
  float x[GB_CUDA_RATE_CHAINS], sum = 0;
  for (int i = 0; i < GB_CUDA_RATE_CHAINS; i++) x[i] = 1.0f / (float)(1 + threadIdx.x + i);
  for (unsigned n = 0; n < turns; n++)
#pragma unroll
    for (int i = 0; i < GB_CUDA_RATE_CHAINS; i++) x[i] = power_of_2(-x[i]);
  for (int i = 0; i < GB_CUDA_RATE_CHAINS; i++) sum += x[i];
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/* With the argument of a walk, which the driver copies. */
struct argument {
  float *out;
  char rest[GB_CUDA_RATE_ARGUMENT - sizeof(float *)];
};

static __global__ void nothing (GB_PARAMETER argument a) {
  if (threadIdx.x == 0 && blockIdx.x > 0) *a.out = 0; /* never */
}

extern "C" void gb_cuda_rate_start (gb_cuda_rate what, unsigned blocks, unsigned turns, void *out,
                                    cudaStream_t stream) {
  switch (what) {
    case GB_CUDA_FFMA:
      GB_LAUNCH(multiply<float>, blocks, GB_CUDA_RATE_THREADS, 0, stream, (float *)out, turns, 0.999f);
      break;
    case GB_CUDA_DFMA:
      GB_LAUNCH(multiply<double>, blocks, GB_CUDA_RATE_THREADS, 0, stream, (double *)out, turns, 0.999);
      break;
    case GB_CUDA_EX2: GB_LAUNCH(powers, blocks, GB_CUDA_RATE_THREADS, 0, stream, (float *)out, turns); break;
    default: {
      argument a;
      a.out = (float *)out;
      memset(a.rest, 0, sizeof a.rest);
      GB_LAUNCH(nothing, 1, 32, 0, stream, a);
    }
  }
}
