/* test_ptx.cpp - the interpreter of PTX by itself: what instructions give that are easily done wrong, and how a wrong kernel ends. */
#include <math.h>

#include "cuda_emulation/internal.h"
#include "cuda_emulation/tests/test.h"

/* A kernel of 32 threads with registers of all types, whose thread 0 stores %rd0, which the body gives a value. */
static std::string kernel_of (const std::string &body, const std::string &before = "") {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + before +
         ".visible .entry k(\n.param .u64 k_param_0\n)\n{\n"
         ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<9>;\n.reg "
         ".f64 %fd<9>;\n"
         ".shared .align 16 .b8 room[256];\n"
         "ld.param.u64 %rd8, [k_param_0];\ncvta.to.global.u64 %rd8, %rd8;\nmov.u32 %r8, %tid.x;\n" +
         body + "\nsetp.ne.s32 %p8, %r8, 0;\n@%p8 bra $END;\nst.global.u64 [%rd8], %rd0;\n$END:\nret;\n}\n";
}

static uint64_t run (const std::string &text) {
  CUmodule m;
  CUfunction f;
  uint64_t *out = on_device<uint64_t>({7, 7});
  void *arguments[] = {&out};
  assert_int_equal(cuModuleLoadData(&m, text.c_str()), CUDA_SUCCESS);
  assert_int_equal(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
  assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  const uint64_t got = from_device(out, 1)[0];
  cudaFree(out);
  assert_int_equal(cuModuleUnload(m), CUDA_SUCCESS);
  return got;
}

static void instructions_give_their_values (void **) {
  static const struct {
    const char *body;
    uint64_t want;
  } cases[] = {
      {"mov.u32 %r0, -8;\nshr.s32 %r1, %r0, 99;\ncvt.u64.u32 %rd0, %r1;", 0xffffffff},
      {"mov.u32 %r0, 1;\nshl.b32 %r1, %r0, 32;\ncvt.u64.u32 %rd0, %r1;", 0},
      {"mov.u32 %r0, -8;\nmul.wide.s32 %rd0, %r0, 3;", (uint64_t)-24},
      {"mov.u64 %rd1, -8;\nmul.hi.s64 %rd0, %rd1, 3;", ~(uint64_t)0},
      {"mov.u32 %r0, 0x8F0;\nbfe.s32 %r1, %r0, 4, 8;\ncvt.s64.s32 %rd0, %r1;", (uint64_t)-113},
      {"mov.u32 %r0, 5;\nmov.u32 %r1, 0;\nbfi.b32 %r2, %r0, %r1, 8, 2;\ncvt.u64.u32 %rd0, %r2;", 0x100},
      {"mov.u32 %r0, 0x33221180;\nprmt.b32 %r1, %r0, 0, 0x8123;\ncvt.u64.u32 %rd0, %r1;", 0xff112233},
      {"mov.u32 %r0, 0x80000001;\nshf.l.wrap.b32 %r1, %r0, %r0, 33;\ncvt.u64.u32 %rd0, %r1;", 3},
      {"mov.u32 %r0, 12;\nlop3.b32 %r1, %r0, 10, 9, 0x96;\ncvt.u64.u32 %rd0, %r1;", 12 ^ 10 ^ 9},
      {"mov.u32 %r0, -1;\nadd.cc.u32 %r1, %r0, 1;\naddc.u32 %r2, 4, 0;\nmov.b64 %rd0, {%r1, %r2};",
       (uint64_t)5 << 32},
      {"mov.u32 %r0, -1;\nmad.lo.cc.u32 %r1, %r0, %r0, %r0;\nmadc.hi.u32 %r2, %r0, %r0, 0;\nmov.b64 %rd0, "
       "{%r1, %r2};",
       0xffffffff00000000},
      /* a block's register hides the one outside */
      {"mov.u32 %r0, 5;\n{\n.reg .b32 %r0;\nmov.u32 %r0, 9;\n}\ncvt.u64.u32 %rd0, %r0;", 5},
      /* -0 is less than 0; NaN is not taken, or is */
      {"mov.f32 %f0, 0f80000000;\nmin.f32 %f1, %f0, 0f00000000;\nmov.b32 %r0, %f1;\ncvt.u64.u32 %rd0, %r0;",
       0x80000000},
      {"mov.f32 %f0, 0fFFC00000;\nmax.f32 %f1, %f0, 0f3F800000;\nmov.b32 %r0, %f1;\ncvt.u64.u32 %rd0, %r0;",
       0x3f800000},
      {"mov.f32 %f0, 0fFFC00000;\nmax.NaN.f32 %f1, %f0, 0f3F800000;\nmov.b32 %r0, %f1;\ncvt.u64.u32 %rd0, "
       "%r0;",
       0x7fffffff},
      {"mov.f32 %f0, 0f7FC00000;\nsetp.ltu.f32 %p0, %f0, 0f3F800000;\nselp.u64 %rd0, 1, 2, %p0;", 1},
      {"mov.f32 %f0, 0f7FC00000;\nsetp.ne.f32 %p0, %f0, 0f3F800000;\nselp.u64 %rd0, 1, 2, %p0;", 2},
      /* 1 + 2^-24: to the even neighbour, down, and up */
      {"mov.f32 %f0, 0f3F800000;\nadd.rn.f32 %f1, %f0, 0f33800000;\nmov.b32 %r0, %f1;\ncvt.u64.u32 %rd0, "
       "%r0;",
       0x3f800000},
      {"mov.f32 %f0, 0f3F800000;\nfma.rp.f32 %f1, %f0, %f0, 0f33800000;\nmov.b32 %r0, %f1;\ncvt.u64.u32 "
       "%rd0, %r0;",
       0x3f800001},
      {"mov.f32 %f0, 0f40200000;\ncvt.rni.s32.f32 %r0, %f0;\ncvt.u64.u32 %rd0, %r0;", 2},
      {"mov.f32 %f0, 0fFF800000;\ncvt.rzi.s32.f32 %r0, %f0;\ncvt.u64.u32 %rd0, %r0;", 0x80000000},
      {"mov.f32 %f0, 0f7FC00000;\ncvt.rzi.s32.f32 %r0, %f0;\ncvt.u64.u32 %rd0, %r0;", 0},
      {"mov.f32 %f0, 0f38800000;\ncvt.rn.f16.f32 %rs0, %f0;\ncvt.u64.u16 %rd0, %rs0;", 0x400},
      {"mov.f32 %f0, 0f477FEFFF;\ncvt.rn.f16.f32 %rs0, %f0;\ncvt.u64.u16 %rd0, %rs0;", 0x7bff},
      {"mov.f32 %f0, 0f33000001;\ncvt.rn.f16.f32 %rs0, %f0;\ncvt.u64.u16 %rd0, %rs0;", 1},
      /* shared memory, and the sum of the lanes: 0 + 1 + .. + 31 */
      {"mul.wide.u32 %rd1, %r8, 4;\nmov.u64 %rd2, room;\nadd.s64 %rd2, %rd2, %rd1;\nst.shared.u32 [%rd2], "
       "%r8;\nbar.sync 0;\n"
       "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [room+112];\nadd.s32 %r4, %r0, %r3;\ncvt.u64.u32 %rd0, %r4;",
       28 + 31},
      {"mov.u32 %r0, %r8;\nmov.u32 %r2, 16;\n$LOOP:\nshfl.sync.bfly.b32 %r1|%p0, %r0, %r2, 31, -1;\nadd.s32 "
       "%r0, %r0, %r1;\n"
       "shr.u32 %r2, %r2, 1;\nsetp.ne.s32 %p1, %r2, 0;\n@%p1 bra $LOOP;\ncvt.u64.u32 %rd0, %r0;",
       496},
      {"shfl.sync.down.b32 %r0|%p0, %r8, 3, 0x101F, -1;\nselp.b32 %r1, 100, 200, %p0;\nadd.s32 %r2, %r0, "
       "%r1;\ncvt.u64.u32 %rd0, %r2;",
       103},
  };
  for (auto &c : cases) {
    const uint64_t got = run(kernel_of(c.body));
    if (got != c.want)
      fail_msg("%s\ngives %llx, not %llx", c.body, (unsigned long long)got, (unsigned long long)c.want);
  }
}

static void functions_are_called (void **) {
  const char *twice =
      ".func (.param .b64 func_retval0) twice(\n.param .b64 twice_param_0\n)\n{\n.reg .b64 %rd<3>;\n"
      "ld.param.u64 %rd1, [twice_param_0];\nadd.s64 %rd2, %rd1, %rd1;\nst.param.b64 [func_retval0], "
      "%rd2;\nret;\n}\n";
  assert_int_equal(
      run(kernel_of(
          "mov.u64 %rd1, 21;\n{\n.param .b64 param0;\n.param .b64 retval0;\nst.param.b64 [param0], %rd1;\n"
          "call.uni (retval0), twice, (param0);\nld.param.b64 %rd0, [retval0];\n}",
          twice)),
      42);
}

static void wrong_kernels_are_stopped (void **) {
  static const struct {
    const char *body, *said;
  } cases[] = {
      {"frob.rn.f32 %f0, %f1;", "the instruction 'frob.rn.f32' is not known"},
      {"add.f32 %f0, %f1, %f1;", "the instruction 'add.f32' is not known"}, /* it may be contracted */
      {"ld.global.u64 %rd0, [%rd8+4];", "is not aligned to 8 bytes"},
      {"ld.global.u64 %rd0, [%rd8+16];", "16 bytes of memory of device"},
      {"mov.u64 %rd1, room;\nld.shared.u64 %rd0, [%rd1+256];", "byte 256 of the 256 of shared memory"},
      {"ld.shared.u64 %rd0, [room+8];", "what nothing wrote goes into memory"},
      {"add.s64 %rd0, %rd1, 1;", "what nothing wrote goes into memory"},
      {"ld.global.u64 %rd0, [%rd1];", "an address is made of what nothing wrote"},
      {"mov.u64 %rd0, 1;\nsetp.eq.s32 %p0, %r1, 0;\n@%p0 mov.u64 %rd0, 2;",
       "a predicate is made of what nothing wrote"},
      {"setp.eq.s32 %p0, %r8, 0;\nmov.u64 %rd0, 1;\n@%p0 bra $SKIP;\nbar.sync 0;\n$SKIP:", "never reach"},
  };
  for (auto &c : cases) assert_stopped(c.said, [&] { run(kernel_of(c.body)); });
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_give_their_values),
      cmocka_unit_test(functions_are_called),
      cmocka_unit_test(wrong_kernels_are_stopped),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
