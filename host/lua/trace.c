/* trace.c - what the steps of runs took, for gb.time and gb.profile. */
#include <math.h>

#include "lua/lgb.h"
#include "plan/price/profile.h"

#define LGB_TRACE "gibbous.trace"

typedef struct trace_box {
  gb_trace *trace; /* NULL: ended */
  lgb_session *session;
} trace_box;

/* Every device of the session, in no order. */
static int devices_of (const lgb_session *s, gb_device *list[GB_GRAPH_DEVICES + 2]) {
  int n = 0;
  list[n++] = s->device;
  if (s->home != s->device) list[n++] = s->home;
  for (int i = 0; i < s->nopened; i++) list[n++] = s->opened[i];
  return n;
}

static int trace_end (lua_State *L) {
  trace_box *b = luaL_checkudata(L, 1, LGB_TRACE);
  gb_trace *t = b->trace;
  b->trace = NULL;
  if (t == NULL) return 0;
  gb_trace_end(b->session->graph, t);
  lgb_session_release(b->session);
  return 0;
}

/* core.trace([figures]): times the steps of all runs until it is closed; figures: of devices that were never measured,
** measures them first */
static int trace_begin (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_device *list[GB_GRAPH_DEVICES + 2];
  gb_error err;
  const int n = lua_toboolean(L, 1) ? devices_of(s, list) : 0;
  for (int i = 0; i < n; i++) {
    const gb_device_profile *figures;
    if (list[i]->ops->price != NULL && list[i]->lost[0] == '\0')
      lgb_result(L, LGB_CORE(s, gb_device_profile_get(list[i], &figures, &err)), &err);
  }
  trace_box *b = lua_newuserdatauv(L, sizeof *b, 0);
  *b = (trace_box){0};
  lgb_setmeta(L, LGB_TRACE);
  gb_trace *t;
  lgb_result(L, gb_trace_begin(s->graph, &t, &err), &err);
  *b = (trace_box){t, s};
  s->handles++;
  return 1;
}

static void set_number (lua_State *L, const char *key, double v) {
  if (isnan(v)) return;
  lua_pushnumber(L, v);
  lua_setfield(L, -2, key);
}

static void set_string (lua_State *L, const char *key, const char *v) {
  lua_pushstring(L, v);
  lua_setfield(L, -2, key);
}

static void push_row (lua_State *L, const gb_trace_row *r) {
  lua_createtable(L, 0, 12);
  set_string(L, "line", r->where);
  set_string(L, "op", r->op);
  set_string(L, "device", r->device);
  set_string(L, "carrier", r->carrier);
  set_string(L, "kernel", r->kernel);
  set_number(L, "seconds", r->seconds);
  set_number(L, "total", r->total);
  set_number(L, "bytes", r->bytes);
  set_number(L, "flops", r->flops);
  set_number(L, "predicted", r->predicted);
  set_number(L, "bound", r->bound);
  lua_pushinteger(L, (lua_Integer)r->calls);
  lua_setfield(L, -2, "calls");
}

static void push_event (lua_State *L, const gb_trace_event *e) {
  lua_createtable(L, 0, 6);
  lua_pushinteger(L, (lua_Integer)e->row + 1);
  lua_setfield(L, -2, "row");
  lua_pushinteger(L, (lua_Integer)e->step + 1);
  lua_setfield(L, -2, "step");
  lua_pushinteger(L, (lua_Integer)e->held);
  lua_setfield(L, -2, "held");
  set_number(L, "from", e->from);
  set_number(L, "to", e->to);
  lua_pushinteger(L, e->depth);
  lua_setfield(L, -2, "depth");
}

/* core.traced(trace): {began, dropped, missed, rows = {{line, op, device, carrier, kernel, seconds, total, bytes, flops,
** predicted, bound, calls}, ..}, events = {{row, step, held, from, to, depth}, ..}} of what has run since it began */
static int trace_read (lua_State *L) {
  const trace_box *b = luaL_checkudata(L, 1, LGB_TRACE);
  if (b->trace == NULL) return lgb_fail(L, GB_ECLOSED, "closed trace");
  const gb_trace_view v = gb_trace_read(b->trace);
  lua_createtable(L, 0, 5);
  set_number(L, "began", v.began);
  lua_pushinteger(L, (lua_Integer)v.dropped);
  lua_setfield(L, -2, "dropped");
  lua_pushinteger(L, (lua_Integer)v.missed);
  lua_setfield(L, -2, "missed");
  lua_createtable(L, (int)v.nrows, 0);
  for (size_t i = 0; i < v.nrows; i++) {
    push_row(L, &v.row[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "rows");
  lua_createtable(L, (int)v.nevents, 0);
  for (size_t i = 0; i < v.nevents; i++) {
    push_event(L, &v.event[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "events");
  return 1;
}

/* core.synchronize(): returns when the work of all devices is complete */
static int trace_wait (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_device *list[GB_GRAPH_DEVICES + 2];
  gb_error err;
  const int n = devices_of(s, list);
  for (int i = 0; i < n; i++)
    if (list[i]->lost[0] == '\0') lgb_result(L, gb_device_wait(list[i], &err), &err);
  return 0;
}

/* core.settle(): returns when kernels that devices compile beside their work are there; true: work that is done again
** may be faster */
static int trace_settle (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  gb_device *list[GB_GRAPH_DEVICES + 2];
  gb_error err;
  const int n = devices_of(s, list);
  bool any = false;
  for (int i = 0; i < n; i++) {
    bool more = false;
    if (list[i]->lost[0] == '\0') lgb_result(L, gb_device_settle(list[i], &more, &err), &err);
    any |= more;
  }
  lua_pushboolean(L, any);
  return 1;
}

void lgb_trace_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__close", trace_end}, {"__gc", trace_end}, {NULL, NULL}};
  lgb_newmeta(L, LGB_TRACE, events);
  lua_pop(L, 1);
}

const luaL_Reg lgb_trace_functions[] = {{"settle", trace_settle},
                                        {"synchronize", trace_wait},
                                        {"trace", trace_begin},
                                        {"traced", trace_read},
                                        {NULL, NULL}};
