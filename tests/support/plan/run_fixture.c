/* run_fixture.c - runs whose measured bytes are the predicted ones; a device that lacks ops. */
#include "support/plan/run_fixture.h"

#include "plan/choose/plan_internal.h"
#include "support/random/expression_random.h"

#define LIMIT ((size_t)1 << 28)

/* A step reads and writes the memory of its device; a MOVE reads another one. */
static void check_devices (const gb_lowered *low, tally *t) {
  for (int k = 0; k < low->nsteps; k++) {
    const gb_step *st = &low->step[k];
    const bool moves = !st->is_fold && st->opaque.op == GB_OP_MOVE;
    for (int i = 0; i < st->nin; i++) assert_true((low->buf[st->in[i]].device == st->device) != moves);
    for (int i = 0; i < st->nout; i++) assert_int_equal(low->buf[st->out[i]].device, st->device);
    t->at_home += gb_step_is_home(st);
  }
}

static void check_bytes (const gb_plan *p, tally *t) {
  const gb_plan_device *d;
  gb_run_stats s;
  const int n = gb_plan_devices(p, &d);
  gb_plan_stats(p, &s);
  for (int i = 0; i < n; i++) {
    assert_int_equal(gb_plan_measured_on(p, i), d[i].peak);
    assert_true(d[i].peak <= d[i].budget);
  }
  check_devices(p->prog->low, t);
  t->devices += n > 1;
  t->windows += s.windows > 0;
  t->moved += s.moved;
}

gb_status run (gb_node *y, size_t budget, gb_tensor *out, tally *t) {
  gb_plan *p;
  const gb_status rc = gb_plan_new(fx.g, 1, &y, &(gb_plan_options){.budget = budget}, &p, &fx.err);
  if (rc != GB_OK) return rc;
  OK(gb_plan_run_with(p, 0, NULL, NULL, out, &fx.err));
  gb_cache_drop(fx.g, SIZE_MAX);
  check_bytes(p, t);
  t->runs++;
  gb_plan_free(p);
  return GB_OK;
}

void shrink_on (gb_device *dev, gb_node *y, void (*check)(void *ud, gb_tensor *got), void *ud, tally *t) {
  const bool own = dev == device;
  const size_t limit = dev->ledger.limit, base = dev->ledger.used;
  gb_status rc = GB_OK;
  for (size_t room = (size_t)1 << 19; rc == GB_OK && room >= 64; room = room * 2 / 3) {
    gb_tensor got;
    if (!own) dev->ledger.limit = base + gb_ledger_charged(&dev->ledger) + room;
    rc = run(y, own ? room : 0, &got, t);
    dev->ledger.limit = limit;
    if (rc == GB_OK) check(ud, &got);
  }
  if (rc == GB_OK) return;
  assert_int_equal(rc, GB_EREFUSED);
  if (!own) assert_non_null(strstr(fx.err.text, dev->name));
  assert_true(fx.err.need > fx.err.have);
  t->refused++;
}

gb_node *random_expression_of (uint64_t seed, gb_node *(*input)(void *ud), void *ud) {
  pool p = {.n = 0};
  draw_seed = seed;
  drawn = 0;
  sizes.extent[0] = 3;
  sizes.extent[1] = 8;
  sizes.extent[2] = 40;
  sizes.extent[3] = 700;
  inputs.next = 0;
  for (int i = 0; i < 3; i++) p.at[p.n++] = input(ud);
  grow(&p);
  return p.at[p.n - 1];
}

/* -- a device that lacks ops */

static struct {
  gb_device_ops ops;
  const gb_device_ops *plain;
  bool lacks[GB_NOPS], simulated;
} picky;
gb_device *home;

static bool supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack) {
  bool refuses = o != NULL && picky.lacks[o->op];
  (void)dev;
  for (int i = 0; f != NULL && !refuses && i < f->nins; i++)
    if ((refuses = f->ins[i].kind == GB_INS_MAP && picky.lacks[f->ins[i].op])) lack->ins = i;
  lack->why = PICKY_REASON;
  return !refuses;
}

void picky_begin (int threads, gb_dtype t) {
  eval_begin(threads, LIMIT);
  inputs_begin(5, t, 0);
  picky.simulated = device->home == NULL;
  if (picky.simulated) {
    OK(gb_device_add_simulated(device, LIMIT, &fx.err));
    device->home = device->next;
  }
  home = device->home;
  picky.plain = device->ops;
  picky.ops = *picky.plain;
  picky.ops.supports = supports;
  device->ops = &picky.ops;
  memset(picky.lacks, 0, sizeof picky.lacks);
}

void picky_end (void) {
  release_to(0);
  gb_cache_drop(fx.g, SIZE_MAX);
  device->ops = picky.plain;
  if (picky.simulated) assert_int_equal(home->ledger.used, 0);
  eval_end();
}

void picky_lacks (gb_op op) { picky.lacks[op] = true; }

int picky_draw_lacks (uint64_t seed) {
  int n = 0;
  for (int op = 0; op < GB_NOPS; op++) {
    const double u = gb_rand_uniform(seed, (uint64_t)op, 9);
    n += picky.lacks[op] = op != GB_OP_MOVE && u < (seed % 4 == 0 ? 1.0 : seed % 4 == 1 ? 0.1 : 0.4);
  }
  return n;
}
