/* merge.c - folds over the same domain that share a tile value become one traversal: a product and all its
** gradients visit each pair once. */
#include <stdlib.h>
#include <string.h>

#include "lower/internal.h"

/* Which draft computes a buffer, by following merges; -1 = a leaf. */
static int producer (const gb_lower_state *s, const int *maker, int buf) {
  int d = maker[buf];
  while (d >= 0 && s->draft[d].merged_into >= 0) d = s->draft[d].merged_into;
  return d;
}

/* Whether draft 'from' needs, directly or not, what 'to' computes. 'seen' has one byte a draft. */
static bool depends_on (const gb_lower_state *s, const int *maker, int from, int to, unsigned char *seen,
                        int *stack) {
  int n = 0;
  memset(seen, 0, (size_t)s->ndrafts);
  stack[n++] = from;
  seen[from] = 1;
  while (n > 0) {
    const gb_draft *d = &s->draft[stack[--n]];
    for (int i = 0; i < d->nin; i++) {
      const int p = producer(s, maker, d->in[i]);
      if (p < 0 || seen[p]) continue;
      if (p == to) return true;
      seen[p] = 1;
      stack[n++] = p;
    }
  }
  return false;
}

static gb_axes domain_of (const gb_draft *d) {
  gb_axes set = 0;
  for (int a = 0; a < d->naxes; a++)
    if (d->extent[a] != 1) set |= (gb_axes)1 << a;
  return set & ~d->columns;
}

static bool plain_axis (const gb_ix *ix, int *axis) {
  const gb_axes deps = gb_ix_deps(ix);
  *axis = deps == 0 ? -1 : __builtin_ctz(deps);
  return ix->off == 0 && (deps & (deps - 1)) == 0 && (deps == 0 || ix->coef[*axis] == 1);
}

/* The renaming to[axis of b] = axis of a under which the two have this value in common; false: there is
** none. */
static bool rename_axes (const gb_draft *a, const struct gb_shared *va, const gb_draft *b,
                         const struct gb_shared *vb, int *to) {
  gb_axes covered_a = 0, covered_b = 0;
  const int nd = gb_node_shape(va->node)->ndim;
  const bool twins = va->node != vb->node;
  if (twins && !gb_is_twin(va->node, vb->node)) return false;
  const gb_map mb = twins ? gb_map_transposed(&vb->map, nd) : vb->map;
  for (int i = 0; i < nd; i++) {
    int xa, xb;
    if (!plain_axis(&va->map.dim[i], &xa) || !plain_axis(&mb.dim[i], &xb) || (xa < 0) != (xb < 0))
      return false;
    if (xa < 0) continue;
    if (xa >= a->naxes || xb >= b->naxes || a->extent[xa] != b->extent[xb]) return false;
    if ((covered_b >> xb & 1) || (covered_a >> xa & 1)) return false;
    to[xb] = xa;
    covered_a |= (gb_axes)1 << xa;
    covered_b |= (gb_axes)1 << xb;
  }
  return covered_a == domain_of(a) && covered_b == domain_of(b);
}

static bool same_domain (const gb_draft *a, const gb_draft *b, int *to) {
  for (int i = 0; i < a->nshared; i++)
    for (int k = 0; k < b->nshared; k++)
      if (rename_axes(a, &a->shared[i], b, &b->shared[k], to)) return true;
  return false;
}

static gb_axes rename_set (gb_axes set, const int *to) {
  gb_axes out = 0;
  for (int a = 0; a < GB_FOLD_AXES; a++)
    if (set >> a & 1) out |= (gb_axes)1 << to[a];
  return out;
}

static void rename_ix (gb_ix *ix, const int *to) {
  gb_ix out = {.off = ix->off};
  for (int a = 0; a < GB_FOLD_AXES; a++)
    if (ix->coef[a] != 0) out.coef[to[a]] += ix->coef[a];
  *ix = out;
}

static void rename_root (gb_root *r, const int *to) {
  for (int i = 0; i < GB_MAXDIM; i++) {
    rename_ix(&r->out.dim[i], to);
    rename_ix(&r->in.dim[i], to);
  }
  rename_ix(&r->inner, to);
  r->kept = rename_set(r->kept, to);
  r->reduced = rename_set(r->reduced, to);
  r->columns = rename_set(r->columns, to);
}

static bool stores (const gb_draft *d) {
  for (int i = 0; i < d->nroots; i++)
    if (d->root[i].form == GB_ROOT_STORE || d->root[i].reduced == 0) return true;
  return false;
}

/* Other outputs of one traversal than sums go with their own kind of accumulator; all can share it. What
** cannot be shared is a selection whose positions depend on how axes are joined. */
static bool selects (const gb_draft *d) {
  for (int i = 0; i < d->nroots; i++)
    if (d->root[i].node->op == GB_OP_ARGMIN || d->root[i].node->op == GB_OP_ARGMAX ||
        d->root[i].node->op == GB_OP_KMIN)
      return true;
  return false;
}

/* What may exist a window at a time is made by a step of its own. */
static bool stages (const gb_lower_state *s, const gb_draft *d) {
  for (int i = 0; i < d->nroots; i++)
    if (s->decision[d->root[i].node->index].staged) return true;
  return false;
}

static bool join_inputs (gb_draft *a, const gb_draft *b) {
  for (int i = 0; i < b->nin; i++) {
    bool there = false;
    for (int k = 0; k < a->nin; k++) there |= a->in[k] == b->in[i];
    if (there) continue;
    if (!gb_grow(&a->in, a->nin, &a->in_room, sizeof *a->in)) return false;
    a->in[a->nin++] = b->in[i];
  }
  return true;
}

/* What b computes is now a's to share: a third fold may have a value in common with b only. */
static bool join_shared (gb_draft *a, const gb_draft *b, const int *to) {
  for (int i = 0; i < b->nshared; i++) {
    if (!gb_grow(&a->shared, a->nshared, &a->shared_room, sizeof *a->shared)) return false;
    struct gb_shared *v = &a->shared[a->nshared++];
    *v = b->shared[i];
    for (int k = 0; k < GB_MAXDIM; k++) rename_ix(&v->map.dim[k], to);
  }
  return true;
}

static gb_status join (gb_lower_state *s, int ia, int ib, int *to) {
  gb_draft *a = &s->draft[ia], *b = &s->draft[ib];
  gb_root *root = realloc(a->root, (size_t)(a->nroots + b->nroots) * sizeof *root);
  if (root == NULL) return gb_fail(s->err, GB_ENOMEM, "no memory to join folds");
  a->root = root;
  for (int x = 0; x < b->naxes; x++) {
    if (!(b->columns >> x & 1)) {
      if (b->extent[x] == 1) to[x] = 0;
      continue;
    }
    a->extent[a->naxes] = b->extent[x];
    a->columns |= (gb_axes)1 << a->naxes;
    to[x] = a->naxes++;
  }
  for (int i = 0; i < b->nroots; i++) {
    a->root[a->nroots] = b->root[i];
    rename_root(&a->root[a->nroots++], to);
  }
  if (!join_inputs(a, b) || !join_shared(a, b, to))
    return gb_fail(s->err, GB_ENOMEM, "no memory to join folds");
  for (int i = 0; i < b->nsplits; i++) a->split[a->nsplits++] = b->split[i];
  b->merged_into = ia;
  gb_draft_forget(a);
  gb_draft_forget(b);
  return GB_OK;
}

static int columns_of (const gb_draft *d) { return __builtin_popcount(d->columns); }

/* A program has one compute type, which bools alone go with, whatever it is. */
static bool same_compute (const gb_draft *a, const gb_draft *b) {
  const gb_dtype ta = gb_compute_type(a), tb = gb_compute_type(b);
  return ta == tb || ta == GB_BOOL || tb == GB_BOOL;
}

/* Whether a traversal of this draft may compute other sums as well. */
static bool may_merge (const gb_lower_state *s, const gb_draft *d) {
  return d->opaque == NULL && d->merged_into < 0 && !stores(d) && !selects(d) && !stages(s, d);
}

/* Of drafts that may merge. */
static gb_status try_merge (gb_lower_state *s, const int *maker, int ia, int ib, unsigned char *seen,
                            int *stack) {
  const gb_draft *a = &s->draft[ia], *b = &s->draft[ib];
  int to[GB_FOLD_AXES] = {0};
  if (a->root->node->device != b->root->node->device) return GB_OK;
  if (a->nsplits + b->nsplits > GB_SPLITS) return GB_OK;
  if (a->naxes + columns_of(b) > GB_FOLD_AXES - 4 || !same_compute(a, b) || !same_domain(a, b, to))
    return GB_OK;
  if (depends_on(s, maker, ia, ib, seen, stack) || depends_on(s, maker, ib, ia, seen, stack)) return GB_OK;
  return join(s, ia, ib, to);
}

/* Drafts by the values that they share. A value and its twin have one key; whether two drafts do have a
** value in common is for same_domain to say. */

typedef struct by_value {
  uintptr_t key;
  int draft;
} by_value;

static int compare_values (const void *x, const void *y) {
  const by_value *a = x, *b = y;
  return a->key != b->key ? (a->key > b->key) - (a->key < b->key)
                          : (a->draft > b->draft) - (a->draft < b->draft);
}

static gb_status list_values (gb_lower_state *s, by_value **out, size_t *n) {
  size_t most = 0;
  for (int d = 0; d < s->ndrafts; d++) most += (size_t)s->draft[d].nshared;
  by_value *v = malloc((most + 1) * sizeof *v);
  if (v == NULL) return gb_fail(s->err, GB_ENOMEM, "no memory to join folds");
  *n = 0;
  for (int d = 0; d < s->ndrafts; d++)
    for (int i = 0; i < s->draft[d].nshared && may_merge(s, &s->draft[d]); i++)
      v[(*n)++] = (by_value){gb_twin_key(s->draft[d].shared[i].node), d};
  qsort(v, *n, sizeof *v, compare_values);
  *out = v;
  return GB_OK;
}

typedef struct neighbours {
  unsigned char *mark; /* [drafts] shares a value with the draft in view, and is still to be looked at */
  int marked;
  int known; /* values of the draft in view that were followed */
} neighbours;

/* Marks the drafts after 'after' that share a value with draft a which was not followed before. */
static void mark_neighbours (const gb_lower_state *s, int a, int after, const by_value *v, size_t n,
                             neighbours *near) {
  const gb_draft *d = &s->draft[a];
  for (; near->known < d->nshared; near->known++) {
    const uintptr_t key = gb_twin_key(d->shared[near->known].node);
    size_t low = 0, high = n;
    while (low < high) {
      const size_t mid = low + (high - low) / 2;
      if (v[mid].key < key || (v[mid].key == key && v[mid].draft <= after)) low = mid + 1;
      else high = mid;
    }
    for (; low < n && v[low].key == key; low++) {
      near->marked += !near->mark[v[low].draft];
      near->mark[v[low].draft] = 1;
    }
  }
}

/* Joins to draft a all later ones that it can be joined with, in their order; each may bring values that
** others share. */
static gb_status merge_into (gb_lower_state *s, const int *maker, int a, const by_value *v, size_t n,
                             neighbours *near, unsigned char *seen, int *stack) {
  near->known = 0;
  mark_neighbours(s, a, a, v, n, near);
  for (int b = a + 1; near->marked > 0; b++) {
    b = (int)((unsigned char *)memchr(near->mark + b, 1, (size_t)(s->ndrafts - b)) - near->mark);
    near->mark[b] = 0;
    near->marked--;
    if (!may_merge(s, &s->draft[b])) continue;
    GB_TRY(try_merge(s, maker, a, b, seen, stack));
    mark_neighbours(s, a, b, v, n, near);
  }
  return GB_OK;
}

/* -- numbers: what parameters become before anything with axes is computed. Those that need as many steps before them do not
** depend on each other, and no loop contains them, so they are one program. */

enum { MOST_LEVELS = 8, MOST_NUMBERS = 16 };

static bool makes_numbers (const gb_lower_state *s, const gb_draft *d) {
  if (d->opaque != NULL || d->merged_into >= 0 || d->nsplits > 0 || selects(d) || stages(s, d)) return false;
  for (int a = 0; a < d->naxes; a++)
    if (d->extent[a] != 1) return false;
  return true;
}

/* Steps of numbers before it; -1: it needs others, or too many. 'level' has those of what is known so far, -2 for the rest. */
static int level_of (const int *maker, const gb_draft *d, const int *level) {
  int most = 0;
  for (int i = 0; i < d->nin; i++) {
    const int p = maker[d->in[i]];
    if (p < 0) continue;
    if (level[p] < 0) return level[p];
    if (level[p] + 1 > most) most = level[p] + 1;
  }
  return most < MOST_LEVELS ? most : -1;
}

static void find_levels (const gb_lower_state *s, const int *maker, int *level) {
  for (int d = 0; d < s->ndrafts; d++) level[d] = makes_numbers(s, &s->draft[d]) ? -2 : -1;
  bool changed = true;
  for (int turn = 0; changed && turn < MOST_LEVELS; turn++) {
    changed = false;
    for (int d = 0; d < s->ndrafts; d++) {
      if (level[d] != -2) continue;
      level[d] = level_of(maker, &s->draft[d], level);
      changed |= level[d] != -2;
    }
  }
}

static bool one_program (const gb_draft *a, const gb_draft *b) {
  return a->root->node->device == b->root->node->device && a->nroots + b->nroots <= MOST_NUMBERS &&
         gb_compute_type(a) == gb_compute_type(b);
}

static gb_status merge_numbers (gb_lower_state *s, const int *maker, int *level) {
  find_levels(s, maker, level);
  for (int b = 1; b < s->ndrafts; b++)
    for (int a = 0; a < b && level[b] >= 0; a++) {
      if (level[a] != level[b] || !one_program(&s->draft[a], &s->draft[b])) continue;
      int to[GB_FOLD_AXES] = {0};
      if (s->draft[a].naxes == 0 && s->draft[b].naxes > 0) s->draft[a].extent[s->draft[a].naxes++] = 1;
      GB_TRY(join(s, a, b, to));
      level[b] = -1;
    }
  return GB_OK;
}

gb_status gb_merge_drafts (gb_lower_state *s) {
  int *maker = malloc(((size_t)s->nbufs + 1) * sizeof *maker),
      *stack = malloc(((size_t)s->ndrafts + 1) * sizeof *stack);
  unsigned char *seen = malloc((size_t)s->ndrafts + 1);
  neighbours near = {.mark = calloc((size_t)s->ndrafts + 1, 1)};
  by_value *v = NULL;
  size_t n = 0;
  gb_status rc = maker == NULL || stack == NULL || seen == NULL || near.mark == NULL
                     ? gb_fail(s->err, GB_ENOMEM, "no memory to join folds")
                     : list_values(s, &v, &n);
  if (rc == GB_OK) gb_find_makers(s, maker);
  if (rc == GB_OK) rc = merge_numbers(s, maker, stack);
  for (int a = 0; rc == GB_OK && a < s->ndrafts; a++)
    if (may_merge(s, &s->draft[a])) rc = merge_into(s, maker, a, v, n, &near, seen, stack);
  free(maker);
  free(stack);
  free(seen);
  free(near.mark);
  free(v);
  return rc;
}
