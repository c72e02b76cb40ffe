/* test_plan.c - budgets, caches, refusals, failures and rebinding, on a naive lowering and device. */
#include "support/plan/plan_fixture.h"

#include "plan/place/pack.h"

#define LIMIT ((size_t)1 << 20)

static void stats_of (const gb_plan *p, gb_run_stats *s, gb_plan_report *r) {
  gb_plan_stats(p, s);
  gb_plan_report_get(p, r);
}

static gb_plan *plan_of (gb_node *y, size_t budget) {
  gb_plan *p = NULL;
  OK(gb_plan_new(fx.g, 1, &y, &(gb_plan_options){.budget = budget}, &p, &fx.err));
  return p;
}

static void a_run_uses_what_its_plan_said_to_the_byte (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *x = data_leaf(1000), *y = map1(GB_OP_SIN, map1(GB_OP_EXP, map1(GB_OP_SIN, add(x, num(0.5)))));
  gb_plan *p = plan_of(y, 0);
  gb_plan_report r;
  gb_run_stats s;
  OK(gb_plan_run(p, &fx.err));
  stats_of(p, &s, &r);
  assert_int_equal(r.outputs, 8000);
  assert_int_equal(r.arena, 2 * 8000 + gb_round_size(4024)); /* one value read, one written, scratch */
  assert_int_equal(r.arena, r.lower_bound - r.outputs);
  assert_int_equal(s.measured, r.peak);
  assert_int_equal(s.folds, 4);
  assert_true(fabs(at(y, 7) - sin(exp(sin(at(x, 7) + 0.5)))) < 1e-14);
  assert_int_equal(fx.device.ledger.used, 2 * 8000); /* the arena is returned */
  gb_plan_free(p);
  plan_end();
}

static void the_smallest_budget_works_and_one_byte_less_is_refused (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *x = data_leaf(777), *f = named(map1(GB_OP_EXP, x), "cache");
  gb_node *y = map1(GB_OP_SIN, map1(GB_OP_ATAN, map1(GB_OP_SIN, f)));
  gb_plan_report r;
  gb_plan *p = plan_of(y, 0);
  gb_plan_report_get(p, &r);
  gb_plan_free(p);
  assert_true(r.minimum < r.peak); /* without the cache it takes less */
  p = plan_of(y, r.minimum);
  gb_run_stats s;
  OK(gb_plan_run(p, &fx.err));
  gb_plan_report q;
  stats_of(p, &s, &q);
  assert_int_equal(s.measured, r.minimum);
  assert_int_equal(q.caches, 0);
  gb_plan_free(p);
  plan_end();

  plan_begin(LIMIT);
  x = data_leaf(777);
  f = named(map1(GB_OP_EXP, x), "cache");
  y = map1(GB_OP_SIN, map1(GB_OP_ATAN, map1(GB_OP_SIN, f)));
  const size_t used = fx.device.ledger.used;
  assert_int_equal(gb_plan_new(fx.g, 1, &y, &(gb_plan_options){.budget = r.minimum - 1}, &p, &fx.err),
                   GB_EREFUSED);
  assert_int_equal(fx.err.minimum, r.minimum);
  assert_int_equal(fx.err.have, r.minimum - 1);
  assert_true(fx.err.need >= fx.err.minimum);
  assert_int_equal(fx.device.ledger.used, used);
  fx.device.ledger.limit = used + r.minimum - 1; /* the ledger's limit refuses alike */
  assert_int_equal(gb_eval(fx.g, 1, &y, &fx.err), GB_EREFUSED);
  assert_int_equal(naive.steps, 0);
  fx.device.ledger.limit = used + r.minimum;
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  assert_int_equal(gb_last_eval(fx.g).measured, r.minimum);
  plan_end();
}

static void a_refusal_names_the_values_and_the_lines (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *x = data_leaf(400);
  fx.g->where = gb_graph_intern(fx.g, "script.lua:12");
  gb_node *k = named(map2(GB_OP_MUL, unsq(x, 1), unsq(x, 0)), "K");
  fx.g->where = "";
  assert_int_equal(gb_eval(fx.g, 1, &k, &fx.err), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "K 400x400 f64 1.221 MiB (script.lua:12)"));
  assert_non_null(strstr(fx.err.text, "asked for whole"));
  assert_non_null(strstr(fx.err.text, "smallest budget that works"));
  assert_int_equal(naive.steps, 0);
  plan_end();
}

static void shapes_past_the_address_space_are_refused_in_words (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  const gb_shape s = gb_shape_of(1, (size_t[]){(size_t)1 << 31});
  gb_node *x = BUILD(gb_node_placeholder, fx.g, &s, GB_F64, "x");
  gb_node *k = map2(GB_OP_MUL, unsq(x, 1), unsq(x, 0));
  gb_plan *p;
  assert_int_equal(gb_plan_new(fx.g, 1, &k, NULL, &p, &fx.err), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "more than 16 EiB"));
  assert_true(fx.err.need == SIZE_MAX);
  plan_end();
}

static void observing_twice_computes_once (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *x = leaf1(100), *y = map1(GB_OP_SIN, map1(GB_OP_EXP, x)), *z = map1(GB_OP_ATAN, y);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  assert_int_equal(naive.steps, 2);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  assert_int_equal(naive.steps, 2);
  assert_int_equal(gb_last_eval(fx.g).folds, 0);
  OK(gb_eval(fx.g, 2, (gb_node *[]){z, y}, &fx.err));
  assert_int_equal(naive.steps, 3); /* z from the value of y */
  plan_end();
}

static void one_structure_is_lowered_once (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  for (int step = 0; step < 50; step++) {
    gb_node *x = leaf1(64), *y = sum_all(map1(GB_OP_EXP, mul(x, num(0.1 + step))));
    OK(gb_eval(fx.g, 1, &y, &fx.err));
    double want = 0;
    for (size_t i = 0; i < 64; i++) want += exp(at(x, i) * (0.1 + step));
    assert_true(fabs(at(y, 0) - want) <= 1e-12 * want); /* numbers are bindings */
  }
  assert_int_equal(naive.lowerings, 1);
  plan_end();
}

static void caches_serve_later_plans_and_give_way_to_memory (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache");
  gb_node *y = map1(GB_OP_SIN, f), *z = map1(GB_OP_ATAN, f);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  assert_int_equal(l->by_purpose[GB_MEM_CACHE], 8000);
  OK(gb_eval(fx.g, 1, &z, &fx.err));
  assert_int_equal(naive.steps, 3);
  assert_int_equal(gb_cache_drop(fx.g, 1), 8000);
  assert_false(gb_node_has_value(f));
  gb_node *w = map1(GB_OP_SIN, map1(GB_OP_SIN, f));
  OK(gb_eval(fx.g, 1, &w, &fx.err)); /* sin(f) has its value: f is not needed */
  assert_int_equal(naive.steps, 4);
  assert_false(gb_node_has_value(f));
  plan_end();
}

static void the_cache_used_longest_ago_goes_first (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache"), *g = named(map1(GB_OP_SIN, x), "cache");
  gb_node *y = sum_all(f), *z = sum_all(g), *again = map1(GB_OP_ATAN, f);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  OK(gb_eval(fx.g, 1, &z, &fx.err));
  OK(gb_eval(fx.g, 1, &again, &fx.err));
  assert_int_equal(gb_cache_drop(fx.g, 1), 8000);
  assert_true(gb_node_has_value(f) && !gb_node_has_value(g));
  plan_end();
}

static void a_cache_is_dropped_before_a_refusal (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache"), *y = sum_all(f);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  gb_node *u = leaf1(1000), *v = map1(GB_OP_SIN, u);
  l->limit = l->used + 4096 + 64; /* v and its scratch fit only in the place of f */
  OK(gb_eval(fx.g, 1, &v, &fx.err));
  assert_false(gb_node_has_value(f));
  assert_int_equal(l->by_purpose[GB_MEM_CACHE], 0);
  plan_end();
}

/* As above where the result fits and what it is made of does not. */
static void a_cache_is_dropped_for_the_arena (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache"), *y = sum_all(f);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  gb_node *u = leaf1(1000), *v = sum_all(map1(GB_OP_SIN, u));
  l->limit = l->used + 4096 + 256;
  OK(gb_eval(fx.g, 1, &v, &fx.err));
  assert_false(gb_node_has_value(f));
  plan_end();
}

static void an_observed_cache_is_no_longer_droppable (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache"), *y = sum_all(f);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  OK(gb_eval(fx.g, 1, &f, &fx.err));
  assert_int_equal(fx.device.ledger.by_purpose[GB_MEM_CACHE], 0);
  assert_int_equal(gb_cache_drop(fx.g, SIZE_MAX), 0);
  assert_true(gb_node_has_value(f));
  plan_end();
}

/* It cannot give way to the run that hands it out. */
static void a_cache_that_is_asked_for_counts (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache"), *y = sum_all(f);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  gb_node *out[2] = {f, map1(GB_OP_SIN, leaf1(1000))};
  const size_t pinned = l->used - l->by_purpose[GB_MEM_CACHE], need = 8000 + 8000 + gb_round_size(4024);
  l->limit = pinned + need - 1;
  assert_int_equal(gb_eval(fx.g, 2, out, &fx.err), GB_EREFUSED);
  assert_int_equal(fx.err.minimum, pinned + need);
  l->limit = pinned + need;
  OK(gb_eval(fx.g, 2, out, &fx.err));
  assert_true(fabs(at(f, 5) - exp(at(x, 5))) < 1e-14);
  plan_end();
}

/* The owner of the ledger drops every cache and a tensor nobody uses, as a garbage collector would. */
static void collector (void *ud, size_t bytes) {
  (void)bytes;
  gb_cache_drop(fx.g, SIZE_MAX);
  gb_tensor_clear(ud);
}

static void before_a_refusal_the_owner_collects (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  gb_tensor garbage;
  const gb_shape s = gb_shape_of(1, (size_t[]){1000});
  OK(gb_tensor_new(l, GB_F64, &s, GB_MEM_TENSOR, "", "", &garbage, &fx.err));
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache"), *y = sum_all(f), *z = map1(GB_OP_SIN, f);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  l->reclaim = collector;
  l->reclaim_ud = &garbage;
  l->limit = l->used - 8000 + 8000 +
             4032; /* z is made where the garbage was; f exists no more and is made again */
  OK(gb_eval(fx.g, 1, &z, &fx.err));
  assert_true(garbage.storage == NULL);
  assert_true(fabs(at(z, 5) - sin(exp(at(x, 5)))) < 1e-14);
  plan_end();
}

/* The node outlives its handle only in the cache; when its leaf can no longer be named, nobody can ask for
** it. */
static void a_cache_that_cannot_be_found_again_is_swept (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  gb_node *keep = leaf1(10);
  const int mark = fx.n;
  gb_node *x = leaf1(1000), *y = sum_all(named(map1(GB_OP_EXP, x), "cache"));
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  gb_cache_sweep(fx.g);
  assert_int_equal(l->by_purpose[GB_MEM_CACHE], 8000);
  while (fx.n > mark) gb_node_unref(fx.held[--fx.n]); /* y, the cache's handle, x */
  gb_cache_sweep(fx.g);
  assert_int_equal(l->by_purpose[GB_MEM_CACHE], 0);
  assert_int_equal(fx.g->nnodes, 1);
  (void)keep;
  plan_end();
}

/* A held value is a leaf to evaluation, of any number of inputs. */
static void a_cache_of_a_held_value_is_swept (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  const gb_ledger *l = &fx.device.ledger;
  gb_node *x = leaf1(1000), *value = leaf1(1000);
  gb_node *h = BUILD(gb_node_hold, map1(GB_OP_TANH, x), &value->out[0].tensor, 0);
  gb_node *y = sum_all(named(map1(GB_OP_EXP, h), "cache"));
  assert_int_equal(gb_node_reads(h), 0);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  gb_cache_sweep(fx.g);
  assert_int_equal(l->by_purpose[GB_MEM_CACHE], 8000);
  while (fx.n > 0) gb_node_unref(fx.held[--fx.n]);
  gb_cache_sweep(fx.g);
  assert_int_equal(l->by_purpose[GB_MEM_CACHE], 0);
  assert_int_equal(fx.g->nnodes, 0);
  plan_end();
}

static void a_failure_leaves_only_finished_caches (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache"), *y = map1(GB_OP_SIN, f),
          *z = map1(GB_OP_ATAN, y);
  const size_t used = l->used;
  fx.g->where = gb_graph_intern(fx.g, "fit.lua:3");
  z = map1(GB_OP_SIN, z);
  naive.fail_at = 3;
  assert_int_equal(gb_eval(fx.g, 1, &z, &fx.err), GB_ENOTPD);
  assert_string_equal(fx.err.text, "minor 3 is not positive (fit.lua:3)");
  assert_false(gb_node_has_value(z) || gb_node_has_value(y));
  assert_true(gb_node_has_value(f));
  assert_int_equal(l->used, used + 8000);
  naive.fail_at = -1;
  naive.interrupt_at = 1 + naive.steps;
  assert_int_equal(gb_eval(fx.g, 1, &z, &fx.err), GB_EINTR);
  assert_int_equal(l->used, used + 8000);
  gb_interrupt_clear();
  OK(gb_eval(fx.g, 1, &z, &fx.err));
  plan_end();
}

static void wherever_an_allocation_fails_nothing_is_left_behind (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  gb_node *x = leaf1(1000), *f = named(map1(GB_OP_EXP, x), "cache");
  gb_node *out[2] = {map1(GB_OP_SIN, map1(GB_OP_SIN, f)), sum_all(f)};
  const size_t used = l->used, allocations = l->allocations;
  int failures = 0;
  for (long n = 0;; n++) {
    l->fail_after = (long)l->allocations + n;
    const gb_status rc = gb_eval(fx.g, 2, out, &fx.err);
    l->fail_after = -1;
    if (rc == GB_OK) break;
    assert_int_equal(rc, GB_ENOMEM);
    assert_int_equal(l->used, used);
    failures++;
  }
  assert_int_equal(failures, 4); /* two outputs, a cache, the arena */
  assert_true(l->allocations > allocations);
  plan_end();
}

static void unbound_leaves_are_named (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  const gb_shape s = gb_shape_of(1, (size_t[]){4});
  gb_node *e = BUILD(gb_node_placeholder, fx.g, &s, GB_F64, "weights"), *y = map1(GB_OP_SIN, e);
  assert_int_equal(gb_eval(fx.g, 1, &y, &fx.err), GB_EOPTION);
  assert_string_equal(fx.err.text, "weights 4 has no value: gb.empty makes a shape for plans only");
  gb_tensor none = {.dtype = GB_F64, .shape = s};
  gb_node *t = BUILD(gb_node_leaf, fx.g, &none, GB_NODE_TRACED, "row");
  y = map1(GB_OP_SIN, t);
  assert_int_equal(gb_eval(fx.g, 1, &y, &fx.err), GB_EOPTION);
  assert_non_null(strstr(fx.err.text, "inside gb.vmap"));
  plan_end();
}

static gb_tensor vector_of (size_t n, double first) {
  gb_tensor t;
  const gb_shape s = gb_shape_of(1, &n);
  OK(gb_tensor_new(&fx.device.ledger, GB_F64, &s, GB_MEM_TENSOR, "", "", &t, &fx.err));
  double *to = elements_to_write(&t);
  for (size_t i = 0; i < n; i++) to[i] = first + (double)i / 100;
  elements_written(&t);
  return t;
}

static void a_loop_rebinds_leaves_and_allocates_its_outputs_only (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  const gb_shape s = gb_shape_of(1, (size_t[]){50});
  gb_node *x = data_leaf(50), *v = BUILD(gb_node_placeholder, fx.g, &s, GB_F64, "v");
  gb_node *y = map1(GB_OP_SIN, add(v, named(map1(GB_OP_EXP, x), "cache")));
  gb_plan *p = plan_of(y, 0);
  gb_tensor state = vector_of(50, 0.5);
  double want[50];
  for (int i = 0; i < 50; i++) want[i] = 0.5 + i / 100.0;
  size_t allocations = 0;
  for (int step = 0; step < 10; step++) {
    gb_tensor next;
    OK(gb_plan_run_with(p, 1, &v, &state, &next, &fx.err));
    gb_tensor_clear(&state);
    state = next;
    for (size_t i = 0; i < 50; i++) want[i] = sin(want[i] + exp(at(x, i)));
    if (step == 1) allocations = l->allocations;
  }
  assert_int_equal(l->allocations, allocations + 8); /* one output a step */
  assert_int_equal(naive.steps, 1 + 2 * 10);         /* what does not depend on v is computed once */
  for (size_t i = 0; i < 50; i++) assert_true(fabs(element_at(&state, &i) - want[i]) < 1e-14);
  assert_false(gb_node_has_value(y));
  gb_tensor wrong = vector_of(51, 0), out;
  assert_int_equal(gb_plan_run_with(p, 1, &v, &wrong, &out, &fx.err), GB_ESHAPE);
  gb_tensor_clear(&wrong);
  gb_tensor_clear(&state);
  gb_plan_free(p);
  plan_end();
}

/* Values that nodes hold belong to the leaves' own values, not to those that a run binds. */
static void values_of_the_nodes_are_not_taken_for_bound_leaves (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *x = data_leaf(50), *f = named(map1(GB_OP_EXP, x), "cache"), *y = map1(GB_OP_SIN, f);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  gb_plan *p = plan_of(map1(GB_OP_ATAN, y), 0);
  gb_tensor other = vector_of(50, 0.5), out;
  OK(gb_plan_run_with(p, 1, &x, &other, &out, &fx.err));
  for (size_t i = 0; i < 50; i++)
    assert_true(fabs(element_at(&out, &i) - atan(sin(exp(0.5 + (double)i / 100)))) < 1e-14);
  gb_tensor_clear(&other);
  gb_tensor_clear(&out);
  gb_plan_free(p);
  plan_end();
}

static void a_closed_run_allocates_nothing (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_ledger *l = &fx.device.ledger;
  const gb_shape s = gb_shape_of(1, (size_t[]){50});
  gb_node *x = data_leaf(50), *v = BUILD(gb_node_placeholder, fx.g, &s, GB_F64, "v");
  gb_node *outs[2] = {map1(GB_OP_SIN, add(v, named(map1(GB_OP_EXP, x), "cache"))), v};
  gb_plan *p = NULL;
  OK(gb_plan_new(fx.g, 2, outs, NULL, &p, &fx.err));
  size_t bytes;
  OK(gb_plan_arena(p, false, &bytes, &fx.err));
  void *arena = l->memory->ops->take(l->memory, bytes);
  gb_tensor value = vector_of(50, 0.5), out[2] = {vector_of(50, 0), vector_of(50, 0)};
  const size_t allocations = l->allocations;
  OK(gb_plan_run_into(p, 1, &v, &value, out, false, arena, &fx.err));
  assert_int_equal(l->allocations, allocations);
  for (size_t i = 0; i < 50; i++) {
    assert_true(fabs(element_at(&out[0], &i) - sin(0.5 + (double)i / 100 + exp(at(x, i)))) < 1e-14);
    assert_true(element_at(&out[1], &i) == 0.5 + (double)i / 100);
  }
  gb_tensor_clear(&value);
  gb_tensor_clear(&out[0]);
  gb_tensor_clear(&out[1]);
  l->memory->ops->give(l->memory, arena, bytes);
  gb_plan_free(p);
  plan_end();
}

static void a_chain_of_forty_thousand_nodes_evaluates (void **unused) {
  (void)unused;
  for (int grad = 0; grad <= 1; grad++) {
    plan_begin((size_t)1 << 24);
    gb_node *x = grad ? leaf1(8) : data_leaf(8), *y = gb_node_ref(x);
    const int depth = 40000;
    double want = at(x, 3);
    for (int i = 0; i < depth; i++) {
      gb_node *next;
      OK(gb_map1(i % 2 ? GB_OP_SIN : GB_OP_ATAN, y, &next, &fx.err));
      gb_node_unref(y);
      y = next;
      want = i % 2 ? sin(want) : atan(want);
    }
    assert_int_equal(y->depth, depth);
    OK(gb_eval(fx.g, 1, &y, &fx.err));
    assert_true(at(y, 3) == want);
    assert_int_equal(naive.steps, depth);
    assert_true(naive.lowerings <= 3); /* the pieces have one structure */
    if (grad) assert_int_equal(y->nin, 1);
    else assert_true(fx.g->nnodes <= 1002); /* history that nobody needs is gone */
    gb_node_unref(y);
    plan_end();
  }
}

/* x = sin(x), observed each time: what is long past goes, and a step costs no more for it. */
static void a_loop_that_looks_at_its_state_keeps_a_bounded_history (void **unused) {
  (void)unused;
  for (int grad = 0; grad <= 1; grad++) {
    plan_begin((size_t)1 << 24);
    gb_node *x = grad ? leaf1(8) : data_leaf(8), *y = gb_node_ref(x);
    double want = at(x, 3);
    for (int i = 0; i < 2500; i++) {
      gb_node *next;
      OK(gb_map1(i % 2 ? GB_OP_SIN : GB_OP_ATAN, y, &next, &fx.err));
      gb_node_unref(y);
      y = next;
      want = i % 2 ? sin(want) : atan(want);
      OK(gb_eval(fx.g, 1, &y, &fx.err));
    }
    assert_true(at(y, 3) == want);
    assert_int_equal(naive.steps, 2500);
    assert_true(naive.lowerings <= 1100);
    if (!grad) assert_true(fx.g->nnodes <= 1100);
    gb_node_unref(y);
    plan_end();
  }
}

static void an_explanation_says_what_runs_and_where (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  fx.g->where = gb_graph_intern(fx.g, "script.lua:7");
  gb_node *x = data_leaf(1000), *y = named(map1(GB_OP_SIN, named(map1(GB_OP_EXP, x), "cache")), "y");
  gb_plan *p = plan_of(y, 0);
  char *text = gb_plan_explain(p), *json = gb_plan_json(p);
  assert_non_null(strstr(text, " = 3.938 KiB arena + 7.812 KiB outputs + 7.812 KiB caches + "));
  assert_non_null(
      strstr(text, "peak    19.56 KiB at step 1 \"exp\", lower bound 19.56 KiB, fragmentation 0.00 %"));
  assert_non_null(strstr(text, "script.lua:7"));
  assert_non_null(strstr(json, "\"peak\": 20032"));
  assert_non_null(strstr(json, "\"class\": \"cache\""));
  free(text);
  free(json);
  gb_plan_free(p);
  plan_end();
}

static void the_watch_sees_stray_and_missing_writes (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){.on = true, .poison = 0xa5};
  gb_node *x = data_leaf(100), *y = map1(GB_OP_SIN, map1(GB_OP_EXP, map1(GB_OP_ATAN, x)));
  gb_plan *p = plan_of(y, 0);
  gb_plan_report r;
  gb_plan_report_get(p, &r);
  OK(gb_plan_run(p, &fx.err));
  gb_plan_free(p);
  assert_int_equal(gb_plan_memcheck(fx.g)->strays, 0);
  assert_true(gb_plan_memcheck(fx.g)->unwritten < 64 && gb_plan_memcheck(fx.g)->unused_scratch < 64);
  assert_true(gb_plan_memcheck(fx.g)->high_water <= r.arena &&
              gb_plan_memcheck(fx.g)->high_water + 64 > r.arena);
  naive.overrun = 1;
  y = map1(GB_OP_EXP, map1(GB_OP_EXP, map1(GB_OP_ATAN, y)));
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  assert_true(gb_plan_memcheck(fx.g)->strays > 0);
  naive.overrun = 0;
  naive.skip = 64;
  y = map1(GB_OP_EXP, map1(GB_OP_EXP, map1(GB_OP_ATAN, y)));
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  assert_int_equal(gb_plan_memcheck(fx.g)->unwritten, 64);
  *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){0};
  plan_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_uses_what_its_plan_said_to_the_byte),
      cmocka_unit_test(the_smallest_budget_works_and_one_byte_less_is_refused),
      cmocka_unit_test(a_refusal_names_the_values_and_the_lines),
      cmocka_unit_test(shapes_past_the_address_space_are_refused_in_words),
      cmocka_unit_test(observing_twice_computes_once),
      cmocka_unit_test(one_structure_is_lowered_once),
      cmocka_unit_test(caches_serve_later_plans_and_give_way_to_memory),
      cmocka_unit_test(the_cache_used_longest_ago_goes_first),
      cmocka_unit_test(a_cache_is_dropped_before_a_refusal),
      cmocka_unit_test(a_cache_is_dropped_for_the_arena),
      cmocka_unit_test(an_observed_cache_is_no_longer_droppable),
      cmocka_unit_test(a_cache_that_is_asked_for_counts),
      cmocka_unit_test(before_a_refusal_the_owner_collects),
      cmocka_unit_test(a_cache_that_cannot_be_found_again_is_swept),
      cmocka_unit_test(a_cache_of_a_held_value_is_swept),
      cmocka_unit_test(a_failure_leaves_only_finished_caches),
      cmocka_unit_test(wherever_an_allocation_fails_nothing_is_left_behind),
      cmocka_unit_test(unbound_leaves_are_named),
      cmocka_unit_test(a_loop_rebinds_leaves_and_allocates_its_outputs_only),
      cmocka_unit_test(values_of_the_nodes_are_not_taken_for_bound_leaves),
      cmocka_unit_test(a_closed_run_allocates_nothing),
      cmocka_unit_test(a_chain_of_forty_thousand_nodes_evaluates),
      cmocka_unit_test(a_loop_that_looks_at_its_state_keeps_a_bounded_history),
      cmocka_unit_test(an_explanation_says_what_runs_and_where),
      cmocka_unit_test(the_watch_sees_stray_and_missing_writes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
