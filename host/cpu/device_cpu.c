/* device_cpu.c - the CPU backend: its ledger, its threads, and BLAS made safe to call from them. */
#include <stdio.h>
#include <stdlib.h>

#include "cpu/linalg/blas.h"
#include "cpu/cpu.h"
#include "cpu/isa/isa.h"

static const gb_backend_ops cpu_ops = {
  .name = "cpu",
  .fold_scratch = gb_cpu_fold_scratch,
  .fold_state = gb_cpu_fold_state, .fold_part = gb_cpu_fold_part, .fold = gb_cpu_fold,
  .opaque_scratch = gb_cpu_opaque_scratch,
  .opaque = gb_cpu_opaque,
  .identity = gb_cpu_identity,
  .rates = gb_cpu_rates,
};

gb_status gb_backend_set_threads (gb_backend *be, int threads, gb_error *err) {
  if (threads < 1) return gb_fail(err, GB_EOPTION, "threads: expected at least 1, got %d", threads);
  gb_pool *pool;
  GB_TRY(gb_pool_new(threads, &pool, err));
  const gb_status st = gb_blas_start(pool, err);
  if (st != GB_OK) {
    gb_pool_free(pool);
    return st;
  }
  gb_pool_free(be->pool);
  for (; be != NULL; be = be->next) be->pool = pool;
  return GB_OK;
}

gb_status gb_backend_cpu_new (int threads, size_t limit, gb_backend **out, gb_error *err) {
  GB_TRY(gb_isa_select(NULL, err));
  gb_backend *be = calloc(1, sizeof *be);
  if (be == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the cpu backend");
  be->ops = &cpu_ops;
  snprintf(be->name, sizeof be->name, "%s", cpu_ops.name);
  gb_ledger_init(&be->ledger, limit);
  const gb_status st = gb_backend_set_threads(be, threads, err);
  if (st != GB_OK) {
    free(be);
    return st;
  }
  *out = be;
  return GB_OK;
}

gb_status gb_backend_add_device (gb_backend *first, size_t limit, gb_error *err) {
  gb_backend *last = first;
  int n = 2;
  for (; last->next != NULL; n++) last = last->next;
  if (n > GB_DEVICES) return gb_fail(err, GB_EOPTION, "at most %d devices can be simulated", GB_DEVICES);
  gb_backend *be = calloc(1, sizeof *be);
  if (be == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a device");
  be->ops = first->ops;
  be->pool = first->pool;
  snprintf(be->name, sizeof be->name, "%.8s:%d", first->name, n);
  gb_ledger_init(&be->ledger, limit);
  last->next = be;
  return GB_OK;
}

void gb_backend_free (gb_backend *be) {
  if (be == NULL) return;
  gb_pool_free(be->pool);
  for (gb_backend *next; be != NULL; be = next) {
    next = be->next;
    gb_ledger_release(&be->ledger);
    free(be);
  }
}

const char *gb_backend_isa (const gb_backend *be) {
  (void)be;
  return gb_isa_active->name;
}

const char *gb_backend_blas (const gb_backend *be) {
  (void)be;
  return gb_blas_identity();
}
