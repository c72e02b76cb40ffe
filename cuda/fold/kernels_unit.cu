/* kernels_unit.cu - the walks of f32 programs in class UNIT: profiles take 2^x and square roots from the special function
** unit, as those of generated kernels do; all else is as in kernels.cu. */
#include "cuda/fold/start.cuh"

#include "cuda/fold/profile.cuh"

struct gb_unit_float : gb_exact_float {
  static GB_CALLED float radial (int p, int order, int dalpha, float s, double b, double alpha) {
    const eu_prof c = eu_prof_of((gb_profile)p, order, b, alpha);
    if (dalpha) return eu_profile_dalpha(&c, order, s);
    return order == 0 ? eu_profile(&c, (gb_profile)p, s) : eu_profile_slope(&c, (gb_profile)p, order, s);
  }
};

extern "C" void gb_cuda_start_unit (gb_cuda_pass pass, unsigned blocks, size_t shared, cudaStream_t stream,
                                    const gb_cuda_argument *p) {
  gb_start_pass<gb_unit_float>(pass, blocks, shared, stream, *p);
}
