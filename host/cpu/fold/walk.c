/* walk.c - runs a fold: items are handed to threads in ascending order; each walks its lanes through all
** chunks.
**
** An item is a super-tile of lanes for one combination of OUTER indices (a strip of lanes where there is no
** TILE axis; all combinations in turn if only rows continue over them; a part of the chunks if there are only
** stores, or columns of a single super-tile). Its chains are private. Shared totals - over LANE, and mirrored
** - are updated in the order of items: item k flushes a chunk only after item k - 1 has, so threads run as a
** wavefront and the order of additions is that of one thread. The first unfinished item never waits. */
#include <sched.h>
#include <string.h>

#include "base/interrupt.h"
#include "cpu/fold/fold.h"

bool gb_cpu_fold_no_templates, gb_cpu_fold_all_tiles;
double gb_cpu_fold_alone = 1e5; /* waking threads costs more than a smaller fold */

typedef struct fold_job {
  const gb_xprog *p;
  gb_xshared *shared;
  const void *const *operand;
  void *const *out;
  const gb_number *constant;
  char *workspaces;
  int threads;
  _Atomic uint64_t pairs, tiles;
} fold_job;

/* -- order */

enum { SPINS = 4096 }; /* about 0.1 ms: a turn is shorter unless a thread lost its core */

static void pause_briefly (void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static bool stopped (gb_xthread *t) {
  if (gb_interrupted()) atomic_store_explicit(&t->shared->stop, true, memory_order_relaxed);
  return atomic_load_explicit(&t->shared->stop, memory_order_relaxed);
}

static uint64_t stage_of (const gb_xthread *t, size_t item, size_t stage) {
  return (uint64_t)item * (t->p->nchunk + 2) + stage;
}

/* Waits until the previous item has finished 'stage'. Returns false if the fold was stopped. */
static bool wait_turn (gb_xthread *t, size_t stage) {
  gb_xshared *s = t->shared;
  if (!t->p->ordered || t->item == 0) return true;
  uint64_t want = stage_of(t, t->item - 1, stage);
  for (int spins = 0; atomic_load_explicit(&s->ring[(t->item - 1) % s->nring].v, memory_order_acquire) < want;
       spins++) {
    if (stopped(t)) return false;
    if (spins > SPINS) sched_yield();
    else pause_briefly();
  }
  return true;
}

static void publish (gb_xthread *t, size_t stage) {
  gb_xshared *s = t->shared;
  if (t->p->ordered)
    atomic_store_explicit(&s->ring[t->item % s->nring].v, stage_of(t, t->item, stage), memory_order_release);
}

/* -- tiles */

/* The whole FULL level as one template. */
static bool run_fused (gb_xthread *t) {
  const gb_xprog *p = t->p;
  const gb_xop *op = &p->op[p->code[GB_FORM_FULL]];
  const gb_xout *x = &p->out[0];
  const void *ones = t->ws + p->ones, *xs = gb_exec_pack_at(t, op->px), *y = gb_exec_pack_at(t, op->py);
  const void *v = x->px < 0 ? ones : gb_exec_pack_at(t, x->px);
  size_t d = p->f->axis[op->front->axis].extent, step = p->pack[op->py].row,
         vstep = x->px < 0 ? 0 : p->pack[x->px].row;
  double c = gb_exec_scalar(t, op->ins->b), alpha = gb_exec_scalar(t, op->ins->c);
  char *acc = gb_exec_row_state(t, x, x->chain);
  if (!t->mirrored) return p->k->fused_row(op->ins->profile, t->nj, d, xs, y, step, c, alpha, v, vstep, acc);
  char *buf = t->ws + x->mirror + (t->tile0 - t->chunk0) * GB_LANES * p->size;
  const void *g = x->py < 0 ? ones : gb_exec_pack_at(t, x->py);
  return p->k->fused_sym(op->ins->profile, t->nj, d, xs, y, step, c, alpha, v, vstep, g, acc, buf);
}

/* Rows straight from memory into their chains: no tile is written. */
static void run_turned (gb_xthread *t) {
  const gb_xprog *p = t->p;
  const gb_xout *x = &p->out[0];
  const int operand = p->op[p->code[GB_FORM_FULL]].ins->x;
  const char *src = gb_exec_operand_at(t, operand, t->lane0 + (size_t)t->block * GB_TI, t->tile0);
  p->k->reduce_turned(x->o->monoid, t->nj, (size_t)t->valid, src, p->f->operand[operand].stride[p->lane],
                      gb_exec_row_state(t, x, x->chain));
}

static bool visit_rows (gb_xthread *t, size_t from, size_t to) {
  const gb_xprog *p = t->p;
  if (p->pairs) t->pairs += (uint64_t)(to - from) * (uint64_t)t->valid;
  t->tiles += (to - from + GB_TJ - 1) / GB_TJ;
  t->tile0 = from;
  t->nj = (int)(to - from);
  if (p->fused && run_fused(t)) return !stopped(t);
  if (p->turned) {
    run_turned(t);
    return !stopped(t);
  }
  /* no registers to fill */
  const size_t step = p->whole && gb_exec_chain_runs(t) ? to - from : (size_t)p->rows;
  for (size_t j = from; j < to; j += step) {
    t->tile0 = j;
    t->nj = (int)(to - j < step ? to - j : step);
    gb_exec_bind(t, GB_FORM_TILE);
    gb_exec_run(t, GB_FORM_FULL);
    if (stopped(t)) return false;
  }
  return true;
}

/* Skips rows whose tiles would add nothing. */
static bool visit_within_reach (gb_xthread *t, size_t from, size_t to) {
  if (gb_exec_culled(t, from, to)) return true;
  size_t start = from; /* of rows to visit */
  for (size_t j = from, next; j < to; j = next) {
    next = (j / GB_TI + 1) * GB_TI < to ? (j / GB_TI + 1) * GB_TI : to;
    if (!gb_exec_culled(t, j, next)) continue;
    if (start < j && !visit_rows(t, start, j)) return false;
    start = next;
  }
  return start >= to || visit_rows(t, start, to);
}

/* Rows [from, to) of the current lane block, within one chunk. */
static bool run_rows (gb_xthread *t, size_t from, size_t to, bool mirrored) {
  if (from >= to) return true;
  t->mirrored = mirrored;
  return t->p->reaches ? visit_within_reach(t, from, to) : visit_rows(t, from, to);
}

static void enter_block (gb_xthread *t, size_t b) {
  t->block = (int)b;
  t->valid = (int)gb_exec_lanes(t, b);
  gb_exec_bind(t, GB_FORM_LANE);
}

/* Rows [from, to) of block 'b'. Symmetric folds run the 64 rows on the diagonal separately, mirror the tiles
** to their right and skip those to their left. */
static bool walk_block (gb_xthread *t, size_t b, size_t from, size_t to) {
  size_t diagonal = t->lane0 + b * GB_TI, past = diagonal + GB_TI;
  enter_block(t, b);
  if (!t->p->f->symmetric) return run_rows(t, from, to, false);
  if (from < diagonal) from = diagonal;
  return run_rows(t, from, past < to ? past : to, false) && run_rows(t, from > past ? from : past, to, true);
}

/* Whether block 'b' has rows in the chunk. */
static bool meets (const gb_xthread *t, size_t b) {
  return !t->p->f->symmetric || t->lane0 + b * GB_TI < t->chunk0 + t->chunk_rows;
}

static void begin_rows (gb_xthread *t, size_t b) {
  enter_block(t, b);
  gb_exec_begin_rows(t);
}
static void flush_rows (gb_xthread *t, size_t b) {
  enter_block(t, b);
  gb_exec_flush_rows(t);
}

/* Each block through the whole chunk, or, for column outputs, all blocks through one sweep of rows at a
** time. */
static bool walk_blocks (gb_xthread *t, bool columns) {
  const size_t blocks = gb_exec_blocks(t), sweep = t->p->sweep;
  const bool all = sweep < GB_CANON;
  for (size_t b = 0; b < blocks && all; b++)
    if (meets(t, b)) begin_rows(t, b);
  for (size_t from = 0; from < t->chunk_rows; from += sweep) {
    const size_t n = t->chunk_rows - from < sweep ? t->chunk_rows - from : sweep;
    if (columns) gb_exec_begin_columns(t, from, n);
    for (size_t b = 0; b < blocks; b++) {
      if (!meets(t, b)) continue;
      if (!all) begin_rows(t, b);
      if (!walk_block(t, b, t->chunk0 + from, t->chunk0 + from + n)) return false;
      if (!all) flush_rows(t, b);
    }
    if (columns) gb_exec_fold_columns(t, from, n);
  }
  for (size_t b = 0; b < blocks && all; b++)
    if (meets(t, b)) flush_rows(t, b);
  return true;
}

static bool walk_chunk (gb_xthread *t, size_t c, bool columns) {
  const gb_xprog *p = t->p;
  t->chunk0 = c * GB_CANON;
  t->chunk_rows = p->ntile - t->chunk0 < GB_CANON ? p->ntile - t->chunk0 : GB_CANON;
  t->tile0 = t->chunk0;
  t->nj = (int)t->chunk_rows;
  gb_exec_fill_packs(t, true);
  gb_exec_bind(t, GB_FORM_TILE);
  gb_exec_run(t, GB_FORM_TILE);
  gb_exec_hull_rows(t);
  if (!walk_blocks(t, columns)) return false;
  if (!columns) return !stopped(t);
  if (!wait_turn(t, c + 1)) return false;
  gb_exec_flush_columns(t);
  publish(t, c + 1);
  return true;
}

/* -- items */

static bool walk_strips (gb_xthread *t) {
  size_t width = (size_t)t->p->rows * GB_TI;
  t->block = 0;
  t->chunk0 = t->tile0 = 0;
  t->chunk_rows = 1;
  t->mirrored = false;
  for (size_t at = 0; at < t->item_lanes; at += width) {
    t->lane0 = t->item0 + at;
    t->lanes = t->item_lanes - at < width ? t->item_lanes - at : width;
    t->nj = (int)gb_exec_blocks(t);
    gb_exec_fill_packs(t, false);
    gb_exec_fill_packs(t, true);
    gb_exec_run(t, GB_FORM_FULL);
    if (stopped(t)) return false;
  }
  t->lane0 = t->item0;
  t->lanes = t->item_lanes;
  return true;
}

static bool walk_tiles (gb_xthread *t) {
  const gb_xprog *p = t->p;
  bool columns = false;
  for (int o = 0; o < p->f->nouts; o++) columns |= p->out[o].reach == GB_REACH_COL || p->f->symmetric;
  for (size_t b = 0; b < gb_exec_blocks(t) && p->nbound[GB_FORM_LANE] > 0; b++) {
    enter_block(t, b);
    t->nj = 1;
    gb_exec_run(t, GB_FORM_LANE);
  }
  gb_exec_hull_lanes(t);
  size_t first = p->f->symmetric ? t->lane0 / GB_CANON : p->nchunk * t->group / p->groups;
  size_t end = p->nchunk * (t->group + 1) / p->groups;
  for (size_t c = first; c < end; c++)
    if (!walk_chunk(t, c, columns)) return false;
  return true;
}

static bool walk (gb_xthread *t, size_t outer) {
  const gb_xprog *p = t->p;
  for (int a = p->f->naxes - 1; a >= 0; a--) {
    if (p->f->axis[a].role != GB_AXIS_OUTER) continue;
    t->idx[a] = outer % p->f->axis[a].extent;
    outer /= p->f->axis[a].extent;
  }
  t->nj = 1;
  t->block = 0;
  t->tile0 = t->chunk0 = 0;
  t->lane0 = t->item0;
  t->lanes = p->strip ? 0 : t->item_lanes; /* strips fill their own lanes */
  gb_exec_fill_packs(t, false);
  t->lanes = t->item_lanes;
  gb_exec_bind(t, GB_FORM_ONE);
  gb_exec_run(t, GB_FORM_ONE);
  gb_exec_begin_item(t);
  if (!(p->strip ? walk_strips(t) : walk_tiles(t))) return false;
  if (stopped(t) || !wait_turn(t, p->nchunk + 1)) return false;
  gb_exec_end_item(t);
  publish(t, p->nchunk + 1);
  return true;
}

static bool run_item (gb_xthread *t, size_t item) {
  const gb_xprog *p = t->p;
  size_t which = item / p->groups % p->nsuper;
  t->item = item;
  t->group = item % p->groups;
  t->last = which == p->nsuper - 1;
  t->item0 = which * p->width;
  t->item_lanes = p->nlane - t->item0 < p->width ? p->nlane - t->item0 : p->width;
  if (!p->inside) return walk(t, item / p->groups / p->nsuper);
  for (size_t o = 0; o < p->nouter; o++)
    if (!walk(t, o)) return false;
  return true;
}

static void start_thread (gb_xthread *t, fold_job *j, int thread) {
  const gb_xprog *p = j->p;
  *t = (gb_xthread){
      .p = p, .shared = j->shared, .operand = j->operand, .outbase = j->out, .constant = j->constant};
  t->ws = j->workspaces + (size_t)thread * p->work;
  t->ptr = (void **)(t->ws + p->pointers);
  t->base = (const char **)(t->ws + p->bases);
  for (int v = 0; v < p->f->nvalues; v++) t->ptr[v] = t->ws + p->value[v].at;
  for (int k = 0; k < p->npacks; k++) t->base[k] = t->ws + p->pack[k].at;
  gb_exec_begin_chains(t);
  if (p->fused) gb_exec_fill(p->compute, t->ws + p->ones, GB_TI, GB_PROD);
}

static void run_thread (void *ud, int thread) {
  fold_job *j = ud;
  gb_xthread t;
  if (thread >= j->threads) return;
  start_thread(&t, j, thread);
  for (;;) {
    size_t item = atomic_fetch_add_explicit(&j->shared->next, 1, memory_order_relaxed);
    if (item >= j->p->items || !run_item(&t, item)) break;
  }
  atomic_fetch_add_explicit(&j->pairs, t.pairs, memory_order_relaxed);
  atomic_fetch_add_explicit(&j->tiles, t.tiles, memory_order_relaxed);
}

/* -- entry */

static void place_totals (gb_xprog *p, const gb_carry *carry, char *scratch) {
  size_t used = p->meta, kept = 0;
  for (int o = 0; o < p->f->nouts; o++) {
    gb_xout *x = &p->out[o];
    const size_t bytes = x->ntotal * sizeof(gb_word);
    x->total = (gb_word *)(scratch + gb_take(&used, x->carried ? 0 : bytes));
    if (x->carried) x->total = (gb_word *)((char *)carry->state + gb_take(&kept, bytes));
    x->across = (gb_word *)(scratch + gb_take(&used, x->nacross * sizeof(gb_word)));
    if (!x->carried || carry->first) gb_exec_identity(p, x, x->total, x->ntotal);
    gb_exec_identity(p, x, x->across, x->nacross);
  }
}

#define NAMES(p, s)                                                                                          \
  { p ".dn" s, p ".d1" s, p ".d2" s, p ".d3" s, p ".d4" s, p ".d5" s, p ".d6" s, p ".d7" s, p ".d8" s }
#define PROFILES(s)                                                                                          \
  { NAMES("rbf", s), NAMES("m12", s), NAMES("m32", s), NAMES("m52", s), NAMES("rq", s) }

static const char *path_of (const gb_xprog *p) {
  static const char *const names[3][GB_NPROFILES][9] = {PROFILES(".r1"), PROFILES(".r1.sym"),
                                                        PROFILES(".tile")};
  for (int n = 0; n < p->code[GB_FORM_FULL] + p->ncode[GB_FORM_FULL]; n++) {
    const gb_xop *op = &p->op[n];
    if (op->kind != GB_X_FRONT) continue;
    size_t d = p->f->axis[op->front->axis].extent;
    return names[!p->fused ? 2 : p->f->symmetric ? 1 : 0][op->ins->profile][d <= 8 ? d : 0];
  }
  return "vm";
}

/* Ordered folds with little work per item do not gain from threads either. */
static bool is_small (const gb_xprog *p) {
  double points = (double)p->nlane * (double)p->ntile * (double)p->nouter,
         steps = points * (double)(p->f->nins + 1);
  return steps < gb_cpu_fold_alone || (p->ordered && steps / (double)p->items < gb_cpu_fold_alone / 5);
}

static gb_status check (const gb_cpu_kernel *k, const gb_fold_args *args, gb_error *err) {
  if (!gb_fold_serves(&k->fold, args->part)) return gb_fail(err, GB_EINTERNAL, "fold: a part of another one");
  if (args->part->carried != 0 && args->carry == NULL)
    return gb_fail(err, GB_EINTERNAL, "fold: a part without its totals");
  return gb_isa_active != NULL ? GB_OK : gb_isa_select(NULL, err);
}

gb_status gb_cpu_launch (gb_device *dev, const gb_kernel *kernel, const gb_fold_args *args, gb_error *err) {
  const gb_cpu_kernel *k = (const gb_cpu_kernel *)kernel;
  char *scratch = args->scratch;
  gb_xprog p;
  GB_TRY(check(k, args, err));
  gb_exec_enter(k, args->part, scratch, &p);
  gb_exec_fit(&p, args->part, gb_pool_threads(dev->pool), true);
  gb_exec_fit_links(&p);
  p.isa = gb_isa_active;
  p.k = p.compute == GB_F32 ? &p.isa->f32 : p.compute == GB_F64 ? &p.isa->f64 : &p.isa->i64;
  p.reaches &= !gb_cpu_fold_all_tiles;
  const gb_scratch_layout at = gb_exec_lay_scratch(&p);
  p.last = args->carry == NULL || args->carry->last;
  place_totals(&p, args->carry, scratch);
  gb_xshared shared = {.ring = (void *)(scratch + at.ring), .nring = 2 * (size_t)p.threads};
  memset(shared.ring, 0, shared.nring * 64);
  fold_job job = {.p = &p,
                  .shared = &shared,
                  .operand = args->operand,
                  .out = args->out,
                  .constant = args->constant,
                  .workspaces = scratch + at.workspaces,
                  .threads = is_small(&p) ? 1 : p.threads};
  if (job.threads == 1) run_thread(&job, 0);
  else gb_pool_run(dev->pool, run_thread, &job);
  if (atomic_load(&shared.stop)) return gb_fail(err, GB_EINTR, "interrupted");
  gb_xthread t;
  start_thread(&t, &job, 0);
  gb_exec_store_totals(&t, p.last);
  if (args->stats != NULL) *args->stats = (gb_fold_stats){job.pairs, job.tiles, path_of(&p)};
  return GB_OK;
}
