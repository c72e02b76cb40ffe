/* einsum.c - "ij,jk->ik" as diagonals, sums, products and matmuls, from left to right.
**
** A term is a node with one letter an axis. Two terms become a matmul if they share a letter that no later
** term needs, else a broadcast product. Letters: a to z, A to Z. Without "->" the result has the letters that
** occur once, in order. */
#include <stdlib.h>
#include <string.h>

#include "graph/formula.h"

typedef struct term {
  gb_node *node; /* borrowed */
  int n;
  char letter[GB_MAXDIM + 1]; /* of each axis; 0-terminated */
} term;

typedef struct spec {
  const char *text;
  int nterms, nresult;
  int uses[128]; /* occurrences of a letter in the terms not yet merged, and in the result */
  bool known[128];
  size_t extent[128];
  char result[GB_MAXDIM + 1];
  gb_error *err;
} spec;

static bool is_letter (char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static gb_status bad (const spec *s, const char *why) {
  return gb_fail(s->err, GB_EOPTION, "einsum: %s: '%s'", why, s->text);
}

/* The letters up to 'end' (NULL: of the string's end), without spaces. */
static gb_status parse_letters (const spec *s, const char *from, const char *end, char *letter, int *n) {
  *n = 0;
  for (const char *p = from; p < end; p++) {
    if (*p == ' ') continue;
    if (!is_letter(*p)) return bad(s, "expected letters, commas and at most one '->'");
    if (*n == GB_MAXDIM) return bad(s, "more than 8 axes");
    letter[(*n)++] = *p;
  }
  letter[*n] = '\0';
  return GB_OK;
}

static gb_status bind_extents (spec *s, const term *t, int number) {
  const gb_shape *shape = gb_node_shape(t->node);
  char text[GB_NODE_TEXT];
  if (shape->ndim != t->n)
    return gb_fail(s->err, GB_ESHAPE, "einsum: term %d of '%s' has %d axes, got %s", number, s->text, t->n,
                   gb_node_text(t->node, text));
  for (int i = 0; i < t->n; i++) {
    const int c = t->letter[i];
    if (s->known[c] && s->extent[c] != shape->dim[i])
      return gb_fail(s->err, GB_ESHAPE, "einsum: %c is %zu, but axis %d of term %d is %zu: %s", c,
                     s->extent[c], i + 1, number, shape->dim[i], gb_node_text(t->node, text));
    s->known[c] = true;
    s->extent[c] = shape->dim[i];
    s->uses[c]++;
  }
  return GB_OK;
}

static gb_status parse_result (spec *s, const char *arrow) {
  if (arrow == NULL) {
    for (int c = 'A'; c <= 'z'; c++) {
      if (s->uses[c] != 1) continue;
      if (s->nresult == GB_MAXDIM) return bad(s, "more than 8 axes");
      s->result[s->nresult++] = (char)c;
    }
  } else {
    GB_TRY(parse_letters(s, arrow + 2, arrow + strlen(arrow), s->result, &s->nresult));
  }
  for (int i = 0; i < s->nresult; i++) {
    const int c = s->result[i];
    if (!s->known[c]) return bad(s, "a letter of the result is in no term");
    if (memchr(s->result, c, (size_t)i) != NULL) return bad(s, "a letter occurs twice in the result");
    s->uses[c]++;
  }
  return GB_OK;
}

static gb_status parse (spec *s, int n, gb_node *const *in, term *t) {
  const char *arrow = strstr(s->text, "->"), *end = arrow != NULL ? arrow : s->text + strlen(s->text),
             *from = s->text;
  for (int i = 0;; i++) {
    const char *comma = memchr(from, ',', (size_t)(end - from)), *stop = comma != NULL ? comma : end;
    s->nterms = i + 1;
    if (i < n) {
      t[i].node = in[i];
      GB_TRY(parse_letters(s, from, stop, t[i].letter, &t[i].n));
    }
    if (comma == NULL) break;
    from = comma + 1;
  }
  if (s->nterms != n)
    return gb_fail(s->err, GB_EOPTION, "einsum: '%s' has %d terms, got %d tensors", s->text, s->nterms, n);
  for (int i = 0; i < n; i++) GB_TRY(bind_extents(s, &t[i], i + 1));
  return parse_result(s, arrow);
}

/* -- building; failures stick in the expression */

static int position (const term *t, char c) {
  const char *p = memchr(t->letter, c, (size_t)t->n);
  return p == NULL ? -1 : (int)(p - t->letter);
}

static void remove_axis (term *t, int at) {
  memmove(t->letter + at, t->letter + at + 1, (size_t)(t->n - at));
  t->n--;
}

/* Brings the axes into the order of 'order', which has the same letters. */
static void arrange (gb_formula *e, term *t, const char *order) {
  int axes[GB_MAXDIM];
  for (int i = 0; i < t->n; i++) axes[i] = position(t, order[i]);
  memcpy(t->letter, order, (size_t)t->n);
  t->node = gb_ex_permute(e, t->node, axes);
}

/* A letter twice in a term: the diagonal of its two axes, which becomes the last axis. */
static void take_diagonals (gb_formula *e, spec *s, term *t) {
  for (int i = 0; i < t->n; i++) {
    char order[GB_MAXDIM + 1];
    int axes[GB_MAXDIM], kept = 0;
    const char c = t->letter[i];
    const char *again = memchr(t->letter + i + 1, c, (size_t)(t->n - i - 1));
    if (again == NULL) continue;
    const int j = (int)(again - t->letter);
    for (int k = 0; k < t->n; k++)
      if (k != i && k != j) order[kept] = t->letter[k], axes[kept++] = k;
    axes[kept] = i;
    axes[kept + 1] = j;
    order[kept] = c;
    t->node = gb_ex_map1(e, GB_OP_DIAGONAL, gb_ex_permute(e, t->node, axes));
    t->n--;
    memcpy(t->letter, order, (size_t)t->n);
    s->uses[(int)c]--;
    i = -1;
  }
}

/* Sums the letters that nothing else has. */
static void sum_private (gb_formula *e, const spec *s, term *t) {
  unsigned mask = 0;
  for (int i = 0; i < t->n; i++)
    if (s->uses[(int)t->letter[i]] == 1) mask |= 1u << i;
  if (mask == 0) return;
  t->node = gb_ex_reduce(e, GB_OP_SUM, t->node, mask, false);
  for (int i = t->n - 1; i >= 0; i--)
    if ((mask >> i & 1) != 0) remove_axis(t, i);
}

/* A set of letters in order of appearance. */
typedef struct letters {
  int n;
  char at[2 * GB_MAXDIM];
} letters;

static void add (letters *l, char c) { l->at[l->n++] = c; }

/* The letters of two terms, classified. */
typedef struct parts {
  letters batch, left, right, inner;
} parts;

static parts divide (const spec *s, const term *a, const term *b) {
  parts p = {0};
  for (int i = 0; i < a->n; i++) {
    const char c = a->letter[i];
    if (position(b, c) < 0) add(&p.left, c);
    else if (s->uses[(int)c] > 2) add(&p.batch, c);
    else add(&p.inner, c);
  }
  for (int i = 0; i < b->n; i++)
    if (position(a, b->letter[i]) < 0) add(&p.right, b->letter[i]);
  return p;
}

static size_t product (const spec *s, const letters *l) {
  size_t n = 1;
  for (int i = 0; i < l->n; i++)
    n *= s->extent[(int)l->at[i]]; /* of axes of one node, or checked when built */
  return n;
}

/* t as (batch..., rows, cols), the last two each merged from their letters. */
static void as_matrix (gb_formula *e, const spec *s, term *t, const letters *batch, const letters *rows,
                       const letters *cols) {
  char order[3 * GB_MAXDIM + 1];
  memcpy(order, batch->at, (size_t)batch->n);
  memcpy(order + batch->n, rows->at, (size_t)rows->n);
  memcpy(order + batch->n + rows->n, cols->at, (size_t)cols->n);
  arrange(e, t, order);
  gb_shape shape = {.ndim = batch->n + 2};
  for (int i = 0; i < batch->n; i++) shape.dim[i] = s->extent[(int)batch->at[i]];
  shape.dim[batch->n] = product(s, rows);
  shape.dim[batch->n + 1] = product(s, cols);
  t->node = gb_ex_reshape(e, t->node, &shape);
}

/* t with an axis for each letter of 'order', of size 1 for letters it lacks. */
static void spread (gb_formula *e, term *t, const letters *order) {
  char have[GB_MAXDIM + 1];
  int n = 0;
  for (int i = 0; i < order->n; i++)
    if (position(t, order->at[i]) >= 0) have[n++] = order->at[i];
  arrange(e, t, have);
  for (int i = 0; i < order->n; i++)
    if (position(t, order->at[i]) < 0) t->node = gb_ex_unsqueeze(e, t->node, i);
}

static letters joined (const letters *a, const letters *b, const letters *c) {
  letters l = *a;
  for (int i = 0; i < b->n; i++) add(&l, b->at[i]);
  for (int i = 0; i < c->n; i++) add(&l, c->at[i]);
  return l;
}

/* a = a * b, summed over the letters that no other term needs. */
static void merge (gb_formula *e, spec *s, term *a, term *b) {
  const parts p = divide(s, a, b);
  const letters all = joined(&p.batch, &p.left, &p.right);
  if (all.n > GB_MAXDIM || (p.inner.n > 0 && p.batch.n > GB_MAXDIM - 2)) {
    if (e->status == GB_OK) e->status = bad(s, "an intermediate product has more than 8 axes");
    return;
  }
  for (int i = 0; i < p.batch.n; i++) s->uses[(int)p.batch.at[i]]--;
  if (p.inner.n == 0) {
    spread(e, a, &all);
    spread(e, b, &all);
    a->node = gb_ex_mul(e, a->node, b->node);
  } else {
    if (a->node && !gb_dtype_is_float(gb_node_dtype(a->node)) && e->status == GB_OK) {
      e->status = gb_fail(e->err, GB_EDTYPE,
                          "einsum: sums of products are of floats, convert with :to{dtype=...}: got %s",
                          gb_dtype_name(gb_node_dtype(a->node)));
      return;
    }
    gb_shape shape = {.ndim = all.n};
    for (int i = 0; i < all.n; i++) shape.dim[i] = s->extent[(int)all.at[i]];
    as_matrix(e, s, a, &p.batch, &p.left, &p.inner);
    as_matrix(e, s, b, &p.batch, &p.inner, &p.right);
    a->node = gb_ex_reshape(e, gb_ex_matmul(e, a->node, b->node), &shape);
  }
  a->n = all.n;
  memcpy(a->letter, all.at, (size_t)all.n);
}

static gb_status build (gb_graph *g, spec *s, term *t, gb_node **out) {
  gb_node *so_far = NULL;
  gb_status st = GB_OK;
  for (int i = 0; i < s->nterms && st == GB_OK; i++) {
    gb_formula e;
    gb_formula_init(&e, g, s->err);
    take_diagonals(&e, s, &t[i]);
    sum_private(&e, s, &t[i]);
    if (i > 0) {
      t[0].node = so_far;
      merge(&e, s, &t[0], &t[i]);
    }
    if (i == s->nterms - 1) arrange(&e, &t[0], s->result);
    gb_node *next = NULL;
    st = gb_formula_take(&e, t[0].node, &next);
    gb_node_unref(so_far);
    so_far = next;
  }
  if (st == GB_OK) *out = so_far;
  return st;
}

gb_status gb_einsum (gb_graph *g, const char *text, int n, gb_node *const *in, gb_node **out, gb_error *err) {
  spec s = {.text = text, .err = err};
  if (n < 1) return gb_fail(err, GB_EOPTION, "einsum: expected one tensor or more");
  term *t = calloc((size_t)n, sizeof *t);
  gb_node **same = calloc((size_t)n, sizeof *same);
  gb_status st = t == NULL || same == NULL ? gb_fail(err, GB_ENOMEM, "no memory for the terms of einsum")
                                           : GB_OK;
  if (st == GB_OK) st = gb_adopt(n, in, same, err);
  if (st == GB_OK) {
    st = parse(&s, n, same, t);
    if (st == GB_OK) st = build(g, &s, t, out);
    for (int i = 0; i < n; i++) gb_node_unref(same[i]);
  }
  free(same);
  free(t);
  return st;
}
