/* test_plan_bytes.c - plans of random graphs keep their word to the byte: what the ledger and the arena
** were said to hold they hold, no buffers overlap, nothing is written that is not owned or owned and not
** written, no step allocates, and every budget gives the same bits.
**
** test_plan_bytes [seed [graphs]], or GIBBOUS_SEED; a failing graph is shrunk and printed. */
#include <sys/mman.h>

#include "graph/grad/rules.h"
#include "support/device.h"
#include "support/plan/plan_watch.h"
#include "support/random/plan_shrink.h"

#if ALLOC_GUARDED && defined __OPTIMIZE__
#define GRAPHS 4700
#else
#define GRAPHS 300 /* slow builds: too few to count */
#endif
#define COUNTED 4700
#define BUDGETS 3 /* of a graph: what it likes, the least, one between */
#define BATCH 125
#define LEAST_USES 80

static uint64_t first_seed = 1;
static long graphs = GRAPHS;

/* Shared with the children, which report here. */
static struct tally {
  uint64_t current; /* seed of the graph in progress */
  long graphs, cases, numeric, biggest;
  long used[GB_NOPS], differentiated[GB_NOPS];
  size_t idle;
  char where[160], text[sizeof trouble];
} * tally;

/* counting */

static bool has_gradient (gb_op op) {
  static const char *const rule[GB_NOPS] = {
#define X(id, name, nin, kind, shape, grad, ...) #grad,
#include "program/ops.def"
#undef X
  };
  return strcmp(rule[op], "none") != 0;
}

/* Where the cotangent of input i goes: past the factor, to the matrix, for ops that read one. */
static const gb_node *receiver_of (const gb_node *n, int i) {
  const gb_node *x = n->in[i];
  return i == 0 && gb_op_has(n->op, GB_TRAIT_FACTOR) && x->op == GB_OP_CHOLESKY ? x->in[0] : x;
}

/* Gradient rules that the loss was taken through: of ops between it and a leaf that was asked for. */
static void count_gradients (void) {
  gb_node **order;
  size_t n;
  if (made.loss == NULL) return;
  OK(gb_graph_order(fx.g, 1, &made.loss, GB_WALK_ALL, &order, &n, &fx.err));
  bool *matters = calloc(2 * n, sizeof *matters), *reached = matters + n;
  for (size_t i = 0; i < n; i++) {
    const gb_node *x = order[i];
    for (int k = 0; k < made.nasked; k++) matters[i] |= x == made.leaf[k];
    for (int k = 0; k < x->nin && has_gradient(x->op); k++) matters[i] |= matters[receiver_of(x, k)->index];
  }
  reached[n - 1] = true;
  for (size_t i = n; i-- > 0;)
    for (int k = 0; k < order[i]->nin && reached[i] && matters[i] && has_gradient(order[i]->op); k++)
      reached[receiver_of(order[i], k)->index] = true;
  for (size_t i = 0; i < n; i++)
    tally->differentiated[order[i]->op] += reached[i] && matters[i] && order[i]->nin > 0;
  free(matters);
  free(order);
}

static void count_ops (size_t nouts, gb_node **out) {
  gb_node **order;
  size_t n;
  OK(gb_graph_order(fx.g, nouts, out, GB_WALK_ALL, &order, &n, &fx.err));
  for (size_t i = 0; i < n; i++) tally->used[order[i]->op]++;
  if ((long)n > tally->biggest) tally->biggest = (long)n;
  free(order);
}

/* Products that lowering gives to BLAS are in no graph. */
static void count_products (const gb_plan *p) {
  const gb_lowered *low = gb_plan_lowered(p);
  for (int s = 0; s < low->nsteps; s++)
    tally->used[GB_OP_GEMM] += !low->step[s].is_fold && low->step[s].opaque.op == GB_OP_GEMM;
}

/* one graph */

static void graph_begin (int threads) {
  static gb_device *devices[4];
  fixture_begin();
  if (devices[threads] == NULL) OK(test_device_new(threads, (size_t)1 << 30, &devices[threads], &fx.err));
  fx.g->device = device = devices[threads];
  trouble[0] = '\0';
}

static void graph_end (void) {
  release_to(0);
  gb_cache_sweep(fx.g); /* without handles no cache can be found again */
  if (device->ledger.used != 0) TROUBLE("%zu bytes are held when all handles are gone", device->ledger.used);
  gb_cache_drop(fx.g, SIZE_MAX);
  fixture_end();
}

static void check_budgets (const tape *t, const asked *q) {
  gb_plan *p;
  gb_plan_report r;
  bits want = {0};
  if (!opened(q, 0, &p, &r)) return;
  count_products(p);
  gb_plan_free(p);
  for (int k = 0; k < BUDGETS && trouble[0] == '\0'; k++) {
    const size_t between = r.minimum +
                           (size_t)((double)t->frame[WIDTH - 1 - k] / 0x1p32 * (double)(r.peak - r.minimum));
    check_case(q, k == 0 ? 0 : k == 1 ? r.minimum : between, &want);
    tally->cases++;
  }
  tally->numeric += want.rc != GB_OK;
  check_closed(q, &want);
  check_rebound(q, &want);
  check_history(q, t->frame[WIDTH - 1 - BUDGETS], &want);
  bits_free(&want);
  check_refusal(q, r.minimum);
}

static bool graph_is_wrong (const tape *t, bool aloud) {
  gb_node *out[MOST_OUTPUTS];
  graph_begin(t->frame[WIDTH - 1] % 8 < 6 ? 1 : 2 + (int)(t->frame[WIDTH - 1] % 2));
  const size_t n = make_graph(t, out);
  const asked q = ask(n, out);
  if (made.broken) TROUBLE("gradient: %.1900s", fx.err.text);
  if (aloud && made.broken) print_graph(1, &made.loss);
  else if (aloud) print_graph(n, out);
  if (!made.broken) check_budgets(t, &q);
  count_ops(n, out);
  count_gradients();
  graph_end();
  tally->graphs++;
  if (aloud) fprintf(stderr, "  %s\n", trouble);
  return trouble[0] != '\0';
}

/* all of them */

typedef struct batch {
  uint64_t from, to;
} batch;

static bool run_batch (const void *ud) {
  const batch *b = ud;
  for (uint64_t seed = b->from; seed < b->to; seed++) {
    static tape t;
    tally->current = seed;
    tape_of(seed, &t);
    if (graph_is_wrong(&t, false)) {
      memcpy(tally->text, trouble, sizeof trouble);
      return false;
    }
  }
  if (slack.idle > tally->idle)
    tally->idle = slack.idle, memcpy(tally->where, slack.where, sizeof slack.where);
  return true;
}

static void plans_of_random_graphs_keep_their_word (void **unused) {
  (void)unused;
  const uint64_t end = first_seed + (uint64_t)graphs;
  for (uint64_t seed = first_seed; seed < end; seed += BATCH) {
    const batch b = {seed, seed + BATCH < end ? seed + BATCH : end};
    tally->text[0] = '\0';
    if (child_ends_well(run_batch, &b, false)) continue;
    const uint64_t failed = tally->current;
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)failed,
            tally->text[0] ? tally->text : "ended abnormally");
    shrink_and_print(failed, graph_is_wrong);
    fail_msg("seed %llu; again: test_plan_bytes %llu 1", (unsigned long long)failed,
             (unsigned long long)failed);
  }
  print_message(
      "seeds %llu .. %llu: %ld graphs of up to %ld nodes, %ld cases, %ld graphs with a numeric failure\n"
      "most scratch left idle: %zu bytes: %s\n",
      (unsigned long long)first_seed, (unsigned long long)end - 1, tally->graphs, tally->biggest,
      tally->cases, tally->numeric, tally->idle, tally->where);
}

static void every_op_and_gradient_was_met_often (void **unused) {
  (void)unused;
  int rare = 0;
  for (int op = 0; op < GB_NOPS; op++) {
    const bool grad = has_gradient((gb_op)op) && op != GB_OP_GEMM;
    print_message("%s %ld", gb_ops[op].name, tally->used[op]);
    if (grad) print_message("/%ld", tally->differentiated[op]);
    print_message(op % 8 == 7 ? "\n" : "  ");
  }
  print_message("\n");
  if (graphs < COUNTED) skip();
  for (int op = 0; op < GB_NOPS; op++) {
    const bool grad = has_gradient((gb_op)op) && op != GB_OP_GEMM && op != GB_OP_LEAF;
    if (tally->used[op] >= LEAST_USES && (!grad || tally->differentiated[op] >= LEAST_USES)) continue;
    print_message("%s is rare\n", gb_ops[op].name);
    rare++;
  }
  assert_int_equal(rare, 0);
  assert_true(tally->numeric * 50 <= tally->graphs);
}

int main (int argc, char **argv) {
  const char *seed = argc > 1 ? argv[1] : getenv("GIBBOUS_SEED");
  if (seed != NULL) first_seed = strtoull(seed, NULL, 10);
  if (argc > 2) graphs = strtol(argv[2], NULL, 10);
  tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (tally == MAP_FAILED) return 2;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_of_random_graphs_keep_their_word),
      cmocka_unit_test(every_op_and_gradient_was_met_often),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
