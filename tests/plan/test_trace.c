/* test_trace.c - runs whose steps are timed: their bits and bytes are those of other runs, every step is counted once, and a
** device with a clock of its own is asked for spans that nest, are read once, and are given back. */
#include "device/clock.h"
#include "plan/choose/plan_internal.h"
#include "support/plan/lower_fixture.h"
#include "support/plan/run_fixture.h"
#include "support/random/expression_random.h"

enum { EXPRESSIONS = 80, SPANS = 1100 };

/* -- a clock that counts: each end of a span is one second later than what came before */

static struct {
  int begun, open, most;
  long read;
  double now;
  bool ended[SPANS];
  double from[SPANS], to[SPANS];
} spans;

static gb_status begin_span (gb_device *dev, const char *name, int *span, gb_error *err) {
  (void)err;
  assert_true(dev == device && name != NULL && spans.begun < SPANS);
  *span = spans.begun++;
  spans.open++;
  if (spans.begun > spans.most) spans.most = spans.begun;
  spans.ended[*span] = false;
  spans.from[*span] = ++spans.now;
  return GB_OK;
}

static gb_status end_span (gb_device *dev, int span, gb_error *err) {
  (void)dev, (void)err;
  assert_true(span < spans.begun && !spans.ended[span]);
  for (int i = span + 1; i < spans.begun; i++) assert_true(spans.ended[i]);
  spans.open--;
  spans.ended[span] = true;
  spans.to[span] = ++spans.now;
  return GB_OK;
}

static gb_status read_span (gb_device *dev, int span, double *from, double *to, gb_error *err) {
  (void)dev, (void)err;
  assert_true(span < spans.begun && spans.ended[span]);
  *from = spans.from[span], *to = spans.to[span];
  spans.read++;
  return GB_OK;
}

static void drop_spans (gb_device *dev, int span) {
  (void)dev;
  assert_int_equal(span, spans.begun - 1); /* one by one, the last one first */
  spans.begun = span;
}

static const gb_clock_ops counting = {
    .begin = begin_span, .end = end_span, .read = read_span, .drop = drop_spans};

/* A device that lacks ops, with the clock. */
static void begin (uint64_t seed) {
  picky_begin(1 + (int)(seed % 2), seed % 3 == 0 ? GB_F32 : GB_F64);
  picky_draw_lacks(seed);
  ((gb_device_ops *)device->ops)->clock = &counting; /* the fixture's own */
  memset(&spans, 0, sizeof spans);
}

static void end (void) {
  assert_int_equal(spans.open, 0);
  assert_int_equal(spans.begun, 0);
  picky_end();
}

/* -- traces */

static gb_trace *open_trace (void) {
  gb_trace *t;
  OK(gb_trace_begin(fx.g, &t, &fx.err));
  return t;
}

typedef struct sums {
  double calls, flops, seconds, total;
} sums;

static sums sum_of (const gb_trace *t) {
  const gb_trace_view v = gb_trace_read(t);
  sums all = {0};
  for (size_t i = 0; i < v.nrows; i++) {
    const gb_trace_row *r = &v.row[i];
    const bool moved = strcmp(r->carrier, "copy") == 0; /* the two devices may have one name */
    const bool clocked = strcmp(r->device, home->name) != 0 ||
                         (!moved && strcmp(r->carrier, gb_device_isa(home)) != 0);
    assert_true(strcmp(r->device, clocked ? device->name : home->name) == 0);
    if (!moved) assert_true((strcmp(r->carrier, gb_device_isa(home)) == 0) == !clocked);
    assert_true(r->calls > 0 && r->seconds >= 0 && r->seconds <= r->total && r->flops >= 0 && r->bytes >= 0);
    if (clocked) assert_true(r->seconds >= (double)r->calls); /* one second and more each */
    all.calls += (double)r->calls;
    all.flops += r->flops;
    all.seconds += r->seconds;
    all.total += r->total;
  }
  double events = 0;
  for (size_t i = 0; i < v.nevents; i++) {
    assert_true(v.event[i].row < v.nrows && v.event[i].from <= v.event[i].to && v.event[i].depth == 0);
    events += v.event[i].to - v.event[i].from;
  }
  assert_true((double)v.nevents == all.calls && v.dropped == 0);
  assert_true(fabs(events - all.total) <= 1e-9 * (1 + all.total));
  return all;
}

/* -- random expressions */

static gb_node *some_input (void *unused) {
  (void)unused;
  return random_input();
}

typedef struct expected {
  void *bits;
  size_t bytes;
  const gb_trace *trace;
  sums before, first; /* of all runs so far; of the first one */
  uint64_t seed;
  int runs, more; /* more: runs of more operations than the first one */
} expected;

static void check_run (void *ud, gb_tensor *got) {
  expected *e = ud;
  void *bits = elements_copied(got);
  if (gb_shape_bytes(&got->shape, got->dtype) != e->bytes || memcmp(bits, e->bits, e->bytes) != 0)
    fail_msg("expression %d has other bits", (int)e->seed);
  free(bits);
  gb_tensor_clear(got);
  const sums now = sum_of(e->trace);
  const double flops = now.flops - e->before.flops;
  if (e->runs++ == 0) e->first = now;
  if (!(flops >= e->first.flops * (1 - 1e-9))) /* staged values that several steps read are made in each */
    fail_msg("expression %d: %g operations of %g", (int)e->seed, flops, e->first.flops);
  e->more += flops > e->first.flops * (1 + 1e-9);
  assert_true(now.calls >= e->before.calls);
  e->before = now;
}

static void timed_runs_have_the_bits_and_bytes_of_others (void **unused) {
  tally t = {0};
  long read = 0;
  double calls = 0;
  int more = 0;
  (void)unused;
  for (uint64_t seed = 1; seed <= EXPRESSIONS; seed++) {
    gb_tensor out;
    tally untimed = {0};
    begin(seed);
    gb_node *y = random_expression_of(seed, some_input, NULL);
    OK(run(y, 0, &out, &untimed));
    assert_int_equal(spans.most, 0); /* nothing is timed */
    expected e = {elements_copied(&out), gb_shape_bytes(&out.shape, out.dtype), open_trace(), .seed = seed};
    gb_tensor_clear(&out);
    OK(run(y, 0, &out, &t));
    check_run(&e, &out);
    shrink_on(device, y, check_run, &e, &t);
    shrink_on(home, y, check_run, &e, &t);
    calls += e.before.calls;
    read += spans.read;
    more += e.more;
    gb_trace_end(fx.g, (gb_trace *)e.trace);
    OK(run(y, 0, &out, &untimed));
    gb_tensor_clear(&out);
    assert_true(spans.begun == 0);
    free(e.bits);
    end();
  }
  print_message("%d runs, %d in windows, %.0f steps, %ld spans, %d with work that is done again\n", t.runs,
                t.windows, calls, read, more);
  assert_true(t.runs > 400 && t.windows > 20 && calls > 2000 && read > 500 && (double)read < calls &&
              more < 5);
}

static void traces_end_in_any_order (void **unused) {
  gb_tensor out;
  tally t = {0};
  (void)unused;
  begin(4);
  gb_node *y = random_expression_of(2, some_input, NULL);
  gb_trace *a = open_trace(), *b = open_trace();
  OK(run(y, 0, &out, &t));
  gb_tensor_clear(&out);
  const sums one = sum_of(a);
  gb_trace *c = open_trace();
  gb_trace_end(fx.g, b);
  OK(run(y, 0, &out, &t));
  gb_tensor_clear(&out);
  assert_true(one.calls > 0 && sum_of(a).calls == 2 * one.calls && sum_of(c).calls == one.calls);
  gb_trace_end(fx.g, a);
  OK(run(y, 0, &out, &t));
  gb_tensor_clear(&out);
  assert_true(sum_of(c).calls == 2 * one.calls);
  gb_trace_end(fx.g, c);
  gb_trace_end(fx.g, NULL);
  end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(timed_runs_have_the_bits_and_bytes_of_others),
      cmocka_unit_test(traces_end_in_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
