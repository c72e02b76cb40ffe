/* test_faults.cu - failures on request: each call of a program fails in its turn, once and for good; sticky errors end a
** device and no other; an illegal address in a kernel becomes such an error where that is asked for. */
#include "cuda_emulation/tests/test.h"

__global__ void set_to (int v, int *out) { out[threadIdx.x] = v; }

static int reset (void **) {
  assert_true(emu_set("FAIL", nullptr));
  assert_done(cudaSetDevice(0));
  emu_begin();
  return emu_pieces() == 0 ? 0 : -1;
}

/* A small program that gives back all it takes; the first error, or success. */
static cudaError_t program (void) {
  int *p = nullptr, *pinned = nullptr;
  cudaStream_t s = nullptr;
  cudaError_t e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  if (e == cudaSuccess) e = cudaMalloc(&p, 64);
  if (e == cudaSuccess) e = cudaMallocHost(&pinned, 64);
  if (e == cudaSuccess) {
    GB_LAUNCH(set_to, 1, 16, 0, s, 3, p);
    e = cudaGetLastError();
  }
  if (e == cudaSuccess) e = cudaMemcpyAsync(pinned, p, 64, cudaMemcpyDeviceToHost, s);
  if (e == cudaSuccess) e = cudaStreamSynchronize(s);
  if (e == cudaSuccess && pinned[15] != 3) e = cudaErrorUnknown;
  emu_set("FAIL", nullptr); /* what follows gives back */
  if (pinned != nullptr) assert_done(cudaFreeHost(pinned));
  if (p != nullptr) assert_done(cudaFree(p));
  if (s != nullptr) assert_done(cudaStreamDestroy(s));
  return e;
}

static void each_call_fails_in_its_turn (void **) {
  assert_done(program());
  int failed = 0;
  for (int k = 1;; k++) {
    emu_begin();
    char text[32];
    snprintf(text, sizeof text, "*@%d=2", k);
    assert_true(emu_set("FAIL", text));
    const cudaError_t e = program();
    cudaGetLastError();
    assert_int_equal(emu_pieces(), 0);
    if (e == cudaSuccess) break;
    assert_int_equal(e, 2);
    failed++;
  }
  assert_int_equal(failed, 6);
}

static void a_call_fails_once_or_for_good (void **) {
  void *p;
  assert_true(emu_set("FAIL", "cudaMalloc@2=2"));
  assert_done(cudaMalloc(&p, 8));
  assert_done(cudaFree(p));
  assert_int_equal(cudaMalloc(&p, 8), 2);
  assert_done(cudaMalloc(&p, 8));
  assert_done(cudaFree(p));
  assert_int_equal(emu_calls("cudaMalloc"), 3);
  assert_true(emu_set("FAIL", "cudaMalloc@5+=2"));
  assert_done(cudaMalloc(&p, 8));
  assert_done(cudaFree(p));
  assert_int_equal(cudaMalloc(&p, 8), 2);
  assert_int_equal(cudaMalloc(&p, 8), 2);
  assert_int_equal(cudaGetLastError(), 2);
  assert_done(cudaGetLastError());
}

static void a_sticky_error_ends_one_device (void **) {
  int *p = on_device(std::vector<int>(4, 1)), *q;
  assert_true(emu_set("FAIL", "cudaMemset@1=719"));
  assert_int_equal(cudaMemset(p, 0, 16), 719);
  assert_int_equal(cudaMemset(p, 0, 16), 719);
  assert_int_equal(cudaFree(p), 719);
  assert_int_equal(cudaDeviceSynchronize(), 719);
  assert_int_equal(cudaGetLastError(), 719);
  assert_int_equal(cudaGetLastError(), 719); /* it stays */
  assert_int_equal(cudaDeviceReset(), 719);
  assert_done(cudaSetDevice(1));
  assert_done(cudaMalloc(&q, 16));
  GB_LAUNCH(set_to, 1, 4, 0, nullptr, 9, q);
  assert_int_equal(from_device(q, 4)[3], 9);
  assert_done(cudaFree(q));
  assert_done(cudaSetDevice(0));
  emu_begin();
  assert_done(cudaFree(p));
}

static void a_kernel_fails_later (void **) {
  int *p = on_device(std::vector<int>(4, 1));
  for (const char *schedule : {"eager", "lazy"}) {
    emu_begin();
    assert_true(emu_set("SCHEDULE", schedule));
    assert_true(emu_set("FAIL", "kernel:set_to@2=700"));
    GB_LAUNCH(set_to, 1, 4, 0, nullptr, 5, p);
    assert_done(cudaGetLastError());
    GB_LAUNCH(set_to, 1, 4, 0, nullptr, 6, p);
    if (strcmp(schedule, "lazy") == 0) assert_done(cudaGetLastError()); /* the launch itself succeeds */
    assert_int_equal(cudaDeviceSynchronize(), 700);
  }
  emu_begin();
  assert_true(emu_set("SCHEDULE", nullptr));
  assert_true(emu_set("FAIL", "kernel:*@1=701"));
  GB_LAUNCH(set_to, 1, 4, 0, nullptr, 6, p);
  assert_int_equal(cudaGetLastError(), 701); /* not sticky: of the launch */
  assert_done(cudaDeviceSynchronize());
  assert_int_equal(from_device(p, 1)[0], 5);
  assert_done(cudaFree(p));
}

static void nothing_runs_on_a_device_that_was_lost (void **) {
  int *pinned;
  assert_done(cudaMallocHost(&pinned, 16));
  assert_true(emu_set("SCHEDULE", "lazy"));
  assert_true(emu_set("FAIL", "kernel:set_to@2=719"));
  for (int i = 0; i < 3; i++) {
    pinned[i] = 0;
    GB_LAUNCH(set_to, 1, 1, 0, nullptr, 5, pinned + i); /* the second ends the device */
  }
  assert_int_equal(cudaDeviceSynchronize(), 719);
  assert_int_equal(pinned[0], 5);
  assert_int_equal(pinned[1], 0);
  assert_int_equal(pinned[2], 0);
  emu_begin();
  assert_true(emu_set("SCHEDULE", nullptr));
  assert_done(cudaFreeHost(pinned));
}

static void an_illegal_address_may_be_an_error (void **) {
  int *p = on_device(std::vector<int>(64, 1));
  assert_true(emu_set("TRAP", "1"));
  for (int twice = 0; twice < 2; twice++) {
    GB_LAUNCH(set_to, 1, 32, 0, nullptr, 5, p + 64);
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    assert_int_equal(cudaMemset(p, 0, 4), cudaErrorIllegalAddress);
    emu_begin();
    GB_LAUNCH(set_to, 1, 32, 0, nullptr, 7, p); /* and kernels run again */
    assert_int_equal(from_device(p, 32)[31], 7);
  }
  assert_true(emu_set("TRAP", nullptr));
  assert_done(cudaFree(p));
}

static void there_may_be_no_device_and_no_driver (void **) {
  const outcome o = in_child([] {
    setenv("EMU_DEVICES", "0", 1);
    execl("/proc/self/exe", "count", (char *)nullptr);
  });
  assert_int_equal(o.status, 100);
  const outcome d = in_child([] {
    setenv("EMU_FAIL", "*@1+=35", 1);
    execl("/proc/self/exe", "count", (char *)nullptr);
  });
  assert_int_equal(d.status, 35);
}

static void leaks_and_calls_are_told (void **) {
  const outcome o = in_child([] {
    setenv("EMU_LEAKS", "1", 1);
    setenv("EMU_COUNT", "1", 1);
    execl("/proc/self/exe", "leak", (char *)nullptr);
  });
  assert_int_equal(o.status, 87);
  assert_non_null(strstr(o.said.c_str(), "cudaMalloc 2"));
  assert_non_null(strstr(o.said.c_str(), "1 pieces of memory were not given back"));
}

int main (int, char **arguments) {
  if (strcmp(arguments[0], "count") == 0) {
    int n;
    return cudaGetDeviceCount(&n);
  }
  setenv("EMU_DEVICES", "2", 1);
  if (strcmp(arguments[0], "leak") == 0) {
    void *p, *q;
    return cudaMalloc(&p, 8) + cudaMalloc(&q, 8) + cudaFree(p);
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(each_call_fails_in_its_turn, reset),
      cmocka_unit_test_setup(a_call_fails_once_or_for_good, reset),
      cmocka_unit_test_setup(a_sticky_error_ends_one_device, reset),
      cmocka_unit_test_setup(a_kernel_fails_later, reset),
      cmocka_unit_test_setup(nothing_runs_on_a_device_that_was_lost, reset),
      cmocka_unit_test_setup(an_illegal_address_may_be_an_error, reset),
      cmocka_unit_test_setup(there_may_be_no_device_and_no_driver, reset),
      cmocka_unit_test_setup(leaks_and_calls_are_told, reset),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
