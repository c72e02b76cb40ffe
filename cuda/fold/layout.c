/* layout.c - the layout of a launch: units, parts, panels, the grid and the places in scratch. */
#include "cuda/fold/layout.h"

#include <string.h>

enum {
  PANEL = 16 << 20,     /* bytes of chains and totals at once */
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

/* Units and the parts of an element. */
static void divide (gb_cuda_program *p) {
  const size_t supers = gb_cuda_ceiling(p->nlane, GB_SUPER), chunks = gb_cuda_ceiling(p->ntile, GB_CANON);
  const size_t lists = p->lists ? GB_LANES : 1;
  switch (p->reach) {
    case GB_CUDA_ROW:
      p->each = GB_CUDA_ROWS;
      p->per = gb_cuda_ceiling(p->nlane, GB_CUDA_ROWS);
      p->mirrors = p->symmetric ? supers : 0;
      p->parts = p->mirrors + chunks;
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

static size_t room_of_panel (const gb_cuda_layout *l, size_t units) {
  const gb_cuda_program *p = &l->p;
  return units * p->each * p->words * sizeof(gb_cuda_word) * (p->parts + (l->carried ? 0 : 1));
}

/* As many units as fit, at least one. */
static void choose_panel (gb_cuda_layout *l, size_t most) {
  const size_t one = room_of_panel(l, 1);
  l->panel = one == 0 ? l->all : most / one;
  if (l->panel > l->all) l->panel = l->all;
  if (l->panel == 0) l->panel = 1;
}

/* Thread blocks that have something to do in the pass with the most work. */
static size_t most_work (const gb_cuda_layout *l) {
  const gb_cuda_program *p = &l->p;
  const size_t parts = p->lists ? p->parts / GB_LANES : p->parts;
  switch (p->reach) {
    case GB_CUDA_ROW: {
      const size_t rows = p->parts - p->mirrors, mirrors = GB_CUDA_ROWS / GB_CUDA_COLUMNS * p->mirrors;
      return l->panel * (rows > mirrors ? rows : mirrors);
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
  choose_panel(&l, gpu->panel != 0 ? gpu->panel : PANEL);
  const gb_cuda_places *at = &l.p.at;
  l.lists = gb_cuda_place(&l.bytes, at->ins > GB_CUDA_LISTS ? (size_t)at->ins : 0);
  l.ins = gb_cuda_place(&l.bytes, at->end > GB_CUDA_LISTS ? (size_t)(at->end - at->ins) : 0);
  const size_t elements = l.panel * l.p.each * l.p.words * sizeof(gb_cuda_word);
  l.chains = gb_cuda_place(&l.bytes, elements * l.p.parts);
  l.totals = gb_cuda_place(&l.bytes, l.carried ? 0 : elements);
  choose_grid(&l, gpu, type);
  l.state = l.carried ? l.all * l.p.each * l.p.words * sizeof(gb_cuda_word) : 0;
  return l;
}
