/* test_complete.c - the planner against exhaustive search: on small graphs a budget is enough exactly
** where some order of the steps, some window of some axis or some packing fits it, and what is chosen is
** then the fastest that does: the whole where it fits in some order, unseen. Seconds are those of the
** fixed sheet; values are not kept, and none exists beforehand. */
#include "plan/choose/plan_internal.h"
#include "plan/place/orders.h"
#include "plan/price/step_cost.h"
#include "support/plan/eval_fixture.h"

#ifndef GRAPHS
#define GRAPHS 200
#endif
#define BUDGETS 20
#define FEWEST 3   /* running steps */
#define ORDERS 600 /* a graph with more orders of its steps is passed over */
#define FORMS 16384
#define OUTPUTS 3
#define OWN 1024

/* -- graphs */

static uint64_t draw_seed, drawn;

static size_t draw (size_t below) {
  uint32_t w[4];
  gb_philox(draw_seed, 23, drawn++, w);
  return w[0] % below;
}

/* Values that have the rows: matrices of one width, and columns. */
typedef struct pool {
  size_t rows, width;
  bool hint;
  gb_node *wide[24], *flat[24];
  int nwide, nflat;
} pool;

static gb_node *named_batch (const pool *p, gb_node *x) {
  if (p->hint) x->batch = 1;
  return x;
}
static gb_node *data2 (const pool *p) { return named_batch(p, in2(p->rows, p->width, -1, 1)); }
static gb_node *data1 (const pool *p) { return named_batch(p, in1(p->rows, -1, 1)); }
static gb_node *a_wide (const pool *p) { return p->wide[draw((size_t)p->nwide)]; }
static gb_node *a_flat (const pool *p) { return p->flat[draw((size_t)p->nflat)]; }
static void add_wide (pool *p, gb_node *x) { p->wide[p->nwide++] = x; }
static void add_flat (pool *p, gb_node *x) { p->flat[p->nflat++] = x; }

static gb_node *along (gb_op op, gb_node *x, int axis) {
  return attr_node(op, 1, &x, (gb_attr){.i = {axis, 0}});
}

static gb_node *pick0 (gb_node *x) { return BUILD(gb_pick, x, 0); }

static gb_node *kernel (gb_node *x, gb_node *y) {
  return BUILD(gb_radial, GB_RBF, dist(x, y, NULL), num(0.7), NULL);
}

/* A factor of a covariance of the rows, and one or two of its uses. */
static void grow_factor (pool *p) {
  gb_node *x = a_wide(p), *k = add(kernel(x, x), mul(BUILD(gb_eye, fx.g, p->rows, inputs.dtype), num(2)));
  gb_node *l = BUILD(gb_cholesky, k, 0);
  if (draw(2)) add_flat(p, attr_node(GB_OP_SOLVE_CHOL, 2, (gb_node *[]){l, a_flat(p)}, (gb_attr){0}));
  else add_wide(p, attr_node(GB_OP_TRISOLVE, 2, (gb_node *[]){l, a_wide(p)}, (gb_attr){0}));
  if (draw(2)) add_flat(p, mul(a_flat(p), map1(GB_OP_LOGDET, l)));
}

/* Two matrices side by side, their running sums, and the middle of it. */
static gb_node *beside (const pool *p, gb_node *x, gb_node *y) {
  gb_node *both = BUILD(gb_cat, 2, ((gb_node *[]){x, y}), 1), *sums = along(GB_OP_CUMSUM, both, 1);
  return BUILD(gb_slice, sums, 1, 1, 1, p->width);
}

static void grow_by_one (pool *p, bool factors) {
  gb_node *x = a_wide(p), *y = a_wide(p);
  switch (draw(factors ? 12 : 11)) {
    case 0:
    case 1: add_wide(p, along(GB_OP_CUMSUM, map1(GB_OP_SIN, x), 1)); break;
    case 2: add_wide(p, pick0(along(GB_OP_SORT, add(x, y), 1))); break;
    case 3: add_wide(p, along(GB_OP_CUMSUM, x, 0)); break;
    case 4: add_wide(p, sub(y, unsq(sum_axis(x, 0), 0))); break;
    case 5: add_flat(p, sum_axis(square(sub(x, y)), 1)); break;
    case 6: add_wide(p, map1(GB_OP_TANH, mm(x, in2(p->width, p->width, -1, 1)))); break;
    case 7: add_flat(p, mm(kernel(x, in2(40, p->width, -1, 1)), in1(40, -1, 1))); break;
    case 8: add_wide(p, mul(x, unsq(a_flat(p), 1))); break;
    case 9: add_wide(p, beside(p, x, y)); break;
    case 10: add_flat(p, mul(a_flat(p), sum_axis(along(GB_OP_CUMSUM, square(x), 1), 1))); break;
    default: grow_factor(p);
  }
}

/* The last values, some of them summed over the rows. */
static int take_outputs (pool *p, gb_node **out) {
  const int n = 1 + (int)draw(OUTPUTS);
  for (int i = 0; i < n; i++) {
    const bool wide = p->nwide > 1 && (p->nflat == 1 || draw(2));
    gb_node *x = wide ? p->wide[--p->nwide] : p->nflat > 1 ? p->flat[--p->nflat] : a_wide(p);
    out[i] = draw(3) == 0 ? sum_axis(x, 0) : map1(GB_OP_ATAN, x);
  }
  return n;
}

static int build (uint64_t seed, gb_node **out) {
  static const size_t rows[] = {40, 130, 300, 700};
  draw_seed = seed;
  drawn = 0;
  inputs_begin(seed, seed % 5 ? GB_F64 : GB_F32, 0);
  const bool factors = seed % 3 == 0;
  pool p = {.rows = rows[draw(4)], .width = 2 + draw(9), .hint = seed % 4 == 1};
  for (size_t n = 1 + draw(2); n > 0; n--) add_wide(&p, data2(&p));
  add_flat(&p, data1(&p));
  for (size_t n = 3 + draw(5); n > 0; n--) grow_by_one(&p, factors);
  if (factors) grow_factor(&p);
  return take_outputs(&p, out);
}

/* -- exhaustive search */

/* A way of running the steps, and the least that it needs over all orders of them. */
typedef struct form {
  gb_tiling *tiling;
  size_t chunk;
  bool packed;
  size_t need;
  double seconds;
} form;

typedef struct search {
  const gb_plan *p;
  gb_tiling *own[OWN]; /* counted */
  int nown;
  form form[FORMS]; /* whole ones first */
  int n;
  /* of the form in hand */
  gb_placement *plain; /* in the program's order */
  bool *none, *runs, *done;
  int *order, nrun;
  size_t orders, most; /* 'most' that may be counted */
} search;

/* Everything that step s reads has been made, and no step of an earlier part of the run is left. */
static bool may_run (const search *x, int s) {
  const gb_lowered *low = x->p->prog->low;
  for (int t = 0; t < low->nsteps; t++) {
    if (!x->runs[t] || x->done[t]) continue;
    if (gb_first_phase(x->plain, t) < gb_first_phase(x->plain, s)) return false;
    for (int k = 0; k < low->step[t].nout; k++)
      for (int i = 0; i < low->step[s].nin; i++)
        if (low->step[s].in[i] == low->step[t].out[k]) return false;
  }
  return true;
}

static gb_placement *place (const search *x, const form *f, const int *order) {
  const gb_lowered_plan *prog = x->p->prog;
  const gb_split_job job = {prog->kernels[0], prog->low, prog->scratch, prog->packed_factor,
                            prog->npacked_factors};
  const gb_form_of_run how = {.tiling = f->tiling,
                              .grains = prog->batch,
                              .chunk = f->chunk,
                              .order = order,
                              .packed_factor = prog->packed_factor,
                              .npacked_factors = f->packed ? prog->npacked_factors : 0,
                              .workspace = gb_split_workspace,
                              .ud = &job};
  gb_placement *p;
  OK(gb_place(prog->low, (gb_demand){x->p->choice.want, x->none, x->none}, &how, &p, &fx.err));
  return p;
}

static void weigh_order (search *x, form *f) {
  const gb_lowered_plan *prog = x->p->prog;
  gb_placement *p = place(x, f, x->order);
  const double seconds =
      gb_place_seconds(&(gb_prices){device->ops->price, device->ops->price->fixed(), prog->threads[0]},
                       prog->low, prog->packed_factor, prog->npacked_factors, p);
  assert_true(seconds > 0);
  if (f->need == SIZE_MAX) f->seconds = seconds;
  assert_true(seconds == f->seconds); /* whatever the order */
  if (p->peak < f->need) f->need = p->peak;
  gb_placement_unref(p);
}

/* Visits the orders that continue the first 'depth' steps; false: there are too many. */
static bool try_orders (search *x, form *f, int depth) {
  const gb_lowered *low = x->p->prog->low;
  if (depth == x->nrun) {
    weigh_order(x, f);
    return ++x->orders < x->most;
  }
  for (int s = 0; s < low->nsteps; s++) {
    if (!x->runs[s] || x->done[s] || !may_run(x, s)) continue;
    x->order[depth] = s;
    x->done[s] = true;
    const bool go_on = try_orders(x, f, depth + 1);
    x->done[s] = false;
    if (!go_on) return false;
  }
  return true;
}

static bool try_form (search *x, gb_tiling *c, size_t chunk, bool packed) {
  assert_true(x->n < FORMS);
  form *f = &x->form[x->n++];
  *f = (form){c, chunk, packed, SIZE_MAX, 0};
  x->orders = 0;
  x->plain = place(x, f, NULL);
  const bool all = try_orders(x, f, 0);
  gb_placement_unref(x->plain);
  return all;
}

static bool try_windows (search *x, gb_tiling *c, bool packed) {
  for (size_t chunk = c->unit; chunk < c->extent; chunk *= 2)
    if (!try_form(x, c, chunk, packed)) return false;
  return true;
}

static void find_cutting (search *x, const int *seed, gb_cut_rules rules) {
  rules.grains = x->p->prog->batch;
  OK(gb_cut_along(x->p->prog->low, seed, rules, &x->own[x->nown], &fx.err));
  x->nown += x->own[x->nown] != NULL;
  assert_true(x->nown < OWN);
}

static void cut_in_loops (search *x, const int *seed) {
  find_cutting(x, seed, (gb_cut_rules){0});
  for (int i = 0; i < 4; i++) {
    const int loops = (const int[]){2, 4, 8, GB_LOOPS}[i];
    find_cutting(x, seed, (gb_cut_rules){.loops = loops, .thrifty = true});
    find_cutting(x, seed, (gb_cut_rules){.loops = loops});
  }
}

/* Some windows of one loop have the axis. */
static bool has_windows (const search *x, int b, int k) {
  for (int i = 0; i < x->nown; i++)
    if (x->own[i]->nloops == 1 && x->own[i]->unit < x->own[i]->extent && x->own[i]->dim[b] == k) return true;
  return false;
}

/* Every axis of every leaf, in one loop and in several; and of every result whose axis none of these has. */
static void find_cuttings (search *x) {
  const gb_lowered *low = x->p->prog->low;
  int *seed = malloc((size_t)low->nbufs * sizeof *seed);
  for (int b = 0; b < low->nbufs; b++) seed[b] = -1;
  for (int results = 0; results < 2; results++)
    for (int b = 0; b < low->nbufs; b++)
      for (int k = 0; (low->buf[b].cls != GB_BUF_LEAF) == results && k < low->buf[b].shape.ndim; k++) {
        if (results && has_windows(x, b, k)) continue;
        seed[b] = k;
        cut_in_loops(x, seed);
        seed[b] = -1;
      }
  free(seed);
}

/* All there is; false: too many orders. The whole comes first. */
static bool try_everything (search *x) {
  find_cuttings(x);
  for (int packed = 0; packed <= (x->p->prog->npacked_factors > 0); packed++) {
    if (!try_form(x, NULL, 0, packed)) return false;
    for (int i = 0; i < x->p->prog->batch_cuts.n; i++)
      if (!try_windows(x, x->p->prog->batch_cuts.tiling[i], packed)) return false;
    for (int i = 0; i < x->nown; i++)
      if (!try_windows(x, x->own[i], packed)) return false;
  }
  return true;
}

static void search_begin (search *x, const gb_plan *p) {
  const size_t nb = (size_t)p->prog->low->nbufs + 1, ns = (size_t)p->prog->low->nsteps + 1;
  *x = (search){.p = p,
                .none = calloc(nb, 1),
                .runs = calloc(ns, 1),
                .done = calloc(ns, 1),
                .order = calloc(ns, sizeof(int)),
                .most = ORDERS};
  int idle = p->choice.place->nrun;
  for (int s = 0; s < p->prog->low->nsteps; s++) {
    x->runs[s] = p->choice.place->runs[s];
    if (!x->runs[s]) x->order[idle++] = s;
  }
  x->nrun = p->choice.place->nrun;
}

static void search_end (search *x) {
  while (x->nown > 0) gb_tiling_unref(x->own[--x->nown]);
  free(x->none);
  free(x->runs);
  free(x->done);
  free(x->order);
}

/* -- comparison */

static struct {
  int graphs, named, factors, plans, refused, whole, reordered, packed, windows, reordered_windows, unseen;
} met;

static size_t least_need (const search *x) {
  size_t least = SIZE_MAX;
  for (int i = 0; i < x->n; i++)
    if (x->form[i].need < least) least = x->form[i].need;
  return least;
}

/* The fastest form within a budget, NULL: none fits. What runs whole is not compared. */
static const form *best_within (const search *x, size_t budget) {
  const form *best = NULL;
  if (x->form[0].need <= budget) return &x->form[0];
  for (int i = 0; i < x->n; i++)
    if (x->form[i].need <= budget && (best == NULL || x->form[i].seconds < best->seconds)) best = &x->form[i];
  return best;
}

static const char *text_of (const search *x, const form *f) {
  static char text[160];
  if (f == NULL) return "nothing";
  int axis = -1;
  for (int i = 0; i < x->nown; i++)
    if (x->own[i] == f->tiling) axis = i;
  snprintf(text, sizeof text, "windows of %zu of axis %d%s, %zu bytes, %.9g s", f->chunk, axis,
           f->packed ? ", packed" : "", f->need, f->seconds);
  return text;
}

static double seconds_of (const gb_plan *p) {
  const gb_lowered_plan *prog = p->prog;
  return gb_place_seconds(&(gb_prices){device->ops->price, device->ops->price->fixed(), prog->threads[0]},
                          prog->low, prog->packed_factor, prog->npacked_factors, p->choice.place);
}

static void count_choice (const gb_plan *p) {
  const gb_candidate *o = &p->choice.taken;
  const bool whole = o->tiling == NULL || o->chunk >= o->tiling->extent;
  met.packed += o->packed;
  met.windows += !whole;
  met.reordered_windows += !whole && o->reordered;
  met.whole += whole && !o->packed;
  met.reordered += whole && o->reordered;
}

/* Plans within a budget and compares with 'want', the best there is. */
static void compare (uint64_t seed, const search *x, int n, gb_node *const *out, size_t budget,
                     const form *want) {
  const gb_plan_options o = {.budget = budget, .forbid = GB_ALLOW_CACHE};
  const size_t least = least_need(x);
  gb_plan *p;
  met.plans++;
  const gb_status rc = gb_plan_new(fx.g, (size_t)n, out, &o, &p, &fx.err);
  if (rc != GB_OK) {
    met.refused++;
    if (rc != GB_EREFUSED || want != NULL || fx.err.minimum != least)
      fail_msg("graph %llu: %zu bytes are %s (minimum %zu, is %zu), where %s fits", (unsigned long long)seed,
               budget, gb_status_code(rc), fx.err.minimum, least, text_of(x, want));
    return;
  }
  gb_plan_report r;
  gb_plan_report_get(p, &r);
  const double seconds = seconds_of(p);
  if (want == NULL || !(seconds == want->seconds) || r.minimum != least || r.peak > budget)
    fail_msg("graph %llu: within %zu bytes %zu in %.9g s (minimum %zu, is %zu), best %s",
             (unsigned long long)seed, budget, r.peak, seconds, r.minimum, least, text_of(x, want));
  count_choice(p);
  gb_plan_free(p);
}

static int by_size (const void *a, const void *b) {
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

/* Every distinct need, or as many as there may be, and one byte less. */
static int find_budgets (const search *x, size_t *budget) {
  size_t need[FORMS];
  int n = 0, count = 0;
  for (int i = 0; i < x->n; i++) need[i] = x->form[i].need;
  qsort(need, (size_t)x->n, sizeof *need, by_size);
  for (int i = 0; i < x->n; i++)
    if (n == 0 || need[n - 1] != need[i]) need[n++] = need[i];
  const int most = BUDGETS / 2, take = n < most ? n : most;
  for (int i = 0; i < take; i++) {
    const size_t at = need[take == 1 ? 0 : i * (n - 1) / (take - 1)];
    budget[count++] = at - 1;
    budget[count++] = at;
  }
  return count;
}

/* More bytes are never slower. The whole is taken without a look at the others: of them packed triangles,
** of which half a matrix is computed, may be predicted to be faster, and nothing else. */
static void check_order (uint64_t seed, const search *x, const form *less, const form *more) {
  if (less == NULL || more->seconds <= less->seconds) return;
  if (more == &x->form[0] && less->packed && more->seconds <= 1.05 * less->seconds) met.unseen++;
  else
    fail_msg("graph %llu: %s where %.9g s fit fewer bytes", (unsigned long long)seed, text_of(x, more),
             less->seconds);
}

static void compare_all (uint64_t seed, const search *x, int n, gb_node *const *out) {
  size_t budget[BUDGETS];
  const form *last = NULL;
  const int nb = find_budgets(x, budget);
  for (int i = 0; i < nb; i++) {
    if (budget[i] == 0) continue; /* it would mean: what the ledger has */
    const form *want = best_within(x, budget[i]);
    compare(seed, x, n, out, budget[i], want);
    if (want != NULL) check_order(seed, x, last, want);
    last = want;
  }
}

static void check_graph (uint64_t seed) {
  gb_node *out[OUTPUTS];
  gb_plan *p;
  search x;
  const int n = build(seed, out);
  OK(gb_plan_new(fx.g, (size_t)n, out, &(gb_plan_options){.forbid = GB_ALLOW_CACHE}, &p, &fx.err));
  search_begin(&x, p);
  if (x.nrun >= FEWEST && x.nrun <= GB_ORDER_EXACT && try_everything(&x)) {
    met.graphs++;
    met.named += p->prog->batch != NULL;
    met.factors += p->prog->npacked_factors > 0;
    compare_all(seed, &x, n, out);
  }
  search_end(&x);
  gb_plan_free(p);
  release_to(0);
}

static void plans_are_the_best_there_are (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 30);
  gb_device_profile_choose_fixed(device, true);
  for (uint64_t seed = 1; met.graphs < GRAPHS; seed++) check_graph(seed);
  print_message(
      "%d graphs (%d with a named batch, %d with factors), %d plans: %d refused, %d whole (%d reordered), ",
      met.graphs, met.named, met.factors, met.plans, met.refused, met.whole, met.reordered);
  print_message("%d packed, %d in windows (%d reordered); the whole unseen beside faster triangles: %d\n",
                met.packed, met.windows, met.reordered_windows, met.unseen);
  assert_true(met.named > 0 && met.factors > 0 && met.refused > 0 && met.whole > 0 && met.reordered > 0);
  assert_true(met.packed > 0 && met.windows > 0 && met.reordered_windows > 0);
  eval_end();
}

/* -- what a plan costs */

static gb_node *long_chain (size_t n) {
  inputs_begin(1, GB_F64, 0);
  gb_node *x = in2(64, 8, -1, 1);
  for (size_t i = 0; i < n; i++) x = i % 4 ? map1(GB_OP_SIN, x) : along(GB_OP_CUMSUM, x, (int)(i / 4 % 2));
  return x;
}

/* Whole runs that fit are placed once; without a budget nothing else is looked at. */
static void large_graphs_that_fit_are_placed_once (void **unused) {
  (void)unused;
  gb_plan *p;
  eval_begin(1, (size_t)1 << 30);
  gb_node *out = long_chain(1000);
  OK(gb_plan_open(fx.g, 1, &out, &p, &fx.err));
  assert_true(p->request.nnodes > 1000 && p->prog->low->nsteps > 400);
  assert_int_equal(p->prog->next_place, 0);
  gb_choice c;
  OK(gb_choice_init(&c, p, &fx.err));
  gb_choice_look_up(&c);
  OK(gb_choose(&c, &fx.err));
  assert_int_equal(p->prog->next_place, 1);
  assert_int_equal(c.place->nrun, p->prog->low->nsteps);
  gb_choice_clear(&c);
  gb_plan_free(p);
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_are_the_best_there_are),
      cmocka_unit_test(large_graphs_that_fit_are_placed_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
