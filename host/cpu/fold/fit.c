/* fit.c - a compiled program fitted to a part of its fold: how the domain is divided among threads, and the
** bytes and strides that depend on extents. It allocates nothing. */
#include "cpu/fold/fold.h"

static gb_axes bit (int axis) { return axis < 0 ? 0 : (gb_axes)1 << axis; }

/* -- the domain */

void gb_exec_domain (gb_xprog *p, const gb_fold *f) {
  p->f = f;
  p->lane = p->tile = -1;
  p->nlane = p->ntile = p->nouter = 1;
  for (int a = 0; a < f->naxes; a++) {
    size_t n = f->axis[a].extent;
    switch (f->axis[a].role) {
      case GB_AXIS_LANE:
        p->lane = a;
        p->nlane = n;
        break;
      case GB_AXIS_TILE:
        p->tile = a;
        p->ntile = n;
        break;
      case GB_AXIS_OUTER: p->nouter *= n; break;
      default: break;
    }
  }
  p->strip = p->tile < 0;
}

static gb_axes outer_axes (const gb_fold *f) {
  gb_axes outer = 0;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role == GB_AXIS_OUTER) outer |= bit(a);
  return outer;
}

/* Output 'o' has totals that outlast an item: more is added for other OUTER indices, or by other parts. */
static bool keeps_totals (const gb_fold *f, const gb_xout *x, int o) {
  const gb_out *out = &f->out[o];
  for (gb_axes s = out->reduced & outer_axes(f); s != 0; s &= s - 1)
    if (f->axis[__builtin_ctz(s)].extent != 1) return true;
  return (out->reduced & f->carried) != 0 || (x->reach == GB_REACH_KEEP && out->kind != GB_OUT_STORE);
}

/* True if items may share a super-tile: nothing is carried from chunk to chunk or shared between
** super-tiles. */
static bool chunks_are_free (const gb_xprog *p) {
  bool alone = p->nsuper == 1 && p->nouter == 1;
  for (int o = 0; o < p->f->nouts; o++) {
    const gb_xout *x = &p->out[o];
    if (keeps_totals(p->f, x, o) || !(x->reach == GB_REACH_KEEP || (x->reach == GB_REACH_COL && alone)))
      return false;
  }
  return !p->strip;
}

/* If items share no totals, a few lanes are divided into items smaller than a super-tile: rows do not depend
** on super-tiles. */
static size_t width_of (const gb_xprog *p, bool shared) {
  if (p->strip) return p->strips * (size_t)p->rows * GB_TI;
  size_t blocks = (p->nlane + GB_TI - 1) / GB_TI;
  if (shared || blocks * p->nouter >= 8 * GB_BLOCKS) return GB_SUPER;
  size_t each = (blocks * p->nouter + 7) / 8;
  return (each < 1 ? 1 : each) * GB_TI;
}

/* Chunks are divided too if they are independent: enough items for the threads of any machine on so small a
** fold. */
static size_t groups_of (const gb_xprog *p) {
  enum { ENOUGH = 64 };
  size_t few = p->nsuper * p->nouter, n;
  if (few == 0 || few >= ENOUGH || !chunks_are_free(p)) return 1;
  n = ENOUGH / few < p->nchunk ? ENOUGH / few : p->nchunk;
  return n < 1 ? 1 : n;
}

/* The totals that items share determine how the domain is divided and how items are ordered. */
static void cut (gb_xprog *p, int threads) {
  bool shared = false, carried = false;
  for (int o = 0; o < p->f->nouts; o++) {
    const gb_xout *x = &p->out[o];
    bool columns = x->reach == GB_REACH_COL || x->reach == GB_REACH_ALL;
    shared |= columns || (p->f->symmetric && x->reach == GB_REACH_ROW);
    carried |= keeps_totals(p->f, x, o) && !columns && p->nouter > 1;
  }
  p->width = width_of(p, shared);
  p->nsuper = p->nlane ? (p->nlane + p->width - 1) / p->width : 1;
  p->nchunk = p->strip ? 1 : (p->ntile + GB_CANON - 1) / GB_CANON;
  p->groups = groups_of(p);
  p->ordered = shared && p->groups == 1;
  p->inside = carried && !shared;
  p->items = p->nouter == 0 ? 0 : p->nsuper * p->groups * (p->inside ? 1 : p->nouter);
  /* rows continue across OUTER indices and items share column totals: one thread keeps the order */
  p->threads = carried && shared && !p->f->symmetric ? 1 : threads;
  if ((size_t)p->threads > p->items) p->threads = p->items ? (int)p->items : 1;
}

/* -- packs */

/* Rows are read in place where features lie side by side and nothing is converted. */
static void fit_rows (const gb_xprog *p, gb_xpack *k) {
  const gb_operand *o = &p->f->operand[k->operand];
  ptrdiff_t along = p->tile < 0 ? 0 : o->stride[p->tile];
  k->direct = o->dtype == p->compute && along >= 0 && (k->width == 1 || o->stride[k->axis] == 1);
  if (!k->direct) return;
  k->row = (size_t)along;
  for (gb_axes s = k->inner; s; s &= s - 1) {
    int a = __builtin_ctz(s);
    k->step[a] = (size_t)o->stride[a];
  }
}

static void fit_pack (const gb_xprog *p, gb_xpack *k, size_t *used) {
  const size_t blocks = p->strip ? (size_t)p->rows : GB_BLOCKS;
  if (k->layout == GB_PACK_ROWS) fit_rows(p, k);
  if (k->direct) return;
  size_t n = k->layout == GB_PACK_LANES ? blocks * k->block : k->block;
  if (n < GB_LANES) n = GB_LANES; /* kernels may read a whole vector */
  k->at = gb_take(used, n * p->size);
}

/* -- outputs */

static void lay_columns (const gb_xprog *p, gb_xout *x, size_t *used) {
  size_t lanes = x->cols * GB_LANES * p->size, n = x->slots * x->cols * x->words * sizeof(gb_word);
  x->ntotal = x->nouter * x->slots * p->ntile * x->cols * x->words;
  if (p->strip) {
    x->chain = gb_take(used, lanes);
    x->part = gb_take(used, p->strips * (size_t)p->rows / GB_BLOCKS * n);
  } else if (x->how == GB_HOW_SELECT) x->chain = gb_take(used, n * GB_CANON);
  else {
    x->chain = gb_take(used, x->slots * GB_CANON * lanes);
    if (x->how == GB_HOW_LSE) x->chain2 = gb_take(used, x->slots * GB_CANON * lanes);
  }
}

static void lay_rows (const gb_xprog *p, gb_xout *x, size_t *used) {
  size_t n = x->slots * x->cols, first = *used;
  x->chain = gb_take(used, n * GB_TI * p->size);
  if (x->how == GB_HOW_SELECT) x->chain2 = gb_take(used, n * GB_TI * sizeof(int64_t));
  if (x->how == GB_HOW_LSE) x->chain2 = gb_take(used, n * GB_TI * p->size);
  x->apart = gb_exec_row_of_columns(p) > 0 ? *used - first : 0;
  if (x->apart > 0) gb_take(used, (GB_BLOCKS - 1) * x->apart);
  x->part = gb_take(used, n * GB_SUPER * x->words * sizeof(gb_word));
  if (x->outer) x->ntotal = x->nouter * n * p->nlane * x->words;
  if (!p->f->symmetric) return;
  x->mirror = gb_take(used, n * GB_CANON * GB_LANES * p->size);
  x->moved = gb_take(used, n * GB_SUPER * sizeof(gb_word));
  x->nacross = n * p->ntile;
}

static void lay_out (const gb_xprog *p, gb_xout *x, size_t *used) {
  switch (x->reach) {
    case GB_REACH_ROW: lay_rows(p, x, used); break;
    case GB_REACH_COL: lay_columns(p, x, used); break;
    case GB_REACH_ALL:
      x->part = gb_take(used, GB_BLOCKS * x->slots * x->words * sizeof(gb_word));
      if (x->grouped) x->groups = gb_take(used, GB_CANON / GB_TJ * GB_LANES * p->size);
      x->ntotal = x->nouter * x->slots * x->words;
      x->nparts = 0;
      if (p->f->carried & x->o->reduced & bit(p->tile))
        x->nparts = p->nouter * ((p->nlane + GB_TI - 1) / GB_TI) * x->slots * x->words;
      x->ntotal += x->nparts;
      break;
    default:
      if (x->outer) x->ntotal = x->nouter * x->slots * p->ntile * p->nlane * x->words;
  }
}

static void fit_out (const gb_xprog *p, gb_xout *x, int o, size_t *used) {
  const gb_fold *f = p->f;
  x->o = &f->out[o];
  x->carried = (x->o->reduced & f->carried) != 0;
  x->outer = keeps_totals(f, x, o);
  x->nouter = x->outer ? gb_exec_combinations(f, outer_axes(f) & ~x->o->reduced, x->omul) : 1;
  gb_exec_combinations(f, x->o->reduced, x->pmul);
  lay_out(p, x, used);
}

/* -- the whole */

static size_t strips_of (const gb_xprog *p) {
  if (!p->strip) return 1;
  const size_t lanes = p->nlane / ((size_t)p->rows * GB_TI) / 64; /* at least 64 items are left */
  return lanes < 1 ? 1 : lanes > 16 ? 16 : lanes;
}

void gb_exec_fit (gb_xprog *p, const gb_fold *part, int threads, bool enters) {
  gb_exec_domain(p, part);
  p->strips = strips_of(p);
  p->work = p->fixed;
  p->totals = p->kept = 0;
  for (int q = 0; q < p->npacks; q++) {
    gb_xpack k = p->pack[q];
    fit_pack(p, &k, &p->work);
    if (enters) p->pack[q] = k;
  }
  for (int o = 0; o < part->nouts; o++) {
    gb_xout x = p->out[o];
    fit_out(p, &x, o, &p->work);
    gb_take(x.carried ? &p->kept : &p->totals, x.ntotal * sizeof(gb_word));
    gb_take(&p->totals, x.nacross * sizeof(gb_word));
    if (enters) p->out[o] = x;
  }
  cut(p, threads);
}
