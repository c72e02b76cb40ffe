/* kernels.cu - the walks, compiled for each arithmetic. */
#include "cuda/launch.h"

extern "C" {
#include "cuda/fold/kernels.h"
}
#include "cuda/fold/walk.cuh"

template <class A>
static void start (gb_cuda_pass pass, unsigned blocks, size_t shared, cudaStream_t stream,
                   const gb_cuda_program &p) {
  switch (pass) {
    case GB_CUDA_ROWS_PASS: GB_LAUNCH(gb_rows<A>, blocks, GB_CUDA_BLOCK, shared, stream, p); break;
    case GB_CUDA_COLUMNS_PASS: GB_LAUNCH(gb_columns<A>, blocks, GB_CUDA_BLOCK, shared, stream, p); break;
    case GB_CUDA_ALL_PASS: GB_LAUNCH(gb_all<A>, blocks, GB_CUDA_BLOCK, shared, stream, p); break;
    case GB_CUDA_ELEMENTS_PASS: GB_LAUNCH(gb_elements<A>, blocks, GB_CUDA_BLOCK, shared, stream, p); break;
    case GB_CUDA_ABSORB_PASS: GB_LAUNCH(gb_absorb_chains<A>, blocks, GB_CUDA_BLOCK, 0, stream, p); break;
    default: GB_LAUNCH(gb_store_totals<A>, blocks, GB_CUDA_BLOCK, 0, stream, p);
  }
}

extern "C" void gb_cuda_start (gb_cuda_type type, gb_cuda_pass pass, unsigned blocks, size_t shared,
                               cudaStream_t stream, const gb_cuda_program *p) {
  switch (type) {
    case GB_CUDA_F32: start<gb_exact_float>(pass, blocks, shared, stream, *p); break;
    case GB_CUDA_F64: start<gb_double>(pass, blocks, shared, stream, *p); break;
    default: start<gb_integer>(pass, blocks, shared, stream, *p);
  }
}
