/* test_isa_cluster.c - the kernels of clustering of every kernel table: the chains of pairs bit by bit, ties, sums of quanta
** against 128-bit integers. */
#include "support/cpu/isa_harness.h"

static const size_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 40};
static const size_t widths[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 33};
static const size_t long_widths[] = {97, 200, 400}; /* of more than one run */
#define EACH(i, list) for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++)

static double rounded (const table *t, double v) { return t->single ? (double)(float)v : v; }

/* Points (lanes, d) with 'gap' elements between rows, whole or not, and their tile less 'shift'. */
typedef struct points {
  size_t lanes, d;
  ptrdiff_t step;
  void *x, *shift, *tile;
} points;

static points make_points (const table *t, size_t d, size_t gap, bool whole) {
  points p = {.lanes = t->k->cluster_lanes, .d = d, .step = (ptrdiff_t)(d + gap)};
  p.x = random_values(t, p.lanes * (size_t)p.step + d, -3, 3);
  p.shift = random_values(t, d, -1, 1);
  p.tile = room(t, p.lanes * d);
  for (size_t i = 0; whole && i < p.lanes * (size_t)p.step; i++) put(t, p.x, i, rint(get(t, p.x, i)));
  for (size_t i = 0; whole && i < d; i++) put(t, p.shift, i, 0);
  const size_t bytes = p.lanes * (size_t)p.step * (t->single ? sizeof(float) : sizeof(double));
  t->k->cluster_tile(d, p.x, p.step, p.shift, p.tile, (gb_next_bytes){p.x, bytes});
  return p;
}

static void free_points (points *p) {
  free(p->x);
  free(p->shift);
  free(p->tile);
}

static double element (const table *t, const points *p, size_t i, size_t k) {
  return minus(t, get(t, p->x, i * (size_t)p->step + k), get(t, p->shift, k));
}

static void tiles_hold_the_points_less_the_shift_in (const table *t) {
  EACH(w, widths)
  for (size_t gap = 0; gap < 8; gap += 7) {
    points p = make_points(t, widths[w], gap, false);
    for (size_t i = 0; i < p.lanes; i++)
      for (size_t k = 0; k < p.d; k++) assert_true(get(t, p.tile, k * p.lanes + i) == element(t, &p, i, k));
    free_points(&p);
  }
}
EACH_TABLE(tiles_hold_the_points_less_the_shift)

/* Rows that overlap, lie in the other direction, or are all the same one: nothing before the first and behind the last is read. */
static void tiles_are_made_of_rows_of_any_step_in (const table *t) {
  static const ptrdiff_t steps[] = {-9, -1, 0, 1, 2, 3, 5};
  EACH(w, widths) EACH(s, steps) {
    const size_t d = widths[w], lanes = t->k->cluster_lanes,
                 size = t->single ? sizeof(float) : sizeof(double);
    const size_t apart = (size_t)labs(steps[s]), n = (lanes - 1) * apart + d;
    char *x = random_values(t, n, -3, 3), *exact = malloc(n * size);
    void *shift = random_values(t, d, -1, 1), *tile = room(t, lanes * d);
    memcpy(exact, x, n * size);
    const char *first = exact + (steps[s] < 0 ? (lanes - 1) * apart * size : 0);
    t->k->cluster_tile(d, first, steps[s], shift, tile, (gb_next_bytes){0});
    for (size_t i = 0; i < lanes; i++)
      for (size_t k = 0; k < d; k++)
        assert_true(get(t, tile, k * lanes + i) ==
                    minus(t, get(t, first + (ptrdiff_t)i * steps[s] * (ptrdiff_t)size, k), get(t, shift, k)));
    free(x), free(exact), free(shift), free(tile);
  }
}
EACH_TABLE(tiles_are_made_of_rows_of_any_step)

static int32_t nearest (const table *t, const points *p, size_t i, size_t k, const double *c,
                        const double *square) {
  double best = INFINITY;
  int32_t at = 0;
  for (size_t j = 0; j < k; j++) {
    double sum = rounded(t, square[j]);
    for (size_t n = 0; n < p->d; n++)
      sum = muladd(t, element(t, p, i, n), rounded(t, -2 * c[j * p->d + n]), sum);
    if (sum < best) best = sum, at = (int32_t)j;
  }
  return at;
}

/* Tiles of points, one behind the other. */
static void check_nearest (const table *t, size_t k, size_t d, size_t tiles, bool whole) {
  points p[GB_NEAREST_TILES];
  double *c = malloc(k * d * sizeof *c), *square = calloc(k, sizeof *square);
  void *groups = room(t, k * (d + 1));
  const size_t lanes = t->k->cluster_lanes, bytes = lanes * d * (t->single ? sizeof(float) : sizeof(double));
  char *tile = room(t, tiles * lanes * d);
  int32_t label[64 * GB_NEAREST_TILES];
  for (size_t n = 0; n < tiles; n++) {
    p[n] = make_points(t, d, 0, whole);
    memcpy(tile + n * bytes, p[n].tile, bytes);
  }
  for (size_t j = 0; j < k; j++)
    for (size_t n = 0; n < d; n++) {
      /* whole: many are equally near */
      c[j * d + n] = rounded(t, whole ? rint(uniform(-3, 3)) : uniform(-3, 3));
      square[j] += c[j * d + n] * c[j * d + n];
    }
  t->k->group_centres(k, d, c, groups);
  const gb_next_bytes next = {whole ? tile : NULL, bytes};
  t->k->nearest(k, d, tiles, tile, groups, next, label);
  for (size_t n = 0; n < tiles; n++) {
    for (size_t i = 0; i < lanes; i++)
      assert_int_equal(label[n * lanes + i], nearest(t, &p[n], i, k, c, square));
    free_points(&p[n]);
  }
  free(c);
  free(square);
  free(groups);
  free(tile);
}

static void the_nearest_centre_is_that_of_one_chain_a_pair_in (const table *t) {
  assert_true(t->k->cluster_lanes <= 64);
  EACH(i, counts) EACH(w, widths) {
    check_nearest(t, counts[i], widths[w], 1, false);
    check_nearest(t, counts[i], widths[w], 1, true);
  }
}
EACH_TABLE(the_nearest_centre_is_that_of_one_chain_a_pair)

/* k centres in another order give the labels of 'nearest'; bounds are those of distances in long double, and close. */
static void check_two (const table *t, size_t k, size_t d, bool whole) {
  points p = make_points(t, d, 0, whole);
  double *c = malloc(k * d * sizeof *c), *turned = malloc(k * d * sizeof *c), reach = 0;
  void *groups = room(t, k * (d + 1)), *in_order = room(t, k * (d + 1));
  int32_t *number = malloc(k * sizeof *number), label[64];
  gb_two_nearest two;
  const double spare = d < 40 ? 0.1 : 0.5;
  for (size_t i = 0; i < k * d; i++) c[i] = rounded(t, whole ? rint(uniform(-3, 3)) : uniform(-3, 3));
  for (size_t j = 0; j < k; j++) {
    double square = 0;
    number[j] = (int32_t)(k - 1 - j);
    memcpy(turned + j * d, c + (size_t)number[j] * d, d * sizeof *c);
    for (size_t n = 0; n < d; n++) square += c[j * d + n] * c[j * d + n];
    reach = fmax(reach, square);
  }
  t->k->group_centres(k, d, c, groups);
  t->k->group_centres(k, d, turned, in_order);
  t->k->nearest(k, d, 1, p.tile, groups, (gb_next_bytes){0}, label);
  const gb_margins m = {(8 * (double)d + 16) * (t->single ? 0x1p-24 : 0x1p-53), reach, 0};
  t->k->nearest_two(k, d, p.tile, in_order, number, &m, &two);
  for (size_t i = 0; i < p.lanes; i++) {
    long double next = INFINITY, own = 0;
    assert_int_equal(two.label[i], label[i]);
    for (size_t j = 0; j < k; j++) {
      long double square = 0;
      for (size_t n = 0; n < d; n++)
        square += powl((long double)element(t, &p, i, n) - (long double)c[j * d + n], 2);
      if ((int32_t)j == label[i]) own = sqrtl(square);
      else next = fminl(next, sqrtl(square));
    }
    assert_true((long double)two.upper[i] >= own && (long double)two.first[i] <= own);
    assert_true((long double)two.lower[i] <= next);
    assert_true(two.upper[i] - two.first[i] < 2 * spare && two.upper[i] < own + spare);
    assert_true(k == 1 ? two.lower[i] > 1e18f : (long double)two.lower[i] > next - spare);
  }
  free(c), free(turned), free(groups), free(in_order), free(number);
  free_points(&p);
}

static void two_nearest_centres_have_bounds_in (const table *t) {
  EACH(i, counts) EACH(w, widths) {
    check_two(t, counts[i], widths[w], false);
    check_two(t, counts[i], widths[w], true);
  }
  EACH(w, long_widths) {
    check_two(t, 41, long_widths[w], false);
    check_two(t, 41, long_widths[w], true);
  }
}
EACH_TABLE(two_nearest_centres_have_bounds)

static void labels_that_may_change_are_found_in (const table *t) {
  static const float move[] = {0.5f, 0.25f, 2, 0};
  enum { N = 77 };
  float upper[N], lower[N], up[N], low[N];
  int32_t label[N];
  uint16_t open[N];
  const gb_screen s = {move, 2, 0.5f, 0.125f, 0.25f, 2};
  for (size_t i = 0; i < N; i++) {
    label[i] = (int32_t)(i % 4);
    up[i] = upper[i] = i == 5 ? NAN : (float)uniform(0, 4);
    low[i] = lower[i] = i == 6 ? NAN : (float)uniform(0, 16);
  }
  label[7] = -1, upper[7] = lower[7] = up[7] = low[7] = NAN;
  const size_t found = t->isa->screen(&s, N, label, upper, lower, open);
  size_t at = 0;
  for (size_t i = 0; i < N; i++) {
    const double u = (double)up[i] + (double)(label[i] < 0 ? 0 : move[label[i]]),
                 l = (double)low[i] - (label[i] == 2 ? 0.5 : 2);
    const bool stays = l > 0 && u * u + 0.125 * u + 0.25 < l * l;
    assert_true(stays ==
                !(at < found && open[at] == i)); /* none of the numbers drawn is nearer to the border */
    at += !stays;
    if (isnan(u)) assert_true(isnan(upper[i]));
    else assert_true((double)upper[i] >= u && (double)upper[i] <= u * (1 + 1e-6) + 1e-20);
    if (stays) assert_true((double)lower[i] <= l && (double)lower[i] >= l * (1 - 1e-6));
    else assert_memory_equal(&lower[i], &low[i], sizeof *low);
  }
  assert_int_equal(at, found);
}
EACH_TABLE(labels_that_may_change_are_found)
/* Tiles longer than a run of features, and more centres than wait for the next run, or than a block has. */
static void the_nearest_is_that_of_one_chain_in_runs_and_blocks_in (const table *t) {
  static const size_t k[] = {1, 7, 8, 31, 33, 64, 67, 100}, d[] = {95, 96, 97, 193, 401};
  for (size_t i = 0; i < sizeof k / sizeof *k; i++)
    for (size_t w = 0; w < sizeof d / sizeof *d; w++)
      check_nearest(t, k[i], d[w], 1 + (i + w) % GB_NEAREST_TILES, w % 2 > 0);
  check_nearest(t, 2600, 5, 3, false);
}
EACH_TABLE(the_nearest_is_that_of_one_chain_in_runs_and_blocks)

static void distances_are_sums_of_squared_differences_in (const table *t) {
  EACH(w, widths) {
    points p = make_points(t, widths[w], 3, false);
    void *c = random_values(t, p.d, -3, 3), *out = room(t, p.lanes);
    t->k->apart(p.d, p.tile, c, out);
    for (size_t i = 0; i < p.lanes; i++) {
      double sum = 0;
      for (size_t n = 0; n < p.d; n++) {
        const double gap = minus(t, element(t, &p, i, n), get(t, c, n));
        sum = muladd(t, gap, gap, sum);
      }
      assert_true(get(t, out, i) == sum);
    }
    free(c);
    free(out);
    free_points(&p);
  }
}
EACH_TABLE(distances_are_sums_of_squared_differences)

/* The nearest whole number, ties to even, of x 2^e for x of 53 bits. */
static int64_t whole_of (double x) {
  int e;
  const int64_t m = (int64_t)ldexp(frexp(x, &e), 53);
  const int shift = e - 53;
  if (shift >= 0) return m * ((int64_t)1 << shift);
  if (shift < -60) return 0;
  const __int128 one = (__int128)1 << -shift, low = (__int128)m & (one - 1);
  const int64_t down = (int64_t)(((__int128)m - low) / one);
  return down + (2 * low > one || (2 * low == one && (down & 1) != 0));
}

/* Rows of two clusters, and of none, some of which move. */
static void check_moves (const table *t, size_t d, double scale, const double *weight, bool ties) {
  enum { N = 5 };
  const ptrdiff_t step = (ptrdiff_t)d + 3;
  const int32_t row[] = {0, 2, 4}, to[N] = {1, 0, 1, 1, 0}, before[N] = {0, 1, -1, 0, 1};
  int32_t label[N];
  int64_t sums[2 * 41], want[2 * 41];
  void *x = random_values(t, N * (size_t)step, -3, 3), *shift = random_values(t, d, -1, 1);
  for (size_t i = 0; ties && i < N * (size_t)step; i++) put(t, x, i, rint(uniform(-9, 9)) + 0.5);
  for (size_t i = 0; ties && i < d; i++) put(t, shift, i, 0);
  memcpy(label, before, sizeof label);
  for (size_t i = 0; i < 2 * (d + 1); i++) sums[i] = want[i] = (int64_t)i - 7;
  for (size_t i = 0; i < 3; i++) {
    const size_t r = (size_t)row[i];
    const double w = weight == NULL ? 1 : weight[r];
    for (size_t n = 0; n <= d; n++) {
      const double v = n == d ? 1 : minus(t, get(t, x, r * (size_t)step + n), get(t, shift, n));
      const int64_t q = whole_of(n == d ? w * 1024 : v * (w * scale));
      want[(size_t)to[r] * (d + 1) + n] += q;
      if (before[r] >= 0) want[(size_t)before[r] * (d + 1) + n] -= q;
    }
  }
  t->k->move(&(gb_moves){d, 3, x, shift, step, weight, {scale, 1024}, sums, row, to, label});
  for (size_t i = 0; i < 2 * (d + 1); i++) assert_true(sums[i] == want[i]);
  for (int32_t i = 0; i < N; i++) assert_int_equal(label[i], i % 2 == 0 ? to[i] : before[i]);
  free(x);
  free(shift);
}

static void points_move_in_whole_quanta_in (const table *t) {
  static const double scales[] = {1, 0.5, 0x1p20, 0x1p40, 0x1p58, 3e8}, weight[] = {0.25, 3, 1.5, 2, 0};
  EACH(w, widths) EACH(s, scales) {
    check_moves(t, widths[w], scales[s], NULL, s == 0);
    check_moves(t, widths[w], scales[s], weight, false);
  }
}
EACH_TABLE(points_move_in_whole_quanta)

static void labels_that_differ_are_found_in (const table *t) {
  enum { N = 61 };
  int32_t a[N], b[N], at[N + GB_SPARE];
  for (size_t n = 0; n <= N; n++) {
    for (size_t i = 0; i < N; i++) a[i] = (int32_t)i, b[i] = uniform(0, 1) < 0.5 ? -1 : a[i];
    const size_t found = t->isa->differing(n, a, b, at);
    size_t want = 0;
    for (size_t i = 0; i < n; i++)
      if (a[i] != b[i]) assert_true(want < found && at[want] == a[i]), want++;
    assert_int_equal(found, want);
  }
}
EACH_TABLE(labels_that_differ_are_found)

/* 16 sums of squares, of each 16th feature, and their tree. */
static double square_by_16 (const table *t, const points *p, size_t i, const double *c) {
  double sum[16] = {0};
  for (size_t n = 0; n < p->d; n++) {
    const double gap = element(t, p, i, n) - c[n];
    sum[n % 16] = t->fused ? fma(gap, gap, sum[n % 16]) : gap * gap + sum[n % 16];
  }
  for (size_t half = 8; half > 0; half /= 2)
    for (size_t l = 0; l < half; l++) sum[l] += sum[l + half];
  return sum[0];
}

static void squares_are_those_of_their_own_centres_in (const table *t) {
  EACH(w, widths)
  for (size_t rows = 1; rows <= t->k->cluster_lanes; rows += 3) {
    points p = make_points(t, widths[w], rows % 2, false);
    double c[3 * 40], out[64];
    int32_t label[64];
    for (size_t i = 0; i < 3 * p.d; i++) c[i] = uniform(-3, 3);
    for (size_t i = 0; i < rows; i++) label[i] = (int32_t)(i % 3);
    t->k->squares(rows, p.d, p.x, p.step, p.shift, c, label, out);
    for (size_t i = 0; i < rows; i++) assert_true(out[i] == square_by_16(t, &p, i, c + (i % 3) * p.d));
    free_points(&p);
  }
}
EACH_TABLE(squares_are_those_of_their_own_centres)

static void sums_are_added_in_two_parts_in (const table *t) {
  enum { N = 41 };
  double v[N];
  for (size_t n = 0; n <= N; n++) {
    gb_two_sums sum = {3, -5}, want = sum;
    for (size_t i = 0; i < n; i++) {
      v[i] = uniform(-1, 1);
      const double whole = rint(v[i] * 0x1p40), rest = fma(v[i], 0x1p40, -whole);
      want.high += whole_of(whole), want.low += whole_of(rest * 0x1p30);
    }
    t->isa->add_twice(n, v, 0x1p40, &sum);
    assert_true(sum.high == want.high && sum.low == want.low);
  }
}
EACH_TABLE(sums_are_added_in_two_parts)

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_hold_the_points_less_the_shift),
      cmocka_unit_test(tiles_are_made_of_rows_of_any_step),
      cmocka_unit_test(the_nearest_centre_is_that_of_one_chain_a_pair),
      cmocka_unit_test(two_nearest_centres_have_bounds),
      cmocka_unit_test(labels_that_may_change_are_found),
      cmocka_unit_test(the_nearest_is_that_of_one_chain_in_runs_and_blocks),
      cmocka_unit_test(distances_are_sums_of_squared_differences),
      cmocka_unit_test(points_move_in_whole_quanta),
      cmocka_unit_test(labels_that_differ_are_found),
      cmocka_unit_test(squares_are_those_of_their_own_centres),
      cmocka_unit_test(sums_are_added_in_two_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
