/* turns.c - an assignment of all points, in which several devices work at the same time: their parts come in turns, and those of a device
** that only begins a part are waited for when all have begun. The order decides no bit. */
#include "cluster/kmeans_fit.h"

/* The parts of one device, in order. */
typedef struct turn {
  const gb_kmeans_part *first;
  size_t next; /* number of the part that comes next; nparts: none does */
} turn;

static bool is_of (const gb_kmeans_part *p, const turn *t) { return p->device == t->first->device; }

static bool begins (const gb_kmeans_part *p) { return gb_kmeans_ops(p)->begin != NULL; }

static size_t list_turns (const gb_kmeans_run *r, turn *t) {
  size_t n = 0;
  for (size_t i = 0; i < r->nparts; i++) {
    size_t j = 0;
    while (j < n && !is_of(&r->part[i], &t[j])) j++;
    if (j == n) t[n++] = (turn){&r->part[i], i};
  }
  return n;
}

static gb_status assign_part (gb_kmeans_run *r, const gb_kmeans_part *p, const gb_centres *c, size_t *moved,
                              gb_error *err) {
  return GB_KMEANS_PASS(p, gb_kmeans_ops(p)->assign(p->device, &x, c, r->q, p->label, p->sums,
                                                    begins(p) ? NULL : moved, p->scratch, err));
}

/* The part whose turn it is; those that only begin come before one that the host works on. */
static gb_status take_turn (gb_kmeans_run *r, turn *t, const gb_centres *c, size_t *moved, gb_error *err) {
  const size_t i = t->next;
  if (i == r->nparts) return GB_OK;
  do t->next++;
  while (t->next < r->nparts && !is_of(&r->part[t->next], t));
  return assign_part(r, &r->part[i], c, moved, err);
}

static bool is_left (const gb_kmeans_run *r, size_t n, const turn *t) {
  for (size_t j = 0; j < n; j++)
    if (t[j].next < r->nparts) return true;
  return false;
}

gb_status gb_kmeans_assign_all (gb_kmeans_run *r, size_t *moved, gb_error *err) {
  const gb_centres c = gb_kmeans_centres(r, r->centre, r->k);
  turn t[GB_DEVICES];
  *moved = 0;
  if (r->o->bounded) /* r->next: the centres of the assignment before, unless this is the first one */
    return gb_kmeans_assign_bounded(r, r->out->iterations == 0 ? r->centre : r->next, moved, err);
  const size_t n = list_turns(r, t);
  for (size_t j = 0; j < n; j++) {
    const gb_kmeans_part *p = t[j].first;
    if (begins(p))
      GB_TRY(
          gb_device_checked(p->device, gb_kmeans_ops(p)->begin(p->device, p->x, &c, p->scratch, err), err));
  }
  while (is_left(r, n, t))
    for (int near = 0; near < 2; near++)
      for (size_t j = 0; j < n; j++)
        if (begins(t[j].first) == !near) GB_TRY(take_turn(r, &t[j], &c, moved, err));
  for (size_t j = 0; j < n; j++) {
    const gb_kmeans_part *p = t[j].first;
    if (begins(p))
      GB_TRY(gb_device_checked(p->device, gb_kmeans_ops(p)->end(p->device, p->scratch, moved, err), err));
  }
  return GB_OK;
}
