/* device.c - what all devices have: a name, memory with its account, simulated siblings. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "device/clock.h"

static bool interrupted (void) { return gb_interrupted(); }

void gb_device_init (gb_device *dev, const gb_device_ops *ops, gb_memory memory, size_t limit) {
  dev->ops = ops;
  dev->memory = memory;
  dev->memory.owner = dev;
  snprintf(dev->name, sizeof dev->name, "%s", ops->name);
  gb_ledger_init(&dev->ledger, &dev->memory, limit);
  dev->interrupted = interrupted;
}

gb_status gb_device_add_simulated (gb_device *first, size_t limit, gb_error *err) {
  gb_device *last = first;
  int n = 2;
  for (; last->next != NULL; n++) last = last->next;
  if (n > GB_DEVICES) return gb_fail(err, GB_EOPTION, "at most %d devices can be simulated", GB_DEVICES);
  gb_device *dev = calloc(1, sizeof *dev);
  if (dev == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a device");
  gb_device_init(dev, first->ops, first->ops->memory(first), limit);
  dev->pool = first->pool;
  dev->priv = first->priv;
  dev->home = first->home;
  snprintf(dev->name, sizeof dev->name, "%.8s:%d", first->name, n);
  last->next = dev;
  return GB_OK;
}

void gb_device_free (gb_device *dev) {
  if (dev == NULL) return;
  dev->ops->close(dev);
  for (gb_device *next; dev != NULL; dev = next) {
    next = dev->next;
    gb_ledger_release(&dev->ledger);
    if (dev->free_profiles != NULL) dev->free_profiles(dev->profiles);
    free(dev);
  }
}

gb_status gb_device_set_threads (gb_device *dev, int threads, gb_error *err) {
  if (threads < 1) return gb_fail(err, GB_EOPTION, "threads: expected at least 1, got %d", threads);
  return dev->ops->set_threads(dev, threads, err);
}

gb_status gb_device_set_arithmetic (gb_device *dev, const char *name, gb_error *err) {
  for (int i = 0; dev->ops->arithmetics != NULL && dev->ops->arithmetics[i] != NULL; i++) {
    if (strcmp(dev->ops->arithmetics[i], name) != 0) continue;
    for (gb_device *d = dev; d != NULL; d = d->next) d->arithmetic = i;
    return GB_OK;
  }
  return gb_fail(err, GB_EOPTION, "%s has no arithmetic '%.40s'", dev->name, name);
}

const char *gb_device_arithmetic (const gb_device *dev) {
  return dev->ops->arithmetics == NULL ? "" : dev->ops->arithmetics[dev->arithmetic];
}

const char *gb_device_isa (const gb_device *dev) { return dev->ops->isa(dev); }
const char *gb_device_library (const gb_device *dev) { return dev->ops->library(dev); }
const char *gb_device_kernels (const gb_device *dev) {
  return dev->ops->kernels == NULL ? NULL : dev->ops->kernels(dev);
}

/* -- losing a device */

#define LISTED 3 /* values by name */

/* The largest values of the account, and how many there are. */
typedef struct gone {
  size_t count, bytes;
  const gb_block *most[LISTED];
} gone;

static void count_gone (gone *g, const gb_block *b) {
  g->count++;
  g->bytes += b->bytes;
  for (int i = 0; i < LISTED; i++) {
    const gb_block *other = g->most[i];
    if (other != NULL && other->bytes >= b->bytes) continue;
    g->most[i] = b;
    b = other;
    if (b == NULL) return;
  }
}

static void lose (gb_device *dev, const char *why) {
  char *at = dev->lost, *end = dev->lost + sizeof dev->lost, bytes[GB_BYTES_TEXT];
  gone g = {0};
  for (const gb_ledger *l = &dev->ledger; l != NULL; l = l->outer)
    for (const gb_block *b = l->live; b != NULL; b = b->next)
      if (b->purpose == GB_MEM_TENSOR || b->purpose == GB_MEM_CACHE) count_gone(&g, b);
  at += snprintf(at, (size_t)(end - at), "device %s is lost (%.200s); gone with it: %zu value%s of %s",
                 dev->name, why, g.count, g.count == 1 ? "" : "s", gb_bytes_text(g.bytes, bytes));
  for (int i = 0; i < LISTED && g.most[i] != NULL && at < end; i++)
    at += snprintf(at, (size_t)(end - at), "%s%.32s%s%.40s", i == 0 ? ", the largest: " : ", ",
                   *g.most[i]->name ? g.most[i]->name : "a tensor", *g.most[i]->where ? " of " : "",
                   g.most[i]->where);
}

gb_status gb_device_alive (const gb_device *dev, gb_error *err) {
  return dev == NULL || dev->lost[0] == '\0' ? GB_OK : gb_fail(err, GB_EDEVICE, "%s", dev->lost);
}

gb_status gb_device_checked (gb_device *dev, gb_status st, gb_error *err) {
  if (st != GB_EDEVICE || dev == NULL) return st;
  if (dev->lost[0] == '\0') lose(dev, err != NULL && err->text[0] != '\0' ? err->text : "no reason given");
  return gb_device_alive(dev, err);
}

/* -- work */

gb_status gb_device_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  GB_TRY(gb_device_alive(dev, err));
  GB_TRY(dev->ops->compile(dev, f, out, err));
  (*out)->ops = dev->ops;
  dev->compiled++;
  return GB_OK;
}

void gb_kernel_release (gb_kernel *k) {
  if (k != NULL) k->ops->release(k);
}

size_t gb_device_kernel_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  return k->ops != dev->ops ? SIZE_MAX : dev->ops->kernel_scratch(dev, k, part);
}

size_t gb_device_kernel_state (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  return k->ops != dev->ops ? SIZE_MAX : dev->ops->kernel_state(dev, k, part);
}

gb_status gb_device_launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err) {
  if (k == NULL || k->ops != dev->ops)
    return gb_fail(err, GB_EINTERNAL, "%s: a fold that it has not compiled", dev->name);
  GB_TRY(gb_device_alive(dev, err));
  return gb_device_checked(dev, dev->ops->launch(dev, k, args, err), err);
}

size_t gb_device_opaque_scratch (const gb_device *dev, const gb_opaque *o) {
  return dev->ops->opaque_scratch(dev, o);
}

gb_status gb_device_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                            void *scratch, gb_error *err) {
  GB_TRY(gb_device_alive(dev, err));
  return gb_device_checked(dev, dev->ops->opaque(dev, o, in, out, scratch, err), err);
}

bool gb_device_supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack) {
  *lack = (gb_lack){.why = NULL, .ins = -1};
  if (dev->ops->supports == NULL || dev->ops->supports(dev, f, o, lack)) return true;
  if (lack->why == NULL || *lack->why == '\0') lack->why = "it gives no reason";
  return false;
}

gb_status gb_device_wait (gb_device *dev, gb_error *err) {
  GB_TRY(gb_device_alive(dev, err));
  return dev->ops->wait == NULL ? GB_OK : gb_device_checked(dev, dev->ops->wait(dev, err), err);
}

gb_status gb_device_settle (gb_device *dev, bool *more, gb_error *err) {
  *more = false;
  GB_TRY(gb_device_alive(dev, err));
  return dev->ops->settle == NULL ? GB_OK : gb_device_checked(dev, dev->ops->settle(dev, more, err), err);
}

/* -- the clock */

static gb_status check_clock (const gb_device *dev, gb_error *err) {
  if (dev->ops->clock == NULL) return gb_fail(err, GB_EINTERNAL, "%s has no clock of its own", dev->name);
  return gb_device_alive(dev, err);
}

gb_status gb_device_begin_span (gb_device *dev, const char *name, int *span, gb_error *err) {
  GB_TRY(check_clock(dev, err));
  return gb_device_checked(dev, dev->ops->clock->begin(dev, name, span, err), err);
}

gb_status gb_device_end_span (gb_device *dev, int span, gb_error *err) {
  GB_TRY(check_clock(dev, err));
  return gb_device_checked(dev, dev->ops->clock->end(dev, span, err), err);
}

gb_status gb_device_read_span (gb_device *dev, int span, double *from, double *to, gb_error *err) {
  GB_TRY(check_clock(dev, err));
  return gb_device_checked(dev, dev->ops->clock->read(dev, span, from, to, err), err);
}

void gb_device_drop_spans (gb_device *dev, int span) {
  if (dev->ops->clock != NULL) dev->ops->clock->drop(dev, span);
}

bool gb_device_has_parts (const gb_device *dev) { return dev->ops->kernel_state != NULL; }
