/* safetensors.c - the reader: the heading as JSON, then rows that must tile the data, then the data. */
#include "io/safetensors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/infile.h"
#include "io/json.h"
#include "io/widen.h"
#include "tensor/host.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data are read and written as they lie in memory");

#define SLICE ((size_t)1 << 20) /* bytes that are read, checked and widened at a time */

static const struct element {
  const char *name;
  gb_dtype dtype;
  size_t width;
  bool is_signed;
} elements[] = {
    {"F64", GB_F64, 8, false},   {"F32", GB_F32, 4, false}, {"F16", GB_F16, 2, false},
    {"BF16", GB_BF16, 2, false}, {"I64", GB_I64, 8, true},  {"BOOL", GB_BOOL, 1, false},
    {"I32", GB_I32, 4, true},    {"I16", GB_I64, 2, true},  {"I8", GB_I64, 1, true},
    {"U32", GB_I64, 4, false},   {"U16", GB_I64, 2, false}, {"U8", GB_I64, 1, false},
};

typedef struct row {
  const char *name; /* belongs to the heading */
  const struct element *element;
  gb_shape shape;
  size_t begin, end;
} row;

typedef struct reader {
  const char *path, *where;
  gb_ledger *ledger;
  gb_infile file;
  gb_block account; /* ledger entry while the heading is held */
  size_t data;      /* bytes after the heading */
  json_t *heading;
  row *row;
  size_t n;
  gb_tensor_set *out;
} reader;

static gb_status no_memory (const reader *r, gb_error *err) {
  return gb_fail(err, GB_ENOMEM, "%s: no memory for the heading", r->path);
}

/* True if the text is what json_dumps writes, followed by fewer than 8 blanks. */
static gb_status check_spelling (reader *r, const char *text, size_t n, gb_error *err) {
  char *again = json_dumps(r->heading, JSON_COMPACT);
  if (again == NULL) return no_memory(r, err);
  const size_t used = strlen(again);
  bool same = used <= n && n % 8 == 0 && n - used < 8 && memcmp(text, again, used) == 0;
  for (size_t i = used; same && i < n; i++) same = text[i] == ' ';
  r->out->canonical = same;
  gb_json_free(again);
  return GB_OK;
}

/* Reads the heading; sets r->data to the bytes of the file after it. */
static gb_status read_heading (reader *r, gb_error *err) {
  const size_t size = r->file.size;
  if (size < 8)
    return gb_fail(err, GB_EFORMAT, "%s: 8 bytes with the length of the heading expected, the file has %zu",
                   r->path, size);
  const size_t most = size - 8 < GB_SAFETENSORS_HEADING ? size - 8 : GB_SAFETENSORS_HEADING;
  uint64_t length;
  GB_TRY(gb_infile_exactly(&r->file, &length, sizeof length, err));
  if (length > most)
    return gb_fail(err, GB_EFORMAT,
                   "%s: a heading of at most %zu bytes expected, its length says %llu; truncated, or no "
                   "safetensors file",
                   r->path, most, (unsigned long long)length);
  r->data = size - 8 - (size_t)length;
  GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, gb_json_bytes((size_t)length), r->where, "",
                         &r->account, err));
  char *text = malloc((size_t)length + 1);
  if (text == NULL) return no_memory(r, err);
  gb_status st = gb_infile_exactly(&r->file, text, (size_t)length, err);
  if (st == GB_OK && (length == 0 || text[0] != '{'))
    st = gb_fail(err, GB_EFORMAT, "%s: a heading that starts with '{' expected", r->path);
  if (st == GB_OK) st = gb_json_parse(text, (size_t)length, r->path, &r->heading, err);
  if (st == GB_OK) st = check_spelling(r, text, (size_t)length, err);
  free(text);
  return st;
}

/* EFORMAT with the text 'fmt' about one tensor of the heading. */
static gb_status bad (const reader *r, const char *name, gb_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static gb_status bad (const reader *r, const char *name, gb_error *err, const char *fmt, ...) {
  char what[512], buf[GB_SHOWN];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return gb_fail(err, GB_EFORMAT, "%s: tensor '%s': %s", r->path, gb_shown(name, buf), what);
}

/* A number of bytes or elements: whole and not negative. */
static bool to_size (const json_t *v, size_t *out) {
  if (!json_is_integer(v) || json_integer_value(v) < 0) return false;
  *out = (size_t)json_integer_value(v);
  return true;
}

static gb_status parse_shape (const reader *r, const json_t *v, row *to, gb_error *err) {
  if (!json_is_array(v)) return bad(r, to->name, err, "'shape' must be a list");
  if (json_array_size(v) > GB_MAXDIM)
    return bad(r, to->name, err, "at most %d axes expected, got %zu", GB_MAXDIM, json_array_size(v));
  for (size_t i = 0; i < json_array_size(v); i++)
    if (!to_size(json_array_get(v, i), &to->shape.dim[to->shape.ndim++]))
      return bad(r, to->name, err, "axis %zu of 'shape' must be a whole number, 0 or more", i + 1);
  return GB_OK;
}

static gb_status parse_element (const reader *r, const json_t *v, row *to, gb_error *err) {
  char buf[GB_SHOWN];
  const char *text = json_string_value(v);
  if (text == NULL) return bad(r, to->name, err, "'dtype' must be a string");
  for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
    if (strcmp(text, elements[i].name) == 0) {
      to->element = &elements[i];
      return GB_OK;
    }
  return bad(r, to->name, err,
             "dtype F64, F32, F16, BF16, I64, I32, I16, I8, U32, U16, U8 or BOOL expected, got %s",
             gb_shown(text, buf));
}

/* The distance of the offsets must be the bytes of the shape. */
static gb_status parse_offsets (const reader *r, const json_t *v, row *to, gb_error *err) {
  if (json_array_size(v) != 2 || !to_size(json_array_get(v, 0), &to->begin) ||
      !to_size(json_array_get(v, 1), &to->end) || to->begin > to->end || to->end > r->data)
    return bad(r, to->name, err, "'data_offsets' must be [begin, end] within the %zu bytes of data", r->data);
  size_t n, bytes;
  if (!gb_shape_numel_checked(&to->shape, &n) || __builtin_mul_overflow(n, to->element->width, &bytes))
    return bad(r, to->name, err, "the size of its shape overflows");
  if (bytes != to->end - to->begin)
    return bad(r, to->name, err, "%zu bytes expected for its shape, its offsets hold %zu", bytes,
               to->end - to->begin);
  return GB_OK;
}

static gb_status parse_row (const reader *r, const char *name, const json_t *v, row *to, gb_error *err) {
  *to = (row){.name = name};
  if (!json_is_object(v) || json_object_size(v) != 3)
    return bad(r, name, err, "an object of dtype, shape and data_offsets expected");
  GB_TRY(parse_element(r, json_object_get(v, "dtype"), to, err));
  GB_TRY(parse_shape(r, json_object_get(v, "shape"), to, err));
  return parse_offsets(r, json_object_get(v, "data_offsets"), to, err);
}

static char *duplicate (const char *s) {
  const size_t n = strlen(s) + 1;
  char *out = malloc(n);
  return out == NULL ? NULL : memcpy(out, s, n);
}

static gb_status parse_texts (reader *r, const json_t *v, gb_error *err) {
  if (!json_is_object(v))
    return gb_fail(err, GB_EFORMAT, "%s: '__metadata__' must be an object of strings", r->path);
  gb_tensor_set *s = r->out;
  s->text = calloc(json_object_size(v) + 1, sizeof *s->text);
  if (s->text == NULL) return no_memory(r, err);
  const char *key;
  json_t *one;
  json_object_foreach((json_t *)v, key, one) {
    char buf[GB_SHOWN];
    if (!json_is_string(one))
      return gb_fail(err, GB_EFORMAT, "%s: '__metadata__': '%s' must be a string", r->path,
                     gb_shown(key, buf));
    gb_named_text *t = &s->text[s->ntexts++];
    t->key = duplicate(key);
    t->text = duplicate(json_string_value(one));
    if (t->key == NULL || t->text == NULL) return no_memory(r, err);
  }
  return GB_OK;
}

static int by_place (const void *a, const void *b) {
  const row *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->name, y->name);
}

static gb_status parse_rows (reader *r, gb_error *err) {
  r->row = calloc(json_object_size(r->heading) + 1, sizeof *r->row);
  if (r->row == NULL) return no_memory(r, err);
  const char *name;
  json_t *v;
  json_object_foreach(r->heading, name, v) {
    if (strcmp(name, "__metadata__") == 0) GB_TRY(parse_texts(r, v, err));
    else {
      GB_TRY(parse_row(r, name, v, &r->row[r->n], err));
      r->n++;
    }
  }
  qsort(r->row, r->n, sizeof *r->row, by_place);
  size_t at = 0;
  for (size_t i = 0; i < r->n; at = r->row[i++].end)
    if (r->row[i].begin != at)
      return bad(r, r->row[i].name, err,
                 "expected at byte %zu of the data, where the one before ends, its offset is %zu", at,
                 r->row[i].begin);
  if (at != r->data)
    return gb_fail(err, GB_EFORMAT, "%s: %zu bytes of data expected, the file has %zu", r->path, at, r->data);
  return GB_OK;
}

static gb_status check_bools (const reader *r, const row *from, const unsigned char *data, size_t first,
                              size_t n, gb_error *err) {
  for (size_t i = first; i < first + n; i++)
    if (data[i] > 1)
      return bad(r, from->name, err, "0 or 1 expected for element %zu of BOOL, got %d", i + 1, data[i]);
  return GB_OK;
}

/* Integers of other widths are read into the end of the tensor's storage and widened from there. */
static gb_status read_tensor (reader *r, const row *from, gb_tensor *to, gb_error *err) {
  const size_t bytes = from->end - from->begin, n = gb_shape_numel(&from->shape),
               width = from->element->width;
  GB_TRY(gb_tensor_new(r->ledger, from->element->dtype, &from->shape, GB_MEM_TENSOR, r->where, "", to, err));
  unsigned char *data = gb_host_elements(to), *start = data + n * gb_dtype_size(to->dtype) - bytes;
  for (size_t i = 0; i < n; i += SLICE / width) {
    const size_t some = n - i < SLICE / width ? n - i : SLICE / width;
    GB_TRY(gb_infile_exactly(&r->file, start + i * width, some * width, err));
    if (width != gb_dtype_size(to->dtype))
      gb_widen((int64_t *)gb_host_elements(to) + i, start + i * width, some, width, from->element->is_signed);
    if (to->dtype == GB_BOOL) GB_TRY(check_bools(r, from, data, i, some, err));
  }
  return GB_OK;
}

static gb_status read_data (reader *r, gb_error *err) {
  gb_tensor_set *s = r->out;
  s->tensor = calloc(r->n + 1, sizeof *s->tensor);
  if (s->tensor == NULL) return no_memory(r, err);
  for (size_t i = 0; i < r->n; i++) {
    gb_named_tensor *t = &s->tensor[s->ntensors++];
    t->name = duplicate(r->row[i].name);
    if (t->name == NULL) return no_memory(r, err);
    GB_TRY(read_tensor(r, &r->row[i], &t->value, err));
  }
  return GB_OK;
}

gb_status gb_safetensors_read (gb_ledger *l, const char *path, const char *where, gb_tensor_set *out,
                               gb_error *err) {
  *out = (gb_tensor_set){0};
  reader r = {.path = path, .where = where, .ledger = l, .out = out};
  GB_TRY(gb_infile_open(path, &r.file, err));
  gb_status st = read_heading(&r, err);
  if (st == GB_OK) st = parse_rows(&r, err);
  if (st == GB_OK) st = read_data(&r, err);
  gb_infile_close(&r.file);
  free(r.row);
  json_decref(r.heading);
  gb_ledger_free(l, &r.account);
  if (st != GB_OK) gb_tensor_set_clear(out);
  return st;
}

void gb_tensor_set_clear (gb_tensor_set *s) {
  for (size_t i = 0; i < s->ntensors; i++) {
    free(s->tensor[i].name);
    gb_tensor_clear(&s->tensor[i].value);
  }
  for (size_t i = 0; i < s->ntexts; i++) {
    free(s->text[i].key);
    free(s->text[i].text);
  }
  free(s->tensor);
  free(s->text);
  *s = (gb_tensor_set){0};
}
