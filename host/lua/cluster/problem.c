/* problem.c - see problem.h. */
#include "lua/cluster/problem.h"

#include <string.h>

/* -- where values lie */

#define MOST_VIEWS 16

/* 't' becomes the view n of it. False: n is none, and 't' is of no use. */
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

static bool lies_well (const gb_node *x, gb_tensor *t) {
  return find_value(x, 0, t) && t->dtype == GB_F64 && gb_tensor_is_contiguous(t) &&
         gb_memory_is_host(t->storage->ledger->memory);
}

size_t lgb_doubles_bytes (const gb_node *x) {
  gb_tensor t;
  return lies_well(x, &t) ? 0 : gb_shape_bytes(gb_node_shape(x), GB_F64);
}

const double *lgb_pushdoubles (lua_State *L, lgb_session *s, gb_node *x) {
  gb_tensor *held = lgb_newholder(L), t, host;
  gb_error err;
  if (lies_well(x, &t)) return gb_host_elements(&t);
  if (!find_value(x, 0, &t)) t = *lgb_value(L, s, x);
  lgb_result(L,
             gb_tensor_new(&s->home->ledger, GB_F64, &t.shape, GB_MEM_WORKSPACE, lgb_where(L, s), "k-means",
                           held, &err),
             &err);
  lgb_result(L, gb_host_of(&t, &host, &err), &err);
  gb_host_copy(held, &host);
  return gb_host_elements(held);
}

/* -- points */

/* Where option 'device' says; else at home, where the host reads points of any device. */
static gb_device *check_device (lua_State *L, lgb_session *s) {
  const char *name = lgb_optstring(L, 2, "device", NULL);
  gb_device *dev = name == NULL ? s->home : lgb_checkdevice(L, s, name);
  if (dev->ops->cluster == NULL || !gb_memory_is_host(&dev->memory))
    lgb_fail(L, GB_EOPTION,
             "gb.kmeans: k-means on '%s' is not in this version; without 'device' the host reads the points",
             dev->name);
  return dev;
}

static size_t pieces_of (const gb_node *x, bool has_value) {
  const gb_shape *s = gb_node_shape(x);
  if (has_value) return 1;
  const size_t rows = lgb_tile_rows(s->dim[1], gb_node_dtype(x));
  return (s->dim[0] + rows - 1) / rows;
}

static void add_piece (lgb_points *p, const gb_tensor *t, size_t first, size_t n) {
  gb_kmeans_piece *piece = &p->piece[p->npieces];
  piece->device = p->device;
  piece->x = (gb_points){
      .dtype = t->dtype, .row = t->stride[0], .column = t->stride[1], .n = n, .d = p->d, .unit = p->unit};
  piece->number = p->npieces;
  p->first[p->npieces++] = first;
  p->n += n;
}

/* The pieces of one tensor. */
static void add_points (lua_State *L, lgb_points *p, gb_node *x, bool values) {
  const bool placeholder = (x->flags & GB_NODE_PLACEHOLDER) != 0;
  const size_t n = gb_node_shape(x)->dim[0];
  gb_tensor t = {.dtype = gb_node_dtype(x), .shape = *gb_node_shape(x)}, host;
  gb_strides_of(&t.shape, t.stride);
  p->dtype = t.dtype;
  if (n == 0) return;
  if (find_value(x, 0, &t)) {
    gb_error err;
    *lgb_newholder(L) = gb_tensor_ref(&t); /* no cache goes meanwhile */
    luaL_ref(L, 3);
    lgb_result(L, gb_host_of(&t, &host, &err), &err);
    add_piece(p, &t, 0, n);
    p->piece[p->npieces - 1].x.at = gb_host_elements(&host);
    return;
  }
  if (placeholder) {
    if (values) lgb_fail(L, GB_EOPTION, "k-means: the points have no values: gb.empty is for km:plan alone");
    add_piece(p, &t, 0, n);
    return;
  }
  lgb_tiles *tiles = lgb_scratch(L, 1, sizeof *tiles);
  luaL_ref(L, 3);
  *tiles = (lgb_tiles){.x = x, .rows = lgb_tile_rows(p->d, t.dtype)};
  for (size_t i = 0; i < n; i += tiles->rows) {
    p->tiles[p->npieces] = tiles;
    p->piece[p->npieces].source = &p->source;
    add_piece(p, &t, i, n - i < tiles->rows ? n - i : tiles->rows);
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
      lgb_fail(L, GB_ESHAPE, "k-means: tensor %zu of the list has %zu columns, the first has %zu", i + 1,
               s->dim[1], p->d);
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
}

/* A rank without points. */
static void add_nothing (lua_State *L, lgb_points *p) {
  const gb_tensor none = {.dtype = p->dtype, .stride = {(ptrdiff_t)p->d, 1}};
  if (!lgb_optbool(L, 2, "ranks", false)) lgb_fail(L, GB_ESHAPE, "k-means: no points");
  add_piece(p, &none, 0, 0);
}

lgb_points *lgb_checkpoints (lua_State *L, bool values) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_newtable(L); /* 3: keeps all that follows alive */
  lgb_points *p = lgb_scratch(L, 1, sizeof *p);
  size_t count;
  gb_node **nodes = lgb_checklist(L, 1, &count);
  luaL_argcheck(L, count > 0, 1, "at least one tensor expected");
  *p =
      (lgb_points){.session = s, .device = check_device(L, s), .unit = lgb_optbool(L, 2, "spherical", false)};
  p->source = (gb_kmeans_source){.open = lgb_tile_open, .close = lgb_tile_close, .ud = p};
  check_nodes(L, p, count, nodes);
  make_room(L, p, count, nodes);
  for (size_t i = 0; i < count; i++) add_points(L, p, nodes[i], values);
  if (p->npieces == 0) add_nothing(L, p);
  check_weights(L, p);
  return p;
}
