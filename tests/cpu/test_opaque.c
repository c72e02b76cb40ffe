/* test_opaque.c - ops that order, move and convert elements, against plain loops; Sobol points and
** permutations. */
#include "support/cpu/opaque_fixture.h"

static op_case along (gb_op op, int64_t axis, gb_dtype t, gb_shape s, const void *x) {
  op_case c = op_new(op);
  c.o.attr.i[0] = axis;
  op_in(&c, t, s, x);
  return c;
}

/* Stable insertion sort of one lane: positions from 0, NaN last. */
static void plain_order (const double *x, size_t n, size_t stride, bool descending, size_t *order) {
  for (size_t i = 0; i < n; i++) {
    const double v = x[i * stride];
    size_t j = i;
    for (; j > 0; j--) {
      const double w = x[order[j - 1] * stride];
      if (isnan(v) || !(isnan(w) || (descending ? w < v : w > v))) break;
      order[j] = order[j - 1];
    }
    order[j] = i;
  }
}

/* Values with many ties, infinities, signed zeros and NaN. */
static double *awkward (size_t n) {
  double *x = random_normal(n, n);
  for (size_t i = 0; i < n; i++) {
    x[i] = floor(3 * x[i]);
    if (i % 11 == 3) x[i] = NAN;
    if (i % 13 == 5) x[i] = i % 2 ? INFINITY : -INFINITY;
    if (i % 7 == 1) x[i] = i % 2 ? 0.0 : -0.0;
  }
  return x;
}

/* Checks values and positions along axis 1 of (outer, n, inner), the first k kept. */
static void assert_ordered (const op_case *c, const double *x, size_t outer, size_t n, size_t inner, size_t k,
                            bool descending) {
  size_t *order = malloc((n + 1) * sizeof *order);
  const int64_t *position = c->out[1];
  for (size_t o = 0; o < outer; o++)
    for (size_t i = 0; i < inner; i++) {
      const double *lane = x + o * n * inner + i;
      plain_order(lane, n, inner, descending, order);
      for (size_t j = 0; j < k; j++) {
        const size_t at = (o * k + j) * inner + i;
        const double want = lane[order[j] * inner], got = gb_element_get(c->out[0], at, c->o.in_dtype[0]);
        assert_int_equal(position[at], order[j] + 1);
        assert_true(got == want || (isnan(got) && isnan(want)));
      }
    }
  free(order);
}

static void sorting_is_stable_and_puts_nan_last (void **state) {
  (void)state;
  const size_t shapes[][3] = {{1, 1, 1},  {1, 0, 3},    {2, 3, 2},  {3, 64, 1},
                              {1, 65, 2}, {2, 1000, 1}, {1, 300, 4}};
  const gb_dtype types[] = {GB_F64, GB_F32, GB_F16, GB_I64, GB_I32};
  for (size_t s = 0; s < 7; s++)
    for (int t = 0; t < 5; t++)
      for (int descending = 0; descending < 2; descending++) {
        const size_t *q = shapes[s], count = q[0] * q[1] * q[2];
        double *x = awkward(count);
        for (size_t i = 0; gb_dtype_is_whole(types[t]) && i < count; i++) x[i] = isfinite(x[i]) ? x[i] : -7;
        void *typed = converted(x, count, types[t]);
        op_case c = along(GB_OP_SORT, 1, types[t], shape3(q[0], q[1], q[2]), typed);
        c.o.attr.i[1] = descending;
        op_out(&c, 0, types[t], shape3(q[0], q[1], q[2])), op_out(&c, 1, GB_I64, shape3(q[0], q[1], q[2]));
        op_run_same_bits(&c);
        assert_ordered(&c, x, q[0], q[1], q[2], q[1], descending);
        op_free(&c);
        const size_t k = q[1] / 2;
        op_case top = along(GB_OP_TOPK, 1, types[t], shape3(q[0], q[1], q[2]), typed);
        top.o.attr.i[1] = (int64_t)k, top.o.attr.i[2] = descending;
        op_out(&top, 0, types[t], shape3(q[0], k, q[2])), op_out(&top, 1, GB_I64, shape3(q[0], k, q[2]));
        op_run_same_bits(&top);
        assert_ordered(&top, x, q[0], q[1], q[2], k, descending);
        op_free(&top);
        free(x), free(typed);
      }
}

static void i64_sorts_beyond_the_integers_of_f64 (void **state) {
  (void)state;
  const int64_t x[] = {INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1, 0}, want[] = {3, 4, 5, 2, 1};
  op_case c = along(GB_OP_SORT, 0, GB_I64, shape1(5), x);
  op_out(&c, 0, GB_I64, shape1(5)), op_out(&c, 1, GB_I64, shape1(5));
  assert_int_equal(op_run(&c), GB_OK);
  assert_memory_equal(c.out[1], want, sizeof want);
  op_free(&c);
}

static void running_sums_go_either_way (void **state) {
  (void)state;
  const gb_dtype types[] = {GB_F64, GB_F32, GB_BF16, GB_I64};
  for (int t = 0; t < 4; t++)
    for (int back = 0; back < 2; back++)
      for (int axis = 0; axis < 3; axis++) {
        const size_t dim[] = {3, 70, 65}, count = 3 * 70 * 65;
        double *x = random_normal(count, 4);
        for (size_t i = 0; i < count; i++) x[i] = floor(4 * x[i]); /* sums are exact in f32 */
        void *typed = converted(x, count, types[t]);
        op_case c = along(GB_OP_CUMSUM, axis, types[t], shape3(3, 70, 65), typed);
        c.o.attr.i[1] = back;
        op_out(&c, 0, types[t], shape3(3, 70, 65));
        op_run_same_bits(&c);
        const size_t stride = axis == 0 ? 70 * 65 : axis == 1 ? 65 : 1;
        for (size_t i = 0; i < count; i++) {
          const size_t at = i / stride % dim[axis];
          double want = 0;
          for (size_t j = back ? at : 0; j <= (back ? dim[axis] - 1 : at); j++)
            want += x[i - at * stride + j * stride];
          uint16_t rounded;
          gb_element_set(&rounded, 0, GB_BF16, want);
          if (types[t] == GB_BF16) want = gb_element_get(&rounded, 0, GB_BF16);
          assert_true(gb_element_get(c.out[0], i, types[t]) == want);
        }
        op_free(&c);
        free(x), free(typed);
      }
}

static void a_long_f32_sum_runs_in_f64 (void **state) {
  (void)state;
  const size_t n = 1000000;
  float *x = malloc(n * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = 0.1f;
  op_case c = along(GB_OP_CUMSUM, 0, GB_F32, shape1(n), x);
  op_out(&c, 0, GB_F32, shape1(n));
  assert_int_equal(op_run(&c), GB_OK);
  assert_true(((float *)c.out[0])[n - 1] == (float)(0.1f * 1e6));
  op_free(&c);
  free(x);
}

static void entries_are_taken_put_and_added_at_positions (void **state) {
  (void)state;
  const size_t n = 5, k = 4, outer = 2, inner = 3;
  const int64_t position[] = {5, 1, 5, 2};
  const int32_t narrow[] = {5, 1, 5, 2};
  double x[30], y[24];
  for (int i = 0; i < 30; i++) x[i] = i;
  for (int i = 0; i < 24; i++) y[i] = 100 + i;
  op_case take = along(GB_OP_INDEX, 1, GB_F64, shape3(outer, n, inner), x);
  op_in(&take, GB_I64, shape1(k), position);
  op_out(&take, 0, GB_F64, shape3(outer, k, inner));
  op_run_same_bits(&take);
  op_case put = along(GB_OP_PUT, 1, GB_F64, shape3(outer, n, inner), x);
  op_in(&put, GB_I64, shape1(k), position), op_in(&put, GB_F64, shape3(outer, k, inner), y);
  op_out(&put, 0, GB_F64, shape3(outer, n, inner));
  op_run_same_bits(&put);
  op_case add = put;
  add.o.op = GB_OP_INDEX_ADD;
  op_out(&add, 0, GB_F64, shape3(outer, n, inner));
  op_run_same_bits(&add);
  op_case as_i32[] = {take, put, add};
  for (int c = 0; c < 3; c++) {
    as_i32[c].o.in_dtype[1] = GB_I32;
    as_i32[c].in[1] = narrow;
    op_out(&as_i32[c], 0, GB_F64, shape3(outer, c == 0 ? k : n, inner));
    op_run_same_bits(&as_i32[c]);
  }
  assert_memory_equal(as_i32[0].out[0], take.out[0], outer * k * inner * sizeof(double));
  assert_memory_equal(as_i32[1].out[0], put.out[0], sizeof x);
  assert_memory_equal(as_i32[2].out[0], add.out[0], sizeof x);
  double want_put[30], want_add[30];
  memcpy(want_put, x, sizeof x), memcpy(want_add, x, sizeof x);
  for (size_t o = 0; o < outer; o++)
    for (size_t j = 0; j < k; j++)
      for (size_t i = 0; i < inner; i++) {
        const size_t at = (o * n + (size_t)position[j] - 1) * inner + i, from = (o * k + j) * inner + i;
        assert_true(((double *)take.out[0])[from] == x[at]);
        want_put[at] = y[from];
        want_add[at] += y[from];
      }
  assert_memory_equal(put.out[0], want_put, sizeof want_put);
  assert_memory_equal(add.out[0], want_add, sizeof want_add);
  op_free(&take), op_free(&put), op_free(&add);
  for (int c = 0; c < 3; c++) op_free(&as_i32[c]);
}

/* y joins x at positions 2, 2 and 1. */
static void joins (gb_op op, const double *x, const double *y, const double *want) {
  const gb_dtype types[] = {GB_F64, GB_F32, GB_F16, GB_BF16, GB_I64};
  const int64_t position[] = {2, 2, 1};
  for (int t = 0; t < 5; t++) {
    if (types[t] == GB_I64 && (isnan(x[0]) || isnan(y[0]))) continue;
    void *tx = converted(x, 3, types[t]), *ty = converted(y, 3, types[t]);
    op_case c = along(op, 0, types[t], shape1(3), tx);
    op_in(&c, GB_I64, shape1(3), position), op_in(&c, types[t], shape1(3), ty);
    op_out(&c, 0, types[t], shape1(3));
    assert_int_equal(op_run(&c), GB_OK);
    for (size_t i = 0; i < 3; i++) {
      const double got = gb_element_get(c.out[0], i, types[t]);
      assert_true(isnan(want[i]) ? isnan(got) : got == want[i]);
    }
    op_free(&c);
    free(tx), free(ty);
  }
}

static void entries_join_in_every_type (void **state) {
  (void)state;
  const double x[] = {1, 2, 3}, y[] = {-5, 20, -10};
  joins(GB_OP_INDEX_ADD, x, y, (double[]){-9, 17, 3});
  joins(GB_OP_INDEX_MAX, x, y, (double[]){1, 20, 3});
  joins(GB_OP_INDEX_MIN, x, y, (double[]){-10, -5, 3});
  const double hole[] = {NAN, 2, 3}, new_hole[] = {NAN, 7, 7};
  for (gb_op op = GB_OP_INDEX_MAX; op <= GB_OP_INDEX_MIN; op++) {
    joins(op, hole, y, (double[]){NAN, op == GB_OP_INDEX_MAX ? 20 : -5, 3});
    joins(op, x, new_hole, (double[]){op == GB_OP_INDEX_MAX ? 7 : 1, NAN, 3});
  }
}

static void positions_outside_the_axis_are_named (void **state) {
  (void)state;
  const double x[] = {1, 2, 3};
  const int64_t wrong[] = {0, 4, -1, INT64_MIN, INT64_MAX};
  const char *texts[] = {"position 0 (entry 2) is outside 1 .. 3", "position 4", "position -1", "position -",
                         "position 9"};
  for (int k = 0; k < 5; k++) {
    const int64_t position[] = {1, wrong[k]};
    op_case c = along(GB_OP_INDEX, 0, GB_F64, shape1(3), x);
    op_in(&c, GB_I64, shape1(2), position);
    op_out(&c, 0, GB_F64, shape1(2));
    assert_int_equal(op_run(&c), GB_EINDEX);
    if (strstr(op_error.text, texts[k]) == NULL) fail_msg("'%s' does not say '%s'", op_error.text, texts[k]);
    op_free(&c);
  }
  const int32_t narrow[] = {1, INT32_MIN};
  op_case c = along(GB_OP_INDEX, 0, GB_F64, shape1(3), x);
  op_in(&c, GB_I32, shape1(2), narrow);
  op_out(&c, 0, GB_F64, shape1(2));
  assert_int_equal(op_run(&c), GB_EINDEX);
  assert_non_null(strstr(op_error.text, "position -2147483648 (entry 2)"));
  op_free(&c);
}

static void tensors_are_joined_along_any_axis (void **state) {
  (void)state;
  double x[6 * 4];
  for (int i = 0; i < 24; i++) x[i] = i;
  op_case c = along(GB_OP_CAT, 1, GB_F64, shape2(2, 3), x);
  op_in(&c, GB_F64, shape2(2, 0), x), op_in(&c, GB_F64, shape2(2, 1), x + 10);
  op_out(&c, 0, GB_F64, shape2(2, 4));
  op_run_same_bits(&c);
  const double want[] = {0, 1, 2, 10, 3, 4, 5, 11};
  assert_memory_equal(c.out[0], want, sizeof want);
  op_free(&c);
}

static void more_than_four_tensors_are_joined_by_their_extents (void **state) {
  (void)state;
  const float x[] = {1, 2, 3, 4, 5, 6, 7};
  const size_t extent[] = {1, 2, 1, 1, 0, 2};
  const void *in[] = {x, x + 1, x + 3, x + 4, x, x + 5};
  op_case c = op_new(GB_OP_CAT);
  c.o.nin = 6;
  c.o.in_dtype[0] = GB_F32;
  c.o.extent = extent;
  op_out(&c, 0, GB_F32, shape1(7));
  assert_int_equal(op_device->ops->opaque(op_device, &c.o, in, c.out, NULL, &op_error), GB_OK);
  assert_memory_equal(c.out[0], x, sizeof x);
  op_free(&c);
}

static void long_rows_are_joined_in_pieces (void **state) {
  (void)state;
  const size_t n = 300001;
  double *x = random_normal(2 * n, 1);
  op_case c = along(GB_OP_CAT, 1, GB_F64, shape2(2, n), x);
  op_in(&c, GB_F64, shape2(2, 1), x);
  op_out(&c, 0, GB_F64, shape2(2, n + 1));
  op_run_same_bits(&c);
  const double *y = c.out[0];
  assert_memory_equal(y, x, n * sizeof *x);
  assert_memory_equal(y + n + 1, x + n, n * sizeof *x);
  assert_true(y[n] == x[0] && y[2 * n + 1] == x[1]);
  op_free(&c);
  free(x);
}

static void casts_round_saturate_and_keep_nan (void **state) {
  (void)state;
  const double x[] = {0.1, -2.7, 1e300, -1e300, NAN, 0x1p63, 65519.9, 3};
  const size_t n = sizeof x / sizeof x[0];
  for (gb_dtype from = GB_F64; from < GB_NDTYPES; from++)
    for (gb_dtype to = GB_F64; to < GB_NDTYPES; to++) {
      double tame[8];
      for (size_t i = 0; i < n; i++)
        tame[i] = gb_dtype_is_float(from) ? x[i] : (double)i - (from == GB_BOOL ? 0 : 3);
      void *typed = converted(tame, n, from), *want = malloc(n * 8);
      op_case c = op_new(GB_OP_CAST);
      op_in(&c, from, shape1(n), typed);
      op_out(&c, 0, to, shape1(n));
      op_run_same_bits(&c);
      for (size_t i = 0; i < n; i++) {
        double v = gb_element_get(typed, i, from);
        if (to == GB_I64) {
          const int64_t got = ((int64_t *)c.out[0])[i];
          assert_int_equal(got, isnan(v)      ? 0
                                : v >= 0x1p63 ? INT64_MAX
                                : v < -0x1p63 ? INT64_MIN
                                              : (int64_t)v);
          continue;
        }
        gb_element_set(want, i, to, v);
        v = to == GB_I32 ? isnan(v) ? 0 : fmin(fmax(trunc(v), -0x1p31), 0x1p31 - 1)
                         : gb_element_get(want, i, to);
        const double got = gb_element_get(c.out[0], i, to);
        if (!(got == v || (isnan(got) && isnan(v)))) fail_msg("%d to %d: %g, want %g", from, to, got, v);
      }
      op_free(&c);
      free(typed), free(want);
    }
}

static void i64_becomes_the_nearest_i32 (void **state) {
  (void)state;
  const int64_t x[] = {INT64_MIN, -(1ll << 31) - 1, -(1ll << 31), -1, (1ll << 31) - 1, 1ll << 31, INT64_MAX};
  const int32_t want[] = {INT32_MIN, INT32_MIN, INT32_MIN, -1, INT32_MAX, INT32_MAX, INT32_MAX};
  op_case c = op_new(GB_OP_CAST);
  op_in(&c, GB_I64, shape1(7), x);
  op_out(&c, 0, GB_I32, shape1(7));
  assert_int_equal(op_run(&c), GB_OK);
  assert_memory_equal(c.out[0], want, sizeof want);
  op_free(&c);
}

static void i64_becomes_f32_with_one_rounding (void **state) {
  (void)state;
  const int64_t x[] = {(1ll << 60) + (1ll << 36) + 1}; /* f64 loses the 1 and then the tie rounds down */
  op_case c = op_new(GB_OP_CAST);
  op_in(&c, GB_I64, shape1(1), x);
  op_out(&c, 0, GB_F32, shape1(1));
  assert_int_equal(op_run(&c), GB_OK);
  assert_true(*(float *)c.out[0] == 0x1p60f + 0x1p37f);
  op_free(&c);
}

static op_case sobol_case (gb_dtype t, size_t n, size_t d, int64_t seed) {
  op_case c = op_new(GB_OP_SOBOL);
  c.o.attr.i[0] = seed;
  op_out(&c, 0, t, shape2(n, d));
  return c;
}

static uint32_t bits_of (const double *x, size_t i) {
  return x[i] == 0x1p-33 ? 0 : (uint32_t)(x[i] * 0x1p32);
}

/* The shift cancels in the exclusive or of two points. */
static void sobol_points_are_those_of_joe_and_kuo (void **state) {
  (void)state;
  const double want[8][5] = {{0, 0, 0, 0, 0},
                             {.5, .5, .5, .5, .5},
                             {.75, .25, .25, .25, .75},
                             {.25, .75, .75, .75, .25},
                             {.375, .375, .625, .875, .375},
                             {.875, .875, .125, .375, .875},
                             {.625, .125, .875, .625, .625},
                             {.125, .625, .375, .125, .125}};
  op_case c = sobol_case(GB_F64, 8, 5, 42);
  op_run_same_bits(&c);
  const double *x = c.out[0];
  for (size_t i = 0; i < 8; i++)
    for (size_t d = 0; d < 5; d++)
      assert_int_equal(bits_of(x, i * 5 + d) ^ bits_of(x, d), (uint32_t)(want[i][d] * 0x1p32));
  op_free(&c);
}

static void sobol_projections_are_perfectly_spread (void **state) {
  (void)state;
  const size_t n = 4096, d = 21;
  op_case c = sobol_case(GB_F64, n, d, 7);
  op_run_same_bits(&c);
  const double *x = c.out[0];
  for (size_t k = 0; k < d; k++) {
    unsigned char *seen = calloc(n, 1);
    for (size_t i = 0; i < n; i++) {
      assert_true(x[i * d + k] > 0 && x[i * d + k] < 1);
      const size_t cell = (size_t)(x[i * d + k] * (double)n);
      assert_int_equal(seen[cell]++, 0);
    }
    free(seen);
  }
  size_t cells[64 * 64] = {0}; /* the first two dimensions are a net: one point a cell */
  for (size_t i = 0; i < n; i++) cells[(size_t)(x[i * d] * 64) * 64 + (size_t)(x[i * d + 1] * 64)]++;
  for (size_t i = 0; i < n; i++) assert_int_equal(cells[i], 1);
  op_free(&c);
}

static void sobol_in_f32_stays_inside_the_unit_interval (void **state) {
  (void)state;
  op_case c = sobol_case(GB_F32, 100000, 3, 1);
  assert_int_equal(op_run(&c), GB_OK);
  const float *x = c.out[0];
  for (size_t i = 0; i < 300000; i++) assert_true(x[i] > 0 && x[i] < 1);
  op_free(&c);
  op_case many = sobol_case(GB_F64, 1, 22, 1);
  assert_int_equal(op_run(&many), GB_EOPTION);
  assert_string_equal(op_error.text, "sobol: expected at most 21 dimensions, got 22");
  op_free(&many);
}

static void permutations_are_uniform_and_repeatable (void **state) {
  (void)state;
  size_t count[3][3] = {{0}};
  for (int64_t seed = 0; seed < 3000; seed++) {
    op_case c = op_new(GB_OP_RANDPERM);
    c.o.attr.i[0] = seed;
    op_out(&c, 0, GB_I64, shape1(3));
    assert_int_equal(op_run(&c), GB_OK);
    const int64_t *p = c.out[0];
    assert_int_equal(p[0] + p[1] + p[2], 6);
    assert_int_equal(p[0] * p[1] * p[2], 6);
    for (int i = 0; i < 3; i++) count[i][p[i] - 1]++;
    op_free(&c);
  }
  for (int i = 0; i < 9; i++) /* 1000 expected, deviation 26 */
    if (!(count[i / 3][i % 3] > 880 && count[i / 3][i % 3] < 1120))
      fail_msg("count %zu", count[i / 3][i % 3]);
}

static void empty_tensors_pass_through (void **state) {
  (void)state;
  const gb_op ops[] = {GB_OP_CAST, GB_OP_CUMSUM, GB_OP_CAT};
  for (int k = 0; k < 3; k++) {
    op_case c = along(ops[k], 0, GB_F64, shape2(0, 3), NULL);
    op_out(&c, 0, GB_F64, shape2(0, 3));
    assert_int_equal(op_run(&c), GB_OK);
    op_free(&c);
  }
  op_case p = op_new(GB_OP_RANDPERM);
  op_out(&p, 0, GB_I64, shape1(0));
  assert_int_equal(op_run(&p), GB_OK);
  op_free(&p);
}

static void every_opaque_op_has_a_function (void **state) {
  (void)state;
  for (gb_op op = 0; op < GB_NOPS; op++) {
    if (gb_ops[op].kind != GB_KIND_OPAQUE || op == GB_OP_CALL || op == GB_OP_MOVE)
      continue;             /* the run's own */
    op_case c = op_new(op); /* an empty vector of a type that linear algebra refuses */
    for (int i = 0; i < 3; i++) op_in(&c, GB_I64, shape1(0), &c);
    for (int i = 0; i < c.o.nout; i++) op_out(&c, i, GB_I64, shape1(0));
    const gb_status st = op_device->ops->opaque(op_device, &c.o, c.in, c.out, NULL, &op_error);
    if (st == GB_EINTERNAL) fail_msg("%s", op_error.text);
    op_free(&c);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sorting_is_stable_and_puts_nan_last),
      cmocka_unit_test(i64_sorts_beyond_the_integers_of_f64),
      cmocka_unit_test(running_sums_go_either_way),
      cmocka_unit_test(a_long_f32_sum_runs_in_f64),
      cmocka_unit_test(entries_are_taken_put_and_added_at_positions),
      cmocka_unit_test(entries_join_in_every_type),
      cmocka_unit_test(positions_outside_the_axis_are_named),
      cmocka_unit_test(tensors_are_joined_along_any_axis),
      cmocka_unit_test(more_than_four_tensors_are_joined_by_their_extents),
      cmocka_unit_test(long_rows_are_joined_in_pieces),
      cmocka_unit_test(casts_round_saturate_and_keep_nan),
      cmocka_unit_test(i64_becomes_f32_with_one_rounding),
      cmocka_unit_test(i64_becomes_the_nearest_i32),
      cmocka_unit_test(sobol_points_are_those_of_joe_and_kuo),
      cmocka_unit_test(sobol_projections_are_perfectly_spread),
      cmocka_unit_test(sobol_in_f32_stays_inside_the_unit_interval),
      cmocka_unit_test(permutations_are_uniform_and_repeatable),
      cmocka_unit_test(empty_tensors_pass_through),
      cmocka_unit_test(every_opaque_op_has_a_function),
  };
  return cmocka_run_group_tests(tests, start_device, stop_device);
}
