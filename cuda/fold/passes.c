/* passes.c - the passes of a walk, panel after panel: kernels that make chains, absorb them into totals and store those. */
#include "cuda/fold/passes.h"

#include "cuda/fold/lists.h"

/* One pass over so many units of work. */
static gb_status start (const gb_cuda_run *r, gb_cuda_pass pass, size_t work, bool registers) {
  if (work == 0) return GB_OK;
  const unsigned blocks = work < r->l->blocks ? (unsigned)work : r->l->blocks;
  gb_cuda_start(r->type, pass, blocks, registers ? r->l->shared : 0, r->gpu->stream, r->argument);
  return gb_cuda_status(cudaGetLastError(), "a fold", r->err);
}

static gb_status send_code (const gb_cuda_run *r) {
  return gb_cuda_send_code(r->gpu, r->l, r->walk, r->args, r->argument, r->err);
}

/* A compiled kernel on a grid of its own; what it needs lies in the same scratch. */
static gb_status start_compiled (const gb_cuda_run *r, const gb_cuda_module *m, const gb_cuda_code *c) {
  const size_t work = gb_cuda_source_work(&c->source, &r->argument->program);
  const size_t most = (size_t)r->gpu->multiprocessors * GB_CUDA_GRID;
  if (work == 0) return GB_OK;
  if (c->source.code) GB_TRY(send_code(r));
  return gb_cuda_module_launch(m, (unsigned)(work < most ? work : most), r->gpu->stream, r->argument, r->err);
}

/* The text of the walk's kernel of one reach; NULL: there is none. */
static const gb_cuda_code *code_of (const gb_cuda_run *r, int reach) {
  for (int c = 0; r->code != NULL && c < 2; c++)
    if (r->code[c].source.text != NULL && r->code[c].source.reach == reach) return &r->code[c];
  return NULL;
}

static double seconds_of_panel (const gb_cuda_run *r) {
  return r->seconds * gb_cuda_share_of_panel(r->l, &r->argument->program);
}

/* The chains of one reach by the compiled kernel, where there is one ('*done'): nobody can tell by the result. */
static gb_status make_compiled (const gb_cuda_run *r, int reach, bool *done) {
  const gb_cuda_code *c = code_of(r, reach);
  const gb_cuda_module *m = NULL;
  *done = false;
  if (c != NULL) GB_TRY(gb_cuda_find(r->gpu, c, seconds_of_panel(r), &m, r->err));
  if (m == NULL) return GB_OK;
  const gb_status st = start_compiled(r, m, c);
  r->passes[1] += st == GB_OK;
  *done = st == GB_OK;
  if (st == GB_OK || st == GB_EDEVICE) return st;
  gb_cuda_refuse(r->gpu, c, r->err);
  return GB_OK;
}

/* A pass that makes chains. */
static gb_status make (const gb_cuda_run *r, gb_cuda_pass pass, size_t work) {
  bool done = work == 0;
  if (!done) GB_TRY(make_compiled(r, r->argument->program.reach, &done));
  if (done) return GB_OK;
  r->passes[0]++;
  GB_TRY(send_code(r));
  return start(r, pass, work, true);
}

/* Those of rows, and before them the mirrored ones of a symmetric walk; or both at once. */
static gb_status make_rows (const gb_cuda_run *r) {
  gb_cuda_program *p = &r->argument->program;
  bool done = false;
  if (p->mirrors > 0) {
    GB_TRY(make_compiled(r, GB_CUDA_WAVE, &done));
    if (done) return GB_OK;
    p->reach = GB_CUDA_MIRROR;
    const gb_status st =
        make(r, GB_CUDA_COLUMNS_PASS, p->wide * (GB_CUDA_ROWS / GB_CUDA_COLUMNS) * p->mirrors);
    p->reach = GB_CUDA_ROW;
    GB_TRY(st);
  }
  return make(r, GB_CUDA_ROWS_PASS, p->units * p->parts);
}

/* The chains of the panel at the present combination of reduced OUTER axes. */
static gb_status make_chains (const gb_cuda_run *r) {
  gb_cuda_program *p = &r->argument->program;
  const size_t lists = p->lists ? GB_LANES : 1;
  switch (p->reach) {
    case GB_CUDA_ROW: return make_rows(r);
    case GB_CUDA_COL: return make(r, GB_CUDA_COLUMNS_PASS, p->units * (p->parts / lists));
    case GB_CUDA_ALL:
      return make(r, GB_CUDA_ALL_PASS, p->units * gb_cuda_ceiling(p->parts / lists, GB_CUDA_HALVES));
    default: return make(r, GB_CUDA_ELEMENTS_PASS, p->units);
  }
}

/* A thread a word of so many units. */
static gb_status end (const gb_cuda_run *r, gb_cuda_pass pass, size_t units) {
  const gb_cuda_program *p = &r->argument->program;
  return start(r, pass, gb_cuda_ceiling(units * p->each * p->words, GB_CUDA_BLOCK), false);
}

static gb_status absorb (const gb_cuda_run *r) {
  const gb_cuda_program *p = &r->argument->program;
  return end(r, GB_CUDA_ABSORB_PASS, p->mirrors > 0 ? p->wide : p->units);
}

/* Row-major indices of a combination of reduced OUTER axes. */
static void enter_combination (gb_cuda_program *p, size_t combination) {
  for (int a = p->naxes - 1; a >= 0; a--) {
    if (!(p->reduced >> a & 1)) continue;
    p->index[a] = combination % p->extent[a];
    combination /= p->extent[a];
  }
}

/* Units [from, to) without a combination of reduced OUTER axes: there are the identities. */
static gb_status absorb_nothing (const gb_cuda_run *r, size_t from, size_t to) {
  gb_cuda_program *p = &r->argument->program;
  const gb_cuda_program kept = *p;
  p->unit = from, p->units = to - from;
  p->parts = p->mirrors = 0;
  const gb_status st = absorb(r);
  *p = kept;
  return st;
}

/* Chains of some parts of a panel, and their absorption. */
static gb_status run_parts (const gb_cuda_run *r) {
  GB_TRY(gb_cuda_pace(r->gpu, seconds_of_panel(r), r->err));
  GB_TRY(make_chains(r));
  return r->argument->program.reach == GB_CUDA_KEEP ? GB_OK : absorb(r);
}

/* All parts of a panel, some after the others: totals begin with the first and are stored with the last. */
static gb_status run_panel (const gb_cuda_run *r) {
  gb_cuda_program *p = &r->argument->program;
  const bool begins = p->first, ends = p->last;
  gb_status st;
  do {
    p->first = begins && p->part == 0;
    p->last = ends && (r->l->divided || p->part + p->parts == r->l->p.parts);
    st = run_parts(r);
  } while (st == GB_OK && gb_cuda_enter_parts(r->l, p));
  p->first = begins;
  p->last = ends;
  return st;
}

/* The panels of a group at the present combination. */
static gb_status run_panels (const gb_cuda_run *r, size_t from, size_t to) {
  gb_cuda_program *p = &r->argument->program;
  for (size_t unit = from; unit < to; unit += p->units) {
    gb_cuda_enter_panel(r->l, unit, p);
    GB_TRY(run_panel(r));
  }
  return GB_OK;
}

/* A group of units: chains and totals of one combination after the other, then the results, which the last absorption
** stores, where there is one. */
static gb_status run_group (const gb_cuda_run *r, size_t from, size_t to, bool begins, bool ends) {
  gb_cuda_program *p = &r->argument->program;
  const size_t combinations = r->l->combinations;
  const bool absorbs = combinations == 0 ? begins : p->reach != GB_CUDA_KEEP;
  p->first = begins;
  p->last = ends;
  if (combinations == 0 && begins) GB_TRY(absorb_nothing(r, from, to));
  for (size_t c = 0; c < combinations; c++) {
    enter_combination(p, c);
    p->last = ends && c + 1 == combinations;
    GB_TRY(run_panels(r, from, to));
    p->first = false;
  }
  p->unit = from, p->units = to - from;
  return ends && !absorbs ? end(r, GB_CUDA_STORE_PASS, p->units) : GB_OK;
}

gb_status gb_cuda_run_walk (const gb_cuda_run *r, char *state) {
  const gb_cuda_layout *l = r->l;
  const gb_carry *carry = r->args->carry;
  gb_cuda_program *p = &r->argument->program;
  char *scratch = r->args->scratch;
  const bool begins = !l->carried || carry->first, ends = !l->carried || carry->last;
  for (size_t from = 0, to; from < l->all; from = to) {
    to = l->all - from < l->group ? l->all : from + l->group;
    p->totals = (gb_cuda_word *)(l->carried ? state : scratch + l->totals);
    p->totals_first = l->carried ? 0 : from * p->each;
    p->totals_count = (l->carried ? l->all : to - from) * p->each;
    GB_TRY(run_group(r, from, to, begins, ends));
  }
  return GB_OK;
}
