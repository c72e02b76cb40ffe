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

/* A pass that makes chains, by the compiled kernel where there is one: nobody can tell by the result. */
static gb_status make (const gb_cuda_run *r, gb_cuda_pass pass, size_t work) {
  const gb_cuda_program *p = &r->argument->program;
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
  GB_TRY(send_code(r));
  return start(r, pass, work, true);
}

/* The chains of the panel at the present combination of reduced OUTER axes. */
static gb_status make_chains (const gb_cuda_run *r) {
  gb_cuda_program *p = &r->argument->program;
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
    case GB_CUDA_ALL:
      return make(r, GB_CUDA_ALL_PASS, p->units * gb_cuda_ceiling(p->parts / lists, GB_CUDA_HALVES));
    default: return make(r, GB_CUDA_ELEMENTS_PASS, p->units);
  }
}

static size_t blocks_of_totals (const gb_cuda_program *p) {
  return gb_cuda_ceiling(p->units * p->each * p->words, GB_CUDA_BLOCK);
}

static gb_status absorb (const gb_cuda_run *r) {
  return start(r, GB_CUDA_ABSORB_PASS, blocks_of_totals(&r->argument->program), false);
}

/* Row-major indices of a combination of reduced OUTER axes. */
static void enter_combination (gb_cuda_program *p, size_t combination) {
  for (int a = p->naxes - 1; a >= 0; a--) {
    if (!(p->reduced >> a & 1)) continue;
    p->index[a] = combination % p->extent[a];
    combination /= p->extent[a];
  }
}

/* Without a combination of reduced OUTER axes there are the identities. */
static gb_status absorb_nothing (const gb_cuda_run *r) {
  gb_cuda_program *p = &r->argument->program;
  const size_t parts = p->parts, mirrors = p->mirrors;
  p->parts = p->mirrors = 0;
  const gb_status st = absorb(r);
  p->parts = parts, p->mirrors = mirrors;
  return st;
}

/* Units [p->unit, p->unit + p->units): chains and totals of one combination after the other, then the results, which the
** last absorption stores, where there is one. */
static gb_status run_panel (const gb_cuda_run *r, bool begins, bool ends) {
  gb_cuda_program *p = &r->argument->program;
  const size_t combinations = r->l->combinations;
  const bool absorbs = combinations == 0 ? begins : p->reach != GB_CUDA_KEEP;
  p->first = begins;
  p->last = ends;
  if (combinations == 0 && begins) GB_TRY(absorb_nothing(r));
  for (size_t c = 0; c < combinations; c++) {
    enter_combination(p, c);
    p->last = ends && c + 1 == combinations;
    GB_TRY(gb_cuda_pace(r->gpu, r->seconds * (double)p->units / (double)r->l->all, r->err));
    GB_TRY(make_chains(r));
    if (absorbs) GB_TRY(absorb(r));
    p->first = false;
  }
  return ends && !absorbs ? start(r, GB_CUDA_STORE_PASS, blocks_of_totals(p), false) : GB_OK;
}

gb_status gb_cuda_run_walk (const gb_cuda_run *r, char *state) {
  const gb_cuda_layout *l = r->l;
  const gb_carry *carry = r->args->carry;
  gb_cuda_program *p = &r->argument->program;
  char *scratch = r->args->scratch;
  const bool begins = !l->carried || carry->first, ends = !l->carried || carry->last;
  for (size_t unit = 0; unit < l->all; unit += l->panel) {
    p->unit = unit;
    p->units = l->all - unit < l->panel ? l->all - unit : l->panel;
    p->totals = (gb_cuda_word *)(l->carried ? state : scratch + l->totals);
    p->totals_first = l->carried ? 0 : unit * p->each;
    p->totals_count = (l->carried ? l->all : p->units) * p->each;
    GB_TRY(run_panel(r, begins, ends));
  }
  return GB_OK;
}
