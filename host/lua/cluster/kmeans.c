/* kmeans.c - k-means for the Lua library; gb.kmeans is in Lua. */
#include <string.h>

#include "base/plain.h"
#include "lua/cluster/problem.h"

/* -- options */

static size_t check_count (lua_State *L, const char *name, lua_Integer least, lua_Integer most) {
  const lua_Integer v = lgb_optinteger(L, 2, name, least);
  if (v < least || v > most)
    lgb_fail(L, GB_EOPTION, "k-means: option '%s' must be in %lld..%lld, got %lld", name, (long long)least,
             (long long)most, (long long)v);
  return (size_t)v;
}

/* Tensor of option 'name' with this shape; columns 0: (rows). */
static gb_node *check_tensor (lua_State *L, const char *name, size_t rows, size_t columns) {
  char text[GB_SHAPE_TEXT];
  if (!lgb_option(L, 2, name)) lgb_fail(L, GB_EOPTION, "k-means: option '%s' is needed", name);
  gb_node *x = lgb_checknode(L, lua_gettop(L));
  const gb_shape *s = gb_node_shape(x);
  lua_pop(L, 1); /* the option table keeps it alive */
  if (s->ndim != (columns == 0 ? 1 : 2) || s->dim[0] != rows || (columns > 0 && s->dim[1] != columns))
    lgb_fail(L, GB_ESHAPE, "k-means: option '%s': expected shape %s, got %s", name,
             columns == 0 ? lua_pushfstring(L, "%I", (LUAI_UACINT)rows)
                          : lua_pushfstring(L, "%Ix%I", (LUAI_UACINT)rows, (LUAI_UACINT)columns),
             gb_shape_text(s, text));
  return x;
}

static const char *const fit_names[] = {"bounded", "devices", "k",       "max_iter", "minibatch",
                                        "ranks",   "rooms",   "runs",    "seed",     "spherical",
                                        "start",   "tol",     "weights", NULL};

/* '*start': the tensor of a given start, NULL: another one. */
static gb_kmeans_options check_options (lua_State *L, const lgb_points *p, gb_node **start) {
  gb_kmeans_options o = {.k = check_count(L, "k", 1, (lua_Integer)GB_CLUSTER_MOST),
                         .max_iter = check_count(L, "max_iter", 0, 1 << 24),
                         .tol = lgb_optnumber(L, 2, "tol", 1e-4),
                         .seed = (uint64_t)lgb_optinteger(L, 2, "seed", 0),
                         .bounded = lgb_optbool(L, 2, "bounded", false),
                         .runs = (size_t)lgb_optinteger(L, 2, "runs", 1),
                         .comm = lgb_checkranks(L, 2)};
  *start = NULL;
  if (!lgb_option(L, 2, "start")) return o;
  if (lua_type(L, -1) == LUA_TSTRING) {
    const char *name = lua_tostring(L, -1);
    if (strcmp(name, "random") == 0) o.start = GB_KMEANS_RANDOM;
    else o.start = strcmp(name, "k-means||") == 0 ? GB_KMEANS_PARALLEL : GB_KMEANS_PLUS_PLUS;
    lua_pop(L, 1);
    return o;
  }
  lua_pop(L, 1);
  o.start = GB_KMEANS_GIVEN;
  *start = check_tensor(L, "start", o.k, p->d);
  return o;
}

/* Arrays of k rows are counted in size_t. */
static void check_size (lua_State *L, const lgb_points *p, size_t k) {
  if (k > ((size_t)1 << 50) / (p->d + 1))
    lgb_fail(L, GB_EREFUSED, "k-means: %zu centroids of %zu columns are more than any memory holds", k, p->d);
}

/* Weights as doubles, of all pieces; pushes what holds them. */
static void give_weights (lua_State *L, lgb_points *p) {
  size_t first = 0;
  if (p->weights == NULL) return;
  const double *w = lgb_pushdoubles(L, p->session, p->weights);
  for (size_t i = 0; i < p->npieces; first += p->piece[i++].x.n)
    p->piece[i].weight = p->piece[i].x.weight = w + first;
}

static void set_bytes (lua_State *L, const char *name, size_t bytes) {
  lua_pushinteger(L, (lua_Integer)bytes);
  lua_setfield(L, -2, name);
}

/* -- bytes */

/* Labels, centroids, shift and history of a run and of the best one before, at most, on the session's own device where that is not
** the host. */
static size_t results_on (const lgb_points *p, const gb_kmeans_options *o, const gb_device *dev) {
  const size_t numbers = (o->k + 1) * p->d + o->max_iter;
  if (dev != p->session->device || dev == p->session->home) return 0;
  return 2 * (numbers * sizeof(double) + p->n * sizeof(int32_t));
}

static size_t beside_fit (const void *options, const gb_device *dev, const lgb_points *p) {
  const gb_kmeans_piece none = {.device = (gb_device *)dev, .x = {.dtype = p->dtype, .d = p->d}};
  return gb_kmeans_bytes_of(options, 1, &none).device + results_on(p, options, dev);
}

static lgb_points *check_fit (lua_State *L, bool values, gb_kmeans_options *o, gb_node **start) {
  lgb_checktype(L, 2, LUA_TTABLE);
  lgb_checkoptions(L, 2, fit_names);
  lgb_points *p = lgb_checkpoints(L, values, lgb_optbool(L, 2, "minibatch", false));
  *o = check_options(L, p, start);
  check_size(L, p, o->k);
  return p;
}

static void share_fit (lua_State *L, lgb_points *p, const gb_kmeans_options *o) {
  lgb_share_points(L, p, o, beside_fit, o);
}

/* What passes of a device take, of its sums, seeds and scratch. */
static gb_kmeans_bytes bytes_on (const lgb_points *p, const gb_kmeans_options *o, const gb_device *dev) {
  const gb_kmeans_share *s = &p->share;
  size_t first = 0;
  while (first < s->npieces && s->piece[first].device != dev) first++;
  return first == s->npieces ? (gb_kmeans_bytes){0}
                             : gb_kmeans_bytes_of(o, s->npieces - first, s->piece + first);
}

/* What a fit takes at the home of the device that has the first points: a simulated device is its own home. */
static gb_kmeans_bytes state_on (const lgb_points *p, const gb_kmeans_options *o, const gb_device *dev) {
  const gb_kmeans_share *s = &p->share;
  const gb_device *first = s->piece->device, *home = first->home == NULL ? first : first->home;
  return home == dev ? gb_kmeans_bytes_of(o, s->npieces, s->piece) : (gb_kmeans_bytes){0};
}

static void set_passes (lua_State *L, const lgb_points *p, const gb_kmeans_options *o, const gb_device *dev) {
  const gb_kmeans_bytes b = bytes_on(p, o, dev);
  size_t tile;
  gb_error err;
  lgb_result(L, LGB_CORE(p->session, lgb_tile_bytes(p, dev, &tile, &err)), &err);
  set_bytes(L, "workers", dev->ops->cluster->workers(dev));
  const gb_kmeans_bytes state = state_on(p, o, dev);
  set_bytes(L, "state", state.home - state.candidates);
  set_bytes(L, "candidates", state.candidates);
  set_bytes(L, "sums", b.sums);
  set_bytes(L, "seeds", b.seeds);
  set_bytes(L, "bounds", b.bounds);
  set_bytes(L, "scratch", b.scratch);
  set_bytes(L, "tile", tile);
}

/* {name, n, what it takes, minimum, sent, stay} of a device that is not the home. */
static void push_lot (lua_State *L, const lgb_points *p, const gb_kmeans_options *o, const gb_kmeans_lot *l) {
  lua_createtable(L, 0, 16);
  lua_pushstring(L, l->device->name);
  lua_setfield(L, -2, "name");
  set_passes(L, p, o, l->device);
  set_bytes(L, "n", l->n);
  set_bytes(L, "labels", l->labels);
  set_bytes(L, "weights", l->weights);
  set_bytes(L, "rows", l->rows);
  set_bytes(L, "results", results_on(p, o, l->device));
  set_bytes(L, "slot", l->slot);
  set_bytes(L, "sent", l->sent);
  set_bytes(L, "stay", l->stay);
  set_bytes(L, "minimum", l->minimum);
  set_bytes(L, "room", l->room);
}

static void push_lots (lua_State *L, const lgb_points *p, const gb_kmeans_options *o) {
  lua_newtable(L);
  for (size_t i = 0, n = 0; i < p->share.nlots; i++) {
    if (p->share.lot[i].device == p->session->home) continue;
    push_lot(L, p, o, &p->share.lot[i]);
    lua_rawseti(L, -2, (lua_Integer)++n);
  }
}

/* core.kmeans_bytes({x, ...}, {k, start, bounded, weights, devices, rooms, ranks}): bytes of each buffer of a fit on the host, and in 'devices' on
** each other device; nothing is allocated */
static int kmeans_bytes (lua_State *L) {
  gb_node *start;
  gb_kmeans_options o;
  lgb_points *p = check_fit(L, false, &o, &start);
  share_fit(L, p, &o);
  const gb_kmeans_share *s = &p->share;
  const bool batches = lgb_optbool(L, 2, "minibatch", false);
  if (start != NULL) lgb_note_doubles(p, start);
  lua_createtable(L, 0, 18);
  lua_pushstring(L, p->session->home->name);
  lua_setfield(L, -2, "home");
  set_passes(L, p, &o, p->session->home);
  set_bytes(L, "n", p->n);
  set_bytes(L, "d", p->d);
  set_bytes(L, "size", gb_dtype_size(p->dtype));
  set_bytes(L, "labels", p->n * sizeof(int32_t));
  set_bytes(L, "centroids", (o.k + 1) * p->d * sizeof(double));
  set_bytes(L, "history", o.max_iter * sizeof(double));
  set_bytes(L, "weights", p->weights == NULL ? 0 : lgb_doubles_bytes(p->weights));
  set_bytes(L, "start", start == NULL ? 0 : lgb_doubles_bytes(start));
  set_bytes(L, "mirrors", p->mirrors);
  set_bytes(L, "batches", batches ? gb_kmeans_minibatch_bytes(&o, s->npieces, s->piece) : 0);
  for (size_t i = 0; batches && i < 6; i++)
    set_bytes(L, (const char *[]){"sums", "seeds", "bounds", "scratch", "candidates", "state"}[i], 0);
  push_lots(L, p, &o);
  lua_setfield(L, -2, "devices");
  return 1;
}

/* -- a fit */

/* Pushes a holder of a new array on the host. */
static gb_tensor *push_array (lua_State *L, lgb_session *s, gb_dtype t, gb_shape shape, const char *name) {
  lgb_charge(L, s, gb_shape_bytes(&shape, t));
  gb_tensor *held = lgb_newholder(L);
  gb_error err;
  lgb_result(L, gb_tensor_new(&s->home->ledger, t, &shape, GB_MEM_TENSOR, lgb_where(L, s), name, held, &err),
             &err);
  return held;
}

/* Pushes the tensor of an array, which it empties, with 'rows' of its first axis. */
static void push_leaf (lua_State *L, lgb_session *s, gb_tensor *held, size_t rows, const char *name) {
  lgb_tensor *t = lgb_newtensor(L);
  gb_error err;
  held->shape.dim[0] = rows;
  lgb_result(L, lgb_leaf(s, 0, held, name, &t->node, &err), &err);
}

typedef struct arrays {
  gb_tensor *labels, *centroids, *shift, *history;
} arrays;

typedef struct fit_work {
  const lgb_points *p;
  const gb_kmeans_options *o;
  gb_kmeans_result *r;
  bool batches;
} fit_work;

static gb_status fit_pieces (void *ud, gb_error *err) {
  const fit_work *w = ud;
  const gb_kmeans_share *s = &w->p->share;
  return (w->batches ? gb_kmeans_minibatch : gb_kmeans_fit)(w->o, s->npieces, s->piece, w->r, err);
}

static void run_fit (lua_State *L, lgb_points *p, const gb_kmeans_options *o, const arrays *a,
                     gb_kmeans_result *r) {
  fit_work w = {p, o, r, lgb_optbool(L, 2, "minibatch", false)};
  gb_error err;
  r->label = p->share.label;
  r->centre = gb_host_elements(a->centroids);
  r->shift = gb_host_elements(a->shift);
  r->history = gb_host_elements(a->history);
  int32_t *labels = gb_host_elements(a->labels);
  lgb_result(L, LGB_CORE(p->session, gb_kmeans_share_run(&p->share, labels, fit_pieces, &w, &err)), &err);
}

static void push_facts (lua_State *L, const gb_kmeans_result *r) {
  lua_createtable(L, 0, 5);
  lua_pushnumber(L, gb_plain(r->inertia));
  lua_setfield(L, -2, "inertia");
  lua_pushnumber(L, gb_plain(r->change));
  lua_setfield(L, -2, "change");
  set_bytes(L, "iterations", r->iterations);
  set_bytes(L, "empty", r->empty);
  lua_pushboolean(L, r->converged);
  lua_setfield(L, -2, "converged");
}

/* Labels count from 1 where scripts see them, from 0 in passes. */
static void count_from_1 (gb_tensor *labels) {
  int32_t *label = gb_host_elements(labels);
  for (size_t i = 0; i < labels->shape.dim[0]; i++) label[i]++;
}

/* core.kmeans_fit({x, ...}, {k, start, max_iter, tol, seed, bounded, spherical, runs, weights, devices, rooms, ranks}): labels (n) of i32 from 1,
** centroids, shift, history, {inertia, iterations, empty, converged, change} */
static int kmeans_fit (lua_State *L) {
  gb_node *start;
  gb_kmeans_options o;
  lgb_points *p = check_fit(L, true, &o, &start);
  lgb_session *s = p->session;
  const size_t k = o.k, d = p->d;
  arrays a;
  a.labels = push_array(L, s, GB_I32, gb_shape_of(1, &p->n), "labels");
  a.centroids = push_array(L, s, GB_F64, gb_shape_of(2, (const size_t[]){k, d}), "centroids");
  a.shift = push_array(L, s, GB_F64, gb_shape_of(1, &d), "centroids");
  a.history = push_array(L, s, GB_F64, gb_shape_of(1, &o.max_iter), "history");
  if (start != NULL) o.given = lgb_pushdoubles(L, s, start);
  else lgb_newholder(L);
  gb_tensor *given = lua_touserdata(L, -1), *weights = NULL;
  give_weights(L, p);
  if (p->weights != NULL) weights = lua_touserdata(L, -1);
  share_fit(L, p, &o);
  gb_kmeans_result r = {0};
  run_fit(L, p, &o, &a, &r);
  gb_tensor_clear(given);
  if (weights != NULL) gb_tensor_clear(weights);
  count_from_1(a.labels);
  push_leaf(L, s, a.labels, p->n, "labels");
  push_leaf(L, s, a.centroids, k, "centroids");
  push_leaf(L, s, a.shift, d, "shift");
  push_leaf(L, s, a.history, r.iterations, "history");
  push_facts(L, &r);
  return 5;
}

/* -- centroids that are known */

static gb_kmeans_model check_model (lua_State *L, const lgb_points *p) {
  gb_kmeans_model m = {.k = check_count(L, "k", 1, (lua_Integer)GB_CLUSTER_MOST)};
  check_size(L, p, m.k);
  m.centre = lgb_pushdoubles(L, p->session, check_tensor(L, "centroids", m.k, p->d));
  m.shift = lgb_pushdoubles(L, p->session, check_tensor(L, "shift", p->d, 0));
  return m;
}

typedef struct apply_work {
  const lgb_points *p;
  const gb_kmeans_model *m;
  const gb_kmeans_use *use;
} apply_work;

static gb_status apply_pieces (void *ud, gb_error *err) {
  const apply_work *w = ud;
  return gb_kmeans_apply(w->m, w->p->share.npieces, w->p->share.piece, w->use, err);
}

static size_t beside_use (const void *ud, const gb_device *dev, const lgb_points *p) {
  const apply_work *w = ud;
  return gb_kmeans_use_room(w->m, w->use->sum != NULL, dev, gb_points_compute(p->dtype), p->d, p->n);
}

/* core.kmeans_apply({x, ...}, {k, centroids, shift, spherical, weights, devices, rooms, sums, labels, ranks}): labels (n) of i32, inertia,
** sums (k, d + 1) */
static int kmeans_apply (lua_State *L) {
  static const char *const names[] = {"centroids", "devices",   "k",    "labels",  "ranks", "rooms",
                                      "shift",     "spherical", "sums", "weights", NULL};
  lgb_points *p = lgb_checkpoints(L, true, false);
  lgb_checkoptions(L, 2, names);
  const gb_kmeans_model m = check_model(L, p);
  const bool sums = lgb_optbool(L, 2, "sums", false), labels = lgb_optbool(L, 2, "labels", false);
  double inertia = 0;
  gb_kmeans_use use = {.inertia = labels ? NULL : &inertia, .comm = labels ? NULL : lgb_checkranks(L, 2)};
  gb_tensor *l = NULL, *sum = NULL;
  gb_error err;
  if (labels) l = push_array(L, p->session, GB_I32, gb_shape_of(1, &p->n), "labels");
  if (sums) sum = push_array(L, p->session, GB_F64, gb_shape_of(2, (const size_t[]){m.k, p->d + 1}), "sums");
  if (labels) use.label = gb_host_elements(l);
  if (sums) use.sum = gb_host_elements(sum);
  give_weights(L, p);
  apply_work w = {p, &m, &use};
  lgb_share_points(L, p, NULL, beside_use, &w);
  lgb_result(L, LGB_CORE(p->session, gb_kmeans_share_run(&p->share, NULL, apply_pieces, &w, &err)), &err);
  if (labels) push_leaf(L, p->session, l, p->n, "labels");
  else lua_pushnil(L);
  lua_pushnumber(L, gb_plain(inertia));
  if (sums) push_leaf(L, p->session, sum, m.k, "sums");
  else lua_pushnil(L);
  return 3;
}

/* -- accounts */

static gb_ledger *ledger_at (lua_State *L, lgb_session *s, lua_Integer i) {
  lua_rawgeti(L, 1, i);
  gb_ledger *l = &lgb_checkdevice(L, s, lgb_checkstring(L, -1))->ledger;
  lua_pop(L, 1);
  return l;
}

/* core.high_water({name, ...}): of the account of each device {bytes in use, its peak so far}; a new peak is counted from here on.
** core.high_water({name, ...}, before), with what that gave: the most bytes in use since, beside those of before; and the account has the
** larger of both peaks again. */
static int high_water (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lgb_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  const lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  lua_createtable(L, (int)n, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    gb_ledger *l = ledger_at(L, s, i);
    if (lua_isnil(L, 2)) {
      lua_createtable(L, 2, 0);
      lua_pushinteger(L, (lua_Integer)l->used);
      lua_rawseti(L, -2, 1);
      lua_pushinteger(L, (lua_Integer)l->peak);
      lua_rawseti(L, -2, 2);
      l->peak = l->used;
    } else {
      lua_rawgeti(L, 2, i);
      lgb_checktype(L, -1, LUA_TTABLE);
      lua_rawgeti(L, -1, 1);
      lua_rawgeti(L, -2, 2);
      const lua_Integer used = lgb_checkinteger(L, -2), peak = lgb_checkinteger(L, -1);
      lua_pop(L, 3);
      lua_pushinteger(L, (lua_Integer)l->peak - used);
      if (peak > 0 && (size_t)peak > l->peak) l->peak = (size_t)peak;
    }
    lua_rawseti(L, 3, i);
  }
  return 1;
}

const luaL_Reg lgb_cluster_functions[] = {{"high_water", high_water},
                                          {"kmeans_apply", kmeans_apply},
                                          {"kmeans_bytes", kmeans_bytes},
                                          {"kmeans_fit", kmeans_fit},
                                          {NULL, NULL}};
