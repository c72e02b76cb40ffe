/* test_graph.cu - graphs: what a stream records does not run; launches run it, in order, as often as asked; streams join by
** events; calls that a recording cannot hold are refused and spoil it. */
#include "cuda_emulation/tests/test.h"

__global__ void add (int v, int *x) { x[0] += v; }
__global__ void twice (int *x) { x[0] *= 2; }
__global__ void sum (const int *a, const int *b, int *c) { c[0] = a[0] + b[0]; }

static const char *const schedules[] = {"eager", "lazy", "1", "2"};
static cudaStream_t new_stream (void) {
  cudaStream_t s;
  assert_done(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  return s;
}
static int *number (int v) { return on_device(std::vector<int>(1, v)); }
static int value (const int *p) {
  assert_done(cudaDeviceSynchronize());
  return from_device(p, 1)[0];
}

static void a_graph_runs_when_it_is_launched (void **) {
  for (const char *schedule : schedules) {
    assert_true(emu_set("SCHEDULE", schedule));
    cudaStream_t s = new_stream();
    int *x = number(1);
    cudaGraph_t g;
    cudaGraphExec_t e;
    size_t nodes;
    GB_LAUNCH(add, 1, 1, 0, s, 1, x); /* before it: no part of it */
    assert_done(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    GB_LAUNCH(add, 1, 1, 0, s, 3, x);
    GB_LAUNCH(twice, 1, 1, 0, s, x);
    assert_done(cudaStreamEndCapture(s, &g));
    assert_done(cudaGraphGetNodes(g, nullptr, &nodes));
    assert_int_equal(nodes, 2);
    assert_int_equal(value(x), 2);
    assert_done(cudaGraphInstantiate(&e, g, 0));
    assert_done(cudaGraphDestroy(g));
    for (int i = 0; i < 3; i++) assert_done(cudaGraphLaunch(e, s));
    GB_LAUNCH(add, 1, 1, 0, s, 100, x);
    assert_int_equal(value(x), (((2 + 3) * 2 + 3) * 2 + 3) * 2 + 100);
    assert_done(cudaGraphExecDestroy(e));
    assert_stopped("was destroyed", [=] { cudaGraphLaunch(e, s); });
    assert_done(cudaStreamDestroy(s));
    assert_done(cudaFree(x));
  }
  assert_true(emu_set("SCHEDULE", nullptr));
}

static void streams_join_and_leave_by_events (void **) {
  for (const char *schedule : schedules) {
    assert_true(emu_set("SCHEDULE", schedule));
    cudaStream_t s = new_stream(), t = new_stream();
    cudaEvent_t begun, done;
    int *a = number(1), *b = number(10), *c = number(0);
    cudaGraph_t g;
    cudaGraphExec_t e;
    assert_done(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    assert_done(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    assert_done(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    GB_LAUNCH(twice, 1, 1, 0, s, b);
    assert_done(cudaEventRecord(begun, s));
    assert_done(cudaStreamWaitEvent(t, begun, 0));
    GB_LAUNCH(add, 1, 1, 0, t, 5, b); /* after twice */
    GB_LAUNCH(twice, 1, 1, 0, s, a);
    assert_done(cudaEventRecord(done, t));
    assert_done(cudaStreamWaitEvent(s, done, 0));
    GB_LAUNCH(sum, 1, 1, 0, s, a, b, c);
    assert_done(cudaStreamEndCapture(s, &g));
    assert_done(cudaGraphInstantiate(&e, g, 0));
    assert_done(cudaGraphLaunch(e, s));
    assert_done(cudaStreamSynchronize(s));
    assert_int_equal(value(c), 2 + 25);
    GB_LAUNCH(add, 1, 1, 0, t, 1, b); /* t is free again */
    assert_int_equal(value(b), 26);
    assert_done(cudaGraphExecDestroy(e));
    assert_done(cudaGraphDestroy(g));
    for (cudaEvent_t x : {begun, done}) assert_done(cudaEventDestroy(x));
    for (cudaStream_t x : {s, t}) assert_done(cudaStreamDestroy(x));
    for (int *x : {a, b, c}) assert_done(cudaFree(x));
  }
  assert_true(emu_set("SCHEDULE", nullptr));
}

static void copies_read_when_the_graph_runs (void **) {
  cudaStream_t s = new_stream();
  int *x = number(0), here[1] = {1};
  cudaGraph_t g;
  cudaGraphExec_t e;
  assert_done(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  assert_done(cudaMemcpyAsync(x, here, sizeof here, cudaMemcpyHostToDevice, s));
  assert_done(cudaStreamEndCapture(s, &g));
  assert_done(cudaGraphInstantiate(&e, g, 0));
  for (int i = 5; i < 8; i++) {
    here[0] = i;
    assert_done(cudaGraphLaunch(e, s));
    assert_int_equal(value(x), i);
  }
  assert_done(cudaGraphExecDestroy(e));
  assert_done(cudaGraphDestroy(g));
  assert_done(cudaStreamDestroy(s));
  assert_done(cudaFree(x));
}

/* What a recording cannot hold is refused with 'code', and the recording ends with 'end'. */
static void refused (cudaError_t code, cudaError_t end,
                     const std::function<cudaError_t(cudaStream_t, cudaStream_t)> &call) {
  cudaStream_t s = new_stream(), t = new_stream();
  cudaGraph_t g;
  cudaStreamCaptureStatus status;
  assert_done(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  assert_int_equal(call(s, t), code);
  assert_done(cudaStreamIsCapturing(s, &status));
  assert_int_equal(status, end == cudaErrorStreamCaptureInvalidated ? cudaStreamCaptureStatusInvalidated
                                                                    : cudaStreamCaptureStatusActive);
  assert_int_equal(cudaStreamEndCapture(s, &g), end);
  assert_null(g);
  assert_done(cudaStreamSynchronize(s)); /* and the stream works again */
  cudaGetLastError();
  assert_done(cudaStreamDestroy(s));
  assert_done(cudaStreamDestroy(t));
}

static void what_a_graph_cannot_hold_is_refused (void **) {
  static int *x, *none, here[1];
  static cudaEvent_t event;
  const cudaError_t unsupported = cudaErrorStreamCaptureUnsupported,
                    spoiled = cudaErrorStreamCaptureInvalidated;
  x = number(0);
  assert_done(cudaEventCreate(&event));
  refused(unsupported, spoiled, [] (cudaStream_t s, cudaStream_t) { return cudaStreamSynchronize(s); });
  refused(unsupported, spoiled, [] (cudaStream_t, cudaStream_t) { return cudaDeviceSynchronize(); });
  refused(unsupported, spoiled, [] (cudaStream_t, cudaStream_t) { return cudaMalloc(&none, 8); });
  refused(unsupported, spoiled, [] (cudaStream_t, cudaStream_t) { return cudaFree(x); });
  refused(unsupported, spoiled,
          [] (cudaStream_t, cudaStream_t) { return cudaMemcpy(x, here, 4, cudaMemcpyHostToDevice); });
  refused(unsupported, spoiled, [] (cudaStream_t s, cudaStream_t) {
    assert_done(cudaEventRecord(event, s));
    return cudaEventSynchronize(event);
  });
  refused(cudaErrorStreamCaptureUnjoined, cudaErrorStreamCaptureUnjoined,
          [] (cudaStream_t s, cudaStream_t t) {
            assert_done(cudaEventRecord(event, s));
            assert_done(cudaStreamWaitEvent(t, event, 0));
            GB_LAUNCH(add, 1, 1, 0, t, 1, x);
            return cudaErrorStreamCaptureUnjoined;
          });
  refused(cudaErrorStreamCaptureIsolation, spoiled, [] (cudaStream_t s, cudaStream_t t) {
    assert_done(cudaEventRecord(event, t));
    return cudaStreamWaitEvent(s, event, 0);
  });
  assert_int_equal(value(x), 0); /* nothing of all that ran */
  assert_done(cudaEventDestroy(event));
  assert_done(cudaFree(x));
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_runs_when_it_is_launched),
      cmocka_unit_test(streams_join_and_leave_by_events),
      cmocka_unit_test(copies_read_when_the_graph_runs),
      cmocka_unit_test(what_a_graph_cannot_hold_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
