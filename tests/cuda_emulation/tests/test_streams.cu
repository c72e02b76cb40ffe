/* test_streams.cu - streams and events: what runs when, in all three schedules; a result that depends on an order that
** nobody asked for is seen to change. */
#include <algorithm>
#include <set>

#include "cuda_emulation/tests/test.h"

__global__ void append (int v, int *list) { /* list[0] counts */
  list[1 + list[0]] = v;
  list[0]++;
}
__global__ void set_to (int v, int *out) { *out = v; }

static const char *const schedules[] = {"eager", "lazy", "1", "2", "3"};
static cudaStream_t new_stream (unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t s;
  assert_done(cudaStreamCreateWithFlags(&s, flags));
  return s;
}
static void each_schedule (const std::function<void()> &check) {
  for (const char *s : schedules) {
    assert_true(emu_set("SCHEDULE", s));
    check();
  }
  assert_true(emu_set("SCHEDULE", nullptr));
  assert_int_equal(emu_pieces(), 0);
}
static std::vector<int> finished_list (int *list, size_t n) {
  assert_done(cudaDeviceSynchronize());
  std::vector<int> got = from_device(list, n + 1);
  assert_int_equal(got[0], n);
  assert_done(cudaFree(list));
  got.erase(got.begin());
  return got;
}
static int *new_list (void) { return on_device(std::vector<int>(64, 0)); }

static void a_stream_runs_in_its_order (void **) {
  each_schedule([] {
    cudaStream_t s = new_stream();
    int *list = new_list();
    for (int i = 0; i < 20; i++) GB_LAUNCH(append, 1, 1, 0, s, i, list);
    const std::vector<int> got = finished_list(list, 20);
    for (int i = 0; i < 20; i++) assert_int_equal(got[i], i);
    assert_done(cudaStreamDestroy(s));
  });
}

static void events_order_streams (void **) {
  each_schedule([] {
    cudaStream_t a = new_stream(), b = new_stream();
    cudaEvent_t e;
    int *list = new_list();
    assert_done(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (int i = 0; i < 10; i++) {
      cudaStream_t here = i % 2 == 0 ? a : b, next = i % 2 == 0 ? b : a;
      GB_LAUNCH(append, 1, 1, 0, here, i, list);
      assert_done(cudaEventRecord(e, here));
      assert_done(cudaStreamWaitEvent(next, e, 0));
    }
    assert_done(cudaEventSynchronize(e));
    const std::vector<int> got = finished_list(list, 10);
    for (int i = 0; i < 10; i++) assert_int_equal(got[i], i);
    assert_done(cudaEventDestroy(e));
    assert_done(cudaStreamDestroy(a));
    assert_done(cudaStreamDestroy(b));
  });
}

static void the_default_stream_waits_for_blocking_ones (void **) {
  each_schedule([] {
    cudaStream_t a = new_stream(0), b = new_stream(0);
    int *list = new_list();
    GB_LAUNCH(append, 1, 1, 0, a, 0, list);
    GB_LAUNCH(append, 1, 1, 0, nullptr, 1, list);
    GB_LAUNCH(append, 1, 1, 0, b, 2, list);
    GB_LAUNCH(append, 1, 1, 0, nullptr, 3, list);
    assert_true(finished_list(list, 4) == std::vector<int>({0, 1, 2, 3}));
    assert_done(cudaStreamDestroy(a));
    assert_done(cudaStreamDestroy(b));
  });
}

static void independent_streams_run_in_many_orders (void **) {
  std::set<std::vector<int>> seen;
  for (int seed = 1; seed <= 20; seed++) {
    assert_true(emu_set("SCHEDULE", std::to_string(seed).c_str()));
    cudaStream_t s[3] = {new_stream(), new_stream(), new_stream()};
    int *list = new_list();
    for (int i = 0; i < 6; i++) GB_LAUNCH(append, 1, 1, 0, s[i % 3], i, list);
    assert_done(cudaStreamSynchronize(s[2]));
    const std::vector<int> got = finished_list(list, 6);
    for (int i = 0; i < 3; i++) /* in each stream the order stays */
      assert_true(std::find(got.begin(), got.end(), i) < std::find(got.begin(), got.end(), i + 3));
    seen.insert(got);
    for (cudaStream_t x : s) assert_done(cudaStreamDestroy(x));
  }
  assert_true(seen.size() >= 5);
  assert_true(emu_set("SCHEDULE", nullptr));
}

static void a_wait_may_run_what_it_does_not_need (void **) {
  int ran = 0, *pinned;
  assert_done(cudaMallocHost(&pinned, 4));
  for (int seed = 1; seed <= 20; seed++) {
    assert_true(emu_set("SCHEDULE", std::to_string(seed).c_str()));
    cudaStream_t a = new_stream(), b = new_stream();
    int *list = new_list();
    *pinned = 0;
    GB_LAUNCH(set_to, 1, 1, 0, a, 1, pinned);
    for (int i = 0; i < 3; i++) GB_LAUNCH(append, 1, 1, 0, b, i, list);
    assert_done(cudaStreamSynchronize(b));
    ran += *pinned;
    finished_list(list, 3);
    assert_int_equal(*pinned, 1);
    assert_done(cudaStreamDestroy(a));
    assert_done(cudaStreamDestroy(b));
  }
  assert_true(ran > 0 && ran < 20);
  assert_done(cudaFreeHost(pinned));
  assert_true(emu_set("SCHEDULE", nullptr));
}

static void lazy_work_waits_until_it_is_waited_for (void **) {
  assert_true(emu_set("SCHEDULE", "lazy"));
  cudaStream_t a = new_stream(), b = new_stream();
  int *pinned;
  assert_done(cudaMallocHost(&pinned, 8));
  pinned[0] = pinned[1] = 0;
  GB_LAUNCH(set_to, 1, 1, 0, a, 1, &pinned[0]);
  GB_LAUNCH(set_to, 1, 1, 0, b, 2, &pinned[1]);
  assert_int_equal(cudaStreamQuery(a), cudaErrorNotReady);
  assert_int_equal(pinned[0], 0);
  assert_done(cudaStreamSynchronize(b));
  assert_int_equal(pinned[0], 0);
  assert_int_equal(pinned[1], 2);
  cudaError_t e = cudaErrorNotReady; /* asking helps in the end */
  for (int i = 0; i < 8 && e == cudaErrorNotReady; i++) e = cudaStreamQuery(a);
  assert_done(e);
  assert_int_equal(pinned[0], 1);
  assert_done(cudaStreamDestroy(a));
  assert_done(cudaStreamDestroy(b));
  assert_done(cudaFreeHost(pinned));
  assert_true(emu_set("SCHEDULE", nullptr));
  cudaGetLastError();
}

static void long_queues_are_bounded (void **) {
  assert_true(emu_set("SCHEDULE", "lazy"));
  cudaStream_t s = new_stream();
  int *count;
  assert_done(cudaMallocHost(&count, 4));
  for (int i = 1; i <= 3000; i++) GB_LAUNCH(set_to, 1, 1, 0, s, i, count);
  assert_int_equal(*count, 3000 - 1024);
  assert_done(cudaStreamSynchronize(s));
  assert_int_equal(*count, 3000);
  assert_done(cudaStreamDestroy(s));
  assert_done(cudaFreeHost(count));
  assert_true(emu_set("SCHEDULE", nullptr));
}

static int host_runs;
static cudaError_t in_host;
static void from_host (void *p) {
  host_runs++;
  in_host = cudaStreamQuery(nullptr);
  *(int *)p += 10;
}

static void host_functions_run_in_order_and_call_nothing (void **) {
  each_schedule([] {
    cudaStream_t s = new_stream();
    int *pinned;
    host_runs = 0;
    assert_done(cudaMallocHost(&pinned, 4));
    GB_LAUNCH(set_to, 1, 1, 0, s, 1, pinned);
    assert_done(cudaLaunchHostFunc(s, from_host, pinned));
    assert_done(cudaStreamSynchronize(s));
    assert_int_equal(host_runs, 1);
    assert_int_equal(*pinned, 11);
    assert_int_equal(in_host, cudaErrorNotPermitted);
    assert_done(cudaStreamDestroy(s));
    assert_done(cudaFreeHost(pinned));
  });
  cudaGetLastError();
}
static void host_functions_cannot_touch_a_device (void **) {
  const outcome o = in_child([] {
    int *p = on_device(std::vector<int>(1, 0));
    cudaLaunchHostFunc(
        nullptr, [] (void *at) { *(int *)at = 1; }, p);
  });
  assert_non_null(strstr(o.said.c_str(), "host code touches"));
}

static void times_come_from_the_model_clock (void **) {
  each_schedule([] {
    cudaStream_t s = new_stream();
    cudaEvent_t a, b, untimed;
    char *p, *pinned;
    float ms;
    assert_done(cudaMalloc(&p, 1 << 20));
    assert_done(cudaMallocHost(&pinned, 1 << 20));
    assert_done(cudaEventCreate(&a));
    assert_done(cudaEventCreate(&b));
    assert_done(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    assert_int_equal(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle); /* not recorded */
    assert_done(cudaEventRecord(a, s));
    for (int i = 0; i < 10; i++) assert_done(cudaMemcpyAsync(p, pinned, 1 << 20, cudaMemcpyHostToDevice, s));
    assert_done(cudaEventRecord(b, s));
    assert_done(cudaEventSynchronize(b));
    assert_done(cudaEventElapsedTime(&ms, a, b));
    const double expected = 10 * (5e-3 + (1 << 20) / 50e6) + 1e-3;
    assert_true(ms > 0.999 * expected && ms < 1.001 * expected);
    assert_int_equal(cudaEventElapsedTime(&ms, a, untimed), cudaErrorInvalidResourceHandle);
    for (cudaEvent_t e : {a, b, untimed}) assert_done(cudaEventDestroy(e));
    assert_done(cudaStreamDestroy(s));
    assert_done(cudaFreeHost(pinned));
    assert_done(cudaFree(p));
  });
  cudaGetLastError();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stream_runs_in_its_order),
      cmocka_unit_test(events_order_streams),
      cmocka_unit_test(the_default_stream_waits_for_blocking_ones),
      cmocka_unit_test(independent_streams_run_in_many_orders),
      cmocka_unit_test(a_wait_may_run_what_it_does_not_need),
      cmocka_unit_test(lazy_work_waits_until_it_is_waited_for),
      cmocka_unit_test(long_queues_are_bounded),
      cmocka_unit_test(host_functions_run_in_order_and_call_nothing),
      cmocka_unit_test(host_functions_cannot_touch_a_device),
      cmocka_unit_test(times_come_from_the_model_clock),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
