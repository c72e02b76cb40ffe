/* test_linalg.c - products, factorisations and solves: backward stability, equal bits for any threads,
** failures. */
#include "support/cpu/opaque_fixture.h"

static const size_t sizes[] = {0, 1, 2, 3, 5, 63, 64, 65, 257, 600};
#define NSIZES (sizeof sizes / sizeof sizes[0])
static const gb_dtype dtypes[] = {GB_F64, GB_F32};

#define EACH(t, n)                                                                                           \
  for (size_t t##_ = 0; t##_ < 2; t##_++)                                                                    \
    for (size_t n##_ = 0; n##_ < NSIZES; n##_++)                                                             \
      for (size_t n = sizes[n##_], once_ = 1; once_; once_ = 0)                                              \
        for (gb_dtype t = dtypes[t##_], *p_ = &t; p_ != NULL; p_ = NULL)

/* |A - L L'| of the factor in 'l', which has zeros above its diagonal. */
static double factor_residual (const double *a, const double *l, size_t n) {
  double *r = malloc((n * n + 1) * sizeof *r);
  memcpy(r, a, n * n * sizeof *r);
  subtract_product(r, l, false, l, true, n, n, n);
  const double norm = norm1(r, n, n);
  free(r);
  return norm;
}

static double *rounded_symmetric (size_t n, double condition, gb_dtype t, void **typed) {
  double *wide = spd_matrix(n, condition, 7 * n + 1), *a;
  *typed = converted(wide, n * n, t);
  a = widened(*typed, n * n, t);
  free(wide);
  return a;
}

static op_case square_case (gb_op op, gb_dtype t, size_t n, const void *a) {
  op_case c = op_new(op);
  op_in(&c, t, shape2(n, n), a);
  return c;
}

static op_case cholesky_case (gb_dtype t, size_t n, const void *a) {
  op_case c = square_case(GB_OP_CHOLESKY, t, n, a);
  op_out(&c, 0, t, shape2(n, n));
  return c;
}

static void cholesky_is_backward_stable_for_every_condition (void **state) {
  (void)state;
  EACH(t, n) {
    const double conditions[] = {1, 2, sqrt(0.1 / unit_of(t)), 0.01 / unit_of(t)};
    for (int k = 0; k < (n == 600 ? 1 : 4); k++) {
      void *typed;
      double *a = rounded_symmetric(n, conditions[k], t, &typed);
      op_case c = cholesky_case(t, n, typed);
      if (op_run(&c) != GB_OK) fail_msg("n = %zu, condition %g: %s", n, conditions[k], op_error.text);
      double *l = widened(c.out[0], n * n, t);
      ASSERT_STABLE(factor_residual(a, l, n), n, norm1(a, n, n), unit_of(t));
      for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) assert_true(l[i * n + j] == 0);
      op_free(&c);
      free(l), free(a), free(typed);
    }
  }
}

static void cholesky_scales_from_tiny_to_huge_numbers (void **state) {
  (void)state;
  const double scales[] = {1e-290, 1e290};
  for (int k = 0; k < 2; k++) {
    const size_t n = 65;
    double *a = spd_matrix(n, 100, 3);
    for (size_t i = 0; i < n * n; i++) a[i] *= scales[k];
    op_case c = cholesky_case(GB_F64, n, a);
    assert_int_equal(op_run(&c), GB_OK);
    double *l = c.out[0];
    const double worst = fabs(l[0] * l[0] - a[0]) / a[0];
    if (!(worst < 1e-14)) fail_msg("relative error %g at scale %g", worst, scales[k]);
    op_free(&c);
    free(a);
  }
}

static void cholesky_reads_only_the_lower_triangle_and_adds_jitter (void **state) {
  (void)state;
  const double a[] = {4, NAN, INFINITY, 2, 5, NAN, 0, 2, 7};
  const double want[] = {sqrt(5.0), 0, 0, 2 / sqrt(5.0), sqrt(6 - 4 / 5.0), 0, 0, 2 / sqrt(6 - 4 / 5.0), 0};
  op_case c = cholesky_case(GB_F64, 3, a);
  c.o.attr.f[0] = 1;
  assert_int_equal(op_run(&c), GB_OK);
  const double *l = c.out[0];
  for (int i = 0; i < 8; i++)
    if (!(fabs(l[i] - want[i]) <= 1e-15)) fail_msg("entry %d is %g, want %g", i, l[i], want[i]);
  op_free(&c);
}

/* A = I but for one entry of the diagonal. */
static void assert_minor (size_t n, size_t at, double value, gb_status want, const char *text) {
  double *a = calloc(n * n, sizeof *a);
  for (size_t i = 0; i < n; i++) a[i * n + i] = i == at ? value : 1;
  op_case c = cholesky_case(GB_F64, n, a);
  assert_int_equal(op_run(&c), want);
  if (strstr(op_error.text, text) == NULL) fail_msg("'%s' does not say '%s'", op_error.text, text);
  op_free(&c);
  free(a);
}

static void cholesky_names_the_minor_or_the_entry_that_is_wrong (void **state) {
  (void)state;
  assert_minor(5, 2, 0, GB_ENOTPD, "order 3 of 5");
  assert_minor(5, 0, -1, GB_ENOTPD, "order 1 of 5");
  assert_minor(600, 599, 0, GB_ENOTPD, "order 600 of 600");
  assert_minor(600, 300, -1e-300, GB_ENOTPD, "order 301 of 600");
  assert_minor(600, 300, NAN, GB_ENAN, "row 301, column 301");
  assert_minor(600, 599, INFINITY, GB_ENAN, "row 600, column 600");
}

static void a_failing_cholesky_says_the_same_for_any_threads (void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    gb_device_set_threads(op_device, threads, &op_error);
    assert_minor(900, 700, -2, GB_ENOTPD, "order 701 of 900");
  }
  gb_device_set_threads(op_device, 2, &op_error);
}

static void factors_have_equal_bits_for_any_threads (void **state) {
  (void)state;
  for (int d = 0; d < 2; d++) {
    const size_t n = 700, r = 300;
    const gb_dtype t = dtypes[d];
    void *typed;
    double *a = rounded_symmetric(n, 100, t, &typed), *wide = random_normal(n * r, 5);
    void *b = converted(wide, n * r, t);
    op_case c = cholesky_case(t, n, typed);
    op_run_same_bits(&c);
    op_case inverse = square_case(GB_OP_CHOL_INVERSE, t, n, c.out[0]);
    op_out(&inverse, 0, t, shape2(n, n));
    op_run_same_bits(&inverse);
    const gb_op solves[] = {GB_OP_TRISOLVE, GB_OP_SOLVE_CHOL, GB_OP_LU_SOLVE};
    for (int k = 0; k < 3; k++) {
      op_case s = square_case(solves[k], t, n, k == 2 ? typed : c.out[0]);
      op_in(&s, t, shape2(n, r), b);
      op_out(&s, 0, t, shape2(n, r));
      op_run_same_bits(&s);
      op_free(&s);
    }
    op_case q = op_new(GB_OP_QR);
    op_in(&q, t, shape2(n, r), b);
    op_out(&q, 0, t, shape2(n, r));
    op_out(&q, 1, t, shape2(r, r));
    op_run_same_bits(&q);
    op_case g = square_case(GB_OP_GEMM, t, n, typed);
    op_in(&g, t, shape2(n, r), b);
    op_out(&g, 0, t, shape2(n, r));
    op_run_same_bits(&g);
    op_free(&g), op_free(&q), op_free(&inverse), op_free(&c);
    free(a), free(wide), free(typed), free(b);
  }
}

static void the_inverse_from_a_factor_inverts (void **state) {
  (void)state;
  EACH(t, n) {
    void *typed;
    double *a = rounded_symmetric(n, 10, t, &typed);
    op_case c = cholesky_case(t, n, typed);
    assert_int_equal(op_run(&c), GB_OK);
    op_case v = square_case(GB_OP_CHOL_INVERSE, t, n, c.out[0]);
    op_out(&v, 0, t, shape2(n, n));
    assert_int_equal(op_run(&v), GB_OK);
    double *inverse = widened(v.out[0], n * n, t), *unit = calloc(n * n + 1, sizeof *unit);
    for (size_t i = 0; i < n; i++) unit[i * n + i] = 1;
    subtract_product(unit, a, false, inverse, false, n, n, n);
    ASSERT_STABLE(norm1(unit, n, n), n, norm1(a, n, n) * norm1(inverse, n, n), unit_of(t));
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++) assert_true(inverse[i * n + j] == inverse[j * n + i]);
    op_free(&v), op_free(&c);
    free(inverse), free(unit), free(a), free(typed);
  }
}

static void triangular_systems_are_solved_in_all_four_forms (void **state) {
  (void)state;
  const size_t columns[] = {0, 1, 3, 257}; /* 0 stands for a vector */
  EACH(t, n) for (int form = 0; form < 4; form++) for (int k = 0; k < 4; k++) {
    const bool upper = form & 1, trans = form & 2;
    const size_t r = columns[k] == 0 ? 1 : columns[k];
    if (n == 600 && r > 3) continue;
    double *wide = random_normal(n * n, n + 1), *rhs = random_normal(n * r, n + 2);
    for (size_t i = 0; i < n; i++) wide[i * n + i] = 2 + sqrt((double)n);
    void *typed = converted(wide, n * n, t), *b = converted(rhs, n * r, t);
    op_case c = square_case(GB_OP_TRISOLVE, t, n, typed);
    op_in(&c, t, columns[k] == 0 ? shape1(n) : shape2(n, r), b);
    op_out(&c, 0, t, columns[k] == 0 ? shape1(n) : shape2(n, r));
    c.o.attr.i[0] = upper;
    c.o.attr.i[1] = trans;
    assert_int_equal(op_run(&c), GB_OK);
    double *a = widened(typed, n * n, t), *x = widened(c.out[0], n * r, t), *left = widened(b, n * r, t);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        if (upper ? j < i : j > i) a[i * n + j] = 0;
    subtract_product(left, a, trans, x, false, n, n, r);
    ASSERT_STABLE(norm1(left, n, r), n, norm1(a, n, n) * norm1(x, n, r), unit_of(t));
    op_free(&c);
    free(a), free(x), free(left), free(wide), free(rhs), free(typed), free(b);
  }
}

static void solves_from_a_factor_agree_with_the_matrix (void **state) {
  (void)state;
  EACH(t, n) {
    const size_t r = 3;
    void *typed;
    double *a = rounded_symmetric(n, 50, t, &typed), *rhs = random_normal(n * r, n);
    void *b = converted(rhs, n * r, t);
    op_case c = cholesky_case(t, n, typed);
    assert_int_equal(op_run(&c), GB_OK);
    op_case s = square_case(GB_OP_SOLVE_CHOL, t, n, c.out[0]),
            q = square_case(GB_OP_INV_QUAD, t, n, c.out[0]);
    op_case d = square_case(GB_OP_LOGDET, t, n, c.out[0]), lu = square_case(GB_OP_LU_LOGDET, t, n, typed);
    op_in(&s, t, shape2(n, r), b), op_in(&q, t, shape2(n, r), b);
    op_out(&s, 0, t, shape2(n, r)), op_out(&q, 0, t, shape1(1)), op_out(&d, 0, t, shape1(1)),
        op_out(&lu, 0, t, shape1(1));
    assert_int_equal(op_run(&s), GB_OK);
    assert_int_equal(op_run(&q), GB_OK);
    assert_int_equal(op_run(&d), GB_OK);
    assert_int_equal(op_run(&lu), GB_OK);
    double *x = widened(s.out[0], n * r, t), *left = widened(b, n * r, t), *wb = widened(b, n * r, t),
           quad = 0;
    for (size_t i = 0; i < n * r; i++) quad += x[i] * wb[i];
    subtract_product(left, a, false, x, false, n, n, r);
    ASSERT_STABLE(norm1(left, n, r), n, norm1(a, n, n) * norm1(x, n, r), unit_of(t));
    ASSERT_STABLE(fabs(quad - gb_element_get(q.out[0], 0, t)), n, 50 * fabs(quad), unit_of(t));
    const double det = gb_element_get(d.out[0], 0, t), det_lu = gb_element_get(lu.out[0], 0, t);
    ASSERT_STABLE(fabs(det - det_lu), n, 50.0 * (double)(n + 1), unit_of(t));
    double want = 0; /* the eigenvalues are known */
    for (size_t i = 0; n > 1 && i < n; i++) want -= log(50.0) * (double)i / (double)(n - 1);
    ASSERT_STABLE(fabs(det - want), n, 50.0 * (double)(n + 1), unit_of(t));
    op_free(&s), op_free(&q), op_free(&d), op_free(&lu), op_free(&c);
    free(a), free(rhs), free(b), free(typed), free(x), free(left), free(wb);
  }
}

static void lu_solves_general_systems (void **state) {
  (void)state;
  EACH(t, n) for (size_t r = 1; r <= 5; r += 4) {
    double *wide = random_normal(n * n, 31 * n), *rhs = random_normal(n * r, n);
    if (n > 1) wide[0] = 0; /* without pivoting this divides by zero */
    void *typed = converted(wide, n * n, t), *b = converted(rhs, n * r, t);
    op_case c = square_case(GB_OP_LU_SOLVE, t, n, typed);
    op_in(&c, t, r == 1 ? shape1(n) : shape2(n, r), b);
    op_out(&c, 0, t, r == 1 ? shape1(n) : shape2(n, r));
    assert_int_equal(op_run(&c), GB_OK);
    double *a = widened(typed, n * n, t), *x = widened(c.out[0], n * r, t), *left = widened(b, n * r, t);
    subtract_product(left, a, false, x, false, n, n, r);
    ASSERT_STABLE(norm1(left, n, r), n, norm1(a, n, n) * norm1(x, n, r), unit_of(t));
    op_free(&c);
    free(a), free(x), free(left), free(wide), free(rhs), free(typed), free(b);
  }
}

static void lu_refuses_singular_and_non_finite_matrices (void **state) {
  (void)state;
  const double singular[] = {1, 2, 2, 4}, broken[] = {1, 2, NAN, 4}, b[] = {1, 1};
  op_case c = square_case(GB_OP_LU_SOLVE, GB_F64, 2, singular);
  op_in(&c, GB_F64, shape1(2), b);
  op_out(&c, 0, GB_F64, shape1(2));
  assert_int_equal(op_run(&c), GB_ENOTPD);
  assert_non_null(strstr(op_error.text, "singular: pivot 2 of 2 is zero"));
  c.in[0] = broken;
  assert_int_equal(op_run(&c), GB_ENAN);
  assert_non_null(strstr(op_error.text, "row 2, column 1"));
  op_free(&c);
  op_case d = square_case(GB_OP_LU_LOGDET, GB_F64, 2, singular);
  op_out(&d, 0, GB_F64, shape1(1));
  assert_int_equal(op_run(&d), GB_OK);
  assert_true(*(double *)d.out[0] == -INFINITY);
  op_free(&d);
}

static void assert_qr (gb_dtype t, size_t n, size_t m, const double *wide) {
  void *typed = converted(wide, n * m, t);
  op_case c = op_new(GB_OP_QR);
  op_in(&c, t, shape2(n, m), typed);
  op_out(&c, 0, t, shape2(n, m));
  op_out(&c, 1, t, shape2(m, m));
  assert_int_equal(op_run(&c), GB_OK);
  double *a = widened(typed, n * m, t), *q = widened(c.out[0], n * m, t), *r = widened(c.out[1], m * m, t);
  const double norm = norm1(a, n, m);
  subtract_product(a, q, false, r, false, n, m, m);
  ASSERT_STABLE(norm1(a, n, m), n, norm, unit_of(t));
  double *unit = calloc(m * m + 1, sizeof *unit);
  for (size_t i = 0; i < m; i++) unit[i * m + i] = 1;
  subtract_product(unit, q, true, q, false, m, n, m);
  ASSERT_STABLE(norm1(unit, m, m), n, 1, unit_of(t));
  for (size_t i = 0; i < m; i++) {
    assert_true(r[i * m + i] >= 0);
    for (size_t j = 0; j < i; j++) assert_true(r[i * m + j] == 0);
  }
  op_free(&c);
  free(a), free(q), free(r), free(unit), free(typed);
}

static void qr_is_orthogonal_and_reproduces_the_matrix (void **state) {
  (void)state;
  EACH(t, n) for (int k = 0; k < 3; k++) {
    const size_t m = k == 0 ? n : k == 1 ? n / 2 : n < 3 ? n : 3;
    double *a = random_normal(n * m, n + 17);
    assert_qr(t, n, m, a);
    for (size_t i = 0; i < n && m > 1; i++) a[i * m + 1] = a[i * m]; /* rank deficient */
    assert_qr(t, n, m, a);
    free(a);
  }
}

static void eigh_diagonalises (void **state) {
  (void)state;
  EACH(t, n) {
    if (n == 600) continue;
    void *typed;
    double *a = rounded_symmetric(n, 100, t, &typed);
    op_case c = square_case(GB_OP_EIGH, t, n, typed);
    op_out(&c, 0, t, shape1(n));
    op_out(&c, 1, t, shape2(n, n));
    assert_int_equal(op_run(&c), GB_OK);
    double *w = widened(c.out[0], n, t), *v = widened(c.out[1], n * n, t), *vw = widened(c.out[1], n * n, t);
    const double norm = norm1(a, n, n);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) vw[i * n + j] *= w[j];
    for (size_t j = 1; j < n; j++) assert_true(w[j - 1] <= w[j]);
    subtract_product(a, vw, false, v, true, n, n, n);
    ASSERT_STABLE(norm1(a, n, n), n, norm, unit_of(t));
    op_free(&c);
    free(a), free(w), free(v), free(vw), free(typed);
  }
}

static void svd_reproduces_matrices_of_any_shape (void **state) {
  (void)state;
  const size_t rows[] = {0, 1, 5, 65, 65, 20, 257}, cols[] = {3, 4, 5, 65, 20, 65, 3};
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < 7; k++) {
      const size_t n = rows[k], m = cols[k], r = n < m ? n : m;
      const gb_dtype t = dtypes[d];
      double *wide = random_normal(n * m, 5);
      void *typed = converted(wide, n * m, t);
      op_case c = op_new(GB_OP_SVD);
      op_in(&c, t, shape2(n, m), typed);
      op_out(&c, 0, t, shape2(n, r)), op_out(&c, 1, t, shape1(r)), op_out(&c, 2, t, shape2(m, r));
      assert_int_equal(op_run(&c), GB_OK);
      double *a = widened(typed, n * m, t), *u = widened(c.out[0], n * r, t), *s = widened(c.out[1], r, t);
      double *v = widened(c.out[2], m * r, t), *unit = calloc(r * r + 1, sizeof *unit);
      const double norm = norm1(a, n, m);
      for (size_t j = 1; j < r; j++) assert_true(s[j - 1] >= s[j]);
      for (size_t i = 0; i < r; i++) unit[i * r + i] = 1;
      subtract_product(unit, v, true, v, false, r, m, r);
      ASSERT_STABLE(norm1(unit, r, r), n + m, 1, unit_of(t));
      for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < r; j++) u[i * r + j] *= s[j];
      subtract_product(a, u, false, v, true, n, r, m);
      ASSERT_STABLE(norm1(a, n, m), n + m, norm, unit_of(t));
      op_free(&c);
      free(a), free(u), free(s), free(v), free(unit), free(wide), free(typed);
    }
}

static void non_finite_input_is_named_by_every_factorisation (void **state) {
  (void)state;
  const gb_op ops[] = {GB_OP_QR, GB_OP_EIGH, GB_OP_SVD, GB_OP_LU_LOGDET, GB_OP_CHOLESKY};
  for (int k = 0; k < 5; k++)
    for (int d = 0; d < 2; d++) {
      const size_t n = 70;
      double *wide = spd_matrix(n, 10, 2);
      wide[68 * n + 2] = NAN;
      wide[69 * n + 1] = INFINITY;
      void *typed = converted(wide, n * n, dtypes[d]);
      op_case c = square_case(ops[k], dtypes[d], n, typed);
      for (int i = 0; i < c.o.nout; i++) op_out(&c, i, dtypes[d], shape2(n, n));
      assert_int_equal(op_run(&c), GB_ENAN);
      if (strstr(op_error.text, "row 69, column 3") == NULL)
        fail_msg("%s: %s", gb_ops[ops[k]].name, op_error.text);
      op_free(&c);
      free(wide), free(typed);
    }
}

static void gemm_broadcasts_batches_and_handles_empty_axes (void **state) {
  (void)state;
  const size_t shapes[][5] = {{1, 1, 1, 1, 1},   {2, 2, 3, 4, 5}, {3, 1, 2, 300, 4}, {1, 3, 260, 5, 1},
                              {2, 2, 1, 257, 9}, {1, 1, 0, 4, 4}, {2, 1, 4, 0, 4},   {1, 1, 70, 520, 260}};
  for (int d = 0; d < 2; d++)
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
      const size_t *q = shapes[k], ba = q[0], bb = q[1], n = q[2], inner = q[3], m = q[4],
                   b = ba > bb ? ba : bb;
      const gb_dtype t = dtypes[d];
      double *x = random_normal(ba * n * inner, 1), *y = random_normal(bb * inner * m, 2);
      void *tx = converted(x, ba * n * inner, t), *ty = converted(y, bb * inner * m, t);
      op_case c = op_new(GB_OP_GEMM);
      op_in(&c, t, ba == 1 ? shape2(n, inner) : shape3(ba, n, inner), tx);
      op_in(&c, t, shape3(bb, inner, m), ty);
      op_out(&c, 0, t, shape3(b, n, m));
      op_run_same_bits(&c);
      double *wx = widened(tx, ba * n * inner, t), *wy = widened(ty, bb * inner * m, t);
      double *left = widened(c.out[0], b * n * m, t);
      for (size_t i = 0; i < b; i++) {
        const double *xi = wx + (ba == 1 ? 0 : i) * n * inner, *yi = wy + (bb == 1 ? 0 : i) * inner * m;
        subtract_product(left + i * n * m, xi, false, yi, false, n, inner, m);
        ASSERT_STABLE(norm1(left + i * n * m, n, m), inner, norm1(xi, n, inner) * norm1(yi, inner, m),
                      unit_of(t));
      }
      op_free(&c);
      free(x), free(y), free(tx), free(ty), free(wx), free(wy), free(left);
    }
}

static void an_interrupt_ends_a_factorisation (void **state) {
  (void)state;
  const size_t n = 600;
  double *a = spd_matrix(n, 10, 2);
  op_case c = cholesky_case(GB_F64, n, a);
  gb_interrupt_raise();
  const gb_status st = op_run(&c);
  gb_interrupt_clear();
  assert_int_equal(st, GB_EINTR);
  op_free(&c);
  free(a);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cholesky_is_backward_stable_for_every_condition),
      cmocka_unit_test(cholesky_scales_from_tiny_to_huge_numbers),
      cmocka_unit_test(cholesky_reads_only_the_lower_triangle_and_adds_jitter),
      cmocka_unit_test(cholesky_names_the_minor_or_the_entry_that_is_wrong),
      cmocka_unit_test(a_failing_cholesky_says_the_same_for_any_threads),
      cmocka_unit_test(factors_have_equal_bits_for_any_threads),
      cmocka_unit_test(the_inverse_from_a_factor_inverts),
      cmocka_unit_test(triangular_systems_are_solved_in_all_four_forms),
      cmocka_unit_test(solves_from_a_factor_agree_with_the_matrix),
      cmocka_unit_test(lu_solves_general_systems),
      cmocka_unit_test(lu_refuses_singular_and_non_finite_matrices),
      cmocka_unit_test(qr_is_orthogonal_and_reproduces_the_matrix),
      cmocka_unit_test(eigh_diagonalises),
      cmocka_unit_test(svd_reproduces_matrices_of_any_shape),
      cmocka_unit_test(non_finite_input_is_named_by_every_factorisation),
      cmocka_unit_test(gemm_broadcasts_batches_and_handles_empty_axes),
      cmocka_unit_test(an_interrupt_ends_a_factorisation),
  };
  return cmocka_run_group_tests(tests, start_device, stop_device);
}
