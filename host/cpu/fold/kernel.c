/* kernel.c - folds as kernels of the CPU: what a device compiles once, and the bytes that a launch takes. */
#include <stdlib.h>
#include <string.h>

#include "cpu/fold/fold.h"

static void *carve (char **at, const void *from, size_t bytes) {
  void *to = *at;
  if (bytes > 0) memcpy(to, from, bytes);
  *at += (bytes + 63) & ~(size_t)63;
  return to;
}

static size_t room_of (const gb_fold *f) {
  size_t bytes = 0;
  gb_take(&bytes, sizeof(gb_cpu_kernel));
  gb_take(&bytes, (size_t)f->noperands * sizeof *f->operand);
  gb_take(&bytes, (size_t)f->nins * sizeof *f->ins);
  gb_take(&bytes, (size_t)f->nouts * sizeof *f->out);
  gb_take(&bytes, gb_exec_meta(f));
  return bytes;
}

/* The fold's own copy, and room for tables behind it. */
static void take_fold (gb_cpu_kernel *k, const gb_fold *f, char *at) {
  k->fold = *f;
  k->fold.operand = carve(&at, f->operand, (size_t)f->noperands * sizeof *f->operand);
  k->fold.ins = carve(&at, f->ins, (size_t)f->nins * sizeof *f->ins);
  k->fold.out = carve(&at, f->out, (size_t)f->nouts * sizeof *f->out);
  k->tables = at;
}

gb_status gb_cpu_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  (void)dev;
  const size_t bytes = room_of(f);
  gb_cpu_kernel *k = aligned_alloc(64, bytes);
  if (k == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  *k = (gb_cpu_kernel){.kernel = {.bytes = bytes}};
  take_fold(k, f, (char *)k + ((sizeof *k + 63) & ~(size_t)63));
  const gb_status st = gb_exec_compile(&k->fold, k->tables, &k->prog, err);
  if (st == GB_OK) *out = &k->kernel;
  else free(k);
  return st;
}

void gb_cpu_release (gb_kernel *k) { free(k); }

/* The program fitted to a part, in the sizes alone; false: it is a part of another fold. */
static bool size_up (const gb_device *dev, const gb_kernel *kernel, const gb_fold *part, gb_xprog *p) {
  const gb_cpu_kernel *k = (const gb_cpu_kernel *)kernel;
  if (!gb_fold_serves(&k->fold, part)) return false;
  *p = k->prog;
  gb_exec_fit(p, part, gb_pool_threads(dev->pool), false);
  return true;
}

gb_scratch_layout gb_exec_lay_scratch (const gb_xprog *p) {
  gb_scratch_layout at = {.bytes = p->meta + p->totals};
  at.workspaces = gb_take(&at.bytes, (size_t)p->threads * p->work);
  at.ring = gb_take(&at.bytes, 2 * (size_t)p->threads * 64);
  return at;
}

size_t gb_cpu_kernel_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  gb_xprog p;
  return size_up(dev, k, part, &p) ? gb_exec_lay_scratch(&p).bytes : SIZE_MAX;
}

size_t gb_cpu_kernel_state (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  gb_xprog p;
  return size_up(dev, k, part, &p) ? p.kept : SIZE_MAX;
}
