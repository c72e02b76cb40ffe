/* kernel.c - folds as kernels of the CPU: what a device compiles once, and the bytes that a launch takes. */
#include <stdlib.h>
#include <string.h>

#include "cpu/fold/fold.h"

/* -- tables */

static gb_xcounts used (const gb_xprog *p) {
  return (gb_xcounts){.ops = (size_t)(p->code[GB_FORM_FULL] + p->ncode[GB_FORM_FULL]),
                      .packs = (size_t)p->npacks,
                      .outs = (size_t)p->f->nouts,
                      .links = (size_t)p->nlinks,
                      .values = (size_t)p->f->nvalues,
                      .bound = (size_t)(p->nbound[GB_FORM_LANE] + p->nbound[GB_FORM_TILE]),
                      .chains = (size_t)p->nchains};
}

static void *copied (void *to, const void *from, size_t n, size_t size) {
  return n > 0 ? memcpy(to, from, n * size) : to;
}

/* Moves 'p' to tables of its own at 'at' and to the fold 'to', which has the instructions of its present one.
** Returns the end of the tables. */
static char *move_fitted (gb_xprog *p, const gb_fold *to, char *at) {
  const gb_xcounts n = used(p);
  const gb_fold *from = p->f;
  gb_xprog own;
  at = gb_exec_lay_fitted(&own, &n, at);
  p->op = copied(own.op, p->op, n.ops, sizeof *p->op);
  p->pack = copied(own.pack, p->pack, n.packs, sizeof *p->pack);
  p->out = copied(own.out, p->out, n.outs, sizeof *p->out);
  p->link = copied(own.link, p->link, n.links, sizeof *p->link);
  for (size_t k = 0; k < n.ops; k++) {
    gb_xop *op = &p->op[k];
    op->ins = to->ins + (op->ins - from->ins);
    if (op->front != NULL) op->front = to->ins + (op->front - from->ins);
  }
  for (size_t k = 0; k < n.outs; k++) p->out[k].o = to->out + k;
  p->f = to;
  return at;
}

static void move_constant (gb_xprog *p, char *at) {
  const gb_xcounts n = used(p);
  gb_xprog own;
  gb_exec_lay_constant(&own, &n, at);
  p->value = copied(own.value, p->value, n.values, sizeof *p->value);
  p->bound = copied(own.bound, p->bound, n.bound, sizeof *p->bound);
  p->chain = copied(own.chain, p->chain, n.chains, sizeof *p->chain);
}

void gb_exec_enter (const gb_cpu_kernel *k, const gb_fold *part, void *fitted, gb_xprog *p) {
  *p = k->prog;
  move_fitted(p, part, fitted);
}

/* -- compilation */

typedef struct layout {
  size_t operands, ins, outs, fitted, constant, bytes;
} layout;

static layout lay (const gb_fold *f, const gb_xprog *p) {
  static char origin[1];
  const gb_xcounts n = used(p);
  gb_xprog to;
  layout at = {.bytes = 0};
  gb_take(&at.bytes, sizeof(gb_cpu_kernel));
  at.operands = gb_take(&at.bytes, (size_t)f->noperands * sizeof *f->operand);
  at.ins = gb_take(&at.bytes, (size_t)f->nins * sizeof *f->ins);
  at.outs = gb_take(&at.bytes, (size_t)f->nouts * sizeof *f->out);
  at.fitted = gb_take(&at.bytes, (size_t)(gb_exec_lay_fitted(&to, &n, origin) - origin));
  at.constant = gb_take(&at.bytes, (size_t)(gb_exec_lay_constant(&to, &n, origin) - origin));
  return at;
}

/* The program 'p' of 'f' as a block of memory with a copy of the fold, in the bytes that it uses. */
static gb_status keep (const gb_fold *f, const gb_xprog *p, gb_kernel **out, gb_error *err) {
  const layout at = lay(f, p);
  gb_cpu_kernel *k = aligned_alloc(64, at.bytes);
  if (k == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  char *block = (char *)k;
  *k = (gb_cpu_kernel){.kernel = {.bytes = at.bytes}, .fold = *f, .prog = *p};
  k->fold.operand = copied(block + at.operands, f->operand, (size_t)f->noperands, sizeof *f->operand);
  k->fold.ins = copied(block + at.ins, f->ins, (size_t)f->nins, sizeof *f->ins);
  k->fold.out = copied(block + at.outs, f->out, (size_t)f->nouts, sizeof *f->out);
  move_fitted(&k->prog, &k->fold, block + at.fitted);
  move_constant(&k->prog, block + at.constant);
  k->prog.meta = at.constant - at.fitted;
  *out = &k->kernel;
  return GB_OK;
}

/* Compiled with room for any program, kept in what this one needs: plans of many folds stay small. */
gb_status gb_cpu_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  (void)dev;
  gb_xprog p;
  void *room = aligned_alloc(64, (gb_exec_room(f) + 63) & ~(size_t)63);
  if (room == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  gb_status st = gb_exec_compile(f, room, &p, err);
  if (st == GB_OK) st = keep(f, &p, out, err);
  free(room);
  return st;
}

void gb_cpu_release (gb_kernel *k) { free(k); }

/* -- scratch */

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
