/* rates.h - kernels that do one thing, as often as a GPU can. */
#ifndef GB_CUDA_PRICE_RATES_H
#define GB_CUDA_PRICE_RATES_H

#include <cuda_runtime_api.h>

typedef enum gb_cuda_rate { GB_CUDA_NOTHING, GB_CUDA_FFMA, GB_CUDA_EX2, GB_CUDA_DFMA } gb_cuda_rate;

enum {
  GB_CUDA_RATE_THREADS = 256,
  GB_CUDA_RATE_CHAINS = 8,
  GB_CUDA_RATE_ARGUMENT = 4096 /* bytes of the argument of NOTHING: those of a walk of a fold */
};

/* Starts a kernel of so many thread blocks in which each thread does 'turns' times GB_CUDA_RATE_CHAINS instructions that do
** not wait for each other. out: a number a thread block. */
void gb_cuda_rate_start (gb_cuda_rate what, unsigned blocks, unsigned turns, void *out, cudaStream_t stream);

#endif
