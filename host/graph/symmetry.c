/* symmetry.c - which matrices are symmetric by structure.
**
** Most are by a rule on op and inputs. For the rest, say a covariance written out by hand as (x[:, None] - x[None, :])^2 and
** what follows, a walk compares the expression with its mirror image, two axes swapped, knowing that sums, products and
** maxima commute and that squares are even: a yes holds bit for bit. The walk gives up after a fixed number of
** comparisons, so its cost is bounded, and the answer depends on the expression alone.
**
** Axes are counted from the end, from 1, as broadcasting aligns them. */
#include "base/hash.h"
#include "graph/simplify.h"

#define MOST_PAIRS 512
#define MOST_DEPTH 100
#define MEMO 128

typedef struct pair { uint64_t a, b; int p, q; bool yes; } pair;

typedef struct walk {
  int pairs, depth;
  pair memo[MEMO];               /* direct-mapped; serials are never 0 */
} walk;

static bool mirrored (walk *w, const gb_node *a, const gb_node *b, int p, int q);

static bool symmetric (const gb_node *n) { return (n->flags & GB_NODE_SYMMETRIC) != 0; }

static size_t extent (const gb_node *n, int axis) {
  const gb_shape *s = gb_node_shape(n);
  return s->ndim >= axis ? s->dim[s->ndim - axis] : 1;
}

/* ---- rules ---- */

/* Elementwise: every input symmetric or constant over the matrix; or the identity times a row or column. */
static bool map_symmetric (const gb_node *n) {
  bool all = true, any = false, eye = false, line = false;
  for (int i = 0; i < n->nin; i++) {
    const gb_node *in = n->in[i];
    const bool flat = extent(in, 1) == 1 && extent(in, 2) == 1, whole = symmetric(in) && extent(in, 1) == extent(n, 1);
    any |= whole;
    all &= whole || flat;
    eye |= in->op == GB_OP_EYE && whole;
    line |= extent(in, 1) == 1 || extent(in, 2) == 1;
  }
  return any && (all || (n->op == GB_OP_MUL && eye && line));
}

/* A symmetric input, moved about or reduced outside its last two axes. */
static bool moved_symmetric (const gb_node *n) {
  const int ndim = gb_node_shape(n)->ndim;
  const gb_node *x = n->in[0];
  const int64_t *a = n->attr.i;
  if (!symmetric(x)) return false;
  switch (n->op) {
    case GB_OP_CAST: return true;
    case GB_OP_EXPAND: return extent(x, 1) == extent(n, 1);
    case GB_OP_UNSQUEEZE: case GB_OP_SQUEEZE: return a[0] <= ndim - 2;
    case GB_OP_SLICE: return a[0] < ndim - 2;
    case GB_OP_PERMUTE: return a[ndim - 1] == ndim - 1 && a[ndim - 2] == ndim - 2;
    case GB_OP_SUM: case GB_OP_PROD: case GB_OP_MIN: case GB_OP_MAX: case GB_OP_LOGSUMEXP:
      return a[0] >> (gb_node_shape(x)->ndim - 2) == 0;
    default: return false;
  }
}

bool gb_symmetric_infer (const gb_node *n) {
  if (gb_node_shape(n)->ndim < 2 || extent(n, 1) != extent(n, 2)) return false;
  const gb_kind kind = gb_ops[n->op].kind;
  if (n->op == GB_OP_EYE || n->op == GB_OP_CHOL_INVERSE) return true;
  if (kind == GB_KIND_LEAF || kind == GB_KIND_GEN || (kind == GB_KIND_OPAQUE && n->op != GB_OP_CAST && n->op != GB_OP_GEMM))
    return false;
  if (kind == GB_KIND_MAP ? map_symmetric(n) : n->nin == 1 && moved_symmetric(n)) return true;
  walk w = {0};
  return mirrored(&w, n, n, 2, 1);
}

/* ---- the walk ---- */

static bool commutes (gb_op op) {
  switch (op) {
    case GB_OP_ADD: case GB_OP_MUL: case GB_OP_MAXIMUM: case GB_OP_MINIMUM: case GB_OP_EQ: case GB_OP_NE:
    case GB_OP_AND: case GB_OP_OR: return true;
    default: return false;
  }
}

/* b is minus the mirror image of a. */
static bool negated (walk *w, const gb_node *a, const gb_node *b, int p, int q) {
  return a->op == GB_OP_SUB && b->op == GB_OP_SUB && a->nin == 2 && b->nin == 2 &&
         mirrored(w, a->in[0], b->in[1], p, q) && mirrored(w, a->in[1], b->in[0], p, q);
}

/* Older inputs first: they tend to be leaves, where a mismatch shows at once. */
static bool map_mirrored (walk *w, const gb_node *a, const gb_node *b, int p, int q) {
  const bool even = a->op == GB_OP_SQUARE || a->op == GB_OP_ABS || a->op == GB_OP_COS;
  if (a->nin == 1) return mirrored(w, a->in[0], b->in[0], p, q) || (even && negated(w, a->in[0], b->in[0], p, q));
  const int first = a->in[0]->serial <= a->in[1]->serial ? 0 : 1;
  if (mirrored(w, a->in[first], b->in[first], p, q) && mirrored(w, a->in[1 - first], b->in[1 - first], p, q))
    return a->nin == 2 || mirrored(w, a->in[2], b->in[2], p, q);
  return a->nin == 2 && commutes(a->op) && mirrored(w, a->in[first], b->in[1 - first], p, q) &&
         mirrored(w, a->in[1 - first], b->in[first], p, q);
}

/* The axis of the input that is axis 'p' of a reduction's result. */
static int before_reduction (const gb_node *n, int p) {
  const int ndim = gb_node_shape(n->in[0])->ndim;
  for (int i = ndim - 1, left = p; i >= 0; i--)
    if ((n->attr.i[0] >> i & 1) == 0 && --left == 0) return ndim - i;
  return GB_MAXDIM + 1;
}

/* n is its input with axes p and q, and no others, swapped. */
static bool is_swap (const gb_node *n, int p, int q) {
  const int ndim = gb_node_shape(n)->ndim;
  if (n->op != GB_OP_PERMUTE || n->nin == 0) return false;
  for (int i = 0; i < ndim; i++) {
    const int axis = ndim - i, from = ndim - (int)n->attr.i[i];
    if (from != (axis == p ? q : axis == q ? p : axis)) return false;
  }
  return true;
}

static const gb_node *without_ones (const gb_node *n) {
  while ((n->op == GB_OP_UNSQUEEZE || n->op == GB_OP_SQUEEZE) && n->nin == 1) n = n->in[0];
  return n;
}

/* x[:, None] and x[None, :]: an axis of size 1 has passed its neighbour. */
static bool one_passed (const gb_node *a, const gb_node *b, int p, int q) {
  const int ndim = gb_node_shape(a)->ndim;
  if ((p - q != 1 && q - p != 1) || (extent(a, p) != 1 && extent(a, q) != 1)) return false;
  if (without_ones(a) != without_ones(b)) return false;
  for (int axis = 1; axis <= ndim; axis++)
    if (axis != p && axis != q && extent(a, axis) != extent(b, axis)) return false;
  return true;
}

static bool structure_mirrored (walk *w, const gb_node *a, const gb_node *b, int p, int q) {
  const int ndim = gb_node_shape(a)->ndim;
  if (a->op != b->op || a->nin != b->nin || a->nin == 0 || gb_node_dtype(a) != gb_node_dtype(b)) return false;
  if (memcmp(&a->attr, &b->attr, sizeof a->attr) != 0) return false;
  if (gb_ops[a->op].kind == GB_KIND_MAP) return map_mirrored(w, a, b, p, q);
  const bool last_two = p <= 2 && q <= 2;
  switch (a->op) {
    case GB_OP_SUM: case GB_OP_PROD: case GB_OP_MIN: case GB_OP_MAX: case GB_OP_LOGSUMEXP: case GB_OP_ANY: case GB_OP_ALL:
      return mirrored(w, a->in[0], b->in[0], before_reduction(a, p), before_reduction(a, q));
    case GB_OP_EXPAND: case GB_OP_CAST: return mirrored(w, a->in[0], b->in[0], p, q);
    case GB_OP_UNSQUEEZE: {
      const int at = ndim - (int)a->attr.i[0];
      return at != p && at != q && mirrored(w, a->in[0], b->in[0], p - (p > at), q - (q > at));
    }
    case GB_OP_PERMUTE:
      return p <= ndim && q <= ndim &&
             mirrored(w, a->in[0], b->in[0], ndim - (int)a->attr.i[ndim - p], ndim - (int)a->attr.i[ndim - q]);
    case GB_OP_SQDIST:
      return last_two && a->in[0] == b->in[1] && a->in[1] == b->in[0] && (a->nin == 2 || a->in[2] == b->in[2]);
    case GB_OP_MATMUL: case GB_OP_GEMM:
      return last_two && mirrored(w, a->in[0], b->in[1], p, q) && mirrored(w, a->in[1], b->in[0], p, q);
    default: return false;
  }
}

/* b is a with axes p and q swapped. */
static bool mirrored (walk *w, const gb_node *a, const gb_node *b, int p, int q) {
  if (extent(a, p) != extent(b, q) || extent(a, q) != extent(b, p)) return false;
  if (extent(a, p) == 1 && extent(a, q) == 1) return a == b;
  if (a == b && symmetric(a) && p + q == 3) return true;
  if (gb_node_shape(a)->ndim != gb_node_shape(b)->ndim) return false;
  if ((is_swap(a, p, q) && a->in[0] == b) || (is_swap(b, p, q) && b->in[0] == a)) return true;
  if (one_passed(a, b, p, q)) return true;
  const uint64_t h = gb_hash_u64(gb_hash_u64(a->serial, b->serial), (uint64_t)(p * 16 + q));
  pair *m = &w->memo[h % MEMO];
  if (m->a == a->serial && m->b == b->serial && m->p == p && m->q == q) return m->yes;
  if (w->pairs == MOST_PAIRS || w->depth == MOST_DEPTH) return false;
  w->pairs++;
  w->depth++;
  const bool yes = structure_mirrored(w, a, b, p, q);
  w->depth--;
  *m = (pair){a->serial, b->serial, p, q, yes};
  return yes;
}
