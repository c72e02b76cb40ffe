/* arrays.c - arrays in files, alone or by name: .npy, .npz, .safetensors. */
#include <stdlib.h>
#include <string.h>

#include "io/archive/npz.h"
#include "io/foreign/foreign.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "lua/io/io.h"

#define LGB_TENSOR_SET "gibbous.tensor_set"

void lgb_push_leaf (lua_State *L, lgb_session *s, gb_tensor *held, const char *name) {
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, lgb_leaf(s, 0, held, name, &y->node, &err), &err);
  lua_remove(L, -2);
}

static int npy_read (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  gb_tensor *held = lgb_newholder(L);
  gb_error err;
  lgb_result(L, gb_npy_read(&s->home->ledger, path, s->where, held, &err), &err);
  lgb_push_leaf(L, s, held, "");
  return 1;
}

/* core.npy_map(path): the array where it lies in the file, on the host */
static int npy_map (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  const int device = s->home == s->device ? 0 : lgb_devicenumber(L, s, s->home->name);
  gb_tensor *held = lgb_newholder(L);
  gb_error err;
  lgb_result(L, gb_npy_map(&s->home->ledger, path, s->where, held, &err), &err);
  lgb_tensor *y = lgb_newtensor(L);
  lgb_result(L, lgb_leaf(s, device, held, "", &y->node, &err), &err);
  return 1;
}

static int npy_write (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  gb_node *x = lgb_checknode(L, 2);
  gb_error err;
  lgb_result(L, gb_npy_write(path, lgb_value(L, s, x), &err), &err);
  return 0;
}

static int tensor_set_gc (lua_State *L) {
  gb_tensor_set_clear(luaL_checkudata(L, 1, LGB_TENSOR_SET));
  return 0;
}

static gb_tensor_set *new_set (lua_State *L) {
  gb_tensor_set *set = lua_newuserdatauv(L, sizeof *set, 0);
  *set = (gb_tensor_set){0};
  lgb_setmeta(L, LGB_TENSOR_SET);
  return set;
}

/* Pushes {name = tensor}; the tensors leave the set. */
static void push_set (lua_State *L, lgb_session *s, gb_tensor_set *set) {
  lua_createtable(L, 0, (int)set->ntensors);
  for (size_t i = 0; i < set->ntensors; i++) {
    gb_tensor *held = lgb_newholder(L);
    *held = gb_tensor_ref(&set->tensor[i].value);
    gb_tensor_clear(&set->tensor[i].value);
    lgb_push_leaf(L, s, held, set->tensor[i].name);
    lua_setfield(L, -2, set->tensor[i].name);
  }
}

/* core.safetensors_read(path) -> {name = tensor}, {key = text}, is the heading spelled as
** core.safetensors_write does */
static int safetensors_read (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  gb_tensor_set *set = new_set(L);
  gb_error err;
  lgb_result(L, gb_safetensors_read(&s->home->ledger, path, s->where, set, &err), &err);
  push_set(L, s, set);
  lua_createtable(L, 0, (int)set->ntexts);
  for (size_t i = 0; i < set->ntexts; i++) {
    lua_pushstring(L, set->text[i].text);
    lua_setfield(L, -2, set->text[i].key);
  }
  lua_pushboolean(L, set->canonical);
  gb_tensor_set_clear(set);
  return 3;
}

/* core.npz_read(path [, max_ratio]) -> {name = tensor} */
static int npz_read (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  const double max_ratio = luaL_optnumber(L, 2, 0);
  gb_tensor_set *set = new_set(L);
  gb_error err;
  lgb_result(L, gb_npz_read(&s->home->ledger, path, s->where, max_ratio, set, &err), &err);
  push_set(L, s, set);
  gb_tensor_set_clear(set);
  return 1;
}

/* The string at 'index', borrowed, without a NUL in it. */
static char *whole_string (lua_State *L, int index) {
  size_t n;
  const char *s = lua_tolstring(L, index, &n);
  if (strlen(s) != n) lgb_fail(L, GB_EOPTION, "a name or text holds a NUL");
  return (char *)s;
}

/* Strings of the table at 'arg', as borrowed pairs: they stay in the table. */
static size_t borrow_texts (lua_State *L, int arg, gb_named_text **out) {
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) n++;
  *out = lgb_scratch(L, n + 1, sizeof **out);
  n = 0;
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
    lgb_argcheck(L, lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING, arg,
                 "strings by name expected");
    (*out)[n++] = (gb_named_text){whole_string(L, -2), whole_string(L, -1)};
  }
  return n;
}

/* Tensors of the table at 'arg', evaluated and borrowed: they and their names are kept in the table pushed here, for functions that
** are called for a value may change the other one. */
static size_t borrow_tensors (lua_State *L, lgb_session *s, int arg, gb_named_tensor **out) {
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) n++;
  *out = lgb_scratch(L, n + 1, sizeof **out);
  lua_createtable(L, 0, (int)n);
  const int anchor = lua_gettop(L);
  const size_t most = n;
  n = 0;
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
    if (n == most) lgb_fail(L, GB_EOPTION, "the table of tensors has grown while they were computed");
    if (lua_type(L, -2) != LUA_TSTRING)
      lgb_fail(L, GB_EOPTION, "tensors by name expected, got a key of type %s", luaL_typename(L, -2));
    gb_node *x = lgb_tonode(L, lua_gettop(L));
    if (x == NULL)
      lgb_fail(L, GB_EOPTION, "'%s' must be a tensor, got %s", lua_tostring(L, -2), luaL_typename(L, -1));
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, anchor);
    (*out)[n++] = (gb_named_tensor){whole_string(L, -2), *lgb_value(L, s, x)};
  }
  return n;
}

/* core.safetensors_write(path, {name = tensor} [, {key = text}]) */
static int safetensors_write (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  lgb_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  gb_tensor_set set = {0};
  set.ntensors = borrow_tensors(L, s, 2, &set.tensor);
  if (lua_istable(L, 3)) set.ntexts = borrow_texts(L, 3, &set.text);
  gb_error err;
  lgb_result(L, gb_safetensors_write(path, &set, &err), &err);
  return 0;
}

/* core.foreign_read(kind, path [, name]) -> {name = tensor}, a line a thing that is left out */
static int foreign_read (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *kind = lgb_checkstring(L, 1), *path = lgb_checkstring(L, 2), *only = luaL_optstring(L, 3, NULL);
  char notes[2048];
  gb_tensor_set *set = new_set(L);
  gb_error err;
  lgb_result(L, gb_foreign_read(&s->home->ledger, kind, path, only, s->where, set, notes, sizeof notes, &err),
             &err);
  push_set(L, s, set);
  gb_tensor_set_clear(set);
  lua_pushstring(L, notes);
  return 2;
}

static int by_name (const void *a, const void *b) {
  return strcmp(((const gb_named_tensor *)a)->name, ((const gb_named_tensor *)b)->name);
}

/* core.npz_write(path, {name = tensor}): in the order of the names */
static int npz_write (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  const char *path = lgb_checkstring(L, 1);
  lgb_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  gb_tensor_set set = {0};
  set.ntensors = borrow_tensors(L, s, 2, &set.tensor);
  qsort(set.tensor, set.ntensors, sizeof *set.tensor, by_name);
  gb_error err;
  lgb_result(L, gb_npz_write(path, &set, &err), &err);
  return 0;
}

const luaL_Reg lgb_arrays_functions[] = {{"foreign_read", foreign_read},
                                         {"npy_map", npy_map},
                                         {"npy_read", npy_read},
                                         {"npy_write", npy_write},
                                         {"npz_read", npz_read},
                                         {"npz_write", npz_write},
                                         {"safetensors_read", safetensors_read},
                                         {"safetensors_write", safetensors_write},
                                         {NULL, NULL}};

void lgb_arrays_meta (lua_State *L) {
  static const luaL_Reg set[] = {{"__gc", tensor_set_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_TENSOR_SET, set);
  lua_pop(L, 1);
}
