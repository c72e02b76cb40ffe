/* far.c - a device whose memory the host cannot touch: the code of the CPU, and addresses with a bit set
** that no process has. Whoever dereferences one dies at that place; the operations of the device clear the
** bit, work, and return. Opened as "far" from libgibbous_far.so (GIBBOUS_DEVICE=far), in tests only. */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/clock.h"
#include "device/price.h"
#include "device/registry.h"
#include "far.h"
#include "program/appendable.h"
#include "program/fold.h"
#include "program/library.h"

#define MOST_BUFFERS 4096 /* of one call; on the stack, since steps allocate nothing */

/* -- faults */

static struct {
  size_t room;
  atomic_size_t held; /* by every state of the process */
  atomic_long calls;  /* left, until the device is lost */
} fault = {.room = SIZE_MAX, .calls = LONG_MAX};

void far_count (void) { atomic_fetch_sub(&fault.calls, 1); }
bool far_is_lost (void) { return atomic_load(&fault.calls) < 0; }
gb_status far_gone (gb_error *err) { return gb_fail(err, GB_EDEVICE, "it does not answer"); }

/* A call that says whether it failed. */
static gb_status call (gb_error *err) {
  far_count();
  return far_is_lost() ? far_gone(err) : GB_OK;
}

static gb_status read_faults (gb_error *err) {
  const char *asked = getenv("GIBBOUS_FAR_FAULT");
  if (asked == NULL) return GB_OK;
  if (strcmp(asked, "open") == 0) return far_gone(err);
  if (strncmp(asked, "bytes=", 6) == 0) fault.room = strtoull(asked + 6, NULL, 10);
  if (strncmp(asked, "lost=", 5) == 0) atomic_store(&fault.calls, strtol(asked + 5, NULL, 10));
  return GB_OK;
}

/* -- memory: of the host, through the bit. 'priv' has the operations of the host's memory, which keep their
** state in this memory's own fields. */

static const gb_memory_ops *near_ops (const gb_memory *m) { return m->priv; }

static void *hold (void *(*take)(gb_memory *, size_t), gb_memory *m, size_t bytes) {
  const size_t held = atomic_fetch_add(&fault.held, bytes);
  void *at = held <= fault.room && bytes <= fault.room - held ? take(m, bytes) : NULL;
  if (at != NULL) return far(at);
  atomic_fetch_sub(&fault.held, bytes);
  return NULL;
}

static void *far_take (gb_memory *m, size_t bytes) { return hold(near_ops(m)->take, m, bytes); }
static void far_give (gb_memory *m, void *p, size_t bytes) {
  atomic_fetch_sub(&fault.held, bytes);
  near_ops(m)->give(m, near(p), bytes);
}
static size_t far_idle (const gb_memory *m) { return near_ops(m)->idle(m); }
static void far_trim (gb_memory *m) { near_ops(m)->trim(m); }
static void *far_reuse (gb_memory *m, size_t bytes) { return hold(near_ops(m)->reuse, m, bytes); }

/* Ends the process where the host's side of a copy is an address of the device: the other way round there
** is nothing to see. */
static void check_near (const void *p) {
  if (((uintptr_t)p & FAR) == 0) return;
  fprintf(stderr, "far: an address of the device stands for one of the host\n");
  abort();
}

static gb_status far_upload (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  (void)m;
  GB_TRY(call(err));
  check_near(from);
  memmove(near(to), from, bytes);
  return GB_OK;
}
static gb_status far_download (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  (void)m;
  GB_TRY(call(err));
  check_near(to);
  memmove(to, near(from), bytes);
  return GB_OK;
}
static gb_status far_copy (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  (void)m;
  GB_TRY(call(err));
  memmove(near(to), near(from), bytes);
  return GB_OK;
}
static gb_status far_fill (gb_memory *m, void *to, int byte, size_t bytes, gb_error *err) {
  (void)m;
  GB_TRY(call(err));
  memset(near(to), byte, bytes);
  return GB_OK;
}

static gb_memory far_memory (const gb_device *dev) {
  static const gb_memory_ops ops = {.take = far_take,
                                    .give = far_give,
                                    .idle = far_idle,
                                    .reuse = far_reuse,
                                    .trim = far_trim,
                                    .upload = far_upload,
                                    .download = far_download,
                                    .copy = far_copy,
                                    .fill = far_fill};
  const gb_memory host = home_of(dev)->ops->memory(home_of(dev));
  return (gb_memory){.ops = &ops, .priv = (void *)(uintptr_t)host.ops, .home = &home_of(dev)->ledger};
}

/* -- the clock: GIBBOUS_FAR_CLOCK=1 gives it one, on which each launch and each opaque op takes a millisecond, and which
** runs from 0. Results of steps are known in advance. */

enum { SPANS = 600 }; /* few more than a run keeps unread */
static struct {
  atomic_long launches; /* of every state of the process */
  double from[SPANS], to[SPANS];
  int n, open;
} far_clock;

static double now (void) { return 1e-3 * (double)atomic_load(&far_clock.launches); }

static gb_status begin_span (gb_device *dev, const char *name, int *span, gb_error *err) {
  (void)dev;
  GB_TRY(call(err));
  if (name == NULL || far_clock.n == SPANS) return gb_fail(err, GB_EINTERNAL, "a span that cannot begin");
  far_clock.open++;
  *span = far_clock.n++;
  far_clock.from[*span] = now();
  return GB_OK;
}

static gb_status end_span (gb_device *dev, int span, gb_error *err) {
  (void)dev;
  if (--far_clock.open < 0) abort();
  far_clock.to[span] = now();
  return far_is_lost() ? far_gone(err) : GB_OK;
}

static gb_status read_span (gb_device *dev, int span, double *from, double *to, gb_error *err) {
  (void)dev;
  if (span >= far_clock.n) return gb_fail(err, GB_EINTERNAL, "a span that was dropped");
  *from = far_clock.from[span];
  *to = far_clock.to[span];
  return GB_OK;
}

static void drop_spans (gb_device *dev, int span) {
  (void)dev;
  if (span < far_clock.n) far_clock.n = span;
}

static const gb_clock_ops clock_ops = {
    .begin = begin_span, .end = end_span, .read = read_span, .drop = drop_spans};

/* -- programs: those of the home, with addresses that it has */

typedef struct buffers {
  const void *in[MOST_BUFFERS];
  void *out[MOST_BUFFERS];
} buffers;

static void reach (buffers *at, int nin, const void *const *in, int nout, void *const *out) {
  if (nin > MOST_BUFFERS || nout > MOST_BUFFERS) abort();
  for (int i = 0; i < nin; i++) at->in[i] = near(in[i]);
  for (int i = 0; i < nout; i++) at->out[i] = near(out[i]);
}

static int slots_read (const gb_fold *f) {
  int n = 0;
  for (int i = 0; i < f->noperands; i++)
    if (f->operand[i].slot >= n) n = f->operand[i].slot + 1;
  return n;
}

static int slots_written (const gb_fold *f) {
  int n = 0;
  for (int i = 0; i < f->nouts; i++) {
    if (f->out[i].slot >= n) n = f->out[i].slot + 1;
    if (f->out[i].slot2 >= n) n = f->out[i].slot2 + 1;
  }
  return n;
}

typedef struct far_kernel {
  gb_kernel kernel;
  gb_kernel *near;
} far_kernel;

static const gb_kernel *near_kernel (const gb_kernel *k) { return ((const far_kernel *)k)->near; }

static gb_status compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  far_kernel *k = calloc(1, sizeof *k);
  if (k == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  const gb_status st = gb_device_compile(home_of(dev), f, &k->near, err);
  if (st != GB_OK) {
    free(k);
    return st;
  }
  k->kernel.bytes = sizeof *k + k->near->bytes;
  *out = &k->kernel;
  return GB_OK;
}

static void release (gb_kernel *k) {
  gb_kernel_release(((far_kernel *)k)->near);
  free(k);
}

static size_t kernel_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  return gb_device_kernel_scratch(home_of(dev), near_kernel(k), part);
}
static size_t kernel_state (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  return gb_device_kernel_state(home_of(dev), near_kernel(k), part);
}

static gb_status launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err) {
  gb_fold_args here = *args;
  gb_carry carry;
  buffers at;
  GB_TRY(call(err));
  if (args->carry != NULL) {
    carry = *args->carry;
    carry.state = near(carry.state);
    here.carry = &carry;
  }
  reach(&at, slots_read(args->part), args->operand, slots_written(args->part), args->out);
  here.operand = at.in;
  here.out = at.out;
  here.scratch = near(args->scratch);
  atomic_fetch_add(&far_clock.launches, 1);
  return gb_device_launch(home_of(dev), near_kernel(k), &here, err);
}

/* The table of a growing factor holds addresses, too: operand 0, and the result where it is factored in
** place. */
static void reach_rows (const gb_opaque *o, buffers *at, gb_block_row table[MOST_BUFFERS]) {
  const size_t n = gb_blocks(o->in_shape[0].dim[0], GB_BLOCK);
  const gb_block_row *rows = at->in[0];
  if (n > MOST_BUFFERS) abort();
  for (size_t i = 0; i < n; i++) table[i] = rows[i] & ~(gb_block_row)FAR;
  if (at->out[0] == at->in[0]) at->out[0] = table;
  at->in[0] = table;
}

/* GIBBOUS_FAR_LACKS: ops that the device refuses, "sort,digamma"; "all": every opaque one, "dense": those of dense
** linear algebra. */
static bool lacks (gb_op op) {
  const char *at = getenv("GIBBOUS_FAR_LACKS");
  for (size_t n; at != NULL && *at != '\0'; at += n + (at[n] == ',')) {
    const char *name = gb_ops[op].name;
    n = strcspn(at, ",");
    if (n == strlen(name) && memcmp(at, name, n) == 0) return true;
    if (n == 3 && memcmp(at, "all", n) == 0 && gb_ops[op].kind == GB_KIND_OPAQUE) return true;
    if (n == 5 && memcmp(at, "dense", n) == 0 && gb_op_has(op, GB_TRAIT_DENSE)) return true;
  }
  return false;
}

static size_t opaque_scratch (const gb_device *dev, const gb_opaque *o) {
  return home_of(dev)->ops->opaque_scratch(home_of(dev), o);
}

static gb_status opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                         void *scratch, gb_error *err) {
  buffers at;
  gb_block_row table[MOST_BUFFERS];
  GB_TRY(call(err));
  if (lacks(o->op)) return gb_fail(err, GB_EINTERNAL, "the far device lacks %s", gb_ops[o->op].name);
  reach(&at, o->nin, in, o->nout, out);
  if (o->grown) reach_rows(o, &at, table);
  atomic_fetch_add(&far_clock.launches, 1);
  return home_of(dev)->ops->opaque(home_of(dev), o, at.in, at.out, near(scratch), err);
}

static bool supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack) {
  bool refuses = o != NULL && lacks(o->op);
  for (int i = 0; f != NULL && !refuses && i < f->nins; i++)
    if ((refuses = f->ins[i].kind == GB_INS_MAP && lacks(f->ins[i].op))) lack->ins = i;
  if (!refuses) return gb_device_supports(home_of(dev), f, o, lack);
  lack->why = "GIBBOUS_FAR_LACKS names it";
  return false;
}

static gb_status wait (gb_device *dev, gb_error *err) {
  (void)dev;
  return far_is_lost() ? far_gone(err) : GB_OK;
}

/* -- the device */

static gb_status set_threads (gb_device *dev, int threads, gb_error *err) {
  GB_TRY(gb_device_set_threads(home_of(dev), threads, err));
  for (gb_device *d = dev; d != NULL; d = d->next) d->pool = home_of(dev)->pool;
  return GB_OK;
}

static const char *isa (const gb_device *dev) { return gb_device_isa(home_of(dev)); }
static const char *library (const gb_device *dev) { return gb_device_library(home_of(dev)); }
static void close_device (gb_device *dev) { (void)dev; }

static gb_price_ops prices;
static gb_device_ops ops = {.name = "far",
                            .compile = compile,
                            .release = release,
                            .kernel_scratch = kernel_scratch,
                            .kernel_state = kernel_state,
                            .launch = launch,
                            .supports = supports,
                            .opaque_scratch = opaque_scratch,
                            .opaque = opaque,
                            .wait = wait,
                            .set_threads = set_threads,
                            .isa = isa,
                            .library = library,
                            .memory = far_memory,
                            .close = close_device,
                            .panel = &far_panel_ops};

/* Several states may open the device at a time; each part is chosen once. Its prices are the fixed figures of the first
** home that has some. */
static void choose_ops (const gb_device *home) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (ops.price == NULL && home->ops != NULL && home->ops->price != NULL &&
      getenv("GIBBOUS_FAR_UNPRICED") == NULL) {
    prices = *home->ops->price;
    prices.measure = NULL;
    ops.price = &prices;
  }
  if (ops.clock == NULL && getenv("GIBBOUS_FAR_CLOCK") != NULL) ops.clock = &clock_ops;
  pthread_mutex_unlock(&lock);
}

gb_device_open_function gb_device_open_plugin;
gb_status gb_device_open_plugin (unsigned abi, gb_device *home, int ordinal, size_t limit, gb_device **out,
                                 gb_error *err) {
  if (abi != GB_DEVICE_ABI)
    return gb_fail(err, GB_EDEVICE, "libgibbous_far.so is of another version of the program");
  const char *count = getenv("GIBBOUS_FAR_COUNT"); /* far devices, 1 where it does not say */
  if (ordinal >= (count != NULL ? atoi(count) : 1))
    return gb_fail(err, GB_EDEVICE, "there is no far device %d", ordinal);
  GB_TRY(read_faults(err));
  gb_device *dev = calloc(1, sizeof *dev);
  if (dev == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the far device");
  choose_ops(home);
  dev->priv = home;
  dev->pool = home->pool;
  gb_device_init(dev, &ops, far_memory(dev), limit != 0 ? limit : home->ledger.limit);
  /* The suite runs on it as on the host's own. */
  const char *name = getenv("GIBBOUS_FAR_NAME");
  if (name != NULL) snprintf(dev->name, sizeof dev->name, "%.8s", name);
  else if (ordinal > 0) snprintf(dev->name, sizeof dev->name, "far:%d", ordinal);
  *out = dev;
  return GB_OK;
}
