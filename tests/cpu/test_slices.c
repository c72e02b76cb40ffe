/* test_slices.c - dense algebra of a batch: every slice has the bytes of the op of its matrix alone, for any threads and
** any broadcasting, and the first slice that fails is named. */
#include <stdio.h>

#include "support/cpu/batch_cases.h"

static void compare (const batch_case *q, const void *a, const void *b) {
  op_case all = batch_new(q, a, b);
  op_run_same_bits(&all);
  for (size_t k = 0; k < gb_shape_numel(&q->lead); k++) {
    op_case one = slice_new(q, a, b, k);
    if (op_run(&one) != GB_OK) fail_msg("%s: %s", gb_ops[q->op].name, op_error.text);
    for (int i = 0; i < one.o.nout; i++)
      if (memcmp(one.out[i], (char *)all.out[i] + k * one.bytes[i], one.bytes[i]) != 0)
        fail_msg("%s of order %zu, %s: slice %zu has other bytes than alone", gb_ops[q->op].name, q->n,
                 gb_dtype_name(q->dtype), k);
    op_free(&one);
  }
  op_free(&all);
}

static bool tall (gb_op op) { return op == GB_OP_QR || op == GB_OP_SVD; }

static void a_slice_has_the_bytes_of_its_matrix_alone (void **state) {
  (void)state;
  static const size_t orders[][2] = {{0, 3}, {1, 100}, {3, 300}, {17, 40}, {65, 9}, {270, 3}};
  for (size_t i = 0; i < BATCH_OPS; i++)
    for (int t = 0; t < 2; t++)
      for (size_t e = 0; e < 6; e++) {
        const gb_shape lead = shape1(orders[e][1]);
        batch_case q = {batch_ops[i], t == 0 ? GB_F64 : GB_F32, orders[e][0], orders[e][0], 3, lead, lead,
                        lead};
        batch_with_numbers(&q, compare);
        if (tall(batch_ops[i])) q.m = (q.n + 1) / 2, batch_with_numbers(&q, compare);
      }
}

static void leading_axes_broadcast (void **state) {
  (void)state;
  const gb_shape none = {0}, three = shape1(3), one = shape1(1), pair = shape2(2, 3), column = shape2(2, 1),
                 empty = shape1(0);
  const gb_shape forms[][3] = {{three, none, three}, {none, three, three},  {one, three, three},
                               {pair, three, pair},  {column, three, pair}, {three, column, pair},
                               {empty, one, empty}};
  for (size_t i = 0; i < BATCH_OPS; i++)
    for (size_t f = 0; f < sizeof forms / sizeof forms[0] && batch_has_right(batch_ops[i]); f++)
      for (size_t n = 5; n < 300; n += 257) {
        const batch_case q = {batch_ops[i], GB_F64, n, n, 2, forms[f][0], forms[f][1], forms[f][2]};
        batch_with_numbers(&q, compare);
      }
}

/* Of two neighbours the first is the last of a task of 256, and the second the first of another: a thread finds that one long
** before. */
static void say_which_fails (size_t count, size_t n, bool window) {
  double *a = batch_matrices(count, n, n);
  const size_t first = count > 256 ? 255 : count / 2, bad[] = {first + 1, first};
  for (int i = 0; i < 2; i++) a[bad[i] * n * n + n + 1] = -1;
  op_case c = op_new(GB_OP_CHOLESKY);
  char want[160];
  op_in(&c, GB_F64, shape3(count, n, n), a);
  op_out(&c, 0, GB_F64, shape3(count, n, n));
  if (window) c.o.from[0] = 100, c.o.whole[0] = 1000;
  snprintf(want, sizeof want,
           "matrix %zu of %zu: the leading minor of order 2 of %zu is not positive (jitter 0)",
           bad[1] + 1 + (window ? 100 : 0), window ? 1000 : count, n);
  for (int threads = 1; threads <= 3; threads++) {
    assert_int_equal(gb_device_set_threads(op_device, threads, &op_error), GB_OK);
    assert_int_equal(op_run(&c), GB_ENOTPD);
    assert_string_equal(op_error.text, want);
    assert_int_equal(op_error.order, 2);
  }
  assert_int_equal(gb_device_set_threads(op_device, 2, &op_error), GB_OK);
  op_free(&c);
  free(a);
}

static void the_first_slice_that_fails_is_named (void **state) {
  (void)state;
  for (int turn = 0; turn < 20; turn++) say_which_fails(15000, 5, turn % 2);
  say_which_fails(4, 270, false);
  say_which_fails(4, 270, true);
}

/* Of A (2, 1, n, n) and b (3, n, 1) the result has 6 slices, and A 2 matrices. */
static void the_number_is_that_of_the_matrix (void **state) {
  (void)state;
  double a[] = {2, 0, 0, 2, 1, 0, 0, 0}, b[] = {1, 1, 1, 1, 1, 1};
  op_case c = op_new(GB_OP_LU_SOLVE);
  op_in(&c, GB_F64, gb_shape_of(4, (size_t[]){2, 1, 2, 2}), a);
  op_in(&c, GB_F64, shape3(3, 2, 1), b);
  op_out(&c, 0, GB_F64, gb_shape_of(4, (size_t[]){2, 3, 2, 1}));
  assert_int_equal(op_run(&c), GB_ENOTPD);
  assert_string_equal(op_error.text, "matrix 2 of 2: the matrix is singular: pivot 2 of 2 is zero");
  op_free(&c);
}

static void a_nan_is_named_with_its_matrix (void **state) {
  (void)state;
  double a[] = {2, 0, 0, 2, 1, 0, NAN, 1};
  op_case c = op_new(GB_OP_CHOLESKY);
  op_in(&c, GB_F64, shape3(2, 2, 2), a);
  op_out(&c, 0, GB_F64, shape3(2, 2, 2));
  assert_int_equal(op_run(&c), GB_ENAN);
  assert_string_equal(op_error.text, "matrix 2 of 2: expected finite entries, got nan in row 2, column 1");
  op_free(&c);
}

static void an_interrupt_ends_a_batch (void **state) {
  (void)state;
  for (size_t n = 5; n < 300; n += 265) {
    double *a = batch_matrices(20, n, n);
    op_case c = op_new(GB_OP_CHOLESKY);
    op_in(&c, GB_F64, shape3(20, n, n), a);
    op_out(&c, 0, GB_F64, shape3(20, n, n));
    gb_interrupt_raise();
    const gb_status st = op_run(&c);
    gb_interrupt_clear();
    assert_int_equal(st, GB_EINTR);
    op_free(&c);
    free(a);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_slice_has_the_bytes_of_its_matrix_alone),
      cmocka_unit_test(leading_axes_broadcast),
      cmocka_unit_test(the_first_slice_that_fails_is_named),
      cmocka_unit_test(the_number_is_that_of_the_matrix),
      cmocka_unit_test(a_nan_is_named_with_its_matrix),
      cmocka_unit_test(an_interrupt_ends_a_batch),
  };
  return cmocka_run_group_tests(tests, start_device, stop_device);
}
