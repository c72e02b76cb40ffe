/* plan_random.c - choices from a tape, leaves, and the pool. */
#include "support/random/plan_random.h"

graph_of_tape made;

/* choices */

void row_of (const uint32_t *row) {
  made.row = row;
  made.column = 0;
}

size_t choice (size_t below) {
  return made.column < WIDTH && below > 0 ? made.row[made.column++] % below : 0;
}

static void fill_row (uint64_t seed, uint64_t stream, uint32_t row[WIDTH]) {
  for (int k = 0; k < WIDTH; k += 4) gb_philox(seed, stream, (uint64_t)k, row + k);
}

/* Mostly a few steps, sometimes sixty, rarely two hundred. */
static int steps_of (uint64_t seed) {
  uint32_t w[4];
  gb_philox(seed, 5, 1, w);
  if (w[0] % 400 == 0) return 100 + (int)(w[1] % 101);
  if (w[0] % 16 == 0) return 16 + (int)(w[1] % 45);
  if (w[0] % 4 == 0) return 6 + (int)(w[1] % 10);
  return 1 + (int)(w[1] % 8);
}

void tape_of (uint64_t seed, tape *t) {
  t->nleaves = 1 + (int)(seed % MOST_LEAVES);
  t->nsteps = steps_of(seed);
  fill_row(seed, 0, t->frame);
  for (int i = 0; i < MOST_LEAVES; i++) fill_row(seed, 1 + (uint64_t)i, t->leaf[i]);
  for (int i = 0; i < MOST_STEPS; i++) {
    fill_row(seed, 100 + (uint64_t)i, t->step[i]);
    t->step[i][0] = (uint32_t)seed + 37 * (uint32_t)i;
  }
}

/* shapes and leaves */

size_t draw_extent (void) {
  static const size_t sizes[] = {1,  2, 3,  5, 17, 3,   2, 5,  17,  3, 5,  17,
                                 64, 2, 65, 3, 5,  130, 2, 17, 300, 3, 65, 0};
  return sizes[choice(sizeof sizes / sizeof sizes[0])];
}

size_t some_extent (void) { return made.extent[choice(3)]; }
size_t least (size_t a, size_t b) { return a < b ? a : b; }
size_t numel (const gb_node *x) { return gb_shape_numel(gb_node_shape(x)); }
int rank (const gb_node *x) { return gb_node_shape(x)->ndim; }
size_t dim (const gb_node *x, int axis) { return gb_node_shape(x)->dim[axis]; }

/* Element i of leaf k: positions lie in 1 .. 'top', floats in (-1, 1). */
static double number (gb_dtype t, int k, size_t i, size_t top) {
  const double u = gb_rand_uniform(77, (uint64_t)k, i);
  return gb_dtype_is_whole(t) ? 1 + floor(u * (double)top) : t == GB_BOOL ? u > 0.5 : 2 * u - 1;
}

/* A storage of 'room' elements with a view of the given strides. */
static gb_tensor view_of_new (gb_dtype t, const gb_shape *s, size_t room, size_t top) {
  gb_tensor v;
  const gb_shape flat = gb_shape_of(1, &room);
  OK(gb_tensor_new(&fx.g->device->ledger, t, &flat, GB_MEM_TENSOR, "", "", &v, &fx.err));
  void *to = elements_to_write(&v);
  for (size_t i = 0; i < room; i++) gb_element_set(to, i, t, number(t, made.made, i, top));
  elements_written(&v);
  made.made++;
  v.shape = *s;
  gb_strides_of(s, v.stride);
  return v;
}

/* A leaf's layout: row-major, transposed, every second element, backwards, or one element repeated along
** an axis. */
static gb_tensor laid_out (gb_dtype t, const gb_shape *s, size_t top) {
  const size_t n = gb_shape_numel(s);
  const int axis = s->ndim == 0 ? -1 : (int)choice((size_t)s->ndim),
            layout = axis < 0 || n == 0 ? 0 : (int)choice(9);
  if (layout < 5) return view_of_new(t, s, n, top);
  gb_tensor v = view_of_new(t, s, 2 * n + 1, top);
  if (layout == 5 && s->ndim >= 2) {
    v.stride[s->ndim - 1] = (ptrdiff_t)s->dim[s->ndim - 2];
    v.stride[s->ndim - 2] = 1;
  } else if (layout == 6)
    for (int a = 0; a < s->ndim; a++) v.stride[a] *= 2;
  else if (layout == 7) {
    v.offset = (s->dim[axis] - 1) * (size_t)v.stride[axis];
    v.stride[axis] = -v.stride[axis];
  } else v.stride[axis] = 0;
  return v;
}

static gb_node *leaf_with (gb_tensor *v, unsigned flags) {
  gb_node *n = NULL;
  const gb_status rc = gb_node_leaf(fx.g, v, flags, "", &n, &fx.err);
  gb_tensor_clear(v);
  return hold(rc, n);
}

gb_node *leaf_like (gb_dtype t, int ndim, const size_t *dims, size_t top) {
  const gb_shape s = gb_shape_of(ndim, dims);
  gb_tensor v = laid_out(t, &s, top);
  const bool differentiable = gb_dtype_is_float(t) && made.grad && choice(8) != 7;
  gb_node *n = leaf_with(&v, !differentiable ? 0 : choice(3) == 2 ? GB_NODE_PARAM : GB_NODE_GRAD);
  if (differentiable && made.nleaf < MOST_STEPS) made.leaf[made.nleaf++] = n;
  return n;
}

gb_node *alias_of (const gb_node *x) {
  gb_tensor v = gb_tensor_ref(&x->out[0].tensor);
  for (int a = 0; a < v.shape.ndim; a++) {
    const int from = v.shape.ndim - 1 - a;
    v.shape.dim[a] = x->out[0].tensor.shape.dim[from];
    v.stride[a] = x->out[0].tensor.stride[from];
  }
  return leaf_with(&v, 0);
}

gb_node *vector_leaf (size_t n) { return leaf_like(made.dtype, 1, &n, 0); }
gb_node *matrix_leaf (size_t n, size_t m) { return leaf_like(made.dtype, 2, (size_t[]){n, m}, 0); }
gb_node *positions (size_t n, size_t top) { return leaf_like(choice(3) == 2 ? GB_I32 : GB_I64, 1, &n, top); }

/* the pool */

gb_node *number_node (double v) { return BUILD(gb_node_const, fx.g, v, made.dtype); }
gb_node *scaled (gb_node *x, double by) { return BUILD(gb_scale, x, by); }

/* Maps into (-1, 1), also infinities. */
static gb_node *tame (gb_node *x) {
  switch (choice(4)) {
    case 1: return map1(GB_OP_SIGMOID, x);
    case 2: return map1(GB_OP_ERF, x);
    default: return map1(GB_OP_TANH, x);
  }
}

gb_node *within (gb_node *x, double lo, double hi) {
  gb_node *u = map1(GB_OP_SIGMOID, x), *v = mul(u, number_node(hi - lo));
  return add(v, number_node(lo));
}

static void keep_float (gb_node *y, bool grows) {
  if (made.n >= 4 * MOST_STEPS || gb_node_dtype(y) != made.dtype) return;
  made.raw[made.n] = y;
  made.pool[made.n++] = grows ? tame(y) : y;
}

void keep (gb_node *y, bool grows) {
  const gb_dtype t = gb_node_dtype(y);
  if (gb_dtype_is_whole(t) && made.nwhole < MOST_STEPS) made.whole[made.nwhole++] = y;
  else if (t == GB_BOOL && made.ntruth < MOST_STEPS) made.truth[made.ntruth++] = y;
  else keep_float(y, grows);
}

gb_node *any_float (void) {
  const size_t n = (size_t)made.n;
  return made.pool[n - 1 - (choice(3) == 2 ? choice(n) : choice(least(n, 3)))];
}

gb_node *float_of (int ndim, size_t smallest, size_t most) {
  const size_t n = (size_t)made.n, first = choice(n);
  for (size_t i = 0; i < n; i++) {
    gb_node *x = made.pool[n - 1 - (first + i) % n];
    bool fits = rank(x) == ndim;
    for (int a = 0; fits && a < ndim; a++) fits = dim(x, a) >= smallest && dim(x, a) <= most;
    if (fits) return x;
  }
  size_t dims[GB_MAXDIM];
  for (int a = 0; a < ndim; a++) {
    const size_t e = some_extent();
    dims[a] = e < smallest ? smallest : e > most ? most : e;
  }
  return leaf_like(made.dtype, ndim, dims, 0);
}

gb_node *matrix (size_t smallest, size_t most) { return float_of(2, smallest, most); }

gb_node *matrix_with (int axis, size_t extent, size_t most) {
  for (int i = made.n - 1; i >= 0; i--)
    if (rank(made.pool[i]) == 2 && dim(made.pool[i], axis) == extent && dim(made.pool[i], 1 - axis) <= most)
      return made.pool[i];
  const size_t other = least(some_extent(), most);
  return axis == 0 ? matrix_leaf(extent, other) : matrix_leaf(other, extent);
}

gb_node *partner_of (const gb_node *x, gb_node *const *pool, int n, gb_node *otherwise) {
  const size_t first = choice((size_t)n);
  for (int i = 0; i < n; i++) {
    gb_node *y = pool[(first + (size_t)i) % (size_t)n];
    gb_shape s;
    if (gb_shape_broadcast(gb_node_shape(x), gb_node_shape(y), &s) && gb_shape_numel(&s) <= LARGE) return y;
  }
  return otherwise;
}

gb_node *partner (const gb_node *x) { return partner_of(x, made.pool, made.n, number_node(0.7)); }

gb_node *any_truth (void) {
  if (made.ntruth > 0) return made.truth[choice((size_t)made.ntruth)];
  gb_node *x = any_float();
  return map2(GB_OP_LT, x, number_node(0.1));
}

gb_node *any_whole (void) {
  if (made.nwhole > 0) return made.whole[choice((size_t)made.nwhole)];
  return leaf_like(choice(2) ? GB_I32 : GB_I64, 1, (size_t[]){some_extent()}, 40);
}
