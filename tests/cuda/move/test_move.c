/* Ops that move elements, on a GPU and on the CPU: the same bytes, whatever the type, the axis and the
** extents; and the same words about positions outside an axis. */
#include "cuda/support/dense_fixture.h"

static const gb_dtype types[] = {GB_F64, GB_F32, GB_F16, GB_BF16, GB_I64, GB_BOOL, GB_I32};
#define NTYPES (sizeof types / sizeof *types)

/* Values with infinities, signed zeros and NaN among them. */
static double *awkward (size_t n) {
  static const double odd[] = {INFINITY, -INFINITY, -0.0, 0x1p-140, 65520, 1e30, -1e300, 0x1p62};
  double *x = random_normal(n, n + 3);
  for (size_t i = 0; i < n; i += 3) x[i] = i % 2 == 0 ? odd[i / 3 % 8] : 1000 * x[i];
  return x;
}

/* n elements of a type; integers and booleans of finite numbers. */
static void *elements (size_t n, gb_dtype t) {
  double *x = awkward(n);
  for (size_t i = 0; i < n && !gb_dtype_is_float(t); i++)
    x[i] = isfinite(x[i]) && fabs(x[i]) < 1e6 ? x[i] : 7;
  void *y = converted(x, n, t);
  free(x);
  return y;
}

static const size_t extents[] = {0, 1, 3, 17, 300};
#define NEXTENTS (sizeof extents / sizeof *extents)

/* -- conversion */

static void casts_have_the_bits_of_the_cpu (void **state) {
  (void)state;
  for (size_t a = 0; a < NTYPES; a++)
    for (size_t b = 0; b < NTYPES; b++)
      for (size_t e = 0; e < NEXTENTS; e++) {
        void *x = elements(extents[e], types[a]);
        op_case c = op_new(GB_OP_CAST);
        op_in(&c, types[a], shape1(extents[e]), x);
        op_out(&c, 0, types[b], shape1(extents[e]));
        assert_same_bytes(&c, -1);
        free(x);
      }
}

static void casts_saturate_and_round_once (void **state) {
  const double wide[] = {NAN, INFINITY, -INFINITY, 0x1p63, -0x1p63, 1.9, -1.9, 0x1p62};
  const int64_t whole[] = {INT64_MAX, INT64_MIN, ((int64_t)1 << 54) + 1, 0x100000100000001, -1};
  (void)state;
  op_case c = op_new(GB_OP_CAST);
  op_in(&c, GB_F64, shape1(8), wide);
  op_out(&c, 0, GB_I64, shape1(8));
  assert_same_bytes(&c, -1);
  c = op_new(GB_OP_CAST);
  op_in(&c, GB_F64, shape1(8), wide);
  op_out(&c, 0, GB_I32, shape1(8));
  assert_same_bytes(&c, -1);
  static const gb_dtype to[] = {GB_F32, GB_I64, GB_I32};
  for (int t = 0; t < 3; t++) {
    c = op_new(GB_OP_CAST);
    op_in(&c, GB_I64, shape1(5), whole);
    op_out(&c, 0, to[t], shape1(5));
    assert_same_bytes(&c, -1);
  }
}

/* -- joining */

static void joined_tensors_are_equal (void **state) {
  (void)state;
  for (size_t a = 0; a < NTYPES; a++)
    for (int64_t axis = 0; axis < 3; axis++)
      for (size_t extra = 0; extra < 6; extra += 5) {
        gb_shape s[3], out = shape3(3, 5, 7);
        void *x[3];
        op_case c = op_new(GB_OP_CAT);
        c.o.attr.i[0] = axis;
        out.dim[axis] = 0;
        for (size_t i = 0; i < 3; i++) {
          s[i] = shape3(3, 5, 7);
          s[i].dim[axis] = i * extra;
          out.dim[axis] += i * extra;
          x[i] = elements(gb_shape_numel(&s[i]), types[a]);
          op_in(&c, types[a], s[i], x[i]);
        }
        op_out(&c, 0, types[a], out);
        assert_same_bytes(&c, -1);
        for (int i = 0; i < 3; i++) free(x[i]);
      }
}

/* -- running sums */

static void running_sums_have_the_bits_of_the_cpu (void **state) {
  (void)state;
  for (size_t a = 0; a < NTYPES; a++)
    for (size_t e = 0; e < NEXTENTS; e++)
      for (int way = 0; way < 4; way++) {
        const int64_t axis = way / 2;
        const gb_shape s = axis == 0 ? shape2(extents[e], 3) : shape2(3, extents[e]);
        double *x = random_normal(3 * extents[e], e);
        void *y = converted(x, 3 * extents[e], types[a]);
        op_case c = op_new(GB_OP_CUMSUM);
        c.o.attr.i[0] = axis;
        c.o.attr.i[1] = way % 2;
        op_in(&c, types[a], s, y);
        op_out(&c, 0, types[a], s);
        assert_same_bytes(&c, -1);
        free(x);
        free(y);
      }
}

/* -- positions */

/* x (2, n, inner), so that axis 1 has entries before and behind it. */
static void at_positions (gb_op op, gb_dtype t, gb_dtype of, size_t n, size_t inner, size_t count) {
  const gb_shape whole = shape3(2, n, inner), some = shape3(2, count, inner);
  void *position = malloc((count + 1) * sizeof(int64_t));
  for (size_t i = 0; i < count; i++) gb_element_set(position, i, of, (double)(1 + i * i * 5 % n));
  double *x = random_normal(2 * n * inner, n), *y = random_normal(2 * count * inner, count);
  void *xt = converted(x, 2 * n * inner, t), *yt = converted(y, 2 * count * inner, t);
  op_case c = op_new(op);
  c.o.attr.i[0] = 1;
  op_in(&c, t, whole, xt);
  op_in(&c, of, shape1(count), position);
  if (op != GB_OP_INDEX) op_in(&c, t, some, yt);
  op_out(&c, 0, t, op == GB_OP_INDEX ? some : whole);
  assert_same_bytes(&c, -1);
  free(position);
  free(x), free(y), free(xt), free(yt);
}

static const gb_op ops_at_positions[] = {GB_OP_INDEX, GB_OP_PUT, GB_OP_INDEX_ADD, GB_OP_INDEX_MAX,
                                         GB_OP_INDEX_MIN};
enum { NAT = sizeof ops_at_positions / sizeof *ops_at_positions };

static bool has_op (gb_op op, gb_dtype t) { return t != GB_BOOL || op < GB_OP_INDEX_MAX; }

static void entries_are_taken_put_and_joined (void **state) {
  (void)state;
  for (int k = 0; k < NAT; k++)
    for (size_t a = 0; a < NTYPES; a++)
      for (size_t e = 0; e < NEXTENTS && has_op(ops_at_positions[k], types[a]); e++) {
        at_positions(ops_at_positions[k], types[a], GB_I64, 29, 1, extents[e]);
        at_positions(ops_at_positions[k], types[a], GB_I32, 5, 7, extents[e]);
        at_positions(ops_at_positions[k], types[a], GB_I64, 301, 3, extents[e]);
        at_positions(ops_at_positions[k], types[a], GB_I32, 3, 0, extents[e]);
      }
}

static void positions_outside_the_axis_are_named (void **state) {
  const int64_t bad[] = {0, 8, -1, INT64_MAX, INT64_MIN};
  double x[7] = {1, 2, 3, 4, 5, 6, 7};
  (void)state;
  for (int k = 0; k < NAT; k++)
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      const int64_t position[] = {7, 1, bad[i], 3, bad[(i + 1) % 5]};
      op_case c = op_new(ops_at_positions[k]);
      op_in(&c, GB_F64, shape1(7), x);
      op_in(&c, GB_I64, shape1(5), position);
      if (k > 0) op_in(&c, GB_F64, shape1(5), x);
      op_out(&c, 0, GB_F64, shape1(k == 0 ? 5 : 7));
      assert_same_failure(&c, GB_EINDEX, "(entry 3) is outside 1 .. 7");
    }
  const int32_t narrow[] = {7, 1, -8, 3};
  op_case c = op_new(GB_OP_INDEX);
  op_in(&c, GB_F64, shape1(7), x);
  op_in(&c, GB_I32, shape1(4), narrow);
  op_out(&c, 0, GB_F64, shape1(4));
  assert_same_failure(&c, GB_EINDEX, "position -8 (entry 3) is outside 1 .. 7");
}

static void every_row_runs_or_stays_home_with_a_reason (void **state) {
  const gb_op home[] = {GB_OP_MOVE, GB_OP_SORT, GB_OP_TOPK, GB_OP_SOBOL, GB_OP_RANDPERM, GB_OP_CALL};
  (void)state;
  assert_rows_are_covered(false, home, sizeof home / sizeof *home);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(casts_have_the_bits_of_the_cpu),
      cmocka_unit_test(casts_saturate_and_round_once),
      cmocka_unit_test(joined_tensors_are_equal),
      cmocka_unit_test(running_sums_have_the_bits_of_the_cpu),
      cmocka_unit_test(entries_are_taken_put_and_joined),
      cmocka_unit_test(positions_outside_the_axis_are_named),
      cmocka_unit_test(every_row_runs_or_stays_home_with_a_reason),
  };
  return RUN_FAR_TESTS("move", tests);
}
