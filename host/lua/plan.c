/* plan.c - gb.plan: what an expression will take before it takes it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "lua/lgb.h"

#define LGB_PLAN "gibbous.plan"
#define LGB_TEXT "gibbous.text"

/* user value 1: what was planned, a tensor or a list of them that no script has; 2: what it waits for, a list of {tensor,
** bytes, minimum, seconds, kept, about, what}: promises, which are kept before it runs, and what that
** takes */
typedef struct plan_box {
  gb_plan *plan;
  lgb_session *session;
  size_t nouts;
  bool running;
  size_t peak, minimum, kept; /* of what it waits for: of one after the other, and what all leave */
  double seconds;             /* of all; NaN: not known of one */
} plan_box;

static int text_gc (lua_State *L) {
  char **text = luaL_checkudata(L, 1, LGB_TEXT);
  free(*text);
  *text = NULL;
  return 0;
}

char **lgb_newtext (lua_State *L) {
  char **text = lua_newuserdatauv(L, sizeof *text, 0);
  *text = NULL;
  lgb_setmeta(L, LGB_TEXT);
  return text;
}

/* The plan whose method was called. */
static plan_box *receiver (lua_State *L) {
  plan_box *p = luaL_testudata(L, 1, LGB_PLAN);
  if (p != NULL) return p;
  const char *got = luaL_typename(L, 1), *name = lgb_function_name(L);
  if (*name == '?')
    lgb_fail(L, GB_EOPTION, "a plan expected, got %s: methods are called with a colon, plan:explain()", got);
  lgb_fail(L, GB_EOPTION, "a plan expected, got %s: write plan:%s(...) with a colon, not plan.%s(...)", got,
           name, name);
  return NULL;
}

static int plan_close (lua_State *L) {
  plan_box *p = receiver(L);
  if (p->running) return lgb_fail(L, GB_EOPTION, "plan: it cannot be closed while it runs");
  gb_plan *plan = p->plan;
  lgb_session *s = p->session;
  p->plan = NULL;
  p->session = NULL;
  gb_plan_free(plan);
  if (s != NULL) lgb_session_release(s);
  return 0;
}

static plan_box *checkplan (lua_State *L) {
  plan_box *p = receiver(L);
  if (p->plan == NULL) lgb_fail(L, GB_ECLOSED, "closed plan");
  const gb_device *dev = gb_plan_outdated(p->plan);
  if (dev != NULL)
    lgb_fail(L, GB_EDEVICE, "plan: it was made for %s, and the session's device is %s now: plan again",
             dev->name, p->session->device->name);
  return p;
}

/* The value on top of the stack, which goes. */
static size_t popbudget (lua_State *L) {
  const size_t bytes = lgb_tobytes(L, lua_gettop(L), "plan: option 'budget'");
  lua_pop(L, 1);
  if (bytes == 0) lgb_fail(L, GB_EOPTION, "plan: option 'budget' must be above 0");
  return bytes;
}

static gb_device *popdevice (lua_State *L, lgb_session *s) {
  if (lua_type(L, -1) != LUA_TSTRING)
    lgb_fail(L, GB_EOPTION, "plan: option 'device' must be a name or a list of names, got a %s",
             luaL_typename(L, -1));
  gb_device *dev = lgb_checkdevice(L, s, lua_tostring(L, -1));
  lua_pop(L, 1);
  return dev;
}

/* device = "cpu:2" or {"cpu", "cpu:2", ...}: how many */
static int device_option (lua_State *L, int arg, lgb_session *s, gb_plan_on on[GB_DEVICES]) {
  if (!lgb_option(L, arg, "device")) return 0;
  if (!lua_istable(L, -1)) {
    on[0].device = popdevice(L, s);
    return 1;
  }
  const lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  if (n < 1 || n > GB_DEVICES)
    lgb_fail(L, GB_EOPTION, "plan: option 'device' lists 1 to %d names, got %d", GB_DEVICES, (int)n);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    on[i - 1].device = popdevice(L, s);
  }
  lua_pop(L, 1);
  return (int)n;
}

/* budget = size, of each device, or {size, ...} as they are listed. */
static size_t budget_option (lua_State *L, int arg, int n, gb_plan_on *on) {
  if (!lgb_option(L, arg, "budget")) return 0;
  if (!lua_istable(L, -1) || n == 0) {
    const size_t bytes = popbudget(L);
    for (int i = 0; i < n; i++) on[i].budget = bytes;
    return bytes;
  }
  if ((lua_Integer)lua_rawlen(L, -1) != n)
    lgb_fail(L, GB_EOPTION, "plan: option 'budget' lists one size a device, got %d for %d",
             (int)lua_rawlen(L, -1), n);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, -1, i + 1);
    on[i].budget = popbudget(L);
  }
  lua_pop(L, 1);
  return 0;
}

static unsigned move_of (lua_State *L, const char *name) {
  static const struct {
    const char *name;
    unsigned bit;
  } moves[] = {{"cache", GB_ALLOW_CACHE},
               {"cut", GB_ALLOW_CUT},
               {"order", GB_ALLOW_ORDER},
               {"pack", GB_ALLOW_PACK},
               {"recompute", GB_ALLOW_RECOMPUTE}};
  for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
    if (strcmp(moves[i].name, name) == 0) return moves[i].bit;
  lgb_fail(L, GB_EOPTION,
           "plan: option 'allow' is a list of 'cache', 'cut', 'order', 'pack', 'recompute', got '%s'", name);
  return 0;
}

/* {"pack", "cut"}: only these; {}: nothing but every step whole, in program order */
static unsigned forbid_option (lua_State *L, int arg) {
  unsigned allowed = 0;
  if (!lgb_option(L, arg, "allow")) return 0;
  if (!lua_istable(L, -1))
    lgb_fail(L, GB_EOPTION, "plan: option 'allow' must be a list, got %s", luaL_typename(L, -1));
  const lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_rawgeti(L, -1, i) != LUA_TSTRING)
      lgb_fail(L, GB_EOPTION, "plan: option 'allow' is a list of strings, got a %s", luaL_typename(L, -1));
    allowed |= move_of(L, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return GB_ALLOW_ALL & ~allowed;
}

/* True: the second of two names. */
static bool either_option (lua_State *L, int arg, const char *name, const char *first, const char *second) {
  const char *got = lgb_optstring(L, arg, name, first);
  if (strcmp(got, first) != 0 && strcmp(got, second) != 0)
    lgb_fail(L, GB_EOPTION, "plan: option '%s' must be '%s' or '%s', got '%s'", name, first, second, got);
  return strcmp(got, second) == 0;
}

static size_t bytes_field (lua_State *L, const char *name) {
  const bool known = lua_getfield(L, -1, name) == LUA_TNUMBER;
  const lua_Integer bytes = known ? lua_tointeger(L, -1) : 0;
  lua_pop(L, 1);
  return bytes > 0 ? (size_t)bytes : 0;
}

/* What promises below the nodes will take, in the plan on top of the stack. Their costs are asked for, not
** paid. */
static void wait_for_promises (lua_State *L, plan_box *p, size_t n, gb_node *const *nodes, size_t budget) {
  bool known = true;
  lgb_pushpromised(L, n, nodes);
  const lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    lua_getfield(L, -1, "cost");
    lua_call(L, 0, 1);
    lgb_checktype(L, -1, LUA_TTABLE);
    const size_t bytes = bytes_field(L, "bytes"), least = bytes_field(L, "minimum"),
                 kept = bytes_field(L, "kept");
    if (p->kept + bytes > p->peak) p->peak = p->kept + bytes;
    if (p->kept + least > p->minimum) p->minimum = p->kept + least;
    p->kept += kept;
    known &= lua_getfield(L, -1, "seconds") == LUA_TNUMBER;
    p->seconds += lua_tonumber(L, -1);
    lua_pop(L, 1);
    lua_getfield(L, -2, "tensor");
    lua_setfield(L, -2, "tensor");
    lua_rawseti(L, -3, i);
    lua_pop(L, 1);
  }
  if (!known) p->seconds = NAN;
  if (budget > 0 && p->minimum > budget) {
    char need[GB_BYTES_TEXT], have[GB_BYTES_TEXT];
    gb_error err;
    const gb_status st = gb_fail(&err, GB_EREFUSED,
                                 "plan refused: the solves that it waits for need %s, the budget is %s",
                                 gb_bytes_text(p->minimum, need), gb_bytes_text(budget, have));
    err.need = err.minimum = p->minimum;
    err.have = budget;
    lgb_raise(L, st, &err);
  }
  lua_setiuservalue(L, -2, 2);
}

/* Keeps the promises of the plan at 'arg', so that its leaves have values. */
static void keep_promises (lua_State *L, lgb_session *s, int arg) {
  lua_getiuservalue(L, arg, 2);
  const lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    lua_getfield(L, -1, "tensor");
    lgb_value(L, s, lgb_checknode(L, lua_gettop(L)));
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

/* What was asked for, on top of the stack, has the values of what was planned in its place, and lets its history go as after gb.eval.
** Pushes a copy of a list. */
static void hand_over (lua_State *L, plan_box *p) {
  gb_node *one = lgb_tonode(L, lua_gettop(L)), **outs = &one;
  size_t n = 1;
  const int top = lua_gettop(L);
  if (one == NULL) outs = lgb_checklist(L, top, &n);
  for (size_t i = 0; i < n; i++) {
    if (p->session->graph->npromises > 0) gb_node_take_values(outs[i], gb_plan_out(p->plan, i));
    lgb_drop_history(p->session, outs[i]);
  }
  lua_settop(L, one == NULL ? top + 1 : top);
}

/* gb.plan(y or {...}, {allow, budget, device, exact, prefer}); several devices: {device = {"cpu",
** "cpu:2"}, budget = {size, size}} */
static int plan_new (lua_State *L) {
  static const char *const names[] = {"allow", "budget", "device", "exact", "prefer", NULL};
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  lgb_checkoptions(L, 2, names);
  gb_plan_on on[GB_DEVICES] = {0};
  const int ndevices = device_option(L, 2, s, on);
  const size_t budget = budget_option(L, 2, ndevices, on);
  const gb_plan_options options = {.budget = ndevices == 0 ? budget : 0,
                                   .ndevices = ndevices,
                                   .on = on,
                                   .forbid = forbid_option(L, 2),
                                   .least = either_option(L, 2, "prefer", "time", "memory"),
                                   .math = either_option(L, 2, "exact", "bits", "math")};
  gb_node *one = lgb_tonode(L, 1), **outs = &one;
  size_t n = 1;
  if (one == NULL) {
    outs = lgb_checklist(L, 1, &n);
    lua_pushvalue(L, -2); /* the list may change: its copy does not */
    lua_replace(L, 1);
  }
  lgb_argcheck(L, n > 0, 1, "at least one tensor expected");
  outs = lgb_redeemed(L, s, n, outs, GB_WALK_READ, false);
  plan_box *p = lua_newuserdatauv(L, sizeof *p, 2);
  *p = (plan_box){.session = s, .nouts = n};
  s->handles++;
  lgb_setmeta(L, LGB_PLAN);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  wait_for_promises(L, p, n, outs, budget);
  gb_error err;
  return lgb_result(L, LGB_CORE(s, gb_plan_new(s->graph, n, outs, &options, &p->plan, &err)), &err);
}

/* -- running */

static int run_in_place (lua_State *L, plan_box *p) {
  keep_promises(L, p->session, 1);
  checkplan(L); /* a function that was called meanwhile may have closed it */
  gb_error err;
  lgb_core_begins(p->session, L);
  p->running = true;
  const gb_status st = gb_plan_run(p->plan, &err);
  p->session->busy = p->running = false;
  lgb_result(L, st, &err);
  lua_getiuservalue(L, 1, 1);
  hand_over(L, p);
  return 1;
}

/* The key on top of the stack. What gb.lazy or requires_grad gave is another leaf than what they were
** given. */
static gb_node *checkleaf (lua_State *L, const gb_plan *plan) {
  gb_node *leaf = lgb_tonode(L, lua_gettop(L));
  if (leaf == NULL)
    lgb_fail(L, GB_EOPTION, "run: the keys are leaves of the plan, got a %s", luaL_typename(L, -1));
  if (!gb_plan_has_leaf(plan, leaf)) {
    char text[GB_NODE_TEXT];
    lgb_fail(L, GB_EOPTION, "run: the keys must be leaves of the plan, and %s is not one",
             gb_node_text(leaf, text));
  }
  return leaf;
}

/* Values for the leaves of a run, 'most' of them; each evaluated, so that its storage can be read. Functions that are called for a
** value may close the plan and change the table. */
static size_t checkbindings (lua_State *L, lgb_session *s, size_t most, gb_node **leaf, gb_tensor *value,
                             int anchors) {
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1), n++) {
    if (n == most) lgb_fail(L, GB_EOPTION, "run: the table of values has grown while they were computed");
    lua_pushvalue(L, -2);
    leaf[n] = checkleaf(L, checkplan(L)->plan);
    lua_pushvalue(L, -2);
    gb_node *v = lgb_checkoperand(L, lua_gettop(L), leaf[n]);
    value[n] = *lgb_value(L, s, v);
    lua_rawseti(L, anchors, (lua_Integer)n * 2 + 1);
    lua_rawseti(L, anchors, (lua_Integer)n * 2 + 2);
  }
  checkplan(L);
  return n;
}

static size_t count_entries (lua_State *L, int arg) {
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) n++;
  return n;
}

/* One tensor where one was planned, else a list. */
static int push_results (lua_State *L, plan_box *p, gb_tensor **held) {
  gb_error err;
  const bool single = luaL_testudata(L, -1, LGB_TENSOR) != NULL;
  lua_createtable(L, (int)p->nouts, 0);
  for (size_t i = 0; i < p->nouts; i++) {
    lgb_tensor *y = lgb_newtensor(L);
    const gb_status st = gb_node_leaf(p->session->graph, held[i], 0, NULL, &y->node, &err);
    gb_tensor_clear(held[i]);
    lgb_result(L, st, &err);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  if (single) lua_rawgeti(L, -1, 1);
  return 1;
}

/* plan:run(): computes what was planned. plan:run{[leaf] = tensor}: the same with other values in the
** leaves. */
static int m_run (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lua_settop(L, 2);
  plan_box *p = checkplan(L);
  if (p->running) return lgb_fail(L, GB_EOPTION, "run: the plan is running already");
  if (lua_isnil(L, 2)) return run_in_place(L, p);
  lgb_checktype(L, 2, LUA_TTABLE);
  keep_promises(L, s, 1);
  const size_t most = count_entries(L, 2);
  lua_newtable(L);
  gb_node **leaf = lgb_scratch(L, most, sizeof *leaf);
  gb_tensor *value = lgb_scratch(L, most, sizeof *value), *out = lgb_scratch(L, p->nouts, sizeof *out);
  gb_tensor **held = lgb_scratch(L, p->nouts, sizeof *held);
  const size_t n = checkbindings(L, s, most, leaf, value, 3);
  luaL_checkstack(L, (int)p->nouts + LUA_MINSTACK, "run");
  for (size_t i = 0; i < p->nouts; i++) held[i] = lgb_newholder(L);
  lua_getiuservalue(L, 1, 1);
  gb_error err;
  lgb_core_begins(s, L);
  p->running = true;
  const gb_status st = gb_plan_run_with(p->plan, n, leaf, value, out, &err);
  s->busy = p->running = false;
  for (size_t i = 0; i < p->nouts; i++) *held[i] = out[i];
  if (st != GB_OK) return lgb_raise(L, st, &err);
  return push_results(L, p, held);
}

/* -- reports */

static int push_text (lua_State *L, char *(*make)(const gb_plan *)) {
  const plan_box *p = checkplan(L);
  char **text = lgb_newtext(L);
  *text = make(p->plan);
  if (*text == NULL) return lgb_fail(L, GB_ENOMEM, "no memory for the report");
  lua_pushstring(L, *text);
  return 1;
}

/* The text on the top; with a path, into a file. */
static int put_pushed (lua_State *L, const char *path) {
  if (path == NULL) return 1;
  size_t n;
  const char *text = lua_tolstring(L, -1, &n);
  gb_error err;
  lgb_result(L, gb_outfile_put(path, text, n, &err), &err);
  return 0;
}

static int put_text (lua_State *L, char *(*make)(const gb_plan *)) {
  const char *path = luaL_optstring(L, 2, NULL);
  push_text(L, make);
  return put_pushed(L, path);
}

/* The report, and first what the plan waits for. */
static int m_explain (lua_State *L) {
  luaL_Buffer b;
  checkplan(L);
  lua_settop(L, 1);
  push_text(L, gb_plan_explain);
  lua_replace(L, 2);
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 2);
  const lua_Integer count = (lua_Integer)lua_rawlen(L, 3);
  if (count == 0) {
    lua_settop(L, 2);
    return 1;
  }
  luaL_buffinit(L, &b);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 3, i);
    lua_getfield(L, -1, "what");
    lua_remove(L, -2);
    luaL_addvalue(&b);
    luaL_addchar(&b, '\n');
  }
  lua_pushvalue(L, 2);
  luaL_addvalue(&b);
  luaL_pushresult(&b);
  return 1;
}

static int m_programs (lua_State *L) { return push_text(L, gb_plan_programs); }
/* Pushes what the plan waits for as JSON: a list of what, bytes, minimum and, where they are known, seconds. */
static void push_waits_json (lua_State *L, int list, lua_Integer count) {
  static const char *const fields[] = {"what", "bytes", "minimum", "seconds"};
  lua_pushcfunction(L, lgb_json_encode);
  lua_newtable(L);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, list, i);
    lua_newtable(L);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
      lua_getfield(L, -2, fields[f]);
      lua_setfield(L, -2, fields[f]);
    }
    lua_rawseti(L, -3, i);
    lua_pop(L, 1);
  }
  lua_call(L, 1, 1);
}

/* plan:json() -> text; plan:json(path) writes it */
static int m_json (lua_State *L) {
  luaL_Buffer b;
  checkplan(L);
  const char *path = luaL_optstring(L, 2, NULL);
  lua_settop(L, 2);
  push_text(L, gb_plan_json);
  lua_replace(L, 3);
  lua_settop(L, 3);
  lua_getiuservalue(L, 1, 2);
  const lua_Integer count = (lua_Integer)lua_rawlen(L, 4);
  if (count > 0) {
    push_waits_json(L, 4, count);
    const char *text = lua_tostring(L, 3), *end = strrchr(text, '}');
    while (end[-1] == '\n' || end[-1] == ' ') end--;
    luaL_buffinit(L, &b);
    luaL_addlstring(&b, text, (size_t)(end - text));
    luaL_addstring(&b, ",\n  \"waits\": ");
    luaL_addstring(&b, lua_tostring(L, 5));
    luaL_addstring(&b, "\n}\n");
    luaL_pushresult(&b);
  } else lua_settop(L, 3);
  return put_pushed(L, path);
}
static int m_svg (lua_State *L) { return put_text(L, gb_plan_svg); }

/* Of all that happens: what it waits for leaves its results beside the run. */
static size_t peak_of (const plan_box *p, const gb_plan_report *r) {
  return p->kept + r->peak > p->peak ? p->kept + r->peak : p->peak;
}

static size_t minimum_of (const plan_box *p, const gb_plan_report *r) {
  return p->kept + r->minimum > p->minimum ? p->kept + r->minimum : p->minimum;
}

/* Predicted seconds of the candidate that was chosen and of what it waits for; NaN where they are
** not known. */
static double seconds_of (lua_State *L, const plan_box *p, const gb_plan_report *r, int arg) {
  double own = 0;
  for (int i = 0; i < r->ncandidates; i++)
    if (r->candidate[i].chosen) own = r->candidate[i].seconds;
  lua_getiuservalue(L, arg, 2);
  const bool waits = lua_rawlen(L, -1) > 0;
  lua_pop(L, 1);
  return own > 0 ? own + p->seconds : waits && r->nsteps == 0 ? p->seconds : NAN;
}

static void push_seconds (lua_State *L, const plan_box *p, const gb_plan_report *r) {
  const double seconds = seconds_of(L, p, r, 1);
  if (!isnan(seconds)) lua_pushnumber(L, seconds);
  else lua_pushnil(L);
}

/* Pushes " on cpu, 3 KiB on far"; "" for a plan on one device. */
static void push_peaks (lua_State *L, const gb_plan *p) {
  const gb_plan_device *d;
  char peak[GB_BYTES_TEXT];
  const int n = gb_plan_devices(p, &d);
  lua_pushliteral(L, "");
  if (n == 0) return;
  lua_pushfstring(L, " on %s", d[0].name);
  for (int i = 1; i < n; i++) {
    lua_pushfstring(L, ", %s on %s", gb_bytes_text(d[i].peak, peak), d[i].name);
    lua_concat(L, 2);
  }
  lua_concat(L, 2);
}

static int plan_tostring (lua_State *L) {
  const plan_box *p = luaL_checkudata(L, 1, LGB_PLAN);
  if (p->plan == NULL) {
    lua_pushliteral(L, "plan (closed)");
    return 1;
  }
  gb_plan_report r;
  char peak[GB_BYTES_TEXT], minimum[GB_BYTES_TEXT], text[48];
  gb_plan_report_get(p->plan, &r);
  lua_pushfstring(L, "plan of %d step%s", r.nsteps, lgb_plural((uint64_t)r.nsteps));
  if (r.again > 0) lua_pushfstring(L, ", %d of them again", r.again);
  else lua_pushliteral(L, "");
  lua_pushfstring(L, "  peak %s", gb_bytes_text(peak_of(p, &r), peak));
  push_peaks(L, p->plan);
  lua_pushfstring(L, "  minimum %s", gb_bytes_text(minimum_of(p, &r), minimum));
  lua_concat(L, 5);
  const double seconds = seconds_of(L, p, &r, 1);
  lua_getiuservalue(L, 1, 2);
  const bool waits = lua_rawlen(L, -1) > 0;
  lua_pop(L, 1);
  if (!waits || isnan(seconds)) return 1;
  snprintf(text, sizeof text, "  about %.2g s", seconds);
  lua_pushstring(L, text);
  lua_concat(L, 2);
  return 1;
}

/* What each step is, in order. */
static void push_variants (lua_State *L, const gb_plan_report *r) {
  lua_createtable(L, r->nsteps, 0);
  for (int i = 0; i < r->nsteps; i++) {
    lua_pushstring(L, r->step[i] != NULL ? r->step[i] : "");
    lua_rawseti(L, -2, i + 1);
  }
}

static void set_text (lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, key);
}

static void set_integer (lua_State *L, const char *key, size_t v) {
  lua_pushinteger(L, (lua_Integer)v);
  lua_setfield(L, -2, key);
}

static void push_row (lua_State *L, const gb_plan_row *row) {
  const bool shaped = row->cls != GB_ROW_WORKSPACE && row->cls != GB_ROW_STATE;
  lua_createtable(L, 0, 10);
  set_text(L, "what", row->what);
  set_text(L, "line", row->where);
  set_text(L, "class", gb_row_class_name(row->cls));
  if (shaped) set_text(L, "dtype", gb_dtype_name(row->dtype));
  if (shaped) {
    lgb_pushshape(L, &row->shape);
    lua_setfield(L, -2, "shape");
  }
  if (row->window > 0) set_integer(L, "window", row->window);
  set_integer(L, "bytes", row->bytes);
  if (row->offset != SIZE_MAX) set_integer(L, "offset", row->offset);
  set_integer(L, "first", (size_t)row->first + 1);
  set_integer(L, "last", (size_t)row->last + 1);
}

static void push_rows (lua_State *L, const gb_plan_report *r) {
  lua_createtable(L, r->nrows, 0);
  for (int i = 0; i < r->nrows; i++) {
    push_row(L, &r->row[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_copies (lua_State *L, const gb_plan_device *d) {
  lua_createtable(L, d->ncopies, 0);
  for (int i = 0; i < d->ncopies; i++) {
    const gb_plan_copy *c = &d->copy[i];
    lua_createtable(L, 0, 6);
    lua_pushstring(L, c->what);
    lua_setfield(L, -2, "what");
    lua_pushstring(L, c->where);
    lua_setfield(L, -2, "line");
    lua_pushstring(L, c->from);
    lua_setfield(L, -2, "from");
    lua_pushstring(L, c->to);
    lua_setfield(L, -2, "to");
    lua_pushinteger(L, (lua_Integer)c->bytes);
    lua_setfield(L, -2, "bytes");
    lua_pushinteger(L, (lua_Integer)c->times);
    lua_setfield(L, -2, "times");
    lua_rawseti(L, -2, i + 1);
  }
}

/* range: first and last index of the axis, absent where the device gets nothing */
static void push_range (lua_State *L, const gb_plan_device *d) {
  if (d->hi == d->lo) return;
  lua_createtable(L, 2, 0);
  lua_pushinteger(L, (lua_Integer)d->lo + 1);
  lua_rawseti(L, -2, 1);
  lua_pushinteger(L, (lua_Integer)d->hi);
  lua_rawseti(L, -2, 2);
  lua_setfield(L, -2, "range");
  lua_pushinteger(L, (lua_Integer)d->chunk);
  lua_setfield(L, -2, "window");
}

static void push_device (lua_State *L, const gb_plan_device *d) {
  lua_createtable(L, 0, 7);
  lua_pushstring(L, d->name);
  lua_setfield(L, -2, "name");
  lua_pushinteger(L, (lua_Integer)d->peak);
  lua_setfield(L, -2, "peak");
  lua_pushinteger(L, (lua_Integer)d->arena);
  lua_setfield(L, -2, "arena");
  if (d->budget > 0) {
    lua_pushinteger(L, (lua_Integer)d->budget);
    lua_setfield(L, -2, "budget");
  }
  push_range(L, d);
  push_copies(L, d);
  lua_setfield(L, -2, "copies");
}

/* A plan for one device has that one, with nothing to share. */
static void push_devices (lua_State *L, const gb_plan *p, const gb_plan_report *r) {
  const gb_plan_device *d;
  const int n = gb_plan_devices(p, &d);
  const gb_plan_device alone = {
      .name = gb_plan_out(p, 0)->graph->device->name, .peak = r->peak, .arena = r->arena};
  lua_createtable(L, n, 0);
  for (int i = 0; i < (n == 0 ? 1 : n); i++) {
    push_device(L, n == 0 ? &alone : &d[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* upvalue 1: methods */
static int plan_index (lua_State *L) {
  static const char *const facts[] = {"arena",    "caches",   "lower_bound", "minimum", "outputs",
                                      "peak",     "rows",     "stats",       "seconds", "steps",
                                      "variants", "waits",    "close",       "devices", "explain",
                                      "json",     "programs", "run",         "svg",     NULL};
  luaL_checkudata(L, 1, LGB_PLAN);
  const char *key = lgb_checkstring(L, 2);
  if (lua_getfield(L, lua_upvalueindex(1), key) != LUA_TNIL) return 1;
  const plan_box *p = checkplan(L);
  gb_plan_report r;
  gb_plan_report_get(p->plan, &r);
  if (strcmp(key, "peak") == 0) lua_pushinteger(L, (lua_Integer)peak_of(p, &r));
  else if (strcmp(key, "minimum") == 0) lua_pushinteger(L, (lua_Integer)minimum_of(p, &r));
  else if (strcmp(key, "seconds") == 0) push_seconds(L, p, &r);
  else if (strcmp(key, "waits") == 0) lua_getiuservalue(L, 1, 2);
  else if (strcmp(key, "arena") == 0) lua_pushinteger(L, (lua_Integer)r.arena);
  else if (strcmp(key, "outputs") == 0) lua_pushinteger(L, (lua_Integer)r.outputs);
  else if (strcmp(key, "caches") == 0) lua_pushinteger(L, (lua_Integer)r.caches);
  else if (strcmp(key, "lower_bound") == 0) lua_pushinteger(L, (lua_Integer)r.lower_bound);
  else if (strcmp(key, "steps") == 0) lua_pushinteger(L, r.nsteps);
  else if (strcmp(key, "variants") == 0) push_variants(L, &r);
  else if (strcmp(key, "rows") == 0) push_rows(L, &r);
  else if (strcmp(key, "devices") == 0) push_devices(L, p->plan, &r);
  else {
    char near[64];
    if (lgb_nearest(key, facts, near, sizeof near))
      return lgb_fail(L, GB_EINDEX, "a plan has no field '%s', did you mean '%s'?", key, near);
    return lgb_fail(L, GB_EINDEX, "a plan has no field '%s'", key);
  }
  return 1;
}

int lgb_pushstats (lua_State *L, const gb_run_stats *s) {
  lua_createtable(L, 0, 8);
  lua_pushinteger(L, (lua_Integer)s->predicted);
  lua_setfield(L, -2, "predicted");
  lua_pushinteger(L, (lua_Integer)s->measured);
  lua_setfield(L, -2, "measured");
  lua_pushnumber(L, s->seconds);
  lua_setfield(L, -2, "seconds");
  lua_pushinteger(L, (lua_Integer)s->pairs);
  lua_setfield(L, -2, "pairs");
  lua_pushinteger(L, s->folds);
  lua_setfield(L, -2, "folds");
  lua_pushinteger(L, s->opaques);
  lua_setfield(L, -2, "opaques");
  lua_pushinteger(L, s->windows);
  lua_setfield(L, -2, "windows");
  lua_pushinteger(L, (lua_Integer)s->moved);
  lua_setfield(L, -2, "moved");
  return 1;
}

/* plan:stats(): the last run as measured */
static int m_stats (lua_State *L) {
  gb_run_stats stats;
  const gb_plan_device *d;
  const gb_plan *p = checkplan(L)->plan;
  gb_plan_stats(p, &stats);
  lgb_pushstats(L, &stats);
  const int n = gb_plan_devices(p, &d);
  if (n == 0) return 1;
  lua_createtable(L, 0, n); /* bytes that each ledger has seen, by name */
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)gb_plan_measured_on(p, i));
    lua_setfield(L, -2, d[i].name);
  }
  lua_setfield(L, -2, "devices");
  return 1;
}

void lgb_plan_meta (lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__close", plan_close}, {"__gc", plan_close}, {"__tostring", plan_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"close", plan_close}, {"explain", m_explain}, {"json", m_json}, {"programs", m_programs},
      {"run", m_run},        {"stats", m_stats},     {"svg", m_svg},   {NULL, NULL}};
  static const luaL_Reg text[] = {{"__gc", text_gc}, {NULL, NULL}};
  lgb_newmeta(L, LGB_TEXT, text);
  lgb_newmeta(L, LGB_PLAN, meta);
  luaL_newlib(L, methods);
  lua_pushcclosure(L, plan_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 2);
}

const luaL_Reg lgb_plan_functions[] = {{"plan", plan_new}, {NULL, NULL}};
