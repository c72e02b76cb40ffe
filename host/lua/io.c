/* io.c - files to tensors and back: the C half of gb.data. */
#include <string.h>

#include "io/csv.h"
#include "io/npy.h"
#include "lua/lgb.h"

#define LGB_FRAME "gibbous.csv"

static int frame_gc (lua_State *L) {
  gb_frame_clear(luaL_checkudata(L, 1, LGB_FRAME));
  return 0;
}

/* Wraps the value in the holder on top, leaving a tensor there. */
static void push_leaf (lua_State *L, lgb_session *s, gb_tensor *held, const char *name) {
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  const gb_status st = gb_node_leaf(s->graph, held, 0, name, &y->node, &err);
  gb_tensor_clear(held);
  lgb_result(L, st, &err);
  lua_remove(L, -2);
}

static void push_numbers (lua_State *L, lgb_session *s, const gb_column *c, size_t rows) {
  const gb_shape shape = gb_shape_of(1, &rows);
  lgb_charge(L, s, rows * sizeof(double));
  gb_tensor *held = lgb_newholder(L);
  gb_error err;
  lgb_result(L, gb_tensor_new(&s->backend->ledger, GB_F64, &shape, GB_MEM_TENSOR, s->where, "", held, &err), &err);
  if (rows > 0) memcpy(gb_tensor_data(held), c->value, rows * sizeof(double));
  push_leaf(L, s, held, c->name);
}

static void push_texts (lua_State *L, const gb_column *c, size_t rows) {
  lua_createtable(L, (int)rows, 0);
  for (size_t i = 0; i < rows; i++) {
    lua_pushstring(L, c->text[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void set_integer (lua_State *L, const char *key, size_t v) {
  lua_pushinteger(L, (lua_Integer)v);
  lua_setfield(L, -2, key);
}

/* {name, value = tensor} or {name, text = {...}, odd = cells that are not numbers, line = of the first} */
static void push_column (lua_State *L, lgb_session *s, const gb_column *c, size_t rows) {
  lua_createtable(L, 0, 4);
  lua_pushstring(L, c->name);
  lua_setfield(L, -2, "name");
  if (c->text == NULL) {
    push_numbers(L, s, c, rows);
    lua_setfield(L, -2, "value");
    return;
  }
  push_texts(L, c, rows);
  lua_setfield(L, -2, "text");
  set_integer(L, "odd", c->ntext);
  set_integer(L, "line", c->first_line);
}

/* core.csv_read(path, {skip, delimiter, na, has_names}) -> {rows = n, columns...} */
static int csv_read (lua_State *L) {
  static const char *const names[] = {"skip", "delimiter", "na", "has_names", NULL};
  lgb_session *s = lgb_enter(L);
  const char *path = luaL_checkstring(L, 1);
  lgb_checkoptions(L, 2, names);
  const char *delimiter = lgb_optstring(L, 2, "delimiter", "");
  const gb_csv_options o = {.skip = (size_t)lgb_optinteger(L, 2, "skip", 0), .delimiter = delimiter[0],
                            .na = lgb_optstring(L, 2, "na", NULL), .has_names = lgb_optbool(L, 2, "has_names", false)};
  gb_frame *f = lua_newuserdatauv(L, sizeof *f, 0);
  *f = (gb_frame){0};
  luaL_setmetatable(L, LGB_FRAME);
  gb_error err;
  lgb_result(L, gb_csv_read(path, &o, f, &err), &err);
  lua_createtable(L, (int)f->ncols, 1);
  set_integer(L, "rows", f->nrows);
  for (size_t k = 0; k < f->ncols; k++) {
    push_column(L, s, &f->column[k], f->nrows);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
  gb_frame_clear(f);
  return 1;
}

/* core.csv_write(path, tensor (n, d), {names}) */
static int csv_write (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = luaL_checkstring(L, 1);
  gb_node *x = lgb_checknode(L, 2);
  const gb_tensor *t = lgb_value(L, s, x);
  const size_t rows = t->shape.ndim == 0 ? 1 : t->shape.dim[0], cols = t->shape.ndim < 2 ? 1 : t->shape.dim[1];
  luaL_argcheck(L, t->shape.ndim <= 2, 2, "a vector or matrix expected");
  double *values = lgb_scratch(L, rows * cols + 1, sizeof *values);
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < cols; k++) values[i * cols + k] = gb_tensor_at(t, (size_t[]){i, k});
  const char **names = lgb_scratch(L, cols + 1, sizeof *names);
  if (lua_istable(L, 3))
    for (size_t k = 0; k < cols; k++) {
      lua_rawgeti(L, 3, (lua_Integer)k + 1);
      names[k] = luaL_checkstring(L, -1);          /* the string stays in the list */
      lua_pop(L, 1);
    }
  gb_error err;
  lgb_result(L, gb_csv_write(path, rows, cols, values, lua_istable(L, 3) ? names : NULL, &err), &err);
  return 0;
}

static int npy_read (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = luaL_checkstring(L, 1);
  gb_tensor *held = lgb_newholder(L);
  gb_error err;
  lgb_result(L, gb_npy_read(&s->backend->ledger, path, s->where, held, &err), &err);
  push_leaf(L, s, held, "");
  return 1;
}

static int npy_write (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = luaL_checkstring(L, 1);
  gb_node *x = lgb_checknode(L, 2);
  gb_error err;
  lgb_result(L, gb_npy_write(path, lgb_value(L, s, x), &err), &err);
  return 0;
}

const luaL_Reg lgb_io_functions[] = {
    {"csv_read", csv_read}, {"csv_write", csv_write}, {"npy_read", npy_read}, {"npy_write", npy_write}, {NULL, NULL}};

void lgb_io_meta (lua_State *L) {
  luaL_newmetatable(L, LGB_FRAME);
  lua_pushcfunction(L, frame_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}
