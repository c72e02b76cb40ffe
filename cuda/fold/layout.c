/* layout.c - the layout of a launch: units, parts, panels, the grid and the places in scratch. */
#include "cuda/fold/layout.h"

#include <string.h>

enum {
  PANEL = 16 << 20,  /* least bytes of chains and totals at once */
  LARGE = 256 << 20, /* most */
  SHARE = 256,       /* of the device's memory, between them */
  DIVIDED =
      64
      << 20, /* least of a symmetric combination that has more: its panels are triangles, which have ends to fill */
  REGISTERS = 16 << 20, /* bytes of registers that do not fit into shared memory */
  SHARED = 48 << 10,    /* bytes of shared memory that every block can have */
};

size_t gb_cuda_place (size_t *used, size_t bytes) {
  const size_t at = *used;
  *used += (bytes + 255) & ~(size_t)255;
  return at;
}

static size_t product_of (const gb_fold *f, unsigned axes) {
  size_t n = 1;
  for (int a = 0; a < f->naxes; a++)
    if (axes >> a & 1) n *= f->axis[a].extent;
  return n;
}

static void describe_domain (gb_cuda_program *p, const gb_fold *f, const gb_cuda_walk *w) {
  unsigned outer = 0;
  *p = (gb_cuda_program){.naxes = f->naxes,
                         .lane = -1,
                         .tile = -1,
                         .noperands = f->noperands,
                         .nouts = w->nouts,
                         .nregs = w->nregs,
                         .reach = w->reach,
                         .lists = w->lists,
                         .nlane = 1,
                         .ntile = 1,
                         .words = w->words,
                         .at = gb_cuda_places_of(f, w)};
  memcpy(p->code, w->code, sizeof p->code);
  memcpy(p->ncode, w->ncode, sizeof p->ncode);
  for (int a = 0; a < f->naxes; a++) {
    p->extent[a] = f->axis[a].extent;
    if (f->axis[a].role == GB_AXIS_OUTER) outer |= 1u << a;
    if (f->axis[a].role == GB_AXIS_LANE) p->lane = a, p->nlane = f->axis[a].extent;
    if (f->axis[a].role == GB_AXIS_TILE) p->tile = a, p->ntile = f->axis[a].extent;
  }
  p->strip = p->tile < 0;
  p->symmetric = f->symmetric;
  p->reduced = w->reduced;
  p->kept = outer & ~w->reduced;
}

static size_t chunks_of (const gb_cuda_program *p) { return gb_cuda_ceiling(p->ntile, GB_CANON); }

/* Units and the parts of an element. */
static void divide (gb_cuda_program *p) {
  const size_t supers = gb_cuda_ceiling(p->nlane, GB_SUPER);
  const size_t lists = p->lists ? GB_LANES : 1;
  switch (p->reach) {
    case GB_CUDA_ROW:
      p->each = GB_CUDA_ROWS;
      p->per = gb_cuda_ceiling(p->nlane, GB_CUDA_ROWS);
      p->mirrors = p->symmetric ? supers : 0;
      p->parts = chunks_of(p);
      break;
    case GB_CUDA_COL:
      p->each = GB_CUDA_COLUMNS;
      p->per = gb_cuda_ceiling(p->ntile, GB_CUDA_COLUMNS);
      p->parts = supers * lists;
      break;
    case GB_CUDA_ALL:
      p->each = p->per = 1;
      p->parts = gb_cuda_ceiling(p->nlane, GB_TI) * lists;
      break;
    default:
      p->each = GB_CUDA_ROWS;
      p->per = p->ntile * gb_cuda_ceiling(p->nlane, GB_CUDA_ROWS);
      p->parts = 0;
  }
}

static size_t bytes_of_units (const gb_cuda_program *p, size_t units) {
  return units * p->each * p->words * sizeof(gb_cuda_word);
}

static size_t at_most (size_t n, size_t most) { return n < most ? n : most; }
static size_t at_least (size_t n, size_t least) { return n > least ? n : least; }

/* Bytes of chains at once. Absorbing a panel has a thread a total and waits for memory, so the more units the better. */
static size_t room_of_panel (const gb_cuda *gpu) {
  return gpu->panel != 0 ? gpu->panel : at_most(at_least(gpu->total / SHARE, PANEL), LARGE);
}

/* As many units as fit, at least one. A symmetric walk takes whole combinations, or divides one. */
static void choose_panel (gb_cuda_layout *l, const gb_cuda *gpu) {
  const gb_cuda_program *p = &l->p;
  const size_t most = room_of_panel(gpu);
  const size_t step = p->mirrors > 0 ? p->per : 1;
  const size_t one = bytes_of_units(p, step) * (p->mirrors + p->parts + (l->carried ? 0 : 1));
  l->divided = p->mirrors > 1 && one > most;
  l->panel = l->divided ? gpu->panel != 0 ? most : at_least(most, DIVIDED)
             : one == 0 ? l->all
                        : at_most(at_least(most / one, 1) * step, l->all);
  l->group = l->divided ? p->per : l->panel;
}

/* A panel of one combination has the chains of its rows from the diagonal on, and the mirrored ones of all rows behind. */
static void enter_divided (const gb_cuda_layout *l, size_t unit, gb_cuda_program *p) {
  const size_t first = unit % p->per;
  p->wide = p->per - first;
  p->parts = chunks_of(p) - first * (GB_SUPER / GB_CANON);
  const size_t one = bytes_of_units(p, 1) * (p->wide + p->parts);
  p->units = one == 0 ? p->wide : at_most(at_least(l->panel / one, 1), p->wide);
  p->mirrors = p->units;
}

void gb_cuda_enter_panel (const gb_cuda_layout *l, size_t unit, gb_cuda_program *p) {
  p->unit = unit;
  if (l->divided) enter_divided(l, unit, p);
  else p->units = p->wide = at_most(l->panel, l->all - unit);
}

double gb_cuda_share_of_panel (const gb_cuda_layout *l, const gb_cuda_program *p) {
  const double units = (double)p->units, wide = (double)p->wide;
  return (l->divided ? units * (2 * wide - units) / (double)p->per : units) / (double)l->all;
}

/* Bytes of the chains of the largest panel. */
static size_t room_of_chains (const gb_cuda_layout *l) {
  gb_cuda_program p = l->p;
  size_t most = 0;
  for (size_t unit = 0; unit < (l->divided ? p.per : at_most(l->all, 1)); unit += p.units) {
    gb_cuda_enter_panel(l, unit, &p);
    most = at_least(most, bytes_of_units(&p, p.mirrors * p.wide + p.parts * p.units));
  }
  return most;
}

/* Totals of a divided combination that one absorption begins and completes lie nowhere. */
static bool keeps_totals (const gb_cuda_layout *l) {
  return !l->carried && !(l->divided && l->combinations <= 1);
}

/* Thread blocks that have something to do in the pass with the most work. */
static size_t most_work (const gb_cuda_layout *l) {
  const gb_cuda_program *p = &l->p;
  const size_t parts = p->lists ? p->parts / GB_LANES : p->parts;
  switch (p->reach) {
    case GB_CUDA_ROW: {
      const size_t mirrors = GB_CUDA_ROWS / GB_CUDA_COLUMNS * p->mirrors;
      return l->divided ? SIZE_MAX : l->panel * at_least(p->parts, mirrors);
    }
    case GB_CUDA_COL: return l->panel * parts;
    case GB_CUDA_ALL: return l->panel * gb_cuda_ceiling(parts, GB_CUDA_HALVES);
    default: return l->panel;
  }
}

static void choose_grid (gb_cuda_layout *l, const gb_cuda *gpu, gb_cuda_type type) {
  const size_t size = gb_cuda_is_f32(type) ? 4 : 8;
  const size_t bytes = (size_t)l->p.nregs * GB_CUDA_BATCH * GB_CUDA_BLOCK * size, work = most_work(l);
  l->blocks = (unsigned)gpu->multiprocessors * GB_CUDA_GRID;
  l->shared = bytes <= SHARED ? bytes : 0;
  if (l->shared == bytes) return;
  if (l->blocks > REGISTERS / bytes) l->blocks = (unsigned)(REGISTERS / bytes);
  if (l->blocks > work) l->blocks = (unsigned)work;
  if (l->blocks == 0) l->blocks = 1;
  l->registers = gb_cuda_place(&l->bytes, l->blocks * bytes);
}

gb_cuda_layout gb_cuda_lay_out (const gb_cuda *gpu, gb_cuda_type type, const gb_cuda_walk *w,
                                const gb_fold *part) {
  gb_cuda_layout l = {.carried = (w->axes & part->carried) != 0};
  describe_domain(&l.p, part, w);
  divide(&l.p);
  l.all = l.p.per * product_of(part, l.p.kept);
  l.combinations = product_of(part, l.p.reduced);
  choose_panel(&l, gpu);
  const gb_cuda_places *at = &l.p.at;
  l.lists = gb_cuda_place(&l.bytes, at->ins > GB_CUDA_LISTS ? (size_t)at->ins : 0);
  l.ins = gb_cuda_place(&l.bytes, at->end > GB_CUDA_LISTS ? (size_t)(at->end - at->ins) : 0);
  l.chains = gb_cuda_place(&l.bytes, room_of_chains(&l));
  l.totals = gb_cuda_place(&l.bytes, keeps_totals(&l) ? bytes_of_units(&l.p, l.group) : 0);
  l.mirrored = gb_cuda_place(&l.bytes, l.divided ? bytes_of_units(&l.p, l.p.per) : 0);
  choose_grid(&l, gpu, type);
  l.state = l.carried ? bytes_of_units(&l.p, l.all) : 0;
  return l;
}
