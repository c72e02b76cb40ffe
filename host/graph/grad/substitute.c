/* substitute.c - an expression rebuilt over other leaves. */
#include <stdlib.h>

#include "graph/grad/grad.h"
#include "graph/grad/sorted.h"

/* Rebuilds n over replaced inputs. A held value stays held. */
static gb_status build_again (gb_node *n, gb_node *const *in, bool same, gb_node **out, gb_error *err) {
  if (same && (n->flags & GB_NODE_HELD) != 0) return gb_node_hold_again(n, in, out, err);
  GB_TRY(gb_node_build(n->graph, n->op, n->nin, in, &n->attr, gb_node_shape(n), gb_node_dtype(n), out, err));
  if (same) gb_node_take_values(*out, n);
  return GB_OK;
}

/* Rebuilds the node over the rebuilt inputs; 'now' by position, NULL for unchanged nodes. same: the values
** are equal. */
static gb_status rebuild (const gb_sorted *s, gb_node *const *now, gb_node *n, bool same, gb_node **out,
                          gb_error *err) {
  bool changed = false;
  for (int i = 0; i < n->nin; i++) changed |= now[gb_sorted_find(s, n->in[i])] != NULL;
  if (!changed) return GB_OK;
  gb_node *few[8], **in = n->nin <= 8 ? few : malloc((size_t)n->nin * sizeof *in);
  if (!in) return gb_fail(err, GB_ENOMEM, "no memory to rebuild %s", gb_ops[n->op].name);
  for (int i = 0; i < n->nin; i++) {
    gb_node *to = now[gb_sorted_find(s, n->in[i])];
    in[i] = to ? to : n->in[i];
  }
  const char *here = n->graph->where;
  n->graph->where = n->where;
  const gb_status st = build_again(n, in, same, out, err);
  n->graph->where = here;
  if (in != few) free(in);
  if (st == GB_OK && *n->name) gb_node_set_name(*out, n->name);
  return st;
}

static gb_status check (size_t n, gb_node *const *from, gb_node *const *to, gb_error *err) {
  char a[GB_NODE_TEXT], b[GB_NODE_TEXT];
  for (size_t i = 0; i < n; i++) {
    if (!gb_shape_equal(gb_node_shape(from[i]), gb_node_shape(to[i])))
      return gb_fail(err, GB_ESHAPE, "substitute: shapes differ: %s, %s", gb_node_text(from[i], a),
                     gb_node_text(to[i], b));
    if (gb_node_dtype(from[i]) != gb_node_dtype(to[i]))
      return gb_fail(err, GB_EDTYPE, "substitute: expected %s, got %s", gb_dtype_name(gb_node_dtype(from[i])),
                     gb_dtype_name(gb_node_dtype(to[i])));
  }
  return GB_OK;
}

gb_status gb_substitute (gb_node *y, size_t n, gb_node *const *from, gb_node *const *to, gb_node **out,
                         gb_error *err) {
  gb_sorted s;
  GB_TRY(check(n, from, to, err));
  GB_TRY(gb_sorted_below(y->graph, 1, &y, &s, err));
  gb_node **now = calloc(s.count, sizeof *now);
  gb_status st = now ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to rebuild %zu nodes", s.count);
  for (size_t i = 0; st == GB_OK && i < n; i++) {
    const size_t at = gb_sorted_find(&s, from[i]);
    if (at < s.count && !now[at]) now[at] = gb_node_ref(to[i]);
  }
  for (size_t p = 0; st == GB_OK && p < s.count; p++)
    if (!now[p]) st = rebuild(&s, now, s.node[p], false, &now[p], err);
  if (st == GB_OK) *out = gb_node_ref(now[s.count - 1] ? now[s.count - 1] : y);
  for (size_t p = 0; now && p < s.count; p++) gb_node_unref(now[p]);
  free(now);
  gb_sorted_clear(&s);
  return st;
}

static gb_node *kept (const gb_node *n) { return (n->flags & GB_NODE_PROMISE) != 0 ? gb_node_kept(n) : NULL; }

/* One round: the expression of a promise may contain other promises. */
static gb_status redeem_once (gb_node *y, gb_node **out, bool *changed, gb_error *err) {
  gb_sorted s;
  GB_TRY(gb_sorted_below(y->graph, 1, &y, &s, err));
  gb_node **now = calloc(s.count, sizeof *now);
  gb_status st = now ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to rebuild %zu nodes", s.count);
  for (size_t p = 0; st == GB_OK && p < s.count; p++) {
    if (kept(s.node[p]) != NULL) now[p] = gb_node_ref(kept(s.node[p]));
    else st = rebuild(&s, now, s.node[p], true, &now[p], err);
  }
  if (st == GB_OK) *changed = now[s.count - 1] != NULL;
  if (st == GB_OK) *out = gb_node_ref(*changed ? now[s.count - 1] : y);
  for (size_t p = 0; now && p < s.count; p++) gb_node_unref(now[p]);
  free(now);
  gb_sorted_clear(&s);
  return st;
}

gb_status gb_redeem (gb_node *y, gb_node **out, gb_error *err) {
  bool changed = y->graph->npromises > 0;
  gb_node *at = gb_node_ref(y), *next = NULL;
  while (changed) {
    const gb_status st = redeem_once(at, &next, &changed, err);
    gb_node_unref(at);
    GB_TRY(st);
    at = next;
  }
  *out = at;
  return GB_OK;
}
