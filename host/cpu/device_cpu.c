/* device_cpu.c - the CPU device: its ledger, its threads, and BLAS made safe to call from them. */
#include <stdio.h>
#include <stdlib.h>

#include "cpu/cpu.h"
#include "cpu/isa/isa.h"
#include "cpu/linalg/blas.h"

static const gb_device_ops cpu_ops = {
    .name = "cpu",
    .fold_scratch = gb_cpu_fold_scratch,
    .fold_state = gb_cpu_fold_state,
    .fold_part = gb_cpu_fold_part,
    .fold = gb_cpu_fold,
    .opaque_scratch = gb_cpu_opaque_scratch,
    .opaque = gb_cpu_opaque,
    .identity = gb_cpu_identity,
    .rates = gb_cpu_rates,
    .panel = &gb_cpu_panel_ops,
};

gb_status gb_device_set_threads (gb_device *dev, int threads, gb_error *err) {
  if (threads < 1) return gb_fail(err, GB_EOPTION, "threads: expected at least 1, got %d", threads);
  gb_pool *pool;
  GB_TRY(gb_pool_new(threads, &pool, err));
  const gb_status st = gb_blas_start(pool, err);
  if (st != GB_OK) {
    gb_pool_free(pool);
    return st;
  }
  gb_pool_free(dev->pool);
  for (; dev != NULL; dev = dev->next) dev->pool = pool;
  return GB_OK;
}

gb_status gb_device_cpu_new (int threads, size_t limit, gb_device **out, gb_error *err) {
  GB_TRY(gb_isa_select(NULL, err));
  gb_device *dev = calloc(1, sizeof *dev);
  if (dev == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the cpu device");
  dev->ops = &cpu_ops;
  snprintf(dev->name, sizeof dev->name, "%s", cpu_ops.name);
  dev->memory = gb_host_memory();
  gb_ledger_init(&dev->ledger, &dev->memory, limit);
  const gb_status st = gb_device_set_threads(dev, threads, err);
  if (st != GB_OK) {
    free(dev);
    return st;
  }
  *out = dev;
  return GB_OK;
}

gb_status gb_device_add_simulated (gb_device *first, size_t limit, gb_error *err) {
  gb_device *last = first;
  int n = 2;
  for (; last->next != NULL; n++) last = last->next;
  if (n > GB_DEVICES) return gb_fail(err, GB_EOPTION, "at most %d devices can be simulated", GB_DEVICES);
  gb_device *dev = calloc(1, sizeof *dev);
  if (dev == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a device");
  dev->ops = first->ops;
  dev->pool = first->pool;
  snprintf(dev->name, sizeof dev->name, "%.8s:%d", first->name, n);
  dev->memory = gb_host_memory();
  gb_ledger_init(&dev->ledger, &dev->memory, limit);
  last->next = dev;
  return GB_OK;
}

void gb_device_free (gb_device *dev) {
  if (dev == NULL) return;
  gb_pool_free(dev->pool);
  for (gb_device *next; dev != NULL; dev = next) {
    next = dev->next;
    gb_ledger_release(&dev->ledger);
    free(dev);
  }
}

const char *gb_device_isa (const gb_device *dev) {
  (void)dev;
  return gb_isa_active->name;
}

const char *gb_device_blas (const gb_device *dev) {
  (void)dev;
  return gb_blas_identity();
}
