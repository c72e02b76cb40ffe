/* test_packed.c - packed lower triangles: where their tiles lie, and that factors, solves, determinants
** and inverses have the bits and the errors of the square layout. */
#include "program/packed.h"
#include "support/cpu/opaque_fixture.h"

static const size_t sizes[] = {0, 1, 2, 63, 64, 255, 256, 257, 511, 512, 700, 1025};
#define NSIZES (sizeof sizes / sizeof sizes[0])
static const gb_dtype dtypes[] = {GB_F64, GB_F32};

#define EACH(t, n)                                                                                           \
  for (size_t t##_ = 0; t##_ < 2; t##_++)                                                                    \
    for (size_t n##_ = 0; n##_ < NSIZES; n##_++)                                                             \
      for (size_t n = sizes[n##_], once_ = 1; once_; once_ = 0)                                              \
        for (gb_dtype t = dtypes[t##_], *p_ = &t; p_ != NULL; p_ = NULL)

static size_t smaller (size_t a, size_t b) { return a < b ? a : b; }

/* Calls visit for the rows of the tiles of a triangle in the order of the definition: 'at' counts
** elements. */
typedef void row_fn (void *ud, size_t at, size_t row, size_t column, size_t count);

static size_t each_row (size_t n, row_fn *visit, void *ud) {
  size_t at = 0;
  for (size_t i = 0; i < n; i += GB_BLOCK)
    for (size_t j = 0; j <= i; j += GB_BLOCK)
      for (size_t row = i; row < smaller(n, i + GB_BLOCK); row++) {
        const size_t count = smaller(n - j, GB_BLOCK);
        visit(ud, at, row, j, count);
        at += count;
      }
  return at;
}

typedef struct layouts {
  size_t n, size;
  char *square, *packed;
} layouts;

static void pack_row (void *ud, size_t at, size_t row, size_t column, size_t count) {
  const layouts *q = ud;
  memcpy(q->packed + at * q->size, q->square + (row * q->n + column) * q->size, count * q->size);
}

static void compare_row (void *ud, size_t at, size_t row, size_t column, size_t count) {
  const layouts *q = ud;
  if (memcmp(q->packed + at * q->size, q->square + (row * q->n + column) * q->size, count * q->size) != 0)
    fail_msg("n = %zu, %zu bytes: row %zu differs in columns %zu to %zu", q->n, q->size, row, column,
             column + count);
}

static void *packed_from (const void *square, size_t n, gb_dtype t) {
  layouts q = {n, gb_dtype_size(t), (char *)(uintptr_t)square, guarded_new(gb_packed_bytes(n, t))};
  each_row(n, pack_row, &q);
  return q.packed;
}

static void packed_free (void *p, size_t n, gb_dtype t) { guarded_free(p, gb_packed_bytes(n, t)); }

/* Every byte of the packed matrix is that of the square one. */
static void assert_packed (const void *packed, const void *square, size_t n, gb_dtype t) {
  layouts q = {n, gb_dtype_size(t), (char *)(uintptr_t)square, (char *)(uintptr_t)packed};
  assert_int_equal(each_row(n, compare_row, &q) * q.size, gb_packed_bytes(n, t));
}

typedef struct visits {
  size_t n, *rows;
} visits;

static void check_row (void *ud, size_t at, size_t row, size_t column, size_t count) {
  visits *q = ud;
  const size_t i = row / GB_BLOCK, j = column / GB_BLOCK;
  assert_true(gb_packed_tile(q->n, i, j) + row % GB_BLOCK * count == at);
  q->rows[row] += count;
}

static void tiles_are_disjoint_and_cover_the_triangle (void **state) {
  (void)state;
  for (size_t n = 0; n < 1600; n += n < 10 ? 1 : 51) {
    size_t *rows = calloc(n + 1, sizeof *rows), twice = n * n;
    visits q = {.n = n, .rows = rows};
    const size_t count = each_row(n, check_row, &q); /* each row begins where the one before ended */
    for (size_t i = 0; i < n; i++) assert_true(rows[i] == smaller(n, (i / GB_BLOCK + 1) * GB_BLOCK));
    for (size_t i = 0; i < n; i += GB_BLOCK) twice += smaller(n - i, GB_BLOCK) * smaller(n - i, GB_BLOCK);
    assert_int_equal(gb_packed_bytes(n, GB_F64), 8 * count);
    assert_int_equal(gb_packed_bytes(n, GB_F32), 4 * twice / 2);
    free(rows);
  }
}

static void sizes_past_the_address_space_are_told (void **state) {
  (void)state;
  const size_t n = (size_t)1 << 31;
  assert_true(gb_packed_bytes(n, GB_F32) == ((size_t)1 << 63) + ((size_t)1 << 40));
  assert_true(gb_packed_bytes(n, GB_F64) == SIZE_MAX);
  assert_true(gb_packed_bytes(2 * n, GB_F32) == SIZE_MAX);
  assert_true(gb_packed_bytes(2 * n - 1, GB_F16) == SIZE_MAX);
  assert_true(gb_packed_bytes(SIZE_MAX, GB_F32) == SIZE_MAX);
}

static void *matrix (size_t n, gb_dtype t) {
  double *wide = spd_matrix(n, 100, 7 * n + 1);
  void *a = converted(wide, n * n, t);
  free(wide);
  return a;
}

static op_case factor_case (gb_op op, gb_dtype t, size_t n, const void *a, bool packed) {
  op_case c = op_new(op);
  op_in(&c, t, shape2(n, n), a);
  c.o.packed = packed;
  return c;
}

static void packed_out (op_case *c, gb_dtype t, size_t n) {
  c->o.out_dtype[0] = t;
  c->o.out_shape[0] = shape2(n, n);
  c->bytes[0] = gb_packed_bytes(n, t);
  c->out[0] = guarded_new(c->bytes[0]);
}

/* The square and the packed factor of the same matrix. */
static void factors_of (gb_dtype t, size_t n, op_case *square, op_case *packed) {
  void *a = matrix(n, t), *p = packed_from(a, n, t);
  *square = factor_case(GB_OP_CHOLESKY, t, n, a, false);
  *packed = factor_case(GB_OP_CHOLESKY, t, n, p, true);
  square->o.attr.f[0] = packed->o.attr.f[0] = 0.125;
  op_out(square, 0, t, shape2(n, n)), packed_out(packed, t, n);
  assert_int_equal(op_run(square), GB_OK);
  op_run_same_bits(packed);
  assert_packed(packed->out[0], square->out[0], n, t);
  free(a), packed_free(p, n, t);
}

static void factors_have_the_bits_of_the_square_layout (void **state) {
  (void)state;
  EACH(t, n) {
    op_case square, packed;
    factors_of(t, n, &square, &packed);
    op_free(&square), op_free(&packed);
  }
}

static void a_factor_takes_the_place_of_its_matrix (void **state) {
  (void)state;
  EACH(t, n) for (int p = 0; p < 2; p++) {
    void *a = matrix(n, t);
    op_case apart = factor_case(GB_OP_CHOLESKY, t, n, a, false);
    op_out(&apart, 0, t, shape2(n, n));
    assert_int_equal(op_run(&apart), GB_OK);
    op_case c = factor_case(GB_OP_CHOLESKY, t, n, NULL, p);
    if (p) packed_out(&c, t, n);
    else op_out(&c, 0, t, shape2(n, n));
    layouts q = {n, gb_dtype_size(t), a, c.out[0]};
    if (p) each_row(n, pack_row, &q);
    else memcpy(c.out[0], a, c.bytes[0]);
    c.in[0] = c.out[0];
    assert_int_equal(op_run(&c), GB_OK);
    if (p) assert_packed(c.out[0], apart.out[0], n, t);
    else assert_memory_equal(c.out[0], apart.out[0], c.bytes[0]);
    op_free(&apart), op_free(&c);
    free(a);
  }
}

/* The op on both factors with right-hand sides (n, r), (n) if r = 1; its outputs have the same bits. */
static void assert_same (gb_op op, const op_case *square, const op_case *packed, const void *b, size_t r,
                         bool trans) {
  const gb_dtype t = square->o.in_dtype[0];
  const size_t n = square->o.in_shape[0].dim[0];
  const gb_shape rhs = r == 1 ? shape1(n) : shape2(n, r);
  op_case c[2];
  for (int p = 0; p < 2; p++) {
    c[p] = factor_case(op, t, n, p ? packed->out[0] : square->out[0], p);
    if (b != NULL) op_in(&c[p], t, rhs, b);
    c[p].o.attr.i[1] = trans;
    op_out(&c[p], 0, t, op == GB_OP_TRISOLVE || op == GB_OP_SOLVE_CHOL ? rhs : gb_shape_of(0, NULL));
    if (p) op_run_same_bits(&c[p]);
    else assert_int_equal(op_run(&c[p]), GB_OK);
  }
  if (memcmp(c[0].out[0], c[1].out[0], c[0].bytes[0]) != 0)
    fail_msg("%s differs: n = %zu, r = %zu, %s%s", gb_ops[op].name, n, r, gb_dtype_name(t),
             trans ? ", transposed" : "");
  op_free(&c[0]), op_free(&c[1]);
}

static void what_is_computed_from_a_factor_has_the_same_bits (void **state) {
  (void)state;
  const size_t columns[] = {1, 3, 70, 257};
  EACH(t, n) {
    op_case square, packed;
    factors_of(t, n, &square, &packed);
    assert_same(GB_OP_LOGDET, &square, &packed, NULL, 0, false);
    for (size_t k = 0; k < 4; k++) {
      double *wide = random_normal(n * columns[k], n + k);
      void *b = converted(wide, n * columns[k], t);
      assert_same(GB_OP_TRISOLVE, &square, &packed, b, columns[k], false);
      assert_same(GB_OP_TRISOLVE, &square, &packed, b, columns[k], true);
      assert_same(GB_OP_SOLVE_CHOL, &square, &packed, b, columns[k], false);
      assert_same(GB_OP_INV_QUAD, &square, &packed, b, columns[k], false);
      free(wide), free(b);
    }
    op_free(&square), op_free(&packed);
  }
}

/* Packed to square, packed to packed, and packed where the factor was. */
static void inverses_have_the_same_bits_in_every_layout (void **state) {
  (void)state;
  EACH(t, n) {
    op_case square, packed;
    factors_of(t, n, &square, &packed);
    op_case want = factor_case(GB_OP_CHOL_INVERSE, t, n, square.out[0], false);
    op_case wide = factor_case(GB_OP_CHOL_INVERSE, t, n, packed.out[0], true), half = wide;
    op_out(&want, 0, t, shape2(n, n)), op_out(&wide, 0, t, shape2(n, n)), packed_out(&half, t, n);
    half.o.packed_inverse = true;
    assert_int_equal(op_run(&want), GB_OK);
    op_run_same_bits(&wide);
    assert_memory_equal(wide.out[0], want.out[0], want.bytes[0]);
    op_run_same_bits(&half);
    assert_packed(half.out[0], want.out[0], n, t);
    for (int threads = 1; threads <= 3; threads++) {
      assert_int_equal(gb_device_set_threads(op_device, threads, &op_error), GB_OK);
      op_case place = half;
      memcpy(half.out[0], packed.out[0], half.bytes[0]);
      place.in[0] = half.out[0];
      assert_int_equal(op_run(&place), GB_OK);
      assert_packed(half.out[0], want.out[0], n, t);
    }
    assert_int_equal(gb_device_set_threads(op_device, 2, &op_error), GB_OK);
    op_free(&want), op_free(&wide), op_free(&half), op_free(&square), op_free(&packed);
  }
}

/* The identity of order n but for two entries of its lower triangle, in both layouts: the same failure. */
static void assert_same_failure (size_t n, const size_t at[2][2], double value, gb_status want) {
  double *a = calloc(n * n, sizeof *a);
  for (size_t i = 0; i < n; i++) a[i * n + i] = 1;
  for (int k = 0; k < 2; k++) a[at[k][0] * n + at[k][1]] = value;
  double *p = packed_from(a, n, GB_F64);
  char text[sizeof op_error.text];
  for (int threads = 1; threads <= 3; threads++) {
    gb_device_set_threads(op_device, threads, &op_error);
    for (int packed = 0; packed < 2; packed++) {
      op_case c = factor_case(GB_OP_CHOLESKY, GB_F64, n, packed ? p : a, packed);
      if (packed) packed_out(&c, GB_F64, n);
      else op_out(&c, 0, GB_F64, shape2(n, n));
      assert_int_equal(op_run(&c), want);
      if (packed) assert_string_equal(op_error.text, text);
      else memcpy(text, op_error.text, sizeof text);
      op_free(&c);
    }
  }
  gb_device_set_threads(op_device, 2, &op_error);
  packed_free(p, n, GB_F64), free(a);
}

static void failures_are_told_in_the_same_words (void **state) {
  (void)state;
  const size_t minors[][2][2] = {{{0, 0}, {0, 0}},
                                 {{255, 255}, {600, 600}},
                                 {{256, 256}, {257, 257}},
                                 {{699, 699}, {699, 699}},
                                 {{512, 512}, {513, 513}}};
  for (size_t k = 0; k < sizeof minors / sizeof minors[0]; k++)
    assert_same_failure(700, minors[k], k % 2 ? 0 : -1, GB_ENOTPD);
  const size_t entries[][2][2] = {{{0, 0}, {699, 0}},
                                  {{300, 10}, {300, 290}},
                                  {{300, 256}, {300, 255}},
                                  {{699, 511}, {699, 512}},
                                  {{255, 0}, {256, 0}}};
  for (size_t k = 0; k < sizeof entries / sizeof entries[0]; k++)
    assert_same_failure(700, entries[k], k % 2 ? INFINITY : NAN, GB_ENAN);
  assert_same_failure(1, minors[0], -2, GB_ENOTPD);
}

static void only_the_lower_triangle_of_a_diagonal_tile_is_read (void **state) {
  (void)state;
  const size_t n = 300;
  double *a = matrix(n, GB_F64), *clean = packed_from(a, n, GB_F64);
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++) a[i * n + j] = NAN;
  double *p = packed_from(a, n, GB_F64);
  op_case c[2];
  for (int k = 0; k < 2; k++) {
    c[k] = factor_case(GB_OP_CHOLESKY, GB_F64, n, k ? p : clean, true);
    packed_out(&c[k], GB_F64, n);
    assert_int_equal(op_run(&c[k]), GB_OK);
  }
  assert_memory_equal(c[0].out[0], c[1].out[0], c[0].bytes[0]);
  op_free(&c[0]), op_free(&c[1]);
  packed_free(clean, n, GB_F64), packed_free(p, n, GB_F64), free(a);
}

static void assert_no_form (op_case *c) {
  assert_int_equal(op_run(c), GB_EINTERNAL);
  assert_non_null(strstr(op_error.text, "has no such packed form"));
  op_free(c);
}

static void forms_that_do_not_exist_are_refused (void **state) {
  (void)state;
  const double a[] = {1, 0, 0, 1};
  op_case upper = factor_case(GB_OP_TRISOLVE, GB_F64, 2, a, true);
  op_in(&upper, GB_F64, shape1(2), a), op_out(&upper, 0, GB_F64, shape1(2));
  upper.o.attr.i[0] = 1;
  assert_no_form(&upper);
  op_case sum = factor_case(GB_OP_CUMSUM, GB_F64, 2, a, true);
  op_out(&sum, 0, GB_F64, shape2(2, 2));
  assert_no_form(&sum);
  op_case inverse = factor_case(GB_OP_CHOL_INVERSE, GB_F64, 2, a, false);
  op_out(&inverse, 0, GB_F64, shape2(2, 2));
  inverse.o.packed_inverse = true;
  assert_no_form(&inverse);
}

static void an_interrupt_ends_every_packed_op (void **state) {
  (void)state;
  const size_t n = 700;
  op_case square, packed;
  factors_of(GB_F64, n, &square, &packed);
  const gb_op ops[] = {GB_OP_CHOLESKY, GB_OP_CHOL_INVERSE, GB_OP_SOLVE_CHOL};
  for (int k = 0; k < 3; k++) {
    op_case c = factor_case(ops[k], GB_F64, n, packed.out[0], true);
    if (k == 2) op_in(&c, GB_F64, shape1(n), square.out[0]), op_out(&c, 0, GB_F64, shape1(n));
    else packed_out(&c, GB_F64, n);
    c.o.packed_inverse = k == 1;
    gb_interrupt_raise();
    const gb_status st = op_run(&c);
    gb_interrupt_clear();
    assert_int_equal(st, GB_EINTR);
    op_free(&c);
  }
  op_free(&square), op_free(&packed);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_are_disjoint_and_cover_the_triangle),
      cmocka_unit_test(sizes_past_the_address_space_are_told),
      cmocka_unit_test(factors_have_the_bits_of_the_square_layout),
      cmocka_unit_test(a_factor_takes_the_place_of_its_matrix),
      cmocka_unit_test(what_is_computed_from_a_factor_has_the_same_bits),
      cmocka_unit_test(inverses_have_the_same_bits_in_every_layout),
      cmocka_unit_test(failures_are_told_in_the_same_words),
      cmocka_unit_test(only_the_lower_triangle_of_a_diagonal_tile_is_read),
      cmocka_unit_test(forms_that_do_not_exist_are_refused),
      cmocka_unit_test(an_interrupt_ends_every_packed_op),
  };
  return cmocka_run_group_tests(tests, start_device, stop_device);
}
