/* fold.c - folds on a GPU: kernels are their walks; a launch lays out scratch and starts the passes of each walk, panel
** after panel. All is put into one stream: a launch returns before it is done. */
#include "cuda/fold/fold.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/compile/compile.h"
#include "cuda/device/gpu.h"
#include "cuda/fold/encode.h"
#include "cuda/fold/kernels.h"
#include "program/schedule.h"

enum {
  PANEL = 16 << 20,     /* bytes of chains and totals at once */
  REGISTERS = 16 << 20, /* bytes of registers that do not fit into shared memory */
  SHARED = 48 << 10,    /* bytes of shared memory that every block can have */
  BLOCKS = 16,          /* thread blocks a multiprocessor, at most */
};

/* How fast the interpreter is, roughly: issue slots that an instruction of f32 takes an element, of the 128 that a
** multiprocessor has each clock. It decides when a walk is worth a compilation, and nothing else. */
#define SLOTS 9
#define CLOCK 1.7e9

typedef struct gb_cuda_kernel {
  gb_kernel kernel;
  gb_fold fold; /* without its lists: what gb_fold_serves compares */
  gb_cuda_type type;
  gb_cuda_arithmetic arithmetic;
  int nwalks;
  gb_cuda_walk *walks;
  gb_cuda_code *code; /* two a walk: of its own reach, and MIRROR; NULL: nothing is compiled */
} gb_cuda_kernel;

static bool is_f32 (gb_cuda_type t) { return t == GB_CUDA_F32 || t == GB_CUDA_F32_UNIT; }

void gb_cuda_fold_schedule (const gb_device *dev, const gb_fold *f, gb_schedule *out) {
  (void)dev;
  gb_schedule_default(f, out);
}

/* -- compilation */

static bool runs_op (gb_op op) {
  switch (op) {
    case GB_OP_NDTR_RATIO:
    case GB_OP_NDTR_GAP:
    case GB_OP_NDTR_SPREAD:
    case GB_OP_DIGAMMA:
    case GB_OP_TRIGAMMA:
    case GB_OP_POLYGAMMA: return false;
    default: return true;
  }
}

bool gb_cuda_fold_supports (const gb_device *dev, const gb_fold *f, gb_lack *lack) {
  (void)dev;
  for (int n = 0; n < f->nins; n++) {
    if (f->ins[n].kind != GB_INS_MAP || runs_op(f->ins[n].op)) continue;
    *lack = (gb_lack){.why = "its library has no such function", .ins = n};
    return false;
  }
  return true;
}

static size_t bytes_of (const gb_cuda_kernel *k, const gb_fold *f) {
  const size_t each = (size_t)f->nins * (sizeof(gb_cuda_ins) + sizeof(int)) +
                      (size_t)f->nouts * (sizeof(gb_cuda_out) + sizeof(int)) + sizeof(gb_cuda_walk);
  size_t texts = 0;
  for (int c = 0; k->code != NULL && c < 2 * k->nwalks; c++)
    texts += sizeof *k->code + (k->code[c].source.text == NULL ? 0 : strlen(k->code[c].source.text) + 1);
  return sizeof *k + (size_t)k->nwalks * each + texts;
}

/* Texts of generated kernels. A walk without one is the interpreter's. */
static void make_code (const gb_cuda *gpu, gb_cuda_kernel *k, const gb_fold *f) {
  gb_error err;
  k->code = gb_cuda_compiles(gpu) ? calloc(2 * (size_t)k->nwalks + 1, sizeof *k->code) : NULL;
  for (int c = 0; k->code != NULL && c < 2 * k->nwalks; c++) {
    const gb_cuda_walk *w = &k->walks[c / 2];
    const bool mirror = c % 2 == 1;
    if (mirror && !(f->symmetric && w->reach == GB_CUDA_ROW)) continue;
    if (gb_cuda_emit(f, w, mirror ? GB_CUDA_MIRROR : w->reach, k->arithmetic, &k->code[c].source, &err))
      k->code[c].key = gb_cuda_key_of(gpu, &k->code[c].source, k->arithmetic);
  }
}

gb_status gb_cuda_fold_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  static const gb_cuda_type type[GB_NDTYPES] = {
      [GB_F32] = GB_CUDA_F32, [GB_F64] = GB_CUDA_F64, [GB_I64] = GB_CUDA_I64};
  gb_cuda_kernel *k = calloc(1, sizeof *k);
  if (k == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  k->fold = *f;
  k->fold.operand = NULL;
  k->fold.ins = NULL;
  k->fold.out = NULL;
  k->type = type[f->compute];
  k->arithmetic = f->compute == GB_F32 ? (gb_cuda_arithmetic)dev->arithmetic : GB_CUDA_EXACT;
  if (k->arithmetic == GB_CUDA_UNIT) k->type = GB_CUDA_F32_UNIT;
  const gb_status st = gb_cuda_encode(f, &k->walks, &k->nwalks, err);
  if (st != GB_OK) {
    free(k);
    return st;
  }
  make_code(gb_cuda_of(dev), k, f);
  k->kernel.bytes = bytes_of(k, f);
  *out = &k->kernel;
  return GB_OK;
}

void gb_cuda_fold_release (gb_kernel *kernel) {
  gb_cuda_kernel *k = (gb_cuda_kernel *)kernel;
  for (int c = 0; k->code != NULL && c < 2 * k->nwalks; c++) gb_cuda_source_free(&k->code[c].source);
  free(k->code);
  gb_cuda_walks_free(k->walks, k->nwalks);
  free(k);
}

/* -- what a launch of one walk takes */

typedef struct gb_cuda_layout {
  gb_cuda_program p;   /* all but addresses and what differs between panels */
  size_t all;          /* units of the domain */
  size_t panel;        /* units at once */
  size_t combinations; /* of reduced OUTER axes */
  bool carried;
  unsigned blocks;                                                         /* most thread blocks */
  size_t shared;                                                           /* bytes of shared memory */
  size_t operands, ins, outs, constants, chains, totals, registers, bytes; /* places in scratch */
  size_t state;                                                            /* bytes of carried totals */
} gb_cuda_layout;

static size_t take (size_t *used, size_t bytes) {
  const size_t at = *used;
  *used += (bytes + 255) & ~(size_t)255;
  return at;
}

static size_t ceiling (size_t n, size_t by) { return (n + by - 1) / by; }

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
                         .words = w->words};
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
  const size_t supers = ceiling(p->nlane, GB_SUPER), chunks = ceiling(p->ntile, GB_CANON);
  const size_t lists = p->lists ? GB_LANES : 1;
  switch (p->reach) {
    case GB_CUDA_ROW:
      p->each = GB_CUDA_ROWS;
      p->per = ceiling(p->nlane, GB_CUDA_ROWS);
      p->mirrors = p->symmetric ? supers : 0;
      p->parts = p->mirrors + chunks;
      break;
    case GB_CUDA_COL:
      p->each = GB_CUDA_COLUMNS;
      p->per = ceiling(p->ntile, GB_CUDA_COLUMNS);
      p->parts = supers * lists;
      break;
    case GB_CUDA_ALL:
      p->each = p->per = 1;
      p->parts = ceiling(p->nlane, GB_TI) * lists;
      break;
    default:
      p->each = GB_CUDA_ROWS;
      p->per = p->ntile * ceiling(p->nlane, GB_CUDA_ROWS);
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
    case GB_CUDA_ALL: return l->panel * ceiling(parts, GB_CUDA_HALVES);
    default: return l->panel;
  }
}

static void choose_grid (gb_cuda_layout *l, const gb_cuda *gpu, gb_cuda_type type) {
  const size_t size = is_f32(type) ? 4 : 8;
  const size_t bytes = (size_t)l->p.nregs * GB_CUDA_BATCH * GB_CUDA_BLOCK * size, work = most_work(l);
  l->blocks = (unsigned)gpu->multiprocessors * BLOCKS;
  l->shared = bytes <= SHARED ? bytes : 0;
  if (l->shared == bytes) return;
  if (l->blocks > REGISTERS / bytes) l->blocks = (unsigned)(REGISTERS / bytes);
  if (l->blocks > work) l->blocks = (unsigned)work;
  if (l->blocks == 0) l->blocks = 1;
  l->registers = take(&l->bytes, l->blocks * bytes);
}

static gb_cuda_layout lay_out (const gb_cuda *gpu, const gb_cuda_kernel *k, const gb_cuda_walk *w,
                               const gb_fold *part) {
  gb_cuda_layout l = {.carried = (w->axes & part->carried) != 0};
  describe_domain(&l.p, part, w);
  divide(&l.p);
  l.all = l.p.per * product_of(part, l.p.kept);
  l.combinations = product_of(part, l.p.reduced);
  choose_panel(&l, gpu->panel != 0 ? gpu->panel : PANEL);
  l.operands = take(&l.bytes, (size_t)part->noperands * sizeof(gb_cuda_operand));
  l.ins = take(&l.bytes, (size_t)w->nins * sizeof(gb_cuda_ins));
  l.outs = take(&l.bytes, (size_t)w->nouts * sizeof(gb_cuda_out));
  l.constants = take(&l.bytes, (size_t)part->nconstants * sizeof(gb_number));
  const size_t elements = l.panel * l.p.each * l.p.words * sizeof(gb_cuda_word);
  l.chains = take(&l.bytes, elements * l.p.parts);
  l.totals = take(&l.bytes, l.carried ? 0 : elements);
  choose_grid(&l, gpu, k->type);
  l.state = l.carried ? l.all * l.p.each * l.p.words * sizeof(gb_cuda_word) : 0;
  return l;
}

size_t gb_cuda_fold_scratch (const gb_device *dev, const gb_kernel *kernel, const gb_fold *part) {
  const gb_cuda_kernel *k = (const gb_cuda_kernel *)kernel;
  size_t most = 0;
  if (!gb_fold_serves(&k->fold, part)) return SIZE_MAX;
  for (int w = 0; w < k->nwalks; w++) {
    const gb_cuda_layout l = lay_out(gb_cuda_of(dev), k, &k->walks[w], part);
    if (l.bytes > most) most = l.bytes;
  }
  return most;
}

size_t gb_cuda_fold_state (const gb_device *dev, const gb_kernel *kernel, const gb_fold *part) {
  const gb_cuda_kernel *k = (const gb_cuda_kernel *)kernel;
  size_t bytes = 0;
  if (!gb_fold_serves(&k->fold, part)) return SIZE_MAX;
  for (int w = 0; w < k->nwalks; w++) take(&bytes, lay_out(gb_cuda_of(dev), k, &k->walks[w], part).state);
  return bytes;
}

/* -- the lists of a launch */

static void copy_strides (int64_t *to, const ptrdiff_t *from, int naxes) {
  for (int a = 0; a < naxes; a++) to[a] = from[a];
}

/* ARG* and KSMALLEST count positions in row-major order of the axes that they reduce. */
static void place_positions (gb_cuda_out *o, const gb_fold *part, unsigned axes) {
  size_t n = 1;
  for (int a = part->naxes - 1; a >= 0; a--) {
    o->pmul[a] = axes >> a & 1 ? n : 0;
    if (axes >> a & 1) n *= part->axis[a].extent;
  }
}

/* The lists with what belongs to the part, side by side as scratch has them; to be freed. */
static char *lists_of (const gb_cuda_layout *l, const gb_cuda_walk *w, const gb_fold_args *args,
                       gb_error *err) {
  const gb_fold *f = args->part;
  char *lists = calloc(1, l->chains + 1);
  if (lists == NULL) {
    gb_fail(err, GB_ENOMEM, "no memory for a launch");
    return NULL;
  }
  gb_cuda_operand *operand = (gb_cuda_operand *)(lists + l->operands);
  gb_cuda_ins *ins = (gb_cuda_ins *)(lists + l->ins);
  gb_cuda_out *out = (gb_cuda_out *)(lists + l->outs);
  for (int n = 0; n < f->noperands; n++) {
    const gb_operand *o = &f->operand[n];
    operand[n] = (gb_cuda_operand){.at = args->operand[o->slot], .dtype = (int)o->dtype, .offset = o->offset};
    copy_strides(operand[n].stride, o->stride, f->naxes);
  }
  for (int n = 0; n < w->nins; n++) {
    const gb_ins *i = &f->ins[w->from[n]];
    ins[n] = w->ins[n];
    ins[n].f = i->f, ins[n].g = i->g, ins[n].step = i->step, ins[n].start = i->start;
    memcpy(ins[n].seed, i->seed, sizeof ins[n].seed);
  }
  for (int n = 0; n < w->nouts; n++) {
    const gb_out *o = &f->out[w->number[n]];
    out[n] = w->out[n];
    out[n].dtype = (int)o->dtype, out[n].offset = o->offset, out[n].kstride = o->kstride;
    out[n].at = args->out[o->slot];
    out[n].positions = o->slot2 >= 0 ? args->out[o->slot2] : NULL;
    copy_strides(out[n].stride, o->stride, f->naxes);
    place_positions(&out[n], f, w->axes);
  }
  if (f->nconstants > 0)
    memcpy(lists + l->constants, args->constant, (size_t)f->nconstants * sizeof *args->constant);
  return lists;
}

static gb_status send_lists (gb_cuda *gpu, gb_cuda_layout *l, const gb_cuda_walk *w, const gb_fold_args *args,
                             char *scratch, gb_error *err) {
  char *lists = lists_of(l, w, args, err);
  if (lists == NULL) return GB_ENOMEM;
  const gb_status st = gb_cuda_upload(gpu, scratch, lists, l->chains, err);
  free(lists);
  l->p.operand = (const gb_cuda_operand *)(scratch + l->operands);
  l->p.ins = (const gb_cuda_ins *)(scratch + l->ins);
  l->p.out = (const gb_cuda_out *)(scratch + l->outs);
  l->p.constant = (const gb_number *)(scratch + l->constants);
  l->p.chains = (gb_cuda_word *)(scratch + l->chains);
  l->p.registers = l->shared == 0 && l->p.nregs > 0 ? scratch + l->registers : NULL;
  return st;
}

/* -- passes */

typedef struct run {
  gb_cuda *gpu;
  gb_cuda_type type;
  gb_cuda_layout *l;
  const gb_cuda_code *code; /* of the walk: its own reach, and MIRROR; NULL: nothing is compiled */
  double seconds;           /* that the interpreter takes for one combination, roughly */
  int *passes;              /* that made chains: by the interpreter, by compiled kernels */
  gb_error *err;
} run;

static double trips (const gb_fold *f, int axis) {
  return f->axis[axis].extent == 0 ? 1 : (double)f->axis[axis].extent;
}

/* Instructions that an element of a walk takes. */
static double instructions_of (const gb_cuda_walk *w, const gb_fold *f) {
  const gb_cuda_ins *code = w->ins + w->code[GB_CUDA_FULL];
  double sum = 0, times = 1;
  for (int pc = 0; pc < w->ncode[GB_CUDA_FULL]; pc++) {
    const gb_cuda_ins *i = &code[pc];
    switch (i->kind) {
      case GB_INS_LOOP: times *= trips(f, i->axis); break;
      case GB_INS_ENDLOOP: times /= trips(f, code[i->jump].axis); break;
      case GB_INS_SQDIST:
      case GB_INS_DOT: sum += times * (1 + 2 * trips(f, i->axis)); break;
      case GB_INS_EMIT: sum += times * (1 + w->out[i->x].cols); break;
      default: sum += times;
    }
  }
  return sum;
}

static double seconds_of (const gb_cuda *gpu, gb_cuda_type type, const gb_cuda_walk *w, const gb_fold *f) {
  double elements = 1;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role != GB_AXIS_INNER && !(w->reduced >> a & 1)) elements *= (double)f->axis[a].extent;
  const double slots = elements * instructions_of(w, f) * (is_f32(type) ? SLOTS : 2 * SLOTS);
  return slots / (gpu->multiprocessors * 128.0 * CLOCK);
}

/* One pass over so many units of work. */
static gb_status start (const run *r, gb_cuda_pass pass, size_t work, bool registers) {
  if (work == 0) return GB_OK;
  const unsigned blocks = work < r->l->blocks ? (unsigned)work : r->l->blocks;
  gb_cuda_start(r->type, pass, blocks, registers ? r->l->shared : 0, r->gpu->stream, &r->l->p);
  return gb_cuda_status(cudaGetLastError(), "a fold", r->err);
}

/* A compiled kernel on a grid of its own; what it needs lies in the same scratch. */
static gb_status start_compiled (const run *r, const gb_cuda_module *m, const gb_cuda_code *c) {
  const size_t work = gb_cuda_source_work(&c->source, &r->l->p);
  const size_t most = (size_t)r->gpu->multiprocessors * BLOCKS;
  if (work == 0) return GB_OK;
  return gb_cuda_module_launch(m, (unsigned)(work < most ? work : most), r->gpu->stream, &r->l->p, r->err);
}

/* A pass that makes chains, by the compiled kernel where there is one: nobody can tell by the result. */
static gb_status make (const run *r, gb_cuda_pass pass, size_t work) {
  const gb_cuda_program *p = &r->l->p;
  const gb_cuda_code *c = r->code == NULL ? NULL : &r->code[p->reach == GB_CUDA_MIRROR];
  const gb_cuda_module *m = NULL;
  if (work == 0) return GB_OK;
  if (c != NULL)
    GB_TRY(gb_cuda_find(r->gpu, c, r->seconds * (double)p->units / (double)r->l->all, &m, r->err));
  if (m != NULL) {
    const gb_status st = start_compiled(r, m, c);
    r->passes[1] += st == GB_OK;
    if (st == GB_OK || st == GB_EDEVICE) return st;
    gb_cuda_refuse(r->gpu, c, r->err);
  }
  r->passes[0]++;
  return start(r, pass, work, true);
}

/* The chains of the panel at the present combination of reduced OUTER axes. */
static gb_status make_chains (const run *r) {
  gb_cuda_program *p = &r->l->p;
  const size_t lists = p->lists ? GB_LANES : 1;
  switch (p->reach) {
    case GB_CUDA_ROW:
      if (p->mirrors > 0) {
        p->reach = GB_CUDA_MIRROR;
        const gb_status st =
            make(r, GB_CUDA_COLUMNS_PASS, p->units * (GB_CUDA_ROWS / GB_CUDA_COLUMNS) * p->mirrors);
        p->reach = GB_CUDA_ROW;
        GB_TRY(st);
      }
      return make(r, GB_CUDA_ROWS_PASS, p->units * (p->parts - p->mirrors));
    case GB_CUDA_COL: return make(r, GB_CUDA_COLUMNS_PASS, p->units * (p->parts / lists));
    case GB_CUDA_ALL: return make(r, GB_CUDA_ALL_PASS, p->units * ceiling(p->parts / lists, GB_CUDA_HALVES));
    default: return make(r, GB_CUDA_ELEMENTS_PASS, p->units);
  }
}

static gb_status absorb (const run *r) {
  const gb_cuda_program *p = &r->l->p;
  return start(r, GB_CUDA_ABSORB_PASS, ceiling(p->units * p->each * p->words, GB_CUDA_BLOCK), false);
}

/* Row-major indices of a combination of reduced OUTER axes. */
static void enter_combination (gb_cuda_program *p, size_t combination) {
  for (int a = p->naxes - 1; a >= 0; a--) {
    if (!(p->reduced >> a & 1)) continue;
    p->index[a] = combination % p->extent[a];
    combination /= p->extent[a];
  }
}

/* Units [p->unit, p->unit + p->units): chains and totals of one combination after the other, then the results. Without a
** combination there are the identities. */
static gb_status run_panel (const run *r, bool begins, bool ends) {
  gb_cuda_program *p = &r->l->p;
  p->first = begins;
  if (r->l->combinations == 0 && begins) {
    const size_t parts = p->parts, mirrors = p->mirrors;
    p->parts = p->mirrors = 0;
    const gb_status st = absorb(r);
    p->parts = parts, p->mirrors = mirrors;
    GB_TRY(st);
  }
  for (size_t c = 0; c < r->l->combinations; c++) {
    enter_combination(p, c);
    GB_TRY(gb_cuda_pace(r->gpu, r->seconds * (double)p->units / (double)r->l->all, r->err));
    GB_TRY(make_chains(r));
    if (p->reach != GB_CUDA_KEEP) GB_TRY(absorb(r));
    p->first = false;
  }
  return ends ? start(r, GB_CUDA_STORE_PASS, ceiling(p->units * p->each * p->words, GB_CUDA_BLOCK), false)
              : GB_OK;
}

static gb_status run_walk (const run *r, const gb_carry *carry, char *scratch, char *state) {
  gb_cuda_layout *l = r->l;
  const bool begins = !l->carried || carry->first, ends = !l->carried || carry->last;
  for (size_t unit = 0; unit < l->all; unit += l->panel) {
    l->p.unit = unit;
    l->p.units = l->all - unit < l->panel ? l->all - unit : l->panel;
    l->p.totals = (gb_cuda_word *)(l->carried ? state : scratch + l->totals);
    l->p.totals_first = l->carried ? 0 : unit * l->p.each;
    l->p.totals_count = (l->carried ? l->all : l->p.units) * l->p.each;
    GB_TRY(run_panel(r, begins, ends));
  }
  return GB_OK;
}

/* Who made the chains. */
static const char *carrier (const int passes[2]) {
  return passes[1] == 0 ? "vm" : passes[0] == 0 ? "compiled" : "vm, compiled";
}

static void count (const gb_fold *f, const int passes[2], gb_fold_stats *stats) {
  double pairs = 1;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role != GB_AXIS_INNER) pairs *= (double)f->axis[a].extent;
  *stats = (gb_fold_stats){
      .pairs = (uint64_t)pairs, .tiles = (uint64_t)(pairs / (GB_TI * GB_TJ)), .path = carrier(passes)};
}

gb_status gb_cuda_fold_launch (gb_device *dev, const gb_kernel *kernel, const gb_fold_args *args,
                               gb_error *err) {
  const gb_cuda_kernel *k = (const gb_cuda_kernel *)kernel;
  gb_cuda *gpu = gb_cuda_of(dev);
  size_t state = 0;
  int passes[2] = {0, 0};
  if (!gb_fold_serves(&k->fold, args->part)) return gb_fail(err, GB_EINTERNAL, "fold: a part of another one");
  if (args->part->carried != 0 && args->carry == NULL)
    return gb_fail(err, GB_EINTERNAL, "fold: a part without its totals");
  GB_TRY(gb_cuda_enter(gpu, err));
  for (int w = 0; w < k->nwalks; w++) {
    gb_cuda_layout l = lay_out(gpu, k, &k->walks[w], args->part);
    const run r = {.gpu = gpu,
                   .type = k->type,
                   .l = &l,
                   .code = k->code == NULL ? NULL : &k->code[2 * w],
                   .seconds = seconds_of(gpu, k->type, &k->walks[w], args->part),
                   .passes = passes,
                   .err = err};
    char *carried = l.carried ? (char *)args->carry->state + take(&state, l.state) : NULL;
    if (l.all == 0) continue;
    GB_TRY(send_lists(gpu, &l, &k->walks[w], args, args->scratch, err));
    GB_TRY(run_walk(&r, args->carry, args->scratch, carried));
  }
  if (args->stats != NULL) count(args->part, passes, args->stats);
  return GB_OK;
}
