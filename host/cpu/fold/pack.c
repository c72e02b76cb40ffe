/* pack.c - strided memory of any dtype to and from the compute type, and the packs of an item or a
** chunk. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cpu/fold/fold.h"

#define GATHER(T, S, convert)                                                                                \
  do {                                                                                                       \
    T *d = dst;                                                                                              \
    const S *s = src;                                                                                        \
    if (stride == 1)                                                                                         \
      for (size_t i = 0; i < n; i++) d[i] = convert(s[i]);                                                   \
    else if (stride == -1)                                                                                   \
      for (size_t i = 0; i < n; i++) d[i] = convert(s[-(ptrdiff_t)i]);                                       \
    else                                                                                                     \
      for (size_t i = 0; i < n; i++, s += stride) d[i] = convert(*s);                                        \
  } while (0)

#define AS(v) (v)
#define AS_F32(v) ((float)(v))
#define AS_F64(v) ((double)(v))
#define HALF_F64(v) ((double)gb_f16_to_f32(v))
#define BRAIN_F64(v) ((double)gb_bf16_to_f32(v))
#define HALF_I64(v) gb_f64_to_i64((double)gb_f16_to_f32(v))
#define BRAIN_I64(v) gb_f64_to_i64((double)gb_bf16_to_f32(v))
#define AS_I64(v) gb_f64_to_i64((double)(v))
#define AS_I32(v) gb_f64_to_i32((double)(v))
#define FLAG_I64(v) ((int64_t)((v) != 0))
#define FLAG_F32(v) ((float)((v) != 0))
#define FLAG_F64(v) ((double)((v) != 0))

static void load_f32 (void *dst, const void *src, gb_dtype from, ptrdiff_t stride, size_t n) {
  switch (from) {
    case GB_F64: GATHER(float, double, AS_F32); break;
    case GB_F32: GATHER(float, float, AS); break;
    case GB_F16: GATHER(float, uint16_t, gb_f16_to_f32); break;
    case GB_BF16: GATHER(float, uint16_t, gb_bf16_to_f32); break;
    case GB_I64: GATHER(float, int64_t, AS_F32); break;
    case GB_I32: GATHER(float, int32_t, AS_F32); break;
    default: GATHER(float, uint8_t, FLAG_F32);
  }
}

static void load_f64 (void *dst, const void *src, gb_dtype from, ptrdiff_t stride, size_t n) {
  switch (from) {
    case GB_F64: GATHER(double, double, AS); break;
    case GB_F32: GATHER(double, float, AS_F64); break;
    case GB_F16: GATHER(double, uint16_t, HALF_F64); break;
    case GB_BF16: GATHER(double, uint16_t, BRAIN_F64); break;
    case GB_I64: GATHER(double, int64_t, AS_F64); break;
    case GB_I32: GATHER(double, int32_t, AS_F64); break;
    default: GATHER(double, uint8_t, FLAG_F64);
  }
}

static void load_i64 (void *dst, const void *src, gb_dtype from, ptrdiff_t stride, size_t n) {
  switch (from) {
    case GB_F64: GATHER(int64_t, double, AS_I64); break;
    case GB_F32: GATHER(int64_t, float, AS_I64); break;
    case GB_F16: GATHER(int64_t, uint16_t, HALF_I64); break;
    case GB_BF16: GATHER(int64_t, uint16_t, BRAIN_I64); break;
    case GB_I64: GATHER(int64_t, int64_t, AS); break;
    case GB_I32: GATHER(int64_t, int32_t, AS); break;
    default: GATHER(int64_t, uint8_t, FLAG_I64);
  }
}

void gb_exec_load_run (gb_dtype to, void *dst, const void *src, gb_dtype from, ptrdiff_t stride, size_t n) {
  if (to == from && stride == 1) memcpy(dst, src, n * gb_dtype_size(to));
  else if (to == GB_F32) load_f32(dst, src, from, stride, n);
  else if (to == GB_F64) load_f64(dst, src, from, stride, n);
  else load_i64(dst, src, from, stride, n);
}

#define SCATTER(T, S, convert)                                                                               \
  do {                                                                                                       \
    T *d = dst;                                                                                              \
    const S *s = src;                                                                                        \
    for (size_t i = 0; i < n; i++, s += sstride, d += dstride) *d = (T)convert(*s);                          \
  } while (0)

#define SCATTER_FROM(S, wide, narrow)                                                                        \
  switch (to) {                                                                                              \
    case GB_F64: SCATTER(double, S, AS_F64); break;                                                          \
    case GB_F32: SCATTER(float, S, AS_F32); break;                                                           \
    case GB_F16: SCATTER(uint16_t, S, TO_F16); break;                                                        \
    case GB_BF16: SCATTER(uint16_t, S, TO_BF16); break;                                                      \
    case GB_I64: SCATTER(int64_t, S, wide); break;                                                           \
    case GB_I32: SCATTER(int32_t, S, narrow); break;                                                         \
    default: SCATTER(uint8_t, S, TO_BOOL);                                                                   \
  }
#define TO_F16(v) gb_f32_to_f16((float)(v))
#define TO_BF16(v) gb_f32_to_bf16((float)(v))
#define TO_BOOL(v) ((v) != 0) /* NaN is true */

void gb_exec_store_run (void *dst, gb_dtype to, ptrdiff_t dstride, const void *src, gb_dtype from,
                        ptrdiff_t sstride, size_t n) {
  if (to == from && dstride == 1 && sstride == 1) memcpy(dst, src, n * gb_dtype_size(to));
  else if (from == GB_F32) {
    SCATTER_FROM(float, AS_I64, AS_I32)
  } else if (from == GB_F64) {
    SCATTER_FROM(double, AS_I64, AS_I32)
  } else {
    SCATTER_FROM(int64_t, AS, gb_i64_to_i32)
  }
}

/* Index of the operand's element at the current OUTER and INNER indices and the given lane and row. */
ptrdiff_t gb_exec_operand_index (const gb_xthread *t, int operand, size_t lane, size_t tile) {
  const gb_xprog *p = t->p;
  const gb_operand *o = &p->f->operand[operand];
  ptrdiff_t at = o->offset;
  for (int a = 0; a < p->f->naxes; a++) at += (ptrdiff_t)t->idx[a] * o->stride[a];
  if (p->lane >= 0) at += (ptrdiff_t)lane * o->stride[p->lane];
  if (p->tile >= 0) at += (ptrdiff_t)tile * o->stride[p->tile];
  return at;
}

const char *gb_exec_operand_at (const gb_xthread *t, int operand, size_t lane, size_t tile) {
  const gb_operand *o = &t->p->f->operand[operand];
  const char *base = t->operand[o->slot];
  return base + gb_exec_operand_index(t, operand, lane, tile) * (ptrdiff_t)gb_dtype_size(o->dtype);
}

static ptrdiff_t stride_of (const gb_xthread *t, int operand, int axis) {
  return axis < 0 ? 0 : t->p->f->operand[operand].stride[axis];
}

#define REPEAT(T)                                                                                            \
  do {                                                                                                       \
    T last;                                                                                                  \
    memcpy(&last, row + (valid - 1) * sizeof last, sizeof last);                                             \
    for (size_t i = valid; i < width; i++) memcpy(row + i * sizeof last, &last, sizeof last);                \
  } while (0)

/* Copies of the last valid lane, or zeros, up to 'width' lanes. */
static void pad (size_t size, char *row, size_t valid, size_t width, bool zero) {
  if (zero || valid == 0) memset(row + valid * size, 0, (width - valid) * size);
  else if (size == 4) REPEAT(uint32_t);
  else REPEAT(uint64_t);
}
#undef REPEAT

/* The packs of one combination of inner indices; 'at' is its first byte. */
static void fill_lanes (gb_xthread *t, const gb_xpack *k, char *at) {
  const gb_xprog *p = t->p;
  gb_dtype from = p->f->operand[k->operand].dtype;
  ptrdiff_t stride = stride_of(t, k->operand, p->lane);
  for (size_t q = 0; q < k->width; q++) {
    if (k->axis >= 0) t->idx[k->axis] = q;
    char *row = at + q * GB_TI * p->size;
    for (size_t i = 0; i < t->lanes; i += GB_TI, row += k->block * p->size) {
      size_t valid = t->lanes - i < GB_TI ? t->lanes - i : GB_TI;
      gb_exec_load_run(p->compute, row, gb_exec_operand_at(t, k->operand, t->lane0 + i, 0), from, stride,
                       valid);
      if (valid < GB_TI) pad(p->size, row, valid, GB_TI, k->zero);
    }
  }
  if (k->axis >= 0) t->idx[k->axis] = 0;
}

static void fill_rows (gb_xthread *t, const gb_xpack *k, char *at) {
  const gb_xprog *p = t->p;
  gb_dtype from = p->f->operand[k->operand].dtype;
  ptrdiff_t along = stride_of(t, k->operand, k->axis), down = stride_of(t, k->operand, p->tile);
  if (k->layout == GB_PACK_COLS || k->width == 1) {
    gb_exec_load_run(p->compute, at, gb_exec_operand_at(t, k->operand, 0, t->chunk0), from, down,
                     t->chunk_rows);
    return;
  }
  for (size_t j = 0; j < t->chunk_rows; j++)
    gb_exec_load_run(p->compute, at + j * k->width * p->size,
                     gb_exec_operand_at(t, k->operand, 0, t->chunk0 + j), from, along, k->width);
}

static void fill (gb_xthread *t, const gb_xpack *k) {
  const gb_xprog *p = t->p;
  for (size_t c = 0; c < k->count; c++) {
    size_t rest = c, at = 0;
    for (gb_axes s = k->inner; s;) { /* the last axis is the fastest, as in gb_exec_pack_of */
      int a = 31 - __builtin_clz(s);
      s &= ~((gb_axes)1 << a);
      t->idx[a] = rest % p->f->axis[a].extent;
      rest /= p->f->axis[a].extent;
      at += t->idx[a] * k->step[a];
    }
    char *dst = t->ws + k->at + at * p->size;
    if (k->layout == GB_PACK_LANES) fill_lanes(t, k, dst);
    else if (k->layout == GB_PACK_ONE)
      gb_exec_load_run(p->compute, dst, gb_exec_operand_at(t, k->operand, 0, 0),
                       p->f->operand[k->operand].dtype, stride_of(t, k->operand, k->axis), k->width);
    else fill_rows(t, k, dst);
  }
  for (gb_axes s = k->inner; s; s &= s - 1) t->idx[__builtin_ctz(s)] = 0;
}

/* Called outside loops: INNER indices are 0 before and after. */
void gb_exec_fill_packs (gb_xthread *t, bool per_chunk) {
  for (int q = 0; q < t->p->npacks; q++) {
    const gb_xpack *k = &t->p->pack[q];
    if ((k->layout == GB_PACK_ROWS || k->layout == GB_PACK_COLS) != per_chunk) continue;
    if (k->direct) t->base[q] = gb_exec_operand_at(t, k->operand, 0, t->chunk0);
    else fill(t, k);
  }
}

const void *gb_exec_pack_at (const gb_xthread *t, int pack) {
  const gb_xprog *p = t->p;
  const gb_xpack *k = &p->pack[pack];
  size_t at = k->axis >= 0 ? t->idx[k->axis] * k->step[k->axis] : 0;
  for (gb_axes s = k->inner; s; s &= s - 1) at += t->idx[__builtin_ctz(s)] * k->step[__builtin_ctz(s)];
  if (k->layout == GB_PACK_LANES) at += (size_t)t->block * k->block;
  else if (k->layout == GB_PACK_ROWS) at += (t->tile0 - t->chunk0) * k->row;
  else if (k->layout == GB_PACK_COLS) at += t->tile0 - t->chunk0;
  return t->base[pack] + at * p->size;
}

/* Lanes of a strip: one run. */
static void load_strip (const gb_xthread *t, int operand, char *dst) {
  const gb_xprog *p = t->p;
  gb_exec_load_run(p->compute, dst, gb_exec_operand_at(t, operand, t->lane0, 0), p->f->operand[operand].dtype,
                   stride_of(t, operand, p->lane), t->lanes);
  if (t->lanes % GB_TI || t->lanes == 0) pad(p->size, dst, t->lanes, (size_t)t->nj * GB_TI, false);
}

/* Elements as they are stored, dst[j * dstep + i] = src[i * step + j]. */
void gb_exec_transpose (const gb_xthread *t, size_t rows, size_t lanes, const void *src, ptrdiff_t step,
                        void *dst, ptrdiff_t dstep) {
  const gb_isa *isa = t->p->isa;
  (t->p->size == 4 ? &isa->f32 : &isa->f64)->transpose(rows, lanes, src, step, dst, dstep);
}

/* Row by row with prefetch of later rows, since rows may be far apart. */
static void load_rows (const gb_xthread *t, int operand, size_t lane, char *dst) {
  enum { ROWS_AHEAD = 8 };
  const gb_xprog *p = t->p;
  const gb_operand *o = &p->f->operand[operand];
  const size_t bytes = o->stride[p->lane] == 1 ? (size_t)t->valid * gb_dtype_size(o->dtype) : 0;
  const ptrdiff_t step = o->stride[p->tile] * (ptrdiff_t)gb_dtype_size(o->dtype);
  const char *src = gb_exec_operand_at(t, operand, lane, t->tile0);
  for (int j = 0; j < t->nj; j++) {
    const char *row = src + j * step;
    for (size_t b = 0; b < bytes && j + ROWS_AHEAD < t->nj; b += 64)
      __builtin_prefetch(row + ROWS_AHEAD * step + b);
    gb_exec_load_run(p->compute, dst + (size_t)j * GB_TI * p->size, row, o->dtype, o->stride[p->lane],
                     (size_t)t->valid);
  }
}

static void load_tile (const gb_xthread *t, int operand, char *dst) {
  const gb_xprog *p = t->p;
  const gb_operand *o = &p->f->operand[operand];
  size_t lane = t->lane0 + (size_t)t->block * GB_TI, valid = (size_t)t->valid, rows = (size_t)t->nj;
  const bool along_rows = o->stride[p->tile] == 1 && o->stride[p->lane] != 1;
  if (along_rows && o->dtype == p->compute)
    gb_exec_transpose(t, rows, valid, gb_exec_operand_at(t, operand, lane, t->tile0), o->stride[p->lane], dst,
                      GB_TI);
  else if (!along_rows || rows < GB_TJ) load_rows(t, operand, lane, dst);
  else { /* contiguous along the rows: read along them, transposed in L1 */ double run[GB_CANON];
    for (size_t i = 0; i < valid; i++) {
      gb_exec_load_run(p->compute, run, gb_exec_operand_at(t, operand, lane + i, t->tile0), o->dtype, 1,
                       rows);
      gb_exec_store_run(dst + i * p->size, p->compute, GB_TI, run, p->compute, 1, rows);
    }
  }
  if (valid < GB_TI)
    for (size_t j = 0; j < rows; j++) pad(p->size, dst + j * GB_TI * p->size, valid, GB_TI, false);
}

/* An operand at the current tile, read from memory in its own form. */
void gb_exec_load (const gb_xthread *t, int operand, gb_form form, void *dst) {
  const gb_xprog *p = t->p;
  const gb_operand *o = &p->f->operand[operand];
  size_t lane = t->lane0 + (size_t)t->block * GB_TI;
  switch (form) {
    case GB_FORM_ONE:
      gb_exec_load_run(p->compute, dst, gb_exec_operand_at(t, operand, 0, 0), o->dtype, 1, 1);
      break;
    case GB_FORM_LANE:
      gb_exec_load_run(p->compute, dst, gb_exec_operand_at(t, operand, lane, 0), o->dtype, o->stride[p->lane],
                       (size_t)t->valid);
      pad(p->size, dst, (size_t)t->valid, GB_TI, false);
      break;
    case GB_FORM_TILE:
      gb_exec_load_run(p->compute, dst, gb_exec_operand_at(t, operand, 0, t->tile0), o->dtype,
                       o->stride[p->tile], (size_t)t->nj);
      break;
    default:
      if (p->strip) load_strip(t, operand, dst);
      else load_tile(t, operand, dst);
  }
}
