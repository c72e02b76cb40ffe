/* test_nvrtc.cu - programs compiled while the test runs: their kernels run, wrong text is refused with a log, and, where the
** real NVRTC is, a kernel that spills registers, too. */
#include <cuda.h>
#include <nvrtc.h>

#include "cuda_emulation/tests/test.h"

static const char *const scale =
    "#include \"factor.h\"\n"
    "extern \"C\" __global__ void __launch_bounds__(128) scale (int n, float *x) {\n"
    "  __shared__ float room[128];\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  room[threadIdx.x] = i < n ? x[i] : 0;\n"
    "  __syncthreads();\n"
    "  if (i < n) x[i] = FACTOR * OFFSET + FACTOR * room[threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void fill (int *x) { x[threadIdx.x] = 7; }\n";

struct built {
  nvrtcResult result;
  std::string log, image;
};
static built build (const char *text, const std::vector<const char *> &options) {
  nvrtcProgram p;
  const char *names[] = {"factor.h"}, *texts[] = {"#define FACTOR 3.0f\n"};
  built b;
  size_t n;
  assert_int_equal(nvrtcCreateProgram(&p, text, "made.cu", 1, texts, names), NVRTC_SUCCESS);
  b.result = nvrtcCompileProgram(p, (int)options.size(), options.data());
  assert_int_equal(nvrtcGetProgramLogSize(p, &n), NVRTC_SUCCESS);
  b.log.resize(n);
  assert_int_equal(nvrtcGetProgramLog(p, &b.log[0]), NVRTC_SUCCESS);
  if (b.result == NVRTC_SUCCESS) {
    assert_int_equal(nvrtcGetCUBINSize(p, &n), NVRTC_SUCCESS);
    b.image.resize(n);
    assert_int_equal(nvrtcGetCUBIN(p, &b.image[0]), NVRTC_SUCCESS);
  } else assert_int_equal(nvrtcGetCUBINSize(p, &n), NVRTC_ERROR_INVALID_PROGRAM);
  assert_int_equal(nvrtcDestroyProgram(&p), NVRTC_SUCCESS);
  assert_null(p);
  return b;
}

static CUfunction function_of (CUmodule m, const char *name) {
  CUfunction f;
  assert_int_equal(cuModuleGetFunction(&f, m, name), CUDA_SUCCESS);
  return f;
}

static void a_program_runs (void **) {
  const built b = build(scale, {"-arch=sm_90", "-DOFFSET=2.0f"});
  CUmodule m;
  CUfunction none;
  assert_int_equal(b.result, NVRTC_SUCCESS);
  assert_int_equal(cuModuleLoadData(&m, b.image.data()), CUDA_SUCCESS);
  assert_int_equal(cuModuleGetFunction(&none, m, "nothing"), CUDA_ERROR_NOT_FOUND);
  float *x = on_device(std::vector<float>(200, 1.0f));
  int n = 200;
  void *arguments[] = {&n, &x};
  CUfunction f = function_of(m, "scale");
  assert_int_equal(cuLaunchKernel(f, 2, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  for (float v : from_device(x, 200)) assert_true(v == 9.0f);
  assert_int_equal(cuLaunchKernel(f, 0, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr),
                   cudaErrorInvalidConfiguration);
  assert_int_equal(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536),
                   CUDA_SUCCESS);
  assert_int_equal(cuLaunchKernel(f, 2, 1, 1, 128, 1, 1, 65536, nullptr, arguments, nullptr), CUDA_SUCCESS);
  assert_int_equal(cuModuleUnload(m), CUDA_SUCCESS);
  assert_int_equal(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
  assert_stopped("was unloaded",
                 [&] { cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr); });
  assert_int_equal(cuModuleLoadData(&m, "something else, long enough"), CUDA_ERROR_INVALID_IMAGE);
  assert_done(cudaFree(x));
  cudaGetLastError();
}

static void a_wrong_kernel_is_stopped_with_its_line (void **) {
  const built b = build("extern \"C\" __global__ void wrong (int *x) {\n"
                        "  if (threadIdx.x < 3) return;\n"
                        "  __syncthreads();\n"
                        "  x[0] = 1;\n"
                        "}\n",
                        {"-arch=sm_90"});
  CUmodule m;
  int *x = on_device(std::vector<int>(1, 0));
  void *arguments[] = {&x};
  assert_int_equal(cuModuleLoadData(&m, b.image.data()), CUDA_SUCCESS);
  CUfunction f = function_of(m, "wrong");
  assert_stopped("made.cu:3 a barrier that threads which have exited never reach",
                 [&] { cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr); });
  assert_done(cudaFree(x));
}

static void wrong_text_is_refused (void **) {
  const built b = build("extern \"C\" __global__ void bad (int *x) { x[0] = y; }\n", {"-arch=sm_90"});
  assert_int_equal(b.result, NVRTC_ERROR_COMPILATION);
  assert_non_null(strstr(b.log.c_str(), "made.cu"));
  assert_true(emu_set("FAIL", "nvrtcCompileProgram@1=2"));
  emu_begin();
  assert_int_equal(build(scale, {"-DOFFSET=0"}).result, NVRTC_ERROR_OUT_OF_MEMORY);
  assert_true(emu_set("FAIL", nullptr));
}

static void spilled_registers_are_refused (void **) {
  const built small = build("extern \"C\" __global__ void one (float *x) { x[0] = 1; }\n", {"-arch=sm_90"});
  assert_int_equal(small.result, NVRTC_SUCCESS);
  if (small.log.find("ptxas info") == std::string::npos) {
    print_message("the real NVRTC is not here\n");
    skip();
  }
  const built b = build("extern \"C\" __global__ void many (float *x) {\n"
                        "  float a[64];\n"
                        "#pragma unroll\n"
                        "  for (int i = 0; i < 64; i++) a[i] = x[i * 32 + threadIdx.x];\n"
                        "  for (int r = 0; r < 100; r++)\n"
                        "#pragma unroll\n"
                        "    for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 7) % 64] + x[r];\n"
                        "#pragma unroll\n"
                        "  for (int i = 0; i < 64; i++) x[i * 32 + threadIdx.x] = a[i];\n"
                        "}\n",
                        {"-arch=sm_90", "--maxrregcount=24"});
  assert_int_equal(b.result, NVRTC_ERROR_COMPILATION);
  assert_non_null(strstr(b.log.c_str(), "registers are spilled"));
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_runs),
      cmocka_unit_test(a_wrong_kernel_is_stopped_with_its_line),
      cmocka_unit_test(wrong_text_is_refused),
      cmocka_unit_test(spilled_registers_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
