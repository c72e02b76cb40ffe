/* device.c - what all devices have: a name, memory with its account, simulated siblings. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>

void gb_device_init (gb_device *dev, const gb_device_ops *ops, gb_memory memory, size_t limit) {
  dev->ops = ops;
  dev->memory = memory;
  snprintf(dev->name, sizeof dev->name, "%s", ops->name);
  gb_ledger_init(&dev->ledger, &dev->memory, limit);
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

const char *gb_device_isa (const gb_device *dev) { return dev->ops->isa(dev); }
const char *gb_device_library (const gb_device *dev) { return dev->ops->library(dev); }

/* -- work */

size_t gb_device_fold_scratch (const gb_device *dev, const gb_fold *f) {
  return dev->ops->fold_scratch(dev, f);
}

size_t gb_device_fold_state (const gb_device *dev, const gb_fold *f) { return dev->ops->fold_state(dev, f); }

gb_status gb_device_fold (gb_device *dev, const gb_fold *f, const void *const *operand, void *const *out,
                          const gb_number *constant, const gb_carry *carry, void *scratch,
                          gb_fold_stats *stats, gb_error *err) {
  return dev->ops->fold(dev, f, operand, out, constant, carry, scratch, stats, err);
}

size_t gb_device_opaque_scratch (const gb_device *dev, const gb_opaque *o) {
  return dev->ops->opaque_scratch(dev, o);
}

gb_status gb_device_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                            void *scratch, gb_error *err) {
  return dev->ops->opaque(dev, o, in, out, scratch, err);
}

gb_status gb_device_wait (gb_device *dev, gb_error *err) {
  return dev->ops->wait == NULL ? GB_OK : dev->ops->wait(dev, err);
}

bool gb_device_has_parts (const gb_device *dev) { return dev->ops->fold_state != NULL; }
bool gb_device_has_rates (const gb_device *dev) { return dev->ops->rates != NULL; }
