/* identity.c - a hash of a program that does not see how axes, operands and values are numbered, nor
** extents. */
#include "base/hash.h"
#include "lower/internal.h"

typedef struct renaming { /* numbers in order of first use, from 1 */
  int axis[GB_FOLD_AXES], naxes;
  uint64_t h;
} renaming;

static void mix (renaming *r, uint64_t v) { r->h = gb_hash_u64(r->h, v); }

static uint64_t axis_name (renaming *r, const gb_fold *f, int a) {
  if (a < 0) return 0;
  if (r->axis[a] == 0) {
    r->axis[a] = ++r->naxes;
    mix(r, (uint64_t)f->axis[a].role + 1);
  }
  return (uint64_t)r->axis[a];
}

/* Sets hash without order: the names of their members, added. Unnamed members are named in ascending
** order. */
static uint64_t set_name (renaming *r, const gb_fold *f, gb_axes set) {
  uint64_t sum = 0;
  for (int a = 0; a < f->naxes; a++)
    if (set >> a & 1 && f->axis[a].extent != 1) sum |= (uint64_t)1 << axis_name(r, f, a);
  return sum;
}

static void mix_operand (renaming *r, const gb_fold *f, int x) {
  if (x < 0) {
    mix(r, 0);
    return;
  }
  mix(r, (uint64_t)f->operand[x].dtype + 1);
  mix(r, set_name(r, f, f->operand[x].deps));
}

static bool along_lanes (const gb_fold *f, int x) {
  for (int a = 0; x >= 0 && a < f->naxes; a++)
    if (f->operand[x].deps >> a & 1 && f->axis[a].role == GB_AXIS_LANE) return true;
  return false;
}

/* Distances and dots do not change, bit for bit, when their sides change places: the one along the lanes
** comes first. */
static void mix_sides (renaming *r, const gb_fold *f, const gb_ins *i) {
  const bool sides = i->kind == GB_INS_SQDIST || i->kind == GB_INS_DOT;
  const bool swap = sides && along_lanes(f, i->y) && !along_lanes(f, i->x);
  mix_operand(r, f, swap ? i->y : i->x);
  mix_operand(r, f, swap ? i->x : i->y);
  mix_operand(r, f, i->w);
}

static void mix_ins (renaming *r, const gb_fold *f, const gb_ins *i) {
  mix(r, (uint64_t)i->kind);
  if (i->kind == GB_INS_MAP) mix(r, (uint64_t)i->op);
  if (i->kind == GB_INS_RADIAL)
    mix(r, (uint64_t)i->profile << 8 | (uint64_t)i->order << 4 | (uint64_t)i->dalpha);
  if (i->kind == GB_INS_ACC) mix(r, (uint64_t)i->monoid);
  mix(r, (uint64_t)(i->a + 1));
  mix(r, (uint64_t)(i->b + 1));
  mix(r, (uint64_t)(i->c + 1));
  mix(r, axis_name(r, f, i->axis));
  const bool reads = i->kind == GB_INS_LOAD || i->kind == GB_INS_SQDIST || i->kind == GB_INS_DOT ||
                     i->kind == GB_INS_RAND || i->kind == GB_INS_IOTA;
  if (reads) mix_sides(r, f, i);
  if (i->kind == GB_INS_CONST || i->kind == GB_INS_IOTA) {
    r->h = gb_hash_f64(r->h, i->f);
    r->h = gb_hash_f64(r->h, i->g);
    mix(r, (uint64_t)i->step);
    mix(r, (uint64_t)i->start);
  }
}

uint64_t gb_fold_identity (const gb_fold *f) {
  renaming r = {.h = (uint64_t)f->compute * 31 + f->symmetric};
  for (int i = 0; i < f->nins; i++) mix_ins(&r, f, &f->ins[i]);
  for (int i = 0; i < f->nouts; i++) {
    const gb_out *o = &f->out[i];
    mix(&r, (uint64_t)o->kind << 16 | (uint64_t)o->monoid << 8 | (uint64_t)o->dtype);
    mix(&r, set_name(&r, f, o->reduced));
    mix(&r, axis_name(&r, f, o->axis));
    mix_operand(&r, f, o->x);
    mix_operand(&r, f, o->y);
  }
  return r.h;
}
