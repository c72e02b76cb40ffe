/* sum.c - sums whose terms complete squared distances:
**   c |x|^2 + c |y|^2 - 2 c x y'  in any order, association and signs:
**      of all pairs, of rows to one point, of corresponding rows, and of two points;
**   distances over neighbouring feature ranges of the same points. */
#include "graph/canon/canon.h"

#define MAX_TERMS 8

typedef struct term {
  gb_node *node; /* as written */
  int sign;
  gb_node *base; /* node = f * base, f with the sign */
  gb_factor f;
} term;

typedef struct terms {
  int n;
  term t[MAX_TERMS];
} terms;

/* Expands sums into single terms, up to MAX_TERMS. */
static void flatten (terms *s, const gb_pending_op *d) {
  s->n = 2;
  s->t[0] = (term){.node = d->in[0], .sign = 1};
  s->t[1] = (term){.node = d->in[1], .sign = d->op == GB_OP_SUB ? -1 : 1};
  for (int i = 0; i < s->n;) {
    gb_node *n = s->t[i].node;
    if (gb_is_op(n, GB_OP_NEG)) {
      s->t[i] = (term){.node = n->in[0], .sign = -s->t[i].sign};
    } else if ((gb_is_op(n, GB_OP_ADD) || gb_is_op(n, GB_OP_SUB)) && s->n < MAX_TERMS) {
      s->t[s->n++] = (term){.node = n->in[1], .sign = n->op == GB_OP_SUB ? -s->t[i].sign : s->t[i].sign};
      s->t[i].node = n->in[0];
    } else {
      i++;
    }
  }
}

static bool is_view (const gb_node *n) {
  return gb_is_op(n, GB_OP_UNSQUEEZE) || gb_is_op(n, GB_OP_SQUEEZE) || gb_is_op(n, GB_OP_RESHAPE) ||
         gb_is_op(n, GB_OP_PERMUTE);
}

/* The node under scalar factors and views; builds nothing. */
static const gb_node *under (const gb_node *n) {
  for (int level = 0; level < MAX_TERMS; level++) {
    const bool scaled = (gb_is_op(n, GB_OP_MUL) || gb_is_op(n, GB_OP_DIV)) &&
                        gb_node_shape(n->in[1])->ndim == 0;
    if (!scaled && !gb_is_op(n, GB_OP_NEG) && !is_view(n)) break;
    n = n->in[0];
  }
  return n;
}

static bool is_product (const gb_node *n) {
  return gb_is_op(n, GB_OP_MATMUL) || (gb_is_op(n, GB_OP_SUM) && gb_is_op(under(n->in[0]), GB_OP_MUL));
}

static bool is_squares (const gb_node *n) {
  return gb_is_op(n, GB_OP_SUM) && gb_is_op(under(n->in[0]), GB_OP_SQUARE);
}

/* For one point two terms suffice: |x|^2 + |x|^2 is one term. */
static bool worth_a_look (const terms *s) {
  int products = 0, squares = 0, distances = 0;
  for (int i = 0; i < s->n; i++) {
    const gb_node *n = under(s->t[i].node);
    products += is_product(n) && (s->n >= 3 || gb_shape_numel(gb_node_shape(n)) == 1);
    squares += is_squares(n);
    distances += gb_is_op(n, GB_OP_SQDIST);
  }
  return (products >= 1 && squares >= 1) || distances >= 2;
}

/* The axes of other extents than 1, in order; their number. */
static int long_axes (const gb_shape *s, int axis[GB_MAXDIM]) {
  int n = 0;
  for (int i = 0; i < s->ndim; i++)
    if (s->dim[i] != 1) axis[n++] = i;
  return n;
}

/* True if the two differ only by axes of extent 1. 'axes' (NULL: ascending) are the axes of a that b has, in
** b's order. */
static bool only_units (const gb_shape *a, const gb_shape *b, const int64_t *axes) {
  int of_a[GB_MAXDIM], of_b[GB_MAXDIM];
  const int n = long_axes(a, of_a);
  if (long_axes(b, of_b) != n) return false;
  for (int i = 0; i < n; i++)
    if (axes ? axes[of_b[i]] != of_a[i] : a->dim[of_a[i]] != b->dim[of_b[i]]) return false;
  return true;
}

/* 'n' without views that only add, drop or move axes of extent 1. */
static gb_node *bare (gb_node *n) {
  for (int level = 0; level < MAX_TERMS && is_view(n); level++) {
    const int64_t *axes = n->op == GB_OP_PERMUTE ? n->attr.i : NULL;
    if (!only_units(gb_node_shape(n->in[0]), gb_node_shape(n), axes)) break;
    n = n->in[0];
  }
  return n;
}

/* 'value' with axes of extent 1 inserted as in 's'. */
static gb_node *laid_out (gb_formula *e, gb_node *value, const gb_shape *s) {
  for (int i = value ? gb_node_shape(value)->ndim - 1 : -1; value && i >= 0; i--)
    if (gb_node_shape(value)->dim[i] == 1) value = gb_ex_squeeze(e, value, i);
  for (int i = 0; i < s->ndim; i++)
    if (s->dim[i] == 1) value = gb_ex_unsqueeze(e, value, i);
  return value;
}

/* One side of a product: |x|^2 is summed over the axes 'over' of x and, beside the product, has the
** extents of 'like'. */
typedef struct side {
  gb_node *x;
  unsigned over;
  gb_shape like;
} side;

/* The axes in 'mask', renumbered among the axes of extent other than 1. */
static unsigned long_mask (const gb_shape *s, unsigned mask) {
  int axis[GB_MAXDIM];
  unsigned r = 0;
  for (int n = long_axes(s, axis), i = 0; i < n; i++) r |= (mask >> axis[i] & 1u) << i;
  return r;
}

/* The inverse: a set of axes of extent other than 1 as axes of 's'. */
static unsigned mask_of (const gb_shape *s, unsigned set) {
  int axis[GB_MAXDIM];
  unsigned r = 0;
  for (int n = long_axes(s, axis), i = 0; i < n; i++) r |= (set >> i & 1u) << axis[i];
  return r;
}

/* True if the shape equals that of 'like' up to leading axes of extent 1. */
static bool lies_as (const gb_shape *s, const gb_shape *like) {
  for (int i = 1; i <= like->ndim; i++)
    if ((i > s->ndim ? 1 : s->dim[s->ndim - i]) != like->dim[like->ndim - i]) return false;
  return s->ndim <= like->ndim;
}

/* True if 'n' is f |x|^2 of this side; f is multiplied into '*f'. */
static bool is_norms (gb_formula *e, gb_node *n, const side *of, gb_factor *f) {
  if (!lies_as(gb_node_shape(n), &of->like)) return false;
  gb_factor inner = gb_factor_one();
  gb_node *sum = bare(n), *square = gb_is_op(sum, GB_OP_SUM) ? gb_points_peel(e, sum->in[0], true, f) : NULL;
  square = square ? bare(square) : NULL;
  if (!square || !gb_is_op(square, GB_OP_SQUARE)) return false;
  gb_node *x = gb_points_peel(e, square->in[0], true, &inner);
  return x && gb_factor_join(f, &inner, 2) && bare(x) == bare(of->x) &&
         long_mask(gb_node_shape(sum->in[0]), (unsigned)sum->attr.i[0]) ==
             long_mask(gb_node_shape(of->x), of->over);
}

/* The term 'count' f |x|^2 of this side, or -1. */
static int find_norms (gb_formula *e, const terms *s, unsigned used, const side *of, const gb_factor *f,
                       double count) {
  gb_factor want = *f;
  want.scalar.c *= count;
  for (int i = 0; i < s->n; i++) {
    gb_factor got = s->t[i].f;
    if (!(used >> i & 1u) && is_norms(e, s->t[i].base, of, &got) && gb_factor_equal(&got, &want)) return i;
  }
  return -1;
}

/* The set of the terms f |x|^2 + f |y|^2, empty if they are missing. For one point they may be one term. */
static unsigned both_norms (gb_formula *e, const terms *s, int product, const side *x, const side *y,
                            const gb_factor *f) {
  const unsigned used = 1u << product;
  const int row = find_norms(e, s, used, x, f, 1);
  const int col = row < 0 ? -1 : find_norms(e, s, used | 1u << row, y, f, 1);
  if (col >= 0) return 1u << row | 1u << col;
  const int both =
      bare(x->x) == bare(y->x) && gb_shape_equal(&x->like, &y->like) ? find_norms(e, s, used, x, f, 2) : -1;
  return both < 0 ? 0 : 1u << both;
}

/* 'merged' plus every term but those in 'used'. */
static gb_node *rest (gb_formula *e, const terms *s, unsigned used, gb_node *merged) {
  for (int i = 0; i < s->n; i++)
    if (!(used >> i & 1u))
      merged = gb_ex_map2(e, s->t[i].sign < 0 ? GB_OP_SUB : GB_OP_ADD, merged, s->t[i].node);
  return merged;
}

/* The shape of a product as written, with extent 1 along axis 'drop' of the bare product (-1: none). */
static gb_shape without (const gb_shape *written, const gb_shape *product, int drop) {
  int of_written[GB_MAXDIM], of_product[GB_MAXDIM];
  gb_shape r = *written;
  long_axes(written, of_written);
  for (int n = long_axes(product, of_product), i = 0; i < n; i++)
    if (of_product[i] == drop) r.dim[of_written[i]] = 1;
  return r;
}

/* c |x|^2 + c |y|^2 - 2 c x y' */
static gb_node *of_rows (gb_formula *e, const terms *s, int mm, gb_node *product) {
  gb_factor f = s->t[mm].f;
  gb_node *x = gb_points_peel(e, product->in[0], true, &f);
  gb_node *y = gb_ex_swap(e, product->in[1]);
  y = y ? gb_points_peel(e, y, true, &f) : NULL;
  if (!x || !y) return NULL;
  f.scalar.c /= -2;
  const gb_shape *written = gb_node_shape(s->t[mm].base), *own = gb_node_shape(product);
  const unsigned features = 1u << (own->ndim - 1);
  const side row = {x, features, without(written, own, own->ndim - 1)};
  const side col = {y, features, without(written, own, own->ndim - 2)};
  const unsigned norms = both_norms(e, s, mm, &row, &col, &f);
  if (!norms) return NULL;
  return rest(e, s, norms | 1u << mm, laid_out(e, gb_sqdist_scaled(e, x, y, &f), written));
}

/* One operand of a product of this shape that is summed over 'mask': the axes over which it is summed, and
** its extents on the other axes. False if it is broadcast along a summed axis. */
static bool side_of (gb_node *x, const gb_shape *all, unsigned mask, const gb_shape *written, side *out) {
  const gb_shape *own = gb_node_shape(x);
  const int missing = all->ndim - own->ndim;
  *out = (side){x, mask >> missing, *written};
  int at[GB_MAXDIM];
  long_axes(written, at);
  for (int i = 0, n = 0; i < all->ndim; i++) {
    const bool lacks = all->dim[i] != 1 && (i < missing || own->dim[i - missing] == 1);
    if (mask >> i & 1u) {
      if (lacks) return false;
    } else if (all->dim[i] != 1) {
      if (lacks) out->like.dim[at[n]] = 1;
      n++;
    }
  }
  return true;
}

/* c sum x^2 + c sum y^2 - 2 c sum x y, all over the same axes: c sum (x - y)^2 */
static gb_node *of_pairs (gb_formula *e, const terms *s, int at, gb_node *sum) {
  gb_factor f = s->t[at].f;
  /* scales stay with the points, which may leave the range of f16 without them */
  if (gb_node_dtype(sum) == GB_F16) return NULL;
  gb_node *m = gb_points_peel(e, sum->in[0], false, &f);
  m = m ? bare(m) : NULL;
  if (!m || !gb_is_op(m, GB_OP_MUL)) return NULL;
  const unsigned mask =
      mask_of(gb_node_shape(m), long_mask(gb_node_shape(sum->in[0]), (unsigned)sum->attr.i[0]));
  gb_node *x = gb_points_peel(e, m->in[0], false, &f), *y = x ? gb_points_peel(e, m->in[1], false, &f) : NULL;
  if (!y) return NULL;
  f.scalar.c /= -2;
  side of_x, of_y;
  const gb_shape *written = gb_node_shape(s->t[at].base);
  if (!side_of(x, gb_node_shape(m), mask, written, &of_x) ||
      !side_of(y, gb_node_shape(m), mask, written, &of_y))
    return NULL;
  const unsigned norms = both_norms(e, s, at, &of_x, &of_y, &f);
  if (!norms || !gb_mono_is_one(&f.vector)) return NULL;
  gb_node *d2 = gb_ex_reduce(e, GB_OP_SUM, gb_ex_square(e, gb_ex_sub(e, x, y)), mask, false);
  if (d2 && !gb_mono_is_one(&f.scalar)) d2 = gb_ex_mul(e, d2, gb_mono_build(e, &f.scalar, gb_node_dtype(d2)));
  return rest(e, s, norms | 1u << at, laid_out(e, d2, written));
}

static gb_node *complete_square (gb_formula *e, const terms *s, int at) {
  gb_node *product = bare(s->t[at].base);
  if (gb_is_op(product, GB_OP_MATMUL)) return of_rows(e, s, at, product);
  return gb_is_op(product, GB_OP_SUM) ? of_pairs(e, s, at, product) : NULL;
}

/* Columns start .. start + count - 1 of 'of'. */
typedef struct columns {
  gb_node *of;
  int64_t start, count;
} columns;

static columns columns_of (gb_node *n) {
  const gb_shape *s = gb_node_shape(n);
  if (gb_is_op(n, GB_OP_SLICE) && n->attr.i[0] == s->ndim - 1 && n->attr.i[2] == 1)
    return (columns){n->in[0], n->attr.i[1], n->attr.i[3]};
  return (columns){NULL, 0, 0};
}

static bool follows (columns a, columns b) { return a.of && a.of == b.of && a.start + a.count == b.start; }

static gb_node *join_columns (gb_formula *e, columns a, columns b) {
  return gb_ex_slice(e, a.of, gb_node_shape(a.of)->ndim - 1, (size_t)a.start, 1, (size_t)(a.count + b.count));
}

static gb_node *join_features (gb_formula *e, const terms *s, int i, int j) {
  const gb_node *a = s->t[i].base, *b = s->t[j].base;
  if (a->nin != 2 || b->nin != 2 || !gb_factor_equal(&s->t[i].f, &s->t[j].f)) return NULL;
  const columns xa = columns_of(a->in[0]), xb = columns_of(b->in[0]), ya = columns_of(a->in[1]),
                yb = columns_of(b->in[1]);
  if (!follows(xa, xb) || !follows(ya, yb)) return NULL;
  gb_node *x = join_columns(e, xa, xb), *y = join_columns(e, ya, yb);
  return rest(e, s, 1u << i | 1u << j, gb_sqdist_scaled(e, x, y, &s->t[i].f));
}

static gb_node *join_any (gb_formula *e, const terms *s) {
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++) {
      if (i == j || !gb_is_op(s->t[i].base, GB_OP_SQDIST) || !gb_is_op(s->t[j].base, GB_OP_SQDIST)) continue;
      gb_node *r = join_features(e, s, i, j);
      if (r || e->status != GB_OK) return r;
    }
  return NULL;
}

gb_node *gb_canon_terms (gb_formula *e, const gb_pending_op *d) {
  terms s;
  flatten(&s, d);
  if (!worth_a_look(&s)) return NULL;
  for (int i = 0; i < s.n; i++) {
    s.t[i].f = gb_factor_one();
    s.t[i].f.scalar.c = s.t[i].sign;
    s.t[i].base = gb_points_peel(e, s.t[i].node, false, &s.t[i].f);
    if (!s.t[i].base) return NULL;
  }
  for (int i = 0; i < s.n; i++) {
    gb_node *r = complete_square(e, &s, i);
    if (r || e->status != GB_OK) return r;
  }
  return join_any(e, &s);
}
