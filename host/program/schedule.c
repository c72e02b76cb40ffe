/* schedule.c - the default schedule: a function of shapes and strides. */
#include "program/schedule.h"

enum {
  FEW = 64,         /* fewer outputs than this do not fill the lanes */
  LONG = 256,       /* a reduction at least this long may fill them instead */
  MOST_INNER = 256, /* largest axis that is looped inside a tile */
  WORTH = 4         /* what a loop inside tiles computes, at most, in what it spares */
};

static gb_axes bit (int axis) { return axis < 0 ? 0 : (gb_axes)1 << axis; }
static bool has (gb_axes set, int a) { return set >> a & 1; }

/* Axes that may take any role. */
static gb_axes candidates (const gb_fold *f) {
  gb_axes s = 0;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role == GB_AXIS_OUTER) s |= bit(a);
  return s;
}

static gb_axes kept_by (const gb_fold *f, const gb_out *o) { return candidates(f) & ~o->reduced; }

/* The output that decides: the first that reduces some axes and keeps others, else the first that reduces. */
static const gb_out *primary (const gb_fold *f) {
  for (int i = 0; i < f->nouts; i++)
    if (f->out[i].reduced != 0 && kept_by(f, &f->out[i]) != 0) return &f->out[i];
  for (int i = 0; i < f->nouts; i++)
    if (f->out[i].reduced != 0) return &f->out[i];
  return &f->out[0];
}

/* The longest axis of a set; -1 if it is empty or all have one index. Ties go to the first. */
static int longest (const gb_fold *f, gb_axes set) {
  int best = -1;
  for (int a = 0; a < f->naxes; a++)
    if (has(set, a) && f->axis[a].extent != 1 && (best < 0 || f->axis[a].extent > f->axis[best].extent))
      best = a;
  return best;
}

static int next_to (const gb_fold *f, int lane) {
  return lane < 0 ? -1 : longest(f, candidates(f) & ~bit(lane));
}

/* Stores: along memory, unless that axis is too short to fill lanes. */
static void roles_of_store (const gb_fold *f, gb_schedule *s) {
  s->lane = longest(f, candidates(f));
  for (int a = 0; a < f->naxes && f->nouts > 0; a++)
    if (f->out[0].stride[a] == 1 && f->axis[a].extent >= 16) s->lane = a; /* right-hand sides, too */
  s->tile = next_to(f, s->lane);
}

/* An axis of 'reduced' along which the first operand lies in memory, if it is as long as 'least'; else the
** longest. */
static int along_memory (const gb_fold *f, gb_axes reduced, size_t least) {
  for (int a = 0; a < f->naxes; a++)
    if (has(reduced, a) && f->axis[a].extent >= least && f->noperands > 0 && f->operand[0].stride[a] == 1)
      return a;
  return longest(f, reduced);
}

static void choose_roles (const gb_fold *f, gb_schedule *s) {
  const gb_out *o = primary(f);
  const int kept = longest(f, kept_by(f, o)), reduced = longest(f, o->reduced);
  if (reduced < 0) {
    roles_of_store(f, s);
    return;
  }
  const bool few = kept < 0 || (f->axis[kept].extent < FEW && f->axis[reduced].extent >= LONG);
  s->lane = few ? along_memory(f, o->reduced, LONG) : kept;
  s->tile = few ? next_to(f, s->lane) : along_memory(f, o->reduced, FEW);
}

/* Operations of one value of an instruction; one that only moves a value counts as one. */
static double work_of (const gb_fold *f, const gb_ins *n) {
  switch (n->kind) {
    case GB_INS_SQDIST: return 3 * (double)f->axis[n->axis].extent;
    case GB_INS_DOT: return 2 * (double)f->axis[n->axis].extent;
    case GB_INS_RADIAL: return 4;
    default: return 1;
  }
}

/* Tile values that know nothing of axis a are computed once for all its indices if it is looped inside tiles. Totals for all of
** them then exist at a time, so that has to spare a part of the work: a mask that a batch has in common does not, a kernel matrix
** does. */
static bool spares_work (const gb_fold *f, gb_axes pair, int a) {
  double spared = 0, left = 0;
  for (int n = 0; n < f->nins; n++) {
    if ((f->ins[n].deps & pair) != pair) continue;
    *(has(f->ins[n].deps, a) ? &left : &spared) += work_of(f, &f->ins[n]);
  }
  return spared > 0 && WORTH * spared >= left;
}

/* Short axes that every output keeps, and of which tile values worth sparing know nothing. */
static void choose_inner (const gb_fold *f, gb_schedule *s) {
  const gb_axes pair = bit(s->lane) | bit(s->tile);
  if (s->lane < 0 || s->tile < 0) return;
  for (int a = 0; a < f->naxes; a++) {
    if (!has(candidates(f) & ~pair, a) || f->axis[a].extent < 2 || f->axis[a].extent > MOST_INNER) continue;
    bool kept = true;
    for (int i = 0; i < f->nouts; i++) kept &= !has(f->out[i].reduced, a);
    if (kept && spares_work(f, pair, a)) s->inner |= bit(a);
  }
}

static size_t chain_of (int lane, int tile, int axis) {
  return axis == lane ? GB_SUPER : axis == tile ? GB_CANON : 1;
}

void gb_schedule_default (const gb_fold *f, gb_schedule *out) {
  *out = (gb_schedule){.lane = -1, .tile = -1, .symmetric = true};
  choose_roles(f, out);
  choose_inner(f, out);
  for (int a = 0; a < f->naxes; a++)
    if (a == out->lane || has(candidates(f) & ~out->inner, a))
      out->chain[a] = chain_of(out->lane, out->tile, a);
}

void gb_schedule_close_tiles (const gb_fold *f, gb_schedule *s) {
  for (int i = 0; s->lane >= 0 && s->tile >= 0 && i < f->nouts; i++)
    if (has(f->out[i].reduced, s->lane) && has(f->out[i].reduced, s->tile)) s->chain[s->tile] = 0;
}

void gb_schedule_chains (gb_fold *f, bool closed) {
  gb_schedule s = {.lane = -1, .tile = -1};
  for (int a = 0; a < f->naxes; a++) {
    if (f->axis[a].role == GB_AXIS_LANE) s.lane = a;
    if (f->axis[a].role == GB_AXIS_TILE) s.tile = a;
  }
  for (int a = 0; a < f->naxes; a++)
    s.chain[a] = f->axis[a].role == GB_AXIS_INNER ? 0 : chain_of(s.lane, s.tile, a);
  if (closed) gb_schedule_close_tiles(f, &s);
  for (int a = 0; a < f->naxes; a++) f->axis[a].chain = s.chain[a];
}

void gb_schedule_of (const gb_device *dev, const gb_fold *f, gb_schedule *out) {
  if (dev->ops != NULL && dev->ops->schedule != NULL) dev->ops->schedule(dev, f, out);
  else gb_schedule_default(f, out);
}
