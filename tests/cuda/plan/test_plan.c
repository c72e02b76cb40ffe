/* test_plan.c - plans on a GPU take the bytes that they said, on it and at home, for 64 budgets of its memory each, and
** give the same bits for all of them; one byte less than the least is refused, by name of the least. What the GPU has
** given out beyond the pages of the account stays what it is.
**
** test_cuda_plan [seed]: random graphs of every op, expressions over three devices, tasks of users, solvers. */
#include <dlfcn.h>

#include "graph/build.h"
#include "plan/choose/plan_internal.h"
#include "solve/op/solver.h"
#include "support/device.h"
#include "support/plan/alloc_guard.h"
#include "support/plan/lower_fixture.h"
#include "support/plan/plan_tasks.h"
#include "support/random/expression_random.h"
#include "support/random/placed_random.h"
#include "support/random/plan_random_graph.h"

#define LIMIT ((size_t)1 << 28)
#define BUDGETS 64
#define GRAPHS 30
#define PLACED 18
#define MOST 16 /* results */

static uint64_t first_seed = 1;

typedef struct tally {
  int graphs, plans, refused, windows, abroad, at_home, lent, numeric;
  size_t moved;
} tally;

/* What is asked for, and what its values are. */
typedef struct asked {
  const char *what;
  uint64_t seed;
  size_t n;
  gb_node **out;
  gb_status rc; /* of every run: a factor may not exist */
  void *want[MOST];
  size_t bytes[MOST];
  bool known;
  size_t beyond; /* bytes of the GPU in no account */
  bool solver;
} asked;

#define FAIL(q, ...)                                                                                         \
  do {                                                                                                       \
    print_message("%s %llu: ", (q)->what, (unsigned long long)(q)->seed);                                    \
    fail_msg(__VA_ARGS__);                                                                                   \
  } while (0)

/* values */

static void forget_values (const asked *q) {
  gb_node **order;
  size_t n;
  gb_cache_drop(fx.g, SIZE_MAX);
  OK(gb_graph_order(fx.g, q->n, q->out, GB_WALK_ALL, &order, &n, &fx.err));
  for (size_t i = 0; i < n; i++)
    for (int o = 0; o < order[i]->nout; o++) {
      gb_tensor *t = &order[i]->out[o].tensor;
      if (order[i]->op != GB_OP_LEAF) gb_tensor_clear(t);
      else if (t->storage != NULL) gb_storage_drop_mirror(t->storage);
    }
  free(order);
}

static void check_result (asked *q, size_t i, const gb_tensor *t, size_t budget) {
  void *got = elements_copied(t);
  const size_t bytes = gb_shape_bytes(&t->shape, t->dtype);
  if (!q->known) {
    q->want[i] = got;
    q->bytes[i] = bytes;
    return;
  }
  if (bytes != q->bytes[i] || memcmp(got, q->want[i], bytes) != 0)
    FAIL(q, "result %zu has other bits within %zu bytes", i, budget);
  free(got);
}

/* The values, or the failure that each run meets. */
static void check_results (asked *q, gb_status rc, const gb_tensor *t, size_t budget) {
  if (rc != GB_OK && rc != GB_ENOTPD && rc != GB_ENAN) FAIL(q, "within %zu bytes: %s", budget, fx.err.text);
  if (q->known && rc != q->rc)
    FAIL(q, "%s within %zu bytes, %s before", gb_status_code(rc), budget, gb_status_code(q->rc));
  for (size_t i = 0; rc == GB_OK && i < q->n; i++) check_result(q, i, &t[i], budget);
  q->rc = rc;
  q->known = true;
}

/* bytes */

/* A plan that lies on the GPU alone takes nothing at home. */
static void check_bytes (asked *q, const gb_plan *p, size_t rise, tally *t) {
  const gb_plan_device *d;
  gb_plan_report r;
  gb_run_stats s;
  const int n = gb_plan_devices(p, &d);
  gb_plan_report_get(p, &r);
  gb_plan_stats(p, &s);
  if (s.measured != r.peak || s.predicted != r.peak)
    FAIL(q, "%zu bytes were taken, %zu are predicted", s.measured, r.peak);
  for (int i = 0; i < n; i++)
    if (gb_plan_measured_on(p, i) != d[i].peak || d[i].peak > d[i].budget)
      FAIL(q, "%zu bytes were taken on %s, %zu of %zu are predicted", gb_plan_measured_on(p, i), d[i].name,
           d[i].peak, d[i].budget);
  size_t at_home = 0;
  for (int i = 0; i < n; i++)
    if (strcmp(d[i].name, device->home->name) == 0) at_home = d[i].peak;
  if (rise != at_home) FAIL(q, "%zu bytes were taken at home, %zu are predicted", rise, at_home);
  t->windows += s.windows > 0;
  t->abroad += n > 1;
  t->at_home += at_home > 0;
  t->moved += s.moved;
}

/* The library that the device is in; to be closed. */
static void *library_of_device (void) {
  void *library = dlopen("libgibbous_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  char path[512];
  if (library != NULL || getenv("GIBBOUS_DEVICE_PATH") == NULL) return library;
  snprintf(path, sizeof path, "%s/libgibbous_cuda.so", getenv("GIBBOUS_DEVICE_PATH"));
  return dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}

/* No step allocates, from the second run of a plan on: the first one may open a library. Outside are solvers, which plan
** products of their own, the compilation of kernels, which is switched off here, and the emulation of CUDA. Where CUDA is
** real, nobody can say what is the driver's own, and nothing is watched. */
static long steps_watched;
static void watch_step (const char *what) {
  steps_watched += what != NULL;
  guard_step(what);
}
static void find_emulation (void) {
  void *library = library_of_device();
  if (library != NULL) *(void **)&guard_exempt = dlsym(library, "emu_inside");
  if (library != NULL) dlclose(library);
}

/* Bytes that the GPU has given out, as it says itself, beyond the pages that blocks lie in: contexts, libraries. SIZE_MAX where
** the runtime inside of its library cannot be asked. */
static size_t taken_beyond (void) {
  void *library = library_of_device();
  size_t unused = 0, total = 0, mapped = 0;
  int (*ask)(size_t *, size_t *) = NULL;
  if (library != NULL) *(void **)&ask = dlsym(library, "cudaMemGetInfo");
  if (library != NULL) dlclose(library);
  if (ask == NULL || ask(&unused, &total) != 0) return SIZE_MAX;
  for (const gb_device *d = device; d != NULL; d = d->next) mapped += d->memory.ops->mapped(&d->memory);
  return total - unused - mapped;
}

static int unasked; /* looks at a GPU that did not say */

/* The first run may open a library, which keeps what it takes. Leaves lie in a memory of their own. */
static void check_beyond (asked *q) {
  const size_t now = taken_beyond();
  if (device->memory.ops->mapped(&device->memory) < device->ledger.used)
    FAIL(q, "blocks lie outside of pages");
  if (q->known && now != SIZE_MAX && now != q->beyond)
    FAIL(q, "%zu bytes of the GPU are in no account, %zu after the first run", now, q->beyond);
  q->beyond = now;
  if (now == SIZE_MAX) unasked++;
}

static void check_level (const asked *q, const size_t level[2]) {
  if (device->ledger.used != level[0] || device->home->ledger.used != level[1])
    FAIL(q, "%zu and %zu bytes are held, before %zu and %zu", device->ledger.used, device->home->ledger.used,
         level[0], level[1]);
}

/* one plan */

/* Within an option of the plan, or within what the account of the GPU has left. */
static gb_status plan_within (const asked *q, size_t budget, bool ledger, gb_plan **p) {
  gb_ledger *l = &device->ledger;
  const gb_plan_options o = {.budget = ledger ? 0 : budget};
  if (ledger) l->limit = l->used + gb_ledger_charged(l) + budget;
  const gb_status rc = gb_plan_new(fx.g, q->n, q->out, &o, p, &fx.err);
  return rc;
}

static void run_within (asked *q, size_t budget, bool ledger, tally *t) {
  const size_t level[2] = {device->ledger.used, device->home->ledger.used};
  gb_tensor out[MOST] = {{0}};
  gb_plan *p;
  if (plan_within(q, budget, ledger, &p) != GB_OK) FAIL(q, "%zu bytes: %s", budget, fx.err.text);
  gb_plan_memcheck(fx.g)->on = t->plans % 4 == 0;
  find_emulation();
  if (ALLOC_GUARDED && guard_exempt != NULL && q->known && !q->solver)
    gb_plan_memcheck(fx.g)->at_step = watch_step;
  home_begin(device);
  const gb_status rc = gb_plan_run_with(p, 0, NULL, NULL, out, &fx.err);
  const size_t rise = home_rise(device);
  device->ledger.limit = LIMIT;
  if (gb_plan_memcheck(fx.g)->strays > 0) FAIL(q, "stray bytes: %s", gb_plan_memcheck(fx.g)->first);
  *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){.poison = 0x5a};
  if (rc == GB_OK) check_bytes(q, p, rise, t);
  gb_plan_free(p);
  check_beyond(q);
  check_results(q, rc, out, budget);
  for (size_t i = 0; i < q->n; i++) gb_tensor_clear(&out[i]);
  forget_values(q);
  check_level(q, level);
  t->plans++;
}

/* With memory of the caller, of which a run takes so much and no more. */
static void run_lent (asked *q, tally *t) {
  enum { FENCE = 512 };
  gb_memory *m = device->ledger.memory;
  gb_tensor out[MOST];
  gb_plan *p;
  size_t bytes = 0;
  OK(gb_plan_new(fx.g, q->n, q->out, NULL, &p, &fx.err));
  if (gb_plan_devices(p, &(const gb_plan_device *){NULL}) > 1) {
    gb_plan_free(p);
    return;
  }
  for (size_t i = 0; i < q->n; i++)
    OK(gb_tensor_new(&device->ledger, gb_node_dtype(q->out[i]), gb_node_shape(q->out[i]), GB_MEM_TENSOR, "",
                     "", &out[i], &fx.err));
  OK(gb_plan_arena(p, false, &bytes, &fx.err));
  const size_t room = gb_round_size(bytes) + FENCE;
  char *arena = m->ops->take(m, room);
  unsigned char after[FENCE];
  OK(gb_memory_fill(m, arena, 0xa7, room, &fx.err));
  const size_t allocations = device->ledger.allocations;
  const gb_status rc = gb_plan_run_into(p, 0, NULL, NULL, out, false, arena, &fx.err);
  if (!q->solver && device->ledger.allocations != allocations) FAIL(q, "a run with lent memory allocated");
  OK(gb_memory_download(m, after, arena + room - FENCE, FENCE, &fx.err));
  for (int i = 0; i < FENCE; i++)
    if (after[i] != 0xa7) FAIL(q, "byte %d behind an arena of %zu changed", i, bytes);
  check_results(q, rc, out, bytes);
  m->ops->give(m, arena, room);
  for (size_t i = 0; i < q->n; i++) gb_tensor_clear(&out[i]);
  gb_plan_free(p);
  forget_values(q);
  t->lent++;
}

/* 64 of them */

/* The least is a budget of the plan, or a limit of the account, which holds what is there already. */
static void check_refusal (const asked *q, size_t minimum, bool ledger, tally *t) {
  gb_plan *p = NULL;
  char text[GB_BYTES_TEXT];
  const size_t least = minimum + (ledger ? device->ledger.used + gb_ledger_charged(&device->ledger) : 0);
  if (minimum < 2) return; /* a budget of 0 is no budget */
  const gb_status rc = plan_within(q, minimum - 1, ledger, &p);
  device->ledger.limit = LIMIT;
  if (rc == GB_OK) gb_plan_free(p);
  if (rc != GB_EREFUSED || fx.err.minimum != least || fx.err.have != minimum - 1 || fx.err.need < minimum)
    FAIL(q, "%zu bytes, one less than the least: %s, need %zu, have %zu, minimum %zu", minimum - 1,
         gb_status_code(rc), (size_t)fx.err.need, (size_t)fx.err.have, (size_t)fx.err.minimum);
  if (strstr(fx.err.text, gb_bytes_text(least, text)) == NULL) FAIL(q, "'%s' has no %s", fx.err.text, text);
  t->refused++;
}

static void check_budgets (asked *q, tally *t) {
  gb_plan *p;
  gb_plan_report r;
  OK(gb_plan_new(fx.g, q->n, q->out, NULL, &p, &fx.err));
  gb_plan_report_get(p, &r);
  const size_t least = r.minimum, most = r.peak;
  gb_plan_free(p);
  for (int k = 0; k < BUDGETS; k++)
    run_within(q, least + (size_t)((double)(most - least) * k / (BUDGETS - 1)), k % 2 == 1, t);
  run_lent(q, t);
  for (int ledger = 0; ledger < 2; ledger++) check_refusal(q, least, ledger, t);
  t->graphs++;
  t->numeric += q->rc != GB_OK;
  for (size_t i = 0; i < q->n; i++) free(q->want[i]);
}

static void report (const char *what, const tally *t) {
  print_message(
      "%s: %d graphs x %d budgets, %d plans, all equal (%d in windows, %d on two devices or more, %d "
      "with bytes at home, %zu bytes moved); %d refused; %d with lent memory; %d without a factor\n",
      what, t->graphs, BUDGETS, t->plans, t->windows, t->abroad, t->at_home, t->moved, t->refused, t->lent,
      t->numeric);
}

/* graphs */

/* The registered op of random graphs reads and writes a GPU's bytes one by one. */
static bool is_slow (const asked *q) {
  gb_node **order;
  size_t n, most = 0;
  OK(gb_graph_order(fx.g, q->n, q->out, GB_WALK_ALL, &order, &n, &fx.err));
  for (size_t i = 0; i < n; i++)
    if (order[i]->op == GB_OP_CALL && numel(order[i]) > most) most = numel(order[i]);
  free(order);
  return most > 100;
}

static void plans_of_random_graphs (void **unused) {
  (void)unused;
  tally t = {0};
  for (uint64_t seed = first_seed; t.graphs < GRAPHS; seed++) {
    static tape choices;
    gb_node *out[MOST_OUTPUTS];
    eval_begin(2, LIMIT);
    tape_of(seed, &choices);
    asked q = {.what = "graph", .seed = seed, .n = make_graph(&choices, out), .out = out};
    assert_false(made.broken);
    if (!is_slow(&q)) check_budgets(&q, &t);
    eval_end();
  }
  report("random graphs", &t);
  assert_true(t.windows > 0 && t.at_home > 0 && t.lent > GRAPHS / 4);
}

static void plans_over_devices (void **unused) {
  (void)unused;
  tally t = {0};
  for (uint64_t seed = first_seed; seed < first_seed + PLACED; seed++) {
    int number;
    pool p = {.n = 0};
    eval_begin(2, LIMIT);
    inputs_begin(seed, seed % 3 == 0 ? GB_F32 : GB_F64, 0);
    OK(gb_device_add_simulated(device, LIMIT, &fx.err));
    device->next->home = device->home;
    OK(gb_graph_add_device(fx.g, device->home, &number, &fx.err));
    OK(gb_graph_add_device(fx.g, device->next, &number, &fx.err));
    draw_seed = seed;
    drawn = 0;
    sizes.extent[0] = 3, sizes.extent[1] = 8, sizes.extent[2] = 40, sizes.extent[3] = 700;
    for (int i = 0; i < 3; i++) p.at[p.n++] = random_input();
    grow(&p);
    gb_node *y = placed_randomly(p.at[p.n - 1], seed, 3);
    asked q = {.what = "moves", .seed = seed, .n = 1, .out = &y};
    check_budgets(&q, &t);
    eval_end();
  }
  report("moves", &t);
  assert_true(t.abroad > PLACED * BUDGETS / 2 && t.moved > 0);
}

static void plans_of_tasks (void **unused) {
  (void)unused;
  tally t = {0};
  for (size_t k = 0; k < ntasks; k++) {
    const bool large = strstr(tasks[k].name, "network") != NULL || strstr(tasks[k].name, "product") != NULL;
    gb_node *out[TASK_RESULTS];
    eval_begin(2, LIMIT);
    inputs_begin(3, GB_F64, GB_NODE_GRAD);
    asked q = {.what = tasks[k].name, .n = tasks[k].make(large ? 600 : 67, out), .out = out};
    check_budgets(&q, &t);
    eval_end();
  }
  report("tasks", &t);
  assert_true(t.windows > 0);
}

/* Conjugate gradients, and the likelihood with its gradient, whose plans run within memory that the plan around them
** lends. */
static size_t make_solver (int which, gb_node **out) {
  const gb_solver_options o = {
      .run = {.solve = {.tol = 1e-4, .max_iter = 100}, .probes = 3, .seed = 9},
      .precond = {which % 2 == 1 ? GB_PRECOND_PIVOTED_CHOLESKY : GB_PRECOND_NONE, 10, 0}};
  const size_t n = 80 + 10 * (size_t)which;
  gb_node *x = in2(n, 2, -1, 1), *b = in1(n, -1, 1), *scale = in0(5, 20), *noise = num(0.1), *bar[1];
  gb_node *k = BUILD(gb_radial, GB_RBF, dist(x, x, NULL), scale, NULL), *a = add(k, mul(eye(n), noise));
  if (which < 2) {
    out[0] = BUILD(gb_solver_solve, a, b, NULL, k, noise, &o);
    return 1;
  }
  gb_node *head, *all;
  OK(gb_solver_marginal(a, b, k, noise, &o, &head, &all, &fx.err));
  hold(GB_OK, head), hold(GB_OK, all);
  grads(add(BUILD(gb_select, head, 0, GB_MARGINAL_INV_QUAD), BUILD(gb_select, head, 0, GB_MARGINAL_LOGDET)),
        1, &scale, bar);
  out[0] = head;
  out[1] = bar[0];
  return 2;
}

static void plans_of_solvers (void **unused) {
  (void)unused;
  tally t = {0};
  for (int which = 0; which < 4; which++) {
    gb_node *out[2];
    eval_begin(2, LIMIT);
    inputs_begin(3, GB_F64, GB_NODE_GRAD);
    asked q = {
        .what = "solver", .seed = (uint64_t)which, .n = make_solver(which, out), .out = out, .solver = true};
    check_budgets(&q, &t);
    assert_int_equal(q.rc, GB_OK);
    eval_end();
  }
  report("solvers", &t);
}

static void no_step_allocated (void **unused) {
  (void)unused;
  print_message(
      "%ld steps were watched for allocations, %d looks at a GPU that does not say what it has given out\n",
      steps_watched, unasked);
  assert_true(steps_watched > 1000 || guard_exempt == NULL || !ALLOC_GUARDED);
}

int main (int argc, char **argv) {
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_of_random_graphs), cmocka_unit_test(plans_over_devices),
      cmocka_unit_test(plans_of_tasks),         cmocka_unit_test(plans_of_solvers),
      cmocka_unit_test(no_step_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
