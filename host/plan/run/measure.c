/* measure.c - measurements: work that is repeated is done again. While one is on, expressions that are
** older than it are as they were when it began: one that is built again is a new node, and a value that is
** computed for an old one goes when the measurement ends. What it built and computed is its own: an
** expression that is built afterwards does not find those values, though a reference that is not collected
** yet may keep them. */
#include <stdlib.h>

#include "base/grow.h"
#include "plan/structure/cache.h"

typedef struct gb_noted {
  gb_node *node;     /* counted */
  int output, depth; /* as it was without a value */
} gb_noted;

struct gb_measure {
  int depth;     /* measurements within measurements: the outermost ends them */
  uint64_t from; /* serial of the first node that it may have built */
  gb_noted *at;
  size_t n, room;
};

gb_status gb_measure_begin (gb_graph *g, gb_error *err) {
  gb_plan_context *c = gb_context(g, err);
  if (c == NULL) return GB_ENOMEM;
  if (c->measure == NULL) c->measure = calloc(1, sizeof *c->measure);
  if (c->measure == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a measurement");
  if (c->measure->depth++ == 0) {
    c->measured = (gb_run_stats){0};
    c->measure->from = g->next_serial;
  }
  g->measured_from = g->next_serial;
  return GB_OK;
}

/* Called before output 'output' of n, which has no value, takes one. Without memory the value stays. */
void gb_measure_note (gb_graph *g, gb_node *n, int output) {
  gb_measure *m = g->plans->measure;
  if (n->serial >= g->measured_from || !gb_grow(&m->at, m->n, &m->room, sizeof *m->at)) return;
  m->at[m->n++] = (gb_noted){gb_node_ref(n), output, n->depth};
}

void gb_measure_end (gb_graph *g) {
  gb_measure *m = g->plans->measure;
  if (--m->depth > 0) return;
  g->measured_from = 0;
  gb_graph_end_measured(g, m->from);
  for (size_t i = m->n; i-- > 0;) {
    gb_node *n = m->at[i].node;
    if (n->ndropped == 0) {
      gb_cache_forget(g, n, m->at[i].output);
      gb_tensor_clear(&n->out[m->at[i].output].tensor);
      n->depth = m->at[i].depth;
    }
    gb_node_unref(n);
  }
  m->n = 0;
}

void gb_measure_count (gb_graph *g, const gb_run_stats *s, bool outermost) {
  gb_run_stats *all = &g->plans->measured;
  if (s->measured > all->measured) all->measured = s->measured;
  if (outermost) all->seconds += s->seconds;
  all->pairs += s->pairs;
  all->folds += s->folds;
  all->opaques += s->opaques;
  all->windows += s->windows;
  all->moved += s->moved;
}

void gb_measure_free (gb_measure *m) {
  if (m == NULL) return;
  for (size_t i = 0; i < m->n; i++) gb_node_unref(m->at[i].node);
  free(m->at);
  free(m);
}
