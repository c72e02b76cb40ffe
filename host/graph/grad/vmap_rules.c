/* vmap_rules.c - the forms of ops with a leading batch axis: vmap_<name> is the rule of that name in
** program/ops.def. */
#include "graph/grad/vmap_rules.h"

#include <stdlib.h>

#include "base/hash.h"
#include "graph/call.h"

static gb_shape with_front (const gb_shape *s, size_t size) {
  gb_shape t = {.ndim = s->ndim + 1};
  t.dim[0] = size;
  for (int i = 0; i < s->ndim; i++) t.dim[i + 1] = s->dim[i];
  return t;
}

gb_node *gb_ex_repeat (gb_formula *e, gb_node *a, size_t size) {
  if (!a) return NULL;
  const gb_shape s = with_front(gb_node_shape(a), size);
  return gb_ex_expand(e, gb_ex_unsqueeze(e, a, 0), &s);
}

gb_node *gb_ex_stack (gb_formula *e, size_t n, gb_node *const *each) {
  gb_node **rows = malloc(n * sizeof *rows), *r = NULL;
  if (!rows) {
    if (e->status == GB_OK) e->status = gb_fail(e->err, GB_ENOMEM, "no memory to stack %zu slices", n);
    return NULL;
  }
  bool ok = true;
  for (size_t i = 0; i < n; i++) ok = (rows[i] = gb_ex_unsqueeze(e, each[i], 0)) && ok;
  if (ok) r = n == 1 ? rows[0] : gb_ex_op(e, GB_OP_CAT, (int)n, rows, NULL, NULL, gb_node_dtype(each[0]));
  free(rows);
  return r;
}

/* Input i with its axes aligned so that broadcasting sees the batch axis alone in front: axes of extent 1 go
** after it. Inputs that are not mapped get these axes too, unless they are scalars: with unequal ranks only
** one side may grow. */
static gb_node *aligned (gb_formula *e, const gb_batch *b, int i) {
  const int rank = gb_node_shape(b->n)->ndim + 1;
  gb_node *a = b->in[i];
  if (!b->mapped[i] && gb_node_shape(a)->ndim == 0) return a;
  while (a && gb_node_shape(a)->ndim < rank) a = gb_ex_unsqueeze(e, a, b->mapped[i]);
  return a;
}

static gb_node *same_op (gb_formula *e, const gb_batch *b, gb_node *const *in, const gb_attr *attr) {
  const gb_shape s = with_front(gb_node_shape(b->n), b->size);
  return gb_ex_op(e, b->n->op, b->n->nin, in, attr, &s, gb_node_dtype(b->n));
}

static gb_node *vmap_map (gb_formula *e, const gb_batch *b) {
  gb_node *in[3];
  for (int i = 0; i < b->n->nin; i++) in[i] = aligned(e, b, i);
  return same_op(e, b, in, &b->n->attr);
}

/* A profile with one parameter per slice: the scale is multiplied into the distance. One alpha per slice has
** no batched form. */
static gb_node *vmap_radial (gb_formula *e, const gb_batch *b) {
  if (b->n->nin == 3 && b->mapped[2]) return NULL;
  if (!b->mapped[1]) return vmap_map(e, b);
  gb_node *c = b->in[1], *s = b->in[0];
  if (!b->mapped[0]) s = gb_ex_unsqueeze(e, s, 0);
  while (c && gb_node_shape(c)->ndim < gb_node_shape(b->n)->ndim + 1) c = gb_ex_unsqueeze(e, c, 1);
  gb_node *in[3] = {gb_ex_mul(e, s, c), gb_ex_like(e, 1, s), b->n->nin == 3 ? b->in[2] : NULL};
  return same_op(e, b, in, &b->n->attr);
}

/* -- one input */

/* The axis number in attr.i[0] moves behind the batch axis. */
static gb_node *shifted_axis (gb_formula *e, const gb_batch *b, gb_node *const *in) {
  gb_attr attr = b->n->attr;
  attr.i[0]++;
  return same_op(e, b, in, &attr);
}

static gb_node *vmap_axis (gb_formula *e, const gb_batch *b) { return shifted_axis(e, b, b->in); }

static gb_node *vmap_same (gb_formula *e, const gb_batch *b) { return same_op(e, b, b->in, &b->n->attr); }

static gb_node *vmap_permute (gb_formula *e, const gb_batch *b) {
  gb_attr attr = {.i = {0}};
  for (int i = 0; i < gb_node_shape(b->n)->ndim; i++) attr.i[i + 1] = b->n->attr.i[i] + 1;
  return same_op(e, b, b->in, &attr);
}

static gb_node *vmap_reduce (gb_formula *e, const gb_batch *b) {
  gb_attr attr = b->n->attr;
  attr.i[0] <<= 1;
  return same_op(e, b, b->in, &attr);
}

/* -- contractions */

static int rank_of (const gb_node *a) { return gb_node_shape(a)->ndim; }
static size_t dim_of (const gb_node *a, int axis) { return gb_node_shape(a)->dim[axis]; }

/* (B, n, k) and (k, m): one product of B n rows. */
static gb_node *rows_times (gb_formula *e, gb_node *a, gb_node *b) {
  const gb_shape flat = gb_shape_of(2, (size_t[]){dim_of(a, 0) * dim_of(a, 1), dim_of(a, 2)});
  const gb_shape back = gb_shape_of(3, (size_t[]){dim_of(a, 0), dim_of(a, 1), dim_of(b, 1)});
  gb_node *ab = gb_ex_matmul(e, gb_ex_reshape(e, a, &flat), b);
  return ab ? gb_ex_reshape(e, ab, &back) : NULL;
}

/* Columns of all slices as the matrices of input 1's slices. */
static gb_node *from_columns (gb_formula *e, gb_node *c, const gb_batch *b) {
  const gb_shape lead = gb_shape_of(1, &b->size);
  return gb_ex_from_columns(e, c, &lead, dim_of(b->in[1], 2));
}

static gb_node *vmap_matmul (gb_formula *e, const gb_batch *b) {
  const bool plain = rank_of(b->n) == 2 && b->size > 0;
  if (plain && b->mapped[0] && !b->mapped[1] && rank_of(b->in[1]) == 2)
    return rows_times(e, b->in[0], b->in[1]);
  if (plain && b->mapped[1] && !b->mapped[0] && rank_of(b->in[0]) == 2)
    return from_columns(e, gb_ex_matmul(e, b->in[0], gb_ex_as_columns(e, b->in[1])), b);
  gb_node *in[2] = {aligned(e, b, 0), aligned(e, b, 1)};
  return same_op(e, b, in, &b->n->attr);
}

/* One set of weights per slice: the generic form, which still streams. */
static gb_node *weighted_sqdist (gb_formula *e, const gb_batch *b) {
  gb_node *x = aligned(e, b, 0), *y = aligned(e, b, 1), *w = b->in[2];
  const int r = rank_of(b->n) + 1;
  gb_node *d = gb_ex_sub(e, gb_ex_unsqueeze(e, x, r - 1), gb_ex_unsqueeze(e, y, r - 2));
  while (w && rank_of(w) < r + 1) w = gb_ex_unsqueeze(e, w, 1);
  return gb_ex_reduce(e, GB_OP_SUM, gb_ex_mul(e, gb_ex_square(e, d), w), 1u << r, false);
}

/* One point per slice on one side: the points of all slices form that side. */
static gb_node *vmap_sqdist (gb_formula *e, const gb_batch *b) {
  gb_node *in[3] = {b->in[0], b->in[1], b->n->nin == 3 ? b->in[2] : NULL};
  if (b->n->nin == 3 && b->mapped[2]) return weighted_sqdist(e, b);
  for (int i = 0; i < 2; i++) {
    if (!b->mapped[i] || b->mapped[1 - i] || rank_of(in[i]) != 3 || dim_of(in[i], 1) != 1 ||
        rank_of(in[1 - i]) != 2)
      continue;
    in[i] = gb_ex_squeeze(e, in[i], 1);
    gb_node *s = gb_ex_op(e, GB_OP_SQDIST, b->n->nin, in, NULL, NULL, gb_node_dtype(b->n));
    return i == 0 ? gb_ex_unsqueeze(e, s, 1) : gb_ex_unsqueeze(e, gb_ex_swap(e, s), 2);
  }
  in[0] = aligned(e, b, 0);
  in[1] = aligned(e, b, 1);
  return same_op(e, b, in, &b->n->attr);
}

/* -- opaque */

static gb_node *whole (gb_formula *e, const gb_batch *b, int i) {
  return b->mapped[i] ? b->in[i] : gb_ex_repeat(e, b->in[i], b->size);
}

static gb_node *vmap_cat (gb_formula *e, const gb_batch *b) {
  gb_node **in = malloc((size_t)b->n->nin * sizeof *in);
  if (!in) {
    e->status = gb_fail(e->err, GB_ENOMEM, "no memory for the inputs of cat");
    return NULL;
  }
  for (int i = 0; i < b->n->nin; i++) in[i] = whole(e, b, i);
  gb_node *r = shifted_axis(e, b, in);
  free(in);
  return r;
}

/* One set of positions per slice of a shared tensor: all positions at once. */
static gb_node *index_slices (gb_formula *e, const gb_batch *b) {
  const int axis = (int)b->n->attr.i[0], r = rank_of(b->n);
  const size_t k = dim_of(b->in[1], 1);
  const gb_shape flat = gb_shape_of(1, (size_t[]){b->size * k});
  gb_node *in[2] = {b->in[0], gb_ex_reshape(e, b->in[1], &flat)};
  gb_node *x = gb_ex_op(e, GB_OP_INDEX, 2, in, &b->n->attr, NULL, gb_node_dtype(b->n));
  gb_shape split = with_front(gb_node_shape(b->n), 0);
  int axes[GB_MAXDIM] = {axis};
  for (int i = 0; i < r; i++) axes[i + 1] = i < axis ? i : i + 1;
  for (int i = 0; i < r; i++) split.dim[i < axis ? i : i + 1] = gb_node_shape(b->n)->dim[i];
  split.dim[axis] = b->size;
  return x ? gb_ex_permute(e, gb_ex_reshape(e, x, &split), axes) : NULL;
}

static gb_node *vmap_positions (gb_formula *e, const gb_batch *b) {
  if (b->n->op == GB_OP_INDEX && b->mapped[1] && !b->mapped[0]) return index_slices(e, b);
  if (b->mapped[1]) return NULL;
  gb_node *in[3] = {whole(e, b, 0), b->in[1], b->n->nin == 3 ? whole(e, b, 2) : NULL};
  return shifted_axis(e, b, in);
}

/* One matrix with one right-hand side per slice: columns of one solve. */
static gb_node *one_matrix (gb_formula *e, const gb_batch *b) {
  gb_node *rhs = b->in[1];
  const bool vectors = rank_of(rhs) == 2;
  gb_node *in[2] = {b->in[0], vectors ? gb_ex_swap(e, rhs) : gb_ex_as_columns(e, rhs)};
  const gb_op op = b->n->op == GB_OP_INV_QUAD ? GB_OP_SOLVE_CHOL : b->n->op;
  gb_node *x = gb_ex_op(e, op, 2, in, &b->n->attr, NULL, gb_node_dtype(b->n));
  x = vectors ? gb_ex_swap(e, x) : from_columns(e, x, b);
  if (b->n->op != GB_OP_INV_QUAD || !x) return x;
  return gb_ex_reduce(e, GB_OP_SUM, gb_ex_mul(e, rhs, x), ((1u << rank_of(rhs)) - 1) & ~1u, false);
}

/* One matrix per slice: the batch axis in front of those of both, vectors as columns. */
static gb_node *vmap_columns (gb_formula *e, const gb_batch *b) {
  const bool vectors = rank_of(b->n->in[1]) == 1;
  if (!b->mapped[0] && rank_of(b->in[0]) == 2 && rank_of(b->n->in[1]) <= 2 && b->size > 0)
    return one_matrix(e, b);
  gb_node *in[2] = {b->in[0], vectors ? gb_ex_unsqueeze(e, b->in[1], rank_of(b->in[1])) : b->in[1]};
  const int slices[2] = {rank_of(b->n->in[0]), vectors ? 2 : rank_of(b->n->in[1])};
  const int rank = 1 + (slices[0] > slices[1] ? slices[0] : slices[1]);
  for (int i = 0; i < 2; i++) /* two batches of unequal ranks would not broadcast */
    while (in[i] && rank_of(in[i]) < rank && (b->mapped[i] || rank_of(in[i]) > 2))
      in[i] = gb_ex_unsqueeze(e, in[i], b->mapped[i]);
  gb_node *x = gb_ex_op(e, b->n->op, 2, in, &b->n->attr, NULL, gb_node_dtype(b->n));
  return x && vectors && b->n->op != GB_OP_INV_QUAD ? gb_ex_squeeze(e, x, -1) : x;
}

/* A registered op that takes batches: every input whole. */
static gb_node *vmap_call (gb_formula *e, const gb_batch *b) {
  const gb_call *c = gb_call_get((int)b->n->attr.i[0]);
  if (c == NULL || c->batch == NULL) return NULL;
  gb_node **in = malloc((size_t)b->n->nin * sizeof *in), *r = NULL;
  bool ok = in != NULL;
  if (!ok) e->status = gb_fail(e->err, GB_ENOMEM, "no memory for the inputs of %s", c->name);
  for (int i = 0; ok && i < b->n->nin; i++) ok = (in[i] = whole(e, b, i)) != NULL;
  if (ok) {
    gb_attr attr = b->n->attr;
    const gb_shape s = with_front(gb_node_shape(b->n), b->size);
    const gb_status st = c->batch(c->ud, b->n->nin, in, &s, &attr, e->err);
    if (st == GB_OK) r = gb_ex_op(e, GB_OP_CALL, b->n->nin, in, &attr, &s, gb_node_dtype(b->n));
    else e->status = st;
  }
  free(in);
  return r;
}

static gb_node *vmap_none (gb_formula *e, const gb_batch *b) {
  (void)e, (void)b;
  return NULL;
}

gb_node *gb_vmap_node (gb_formula *e, const gb_batch *b) {
  static gb_node *(*const rules[GB_NOPS])(gb_formula *, const gb_batch *) = {
#define X(id, name, nin, kind, shape, grad, vmap, ...) vmap_##vmap,
#include "program/ops.def"
#undef X
  };
  return rules[b->n->op](e, b);
}

gb_node *gb_vmap_random (gb_formula *e, const gb_node *n, size_t size) {
  const gb_shape s = with_front(gb_node_shape(n), size);
  if (n->op == GB_OP_RAND || n->op == GB_OP_RANDN)
    return gb_ex_op(e, n->op, 0, NULL, &n->attr, &s, gb_node_dtype(n));
  gb_node **each = malloc((size + 1) * sizeof *each), *r;
  if (!each) {
    e->status = gb_fail(e->err, GB_ENOMEM, "no memory for %zu random slices", size);
    return NULL;
  }
  for (size_t i = 0; i < size; i++) {
    gb_attr attr = n->attr;
    attr.i[1] = (int64_t)(gb_hash_u64((uint64_t)n->attr.i[1], i + 1) >> 1);
    each[i] = gb_ex_op(e, n->op, 0, NULL, &attr, gb_node_shape(n), gb_node_dtype(n));
  }
  r = gb_ex_stack(e, size, each);
  free(each);
  return r;
}
