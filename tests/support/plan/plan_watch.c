/* plan_watch.c - the checks of one plan: bits, budgets, reports, refusals. */
#include "support/plan/plan_watch.h"

#include "support/device.h"

char trouble[2200];

/* 0 where the device is its own home: 'level' says it. */
static size_t home_used (void) {
  const gb_device *dev = fx.g->device, *home = test_device_home(fx.g->device);
  return home == dev ? 0 : home->ledger.used;
}

asked ask (size_t n, gb_node **out) {
  const gb_ledger *l = &fx.g->device->ledger;
  return (asked){n, out, l->used, l->blocks, home_used()};
}

/* values */

void bits_take (bits *b, const gb_tensor *t) {
  b->at[b->n] = elements_copied(t);
  b->bytes[b->n++] = gb_shape_bytes(&t->shape, t->dtype);
}

void bits_free (bits *b) {
  for (size_t i = 0; i < b->n; i++) free(b->at[i]);
  *b = (bits){0};
}

int bits_differ (const bits *a, const bits *b) {
  if (a->n != b->n || a->rc != b->rc) return 0;
  for (size_t i = 0; i < a->n; i++)
    if (a->bytes[i] != b->bytes[i] || memcmp(a->at[i], b->at[i], a->bytes[i]) != 0) return (int)i;
  return -1;
}

void forget_values (const asked *q) {
  gb_node **order;
  size_t n;
  gb_cache_drop(fx.g, SIZE_MAX);
  OK(gb_graph_order(fx.g, q->n, q->out, GB_WALK_ALL, &order, &n, &fx.err));
  for (size_t i = 0; i < n; i++)
    for (int o = 0; o < order[i]->nout; o++) {
      gb_tensor *t = &order[i]->out[o].tensor;
      if (order[i]->op != GB_OP_LEAF) gb_tensor_clear(t);
      else if (t->storage != NULL) gb_storage_drop_mirror(t->storage);
    }
  free(order);
}

/* the report */

static bool meet_in_time (const gb_plan_row *a, const gb_plan_row *b) {
  return a->first <= b->last && b->first <= a->last && a->turn[0] <= b->turn[1] && b->turn[0] <= a->turn[1];
}

static void check_pairs (const gb_plan_report *r) {
  for (int i = 0; i < r->nrows; i++)
    for (int k = 0; k < i; k++) {
      const gb_plan_row *a = &r->row[i], *b = &r->row[k];
      if (a->offset == SIZE_MAX || b->offset == SIZE_MAX || a->bytes == 0 || b->bytes == 0 ||
          !meet_in_time(a, b))
        continue;
      if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
        TROUBLE("%s [%zu +%zu) of steps %d..%d overlaps %s [%zu +%zu) of steps %d..%d", a->what, a->offset,
                a->bytes, a->first, a->last, b->what, b->offset, b->bytes, b->first, b->last);
    }
}

/* The most bytes of rows in the arena at one time, recomputed; 'end': the end of the highest row. */
static size_t most_alive (const gb_plan_report *r, size_t *end) {
  size_t most = 0;
  *end = 0;
  for (int i = 0; i < r->nrows; i++) {
    const gb_plan_row *a = &r->row[i];
    size_t alive = 0; /* the maximum is attained where some row begins */
    if (a->offset == SIZE_MAX) continue;
    if (a->bytes > 0 && a->offset + gb_round_size(a->bytes) > *end)
      *end = a->offset + gb_round_size(a->bytes);
    for (int k = 0; k < r->nrows; k++)
      if (r->row[k].offset != SIZE_MAX && r->row[k].first <= a->first && a->first <= r->row[k].last &&
          r->row[k].turn[0] <= a->turn[0] && a->turn[0] <= r->row[k].turn[1])
        alive += gb_round_size(r->row[k].bytes);
    if (alive > most) most = alive;
  }
  return most;
}

static void check_report (const gb_plan_report *r, size_t budget) {
  size_t own[4] = {0}, end;
  for (int i = 0; i < r->nrows; i++) {
    const gb_plan_row *a = &r->row[i];
    if (a->first < 0 || a->first > a->last) TROUBLE("%s lives in steps %d..%d", a->what, a->first, a->last);
    if (a->offset == SIZE_MAX) own[a->cls] += a->bytes;
    else if (a->offset % GB_ARENA_ALIGN != 0) TROUBLE("%s lies at %zu", a->what, a->offset);
  }
  check_pairs(r);
  const size_t alive = most_alive(r, &end), rest = r->outputs + r->caches;
  if (own[GB_BUF_OUTPUT] != r->outputs || own[GB_BUF_CACHE] != r->caches)
    TROUBLE("rows of outputs have %zu of %zu bytes, of caches %zu of %zu", own[GB_BUF_OUTPUT], r->outputs,
            own[GB_BUF_CACHE], r->caches);
  if (end != r->arena) TROUBLE("the arena has %zu bytes, its rows end at %zu", r->arena, end);
  if (alive + rest != r->lower_bound)
    TROUBLE("the lower bound is %zu, rows alive at once and storages have %zu", r->lower_bound, alive + rest);
  if (r->peak != r->arena + rest) TROUBLE("peak %zu is not %zu + %zu", r->peak, r->arena, rest);
  /* minimum counts the caches that the run reads, peak does not */
  const bool caches = fx.g->device->ledger.by_purpose[GB_MEM_CACHE] > 0;
  if (r->lower_bound > r->peak || (budget != 0 && r->peak > budget) || (r->minimum > r->peak && !caches))
    TROUBLE("bound %zu <= peak %zu <= budget %zu, minimum %zu", r->lower_bound, r->peak, budget, r->minimum);
}

/* a run */

enum { MEMOISED, HANDED_OUT }; /* values are stored in the nodes, or given to the caller */

bool opened (const asked *q, size_t budget, gb_plan **p, gb_plan_report *r) {
  if (gb_plan_new(fx.g, q->n, q->out, &(gb_plan_options){.budget = budget}, p, &fx.err) != GB_OK) {
    TROUBLE("no plan within %zu bytes: %.2000s", budget, fx.err.text);
    return false;
  }
  gb_plan_report_get(*p, r);
  check_report(r, budget);
  return true;
}

static void check_home (const char *what, size_t predicted) {
  const size_t rise = home_rise(fx.g->device);
  if (rise != predicted) TROUBLE("%s took %zu bytes at home, %zu are predicted", what, rise, predicted);
}

/* The values of nodes that a closed run copies to the caller's tensors: those with another layout pass through
** the home, one at a time. */
static size_t transit (const asked *q) {
  size_t most = 0;
  for (size_t i = 0; i < q->n; i++) {
    const gb_tensor *t = &q->out[i]->out[0].tensor;
    if (t->storage == NULL || gb_tensor_is_contiguous(t)) continue;
    const size_t bytes = t->storage->block.bytes + gb_shape_bytes(&t->shape, t->dtype);
    if (bytes > most) most = bytes;
  }
  return test_device_home(fx.g->device) == fx.g->device ? 0 : most;
}

/* Copies that the host looks at are charged to the home, one of each storage. */
static void take_all (const gb_tensor *const *t, const asked *q, bits *b) {
  size_t want = home_used();
  const bool has_home = test_device_home(fx.g->device) != fx.g->device;
  for (size_t i = 0; i < q->n; i++) {
    if (has_home && t[i]->storage->mirror == NULL) want += t[i]->storage->block.bytes;
    bits_take(b, t[i]);
    if (home_used() != want)
      TROUBLE("result %zu: %zu bytes at home, %zu are predicted", i, home_used(), want);
  }
}

static void run_and_take (gb_plan *p, const asked *q, int way, bits *b) {
  gb_tensor t[MOST_RESULTS] = {{0}};
  const gb_tensor *got[MOST_RESULTS];
  fx.err.text[0] = '\0';
  home_begin(fx.g->device);
  b->rc = way == MEMOISED ? gb_plan_run(p, &fx.err) : gb_plan_run_with(p, 0, NULL, NULL, t, &fx.err);
  check_home("a run", 0);
  for (size_t i = 0; i < q->n; i++) got[i] = way == MEMOISED ? &q->out[i]->out[0].tensor : &t[i];
  if (b->rc == GB_OK) take_all(got, q, b);
  for (size_t i = 0; i < q->n; i++) gb_tensor_clear(&t[i]);
}

/* The changes by one run, under one poison pattern. */
typedef struct watched {
  size_t high, unwritten, idle;
  char first[160];
} watched;

void check_level (const asked *q, const char *when) {
  const gb_ledger *l = &fx.g->device->ledger;
  if (l->used != q->level || l->blocks != q->blocks)
    TROUBLE("%zu bytes in %zu blocks are held %s, before %zu in %zu", l->used, l->blocks, when, q->level,
            q->blocks);
  if (home_used() != q->at_home)
    TROUBLE("%zu bytes are held at home %s, before %zu", home_used(), when, q->at_home);
}

bool numeric (gb_status rc) { return rc == GB_ENOTPD || rc == GB_ENAN; }

/* Plans and runs under watch. False: trouble, or a numeric failure. */
static bool run_watched (const asked *q, size_t budget, int way, unsigned char poison, gb_plan_report *r,
                         watched *w, bits *b) {
  gb_plan *p;
  gb_run_stats s;
  if (!opened(q, budget, &p, r)) return false;
  *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){.on = true, .poison = poison, .at_step = guard_step};
  run_and_take(p, q, way, b);
  *w = (watched){gb_plan_memcheck(fx.g)->high_water, gb_plan_memcheck(fx.g)->unwritten,
                 gb_plan_memcheck(fx.g)->unused_scratch, ""};
  memcpy(w->first, gb_plan_memcheck(fx.g)->first, sizeof w->first);
  const size_t strays = gb_plan_memcheck(fx.g)->strays;
  *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){0};
  gb_plan_stats(p, &s);
  r->row = NULL;
  gb_plan_free(p);
  forget_values(q);
  check_level(q, "after a run");
  if (b->rc != GB_OK && !numeric(b->rc)) TROUBLE("run: %s: %s", gb_status_code(b->rc), fx.err.text);
  if (strays > 0) TROUBLE("%zu stray bytes: %s", strays, w->first);
  if (b->rc == GB_OK && s.measured != r->peak)
    TROUBLE("the ledger rose by %zu, peak is %zu", s.measured, r->peak);
  if (w->high > r->arena) TROUBLE("bytes of the arena up to %zu changed, it has %zu", w->high, r->arena);
  return b->rc == GB_OK && trouble[0] == '\0';
}

idle_scratch slack;

void check_case (const asked *q, size_t budget, bits *want) {
  static const unsigned char poison[2] = {0xff, 0x5a};
  gb_plan_report r = {0};
  watched w[2] = {{0}};
  bool ran = true;
  for (int k = 0; k < 2 && trouble[0] == '\0'; k++) {
    bits got = {0};
    ran &= run_watched(q, budget, k == 0 ? MEMOISED : HANDED_OUT, poison[k], &r, &w[k], &got);
    if (want->n == 0 && want->rc == GB_OK) {
      *want = got;
      continue;
    }
    const int differs = bits_differ(want, &got);
    if (differs >= 0 && trouble[0] == '\0')
      TROUBLE("budget %zu, poison %02x: result %d has other bits, %s and %s", budget, poison[k], differs,
              gb_status_code(want->rc), gb_status_code(got.rc));
    bits_free(&got);
  }
  if (!ran || trouble[0] != '\0') return;
  const size_t high = w[0].high > w[1].high ? w[0].high : w[1].high;
  const size_t unwritten = w[0].unwritten < w[1].unwritten ? w[0].unwritten : w[1].unwritten;
  const size_t idle = w[0].idle < w[1].idle ? w[0].idle : w[1].idle;
  if (idle > slack.idle) slack.idle = idle, memcpy(slack.where, w[1].first, sizeof slack.where);
  if (unwritten >= GB_ARENA_ALIGN)
    TROUBLE("%zu bytes at the end of a result are not written: %s", unwritten, w[1].first);
  if (idle >= GB_ARENA_ALIGN) TROUBLE("%zu bytes at the end of a scratch are not used: %s", idle, w[1].first);
  if (r.arena >= high + 2 * GB_ARENA_ALIGN)
    TROUBLE("bytes up to %zu of an arena of %zu changed: %s", high, r.arena, w[1].first);
}

/* other ways to run the same plan */

#define FENCE 128 /* guard bytes after an arena of ours */

static void check_against (const bits *want, bits *got, const char *how) {
  const int differs = bits_differ(want, got);
  if (differs >= 0)
    TROUBLE("%s: result %d has other bits, %s and %s", how, differs, gb_status_code(want->rc),
            gb_status_code(got->rc));
  bits_free(got);
}

void check_closed (const asked *q, const bits *want) {
  gb_plan *p;
  gb_plan_report r;
  gb_tensor t[MOST_RESULTS] = {{0}};
  size_t bytes = 0;
  bits got = {0};
  if (trouble[0] != '\0' || !opened(q, 0, &p, &r)) return;
  for (size_t i = 0; i < q->n; i++)
    OK(gb_tensor_new(&fx.g->device->ledger, gb_node_dtype(q->out[i]), gb_node_shape(q->out[i]), GB_MEM_TENSOR,
                     "", "", &t[i], &fx.err));
  OK(gb_plan_arena(p, false, &bytes, &fx.err));
  const size_t room = gb_round_size(bytes) + FENCE;
  gb_memory *m = fx.g->device->ledger.memory;
  void *arena = m->ops->take(m, room);
  OK(gb_memory_fill(m, arena, 0xa7, room, &fx.err));
  const size_t allocations = fx.g->device->ledger.allocations;
  home_begin(fx.g->device);
  gb_plan_memcheck(fx.g)->at_step = guard_step;
  got.rc = gb_plan_run_into(p, 0, NULL, NULL, t, false, arena, &fx.err);
  gb_plan_memcheck(fx.g)->at_step = NULL;
  if (got.rc == GB_OK) check_home("a closed run", transit(q));
  if (fx.g->device->ledger.allocations != allocations) TROUBLE("a closed run allocated");
  unsigned char *now = malloc(room);
  OK(gb_memory_download(m, now, arena, room, &fx.err));
  for (size_t k = bytes; k < room; k++)
    if (now[k] != 0xa7) TROUBLE("byte %zu changed behind a closed run's arena of %zu", k, bytes);
  free(now);
  for (size_t i = 0; got.rc == GB_OK && i < q->n; i++) bits_take(&got, &t[i]);
  for (size_t i = 0; i < q->n; i++) gb_tensor_clear(&t[i]);
  m->ops->give(m, arena, room);
  gb_plan_free(p);
  check_against(want, &got, "closed");
  check_level(q, "after a closed run");
}

/* Another storage with the same contents and layout. */
static gb_tensor copy_of (const gb_tensor *t) {
  const gb_shape flat = gb_shape_of(1, (size_t[]){t->storage->block.bytes});
  gb_tensor bytes, copy = *t;
  OK(gb_tensor_new(&fx.g->device->ledger, GB_BOOL, &flat, GB_MEM_TENSOR, "", "", &bytes, &fx.err));
  OK(gb_memory_copy(fx.g->device->ledger.memory, bytes.storage->block.data, t->storage->block.data,
                    t->storage->block.bytes, &fx.err));
  copy.storage = bytes.storage;
  return copy;
}

#define MOST_BOUND 64

void check_rebound (const asked *q, const bits *want) {
  gb_plan *p;
  gb_plan_report r;
  gb_node **order, *leaf[MOST_BOUND];
  gb_tensor value[MOST_BOUND];
  size_t n, count = 0;
  if (trouble[0] != '\0' || !opened(q, 0, &p, &r)) return;
  OK(gb_graph_order(fx.g, q->n, q->out, GB_WALK_ALL, &order, &n, &fx.err));
  for (size_t i = 0; i < n && count < MOST_BOUND; i++)
    if (order[i]->op == GB_OP_LEAF) {
      leaf[count] = order[i];
      value[count++] = copy_of(&order[i]->out[0].tensor);
    }
  free(order);
  for (int k = 0; k < 2; k++) {
    gb_tensor t[MOST_RESULTS] = {{0}};
    bits got = {0};
    *gb_plan_memcheck(fx.g) =
        (gb_memcheck_watch){.on = true, .poison = k ? 0x5a : 0xff, .at_step = guard_step};
    home_begin(fx.g->device);
    got.rc = gb_plan_run_with(p, count, leaf, value, t, &fx.err);
    check_home("a run with other leaves", 0);
    if (gb_plan_memcheck(fx.g)->strays > 0)
      TROUBLE("%zu stray bytes with rebound leaves: %s", gb_plan_memcheck(fx.g)->strays,
              gb_plan_memcheck(fx.g)->first);
    *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){0};
    for (size_t i = 0; got.rc == GB_OK && i < q->n; i++) bits_take(&got, &t[i]);
    for (size_t i = 0; i < q->n; i++) gb_tensor_clear(&t[i]);
    check_against(want, &got, "rebound");
  }
  gb_plan_free(p);
  for (size_t i = 0; i < count; i++) gb_tensor_clear(&value[i]);
  forget_values(q);
  check_level(q, "after rebinding");
}

/* The inner value of the graph that 'choice' selects; NULL if there is no such value. */
static gb_node *inner_of (const asked *q, uint32_t choice) {
  gb_node **order, *inner = NULL;
  size_t n;
  OK(gb_graph_order(fx.g, q->n, q->out, GB_WALK_ALL, &order, &n, &fx.err));
  for (size_t i = 0; i < n && inner == NULL; i++) {
    gb_node *x = order[(i + choice) % n];
    bool passed = x->nin == 0 || x->nout > 1; /* generated values, once stored, are read like leaves */
    for (size_t k = 0; k < q->n; k++) passed |= x == q->out[k];
    if (!passed) inner = x;
  }
  free(order);
  return inner;
}

void check_history (const asked *q, uint32_t choice, const bits *want) {
  gb_ledger *l = &fx.g->device->ledger;
  const size_t limit = l->limit;
  gb_node *inner = inner_of(q, choice);
  gb_plan *p;
  gb_plan_report r;
  bits got = {0};
  if (trouble[0] != '\0' || want->rc != GB_OK || inner == NULL) return;
  OK(gb_eval(fx.g, 1, &inner, &fx.err));
  const size_t pinned = l->used - l->by_purpose[GB_MEM_CACHE];
  if (!opened(q, 0, &p, &r)) return;
  gb_plan_free(p);
  l->limit = pinned + r.minimum - 1;
  if (r.minimum > 0 && gb_eval(fx.g, q->n, q->out, &fx.err) != GB_EREFUSED)
    TROUBLE("one byte less than %zu of the ledger is enough", r.minimum);
  l->limit = pinned + r.minimum;
  got.rc = gb_eval(fx.g, q->n, q->out, &fx.err);
  if (got.rc != GB_OK)
    TROUBLE("the least, %zu bytes of the ledger, after n%zu: %.1900s", r.minimum, inner->index, fx.err.text);
  l->limit = limit;
  for (size_t i = 0; got.rc == GB_OK && i < q->n; i++) bits_take(&got, &q->out[i]->out[0].tensor);
  char how[80];
  snprintf(how, sizeof how, "after n%zu (%s) was looked at", inner->index, gb_ops[inner->op].name);
  check_against(want, &got, how);
  forget_values(q);
  check_level(q, "after a history");
}

void check_refusal (const asked *q, size_t minimum) {
  gb_plan *p = NULL;
  gb_error err = {0};
  if (minimum < 2 || trouble[0] != '\0') return; /* a budget of 0 means the ledger's */
  const gb_status rc = gb_plan_new(fx.g, q->n, q->out, &(gb_plan_options){.budget = minimum - 1}, &p, &err);
  if (rc == GB_OK) gb_plan_free(p);
  if (rc != GB_EREFUSED || err.minimum != minimum || err.have != minimum - 1 || err.need < minimum)
    TROUBLE("%zu bytes, one less than the least: %s, need %zu, have %zu, minimum %zu", minimum - 1,
            gb_status_code(rc), (size_t)err.need, (size_t)err.have, (size_t)err.minimum);
  check_level(q, "after a refusal");
}
