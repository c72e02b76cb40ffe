/* sanitized.cu - kernels whose faults only a sanitizer sees, one a run, named by the argument: built twice, with
** AddressSanitizer (static shared memory) and with ThreadSanitizer (races of the threads of a block). The right ones
** must pass under both. */
#include <stdio.h>
#include <string.h>

#include "cuda_emulation/device.h"

/* Right: barriers and warp operations order all accesses. */
__global__ void ordered (int *out) {
  __shared__ int s[64];
  const int i = (int)threadIdx.x;
  s[i] = i;
  __syncthreads();
  int v = s[63 - i];
  __syncthreads();
  s[i] = v;
  __syncwarp();
  v = s[i ^ 1];
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  out[i] = v;
  if (i % 2 == 0) atomicAdd(&out[64], 1);
}
__global__ void race_in_shared (int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = (int)threadIdx.x;
  out[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void race_of_warps (int *out) { /* __syncwarp does not order other warps */
  __shared__ int s[64];
  s[threadIdx.x] = (int)threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = s[(threadIdx.x + 32) % 64];
}
__global__ void race_in_memory (int *out) { out[0] = (int)threadIdx.x; }
__global__ void past_shared (int k, int *out) {
  __shared__ int s[64];
  __shared__ int t[64];
  t[threadIdx.x] = 1;
  s[(int)threadIdx.x + k] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x] + t[threadIdx.x];
}
__global__ void past_local (int k, int *out) {
  volatile int room[8];
  for (int i = 0; i < 8 + k; i++) room[i] = i;
  out[threadIdx.x] = room[threadIdx.x % 8];
}

int main (int count, char **arguments) {
  const char *which = count > 1 ? arguments[1] : "ordered";
  int *out;
  if (cudaMalloc(&out, 65 * sizeof *out) != cudaSuccess) return 2;
  if (strcmp(which, "ordered") == 0) GB_LAUNCH(ordered, 4, 64, 0, nullptr, out);
  else if (strcmp(which, "race_in_shared") == 0) GB_LAUNCH(race_in_shared, 1, 64, 0, nullptr, out);
  else if (strcmp(which, "race_of_warps") == 0) GB_LAUNCH(race_of_warps, 1, 64, 0, nullptr, out);
  else if (strcmp(which, "race_in_memory") == 0) GB_LAUNCH(race_in_memory, 1, 64, 0, nullptr, out);
  else if (strcmp(which, "past_shared") == 0) GB_LAUNCH(past_shared, 1, 64, 0, nullptr, 1, out);
  else if (strcmp(which, "past_local") == 0) GB_LAUNCH(past_local, 1, 64, 0, nullptr, 1, out);
  else return 2;
  const cudaError_t e = cudaDeviceSynchronize();
  printf("%s: %s\n", which, cudaGetErrorString(e));
  return e == cudaSuccess ? 0 : 3;
}
