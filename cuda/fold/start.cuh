/* start.cuh - the kernels of one arithmetic, by pass. */
#ifndef GB_CUDA_FOLD_START_CUH
#define GB_CUDA_FOLD_START_CUH

#include "cuda/launch.h"

extern "C" {
#include "cuda/fold/kernels.h"
}
#include "cuda/fold/store.cuh"
#include "cuda/fold/walk.cuh"

template <class A>
static void gb_start_pass (gb_cuda_pass pass, unsigned blocks, size_t shared, cudaStream_t stream,
                           const gb_cuda_argument &p) {
  switch (pass) {
    case GB_CUDA_ROWS_PASS: GB_LAUNCH(gb_rows<A>, blocks, GB_CUDA_BLOCK, shared, stream, p); break;
    case GB_CUDA_COLUMNS_PASS: GB_LAUNCH(gb_columns<A>, blocks, GB_CUDA_BLOCK, shared, stream, p); break;
    case GB_CUDA_ALL_PASS: GB_LAUNCH(gb_all<A>, blocks, GB_CUDA_BLOCK, shared, stream, p); break;
    case GB_CUDA_ELEMENTS_PASS: GB_LAUNCH(gb_elements<A>, blocks, GB_CUDA_BLOCK, shared, stream, p); break;
    case GB_CUDA_ABSORB_PASS: GB_LAUNCH(gb_absorb_chains<A>, blocks, GB_CUDA_BLOCK, 0, stream, p); break;
    default: GB_LAUNCH(gb_store_totals<A>, blocks, GB_CUDA_BLOCK, 0, stream, p);
  }
}

#endif
