/* lgb.h - what the binding files share: the session, tensor handles, argument checks, options, errors.
**
** A binding runs in four steps: check its arguments (owning nothing), push an empty result, call the core
** (which cannot jump), raise or return (owning nothing). Whatever must live across a Lua call is held by a
** userdata on the stack. */
#ifndef GB_LUA_LGB_H
#define GB_LUA_LGB_H

#include <lauxlib.h>
#include <lua.h>

#include "graph/grad/grad.h"
#include "plan/plan.h"
#include "tensor/host.h"

#define LGB_TENSOR "gibbous.tensor"
#define LGB_ERROR "gibbous.error"
#define LGB_HOLDER "gibbous.holder"
#define LGB_CHUNK "=gibbous/" /* chunk names of the Lua library start so: errors point past it */

#define LGB_TOLD 64

/* One a Lua state, made by the first require. It outlives the state until the last handle is closed, so
** the order in which a closing state finalises things cannot matter. */
typedef struct lgb_session {
  gb_device *device;                   /* the graph's: where values are computed and kept */
  gb_device *home;                     /* the host's: where files are read and lists become tensors */
  gb_device *opened[GB_GRAPH_DEVICES]; /* of other kinds, since a script named them */
  int nopened;
  gb_graph *graph;
  lua_State *main; /* the main thread */
  lua_State *L;    /* state of the last binding entered: the one that can collect */
  lua_State *kept; /* state of the last binding that entered, which the registry keeps until the next does */
  size_t handles;  /* tensors and plans that still point here */
  bool state_gone;
  bool busy;          /* inside the core: finalizers must not evaluate */
  volatile int moves; /* not 0: Lua's stack moves although the core runs; a signal handler must not read it */
  int calls;          /* depth of functions that the core is calling */
  uint64_t calls_from; /* nodes with a smaller serial were there before the first of them */
  gb_node **late;      /* such nodes whose handles went meanwhile: counted, released when it is over */
  size_t nlate, late_room;
  unsigned uncharged; /* handles made since the collector last heard of them */
  const char *where;  /* the last provenance, interned, and what it was made of */
  char source[LUA_IDSIZE];
  int line;
  gb_dtype dtype;         /* gb.config */
  const char *arithmetic; /* of devices that have classes of it, a literal; NULL: as each is opened */
  int devices;            /* of the device's: simulated ones, once made, stay until the end */
  int digits, edge;
  const char *told[LGB_TOLD]; /* script lines of which stderr said that a solve missed its tolerance */
  size_t next_told;
  gb_ledger *counted; /* the ledger whose peak counts from lgb_cost_begin on; NULL: between entries */
  size_t peak, start; /* its peak before, and what was used then */
  gb_trace *timed;    /* of the steps since then; NULL: not asked for */
} lgb_session;

/* The userdata of a tensor. node NULL: empty or closed. */
typedef struct lgb_tensor {
  gb_node *node;
  lgb_session *session;
} lgb_tensor;

/* The status of a call of the core from a binding of L, during which finalizers must not evaluate. */
#define LGB_CORE(session, call)                                                                              \
  ({                                                                                                         \
    lgb_core_begins((session), L);                                                                           \
    const gb_status core_st_ = (call);                                                                       \
    (session)->busy = false;                                                                                 \
    core_st_;                                                                                                \
  })

/* Finalizers may have called the library from coroutines since L entered it. */
static inline void lgb_core_begins (lgb_session *s, lua_State *L) {
  s->L = L;
  s->busy = true;
}

/* session.c */
void lgb_open_session (lua_State *L);
bool lgb_has_session (lua_State *L);
lgb_session *lgb_live_session (void); /* the last that began and is not over, for a signal handler; NULL */
lgb_session *lgb_session_of (lua_State *L);
void lgb_collect (lgb_session *s);
bool lgb_room (lgb_session *s, int n);           /* for n values on the stack, while the core runs */
void lgb_refuse_library (lua_State *L, int arg); /* raises where the argument is the library itself */
lgb_session *lgb_enter (lua_State *L); /* and: nodes built from here on come from the caller's line */
const char *lgb_where (lua_State *L, lgb_session *s);
/* Is it a frame outside the library? Its "Sl" has been asked of lua_getinfo. */
bool lgb_is_script (const lua_Debug *ar);
void lgb_charge (lua_State *L, lgb_session *s, size_t bytes);
void lgb_session_release (lgb_session *s); /* a handle is gone */
/* 1 .. GB_DEVICES of them; the limit of a new one is that of the first, divided by their number. */
gb_status lgb_set_devices (lgb_session *s, int n, gb_error *err);
/* Makes 'dev', which is open, the graph's. Errors: EDEVICE (a simulated one); as gb_plans_change_device. */
gb_status lgb_set_device (lgb_session *s, gb_device *dev, gb_error *err);
void lgb_unref (lgb_session *s, gb_node *n);             /* drops a handle's count */
void *lgb_scratch (lua_State *L, size_t n, size_t size); /* pushes collectable memory for n items, zeroed */

/* called.c */
/* gb_graph.called, of the session */
bool lgb_called (void *ud, const gb_node *n, char *buf, size_t size);
int lgb_core_told (lua_State *L); /* core.told(x): "30x2 (X, script.lua:12)" */

/* terminal.c */
size_t lgb_columns (int fd); /* of the window behind a file; 0: it is no terminal, or does not say */
/* The next key that was typed while the terminal was asked what it shows: it is to be read before others. False: none. */
bool lgb_take_key (unsigned char *key);

/* memory.c */
typedef struct lgb_cost {
  size_t peak;   /* bytes that were held at most, beyond those that were held before */
  double device; /* seconds of the steps on the session's device, where that is not the host; else 0 */
  const char *device_name;
} lgb_cost;
/* Around an entry of the prompt, one at a time. Without a session nothing is counted. */
void lgb_cost_begin (lua_State *L);
lgb_cost lgb_cost_end (lua_State *L);

/* meta.c */
/* Pushes a new metatable with these events. getmetatable gives its name: no script can reach the events by
** way of a value. */
void lgb_newmeta (lua_State *L, const char *key, const luaL_Reg *events);
/* Gives the value on top its metatable. Lua does not finalise what a finalizer makes while the state
** closes: the session does. */
void lgb_setmeta (lua_State *L, const char *key);
/* finalises what finalizers made; raises nothing but "not enough memory" */
void lgb_close_late (lua_State *L);
static inline bool lgb_in_finalizer (lua_State *L) { return lua_gc(L, LUA_GCISRUNNING) < 0; }

/* the ending of a noun after its number */
static inline const char *lgb_plural (uint64_t n) { return n == 1 ? "" : "s"; }

/* error.c */
void lgb_error_meta (lua_State *L);
/* Pushes Lua's traceback from this level, with the calls within the library folded. text: may be NULL */
void lgb_traceback (lua_State *L, const char *text, int level);
int lgb_raise (lua_State *L, gb_status code, const gb_error *err);
int lgb_fail (lua_State *L, gb_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int lgb_result (lua_State *L, gb_status st, const gb_error *err); /* 1 or raises */
int lgb_raise_interrupted (lua_State *L);
/* Pushes the record of the solve that Ctrl-C has just ended, with 'solver', its method, or nothing: false (lua/solve/record.c). */
bool lgb_push_interrupted_solve (lua_State *L);
bool lgb_is_interrupt_text (lua_State *L, int arg); /* what that raised where there is no session */
int lgb_core_error (lua_State *L);                  /* core.error(code, message, fields) */
int lgb_core_raise (lua_State *L);
bool lgb_nearest (const char *name, const char *const *names, char *best, size_t size);
/* An error object with a code of its own for the value on top, which it replaces unless that is an object
** already. The traceback of where it was raised stays with it. */
void lgb_wrap_error (lua_State *L, gb_status code, const char *who);
/* Keeps the error on top, which a function raised that the core called, until lgb_raise meets ECALLBACK;
** pops it. Raises nothing. */
void lgb_keep_error (lua_State *L);
int lgb_concat (lua_State *L); /* the event: operands as text, joined */

/* tensor.c */
void lgb_tensor_meta (lua_State *L);
lgb_tensor *lgb_newtensor (lua_State *L); /* pushes an empty handle */
int lgb_pushmoved (lua_State *L, gb_node *x,
                   int device);          /* pushes x on that device of the graph; returns 1 */
gb_tensor *lgb_newholder (lua_State *L); /* pushes a counted slot for a value that is not yet a node */
/* NULL: not a tensor. A param at 'arg' is replaced by its tensor. */
gb_node *lgb_tonode (lua_State *L, int arg);
gb_node *lgb_checknode (lua_State *L, int arg);
bool lgb_is_exact (lua_State *L, int arg); /* does f64 hold the number at 'arg' as it is? */
/* Numbers and booleans too: replaced by a tensor of the type that goes with 'other' (may be NULL). */
gb_node *lgb_checkoperand (lua_State *L, int arg, const gb_node *other);
/* Pushes the number or boolean at 'arg' as a constant of type t; whole numbers of i64 exactly. */
gb_node *lgb_pushnumber (lua_State *L, int arg, gb_dtype t);
void lgb_checkpair (lua_State *L, int a, int b, gb_node **x, gb_node **y);
/* Axis from a 1-based, possibly negative position; 'extra' = 1 where a new axis may follow the last. */
int lgb_checkaxis (lua_State *L, int arg, const gb_node *x, int extra);
size_t lgb_checkposition (lua_State *L, int arg, size_t extent, const char *what);
/* Shape from the integers first..last, or from one list at 'first'. */
gb_shape lgb_checkshape (lua_State *L, int first, int last);
void lgb_pushshape (lua_State *L, const gb_shape *s);
/* Pushes a list {n}; each element a tensor, anchored. Returns scratch with the nodes (also pushed): stack
** grows by 2. */
gb_node **lgb_checklist (lua_State *L, int arg, size_t *n);

/* apply.c: f(x), f(x, y), and f(x, axis) with the axis as lgb_checkaxis takes it */
typedef gb_status lgb_unary (gb_node *x, gb_node **out, gb_error *err);
typedef gb_status lgb_binary (gb_node *x, gb_node *y, gb_node **out, gb_error *err);
typedef gb_status lgb_along (gb_node *x, int axis, gb_node **out, gb_error *err);
int lgb_apply1 (lua_State *L, lgb_unary *f);
int lgb_apply2 (lua_State *L, lgb_binary *f);
int lgb_apply_along (lua_State *L, lgb_along *f, int extra);

/* usage.c: as those of the auxiliary library, at the script's line; how to call the function comes last. They raise. */
int lgb_argerror (lua_State *L, int arg, const char *what);
int lgb_typeerror (lua_State *L, int arg, const char *expected);
void lgb_argcheck (lua_State *L, bool holds, int arg, const char *what);
void lgb_checktype (lua_State *L, int arg, int type);
lua_Number lgb_checknumber (lua_State *L, int arg);
lua_Integer lgb_checkinteger (lua_State *L, int arg);
/* nil or none: the default */
lua_Number lgb_numberor (lua_State *L, int arg, lua_Number def);
lua_Integer lgb_integeror (lua_State *L, int arg, lua_Integer def);
const char *lgb_checkstring (lua_State *L, int arg);

/* options.c */
/* the value as errors show it: a NaN has no sign; left on the stack */
const char *lgb_shown (lua_State *L, int index);
/* of the running function, "?" where it is not known; anchored */
const char *lgb_function_name (lua_State *L);
bool lgb_isoptions (lua_State *L, int arg);
void lgb_checkoptions (lua_State *L, int arg, const char *const *names); /* nil or none: no options */
bool lgb_option (lua_State *L, int arg, const char *name);               /* true: pushed its value */
double lgb_optnumber (lua_State *L, int arg, const char *name, double def);
lua_Integer lgb_optinteger (lua_State *L, int arg, const char *name, lua_Integer def);
bool lgb_optbool (lua_State *L, int arg, const char *name, bool def);
const char *lgb_optstring (lua_State *L, int arg, const char *name, const char *def);
gb_dtype lgb_optdtype (lua_State *L, int arg, gb_dtype def);
/* The number of the device of option 'device'. Nodes without inputs that the binding builds after this lie
** there. */
int lgb_optdevice (lua_State *L, int arg, int def);
/* The device of this name, which is opened where it is not yet: all options that name devices end here. */
gb_device *lgb_checkdevice (lua_State *L, lgb_session *s, const char *name);
/* It is no name of a device, and another spelling of one: "cuda0", "GPU". */
bool lgb_means_device (const lgb_session *s, const char *name);
int lgb_devicenumber (lua_State *L, lgb_session *s, const char *name); /* in the graph */
void lgb_set_arithmetic (gb_device *dev, const char *name);            /* where it has a class of that name */
gb_status lgb_open_device (lgb_session *s, const char *name, gb_device **out, gb_error *err); /* session.c */
gb_dtype lgb_checkdtype (lua_State *L, const char *name);
size_t lgb_tobytes (lua_State *L, int index, const char *what); /* 1e9, "1 GiB" */

/* observe.c */
/* nodes anchored by the caller */
void lgb_eval (lua_State *L, lgb_session *s, size_t n, gb_node *const *nodes);
/* Lets the history of an evaluated node go, unless a gradient may need it or a function that the core calls did not make it. */
void lgb_drop_history (const lgb_session *s, gb_node *x);
const gb_tensor *lgb_value (lua_State *L, lgb_session *s, gb_node *n); /* evaluates; borrowed */
/* The same with elements that can be read (tensor/host.h): it lives as long as n has its value. */
gb_tensor lgb_host_value (lua_State *L, lgb_session *s, gb_node *n);
/* A leaf of the value in the holder, which is emptied; the value moves to that device of the graph. */
gb_status lgb_leaf (lgb_session *s, int device, gb_tensor *held, const char *name, gb_node **out,
                    gb_error *err);
void lgb_pushelement (lua_State *L, const gb_tensor *t, const size_t *index);

/* promise.c */
/* What stands for the nodes once all kept promises are in it; keeping: and those that are not yet, which
** may compute and raise. Pushes what keeps the list alive, and its handles. */
gb_node **lgb_redeemed (lua_State *L, lgb_session *s, size_t n, gb_node *const *nodes, gb_walk walk,
                        bool keeping);
/* as lgb_checknode, with all promises kept; replaces the argument */
gb_node *lgb_checkcomputable (lua_State *L, int arg);
/* the same of a tensor of the session's device, where solvers work */
gb_node *lgb_checkathome (lua_State *L, int arg);
/* a list of {tensor, cost} of promises below */
void lgb_pushpromised (lua_State *L, size_t n, gb_node *const *nodes);

/* print.c */
int lgb_tensor_tostring (lua_State *L);

/* append.c */
void lgb_factor_meta (lua_State *L);
/* the leaf of a growing factor, for triangular ops alone; NULL: not one */
gb_node *lgb_tofactor (lua_State *L, int arg);

/* func.c */
void lgb_func_meta (lua_State *L);

/* plan.c */
void lgb_plan_meta (lua_State *L);
int lgb_pushstats (lua_State *L, const gb_run_stats *s); /* a table of what a run did; 1 */
/* Pushes a slot for malloc'ed text, freed by the collector: fill it, then lua_pushstring what it holds. */
char **lgb_newtext (lua_State *L);

/* Functions by file; each list ends with a null entry. Methods are fields of every tensor. */
extern const luaL_Reg lgb_grad_methods[], lgb_linalg_methods[], lgb_map_methods[], lgb_observe_methods[],
    lgb_reduce_methods[], lgb_shape_methods[];
void lgb_map_register (lua_State *L); /* methods table on top: elementwise methods by op */
void lgb_reduce_register (lua_State *L);
void lgb_operators (lua_State *L); /* metatable on top: arithmetic events */

extern const luaL_Reg lgb_bench_functions[], lgb_cluster_functions[], lgb_estimates_functions[],
    lgb_factor_functions[];
extern const luaL_Reg lgb_child_functions[], lgb_database_functions[], lgb_place_functions[],
    lgb_signals_functions[];
extern const luaL_Reg lgb_func_functions[], lgb_grad_functions[], lgb_arrays_functions[],
    lgb_files_functions[], lgb_frame_functions[], lgb_json_functions[], lgb_rows_functions[],
    lgb_kernel_functions[], lgb_lazy_functions[], lgb_linalg_functions[], lgb_make_functions[],
    lgb_map_functions[], lgb_memory_functions[], lgb_observe_functions[], lgb_plan_functions[],
    lgb_plot_functions[], lgb_product_functions[], lgb_promise_functions[], lgb_ranks_functions[],
    lgb_settings_functions[], lgb_shape_functions[], lgb_solve_functions[], lgb_solve_nodes_functions[],
    lgb_solvers_functions[], lgb_stage_functions[], lgb_terminal_functions[], lgb_trace_functions[];

/* solve/stage.c */
#define LGB_SAID 3
const char *lgb_said (int i); /* the last lines of progress, the oldest first; NULL: there are no more */
void lgb_bench_meta (lua_State *L);
void lgb_trace_meta (lua_State *L);
void lgb_arrays_meta (lua_State *L);
void lgb_files_meta (lua_State *L);
void lgb_frame_meta (lua_State *L);
void lgb_rows_meta (lua_State *L);
void lgb_child_meta (lua_State *L);
void lgb_database_meta (lua_State *L);
void lgb_place_meta (lua_State *L);
void lgb_json_meta (lua_State *L);
int lgb_json_encode (lua_State *L); /* core.json_encode(v): text */
void lgb_plot_meta (lua_State *L);
void lgb_solve_meta (lua_State *L);

/* embed.c */
void lgb_embed_searcher (lua_State *L); /* makes require find the Lua library */
void lgb_push_build (lua_State *L);     /* core.build: {commit, kind, compiler} */
int lgb_embed_source (lua_State *L);    /* core.source(module): its text, nil where there is none */
/* The first place of 'text' in the built-in modules whose names begin with 'names'; NULL if no module has it. */
const char *lgb_embed_find (const char *names, const char *text);
int lgb_embed_modules (lua_State *L); /* core.modules(): names of the modules built in */
int lgb_embed_texts (lua_State *L);   /* core.texts(): names of the texts built in that are no modules */
int lgb_embed_text (lua_State *L);    /* core.text(name): one of them, nil where there is none */
int lgb_libraries (lua_State *L);     /* core.libraries(): the version of each, by its name */
int lgb_parts (lua_State *L);         /* core.parts(): whether those that need more than the rest are there */

int luaopen_gibbous_core (lua_State *L);
int lgb_open_library (lua_State *L); /* pushes what require "gibbous" gives */

#endif
