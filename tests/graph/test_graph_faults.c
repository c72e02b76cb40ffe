/* test_graph_faults.c - no memory at any point of building, differentiating, mapping or substituting: an
** error, no leak. */
#include "support/graph/graph_fixture.h"

/* Every allocation from the 'permitted'-th on fails; -1: none does. */
static long permitted = -1;

static bool permit (void) {
  if (permitted < 0) return true;
  if (permitted == 0) return false;
  permitted--;
  return true;
}

void *__real_malloc (size_t n);
void *__real_calloc (size_t n, size_t m);
void *__real_realloc (void *p, size_t n);
void *__wrap_malloc (size_t n);
void *__wrap_calloc (size_t n, size_t m);
void *__wrap_realloc (void *p, size_t n);
void *__wrap_malloc (size_t n) { return permit() ? __real_malloc(n) : NULL; }
void *__wrap_calloc (size_t n, size_t m) { return permit() ? __real_calloc(n, m) : NULL; }
void *__wrap_realloc (void *p, size_t n) { return permit() ? __real_realloc(p, n) : NULL; }

typedef struct inputs {
  gb_node *x, *z, *l, *y, *slice, *slice_result;
} inputs;
typedef gb_status task (const inputs *in);

static gb_status task_build (const inputs *in) {
  gb_node *out = NULL, *d = NULL, *t = NULL;
  gb_status st = gb_sqdist(in->x, in->x, NULL, &d, &fx.err);
  if (st == GB_OK) st = gb_map2(GB_OP_DIV, d, in->l, &t, &fx.err);
  if (st == GB_OK) st = gb_map1(GB_OP_EXP, t, &out, &fx.err);
  gb_node_unref(d);
  gb_node_unref(t);
  gb_node_unref(out);
  return st;
}

static gb_status task_grad (const inputs *in) {
  gb_node *bar[2] = {0};
  const gb_status st = gb_grad(in->y, NULL, 2, (gb_node *[]){in->x, in->l}, false, bar, &fx.err);
  if (st == GB_OK) gb_node_unref(bar[0]);
  if (st == GB_OK) gb_node_unref(bar[1]);
  return st;
}

static gb_status task_vmap (const inputs *in) {
  gb_node *out = NULL;
  const gb_status st = gb_vmap(1, &in->slice, &in->z, (int[]){0}, false, 1, &in->slice_result, &out, &fx.err);
  if (st == GB_OK) gb_node_unref(out);
  return st;
}

static gb_status task_substitute (const inputs *in) {
  gb_node *out = NULL, *to = NULL;
  gb_status st = gb_scale(in->x, 3, &to, &fx.err);
  if (st == GB_OK) st = gb_substitute(in->y, 1, &in->x, &to, &out, &fx.err);
  if (st == GB_OK) gb_node_unref(out);
  gb_node_unref(to);
  return st;
}

static inputs make_inputs (void) {
  inputs in = {
      .x = leaf2(5, 2), .z = leaf_of(GB_F64, 0, 3, (size_t[]){3, 5, 2}, NULL, -1, 1), .l = leaf0(0.7)};
  gb_node *a =
      add(map1(GB_OP_EXP, dvd(dist(in.x, in.x, NULL), map1(GB_OP_NEG, square(in.l)))), mul(eye(5), in.l));
  gb_node *q = BUILD(gb_inv_quad, a, sum_axis(in.x, 1)), *d = BUILD(gb_logdet, a);
  in.y = add(q, d);
  const gb_tensor one = {.dtype = GB_F64, .shape = gb_shape_of(2, (size_t[]){5, 2})};
  in.slice = BUILD(gb_node_leaf, fx.g, &one, GB_NODE_TRACED, "");
  gb_node *s = add(mm(in.slice, tr(in.slice)), eye(5));
  in.slice_result = add(BUILD(gb_logdet, s), sum_all(dist(in.slice, in.x, NULL)));
  return in;
}

static void without_memory_every_task_fails_cleanly (void **state) {
  (void)state;
  task *const tasks[] = {task_build, task_grad, task_vmap, task_substitute};
  fixture_begin();
  const inputs in = make_inputs();
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
    const size_t nodes = fx.g->nnodes;
    gb_status st = GB_ENOMEM;
    long n = 0;
    for (; st != GB_OK; n++) {
      permitted = n;
      st = tasks[i](&in);
      permitted = -1;
      if (st != GB_OK) assert_int_equal(st, GB_ENOMEM);
      assert_int_equal(fx.g->nnodes, nodes);
    }
    assert_true(n > 5);
  }
  fixture_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(without_memory_every_task_fails_cleanly)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
