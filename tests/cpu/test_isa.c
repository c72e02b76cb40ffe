/* test_isa.c - distances, products, contractions and reductions of every kernel table, against loops in
** the stated order (equal bits) and against long double (stated bounds). */
#include "base/rng.h"
#include "support/cpu/isa_harness.h"

static const size_t dims[] = {1, 2, 3, 4, 5, 8, 17};
static const int rows[] = {1, 3, 4, 17, GB_CANON};
enum { NDIMS = sizeof dims / sizeof *dims, NROWS = sizeof rows / sizeof *rows };

#define FULL(nj) ((size_t)(nj)*GB_TI)

static double distance_loop (const table *t, size_t d, const void *xs, size_t i, const void *y,
                             const void *w) {
  double s = 0.0;
  for (size_t k = 0; k < d; k++) {
    const double diff = minus(t, get(t, y, k), get(t, xs, k * GB_TI + i));
    double left = diff;
    if (w != NULL) left = t->single ? (double)((float)get(t, w, k) * (float)diff) : get(t, w, k) * diff;
    s = muladd(t, left, diff, s);
  }
  return s;
}

static const void *row_of (const table *t, const void *y, size_t j, size_t stride) {
  return (const char *)y + j * stride * t->width;
}

static void distances_and_dots_follow_the_stated_order_in (const table *t) {
  for (int n = 0; n < NDIMS; n++)
    for (int m = 0; m < NROWS; m++) {
      const size_t d = dims[n], stride = d + 2;
      const int nj = rows[m];
      void *xs = random_values(t, d * GB_TI, -2, 2), *y = random_values(t, (size_t)nj * stride, -2, 2);
      void *w = random_values(t, d, 0, 3), *got = room(t, FULL(nj)), *want = room(t, FULL(nj));
      for (int weighted = 0; weighted < 2; weighted++) {
        t->k->sqdist(nj, d, xs, y, stride, weighted ? w : NULL, got);
        for (size_t e = 0; e < FULL(nj); e++)
          put(t, want, e,
              distance_loop(t, d, xs, e % GB_TI, row_of(t, y, e / GB_TI, stride), weighted ? w : NULL));
        check_same(t, got, want, FULL(nj), "sqdist");
      }
      t->k->dot(nj, d, xs, y, stride, got);
      for (size_t e = 0; e < FULL(nj); e++) {
        double s = 0.0;
        for (size_t k = 0; k < d; k++)
          s = muladd(t, get(t, xs, k * GB_TI + e % GB_TI), get(t, y, e / GB_TI * stride + k), s);
        put(t, want, e, s);
      }
      check_same(t, got, want, FULL(nj), "dot");
      free(xs);
      free(y);
      free(w);
      free(got);
      free(want);
    }
}
EACH_TABLE(distances_and_dots_follow_the_stated_order)

static void squared_distances_are_within_d_plus_3_ulp_in (const table *t) {
  static const double offsets[] = {0.0, 100.0, 1e6};
  for (int n = 0; n < NDIMS; n++)
    for (int o = 0; o < 3; o++) {
      const size_t d = dims[n];
      void *xs = random_values(t, d * GB_TI, offsets[o] - 1, offsets[o] + 1);
      void *y = random_values(t, 16 * d, offsets[o] - 1, offsets[o] + 1), *got = room(t, FULL(16));
      for (size_t k = 0; k < d; k++) put(t, y, k, get(t, xs, k * GB_TI)); /* one distance of zero */
      t->k->sqdist(16, d, xs, y, d, NULL, got);
      for (size_t e = 0; e < FULL(16); e++) {
        long double s = 0.0L;
        for (size_t k = 0; k < d; k++) {
          const long double diff = (long double)get(t, xs, k * GB_TI + e % GB_TI) -
                                   get(t, y, e / GB_TI * d + k);
          s += diff * diff;
        }
        check_ulps(t, get(t, got, e), s, (double)d + 3, "sqdist", (double)e);
      }
      assert_true(get(t, got, 0) == 0.0);
      free(xs);
      free(y);
      free(got);
    }
}
EACH_TABLE(squared_distances_are_within_d_plus_3_ulp)

static void contractions_follow_the_stated_order_in (const table *t) {
  static const size_t counts[] = {1, 2, 4, 7, 16};
  for (int n = 0; n < 5; n++)
    for (int m = 0; m < NROWS; m++) {
      const size_t R = counts[n], stride = R + 1, nj = (size_t)rows[m];
      void *v = random_values(t, nj * stride, -1, 1), *g = random_values(t, R * GB_TI, -1, 1);
      void *tile = random_values(t, FULL(nj), 0, 1);
      void *acc = random_values(t, R * GB_TI, -1, 1), *buf = random_values(t, nj * R * GB_LANES, -1, 1);
      void *want_acc = room(t, R * GB_TI), *want_buf = room(t, nj * R * GB_LANES);
      memcpy(want_acc, acc, R * GB_TI * t->width);
      memcpy(want_buf, buf, nj * R * GB_LANES * t->width);
      for (size_t j = 0; j < nj; j++)
        for (size_t r = 0; r < R; r++)
          for (size_t i = 0; i < GB_TI; i++) {
            const double k = get(t, tile, j * GB_TI + i);
            const size_t a = r * GB_TI + i, b = (j * R + r) * GB_LANES + i % GB_LANES;
            put(t, want_acc, a, muladd(t, k, get(t, v, j * stride + r), get(t, want_acc, a)));
            put(t, want_buf, b, muladd(t, k, get(t, g, r * GB_TI + i), get(t, want_buf, b)));
          }
      t->k->contract_row((int)nj, R, tile, v, stride, acc);
      t->k->contract_col((int)nj, R, tile, g, buf);
      check_same(t, acc, want_acc, R * GB_TI, "contract_row");
      check_same(t, buf, want_buf, nj * R * GB_LANES, "contract_col");
      free(v);
      free(g);
      free(tile);
      free(acc);
      free(buf);
      free(want_acc);
      free(want_buf);
    }
}
EACH_TABLE(contractions_follow_the_stated_order)

static void a_column_does_not_depend_on_how_many_there_are_in (const table *t) {
  enum { R = 23, NJ = 16 };
  void *v = random_values(t, NJ * R, -1, 1), *tile = random_values(t, FULL(NJ), 0, 1);
  void *all = zeros(t, R * GB_TI), *one = zeros(t, GB_TI);
  t->k->contract_row(NJ, R, tile, v, R, all);
  for (size_t r = 0; r < R; r++) {
    memset(one, 0, GB_TI * t->width);
    t->k->contract_row(NJ, 1, tile, row_of(t, v, r, 1), R, one);
    check_same(t, row_of(t, all, r, GB_TI), one, GB_TI, "a column");
  }
  free(v);
  free(tile);
  free(all);
  free(one);
}
EACH_TABLE(a_column_does_not_depend_on_how_many_there_are)

static void differences_follow_the_stated_order_in (const table *t) {
  for (int n = 0; n < NDIMS; n++)
    for (int m = 0; m < NROWS; m++) {
      const size_t d = dims[n], stride = d + 1, nj = (size_t)rows[m];
      void *xs = random_values(t, d * GB_TI, -1, 1), *y = random_values(t, nj * stride, -1, 1);
      void *tile = random_values(t, FULL(nj), 0, 1), *acc = zeros(t, d * GB_TI),
           *buf = zeros(t, nj * d * GB_LANES);
      void *want_acc = zeros(t, d * GB_TI), *want_buf = zeros(t, nj * d * GB_LANES);
      for (size_t j = 0; j < nj; j++)
        for (size_t k = 0; k < d; k++)
          for (size_t i = 0; i < GB_TI; i++) {
            const double w = get(t, tile, j * GB_TI + i), x = get(t, xs, k * GB_TI + i),
                         z = get(t, y, j * stride + k);
            const size_t a = k * GB_TI + i, b = (j * d + k) * GB_LANES + i % GB_LANES;
            put(t, want_acc, a, muladd(t, w, minus(t, x, z), get(t, want_acc, a)));
            put(t, want_buf, b, muladd(t, w, minus(t, z, x), get(t, want_buf, b)));
          }
      t->k->diff_row((int)nj, d, tile, xs, y, stride, acc);
      t->k->diff_col((int)nj, d, tile, xs, y, stride, buf);
      check_same(t, acc, want_acc, d * GB_TI, "diff_row");
      check_same(t, buf, want_buf, nj * d * GB_LANES, "diff_col");
      free(xs);
      free(y);
      free(tile);
      free(acc);
      free(buf);
      free(want_acc);
      free(want_buf);
    }
}
EACH_TABLE(differences_follow_the_stated_order)

static double combined (const table *t, gb_monoid m, double a, double b) {
  switch (m) {
    case GB_PROD: return t->single ? (double)((float)a * (float)b) : a * b;
    case GB_MINIMUM: return isnan(a) || isnan(b) ? (double)NAN : b < a ? b : a;
    case GB_MAXIMUM: return isnan(a) || isnan(b) ? (double)NAN : b > a ? b : a;
    case GB_ANYTRUE: return a != 0.0 || b != 0.0;
    case GB_ALLTRUE: return a != 0.0 && b != 0.0;
    default: return t->single ? (double)((float)a + (float)b) : a + b;
  }
}

static const gb_monoid monoids[] = {GB_SUM, GB_PROD, GB_MINIMUM, GB_MAXIMUM, GB_ANYTRUE, GB_ALLTRUE};

static void reductions_follow_the_stated_order_in (const table *t) {
  for (int n = 0; n < 6; n++)
    for (int r = 0; r < NROWS; r++) {
      const gb_monoid m = monoids[n];
      const size_t nj = (size_t)rows[r];
      const double identity = m == GB_PROD || m == GB_ALLTRUE ? 1.0
                              : m == GB_MINIMUM               ? INFINITY
                              : m == GB_MAXIMUM               ? -INFINITY
                                                              : 0.0;
      void *tile = random_values(t, FULL(nj), 0.5, 1.5), *row = room(t, GB_TI), *lanes = room(t, GB_LANES);
      void *col = room(t, nj * GB_LANES);
      double want_row[GB_TI], want_lanes[GB_LANES], *want_col = calloc(nj * GB_LANES, sizeof(double));
      if (m >= GB_ANYTRUE)
        for (size_t e = 0; e < FULL(nj); e++)
          put(t, tile, e, uniform(0, 1) < (m == GB_ANYTRUE ? 0.02 : 0.98));
      for (size_t e = 0; e < nj * GB_LANES; e++) {
        put(t, col, e, identity);
        want_col[e] = identity;
      }
      for (size_t e = 0; e < GB_TI; e++) {
        put(t, row, e, identity);
        want_row[e] = identity;
      }
      for (size_t e = 0; e < GB_LANES; e++) {
        put(t, lanes, e, identity);
        want_lanes[e] = identity;
      }
      for (size_t e = 0; e < FULL(nj); e++) {
        const size_t i = e % GB_TI, l = i % GB_LANES, c = e / GB_TI * GB_LANES + l;
        const double v = get(t, tile, e);
        want_row[i] = combined(t, m, want_row[i], v);
        want_lanes[l] = combined(t, m, want_lanes[l], v);
        want_col[c] = combined(t, m, want_col[c], v);
      }
      t->k->reduce_row(m, (int)nj, tile, row);
      t->k->reduce_col(m, (int)nj, tile, col);
      t->k->reduce_all(m, (int)nj, tile, lanes);
      for (size_t e = 0; e < GB_TI; e++) assert_true(get(t, row, e) == want_row[e]);
      for (size_t e = 0; e < GB_LANES; e++) assert_true(get(t, lanes, e) == want_lanes[e]);
      for (size_t e = 0; e < nj * GB_LANES; e++) assert_true(get(t, col, e) == want_col[e]);
      free(tile);
      free(row);
      free(lanes);
      free(col);
      free(want_col);
    }
}
EACH_TABLE(reductions_follow_the_stated_order)

static void extremes_keep_a_nan_from_either_side_in (const table *t) {
  for (int n = 2; n < 4; n++)
    for (size_t at = 0; at < FULL(4); at += 37) {
      void *tile = random_values(t, FULL(4), -1, 1), *row = zeros(t, GB_TI);
      put(t, tile, at, (double)NAN);
      put(t, row, 5, (double)NAN);
      t->k->reduce_row(monoids[n], 4, tile, row);
      for (size_t i = 0; i < GB_TI; i++)
        assert_int_equal(isnan(get(t, row, i)) != 0, i == at % GB_TI || i == 5);
      free(tile);
      free(row);
    }
}
EACH_TABLE(extremes_keep_a_nan_from_either_side)

/* Chains of pairs for the log of a sum of exponentials, begun or not, by lanes or by rows: the largest is
** exact, the sum follows from it. Lane 3 is all -inf, 5 meets +inf, 7 a NaN. */
static void pairs_follow_the_elements_of_their_chains_in (const table *t) {
  for (int r = 0; r < NROWS; r++)
    for (int way = 0; way < 4; way++) {
      const bool by_row = way & 1, begun = way & 2;
      const size_t nj = (size_t)rows[r], n = by_row ? GB_TI : nj * GB_LANES;
      void *tile = random_values(t, FULL(nj), -20, 20), *top = room(t, n), *sum = room(t, n);
      double *want = calloc(n, sizeof *want), *tail = calloc(n, sizeof *tail);
      for (size_t j = 0; j < nj; j++) {
        for (size_t i = 3; i < GB_TI; i += GB_LANES) put(t, tile, j * GB_TI + i, -INFINITY);
        if (j == nj / 2) put(t, tile, j * GB_TI + 5, INFINITY), put(t, tile, j * GB_TI + 7, (double)NAN);
      }
      for (size_t c = 0; c < n; c++) {
        put(t, top, c, want[c] = begun && c % GB_LANES != 3 ? 1.5 : -INFINITY);
        put(t, sum, c, begun && c % GB_LANES != 3 ? 2.0 : 0.0);
      }
#define CHAIN(e) (by_row ? (e) % GB_TI : (e) / GB_TI * GB_LANES + (e) % GB_LANES)
      for (size_t e = 0; e < FULL(nj); e++)
        want[CHAIN(e)] = combined(t, GB_MAXIMUM, want[CHAIN(e)], get(t, tile, e));
      for (size_t c = 0; c < n; c++) tail[c] = get(t, sum, c) * exp(1.5 - want[c]);
      for (size_t e = 0; e < FULL(nj); e++) tail[CHAIN(e)] += exp(get(t, tile, e) - want[CHAIN(e)]);
#undef CHAIN
      (by_row ? t->k->lse_row : t->k->lse_col)((int)nj, tile, top, sum);
      for (size_t c = 0; c < n; c++) {
        assert_true(isnan(want[c]) ? isnan(get(t, top, c)) != 0 : get(t, top, c) == want[c]);
        if (want[c] == -INFINITY) assert_true(get(t, sum, c) == 0);
        else if (isfinite(want[c]))
          assert_true(fabs(get(t, sum, c) - tail[c]) <= tail[c] * (t->single ? 1e-4 : 1e-13));
      }
      free(tile);
      free(top);
      free(sum);
      free(want);
      free(tail);
    }
}
EACH_TABLE(pairs_follow_the_elements_of_their_chains)

static void flushing_adds_to_f64_totals_and_clears_in (const table *t) {
  void *acc = random_values(t, 3 * GB_LANES, -1, 1);
  double total[3 * GB_LANES], want[3 * GB_LANES];
  for (size_t i = 0; i < 3 * GB_LANES; i++) {
    total[i] = uniform(-1e6, 1e6);
    want[i] = total[i] + get(t, acc, i);
  }
  if (t->single) t->isa->flush_f32(3 * GB_LANES, acc, total);
  else t->isa->flush_f64(3 * GB_LANES, acc, total);
  for (size_t i = 0; i < 3 * GB_LANES; i++) {
    assert_true(total[i] == want[i]);
    assert_true(get(t, acc, i) == 0.0);
  }
  free(acc);
}
EACH_TABLE(flushing_adds_to_f64_totals_and_clears)

static void an_unknown_or_missing_instruction_set_is_refused_by_name (void **state) {
  (void)state;
  gb_error err;
  assert_int_equal(gb_isa_select("mmx", &err), GB_EOPTION);
  assert_non_null(strstr(err.text, "portable"));
  assert_non_null(strstr(err.text, "'mmx'"));
  setenv("GIBBOUS_ISA", "sse9", 1);
  assert_int_equal(gb_isa_select(NULL, &err), GB_EOPTION);
  setenv("GIBBOUS_ISA", "portable", 1);
  assert_int_equal(gb_isa_select(NULL, &err), GB_OK);
  assert_string_equal(gb_isa_active->name, "portable");
  unsetenv("GIBBOUS_ISA");
  assert_int_equal(gb_isa_select(NULL, &err), GB_OK);
}

static void rates_are_positive_and_mixed_is_no_less_than_fma_in (const table *t) {
  const double fma_rate = t->isa->rate_fma(0.005), mixed = t->isa->rate_issue(0.01);
  assert_true(fma_rate > 1e6);
  assert_true(mixed > 0.5 * fma_rate);
  assert_true(t->isa->rate_exp2(0.005) > 1e6);
}
EACH_TABLE(rates_are_positive_and_mixed_is_no_less_than_fma)

static void integers_wrap_and_divide_downwards (void **state) {
  (void)state;
  const gb_isa_kernels *k = &gb_isa_portable.i64;
  const int64_t a[] = {7, -7, 7, -7, INT64_MIN, 5, INT64_MAX, 0}, b[] = {2, 2, -2, -2, -1, 0, 1, 3};
  const int64_t quotient[] = {3, -4, -4, 3, INT64_MIN, 0, INT64_MAX, 0}, rest[] = {1, 1, -1, -1, 0, 5, 0, 0};
  const int64_t sum[] = {9, -5, 5, -9, INT64_MAX, 5, INT64_MIN, 3};
  int64_t got[8];
  const gb_arg x = {a, GB_FORM_TILE}, y = {b, GB_FORM_TILE}, none = {NULL, GB_FORM_ONE};
  k->map(GB_OP_IDIV, GB_FORM_TILE, 8, got, x, y, none);
  assert_memory_equal(got, quotient, sizeof got);
  k->map(GB_OP_MOD, GB_FORM_TILE, 8, got, x, y, none);
  assert_memory_equal(got, rest, sizeof got);
  k->map(GB_OP_ADD, GB_FORM_TILE, 8, got, x, y, none);
  assert_memory_equal(got, sum, sizeof got);
  int64_t tile[2 * GB_TI], want = 0, lanes[GB_LANES] = {0}, total = 0;
  for (int i = 0; i < 2 * GB_TI; i++) want += tile[i] = i * i;
  k->reduce_all(GB_SUM, 2, tile, lanes);
  for (int l = 0; l < GB_LANES; l++) total += lanes[l];
  assert_true(total == want);
}

/* Elements of odd blocks, read forwards and backwards; NaN keep their bits. */
static void blocks_are_transposed_bit_by_bit_in (const table *t) {
  static const size_t extents[] = {0, 1, 2, 3, 7, 16, 33, 64};
  enum { N = sizeof extents / sizeof *extents, WIDE = 70 };
  for (int a = 0; a < N; a++)
    for (int b = 0; b < N; b++)
      for (int back = 0; back < 2; back++) {
        const size_t nj = extents[a], lanes = extents[b];
        uint8_t *src = room(t, 64 * WIDE), *got = room(t, 64 * WIDE), *want = room(t, 64 * WIDE);
        for (size_t i = 0; i < 64 * WIDE * t->width; i++) src[i] = (uint8_t)uniform(0, 256);
        memset(got, 7, 64 * WIDE * t->width);
        memset(want, 7, 64 * WIDE * t->width);
        const ptrdiff_t step = back ? -(ptrdiff_t)WIDE : WIDE;
        const uint8_t *from = src + (back ? 63 * WIDE * t->width : 0);
        for (size_t j = 0; j < nj; j++)
          for (size_t i = 0; i < lanes; i++)
            memcpy(want + (j * WIDE + i) * t->width,
                   from + ((ptrdiff_t)i * step + (ptrdiff_t)j) * (ptrdiff_t)t->width, t->width);
        t->k->transpose(nj, lanes, from, step, got, WIDE);
        assert_memory_equal(got, want, 64 * WIDE * t->width);
        free(src);
        free(got);
        free(want);
      }
}
EACH_TABLE(blocks_are_transposed_bit_by_bit)

/* The bits of the scalar functions, rounded, at any first element and step, and nothing beyond the last
** lane; uniform draws above the largest one asked for are that one. */
static void draws_are_those_of_single_elements_in (const table *t) {
  static const uint64_t first[] = {0, 5, (1ull << 32) - 7, UINT64_MAX - 20, 1ull << 63},
                        steps[] = {1, 0, 3, (uint64_t)-2};
  static const uint64_t seed[2] = {0x123456789abcdef0ull, 0xfedcba9876543210ull};
  static const size_t lanes[] = {1, 7, 16, 63, 64};
  for (int normal = 0; normal < 2; normal++)
    for (size_t f = 0; f < sizeof first / sizeof *first; f++)
      for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
        for (size_t l = 0; l < sizeof lanes / sizeof *lanes; l++) {
          void *got = room(t, GB_TI), *want = room(t, GB_TI);
          memset(got, 7, GB_TI * t->width);
          memset(want, 7, GB_TI * t->width);
          const double most = f % 2 ? 1 : 0.75;
          t->k->draw(normal, most, seed, first[f], steps[s], lanes[l], got);
          for (size_t i = 0; i < lanes[l]; i++) {
            const uint64_t at = first[f] + i * steps[s];
            put(t, want, i,
                normal ? gb_rand_normal(seed[0], seed[1], at)
                       : fmin(gb_rand_uniform(seed[0], seed[1], at), most));
          }
          assert_memory_equal(got, want, GB_TI * t->width);
          free(got);
          free(want);
        }
}
EACH_TABLE(draws_are_those_of_single_elements)

static void reductions_along_rows_are_those_of_the_transposed_tile_in (const table *t) {
  static const gb_monoid plain[] = {GB_SUM, GB_PROD, GB_MINIMUM, GB_MAXIMUM};
  static const size_t lanes[] = {1, 5, 16, 20, 63, 64};
  static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0};
  enum { WIDE = GB_CANON + 3 };
  for (int m = 0; m < 4; m++)
    for (int n = 0; n < NROWS; n++)
      for (int l = 0; l < 6; l++) {
        const ptrdiff_t step = l % 2 ? WIDE : rows[n]; /* close together or apart */
        void *x = random_values(t, GB_TI * WIDE, -2, 2), *tile = zeros(t, FULL(GB_CANON));
        void *got = random_values(t, GB_TI, -1, 1), *want = room(t, GB_TI);
        for (int k = 0; k < 5; k++) put(t, x, (size_t)uniform(0, (double)(lanes[l] * (size_t)step)), odd[k]);
        memcpy(want, got, GB_TI * t->width);
        t->k->transpose((size_t)rows[n], lanes[l], x, step, tile, GB_TI);
        t->k->reduce_row(plain[m], rows[n], tile, want);
        t->k->reduce_turned(plain[m], rows[n], lanes[l], x, step, got);
        for (size_t i = 0; i < lanes[l]; i++)
          if (isnan(get(t, want, i))) assert_true(isnan(get(t, got, i)));
          else assert_memory_equal((char *)got + i * t->width, (char *)want + i * t->width, t->width);
        free(x);
        free(tile);
        free(got);
        free(want);
      }
}
EACH_TABLE(reductions_along_rows_are_those_of_the_transposed_tile)

/* Of any two bit patterns: quotients of every size, whole ones and their neighbours, subnormal numbers,
** zeros of both signs. */
static double any_number (const table *t, int i) {
  const uint64_t bits = (uint64_t)uniform(0, 0x1p32) << 32 | (uint64_t)uniform(0, 0x1p32);
  double v;
  float f;
  const uint32_t half = (uint32_t)bits;
  memcpy(&v, &bits, sizeof v);
  memcpy(&f, &half, sizeof f);
  switch (i % 6) {
    case 0: return t->single ? (double)f : v;
    case 1: return floor(uniform(-50, 50));
    case 2: return floor(uniform(-50, 50)) * (t->single ? (double)0.1f : 0.1);
    case 3: return nextafter(floor(uniform(-50, 50)) * (t->single ? (double)0.7f : 0.7), uniform(-1, 1));
    case 4: return ldexp(uniform(-1, 1), (int)uniform(t->single ? -148 : -1073, t->single ? 127 : 1023));
    default: return uniform(-1e6, 1e6);
  }
}

static void remainders_are_exact_whatever_the_quotient_in (const table *t) {
  static const double odd[] = {0.0,      -0.0,      1.0, -1.0,  5e-324, -1e-40,
                               INFINITY, -INFINITY, NAN, 1e300, 0.1,    -0.7};
  enum { ODD = sizeof odd / sizeof *odd, NJ = GB_CANON, N = NJ * GB_TI };
  void *x = room(t, N), *y = room(t, N), *got = room(t, N);
  for (int turn = 0; turn < 8; turn++) {
    for (int i = 0; i < N; i++) {
      put(t, x, (size_t)i, turn == 0 ? odd[i % ODD] : any_number(t, i / 6 + turn));
      put(t, y, (size_t)i, turn == 0 ? odd[i / ODD % ODD] : any_number(t, i));
    }
    const gb_arg a = {x, GB_FORM_FULL}, b = {y, GB_FORM_FULL}, none = {NULL, GB_FORM_ONE};
    t->k->map(GB_OP_MOD, GB_FORM_FULL, NJ, got, a, b, none);
    for (size_t i = 0; i < N; i++) {
      const double u = get(t, x, i), v = get(t, y, i), g = get(t, got, i);
      double want = t->single ? (double)fmodf((float)u, (float)v) : fmod(u, v);
      if ((want > 0 && v < 0) || (want < 0 && v > 0))
        want = t->single ? (double)((float)want + (float)v) : want + v;
      if (isnan(want) ? !isnan(g) : g != want || signbit(g) != signbit(want))
        fail_msg("%s f%d: %.17g %% %.17g is %.17g, expected %.17g", t->isa->name, t->single ? 32 : 64, u, v,
                 g, want);
    }
  }
  free(x);
  free(y);
  free(got);
}
EACH_TABLE(remainders_are_exact_whatever_the_quotient)

static void exponentials_are_within_1_ulp_from_0_to_infinity_in (const table *t) {
  enum { NJ = GB_CANON, N = NJ * GB_TI };
  const double low = t->single ? -87 : -708, high = t->single ? 89 : 710;
  void *x = room(t, N), *got = room(t, N);
  const gb_arg a = {x, GB_FORM_FULL}, none = {NULL, GB_FORM_ONE};
  for (int turn = 0; turn < 4; turn++) {
    const double from = turn == 0 ? low : turn == 1 ? -1 : turn == 2 ? -0.05 : high - 3;
    const double to = turn == 0 ? high : turn == 1 ? 1 : turn == 2 ? 0.05 : high;
    for (size_t i = 0; i < N; i++) put(t, x, i, uniform(from, to));
    t->k->map(GB_OP_EXP, GB_FORM_FULL, NJ, got, a, none, none);
    for (size_t i = 0; i < N; i++) {
      const long double want = expl(get(t, x, i));
      const bool over = want > (t->single ? (long double)0x1.ffffffp127 : 0x1.fffffffffffff8p1023L);
      check_ulps(t, get(t, got, i), over ? INFINITY : want, 1.0, "exp", get(t, x, i));
    }
  }
  free(x);
  free(got);
}
EACH_TABLE(exponentials_are_within_1_ulp_from_0_to_infinity)

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distances_and_dots_follow_the_stated_order),
      cmocka_unit_test(squared_distances_are_within_d_plus_3_ulp),
      cmocka_unit_test(contractions_follow_the_stated_order),
      cmocka_unit_test(a_column_does_not_depend_on_how_many_there_are),
      cmocka_unit_test(differences_follow_the_stated_order),
      cmocka_unit_test(reductions_follow_the_stated_order),
      cmocka_unit_test(extremes_keep_a_nan_from_either_side),
      cmocka_unit_test(pairs_follow_the_elements_of_their_chains),
      cmocka_unit_test(flushing_adds_to_f64_totals_and_clears),
      cmocka_unit_test(an_unknown_or_missing_instruction_set_is_refused_by_name),
      cmocka_unit_test(rates_are_positive_and_mixed_is_no_less_than_fma),
      cmocka_unit_test(integers_wrap_and_divide_downwards),
      cmocka_unit_test(blocks_are_transposed_bit_by_bit),
      cmocka_unit_test(draws_are_those_of_single_elements),
      cmocka_unit_test(reductions_along_rows_are_those_of_the_transposed_tile),
      cmocka_unit_test(remainders_are_exact_whatever_the_quotient),
      cmocka_unit_test(exponentials_are_within_1_ulp_from_0_to_infinity)};
  return cmocka_run_group_tests_name("isa", tests, NULL, NULL);
}
