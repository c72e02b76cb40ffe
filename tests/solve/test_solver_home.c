/* test_solver_home.c - solvers within a plan, on a device that lacks ops of their matrix: what they compute is what they
** compute on a device that lacks nothing, and the bytes of both devices are those that were promised. */
#include "solve/op/solver.h"
#include "support/plan/lower_fixture.h"
#include "support/plan/run_fixture.h"

enum { N = 70, COLUMNS = 3 };

typedef struct values {
  void *at;
  size_t bytes;
} values;

static values take (gb_tensor *t) {
  const values v = {elements_copied(t), gb_shape_bytes(&t->shape, t->dtype)};
  gb_tensor_clear(t);
  return v;
}

static void check_bits (void *want, gb_tensor *got) {
  values v = take(got);
  const values *w = want;
  assert_int_equal(v.bytes, w->bytes);
  assert_memory_equal(v.at, w->at, w->bytes);
  free(v.at);
}

/* K + I, K an RBF kernel times a sum with functions that are lacking, or the same stored. */
static gb_node *matrix (gb_node **k) {
  gb_node *x = in2(N, 2, -1, 1), *d = dist(x, x, NULL);
  gb_node *bent = map1(GB_OP_EXP, map1(GB_OP_NEG, map1(GB_OP_SQRT, add(square(d), num(1)))));
  *k = mul(map1(GB_OP_EXP, map1(GB_OP_NEG, d)), add(bent, num(1)));
  return add(*k, identity_of(N));
}

typedef struct way {
  gb_precond_kind precond;
  bool mixed, marginal;
} way;

static gb_node *solved (const way *w) {
  gb_node *k, *a = matrix(&k), *x, *head, *all;
  const gb_solver_options o = {
      .run = {.solve = {.tol = 1e-6, .max_iter = 300, .mixed = w->mixed}, .probes = 4, .seed = 3},
      .precond = {w->precond, 12, 0, 1}};
  gb_node *noise = gb_precond_low_rank(&o.precond) ? num(1) : NULL,
          *b = in2(N, w->marginal ? 1 : COLUMNS, -1, 1);
  if (!w->marginal) {
    x = BUILD(gb_solver_solve, a, b, NULL, noise == NULL ? NULL : k, noise, &o);
    return sum_axis(map1(GB_OP_ERF, x), 1);
  }
  OK(gb_solver_marginal(a, BUILD(gb_select, b, 1, 0), k, num(1), &o, &head, &all, &fx.err));
  hold(GB_OK, head), hold(GB_OK, all);
  return map1(GB_OP_ERF, head);
}

static void lack_some (uint64_t seed) {
  static const gb_op ops[] = {GB_OP_EXP, GB_OP_SQRT, GB_OP_ERF, GB_OP_GEMM, GB_OP_DIAGONAL, GB_OP_NEG};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (seed >> i & 1) picky_lacks(ops[i]);
}

static void bytes_at_home_are_those_promised (void **unused) {
  (void)unused;
  static const way ways[] = {{GB_PRECOND_NONE, false, false},
                             {GB_PRECOND_JACOBI, false, false},
                             {GB_PRECOND_PIVOTED_CHOLESKY, false, false},
                             {GB_PRECOND_NYSTROM, false, false},
                             {GB_PRECOND_NONE, true, false},
                             {GB_PRECOND_NONE, false, true},
                             {GB_PRECOND_PIVOTED_CHOLESKY, false, true}};
  tally t = {0};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    for (uint64_t seed = 0; seed < 16; seed++) {
      gb_tensor out;
      tally none = {0};
      const gb_dtype type = ways[i].mixed ? GB_F64 : seed % 3 == 2 ? GB_F32 : GB_F64;
      picky_begin(1, type);
      OK(run(solved(&ways[i]), 0, &out, &none));
      values want = take(&out);
      picky_end();
      picky_begin(1, type);
      lack_some(seed * 7 % 64);
      gb_node *y = solved(&ways[i]);
      OK(run(y, 0, &out, &t));
      check_bits(&want, &out);
      if (seed < 4) {
        shrink_on(device, y, check_bits, &want, &t);
        shrink_on(home, y, check_bits, &want, &t);
      }
      free(want.at);
      picky_end();
    }
  print_message("%d runs, %d on both devices, %d steps at home, %d refused\n", t.runs, t.devices, t.at_home,
                t.refused);
  assert_true(t.devices > 200 && t.at_home > 200 && t.refused > 20);
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_at_home_are_those_promised)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
