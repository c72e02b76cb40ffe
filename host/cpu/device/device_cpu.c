/* device_cpu.c - the CPU device: memory of the host, threads, and BLAS made safe to call from them. */
#include <stdlib.h>

#include "cpu/cluster/points.h"
#include "cpu/cpu.h"
#include "cpu/isa/isa.h"
#include "cpu/linalg/blas.h"
#include "cpu/price/profile.h"

static gb_status set_threads (gb_device *dev, int threads, gb_error *err) {
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

static const char *isa (const gb_device *dev) {
  (void)dev;
  return gb_isa_active->name;
}

static const char *library (const gb_device *dev) {
  (void)dev;
  return gb_blas_identity();
}

static gb_memory memory (const gb_device *dev) {
  (void)dev;
  return gb_host_memory();
}

static void close_device (gb_device *dev) { gb_pool_free(dev->pool); }

/* It runs the default schedule: its kernels are written for these tiles and chains. */
static const gb_device_ops cpu_ops = {
    .name = "cpu",
    .block = GB_BLOCK,
    .compile = gb_cpu_compile,
    .release = gb_cpu_release,
    .kernel_scratch = gb_cpu_kernel_scratch,
    .kernel_state = gb_cpu_kernel_state,
    .launch = gb_cpu_launch,
    .opaque_scratch = gb_cpu_opaque_scratch,
    .opaque = gb_cpu_opaque,
    .set_threads = set_threads,
    .isa = isa,
    .library = library,
    .memory = memory,
    .close = close_device,
    .price = &gb_cpu_price_ops,
    .panel = &gb_cpu_panel_ops,
    .cluster = &gb_cpu_cluster_ops,
};

gb_status gb_device_cpu_new (int threads, size_t limit, gb_device **out, gb_error *err) {
  GB_TRY(gb_isa_select(NULL, err));
  gb_device *dev = calloc(1, sizeof *dev);
  if (dev == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the cpu device");
  gb_device_init(dev, &cpu_ops, gb_host_memory(), limit);
  const gb_status st = gb_device_set_threads(dev, threads, err);
  if (st != GB_OK) {
    free(dev);
    return st;
  }
  *out = dev;
  return GB_OK;
}
