/* session.c - what belongs to one Lua state: device, graph, settings, and the collector's share of their
** memory. */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "device/registry.h"
#include "lua/lgb.h"
#include "plan/price/profile.h"

#define LGB_SESSION "gibbous.session"

static const char session_key = 's'; /* its address is the registry key */

/* Environment variables. A value that cannot be meant is ignored, and said. */

enum { MOST_THREADS = 1024 };

static void say_ignored (const char *name, const char *value, const char *allowed) {
  fprintf(stderr, "gibbous: warning: %s='%s' is ignored: expected %s\n", name, value, allowed);
}

/* The variable's whole number from 1 to 'most'; 0: it is not set, or ignored. */
static int count_of_environment (const char *name, int most) {
  const char *text = getenv(name);
  if (text == NULL || *text == '\0') return 0;
  char *end, allowed[64];
  const long n = strtol(text, &end, 10);
  if (end != text && *end == '\0' && n >= 1 && n <= most) return (int)n;
  snprintf(allowed, sizeof allowed, "a whole number from 1 to %d", most);
  say_ignored(name, text, allowed);
  return 0;
}

/* Those whose values are read elsewhere, again and again. */
static void check_environment (void) {
  struct stat st;
  const char *rates = getenv("GIBBOUS_RATES"), *dir = getenv("GIBBOUS_LUA_DIR");
  if (rates != NULL && *rates != '\0' && strcmp(rates, "fixed") != 0)
    say_ignored("GIBBOUS_RATES", rates, "'fixed', or nothing to measure the machine");
  if (dir != NULL && *dir != '\0' && (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)))
    say_ignored("GIBBOUS_LUA_DIR", dir, "a folder of Lua modules");
}

static int default_threads (void) {
  const int asked = count_of_environment("GIBBOUS_THREADS", MOST_THREADS);
  if (asked > 0) return asked;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
  return n > 0 ? n : 1;
}

static int default_devices (void) {
  const int asked = count_of_environment("GIBBOUS_DEVICES", GB_DEVICES);
  return asked > 0 ? asked : 1;
}

gb_status lgb_set_devices (lgb_session *s, int n, gb_error *err) {
  int have = 1;
  for (const gb_device *dev = s->device; dev->next != NULL; dev = dev->next) have++;
  for (; have < n; have++)
    GB_TRY(gb_device_add_simulated(s->device, s->device->ledger.limit / (size_t)n, err));
  s->devices = n;
  return GB_OK;
}

/* What was closed while a function ran: the caller of the core may still have been using it then. */
static void release_late (lgb_session *s) {
  while (s->nlate > 0) gb_node_unref(s->late[--s->nlate]);
}

void lgb_unref (lgb_session *s, gb_node *n) {
  const bool later = n != NULL && s->calls > 0 && n->serial < s->calls_from;
  if (!later) gb_node_unref(n);
  else if (gb_grow(&s->late, s->nlate, &s->late_room, sizeof *s->late)) s->late[s->nlate++] = n;
  /* without memory the count stays: a lost node is better than one in use that is gone */
}

static void session_free (lgb_session *s) {
  release_late(s);
  free(s->late);
  if (s->graph != NULL) gb_graph_free(s->graph);
  for (int i = 0; i < s->nopened; i++) gb_device_free(s->opened[i]);
  if (s->device != s->home) gb_device_free(s->device);
  gb_device_free(s->home);
  free(s);
}

void lgb_session_release (lgb_session *s) {
  if (--s->handles == 0 && s->state_gone) session_free(s);
}

static lgb_session *volatile live;

lgb_session *lgb_live_session (void) { return live; }

/* The state finalises it after every value of the library, since it was made before them. */
static int session_gc (lua_State *L) {
  lgb_session **slot = luaL_checkudata(L, 1, LGB_SESSION);
  lgb_session *s = *slot;
  if (s == NULL) return 0;
  lgb_close_late(L);
  if (live == s) live = NULL;
  *slot = NULL;
  s->state_gone = true;
  s->device->ledger.reclaim = s->home->ledger.reclaim = NULL;
  for (int i = 0; i < s->nopened; i++) s->opened[i]->ledger.reclaim = NULL;
  if (s->handles == 0) session_free(s);
  return 0;
}

/* Called by the ledger when an allocation does not fit: first what no handle reaches (two cycles, for what
** finalizers let go), then values that can be computed again. Raises nothing: errors in finalizers are
** warnings. */
static void reclaim (void *ud, size_t bytes) {
  lgb_session *s = ud;
  lua_gc(s->L, LUA_GCCOLLECT);
  lua_gc(s->L, LUA_GCCOLLECT);
  gb_cache_drop(s->graph, bytes);
}

static void watch_memory (lgb_session *s, gb_device *dev) {
  dev->ledger.reclaim = reclaim;
  dev->ledger.reclaim_ud = s;
}

gb_status lgb_open_device (lgb_session *s, const char *name, gb_device **out, gb_error *err) {
  if (s->nopened == GB_GRAPH_DEVICES)
    return gb_fail(err, GB_EOPTION, "%d devices are open already", GB_GRAPH_DEVICES);
  GB_TRY(gb_device_open(name, s->home, 0, out, err));
  if (s->arithmetic != NULL) lgb_set_arithmetic(*out, s->arithmetic);
  watch_memory(s, *out);
  s->opened[s->nopened++] = *out;
  return GB_OK;
}

/* Two seconds in which nothing seems to happen. */
static void say_measuring (bool again) {
  if (isatty(STDERR_FILENO) == 1)
    fprintf(stderr, "gibbous: measuring this machine%s, about 2 s\n",
            again ? " again, for it was busy the last time" : ", once");
}

/* The one that was the graph's takes the place of the one that is. */
static void exchange (lgb_session *s, gb_device *dev) {
  gb_device *before = s->device;
  int at = 0;
  while (at < s->nopened && s->opened[at] != dev) at++;
  if (at == s->nopened) s->nopened++; /* 'dev' is the host's */
  s->opened[at] = before;
  if (before == s->home) s->opened[at] = s->opened[--s->nopened];
  s->device = dev;
}

static int count_devices (const gb_device *dev) {
  int n = 0;
  for (; dev != NULL; dev = dev->next) n++;
  return n;
}

gb_status lgb_set_device (lgb_session *s, gb_device *dev, gb_error *err) {
  if (dev == s->device) return GB_OK;
  for (const gb_device *d = s->device->next; d != NULL; d = d->next)
    if (d == dev)
      return gb_fail(err, GB_EDEVICE,
                     "%s is simulated: it shares plans with %s, and no session has it for its own", dev->name,
                     s->device->name);
  if (dev == s->home && s->nopened == GB_GRAPH_DEVICES)
    return gb_fail(err, GB_EOPTION, "%d devices are open already", GB_GRAPH_DEVICES);
  GB_TRY(gb_plans_change_device(s->graph, dev, err));
  exchange(s, dev);
  s->devices = count_devices(dev);
  watch_memory(s, dev);
  gb_device_profile_announce(dev, say_measuring);
  return GB_OK;
}

/* The device of GIBBOUS_DEVICE, or the host's own. */
static gb_status open_device (lgb_session *s, gb_error *err) {
  const char *name = getenv("GIBBOUS_DEVICE");
  s->device = s->home;
  if (name == NULL || *name == '\0' || gb_device_same_name(name, s->home->name)) return GB_OK;
  gb_device *opened;
  GB_TRY(gb_device_open(name, s->home, 0, &opened, err));
  s->device = opened;
  return GB_OK;
}

static void say_stored (const char *text) {
  if (isatty(STDERR_FILENO) == 1) fprintf(stderr, "gibbous: %s (said once)\n", text);
}

static gb_status session_new (lgb_session **out, gb_error *err) {
  lgb_session *s = calloc(1, sizeof *s);
  if (s == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a session");
  *s = (lgb_session){.dtype = GB_F64, .digits = 4, .edge = 3, .where = ""};
  check_environment();
  gb_status st = gb_device_cpu_new(default_threads(), gb_memory_available(), &s->home, err);
  if (st == GB_OK) st = open_device(s, err);
  if (st == GB_OK) st = lgb_set_devices(s, default_devices(), err);
  if (st == GB_OK) st = gb_graph_new(s->device, &s->graph, err);
  if (st == GB_OK) st = gb_stored_announce(s->graph, say_stored, err);
  if (st != GB_OK) {
    session_free(s);
    return st;
  }
  gb_device_profile_announce(s->device, say_measuring);
  watch_memory(s, s->device);
  s->graph->called = lgb_called;
  s->graph->called_ud = s;
  *out = s;
  return GB_OK;
}

bool lgb_has_session (lua_State *L) {
  lgb_session **slot = lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key) != LUA_TNIL ? lua_touserdata(L, -1)
                                                                                   : NULL;
  lua_pop(L, 1);
  return slot != NULL && *slot != NULL;
}

void lgb_open_session (lua_State *L) {
  static const luaL_Reg events[] = {{"__gc", session_gc}, {NULL, NULL}};
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key) != LUA_TNIL) lgb_session_of(L);
  lua_pop(L, 1);
  if (lgb_has_session(L)) return;
  if (lgb_in_finalizer(L)) luaL_error(L, "the library cannot be loaded in a finalizer");
  lgb_session **slot = lua_newuserdatauv(L, sizeof *slot, 0);
  *slot = NULL;
  lgb_newmeta(L, LGB_SESSION, events);
  lua_setmetatable(L, -2);
  gb_error err;
  const gb_status st = session_new(slot, &err);
  if (st != GB_OK) {
    luaL_error(L, "cannot start: %s", err.text);
    return;
  }
  (*slot)->L = L;
  live = *slot;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  (*slot)->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
}

lgb_session *lgb_session_of (lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
  lgb_session *s = *(lgb_session **)lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (s == NULL) luaL_error(L, "the library is closed: its state is going");
  else s->L = L;
  return s;
}

bool lgb_is_script (const lua_Debug *ar) {
  return ar->currentline > 0 && strncmp(ar->source, LGB_CHUNK, sizeof LGB_CHUNK - 1) != 0;
}

/* "script.lua:12" of the nearest Lua frame that is not the library's own; "" when there is none. Interned. */
const char *lgb_where (lua_State *L, lgb_session *s) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (!lgb_is_script(&ar)) continue;
    if (ar.currentline != s->line || strcmp(ar.short_src, s->source) != 0) {
      char text[LUA_IDSIZE + 16];
      snprintf(text, sizeof text, "%s:%d", ar.short_src, ar.currentline);
      memcpy(s->source, ar.short_src, sizeof s->source);
      s->line = ar.currentline;
      s->where = gb_graph_intern(s->graph, text);
    }
    return s->where;
  }
  return "";
}

/* A finalizer that the collector runs in the middle of an evaluation may close tensors, but not build or
** observe any: the core is not reentrant. */
lgb_session *lgb_enter (lua_State *L) {
  lgb_session *s = lgb_session_of(L);
  if (s->busy)
    lgb_fail(L, GB_EINTERNAL, "tensors cannot be used in a finalizer that runs during an evaluation");
  if (s->calls == 0) release_late(s);
  s->graph->where = lgb_where(L, s);
  s->graph->generators_on = 0;
  if (lua_istable(L, 1)) lgb_refuse_library(L, 1);
  return s;
}

/* Runs the collector 'kb' worth of allocation further. A stopped collector stays stopped. */
static void step_collector (lua_State *L, double kb) {
  if (lua_gc(L, LUA_GCISRUNNING) != 1) return; /* stopped, or inside a finalizer */
  lua_gc(L, LUA_GCSTEP, kb < INT_MAX - 1 ? 1 + (int)kb : INT_MAX);
}

/* The collector sees a small userdata, not what it holds: charge it the same share of the Lua heap as
** 'bytes' is of the memory limit, about one cycle per limit. Incremental mode only: a generational step
** never looks at old objects. */
void lgb_charge (lua_State *L, lgb_session *s, size_t bytes) {
  const double share = (double)bytes / (double)(s->device->ledger.limit + 1);
  step_collector(L, lua_gc(L, LUA_GCCOUNT) * (share < 1 ? share : 1));
}

#define NODE_KB 0.5 /* host memory behind a handle: a node and its place in the graph */
#define CHARGE_EVERY 256

/* Whether graphs and plans have nearly taken what tensors leave: unreachable handles are then collected
** before a node is refused. */
static bool is_full (const gb_ledger *l) {
  return gb_ledger_charged(l) > 0 && gb_ledger_room(l) < (size_t)4 * CHARGE_EVERY * (size_t)(1024 * NODE_KB);
}

lgb_tensor *lgb_newtensor (lua_State *L) {
  lgb_session *s = lgb_session_of(L);
  if (++s->uncharged >= CHARGE_EVERY) {
    s->uncharged = 0;
    step_collector(L, is_full(&s->device->ledger) ? INT_MAX : CHARGE_EVERY * NODE_KB);
  }
  lgb_tensor *t = lua_newuserdatauv(L, sizeof *t, 0);
  *t = (lgb_tensor){.session = s}; /* empty: already safe to collect */
  s->handles++;
  lgb_setmeta(L, LGB_TENSOR);
  return t;
}

void *lgb_scratch (lua_State *L, size_t n, size_t size) {
  if (n > (SIZE_MAX >> 1) / size) luaL_error(L, "too many items");
  void *p = lua_newuserdatauv(L, n * size + 1, 0);
  memset(p, 0, n * size);
  return p;
}
