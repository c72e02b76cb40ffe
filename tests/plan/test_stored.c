/* test_stored.c - a large value that is stored where others of its kind stream is named once, before it
** is. */
#include "plan/run/run.h"
#include "support/plan/lower_fixture.h"

static char said[512];
static int times;

static void hear (const char *text) {
  snprintf(said, sizeof said, "%s", text);
  times++;
}

/* As before a run; nothing runs. */
static void ask (gb_node *y) {
  gb_plan *p;
  if (gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err) != GB_OK) fail_msg("%s", fx.err.text);
  gb_tell_stored(&p->choice);
  gb_plan_free(p);
}

static gb_node *kernel (size_t n) {
  fx.g->where = gb_graph_intern(fx.g, "script.lua:7");
  gb_node *x = in2(n, 2, -1, 1), *k = radial(GB_RBF, BUILD(gb_sqdist, x, x, NULL), num(0.7), NULL);
  fx.g->where = gb_graph_intern(fx.g, "script.lua:8");
  return k;
}

static gb_node *cumsum (gb_node *a) {
  return BUILD(gb_node_build, fx.g, GB_OP_CUMSUM, 1, &a, &(gb_attr){.i = {1}}, NULL, GB_F64);
}

static void a_large_value_is_named_once (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 32);
  inputs_begin(1, GB_F64, 0);
  OK(gb_stored_announce(fx.g, hear, &fx.err));
  times = 0;
  ask(sum_all(kernel(3000)));                               /* streams */
  ask(sum_all(cumsum(kernel(1000))));                       /* 8 MB */
  ask(BUILD(gb_cholesky, add(kernel(3000), eye(3000)), 0)); /* what a factor is made of exists */
  assert_int_equal(times, 0);
  ask(sum_all(cumsum(kernel(3000))));
  assert_int_equal(times, 1);
  assert_non_null(strstr(said, "3000x3000 f64 68.66 MiB (script.lua:7) is stored for cumsum (script.lua:8)"));
  ask(sum_all(cumsum(kernel(3001))));
  assert_int_equal(times, 1);
  OK(gb_stored_announce(fx.g, NULL, &fx.err));
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_large_value_is_named_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
