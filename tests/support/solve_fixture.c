/* solve_fixture.c - matrices, kernels and dense elimination for tests of solvers. */
#include "support/solve_fixture.h"

#include "support/device.h"
#include "support/elements.h"

gb_device *dev;
gb_graph *g;
gb_error err;
gb_node *held[1024];
int nheld;

int solve_begin (void **state) {
  (void)state;
  nheld = 0;
  if (test_device_new(2, (size_t)1 << 28, &dev, &err) != GB_OK) return -1;
  return gb_graph_new(dev, &g, &err) == GB_OK ? 0 : -1;
}

int solve_end (void **state) {
  (void)state;
  while (nheld > 0) gb_node_unref(held[--nheld]);
  gb_cache_drop(g, SIZE_MAX);
  const bool clean = g->nnodes == 0;
  gb_graph_free(g);
  const bool empty = test_device_free(dev) == 0;
  return clean && empty ? 0 : -1;
}

void ok (gb_status st) {
  if (st != GB_OK) fail_msg("%s: %s", gb_status_code(st), err.text);
}

gb_node *hold_node (gb_status st, gb_node *n) {
  ok(st);
  assert_true(nheld < 1024);
  return held[nheld++] = n;
}

gb_node *leaf (gb_dtype t, unsigned flags, int ndim, const size_t *dim, const double *v) {
  const gb_shape s = gb_shape_of(ndim, dim);
  gb_tensor x;
  ok(gb_tensor_new(&dev->ledger, t, &s, GB_MEM_TENSOR, "", "", &x, &err));
  void *to = elements_to_write(&x);
  for (size_t i = 0; i < gb_shape_numel(&s); i++) gb_element_set(to, i, t, v[i]);
  elements_written(&x);
  gb_node *n = NULL;
  const gb_status st = gb_node_leaf(g, &x, flags, "", &n, &err);
  gb_tensor_clear(&x);
  return hold_node(st, n);
}

gb_node *random_leaf (gb_dtype t, unsigned flags, size_t n, size_t r, uint64_t seed) {
  double *v = malloc((n * r + 1) * sizeof *v);
  for (size_t i = 0; i < n * r; i++) v[i] = gb_rand_normal(seed, 0, i);
  gb_node *l = leaf(t, flags, r == 1 ? 1 : 2, (size_t[]){n, r}, v);
  free(v);
  return l;
}

gb_node *kernel (gb_dtype t, size_t n, gb_node *c) {
  double *x = malloc((2 * n + 1) * sizeof *x);
  for (size_t i = 0; i < 2 * n; i++) x[i] = gb_rand_uniform(11, 0, i);
  gb_node *points = leaf(t, 0, 2, (size_t[]){n, 2}, x);
  free(x);
  gb_node *s = BUILD(gb_sqdist, points, points, NULL);
  return BUILD(gb_radial, GB_RBF, s, c, NULL);
}

gb_node *scalar (gb_dtype t, unsigned flags, double v) { return leaf(t, flags, 0, NULL, &v); }

gb_node *plus_noise (gb_node *k, double noise) {
  gb_node *unit = BUILD(gb_eye, g, gb_node_shape(k)->dim[0], gb_node_dtype(k));
  gb_node *diagonal = BUILD(gb_scale, unit, noise);
  return BUILD(gb_map2, GB_OP_ADD, k, diagonal);
}

double *doubles (gb_node *n) {
  double *v = malloc((gb_shape_numel(gb_node_shape(n)) + 1) * sizeof *v);
  ok(gb_node_doubles(n, v, &err));
  return v;
}

double eliminate (double *a, double *b, size_t n, size_t r) {
  double logdet = 0;
  for (size_t k = 0; k < n; k++) {
    size_t p = k;
    for (size_t i = k; i < n; i++)
      if (fabs(a[i * n + k]) > fabs(a[p * n + k])) p = i;
    for (size_t j = 0; j < n; j++) {
      const double t = a[k * n + j];
      a[k * n + j] = a[p * n + j];
      a[p * n + j] = t;
    }
    for (size_t j = 0; j < r; j++) {
      const double t = b[k * r + j];
      b[k * r + j] = b[p * r + j];
      b[p * r + j] = t;
    }
    logdet += log(fabs(a[k * n + k]));
    for (size_t i = 0; i < n; i++) {
      if (i == k) continue;
      const double f = a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
      for (size_t j = 0; j < r; j++) b[i * r + j] -= f * b[k * r + j];
    }
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < r; j++) b[i * r + j] /= a[i * n + i];
  return logdet;
}

double true_residual (gb_node *a, gb_node *b, gb_node *x) {
  double *va = doubles(a), *vb = doubles(b), *vx = doubles(x), worst = 0;
  const size_t n = gb_node_shape(a)->dim[0], r = gb_shape_numel(gb_node_shape(b)) / (n > 0 ? n : 1);
  for (size_t c = 0; c < r; c++) {
    double rr = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
      double s = vb[i * r + c];
      bb += s * s;
      for (size_t j = 0; j < n; j++) s -= va[i * n + j] * vx[j * r + c];
      rr += s * s;
    }
    if (bb > 0 && !(sqrt(rr / bb) <= worst)) worst = sqrt(rr / bb);
  }
  free(va), free(vb), free(vx);
  return worst;
}

/* -- panels */

gb_panel panel (gb_work *w, size_t n, size_t r, const double *values) {
  ok(gb_work_new(dev, (n * r + 1) * sizeof(double), 0, "", w, &err));
  const gb_panel x = gb_panel_of(dev, w->at.entries, n, r);
  if (values != NULL) gb_panel_write(x, values);
  return x;
}

double *entries_of (void *at, size_t count) {
  double *v = malloc((count + 1) * sizeof *v);
  gb_panel_read(gb_panel_of(dev, at, count, 1), v);
  return v;
}

void apply_precond (const gb_precond *p, size_t n, size_t r, const double *in, double *out) {
  gb_work from, to;
  const gb_panel x = panel(&from, n, r, in), y = panel(&to, n, r, NULL);
  gb_precond_apply(p, x, y);
  gb_panel_read(y, out);
  gb_work_free(&from), gb_work_free(&to);
}

void sample_precond (const gb_precond *p, uint64_t seed, size_t n, size_t r, size_t first, double *out) {
  gb_work w;
  const gb_panel x = panel(&w, n, r, out);
  gb_precond_sample(p, seed, first, x);
  gb_panel_read(x, out);
  gb_work_free(&w);
}

double *dense_precond (const gb_precond *p) {
  const size_t n = p->form.n, rank = p->form.rank;
  double *m = calloc(n * n + 1, sizeof *m), *lt = entries_of(p->form.lt, rank * n),
         *scale = p->form.scale != NULL ? entries_of(p->form.scale, n) : NULL;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      m[i * n + j] = i == j ? p->form.noise : 0;
      for (size_t k = 0; k < rank; k++) m[i * n + j] += lt[k * n + i] * lt[k * n + j];
      if (scale != NULL) m[i * n + j] /= scale[i] * scale[j];
    }
  free(lt), free(scale);
  return m;
}
