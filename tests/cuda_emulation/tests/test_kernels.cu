/* test_kernels.cu - right kernels give the values of plain loops, in every order of threads: barriers, votes, shuffles,
** static and dynamic shared memory, atomics, three dimensions, asynchronous copies. */
#include <algorithm>

#include "cuda_emulation/tests/test.h"

static const char *const orders[] = {"fwd", "rev", "1", "2"};

__global__ void add_scaled (int n, float a, const float *x, float *y) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * x[i] + y[i];
}

/* C (m x n) = A (m x k) B (k x n), by tiles in shared memory. */
template <int T> __global__ void product (int m, int n, int k, const double *a, const double *b, double *c) {
  __shared__ double left[T][T + 1], right[T][T + 1];
  const int row = (int)(blockIdx.y * T + threadIdx.y), column = (int)(blockIdx.x * T + threadIdx.x);
  double sum = 0;
  for (int p = 0; p < k; p += T) {
    const int across = p + (int)threadIdx.x, down = p + (int)threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && across < k ? a[row * k + across] : 0;
    right[threadIdx.y][threadIdx.x] = column < n && down < k ? b[down * n + column] : 0;
    __syncthreads();
    for (int q = 0; q < T; q++) sum += left[threadIdx.y][q] * right[q][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

__device__ inline int warp_sum (int v) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, (unsigned)o);
  return v;
}
__global__ void total (int n, const int *x, int *out) {
  __shared__ int of_warp[32];
  int sum = 0;
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (int)(gridDim.x * blockDim.x))
    sum += x[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

__global__ void mirror (int n, const double *x, double *y) {
  GB_SHARED_ROOM(double, room);
  const int i = (int)threadIdx.x;
  room[i] = x[i];
  __syncthreads();
  y[i] = room[n - 1 - i];
}

/* Everything that lanes tell each other, into out[what][lane]. */
__global__ void lanes (unsigned *out) {
  const unsigned lane = threadIdx.x, all = 0xffffffffu;
  unsigned *at = out + lane;
  *at = __ballot_sync(all, lane % 3 == 0), at += 32;
  *at = (unsigned)__any_sync(all, lane == 31), at += 32;
  *at = (unsigned)__all_sync(all, lane < 31), at += 32;
  *at = __match_any_sync(all, lane / 8), at += 32;
  *at = __reduce_add_sync(all, lane), at += 32;
  *at = (unsigned)__reduce_min_sync(all, (int)lane - 5), at += 32;
  *at = __reduce_max_sync(all, lane), at += 32;
  *at = __reduce_xor_sync(all, lane * lane), at += 32;
  *at = __shfl_sync(all, lane * 10, 3, 8), at += 32;
  *at = __shfl_up_sync(all, lane, 2u, 16), at += 32;
  *at = __shfl_xor_sync(all, lane, 5), at += 32;
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  *at = lane < 16 ? __reduce_add_sync(half, lane) : __reduce_max_sync(half, lane);
}
static unsigned lane_value (int what, unsigned lane) {
  unsigned xors = 0;
  for (unsigned i = 0; i < 32; i++) xors ^= i * i;
  switch (what) {
    case 0: return 0x49249249u;
    case 1: return 1;
    case 2: return 0;
    case 3: return 0xffu << lane / 8 * 8;
    case 4: return 496;
    case 5: return (unsigned)-5;
    case 6: return 31;
    case 7: return xors;
    case 8: return (lane / 8 * 8 + 3) * 10;
    case 9: return lane % 16 < 2 ? lane : lane - 2;
    case 10: return lane ^ 5;
    default: return lane < 16 ? 120 : 31;
  }
}

__global__ void votes (int *out) {
  const int i = (int)threadIdx.x;
  const int any = __syncthreads_or(i == 70), all = __syncthreads_and(i < 95),
            count = __syncthreads_count(i % 2);
  out[i] = any * 10000 + all * 1000 + count;
}

__global__ void places (unsigned *out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

__global__ void staged (int n, const float *x, float *y) {
  __shared__ float room[2][32];
  const int lane = (int)threadIdx.x;
  __pipeline_memcpy_async(&room[0][lane], &x[lane], 4);
  __pipeline_commit();
  for (int from = 0, at = 0; from < n; from += 32, at ^= 1) {
    if (from + 32 < n) __pipeline_memcpy_async(&room[at ^ 1][lane], &x[from + 32 + lane], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    y[from + lane] = room[at][31 - lane];
    __syncthreads();
  }
}

static void each_order (const std::function<void()> &check) {
  for (const char *order : orders) {
    assert_true(emu_set("ORDER", order));
    check();
  }
  assert_true(emu_set("ORDER", nullptr));
}

static void elementwise_kernels_equal_loops (void **) {
  each_order([] {
    const int n = 1000;
    std::vector<float> x(n), y(n), expected(n);
    for (int i = 0; i < n; i++)
      x[i] = 0.5f * (float)i, y[i] = (float)(i % 7), expected[i] = 3.0f * x[i] + y[i];
    float *dx = on_device(x), *dy = on_device(y);
    GB_LAUNCH(add_scaled, (n + 127) / 128, 128, 0, 0, n, 3.0f, dx, dy);
    assert_done(cudaGetLastError());
    assert_true(from_device(dy, n) == expected);
    assert_done(cudaFree(dx));
    assert_done(cudaFree(dy));
  });
}

static void tiles_in_shared_memory_equal_loops (void **) {
  each_order([] {
    const int m = 37, n = 29, k = 41;
    std::vector<double> a(m * k), b(k * n), expected(m * n, 0.0);
    for (int i = 0; i < m * k; i++) a[i] = i % 11 - 5;
    for (int i = 0; i < k * n; i++) b[i] = i % 13 - 6;
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++)
        for (int p = 0; p < k; p++) expected[i * n + j] += a[i * k + p] * b[p * n + j];
    double *da = on_device(a), *db = on_device(b), *dc = on_device(std::vector<double>(m * n));
    GB_LAUNCH(product<8>, dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8), 0, 0, m, n, k, da, db, dc);
    assert_true(from_device(dc, m * n) == expected);
    GB_LAUNCH(product<16>, dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, 0, m, n, k, da, db, dc);
    assert_true(from_device(dc, m * n) == expected);
    for (double *p : {da, db, dc}) assert_done(cudaFree(p));
  });
}

static void shuffles_and_atomics_give_the_total (void **) {
  each_order([] {
    std::vector<int> x(5000);
    int expected = 0;
    for (int i = 0; i < 5000; i++) expected += x[i] = i * i % 101;
    int *dx = on_device(x), *out = on_device(std::vector<int>(1, 0));
    GB_LAUNCH(total, 8, 128, 0, 0, 5000, dx, out);
    assert_int_equal(from_device(out, 1)[0], expected);
    assert_done(cudaFree(dx));
    assert_done(cudaFree(out));
  });
}

static void dynamic_shared_memory_holds_what_was_asked (void **) {
  each_order([] {
    std::vector<double> x(100);
    for (int i = 0; i < 100; i++) x[i] = i;
    double *dx = on_device(x), *dy = on_device(x);
    GB_LAUNCH(mirror, 1, 100, 800, 0, 100, dx, dy);
    const std::vector<double> y = from_device(dy, 100);
    for (int i = 0; i < 100; i++) assert_true(y[i] == 99 - i);
    assert_done(cudaFree(dx));
    assert_done(cudaFree(dy));
  });
}

static void lanes_tell_each_other (void **) {
  each_order([] {
    unsigned *out = on_device(std::vector<unsigned>(12 * 32, 7777));
    GB_LAUNCH(lanes, 1, 32, 0, 0, out);
    const std::vector<unsigned> got = from_device(out, 12 * 32);
    for (int what = 0; what < 12; what++)
      for (unsigned lane = 0; lane < 32; lane++)
        assert_int_equal(got[what * 32 + lane], lane_value(what, lane));
    assert_done(cudaFree(out));
  });
}

static void votes_count_the_block (void **) {
  each_order([] {
    int *out = on_device(std::vector<int>(96));
    GB_LAUNCH(votes, 1, 96, 0, 0, out);
    for (int v : from_device(out, 96)) assert_int_equal(v, 10048);
    assert_done(cudaFree(out));
  });
}

static void every_thread_of_a_grid_runs_once (void **) {
  each_order([] {
    const unsigned blocks = 3 * 4 * 5, threads = 4 * 3 * 2;
    unsigned *out = on_device(std::vector<unsigned>(blocks * threads, 1u << 31));
    GB_LAUNCH(places, dim3(3, 4, 5), dim3(4, 3, 2), 0, 0, out);
    const std::vector<unsigned> got = from_device(out, blocks * threads);
    for (unsigned i = 0; i < got.size(); i++) assert_int_equal(got[i], i / threads * 1000 + i % threads);
    assert_done(cudaFree(out));
  });
}

__global__ void note (int *list) { /* list[0] counts: the blocks and threads in the order in which they run */
  list[1 + list[0]] = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  list[0]++;
}

static std::vector<int> order_of (const char *order, int blocks, int threads) {
  assert_true(emu_set("ORDER", order));
  int *list = on_device(std::vector<int>(1 + blocks * threads, 0));
  GB_LAUNCH(note, blocks, threads, 0, 0, list);
  std::vector<int> got = from_device(list, 1 + blocks * threads);
  assert_done(cudaFree(list));
  assert_int_equal(got[0], blocks * threads);
  got.erase(got.begin());
  return got;
}

static void orders_are_what_they_say (void **) {
  for (int blocks : {1, 2, 7, 12, 30}) {
    const int n = blocks * 5;
    std::vector<int> forward(n), backward(n);
    for (int i = 0; i < n; i++) forward[i] = i, backward[i] = n - 1 - i;
    assert_true(order_of("fwd", blocks, 5) == forward);
    assert_true(order_of("rev", blocks, 5) == backward);
    const std::vector<int> any = order_of("3", blocks, 5);
    assert_true(any != forward && any != backward && any != order_of("4", blocks, 5));
    std::vector<int> sorted = any;
    std::sort(sorted.begin(), sorted.end());
    assert_true(sorted == forward);
    bool blocks_move = false, threads_move = false;
    for (int i = 0; i < n; i += 5) {
      blocks_move = blocks_move || any[i] / 5 != i / 5;
      for (int k = 1; k < 5; k++) threads_move = threads_move || any[i + k] < any[i + k - 1];
    }
    assert_true(threads_move && (blocks_move || blocks < 7));
  }
  assert_true(emu_set("ORDER", nullptr));
}

static void copies_arrive_when_they_are_waited_for (void **) {
  each_order([] {
    std::vector<float> x(128), y(128);
    for (int i = 0; i < 128; i++) x[i] = (float)i;
    float *dx = on_device(x), *dy = on_device(y);
    GB_LAUNCH(staged, 1, 32, 0, 0, 128, dx, dy);
    y = from_device(dy, 128);
    for (int i = 0; i < 128; i++) assert_true(y[i] == (float)(i / 32 * 32 + 31 - i % 32));
    assert_done(cudaFree(dx));
    assert_done(cudaFree(dy));
  });
}

EMU_EXPORT(add_scaled);

static void kernels_run_by_their_address (void **) {
  float *x = on_device(std::vector<float>(4, 2.0f)), *y = on_device(std::vector<float>(4, 1.0f));
  int n = 4;
  float a = 3;
  void *arguments[] = {&n, &a, &x, &y};
  assert_done(cudaLaunchKernel((const void *)add_scaled, dim3(1), dim3(4), arguments, 0, nullptr));
  n = 0; /* the launch has taken the values */
  for (float v : from_device(y, 4)) assert_true(v == 7.0f);
  assert_done(cudaFree(x));
  assert_done(cudaFree(y));
}

static void wrong_launches_are_refused (void **) {
  int *out = on_device(std::vector<int>(1));
  GB_LAUNCH(votes, 1, 1025, 0, 0, out);
  assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
  GB_LAUNCH(votes, dim3(1, 65536), 32, 0, 0, out);
  assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
  GB_LAUNCH(votes, 1, 32, 49153, 0, out);
  assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
  assert_done(cudaGetLastError());
  assert_done(cudaFuncSetAttribute(votes, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  assert_int_equal(cudaFuncSetAttribute(votes, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449),
                   cudaErrorInvalidValue);
  GB_LAUNCH(places, 1, 1, 49152, 0, (unsigned *)out);
  GB_LAUNCH(votes, 1, 1, 65536, 0, out);
  assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue); /* of the attribute */
  assert_done(cudaGetLastError());
  assert_done(cudaFree(out));
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementwise_kernels_equal_loops),
      cmocka_unit_test(tiles_in_shared_memory_equal_loops),
      cmocka_unit_test(shuffles_and_atomics_give_the_total),
      cmocka_unit_test(dynamic_shared_memory_holds_what_was_asked),
      cmocka_unit_test(lanes_tell_each_other),
      cmocka_unit_test(votes_count_the_block),
      cmocka_unit_test(every_thread_of_a_grid_runs_once),
      cmocka_unit_test(orders_are_what_they_say),
      cmocka_unit_test(copies_arrive_when_they_are_waited_for),
      cmocka_unit_test(kernels_run_by_their_address),
      cmocka_unit_test(wrong_launches_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
