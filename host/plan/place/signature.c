/* signature.c - which arithmetic makes a buffer: two plans that give one node the same signature give it
** the same bits.
**
** Plans of other requests may compute a node otherwise: a fold that it shares with another result has
** other axes in its lanes, so its sums run in another order. A value that exists stands in for a step only
** where the signatures agree; so what was observed before never changes a result. */
#include "plan/place/signature.h"

#include <stdlib.h>

#include "base/hash.h"

typedef struct signer {
  const gb_step *st;
  const uint64_t *made; /* signatures of buffers so far */
  uint64_t *value;      /* of the fold's values */
  uint64_t loops;       /* of the loops open around the instruction */
} signer;

static uint64_t of_operand (const signer *s, int x) {
  if (x < 0) return 0;
  const gb_operand *o = &s->st->fold.operand[x];
  return gb_hash_u64((uint64_t)o->dtype, s->made[s->st->in[o->slot]]);
}

static uint64_t of_value (const signer *s, int v) { return v < 0 ? 1 : s->value[v]; }

static uint64_t of_axis (const gb_fold *f, int axis) {
  return axis < 0 ? 0 : gb_hash_u64((uint64_t)f->axis[axis].role, f->axis[axis].extent);
}

/* An accumulation depends on the loops around it; every other instruction only on what it takes. */
static void sign_ins (signer *s, const gb_ins *i) {
  const gb_fold *f = &s->st->fold;
  if (i->kind == GB_INS_LOOP) s->loops = gb_hash_u64(s->loops, of_axis(f, i->axis));
  if (i->kind == GB_INS_ENDLOOP) s->loops = 0;
  if (i->dst < 0) return;
  uint64_t h = gb_hash_u64((uint64_t)i->kind << 32 | (uint64_t)i->op,
                           (uint64_t)i->profile << 32 | (uint64_t)i->monoid);
  h = gb_hash_u64(h, (uint64_t)i->order << 32 | (uint64_t)i->dalpha);
  h = gb_hash_u64(gb_hash_u64(gb_hash_u64(h, of_value(s, i->a)), of_value(s, i->b)), of_value(s, i->c));
  if (i->kind == GB_INS_LOAD) h = gb_hash_u64(h, of_operand(s, i->x));
  if (i->kind == GB_INS_SQDIST || i->kind == GB_INS_DOT)
    h = gb_hash_u64(gb_hash_u64(gb_hash_u64(h, of_operand(s, i->x)), of_operand(s, i->y)),
                    of_operand(s, i->w));
  h = gb_hash_f64(gb_hash_f64(gb_hash_u64(h, of_axis(f, i->axis)), i->f), i->g);
  h = gb_hash_u64(gb_hash_u64(h, (uint64_t)i->step), (uint64_t)i->start);
  h = gb_hash_u64(gb_hash_u64(h, i->seed[0]), i->seed[1]);
  s->value[i->dst] = i->kind == GB_INS_ACC ? gb_hash_u64(h, s->loops) : h;
}

/* The order of a reduction: which of its axes are lanes, tile rows and outer loops, and how long. */
static uint64_t of_out (const signer *s, const gb_out *o, int emitted) {
  const gb_fold *f = &s->st->fold;
  uint64_t h = gb_hash_u64((uint64_t)o->kind << 32 | (uint64_t)o->monoid, of_value(s, emitted));
  h = gb_hash_u64(gb_hash_u64(h, of_operand(s, o->x)), of_operand(s, o->y));
  h = gb_hash_u64(gb_hash_u64(h, of_axis(f, o->axis)), (uint64_t)o->k);
  h = gb_hash_u64(h,
                  (uint64_t)f->compute << 32 | (uint64_t)o->dtype << 8 | (f->symmetric && o->reduced != 0));
  for (int a = 0; a < f->naxes; a++)
    if (o->reduced >> a & 1) h = gb_hash_u64(h, of_axis(f, a));
  return h;
}

/* A sum in grains of a batch is another sum. */
static uint64_t of_cut (const gb_cut *c, size_t grain) {
  return c == NULL || !c->cut || !c->reduces ? 0 : gb_hash_u64(grain, (uint64_t)c->axis);
}

/* Functions of another device may round in another way. */
static uint64_t of_home (const gb_step *st) { return gb_step_is_home(st) ? 0x9e3779b97f4a7c15u : 0; }

static bool sign_fold (const gb_step *st, uint64_t cut, uint64_t *made) {
  const gb_fold *f = &st->fold;
  signer s = {.st = st, .made = made, .value = calloc((size_t)f->nvalues + 1, sizeof *s.value)};
  if (s.value == NULL) return false;
  for (int i = 0; i < f->nins; i++) {
    sign_ins(&s, &f->ins[i]);
    if (f->ins[i].kind != GB_INS_EMIT) continue;
    const gb_out *o = &f->out[f->ins[i].x];
    const uint64_t h = of_out(&s, o, f->ins[i].a) + (o->reduced != 0 ? cut : 0) + of_home(st);
    made[st->out[o->slot]] = h;
    if (o->kind == GB_OUT_REDUCE && o->monoid == GB_KSMALLEST && o->slot2 >= 0)
      made[st->out[o->slot2]] = h + 1;
  }
  free(s.value);
  return true;
}

static void sign_opaque (const gb_step *st, uint64_t cut, uint64_t *made) {
  uint64_t h = gb_hash_bytes((uint64_t)st->opaque.op + cut, &st->opaque.attr, sizeof st->opaque.attr);
  for (int i = 0; i < st->nin; i++) h = gb_hash_u64(h, made[st->in[i]]);
  for (int i = 0; i < st->nout; i++) made[st->out[i]] = gb_hash_u64(h, (uint64_t)i + 1);
}

/* The blocks of a product go by the grain as well, whichever of its axes the batch is. */
gb_status gb_buffer_signatures (const gb_lowered *low, const gb_tiling *batch, uint64_t *made,
                                gb_error *err) {
  for (int b = 0; b < low->nbufs; b++) made[b] = low->buf[b].cls == GB_BUF_LEAF;
  for (int s = 0; s < low->nsteps; s++) {
    const gb_cut *c = batch == NULL ? NULL : &batch->cut[s];
    const uint64_t cut = of_cut(c, batch == NULL ? 0 : batch->grain);
    const uint64_t blocks = c == NULL || !c->cut ? 0 : gb_hash_u64(batch->grain, (uint64_t)c->axis);
    const gb_step *st = &low->step[s];
    if (st->added) made[st->out[0]] = made[st->in[0]];
    else if (!st->is_fold) sign_opaque(st, blocks + of_home(st), made);
    else if (!sign_fold(st, cut, made))
      return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  }
  return GB_OK;
}
