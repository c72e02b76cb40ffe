/* test_wrong.cu - wrong kernels and wrong programs: each is stopped with its place, or gives a value that is visibly
** wrong in at least one order of threads. Addresses inside of static shared memory, and races in every
** order, are seen by sanitizers (sanitized.cu). */
#include <math.h>

#include "cuda_emulation/tests/test.h"

__global__ void no_barrier (int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = (int)threadIdx.x;
  out[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void divergent_barrier (int *out) {
  if (threadIdx.x < 16) {
    __syncthreads();
    out[0] = 1;
  } else {
    __syncthreads();
    out[1] = 1;
  }
}
__global__ void early_exit (int n, int *out) {
  if ((int)threadIdx.x >= n) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void barrier_against_warp (int *out) {
  if (threadIdx.x == 0) __syncthreads();
  else out[threadIdx.x] = (int)__ballot_sync(0xffffffffu, 1);
}
__global__ void uninitialised_shared (float *out) {
  __shared__ float s[32];
  if (threadIdx.x < 31) s[threadIdx.x] = 1;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 32; i++) sum += s[i];
  out[threadIdx.x] = sum;
}
__global__ void uninitialised_room (float *out) {
  GB_SHARED_ROOM(float, s);
  if (threadIdx.x < 31) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[31 - threadIdx.x];
}
__global__ void write_at (int i, int *out) { out[(int)threadIdx.x + i] = 7; }
__global__ void read_at (size_t i, const int *in, int *out) { out[0] = in[i]; }
__global__ void room_at (int i, int *out) {
  GB_SHARED_ROOM(int, s);
  s[(int)threadIdx.x + i] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
__global__ void shuffle_from (int lane, int *out) {
  int v = (int)threadIdx.x;
  if (threadIdx.x < 16) v = __shfl_sync(0x0000ffffu, v, lane);
  out[threadIdx.x] = v;
}
__global__ void shuffle_without_self (int *out) { out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0); }
__global__ void shuffle_with_gone (int *out) {
  if (threadIdx.x == 7) return;
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
}
__global__ void race (int *out) {
  out[0] = (int)threadIdx.x;
  if (threadIdx.x == 5) out[1] = out[0];
}
__global__ void deep (int n, int *out) {
  volatile char room[4096];
  room[n % 4096] = 1;
  if (n > 0) deep(n - 1, out);
  else out[0] = room[0];
  room[0] = (char)(room[0] + out[0]);
}
__global__ void no_wait (const float *x, float *y) {
  __shared__ float s[32];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
__global__ void wait_for_the_other (const float *x, float *y) {
  __shared__ float s[2][32];
  for (int i = 0; i < 2; i++) {
    __pipeline_memcpy_async(&s[i][threadIdx.x], &x[threadIdx.x], 4);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1); /* the first has arrived, the second not */
  __syncthreads();
  y[threadIdx.x] = s[0][threadIdx.x];
  y[32 + threadIdx.x] = s[1][threadIdx.x];
}
__global__ void active (unsigned *out) { out[0] = __activemask(); }
__global__ void set_to (int n, int v, int *out) {
  if ((int)threadIdx.x < n) out[threadIdx.x] = v;
}

static int *ints (size_t n) { return on_device(std::vector<int>(n, 0)); }
static void finish (void) { cudaDeviceSynchronize(); }

static void a_missing_barrier_gives_other_values (void **) {
  int *out = ints(64);
  bool wrong = false;
  for (const char *order : {"fwd", "rev"}) {
    emu_set("ORDER", order);
    GB_LAUNCH(no_barrier, 1, 64, 0, 0, out);
    const std::vector<int> got = from_device(out, 64);
    for (int i = 0; i < 64; i++) wrong = wrong || got[i] != 63 - i;
  }
  emu_set("ORDER", nullptr);
  assert_true(wrong);
  assert_done(cudaFree(out));
}

static void wrong_barriers_stop (void **) {
  assert_stopped("a divergent barrier", [] {
    GB_LAUNCH(divergent_barrier, 1, 32, 0, 0, ints(2));
    finish();
  });
  assert_stopped("never reach", [] {
    GB_LAUNCH(early_exit, 1, 32, 0, 0, 20, ints(32));
    finish();
  });
  assert_stopped("wait for each other for ever", [] {
    GB_LAUNCH(barrier_against_warp, 1, 32, 0, 0, ints(32));
    finish();
  });
  assert_stopped("test_wrong.cu:", [] {
    GB_LAUNCH(divergent_barrier, 1, 32, 0, 0, ints(2));
    finish();
  });
}

static void uninitialised_memory_is_nan (void **) {
  float *out;
  assert_done(cudaMalloc(&out, 32 * sizeof *out));
  for (float v : from_device(out, 32)) assert_true(isnan(v));
  for (int twice = 0; twice < 2; twice++) { /* what an earlier block left does not help */
    GB_LAUNCH(uninitialised_shared, 1, 32, 0, 0, out);
    for (float v : from_device(out, 32)) assert_true(isnan(v));
    GB_LAUNCH(uninitialised_room, 1, 32, 128, 0, out);
    assert_true(isnan(from_device(out, 1)[0]));
  }
  assert_done(cudaFree(out));
}

static void addresses_outside_stop (void **) {
  assert_stopped("wrote at byte 96 of a piece of 96 bytes", [] {
    GB_LAUNCH(write_at, 1, 32, 0, 0, 0, ints(24));
    finish();
  });
  assert_stopped("a kernel touches", [] {
    GB_LAUNCH(write_at, 1, 32, 0, 0, 64, ints(64));
    finish();
  });
  assert_stopped("a kernel touches", [] {
    GB_LAUNCH(read_at, 1, 1, 0, 0, (size_t)1 << 17, ints(1), ints(1));
    finish();
  });
  assert_stopped("wrote at byte -4 of a piece of 96 bytes", [] {
    GB_LAUNCH(write_at, 1, 1, 0, 0, -1, ints(24));
    finish();
  });
  assert_stopped("a kernel touches", [] {
    GB_LAUNCH(write_at, 1, 1, 0, 0, -5000, ints(64));
    finish();
  });
  assert_stopped("a kernel touches", [] {
    GB_LAUNCH(room_at, 1, 32, 128, 0, 1, ints(32));
    finish();
  });
  assert_stopped("past the 120 bytes of dynamic shared memory", [] {
    GB_LAUNCH(room_at, 1, 31, 120, 0, 0, ints(31));
    finish();
  });
  assert_stopped("before dynamic shared memory", [] {
    GB_LAUNCH(room_at, 1, 32, 128, 0, -1, ints(32));
    finish();
  });
  assert_stopped("a kernel touches", [] {
    GB_LAUNCH(room_at, 1, 32, 0, 0, 0, ints(32));
    finish();
  });
  assert_stopped("a kernel touches", [] {
    GB_LAUNCH(deep, 1, 1, 0, 0, 1000, ints(1));
    finish();
  });
}

static void wrong_masks_stop (void **) {
  assert_stopped("outside of its mask", [] {
    GB_LAUNCH(shuffle_from, 1, 32, 0, 0, 20, ints(32));
    finish();
  });
  assert_stopped("is not in its own mask", [] {
    GB_LAUNCH(shuffle_without_self, 1, 32, 0, 0, ints(32));
    finish();
  });
  assert_stopped("has exited", [] {
    GB_LAUNCH(shuffle_with_gone, 1, 32, 0, 0, ints(32));
    finish();
  });
  assert_stopped("not portable", [] {
    GB_LAUNCH(active, 1, 32, 0, 0, (unsigned *)ints(1));
    finish();
  });
}

static void a_race_depends_on_the_order (void **) {
  int *out = ints(2);
  emu_set("ORDER", "fwd");
  GB_LAUNCH(race, 1, 32, 0, 0, out);
  const int forward = from_device(out, 2)[0];
  emu_set("ORDER", "rev");
  GB_LAUNCH(race, 1, 32, 0, 0, out);
  assert_int_not_equal(from_device(out, 2)[0], forward);
  emu_set("ORDER", nullptr);
  assert_done(cudaFree(out));
}

static void a_copy_that_nobody_waits_for_is_not_there (void **) {
  float *x = on_device(std::vector<float>(32, 1.0f)), *y = on_device(std::vector<float>(64, 0.0f));
  GB_LAUNCH(no_wait, 1, 32, 0, 0, x, y);
  for (float v : from_device(y, 32)) assert_true(isnan(v));
  GB_LAUNCH(wait_for_the_other, 1, 32, 0, 0, x, y);
  const std::vector<float> got = from_device(y, 64);
  for (int i = 0; i < 64; i++) assert_true(i < 32 ? got[i] == 1 : isnan(got[i]));
  assert_done(cudaFree(x));
  assert_done(cudaFree(y));
}

static void a_missing_dependence_between_streams_shows (void **) {
  cudaStream_t a, b;
  int *p = ints(4), *pinned;
  assert_done(cudaMallocHost(&pinned, 16));
  assert_done(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  assert_done(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  assert_true(emu_set("SCHEDULE", "lazy"));
  memset(pinned, 0, 16);
  GB_LAUNCH(set_to, 1, 4, 0, a, 4, 5, p);
  assert_done(
      cudaMemcpyAsync(pinned, p, 16, cudaMemcpyDeviceToHost, b)); /* of b, which does not wait for a */
  assert_int_equal(pinned[0], 0);                                 /* and nobody has waited for b */
  assert_done(cudaStreamSynchronize(b));
  assert_int_equal(pinned[0], 0);
  assert_done(cudaDeviceSynchronize());
  assert_true(emu_set("SCHEDULE", nullptr));
  assert_done(cudaStreamDestroy(a));
  assert_done(cudaStreamDestroy(b));
  assert_done(cudaFreeHost(pinned));
  assert_done(cudaFree(p));
}

static void host_code_cannot_touch_a_device (void **) {
  const outcome o = in_child([] {
    int *p = ints(4);
    fprintf(stderr, "%d", p[1]);
  });
  assert_int_equal(o.status, -11);
  assert_non_null(strstr(o.said.c_str(), "host code touches"));
  assert_non_null(strstr(o.said.c_str(), "byte 4 of 16 of memory of device 0"));
}

static void a_kernel_cannot_touch_the_host (void **) {
  assert_stopped("its pointer 1, ", [] {
    static int here[4];
    GB_LAUNCH(set_to, 1, 4, 0, 0, 4, 5, here);
    finish();
  });
}

static void memory_that_was_given_back_stops (void **) {
  assert_stopped("no memory of a device", [] {
    int *p = ints(4);
    cudaFree(p);
    GB_LAUNCH(set_to, 1, 4, 0, 0, 4, 5, p);
    finish();
  });
  assert_stopped("a kernel touches",
                 [] { /* given back while the kernel waits in its queue: by another thread's order */
                      emu_set("SCHEDULE", "lazy");
                      int *p = ints(4);
                      cudaStream_t s;
                      cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
                      cudaFreeAsync(p, s);
                      GB_LAUNCH(set_to, 1, 4, 0, s, 4, 5, p);
                      finish();
                 });
}

static void handles_that_were_destroyed_stop (void **) {
  assert_stopped("was destroyed", [] {
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaStreamDestroy(s);
    cudaStreamSynchronize(s);
  });
  assert_stopped("was destroyed", [] {
    cudaEvent_t e;
    cudaEventCreate(&e);
    cudaEventDestroy(e);
    cudaEventRecord(e, 0);
  });
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_missing_barrier_gives_other_values),
      cmocka_unit_test(wrong_barriers_stop),
      cmocka_unit_test(uninitialised_memory_is_nan),
      cmocka_unit_test(addresses_outside_stop),
      cmocka_unit_test(wrong_masks_stop),
      cmocka_unit_test(a_race_depends_on_the_order),
      cmocka_unit_test(a_copy_that_nobody_waits_for_is_not_there),
      cmocka_unit_test(a_missing_dependence_between_streams_shows),
      cmocka_unit_test(host_code_cannot_touch_a_device),
      cmocka_unit_test(a_kernel_cannot_touch_the_host),
      cmocka_unit_test(memory_that_was_given_back_stops),
      cmocka_unit_test(handles_that_were_destroyed_stop),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
