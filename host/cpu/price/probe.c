/* probe.c - fold programs and opaque calls, built by hand and timed. */
#include "cpu/price/probe.h"

#include <string.h>

#include "base/clock.h"

static const double enough = 1e-3;        /* seconds of repetitions, ... */
enum { MOST_RUNS = 24, FEWEST_RUNS = 3 }; /* ... and how many of them */

static gb_axes bit (int axis) { return (gb_axes)1 << axis; }

void gb_probe_begin (gb_probe *p, gb_dtype compute, size_t lanes, size_t rows, size_t inner) {
  memset(p, 0, sizeof *p);
  p->f = (gb_fold){.compute = compute, .naxes = 3, .operand = p->operand, .ins = p->ins, .out = p->out};
  p->f.axis[GB_PROBE_LANE] = (gb_fold_axis){.extent = lanes, .role = GB_AXIS_LANE};
  p->f.axis[GB_PROBE_TILE] =
      (gb_fold_axis){.extent = rows > 0 ? rows : 1, .role = rows > 0 ? GB_AXIS_TILE : GB_AXIS_OUTER};
  p->f.axis[GB_PROBE_INNER] = (gb_fold_axis){.extent = inner, .role = GB_AXIS_INNER};
}

int gb_probe_operand (gb_probe *p, const void *at, ptrdiff_t lane, ptrdiff_t tile, ptrdiff_t inner) {
  const int n = p->f.noperands++;
  p->operand[n] = (gb_operand){.slot = n, .dtype = p->f.compute, .stride = {lane, tile, inner}};
  for (int a = 0; a < 3; a++)
    if (p->operand[n].stride[a] != 0) p->operand[n].deps |= bit(a);
  p->in[n] = at;
  return n;
}

static gb_axes deps_of (const gb_probe *p, const gb_ins *i) {
  gb_axes d = 0;
  const int value[] = {i->a, i->b, i->c}, operand[] = {i->x, i->y, i->w};
  const bool reads = i->kind == GB_INS_LOAD || i->kind == GB_INS_SQDIST || i->kind == GB_INS_DOT ||
                     i->kind == GB_INS_RAND;
  for (int n = 0; n < 3; n++) {
    if (value[n] >= 0) d |= p->deps[value[n]];
    if (reads && operand[n] >= 0) d |= p->operand[operand[n]].deps;
  }
  return i->axis >= 0 ? d & ~bit(i->axis) : d;
}

int gb_probe_ins (gb_probe *p, gb_ins i) {
  i.deps = deps_of(p, &i);
  i.dst = i.kind == GB_INS_EMIT || i.kind == GB_INS_LOOP || i.kind == GB_INS_ENDLOOP ? -1 : p->f.nvalues++;
  if (i.dst >= 0) p->deps[i.dst] = i.deps;
  p->ins[p->f.nins++] = i;
  return i.dst;
}

int gb_probe_load (gb_probe *p, const void *at, ptrdiff_t lane, ptrdiff_t tile) {
  return gb_probe_ins(p, (gb_ins){.kind = GB_INS_LOAD,
                                  .a = -1,
                                  .b = -1,
                                  .c = -1,
                                  .y = -1,
                                  .w = -1,
                                  .axis = -1,
                                  .x = gb_probe_operand(p, at, lane, tile, 0)});
}

int gb_probe_map (gb_probe *p, gb_op op, int a, int b, int c) {
  return gb_probe_ins(
      p,
      (gb_ins){.kind = GB_INS_MAP, .op = op, .a = a, .b = b, .c = c, .x = -1, .y = -1, .w = -1, .axis = -1});
}

int gb_probe_const (gb_probe *p, double v) {
  return gb_probe_ins(
      p, (gb_ins){
             .kind = GB_INS_CONST, .a = -1, .b = -1, .c = -1, .x = -1, .y = -1, .w = -1, .axis = -1, .f = v});
}

void gb_probe_emit (gb_probe *p, int value, gb_out o, void *to) {
  o.slot = p->f.nouts;
  if (o.dtype == GB_F64) o.dtype = p->f.compute;
  p->to[o.slot] = to;
  gb_probe_ins(
      p,
      (gb_ins){
          .kind = GB_INS_EMIT, .a = value, .b = -1, .c = -1, .x = p->f.nouts, .y = -1, .w = -1, .axis = -1});
  p->out[p->f.nouts++] = o;
}

/* Either of the two, run once. */
typedef struct call {
  gb_device *dev;
  const gb_kernel *kernel; /* NULL: the opaque op */
  gb_fold_args args;
  const gb_opaque *o;
  const void *const *in;
  void *const *out;
  void *scratch;
} call;

static gb_status run (const call *c, gb_error *err) {
  if (c->kernel != NULL) return gb_device_launch(c->dev, c->kernel, &c->args, err);
  return gb_device_opaque(c->dev, c->o, c->in, c->out, c->scratch, err);
}

static gb_status fastest (const call *c, double *seconds, gb_error *err) {
  double (*const now)(void) = gb_pool_threads(c->dev->pool) > 1 ? gb_clock : gb_clock_thread;
  const double begun = now();
  GB_TRY(run(c, err));
  double best = now() - begun;
  for (int n = 1; n < FEWEST_RUNS || (n < MOST_RUNS && now() - begun < enough); n++) {
    const double start = now();
    GB_TRY(run(c, err));
    const double t = now() - start;
    if (t < best) best = t;
  }
  *seconds = best;
  return GB_OK;
}

static gb_status check_room (size_t need, size_t room, gb_error *err) {
  return need <= room ? GB_OK : gb_fail(err, GB_ENOMEM, "no room to measure");
}

gb_status gb_probe_time (gb_device *dev, gb_probe *p, void *scratch, size_t room, double *seconds,
                         gb_error *err) {
  gb_kernel *k = NULL;
  GB_TRY(gb_device_compile(dev, &p->f, &k, err));
  const gb_fold_args args = {.part = &p->f, .operand = p->in, .out = p->to, .scratch = scratch};
  gb_status st = check_room(gb_device_kernel_scratch(dev, k, &p->f), room, err);
  if (st == GB_OK) st = fastest(&(call){.dev = dev, .kernel = k, .args = args}, seconds, err);
  gb_kernel_release(k);
  return st;
}

gb_status gb_probe_time_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                                void *scratch, size_t room, double *seconds, gb_error *err) {
  GB_TRY(check_room(gb_device_opaque_scratch(dev, o), room, err));
  return fastest(&(call){.dev = dev, .o = o, .in = in, .out = out, .scratch = scratch}, seconds, err);
}
