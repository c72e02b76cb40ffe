/* supports.c - steps that a device does not run. */
#include "plan/structure/supports.h"

#include <stdio.h>

/* The op that an instruction stands for; GB_NOPS: none of its own. */
static gb_op op_of (const gb_ins *i) {
  switch (i->kind) {
    case GB_INS_MAP: return i->op;
    case GB_INS_RADIAL: return GB_OP_RADIAL;
    case GB_INS_SQDIST: return GB_OP_SQDIST;
    case GB_INS_DOT: return GB_OP_MATMUL;
    case GB_INS_RAND: return i->profile == 0 ? GB_OP_RAND : GB_OP_RANDN;
    default: return GB_NOPS;
  }
}

char *gb_lack_text (const gb_step *st, gb_lack lack, char buf[GB_LACK_TEXT]) {
  const bool known = st->is_fold && lack.ins >= 0 && lack.ins < st->fold.nins;
  const gb_op op = known ? op_of(&st->fold.ins[lack.ins]) : GB_NOPS;
  snprintf(buf, GB_LACK_TEXT, "%s%s%.120s", op != GB_NOPS ? gb_ops[op].name : "", op != GB_NOPS ? " in " : "",
           st->what);
  return buf;
}

static gb_status refuse (const gb_device *dev, const gb_lowered *low, const gb_step *st, gb_lack lack,
                         gb_error *err) {
  const char *where = low->buf[st->out[0]].where;
  char what[GB_LACK_TEXT];
  return gb_fail(err, GB_EDEVICE, "%s%s%.80s%s does not run on device %s: %.200s",
                 gb_lack_text(st, lack, what), *where ? " (" : "", where, *where ? ")" : "", dev->name,
                 lack.why);
}

gb_status gb_lowered_supported (const gb_graph *g, const gb_device *first, const gb_lowered *low,
                                gb_error *err) {
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    gb_lack lack;
    const gb_device *dev = st->device == 0 ? first : gb_graph_device(g, st->device);
    if (!st->is_fold && (st->opaque.op == GB_OP_CALL || st->opaque.op == GB_OP_MOVE))
      continue; /* the run's own */
    if (!gb_device_supports(dev, st->is_fold ? &st->fold : NULL, st->is_fold ? NULL : &st->opaque, &lack))
      return refuse(dev, low, st, lack, err);
  }
  return GB_OK;
}

static bool reads (const gb_step *st, int b) {
  for (int i = 0; i < st->nin; i++)
    if (st->in[i] == b) return true;
  return false;
}

bool gb_packed_factor_supported (const gb_graph *g, const gb_lowered *low, const gb_packed_factor *t) {
  const gb_device *dev = gb_graph_device(g, low->step[t->factor].device);
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    if (s != t->factor && !reads(st, t->result)) continue;
    gb_opaque packed = st->opaque;
    gb_lack lack;
    packed.packed = true;
    if (!gb_device_supports(dev, NULL, &packed, &lack)) return false;
  }
  return true;
}
