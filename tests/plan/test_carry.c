/* test_carry.c - folds in parts, totals carried from one to the next, against the whole: the same bits for
** every legal cut, number of threads and instruction set; state and scratch of exactly the declared bytes.
** Built twice: with programs of every instruction and output, and (CHAINS) with programs that become
** chains. */
#ifdef CHAINS
#include "support/random/chain_random.h"
#define PROGRAMS 400
#else
#include "support/random/fold_random.h"
#define PROGRAMS 60
#endif
#include "plan/tile/cut.h"
#include "program/schedule.h"

static const char *const isas[] = {"portable", "avx2", "avx512"};
static gb_device devices[3]; /* of 1, 2 and 3 threads */

static struct { int cuts, refused, parts, by_role[4], by_monoid[GB_NMONOIDS], contract, diff, stored; } seen;

/* -- running in parts */

/* The program as a step whose slots are its buffers, all of them whole. */
typedef struct parts {
  fx *x;
  gb_device *dev;
  gb_cut cut;
  gb_lowered low;
  gb_step step;
  int slot[2 * MOST];
  bool compact[2 * MOST];
  int dim[2 * MOST];
  gb_window_fold window;
  gb_kernel *kernel; /* of the whole: it runs all parts */
} parts;

static void parts_begin (parts *p, fx *x, gb_device *dev, gb_cut cut) {
  memset(p, 0, sizeof *p);
  p->x = x;
  p->dev = dev;
  p->cut = cut;
  for (int i = 0; i < 2 * MOST; i++) p->slot[i] = i;
  p->step = (gb_step){
      .is_fold = true, .fold = x->f, .nin = x->f.noperands, .nout = x->nslots, .in = p->slot, .out = p->slot};
  assert_true(gb_window_room(&p->window, &x->f));
  p->kernel = fx_compile(x, dev);
}

static void parts_end (parts *p) {
  gb_cpu_release(p->kernel);
  gb_window_free(&p->window);
}

/* Memory between two guards of 64 bytes. */
typedef struct guarded {
  char *block, *at;
  size_t n;
} guarded;

static guarded guard (size_t n, int fill) {
  assert_true(n != SIZE_MAX);
  guarded g = {.block = malloc(n + 256), .n = n};
  g.at = (char *)(((uintptr_t)g.block + 127) & ~(uintptr_t)63);
  memset(g.at - 64, 0x5a, n + 128);
  memset(g.at, fill, n);
  return g;
}

static void unguard (guarded *g) {
  for (int q = 1; q <= 64; q++) {
    assert_int_equal(g->at[-q], 0x5a);
    assert_int_equal(g->at[(ptrdiff_t)g->n + q - 1], 0x5a);
  }
  free(g->block);
}

static gb_window_fold *part_of (parts *p, size_t lo, size_t n) {
  const size_t extent = p->x->f.axis[p->cut.axis].extent;
  gb_window_of_fold(&p->window, &p->low, &p->step, &p->cut, (gb_window){lo, n, lo, n, extent}, p->compact,
                    p->dim);
  return &p->window;
}

/* What a launch of the part takes, which is what a kernel of the part alone would take. */
static size_t scratch_of (const parts *p, const gb_fold *part) {
  const size_t bytes = gb_cpu_kernel_scratch(p->dev, p->kernel, part);
  gb_kernel *alone;
  gb_error err;
  if (gb_cpu_compile(p->dev, part, &alone, &err) != GB_OK) fail_msg("%s", err.text);
  assert_int_equal(bytes, gb_cpu_kernel_scratch(p->dev, alone, part));
  assert_int_equal(gb_cpu_kernel_state(p->dev, p->kernel, part), gb_cpu_kernel_state(p->dev, alone, part));
  gb_cpu_release(alone);
  return bytes;
}

static void run_part (parts *p, size_t lo, size_t n, guarded *state) {
  gb_error err;
  fx *x = p->x;
  const gb_window_fold *w = part_of(p, lo, n);
  const bool last = lo + n == x->f.axis[p->cut.axis].extent;
  if (p->cut.reduces && lo == 0) *state = guard(gb_cpu_kernel_state(p->dev, p->kernel, &w->fold), 0x33);
  if (p->cut.reduces) assert_int_equal(gb_cpu_kernel_state(p->dev, p->kernel, &w->fold), state->n);
  guarded scratch = guard(scratch_of(p, &w->fold), 0x77);
  const gb_carry carry = {state->at, lo == 0, last};
  if (fx_launch(x, p->dev, p->kernel, &w->fold, x->got, p->cut.reduces ? &carry : NULL, scratch.at, NULL,
                &err) != GB_OK)
    fail_msg("%s", err.text);
  unguard(&scratch);
  if (p->cut.reduces && last) unguard(state);
  seen.parts++;
}

/* Parts of 'step' indices; the first of 'first', unless that is 0. */
static void run_parts (parts *p, size_t step, size_t first) {
  const size_t extent = p->x->f.axis[p->cut.axis].extent;
  guarded state = {0};
  fx_blank(p->x, p->x->got);
  for (size_t lo = 0, n; lo < extent; lo += n) {
    n = lo == 0 && first > 0 ? first : step;
    if (n > extent - lo) n = extent - lo;
    run_part(p, lo, n, &state);
  }
}

/* -- comparing */

/* The same bits; of a NaN, that it is one. */
static bool same_slot (const fx *x, int s) {
  const gb_dtype t = x->slot_dtype[s];
  const size_t size = gb_dtype_size(t);
  for (size_t e = 0; e < x->out_n[s]; e++) {
    const char *a = (const char *)x->got[s] + e * size, *b = (const char *)x->want[s] + e * size;
    if (memcmp(a, b, size) == 0) continue;
    if (!gb_dtype_is_float(t) || !isnan(gb_element_get(a, 0, t)) || !isnan(gb_element_get(b, 0, t))) {
      print_message("slot %d element %zu: in parts %.17g, whole %.17g\n", s, e, gb_element_get(a, 0, t),
                    gb_element_get(b, 0, t));
      return false;
    }
  }
  return true;
}

static bool same_as_whole (fx *x) {
  for (int s = 0; s < x->nslots; s++)
    if (!same_slot(x, s)) return false;
  return true;
}

static void count_outputs (const gb_fold *f, const gb_cut *c) {
  seen.cuts++;
  seen.by_role[f->axis[c->axis].role]++;
  for (int o = 0; o < f->nouts; o++) {
    const gb_out *q = &f->out[o];
    if (!(q->reduced >> c->axis & 1)) seen.stored++;
    else if (q->kind == GB_OUT_REDUCE) seen.by_monoid[q->monoid]++;
    else if (q->kind == GB_OUT_CONTRACT) seen.contract++;
    else seen.diff++;
  }
}

/* The first multiples of the unit alone; all of them together, or as many as some parts take; every other. */
static bool agrees_along (fx *x, gb_device *dev, const gb_cut *c) {
  parts p;
  bool ok = true;
  const size_t extent = x->f.axis[c->axis].extent, units = (extent / c->unit + 29) / 30;
  parts_begin(&p, x, dev, *c);
  for (size_t at = c->unit; at < extent && at <= 3 * c->unit && ok; at += c->unit) {
    run_parts(&p, extent, at);
    ok = same_as_whole(x);
  }
  for (size_t times = 1; times <= 2 && ok; times++) {
    run_parts(&p, times * units * c->unit, 0);
    ok = same_as_whole(x);
  }
  parts_end(&p);
  return ok;
}

static gb_cut cut_along (gb_fold *f, int axis, size_t grain) {
  gb_cut c = {.axis = axis, .factor = 1};
  gb_schedule_chains(f, false);
  c.cut = f->axis[axis].role != GB_AXIS_INNER && f->axis[axis].extent > 1 && gb_cut_fold_unit(f, &c, grain);
  return c;
}

/* The whole, into 'want'. */
static void run_whole (fx *x, gb_device *dev) {
  assert_int_equal(fx_run(x, dev, 1, NULL), GB_OK);
  for (int s = 0; s < x->nslots; s++) {
    void *t = x->got[s];
    x->got[s] = x->want[s];
    x->want[s] = t;
  }
}

static bool agrees (fx *x, bool count) {
  for (int a = 0; a < x->f.naxes; a++) {
    const gb_cut c = cut_along(&x->f, a, 0);
    seen.refused += count && !c.cut && x->f.axis[a].role != GB_AXIS_INNER;
    if (!c.cut || c.unit >= x->f.axis[a].extent) continue;
    if (count) count_outputs(&x->f, &c);
    run_whole(x, &devices[0]);
    for (int run = 0; run < 3; run++) {
      if (agrees_along(x, &devices[run], &c)) continue;
      print_message("cut along axis %d at multiples of %zu, %d threads, %s\n", a, c.unit, run + 1,
                    gb_isa_active->name);
      fx_print(x);
      return false;
    }
  }
  return true;
}

static void program_of (gen *g, uint64_t seed) {
#ifdef CHAINS
  chain_program(g, seed);
#else
  random_program(g, seed);
#endif
}

static void parts_give_the_bits_of_the_whole (void **unused) {
  (void)unused;
  const char *n = getenv("GB_TEST_PROGRAMS"), *from = getenv("GB_TEST_FROM");
  const uint64_t first = from ? strtoull(from, NULL, 10) : 1, count = n ? strtoull(n, NULL, 10) : PROGRAMS;
  for (uint64_t seed = first; seed < first + count; seed++)
    for (int q = 0; q < 3; q++) {
      gen g;
      if (gb_isa_select(isas[q], NULL) != GB_OK) continue;
      program_of(&g, seed);
      const bool ok = agrees(&g.x, q == 0);
      if (!ok) print_message("seed %llu\n", (unsigned long long)seed);
      fx_free(&g.x);
      assert_true(ok);
    }
  gb_isa_select(NULL, NULL);
  print_message("%d cuts (lane %d, tile %d, outer %d), %d parts, %d axes that cannot be cut; outputs that "
                "keep the axis %d, "
                "contract %d, diff %d; monoids",
                seen.cuts, seen.by_role[0], seen.by_role[1], seen.by_role[2], seen.parts, seen.refused,
                seen.stored, seen.contract, seen.diff);
  for (int m = 0; m < GB_NMONOIDS; m++) print_message(" %d:%d", m, seen.by_monoid[m]);
  print_message("\n");
  assert_true(seen.by_role[GB_AXIS_LANE] > 0 && seen.by_role[GB_AXIS_TILE] > 0 &&
              seen.by_role[GB_AXIS_OUTER] > 0);
  assert_true(seen.contract > 0 && seen.diff > 0 && seen.stored > 0 && seen.by_monoid[GB_SUM] > 0);
}

#ifndef CHAINS
/* Grains smaller than a chain give another order of sums, of the same value. */
static void grains_give_the_value (void **unused) {
  (void)unused;
  int cuts = 0;
  for (uint64_t seed = 1; seed <= 120; seed++) {
    gen g;
    random_program(&g, seed);
    for (int a = 0; a < g.x.f.naxes; a++) {
      parts p;
      const size_t grain = (size_t)1 << seed % 8;
      const gb_cut c = cut_along(&g.x.f, a, grain);
      if (!c.cut || !c.reduces || grain >= g.x.f.axis[a].extent) continue;
      assert_int_equal(c.unit, grain);
      parts_begin(&p, &g.x, &devices[seed % 3], c);
      run_parts(&p, grain, 0);
      parts_end(&p);
      fx_expect(&g.x);
      if (!fx_close(&g.x, g.x.f.compute == GB_F32 ? 2e-5 : 1e-11))
        fail_msg("seed %llu, axis %d", (unsigned long long)seed, a);
      cuts++;
    }
    fx_free(&g.x);
  }
  print_message("%d cuts\n", cuts);
  assert_true(cuts > 50);
}

/* One program an axis and monoid, long enough for several parts. */
static void every_monoid_is_carried (void **unused) {
  (void)unused;
  static const gb_monoid all[] = {GB_SUM, GB_PROD, GB_MINIMUM, GB_MAXIMUM, GB_LSE, GB_ANYTRUE, GB_ALLTRUE};
  for (int n = 0; n < 7 * 5 * 3; n++) {
    fx x;
    const int way = n / 7 % 5; /* along LANE, TILE, OUTER; along LANE and along TILE where both are reduced */
    fx_init(&x, n % 3 == 0 ? GB_F32 : GB_F64, (uint64_t)n + 1);
    const int outer = fx_axis(&x, GB_AXIS_OUTER, way == 2 ? 5 : 2),
              tile = fx_axis(&x, GB_AXIS_TILE, way == 1 || way == 4 ? 700 : 20),
              lane = fx_axis(&x, GB_AXIS_LANE, way == 0 || way == 3 ? 1100 : 70);
    const int cut[5] = {lane, tile, outer, lane, tile};
    const gb_monoid m = all[n % 7];
    const gb_axes over = fx_bit(cut[way]) | (way == 3 ? fx_bit(tile) : way == 4 ? fx_bit(lane) : 0);
    const bool test = m == GB_ANYTRUE || m == GB_ALLTRUE;
    int v = fx_load(
        &x, fx_operand(&x, test ? GB_BOOL : x.f.compute, fx_bit(outer) | fx_bit(tile) | fx_bit(lane), true));
    if (m == GB_PROD)
      v = fx_map(&x, GB_OP_ADD, fx_map(&x, GB_OP_MUL, v, fx_const(&x, 0x1p-6), -1), fx_const(&x, 1), -1);
    fx_emit(&x, v, GB_OUT_REDUCE, m, over, 0, test ? GB_BOOL : x.f.compute, -1, true);
    const gb_cut c = cut_along(&x.f, cut[way], 0);
    assert_true(c.cut && c.reduces && c.unit < x.f.axis[c.axis].extent);
    run_whole(&x, &devices[0]);
    for (int run = 0; run < 2; run++)
      if (!agrees_along(&x, &devices[run], &c))
        fail_msg("monoid %d, axis %d, %d threads", (int)m, c.axis, run + 1);
    fx_free(&x);
  }
}

/* Products and differences, summed along LANE, TILE, or TILE and OUTER; a copy of the tile beside them. */
static void products_are_carried (void **unused) {
  (void)unused;
  for (int n = 0; n < 2 * 3 * 4; n++) {
    fx x;
    const int way = n / 2 % 3;
    const bool diff = n % 2;
    fx_init(&x, n / 6 % 2 ? GB_F32 : GB_F64, (uint64_t)n + 1);
    const int outer = fx_axis(&x, GB_AXIS_OUTER, way == 2 ? 4 : 1),
              tile = fx_axis(&x, GB_AXIS_TILE, way == 1 ? 700 : 40),
              lane = fx_axis(&x, GB_AXIS_LANE, way == 0 ? 1300 : 90),
              column = fx_axis(&x, GB_AXIS_INNER, 1 + (size_t)n % 5);
    const int cut = way == 0   ? lane
                    : way == 1 ? tile
                               : outer,
              over = way == 0 ? lane : tile, kept = way == 0 ? tile : lane;
    const int s = fx_along(&x, GB_INS_SQDIST,
                           fx_operand(&x, x.f.compute, fx_bit(lane) | fx_bit(column) | fx_bit(outer), true),
                           fx_operand(&x, x.f.compute, fx_bit(tile) | fx_bit(column), true), -1, column);
    const int v = n / 12 ? fx_radial(&x, GB_RBF, 0, 0, s, fx_bind(&x, 0.7), -1) : s;
    const gb_axes reduced = fx_bit(over) | (way == 2 ? fx_bit(outer) : 0);
    gb_out *o =
        fx_emit(&x, v, diff ? GB_OUT_DIFF : GB_OUT_CONTRACT, GB_SUM, reduced, 0, x.f.compute, column, true);
    const gb_axes from = fx_bit(diff ? kept : over) | fx_bit(column);
    o->x = fx_operand(&x, x.f.compute, from, true);
    if (diff) o->y = fx_operand(&x, x.f.compute, fx_bit(over) | fx_bit(column), true);
    if (n / 6 % 2) fx_emit(&x, v, GB_OUT_STORE, GB_SUM, 0, 0, x.f.compute, -1, true);
    const gb_cut c = cut_along(&x.f, cut, 0);
    assert_true(c.cut && c.reduces && c.unit < x.f.axis[cut].extent);
    run_whole(&x, &devices[0]);
    for (int run = 0; run < 2; run++)
      if (!agrees_along(&x, &devices[run], &c)) fail_msg("program %d, %d threads", n, run + 1);
    fx_free(&x);
  }
}

/* A part without a place for its totals is an error, not a crash. */
static void a_part_needs_its_totals (void **unused) {
  (void)unused;
  fx x;
  gb_error err;
  fx_init(&x, GB_F64, 1);
  const int lane = fx_axis(&x, GB_AXIS_LANE, 2000);
  const int v = fx_load(&x, fx_operand(&x, GB_F64, fx_bit(lane), true));
  fx_emit(&x, v, GB_OUT_REDUCE, GB_SUM, fx_bit(lane), 0, GB_F64, -1, true);
  x.f.carried = fx_bit(lane);
  fx_blank(&x, x.got);
  gb_kernel *k = fx_compile(&x, &devices[0]);
  guarded scratch = guard(gb_cpu_kernel_scratch(&devices[0], k, &x.f), 0);
  assert_int_equal(fx_launch(&x, &devices[0], k, &x.f, x.got, NULL, scratch.at, NULL, &err), GB_EINTERNAL);
  unguard(&scratch);
  gb_cpu_release(k);
  fx_free(&x);
}
#endif

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_give_the_bits_of_the_whole),
#ifndef CHAINS
      cmocka_unit_test(grains_give_the_value),
      cmocka_unit_test(every_monoid_is_carried),
      cmocka_unit_test(products_are_carried),
      cmocka_unit_test(a_part_needs_its_totals),
#endif
  };
  for (int q = 0; q < 3; q++)
    if (gb_pool_new(q + 1, &devices[q].pool, NULL) != GB_OK) return 1;
  gb_cpu_fold_alone = 0;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int q = 0; q < 3; q++) gb_pool_free(devices[q].pool);
  return failed;
}
