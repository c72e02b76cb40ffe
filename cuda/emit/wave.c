/* wave.c - WAVE: the chains of rows and the mirrored ones of a symmetric walk, from one evaluation of each pair.
**
** A unit of work is a super-tile of rows times one of columns, which are two chunks. A warp has the same rows twice, a half of
** it for each chunk: a thread holds the rows of a 'place' that its virtual lane has, and their chains in registers. The
** mirrored chains of a column go through all rows of the super-tile, ascending, so they pass from place to place in shared
** memory, as a wave: each place works on a group of columns, which the place before has just left. The last place folds the
** virtual lanes of a column by the tree and writes the chain. */
#include "cuda/emit/lines.h"

enum { CHUNKS = GB_SUPER / GB_CANON };

static int vector_of (const gb_emission *e) { return 16 / e->size; }
static int rows_of_place (const gb_emission *e) { return GB_LANES * e->batch; }

static void declare_room (gb_emission *e) {
  gb_text_line(&e->text, "__shared__ __align__(16) T stage[%d];", CHUNKS * e->rows * e->row + vector_of(e));
  gb_text_line(&e->text, "__shared__ __align__(16) T wave[%d];", CHUNKS * e->wave.side * e->chains);
}

/* Who works on which rows and columns. */
static void begin_work (gb_emission *e) {
  gb_text_line(&e->text, "const size_t supers = p.per - first_super;");
  gb_text_line(&e->text, "for (size_t work = blockIdx.x; work < p.units * supers; work += gridDim.x) {");
  gb_text_line(&e->text, "const size_t unit = p.unit + work / supers, super = unit %% p.per;");
  gb_text_line(&e->text, "const size_t other = first_super + work %% supers;");
  gb_text_line(&e->text, "if (other < super) continue;");
  gb_emit_begin_unit(e);
  gb_text_line(&e->text, "const int side = gb_half() %% %d, place = gb_half() / %d;", CHUNKS, CHUNKS);
  gb_text_line(&e->text, "const int own = place * %d + gb_virtual_lane();", rows_of_place(e));
  gb_text_line(&e->text, "const int64_t rows = (int64_t)super * %d, diagonal = rows + place * %d;", GB_SUPER,
               rows_of_place(e));
  gb_text_line(&e->text, "const int64_t corner = (int64_t)other * %d, from = corner + side * %d;", GB_SUPER,
               GB_CANON);
  gb_text_line(&e->text, "const size_t element = (unit - p.unit) * %d + own;", GB_CUDA_ROWS);
  gb_text_line(&e->text, "const size_t part = (other - first_super) * %d + side;", CHUNKS);
  gb_text_line(&e->text, "int64_t held[%d];", e->batch);
  gb_emit_begin_batch(e);
  gb_text_line(&e->text, "held[q] = rows + own + 16 * q < nlane ? rows + own + 16 * q : nlane - 1;");
  gb_text_line(&e->text, "}");
  gb_emit_hold(e);
  gb_emit_declare_chains(e);
  gb_emit_begin_chains(e);
}

/* No column is under way. */
static void begin_wave (gb_emission *e) {
  gb_text_line(&e->text, "__syncthreads();");
  gb_text_line(&e->text, "for (int i = (int)threadIdx.x; i < %d; i += %d) wave[i] = A::identity(%d);",
               CHUNKS * e->wave.side * e->chains, e->threads, GB_SUM);
  gb_text_line(&e->text, "const T *const staged = stage + side * %d;", e->rows * e->row + vector_of(e));
}

/* Columns [begin, begin + rows) of both chunks. */
static void stage_chunks (gb_emission *e) {
  gb_text_line(&e->text, "__syncthreads();");
  gb_text_line(&e->text, "{"); /* what is read here is not kept in registers */
  gb_emit_operands(e, true);
  gb_text_line(&e->text, "#pragma unroll 1");
  gb_text_line(&e->text, "for (int s = (int)threadIdx.x; s < %d; s += %d) {", CHUNKS * e->rows, e->threads);
  gb_text_line(&e->text, "const int64_t pass = corner + s / %d * %d + begin + s %% %d;", e->rows, GB_CANON,
               e->rows);
  gb_text_line(&e->text, "if (pass >= ntile) break;");
  /* One sum of int: of the sum of a pointer and two products, NVRTC 13.0 makes stores at elements 0, 1, 3, 6, 10, .. of the row. */
  gb_text_line(&e->text, "T *const to = stage + (s * %d + s / %d * %d);", e->row, e->rows, vector_of(e));
  gb_emit_staged_row(e);
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "__syncthreads();");
}

/* The chains of the column that passes, from where the place before left them, or back; 'at' is its first. */
static void move_chains (gb_emission *e, bool back) {
  int first = 0;
  for (int k = 0; k < e->w->nouts; k++) {
    const int n = e->w->out[k].slots * e->w->out[k].cols;
    gb_text_line(&e->text, "#pragma unroll");
    gb_text_line(&e->text,
                 back ? "for (int i = 0; i < %d; i++) at[(%d + i) * %d] = z%d[i];"
                      : "for (int i = 0; i < %d; i++) z%d[i] = at[(%d + i) * %d];",
                 n, back ? first : k, back ? CHUNKS * e->wave.side : first, back ? k : CHUNKS * e->wave.side);
    first += n;
  }
}

/* A group at a place. Rows of the diagonal block have no mirrored elements, and those below it have none at all. */
static void run_group (gb_emission *e) {
  gb_text_line(&e->text, "#pragma unroll %d", e->diagonal ? 1 : e->unroll);
  gb_text_line(&e->text, "for (int s = first; s < end; s++) {");
  gb_text_line(&e->text, "T *const at = slot + (s - first) * %d;", e->wave.step);
  for (int k = 0; k < e->w->nouts; k++) {
    const int n = e->w->out[k].slots * e->w->out[k].cols;
    gb_text_line(&e->text, "T z%d[%d];", k, n > 0 ? n : 1);
  }
  gb_emit_read_row(e, "staged");
  move_chains(e, false);
  gb_emit_begin_batch(e);
  if (e->diagonal) {
    gb_text_line(&e->text, "const bool inside = column >= diagonal + q / %d * %d;", GB_CUDA_BATCH, GB_TI);
    gb_text_line(&e->text, "const bool mirrored = column >= diagonal + (q / %d + 1) * %d;", GB_CUDA_BATCH,
                 GB_TI);
  }
  gb_emit_level(e, GB_CUDA_FULL);
  gb_text_line(&e->text, "}");
  move_chains(e, true);
  gb_text_line(&e->text, "}");
}

/* A thread of the last place has a column: the chains of its virtual lanes, which leave identities for the next column. */
static void fold_group (gb_emission *e) {
  const int vector = vector_of(e);
  static const char *const type[] = {"float4", "double2"};
  int first = 0;
  gb_text_line(&e->text, "__syncwarp(gb_half_mask());");
  gb_text_line(&e->text, "const int j = gb_virtual_lane();");
  gb_text_line(&e->text, "if (first + j < end) {");
  gb_text_line(&e->text,
               "const size_t mirror = (unit - p.unit + other - super) * %d + side * %d + begin + first + j;",
               GB_CUDA_ROWS, GB_CANON);
  for (int k = 0; k < e->w->nouts; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    const int n = o->slots * o->cols;
    gb_text_line(&e->text, "#pragma unroll 1");
    gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", n);
    gb_text_line(&e->text, "T *const at = slot - j + j * %d + (%d + i) * %d, t[%d];", e->wave.step, first,
                 CHUNKS * e->wave.side, GB_LANES);
    gb_text_line(&e->text, "#pragma unroll");
    gb_text_line(&e->text, "for (int l = 0; l < %d; l++) {", GB_LANES / vector);
    gb_text_line(&e->text, "%s &from = ((%s *)at)[l];", type[e->size == 8], type[e->size == 8]);
    for (int l = 0; l < vector; l++)
      gb_text_line(&e->text, "t[%d * l + %d] = from.%c, from.%c = A::identity(%d);", vector, l, "xyzw"[l],
                   "xyzw"[l], gb_emit_monoid(o));
    gb_text_line(&e->text, "}");
    for (int h = GB_LANES / 2; h > 0; h /= 2) {
      gb_text_line(&e->text, "#pragma unroll");
      gb_text_line(&e->text, "for (int l = 0; l < %d; l++) t[l] = A::join(%d, t[l], t[l + %d]);", h,
                   gb_emit_monoid(o), h);
    }
    gb_text_line(&e->text,
                 "p.chains[((super - first_super) * %zu + %zu + i) * behind + mirror] = gb_as_word(t[0]);",
                 e->w->words, o->first);
    gb_text_line(&e->text, "}");
    first += n;
  }
  gb_text_line(&e->text, "}");
}

static void run_step (gb_emission *e) {
  const gb_wave *w = &e->wave;
  gb_text_line(&e->text, "const int first = (step - place) * %d;", w->group);
  gb_text_line(&e->text, "const int end = first + %d < n ? first + %d : n;", w->group, w->group);
  gb_text_line(&e->text, "if (first >= 0 && first < n) {");
  gb_text_line(&e->text, "T *const slot = wave + side * %d + (step - place) %% %d * %d + gb_virtual_lane();",
               w->side, w->places, w->group * w->step);
  gb_text_line(&e->text, "const int64_t column = piece + first;");
  gb_text_line(&e->text, "if (column >= diagonal + %d) {", rows_of_place(e));
  run_group(e);
  gb_text_line(&e->text, "} else if (column >= diagonal) {");
  e->diagonal = true;
  run_group(e);
  e->diagonal = false;
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "if (place == %d) {", w->places - 1);
  fold_group(e);
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
}

static void run_pieces (gb_emission *e) {
  const gb_wave *w = &e->wave;
  gb_text_line(&e->text, "#pragma unroll 1");
  gb_text_line(&e->text, "for (int begin = 0; begin < %d && corner + begin < ntile; begin += %d) {", GB_CANON,
               e->rows);
  stage_chunks(e);
  gb_text_line(&e->text,
               "const int64_t piece = from + begin, left = ntile - piece, most = ntile - corner - begin;");
  gb_text_line(&e->text, "const int n = left < 0 ? 0 : left < %d ? (int)left : %d;", e->rows, e->rows);
  gb_text_line(&e->text, "const int steps = ((most < %d ? (int)most : %d) + %d) / %d;", e->rows, e->rows,
               w->places * w->group - 1, w->group);
  gb_text_line(&e->text, "#pragma unroll 1");
  gb_text_line(&e->text, "for (int step = 0; step < steps; step++) {");
  run_step(e);
  gb_text_line(&e->text, "__syncthreads();");
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
}

void gb_emit_wave (gb_emission *e) {
  declare_room(e);
  gb_text_line(&e->text, "const size_t behind = p.wide * p.each;");
  begin_work(e);
  begin_wave(e);
  run_pieces(e);
  gb_text_line(&e->text, "if (from < ntile) {");
  gb_emit_write_rows(e);
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
}
