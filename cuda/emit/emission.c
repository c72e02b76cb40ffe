/* emission.c - decides how a walk becomes a kernel. */
#include "cuda/emit/emission.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_INS = 256,
  MOST_CHAINS = 128,
  SHARED = 48 << 10, /* bytes of shared memory that every block can have */
  TOTALS = 96,       /* registers of a walk that sums both axes */
  MOST_LEAST = 16,   /* elements of KSMALLEST */
  MOST_HELD = 32,    /* elements that a thread holds of groups of LSE, or in lists of KSMALLEST */
  BOTH = 3
};

/* Registers of chains and held elements that a thread of so many elements may have. */
static const struct { int batch, words; } budgets[] = {{8, 72}, {4, 132}, {2, 150}, {1, 72}};

static bool has_tile (const gb_fold *f) {
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role == GB_AXIS_TILE) return true;
  return false;
}

/* Groups of LSE and lists are those of rows or of columns; a list has as many pairs as a thread can keep. */
static bool fits_output (const gb_fold *f, const gb_cuda_out *o, int reach) {
  switch (o->how) {
    case GB_CUDA_LSE: return (reach == GB_CUDA_ROW || (reach == GB_CUDA_COL && has_tile(f))) && !f->symmetric;
    case GB_CUDA_SELECT:
      return (reach == GB_CUDA_ROW || reach == GB_CUDA_COL) && !f->symmetric && o->words <= 2 * MOST_LEAST;
    case GB_CUDA_CHAIN:
    case GB_CUDA_CONTRACT:
    case GB_CUDA_DIFF: return true;
    default: return reach != GB_CUDA_WAVE;
  }
}

static bool fits_reach (const gb_fold *f, const gb_cuda_walk *w, int reach) {
  if (w->nins > MOST_INS) return false;
  for (int k = 0; k < w->nouts; k++)
    if (!fits_output(f, &w->out[k], reach)) return false;
  return true;
}

/* The groups of the interpreter (fold/encode.c). */
static void choose_group (gb_emission *e) {
  const bool columns = e->passing == GB_CUDA_LANE;
  e->step = columns ? GB_LANES : 1;
  for (int k = 0; k < e->w->nouts; k++)
    if (e->w->out[k].how == GB_CUDA_LSE) e->group = columns ? GB_CUDA_BATCH : GB_TJ;
}

static int form_of (const gb_emission *e, int operand) {
  const ptrdiff_t *stride = e->f->operand[operand].stride;
  return (e->lane >= 0 && stride[e->lane] != 0 ? GB_CUDA_LANE : 0) |
         (e->tile >= 0 && stride[e->tile] != 0 ? GB_CUDA_TILE : 0);
}

static void describe_stream (gb_emission *e, int operand) {
  gb_stream *t = &e->stream[operand];
  *t = (gb_stream){.form = form_of(e, operand), .n = 1, .unrolled = true};
  for (int a = e->f->naxes - 1; a >= 0; a--) {
    if (e->f->axis[a].role != GB_AXIS_INNER || e->f->operand[operand].stride[a] == 0) continue;
    t->mul[a] = t->n;
    t->n *= e->f->axis[a].extent > 4096 ? 4096 : (int)e->f->axis[a].extent;
    if (e->rolled >> a & 1) t->unrolled = false;
    if (t->n > 4096) t->n = 4096;
  }
}

static void of_output (const gb_emission *e, const gb_cuda_out *o, int operand[3]) {
  const bool rows = e->reach == GB_CUDA_ROW;
  switch (o->how) {
    case GB_CUDA_CONTRACT:
      operand[0] = rows ? o->rows : o->lanes;
      operand[1] = e->reach == GB_CUDA_WAVE ? o->rows : -1;
      break;
    case GB_CUDA_DIFF: operand[0] = rows ? o->lanes : o->rows, operand[1] = rows ? o->rows : o->lanes; break;
    case GB_CUDA_PRODUCT:
      operand[0] = o->x;
      operand[1] = o->kind == GB_OUT_DIFF || e->reach == GB_CUDA_ALL ? o->y : -1;
      break;
    default: break;
  }
}

void gb_emission_operands (const gb_emission *e, int n, int operand[3]) {
  const gb_ins *i = gb_emission_ins(e, n);
  operand[0] = operand[1] = operand[2] = -1;
  switch (i->kind) {
    case GB_INS_LOAD:
    case GB_INS_RAND: operand[0] = i->x; break;
    case GB_INS_IOTA: operand[0] = i->axis < 0 ? i->x : -1; break;
    case GB_INS_SQDIST: operand[2] = i->w; /* fallthrough */
    case GB_INS_DOT: operand[0] = i->x, operand[1] = i->y; break;
    case GB_INS_EMIT: of_output(e, &e->w->out[e->w->ins[n].x], operand); break;
    default: break;
  }
}

static bool reads_elements (const gb_ins *i) { return i->kind != GB_INS_IOTA && i->kind != GB_INS_RAND; }

static void note_value (gb_emission *e, int v) {
  if (v >= 0) e->wanted[v] = true;
}

/* What each instruction reads, at the level at which it runs. */
static void scan (gb_emission *e) {
  for (int l = 0; l < GB_CUDA_LEVELS; l++)
    for (int n = e->w->code[l]; n < e->w->code[l] + e->w->ncode[l]; n++) {
      const gb_ins *i = gb_emission_ins(e, n);
      int operand[3];
      gb_emission_operands(e, n, operand);
      for (int k = 0; k < 3; k++) {
        if (operand[k] < 0) continue;
        gb_stream *t = &e->stream[operand[k]];
        t->used = true;
        if (l == GB_CUDA_FULL && reads_elements(i)) t->full = true;
        else if (l != e->passing) t->outside = true;
      }
      if (e->w->ins[n].dst >= 0) e->level[i->dst] = (unsigned char)l;
      if (l != GB_CUDA_FULL) continue;
      note_value(e, i->a);
      if (i->kind == GB_INS_MAP || i->kind == GB_INS_RADIAL) note_value(e, i->b), note_value(e, i->c);
    }
}

/* -- registers */

static int held_words (const gb_emission *e) {
  int n = 0;
  for (int k = 0; k < e->f->noperands; k++)
    if (e->stream[k].kept && e->stream[k].form == e->held) n += e->stream[k].n;
  for (int v = 0; v < e->f->nvalues; v++) n += e->wanted[v] && e->level[v] == e->held;
  return n;
}

static bool is_least (const gb_cuda_out *o) { return o->how == GB_CUDA_SELECT && o->monoid == GB_KSMALLEST; }

static int elements_of_lists (const gb_emission *e) {
  int n = 0;
  for (int k = 0; k < e->w->nouts; k++)
    if (is_least(&e->w->out[k])) n += e->w->out[k].slots * e->w->out[k].k;
  return n;
}

/* Beside a list is its last value. */
static int words_of_slot (const gb_emission *e, const gb_cuda_out *o) {
  return o->cols * o->words + (o->how == GB_CUDA_LSE ? e->group : is_least(o) ? 2 : 0);
}

/* Chains of so many elements; of a walk that sums both axes one for all, and a total in f64; of a wave those of a column, too. */
static int words_of_chains (const gb_emission *e, int batch) {
  if (e->reach == GB_CUDA_ALL) return e->chains + 8 / e->size * e->chains;
  return e->chains * batch + (e->reach == GB_CUDA_WAVE ? e->chains : 0);
}

static int chain_words (const gb_emission *e) { return words_of_chains(e, e->batch); }

static int once_words (const gb_emission *e) {
  int n = 0;
  for (int k = 0; k < e->f->noperands; k++)
    if (e->stream[k].kept && e->stream[k].form == 0) n += e->stream[k].n;
  return n;
}

static bool fits (const gb_emission *e, int batch, int words) {
  return (words_of_chains(e, batch) + held_words(e) * batch + once_words(e)) * (e->size / 4) <= words;
}

/* Elements of one side that stay in memory: their loops are not unrolled, else all of them would be read before the loop over
** what passes, into registers. What else these loops index lies in memory, too. */
static void leave_in_memory (gb_emission *e, int operand) {
  e->stream[operand].kept = false;
  for (int a = 0; a < e->f->naxes; a++) {
    if (e->stream[operand].mul[a] == 0) continue;
    e->rolled |= 1u << a;
    for (int k = 0; k < e->f->noperands; k++) {
      gb_stream *t = &e->stream[k];
      if (t->mul[a] == 0 || !t->unrolled) continue;
      t->unrolled = false;
      if (t->full && (t->form != e->passing || e->reach == GB_CUDA_KEEP)) leave_in_memory(e, k);
    }
  }
}

/* Chains are registers, so their numbers are constants. */
static bool numbers_chains (const gb_emission *e) {
  for (int k = 0; k < e->w->nouts && e->reach != GB_CUDA_KEEP; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    if ((o->slotted | (o->axis >= 0 ? 1u << o->axis : 0)) & e->rolled) return false;
  }
  return true;
}

/* As many elements as registers allow; a thread of a symmetric walk, or of one that sums both axes, has the lanes of one
** block. The longest of what is held is left in memory until the rest fits. */
static bool choose_batch (gb_emission *e) {
  const int most = sizeof budgets / sizeof *budgets;
  const bool four = e->reach == GB_CUDA_ALL || e->reach == GB_CUDA_KEEP;
  for (;;) {
    for (int k = 0; k < most; k++) {
      if (four ? budgets[k].batch != 4 : e->f->symmetric && budgets[k].batch > 4) continue;
      if (budgets[k].batch * (e->group > 0 ? e->group : elements_of_lists(e)) > MOST_HELD) continue;
      if (!fits(e, budgets[k].batch, e->reach == GB_CUDA_ALL ? TOTALS : budgets[k].words)) continue;
      e->batch = budgets[k].batch;
      e->threads = GB_CUDA_ROWS / e->batch;
      return true;
    }
    int longest = -1;
    for (int k = 0; k < e->f->noperands; k++)
      if (e->stream[k].kept && e->stream[k].form == e->held &&
          (longest < 0 || e->stream[k].n > e->stream[longest].n))
        longest = k;
    if (longest < 0) return false;
    leave_in_memory(e, longest);
    if (!numbers_chains(e)) return false;
  }
}

/* -- the staged row */

bool gb_emission_stages (const gb_emission *e) { return e->row > 0 && e->reach != GB_CUDA_KEEP; }

bool gb_emission_staged (const gb_emission *e, int operand) {
  const gb_stream *t = &e->stream[operand];
  return gb_emission_stages(e) && !t->outside && (!t->full || (t->kept && t->form == e->passing));
}

static int aligned (int words, int to) { return (words + to - 1) / to * to; }

/* Rows are read in words of 16 bytes; where 16 threads read 16 rows, their number in a row is odd: no two of them meet in
** a bank. */
static void lay_out_row (gb_emission *e) {
  const int vector = 16 / e->size;
  e->row = 0;
  e->whole = true;
  for (int k = 0; k < e->f->noperands; k++) {
    gb_stream *t = &e->stream[k];
    if (!t->kept || t->form != e->passing) continue;
    t->place = e->row;
    e->row += t->n;
    e->whole &= t->unrolled;
  }
  for (int v = 0; v < e->f->nvalues; v++)
    if (e->wanted[v] && e->level[v] == e->passing) e->place[v] = e->row++;
  e->row = aligned(e->row, vector);
  if (e->passing == GB_CUDA_LANE && e->row > 0 && e->row / vector % 2 == 0) e->row += vector;
  const int words = chain_words(e) + held_words(e) * e->batch, most = e->batch == 1 ? 88 : 176;
  if (e->row > GB_EMIT_ROW || (words + e->row) * (e->size / 4) > most) e->whole = false;
  e->rows = e->reach == GB_CUDA_WAVE ? e->wave.rows : GB_CANON;
  const int least = e->group > 0 ? e->group * e->step : GB_LANES; /* no group is in two pieces */
  while (e->reach != GB_CUDA_WAVE && e->rows > least && e->rows * e->row * e->size > GB_EMIT_STAGE)
    e->rows /= 2;
}

/* Instructions of a pair, about. */
static int cost_of (const gb_emission *e, int n) {
  const gb_ins *i = gb_emission_ins(e, n);
  int operand[3], cost = 1;
  gb_emission_operands(e, n, operand);
  for (int k = 0; k < 3; k++) /* from memory: an address, too */
    if (operand[k] >= 0 && e->stream[operand[k]].full && !e->stream[operand[k]].kept) cost += 8;
  if (i->kind == GB_INS_SQDIST || i->kind == GB_INS_DOT) return 2 * cost * (int)e->f->axis[i->axis].extent;
  if (i->kind == GB_INS_RADIAL) return 8;
  return i->kind == GB_INS_EMIT && i->axis >= 0 ? cost * (int)e->f->axis[i->axis].extent : cost;
}

/* Of a pair beside its instructions: what LSE makes of groups is behind the loop, and a list is compared in all places. */
static int cost_of_chains (const gb_emission *e) {
  int cost = e->chains;
  for (int k = 0; k < e->w->nouts && e->reach != GB_CUDA_KEEP; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    if (o->how == GB_CUDA_LSE) cost -= o->slots * words_of_slot(e, o);
    if (is_least(o)) cost += 3 * o->slots * o->k;
  }
  return cost;
}

/* As many rows at once as the instruction cache and the registers like. */
static void choose_unroll (gb_emission *e) {
  const int words = (chain_words(e) + held_words(e) * e->batch) * (e->size / 4),
            row = e->whole ? e->row * (e->size / 4) : 0;
  int cost = cost_of_chains(e), times = 1;
  for (int n = e->w->code[GB_CUDA_FULL]; n < e->w->code[GB_CUDA_FULL] + e->w->ncode[GB_CUDA_FULL]; n++) {
    const gb_cuda_ins *i = &e->w->ins[n];
    if (i->kind == GB_INS_LOOP && times < 4096) times *= (int)e->f->axis[i->axis].extent;
    else if (i->kind == GB_INS_ENDLOOP &&
             e->f->axis[e->w->ins[e->w->code[GB_CUDA_FULL] + i->jump].axis].extent > 0)
      times /= (int)e->f->axis[e->w->ins[e->w->code[GB_CUDA_FULL] + i->jump].axis].extent;
    else cost += times * cost_of(e, n);
  }
  e->unroll = e->group > 0 ? e->group : 4;
  while (e->unroll > 1 &&
         (cost * e->batch * e->unroll > 900 || (e->group == 0 && words + row * e->unroll > 200)))
    e->unroll /= 2;
}

/* Temporary values that each element in flight needs. */
static int temporaries (const gb_emission *e) {
  int most = 2;
  for (int n = e->w->code[GB_CUDA_FULL]; n < e->w->code[GB_CUDA_FULL] + e->w->ncode[GB_CUDA_FULL]; n++) {
    const gb_ins *i = gb_emission_ins(e, n);
    if (i->kind == GB_INS_RADIAL && (i->profile != GB_RBF || e->size == 8)) most = 6;
    if (i->kind == GB_INS_MAP || i->kind == GB_INS_RAND || e->group > 0 || elements_of_lists(e) > 0) most = 6;
  }
  return most;
}

/* Left to itself, ptxas rather spills some registers than lets fewer warps be at work. A quarter of a multiprocessor has
** registers for so many warps, whose number is all that counts. */
static void choose_blocks (gb_emission *e) {
  enum { REGISTERS = 16384 / 32 };
  const int words = chain_words(e) + once_words(e) + (held_words(e) + temporaries(e)) * e->batch +
                    (e->whole ? e->row : 0);
  /* Of flags; and the row after the one that is used, which ptxas reads early where rows are long. */
  const int early = e->whole && e->unroll > 1 && e->row > 16 ? e->row : 0;
  const int flags = e->reach == GB_CUDA_ALL ? 8 + early : 0;
  int beside = (e->passing == GB_CUDA_LANE ? 44 : 36) + (e->size == 8 ? 12 : 0);
  for (int k = 0; k < e->w->nouts; k++) /* addresses of totals */
    if (e->reach == GB_CUDA_KEEP && e->w->out[k].how != GB_CUDA_STORE) beside += 16;
  for (int k = 0; k < e->f->noperands; k++) /* addresses of what is read from memory */
    if (e->stream[k].full && !e->stream[k].kept) beside += 6 + 2 * e->batch;
  const int warps = REGISTERS / aligned(words * (e->size / 4) + beside + flags, 8);
  e->blocks = 4 * (warps < 8 ? warps : 8) * 32 / e->threads;
  if (e->blocks < 1) e->blocks = 1;
}

static void keep_streams (gb_emission *e) {
  for (int k = 0; k < e->f->noperands; k++) {
    gb_stream *t = &e->stream[k];
    const bool staged = t->form == e->passing && e->reach != GB_CUDA_KEEP;
    t->kept = t->full && t->form != BOTH && t->n <= (staged ? 2 * GB_EMIT_ROW : GB_EMIT_ROW);
  }
  for (int k = 0; k < e->f->noperands; k++) {
    gb_stream *t = &e->stream[k];
    const bool staged = t->form == e->passing && e->reach != GB_CUDA_KEEP;
    if (t->full && t->form != BOTH && !staged && !(t->kept && t->unrolled)) leave_in_memory(e, k);
  }
}

/* Instructions of a pair but those of its outputs, about. */
static int evaluation (const gb_emission *e) {
  int cost = 0, times = 1;
  const int first = e->w->code[GB_CUDA_FULL];
  for (int n = first; n < first + e->w->ncode[GB_CUDA_FULL]; n++) {
    const gb_cuda_ins *i = &e->w->ins[n];
    if (i->kind == GB_INS_LOOP && times < 4096) times *= (int)e->f->axis[i->axis].extent;
    if (i->kind != GB_INS_EMIT && i->kind != GB_INS_LOOP && i->kind != GB_INS_ENDLOOP)
      cost += times * cost_of(e, n);
  }
  return cost;
}

/* A wave has other rows of a thread. */
static bool choose_wave (gb_emission *e) {
  gb_wave *w = &e->wave;
  e->batch = 1;
  lay_out_row(e);
  if (!gb_wave_fits(w, e->chains, held_words(e), e->row, e->size, evaluation(e))) return false;
  e->batch = w->batch;
  e->threads = 2 * GB_CUDA_ROWS / e->batch;
  return true;
}

static bool count_chains (gb_emission *e) {
  for (int k = 0; k < e->w->nouts; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    if (o->how == GB_CUDA_STORE || e->reach == GB_CUDA_KEEP) continue;
    if (o->slots > MOST_CHAINS || o->cols > MOST_CHAINS) return false;
    e->chains += o->slots * words_of_slot(e, o);
  }
  return e->chains <= MOST_CHAINS;
}

static bool take_memory (gb_emission *e, gb_error *err) {
  const size_t n = (size_t)e->f->nvalues + 1;
  e->memory = calloc(n, sizeof(int) + 2);
  if (e->memory == NULL) {
    gb_fail(err, GB_ENOMEM, "no memory for a program");
    return false;
  }
  e->place = e->memory;
  e->level = (unsigned char *)(e->place + n);
  e->wanted = (bool *)(e->level + n);
  return true;
}

/* What differs from launch to launch: numbers of an axis, seeds. */
static bool reads_code (const gb_cuda_ins *i) {
  return i->kind == GB_INS_IOTA || i->kind == GB_INS_RAND || (i->kind == GB_INS_RADIAL && i->varying);
}

bool gb_emission_open (gb_emission *e, const gb_fold *f, const gb_cuda_walk *w, int reach,
                       gb_cuda_arithmetic a, gb_error *err) {
  *e = (gb_emission){.f = f, .w = w, .reach = reach, .lane = -1, .tile = -1, .arithmetic = a};
  if (f->compute == GB_I64 || f->noperands > GB_EMIT_OPERANDS || !fits_reach(f, w, reach)) return false;
  const bool columns = reach == GB_CUDA_COL || reach == GB_CUDA_MIRROR;
  e->held = columns ? GB_CUDA_TILE : GB_CUDA_LANE;
  e->passing = columns ? GB_CUDA_LANE : GB_CUDA_TILE;
  e->size = f->compute == GB_F32 ? 4 : 8;
  e->at = gb_cuda_places_of(f, w);
  for (int n = 0; n < w->nins; n++) e->code |= reads_code(&w->ins[n]);
  for (int k = 0; k < f->naxes; k++) {
    if (f->axis[k].role == GB_AXIS_LANE) e->lane = k;
    if (f->axis[k].role == GB_AXIS_TILE) e->tile = k;
    if (f->axis[k].role == GB_AXIS_INNER && f->axis[k].extent > GB_EMIT_UNROLLED) e->rolled |= 1u << k;
  }
  if (!take_memory(e, err)) return false;
  for (int k = 0; k < f->noperands; k++) describe_stream(e, k);
  scan(e);
  choose_group(e);
  keep_streams(e);
  if (!count_chains(e) || !numbers_chains(e)) return false;
  if (!(reach == GB_CUDA_WAVE ? choose_wave(e) : choose_batch(e))) return false;
  lay_out_row(e);
  if (e->group > 0 && e->rows * e->row * e->size > SHARED) return false;
  choose_unroll(e);
  choose_blocks(e);
  return true;
}

void gb_emission_close (gb_emission *e) {
  free(e->memory);
  free(e->text.at);
}
