/* eval.c - observing: plan, run, memoise; long histories in pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "graph/grad/grad.h"
#include "plan/run/run.h"
#include "plan/structure/cache.h"

enum {
  DEEPEST = 1000, /* longer chains are evaluated in pieces of this many nodes */
  MANY = 1000     /* nodes of an expression that lowering sees through values */
};

static gb_status check_leaves (const gb_plan *p, gb_error *err) {
  for (size_t i = 0; i < p->request.nnodes; i++) {
    const gb_node *n = p->request.node[i];
    if (n->op == GB_OP_LEAF && !gb_node_has_value(n)) return gb_plan_unbound(n, err);
  }
  return GB_OK;
}

static void add_stats (gb_run_stats *all, const gb_run_stats *s) {
  if (s->measured > all->measured) all->measured = s->measured;
  all->seconds += s->seconds;
  all->pairs += s->pairs;
  all->folds += s->folds;
  all->opaques += s->opaques;
  all->windows += s->windows;
}

/* Evaluates nodes at most DEEPEST deep. 'known': their order, where the last walk of the graph found it. */
static gb_status evaluate (gb_graph *g, size_t n, gb_node *const *nodes, gb_order *known, gb_error *err) {
  gb_plan *p;
  GB_TRY(gb_plan_open_ordered(g, known, n, nodes, &p, err));
  gb_status rc = check_leaves(p, err);
  if (rc == GB_OK) rc = gb_plan_run(p, err);
  if (rc == GB_OK && g->plans->calls == 0) add_stats(&g->plans->last_eval, &p->runs.stats);
  gb_plan_free(p);
  return rc;
}

/* Nodes that play leaves for the time of an evaluation: they have values, and their inputs are hidden. */
typedef struct hidden {
  struct {
    gb_node *node;
    int inputs;
  } * at; /* node: counted */
  size_t n, room;
} hidden;

static gb_status hide (hidden *h, gb_node *n, gb_error *err) {
  if (!gb_grow(&h->at, h->n, &h->room, sizeof *h->at))
    return gb_fail(err, GB_ENOMEM, "no memory to evaluate an expression");
  h->at[h->n].node = gb_node_ref(n);
  h->at[h->n++].inputs = n->nin;
  n->nin = 0;
  return GB_OK;
}

static void restore (hidden *h) {
  for (size_t i = 0; i < h->n; i++) {
    h->at[i].node->nin = h->at[i].inputs;
    gb_node_unref(h->at[i].node);
  }
  free(h->at);
}

static int by_serial (const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The serial of the MANY-th newest node. */
static gb_status find_threshold (gb_node *const *order, size_t count, uint64_t *threshold, gb_error *err) {
  uint64_t *serial = malloc(count * sizeof *serial);
  if (serial == NULL) return gb_fail(err, GB_ENOMEM, "no memory to evaluate %zu nodes", count);
  for (size_t i = 0; i < count; i++) serial[i] = order[i]->serial;
  qsort(serial, count, sizeof *serial, by_serial);
  *threshold = serial[count - MANY];
  free(serial);
  return GB_OK;
}

static gb_status end_at_values (gb_node *const *order, size_t count, uint64_t threshold, hidden *h,
                                gb_error *err) {
  gb_status rc = GB_OK;
  for (size_t i = 0; i < count; i++) gb_node_ref(order[i]);
  for (size_t i = 0; i < count && rc == GB_OK; i++) {
    gb_node *n = order[i];
    if (n->serial >= threshold || !gb_node_has_value(n)) continue;
    gb_node_drop_inputs(n);
    if (n->nin > 0) rc = hide(h, n, err);
  }
  for (size_t i = 0; i < count; i++) gb_node_unref(order[i]);
  return rc;
}

static void forget_order (gb_order *o) {
  free(o->node);
  *o = (gb_order){0};
}

/* Lowering looks through values, so that what was observed changes no result. A long history is not worth
** that: past the newest MANY nodes it ends at what has a value, for good where no gradient can ask for it.
** A loop that looks at its state in every step then has the same structure in every step. '*known': the order
** of the walk, where nothing ended. */
static gb_status end_long_history (gb_graph *g, size_t n, gb_node *const *nodes, hidden *h, gb_order *known,
                                   gb_error *err) {
  uint64_t threshold = 0;
  if (g->nnodes <= MANY) return GB_OK;
  GB_TRY(gb_graph_order(g, n, nodes, GB_WALK_READ, &known->node, &known->count, err));
  if (known->count <= MANY) return GB_OK;
  gb_status rc = find_threshold(known->node, known->count, &threshold, err);
  if (rc == GB_OK) rc = end_at_values(known->node, known->count, threshold, h, err);
  forget_order(known);
  return rc;
}

/* deep chains: a node DEEPEST above what is stored is stored too, in rounds, so that each round is shallow */

typedef struct piece {
  gb_node *node;
  int round;
} piece;

typedef struct pieces {
  piece *at;
  size_t n, room;
} pieces;

static int by_round (const void *a, const void *b) {
  const piece *x = a, *y = b;
  if (x->round != y->round) return x->round < y->round ? -1 : 1;
  return (x->node->serial > y->node->serial) - (x->node->serial < y->node->serial);
}

static bool add_piece (pieces *p, gb_node *n, int round) {
  if (!gb_grow(&p->at, p->n, &p->room, sizeof *p->at)) return false;
  p->at[p->n++] = (piece){.node = n, .round = round};
  return true;
}

/* depth, round: [count], zero. A node with several results is no piece: the node that picks one is. */
static bool mark_pieces (gb_node **order, size_t count, int *depth, int *round, pieces *out) {
  for (size_t i = 0; i < count; i++) {
    gb_node *x = order[i];
    if (gb_node_has_value(x)) continue;
    for (int k = 0; k < gb_node_reads(x); k++) {
      const size_t at = x->in[k]->index;
      if (depth[at] + 1 > depth[i]) depth[i] = depth[at] + 1;
      if (round[at] > round[i]) round[i] = round[at];
    }
    if (depth[i] < DEEPEST || x->nout > 1) continue;
    if (!add_piece(out, x, round[i]++)) return false;
    depth[i] = 0;
  }
  return true;
}

static gb_status find_pieces (gb_graph *g, size_t n, gb_node *const *nodes, pieces *out, gb_error *err) {
  gb_node **order;
  size_t count;
  GB_TRY(gb_graph_order(g, n, nodes, GB_WALK_UNKNOWN, &order, &count, err));
  int *depth = calloc(2 * count + 1, sizeof *depth);
  const bool ok = depth != NULL && mark_pieces(order, count, depth, depth + count, out);
  free(depth);
  free(order);
  if (!ok) return gb_fail(err, GB_ENOMEM, "no memory to evaluate %zu nodes", count);
  if (out->n > 0) qsort(out->at, out->n, sizeof *out->at, by_round);
  return GB_OK;
}

/* The values of a round end its nodes' history: for good, or, where a gradient may ask for it, until the
** evaluation is over. Those are caches, since nobody asked for them. */
static gb_status end_history (gb_graph *g, gb_node *n, hidden *h, gb_error *err) {
  gb_node_drop_inputs(n);
  if (n->nin == 0) return GB_OK;
  gb_ledger_retag(&g->device->ledger, &n->out[0].tensor.storage->block, GB_MEM_CACHE);
  gb_cache_add(g, n, 0);
  return gb_node_has_value(n) ? hide(h, n, err)
                              : gb_fail(err, GB_ENOMEM, "no memory to evaluate an expression");
}

static gb_status evaluate_round (gb_graph *g, const piece *p, size_t n, hidden *h, gb_error *err) {
  gb_node **nodes = calloc(n, sizeof *nodes);
  if (nodes == NULL) return gb_fail(err, GB_ENOMEM, "no memory to evaluate %zu nodes", n);
  for (size_t i = 0; i < n; i++) nodes[i] = p[i].node;
  gb_status rc = evaluate(g, n, nodes, &(gb_order){0}, err);
  for (size_t i = 0; rc == GB_OK && i < n; i++) rc = end_history(g, nodes[i], h, err);
  free(nodes);
  return rc;
}

static gb_status evaluate_pieces (gb_graph *g, size_t n, gb_node *const *nodes, hidden *h, gb_error *err) {
  pieces all = {0};
  gb_status rc = find_pieces(g, n, nodes, &all, err);
  for (size_t i = 0, end; rc == GB_OK && i < all.n; i = end) {
    for (end = i + 1; end < all.n && all.at[end].round == all.at[i].round;) end++;
    rc = evaluate_round(g, &all.at[i], end - i, h, err);
  }
  free(all.at);
  return rc;
}

static gb_status evaluate_any (gb_graph *g, size_t n, gb_node *const *nodes, gb_error *err) {
  hidden h = {0};
  bool deep = false;
  for (size_t i = 0; i < n; i++) deep |= nodes[i]->depth > DEEPEST;
  gb_order known = {0};
  gb_status rc = end_long_history(g, n, nodes, &h, &known, err);
  if (deep) forget_order(&known);
  if (rc == GB_OK && deep) rc = evaluate_pieces(g, n, nodes, &h, err);
  if (rc == GB_OK) rc = evaluate(g, n, nodes, &known, err);
  restore(&h);
  return rc;
}

/* Evaluates what stands for the nodes once kept promises are in it, and gives them its values. */
static gb_status evaluate_kept (gb_graph *g, size_t n, gb_node *const *nodes, gb_error *err) {
  gb_node **now = calloc(n + 1, sizeof *now);
  gb_status rc = now != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to evaluate %zu nodes", n);
  for (size_t i = 0; rc == GB_OK && i < n; i++) rc = gb_redeem(nodes[i], &now[i], err);
  if (rc == GB_OK) rc = evaluate_any(g, n, now, err);
  for (size_t i = 0; now != NULL && i < n; i++) {
    if (rc == GB_OK && now[i] != nodes[i]) gb_node_take_values(nodes[i], now[i]);
    gb_node_unref(now[i]);
  }
  free(now);
  return rc;
}

/* Nodes that have values are planned with the others: what is asked for together fixes the arithmetic, and
** it must not depend on what was observed before. */
gb_status gb_eval (gb_graph *g, size_t n, gb_node *const *nodes, gb_error *err) {
  bool any = false;
  gb_plan_context *c = gb_context(g, err);
  if (c == NULL) return GB_ENOMEM;
  if (c->calls == 0) c->last_eval = (gb_run_stats){0};
  for (size_t i = 0; i < n; i++) any |= !gb_node_has_value(nodes[i]);
  for (size_t i = 0; i < n && !any; i++)
    for (int k = 0; k < nodes[i]->nout; k++) gb_cache_pin(g, nodes[i], k);
  if (!any) return GB_OK;
  gb_cache_sweep(g);
  return g->npromises > 0 ? evaluate_kept(g, n, nodes, err) : evaluate_any(g, n, nodes, err);
}
