/* test_place.c - offsets and lifetimes, on hand-made intervals and lowered graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/place/place.h"

static uint32_t state = 1;

static uint32_t draw (uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)(state >> 4) * below) >> 28);
}

static bool meet (const gb_life *a, const gb_life *b) { return a->first <= b->last && b->first <= a->last; }

/* Aligned, inside, and no two that share a step share a byte. */
static void check_packing (size_t n, const gb_life *life, size_t arena, size_t bound) {
  assert_true(arena >= bound);
  size_t top = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t end = life[i].offset + gb_round_size(life[i].bytes);
    assert_int_equal(life[i].offset % GB_ARENA_ALIGN, 0);
    if (end > top) top = end;
    for (size_t j = 0; j < i; j++) {
      const size_t other = life[j].offset + life[j].bytes;
      if (meet(&life[i], &life[j]))
        assert_true(life[i].offset >= other || life[j].offset >= life[i].offset + life[i].bytes);
    }
  }
  assert_int_equal(top, arena);
}

static void random_lives (size_t n, gb_life *life, int nsteps) {
  for (size_t i = 0; i < n; i++) {
    const int a = (int)draw((uint32_t)nsteps), b = (int)draw((uint32_t)nsteps);
    life[i] = (gb_life){
        .bytes = draw(4) == 0 ? draw(100000) : draw(3000), .first = a < b ? a : b, .last = a < b ? b : a};
  }
}

static void intervals_that_share_a_step_share_no_byte (void **unused) {
  (void)unused;
  double worst = 1;
  for (int round = 0; round < 400; round++) {
    gb_life life[120];
    const size_t n = 1 + draw(120);
    const int nsteps = 1 + (int)draw(40);
    size_t arena, bound;
    gb_error err;
    random_lives(n, life, nsteps);
    assert_int_equal(gb_pack(n, life, nsteps, &arena, &bound, &err), GB_OK);
    check_packing(n, life, arena, bound);
    if (bound > 0 && (double)arena / (double)bound > worst) worst = (double)arena / (double)bound;
  }
  print_message("worst arena / bound: %.3f\n", worst);
  assert_true(worst < 1.6);
}

/* The best over every order of placing at the lowest free place is the optimum. */
static size_t brute (size_t n, const gb_life *life, size_t placed, const size_t *who, size_t *at, bool *used,
                     size_t best) {
  size_t height = 0;
  for (size_t i = 0; i < placed; i++) {
    const size_t top = at[i] + gb_round_size(life[who[i]].bytes);
    if (top > height) height = top;
  }
  if (height >= best) return best;
  if (placed == n) return height;
  for (size_t k = 0; k < n; k++) {
    if (used[k]) continue;
    size_t next[8], offset = 0;
    memcpy(next, who, placed * sizeof *next);
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < placed; i++) {
        const size_t end = at[i] + gb_round_size(life[who[i]].bytes);
        if (!meet(&life[k], &life[who[i]]) || offset >= end || at[i] >= offset + gb_round_size(life[k].bytes))
          continue;
        offset = end;
        moved = true;
      }
    }
    next[placed] = k;
    at[placed] = offset;
    used[k] = true;
    best = brute(n, life, placed + 1, next, at, used, best);
    used[k] = false;
  }
  return best;
}

static void few_intervals_are_packed_optimally (void **unused) {
  (void)unused;
  for (int round = 0; round < 200; round++) {
    gb_life life[6];
    size_t who[8] = {0}, at[8] = {0}, arena, bound;
    bool used[8] = {false};
    const size_t n = 2 + draw(5);
    gb_error err;
    random_lives(n, life, 8);
    for (size_t i = 0; i < n; i++) life[i].bytes = 64 * (1 + draw(12));
    assert_int_equal(gb_pack(n, life, 8, &arena, &bound, &err), GB_OK);
    check_packing(n, life, arena, bound);
    assert_int_equal(arena, brute(n, life, 0, who, at, used, SIZE_MAX));
  }
}

static void sizes_past_the_address_space_answer (void **unused) {
  (void)unused;
  gb_life life[2] = {{.bytes = SIZE_MAX - 100, .first = 0, .last = 1},
                     {.bytes = 4096, .first = 1, .last = 2}};
  size_t arena, bound;
  gb_error err;
  assert_int_equal(gb_pack(2, life, 3, &arena, &bound, &err), GB_OK);
  assert_true(arena == SIZE_MAX && bound == SIZE_MAX);
}

static void nothing_needs_no_arena (void **unused) {
  (void)unused;
  size_t arena = 1, bound = 1;
  gb_error err;
  assert_int_equal(gb_pack(0, NULL, 0, &arena, &bound, &err), GB_OK);
  assert_int_equal(arena, 0);
}

/* x -> s0 -> t -> s1 -> f (cache) -> s2 -> y (output), and s3: f -> z (output) */
typedef struct chain {
  gb_buf buf[5];
  gb_step step[4];
  int link[4][2], out[2];
  gb_lowered low;
} chain;

enum { X, T, F, Y, Z };

static void chain_init (chain *c) {
  static const int in[] = {X, T, F, F}, to[] = {T, F, Y, Z};
  memset(c, 0, sizeof *c);
  c->buf[X] = (gb_buf){.cls = GB_BUF_LEAF};
  c->buf[T] = (gb_buf){.cls = GB_BUF_TEMP, .bytes = 1000};
  c->buf[F] = (gb_buf){.cls = GB_BUF_CACHE, .bytes = 2000};
  c->buf[Y] = (gb_buf){.cls = GB_BUF_OUTPUT, .bytes = 80};
  c->buf[Z] = (gb_buf){.cls = GB_BUF_OUTPUT, .bytes = 8};
  for (int s = 0; s < 4; s++) {
    c->link[s][0] = in[s];
    c->link[s][1] = to[s];
    c->step[s] = (gb_step){.nin = 1, .nout = 1, .in = &c->link[s][0], .out = &c->link[s][1]};
  }
  c->out[0] = Y;
  c->out[1] = Z;
  c->low = (gb_lowered){
      .ndevices = 1, .nbufs = 5, .nsteps = 4, .nouts = 2, .buf = c->buf, .step = c->step, .out = c->out};
}

static void given_scratch (const void *ud, const gb_placement *p, int s, size_t *scratch, size_t *kept) {
  (void)p;
  *scratch = ((const size_t *)ud)[s];
  *kept = 0;
}

static gb_placement *placed (const chain *c, const bool *have, const bool *keep, const size_t *scratch) {
  const bool want[5] = {[Y] = true, [Z] = true};
  gb_placement *p = NULL;
  gb_error err;
  const gb_form_of_run form = {.workspace = given_scratch, .ud = scratch};
  assert_int_equal(gb_place(&c->low, (gb_demand){want, have, keep}, &form, &p, &err), GB_OK);
  return p;
}

static const bool all[5] = {true, true, true, true, true}, none[5];

static void caches_and_outputs_live_outside_the_arena (void **unused) {
  (void)unused;
  chain c;
  chain_init(&c);
  const size_t scratch[4] = {100, 5000, 0, 64};
  gb_placement *p = placed(&c, none, all, scratch);
  assert_int_equal(p->nrun, 4);
  assert_int_equal(p->write[F], GB_HOME_CACHE);
  assert_int_equal(p->write[T], GB_HOME_ARENA);
  assert_int_equal(p->write[Y], GB_HOME_OUTPUT);
  assert_int_equal(p->read[X], GB_HOME_VALUE);
  assert_int_equal(p->caches, 2000);
  assert_int_equal(p->outputs, 88);
  assert_int_equal(p->arena, 1024 + 5056); /* t and the scratch of step 1 */
  assert_int_equal(p->arena, p->arena_bound);
  assert_int_equal(p->peak, p->arena + 2088);
  gb_placement_unref(p);
}

static void a_cache_that_is_not_kept_is_a_temporary (void **unused) {
  (void)unused;
  chain c;
  chain_init(&c);
  const size_t scratch[4] = {0};
  gb_placement *p = placed(&c, none, none, scratch);
  assert_int_equal(p->write[F], GB_HOME_ARENA);
  assert_int_equal(p->caches, 0);
  assert_int_equal(p->life[F].last, 3);
  assert_int_equal(p->arena, 1024 + 2048);
  gb_placement_unref(p);
}

static void steps_whose_results_exist_do_not_run (void **unused) {
  (void)unused;
  chain c;
  chain_init(&c);
  bool have[5] = {false};
  const size_t scratch[4] = {700, 700, 64, 64};
  have[F] = true;
  gb_placement *p = placed(&c, have, all, scratch);
  assert_int_equal(p->nrun, 2);
  assert_false(p->runs[0] || p->runs[1]);
  assert_int_equal(p->read[F], GB_HOME_VALUE);
  assert_int_equal(p->write[F], GB_HOME_NONE);
  assert_int_equal(p->read[X], GB_HOME_NONE);
  assert_int_equal(p->arena, 64);
  gb_placement_unref(p);
  have[Y] = have[Z] = true;
  p = placed(&c, have, all, scratch);
  assert_int_equal(p->nrun, 0);
  assert_int_equal(p->peak, 0);
  gb_placement_unref(p);
}

/* One step makes f and y; y exists and f does not: y is written again, aside. */
static void a_result_that_exists_is_written_aside (void **unused) {
  (void)unused;
  chain c;
  chain_init(&c);
  int both[2] = {F, Y};
  c.step[1].nout = 2;
  c.step[1].out = both;
  c.low.nsteps = 4;
  c.step[2] = c.step[3];
  c.low.nsteps = 3;
  bool have[5] = {false};
  have[Y] = true;
  const size_t scratch[4] = {0};
  gb_placement *p = placed(&c, have, all, scratch);
  assert_true(p->runs[1]);
  assert_int_equal(p->read[Y], GB_HOME_VALUE);
  assert_int_equal(p->write[Y], GB_HOME_ARENA);
  assert_int_equal(p->outputs, 8);
  gb_placement_unref(p);
}

/* t -> cholesky -> f (cache): t is built where the factor will be, and the factor is in memory from then
** on. */
static void a_factorisation_works_in_place (void **unused) {
  (void)unused;
  chain c;
  chain_init(&c);
  c.buf[T].bytes = 2000;
  c.step[1].opaque.op = GB_OP_CHOLESKY;
  const size_t scratch[4] = {0};
  gb_placement *p = placed(&c, none, all, scratch);
  assert_int_equal(p->write[T], GB_HOME_SHARED);
  assert_int_equal(p->into[T], F);
  assert_int_equal(gb_placement_home(p, T), GB_HOME_CACHE);
  assert_int_equal(p->peak, 2088);
  gb_placement_unref(p);
  p = placed(&c, none, none, scratch);
  assert_int_equal(gb_placement_home(p, T), GB_HOME_ARENA);
  assert_int_equal(p->arena, 2048);
  assert_int_equal(p->life[F].first, 0);
  gb_placement_unref(p);
  int twice[2] = {T, T};
  c.step[1].opaque.op = GB_OP_TRISOLVE;
  c.step[1].in = twice;
  c.step[1].nin = 2;
  p = placed(&c, none, all, scratch); /* matrix and right-hand side at once */
  assert_int_equal(p->write[T], GB_HOME_ARENA);
  gb_placement_unref(p);
  c.step[1].opaque.op = GB_OP_CHOLESKY;
  c.step[1].nin = 1;
  c.step[3].in = &c.link[1][0]; /* t is read later: it cannot be overwritten */
  p = placed(&c, none, all, scratch);
  assert_int_equal(p->write[T], GB_HOME_ARENA);
  gb_placement_unref(p);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals_that_share_a_step_share_no_byte),
      cmocka_unit_test(few_intervals_are_packed_optimally),
      cmocka_unit_test(sizes_past_the_address_space_answer),
      cmocka_unit_test(nothing_needs_no_arena),
      cmocka_unit_test(caches_and_outputs_live_outside_the_arena),
      cmocka_unit_test(a_cache_that_is_not_kept_is_a_temporary),
      cmocka_unit_test(steps_whose_results_exist_do_not_run),
      cmocka_unit_test(a_result_that_exists_is_written_aside),
      cmocka_unit_test(a_factorisation_works_in_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
