/* test_plan_tasks.c - a catalogue of tasks at the edge of memory: the smallest budget works and one byte
** less does not, every budget between gives the same bits, every allocation may fail, and thousands of
** plans leave nothing behind. */

#include "support/plan/plan_watch.h"

#include "support/plan/plan_tasks.h"

#define LIMIT ((size_t)1 << 28)
#define LEVELS 30 /* budgets from the smallest to what the plan likes */
#define POINTS 67 /* no multiple of a tile */

static asked begin_task (const task *t, size_t n, uint64_t seed, gb_node **out) {
  inputs_begin(seed, GB_F64, GB_NODE_GRAD);
  const size_t results = t->make(n, out);
  return ask(results, out);
}

static void no_trouble (const task *t) {
  if (trouble[0] != '\0') fail_msg("%s: %s", t->name, trouble);
}

static bool plans_within (const asked *q, size_t budget) {
  gb_plan *p = NULL;
  const gb_status rc = gb_plan_new(fx.g, q->n, q->out, &(gb_plan_options){.budget = budget}, &p, &fx.err);
  if (rc == GB_OK) gb_plan_free(p);
  else if (rc != GB_EREFUSED) fail_msg("budget %zu: %s", budget, fx.err.text);
  return rc == GB_OK;
}

/* By bisection, without asking the plan for it. */
static size_t smallest_budget (const asked *q, size_t enough) {
  size_t refused = 1;
  while (enough - refused > 1) {
    const size_t middle = refused + (enough - refused) / 2;
    if (plans_within(q, middle)) enough = middle;
    else refused = middle;
  }
  return enough;
}

static void check_boundary (const task *t) {
  gb_node *out[TASK_RESULTS];
  gb_plan *p;
  gb_plan_report r;
  bits want = {0};
  const asked q = begin_task(t, POINTS, 3, out);
  if (opened(&q, 0, &p, &r)) gb_plan_free(p);
  no_trouble(t);
  const size_t least = smallest_budget(&q, r.peak);
  print_message("%-28s B* = %zu, likes %zu\n", t->name, least, r.peak);
  if (least != r.minimum)
    fail_msg("%s: the smallest budget that works is %zu, the plan says %zu", t->name, least, r.minimum);
  size_t last = 0;
  for (int k = 0; k < LEVELS; k++) {
    const size_t budget = least + (size_t)((double)(r.peak - least) * k / (LEVELS - 1));
    gb_plan_report s;
    check_case(&q, budget, &want);
    no_trouble(t);
    if (!opened(&q, budget, &p, &s)) no_trouble(t);
    gb_plan_free(p);
    if (s.minimum != r.minimum || s.peak > budget || s.peak < least)
      fail_msg("%s: budget %zu: peak %zu, minimum %zu", t->name, budget, s.peak, s.minimum);
    last = s.peak;
  }
  assert_int_equal(last, r.peak);
  assert_int_equal(want.rc, GB_OK);
  check_closed(&q, &want);
  check_rebound(&q, &want);
  for (uint32_t k = 0; k < 40; k += 3) check_history(&q, k, &want);
  no_trouble(t);
  bits_free(&want);
  check_refusal(&q, r.minimum);
  no_trouble(t);
}

static void the_smallest_budget_works_and_all_above_give_its_bits (void **unused) {
  (void)unused;
  for (size_t k = 0; k < ntasks; k++)
    for (int threads = 1; threads <= 2; threads++) {
      eval_begin(threads, LIMIT);
      trouble[0] = '\0';
      check_boundary(&tasks[k]);
      eval_end();
    }
}

/* The ledger's limit refuses like a budget, and prints what would do. */
static void one_byte_less_in_the_ledger_is_refused_in_words (void **unused) {
  (void)unused;
  for (size_t k = 0; k < ntasks; k++) {
    gb_node *out[TASK_RESULTS];
    gb_plan *p;
    gb_plan_report r;
    char text[GB_BYTES_TEXT];
    eval_begin(1, LIMIT);
    trouble[0] = '\0';
    const asked q = begin_task(&tasks[k], POINTS, 3, out);
    if (opened(&q, 0, &p, &r)) gb_plan_free(p);
    no_trouble(&tasks[k]);
    device->ledger.limit = q.level + r.minimum - 1;
    assert_int_equal(gb_eval(fx.g, q.n, q.out, &fx.err), GB_EREFUSED);
    assert_int_equal(fx.err.minimum, r.minimum);
    assert_int_equal(fx.err.have, r.minimum - 1);
    assert_non_null(strstr(fx.err.text, gb_bytes_text(r.minimum, text)));
    assert_int_equal(device->ledger.used, q.level);
    device->ledger.limit = q.level + r.minimum;
    OK(gb_eval(fx.g, q.n, q.out, &fx.err));
    assert_int_equal(gb_last_eval(fx.g).measured, r.minimum);
    eval_end();
  }
}

static bits evaluated (const asked *q) {
  bits b = {0};
  OK(gb_eval(fx.g, q->n, q->out, &fx.err));
  for (size_t i = 0; i < q->n; i++) bits_take(&b, &q->out[i]->out[0].tensor);
  return b;
}

/* The k-th allocation of an evaluation and all later ones fail, for every k until none is left to fail. */
static long fail_everywhere (const task *t, const asked *q, const bits *want) {
  gb_ledger *l = &device->ledger;
  for (long k = 0;; k++) {
    l->fail_after = (long)l->allocations + k;
    const gb_status rc = gb_eval(fx.g, q->n, q->out, &fx.err);
    l->fail_after = -1;
    if (rc != GB_OK) {
      assert_int_equal(rc, GB_ENOMEM);
      assert_true(fx.err.text[0] != '\0');
      forget_values(q);
      check_level(q, "after a failure");
    }
    bits got = evaluated(q); /* the next one works, and is right */
    if (bits_differ(want, &got) >= 0) fail_msg("%s: other bits after allocation %ld failed", t->name, k);
    bits_free(&got);
    forget_values(q);
    check_level(q, "after the evaluation that followed");
    no_trouble(t);
    if (rc == GB_OK) return k;
  }
}

static void wherever_an_allocation_fails_the_next_plan_works (void **unused) {
  (void)unused;
  for (size_t k = 0; k < ntasks; k++) {
    gb_node *out[TASK_RESULTS];
    eval_begin(1, LIMIT);
    trouble[0] = '\0';
    const asked q = begin_task(&tasks[k], POINTS, 5, out);
    bits want = evaluated(&q);
    forget_values(&q);
    const long failures = fail_everywhere(&tasks[k], &q, &want);
    print_message("%-28s %ld allocations\n", tasks[k].name, failures);
    assert_true(failures > (long)q.n - 1); /* each result is one of them */
    bits_free(&want);
    eval_end();
  }
}

#define PLANS 2000
#define CACHED 4 /* most values that one task keeps for later plans */

/* Data grow, models are made again, handles dropped: as a loop of Bayesian optimisation does. Nothing is
** freed by hand: what is cached of the past goes with the next evaluation, since it can no longer be asked
** for. */
static void a_long_loop_over_growing_data_leaves_the_ledger_flat (void **unused) {
  (void)unused;
  const gb_ledger *l;
  size_t most = 0;
  eval_begin(1, LIMIT);
  l = &device->ledger;
  for (int i = 0; i < PLANS; i++) {
    const task *t = &tasks[(size_t)i % ntasks];
    gb_node *out[TASK_RESULTS];
    const int mark = fx.n;
    inputs_begin((uint64_t)i, GB_F64, i % 3 ? GB_NODE_GRAD : GB_NODE_PARAM);
    const size_t n = t->make(3 + (size_t)i / 40, out);
    OK(gb_eval(fx.g, n, out, &fx.err));
    for (size_t k = 0; k < n; k++) assert_true(gb_node_has_value(out[k]));
    release_to(mark);
    if (l->used != l->by_purpose[GB_MEM_CACHE] || l->blocks > CACHED)
      fail_msg("%s, plan %d: %zu bytes in %zu blocks are left, %zu of them caches", t->name, i, l->used,
               l->blocks, l->by_purpose[GB_MEM_CACHE]);
    if (l->blocks > most) most = l->blocks;
  }
  assert_true(most > 0); /* else this says nothing of caches */
  gb_cache_sweep(fx.g);
  assert_int_equal(l->used, 0);
  assert_int_equal(fx.g->nnodes, 0);
  eval_end();
}

static void the_guard_is_in_place (void **unused) {
  (void)unused;
  const long before = atomic_load(&guarded_calls);
  void *volatile p = malloc(10);
  free(p);
  if (ALLOC_GUARDED) assert_true(atomic_load(&guarded_calls) > before);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_guard_is_in_place),
      cmocka_unit_test(the_smallest_budget_works_and_all_above_give_its_bits),
      cmocka_unit_test(one_byte_less_in_the_ledger_is_refused_in_words),
      cmocka_unit_test(wherever_an_allocation_fails_the_next_plan_works),
      cmocka_unit_test(a_long_loop_over_growing_data_leaves_the_ledger_flat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
