/* problem.c - see problem.h. */
#include "lua/cluster/problem.h"

#include <string.h>

/* -- where values lie */

#define MOST_VIEWS 16

/* 't' becomes the view n of itself. False: n is not a view by strides, and 't' is not valid. */
static bool view_by_strides (const gb_node *n, gb_tensor *t) {
  const gb_tensor of = *t;
  const int64_t *i = n->attr.i;
  t->shape = *gb_node_shape(n);
  switch (n->op) {
    case GB_OP_PERMUTE:
      for (int a = 0; a < t->shape.ndim; a++) t->stride[a] = of.stride[i[a]];
      return true;
    case GB_OP_SLICE:
      t->offset = (size_t)((ptrdiff_t)of.offset + (ptrdiff_t)i[1] * of.stride[i[0]]);
      t->stride[i[0]] = (ptrdiff_t)i[2] * of.stride[i[0]];
      return true;
    case GB_OP_UNSQUEEZE:
      for (int a = 0, b = 0; a < t->shape.ndim; a++) t->stride[a] = a == i[0] ? 0 : of.stride[b++];
      return true;
    case GB_OP_SQUEEZE:
      for (int a = 0, b = 0; a < of.shape.ndim; a++)
        if (a != i[0]) t->stride[b++] = of.stride[a];
      return true;
    case GB_OP_RESHAPE: gb_strides_of(&t->shape, t->stride); return gb_tensor_is_contiguous(&of);
    default: return false;
  }
}

/* 't' is n's value, where n is a view of a value by strides: nothing is computed or copied. 't' is borrowed; else it stays as it is. */
static bool find_value (const gb_node *n, int depth, gb_tensor *t) {
  gb_tensor of;
  if (gb_node_has_value(n)) of = n->out[0].tensor;
  else if (n->nin != 1 || depth == MOST_VIEWS || !find_value(n->in[0], depth + 1, &of) ||
           !view_by_strides(n, &of))
    return false;
  *t = of;
  return true;
}

static bool is_doubles (const gb_tensor *t) { return t->dtype == GB_F64 && gb_tensor_is_contiguous(t); }

static bool lies_well (const gb_node *x, gb_tensor *t) {
  return find_value(x, 0, t) && is_doubles(t) && gb_memory_is_host(t->storage->ledger->memory);
}

size_t lgb_doubles_bytes (const gb_node *x) {
  gb_tensor t;
  return lies_well(x, &t) ? 0 : gb_shape_bytes(gb_node_shape(x), GB_F64);
}

/* Doubles of another device come without a copy of their storage, which may be far larger; other numbers are converted from it. */
static gb_status copy_doubles (const gb_tensor *to, const gb_tensor *from, gb_error *err) {
  const gb_storage *st = from->storage;
  gb_tensor host;
  if (is_doubles(from) && !gb_memory_is_host(st->ledger->memory))
    return gb_memory_download(st->ledger->memory, gb_host_elements(to), gb_tensor_data(from),
                              gb_shape_bytes(&from->shape, GB_F64), err);
  GB_TRY(gb_host_of(from, &host, err));
  gb_host_copy(to, &host);
  return GB_OK;
}

const double *lgb_pushdoubles (lua_State *L, lgb_session *s, gb_node *x) {
  gb_tensor *held = lgb_newholder(L), t;
  gb_error err;
  if (lies_well(x, &t)) return gb_host_elements(&t);
  if (!find_value(x, 0, &t)) t = *lgb_value(L, s, x);
  lgb_result(L,
             gb_tensor_new(&s->home->ledger, GB_F64, &t.shape, GB_MEM_WORKSPACE, lgb_where(L, s), "k-means",
                           held, &err),
             &err);
  lgb_result(L, copy_doubles(held, &t, &err), &err);
  return gb_host_elements(held);
}

/* -- points */

static gb_device *device_of (const gb_node *x) { return gb_graph_device(x->graph, x->device); }

static bool is_listed (const lgb_points *p, const gb_device *dev) {
  for (size_t i = 0; i < p->ndevices; i++)
    if (p->device[i] == dev) return true;
  return false;
}

static void list_device (lua_State *L, lgb_points *p, gb_device *dev) {
  if (is_listed(p, dev)) lgb_fail(L, GB_EDEVICE, "k-means: device '%s' is listed twice", dev->name);
  if (p->ndevices == GB_DEVICES)
    lgb_fail(L, GB_EOPTION, "k-means: at most %d devices can be listed", GB_DEVICES);
  if (dev->ops->cluster == NULL)
    lgb_fail(L, GB_EOPTION,
             "k-means: device '%s' has no passes over points; without 'device' the host makes them",
             dev->name);
  p->device[p->ndevices++] = dev;
}

/* Where option 'devices' says; else where all points lie, if that device has passes; else at home. */
static void check_devices (lua_State *L, lgb_points *p, size_t count, gb_node *const *nodes, bool home) {
  gb_device *dev = device_of(nodes[0]);
  if (!home && lgb_option(L, 2, "devices")) {
    const int list = lua_gettop(L);
    lgb_checktype(L, list, LUA_TTABLE);
    const lua_Integer n = (lua_Integer)lua_rawlen(L, list);
    for (lua_Integer i = 1; i <= n; i++, lua_settop(L, list)) {
      lua_rawgeti(L, list, i);
      list_device(L, p, lgb_checkdevice(L, p->session, lgb_checkstring(L, -1)));
    }
    lua_pop(L, 1);
    return;
  }
  for (size_t i = 1; i < count; i++)
    if (device_of(nodes[i]) != dev) dev = p->session->home;
  if (home || dev->ops->cluster == NULL) dev = p->session->home;
  list_device(L, p, dev);
}

static size_t pieces_of (const gb_node *x, bool has_value) {
  const gb_shape *s = gb_node_shape(x);
  if (has_value) return 1;
  const size_t rows = lgb_tile_rows(s->dim[1], gb_node_dtype(x));
  return (s->dim[0] + rows - 1) / rows;
}

static void add_piece (lgb_points *p, gb_device *dev, const gb_tensor *t, size_t first, size_t n) {
  gb_kmeans_piece *piece = &p->piece[p->npieces];
  piece->device = is_listed(p, dev) && !gb_memory_is_host(&dev->memory) ? dev : NULL;
  piece->x = (gb_points){
      .dtype = t->dtype, .row = t->stride[0], .column = t->stride[1], .n = n, .d = p->d, .unit = p->unit};
  piece->number = p->npieces;
  p->first[p->npieces++] = first;
  p->n += n;
}

/* A copy for the host that is still to be made. */
static void note_mirror (lgb_points *p, const gb_storage *st) {
  if (gb_memory_is_host(st->ledger->memory) || st->mirror != NULL) return;
  for (size_t i = 0; i < p->nstorages; i++)
    if (p->storage[i] == st) return;
  p->storage[p->nstorages++] = st;
  p->mirrors += st->block.bytes;
}

void lgb_note_doubles (lgb_points *p, const gb_node *x) {
  gb_tensor t = {.dtype = gb_node_dtype(x)};
  const bool there = find_value(x, 0, &t);
  if (there && !is_doubles(&t)) note_mirror(p, t.storage);
  if (!there && t.dtype != GB_F64 && !gb_memory_is_host(&device_of(x)->memory))
    p->mirrors += gb_shape_bytes(gb_node_shape(x), t.dtype);
}

/* Points that have a value lie on a device of the list, or the host reads them. */
static void add_value (lua_State *L, lgb_points *p, gb_node *x, const gb_tensor *t, bool values) {
  gb_tensor host;
  gb_error err;
  *lgb_newholder(L) = gb_tensor_ref(t); /* no cache goes meanwhile */
  luaL_ref(L, 3);
  add_piece(p, device_of(x), t, 0, t->shape.dim[0]);
  gb_kmeans_piece *piece = &p->piece[p->npieces - 1];
  if (values && t->storage->refresh != NULL) lgb_result(L, t->storage->refresh(t->storage, &err), &err);
  if (piece->device != NULL) {
    piece->x.at = gb_tensor_data(t);
    return;
  }
  note_mirror(p, t->storage);
  if (!values) return;
  lgb_result(L, gb_host_of(t, &host, &err), &err);
  piece->x.at = gb_host_elements(&host);
}

/* The pieces of one tensor. */
static void add_points (lua_State *L, lgb_points *p, gb_node *x, bool values) {
  const bool placeholder = (x->flags & GB_NODE_PLACEHOLDER) != 0;
  const size_t n = gb_node_shape(x)->dim[0];
  gb_tensor t = {.dtype = gb_node_dtype(x), .shape = *gb_node_shape(x)};
  gb_strides_of(&t.shape, t.stride);
  p->dtype = t.dtype;
  if (n == 0) return;
  if (find_value(x, 0, &t)) {
    add_value(L, p, x, &t, values);
    return;
  }
  if (placeholder) {
    if (values) lgb_fail(L, GB_EOPTION, "k-means: the points have no values: gb.empty is for km:plan alone");
    add_piece(p, device_of(x), &t, 0, n);
    if (p->piece[p->npieces - 1].device == NULL && !gb_memory_is_host(&device_of(x)->memory))
      p->mirrors += gb_shape_bytes(&t.shape, t.dtype);
    return;
  }
  lgb_tiles *tiles = lgb_scratch(L, 1, sizeof *tiles);
  luaL_ref(L, 3);
  *tiles = (lgb_tiles){.x = x, .rows = lgb_tile_rows(p->d, t.dtype)};
  for (size_t i = 0; i < n; i += tiles->rows) {
    p->tiles[p->npieces] = tiles;
    p->piece[p->npieces].source = &p->source;
    add_piece(p, device_of(x), &t, i, n - i < tiles->rows ? n - i : tiles->rows);
  }
}

/* Pushes memory for all pieces of the nodes. */
static void make_room (lua_State *L, lgb_points *p, size_t count, gb_node *const *nodes) {
  size_t most = 0;
  gb_tensor t;
  for (size_t i = 0; i < count; i++)
    most += pieces_of(nodes[i], find_value(nodes[i], 0, &t) || (nodes[i]->flags & GB_NODE_PLACEHOLDER) != 0);
  p->piece = lgb_scratch(L, most + 1, sizeof *p->piece);
  luaL_ref(L, 3);
  p->tiles = lgb_scratch(L, most + 1, sizeof(lgb_tiles *));
  luaL_ref(L, 3);
  p->first = lgb_scratch(L, most + 1, sizeof *p->first);
  luaL_ref(L, 3);
  p->storage = lgb_scratch(L, count + 2, sizeof(gb_storage *)); /* and those of weights and start */
  luaL_ref(L, 3);
}

#define MOST_COLUMNS ((size_t)1 << 32)

/* All are (n, d) of one d and one type of computation. */
static void check_nodes (lua_State *L, lgb_points *p, size_t count, gb_node *const *nodes) {
  for (size_t i = 0; i < count; i++) {
    const gb_shape *s = gb_node_shape(nodes[i]);
    const gb_dtype t = gb_node_dtype(nodes[i]), first = gb_node_dtype(nodes[0]);
    char text[GB_SHAPE_TEXT];
    if (s->ndim != 2)
      lgb_fail(L, GB_ESHAPE, "k-means: points are tensors (n, d), got shape %s", gb_shape_text(s, text));
    if (t == GB_BOOL) lgb_fail(L, GB_EDTYPE, "k-means: points are numbers, got bool");
    if (i == 0) p->d = s->dim[1];
    if (s->dim[1] != p->d)
      lgb_fail(L, GB_ESHAPE, "k-means: tensor %zu of the list has %zu column%s, the first has %zu", i + 1,
               s->dim[1], lgb_plural(s->dim[1]), p->d);
    if (gb_points_compute(t) != gb_points_compute(first))
      lgb_fail(L, GB_EDTYPE,
               "k-means: tensor %zu of the list is %s, the first is %s: one of them is computed in f64",
               i + 1, gb_dtype_name(t), gb_dtype_name(first));
  }
  if (p->d == 0) lgb_fail(L, GB_ESHAPE, "k-means: points without columns");
  if (p->d > MOST_COLUMNS) lgb_fail(L, GB_ESHAPE, "k-means: %zu columns are too many", p->d);
}

static void check_weights (lua_State *L, lgb_points *p) {
  char text[GB_SHAPE_TEXT];
  if (!lgb_option(L, 2, "weights")) return;
  p->weights = lgb_checknode(L, lua_gettop(L));
  lua_pop(L, 1);
  const gb_shape *s = gb_node_shape(p->weights);
  if (s->ndim != 1 || s->dim[0] != p->n)
    lgb_fail(L, GB_ESHAPE, "k-means: option 'weights': expected %zu numbers, one a row, got shape %s", p->n,
             gb_shape_text(s, text));
  lgb_note_doubles(p, p->weights);
}

/* A rank without points. */
static void add_nothing (lua_State *L, lgb_points *p) {
  const gb_tensor none = {.dtype = p->dtype, .stride = {(ptrdiff_t)p->d, 1}};
  if (!lgb_optbool(L, 2, "ranks", false)) lgb_fail(L, GB_ESHAPE, "k-means: no points");
  add_piece(p, p->session->home, &none, 0, 0);
}

lgb_points *lgb_checkpoints (lua_State *L, bool values, bool home) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  lgb_checktype(L, 2, LUA_TTABLE);
  lua_newtable(L); /* 3: keeps all that follows alive */
  lgb_points *p = lgb_scratch(L, 1, sizeof *p);
  size_t count;
  gb_node **nodes = lgb_checklist(L, 1, &count);
  lgb_argcheck(L, count > 0, 1, "at least one tensor expected");
  *p = (lgb_points){.session = s, .unit = lgb_optbool(L, 2, "spherical", false)};
  check_devices(L, p, count, nodes, home);
  p->source = (gb_kmeans_source){.open = lgb_tile_open, .close = lgb_tile_close, .ud = p};
  check_nodes(L, p, count, nodes);
  make_room(L, p, count, nodes);
  for (size_t i = 0; i < count; i++) add_points(L, p, nodes[i], values);
  if (p->npieces == 0) add_nothing(L, p);
  check_weights(L, p);
  return p;
}

/* -- devices */

/* Free bytes of a device; values that can be computed again count as free. */
static size_t free_on (const gb_device *dev) {
  const gb_ledger *l = &dev->ledger;
  return gb_ledger_beside(l, l->used - l->by_purpose[GB_MEM_CACHE]);
}

/* Bytes that a device may take: what option 'rooms' says, of all or by name, and no more than is free. */
static size_t room_of (lua_State *L, const gb_device *dev) {
  const size_t room = free_on(dev);
  const int top = lua_gettop(L);
  if (!lgb_option(L, 2, "rooms")) return room;
  if (lua_istable(L, -1)) lua_getfield(L, -1, dev->name);
  const lua_Integer most = lua_isnil(L, -1) ? -1 : lgb_checkinteger(L, -1);
  lua_settop(L, top);
  return most >= 0 && (size_t)most < room ? (size_t)most : room;
}

/* The smallest sizes of a lot are more than is free. (A budget that is too small for them is that of a fit, which is planned.) */
static void check_lot (lua_State *L, const gb_kmeans_lot *l) {
  gb_error err;
  const size_t room = free_on(l->device);
  if (l->minimum <= room) return;
  gb_fail(&err, GB_EREFUSED,
          "k-means takes %zu B on %s, where %zu B are free: a smaller k, or more memory for the device",
          l->minimum, l->device->name, room);
  err.need = err.minimum = l->minimum, err.have = room;
  lgb_raise(L, GB_EREFUSED, &err);
}

void lgb_share_points (lua_State *L, lgb_points *p, const gb_kmeans_options *fit, lgb_beside *beside,
                       const void *ud) {
  gb_kmeans_share *s = &p->share;
  *s = (gb_kmeans_share){.nfrom = p->npieces,
                         .from = p->piece,
                         .fit = fit,
                         .weighted = p->weights != NULL,
                         .nlots = p->ndevices};
  for (size_t i = 0; i < s->nlots; i++) {
    gb_device *dev = p->device[i];
    size_t tile = 0;
    gb_error err;
    if (dev != p->session->home)
      lgb_result(L, LGB_CORE(p->session, lgb_tile_bytes(p, dev, &tile, &err)), &err);
    s->lot[i] = (gb_kmeans_lot){.device = dev, .room = room_of(L, dev), .beside = beside(ud, dev, p) + tile};
  }
  gb_kmeans_share_out(s);
  for (size_t i = 0; i < s->nlots; i++)
    if (fit == NULL && s->lot[i].device != p->session->home) check_lot(L, &s->lot[i]);
  s->piece = lgb_scratch(L, s->npieces, sizeof *s->piece);
  luaL_ref(L, 3);
  s->sent = lgb_scratch(L, s->npieces, sizeof *s->sent);
  luaL_ref(L, 3);
  s->label = lgb_scratch(L, s->npieces, sizeof *s->label);
  luaL_ref(L, 3);
  gb_kmeans_share_cut(s);
}
