/* output.c - what becomes of an emitted value: chains in registers, stores, totals of elements. */
#include <stdio.h>

#include "cuda/emit/lines.h"

bool gb_emit_is_number (const gb_cuda_out *o) { return o->how != GB_CUDA_LSE && o->how != GB_CUDA_SELECT; }

int gb_emit_monoid (const gb_cuda_out *o) { return o->kind == GB_OUT_REDUCE ? o->monoid : GB_SUM; }

static bool has_chains (const gb_emission *e, const gb_cuda_out *o) {
  return o->how != GB_CUDA_STORE && e->reach != GB_CUDA_KEEP;
}

/* A thread's first element of a list is that of its virtual lane where lanes pass. */
static void begin_pairs (gb_emission *e, int k) {
  const gb_cuda_out *o = &e->w->out[k];
  gb_text_line(&e->text, "#pragma unroll");
  gb_text_line(&e->text, "for (int i = 0; i < %d; i++) {", o->slots);
  gb_emit_begin_batch(e);
  if (o->how == GB_CUDA_SELECT)
    gb_text_line(&e->text, "c%d[i][q].begin(%s);", k, e->passing == GB_CUDA_LANE ? "gb_virtual_lane()" : "0");
  else {
    gb_text_line(&e->text, "c%d[2 * i][q] = A::identity(%d), c%d[2 * i + 1][q] = 0;", k, GB_MAXIMUM, k);
    gb_text_line(&e->text, "for (int g = 0; g < %d; g++) g%d[%d * i + g][q] = 0;", e->group, k, e->group);
  }
  gb_text_line(&e->text, "}");
  gb_text_line(&e->text, "}");
}

void gb_emit_begin_chains (gb_emission *e) {
  for (int k = 0; k < e->w->nouts; k++) {
    const gb_cuda_out *o = &e->w->out[k];
    const int n = o->slots * o->cols, monoid = gb_emit_monoid(o);
    if (!has_chains(e, o) || n == 0) continue;
    if (!gb_emit_is_number(o)) {
      begin_pairs(e, k);
      continue;
    }
    gb_text_line(&e->text, "#pragma unroll");
    if (e->reach == GB_CUDA_ALL)
      gb_text_line(&e->text, "for (int i = 0; i < %d; i++) c%d[i] = A::identity(%d);", n, k, monoid);
    else
      gb_text_line(&e->text, "for (int i = 0; i < %d; i++) c%d[i / %d][i %% %d] = A::identity(%d);",
                   n * e->batch, k, e->batch, e->batch, monoid);
  }
}

/* The chain or word of a slot at the present INNER indices. */
static void slot_of (const gb_emission *e, const gb_cuda_out *o, char to[GB_EXPRESSION]) {
  const bool columns = o->axis >= 0 && !(o->slotted >> o->axis & 1);
  *to = 0;
  gb_text_join(to, GB_EXPRESSION, columns ? "i%d" : "0", o->axis);
  for (int a = 0; a < e->f->naxes; a++)
    if (o->slotted >> a & 1) gb_text_join(to, GB_EXPRESSION, " + %zu * i%d", o->mul[a] * (size_t)o->cols, a);
}

/* What the value is multiplied with in a chain of a row, or of a column, as an expression; empty: nothing. */
static void factor_of (const gb_emission *e, const gb_cuda_out *o, bool rows, char to[2 * GB_EXPRESSION]) {
  int plus = -1, minus = -1;
  char x[GB_EXPRESSION], y[GB_EXPRESSION];
  if (o->how == GB_CUDA_CONTRACT) plus = rows ? o->rows : o->lanes;
  if (o->how == GB_CUDA_DIFF) plus = rows ? o->lanes : o->rows, minus = rows ? o->rows : o->lanes;
  if (o->how == GB_CUDA_PRODUCT) {
    plus = e->second && o->y >= 0 ? o->y : o->x;
    minus = o->kind == GB_OUT_DIFF ? o->y : -1;
  }
  *to = 0;
  if (plus < 0) return;
  gb_emit_element(e, GB_CUDA_FULL, plus, x);
  if (minus >= 0) gb_emit_element(e, GB_CUDA_FULL, minus, y);
  if (minus < 0) gb_text_join(to, 2 * GB_EXPRESSION, "%s", x);
  else gb_text_join(to, 2 * GB_EXPRESSION, "A::sub(%s, %s)", x, y);
}

/* mirror: the chain of the column that passes. */
static void emit_chain (gb_emission *e, int k, bool mirror, const char *value, const char *factor) {
  const gb_cuda_out *o = &e->w->out[k];
  const bool both = e->reach == GB_CUDA_ALL;
  char slot[GB_EXPRESSION], chain[2 * GB_EXPRESSION] = "";
  slot_of(e, o, slot);
  gb_text_join(chain, sizeof chain, mirror ? "z%d[%s]" : both ? "c%d[%s]" : "c%d[%s][q]", k, slot);
  const char *guard = both           ? "if (ok[q]) "
                      : e->group > 0 ? "if (s < n) "
                      : !e->diagonal ? ""
                      : mirror       ? "if (mirrored) "
                                     : "if (inside) ";
  if (o->how == GB_CUDA_CHAIN)
    gb_text_line(&e->text, "%s%s = A::combine(%d, %s, %s);", guard, chain, gb_emit_monoid(o), chain, value);
  else if (o->how == GB_CUDA_PRODUCT)
    gb_text_line(&e->text, "%s%s = A::add(%s, A::mul(%s, %s));", guard, chain, chain, value, factor);
  else gb_text_line(&e->text, "%s%s = A::fma(%s, %s, %s);", guard, chain, value, factor, chain);
}

/* An element that enters a total of its own. */
static void emit_total (gb_emission *e, int k, const char *value, const char *factor) {
  const gb_cuda_out *o = &e->w->out[k];
  const int monoid = gb_emit_monoid(o);
  char slot[GB_EXPRESSION];
  slot_of(e, o, slot);
  gb_text_line(&e->text, "if (ok[q]) {");
  gb_text_line(&e->text,
               "gb_cuda_word &to = p.totals[(size_t)(%zu + %s) * p.totals_count + element + 16 * q];",
               o->first, slot);
  gb_text_line(&e->text, "if (p.first) to = gb_as_word(A::identity(%d));", monoid);
  if (*factor == 0) gb_text_line(&e->text, "gb_absorb_number(%d, to, gb_as_word(%s), (T)0);", monoid, value);
  else
    gb_text_line(&e->text, "gb_absorb_number(%d, to, gb_as_word(A::mul(%s, %s)), (T)0);", monoid, value,
                 factor);
  gb_text_line(&e->text, "}");
}

/* A value that is kept: in the group that LSE takes at once, or in a list. */
static void emit_kept (gb_emission *e, int k, const char *value) {
  const gb_cuda_out *o = &e->w->out[k];
  char slot[GB_EXPRESSION];
  slot_of(e, o, slot);
  if (o->how == GB_CUDA_SELECT) gb_text_line(&e->text, "c%d[%s][q].take(%s, number);", k, slot, value);
  else
    gb_text_line(&e->text, "g%d[%d * (%s) + %d + g][q] = %s;", k, e->group, slot, e->group - e->unroll,
                 value);
}

void gb_emit_output (gb_emission *e, int n) {
  const int k = e->w->ins[n].x;
  const gb_cuda_out *o = &e->w->out[k];
  char value[GB_EXPRESSION], factor[2 * GB_EXPRESSION];
  if (e->second && o->how != GB_CUDA_PRODUCT) return;
  gb_emit_value(e, GB_CUDA_FULL, gb_emission_ins(e, n)->a, value);
  if (o->how == GB_CUDA_STORE) {
    gb_emit_store(e, k, value);
    return;
  }
  if (!gb_emit_is_number(o)) {
    emit_kept(e, k, value);
    return;
  }
  const bool loop = o->axis >= 0 && o->how != GB_CUDA_CHAIN;
  if (loop) gb_emit_loop(e, o->axis);
  factor_of(e, o, e->reach == GB_CUDA_ROW || e->reach == GB_CUDA_WAVE, factor);
  if (e->reach == GB_CUDA_KEEP) emit_total(e, k, value, factor);
  else emit_chain(e, k, false, value, factor);
  if (e->reach == GB_CUDA_WAVE) {
    factor_of(e, o, false, factor);
    emit_chain(e, k, true, value, factor);
  }
  if (loop) gb_text_line(&e->text, "}");
}
