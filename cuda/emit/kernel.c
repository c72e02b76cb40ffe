/* kernel.c - the kernels: units of work, the sides of a pair, the loop over what passes, and where chains go. */
#include <stdio.h>
#include <string.h>

#include "cuda/emit/lines.h"

/* -- what all kernels begin with */

/* The lists, which the argument has where they fit. */
static void begin_lists (gb_emission *e) {
  gb_text_line(&e->text, "const gb_cuda_program &p = argument.program;");
  gb_text_line(&e->text, "const char *const lists = %s;",
               e->at.ins <= (int)GB_CUDA_LISTS ? "argument.lists" : "p.elsewhere");
  if (!e->code) return;
  if (e->at.end <= (int)GB_CUDA_LISTS)
    gb_text_line(&e->text, "const gb_cuda_ins *const code = &gb_listed<gb_cuda_ins>(lists, %d);", e->at.ins);
  else gb_text_line(&e->text, "const gb_cuda_ins *const code = p.ins;");
}

/* Bytes of lists that the text reads in the argument. */
static int listed (const gb_emission *e) {
  const int most = (int)GB_CUDA_LISTS, bytes = e->code && e->at.end <= most ? e->at.end : e->at.ins;
  return bytes > most || bytes == 0 ? 8 : bytes;
}

static bool keeps_pairs (const gb_emission *e) {
  for (int k = 0; k < e->w->nouts; k++)
    if (!gb_emit_is_number(&e->w->out[k])) return true;
  return false;
}

void gb_emit_begin (gb_emission *e) {
  const bool wide = e->f->compute == GB_F64;
  gb_text_line(&e->text, "#include \"cuda/fold/chains.cuh\"");
  gb_text_line(&e->text, "#include \"cuda/fold/profile.cuh\"");
  if (keeps_pairs(e)) gb_text_line(&e->text, "#include \"cuda/fold/kept.cuh\"");
  gb_text_line(&e->text, "extern \"C\" __global__ void __launch_bounds__(%d, %d)", e->threads, e->blocks);
  gb_text_line(&e->text, "%s (GB_PARAMETER gb_cuda_short_argument<%d> argument) {", GB_CUDA_EMIT_NAME,
               listed(e));
  begin_lists(e);
  gb_text_line(&e->text, "typedef %s T;", wide ? "double" : "float");
  gb_text_line(&e->text, "typedef %s A;", wide ? "gb_double" : "gb_exact_float");
  if (gb_emission_stages(e) && e->reach != GB_CUDA_WAVE)
    gb_text_line(&e->text, "__shared__ __align__(16) T stage[%d];", e->row * e->rows);
  gb_text_line(&e->text, "const int64_t nlane = (int64_t)p.nlane, ntile = (int64_t)p.ntile;");
  gb_text_line(&e->text, "const size_t count = p.%s * p.each;",
               e->reach == GB_CUDA_MIRROR ? "wide" : "units");
  if (e->f->symmetric && e->reach != GB_CUDA_ALL)
    gb_text_line(&e->text, "const size_t first_super = p.unit %% p.per;");
  if (e->reach == GB_CUDA_WAVE || (e->f->symmetric && e->reach == GB_CUDA_ROW))
    gb_text_line(&e->text, "gb_cuda_word *const chains = p.chains + gb_mirrored_words(&p);");
  else gb_text_line(&e->text, "gb_cuda_word *const chains = p.chains;");
  for (int a = 0; a < e->f->naxes; a++)
    if (e->f->axis[a].role == GB_AXIS_INNER) gb_text_line(&e->text, "const int i%d = 0;", a);
}

/* OUTER indices of a unit, and what does not depend on LANE or TILE. */
void gb_emit_begin_unit (gb_emission *e) {
  gb_text_line(&e->text, "size_t rest = unit / p.per;");
  for (int a = e->f->naxes - 1; a >= 0; a--) {
    if (e->f->axis[a].role != GB_AXIS_OUTER) continue;
    if (e->w->reduced >> a & 1) gb_text_line(&e->text, "const size_t i%d = p.index[%d];", a, a);
    else gb_text_line(&e->text, "const size_t i%d = rest %% p.extent[%d];", a, a);
    if (!(e->w->reduced >> a & 1)) gb_text_line(&e->text, "rest /= p.extent[%d];", a);
  }
  gb_emit_operands(e, false);
  gb_emit_output_pointers(e);
  gb_emit_arrays(e, GB_CUDA_ONCE);
  gb_emit_streams(e, GB_CUDA_ONCE);
  gb_emit_level(e, GB_CUDA_ONCE);
  gb_emit_profiles(e);
}

void gb_emit_begin_batch (gb_emission *e) {
  gb_text_line(&e->text, "#pragma unroll");
  gb_text_line(&e->text, "for (int q = 0; q < %d; q++) {", e->batch);
}

/* Lanes that may be past the edge: those are computed as the last one is, and ok[q] is false. */
static void hold_lane (gb_emission *e, const char *lane) {
  gb_text_line(&e->text, "int64_t held[%d];", e->batch);
  gb_text_line(&e->text, "bool ok[%d];", e->batch);
  gb_emit_begin_batch(e);
  gb_text_line(&e->text, "ok[q] = %s < nlane;", lane);
  gb_text_line(&e->text, "held[q] = ok[q] ? %s : nlane - 1;", lane);
  gb_text_line(&e->text, "}");
}

/* The held side, from 'held[q]'. */
void gb_emit_hold (gb_emission *e) {
  gb_emit_arrays(e, e->held);
  for (int v = 0; v < e->f->nvalues; v++)
    if (e->wanted[v] && e->level[v] == e->held) gb_text_line(&e->text, "T w%d[%d];", v, e->batch);
  gb_emit_begin_batch(e);
  gb_emit_streams(e, e->held);
  gb_emit_level(e, e->held);
  for (int v = 0; v < e->f->nvalues; v++)
    if (e->wanted[v] && e->level[v] == e->held) gb_text_line(&e->text, "w%d[q] = v%d;", v, v);
  gb_text_line(&e->text, "}");
}

static void declare_list (gb_emission *e, int k) {
  const gb_cuda_out *o = &e->w->out[k];
  const int n = o->slots > 0 ? o->slots : 1;
  if (o->monoid == GB_KSMALLEST)
    gb_text_line(&e->text, "gb_least_few<T, %d> c%d[%d][%d];", o->k, k, n, e->batch);
  else gb_text_line(&e->text, "gb_extreme<T, %d> c%d[%d][%d];", o->monoid, k, n, e->batch);
}

void gb_emit_declare_chains (gb_emission *e) {
  for (int k = 0; k < e->w->nouts; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    const int words = o->slots * o->cols * o->words, n = words > 0 ? words : 1;
    if (o->how == GB_CUDA_STORE) continue;
    if (o->how == GB_CUDA_LSE)
      gb_text_line(&e->text, "T g%d[%d][%d];", k, o->slots > 0 ? o->slots * e->group : 1, e->batch);
    if (o->how == GB_CUDA_SELECT) declare_list(e, k);
    else if (e->reach == GB_CUDA_ALL) gb_text_line(&e->text, "T c%d[%d];", k, n);
    else gb_text_line(&e->text, "T c%d[%d][%d];", k, n, e->batch);
  }
}

/* -- what passes: indices [from, to), a piece at a time. All threads of a block go through the same pieces. */

void gb_emit_staged_row (gb_emission *e) {
  gb_emit_streams(e, e->passing);
  gb_emit_level(e, e->passing);
  for (int v = 0; v < e->f->nvalues; v++)
    if (e->wanted[v] && e->level[v] == e->passing) gb_text_line(&e->text, "to[%d] = v%d;", e->place[v], v);
}

static void stage (gb_emission *e) {
  gb_text_line(&e->text, "__syncthreads();");
  gb_text_line(&e->text, "{"); /* what is read here is not kept in registers */
  gb_emit_operands(e, true);
  gb_text_line(&e->text, "#pragma unroll 1");
  gb_text_line(&e->text, "for (int s = (int)threadIdx.x; s < n; s += %d) {", e->threads);
  gb_text_line(&e->text, "const int64_t pass = piece + s;");
  gb_text_line(&e->text, "T *const to = stage + s * %d;", e->row);
  gb_emit_staged_row(e);
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "__syncthreads();");
}

static void begin_pieces (gb_emission *e) {
  gb_text_line(&e->text, "for (int64_t piece = from; piece < to; piece += %d) {", e->rows);
  gb_text_line(&e->text, "const int n = to - piece < %d ? (int)(to - piece) : %d;", e->rows, e->rows);
  if (gb_emission_stages(e)) stage(e);
}

/* Row s of the piece at 'rows', where the thread reads it. */
void gb_emit_read_row (gb_emission *e, const char *rows) {
  static const char *const part[] = {"x", "y", "z", "w"};
  const int vector = 16 / e->size;
  const char *type = e->size == 4 ? "float4" : "double2";
  gb_text_line(&e->text, "const int64_t pass = piece + %s;", e->group > 0 ? "(s < n ? s : n - 1)" : "s");
  if (e->w->lists) gb_text_line(&e->text, "const int number = (int)(piece - from) + s;");
  if (!gb_emission_stages(e)) return;
  if (!e->whole) {
    gb_text_line(&e->text, "const T *const r = %s + s * %d;", rows, e->row);
    return;
  }
  gb_text_line(&e->text, "T r[%d];", e->row);
  gb_text_line(&e->text, "#pragma unroll");
  gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", e->row / vector);
  gb_text_line(&e->text, "const %s four = ((const %s *)%s)[s * %d + i];", type, type, rows, e->row / vector);
  for (int k = 0; k < vector; k++) gb_text_line(&e->text, "r[%d * i + %d] = four.%s;", vector, k, part[k]);
  gb_text_line(&e->text, "}");
}

/* What LSE holds moves down, so that the elements of all turns lie in the order in which they pass. */
static void move_held (gb_emission *e) {
  for (int k = 0; k < e->w->nouts; k++) {
    if (e->w->out[k].how != GB_CUDA_LSE) continue;
    gb_text_line(&e->text, "#pragma unroll");
    gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", e->w->out[k].slots * e->group);
    gb_emit_begin_batch(e);
    gb_text_line(&e->text, "if (i %% %d < %d) g%d[i][q] = g%d[i + %d][q];", e->group, e->group - e->unroll, k,
                 k, e->unroll);
    gb_text_line(&e->text, "}");
    gb_text_line(&e->text, "}");
  }
}

/* Behind the last row are identities, whose exponentials add 0. */
static void end_groups (gb_emission *e) {
  gb_text_line(&e->text, "if (n - group < %d) {", (e->group - 1) * e->step + 1);
  for (int k = 0; k < e->w->nouts; k++) {
    if (e->w->out[k].how != GB_CUDA_LSE) continue;
    gb_text_line(&e->text, "#pragma unroll");
    gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", e->w->out[k].slots * e->group);
    gb_emit_begin_batch(e);
    gb_text_line(&e->text, "if (i %% %d * %d >= n - group) g%d[i][q] = A::identity(%d);", e->group, e->step,
                 k, GB_MAXIMUM);
    gb_text_line(&e->text, "}");
    gb_text_line(&e->text, "}");
  }
  gb_text_line(&e->text, "}");
}

static void take_groups (gb_emission *e) {
  end_groups(e);
  for (int k = 0; k < e->w->nouts; k++) {
    if (e->w->out[k].how != GB_CUDA_LSE) continue;
    gb_text_line(&e->text, "#pragma unroll");
    gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", e->w->out[k].slots);
    gb_emit_begin_batch(e);
    gb_text_line(&e->text, "gb_take_group<A, %d, %d>(&g%d[%d * i], q, c%d[2 * i][q], c%d[2 * i + 1][q]);",
                 e->group, e->batch, k, e->group, k, k);
    gb_text_line(&e->text, "}");
    gb_text_line(&e->text, "}");
  }
}

/* Rows from 'first' on, as groups. Those behind the last row are evaluated, too, and do not count. */
static void run_groups (gb_emission *e, const char *first) {
  const bool turns = e->unroll < e->group;
  gb_text_line(&e->text, "#pragma unroll 1");
  gb_text_line(&e->text, "for (int group = %s; group < n; group += %d) {", first, e->group * e->step);
  if (turns) {
    gb_text_line(&e->text, "#pragma unroll 1");
    gb_text_line(&e->text, "for (int turn = 0; turn < %d; turn += %d) {", e->group, e->unroll);
    move_held(e);
  }
  gb_text_line(&e->text, "#pragma unroll");
  gb_text_line(&e->text, "for (int g = 0; g < %d; g++) {", e->unroll);
  gb_text_line(&e->text, "const int s = group + (%sg) * %d;", turns ? "turn + " : "", e->step);
  gb_emit_read_row(e, "stage");
  gb_emit_begin_batch(e);
  gb_emit_level(e, GB_CUDA_FULL);
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
  if (turns) gb_text_line(&e->text, "}");
  take_groups(e);
  gb_text_line(&e->text, "}");
}

/* Rows [first, end) of the piece, 'step' apart. */
static void run_piece (gb_emission *e, const char *first, const char *end, int step) {
  if (e->group > 0) {
    run_groups(e, first);
    return;
  }
  gb_text_line(&e->text, "#pragma unroll %d", e->unroll);
  gb_text_line(&e->text, "for (int s = %s; s < %s; s += %d) {", first, end, step);
  gb_emit_read_row(e, "stage");
  gb_emit_begin_batch(e);
  gb_emit_level(e, GB_CUDA_FULL);
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
}

/* -- chains to their places */

void gb_emit_begin_chain_words (gb_emission *e, int k, const char *part) {
  const gb_cuda_out *o = &e->w->out[k];
  gb_text_line(&e->text, "#pragma unroll");
  gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", o->slots * o->cols * o->words);
  gb_text_line(&e->text, "gb_cuda_word *const words = chains + (%s * %zu + %zu + i) * count + element;", part,
               e->w->words, o->first);
}

/* The position of element 0 of a thread's chain, and what each further one adds: positions count the reduced axes in
** row-major order. */
static void emit_positions (gb_emission *e) {
  const int passing = e->passing == GB_CUDA_LANE ? e->lane : e->tile;
  char base[2 * GB_EXPRESSION] = "0", weight[GB_EXPRESSION] = "1";
  for (int a = 0; a < e->f->naxes; a++) {
    char before[2 * GB_EXPRESSION];
    if (!(e->w->axes >> a & 1)) continue;
    memcpy(before, base, sizeof before);
    *base = 0;
    gb_text_join(base, sizeof base, "(%s) * (int64_t)p.extent[%d] + ", before, a);
    if (a == passing) gb_text_join(base, sizeof base, "from");
    else gb_text_join(base, sizeof base, "(int64_t)i%d", a);
    if (a > passing) gb_text_join(weight, GB_EXPRESSION, " * (int64_t)p.extent[%d]", a);
  }
  gb_text_line(&e->text, "const int64_t base = 1 + %s, weight = %s;", base, weight);
}

/* Lists are those of a thread: of columns, one for each virtual lane. 'any': the thread has met an element. */
static void write_lists (gb_emission *e) {
  const bool columns = e->passing == GB_CUDA_LANE;
  emit_positions(e);
  gb_text_line(&e->text, "const bool any = %s;", columns ? "from + gb_virtual_lane() < to" : "from < to");
  for (int k = 0; k < e->w->nouts; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    gb_text_line(&e->text, "#pragma unroll");
    gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", o->slots);
    gb_text_line(&e->text,
                 "gb_cuda_word *const words = chains + (%s * %zu + %zu + i * %d) * count + element;",
                 columns ? "(part * 16 + gb_virtual_lane())" : "part", e->w->words, o->first, o->words);
    gb_emit_begin_batch(e);
    gb_text_line(&e->text, "c%d[i][q].write(gb_cuda_words{words + %d * q, count}, any, base, weight);", k,
                 columns ? 1 : GB_LANES);
    gb_text_line(&e->text, "}");
    gb_text_line(&e->text, "}");
  }
}

void gb_emit_write_rows (gb_emission *e) {
  if (e->w->lists) {
    write_lists(e);
    return;
  }
  for (int k = 0; k < e->w->nouts; k++) {
    gb_emit_begin_chain_words(e, k, "part");
    gb_emit_begin_batch(e);
    gb_text_line(&e->text, "words[16 * q] = gb_as_word(c%d[i][q]);", k);
    gb_text_line(&e->text, "}");
    gb_text_line(&e->text, "}");
  }
}

/* The pairs of the virtual lanes as one. */
static void write_column_pairs (gb_emission *e, int k) {
  const gb_cuda_out *o = &e->w->out[k];
  gb_text_line(&e->text, "#pragma unroll");
  gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", o->slots);
  gb_text_line(&e->text, "gb_cuda_word *const words = chains + (part * %zu + %zu + 2 * i) * count + element;",
               e->w->words, o->first);
  gb_emit_begin_batch(e);
  gb_text_line(&e->text, "double pair[2];");
  gb_text_line(&e->text, "gb_tree_of_pairs<A>(c%d[2 * i][q], c%d[2 * i + 1][q], pair);", k, k);
  gb_text_line(&e->text, "if (gb_virtual_lane() == 0) words[q].f = pair[0], words[count + q].f = pair[1];");
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
}

static void write_columns (gb_emission *e) {
  if (e->w->lists) {
    write_lists(e);
    return;
  }
  for (int k = 0; k < e->w->nouts; k++) {
    if (e->w->out[k].how == GB_CUDA_LSE) {
      write_column_pairs(e, k);
      continue;
    }
    gb_emit_begin_chain_words(e, k, "part");
    gb_emit_begin_batch(e);
    gb_text_line(&e->text, "const T sum = gb_tree<A>(%d, c%d[i][q]);", gb_emit_monoid(&e->w->out[k]), k);
    gb_text_line(&e->text, "if (gb_virtual_lane() == 0) words[q] = gb_as_word(sum);");
    gb_text_line(&e->text, "}");
    gb_text_line(&e->text, "}");
  }
}

/* -- ROW: a unit of 512 rows, a chunk of columns */

static void emit_rows (gb_emission *e) {
  gb_text_line(&e->text, "for (size_t work = blockIdx.x; work < p.units * p.parts; work += gridDim.x) {");
  gb_text_line(&e->text, "const size_t unit = p.unit + work / p.parts, part = work %% p.parts;");
  gb_emit_begin_unit(e);
  gb_text_line(&e->text, "const int own = gb_half() * %d + gb_virtual_lane();", 16 * e->batch);
  gb_text_line(&e->text, "const int64_t rows = (int64_t)(unit %% p.per) * %d;", GB_CUDA_ROWS);
  gb_text_line(&e->text, "const size_t element = (unit - p.unit) * %d + own;", GB_CUDA_ROWS);
  gb_text_line(&e->text, "int64_t held[%d];", e->batch);
  gb_emit_begin_batch(e);
  gb_text_line(&e->text, "held[q] = rows + own + 16 * q < nlane ? rows + own + 16 * q : nlane - 1;");
  gb_text_line(&e->text, "}");
  gb_emit_hold(e);
  gb_emit_declare_chains(e);
  gb_emit_begin_chains(e);
  if (e->f->symmetric)
    gb_text_line(&e->text, "const int64_t from = (int64_t)(first_super * %d + part) * %d;",
                 GB_SUPER / GB_CANON, GB_CANON);
  else gb_text_line(&e->text, "const int64_t from = (int64_t)(p.part + part) * %d;", GB_CANON);
  gb_text_line(&e->text, "const int64_t to = from + %d < ntile ? from + %d : ntile;", GB_CANON, GB_CANON);
  if (e->f->symmetric) gb_text_line(&e->text, "const int64_t block = (rows + own) / %d * %d;", GB_TI, GB_TI);
  begin_pieces(e);
  if (e->f->symmetric)
    gb_text_line(&e->text,
                 "const int first = block <= piece ? 0 : block - piece < n ? (int)(block - piece) : n;");
  run_piece(e, e->f->symmetric ? "first" : "0", "n", 1);
  gb_text_line(&e->text, "}");
  gb_emit_write_rows(e);
  gb_text_line(&e->text, "}");
}

/* -- COL and MIRROR: 32 columns, a super-tile of lanes, of which each of 16 threads takes every 16th */

static void emit_columns (gb_emission *e) {
  const bool mirror = e->reach == GB_CUDA_MIRROR;
  const int groups = mirror ? GB_CUDA_ROWS / GB_CUDA_COLUMNS : 1;
  gb_text_line(&e->text, "const size_t supers = %s;",
               mirror        ? "p.mirrors"
               : e->w->lists ? "p.parts / 16"
                             : "p.parts");
  gb_text_line(&e->text, "for (size_t work = blockIdx.x; work < p.%s * %d * supers; work += gridDim.x) {",
               mirror ? "wide" : "units", groups);
  gb_text_line(&e->text,
               "const size_t part = work %% supers, group = work / supers, unit = p.unit + group / %d;",
               groups);
  gb_text_line(&e->text, "const size_t super = %spart;", mirror ? "first_super + " : "");
  if (mirror) gb_text_line(&e->text, "if (super > unit %% p.per) continue;");
  gb_emit_begin_unit(e);
  gb_text_line(&e->text, "const int own = (int)(group %% %d) * %d + gb_half() * %d;", groups, GB_CUDA_COLUMNS,
               e->batch);
  gb_text_line(&e->text, "const int64_t column = (int64_t)(unit %% p.per * p.each) + own;");
  gb_text_line(&e->text, "const size_t element = (unit - p.unit) * p.each + own;");
  gb_text_line(&e->text, "int64_t held[%d];", e->batch);
  gb_emit_begin_batch(e);
  gb_text_line(&e->text, "held[q] = column + q < ntile ? column + q : ntile - 1;");
  gb_text_line(&e->text, "}");
  gb_emit_hold(e);
  gb_emit_declare_chains(e);
  gb_emit_begin_chains(e);
  gb_text_line(&e->text, "const int64_t from = (int64_t)super * %d;", GB_SUPER);
  gb_text_line(&e->text, "int64_t to = from + %d < nlane ? from + %d : nlane;", GB_SUPER, GB_SUPER);
  if (mirror)
    gb_text_line(&e->text, "to = to < column / %d * %d ? to : column / %d * %d;", GB_TI, GB_TI, GB_TI, GB_TI);
  begin_pieces(e);
  run_piece(e, "gb_virtual_lane()", "n", GB_LANES);
  gb_text_line(&e->text, "}");
  write_columns(e);
  gb_text_line(&e->text, "}");
}

/* -- ALL: a half-warp has a block of 64 lanes, and totals of its tiles of 16 columns */

static void declare_totals (gb_emission *e) {
  for (int k = 0; k < e->w->nouts; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    const int n = o->slots > 0 ? o->slots : 1;
    gb_text_line(&e->text, "gb_cuda_word sum%d[%d];", k, n);
    gb_text_line(&e->text, "for (int i = 0; i < %d; i++) sum%d[i] = gb_as_word(A::identity(%d));", o->slots,
                 k, gb_emit_monoid(o));
  }
}

static void absorb_tile (gb_emission *e) {
  for (int k = 0; k < e->w->nouts; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    const int monoid = gb_emit_monoid(o);
    if (e->second && o->how != GB_CUDA_PRODUCT) continue;
    gb_text_line(&e->text, "#pragma unroll");
    gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", o->slots);
    gb_text_line(&e->text, "const gb_cuda_word sum = gb_as_word(gb_tree<A>(%d, c%d[i]));", monoid, k);
    gb_text_line(&e->text, "gb_absorb_number(%d, sum%d[i], sum, (T)0);", monoid, k);
    if (e->f->symmetric && o->how == GB_CUDA_CHAIN)
      gb_text_line(&e->text, "if (mirrored) gb_absorb_number(%d, sum%d[i], sum, (T)0);", monoid, k);
    gb_text_line(&e->text, "}");
  }
}

static void run_tile (gb_emission *e) {
  const char *end = "end";
  gb_emit_begin_chains(e);
  run_piece(e, "tile", end, 1);
  absorb_tile(e);
}

static void run_tiles (gb_emission *e) {
  bool products = false;
  for (int k = 0; k < e->w->nouts; k++) products |= e->w->out[k].how == GB_CUDA_PRODUCT;
  gb_text_line(&e->text, "for (int tile = 0; tile < n; tile += %d) {", GB_TJ);
  gb_text_line(&e->text, "const int end = tile + %d < n ? tile + %d : n;", GB_TJ, GB_TJ);
  if (e->f->symmetric) {
    gb_text_line(&e->text, "if (piece + tile < lanes) continue;");
    gb_text_line(&e->text, "const bool mirrored = piece + tile >= lanes + %d;", GB_TI);
  }
  run_tile(e);
  if (e->f->symmetric && products) {
    e->second = true;
    gb_text_line(&e->text, "if (mirrored) {");
    run_tile(e);
    gb_text_line(&e->text, "}");
    e->second = false;
  }
  gb_text_line(&e->text, "}");
}

static void emit_all (gb_emission *e) {
  gb_text_line(&e->text, "const size_t groups = (p.parts + %d) / %d;", GB_CUDA_HALVES - 1, GB_CUDA_HALVES);
  gb_text_line(&e->text, "for (size_t work = blockIdx.x; work < p.units * groups; work += gridDim.x) {");
  gb_text_line(&e->text, "const size_t unit = p.unit + work / groups, element = work / groups;");
  gb_text_line(&e->text, "const size_t part = work %% groups * %d + gb_half();", GB_CUDA_HALVES);
  gb_emit_begin_unit(e);
  gb_text_line(&e->text, "const int64_t lanes = (int64_t)part * %d;", GB_TI);
  hold_lane(e, "lanes + gb_virtual_lane() + 16 * q");
  gb_text_line(&e->text, "const int64_t first = (int64_t)(work %% groups) * %d;", GB_CUDA_HALVES * GB_TI);
  gb_text_line(&e->text, "const int64_t from = %s, to = ntile;", e->f->symmetric ? "first" : "0");
  gb_emit_hold(e);
  gb_emit_declare_chains(e);
  declare_totals(e);
  begin_pieces(e);
  run_tiles(e);
  gb_text_line(&e->text, "}");
  for (int k = 0; k < e->w->nouts; k++) {
    gb_emit_begin_chain_words(e, k, "part");
    gb_text_line(&e->text, "if (part < p.parts && gb_virtual_lane() == 0) *words = sum%d[i];", k);
    gb_text_line(&e->text, "}");
  }
  gb_text_line(&e->text, "}");
}

/* -- KEEP: elements that are stored, or enter totals of their own. A unit is 512 lanes of one TILE index. */

static void emit_elements (gb_emission *e) {
  gb_text_line(&e->text, "const size_t wide = (p.nlane + %d) / %d;", GB_CUDA_ROWS - 1, GB_CUDA_ROWS);
  gb_text_line(&e->text, "for (size_t work = blockIdx.x; work < p.units; work += gridDim.x) {");
  gb_text_line(&e->text, "const size_t unit = p.unit + work, of = unit %% p.per;");
  gb_emit_begin_unit(e);
  gb_text_line(&e->text, "const int own = gb_half() * %d + gb_virtual_lane();", GB_TI);
  gb_text_line(&e->text,
               "const int64_t pass = (int64_t)(of / wide), rows = (int64_t)(of %% wide) * %d + own;",
               GB_CUDA_ROWS);
  gb_text_line(&e->text, "const size_t element = unit * p.each + own - p.totals_first;");
  gb_text_line(&e->text, "(void)element, (void)count, (void)chains;");
  hold_lane(e, "rows + 16 * q");
  gb_emit_arrays(e, GB_CUDA_TILE);
  gb_emit_streams(e, GB_CUDA_TILE);
  gb_emit_level(e, GB_CUDA_TILE);
  gb_emit_hold(e);
  gb_emit_begin_batch(e);
  gb_emit_level(e, GB_CUDA_FULL);
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
}

void gb_emit_kernel (gb_emission *e) {
  gb_emit_begin(e);
  switch (e->reach) {
    case GB_CUDA_ROW: emit_rows(e); break;
    case GB_CUDA_COL:
    case GB_CUDA_MIRROR: emit_columns(e); break;
    case GB_CUDA_ALL: emit_all(e); break;
    case GB_CUDA_WAVE: gb_emit_wave(e); break;
    default: emit_elements(e);
  }
  gb_text_line(&e->text, "}");
}
