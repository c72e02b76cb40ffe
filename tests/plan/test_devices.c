/* test_devices.c - one plan on several simulated devices: the bits of one, the bytes that were promised on
** each. */
#include "plan/choose/plan_internal.h"
#include "support/device.h"
#include "support/plan/lower_fixture.h"
#include "support/random/expression_random.h"

#define MOST 8
#define LIMIT ((size_t)1 << 28)

/* host memory: the n-th request from now and all later ones fail; -1 = none */

static long permits = -1;
static bool permit (void) {
  if (permits < 0) return true;
  if (permits > 0) permits--;
  return permits > 0;
}

void *__real_malloc (size_t n);
void *__real_calloc (size_t n, size_t m);
void *__wrap_malloc (size_t n);
void *__wrap_calloc (size_t n, size_t m);
void *__wrap_malloc (size_t n) { return permit() ? __real_malloc(n) : NULL; }
void *__wrap_calloc (size_t n, size_t m) { return permit() ? __real_calloc(n, m) : NULL; }

/* expressions */

typedef struct scene {
  gb_node *out[6];
  int n;
} scene;
typedef scene scene_maker (bool hinted);

static gb_node *batch_of (gb_node *x, bool hinted) {
  if (hinted) x->batch = 1;
  return x;
}

/* Sizes vary from scene to scene. */
static size_t size_of (size_t least, size_t most) {
  static uint64_t k;
  return least + (size_t)(gb_rand_uniform(31, ++k, 0) * (double)(most - least + 1));
}

/* A leaf whose value is a view of a matrix: strides and offset in elements. */
static gb_node *strided (gb_node *base, size_t n, size_t m, ptrdiff_t by_row, ptrdiff_t by_column,
                         size_t offset) {
  gb_tensor t = gb_tensor_ref(&base->out[0].tensor);
  t.shape = gb_shape_of(2, (size_t[]){n, m});
  t.stride[0] = by_row;
  t.stride[1] = by_column;
  t.offset = offset;
  gb_node *leaf = BUILD(gb_node_leaf, fx.g, &t, 0, "");
  gb_tensor_clear(&t);
  return leaf;
}

static gb_node *mean_all (gb_node *a) { return BUILD(gb_mean, a, 0, false); }

static scene gradients (bool hinted) {
  inputs.flags = 0;
  const size_t rows = size_of(1000, 2600), width = size_of(3, 12);
  gb_node *x = batch_of(in2(rows, 4, -1, 1), hinted), *y = batch_of(in2(rows, 2, -1, 1), hinted);
  inputs.flags = GB_NODE_GRAD;
  gb_node *w[4] = {in2(4, width, -1, 1), in1(width, -1, 1), in2(width, 2, -1, 1), in1(2, -1, 1)};
  gb_node *h = map1(GB_OP_TANH, add(mm(x, w[0]), unsq(w[1], 0)));
  gb_node *loss = mean_all(square(sub(add(mm(h, w[2]), unsq(w[3], 0)), y)));
  scene s = {.n = 5, .out = {loss}};
  grads(loss, 4, w, s.out + 1);
  inputs.flags = 0;
  return s;
}

static gb_node *kernel_of (gb_node *x, gb_node *y) {
  return radial(GB_M32, dist(x, y, NULL), num(1.3), NULL);
}

static scene product (bool hinted) {
  const size_t n = size_of(1300, 1700), m = size_of(300, 700);
  gb_node *x = batch_of(in2(n, 3, -1, 1), hinted), *y = in2(m, 3, -1, 1), *v = in2(m, 2, -1, 1);
  return (scene){.n = 1, .out = {mm(kernel_of(x, y), v)}};
}

/* The same points as rows and as columns: a device needs its rows, and all columns. */
static scene both_ways (bool hinted) {
  const size_t n = size_of(600, 1200);
  gb_node *x = batch_of(in2(n, 3, -1, 1), hinted), *h = batch_of(in1(n, -1, 1), hinted),
          *v = in2(n, 2, -1, 1);
  gb_node *k = map1(GB_OP_TANH, add(kernel_of(x, x), unsq(h, 1)));
  return (scene){.n = 1, .out = {mm(k, v)}};
}

/* Sums over the axis: totals go from device to device. */
static scene transposed (bool hinted) {
  const size_t n = size_of(2000, 4000);
  gb_node *x = batch_of(in2(n, 3, -1, 1), hinted), *y = in2(300, 3, -1, 1);
  gb_node *v = batch_of(in2(n, 2, -1, 1), hinted);
  gb_node *k = kernel_of(x, y);
  return (scene){.n = 2, .out = {mm(tr(k), v), sum_axis(k, 1)}};
}

/* Nothing but sums of what exists: no window spares memory, but devices share them. */
static scene sums (bool hinted) {
  const size_t n = size_of(2000, 4000);
  gb_node *x = batch_of(in2(n, 3, -1, 1), hinted), *w = in1(3, -1, 1);
  gb_node *y = map1(GB_OP_EXP, mul(x, unsq(w, 0)));
  return (scene){.n = 2, .out = {sum_all(y), sum_axis(map1(GB_OP_SIN, y), 0)}};
}

static scene gram (bool hinted) {
  gb_node *x = batch_of(in2(900, 3, -1, 1), hinted), *y = in2(80, 3, -1, 1);
  gb_node *k = kernel_of(x, y);
  return (scene){.n = 2, .out = {k, mm(tr(k), k)}};
}

static scene prediction (bool hinted) {
  gb_node *x = in2(120, 2, -1, 1), *t = batch_of(in2(1300, 2, -1, 1), hinted), *y = in1(120, -1, 1);
  gb_node *k = add(kernel_of(x, x), mul(identity_of(120), num(0.1)));
  gb_node *l = BUILD(gb_cholesky, k, 0), *cross = kernel_of(x, t);
  gb_node *column = unsq(y, 1), *u = BUILD(gb_triangular_solve, l, cross, false, false);
  gb_node *b = BUILD(gb_triangular_solve, l, column, false, false);
  gb_node *mean = sq(mm(tr(u), b), 1), *var = sub(num(1), sum_axis(square(u), 0));
  return (scene){.n = 2, .out = {mean, var}};
}

/* Views in expressions: transposed, sliced, flipped along another axis. */
static scene views (bool hinted) {
  const size_t rows = size_of(900, 1400);
  gb_node *a = in2(5, rows, -1, 1), *b = batch_of(in2(rows, 6, -1, 1), hinted);
  gb_node *left = tr(a), *right = BUILD(gb_slice, b, 1, 1, 1, 5);
  gb_node *flipped = BUILD(gb_flip, right, 1);
  return (scene){.n = 3,
                 .out = {map1(GB_OP_EXP, mul(left, right)), sum_axis(mul(left, flipped), 0),
                         sum_axis(map1(GB_OP_SIN, add(left, flipped)), 1)}};
}

/* Values that are views: transposed, sliced, flipped, one row or one column for all. */
static scene strides (bool hinted) {
  const size_t n = size_of(1100, 1900);
  const ptrdiff_t rows = (ptrdiff_t)n;
  gb_node *wide = in2(4, n, -1, 1), *tall = in2(n, 9, -1, 1), *flat = in2(n, 4, -1, 1);
  gb_node *turned = batch_of(strided(wide, n, 4, 1, rows, 0), hinted);
  gb_node *sliced = batch_of(strided(tall, n, 4, 9, 2, 1), hinted), *mirrored = strided(flat, n, 4, 4, -1, 3);
  gb_node *backwards = strided(flat, n, 4, -4, 1, 4 * (n - 1)), *row = strided(flat, n, 4, 0, 1, 8);
  gb_node *column = strided(tall, n, 4, 9, 0, 5);
  gb_node *sum = add(mul(turned, sliced), mul(add(mirrored, backwards), map1(GB_OP_SIN, add(row, column))));
  return (scene){.n = 3, .out = {map1(GB_OP_EXP, sum), sum_axis(sum, 0), sum_axis(mul(sum, sliced), 1)}};
}

/* Opaque steps within: positions, conversions, products. */
static scene gathers (bool hinted) {
  const size_t n = size_of(900, 1500);
  gb_node *x = batch_of(in2(n, 6, -1, 1), hinted), *w = in2(6, 30, -1, 1), *b = in2(40, 30, -1, 1);
  gb_node *at = batch_of(ints(1, &n, 1, 40), hinted);
  gb_node *taken = attr_node(GB_OP_INDEX, 2, (gb_node *[]){b, at}, (gb_attr){0}), *h = add(mm(x, w), taken);
  gb_node *running = attr_node(GB_OP_CUMSUM, 1, &h, (gb_attr){.i = {1}});
  return (scene){.n = 3, .out = {running, mm(tr(h), running), sum_axis(map1(GB_OP_TANH, running), 0)}};
}

/* Products that see their operands with axes of extent 1 more or fewer. */
static scene reshaped (bool hinted) {
  const size_t n = size_of(300, 700);
  gb_node *x = batch_of(in2(n, 6, -1, 1), hinted), *y = batch_of(in2(n, 70, -1, 1), hinted),
          *w = in2(6, 70, -1, 1);
  gb_node *wide = mm(unsq(x, 0), unsq(w, 0)), *inner = mm(unsq(tr(y), 0), unsq(map1(GB_OP_TANH, y), 0));
  return (scene){.n = 3, .out = {map1(GB_OP_TANH, wide), inner, mm(unsq(tr(x), 0), unsq(y, 0))}};
}

/* Random steps from data with an axis and a parameter, and a gradient; another one each time. */
static scene random_steps (bool hinted) {
  const size_t n = size_of(hinted ? 20 : 600, 1300);
  pool p = {.n = 0};
  draw_seed++;
  drawn = 0;
  sizes.extent[0] = 3;
  sizes.extent[1] = sizes.extent[2] = 8;
  sizes.extent[3] = n;
  p.at[p.n++] = batch_of(in2(n, 1 + draw(8), -1, 1), hinted);
  p.at[p.n++] = batch_of(in2(n, 8, -1, 1), hinted);
  inputs.flags = GB_NODE_GRAD;
  gb_node *w = in2(gb_node_shape(p.at[0])->dim[1], 8, -1, 1);
  inputs.flags = 0;
  p.at[p.n] = tame(mm(p.at[0], w));
  p.n++;
  grow(&p);
  gb_node *y = p.at[p.n - 1], *z = mul(tame(mm(p.at[0], w)), p.at[1]),
          *loss = add(mean_all(mul(y, y)), mean_all(square(z)));
  return (scene){.n = 3, .out = {loss, sum_axis(z, 0), BUILD(gb_grad, loss, NULL, 1, &w, true)}};
}

static const struct {
  const char *name;
  scene_maker *make;
} scenes[] = {{"gradients", gradients},   {"product", product},     {"both ways", both_ways},
              {"transposed", transposed}, {"sums", sums},           {"gram", gram},
              {"prediction", prediction}, {"views", views},         {"strides", strides},
              {"gathers", gathers},       {"reshaped", reshaped},   {"random", random_steps},
              {"random", random_steps},   {"random", random_steps}, {"random", random_steps}};
#define NSCENES ((int)(sizeof scenes / sizeof scenes[0]))

/* devices */

static gb_device *devices[MOST];

static void begin (int threads, gb_dtype t) {
  eval_begin(threads, LIMIT);
  inputs_begin(5, t, 0);
  devices[0] = device;
  for (int i = 1; i < MOST; i++) {
    OK(gb_device_add_simulated(device, LIMIT, &fx.err));
    devices[i] = devices[i - 1]->next;
  }
}

static void end (void) {
  for (int i = 1; i < MOST; i++) assert_int_equal(devices[i]->ledger.used, 0);
  eval_end();
}

static gb_status plan_on (const scene *s, int n, const gb_plan_on *on, gb_plan **p) {
  return gb_plan_new(fx.g, (size_t)s->n, s->out, &(gb_plan_options){.ndevices = n, .on = on}, p, &fx.err);
}

static void clear (int n, gb_tensor *t) {
  for (int i = 0; i < n; i++) gb_tensor_clear(&t[i]);
}

/* Values that go to 'out' and to no node; caches go. */
static gb_status run_to (gb_plan *p, gb_tensor *out) {
  home_begin(device);
  const gb_status rc = gb_plan_run_with(p, 0, NULL, NULL, out, &fx.err);
  assert_int_equal(home_rise(device), 0);
  gb_cache_drop(fx.g, SIZE_MAX);
  return rc;
}

static void alone (const scene *s, gb_tensor *out) {
  gb_plan *p;
  OK(plan_on(s, 0, NULL, &p));
  OK(run_to(p, out));
  gb_plan_free(p);
}

static bool same (const gb_tensor *a, const gb_tensor *b) {
  return gb_shape_equal(&a->shape, &b->shape) &&
         memcmp(elements(a), elements(b), gb_shape_bytes(&a->shape, a->dtype)) == 0;
}

/* Ranges follow each other and cover the axis; nothing is above its budget; all is as measured. */
static int check_devices (const gb_plan *p, const gb_plan_on *on, int n) {
  const gb_plan_device *d;
  const int count = gb_plan_devices(p, &d);
  size_t next = 0;
  int sharing = 0;
  for (int i = 0; i < count; i++) {
    if (d[i].hi > d[i].lo) {
      assert_int_equal(d[i].lo, next);
      next = d[i].hi;
      sharing++;
    }
    assert_true(d[i].peak <= d[i].budget);
    assert_int_equal(gb_plan_measured_on(p, i), d[i].peak);
    for (int k = 0; k < n; k++)
      if (strcmp(on[k].device->name, d[i].name) == 0 && on[k].budget != 0)
        assert_int_equal(d[i].budget, on[k].budget);
  }
  assert_int_equal(next, d[0].extent);
  return sharing;
}

static void watch (unsigned char poison) {
  *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){.on = true, .poison = poison};
}

static void check_watch (const char *name) {
  if (gb_plan_memcheck(fx.g)->strays != 0 || gb_plan_memcheck(fx.g)->unwritten >= 64 ||
      gb_plan_memcheck(fx.g)->unused_scratch >= 64)
    fail_msg("%s: %s", name, gb_plan_memcheck(fx.g)->first);
  *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){0};
}

static double chance (uint64_t k, int i) { return gb_rand_uniform(77, k, (uint64_t)i); }

/* The share of each device when memory is plentiful. */
static void ample (const scene *s, int n, gb_plan_on *on, size_t *peak) {
  gb_plan *p;
  const gb_plan_device *d;
  OK(plan_on(s, n, on, &p));
  assert_int_equal(gb_plan_devices(p, &d), n);
  for (int i = 0; i < n; i++) peak[i] = d[i].peak;
  gb_plan_free(p);
}

typedef struct tally {
  int runs, refusals, shared, windows;
} tally;

static void one_trial (const char *name, const scene *s, const gb_tensor *want, uint64_t k, tally *t) {
  const int n = 2 + (int)(chance(k, 0) * (MOST - 1));
  gb_plan_on on[MOST];
  size_t peak[MOST];
  gb_tensor got[6];
  gb_plan *p;
  for (int i = 0; i < n; i++)
    on[i] = (gb_plan_on){.device = devices[i], .speed = k % 2 ? 0 : 0.2 + chance(k, 10 + i)};
  ample(s, n, on, peak);
  for (int i = 0; i < n; i++) {
    const double part = k % 4 < 2 ? 1.5 * chance(k, 20 + i) : 0.2 * chance(k, 20 + i);
    on[i].budget = 64 + (size_t)(part * (double)peak[1]) + (i == 0 ? peak[0] : 0);
  }
  const gb_status rc = plan_on(s, n, on, &p);
  if (rc == GB_EREFUSED) {
    if (strstr(fx.err.text, "device cpu") == NULL) fail_msg("%s: %s", name, fx.err.text);
    assert_true(fx.err.need > fx.err.have);
    t->refusals++;
    return;
  }
  OK(rc);
  watch(k % 2 ? 0xa5 : 0x3c);
  OK(run_to(p, got));
  check_watch(name);
  t->runs++;
  gb_run_stats stats;
  gb_plan_stats(p, &stats);
  const int sharing = check_devices(p, on, n);
  t->shared += sharing > 1;
  t->windows += stats.windows > sharing;
  for (int i = 0; i < s->n; i++)
    if (!same(&got[i], &want[i])) fail_msg("%s, trial %d: result %d has other bits", name, (int)k, i);
  clear(s->n, got);
  gb_plan_free(p);
}

static void several_devices_give_the_bits_of_one (void **unused) {
  (void)unused;
  tally t = {0};
  for (int c = 0; c < NSCENES * 4; c++) {
    const int before = t.shared;
    begin(1 + c / 2 % 2, c & 1 ? GB_F32 : GB_F64);
    const scene s = scenes[c / 4].make(c / 2 % 2);
    gb_tensor want[6];
    alone(&s, want);
    for (uint64_t k = 0; k < 16; k++) one_trial(scenes[c / 4].name, &s, want, (uint64_t)c * 100 + k, &t);
    clear(s.n, want);
    end();
    if (c % 4 == 3 && t.shared == before) fail_msg("%s: nothing was shared", scenes[c / 4].name);
  }
  print_message("%d runs, %d shared, %d in windows, %d refusals\n", t.runs, t.shared, t.windows, t.refusals);
  assert_true(t.shared > 100 && t.windows > 30 && t.refusals > 5);
}

static const gb_plan_device *device_of (const gb_plan *p, int i) {
  const gb_plan_device *d;
  assert_true(gb_plan_devices(p, &d) > i);
  return &d[i];
}

static void budgets_decide_the_shares (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  gb_node *x = in2(1500, 3, -1, 1), *y = in2(500, 3, -1, 1);
  const scene s = {.n = 1, .out = {mm(kernel_of(x, y), in2(500, 2, -1, 1))}};
  gb_plan *p;
  gb_plan_on on[3] = {{.device = devices[0]}, {.device = devices[1]}, {.device = devices[2]}};
  OK(plan_on(&s, 3, on, &p));
  for (int i = 0; i < 3; i++) assert_int_equal(device_of(p, i)->hi - device_of(p, i)->lo, 500);
  const size_t third = device_of(p, 2)->peak;
  gb_plan_free(p);
  on[2].budget = third - 64 * 30; /* no room for 500 rows at once */
  OK(plan_on(&s, 3, on, &p));
  const size_t less = device_of(p, 2)->hi - device_of(p, 2)->lo,
               more = device_of(p, 1)->hi - device_of(p, 1)->lo;
  assert_true(less > 100 && less < 500 && more > 500 && device_of(p, 2)->chunk == less);
  gb_plan_free(p);
  on[2].budget = 100; /* not even one */
  OK(plan_on(&s, 3, on, &p));
  assert_int_equal(device_of(p, 2)->hi, device_of(p, 2)->lo);
  assert_int_equal(device_of(p, 2)->peak, 0);
  assert_int_equal(device_of(p, 1)->hi, 1500);
  gb_plan_free(p);
  on[2].budget = 0;
  on[1].speed = 3;
  on[2].speed = 2;
  on[0].speed = 1;
  OK(plan_on(&s, 3, on, &p));
  assert_int_equal(device_of(p, 0)->hi, 250);
  assert_int_equal(device_of(p, 1)->hi, 1000);
  gb_plan_free(p);
  end();
}

static void a_device_over_its_cap_is_refused_by_name (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  const scene s = product(false);
  gb_plan *p;
  const gb_plan_on small[1] = {{.device = devices[2], .budget = 100}};
  assert_int_equal(plan_on(&s, 1, small, &p), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "device cpu:3 needs"));
  assert_int_equal(fx.err.have, 100);
  const size_t need = (size_t)fx.err.need;
  const gb_plan_on enough[1] = {{.device = devices[2], .budget = need}};
  OK(plan_on(&s, 1, enough, &p));
  assert_int_equal(device_of(p, 1)->peak, need); /* the smallest window, and not a byte less */
  gb_tensor want[6], got[6];
  OK(run_to(p, got));
  gb_plan_free(p);
  alone(&s, want);
  assert_true(same(want, got));
  clear(1, want);
  clear(1, got);
  const gb_plan_on less[1] = {{.device = devices[2], .budget = need - 1}};
  assert_int_equal(plan_on(&s, 1, less, &p), GB_EREFUSED);
  const gb_plan_on home[2] = {{.device = devices[0], .budget = 100}, {.device = devices[1]}};
  assert_int_equal(plan_on(&s, 2, home, &p), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "device cpu needs"));
  devices[2]->ledger.limit = need - 1; /* its limit is its budget */
  const gb_plan_on limited[1] = {{.device = devices[2]}};
  assert_int_equal(plan_on(&s, 1, limited, &p), GB_EREFUSED);
  const gb_plan_on twice[2] = {{.device = devices[1]}, {.device = devices[1]}};
  assert_int_equal(plan_on(&s, 2, twice, &p), GB_EDEVICE);
  end();
}

/* The limit of a device that shrinks after planning: the run refuses, names it, and leaves nothing behind. */
static void a_device_that_shrinks_is_named (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  const scene s = transposed(true);
  gb_plan *p;
  const gb_plan_on on[2] = {{.device = devices[1], .budget = LIMIT}, {.device = devices[2], .budget = LIMIT}};
  OK(plan_on(&s, 2, on, &p));
  devices[2]->ledger.limit = device_of(p, 2)->peak - 1;
  const size_t used = device->ledger.used;
  gb_tensor out[6];
  assert_int_equal(run_to(p, out), GB_ENOMEM);
  assert_non_null(strstr(fx.err.text, "on cpu:3"));
  gb_plan_free(p);
  assert_int_equal(device->ledger.used, used);
  end();
}

static void wherever_an_allocation_fails_nothing_is_left_behind (void **unused) {
  (void)unused;
  for (int c = 0; c < NSCENES; c++) {
    begin(1, GB_F64);
    const scene s = scenes[c].make(true);
    gb_tensor want[6], out[6];
    alone(&s, want);
    const size_t used = device->ledger.used;
    int failures = 0;
    for (int i = 0; i < 4; i++)
      for (long k = 0;; k++) {
        gb_plan_on on[4];
        gb_plan *p;
        for (int j = 0; j < 4; j++) on[j] = (gb_plan_on){.device = devices[j]};
        OK(plan_on(&s, 4, on, &p));
        gb_ledger *l = &devices[i]->ledger;
        l->fail_after = (long)l->allocations + k;
        const gb_status rc = run_to(p, out);
        l->fail_after = -1;
        gb_plan_free(p);
        if (rc == GB_OK) {
          for (int r = 0; r < s.n; r++) assert_true(same(&out[r], &want[r]));
          clear(s.n, out);
        } else {
          assert_int_equal(rc, GB_ENOMEM);
          failures++;
        }
        assert_int_equal(device->ledger.used, used);
        for (int j = 1; j < MOST; j++) assert_int_equal(devices[j]->ledger.used, 0);
        if (rc == GB_OK) break;
      }
    assert_true(failures >= 4); /* outputs and arena on the first device, an arena on each other */
    clear(s.n, want);
    end();
  }
}

/* The same for the records of plans. */
static void wherever_the_host_has_no_memory_nothing_is_left_behind (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  const scene s = gradients(true);
  gb_tensor want[6], out[6];
  alone(&s, want);
  const size_t used = device->ledger.used;
  gb_plan_on on[3] = {
      {.device = devices[0]}, {.device = devices[1], .budget = 400000}, {.device = devices[2]}};
  int failures = 0;
  for (long k = 1;; k += 1 + k / 40) {
    gb_plan *p = NULL;
    permits = k;
    gb_status rc = plan_on(&s, 3, on, &p);
    if (rc == GB_OK) rc = run_to(p, out);
    permits = -1;
    gb_plan_free(p);
    if (rc == GB_OK) break;
    assert_true(rc == GB_ENOMEM || rc == GB_EREFUSED); /* sizes that cannot be worked out are past counting */
    assert_int_equal(device->ledger.used, used);
    for (int j = 1; j < MOST; j++) assert_int_equal(devices[j]->ledger.used, 0);
    failures++;
  }
  assert_true(failures > 50);
  for (int i = 0; i < s.n; i++) assert_true(same(&out[i], &want[i]));
  clear(s.n, want);
  clear(s.n, out);
  end();
}

/* Values of nodes: what was observed serves a plan on several devices, and its results are observed. */
static void results_are_observed (void **unused) {
  (void)unused;
  begin(2, GB_F64);
  const scene s = prediction(false);
  gb_tensor want[6];
  alone(&s, want);
  gb_plan_on on[3] = {{.device = devices[0]}, {.device = devices[1]}, {.device = devices[2]}};
  gb_plan *p;
  OK(plan_on(&s, 3, on, &p));
  OK(gb_plan_run(p, &fx.err));
  for (int i = 0; i < s.n; i++) assert_true(same(&s.out[i]->out[0].tensor, &want[i]));
  gb_run_stats stats;
  gb_plan_stats(p, &stats);
  assert_true(stats.folds > 0);
  OK(gb_plan_run(p, &fx.err)); /* there is nothing left to do */
  gb_plan_stats(p, &stats);
  assert_int_equal(stats.folds + stats.opaques, 0);
  gb_plan_free(p);
  clear(s.n, want);
  end();
}

static void an_axis_is_needed (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  gb_node *x = in2(64, 64, -1, 1);
  const scene s = {.n = 1, .out = {BUILD(gb_cholesky, x, 0)}};
  gb_plan_on on[2] = {{.device = devices[0]}, {.device = devices[1]}};
  gb_plan *p = NULL;
  assert_int_equal(plan_on(&s, 2, on, &p), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "no axis can be shared"));
  end();
}

/* What no leaf has is shared from the step on that makes it. */
static void an_axis_may_begin_at_a_result (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  gb_node *x = in2(64, 64, -1, 1), *k = add(x, mul(BUILD(gb_eye, fx.g, 64, inputs.dtype), num(100)));
  const scene s = {.n = 1, .out = {map1(GB_OP_EXP, BUILD(gb_cholesky, k, 0))}};
  gb_tensor want[6];
  alone(&s, want);
  gb_plan_on on[2] = {{.device = devices[0]}, {.device = devices[1]}};
  gb_plan *p = NULL;
  OK(plan_on(&s, 2, on, &p));
  OK(gb_plan_run(p, &fx.err));
  assert_true(same(&s.out[0]->out[0].tensor, &want[0]));
  gb_plan_free(p);
  clear(s.n, want);
  end();
}

static void reports_list_devices_and_copies (void **unused) {
  (void)unused;
  begin(1, GB_F64);
  const scene s = transposed(true);
  gb_plan_on on[3] = {{.device = devices[0]}, {.device = devices[1]}, {.device = devices[2]}};
  gb_plan *p;
  OK(plan_on(&s, 3, on, &p));
  char *text = gb_plan_explain(p), *json = gb_plan_json(p);
  assert_non_null(strstr(text, "cpu:3"));
  assert_non_null(strstr(text, "cpu:2 to cpu:3"));
  assert_non_null(strstr(text, "running totals"));
  assert_non_null(strstr(json, "\"devices\": ["));
  assert_non_null(strstr(json, "\"from\": \"cpu:3\", \"to\": \"cpu\""));
  size_t into = 0;
  const gb_plan_device *d = device_of(p, 1);
  for (int i = 0; i < d->ncopies; i++)
    if (strcmp(d->copy[i].to, "cpu:2") == 0 && strcmp(d->copy[i].from, "cpu") == 0) into += d->copy[i].bytes;
  const size_t rows = d->hi - d->lo;
  assert_true(into >= rows * 3 * 8 + rows * 2 * 8 + 300 * 3 * 8); /* its rows of x and v, all of y, totals */
  free(text);
  free(json);
  gb_plan_free(p);
  end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(several_devices_give_the_bits_of_one),
      cmocka_unit_test(budgets_decide_the_shares),
      cmocka_unit_test(a_device_over_its_cap_is_refused_by_name),
      cmocka_unit_test(a_device_that_shrinks_is_named),
      cmocka_unit_test(wherever_an_allocation_fails_nothing_is_left_behind),
      cmocka_unit_test(wherever_the_host_has_no_memory_nothing_is_left_behind),
      cmocka_unit_test(results_are_observed),
      cmocka_unit_test(an_axis_is_needed),
      cmocka_unit_test(an_axis_may_begin_at_a_result),
      cmocka_unit_test(reports_list_devices_and_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
