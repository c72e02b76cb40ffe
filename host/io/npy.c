/* npy.c - arrays in NumPy's format. C order is read in place; Fortran order goes through a slice. */
#include "io/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/infile.h"
#include "base/interrupt.h"
#include "base/outfile.h"
#include "io/npy_heading.h"
#include "io/widen.h"
#include "tensor/host.h"

#define MAGIC "\x93NUMPY"

typedef struct reader {
  gb_npy_source from;
  gb_infile *file; /* of an array that stays in its file */
  gb_ledger *ledger;
  const char *where;
  gb_block scratch;
  size_t slice;  /* its bytes: the data's size, at most GB_NPY_SLICE */
  size_t before; /* bytes of the file before the data */
  gb_npy_heading h;
} reader;

_Static_assert(GB_NPY_HEADING <= GB_NPY_SLICE, "the heading fits the slice");

static gb_status exactly (const reader *r, void *to, size_t n, gb_error *err) {
  size_t got;
  GB_TRY(r->from.read(r->from.ud, to, n, &got, err));
  if (got < n)
    return gb_fail(err, GB_EIO, "cannot read '%s': it ended %zu bytes early", r->from.path, n - got);
  return GB_OK;
}

static gb_status read_heading (reader *r, gb_error *err) {
  const char *path = r->from.path;
  unsigned char lead[12];
  size_t got;
  GB_TRY(r->from.read(r->from.ud, lead, 8, &got, err));
  if (got != 8 || memcmp(lead, MAGIC, 6) != 0)
    return gb_fail(err, GB_EFORMAT, "%s: not a NumPy array file", path);
  if (lead[6] < 1 || lead[6] > 3 || lead[7] != 0)
    return gb_fail(err, GB_EFORMAT, "%s: format version %d.%d is not read", path, lead[6], lead[7]);
  const size_t width = lead[6] == 1 ? 2 : 4;
  GB_TRY(r->from.read(r->from.ud, lead + 8, width, &got, err));
  if (got != width) return gb_fail(err, GB_EFORMAT, "%s: truncated heading", path);
  const size_t length = (size_t)gb_integer(lead + 8, width, 0);
  if (length > GB_NPY_HEADING)
    return gb_fail(err, GB_EFORMAT, "%s: the heading is longer than %d bytes", path, GB_NPY_HEADING);
  got = 0;
  if (length <= r->slice) GB_TRY(r->from.read(r->from.ud, r->scratch.data, length, &got, err));
  if (got != length || length > r->slice) return gb_fail(err, GB_EFORMAT, "%s: truncated heading", path);
  r->before = 8 + width + length;
  return gb_npy_heading_parse(path, r->scratch.data, length, &r->h, err);
}

static gb_dtype dtype_of (const gb_npy_heading *h) {
  if (h->kind == 'b') return GB_BOOL;
  if (h->kind != 'f') return h->kind == 'i' && h->width == 4 ? GB_I32 : GB_I64;
  return h->width == 8 ? GB_F64 : h->width == 4 ? GB_F32 : GB_F16;
}

static gb_status check_bools (const reader *r, const unsigned char *data, size_t n, size_t first,
                              gb_error *err) {
  for (size_t i = 0; i < n; i++)
    if (data[i] > 1)
      return gb_fail(err, GB_EFORMAT, "%s: 0 or 1 expected for element %zu, got %d", r->from.path,
                     first + i + 1, data[i]);
  return GB_OK;
}

/* Row-major: narrow integers are read into the end of the tensor and widened from there; other types are read
** in place. */
static gb_status read_rows (reader *r, const gb_tensor *t, gb_error *err) {
  const size_t width = r->h.width, many = GB_NPY_SLICE / width;
  unsigned char *data = gb_host_elements(t), *at = data + r->h.numel * gb_dtype_size(t->dtype) - r->h.bytes;
  for (size_t i = 0; i < r->h.numel; i += many) {
    const size_t n = r->h.numel - i < many ? r->h.numel - i : many;
    GB_TRY(exactly(r, at + i * width, n * width, err));
    if (t->dtype == GB_I64 && width < 8)
      gb_widen((int64_t *)(void *)data + i, at + i * width, n, width, r->h.kind == 'i');
    if (t->dtype == GB_BOOL) GB_TRY(check_bools(r, at + i, n, i, err));
  }
  return GB_OK;
}

/* Scatters a slice of elements in the file's order, the first axis fastest. 'index' is the position of the
** first one. */
static void scatter (const reader *r, const gb_tensor *t, const unsigned char *from, size_t n,
                     size_t *index) {
  const size_t width = r->h.width;
  for (size_t e = 0; e < n; e++, from += width) {
    ptrdiff_t at = 0;
    for (int i = 0; i < t->shape.ndim; i++) at += (ptrdiff_t)index[i] * t->stride[i];
    if (t->dtype == GB_I64) ((int64_t *)gb_host_elements(t))[at] = gb_integer(from, width, r->h.kind == 'i');
    else memcpy((char *)gb_host_elements(t) + (size_t)at * width, from, width);
    for (int i = 0; i < t->shape.ndim; i++) {
      if (++index[i] < t->shape.dim[i]) break;
      index[i] = 0;
    }
  }
}

static gb_status read_columns (reader *r, const gb_tensor *t, gb_error *err) {
  size_t index[GB_MAXDIM] = {0};
  const size_t many = r->slice / r->h.width;
  for (size_t i = 0; i < r->h.numel; i += many) {
    const size_t n = r->h.numel - i < many ? r->h.numel - i : many;
    GB_TRY(exactly(r, r->scratch.data, n * r->h.width, err));
    if (t->dtype == GB_BOOL) GB_TRY(check_bools(r, r->scratch.data, n, i, err));
    scatter(r, t, r->scratch.data, n, index);
  }
  return GB_OK;
}

static gb_status read_whole_heading (reader *r, gb_error *err) {
  GB_TRY(read_heading(r, err));
  const size_t there = r->from.size > r->before ? r->from.size - r->before : 0;
  if (there == r->h.bytes) return GB_OK;
  return gb_fail(err, GB_EFORMAT, "%s: %zu bytes of data expected, %zu found", r->from.path, r->h.bytes,
                 there);
}

static gb_status read_array (reader *r, gb_tensor *out, gb_error *err) {
  GB_TRY(read_whole_heading(r, err));
  GB_TRY(gb_tensor_new(r->ledger, dtype_of(&r->h), &r->h.shape, GB_MEM_TENSOR, r->where, "", out, err));
  const gb_status st = r->h.fortran && r->h.shape.ndim > 1 ? read_columns(r, out, err)
                                                           : read_rows(r, out, err);
  if (st != GB_OK) gb_tensor_clear(out);
  return st;
}

/* -- arrays that stay in their file */

static void release_mapping (gb_storage *st) {
  gb_block *b = &st->block;
  gb_ledger_unmap(st->ledger, b->bytes);
  gb_mapping_close(st->owned);
  free(st->owned);
  b->data = NULL;
}

static gb_status check_mapping (gb_storage *st, gb_error *err) { return gb_mapping_check(st->owned, err); }

static gb_status check_mappable (const reader *r, gb_error *err) {
  const size_t size = gb_dtype_size(dtype_of(&r->h));
  if (r->h.width != size)
    return gb_fail(err, GB_EFORMAT,
                   "%s: elements of %zu bytes ('%c%zu') would become i64, which a mapped file cannot: "
                   "gb.data.read reads it",
                   r->from.path, r->h.width, r->h.kind, r->h.width);
  if (r->before % size != 0)
    return gb_fail(err, GB_EFORMAT,
                   "%s: the data begin at byte %zu, which is no multiple of the %zu bytes of an element: "
                   "gb.data.read reads it",
                   r->from.path, r->before, size);
  return GB_OK;
}

/* Bools are looked at: nothing above expects others than 0 and 1. */
static gb_status check_values (const reader *r, const unsigned char *data, gb_error *err) {
  for (size_t i = 0; r->h.kind == 'b' && i < r->h.numel; i += GB_NPY_SLICE) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    const size_t left = r->h.numel - i;
    GB_TRY(check_bools(r, data + i, left < GB_NPY_SLICE ? left : GB_NPY_SLICE, i, err));
  }
  return GB_OK;
}

/* Fortran order: the first axis has the smallest stride. */
static void set_columns (gb_tensor *t) {
  ptrdiff_t n = 1;
  for (int i = 0; i < t->shape.ndim; i++) {
    t->stride[i] = n;
    n *= (ptrdiff_t)t->shape.dim[i];
  }
}

static gb_status map_array (reader *r, gb_tensor *out, gb_error *err) {
  void *at;
  GB_TRY(read_whole_heading(r, err));
  GB_TRY(check_mappable(r, err));
  gb_mapping *m = malloc(sizeof *m);
  if (m == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a mapping");
  gb_status st = gb_infile_map(r->file, r->before, r->h.bytes, m, &at, err);
  if (st != GB_OK) {
    free(m);
    return st;
  }
  st = check_values(r, at, err);
  if (st == GB_OK)
    st = gb_tensor_over(r->ledger, dtype_of(&r->h), &r->h.shape, at, r->where, m, release_mapping,
                        check_mapping, out, err);
  if (st != GB_OK) {
    gb_mapping_close(m);
    free(m);
    return st;
  }
  gb_ledger_map(r->ledger, r->h.bytes);
  if (r->h.fortran) set_columns(out);
  return GB_OK;
}

/* Hands the source to 'work', with room for its heading and slices of its data. */
static gb_status with_reader (gb_ledger *l, reader *r, size_t slice,
                              gb_status (*work)(reader *r, gb_tensor *out, gb_error *err), gb_tensor *out,
                              gb_error *err) {
  r->ledger = l;
  r->slice = r->from.size < slice ? r->from.size : slice;
  GB_TRY(gb_ledger_alloc(l, GB_MEM_WORKSPACE, r->slice, r->where, "", &r->scratch, err));
  const gb_status st = work(r, out, err);
  gb_ledger_free(l, &r->scratch);
  return st;
}

static gb_status read_file (void *ud, void *to, size_t n, size_t *got, gb_error *err) {
  return gb_infile_read(ud, to, n, got, err);
}

static gb_status with_file (gb_ledger *l, const char *path, const char *where, size_t slice,
                            gb_status (*work)(reader *r, gb_tensor *out, gb_error *err), gb_tensor *out,
                            gb_error *err) {
  gb_infile f;
  *out = (gb_tensor){0};
  GB_TRY(gb_infile_open(path, &f, err));
  reader r = {.from = {path, f.size, read_file, &f}, .file = &f, .where = where};
  const gb_status st = with_reader(l, &r, slice, work, out, err);
  gb_infile_close(&f);
  return st;
}

gb_status gb_npy_read (gb_ledger *l, const char *path, const char *where, gb_tensor *out, gb_error *err) {
  return with_file(l, path, where, GB_NPY_SLICE, read_array, out, err);
}

gb_status gb_npy_map (gb_ledger *l, const char *path, const char *where, gb_tensor *out, gb_error *err) {
  return with_file(l, path, where, GB_NPY_HEADING, map_array, out, err);
}

gb_status gb_npy_read_from (gb_ledger *l, const gb_npy_source *source, const char *where, gb_tensor *out,
                            gb_error *err) {
  reader r = {.from = *source, .where = where};
  *out = (gb_tensor){0};
  return with_reader(l, &r, GB_NPY_SLICE, read_array, out, err);
}

/* -- writing */

static const char *descr (gb_dtype t) {
  switch (t) {
    case GB_F64: return "<f8";
    case GB_F16: return "<f2";
    case GB_I64: return "<i8";
    case GB_I32: return "<i4";
    case GB_BOOL: return "|b1";
    default: return "<f4";
  }
}

/* Where bytes go. */
typedef struct sink {
  gb_status (*take)(void *ud, const void *p, size_t bytes);
  void *ud;
} sink;

static gb_status emit_heading (const sink *to, const gb_tensor *t) {
  char shape[192] = "", text[512];
  size_t used = 0;
  for (int i = 0; i < t->shape.ndim; i++)
    used += (size_t)snprintf(shape + used, sizeof shape - used, "%zu,%s", t->shape.dim[i],
                             i + 1 < t->shape.ndim ? " " : "");
  int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                   descr(t->dtype), shape);
  while ((10 + n + 1) % 64 != 0) text[n++] = ' '; /* data start on a multiple of 64 */
  text[n++] = '\n';
  const unsigned char lead[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
  GB_TRY(to->take(to->ud, lead, sizeof lead));
  return to->take(to->ud, text, (size_t)n);
}

static gb_status take_wide (void *ud, const void *p, size_t bytes) {
  const sink *to = ud;
  const uint16_t *from = p;
  float wide[GB_VISIT];
  for (size_t i = 0; i < bytes / 2; i++) wide[i] = gb_bf16_to_f32(from[i]);
  return to->take(to->ud, wide, 2 * bytes);
}

gb_status gb_npy_emit (const gb_tensor *t, gb_status (*take)(void *ud, const void *p, size_t bytes), void *ud,
                       gb_error *err) {
  gb_tensor host;
  sink to = {take, ud};
  GB_TRY(gb_host_of(t, &host, err));
  GB_TRY(emit_heading(&to, t));
  return t->dtype == GB_BF16 ? gb_tensor_visit(&host, take_wide, &to) : gb_tensor_visit(&host, take, ud);
}

gb_status gb_npy_write (const char *path, const gb_tensor *t, gb_error *err) {
  gb_outfile f = {.fd = -1};
  gb_outfile_sink to = {&f, err};
  GB_TRY(gb_outfile_open(path, &f, err));
  gb_status st = gb_npy_emit(t, gb_outfile_take, &to, err);
  if (st == GB_OK) st = gb_outfile_commit(&f, err);
  gb_outfile_abandon(&f);
  return st;
}
