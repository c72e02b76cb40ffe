/* preview.c - an expression restricted to a box of its indices, so that a corner of a huge lazy tensor
** costs a corner. The box is pushed down through elementwise ops, views, reductions and contractions to
** the operands; where it cannot go further it becomes slices. Values are those of the whole expression:
** what is reduced is never cut. Slices alone would not do: a plan computes a sliced product or sum of
** stored values whole, since the arithmetic of a product must not depend on how much of it is looked at. */
#include "lua/preview.h"

#include <stdlib.h>
#include <string.h>

enum { MEMO = 512, DEEPEST = 200 };

typedef struct walk {
  int used, depth;
  struct {
    gb_node *from, *to;
    gb_box box;
  } memo[MEMO]; /* 'to' is counted */
} walk;

static gb_status restrict_to (walk *w, gb_node *n, gb_box box, gb_node **out, gb_error *err);

static gb_box whole (const gb_shape *s) {
  gb_box b = {.start = {0}};
  for (int a = 0; a < s->ndim; a++) b.extent[a] = s->dim[a];
  return b;
}

static bool is_whole (const gb_box *b, const gb_shape *s) {
  return memcmp(b->extent, s->dim, (size_t)s->ndim * sizeof b->extent[0]) == 0;
}

static gb_status slices (gb_node *n, const gb_box *box, gb_node **out, gb_error *err) {
  gb_node *x = gb_node_ref(n);
  for (int a = 0; a < gb_node_shape(n)->ndim; a++) {
    if (box->extent[a] == gb_node_shape(n)->dim[a]) continue;
    gb_node *y;
    const gb_status st = gb_slice(x, a, box->start[a], 1, box->extent[a], &y, err);
    gb_node_unref(x);
    if (st != GB_OK) return st;
    x = y;
  }
  *out = x;
  return GB_OK;
}

/* The box of an input that broadcasts to the result: aligned at the right, extents of 1 stay. */
static gb_box broadcast_box (const gb_shape *in, int ndim, const gb_box *box) {
  gb_box b = whole(in);
  for (int a = 0; a < in->ndim; a++) {
    const int from = a + ndim - in->ndim;
    if (in->dim[a] == 1) continue;
    b.start[a] = box->start[from];
    b.extent[a] = box->extent[from];
  }
  return b;
}

/* Input 'k' of a contraction (..., n, x) with (..., y, m): batch axes broadcast, its free axis is cut, the
** summed one not. The free axis of input k is number 'free' of its last two, and comes from the last but
** one (k = 0) or last (k = 1). */
static gb_box contraction_box (const gb_node *n, int k, int free, const gb_box *box) {
  const gb_shape *in = gb_node_shape(n->in[k]);
  const int ndim = gb_node_shape(n)->ndim, at = in->ndim - 2 + free, from = ndim - 2 + k;
  gb_box b = broadcast_box(in, ndim, box);
  for (int a = in->ndim - 2; a < in->ndim; a++) {
    b.start[a] = a == at ? box->start[from] : 0;
    b.extent[a] = a == at ? box->extent[from] : in->dim[a];
  }
  return b;
}

static gb_box reduction_box (const gb_node *n, const gb_box *box) {
  gb_box b = whole(gb_node_shape(n->in[0]));
  for (int a = 0, k = 0; a < gb_node_shape(n->in[0])->ndim; a++) {
    if (n->attr.i[0] >> a & 1) continue;
    b.start[a] = box->start[k];
    b.extent[a] = box->extent[k++];
  }
  return b;
}

static gb_box view_box (const gb_node *n, const gb_box *box) {
  const gb_shape *in = gb_node_shape(n->in[0]);
  gb_box b = whole(in);
  const int at = (int)n->attr.i[0];
  for (int a = 0; a < in->ndim; a++) {
    int from = a;
    if (n->op == GB_OP_UNSQUEEZE) from = a < at ? a : a + 1;
    else if (n->op == GB_OP_SQUEEZE && a == at) continue;
    else if (n->op == GB_OP_SQUEEZE) from = a < at ? a : a - 1;
    else if (n->op == GB_OP_PERMUTE)
      for (from = 0; n->attr.i[from] != a; from++) {}
    else if (n->op == GB_OP_DIAGONAL && a == in->ndim - 1) from = a - 1;
    b.start[a] = box->start[from] + (n->op == GB_OP_SLICE && a == at ? (size_t)n->attr.i[1] : 0);
    b.extent[a] = box->extent[from];
  }
  return b;
}

/* The box of input k, or false where the box cannot be pushed through n. */
static bool input_box (const gb_node *n, int k, const gb_box *box, gb_box *out) {
  const int ndim = gb_node_shape(n)->ndim;
  switch (n->op) {
    case GB_OP_UNSQUEEZE:
    case GB_OP_SQUEEZE:
    case GB_OP_PERMUTE:
    case GB_OP_DIAGONAL: *out = view_box(n, box); return true;
    case GB_OP_SLICE: *out = view_box(n, box); return n->attr.i[2] == 1;
    case GB_OP_EXPAND: *out = broadcast_box(gb_node_shape(n->in[0]), ndim, box); return true;
    case GB_OP_SUM:
    case GB_OP_PROD:
    case GB_OP_MIN:
    case GB_OP_MAX:
    case GB_OP_LOGSUMEXP:
    case GB_OP_ANY:
    case GB_OP_ALL: *out = reduction_box(n, box); return true;
    case GB_OP_MATMUL: *out = contraction_box(n, k, k, box); return true;
    case GB_OP_SQDIST:
      *out = k < 2 ? contraction_box(n, k, 0, box) : whole(gb_node_shape(n->in[k]));
      return true;
    default:
      *out = broadcast_box(gb_node_shape(n->in[k]), ndim, box);
      return gb_ops[n->op].kind == GB_KIND_MAP;
  }
}

/* n again, over restricted inputs. */
static gb_status rebuild (walk *w, gb_node *n, const gb_box *box, gb_node **out, gb_error *err) {
  gb_node *in[3] = {NULL};
  gb_status st = GB_OK;
  for (int k = 0; st == GB_OK && k < n->nin; k++) {
    gb_box b;
    input_box(n, k, box, &b);
    st = restrict_to(w, n->in[k], b, &in[k], err);
  }
  const gb_shape shape = gb_shape_of(gb_node_shape(n)->ndim, box->extent);
  if (st == GB_OK && n->op == GB_OP_SLICE) *out = gb_node_ref(in[0]);
  else if (st == GB_OK)
    st = gb_node_build(n->graph, n->op, n->nin, in, &n->attr, &shape, gb_node_dtype(n), out, err);
  for (int k = 0; k < n->nin; k++) gb_node_unref(in[k]);
  return st;
}

static bool can_rebuild (const walk *w, const gb_node *n, const gb_box *box) {
  if (gb_node_has_value(n) || n->nin == 0 || n->nin > 3 || w->depth >= DEEPEST || w->used == MEMO)
    return false;
  gb_box b;
  for (int k = 0; k < n->nin; k++)
    if (!input_box(n, k, box, &b)) return false;
  return true;
}

static gb_status restrict_to (walk *w, gb_node *n, gb_box box, gb_node **out, gb_error *err) {
  if (is_whole(&box, gb_node_shape(n))) {
    *out = gb_node_ref(n);
    return GB_OK;
  }
  for (int i = 0; i < w->used; i++)
    if (w->memo[i].from == n && memcmp(&w->memo[i].box, &box, sizeof box) == 0) {
      *out = gb_node_ref(w->memo[i].to);
      return GB_OK;
    }
  if (!can_rebuild(w, n, &box)) return slices(n, &box, out, err);
  w->depth++;
  const gb_status st = rebuild(w, n, &box, out, err);
  w->depth--;
  if (st == GB_OK && w->used < MEMO) {
    w->memo[w->used].from = n;
    w->memo[w->used].to = gb_node_ref(*out);
    w->memo[w->used++].box = box;
  }
  return st;
}

gb_status lgb_restrict (gb_node *n, const gb_box *box, gb_node **out, gb_error *err) {
  walk *w = calloc(1, sizeof *w);
  if (w == NULL) return gb_fail(err, GB_ENOMEM, "no memory to restrict an expression");
  const gb_status st = restrict_to(w, n, *box, out, err);
  for (int i = 0; i < w->used; i++) gb_node_unref(w->memo[i].to);
  free(w);
  return st;
}
