/* lanczos.c - the three-term recurrence with full orthogonalisation. */
#include "solve/lanczos.h"

#include <float.h>
#include <math.h>

#include "base/interrupt.h"
#include "base/plain.h"
#include "iterate/product.h"
#include "iterate/work.h"

typedef struct basis {
  gb_product a;
  size_t steps, done;
  gb_panel v;    /* (steps, n): basis vectors in rows */
  gb_panel w, q; /* (n, 1): the next one; A's argument */
  double *d, *e; /* (steps) */
} basis;

static gb_panel vector (const basis *b, size_t j) {
  return gb_panel_of(b->v.device, gb_panel_address(b->v.at, j * b->a.n), b->a.n, 1);
}

/* Removes from w its part along the basis, twice; the first pass's last coefficient belongs to T. */
static void orthogonalise (basis *b) {
  for (int pass = 0; pass < 2; pass++)
    for (size_t j = b->done; j-- > 0;) {
      double h;
      gb_panel_dot(vector(b, j), b->w, NULL, &h);
      if (j + 1 == b->done) b->d[j] = pass == 0 ? h : b->d[j] + h;
      h = -h;
      gb_panel_axpy(&h, vector(b, j), b->w);
    }
}

static double norm_of (gb_panel w) {
  double square;
  gb_panel_dot(w, w, NULL, &square);
  return sqrt(square);
}

static gb_status extend (basis *b, gb_lanczos_info *info, gb_error *err) {
  const size_t n = b->a.n;
  double norm = norm_of(b->w), largest = 0;
  if (!(norm > 0))
    return gb_fail(err, isnan(norm) ? GB_ENAN : GB_EOPTION, "the first vector has norm %g", gb_plain(norm));
  while (b->done < b->steps) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    const gb_panel v = vector(b, b->done++);
    gb_panel_divide(&norm, b->w, v);
    gb_panel_copy(v, b->q);
    GB_TRY(gb_product_run(&b->a, b->q, b->w, err));
    orthogonalise(b);
    norm = norm_of(b->w);
    if (isnan(norm)) return gb_fail(err, GB_ENAN, "a product with the matrix is not finite");
    b->e[b->done - 1] = norm;
    info->residual = norm;
    largest = fmax(largest, fmax(norm, fabs(b->d[b->done - 1])));
    if (norm <= (b->a.dtype == GB_F64 ? DBL_EPSILON : (double)FLT_EPSILON) * (double)n * largest) break;
  }
  info->steps = (int)b->done;
  return gb_interrupted() ? gb_fail(err, GB_EINTR, "interrupted") : GB_OK; /* sums may have been cut short */
}

/* T (done, done) in the memory of the basis vectors, which are in Q by then. */
static gb_panel tridiagonal (const basis *b) {
  const size_t t = b->done;
  gb_panel m = gb_panel_of(b->v.device, b->v.at, t, t), above = m, below = m;
  above.at = gb_panel_address(m.at, 1);
  below.at = gb_panel_address(m.at, t);
  gb_panel_fill(m, 0);
  gb_panel_write(gb_panel_diagonal(m, t), b->d);
  gb_panel_write(gb_panel_diagonal(above, t - 1), b->e);
  gb_panel_write(gb_panel_diagonal(below, t - 1), b->e);
  return m;
}

/* Q as a leaf: the basis turns from rows into columns. */
static gb_status basis_leaf (const basis *b, gb_node **q, gb_error *err) {
  gb_graph *g = b->a.graph;
  const gb_shape s = gb_shape_of(2, (size_t[]){b->a.n, b->done});
  const bool f32 = b->a.dtype == GB_F32;
  gb_tensor x;
  gb_status st = GB_OK;
  GB_TRY(gb_tensor_new(&g->device->ledger, b->a.dtype, &s, GB_MEM_TENSOR, g->where, "", &x, err));
  char *to = gb_tensor_data(&x);
  for (size_t j = 0; j < b->done && st == GB_OK; j++)
    st = gb_panel_store(vector(b, j), to + j * gb_dtype_size(b->a.dtype), f32, b->done, false, err);
  if (st == GB_OK) st = gb_node_leaf(g, &x, 0, "", q, err);
  gb_tensor_clear(&x);
  return st;
}

/* Q and T as leaves. */
static gb_status basis_leaves (const basis *b, gb_node **q, gb_node **t, gb_error *err) {
  const gb_shape s = gb_shape_of(2, (size_t[]){b->done, b->done});
  GB_TRY(basis_leaf(b, q, err));
  const gb_status st = gb_leaf_entries(b->a.graph, &s, b->a.dtype, tridiagonal(b).at, "", t, err);
  if (st != GB_OK) gb_node_unref(*q);
  return st;
}

/* Entries of the basis and two vectors; numbers of two diagonals. */
static gb_status lanczos_in (basis *b, gb_room work, gb_node *q, gb_node **out, gb_node **t,
                             gb_lanczos_info *info, gb_error *err) {
  const size_t n = b->a.n, all = b->steps * n;
  b->v = gb_panel_of(work.device, work.entries, b->steps, n);
  b->w = gb_panel_of(work.device, gb_panel_address(work.entries, all), n, 1);
  b->q = gb_panel_of(work.device, gb_panel_address(work.entries, all + n), n, 1);
  b->d = work.numbers;
  b->e = b->d + b->steps;
  GB_TRY(gb_node_entries(q, b->w.at, err));
  GB_TRY(extend(b, info, err));
  return basis_leaves(b, out, t, err);
}

gb_status gb_lanczos (gb_node *a, gb_node *q, size_t steps, gb_node **out, gb_node **t, gb_lanczos_info *info,
                      gb_error *err) {
  basis b = {0};
  gb_work work = {0};
  *info = (gb_lanczos_info){0};
  GB_TRY(gb_product_init(&b.a, a, 1, err));
  const size_t n = b.a.n;
  b.steps = steps < n ? steps : n;
  gb_status st = GB_OK;
  if (gb_node_shape(q)->ndim != 1 || gb_node_shape(q)->dim[0] != n)
    st = gb_fail(err, GB_ESHAPE, "lanczos: expected a first vector of %zu entries", n);
  if (st == GB_OK)
    st = gb_work_new(a->graph->device, (b.steps + 2) * n * sizeof(double), 2 * b.steps * sizeof(double),
                     "lanczos", &work, err);
  if (st == GB_OK) st = lanczos_in(&b, work.at, q, out, t, info, err);
  gb_work_free(&work);
  gb_product_clear(&b.a);
  return st;
}
