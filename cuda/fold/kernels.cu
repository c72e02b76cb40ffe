/* kernels.cu - the walks, compiled for the arithmetic whose bits are those of the CPU. */
#include "cuda/fold/start.cuh"

extern "C" void gb_cuda_start (gb_cuda_type type, gb_cuda_pass pass, unsigned blocks, size_t shared,
                               cudaStream_t stream, const gb_cuda_argument *p) {
  switch (type) {
    case GB_CUDA_F32: gb_start_pass<gb_exact_float>(pass, blocks, shared, stream, *p); break;
    case GB_CUDA_F32_UNIT: gb_cuda_start_unit(pass, blocks, shared, stream, p); break;
    case GB_CUDA_F64: gb_start_pass<gb_double>(pass, blocks, shared, stream, *p); break;
    default: gb_start_pass<gb_integer>(pass, blocks, shared, stream, *p);
  }
}
