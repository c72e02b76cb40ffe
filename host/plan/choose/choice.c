/* choice.c - what a choice starts from: what is asked for, the values that exist, and the budget. */
#include <stdlib.h>

#include "plan/choose/plan_internal.h"
#include "plan/structure/cache.h"

gb_status gb_choice_init (gb_choice *c, const gb_plan *p, gb_error *err) {
  const size_t nb = (size_t)p->prog->low->nbufs + 1;
  *c = (gb_choice){.plan = p, .want = calloc(3 * nb, sizeof *c->want)};
  if (c->want == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan");
  c->have = c->want + nb;
  c->keep = c->have + nb;
  return GB_OK;
}

void gb_choice_clear (gb_choice *c) {
  gb_placement_unref(c->place);
  gb_partition_unref(c->partition);
  free(c->want);
  *c = (gb_choice){0};
}

/* A cache that is asked for must not give way to the rest. */
void gb_choice_look_up (gb_choice *c) {
  const gb_plan *p = c->plan;
  for (int b = 0; b < p->prog->low->nbufs; b++) {
    c->want[b] = false;
    c->have[b] = gb_plan_has_value(p, b);
    c->keep[b] = true;
  }
  for (size_t i = 0; i < p->request.nouts; i++)
    if (!gb_node_has_value(p->request.out[i]) || gb_cache_holds(&p->request.out[i]->out[0]))
      c->want[p->prog->low->out[i]] = true;
}

bool gb_choice_may_drop (const gb_choice *c, int b) {
  return c->plan->prog->low->buf[b].cls != GB_BUF_LEAF && c->have[b] &&
         gb_cache_holds(gb_plan_value(c->plan, b));
}

/* Values that steps read, or that were asked for as they are. */
size_t gb_choice_held (const gb_choice *c, const gb_placement *place) {
  const gb_lowered *low = c->plan->prog->low;
  size_t held = 0;
  for (int b = 0; b < low->nbufs; b++)
    if ((place->read[b] == GB_HOME_VALUE || (c->want[b] && place->write[b] != GB_HOME_OUTPUT)) &&
        gb_choice_may_drop(c, b))
      held = gb_add_sizes(held, low->buf[b].bytes);
  return held;
}

size_t gb_choice_pinned (const gb_choice *c) {
  const gb_ledger *l = &gb_plan_home(c->plan)->ledger;
  return l->used - l->by_purpose[GB_MEM_CACHE] - c->arena;
}

size_t gb_choice_budget (const gb_choice *c) {
  const gb_request *q = &c->plan->request;
  return q->options.budget != 0 ? q->options.budget : gb_plan_room(q->graph, gb_choice_pinned(c));
}
