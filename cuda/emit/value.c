/* value.c - the instructions of a walk as lines: a value is a constant of its own name. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda/emit/lines.h"

static const char *const profile_name[GB_NPROFILES] = {"GB_RBF", "GB_M12", "GB_M32", "GB_M52", "GB_RQ"};

void gb_emit_value (const gb_emission *e, int level, int v, char to[GB_EXPRESSION]) {
  const int own = e->level[v];
  *to = 0;
  if (own == level || own == GB_CUDA_ONCE || (own == e->passing && !gb_emission_stages(e)))
    gb_text_join(to, GB_EXPRESSION, "v%d", v);
  else if (own == e->held) gb_text_join(to, GB_EXPRESSION, "w%d[q]", v);
  else gb_text_join(to, GB_EXPRESSION, "r[%d]", e->place[v]);
}

/* A number with all its bits. */
static void emit_number (gb_emission *e, int v, double number) {
  if (!isfinite(number)) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    gb_text_line(&e->text, "const T v%d = (T)__longlong_as_double((long long)0x%" PRIx64 "ull);", v, bits);
  } else gb_text_line(&e->text, "const T v%d = (T)%a;", v, number);
}

/* A sum over the feature axis, ascending. */
static void emit_front (gb_emission *e, int level, const gb_ins *i) {
  char x[GB_EXPRESSION], y[GB_EXPRESSION], w[GB_EXPRESSION];
  gb_emit_element(e, level, i->x, x);
  gb_emit_element(e, level, i->y, y);
  gb_text_line(&e->text, "T v%d = 0;", i->dst);
  gb_emit_loop(e, i->axis);
  if (i->kind == GB_INS_DOT) gb_text_line(&e->text, "v%d = A::fma(%s, %s, v%d);", i->dst, x, y, i->dst);
  else {
    gb_text_line(&e->text, "const T d = A::sub(%s, %s);", x, y);
    if (i->w < 0) gb_text_line(&e->text, "v%d = A::fma(d, d, v%d);", i->dst, i->dst);
    else {
      gb_emit_element(e, level, i->w, w);
      gb_text_line(&e->text, "v%d = A::fma(A::mul(%s, d), d, v%d);", i->dst, w, i->dst);
    }
  }
  gb_text_line(&e->text, "}");
}

/* -- profiles: eg_ and eu_ of f32, ed_ of f64 */

static const char *family (const gb_emission *e) {
  return e->f->compute == GB_F64 ? "ed" : e->arithmetic == GB_CUDA_UNIT ? "eu" : "eg";
}

static void emit_constants (gb_emission *e, int level, int n) {
  const gb_ins *i = gb_emission_ins(e, n);
  char b[GB_EXPRESSION] = "1", alpha[GB_EXPRESSION] = "0";
  if (e->w->ins[n].plain) gb_emit_value(e, level, i->b, b);
  if (i->c >= 0) gb_emit_value(e, level, i->c, alpha);
  gb_text_line(&e->text, "const %s_prof k%d = %s_prof_of(%s, %d, (double)%s, (double)%s);", family(e), n,
               family(e), profile_name[i->profile], i->order, b, alpha);
}

static bool shares_constants (const gb_emission *e, int level, int n) {
  const gb_ins *i = gb_emission_ins(e, n);
  if (level == GB_CUDA_ONCE || i->kind != GB_INS_RADIAL || e->w->ins[n].varying) return false;
  return (!e->w->ins[n].plain || e->level[i->b] == GB_CUDA_ONCE) &&
         (i->c < 0 || e->level[i->c] == GB_CUDA_ONCE);
}

void gb_emit_profiles (gb_emission *e) {
  for (int l = GB_CUDA_ONCE + 1; l < GB_CUDA_LEVELS; l++)
    for (int n = e->w->code[l]; n < e->w->code[l] + e->w->ncode[l]; n++)
      if (shares_constants(e, l, n)) emit_constants(e, GB_CUDA_ONCE, n);
}

static void emit_radial (gb_emission *e, int level, int n) {
  const gb_ins *i = gb_emission_ins(e, n);
  char a[GB_EXPRESSION], b[GB_EXPRESSION], c[GB_EXPRESSION];
  gb_emit_value(e, level, i->a, a);
  gb_emit_value(e, level, i->b, b);
  if (e->w->ins[n].varying) {
    gb_emit_value(e, level, i->c, c);
    gb_text_line(&e->text,
                 "const T v%d = (T)gb_rational_quadratic(code[%d], (double)A::mul(%s, %s), (double)%s);",
                 i->dst, n, b, a, c);
    return;
  }
  if (!shares_constants(e, level, n)) emit_constants(e, level, n);
  if (e->w->ins[n].plain) gb_text_line(&e->text, "const T u%d_%d = %s;", n, i->dst, a);
  else gb_text_line(&e->text, "const T u%d_%d = A::mul(%s, %s);", n, i->dst, b, a);
  if (i->dalpha)
    gb_text_line(&e->text, "const T v%d = %s_profile_dalpha(&k%d, %d, u%d_%d);", i->dst, family(e), n,
                 i->order, n, i->dst);
  else if (i->order == 0)
    gb_text_line(&e->text, "const T v%d = %s_profile(&k%d, %s, u%d_%d);", i->dst, family(e), n,
                 profile_name[i->profile], n, i->dst);
  else
    gb_text_line(&e->text, "const T v%d = %s_profile_slope(&k%d, %s, %d, u%d_%d);", i->dst, family(e), n,
                 profile_name[i->profile], i->order, n, i->dst);
}

/* -- the rest */

static void emit_map (gb_emission *e, int level, const gb_ins *i) {
  char x[GB_EXPRESSION], y[GB_EXPRESSION] = "0", z[GB_EXPRESSION] = "0";
  gb_emit_value(e, level, i->a, x);
  if (i->b >= 0) gb_emit_value(e, level, i->b, y);
  if (i->c >= 0) gb_emit_value(e, level, i->c, z);
  if (i->op == GB_OP_DETACH || i->op == GB_OP_WITH_SLOPE)
    gb_text_line(&e->text, "const T v%d = %s;", i->dst, x);
  else
    gb_text_line(&e->text, "const T v%d = %s_map_%s(%s, %s, %s);", i->dst,
                 e->f->compute == GB_F64 ? "ed" : "ef", gb_ops[i->op].id, x, y, z);
}

/* Element numbers: of an axis, or those that an operand gives. */
static void number_of (const gb_emission *e, const gb_ins *i, char to[GB_EXPRESSION]) {
  char at[GB_EXPRESSION];
  *to = 0;
  if (i->axis < 0) {
    gb_emit_number(e, i->x, at);
    gb_text_join(to, GB_EXPRESSION, "b%d + %s", i->x, at);
  } else if (i->axis == e->lane || i->axis == e->tile)
    gb_text_join(to, GB_EXPRESSION, "%s",
                 (i->axis == e->lane) == (e->held == GB_CUDA_LANE) ? "held[q]" : "pass");
  else gb_text_join(to, GB_EXPRESSION, "i%d", i->axis);
}

static void emit_leaf (gb_emission *e, int n) {
  const gb_ins *i = gb_emission_ins(e, n);
  char number[GB_EXPRESSION];
  switch (i->kind) {
    case GB_INS_CONST: emit_number(e, i->dst, i->f); break;
    case GB_INS_BIND:
      gb_text_line(&e->text, "const T v%d = (T)gb_listed<gb_number>(lists, %d).f;", i->dst,
                   e->at.constants + i->x * (int)sizeof(gb_number));
      break;
    case GB_INS_IOTA:
      number_of(e, i, number);
      gb_text_line(&e->text, "const T v%d = gb_ramp(code[%d], (int64_t)(%s), (T)0);", i->dst, n, number);
      break;
    default:
      number_of(e, i, number);
      gb_text_line(&e->text, "const double d%d = gb_draw(%s, code[%d].seed, (uint64_t)(%s));", i->dst,
                   i->profile != 0 ? "true" : "false", n, number);
      if (i->profile != 0) gb_text_line(&e->text, "const T v%d = (T)d%d;", i->dst, i->dst);
      else
        gb_text_line(&e->text, "const T v%d = (T)(d%d < %a ? d%d : %a);", i->dst, i->dst, i->f, i->dst, i->f);
  }
}

static void emit_acc (gb_emission *e, int level, const gb_ins *i) {
  char a[GB_EXPRESSION];
  gb_emit_value(e, level, i->a, a);
  if (i->monoid == GB_LSE) gb_text_line(&e->text, "v%d = A::lse2(v%d, %s);", i->dst, i->dst, a);
  else gb_text_line(&e->text, "v%d = A::combine(%d, v%d, %s);", i->dst, (int)i->monoid, i->dst, a);
}

/* The accumulators of a loop, not of loops inside it, begin at their identities. */
static void emit_loop (gb_emission *e, const gb_cuda_ins *code, const int *from, int at) {
  for (int q = at + 1; q < code[at].jump; q++) {
    if (code[q].kind == GB_INS_LOOP) q = code[q].jump;
    else if (code[q].kind == GB_INS_ACC)
      gb_text_line(&e->text, "v%d = A::identity(%d);", e->f->ins[from[q]].dst, code[q].monoid);
  }
  gb_emit_loop(e, code[at].axis);
}

static void emit_ins (gb_emission *e, int level, int n) {
  const gb_ins *i = gb_emission_ins(e, n);
  const int first = e->w->code[level];
  char x[GB_EXPRESSION];
  switch (i->kind) {
    case GB_INS_LOAD:
      gb_emit_element(e, level, i->x, x);
      gb_text_line(&e->text, "const T v%d = %s;", i->dst, x);
      break;
    case GB_INS_SQDIST:
    case GB_INS_DOT: emit_front(e, level, i); break;
    case GB_INS_RADIAL: emit_radial(e, level, n); break;
    case GB_INS_MAP: emit_map(e, level, i); break;
    case GB_INS_ACC: emit_acc(e, level, i); break;
    case GB_INS_LOOP: emit_loop(e, e->w->ins + first, e->w->from + first, n - first); break;
    case GB_INS_ENDLOOP: gb_text_line(&e->text, "}"); break;
    case GB_INS_EMIT: gb_emit_output(e, n); break;
    default: emit_leaf(e, n);
  }
}

void gb_emit_level (gb_emission *e, int level) {
  const int first = e->w->code[level], end = first + e->w->ncode[level];
  for (int n = first; n < end; n++)
    if (e->w->ins[n].kind == GB_INS_ACC)
      gb_text_line(&e->text, "T v%d = A::identity(%d);", gb_emission_ins(e, n)->dst, e->w->ins[n].monoid);
  for (int n = first; n < end; n++) emit_ins(e, level, n);
}
