/* test_append.c - appendable factors: appended rows, sharing between versions, failures, and solves in
** plans. */
#include "graph/build.h"
#include "solve/append.h"
#include "support/plan/eval_fixture.h"

static const gb_dtype dtypes[] = {GB_F64, GB_F32};
static const gb_tensor none;
static double *spd; /* (MOST, MOST) */
#define MOST 1030

static int begin (void **state) {
  (void)state;
  double *x = malloc(2 * MOST * sizeof *x);
  spd = malloc((size_t)MOST * MOST * sizeof *spd);
  for (size_t i = 0; i < 2 * MOST; i++) x[i] = gb_rand_uniform(3, 0, i);
  for (size_t i = 0; i < MOST; i++)
    for (size_t j = 0; j < MOST; j++) {
      const double a = x[2 * i] - x[2 * j], b = x[2 * i + 1] - x[2 * j + 1];
      spd[i * MOST + j] = exp(-20 * (a * a + b * b)) + (i == j ? 0.1 : 0);
    }
  free(x);
  return 0;
}

static int end (void **state) {
  (void)state;
  free(spd);
  return 0;
}

/* Rows i0 .. i1 - 1, columns j0 .. j1 - 1 of the matrix. */
static gb_node *part (gb_dtype t, size_t i0, size_t i1, size_t j0, size_t j1) {
  const size_t n = i1 - i0, m = j1 - j0;
  double *v = malloc((n * m + 1) * sizeof *v);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < m; j++) v[i * m + j] = spd[(i0 + i) * MOST + j0 + j];
  gb_node *x = leaf_of(t, 0, 2, (size_t[]){n, m}, v, 0, 0);
  free(v);
  return x;
}

/* Releases nodes that it makes: a version holds none. */
static gb_status append_rows (gb_dtype t, const gb_tensor *l, size_t to, gb_tensor *out) {
  const int mark = fx.n;
  const size_t n = l->storage == NULL ? 0 : l->shape.dim[0];
  gb_node *b = n > 0 ? part(t, n, to, 0, n) : NULL, *c = part(t, n, to, n, to);
  const gb_status st = gb_factor_append(fx.g, l, b, c, out, &fx.err);
  release_to(mark);
  return st;
}

static gb_tensor appended (gb_dtype t, const gb_tensor *l, size_t to) {
  gb_tensor v = {0};
  OK(append_rows(t, l, to, &v));
  return v;
}

static gb_tensor from_start (gb_dtype t, size_t n) { return appended(t, &none, n); }

/* The factor by the plan, square. */
static gb_tensor fresh (gb_dtype t, size_t n) {
  const int mark = fx.n;
  gb_node *l = BUILD(gb_cholesky, part(t, 0, n, 0, n), 0);
  OK(gb_eval(fx.g, 1, &l, &fx.err));
  const gb_tensor v = gb_tensor_ref(&l->out[0].tensor);
  release_to(mark);
  gb_cache_drop(fx.g, SIZE_MAX);
  return v;
}

static double worst_difference (const gb_tensor *l, const gb_tensor *square) {
  double worst = 0;
  for (size_t i = 0, run; i < l->shape.dim[0]; i++)
    for (size_t j = 0; j <= i; j++) {
      uint64_t entry = 0;
      OK(gb_memory_download(l->storage->ledger->memory, &entry, gb_appendable_entry(l, i, j, &run),
                            gb_dtype_size(l->dtype), &fx.err));
      const double off = fabs(gb_element_get(&entry, 0, l->dtype) - element_at(square, (size_t[]){i, j}));
      if (!(off <= worst)) worst = off;
    }
  return worst;
}

/* All rows of 'l' as bytes, one after the other. */
static void *bytes_of (const gb_tensor *l) {
  const size_t n = l->shape.dim[0], size = gb_dtype_size(l->dtype);
  char *all = calloc(n * n + 1, size);
  for (size_t i = 0, run; i < n; i++)
    for (size_t j = 0; j <= i; j += run) {
      const void *p = gb_appendable_entry(l, i, j, &run);
      if (run > i + 1 - j) run = i + 1 - j;
      OK(gb_memory_download(l->storage->ledger->memory, all + (i * n + j) * size, p, run * size, &fx.err));
    }
  return all;
}

static void assert_unchanged (const gb_tensor *l, void *was) {
  void *now = bytes_of(l);
  assert_memory_equal(now, was, l->shape.dim[0] * l->shape.dim[0] * gb_dtype_size(l->dtype));
  free(now);
}

static void appended_rows_are_those_of_the_whole_factor (void **state) {
  (void)state;
  static const size_t from[] = {1, 2, 15, 16, 17, 255, 256, 257, 511, 512, 513}, more[] = {1, 3, 64, 300};
  eval_begin(2, (size_t)1 << 28);
  for (int d = 0; d < 2; d++) {
    for (size_t f = 0; f < sizeof from / sizeof *from; f++) {
      gb_tensor l = from_start(dtypes[d], from[f]);
      for (size_t m = 0; m < sizeof more / sizeof *more; m++) {
        gb_tensor longer = appended(dtypes[d], &l, from[f] + more[m]),
                  square = fresh(dtypes[d], from[f] + more[m]);
        const double worst = worst_difference(&longer, &square), tol = dtypes[d] == GB_F64 ? 1e-13 : 3e-5;
        if (!(worst <= tol))
          fail_msg("%zu + %zu rows of %s: off by %g", from[f], more[m], gb_dtype_name(dtypes[d]), worst);
        if (from[f] % GB_BLOCK == 0) assert_true(worst == 0); /* the same calls on the same blocks */
        gb_tensor_clear(&longer), gb_tensor_clear(&square);
      }
      gb_tensor_clear(&l);
    }
  }
  eval_end();
}

static void whole_block_rows_give_the_bits_of_a_factor_from_the_start (void **state) {
  (void)state;
  eval_begin(2, (size_t)1 << 28);
  for (int d = 0; d < 2; d++) {
    const gb_dtype t = dtypes[d];
    gb_tensor a = from_start(t, 256), b = appended(t, &a, 768), c = appended(t, &b, 1000),
              square = fresh(t, 1000);
    assert_true(worst_difference(&c, &square) == 0);
    gb_tensor_clear(&a), gb_tensor_clear(&b), gb_tensor_clear(&c), gb_tensor_clear(&square);
  }
  eval_end();
}

static void a_factor_grows_row_by_row_past_three_blocks (void **state) {
  (void)state;
  eval_begin(1, (size_t)1 << 28);
  gb_tensor l = from_start(GB_F64, 1), square = fresh(GB_F64, 600);
  for (size_t n = 2; n <= 600; n++) {
    gb_tensor next = appended(GB_F64, &l, n);
    gb_tensor_clear(&l);
    l = next;
  }
  assert_true(worst_difference(&l, &square) <= 1e-13);
  gb_tensor_clear(&l), gb_tensor_clear(&square);
  eval_end();
}

static void versions_share_rows_and_never_change (void **state) {
  (void)state;
  eval_begin(2, (size_t)1 << 28);
  const size_t tile = GB_BLOCK * GB_BLOCK * 8;
  gb_tensor base = from_start(GB_F64, 300), square = fresh(GB_F64, 302);
  void *was = bytes_of(&base);
  const size_t before = device->ledger.used;
  gb_tensor tip = appended(GB_F64, &base, 301), further = appended(GB_F64, &tip, 302);
  assert_true(device->ledger.used - before < 1024); /* in place: two tables */
  assert_unchanged(&base, was);
  gb_tensor branch = appended(GB_F64, &base, 302); /* the last block row is taken: copied */
  assert_true(device->ledger.used - before > 2 * tile && device->ledger.used - before < 2 * tile + 1024);
  assert_true(worst_difference(&further, &square) <= 1e-13 && worst_difference(&branch, &square) <= 1e-13);
  assert_unchanged(&base, was);
  gb_tensor_clear(&tip), gb_tensor_clear(&base);
  gb_tensor last = appended(GB_F64, &further, 600), again = appended(GB_F64, &branch, 303);
  void *other = bytes_of(&branch);
  assert_true(worst_difference(&further, &square) <= 1e-13);
  gb_tensor_clear(&further), gb_tensor_clear(&again), gb_tensor_clear(&last);
  assert_unchanged(&branch, other);
  gb_tensor_clear(&branch), gb_tensor_clear(&square);
  free(was), free(other);
  assert_int_equal(device->ledger.used, 0);
  eval_end();
}

static void memory_is_that_of_the_block_rows (void **state) {
  (void)state;
  eval_begin(1, (size_t)1 << 28);
  static const struct {
    size_t n, capacity, tiles;
  } rows[] = {{256, 256, 1}, {257, 512, 3}, {512, 512, 3}, {700, 768, 6}};
  for (int i = 0; i < 4; i++) {
    gb_tensor l = from_start(GB_F32, rows[i].n);
    const size_t want = rows[i].tiles * GB_BLOCK * GB_BLOCK * 4 + 8 * gb_blocks(rows[i].n, GB_BLOCK);
    assert_int_equal(gb_appendable_capacity(&l), rows[i].capacity);
    assert_int_equal(gb_appendable_bytes(&l), want);
    assert_int_equal(device->ledger.used, want);
    gb_tensor_clear(&l);
  }
  gb_tensor small = from_start(GB_F64, 3), grown = appended(GB_F64, &small, 17);
  assert_int_equal(gb_appendable_capacity(&small), 16);
  assert_int_equal(gb_appendable_capacity(&grown), 32);
  gb_tensor_clear(&small), gb_tensor_clear(&grown);
  eval_end();
}

static void what_cannot_be_appended_leaves_the_factor_as_it_was (void **state) {
  (void)state;
  eval_begin(2, (size_t)1 << 28);
  gb_tensor l = from_start(GB_F64, 300), v = {0};
  void *was = bytes_of(&l);
  const size_t before = device->ledger.used;
  const int mark = fx.n;
  double *c = calloc(9, sizeof *c);
  c[0] = 5, c[4] = 1e-3, c[8] = 5; /* the second new pivot becomes negative */
  gb_node *b = part(GB_F64, 0, 3, 0, 300), *corner = leaf_of(GB_F64, 0, 2, (size_t[]){3, 3}, c, 0, 0);
  assert_int_equal(gb_factor_append(fx.g, &l, b, corner, &v, &fx.err), GB_ENOTPD);
  assert_non_null(strstr(fx.err.text, "minor of order 302 of 303"));
  c[0] = NAN;
  corner = leaf_of(GB_F64, 0, 2, (size_t[]){3, 3}, c, 0, 0);
  assert_int_equal(gb_factor_append(fx.g, &l, b, corner, &v, &fx.err), GB_ENAN);
  assert_non_null(strstr(fx.err.text, "row 301, column 301"));
  assert_int_equal(gb_factor_append(fx.g, &l, corner, corner, &v, &fx.err), GB_ESHAPE);
  assert_int_equal(gb_factor_append(fx.g, &l, b, part(GB_F32, 0, 3, 0, 3), &v, &fx.err), GB_EDTYPE);
  assert_null(v.storage);
  release_to(mark);
  assert_int_equal(device->ledger.used, before);
  assert_unchanged(&l, was);
  gb_tensor next = appended(GB_F64, &l, 301); /* still the newest: in place */
  assert_true(device->ledger.used - before < 512);
  gb_tensor_clear(&next), gb_tensor_clear(&l);
  free(was), free(c);
  eval_end();
}

static void no_rows_are_a_version_too (void **state) {
  (void)state;
  eval_begin(1, (size_t)1 << 28);
  gb_tensor empty = from_start(GB_F64, 0), l = appended(GB_F64, &empty, 4), same = appended(GB_F64, &l, 4);
  gb_tensor square = fresh(GB_F64, 4);
  assert_int_equal(empty.shape.dim[0], 0);
  assert_true(worst_difference(&same, &square) == 0);
  gb_tensor_clear(&empty), gb_tensor_clear(&l), gb_tensor_clear(&same), gb_tensor_clear(&square);
  eval_end();
}

static void failing_allocations_leak_nothing (void **state) {
  (void)state;
  eval_begin(2, (size_t)1 << 28);
  gb_ledger *l = &device->ledger;
  gb_tensor base = from_start(GB_F64, 300), tip = appended(GB_F64, &base, 301), v = {0};
  const size_t before = l->used;
  gb_status st = GB_ENOMEM;
  long n = 0;
  for (; st != GB_OK; n++) {
    const int mark = fx.n;
    gb_node *b = part(GB_F64, 300, 600, 0, 300), *c = part(GB_F64, 300, 600, 300, 600);
    l->fail_after = (long)l->allocations + n;
    st = gb_factor_append(fx.g, &base, b, c, &v, &fx.err);
    l->fail_after = -1;
    release_to(mark);
    if (st == GB_OK) break;
    assert_int_equal(st, GB_ENOMEM);
    assert_int_equal(l->used, before);
  }
  assert_int_equal(n, 4); /* table, two block rows, scratch */
  gb_tensor_clear(&v), gb_tensor_clear(&base), gb_tensor_clear(&tip);
  eval_end();
}

/* Every way to use a factor, of a growing and of a square one. */
static gb_node *use (int way, gb_node *l, gb_node *b) {
  switch (way) {
    case 0: return BUILD(gb_triangular_solve, l, b, false, false);
    case 1: return BUILD(gb_triangular_solve, l, b, false, true);
    case 2: return BUILD(gb_node_build, fx.g, GB_OP_SOLVE_CHOL, 2, (gb_node *[]){l, b}, NULL, NULL, GB_F64);
    case 3: return BUILD(gb_node_build, fx.g, GB_OP_INV_QUAD, 2, (gb_node *[]){l, b}, NULL, NULL, GB_F64);
    default: return BUILD(gb_node_build, fx.g, GB_OP_LOGDET, 1, &l, NULL, NULL, GB_F64);
  }
}

static gb_node *grown_leaf (const gb_tensor *v) {
  return BUILD(gb_node_leaf, fx.g, v, GB_NODE_GROWN, "factor");
}

static void assert_same_value (gb_node *a, gb_node *b) {
  OK(gb_eval(fx.g, 1, &a, &fx.err));
  OK(gb_eval(fx.g, 1, &b, &fx.err));
  const gb_tensor *x = &a->out[0].tensor, *y = &b->out[0].tensor;
  assert_memory_equal(elements(x), elements(y), gb_shape_bytes(&x->shape, x->dtype));
}

static void solving_has_the_bits_of_the_square_factor (void **state) {
  (void)state;
  static const size_t columns[] = {1, 3, 70};
  eval_begin(2, (size_t)1 << 28);
  for (int d = 0; d < 2; d++)
    for (size_t r = 0; r < 3; r++) {
      gb_tensor a = from_start(dtypes[d], 256), l = appended(dtypes[d], &a, 515),
                square = fresh(dtypes[d], 515);
      inputs_begin(5, dtypes[d], 0);
      gb_node *grown = grown_leaf(&l), *plain = BUILD(gb_node_leaf, fx.g, &square, 0, "");
      gb_node *b = in2(515, columns[r], -1, 1);
      for (int way = 0; way < 5; way++) assert_same_value(use(way, grown, b), use(way, plain, b));
      gb_tensor_clear(&a), gb_tensor_clear(&l), gb_tensor_clear(&square);
      release_to(0);
    }
  eval_end();
}

/* sum over rows of (L^-1 exp(-d2(x, t)))^2, as variances at t are computed. */
static gb_node *column_sums (gb_node *l) {
  inputs_begin(9, GB_F64, 0);
  gb_node *x = in2(300, 2, -1, 1), *t = in2(5000, 2, -1, 1), *d2 = BUILD(gb_sqdist, x, t, NULL);
  gb_node *v = BUILD(gb_triangular_solve, l, map1(GB_OP_EXP, map1(GB_OP_NEG, d2)), false, false);
  return BUILD(gb_reduce, GB_OP_SUM, mul(v, v), 1u, false);
}

static void a_plan_cuts_right_hand_sides_and_counts_the_factor (void **state) {
  (void)state;
  eval_begin(2, (size_t)1 << 28);
  gb_tensor l = from_start(GB_F64, 300);
  gb_node *grown = grown_leaf(&l);
  const int mark = fx.n;
  gb_node *y = column_sums(grown);
  gb_plan *whole, *cut;
  gb_plan_report r;
  gb_tensor a = {0}, c = {0};
  OK(gb_plan_new(fx.g, 1, &y, NULL, &whole, &fx.err));
  gb_plan_report_get(whole, &r);
  assert_true(r.minimum < r.peak / 3);
  size_t factor_bytes = 0;
  for (int i = 0; i < r.nrows; i++)
    if (r.row[i].shape.ndim == 2 && r.row[i].shape.dim[1] == 300) factor_bytes = r.row[i].bytes;
  assert_int_equal(factor_bytes, gb_appendable_bytes(&l));
  const gb_plan_options o = {.budget = r.minimum};
  OK(gb_plan_run(whole, &fx.err));
  a = gb_tensor_ref(&y->out[0].tensor);
  gb_plan_free(whole);
  release_to(mark);
  y = column_sums(grown);
  OK(gb_plan_new(fx.g, 1, &y, &o, &cut, &fx.err));
  OK(gb_plan_run(cut, &fx.err));
  c = gb_tensor_ref(&y->out[0].tensor);
  assert_memory_equal(elements(&a), elements(&c), 5000 * sizeof(double));
  gb_plan_free(cut);
  gb_tensor_clear(&a), gb_tensor_clear(&c), gb_tensor_clear(&l);
  eval_end();
}

static void a_growing_factor_is_no_array (void **state) {
  (void)state;
  eval_begin(1, (size_t)1 << 28);
  gb_tensor l = from_start(GB_F64, 3);
  inputs_begin(1, GB_F64, 0);
  gb_node *f = grown_leaf(&l), *b = in2(3, 2, -1, 1), *y = NULL;
  assert_int_equal(gb_map1(GB_OP_EXP, f, &y, &fx.err), GB_EOPTION);
  assert_non_null(strstr(fx.err.text, "a growing factor can only be solved with"));
  assert_int_equal(gb_matmul(f, b, &y, &fx.err), GB_EOPTION);
  assert_int_equal(gb_node_build(fx.g, GB_OP_CHOL_INVERSE, 1, &f, NULL, NULL, GB_F64, &y, &fx.err),
                   GB_EOPTION);
  assert_int_equal(gb_triangular_solve(f, f, false, false, &y, &fx.err), GB_EOPTION);
  assert_int_equal(gb_triangular_solve(f, b, true, false, &y, &fx.err), GB_EOPTION);
  gb_tensor_clear(&l);
  eval_end();
}

static void several_devices_do_not_share_it (void **state) {
  (void)state;
  eval_begin(1, (size_t)1 << 28);
  gb_tensor l = from_start(GB_F64, 300);
  gb_node *y = column_sums(grown_leaf(&l));
  gb_plan *p;
  OK(gb_device_add_simulated(device, (size_t)1 << 28, &fx.err));
  const gb_plan_on on[] = {{.device = device}, {.device = device->next}};
  const gb_plan_options o = {.ndevices = 2, .on = on};
  assert_int_equal(gb_plan_new(fx.g, 1, &y, &o, &p, &fx.err), GB_EDEVICE);
  assert_non_null(strstr(fx.err.text, "a factor that grows stays on its device"));
  gb_tensor_clear(&l);
  eval_end();
}

static void a_half_solved_vector_is_extended (void **state) {
  (void)state;
  eval_begin(2, (size_t)1 << 28);
  for (int d = 0; d < 2; d++) {
    gb_tensor l = from_start(dtypes[d], 520), w = {0};
    inputs_begin(2, dtypes[d], 0);
    gb_node *r = in1(520, -1, 1), *all = use(0, grown_leaf(&l), r);
    OK(gb_eval(fx.g, 1, &all, &fx.err));
    for (size_t have = 0; have <= 520; have += 130) {
      gb_node *known = BUILD(gb_slice, all, 0, 0, 1, have),
              *rest = BUILD(gb_slice, r, 0, have, 1, 520 - have);
      OK(gb_factor_extend(fx.g, &l, known, rest, &w, &fx.err));
      for (size_t i = 0; i < 520; i++)
        assert_true(fabs(element_at(&w, &i) - element_at(&all->out[0].tensor, &i)) <=
                    (d == 0 ? 1e-12 : 1e-4));
      gb_tensor_clear(&w);
    }
    assert_int_equal(gb_factor_extend(fx.g, &l, r, r, &w, &fx.err), GB_ESHAPE);
    gb_tensor_clear(&l);
    release_to(0);
  }
  eval_end();
}

static void a_square_factor_becomes_one_that_grows (void **state) {
  (void)state;
  eval_begin(2, (size_t)1 << 28);
  for (int d = 0; d < 2; d++) {
    gb_tensor square = fresh(dtypes[d], 300), l, dense;
    gb_node *x = BUILD(gb_node_leaf, fx.g, &square, 0, "");
    OK(gb_factor_of(x, &l, &fx.err));
    assert_true(worst_difference(&l, &square) == 0);
    OK(gb_factor_dense(fx.g, &l, &dense, &fx.err));
    assert_memory_equal(elements(&dense), elements(&square), 300 * 300 * gb_dtype_size(dtypes[d]));
    gb_tensor_clear(&l), gb_tensor_clear(&dense), gb_tensor_clear(&square);
    release_to(0);
  }
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(appended_rows_are_those_of_the_whole_factor),
      cmocka_unit_test(whole_block_rows_give_the_bits_of_a_factor_from_the_start),
      cmocka_unit_test(a_factor_grows_row_by_row_past_three_blocks),
      cmocka_unit_test(versions_share_rows_and_never_change),
      cmocka_unit_test(memory_is_that_of_the_block_rows),
      cmocka_unit_test(what_cannot_be_appended_leaves_the_factor_as_it_was),
      cmocka_unit_test(no_rows_are_a_version_too),
      cmocka_unit_test(failing_allocations_leak_nothing),
      cmocka_unit_test(solving_has_the_bits_of_the_square_factor),
      cmocka_unit_test(a_plan_cuts_right_hand_sides_and_counts_the_factor),
      cmocka_unit_test(a_growing_factor_is_no_array),
      cmocka_unit_test(several_devices_do_not_share_it),
      cmocka_unit_test(a_half_solved_vector_is_extended),
      cmocka_unit_test(a_square_factor_becomes_one_that_grows),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
