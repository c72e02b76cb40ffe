/* grad_check.c - central differences of the reference, extrapolated. */
#include "support/graph/grad_check.h"

#include <math.h>

static double inner (const double *a, const double *b, size_t n) {
  double s = 0;
  for (size_t i = 0; i < n; i++) s += a[i] * b[i];
  return s;
}

double *value_of (gb_node *n, const reference_bindings *with) {
  double *v;
  if (reference_eval(n, 0, with, &v, NULL, &fx.err) != GB_OK) fail_msg("reference: %s", fx.err.text);
  return v;
}

static double weighed (gb_node *y, const double *w, const reference_bindings *with) {
  double *v = value_of(y, with), s = inner(w, v, gb_shape_numel(gb_node_shape(y)));
  free(v);
  return s;
}

/* Central difference of <w, y> in element i of x, Richardson-extrapolated. */
double slope_at (gb_node *y, const double *w, gb_node *x, const double *at, size_t i) {
  const size_t n = gb_shape_numel(gb_node_shape(x));
  double *moved = malloc((n + 1) * sizeof *moved), d[2];
  const double *value = moved;
  const reference_bindings with = {1, &x, &value};
  for (int k = 0; k < 2; k++) {
    const double h = k == 0 ? 2e-4 : 1e-4;
    memcpy(moved, at, n * sizeof *moved);
    moved[i] = at[i] + h;
    const double up = weighed(y, w, &with);
    moved[i] = at[i] - h;
    d[k] = (up - weighed(y, w, &with)) / (2 * h);
  }
  free(moved);
  return (4 * d[1] - d[0]) / 3;
}

gb_node *like_leaf (const gb_node *y) {
  const gb_shape *s = gb_node_shape(y);
  return leaf_of(gb_node_dtype(y), 0, s->ndim, s->dim, NULL, -1, 1);
}

gb_node *leaf_in (int ndim, const size_t *dim, double lo, double hi) {
  return leaf_of(GB_F64, GB_NODE_GRAD, ndim, dim, NULL, lo, hi);
}

gb_node *mat_in (size_t n, size_t m, double lo, double hi) { return leaf_in(2, (size_t[]){n, m}, lo, hi); }

gb_node *op_of (gb_op op, int nin, gb_node *const *in, gb_attr attr) {
  return BUILD(gb_node_build, fx.g, op, nin, in, &attr, NULL, GB_F64);
}

gb_node *pick_ (gb_node *n, int output) { return BUILD(gb_pick, n, output); }
gb_node *spd (gb_node *x) {
  return add(mm(x, tr(x)), eye(gb_node_shape(x)->dim[gb_node_shape(x)->ndim - 2]));
}
void take_gradient (gb_node *y, gb_node *cotangent, size_t n, gb_node *const *xs, gb_node **bar) {
  const gb_status st = gb_grad(y, cotangent, n, xs, true, bar, &fx.err);
  if (st != GB_OK) fail_msg("grad: %s", fx.err.text);
  for (size_t k = 0; k < n; k++) hold(GB_OK, bar[k]);
}

bool gradient_is_right (const char *what, gb_node *y, size_t n, gb_node *const *xs, double tol) {
  gb_node *cotangent = like_leaf(y), *bar[4];
  take_gradient(y, BUILD(gb_move, cotangent, y->device), n, xs, bar);
  double *w = value_of(cotangent, NULL);
  bool ok = true;
  for (size_t k = 0; k < n && ok; k++) {
    assert_true(gb_shape_equal(gb_node_shape(bar[k]), gb_node_shape(xs[k])));
    double *got = value_of(bar[k], NULL), *at = value_of(xs[k], NULL);
    for (size_t i = 0; i < gb_shape_numel(gb_node_shape(xs[k])) && ok; i++) {
      const double want = slope_at(y, w, xs[k], at, i);
      ok = reference_close(got[i], want, tol, tol);
      if (!ok) printf("%s: d/dx%zu[%zu]: got %.12g, differences say %.12g\n", what, k, i, got[i], want);
    }
    free(got);
    free(at);
  }
  free(w);
  return ok;
}

void expect_gradient (gb_node *y, gb_node *x, const double *want) {
  gb_node *bar;
  take_gradient(y, NULL, 1, &x, &bar);
  double *got = value_of(bar, NULL);
  assert_true(reference_all_close(got, want, gb_shape_numel(gb_node_shape(x)), 1e-14, 1e-14));
  free(got);
}
