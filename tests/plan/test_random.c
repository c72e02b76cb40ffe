/* test_random.c - random expressions: the same values as the oracle, and the same bits for every budget,
** number of threads, and way of asking; the bytes that the plan said, watched under two poison patterns. */
#include <stdatomic.h>

#include "plan/place/pack.h"
#include "support/random/expression_random.h"

#ifndef ROUNDS
#define ROUNDS 150
#endif
#define OUTPUTS 3

static int used[GB_NOPS];

/* Builds the outputs of expression 'seed': two values, and a gradient of the sum of the last. */
static void build (uint64_t seed, gb_dtype t, gb_node *out[OUTPUTS]) {
  pool p = {.n = 0};
  draw_seed = seed;
  drawn = 0;
  inputs_begin(seed, t, seed % 3 ? GB_NODE_GRAD : 0);
  for (int i = 0; i < 3; i++) p.at[p.n++] = random_input();
  grow(&p);
  out[0] = p.at[p.n - 1];
  out[1] = p.at[p.n - 2];
  gb_node *loss = sum_all(out[0]), *x = inputs.leaf[draw(3)];
  out[2] = BUILD(gb_grad, loss, NULL, 1, &x, true);
}

static void count_ops (gb_node *const *out) {
  gb_node **order;
  size_t n;
  OK(gb_graph_order(fx.g, OUTPUTS, out, GB_WALK_ALL, &order, &n, &fx.err));
  for (size_t i = 0; i < n; i++) used[order[i]->op]++;
  free(order);
}

static void check_against_oracle (uint64_t seed, const gb_node *n, const double *want) {
  for (size_t e = 0; e < gb_shape_numel(gb_node_shape(n)); e++) {
    const double got = element(n, 0, e);
    if (!(fabs(got - want[e]) <= 1e-8 * (1 + fabs(want[e]))))
      fail_msg("expression %llu: element %zu is %.15g, want %.15g", (unsigned long long)seed, e, got,
               want[e]);
  }
}

static void random_expressions_have_the_oracles_values (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  memset(used, 0, sizeof used);
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    gb_node *out[OUTPUTS];
    double *want[OUTPUTS];
    build(seed, GB_F64, out);
    count_ops(out);
    for (int i = 0; i < OUTPUTS; i++) want[i] = oracle_of(out[i], 0);
    if (gb_eval(fx.g, OUTPUTS, out, &fx.err) != GB_OK)
      fail_msg("expression %llu: %s", (unsigned long long)seed, fx.err.text);
    for (int i = 0; i < OUTPUTS; i++) {
      check_against_oracle(seed, out[i], want[i]);
      free(want[i]);
    }
    release_to(0);
    gb_cache_drop(fx.g, SIZE_MAX);
  }
  for (int op = 0; op < GB_NOPS; op++)
    if (used[op] > 0) print_message("%s %d  ", gb_ops[op].name, used[op]);
  print_message("\n");
  eval_end();
}

/* Bits of an expression's outputs, one after the other; malloc'ed. */
typedef struct bits {
  void *at[OUTPUTS];
  size_t bytes[OUTPUTS];
} bits;

static bits take_bits (gb_node *const *out) {
  bits b;
  for (int i = 0; i < OUTPUTS; i++) {
    b.bytes[i] = gb_shape_bytes(gb_node_shape(out[i]), gb_node_dtype(out[i]));
    b.at[i] = elements_copied(&out[i]->out[0].tensor); /* leaves may be views */
  }
  return b;
}

static void free_bits (bits *b) {
  for (int i = 0; i < OUTPUTS; i++) free(b->at[i]);
}

static void same_bits (uint64_t seed, const char *how, const bits *a, const bits *b) {
  for (int i = 0; i < OUTPUTS; i++)
    if (a->bytes[i] != b->bytes[i] || memcmp(a->at[i], b->at[i], a->bytes[i]) != 0)
      fail_msg("expression %llu: output %d has other bits %s", (unsigned long long)seed, i, how);
}

/* Alone, a result may have other axes in its lanes than together with others: the same value, not the same
** bits. */
static void same_values (uint64_t seed, gb_dtype t, const bits *a, const bits *b) {
  const double tolerance = t == GB_F64 ? 1e-9 : 2e-3;
  for (int i = 0; i < OUTPUTS; i++)
    for (size_t e = 0; e < a->bytes[i] / gb_dtype_size(t); e++) {
      const double x = gb_element_get(a->at[i], e, t), y = gb_element_get(b->at[i], e, t);
      if (!(fabs(x - y) <= tolerance * (1 + fabs(x))))
        fail_msg("expression %llu: output %d alone is %g, jointly %g", (unsigned long long)seed, i, y, x);
    }
}

enum { JOINTLY, ONE_BY_ONE, INSIDE_FIRST, LEAST_BUDGET };

/* Evaluates expression 'seed' in a new graph. */
static bits bits_of (uint64_t seed, gb_dtype t, int threads, int how) {
  gb_node *out[OUTPUTS];
  eval_begin(threads, (size_t)1 << 28);
  build(seed, t, out);
  if (how == LEAST_BUDGET) {
    gb_plan *p;
    gb_plan_report r;
    OK(gb_plan_new(fx.g, OUTPUTS, out, NULL, &p, &fx.err));
    gb_plan_report_get(p, &r);
    gb_plan_free(p);
    device->ledger.limit = device->ledger.used + r.minimum;
  }
  if (how == INSIDE_FIRST) { /* as a debugging print would */
    gb_node **order;
    size_t n;
    OK(gb_graph_order(fx.g, OUTPUTS, out, GB_WALK_ALL, &order, &n, &fx.err));
    for (size_t i = 0; i < n; i++) gb_node_ref(order[i]);
    for (size_t i = seed % 3; i < n; i += 3)
      if (order[i] != out[0] && order[i] != out[1] && order[i] != out[2])
        OK(gb_eval(fx.g, 1, &order[i], &fx.err));
    for (size_t i = 0; i < n; i++) gb_node_unref(order[i]);
    free(order);
  }
  if (how == ONE_BY_ONE)
    for (int i = OUTPUTS - 1; i >= 0; i--) OK(gb_eval(fx.g, 1, &out[i], &fx.err));
  else OK(gb_eval(fx.g, OUTPUTS, out, &fx.err));
  const bits b = take_bits(out);
  eval_end();
  return b;
}

static void bits_depend_on_nothing_but_the_expression (void **unused) {
  (void)unused;
  static const struct {
    int threads, how;
    const char *text;
  } ways[] = {{2, JOINTLY, "with two threads"},
              {1, ONE_BY_ONE, "one by one"},
              {1, INSIDE_FIRST, "after observing inner values"},
              {1, LEAST_BUDGET, "in the least memory"}};
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    const gb_dtype t = seed % 2 ? GB_F64 : GB_F32;
    bits a = bits_of(seed, t, 1, JOINTLY);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
      bits b = bits_of(seed, t, ways[w].threads, ways[w].how);
      if (ways[w].how == ONE_BY_ONE) same_values(seed, t, &a, &b);
      else same_bits(seed, ways[w].text, &a, &b);
      free_bits(&b);
    }
    free_bits(&a);
  }
}

/* A plan run under watch uses its bytes: no stray write, nothing declared and not used. */
static void check_bytes (uint64_t seed, gb_node **out) {
  gb_plan *p;
  gb_plan_report r;
  gb_run_stats s;
  OK(gb_plan_new(fx.g, OUTPUTS, out, NULL, &p, &fx.err));
  gb_plan_report_get(p, &r);
  OK(gb_plan_run(p, &fx.err));
  gb_plan_stats(p, &s);
  gb_plan_free(p);
  if (s.measured != r.peak || gb_plan_memcheck(fx.g)->strays > 0 || gb_plan_memcheck(fx.g)->unwritten >= 64 ||
      gb_plan_memcheck(fx.g)->high_water > r.arena)
    fail_msg("expression %llu: peak %zu, measured %zu, %zu stray bytes, %zu unwritten, arena %zu of %zu: %s",
             (unsigned long long)seed, r.peak, s.measured, gb_plan_memcheck(fx.g)->strays,
             gb_plan_memcheck(fx.g)->unwritten, gb_plan_memcheck(fx.g)->high_water, r.arena,
             gb_plan_memcheck(fx.g)->first);
}

static void plans_use_the_bytes_they_say (void **unused) {
  (void)unused;
  size_t idle = 0;
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    size_t high = 0, arena = 0;
    for (int pattern = 0; pattern < 2; pattern++) {
      gb_node *out[OUTPUTS];
      eval_begin(1, (size_t)1 << 28);
      build(seed, seed % 2 ? GB_F32 : GB_F64, out);
      gb_plan *p;
      gb_plan_report r;
      OK(gb_plan_new(fx.g, OUTPUTS, out, NULL, &p, &fx.err));
      gb_plan_report_get(p, &r);
      gb_plan_free(p);
      arena = r.arena;
      *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){.on = true, .poison = pattern ? 0x5a : 0xa7};
      check_bytes(seed, out);
      if (gb_plan_memcheck(fx.g)->high_water > high) high = gb_plan_memcheck(fx.g)->high_water;
      if (gb_plan_memcheck(fx.g)->unused_scratch > idle) idle = gb_plan_memcheck(fx.g)->unused_scratch;
      *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){0};
      eval_end();
    }
    if (arena - high >= GB_ARENA_ALIGN + 64)
      fail_msg("expression %llu: only %zu of an arena of %zu were touched", (unsigned long long)seed, high,
               arena);
  }
  print_message("most scratch left idle at the end of one step: %zu bytes\n", idle);
}

/* no step allocates, on any thread: the device's functions run with every allocator of ours armed */

static atomic_bool executing;
static const gb_device_ops *plain;

static void armed (const char *what) {
  if (!atomic_load(&executing)) return;
  static const char text[] = " inside a step\n";
  fputs(what, stderr);
  fputs(text, stderr);
  abort();
}

void *__real_malloc (size_t n);
void *__real_calloc (size_t n, size_t size);
void *__real_realloc (void *p, size_t n);
void *__real_aligned_alloc (size_t align, size_t n);
void *__wrap_malloc (size_t n);
void *__wrap_calloc (size_t n, size_t size);
void *__wrap_realloc (void *p, size_t n);
void *__wrap_aligned_alloc (size_t align, size_t n);
void *__wrap_malloc (size_t n) { return armed("malloc"), __real_malloc(n); }
void *__wrap_calloc (size_t n, size_t size) { return armed("calloc"), __real_calloc(n, size); }
void *__wrap_realloc (void *p, size_t n) { return armed("realloc"), __real_realloc(p, n); }
void *__wrap_aligned_alloc (size_t align, size_t n) {
  return armed("aligned_alloc"), __real_aligned_alloc(align, n);
}

static gb_status armed_launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err) {
  atomic_store(&executing, true);
  const gb_status rc = plain->launch(dev, k, args, err);
  atomic_store(&executing, false);
  return rc;
}

static gb_status armed_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                               void *scratch, gb_error *err) {
  atomic_store(&executing, true);
  const gb_status rc = plain->opaque(dev, o, in, out, scratch, err);
  atomic_store(&executing, false);
  return rc;
}

static void no_step_allocates (void **unused) {
  (void)unused;
  eval_begin(2, (size_t)1 << 28);
  plain = device->ops;
  gb_device_ops watched = *plain;
  watched.launch = armed_launch;
  watched.opaque = armed_opaque;
  device->ops = &watched;
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    gb_node *out[OUTPUTS];
    build(seed, GB_F64, out);
    OK(gb_eval(fx.g, OUTPUTS, out, &fx.err));
    release_to(0);
    gb_cache_drop(fx.g, SIZE_MAX);
  }
  device->ops = plain;
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_expressions_have_the_oracles_values),
      cmocka_unit_test(bits_depend_on_nothing_but_the_expression),
      cmocka_unit_test(plans_use_the_bytes_they_say),
      cmocka_unit_test(no_step_allocates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
