/* test_moves.c - values that lie on several devices: what they are, and the bytes that were promised on each. */
#include "graph/build.h"
#include "plan/choose/plan_internal.h"
#include "support/plan/lower_fixture.h"
#include "support/plan/run_fixture.h"
#include "support/random/expression_random.h"
#include "support/random/placed_random.h"

#define LIMIT ((size_t)1 << 28)

static gb_device *others[2];

static void begin (int threads, gb_dtype t) {
  eval_begin(threads, LIMIT);
  inputs_begin(5, t, 0);
  for (int i = 0; i < 2; i++) {
    int number;
    OK(gb_device_add_simulated(device, LIMIT, &fx.err));
    others[i] = i == 0 ? device->next : others[0]->next;
    OK(gb_graph_add_device(fx.g, others[i], &number, &fx.err));
    assert_int_equal(number, i + 1);
  }
}

static void end (void) {
  release_to(0);
  gb_cache_drop(fx.g, SIZE_MAX);
  for (int i = 0; i < 2; i++) assert_int_equal(others[i]->ledger.used, 0);
  eval_end();
}

static gb_node *some_input (void *where) { return moved_input(random_input(), *(int *)where); }

/* Of inputs on one device. */
static gb_node *random_expression (uint64_t seed, int where) {
  return random_expression_of(seed, some_input, &where);
}

/* plans */

static double number_at (const void *p, size_t i, gb_dtype t) {
  return t == GB_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

/* Every value of 'b' is that of 'a', up to what fusing changes. */
static void check_values (const gb_tensor *a, const gb_tensor *b, bool bits, uint64_t seed) {
  const size_t n = gb_shape_numel(&a->shape);
  assert_true(gb_shape_equal(&a->shape, &b->shape));
  const double tol = a->dtype == GB_F64 ? 1e-9 : 1e-3;
  const void *from = elements(a), *to = elements(b);
  for (size_t i = 0; i < n; i++) {
    const double x = number_at(from, i, a->dtype), y = number_at(to, i, a->dtype);
    if (bits ? memcmp(&x, &y, sizeof x) != 0 : !(fabs(x - y) <= tol * (1 + fabs(x))))
      fail_msg("expression %d: element %d is %.17g, %.17g expected", (int)seed, (int)i, y, x);
  }
}

typedef struct wanted {
  const gb_tensor *value;
  uint64_t seed;
} wanted;

static void check_wanted (void *ud, gb_tensor *got) {
  const wanted *w = ud;
  check_values(w->value, got, true, w->seed);
  gb_tensor_clear(got);
}

/* With less and less memory on one device after the other the bits stay until the plan is refused. */
static void shrink (gb_node *y, const gb_tensor *want, uint64_t seed, tally *t) {
  wanted w = {want, seed};
  for (int i = 0; i < 3; i++) shrink_on(i == 0 ? device : others[i - 1], y, check_wanted, &w, t);
}

static void values_on_several_devices_are_those_of_one (void **unused) {
  (void)unused;
  tally t = {0};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    begin(1 + (int)(seed % 2), seed % 3 == 0 ? GB_F32 : GB_F64);
    gb_node *x = random_expression(seed, 0), *y = placed_randomly(x, seed, 3);
    gb_tensor alone, want;
    tally none = {0};
    OK(run(x, 0, &alone, &none));
    OK(run(y, 0, &want, &t));
    check_values(&alone, &want, false, seed);
    shrink(y, &want, seed, &t);
    gb_tensor_clear(&alone);
    gb_tensor_clear(&want);
    end();
  }
  print_message("%d runs, %d on several devices, %d in windows, %d refused, %d bytes moved\n", t.runs,
                t.devices, t.windows, t.refused, (int)t.moved);
  assert_true(t.devices > 200 && t.windows > 10 && t.refused > 60 && t.moved > 100000);
}

/* Numbers and identities follow: the same forms, the same bits, nothing but inputs and numbers moved. */
static void expressions_built_there_are_those_of_home (void **unused) {
  (void)unused;
  tally t = {0};
  for (uint64_t seed = 1; seed <= 150; seed++) {
    begin(1 + (int)(seed % 2), seed % 3 == 0 ? GB_F32 : GB_F64);
    gb_node *here = random_expression(seed, 0), *there = random_expression(seed, 1);
    gb_tensor want, got;
    assert_true(there->device == 1);
    OK(run(here, 0, &want, &t));
    OK(run(there, 0, &got, &t));
    check_values(&want, &got, true, seed);
    gb_tensor_clear(&want);
    gb_tensor_clear(&got);
    end();
  }
  assert_true(t.devices >= 100 && t.moved < 150 * 64);
}

/* A kernel of several terms, scaled: its rules find their own numbers again. */
static void scaled_distances_are_rewritten_there (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  gb_node *x = in2(30, 3, -1, 1), *y[2];
  for (int i = 0; i < 2; i++) {
    gb_node *z = i == 0 ? x : moved_input(x, i), *d = mul(num(2), BUILD(gb_sqdist, z, z, NULL));
    gb_node *k = map1(GB_OP_COS, map1(GB_OP_SQRT, add(mul(d, num(0.25)), num(1))));
    y[i] = mm(add(k, mul(in0(1, 2), identity_of(30))), z);
    assert_int_equal(y[i]->device, i);
  }
  gb_plan *p;
  OK(gb_plan_new(fx.g, 1, &y[1], NULL, &p, &fx.err));
  OK(gb_plan_run(p, &fx.err));
  gb_run_stats s;
  gb_plan_stats(p, &s);
  assert_true(s.moved <= 4 * sizeof(double)); /* the identity is made there */
  gb_plan_free(p);
  end();
}

/* threads */

static void follow_threads (gb_node *y, gb_pool *const pools[2], const gb_plan_options *o, int number) {
  const gb_plan_device *d;
  gb_tensor want = {0}, got;
  size_t peak[2];
  gb_plan *p;
  for (int i = 0; i < 4; i++) {
    others[0]->pool = pools[i % 2];
    if (i == 0) OK(gb_plan_new(fx.g, 1, &y, o, &p, &fx.err));
    OK(gb_plan_run_with(p, 0, NULL, NULL, &got, &fx.err)); /* a plan follows */
    if (i == 0) want = gb_tensor_ref(&got);
    check_values(&want, &got, true, 0);
    gb_tensor_clear(&got);
    gb_plan *now;
    OK(gb_plan_new(fx.g, 1, &y, o, &now, &fx.err)); /* and so does one of the same structure */
    OK(gb_plan_run_with(now, 0, NULL, NULL, &got, &fx.err));
    check_values(&want, &got, true, 0);
    gb_tensor_clear(&got);
    assert_true(gb_plan_devices(now, &d) > number);
    assert_int_equal(gb_plan_measured_on(now, number), d[number].peak);
    assert_int_equal(gb_plan_measured_on(p, number), d[number].peak);
    if (i < 2) peak[i] = d[number].peak;
    assert_int_equal(d[number].peak, peak[i % 2]);
    gb_plan_free(now);
  }
  if (gb_memory_is_host(&device->memory)) assert_true(peak[0] + 1000 < peak[1]); /* scratch of each thread */
  else assert_int_equal(peak[0], peak[1]); /* the far device works with its home's threads */
  gb_tensor_clear(&want);
  gb_plan_free(p);
}

static void plans_follow_the_threads_of_each_device (void **unused) {
  (void)unused;
  gb_pool *pools[2], *own;
  begin(2, GB_F64);
  own = device->pool;
  OK(gb_pool_new(3, &pools[0], &fx.err));
  OK(gb_pool_new(7, &pools[1], &fx.err));
  gb_node *x = in2(900, 3, -1, 1), *z = in2(700, 3, -1, 1), *v = in2(700, 2, -1, 1), *far[3];
  gb_node *const at[3] = {x, z, v};
  for (int i = 0; i < 3; i++) far[i] = moved_input(at[i], 1);
  gb_node *there = mm(map1(GB_OP_EXP, map1(GB_OP_NEG, BUILD(gb_sqdist, far[0], far[1], NULL))), far[2]);
  follow_threads(there, pools, NULL, 1);
  gb_node *here = mm(map1(GB_OP_EXP, map1(GB_OP_NEG, BUILD(gb_sqdist, x, z, NULL))), v);
  const gb_plan_on on[2] = {{.device = device}, {.device = others[0]}};
  follow_threads(here, pools, &(gb_plan_options){.ndevices = 2, .on = on}, 1);
  others[0]->pool = own;
  end();
  for (int i = 0; i < 2; i++) gb_pool_free(pools[i]);
}

/* what goes by itself, and what does not */

static void numbers_follow_and_tensors_do_not (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  gb_node *x = in2(5, 3, -1, 1), *y = in2(5, 3, -1, 1), *s = in0(1, 2);
  gb_node *there = BUILD(gb_move, x, 1), *sum;
  assert_int_equal(there->device, 1);
  assert_int_equal(add(there, num(2))->device, 1);
  assert_int_equal(mul(s, there)->device, 1);
  assert_int_equal(add(identity_of(3), mm(tr(there), there))->device, 1);
  assert_ptr_equal(BUILD(gb_move, there, 0), x);
  assert_int_equal(gb_map2(GB_OP_ADD, there, y, &sum, &fx.err), GB_EDEVICE);
  assert_non_null(strstr(fx.err.text, "lies on cpu:2"));
  gb_node *again = BUILD(gb_move, there, 2);
  assert_int_equal(again->device, 2);
  assert_ptr_equal(again->in[0], x); /* not by way of device 1 */
  end();
}

static void gradients_come_back (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  inputs.flags = GB_NODE_GRAD;
  gb_node *w = in1(4, -1, 1), *s = in0(1, 2), *bar[2];
  inputs.flags = 0;
  gb_node *y = sum_all(mul(s, square(BUILD(gb_move, w, 1))));
  assert_int_equal(y->device, 1);
  grads(y, 2, (gb_node *[]){w, s}, bar);
  assert_int_equal(bar[0]->device, 0);
  assert_int_equal(bar[1]->device, 0);
  gb_node *want = mul(mul(num(2), s), w), *same = sum_all(square(w));
  OK(gb_eval(fx.g, 4, (gb_node *[]){bar[0], bar[1], want, same}, &fx.err));
  for (size_t i = 0; i < 4; i++) assert_true(fabs(element(bar[0], 0, i) - element(want, 0, i)) <= 1e-15);
  assert_true(fabs(element(bar[1], 0, 0) - element(same, 0, 0)) <= 1e-15);
  end();
}

/* The structure of both is the same but for the device. */
static void plans_belong_to_a_device (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  gb_node *x = in2(30, 4, -1, 1), *there = BUILD(gb_move, x, 1);
  OK(gb_eval(fx.g, 1, &there, &fx.err));
  gb_node *far = BUILD(gb_node_leaf, fx.g, &there->out[0].tensor, 0, "far");
  assert_int_equal(far->device, 1);
  gb_node *y[2] = {sum_axis(map1(GB_OP_EXP, x), 0), sum_axis(map1(GB_OP_EXP, far), 0)};
  for (int i = 0; i < 2; i++) OK(gb_eval(fx.g, 1, &y[i], &fx.err));
  assert_ptr_equal(y[0]->out[0].tensor.storage->ledger, &device->ledger);
  assert_ptr_equal(y[1]->out[0].tensor.storage->ledger, &others[0]->ledger);
  check_values(&y[0]->out[0].tensor, &y[1]->out[0].tensor, true, 0);
  end();
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_on_several_devices_are_those_of_one),
                                     cmocka_unit_test(expressions_built_there_are_those_of_home),
                                     cmocka_unit_test(scaled_distances_are_rewritten_there),
                                     cmocka_unit_test(plans_follow_the_threads_of_each_device),
                                     cmocka_unit_test(numbers_follow_and_tensors_do_not),
                                     cmocka_unit_test(gradients_come_back),
                                     cmocka_unit_test(plans_belong_to_a_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
