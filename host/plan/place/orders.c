/* orders.c - search over topological orders.
**
** Live bytes of a set of finished steps: arena buffers made by them and needed by others. A step needs its
** results and scratch on top; a result that may take an operand's place counts nothing. So live bytes
** bound the arena of any order from below: they prune, and placements decide. Where an axis is cut, steps
** before a loop come first and steps after it last, whatever the order: no other orders are looked at. A
** step that runs in several loops stands where it runs first, and what it makes lives from there to its last
** reader. */
#include "plan/place/orders.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

typedef struct orders {
  const gb_lowered *low;
  gb_demand d;
  const gb_form_of_run *form;
  const gb_placement *from; /* sizes and homes */
  gb_placement *best;       /* counted */
  int n;                    /* running steps */
  int *step;                /* [n] their numbers */
  int *order;               /* [steps] of the placement being tried: the running ones first */
  int *maker;               /* [bufs] running step that makes it, by position in 'step'; -1 */
  size_t *bytes;            /* [bufs] that it takes of the arena, in any order */
  int *unread;              /* [bufs] running readers still to come */
  bool *done;               /* [n] */
  int left[GB_PHASES];      /* steps not done, by the phase in which they run first */
  size_t floor;             /* bytes outside the arena */
  int tries;
  gb_error *err;
} orders;

static size_t bytes_of (const orders *o, int b) { return o->bytes[b]; }

static const gb_step *step_at (const orders *o, int k) { return &o->low->step[o->step[k]]; }

static int part_of (const orders *o, int k) { return gb_first_phase(o->from, o->step[k]); }

static bool is_ready (const orders *o, int k) {
  const gb_step *st = step_at(o, k);
  for (int part = 0; part < part_of(o, k); part++)
    if (o->left[part] > 0) return false;
  for (int i = 0; i < st->nin; i++) {
    const int m = o->maker[st->in[i]];
    if (m >= 0 && !o->done[m]) return false;
  }
  return true;
}

/* What step k adds to the live bytes while it runs; results in an operand's place add nothing. */
static size_t demand_of (const orders *o, int k) {
  const gb_step *st = step_at(o, k);
  size_t bytes = gb_round_size(o->from->scratch[o->from->place[o->step[k]]].bytes);
  for (int i = 0; i < st->nout && gb_overwritten(st) < 0; i++)
    bytes = gb_add_sizes(bytes, bytes_of(o, st->out[i]));
  return bytes;
}

/* Runs k: live bytes afterwards. A buffer given to another by sharing lives on as that one. */
static size_t finish (orders *o, int k, size_t live) {
  const gb_step *st = step_at(o, k);
  o->done[k] = true;
  o->left[part_of(o, k)]--;
  for (int i = 0; i < st->nout; i++) live = gb_add_sizes(live, bytes_of(o, st->out[i]));
  for (int i = 0; i < st->nin; i++)
    if (--o->unread[st->in[i]] == 0) live -= bytes_of(o, st->in[i]);
  for (int i = 0; i < st->nout; i++)
    if (o->unread[st->out[i]] == 0) live -= bytes_of(o, st->out[i]);
  return live;
}

static void undo (orders *o, int k) {
  const gb_step *st = step_at(o, k);
  o->done[k] = false;
  o->left[part_of(o, k)]++;
  for (int i = 0; i < st->nin; i++) o->unread[st->in[i]]++;
}

/* The running steps in the first n places of o->order, as positions; the others do not matter. */
static gb_status try_order (orders *o) {
  gb_form_of_run form = *o->form;
  gb_placement *p;
  int place = o->n;
  for (int s = 0; s < o->low->nsteps; s++)
    if (!o->from->runs[s]) o->order[place++] = s;
  o->tries++;
  form.order = o->order;
  GB_TRY(gb_place(o->low, o->d, &form, &p, o->err));
  if (p->peak < o->best->peak) {
    gb_placement_unref(o->best);
    o->best = p;
  } else gb_placement_unref(p);
  return GB_OK;
}

/* every order, least demanding steps first */

static gb_status try_all (orders *o, int depth, size_t live) {
  if (depth == o->n) return try_order(o);
  for (int k = 0; k < o->n && o->tries < GB_ORDER_TRIES; k++) {
    if (o->done[k] || !is_ready(o, k)) continue;
    if (gb_add_sizes(gb_add_sizes(live, demand_of(o, k)), o->floor) >= o->best->peak) continue;
    o->order[depth] = o->step[k];
    const size_t after = finish(o, k, live);
    const gb_status rc = try_all(o, depth + 1, after);
    undo(o, k);
    if (rc != GB_OK) return rc;
  }
  return GB_OK;
}

/* the order of least live bytes */

static size_t live_in (const orders *o, unsigned set) {
  size_t live = 0;
  for (int b = 0; b < o->low->nbufs; b++) {
    if (o->bytes[b] == 0 || !(set >> o->maker[b] & 1)) continue;
    bool wanted = false;
    for (int k = 0; k < o->n && !wanted; k++)
      for (int i = 0; !(set >> k & 1) && i < step_at(o, k)->nin; i++) wanted |= step_at(o, k)->in[i] == b;
    if (wanted) live = gb_add_sizes(live, bytes_of(o, b));
  }
  return live;
}

/* Steps of the parts of the run before that of step k. */
static unsigned earlier_than (const orders *o, int k) {
  unsigned set = 0;
  for (int j = 0; j < o->n; j++)
    if (part_of(o, j) < part_of(o, k)) set |= 1u << j;
  return set;
}

static bool ready_in (const orders *o, unsigned set, int k) {
  const gb_step *st = step_at(o, k);
  if (earlier_than(o, k) & ~set) return false;
  for (int i = 0; i < st->nin; i++) {
    const int m = o->maker[st->in[i]];
    if (m >= 0 && !(set >> m & 1)) return false;
  }
  return true;
}

/* peak[set]: least over orders of the set of the most bytes live; last[set]: the step that ends such an
** order. */
static void fill_sets (const orders *o, size_t *peak, unsigned char *last) {
  const unsigned all = (1u << o->n) - 1;
  memset(peak, 0xff, ((size_t)all + 1) * sizeof *peak);
  peak[0] = 0;
  for (unsigned set = 0; set < all; set++) {
    if (peak[set] == SIZE_MAX) continue;
    const size_t live = live_in(o, set);
    for (int k = 0; k < o->n; k++) {
      if ((set >> k & 1) || !ready_in(o, set, k)) continue;
      const size_t here = gb_add_sizes(live, demand_of(o, k));
      const size_t most = here > peak[set] ? here : peak[set];
      if (most >= peak[set | 1u << k]) continue;
      peak[set | 1u << k] = most;
      last[set | 1u << k] = (unsigned char)k;
    }
  }
}

/* *bound: no order has a smaller peak. */
static gb_status try_sets (orders *o, size_t *bound) {
  const size_t sets = (size_t)1 << o->n;
  size_t *peak = malloc(sets * sizeof *peak);
  unsigned char *last = calloc(sets, 1);
  gb_status rc = GB_OK;
  if (peak == NULL || last == NULL) rc = gb_fail(o->err, GB_ENOMEM, "no memory to order %d steps", o->n);
  else {
    fill_sets(o, peak, last);
    unsigned set = (unsigned)sets - 1;
    *bound = gb_add_sizes(peak[set], o->floor);
    if (*bound < o->best->peak) {
      for (int t = o->n - 1; t >= 0; t--) {
        o->order[t] = o->step[last[set]];
        set &= ~(1u << last[set]);
      }
      rc = try_order(o);
    }
  }
  free(peak);
  free(last);
  return rc;
}

/* Many steps: the ready one that leaves least, the first of several. What a step leaves changes when it
** becomes the last reader of an operand, so that each step is looked at when it becomes ready and once for
** each operand. */

/* left: live bytes after the step, from SIZE_MAX / 2 before it */
typedef struct entry {
  int part;
  size_t left;
  int step;
} entry;

typedef struct greedy {
  entry *heap; /* a step may be in it several times; what it leaves only becomes less, so the first is true */
  size_t n, room;
  int *waits;          /* [n] operands that are not made yet */
  int *readers, *from; /* those of buffer b: readers[from[b]] .. readers[from[b + 1] - 1], each once */
  int *distinct;       /* [bufs] readers that are not done */
} greedy;

static bool is_before (const entry *a, const entry *b) {
  if (a->part != b->part) return a->part < b->part;
  return a->left != b->left ? a->left < b->left : a->step < b->step;
}

static bool push (greedy *q, entry e) {
  if (!gb_grow(&q->heap, q->n, &q->room, sizeof *q->heap)) return false;
  size_t i = q->n++;
  for (; i > 0 && is_before(&e, &q->heap[(i - 1) / 2]); i = (i - 1) / 2) q->heap[i] = q->heap[(i - 1) / 2];
  q->heap[i] = e;
  return true;
}

static entry pop (greedy *q) {
  const entry top = q->heap[0], e = q->heap[--q->n];
  size_t i = 0;
  for (size_t k; (k = 2 * i + 1) < q->n; i = k) {
    k += k + 1 < q->n && is_before(&q->heap[k + 1], &q->heap[k]);
    if (!is_before(&q->heap[k], &e)) break;
    q->heap[i] = q->heap[k];
  }
  if (q->n > 0) q->heap[i] = e;
  return top;
}

static bool candidate (orders *o, greedy *q, int k) {
  const size_t left = finish(o, k, SIZE_MAX / 2);
  undo(o, k);
  return push(q, (entry){part_of(o, k), left, k});
}

static bool seen_before (const gb_step *st, int i) {
  for (int j = 0; j < i; j++)
    if (st->in[j] == st->in[i]) return true;
  return false;
}

static bool prepare_greedy (const orders *o, greedy *q) {
  const size_t nb = (size_t)o->low->nbufs + 2;
  size_t most = 1;
  for (int k = 0; k < o->n; k++) most += (size_t)step_at(o, k)->nin;
  q->waits = calloc((size_t)o->n + 1, sizeof *q->waits);
  q->from = calloc(nb, sizeof *q->from);
  q->distinct = calloc(nb, sizeof *q->distinct);
  q->readers = malloc(most * sizeof *q->readers);
  if (q->waits == NULL || q->from == NULL || q->distinct == NULL || q->readers == NULL) return false;
  for (int k = 0; k < o->n; k++) {
    const gb_step *st = step_at(o, k);
    for (int i = 0; i < st->nin; i++) {
      if (o->maker[st->in[i]] < 0 || seen_before(st, i)) continue;
      q->waits[k]++;
      q->distinct[st->in[i]]++;
    }
  }
  for (int b = 0, at = 0; b <= o->low->nbufs; b++) {
    q->from[b] = at;
    if (b < o->low->nbufs) at += q->distinct[b];
  }
  int *next = malloc(nb * sizeof *next);
  if (next == NULL) return false;
  memcpy(next, q->from, nb * sizeof *next);
  for (int k = 0; k < o->n; k++) {
    const gb_step *st = step_at(o, k);
    for (int i = 0; i < st->nin; i++)
      if (o->maker[st->in[i]] >= 0 && !seen_before(st, i)) q->readers[next[st->in[i]]++] = k;
  }
  free(next);
  return true;
}

/* Offers what step k, which is done, made ready, and the last readers of what it read. */
static bool follow (orders *o, greedy *q, int k) {
  const gb_step *st = step_at(o, k);
  bool ok = true;
  for (int i = 0; i < st->nin; i++) {
    const int b = st->in[i];
    if (o->maker[b] < 0 || seen_before(st, i) || --q->distinct[b] != 1) continue;
    for (int r = q->from[b]; ok && r < q->from[b + 1]; r++)
      if (!o->done[q->readers[r]] && q->waits[q->readers[r]] == 0) ok = candidate(o, q, q->readers[r]);
  }
  for (int i = 0; i < st->nout; i++)
    for (int r = q->from[st->out[i]]; ok && r < q->from[st->out[i] + 1]; r++)
      if (--q->waits[q->readers[r]] == 0) ok = candidate(o, q, q->readers[r]);
  return ok;
}

static gb_status try_greedy (orders *o) {
  greedy q = {0};
  bool ok = prepare_greedy(o, &q);
  for (int k = 0; ok && k < o->n; k++)
    if (q.waits[k] == 0) ok = candidate(o, &q, k);
  for (int t = 0; ok && t < o->n;) {
    const int pick = pop(&q).step;
    if (o->done[pick]) continue;
    o->order[t++] = o->step[pick];
    finish(o, pick, SIZE_MAX / 2);
    ok = follow(o, &q, pick);
  }
  free(q.heap);
  free(q.waits);
  free(q.from);
  free(q.distinct);
  free(q.readers);
  return ok ? try_order(o) : gb_fail(o->err, GB_ENOMEM, "no memory to order %d steps", o->n);
}

/* What is built where a result outside the arena will be takes nothing of it, whether or not it does in
** this order. */
static void find_bytes (orders *o) {
  for (int b = 0; b < o->low->nbufs; b++)
    if (o->maker[b] >= 0 && gb_placement_home(o->from, b) == GB_HOME_ARENA)
      o->bytes[b] = gb_round_size(o->from->life[b].bytes);
  for (int k = o->n - 1; k >= 0; k--) {
    const gb_step *st = step_at(o, k);
    const int operand = gb_overwritten(st);
    if (operand >= 0 && o->bytes[st->out[0]] == 0) o->bytes[st->in[operand]] = 0;
  }
}

static bool prepare (orders *o) {
  const size_t ns = (size_t)o->low->nsteps + 1, nb = (size_t)o->low->nbufs + 1;
  o->step = calloc(ns, sizeof *o->step);
  o->order = calloc(ns, sizeof *o->order);
  o->maker = malloc(nb * sizeof *o->maker);
  o->unread = calloc(nb, sizeof *o->unread);
  o->bytes = calloc(nb, sizeof *o->bytes);
  o->done = calloc(ns, sizeof *o->done);
  if (o->step == NULL || o->order == NULL || o->maker == NULL || o->unread == NULL || o->bytes == NULL ||
      o->done == NULL)
    return false;
  for (int b = 0; b < o->low->nbufs; b++) o->maker[b] = -1;
  for (int s = 0; s < o->low->nsteps; s++) {
    if (!o->from->runs[s]) continue;
    const gb_step *st = &o->low->step[s];
    for (int i = 0; i < st->nout; i++) o->maker[st->out[i]] = o->n;
    for (int i = 0; i < st->nin; i++) o->unread[st->in[i]]++;
    o->step[o->n] = s;
    o->left[part_of(o, o->n++)]++;
  }
  o->floor = gb_add_sizes(o->from->outputs, o->from->caches);
  find_bytes(o);
  return true;
}

gb_status gb_place_in_order (const gb_lowered *low, gb_demand d, const gb_form_of_run *form,
                             gb_placement *from, gb_placement **out, gb_error *err) {
  orders o = {.low = low, .d = d, .form = form, .from = from, .best = from, .err = err};
  from->refs++;
  gb_status rc = prepare(&o) ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory to order %d steps", low->nsteps);
  if (rc == GB_OK && o.n > 1 && from->peak != SIZE_MAX && low->ndevices == 1) {
    size_t bound = 0;
    rc = o.n <= GB_ORDER_DYNAMIC ? try_sets(&o, &bound) : try_greedy(&o);
    if (rc == GB_OK && o.n <= GB_ORDER_EXACT && bound < o.best->peak) rc = try_all(&o, 0, 0);
  }
  free(o.step);
  free(o.order);
  free(o.maker);
  free(o.unread);
  free(o.bytes);
  free(o.done);
  if (rc == GB_OK) *out = o.best;
  else gb_placement_unref(o.best);
  return rc;
}
