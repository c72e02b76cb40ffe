/* The clock of a GPU: spans of its work, which nest, are read when the work is over, and are ranges of NVTX. Seconds are
** those of the emulation's model, so they are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cuda/support/gpu_fixture.h"
#include "device/clock.h"

enum { BYTES = 1 << 20, MANY = 700 };

static gb_device *open_gpu (const char *schedule, gb_block *b) {
  gb_device *dev;
  gb_error err;
  gpu_begin();
  assert_true(emu_set("SCHEDULE", schedule));
  assert_int_equal(gpu_open(0, 0, &dev, &err), GB_OK);
  assert_int_equal(gb_ledger_alloc(&dev->ledger, GB_MEM_TENSOR, BYTES, "", "", b, &err), GB_OK);
  return dev;
}

static void close_gpu (gb_device *dev, gb_block *b) {
  gb_ledger_free(&dev->ledger, b);
  gb_ledger_release(&dev->ledger);
  gpu_close(dev);
}

static int begin (gb_device *dev, const char *name) {
  gb_error err;
  int span = -1;
  assert_int_equal(gb_device_begin_span(dev, name, &span, &err), GB_OK);
  return span;
}

static void end (gb_device *dev, int span) {
  gb_error err;
  assert_int_equal(gb_device_end_span(dev, span, &err), GB_OK);
}

static void fill (gb_device *dev, const gb_block *b) {
  gb_error err;
  assert_int_equal(gb_memory_fill(&dev->memory, b->data, 1, BYTES, &err), GB_OK);
}

/* An outer span with work, a span within it with as much, and work. Seconds of both. */
static void run_nested (const char *schedule, double seconds[2]) {
  gb_block b = {NULL};
  gb_error err;
  gb_device *dev = open_gpu(schedule, &b);
  double from[2], to[2];
  const double before = gb_clock();
  const int outer = begin(dev, "line: outer");
  fill(dev, &b);
  const int inner = begin(dev, "line: inner");
  fill(dev, &b);
  end(dev, inner);
  fill(dev, &b);
  end(dev, outer);
  assert_int_equal(gb_device_wait(dev, &err), GB_OK);
  assert_int_equal(gb_device_read_span(dev, outer, &from[0], &to[0], &err), GB_OK);
  assert_int_equal(gb_device_read_span(dev, inner, &from[1], &to[1], &err), GB_OK);
  assert_true(before <= from[0] && from[0] < from[1] && from[1] < to[1] && to[1] < to[0]);
  for (int i = 0; i < 2; i++) seconds[i] = to[i] - from[i];
  assert_int_equal(outer, 0);
  assert_int_equal(inner, 1);
  assert_int_equal(emu_calls("nvtxRangePushA"), 2);
  assert_int_equal(emu_calls("nvtxRangePop"), 2);
  gb_device_drop_spans(dev, inner);
  const int next = begin(dev, "next");
  end(dev, next);
  assert_int_equal(next, inner); /* its events serve again */
  gb_device_drop_spans(dev, outer);
  const long events = emu_calls("cudaEventCreate");
  assert_int_equal(begin(dev, "again"), outer);
  end(dev, outer);
  assert_int_equal(emu_calls("cudaEventCreate"), events);
  close_gpu(dev, &b);
}

static void test_nested (void **state) {
  static const char *const schedules[] = {"eager", "lazy", "3", "4"};
  double want[2], got[2];
  (void)state;
  run_nested("eager", want);
  assert_true(want[1] > 1e-6 &&
              want[0] > 2.5 * want[1]); /* two fills more, and the events of the inner one */
  for (int i = 0; i < 4; i++) {
    run_nested(schedules[i], got);
    for (int k = 0; k < 2; k++) assert_true(fabs(got[k] - want[k]) < 1e-8);
  }
}

static void test_many (void **state) {
  gb_block b = {NULL};
  gb_error err;
  gb_device *dev = open_gpu("lazy", &b);
  double at = 0;
  (void)state;
  for (int i = 0; i < MANY; i++) {
    assert_int_equal(begin(dev, "one of many"), i);
    fill(dev, &b);
    end(dev, i);
  }
  assert_int_equal(gb_device_wait(dev, &err), GB_OK);
  for (int i = 0; i < MANY; i++) {
    double from, to;
    assert_int_equal(gb_device_read_span(dev, i, &from, &to, &err), GB_OK);
    assert_true(from >= at && to > from);
    at = to;
  }
  close_gpu(dev, &b);
}

/* The CPU has none: its calls return when they are complete. */
static void test_none (void **state) {
  gb_error err;
  int span;
  (void)state;
  assert_int_equal(gb_device_begin_span(gpu_home(), "x", &span, &err), GB_EINTERNAL);
  gb_device_drop_spans(gpu_home(), 0);
}

/* Nothing of it is opened where nothing is timed. */
static void test_untimed (void **state) {
  gb_block b = {NULL};
  gb_error err;
  gb_device *dev = open_gpu("eager", &b);
  const long events = emu_calls("cudaEventCreate");
  (void)state;
  fill(dev, &b);
  assert_int_equal(gb_device_wait(dev, &err), GB_OK);
  assert_int_equal(emu_calls("cudaEventCreate"), events);
  assert_int_equal(emu_calls("nvtxRangePushA"), 0);
  close_gpu(dev, &b);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_many),
      cmocka_unit_test(test_none),
      cmocka_unit_test(test_untimed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
