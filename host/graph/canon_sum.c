/* canon_sum.c - sums whose terms complete squared distances:
**   c |x|^2 + c |y|^2 - 2 c x y'  in any order, association and signs;
**   distances over neighbouring feature ranges of the same points. */
#include "graph/canon.h"

#define MAX_TERMS 8

typedef struct term {
  gb_node *node;                 /* as written */
  int sign;
  gb_node *base;                 /* node = f * base, f with the sign */
  gb_factor f;
} term;

typedef struct terms { int n; term t[MAX_TERMS]; } terms;

/* Opens sums until they are single terms or MAX_TERMS are there. */
static void flatten (terms *s, const gb_draft *d) {
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

/* The op under scalar factors, found without building anything. */
static gb_op bare_op (const gb_node *n) {
  for (int level = 0; level < MAX_TERMS; level++) {
    const bool scaled = (gb_is_op(n, GB_OP_MUL) || gb_is_op(n, GB_OP_DIV)) && gb_node_shape(n->in[1])->ndim == 0;
    if (!scaled && !gb_is_op(n, GB_OP_NEG)) break;
    n = n->in[0];
  }
  return n->nin ? n->op : GB_OP_LEAF;
}

static bool worth_a_look (const terms *s) {
  int products = 0, distances = 0;
  for (int i = 0; i < s->n; i++) {
    const gb_op op = bare_op(s->t[i].node);
    products += op == GB_OP_MATMUL;
    distances += op == GB_OP_SQDIST;
  }
  return (products >= 1 && s->n >= 3) || distances >= 2;
}

/* sum_k (factor x_k)^2 as points and factor, from a node that is one number a point. */
static gb_node *squared_norms (gb_formula *e, gb_node *n, gb_factor *f) {
  n = n ? gb_points_peel(e, n, false, f) : NULL;
  if (!n || !gb_is_op(n, GB_OP_SUM)) return NULL;
  const int r = gb_node_shape(n->in[0])->ndim;
  if (n->attr.i[0] != 1 << (r - 1) || r < 2) return NULL;
  gb_factor inner = gb_factor_one();
  gb_node *square = gb_points_peel(e, n->in[0], true, f);
  if (!square || !gb_is_op(square, GB_OP_SQUARE)) return NULL;
  gb_node *x = gb_points_peel(e, square->in[0], true, &inner);
  return x && gb_factor_join(f, &inner, 2) ? x : NULL;
}

/* Drops the axis of extent 1 at 'from_end' of a (..., n, 1) or (..., 1, m) term; (m), and (1) of one row, are taken as
** they are. */
static gb_node *one_a_point (gb_formula *e, gb_node *n, int from_end) {
  const gb_shape *s = gb_node_shape(n);
  if (s->ndim == 1 && (from_end == 2 || s->dim[0] == 1)) return n;
  return s->ndim >= 2 && s->dim[s->ndim - from_end] == 1 ? gb_ex_squeeze(e, n, s->ndim - from_end) : NULL;
}

/* The term f |points|^2 with exactly these points and this factor, or -1. */
static int find_norms (gb_formula *e, const terms *s, int not_this, int nor_this, gb_node *points, const gb_factor *f,
                       int from_end) {
  for (int i = 0; i < s->n; i++) {
    if (i == not_this || i == nor_this) continue;
    gb_factor got = s->t[i].f;
    if (squared_norms(e, one_a_point(e, s->t[i].base, from_end), &got) == points && gb_factor_equal(&got, f)) return i;
  }
  return -1;
}

/* 'merged' plus every term but those in 'used'. */
static gb_node *rest (gb_formula *e, const terms *s, unsigned used, gb_node *merged) {
  for (int i = 0; i < s->n; i++)
    if (!(used >> i & 1u)) merged = gb_ex_map2(e, s->t[i].sign < 0 ? GB_OP_SUB : GB_OP_ADD, merged, s->t[i].node);
  return merged;
}

static gb_node *complete_square (gb_formula *e, const terms *s, int mm) {
  gb_factor f = s->t[mm].f;
  gb_node *product = s->t[mm].base;
  gb_node *x = gb_points_peel(e, product->in[0], true, &f);
  gb_node *y = gb_ex_swap(e, product->in[1]);
  y = y ? gb_points_peel(e, y, true, &f) : NULL;
  if (!x || !y) return NULL;
  f.scalar.c /= -2;
  const int row = find_norms(e, s, mm, -1, x, &f, 1);
  const int col = row < 0 ? -1 : find_norms(e, s, mm, row, y, &f, 2);
  if (col < 0) return NULL;
  return rest(e, s, 1u << mm | 1u << row | 1u << col, gb_sqdist_scaled(e, x, y, &f));
}

/* Columns start .. start + count - 1 of 'of'. */
typedef struct columns { gb_node *of; int64_t start, count; } columns;

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
  const columns xa = columns_of(a->in[0]), xb = columns_of(b->in[0]), ya = columns_of(a->in[1]), yb = columns_of(b->in[1]);
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

gb_node *gb_canon_terms (gb_formula *e, const gb_draft *d) {
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
    if (!gb_is_op(s.t[i].base, GB_OP_MATMUL)) continue;
    gb_node *r = complete_square(e, &s, i);
    if (r || e->status != GB_OK) return r;
  }
  return join_any(e, &s);
}
