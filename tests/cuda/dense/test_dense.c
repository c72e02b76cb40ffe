/* Dense linear algebra on a GPU against the CPU: the same errors, results within n eps times their norm, and
** the same bits where arithmetic is exact. */
#include "cuda/support/dense_fixture.h"
#include "support/cpu/batch_cases.h"

static const gb_dtype types[] = {GB_F64, GB_F32};

static void *of_type (double *x, size_t n, gb_dtype t) {
  void *y = converted(x, n, t);
  free(x);
  return y;
}

/* -- products. Of dyadic numbers of few bits all sums are exact. */

typedef struct shapes {
  gb_shape a, b, out;
} shapes;

static op_case product (gb_dtype t, const shapes *s, const void *a, const void *b) {
  op_case c = op_new(GB_OP_GEMM);
  op_in(&c, t, s->a, a);
  op_in(&c, t, s->b, b);
  op_out(&c, 0, t, s->out);
  return c;
}

static void assert_exact_product (gb_dtype t, const shapes *s, size_t block) {
  void *a = of_type(dyadic(gb_shape_numel(&s->a), 1), gb_shape_numel(&s->a), t);
  void *b = of_type(dyadic(gb_shape_numel(&s->b), 2), gb_shape_numel(&s->b), t);
  op_case c = product(t, s, a, b);
  for (int i = 0; i < 3; i++) c.o.block[i] = block;
  assert_same_values(&c, -1);
  free(a), free(b);
}

static void dyadic_products_are_exact (void **state) {
  static const size_t n[] = {0, 1, 3, 16, 17, 65, 130};
  (void)state;
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < 7; i++)
      for (int j = 0; j < 7; j++) {
        const size_t k = n[(i + 2 * j) % 7];
        const shapes s = {shape2(n[i], k), shape2(k, n[j]), shape2(n[i], n[j])};
        assert_exact_product(types[t], &s, 0);
        assert_exact_product(types[t], &s, 32);
      }
}

static void batches_broadcast (void **state) {
  (void)state;
  for (int t = 0; t < 2; t++)
    for (size_t n = 0; n < 300; n = n == 0 ? 1 : n * 6 + 1) {
      const gb_shape four = gb_shape_of(4, (size_t[]){2, 1, n, 5}),
                     out = gb_shape_of(4, (size_t[]){2, 3, n, 4});
      const shapes s[] = {{shape3(4, n, 5), shape3(4, 5, 3), shape3(4, n, 3)},
                          {shape3(1, n, 5), shape3(4, 5, 3), shape3(4, n, 3)},
                          {shape3(4, n, 5), shape2(5, 3), shape3(4, n, 3)},
                          {shape2(n, 5), shape3(3, 5, 300), shape3(3, n, 300)},
                          {four, shape3(3, 5, 4), out}};
      for (int i = 0; i < 5; i++) assert_exact_product(types[t], &s[i], 0);
    }
}

/* Matrices with other elements between their rows and between them, and a result that is added to. */
static void strides_and_sums_into_a_result (void **state) {
  const size_t n = 5, k = 7, m = 6;
  (void)state;
  for (int t = 0; t < 2; t++)
    for (size_t batch = 1; batch < 4; batch += 2)
      for (int adds = 0; adds < 2; adds++) {
        const size_t rows[3] = {k + 2, m + 1, m + 3};
        const size_t matrices[3] = {n * rows[0] + 5, k * rows[1], n * rows[2] + 1};
        const shapes s = {shape3(batch, n, k), shape3(batch, k, m), shape1(matrices[2] * batch)};
        void *a = of_type(dyadic(matrices[0] * batch, 1), matrices[0] * batch, types[t]);
        void *b = of_type(dyadic(matrices[1] * batch, 2), matrices[1] * batch, types[t]);
        void *z = of_type(dyadic(matrices[2] * batch, 3), matrices[2] * batch, types[t]);
        op_case c = product(types[t], &s, a, b);
        c.o.out_shape[0] = shape3(batch, n, m);
        if (adds) memcpy(c.out[0], z, c.bytes[0]);
        c.o.continues = adds;
        memcpy(c.o.row, rows, sizeof rows);
        memcpy(c.o.matrix, matrices, sizeof matrices);
        for (int i = 0; i < 2; i++) far_room[i] = matrices[i] * batch * gb_dtype_size(types[t]);
        assert_same_values(&c, -1);
        far_room[0] = far_room[1] = 0;
        free(a), free(b), free(z);
      }
}

/* Rows 64 .. of a product alone have the bits that they have in the whole one. */
static void windows_do_not_change_bits (void **state) {
  const size_t n = 100, k = 90, m = 50, first = 64;
  (void)state;
  for (int t = 0; t < 2; t++) {
    const size_t size = gb_dtype_size(types[t]), bytes = (n - first) * m * size;
    char *a = of_type(random_normal(n * k, 1), n * k, types[t]);
    void *b = of_type(random_normal(k * m, 2), k * m, types[t]);
    const shapes whole = {shape2(n, k), shape2(k, m), shape2(n, m)};
    const shapes part = {shape2(n - first, k), shape2(k, m), shape2(n - first, m)};
    op_case c = product(types[t], &whole, a, b), d = product(types[t], &part, a + first * k * size, b);
    for (int i = 0; i < 3; i++) c.o.block[i] = d.o.block[i] = 32;
    far_run all = run_both(&c, -1), some = run_both(&d, -1);
    assert_both_run(&c, &all);
    assert_both_run(&d, &some);
    assert_memory_equal((char *)all.out[0] + first * m * size, some.out[0], bytes);
    const double bound = 8 * (double)k * unit_of(types[t]);
    assert_true(distance(c.out[0], all.out[0], n * m, types[t]) <= bound * 10);
    end_both(&c, &all);
    end_both(&d, &some);
    free(a), free(b);
  }
}

/* -- symmetric and triangular matrices */

static const size_t orders[] = {0, 1, 2, 3, 17, 64, 131};
#define NORDERS (sizeof orders / sizeof *orders)

/* The shape of r right-hand sides, 0: a vector. */
static gb_shape right (size_t n, size_t r) { return r == 0 ? shape1(n) : shape2(n, r); }
static size_t columns (size_t r) { return r == 0 ? 1 : r; }

static op_case with_matrix (gb_op op, gb_dtype t, gb_shape s, const void *a) {
  op_case c = op_new(op);
  op_in(&c, t, s, a);
  return c;
}

/* Output i is within 'bound' of the CPU's. */
static void assert_near (const op_case *c, const far_run *r, int i, double bound) {
  const gb_dtype t = c->o.out_dtype[i];
  const double d = distance(c->out[i], r->out[i], c->bytes[i] / gb_dtype_size(t), t);
  if (!(d <= bound)) fail_msg("%s: output %d differs by %g, more than %g", gb_ops[c->o.op].name, i, d, bound);
}

static double bound_of (size_t n, gb_dtype t, double scale) {
  return 30 * (double)(n + 1) * scale * unit_of(t);
}

/* A lower triangle of order n with diagonal entries above 'diagonal'. */
static void *triangle (size_t n, double diagonal, gb_dtype t) {
  double *x = random_normal(n * n, n + 5);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      x[i * n + j] = j > i ? 0 : j == i ? diagonal + fabs(x[i * n + j]) : x[i * n + j] / (double)(n + 1);
  return of_type(x, n * n, t);
}

static void factors_are_near (void **state) {
  (void)state;
  for (int t = 0; t < 2; t++)
    for (size_t e = 0; e < NORDERS; e++)
      for (int place = -1; place < 1; place++) {
        const size_t n = orders[e];
        double *a = spd_matrix(n, 100, 3);
        for (size_t i = 0; i < n; i++)
          for (size_t j = i + 1; j < n; j++) a[i * n + j] = NAN; /* not read */
        void *x = of_type(a, n * n, types[t]);
        op_case c = with_matrix(GB_OP_CHOLESKY, types[t], shape2(n, n), x);
        c.o.attr.f[0] = 0.25;
        op_out(&c, 0, types[t], shape2(n, n));
        far_run r = run_both(&c, place);
        assert_both_run(&c, &r);
        assert_near(&c, &r, 0, bound_of(n, types[t], 5));
        end_both(&c, &r);
        free(x);
      }
}

/* The factor of L L' with dyadic L of few bits is L. */
static void a_dyadic_factor_is_exact (void **state) {
  const size_t n = 6;
  (void)state;
  for (int t = 0; t < 2; t++) {
    double l[36] = {0}, a[36] = {0};
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++) l[i * n + j] = i == j ? 2 : (double)((i * 3 + j) % 5) / 4 - 0.5;
    subtract_product(a, l, false, l, true, n, n, n);
    for (size_t i = 0; i < n * n; i++) a[i] = -a[i];
    void *x = converted(a, n * n, types[t]);
    op_case c = with_matrix(GB_OP_CHOLESKY, types[t], shape2(n, n), x);
    op_out(&c, 0, types[t], shape2(n, n));
    assert_same_values(&c, -1);
    free(x);
  }
}

static void failing_factors_say_the_same (void **state) {
  (void)state;
  for (int turn = 0; turn < 4; turn++)
    for (int what = 0; what < 4; what++) {
      const int t = turn % 2;
      const size_t n = turn < 2 ? 40 : 32; /* the library's and a kernel's */
      double *a = spd_matrix(n, 10, 3);
      if (what == 0) a[20 * n + 20] = -1;
      if (what == 1) a[0] = 0, a[n] = 0;
      if (what == 2) a[25 * n + 7] = NAN, a[28 * n] = INFINITY;
      if (what == 3) a[30 * n + 30] = -INFINITY;
      void *x = of_type(a, n * n, types[t]);
      op_case c = with_matrix(GB_OP_CHOLESKY, types[t], shape2(n, n), x);
      op_out(&c, 0, types[t], shape2(n, n));
      const char *const words[] = {"minor of order 21 of ", "minor of order 1 of ",
                                   "got nan in row 26, column 8", "got -inf in row 31, column 31"};
      assert_same_failure(&c, what < 2 ? GB_ENOTPD : GB_ENAN, words[what]);
      free(x);
    }
}

static void triangular_systems_are_near (void **state) {
  (void)state;
  for (int t = 0; t < 2; t++)
    for (size_t e = 0; e < NORDERS; e++)
      for (size_t r = 0; r < 9; r += 4)
        for (int form = 0; form < 5; form++) {
          const size_t n = orders[e];
          void *l = triangle(n, 2, types[t]);
          void *b = of_type(random_normal(n * columns(r), 9), n * columns(r), types[t]);
          op_case c = with_matrix(form < 4 ? GB_OP_TRISOLVE : GB_OP_SOLVE_CHOL, types[t], shape2(n, n), l);
          if (form < 4) c.o.attr.i[0] = form / 2, c.o.attr.i[1] = form % 2;
          op_in(&c, types[t], right(n, r), b);
          op_out(&c, 0, types[t], right(n, r));
          far_run run = run_both(&c, r == 4 ? 1 : -1);
          assert_both_run(&c, &run);
          assert_near(&c, &run, 0, bound_of(n, types[t], 10));
          end_both(&c, &run);
          free(l), free(b);
        }
}

/* More columns than a canonical panel has, and a window of them: the same bits. */
static void panels_of_columns_do_not_change_bits (void **state) {
  const size_t r = 2048 + 3;
  (void)state;
  for (int turn = 0; turn < 4; turn++) {
    const int t = turn % 2;
    const size_t n = turn < 2 ? 5 : 40; /* a kernel's columns, and the library's panels */
    const size_t size = gb_dtype_size(types[t]);
    void *l = triangle(n, 2, types[t]), *b = of_type(random_normal(n * r, 9), n * r, types[t]);
    char *last = malloc(n * 3 * size);
    for (size_t i = 0; i < n; i++) memcpy(last + i * 3 * size, (char *)b + (i * r + 2048) * size, 3 * size);
    op_case c = with_matrix(GB_OP_SOLVE_CHOL, types[t], shape2(n, n), l);
    op_case d = with_matrix(GB_OP_SOLVE_CHOL, types[t], shape2(n, n), l);
    op_in(&c, types[t], shape2(n, r), b);
    op_in(&d, types[t], shape2(n, 3), last);
    op_out(&c, 0, types[t], shape2(n, r));
    op_out(&d, 0, types[t], shape2(n, 3));
    far_run all = run_both(&c, -1), some = run_both(&d, -1);
    assert_both_run(&c, &all);
    assert_both_run(&d, &some);
    assert_near(&c, &all, 0, bound_of(n, types[t], 10));
    for (size_t i = 0; i < n; i++)
      assert_memory_equal((char *)all.out[0] + (i * r + 2048) * size, (char *)some.out[0] + i * 3 * size,
                          3 * size);
    end_both(&c, &all);
    end_both(&d, &some);
    free(l), free(b), free(last);
  }
}

/* An inverse of more columns than a panel has, of a factor whose inverse is known: L = I but for a column. */
static void an_inverse_of_two_panels_is_exact (void **state) {
  const size_t n = 2048 + 2;
  (void)state;
  float *l = calloc(n * n, sizeof *l);
  for (size_t i = 0; i < n; i++) l[i * n + i] = 2, l[i * n] = i % 7 == 0 ? 2 : 0;
  op_case c = with_matrix(GB_OP_CHOL_INVERSE, GB_F32, shape2(n, n), l);
  op_out(&c, 0, GB_F32, shape2(n, n));
  far_run run = run_both(&c, -1);
  assert_both_run(&c, &run);
  assert_near(&c, &run, 0, 0);
  end_both(&c, &run);
  free(l);
}

/* With a diagonal of powers of 2 and dyadic entries nothing rounds. */
static void dyadic_systems_are_exact (void **state) {
  const size_t n = 12, r = 5;
  (void)state;
  for (int t = 0; t < 2; t++)
    for (int form = 0; form < 4; form++) {
      double *l = dyadic(n * n, 4), *b = dyadic(n * r, 5);
      for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
          l[i * n + j] = i == j ? 1 : (j > i) == (form / 2 == 1) && (i + j) % 4 == 1 ? l[i * n + j] : 0;
      void *lt = of_type(l, n * n, types[t]), *bt = of_type(b, n * r, types[t]);
      op_case c = with_matrix(GB_OP_TRISOLVE, types[t], shape2(n, n), lt);
      c.o.attr.i[0] = form / 2, c.o.attr.i[1] = form % 2;
      op_in(&c, types[t], shape2(n, r), bt);
      op_out(&c, 0, types[t], shape2(n, r));
      assert_same_values(&c, -1);
      free(lt), free(bt);
    }
}

static op_case system_with (gb_op op, gb_dtype t, size_t n, const void *a, const void *b) {
  op_case c = with_matrix(op, t, shape2(n, n), a);
  op_in(&c, t, shape1(n), b);
  op_out(&c, 0, t, op == GB_OP_INV_QUAD ? shape1(1) : shape1(n));
  return c;
}

/* A matrix of order 3, and after it the identity up to order n: small ones are a kernel's, others the library's. */
static double *padded (const double *a, size_t n) {
  double *x = calloc(n * n, sizeof *x);
  for (size_t i = 0; i < n; i++) x[i * n + i] = 1;
  for (size_t i = 0; i < 9; i++) x[i / 3 * n + i % 3] = a[i];
  return x;
}

static void assert_system_fails (gb_op op, size_t n, const double *a, const double *b, int64_t rows,
                                 gb_status st, const char *words) {
  double *x = padded(a, n), *y = calloc(n, sizeof *y);
  memcpy(y, b, 3 * sizeof *y);
  op_case c = system_with(op, GB_F64, n, x, y);
  if (rows > 0) c.o.attr.i[0] = 1, c.o.attr.i[2] = rows;
  assert_same_failure(&c, st, words);
  free(x), free(y);
}

static void failing_systems_say_the_same (void **state) {
  const double l[9] = {1, 0, 0, 2, 0, 0, 3, 1, 0}, r[9] = {1, 2, 3, 0, 1e-18, 1, 0, 0, 1};
  const double tiny[9] = {1e-200, 0, 0, 0, 1e-200, 0, 0, 0, 1e-200}, b[3] = {1e200, 1, 2};
  (void)state;
  for (size_t n = 3; n < 50; n += 37) {
    const char *rank = n == 3 ? "rank 2, of 3 columns: column 2" : "rank 39, of 40 columns: column 2";
    const char *row = n == 3 ? "row 2 of 3 has 0 on the diagonal" : "row 2 of 40 has 0 on the diagonal";
    assert_system_fails(GB_OP_TRISOLVE, n, l, b, 0, GB_ENOTPD, row);
    assert_system_fails(GB_OP_TRISOLVE, n, r, b, 50, GB_ENOTPD, rank);
    assert_system_fails(GB_OP_TRISOLVE, n, tiny, b, 0, GB_ENAN,
                        "triangular_solve: the solution overflows f64");
    assert_system_fails(GB_OP_SOLVE_CHOL, n, tiny, b, 0, GB_ENAN, "solve: the solution overflows f64");
    assert_system_fails(GB_OP_INV_QUAD, n, tiny, b, 0, GB_ENAN, "inv_quad: b' A^-1 b overflows f64");
  }
}

/* NaN in right-hand sides is no error: it passes through its column. */
static void nan_passes_through_right_hand_sides (void **state) {
  const gb_op ops[] = {GB_OP_TRISOLVE, GB_OP_SOLVE_CHOL, GB_OP_LU_SOLVE, GB_OP_INV_QUAD};
  double l[9] = {1, 0, 0, 2, 1, 0, 3, 1, 1}, b[3] = {1, NAN, 2};
  (void)state;
  for (int k = 0; k < 4; k++) {
    op_case c = system_with(ops[k], GB_F64, 3, l, b);
    far_run run = run_both(&c, -1);
    assert_both_run(&c, &run);
    assert_true(isnan(((double *)run.out[0])[k == 3 ? 0 : 1]));
    assert_true(isnan(((double *)c.out[0])[k == 3 ? 0 : 1]));
    end_both(&c, &run);
  }
}

static void inverses_quadratic_forms_and_determinants_are_near (void **state) {
  const gb_op ops[] = {GB_OP_CHOL_INVERSE, GB_OP_LOGDET, GB_OP_INV_QUAD};
  (void)state;
  for (int t = 0; t < 2; t++)
    for (size_t e = 0; e < NORDERS; e++)
      for (int k = 0; k < 3; k++) {
        const size_t n = orders[e];
        void *l = triangle(n, 1, types[t]), *b = of_type(random_normal(2 * n, 9), 2 * n, types[t]);
        op_case c = with_matrix(ops[k], types[t], shape2(n, n), l);
        if (k == 2) op_in(&c, types[t], shape2(n, 2), b);
        op_out(&c, 0, types[t], k == 0 ? shape2(n, n) : gb_shape_of(0, NULL));
        far_run run = run_both(&c, -1);
        assert_both_run(&c, &run);
        assert_near(&c, &run, 0, bound_of(n, types[t], k == 0 ? 10 : 5 + (double)n));
        for (size_t i = 0; k == 0 && i < n; i++)
          for (size_t j = 0; j < i; j++)
            assert_true(gb_element_get(run.out[0], i * n + j, types[t]) ==
                        gb_element_get(run.out[0], j * n + i, types[t]));
        end_both(&c, &run);
        free(l), free(b);
      }
}

/* -- LU */

static double *general (size_t n, uint64_t seed) {
  double *a = random_normal(n * n, seed);
  for (size_t i = 0; i < n; i++) a[i * n + (i * 7 + 3) % n] += 10; /* pivots leave the diagonal */
  return a;
}

static void general_systems_are_near (void **state) {
  const double sizes[] = {1, 1e-300, 1e300};
  (void)state;
  for (int t = 0; t < 2; t++)
    for (size_t e = 0; e < NORDERS; e++)
      for (size_t r = 0; r < 9; r += 4)
        for (int far = 0; far < (t == 0 ? 3 : 1); far++) {
          const size_t n = orders[e];
          double *a = general(n, 2), *b = random_normal(n * columns(r), 3);
          for (size_t i = 0; i < n * n; i++) a[i] *= sizes[far];
          for (size_t i = 0; i < n * columns(r); i++) b[i] *= sizes[far];
          void *x = of_type(a, n * n, types[t]), *y = of_type(b, n * columns(r), types[t]);
          op_case c = with_matrix(GB_OP_LU_SOLVE, types[t], shape2(n, n), x);
          op_in(&c, types[t], right(n, r), y);
          op_out(&c, 0, types[t], right(n, r));
          far_run run = run_both(&c, -1);
          assert_both_run(&c, &run);
          assert_near(&c, &run, 0, bound_of(n, types[t], 20));
          end_both(&c, &run);
          c = with_matrix(GB_OP_LU_LOGDET, types[t], shape2(n, n), x);
          op_out(&c, 0, types[t], gb_shape_of(0, NULL));
          run = run_both(&c, -1);
          assert_both_run(&c, &run);
          assert_near(&c, &run, 0, bound_of(n, types[t], 5 + (double)n * (far > 0 ? 700 : 1)));
          end_both(&c, &run);
          free(x), free(y);
        }
}

static void singular_systems_say_the_same (void **state) {
  /* Singular by powers of two, so that each elimination, of rows or of columns, meets a pivot of exactly 0. */
  double a[9] = {4, 2, 8, 2, 1, 4, 1, 1, 1}, nan[9] = {1, 2, 3, 4, 5, NAN, 7, 8, 9}, b[3] = {1, 2, 3};
  (void)state;
  op_case c = system_with(GB_OP_LU_SOLVE, GB_F64, 3, a, b);
  assert_same_failure(&c, GB_ENOTPD, "the matrix is singular: pivot ");
  c = system_with(GB_OP_LU_SOLVE, GB_F64, 3, nan, b);
  assert_same_failure(&c, GB_ENAN, "got nan in row 2, column 3");
  c = with_matrix(GB_OP_LU_LOGDET, GB_F64, shape2(3, 3), nan);
  op_out(&c, 0, GB_F64, gb_shape_of(0, NULL));
  assert_same_failure(&c, GB_ENAN, "got nan in row 2, column 3");
  c = with_matrix(GB_OP_LU_LOGDET, GB_F64, shape2(3, 3), a);
  op_out(&c, 0, GB_F64, gb_shape_of(0, NULL));
  assert_same_values(&c, -1); /* -inf */
}

/* -- QR, eigenvalues, singular values */

static double *scaled_normal (size_t n, double by) {
  double *a = random_normal(n, 21);
  for (size_t i = 0; i < n; i++) a[i] *= by;
  return a;
}

static void qr_is_near_with_the_same_signs (void **state) {
  static const size_t n[] = {1, 3, 17, 40, 100, 5}, m[] = {1, 2, 17, 7, 65, 0};
  const double sizes[] = {1, 1e-300, 1e300};
  (void)state;
  for (int t = 0; t < 2; t++)
    for (int e = 0; e < 6; e++)
      for (int far = 0; far < (t == 0 ? 3 : 1); far++) {
        void *x = of_type(scaled_normal(n[e] * m[e], sizes[far]), n[e] * m[e], types[t]);
        op_case c = with_matrix(GB_OP_QR, types[t], shape2(n[e], m[e]), x);
        op_out(&c, 0, types[t], shape2(n[e], m[e]));
        op_out(&c, 1, types[t], shape2(m[e], m[e]));
        far_run run = run_both(&c, -1);
        assert_both_run(&c, &run);
        assert_near(&c, &run, 0, bound_of(n[e], types[t], 10));
        assert_near(&c, &run, 1, bound_of(n[e], types[t], 10 * sizes[far]));
        end_both(&c, &run);
        free(x);
      }
}

/* |a - u diag(s) v'|, u (n, k), v (m, k). */
static double residual (const void *a, const void *u, const void *s, const void *v, size_t n, size_t k,
                        size_t m, gb_dtype t) {
  double *c = widened(a, n * m, t), *us = widened(u, n * k, t), *w = widened(v, m * k, t);
  for (size_t i = 0; i < n * k; i++) us[i] *= gb_element_get(s, i % k, t);
  subtract_product(c, us, false, w, true, n, k, m);
  const double r = norm1(c, n, m);
  free(c), free(us), free(w);
  return r;
}

/* |I - v' v|, v (n, k). */
static double lost_orthogonality (const void *v, size_t n, size_t k, gb_dtype t) {
  double *w = widened(v, n * k, t), *c = calloc(k * k + 1, sizeof *c);
  for (size_t i = 0; i < k; i++) c[i * k + i] = 1;
  subtract_product(c, w, true, w, false, k, n, k);
  const double r = norm1(c, k, k);
  free(w), free(c);
  return r;
}

static void assert_largest_is_positive (const void *v, size_t n, size_t k, gb_dtype t) {
  for (size_t j = 0; j < k; j++) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
      const double x = gb_element_get(v, i * k + j, t);
      if (fabs(x) > fabs(most)) most = x;
    }
    assert_true(most > 0);
  }
}

static void eigenvalues_are_near_and_vectors_are_theirs (void **state) {
  (void)state;
  for (int t = 0; t < 2; t++)
    for (size_t e = 0; e < NORDERS; e++) {
      const size_t n = orders[e];
      double *a = spd_matrix(n, 50, 8);
      void *x = of_type(a, n * n, types[t]);
      op_case c = with_matrix(GB_OP_EIGH, types[t], shape2(n, n), x);
      op_out(&c, 0, types[t], shape1(n));
      op_out(&c, 1, types[t], shape2(n, n));
      far_run run = run_both(&c, -1);
      assert_both_run(&c, &run);
      assert_near(&c, &run, 0, bound_of(n, types[t], 1));
      const double bound = bound_of(n, types[t], 5);
      assert_true(residual(x, run.out[1], run.out[0], run.out[1], n, n, n, types[t]) <= bound);
      assert_true(lost_orthogonality(run.out[1], n, n, types[t]) <= bound);
      assert_largest_is_positive(run.out[1], n, n, types[t]);
      end_both(&c, &run);
      free(x);
    }
}

static void singular_values_are_near_and_vectors_are_theirs (void **state) {
  static const size_t n[] = {1, 4, 30, 17, 9, 0, 90}, m[] = {1, 9, 7, 17, 50, 3, 40};
  (void)state;
  for (int t = 0; t < 2; t++)
    for (int e = 0; e < 7; e++) {
      const size_t k = n[e] < m[e] ? n[e] : m[e];
      void *x = of_type(random_normal(n[e] * m[e], 7), n[e] * m[e], types[t]);
      op_case c = with_matrix(GB_OP_SVD, types[t], shape2(n[e], m[e]), x);
      op_out(&c, 0, types[t], shape2(n[e], k));
      op_out(&c, 1, types[t], shape1(k));
      op_out(&c, 2, types[t], shape2(m[e], k));
      far_run run = run_both(&c, -1);
      assert_both_run(&c, &run);
      const double bound = bound_of(n[e] + m[e], types[t], 30);
      assert_near(&c, &run, 1, bound);
      if (k > 0) {
        assert_true(residual(x, run.out[0], run.out[1], run.out[2], n[e], k, m[e], types[t]) <= bound);
        assert_true(lost_orthogonality(run.out[0], n[e], k, types[t]) <= bound);
        assert_true(lost_orthogonality(run.out[2], m[e], k, types[t]) <= bound);
        assert_largest_is_positive(run.out[n[e] > m[e] ? 0 : 2], n[e] > m[e] ? n[e] : m[e], k, types[t]);
      }
      end_both(&c, &run);
      free(x);
    }
}

static void spectral_ops_refuse_what_is_not_finite (void **state) {
  const gb_op ops[] = {GB_OP_QR, GB_OP_EIGH, GB_OP_SVD};
  double a[9] = {1, 0, 0, 2, INFINITY, 0, 3, 1, 1};
  (void)state;
  for (int k = 0; k < 3; k++) {
    op_case c = with_matrix(ops[k], GB_F64, shape2(3, 3), a);
    for (int i = 0; i < c.o.nout; i++)
      op_out(&c, i, GB_F64, (k == 1 && i == 0) || (k == 2 && i == 1) ? shape1(3) : shape2(3, 3));
    assert_same_failure(&c, GB_ENAN, "got inf in row 2, column 2");
  }
}

/* -- batches */

/* Values, not vectors, whose signs the CPU does not promise. */
static bool is_compared (gb_op op, int i) {
  return op == GB_OP_EIGH ? i == 0 : op == GB_OP_SVD ? i == 1 : true;
}

/* All slices are near those of the CPU, and each has the bits that it has alone. */
static void check_batch (const batch_case *q, const void *a, const void *b) {
  op_case c = batch_new(q, a, b);
  far_run all = run_both(&c, -1);
  assert_both_run(&c, &all);
  for (int i = 0; i < c.o.nout; i++)
    if (is_compared(q->op, i)) assert_near(&c, &all, i, bound_of(q->n, q->dtype, 10 * (1 + (double)q->n)));
  for (size_t k = 0; k < gb_shape_numel(&q->lead); k++) {
    op_case d = slice_new(q, a, b, k);
    far_run one = run_both(&d, -1);
    assert_both_run(&d, &one);
    for (int i = 0; i < d.o.nout; i++)
      if (d.bytes[i] > 0 && memcmp((char *)all.out[i] + k * d.bytes[i], one.out[i], d.bytes[i]) != 0)
        fail_msg("%s of order %zu: slice %zu has other bits than alone", gb_ops[q->op].name, q->n, k);
    end_both(&d, &one);
  }
  end_both(&c, &all);
}

static void check_in_place (const batch_case *q, const void *a, const void *b) {
  op_case c = batch_new(q, a, b), d = batch_new(q, a, b);
  far_run apart = run_both(&c, -1), inside = run_both(&d, gb_ops[q->op].inplace);
  assert_both_run(&c, &apart);
  assert_both_run(&d, &inside);
  assert_memory_equal(apart.out[0], inside.out[0], c.bytes[0]);
  end_both(&c, &apart);
  end_both(&d, &inside);
}

static void slices_have_the_bits_of_one_matrix (void **state) {
  static const size_t sizes[] = {1, 5, 32, 40};
  const gb_shape none = {0}, three = shape1(3), column = shape2(2, 1), pair = shape2(2, 3);
  (void)state;
  for (int k = 0; k < BATCH_OPS; k++)
    for (int t = 0; t < 2; t++)
      for (int e = 0; e < 4; e++) {
        batch_case q = {batch_ops[k], types[t], sizes[e], sizes[e], 2, three, three, three};
        batch_with_numbers(&q, check_batch);
        if (k == 3 || k == 5) q.m = (q.n + 1) / 2, batch_with_numbers(&q, check_batch);
        if (!batch_has_right(q.op)) continue;
        q.a = none, batch_with_numbers(&q, check_batch);
        q.a = column, q.b = three, q.lead = pair, q.r = 40, batch_with_numbers(&q, check_batch);
        q.a = three, q.b = none, q.lead = three, q.r = 1, batch_with_numbers(&q, check_batch);
      }
  const batch_case empty = {GB_OP_CHOLESKY, GB_F64, 3, 3, 2, shape1(0), none, shape1(0)};
  batch_with_numbers(&empty, check_batch);
}

/* Of two that fail the first is named, with its number in the whole batch. */
static void failing_slices_say_the_same (void **state) {
  double a[12] = {2, 0, 0, 2, 1, 0, 0, -1, NAN, 0, 0, 0}, b[6] = {1, 1, 1, 1, 1, 1};
  const gb_shape s = shape3(3, 2, 2);
  (void)state;
  op_case c = with_matrix(GB_OP_CHOLESKY, GB_F64, s, a);
  op_out(&c, 0, GB_F64, s);
  assert_same_failure(&c, GB_ENOTPD, "matrix 2 of 3: the leading minor of order 2 of 2");
  c = with_matrix(GB_OP_CHOLESKY, GB_F64, shape3(2, 2, 2), a + 4);
  op_out(&c, 0, GB_F64, shape3(2, 2, 2));
  c.o.from[0] = 1, c.o.whole[0] = 3;
  assert_same_failure(&c, GB_ENOTPD, "matrix 2 of 3: the leading minor of order 2 of 2");
  a[7] = 1;
  c = with_matrix(GB_OP_CHOLESKY, GB_F64, s, a);
  op_out(&c, 0, GB_F64, s);
  assert_same_failure(&c, GB_ENAN, "matrix 3 of 3: expected finite entries, got nan in row 1, column 1");
  a[8] = 1;
  const gb_op ops[] = {GB_OP_TRISOLVE, GB_OP_LU_SOLVE};
  for (int k = 0; k < 2; k++) {
    c = with_matrix(ops[k], GB_F64, s, a);
    op_in(&c, GB_F64, shape3(3, 2, 1), b);
    op_out(&c, 0, GB_F64, shape3(3, 2, 1));
    assert_same_failure(&c, GB_ENOTPD,
                        k == 0 ? "matrix 3 of 3: triangular_solve: the matrix is singular: row 2"
                               : "matrix 3 of 3: the matrix is singular: pivot 2 of 2");
  }
  double tiny[8] = {1, 0, 0, 1, 1e-200, 0, 0, 1e-200}, large[4] = {1, 1, 1e200, 1};
  const gb_op solves[] = {GB_OP_TRISOLVE, GB_OP_SOLVE_CHOL, GB_OP_INV_QUAD};
  for (int k = 0; k < 3; k++) {
    c = with_matrix(solves[k], GB_F64, shape3(2, 2, 2), tiny);
    op_in(&c, GB_F64, shape3(2, 2, 1), large);
    op_out(&c, 0, GB_F64, k == 2 ? shape1(2) : shape3(2, 2, 1));
    assert_same_failure(&c, GB_ENAN, "overflows f64");
  }
  /* an overflow before a zero on the diagonal, and a factor that fails before an entry that is not finite */
  tiny[0] = tiny[3] = 1e-200, tiny[4] = 0, large[0] = large[1] = 1e200;
  c = with_matrix(GB_OP_TRISOLVE, GB_F64, shape3(2, 2, 2), tiny);
  op_in(&c, GB_F64, shape3(2, 2, 1), large);
  op_out(&c, 0, GB_F64, shape3(2, 2, 1));
  assert_same_failure(&c, GB_ENAN, "matrix 1 of 2: triangular_solve: the solution overflows f64");
}

/* A batch takes the place of its input; a factor that fails leaves it. */
static void small_slices_may_take_the_place_of_an_input (void **state) {
  const gb_shape three = shape1(3), none = {0};
  (void)state;
  for (int k = 0; k < BATCH_OPS; k++) {
    const gb_op op = batch_ops[k];
    if (gb_ops[op].inplace < 0) continue;
    const batch_case q = {op, GB_F64, 7, 7, 600, gb_ops[op].inplace == 0 ? three : none, three, three};
    batch_with_numbers(&q, check_in_place);
  }
  double a[8] = {4, 0, 2, 5, 4, 0, 2, NAN};
  op_case c = with_matrix(GB_OP_CHOLESKY, GB_F64, shape3(2, 2, 2), a);
  op_out(&c, 0, GB_F64, shape3(2, 2, 2));
  far_run r = run_both(&c, 0);
  assert_int_equal(r.far, GB_ENAN);
  assert_string_equal(r.far_error.text, "matrix 2 of 2: expected finite entries, got nan in row 2, column 2");
  end_both(&c, &r);
}

/* -- what is asked and what is taken */

/* Workspaces are asked once a shape; those of the host are on its account until the GPU closes. */
static void workspaces_are_asked_once (void **state) {
  const gb_op ops[] = {GB_OP_CHOLESKY, GB_OP_LU_LOGDET, GB_OP_EIGH, GB_OP_SVD, GB_OP_QR};
  (void)state;
  for (int k = 0; k < 5; k++) {
    gb_opaque o = {.op = ops[k], .nin = 1, .nout = gb_ops[ops[k]].outputs};
    o.in_shape[0] = shape2(57, 57);
    const size_t bytes = gb_device_opaque_scratch(far_gpu, &o);
    const long calls = emu_calls("*");
    assert_true(bytes > 0);
    assert_int_equal(gb_device_opaque_scratch(far_gpu, &o), bytes);
    assert_true(emu_calls("*") - calls <= 1); /* the GPU becomes that of the thread */
  }
  assert_true(gpu_home()->ledger.books > 0);
}

static void packed_triangles_and_other_types_stay_home (void **state) {
  gb_lack lack;
  (void)state;
  for (int k = 0; k < 4; k++) {
    gb_opaque o = {.op = GB_OP_CHOLESKY, .nin = 1, .nout = 1, .in_shape = {shape2(4, 4)}};
    o.packed = k == 0;
    o.grown = k == 1;
    if (k == 2) o.in_dtype[0] = GB_F16;
    assert_int_equal(gb_device_supports(far_gpu, NULL, &o, &lack), k == 3);
    if (k < 3) assert_non_null(strstr(lack.why, k == 0 ? "packed" : k == 1 ? "grow" : "f64 and f32"));
  }
}

static void every_row_runs_or_stays_home_with_a_reason (void **state) {
  (void)state;
  assert_rows_are_covered(true, NULL, 0);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dyadic_products_are_exact),
      cmocka_unit_test(batches_broadcast),
      cmocka_unit_test(strides_and_sums_into_a_result),
      cmocka_unit_test(windows_do_not_change_bits),
      cmocka_unit_test(factors_are_near),
      cmocka_unit_test(a_dyadic_factor_is_exact),
      cmocka_unit_test(failing_factors_say_the_same),
      cmocka_unit_test(triangular_systems_are_near),
      cmocka_unit_test(panels_of_columns_do_not_change_bits),
      cmocka_unit_test(an_inverse_of_two_panels_is_exact),
      cmocka_unit_test(dyadic_systems_are_exact),
      cmocka_unit_test(failing_systems_say_the_same),
      cmocka_unit_test(nan_passes_through_right_hand_sides),
      cmocka_unit_test(inverses_quadratic_forms_and_determinants_are_near),
      cmocka_unit_test(general_systems_are_near),
      cmocka_unit_test(singular_systems_say_the_same),
      cmocka_unit_test(qr_is_near_with_the_same_signs),
      cmocka_unit_test(eigenvalues_are_near_and_vectors_are_theirs),
      cmocka_unit_test(singular_values_are_near_and_vectors_are_theirs),
      cmocka_unit_test(spectral_ops_refuse_what_is_not_finite),
      cmocka_unit_test(slices_have_the_bits_of_one_matrix),
      cmocka_unit_test(failing_slices_say_the_same),
      cmocka_unit_test(small_slices_may_take_the_place_of_an_input),
      cmocka_unit_test(workspaces_are_asked_once),
      cmocka_unit_test(packed_triangles_and_other_types_stay_home),
      cmocka_unit_test(every_row_runs_or_stays_home_with_a_reason),
  };
  return RUN_FAR_TESTS("dense", tests);
}
