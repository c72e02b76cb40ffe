/* load.c - elements of operands: where they lie, and what is kept of them. */
#include <stdio.h>

#include "cuda/emit/lines.h"

static const char *stored_as (gb_dtype t) {
  static const char *const name[GB_NDTYPES] = {
      [GB_F64] = "double",  [GB_F32] = "float",    [GB_F16] = "uint16_t", [GB_BF16] = "uint16_t",
      [GB_I64] = "int64_t", [GB_BOOL] = "uint8_t", [GB_I32] = "int32_t"};
  return name[t];
}

void gb_emit_loop (gb_emission *e, int axis) {
  const size_t n = e->f->axis[axis].extent;
  gb_text_line(&e->text, e->rolled >> axis & 1 ? "#pragma unroll 4" : "#pragma unroll");
  gb_text_line(&e->text, "for (int i%d = 0; i%d < %zu; i%d++) {", axis, axis, n, axis);
}

/* Offset and OUTER indices; 'of' is the operand's or the output's name in the text. */
static void base_of (const gb_emission *e, const ptrdiff_t *stride, const char *of, char to[GB_EXPRESSION]) {
  *to = 0;
  gb_text_join(to, GB_EXPRESSION, "%s.offset", of);
  for (int a = 0; a < e->f->naxes; a++)
    if (e->f->axis[a].role == GB_AXIS_OUTER && stride[a] != 0)
      gb_text_join(to, GB_EXPRESSION, " + (int64_t)i%d * %s.stride[%d]", a, of, a);
}

static void strides_of (gb_emission *e, const ptrdiff_t *stride, const char *of, const char *suffix) {
  for (int a = 0; a < e->f->naxes; a++) {
    if (e->f->axis[a].role == GB_AXIS_OUTER || stride[a] == 0) continue;
    if (a == e->lane) gb_text_line(&e->text, "const int64_t l%s = %s.stride[%d];", suffix, of, a);
    else if (a == e->tile) gb_text_line(&e->text, "const int64_t t%s = %s.stride[%d];", suffix, of, a);
    else gb_text_line(&e->text, "const int64_t s%s_%d = %s.stride[%d];", suffix, a, of, a);
  }
}

void gb_emit_operands (gb_emission *e, bool staged) {
  for (int n = 0; n < e->f->noperands; n++) {
    const gb_operand *o = &e->f->operand[n];
    char base[GB_EXPRESSION], of[32], suffix[16];
    if (!e->stream[n].used || gb_emission_staged(e, n) != staged) continue;
    snprintf(of, sizeof of, "in%d", n);
    gb_text_line(&e->text, "const gb_cuda_operand &%s = gb_listed<gb_cuda_operand>(lists, %d);", of,
                 e->at.operands + n * e->at.operand);
    snprintf(suffix, sizeof suffix, "%d", n);
    base_of(e, o->stride, of, base);
    gb_text_line(&e->text, "const int64_t b%d = %s;", n, base);
    gb_text_line(&e->text, "const %s *__restrict__ const x%d = (const %s *)%s.at + b%d;", stored_as(o->dtype),
                 n, stored_as(o->dtype), of, n);
    strides_of(e, o->stride, of, suffix);
  }
}

void gb_emit_output_pointers (gb_emission *e) {
  for (int k = 0; k < e->w->nouts; k++) {
    const gb_out *o = &e->f->out[e->w->number[k]];
    char base[GB_EXPRESSION], of[32], suffix[16];
    if (e->w->out[k].how != GB_CUDA_STORE) continue;
    snprintf(of, sizeof of, "out%d", k);
    gb_text_line(&e->text, "const gb_cuda_out &%s = gb_listed<gb_cuda_out>(lists, %d);", of, k * e->at.out);
    snprintf(suffix, sizeof suffix, "o%d", k);
    base_of(e, o->stride, of, base);
    gb_text_line(&e->text, "%s *const y%d = (%s *)%s.at + (%s);", stored_as(o->dtype), k, stored_as(o->dtype),
                 of, base);
    strides_of(e, o->stride, of, suffix);
  }
}

/* Index of an element from the base: LANE, TILE and INNER axes. */
static void index_of (const gb_emission *e, const ptrdiff_t *stride, const char *suffix,
                      char to[GB_EXPRESSION]) {
  const char *const side[] = {"held[q]", "pass"};
  *to = 0;
  for (int a = 0; a < e->f->naxes; a++) {
    const char *and = *to == 0 ? "" : " + ";
    if (e->f->axis[a].role == GB_AXIS_OUTER || stride[a] == 0) continue;
    if (a == e->lane)
      gb_text_join(to, GB_EXPRESSION, "%s%s * l%s", and, side[e->held != GB_CUDA_LANE], suffix);
    else if (a == e->tile)
      gb_text_join(to, GB_EXPRESSION, "%s%s * t%s", and, side[e->held != GB_CUDA_TILE], suffix);
    else gb_text_join(to, GB_EXPRESSION, "%si%d * s%s_%d", and, a, suffix, a);
  }
  if (*to == 0) gb_text_join(to, GB_EXPRESSION, "0");
}

void gb_emit_number (const gb_emission *e, int operand, char to[GB_EXPRESSION]) {
  char suffix[16];
  snprintf(suffix, sizeof suffix, "%d", operand);
  index_of(e, e->f->operand[operand].stride, suffix, to);
}

static void from_memory (const gb_emission *e, int operand, char to[GB_EXPRESSION]) {
  char at[GB_EXPRESSION];
  gb_emit_number(e, operand, at);
  *to = 0;
  switch (e->f->operand[operand].dtype) {
    case GB_F16:
      gb_text_join(to, GB_EXPRESSION, "gb_convert<T>::from(half_f16_to_f32(x%d[%s]))", operand, at);
      break;
    case GB_BF16:
      gb_text_join(to, GB_EXPRESSION, "gb_convert<T>::from(half_bf16_to_f32(x%d[%s]))", operand, at);
      break;
    case GB_BOOL: gb_text_join(to, GB_EXPRESSION, "(T)(x%d[%s] != 0)", operand, at); break;
    default: gb_text_join(to, GB_EXPRESSION, "gb_convert<T>::from(x%d[%s])", operand, at);
  }
}

/* Place among the elements of a stream. */
static void place_of (const gb_emission *e, const gb_stream *t, int first, char to[GB_EXPRESSION]) {
  *to = 0;
  gb_text_join(to, GB_EXPRESSION, "%d", first);
  for (int a = 0; a < e->f->naxes; a++)
    if (t->mul[a] != 0) gb_text_join(to, GB_EXPRESSION, " + %d * i%d", t->mul[a], a);
}

void gb_emit_element (const gb_emission *e, int level, int operand, char to[GB_EXPRESSION]) {
  const gb_stream *t = &e->stream[operand];
  char at[GB_EXPRESSION];
  if (level != GB_CUDA_FULL || !t->kept) {
    from_memory(e, operand, to);
    return;
  }
  const bool staged = t->form == e->passing && gb_emission_stages(e);
  place_of(e, t, staged ? t->place : 0, at);
  *to = 0;
  if (staged) gb_text_join(to, GB_EXPRESSION, "r[%s]", at);
  else if (t->form == e->held) gb_text_join(to, GB_EXPRESSION, "h%d[%s][q]", operand, at);
  else gb_text_join(to, GB_EXPRESSION, "u%d[%s]", operand, at);
}

/* One stream, all its INNER indices, from memory to 'name'. */
static void fill (gb_emission *e, int operand, const char *name, const char *suffix, int first) {
  const gb_stream *t = &e->stream[operand];
  char at[GB_EXPRESSION], element[GB_EXPRESSION];
  int loops = 0;
  for (int a = 0; a < e->f->naxes; a++)
    if (t->mul[a] != 0) gb_emit_loop(e, a), loops++;
  place_of(e, t, first, at);
  from_memory(e, operand, element);
  gb_text_line(&e->text, "%s[%s]%s = %s;", name, at, suffix, element);
  while (loops-- > 0) gb_text_line(&e->text, "}");
}

void gb_emit_streams (gb_emission *e, int form) {
  for (int n = 0; n < e->f->noperands; n++) {
    const gb_stream *t = &e->stream[n];
    char name[16];
    if (!t->kept || t->form != form) continue;
    if (form == e->passing && gb_emission_stages(e)) fill(e, n, "to", "", t->place);
    else {
      snprintf(name, sizeof name, "%c%d", form == e->held ? 'h' : 'u', n);
      fill(e, n, name, form == e->held ? "[q]" : "", 0);
    }
  }
}

void gb_emit_arrays (gb_emission *e, int form) {
  for (int n = 0; n < e->f->noperands; n++) {
    const gb_stream *t = &e->stream[n];
    const int words = t->n > 0 ? t->n : 1;
    if (!t->kept || t->form != form) continue;
    if (form == e->held) gb_text_line(&e->text, "T h%d[%d][%d];", n, words, e->batch);
    else gb_text_line(&e->text, "T u%d[%d];", n, words);
  }
}

void gb_emit_store (gb_emission *e, int k, const char *value) {
  const gb_out *o = &e->f->out[e->w->number[k]];
  char at[GB_EXPRESSION], suffix[16];
  const char *format;
  snprintf(suffix, sizeof suffix, "o%d", k);
  index_of(e, o->stride, suffix, at);
  switch (o->dtype) {
    case GB_F16: format = "if (ok[q]) y%d[%s] = half_f32_to_f16((float)%s);"; break;
    case GB_BF16: format = "if (ok[q]) y%d[%s] = half_f32_to_bf16((float)%s);"; break;
    case GB_I64: format = "if (ok[q]) y%d[%s] = gb_convert<int64_t>::from(%s);"; break;
    case GB_I32: format = "if (ok[q]) y%d[%s] = gb_convert<int32_t>::from(%s);"; break;
    case GB_BOOL: format = "if (ok[q]) y%d[%s] = %s != 0;"; break;
    default: format = "if (ok[q]) y%d[%s] = %s;";
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  gb_text_line(&e->text, format, k, at, value);
#pragma GCC diagnostic pop
}
