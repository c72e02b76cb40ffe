/* bench.c - what the machine can do, measured in the run: the denominators of every claimed rate; and
** measurements of scripts, in which nothing is remembered. */
#include "device/price.h"
#include "lua/lgb.h"

#define MOST_THREADS 256
#define LGB_MEASURE "gibbous.measurement"

static void set_rate (lua_State *L, const char *key, double rate) {
  lua_pushnumber(L, rate);
  lua_setfield(L, -2, key);
}

/* core.rates([seconds [, threads]]) -> {isa, fma, issue, exp2}: 64-byte vector instructions a second, f32
** exp2 elements a second; fma of all threads together, the others of one */
static int bench_rates (lua_State *L) {
  const double seconds = lgb_numberor(L, 1, 0.2);
  const lua_Integer threads = lgb_integeror(L, 2, 1);
  lgb_argcheck(L, seconds > 0 && seconds <= 60, 1, "0 to 60 seconds");
  lgb_argcheck(L, threads >= 1 && threads <= MOST_THREADS, 2, "1 to 256 threads");
  const gb_device *dev = lgb_session_of(L)->device;
  gb_device_peak peak;
  gb_error err;
  if (dev->ops->price == NULL || dev->ops->price->peak == NULL)
    return lgb_fail(L, GB_EDEVICE, "nothing is known of what device %s reaches at most", dev->name);
  lgb_result(L, dev->ops->price->peak((int)threads, seconds, &peak, &err), &err);
  lua_createtable(L, 0, 4);
  lua_pushstring(L, gb_device_isa(dev));
  lua_setfield(L, -2, "isa");
  set_rate(L, "fma", peak.fma);
  set_rate(L, "issue", peak.issue);
  set_rate(L, "exp2", peak.exp2);
  return 1;
}

/* core.process_memory([reset]) -> resident bytes of the process now, and at most since the last reset */
static int bench_process_memory (lua_State *L) {
  if (lua_toboolean(L, 1)) gb_process_memory_reset();
  const gb_process_memory m = gb_process_memory_read();
  lua_pushinteger(L, (lua_Integer)m.now);
  lua_pushinteger(L, (lua_Integer)m.peak);
  return 2;
}

static int measure_end (lua_State *L) {
  lgb_session **slot = luaL_checkudata(L, 1, LGB_MEASURE), *s = *slot;
  *slot = NULL;
  if (s == NULL) return 0;
  gb_measure_end(s->graph);
  lgb_session_release(s);
  return 0;
}

/* core.measure(): until it is closed, what is built again is computed again, and values of expressions
** that are older are not remembered */
static int bench_measure (lua_State *L) {
  lgb_session *s = lgb_enter(L);
  lgb_session **slot = lua_newuserdatauv(L, sizeof *slot, 0);
  *slot = NULL;
  lgb_setmeta(L, LGB_MEASURE);
  gb_error err;
  lgb_result(L, gb_measure_begin(s->graph, &err), &err);
  *slot = s;
  s->handles++;
  return 1;
}

/* core.measured(): what was run since the last measurement began, 'measured' being the most bytes of one
** run */
static int bench_measured (lua_State *L) {
  const gb_run_stats s = gb_measured(lgb_enter(L)->graph);
  return lgb_pushstats(L, &s);
}

void lgb_bench_meta (lua_State *L) {
  static const luaL_Reg events[] = {{"__close", measure_end}, {"__gc", measure_end}, {NULL, NULL}};
  lgb_newmeta(L, LGB_MEASURE, events);
  lua_pop(L, 1);
}

const luaL_Reg lgb_bench_functions[] = {{"measure", bench_measure},
                                        {"measured", bench_measured},
                                        {"process_memory", bench_process_memory},
                                        {"rates", bench_rates},
                                        {NULL, NULL}};
