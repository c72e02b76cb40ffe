/* Two states in two threads of one process: devices and graphs that share nothing, and runs of one plan. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "graph/build.h"
#include "graph/grad/grad.h"
#include "plan/plan.h"
#include "solve/cg.h"
#include "support/device.h"
#include "support/elements.h"

enum { N = 300, M = 500, D = 3, R = 2, HELD = 64, ROUNDS = 3, RUNS = 12, PATIENCE_S = 20 };

/* A state: errors are kept, since an assertion of the harness belongs to the main thread. */
typedef struct world {
  gb_device *device;
  gb_graph *g;
  gb_node *held[HELD];
  int n;
  uint32_t noise; /* state of the numbers of its leaves */
  unsigned char *bits;
  size_t nbits;
  const char *failed; /* the call that failed first, NULL: none */
  gb_error err;
} world;

#define RUN(w, call)                                                                                         \
  do {                                                                                                       \
    if ((w)->failed == NULL && (call) != GB_OK) (w)->failed = #call;                                         \
  } while (0)

/* NEW(w, gb_exp, x) calls gb_exp(x, &node, err); the world holds the node. */
#define NEW(w, call, ...)                                                                                    \
  ({                                                                                                         \
    gb_node *new_ = NULL;                                                                                    \
    RUN(w, call(__VA_ARGS__, &new_, &(w)->err));                                                             \
    if (new_ != NULL) (w)->held[(w)->n++] = new_;                                                            \
    new_;                                                                                                    \
  })

static bool begin (world *w) {
  *w = (world){.noise = 12345};
  RUN(w, test_device_new(2, (size_t)1 << 28, &w->device, &w->err));
  RUN(w, gb_graph_new(w->device, &w->g, &w->err));
  return w->failed == NULL;
}

static void end (world *w) {
  while (w->n > 0) gb_node_unref(w->held[--w->n]);
  if (w->g != NULL) {
    gb_cache_drop(w->g, SIZE_MAX);
    gb_graph_free(w->g);
  }
  if (w->device != NULL && test_device_free(w->device) != 0) w->failed = "bytes are still in use";
  w->g = NULL;
  w->device = NULL;
}

static void take_bits (world *w, const gb_tensor *t) {
  const size_t bytes = gb_shape_bytes(&t->shape, t->dtype);
  unsigned char *more = realloc(w->bits, w->nbits + bytes + 1);
  if (more == NULL) w->failed = "no memory for bits";
  else {
    w->bits = more;
    memcpy(w->bits + w->nbits, elements(t), bytes);
    w->nbits += bytes;
  }
}

static gb_tensor numbers (world *w, size_t rows, size_t columns) {
  gb_tensor t = {0};
  const gb_shape s = gb_shape_of(2, (size_t[]){rows, columns});
  RUN(w, gb_tensor_new(&w->device->ledger, GB_F64, &s, GB_MEM_TENSOR, "", "", &t, &w->err));
  double *to = w->failed == NULL ? elements_to_write(&t) : NULL;
  for (size_t i = 0; to != NULL && i < rows * columns; i++) {
    w->noise = w->noise * 1664525u + 1013904223u;
    to[i] = 2.0 * (double)(w->noise >> 8) / 16777216.0 - 1.0;
  }
  if (to != NULL) elements_written(&t);
  return t;
}

static gb_node *leaf (world *w, size_t rows, size_t columns, unsigned flags) {
  gb_tensor t = numbers(w, rows, columns);
  gb_node *x = NEW(w, gb_node_leaf, w->g, &t, flags, "");
  gb_tensor_clear(&t);
  return x;
}

static gb_node *kernel (world *w, gb_node *x, gb_node *y) {
  gb_node *scale = NEW(w, gb_node_const, w->g, 0.7, GB_F64);
  gb_node *d = NEW(w, gb_sqdist, x, y, NULL);
  return NEW(w, gb_radial, GB_RBF, d, scale, NULL);
}

static gb_node *covariance (world *w, gb_node *x) {
  gb_node *eye = NEW(w, gb_eye, w->g, N, GB_F64), *half = NEW(w, gb_node_const, w->g, 0.5, GB_F64);
  gb_node *noise = NEW(w, gb_map2, GB_OP_MUL, eye, half), *k = kernel(w, x, x);
  return NEW(w, gb_map2, GB_OP_ADD, k, noise);
}

static void evaluate (world *w, gb_node *y) {
  RUN(w, gb_eval(w->g, 1, &y, &w->err));
  if (w->failed == NULL) take_bits(w, &y->out[0].tensor);
}

/* Computed within so many bytes, into a result of its own. */
static void run_within (world *w, gb_node *y, size_t budget) {
  gb_plan *p = NULL;
  gb_tensor out = {0};
  RUN(w, gb_plan_new(w->g, 1, &y, &(gb_plan_options){.budget = budget}, &p, &w->err));
  RUN(w, gb_plan_run_with(p, 0, NULL, NULL, &out, &w->err));
  if (w->failed == NULL) take_bits(w, &out);
  gb_tensor_clear(&out);
  gb_plan_free(p);
}

static void run_in_budgets (world *w, gb_node *y) {
  gb_plan *p = NULL;
  gb_plan_report r = {0};
  RUN(w, gb_plan_new(w->g, 1, &y, NULL, &p, &w->err));
  if (w->failed != NULL) return;
  gb_plan_report_get(p, &r);
  gb_plan_free(p);
  if (r.minimum >= r.peak) w->failed = "budgets make no difference";
  for (size_t budget = r.minimum; budget < 2 * r.peak; budget *= 2) run_within(w, y, budget);
}

static void solve_by_cg (world *w, gb_node *a, gb_node *b) {
  const gb_solve_options o = GB_SOLVE_DEFAULTS;
  gb_solve_info info;
  gb_node *x = NULL;
  RUN(w, gb_solve_cg(a, b, &o, &x, &info, &w->err));
  if (w->failed != NULL) return;
  if (!info.converged) w->failed = "conjugate gradients";
  take_bits(w, &x->out[0].tensor);
  gb_node_unref(x);
}

/* A product, a factor, a gradient, a solve, and plans that cut. */
static void work (world *w) {
  gb_node *x = leaf(w, N, D, GB_NODE_GRAD), *y = leaf(w, M, D, 0), *v = leaf(w, M, R, 0),
          *b = leaf(w, N, R, 0), *bar = NULL;
  gb_node *k = kernel(w, x, y), *a = covariance(w, x);
  gb_node *product = NEW(w, gb_matmul, k, v);
  evaluate(w, product);
  gb_node *direct = NEW(w, gb_solve, a, b);
  evaluate(w, direct);
  gb_node *form = NEW(w, gb_inv_quad, a, b);
  RUN(w, gb_grad(form, NULL, 1, &x, false, &bar, &w->err));
  evaluate(w, bar);
  gb_node_unref(bar);
  solve_by_cg(w, a, b);
  gb_node *factored = covariance(w, leaf(w, N, D, 0));
  run_in_budgets(w, NEW(w, gb_logdet, factored));
  gb_node *rows = leaf(w, N, D, 0), *columns = leaf(w, D, M, 0);
  gb_node *stored = NEW(w, gb_matmul, rows, columns);
  gb_node *bent = NEW(w, gb_map1, GB_OP_TANH, stored);
  run_in_budgets(w, NEW(w, gb_reduce, GB_OP_MAX, bent, 2, false));
}

static void *live (void *world_of_thread) {
  world *w = world_of_thread;
  if (begin(w)) work(w);
  end(w);
  return NULL;
}

static void assert_same (const world *want, const world *got) {
  if (got->failed != NULL) fail_msg("%s: %s", got->failed, got->err.text);
  assert_true(want->nbits > 10000);
  assert_int_equal(got->nbits, want->nbits);
  assert_memory_equal(got->bits, want->bits, want->nbits);
}

static void two_states_compute_what_one_computes (void **unused) {
  (void)unused;
  world alone, w[2];
  live(&alone);
  assert_same(&alone, &alone);
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t id[2];
    for (int t = 0; t < 2; t++) assert_int_equal(pthread_create(&id[t], NULL, live, &w[t]), 0);
    for (int t = 0; t < 2; t++) pthread_join(id[t], NULL);
    for (int t = 0; t < 2; t++) {
      assert_same(&alone, &w[t]);
      free(w[t].bits);
    }
  }
  free(alone.bits);
}

/* runs of one plan */

/* The first step of each thread's first run waits for that of the other: they do run at the same time. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int arrived;
  bool late;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local bool met;

static void meet (const char *step) {
  if (step == NULL || met) return;
  met = true;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_S;
  pthread_mutex_lock(&meeting.lock);
  meeting.arrived++;
  pthread_cond_broadcast(&meeting.changed);
  while (meeting.arrived < 2 && !meeting.late)
    meeting.late = pthread_cond_timedwait(&meeting.changed, &meeting.lock, &until) != 0;
  pthread_mutex_unlock(&meeting.lock);
}

typedef struct runner {
  gb_plan *p;
  gb_node *leaf;
  gb_tensor value;
  gb_tensor out[RUNS];
  gb_status rc;
  gb_error err;
} runner;

static void *run_often (void *runner_of_thread) {
  runner *r = runner_of_thread;
  met = false;
  for (int i = 0; i < RUNS && r->rc == GB_OK; i++)
    r->rc = gb_plan_run_with(r->p, 1, &r->leaf, &r->value, &r->out[i], &r->err);
  return NULL;
}

static void check_runs (runner *r, const gb_tensor *want) {
  if (r->rc != GB_OK) fail_msg("%s", r->err.text);
  for (int i = 0; i < RUNS; i++) {
    assert_memory_equal(elements(&r->out[i]), elements(want), gb_shape_bytes(&want->shape, want->dtype));
    gb_tensor_clear(&r->out[i]);
  }
}

/* Two values of the leaf, each alone and then both at once. */
static void run_twice_at_once (world *w, gb_plan *p, gb_node *x) {
  runner r[2];
  gb_tensor want[2] = {{0}};
  pthread_t id[2];
  for (int t = 0; t < 2; t++) {
    r[t] = (runner){.p = p, .leaf = x, .value = numbers(w, N, D)};
    RUN(w, gb_plan_run_with(p, 1, &x, &r[t].value, &want[t], &w->err));
    if (w->failed != NULL) fail_msg("%s: %s", w->failed, w->err.text);
  }
  assert_memory_not_equal(elements(&want[0]), elements(&want[1]), 64);
  meeting.arrived = 0;
  meeting.late = false;
  gb_plan_memcheck(w->g)->at_step = meet;
  for (int t = 0; t < 2; t++) assert_int_equal(pthread_create(&id[t], NULL, run_often, &r[t]), 0);
  for (int t = 0; t < 2; t++) pthread_join(id[t], NULL);
  gb_plan_memcheck(w->g)->at_step = NULL;
  assert_false(meeting.late);
  for (int t = 0; t < 2; t++) {
    check_runs(&r[t], &want[t]);
    gb_tensor_clear(&want[t]);
    gb_tensor_clear(&r[t].value);
  }
}

static void plan_and_run_twice (world *w, gb_node *y, gb_node *x, const gb_plan_options *o) {
  gb_plan *p;
  RUN(w, gb_plan_new(w->g, 1, &y, o, &p, &w->err));
  if (w->failed != NULL) fail_msg("%s: %s", w->failed, w->err.text);
  run_twice_at_once(w, p, x);
  gb_plan_free(p);
}

static void two_runs_of_a_plan_do_not_meet (void **unused) {
  (void)unused;
  world w;
  gb_plan *p;
  gb_plan_report r;
  assert_true(begin(&w));
  RUN(&w, gb_device_add_simulated(w.device, (size_t)1 << 28, &w.err));
  gb_node *x = leaf(&w, N, D, 0), *y = leaf(&w, M, D, 0), *v = leaf(&w, M, R, 0);
  gb_node *product = NEW(&w, gb_matmul, kernel(&w, x, y), v);
  gb_node *solved = NEW(&w, gb_solve, covariance(&w, x), product);
  RUN(&w, gb_plan_new(w.g, 1, &product, NULL, &p, &w.err));
  if (w.failed != NULL) fail_msg("%s: %s", w.failed, w.err.text);
  gb_plan_report_get(p, &r);
  gb_plan_free(p);
  plan_and_run_twice(&w, product, x, NULL);
  plan_and_run_twice(&w, solved, x, NULL);
  plan_and_run_twice(&w, product, x, &(gb_plan_options){.budget = r.minimum});
  const gb_plan_on on[2] = {{.device = w.device}, {.device = w.device->next}};
  plan_and_run_twice(&w, product, x, &(gb_plan_options){.ndevices = 2, .on = on});
  end(&w);
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_states_compute_what_one_computes),
                                     cmocka_unit_test(two_runs_of_a_plan_do_not_meet)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
