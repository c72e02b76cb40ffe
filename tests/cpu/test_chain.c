/* test_chain.c - chains of steps give the bits of the plain interpreter: random programs likely to become
** chains, on every instruction set, with one to three threads, in scratch of exactly the declared size,
** whatever was in it. */
#include "support/cpu/chain_coverage.h"
#include "support/random/chain_random.h"

static const char *const isas[] = {"portable", "avx2", "avx512"};
static gb_device devices[3]; /* of 1, 2 and 3 threads */

/* -- runs */

/* Into new buffers, in scratch filled with 'poison' between two fences. */
static void **run (fx *x, gb_device *dev, int poison) {
  enum { FENCE = 4096 };
  gb_error err;
  gb_kernel *k = fx_compile(x, dev);
  size_t n = gb_cpu_kernel_scratch(dev, k, &x->f), whole = (n + 2 * FENCE + 63) / 64 * 64;
  char *block = aligned_alloc(64, whole);
  memset(block, 0x5a, whole);
  memset(block + FENCE, poison, n);
  void **got = calloc(MOST, sizeof *got);
  fx_blank(x, got);
  gb_status st = fx_launch(x, dev, k, &x->f, got, NULL, block + FENCE, NULL, &err);
  gb_cpu_release(k);
  assert_int_equal(st, GB_OK);
  for (size_t q = 0; q < whole; q++)
    if (q < FENCE || q >= FENCE + n) assert_int_equal(block[q], 0x5a);
  free(block);
  return got;
}

static void release (void **got) {
  for (int s = 0; s < MOST; s++) free(got[s]);
  free(got);
}

/* On the chosen instruction set: chains of every number of threads against the plain interpreter. */
static bool same_bits (fx *x, void ***plain) {
  static const struct { int threads, poison; } on[] = {{1, 255}, {1, 0}, {2, 255}, {3, 0}};
  gb_cpu_fold_no_templates = true;
  *plain = run(x, &devices[0], 255);
  gb_cpu_fold_no_templates = false;
  for (size_t n = 0; n < sizeof on / sizeof *on; n++) {
    void **got = run(x, &devices[on[n].threads - 1], on[n].poison);
    bool ok = fx_alike(x, *plain, got);
    release(got);
    if (ok) continue;
    print_message("bits differ: %s, %d threads, poison %d\n", gb_isa_active->name, on[n].threads,
                  on[n].poison);
    return false;
  }
  return true;
}

static bool holds (fx *x, bool reference, int *links) {
  bool ok = true;
  *links = planned(x);
  if (reference) fx_expect(x);
  for (size_t q = 0; q < 3 && ok; q++) {
    void **plain = NULL;
    if (gb_isa_select(isas[q], NULL) != GB_OK) continue;
    ok = same_bits(x, &plain);
    if (ok && reference) {
      void *own[MOST];
      memcpy(own, x->got, sizeof own);
      memcpy(x->got, plain, sizeof own);
      ok = fx_close(x, x->f.compute == GB_F32 ? 1e-4 : 1e-11);
      memcpy(x->got, own, sizeof own);
    }
    release(plain);
  }
  gb_isa_select(NULL, NULL);
  if (!ok) fx_print(x);
  return ok;
}

/* A program that must hold and must have chains. */
static void must (fx *x) {
  int links;
  bool ok = holds(x, false, &links);
  fx_free(x);
  assert_true(ok);
  assert_true(links > 0);
}

/* -- random programs */

static void random_chains_have_the_bits_of_the_plain_interpreter (void **state) {
  (void)state;
  const char *n = getenv("GB_TEST_PROGRAMS"), *from = getenv("GB_TEST_FROM");
  uint64_t first = from ? strtoull(from, NULL, 10) : 1, count = n ? strtoull(n, NULL, 10) : 160;
  uint64_t chained = 0, checked = 0, bad = 0;
  static gen g;
  for (uint64_t seed = first; seed < first + count; seed++) {
    int links;
    chain_program(&g, seed);
    bool reference = is_cheap_and_tame(&g), ok = holds(&g.x, reference, &links);
    chained += links > 0;
    checked += reference;
    fx_free(&g.x);
    if (!ok) print_message("seed %llu\n", (unsigned long long)seed);
    bad += !ok;
    if (!ok && getenv("GB_TEST_GO_ON") == NULL) break;
  }
  assert_int_equal(bad, 0);
  print_message("%llu programs, %llu with chains, %llu against the reference\n", (unsigned long long)count,
                (unsigned long long)chained, (unsigned long long)checked);
  assert_true(2 * chained > count && (n != NULL || checked > 5));
}

/* -- every step */

typedef struct points {
  int lane, tile, feature, xl, xt, s;
} points;

/* Squared distances of 130 by 67 points: two whole blocks of lanes and a ragged one, an odd last row. */
static points distances (fx *x, int seed, size_t d) {
  points q;
  fx_init(x, seed % 2 ? GB_F32 : GB_F64, (uint64_t)seed);
  q.lane = fx_axis(x, GB_AXIS_LANE, 130);
  q.tile = fx_axis(x, GB_AXIS_TILE, 67);
  q.feature = fx_axis(x, GB_AXIS_INNER, d);
  q.xl = fx_operand(x, x->f.compute, fx_bit(q.lane) | fx_bit(q.feature), true);
  q.xt = fx_operand(x, x->f.compute, fx_bit(q.tile) | fx_bit(q.feature), true);
  q.s = fx_along(x, GB_INS_SQDIST, q.xl, q.xt, -1, q.feature);
  return q;
}

static gb_out *stored (fx *x, int v) {
  return fx_emit(x, v, GB_OUT_STORE, GB_SUM, 0, 0, x->f.compute, -1, true);
}
static gb_out *summed (fx *x, int v, gb_axes axes) {
  return fx_emit(x, v, GB_OUT_REDUCE, GB_SUM, axes, 0, x->f.compute, -1, true);
}
static gb_out *differences (fx *x, const points *q, int v, bool row) {
  gb_axes over = fx_bit(row ? q->tile : q->lane);
  gb_out *o = fx_emit(x, v, GB_OUT_DIFF, GB_SUM, over, 0, x->f.compute, q->feature, true);
  o->x = row ? q->xl : q->xt;
  o->y = row ? q->xt : q->xl;
  return o;
}
static int loaded (fx *x, gb_axes axes) { return fx_load(x, fx_operand(x, x->f.compute, axes, true)); }

static void every_step_agrees_in_every_form (void **state) {
  static const gb_op two[] = {GB_OP_ADD, GB_OP_SUB, GB_OP_MUL, GB_OP_DIV, GB_OP_MINIMUM, GB_OP_MAXIMUM};
  static const gb_op one[] = {GB_OP_NEG,   GB_OP_ABS,  GB_OP_SQUARE, GB_OP_RECIP, GB_OP_SQRT, GB_OP_SIGN,
                              GB_OP_RSQRT, GB_OP_RELU, GB_OP_EXP,    GB_OP_SIN,   GB_OP_COS,  GB_OP_ATAN};
  (void)state;
  for (int n = 0; n < 6 * 4 * 2 * 2; n++) {
    fx x;
    points q = distances(&x, n, 2);
    int form = n / 12 % 4, other;
    if (form == GB_FORM_FULL) other = fx_map(&x, GB_OP_SQUARE, q.s, -1, -1);
    else other = loaded(&x, (form & 1 ? fx_bit(q.lane) : 0) | (form & 2 ? fx_bit(q.tile) : 0));
    int v = fx_map(&x, one[n % 12], fx_map(&x, GB_OP_SUB, q.s, other, -1), -1, -1);
    v = n / 48 ? fx_map(&x, two[n / 2 % 6], other, v, -1) : fx_map(&x, two[n / 2 % 6], v, other, -1);
    stored(&x, v);
    must(&x);
  }
  for (int n = 0; n < 24; n++) {
    fx x;
    points q = distances(&x, n, 2);
    stored(&x, fx_map(&x, one[n / 2], q.s, -1, -1));
    must(&x);
  }
}

/* Few different numbers, so that many are equal, of every kind. */
static int odd (fx *x, gb_axes axes) {
  static const double numbers[] = {0.0, 1.0, -0.0, -2.0, NAN, INFINITY, 0.5, -INFINITY, 1e-40};
  const int o = fx_operand(x, x->f.compute, axes, true);
  for (size_t e = 0; e < x->in_n[o]; e++) gb_element_set(x->in[o], e, x->f.compute, numbers[fx_below(x, 9)]);
  return fx_load(x, o);
}

static int odd_of_form (fx *x, const points *q, gb_form form) {
  if (form == GB_FORM_FULL)
    return fx_map(x, GB_OP_MAXIMUM, odd(x, fx_bit(q->lane)), odd(x, fx_bit(q->tile)), -1);
  return odd(x, (form & 1 ? fx_bit(q->lane) : 0) | (form & 2 ? fx_bit(q->tile) : 0));
}

static void every_comparison_agrees (void **state) {
  static const gb_op two[] = {GB_OP_LT, GB_OP_LE, GB_OP_GT, GB_OP_GE, GB_OP_EQ, GB_OP_NE};
  (void)state;
  for (int n = 0; n < 6 * 4 * 2 * 2; n++) {
    fx x;
    points q = distances(&x, n, 2);
    int other = odd_of_form(&x, &q, (gb_form)(n / 12 % 4));
    int v = fx_map(&x, GB_OP_MUL, odd(&x, fx_bit(q.lane)), odd(&x, fx_bit(q.tile)), -1);
    v = n / 48 ? fx_map(&x, two[n / 2 % 6], other, v, -1) : fx_map(&x, two[n / 2 % 6], v, other, -1);
    stored(&x, n % 3 ? v : fx_map(&x, GB_OP_SUB, v, other, -1));
    must(&x);
  }
}

/* The running value as condition and as either branch, or twice; the other inputs wherever they may be. */
static void every_choice_agrees (void **state) {
  (void)state;
  for (int n = 0; n < 2 * 4 * 4 * 3 * 2; n++) {
    fx x;
    points q = distances(&x, n, 2);
    const int which = n / 32 % 3, twice = n / 96 ? (which + 1) % 3 : which;
    int in[3];
    for (int k = 0, f = n / 2; k < 3; k++)
      if (k != which) in[k] = odd_of_form(&x, &q, (gb_form)(f % 4)), f /= 4;
    in[which] = fx_map(&x, GB_OP_MUL, odd(&x, fx_bit(q.lane)), odd(&x, fx_bit(q.tile)), -1);
    in[twice] = in[which];
    int v = fx_map(&x, GB_OP_WHERE, in[0], in[1], in[2]);
    stored(&x, n % 3 ? fx_map(&x, GB_OP_SIGN, v, -1, -1) : fx_map(&x, GB_OP_SUB, v, in[1], -1));
    must(&x);
  }
}

/* A profile, 'scale' 0: as it is, 1: times a number, 2: a number times it. */
static int profile (fx *x, gb_profile p, int s, double b, int scale) {
  int k = fx_radial(x, p, 0, 0, s, fx_bind(x, b), p == GB_RQ ? fx_bind(x, 1.3) : -1);
  if (scale == 0) return k;
  int by = fx_bind(x, 0.3 + b);
  return scale == 1 ? fx_map(x, GB_OP_MUL, k, by, -1) : fx_map(x, GB_OP_MUL, by, k, -1);
}

static void every_pair_of_profiles_agrees (void **state) {
  (void)state;
  for (int n = 0; n < 5 * 5 * 2 * 2 * 3; n++) {
    fx x;
    points q = distances(&x, n / 2 + n, (size_t)(n % 4 + 1));
    const int scaled = n / 100; /* none; one; both, from either side */
    int a = profile(&x, (gb_profile)(n / 4 % 5), q.s, 0.7, scaled > 0 ? 1 + n % 2 : 0);
    int b = profile(&x, (gb_profile)(n / 20 % 5), q.s, 1.9, scaled > 1 ? 1 + n / 3 % 2 : 0);
    int v = fx_map(&x, n / 2 % 2 ? GB_OP_ADD : GB_OP_MUL, a, b, -1);
    if (n % 5) summed(&x, v, fx_bit(q.tile));
    else stored(&x, v);
    if (n % 7 == 0) stored(&x, q.s);
    must(&x);
  }
}

/* A profile joined with what runs, of a distance that has to be fetched. */
static void every_profile_joins_a_running_value (void **state) {
  (void)state;
  for (int n = 0; n < 5 * 2 * 3 * 2; n++) {
    fx x;
    points q = distances(&x, n, 3);
    int other = fx_operand(&x, x.f.compute, fx_bit(q.lane) | fx_bit(q.feature), true);
    int s = fx_along(&x, GB_INS_SQDIST, other, q.xt, -1, q.feature);
    int a = fx_map(&x, GB_OP_SUB, profile(&x, GB_M32, q.s, 0.7, 0), s, -1);
    int b = profile(&x, (gb_profile)(n / 12), s, 1.9, n / 4 % 3);
    gb_op op = n / 2 % 2 ? GB_OP_ADD : GB_OP_MUL;
    int v = n % 3 ? fx_map(&x, op, a, b, -1) : fx_map(&x, op, b, a, -1);
    stored(&x, n % 5 ? v : fx_map(&x, GB_OP_MUL, v, q.s, -1));
    must(&x);
  }
}

/* A value plus a number under a reciprocal or a root: the sum read by it alone, or again. */
static void multiquadrics_agree (void **state) {
  (void)state;
  static const gb_op of[] = {GB_OP_RECIP, GB_OP_SQRT, GB_OP_RSQRT, GB_OP_SQUARE};
  for (int n = 0; n < 4 * 2 * 2 * 2; n++) {
    fx x;
    points q = distances(&x, n, 3);
    int one = fx_bind(&x, 0.8);
    int sum = n / 4 % 2 ? fx_map(&x, GB_OP_ADD, one, q.s, -1) : fx_map(&x, GB_OP_ADD, q.s, one, -1);
    int v = fx_map(&x, of[n % 4], sum, -1, -1);
    if (n / 8 % 2) v = fx_map(&x, GB_OP_SUB, v, sum, -1);
    stored(&x, fx_map(&x, GB_OP_MUL, v, q.s, -1));
    must(&x);
  }
}

/* Every profile, order and derivative in alpha. */
static void every_profile_agrees (void **state) {
  (void)state;
  for (int n = 0; n < GB_NPROFILES * 3 * 2 * 2; n++) {
    fx x;
    points q = distances(&x, n, 3);
    gb_profile p = (gb_profile)(n / 12);
    int order = n / 4 % 3, dalpha = p == GB_RQ ? n / 2 % 2 : 0;
    int v = fx_radial(&x, p, order, dalpha, q.s, fx_bind(&x, 0.8), p == GB_RQ ? fx_bind(&x, 1.5) : -1);
    stored(&x, fx_map(&x, GB_OP_SUB, v, q.s, -1));
    must(&x);
  }
}

/* The factor of the distance is 0, as that of a fresh link is. */
static void slopes_of_a_vanishing_factor_agree (void **state) {
  (void)state;
  for (int n = 0; n < GB_RQ * 3 * 2; n++) {
    fx x;
    points q = distances(&x, n, 2);
    int v = fx_radial(&x, (gb_profile)(n / 6), n / 2 % 3, 0, q.s, fx_bind(&x, 0), -1);
    stored(&x, fx_map(&x, GB_OP_SUB, v, q.s, -1));
    must(&x);
  }
}

static void every_dimension_of_points_and_differences_agrees (void **state) {
  (void)state;
  for (int n = 0; n < 9 * 4 * 2; n++) {
    fx x;
    points q = distances(&x, n, (size_t)(n / 8 + 1));
    int w = fx_operand(&x, x.f.compute, fx_bit(q.feature), true);
    int v = n / 2 % 4 == 0   ? q.s
            : n / 2 % 4 == 1 ? fx_along(&x, GB_INS_SQDIST, q.xt, q.xl, w, q.feature)
                             : fx_along(&x, GB_INS_DOT, q.xl, q.xt, -1, q.feature);
    v = fx_map(&x, GB_OP_SUB, v, loaded(&x, fx_bit(q.tile)), -1);
    if (n / 2 % 4 != 1) differences(&x, &q, v, true);
    if (n / 2 % 4 != 2) differences(&x, &q, v, false);
    must(&x);
  }
}

/* -- what a plan may get wrong */

/* Two profiles whose distance is read again, freed and replaced before their sum is taken. */
static void a_distance_lives_until_its_profiles_are_joined (void **state) {
  (void)state;
  for (int n = 0; n < 8; n++) {
    fx x;
    points q = distances(&x, n, 2);
    int s = q.s, loop = fx_axis(&x, GB_AXIS_INNER, 3);
    if (n / 4) s = fx_map(&x, GB_OP_ABS, loaded(&x, fx_bit(q.lane) | fx_bit(q.tile)), -1, -1);
    int a = profile(&x, GB_RBF, s, 0.7, 1), b = profile(&x, GB_M32, s, 1.9, 0);
    int t = fx_map(&x, GB_OP_SQUARE, s, -1, -1);
    int u = fx_map(&x, GB_OP_TANH, t, -1, -1), acc = u;
    if (n / 2 % 2) {
      fx_loop(&x, loop);
      acc = fx_acc(&x, GB_SUM,
                   fx_map(&x, GB_OP_MUL, loaded(&x, fx_bit(q.lane) | fx_bit(loop)),
                          loaded(&x, fx_bit(q.tile) | fx_bit(loop)), -1));
      fx_end(&x);
    }
    int v = fx_map(&x, GB_OP_ADD, a, b, -1);
    stored(&x, fx_map(&x, GB_OP_MUL, fx_map(&x, GB_OP_ADD, v, acc, -1), fx_map(&x, GB_OP_ADD, t, u, -1), -1));
    must(&x);
  }
}

/* The distance is a value from before the chain; after its last reader its tile is another's, read past
** the chain. */
static void a_distance_from_before_the_chain_keeps_its_tile (void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    fx x;
    points q = distances(&x, n, 2);
    int s = loaded(&x, fx_bit(q.lane) | fx_bit(q.tile)), a = profile(&x, GB_RBF, s, 0.7, 0);
    int b = profile(&x, GB_M52, s, 1.9, 0), t = fx_map(&x, GB_OP_SUB, q.s, loaded(&x, fx_bit(q.tile)), -1);
    int v = fx_map(&x, n / 2 ? GB_OP_ADD : GB_OP_MUL, a, b, -1);
    for (size_t e = 0; e < x.in_n[2]; e++) /* the operand of 's' */
      gb_element_set(x.in[2], e, x.f.compute, fabs(gb_element_get(x.in[2], e, x.f.compute)));
    stored(&x, fx_map(&x, GB_OP_ADD, v, t, -1));
    fx_emit(&x, v, GB_OUT_REDUCE, GB_LSE, fx_bit(q.tile), 0, x.f.compute, -1, true);
    fx_emit(&x, t, GB_OUT_REDUCE, GB_LSE, fx_bit(q.tile), 0, x.f.compute, -1, true);
    must(&x);
  }
}

/* Values of before a loop that only the loop reads. */
static void what_a_loop_reads_is_made_before_it (void **state) {
  (void)state;
  for (int n = 0; n < 8; n++) {
    fx x;
    points q = distances(&x, n, (size_t)(n / 4 ? 1 : 2));
    int loop = fx_axis(&x, GB_AXIS_INNER, 3), a, b;
    if (n / 2 % 2) a = profile(&x, GB_RBF, q.s, 0.7, 0), b = profile(&x, GB_M12, q.s, 1.9, 1);
    else a = fx_along(&x, GB_INS_DOT, q.xl, q.xt, -1, q.feature), b = q.s;
    fx_loop(&x, loop);
    int v = fx_map(&x, GB_OP_MUL, a, b, -1);
    int acc = fx_acc(&x, GB_SUM, fx_map(&x, GB_OP_SUB, v, loaded(&x, fx_bit(q.lane) | fx_bit(loop)), -1));
    fx_end(&x);
    stored(&x, acc);
    must(&x);
  }
}

/* As many values at once as a chain has slots, and more, where the plain interpreter takes over. */
static void a_chain_keeps_many_values (void **state) {
  enum { MOST_VALUES = GB_MOST_SLOTS + 4 };
  (void)state;
  for (int n = 0; n < 2 * MOST_VALUES; n++) {
    fx x;
    int links, v[MOST_VALUES], most = n / 2 + 1;
    points q = distances(&x, n, 2);
    int step = loaded(&x, fx_bit(q.tile)), sum = q.s;
    for (int k = 0; k < most; k++) {
      int last = k > 0 ? v[k - 1] : q.s;
      v[k] = k % 3 ? fx_map(&x, GB_OP_SUB, last, step, -1) : fx_map(&x, GB_OP_TANH, last, -1, -1);
    }
    for (int k = 0; k < most; k++) sum = fx_map(&x, GB_OP_SUB, v[k], sum, -1);
    stored(&x, sum);
    bool ok = holds(&x, false, &links);
    fx_free(&x);
    assert_true(ok);
    assert_true(links > 0 || most >= GB_MOST_SLOTS);
  }
}

/* A loop that cannot be a chain, for a load of both sides stands in it, but has chains inside. */
static void a_loop_runs_in_parts (void **state) {
  (void)state;
  for (int n = 0; n < 16; n++) {
    fx x;
    points q = distances(&x, n, 2);
    int loop = fx_axis(&x, GB_AXIS_INNER, 3);
    fx_loop(&x, loop);
    int a = loaded(&x, fx_bit(q.lane) | fx_bit(loop)), b = loaded(&x, fx_bit(q.tile) | fx_bit(loop));
    int both = loaded(&x, fx_bit(q.lane) | fx_bit(q.tile));
    int t = fx_map(&x, GB_OP_MUL, n & 2 ? a : both, fx_map(&x, GB_OP_SUB, both, n & 4 ? a : b, -1), -1);
    if (n & 8) fx_acc(&x, GB_MAXIMUM, t); /* read by nothing */
    int acc = fx_acc(&x, GB_SUM, t), other = fx_acc(&x, GB_MINIMUM, both);
    fx_end(&x);
    stored(&x, fx_map(&x, GB_OP_MUL, fx_map(&x, GB_OP_SUB, acc, other, -1), q.s, -1));
    must(&x);
  }
}

/* A value that one side computes inside a loop for both is not read before the loop. */
static void a_narrow_accumulator_of_a_wide_loop_is_read_after_it (void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    fx x;
    int links;
    points q = distances(&x, n, 2);
    int loop = fx_axis(&x, GB_AXIS_INNER, 3);
    gb_axes side = fx_bit(n / 2 ? q.lane : q.tile);
    fx_loop(&x, loop);
    int t = loaded(&x, side | fx_bit(loop)), narrow = fx_acc(&x, GB_SUM, t);
    int wide = fx_acc(&x, GB_SUM, fx_map(&x, GB_OP_SUB, q.s, t, -1));
    fx_end(&x);
    int v = fx_map(&x, GB_OP_SQUARE, narrow, -1, -1);
    stored(&x, fx_map(&x, GB_OP_MUL, v, wide, -1));
    bool ok = holds(&x, true, &links);
    fx_free(&x);
    assert_true(ok);
    assert_true(links > 0);
  }
}

static void weights_of_a_distance_vary_along_a_loop (void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    fx x;
    points q = distances(&x, n, 3);
    int loop = fx_axis(&x, GB_AXIS_INNER, 4);
    int w = fx_operand(&x, x.f.compute, fx_bit(q.feature) | fx_bit(loop), n / 2);
    int xl = fx_operand(&x, x.f.compute, fx_bit(q.feature) | fx_bit(loop) | fx_bit(q.lane), n / 2);
    fx_loop(&x, loop);
    int acc = fx_acc(&x, GB_SUM, fx_along(&x, GB_INS_SQDIST, n % 2 ? xl : q.xl, q.xt, w, q.feature));
    fx_end(&x);
    stored(&x, fx_map(&x, GB_OP_SUB, acc, q.s, -1));
    must(&x);
  }
}

/* The points of a front, elsewhere along an axis of another name: of another front, of a loop, of
** differences. */
static void points_are_read_along_several_axes (void **state) {
  (void)state;
  for (int n = 0; n < 16; n++) {
    fx x;
    int links, o[2], late[2];
    points q = distances(&x, n, 3);
    int other = fx_axis(&x, GB_AXIS_INNER, 3);
    for (int side = 0; side < 2; side++) {
      bool own = n / 2 % 4 == 3; /* points that the loop reads first */
      late[side] = own ? fx_operand(&x, x.f.compute, fx_bit(side ? q.tile : q.lane) | fx_bit(q.feature), true)
                       : -1;
      gb_operand *p = &x.operand[o[side] = x.f.noperands++];
      *p = x.operand[own ? late[side] : side ? q.xt : q.xl];
      p->stride[other] = p->stride[q.feature];
      p->stride[q.feature] = 0;
      p->deps ^= fx_bit(q.feature) | fx_bit(other);
    }
    int v = q.s;
    if (n / 2 % 4 == 0) v = fx_map(&x, GB_OP_SUB, v, fx_along(&x, GB_INS_DOT, o[0], o[1], -1, other), -1);
    if (n / 2 % 4 == 1 || n / 2 % 4 == 3) {
      fx_loop(&x, other);
      int t = fx_map(&x, n / 8 ? GB_OP_SUB : GB_OP_MUL, fx_load(&x, o[0]), fx_load(&x, o[1]), -1);
      t = fx_map(&x, GB_OP_SQUARE, t, -1, -1);
      if (late[0] >= 0) {
        int dot = fx_along(&x, GB_INS_DOT, late[0], late[1], -1, q.feature);
        t = fx_map(&x, GB_OP_MUL, t, dot, -1);
      }
      int acc = fx_acc(&x, GB_SUM, t);
      fx_end(&x);
      v = fx_map(&x, GB_OP_SUB, v, acc, -1);
    }
    points r = {q.lane, q.tile, other, o[0], o[1], -1};
    differences(&x, n / 2 % 4 == 2 ? &r : &q, v, true);
    differences(&x, &q, v, false);
    bool ok = holds(&x, true, &links);
    fx_free(&x);
    assert_true(ok);
    assert_true(links > 0);
  }
}

static void both_sides_of_a_difference_are_entered_once (void **state) {
  (void)state;
  for (int n = 0; n < 8; n++) {
    fx x;
    points q = distances(&x, n, (size_t)n + 1);
    int v = fx_map(&x, GB_OP_SUB, q.s, loaded(&x, fx_bit(q.lane)), -1);
    differences(&x, &q, v, n / 2 % 2);
    differences(&x, &q, v, !(n / 2 % 2));
    differences(&x, &q, v, n / 4);
    differences(&x, &q, q.s, n / 2 % 2);
    differences(&x, &q, q.s, !(n / 2 % 2));
    must(&x);
  }
}

/* -- coverage, last */

static void every_kind_of_step_was_run (void **state) {
  (void)state;
  assert_every_kind_of_step();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_chains_have_the_bits_of_the_plain_interpreter),
      cmocka_unit_test(every_step_agrees_in_every_form),
      cmocka_unit_test(every_comparison_agrees),
      cmocka_unit_test(every_choice_agrees),
      cmocka_unit_test(every_pair_of_profiles_agrees),
      cmocka_unit_test(every_profile_joins_a_running_value),
      cmocka_unit_test(multiquadrics_agree),
      cmocka_unit_test(every_profile_agrees),
      cmocka_unit_test(slopes_of_a_vanishing_factor_agree),
      cmocka_unit_test(every_dimension_of_points_and_differences_agrees),
      cmocka_unit_test(a_distance_lives_until_its_profiles_are_joined),
      cmocka_unit_test(a_distance_from_before_the_chain_keeps_its_tile),
      cmocka_unit_test(what_a_loop_reads_is_made_before_it),
      cmocka_unit_test(a_chain_keeps_many_values),
      cmocka_unit_test(a_loop_runs_in_parts),
      cmocka_unit_test(a_narrow_accumulator_of_a_wide_loop_is_read_after_it),
      cmocka_unit_test(weights_of_a_distance_vary_along_a_loop),
      cmocka_unit_test(points_are_read_along_several_axes),
      cmocka_unit_test(both_sides_of_a_difference_are_entered_once),
      cmocka_unit_test(every_kind_of_step_was_run),
  };
  for (int q = 0; q < 3; q++)
    if (gb_pool_new(q + 1, &devices[q].pool, NULL) != GB_OK) return 1;
  gb_cpu_fold_alone = 0;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int q = 0; q < 3; q++) gb_pool_free(devices[q].pool);
  return failed;
}
