/* symmetry.c - which matrices are symmetric by structure.
**
** Most are by a rule on op and inputs. For the rest, say a covariance written out by hand as (x[:, None] -
** x[None, :])^2 and what follows, a walk compares the expression with its mirror image, knowing that the
** order of terms, factors and the inputs of a maximum does not matter and that squares are even. A positive
** answer holds for real numbers; mirrored elements may round differently. The walk gives up after a fixed
** number of comparisons, so its cost is bounded, and the answer depends on the expression alone. */
#include "base/hash.h"
#include "graph/simplify.h"

static bool symmetric (const gb_node *n) { return (n->flags & GB_NODE_SYMMETRIC) != 0; }

/* Axes counted from the end, from 1, as broadcasting aligns them. */
static size_t extent (const gb_node *n, int axis) {
  const gb_shape *s = gb_node_shape(n);
  return s->ndim >= axis ? s->dim[s->ndim - axis] : 1;
}

/* -- rules */

/* The identity, or a batch of it. A node that has its value may have lost its inputs. */
static bool is_identity (const gb_node *n) {
  while (symmetric(n) && n->nin == 1 && (n->op == GB_OP_EXPAND || n->op == GB_OP_UNSQUEEZE)) n = n->in[0];
  return n->op == GB_OP_EYE;
}

/* Elementwise: every input symmetric or constant over the matrix; or the identity times a row or column. */
static bool map_symmetric (const gb_node *n) {
  bool all = true, any = false, eye = false, line = false;
  for (int i = 0; i < n->nin; i++) {
    const gb_node *in = n->in[i];
    const bool flat = extent(in, 1) == 1 && extent(in, 2) == 1;
    const bool whole = symmetric(in) && extent(in, 1) == extent(n, 1);
    any |= whole;
    all &= whole || flat;
    eye |= whole && is_identity(in);
    line |= extent(in, 1) == 1 || extent(in, 2) == 1;
  }
  return any && (all || (n->op == GB_OP_MUL && eye && line));
}

/* A symmetric input whose other axes are permuted or reduced. */
static bool moved_symmetric (const gb_node *n) {
  const int ndim = gb_node_shape(n)->ndim;
  const gb_node *x = n->in[0];
  const int64_t *a = n->attr.i;
  if (!symmetric(x)) return false;
  switch (n->op) {
    case GB_OP_MOVE:
    case GB_OP_CAST: return true;
    case GB_OP_EXPAND: return extent(x, 1) == extent(n, 1);
    case GB_OP_UNSQUEEZE:
    case GB_OP_SQUEEZE: return a[0] <= ndim - 2;
    case GB_OP_SLICE: return a[0] < ndim - 2;
    case GB_OP_PERMUTE: return a[ndim - 1] == ndim - 1 && a[ndim - 2] == ndim - 2;
    case GB_OP_SUM:
    case GB_OP_PROD:
    case GB_OP_MIN:
    case GB_OP_MAX:
    case GB_OP_LOGSUMEXP: return a[0] >> (gb_node_shape(x)->ndim - 2) == 0;
    default: return false;
  }
}

/* -- the walk */

#define MOST_PAIRS 512
#define MOST_DEPTH 100
#define MEMO 128
#define PARTS 12
#define NONE 255

/* A node as a function of labelled indices. Views only relabel, so that a matrix and its transpose are one
** node under exchanged labels. Axes of extent 1 are labelled NONE. */
typedef struct form {
  const gb_node *node;
  uint8_t label[GB_MAXDIM];
} form;

typedef struct known {
  form a, b;
  bool yes;
} known;

typedef struct walk {
  int pairs, depth;
  known memo[MEMO]; /* direct-mapped; node NULL = free */
} walk;

static bool equal (walk *w, form a, form b);

/* The form of a node whose axes are aligned at the right with those of r. */
static form aligned (const form *r, const gb_node *n) {
  form f = {.node = n};
  const gb_shape *s = gb_node_shape(n);
  const int shift = gb_node_shape(r->node)->ndim - s->ndim;
  for (int i = 0; i < s->ndim; i++) f.label[i] = s->dim[i] == 1 ? NONE : r->label[i + shift];
  return f;
}

/* The same function without the views on top. */
static form strip (form r) {
  for (;;) {
    const gb_node *n = r.node, *in = n->nin == 1 ? n->in[0] : NULL;
    const int64_t *a = n->attr.i;
    form f = {.node = in};
    if (in == NULL) return r;
    const int ndim = gb_node_shape(in)->ndim;
    switch (n->op) {
      case GB_OP_UNSQUEEZE:
        for (int i = 0; i < ndim; i++) f.label[i] = r.label[i + (i >= a[0])];
        break;
      case GB_OP_SQUEEZE:
        for (int i = 0; i < ndim; i++) f.label[i] = i == a[0] ? NONE : r.label[i - (i > a[0])];
        break;
      case GB_OP_PERMUTE:
        for (int i = 0; i < ndim; i++) f.label[a[i]] = r.label[i];
        break;
      case GB_OP_EXPAND: f = aligned(&r, in); break;
      default: return r;
    }
    r = f;
  }
}

static bool same_form (const form *a, const form *b) { return memcmp(a, b, sizeof *a) == 0; }

/* Labels that occur, as a set; and one that does not. */
static uint64_t labels_of (const form *f, uint8_t *fresh) {
  uint64_t set = 0;
  *fresh = 0;
  for (int i = 0; i < gb_node_shape(f->node)->ndim; i++) {
    if (f->label[i] == NONE) continue;
    set |= (uint64_t)1 << (f->label[i] & 63);
    if (f->label[i] >= *fresh) *fresh = (uint8_t)(f->label[i] + 1);
  }
  return set;
}

static form last_two_swapped (form f) {
  const int n = gb_node_shape(f.node)->ndim;
  const uint8_t t = f.label[n - 1];
  f.label[n - 1] = f.label[n - 2];
  f.label[n - 2] = t;
  return f;
}

static bool is_sum (const gb_node *n) {
  return n->nin > 0 && (n->op == GB_OP_ADD || n->op == GB_OP_SUB || n->op == GB_OP_NEG);
}

static bool is_product (const gb_node *n) {
  return n->nin > 0 && (n->op == GB_OP_MUL || n->op == GB_OP_DIV || n->op == GB_OP_RECIP);
}

/* The terms of a sum or the factors of a product, in no order that matters. */
typedef struct parts {
  int n;
  bool minus; /* of a product */
  struct part {
    form f;
    bool inverse;
  } at[PARTS]; /* subtracted, or divided by */
} parts;

static parts take_apart (const form *whole, bool sum) {
  parts s = {.n = 1, .at = {{strip(*whole), false}}};
  for (int i = 0; i < s.n;) {
    const struct part t = s.at[i];
    const gb_node *n = t.f.node;
    const bool opens = sum ? is_sum(n) : is_product(n) || (n->op == GB_OP_NEG && n->nin == 1);
    if (!opens || (n->nin == 2 && s.n == PARTS)) {
      i++;
      continue;
    }
    if (!sum) s.minus ^= n->op == GB_OP_NEG;
    const bool flips = n->op == GB_OP_RECIP || (sum && n->op == GB_OP_NEG);
    s.at[i] = (struct part){strip(aligned(&t.f, n->in[0])), t.inverse ^ flips};
    if (n->nin == 2)
      s.at[s.n++] = (struct part){strip(aligned(&t.f, n->in[1])),
                                  t.inverse ^ (n->op == GB_OP_SUB || n->op == GB_OP_DIV)};
  }
  return s;
}

/* True if the parts of b are those of a; with 'negated', of minus a. Parts equal to one part are equal to
** each other, so matching the first is sufficient. */
static bool parts_equal (walk *w, const form *a, const form *b, bool sum, bool negated) {
  const parts s = take_apart(a, sum);
  parts t = take_apart(b, sum);
  if (s.n != t.n || s.minus != t.minus) return false;
  for (int i = 0; i < s.n; i++) {
    int j = i;
    while (j < t.n && (t.at[j].inverse != (s.at[i].inverse ^ negated) || !equal(w, s.at[i].f, t.at[j].f)))
      j++;
    if (j == t.n) return false;
    const struct part found = t.at[j];
    t.at[j] = t.at[i];
    t.at[i] = found;
  }
  return true;
}

static bool commutes (gb_op op) {
  switch (op) {
    case GB_OP_MAXIMUM:
    case GB_OP_MINIMUM:
    case GB_OP_EQ:
    case GB_OP_NE:
    case GB_OP_AND:
    case GB_OP_OR: return true;
    default: return false;
  }
}

static bool inputs_equal (walk *w, const form *a, int i, const form *b, int j) {
  return equal(w, aligned(a, a->node->in[i]), aligned(b, b->node->in[j]));
}

static bool map_equal (walk *w, const form *a, const form *b) {
  const gb_op op = a->node->op;
  if (op == GB_OP_SQUARE || op == GB_OP_ABS || op == GB_OP_COS) {
    const form x = aligned(a, a->node->in[0]), y = aligned(b, b->node->in[0]);
    if (parts_equal(w, &x, &y, true, true)) return true;
  }
  bool straight = true;
  for (int i = 0; i < a->node->nin && straight; i++) straight = inputs_equal(w, a, i, b, i);
  return straight || (commutes(op) && inputs_equal(w, a, 0, b, 1) && inputs_equal(w, a, 1, b, 0));
}

/* The input of a reduction; reduced axes get labels from 'fresh' on. */
static form before_reduction (const form *r, uint8_t fresh) {
  form f = {.node = r->node->in[0]};
  const gb_shape *s = gb_node_shape(f.node);
  for (int i = 0, kept = 0; i < s->ndim; i++) {
    const bool reduced = (r->node->attr.i[0] >> i & 1) != 0;
    const uint8_t label = reduced ? fresh++ : r->label[kept++];
    f.label[i] = s->dim[i] == 1 ? NONE : label;
  }
  return f;
}

static bool same_reduced_extents (const gb_node *a, const gb_node *b) {
  const gb_shape *s = gb_node_shape(a->in[0]), *t = gb_node_shape(b->in[0]);
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < s->ndim && (a->attr.i[0] >> i & 1) == 0) i++;
    while (j < t->ndim && (b->attr.i[0] >> j & 1) == 0) j++;
    if (i == s->ndim || j == t->ndim) return i == s->ndim && j == t->ndim;
    if (s->dim[i] != t->dim[j]) return false;
  }
}

/* Input i of a MATMUL or SQDIST; the contracted axis is labelled 'fresh'. */
static form before_contraction (const form *r, int i, uint8_t fresh) {
  form f = aligned(r, r->node->in[i]);
  const gb_shape *s = gb_node_shape(f.node);
  const int n = gb_node_shape(r->node)->ndim, row = s->ndim - 2, column = s->ndim - 1;
  const bool inner_is_row = i == 1 && r->node->op != GB_OP_SQDIST;
  const uint8_t outer = r->label[n - 2 + i];
  f.label[row] = s->dim[row] == 1 ? NONE : inner_is_row ? fresh : outer;
  f.label[column] = s->dim[column] == 1 ? NONE : inner_is_row ? outer : fresh;
  return f;
}

static bool contraction_equal (walk *w, const form *a, const form *b, uint8_t fresh) {
  if (extent(a->node->in[0], 1) != extent(b->node->in[0], 1)) return false;
  if (a->node->nin == 3 && a->node->in[2] != b->node->in[2]) return false;
  const form x = before_contraction(a, 0, fresh), y = before_contraction(a, 1, fresh);
  const form u = before_contraction(b, 0, fresh), v = before_contraction(b, 1, fresh);
  return (equal(w, x, u) && equal(w, y, v)) || (equal(w, x, v) && equal(w, y, u));
}

static bool structure_equal (walk *w, const form *a, const form *b, uint8_t fresh) {
  const gb_node *m = a->node, *n = b->node;
  if (is_sum(m) && is_sum(n)) return parts_equal(w, a, b, true, false);
  if (is_product(m) && is_product(n)) return parts_equal(w, a, b, false, false);
  if (m->op != n->op || m->nin != n->nin || m->nin == 0 || gb_node_dtype(m) != gb_node_dtype(n)) return false;
  switch (m->op) {
    case GB_OP_SUM:
    case GB_OP_PROD:
    case GB_OP_MIN:
    case GB_OP_MAX:
    case GB_OP_LOGSUMEXP:
    case GB_OP_ANY:
    case GB_OP_ALL:
      return same_reduced_extents(m, n) && equal(w, before_reduction(a, fresh), before_reduction(b, fresh));
    case GB_OP_MATMUL:
    case GB_OP_GEMM:
    case GB_OP_SQDIST: return contraction_equal(w, a, b, fresh);
    case GB_OP_MOVE:
    case GB_OP_CAST: return inputs_equal(w, a, 0, b, 0);
    default:
      return gb_ops[m->op].kind == GB_KIND_MAP && memcmp(&m->attr, &n->attr, sizeof m->attr) == 0 &&
             map_equal(w, a, b);
  }
}

static bool equal (walk *w, form a, form b) {
  uint8_t fresh, ignored;
  a = strip(a);
  b = strip(b);
  if (same_form(&a, &b)) return true;
  if (a.node == b.node && symmetric(a.node)) {
    const form mirror = last_two_swapped(a);
    if (same_form(&mirror, &b)) return true;
  }
  if (labels_of(&a, &fresh) != labels_of(&b, &ignored)) return false;
  known *k = &w->memo[gb_hash_bytes(gb_hash_bytes(0, &a, sizeof a), &b, sizeof b) % MEMO];
  if (same_form(&k->a, &a) && same_form(&k->b, &b)) return k->yes;
  if (w->pairs == MOST_PAIRS || w->depth == MOST_DEPTH) return false;
  w->pairs++;
  w->depth++;
  const bool yes = structure_equal(w, &a, &b, fresh);
  w->depth--;
  *k = (known){a, b, yes};
  return yes;
}

bool gb_symmetric_infer (const gb_node *n) {
  const int ndim = gb_node_shape(n)->ndim;
  const gb_kind kind = gb_ops[n->op].kind;
  if (ndim < 2 || extent(n, 1) != extent(n, 2)) return false;
  if (n->op == GB_OP_EYE || n->op == GB_OP_CHOL_INVERSE) return true;
  if (kind == GB_KIND_LEAF || kind == GB_KIND_GEN ||
      (kind == GB_KIND_OPAQUE && n->op != GB_OP_CAST && n->op != GB_OP_MOVE && n->op != GB_OP_GEMM))
    return false;
  if (kind == GB_KIND_MAP ? map_symmetric(n) : n->nin == 1 && moved_symmetric(n)) return true;
  walk w = {0};
  form self = {.node = n};
  for (int i = 0; i < ndim; i++) self.label[i] = gb_node_shape(n)->dim[i] == 1 ? NONE : (uint8_t)i;
  return equal(&w, self, last_two_swapped(self));
}
