/* npy.c - the heading's own small grammar, and element conversion on the way in. */
#include "io/npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAX_HEADING 65536

typedef struct heading {
  char kind;                 /* f i u b */
  size_t width;              /* bytes an element in the file */
  bool fortran;
  gb_shape shape;
} heading;

static const char *skip (const char *s) {
  while (isspace((unsigned char)*s)) s++;
  return s;
}

/* What follows 'key': in the dictionary, or NULL. */
static const char *lookup (const char *text, const char *key) {
  char quoted[32];
  for (const char *q = "'\""; *q != '\0'; q++) {
    snprintf(quoted, sizeof quoted, "%c%s%c", *q, key, *q);
    const char *at = strstr(text, quoted);
    if (at == NULL) continue;
    at = skip(at + strlen(quoted));
    return *at == ':' ? skip(at + 1) : NULL;
  }
  return NULL;
}

static gb_status parse_type (const char *path, const char *s, heading *h, gb_error *err) {
  if (s == NULL || (*s != '\'' && *s != '"')) return gb_fail(err, GB_EFORMAT, "%s: the heading has no plain 'descr'", path);
  const char order = s[1];
  h->kind = s[2];
  h->width = (size_t)strtoul(s + 3, NULL, 10);
  if (h->kind == 'O') return gb_fail(err, GB_EFORMAT, "%s: an array of Python objects is not read", path);
  if (order == '>') return gb_fail(err, GB_EFORMAT, "%s: big-endian data; save it with .astype('<f8')", path);
  const size_t w = h->width;
  const bool known = (h->kind == 'f' && (w == 2 || w == 4 || w == 8)) || (h->kind == 'b' && w == 1) ||
                     (h->kind == 'i' && (w == 1 || w == 2 || w == 4 || w == 8)) || (h->kind == 'u' && (w == 1 || w == 2 || w == 4));
  if (!known) return gb_fail(err, GB_EFORMAT, "%s: element type '%.8s' is not read", path, s + 1);
  return GB_OK;
}

static gb_status parse_shape (const char *path, const char *s, heading *h, gb_error *err) {
  if (s == NULL || *s != '(') return gb_fail(err, GB_EFORMAT, "%s: the heading has no 'shape'", path);
  for (s = skip(s + 1); *s != ')'; s = skip(s)) {
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)*s)) return gb_fail(err, GB_EFORMAT, "%s: malformed shape in the heading", path);
    const unsigned long long n = strtoull(s, &end, 10);
    if (errno == ERANGE || h->shape.ndim == GB_MAXDIM)
      return gb_fail(err, GB_EFORMAT, "%s: the shape is too large or has more than %d axes", path, GB_MAXDIM);
    h->shape.dim[h->shape.ndim++] = (size_t)n;
    s = skip(end);
    if (*s == ',') s++;
    else if (*s != ')') return gb_fail(err, GB_EFORMAT, "%s: malformed shape in the heading", path);
  }
  return GB_OK;
}

static gb_status read_heading (FILE *f, const char *path, heading *h, gb_error *err) {
  unsigned char lead[12];
  if (fread(lead, 1, 10, f) != 10 || memcmp(lead, MAGIC, 6) != 0)
    return gb_fail(err, GB_EFORMAT, "%s: not a NumPy array file", path);
  if (lead[6] < 1 || lead[6] > 3) return gb_fail(err, GB_EFORMAT, "%s: format version %d is not read", path, lead[6]);
  size_t length = (size_t)lead[8] | (size_t)lead[9] << 8;
  if (lead[6] >= 2) {
    if (fread(lead + 10, 1, 2, f) != 2) return gb_fail(err, GB_EFORMAT, "%s: truncated heading", path);
    length |= (size_t)lead[10] << 16 | (size_t)lead[11] << 24;
  }
  if (length > MAX_HEADING) return gb_fail(err, GB_EFORMAT, "%s: the heading is longer than %d bytes", path, MAX_HEADING);
  char *text = malloc(length + 1);
  if (text == NULL) return gb_fail(err, GB_ENOMEM, "%s: no memory for the heading", path);
  gb_status rc = GB_OK;
  if (fread(text, 1, length, f) != length) rc = gb_fail(err, GB_EFORMAT, "%s: truncated heading", path);
  text[length] = '\0';
  if (rc == GB_OK) rc = parse_type(path, lookup(text, "descr"), h, err);
  if (rc == GB_OK) rc = parse_shape(path, lookup(text, "shape"), h, err);
  const char *order = lookup(text, "fortran_order");
  h->fortran = order != NULL && strncmp(order, "True", 4) == 0;
  free(text);
  return rc;
}

static gb_dtype dtype_of (const heading *h) {
  if (h->kind == 'b') return GB_BOOL;
  if (h->kind != 'f') return GB_I64;
  return h->width == 8 ? GB_F64 : h->width == 4 ? GB_F32 : GB_F16;
}

static int64_t integer (const unsigned char *p, const heading *h) {
  uint64_t v = 0;
  memcpy(&v, p, h->width);
  if (h->kind == 'u' || h->width == 8) return (int64_t)v;
  const unsigned unused = 64 - 8 * (unsigned)h->width;
  return (int64_t)(v << unused) >> unused;
}

/* Elements in file order to row-major order. */
static void store (const gb_tensor *t, const heading *h, const unsigned char *data) {
  const size_t n = gb_shape_numel(&t->shape);
  size_t index[GB_MAXDIM] = {0};
  for (size_t e = 0; e < n; e++) {
    ptrdiff_t at = 0;
    for (int i = 0; i < t->shape.ndim; i++) at += (ptrdiff_t)index[i] * t->stride[i];
    const unsigned char *from = data + e * h->width;
    if (h->kind == 'f') memcpy((char *)t->storage->data + (size_t)at * h->width, from, h->width);
    else if (h->kind == 'b') ((uint8_t *)t->storage->data)[at] = *from != 0;
    else ((int64_t *)t->storage->data)[at] = integer(from, h);
    for (int k = 0; k < t->shape.ndim; k++) {                  /* odometer in the file's order */
      const int i = h->fortran ? k : t->shape.ndim - 1 - k;
      if (++index[i] < t->shape.dim[i]) break;
      index[i] = 0;
    }
  }
}

static gb_status read_data (gb_ledger *l, FILE *f, const char *path, const char *where, const heading *h, gb_tensor *out,
                            gb_error *err) {
  size_t n, bytes;
  if (!gb_shape_numel_checked(&h->shape, &n) || __builtin_mul_overflow(n, h->width, &bytes))
    return gb_fail(err, GB_EFORMAT, "%s: the size of the array overflows", path);
  const long at = ftell(f);
  if (at < 0 || fseek(f, 0, SEEK_END) != 0) return gb_fail(err, GB_EIO, "cannot read '%s': %s", path, strerror(errno));
  const long end = ftell(f);
  fseek(f, at, SEEK_SET);
  if ((size_t)(end - at) < bytes)
    return gb_fail(err, GB_EFORMAT, "%s: %zu bytes of data expected, %ld found", path, bytes, end - at);
  GB_TRY(gb_tensor_new(l, dtype_of(h), &h->shape, GB_MEM_TENSOR, where, "", out, err));
  unsigned char *data = malloc(bytes + 1);
  gb_status rc = GB_OK;
  if (data == NULL) rc = gb_fail(err, GB_ENOMEM, "%s: no memory to read %zu bytes", path, bytes);
  else if (fread(data, 1, bytes, f) != bytes) rc = gb_fail(err, GB_EIO, "cannot read '%s': %s", path, strerror(errno));
  else store(out, h, data);
  free(data);
  if (rc != GB_OK) gb_tensor_clear(out);
  return rc;
}

gb_status gb_npy_read (gb_ledger *l, const char *path, const char *where, gb_tensor *out, gb_error *err) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) return gb_fail(err, GB_EIO, "cannot open '%s': %s", path, strerror(errno));
  heading h = {0};
  gb_status rc = read_heading(f, path, &h, err);
  if (rc == GB_OK) rc = read_data(l, f, path, where, &h, out, err);
  fclose(f);
  return rc;
}

static const char *descr (gb_dtype t) {
  switch (t) {
    case GB_F64: return "<f8";
    case GB_F16: return "<f2";
    case GB_I64: return "<i8";
    case GB_BOOL: return "|b1";
    default: return "<f4";
  }
}

static int write_heading (FILE *f, const gb_tensor *t) {
  char shape[192] = "", text[512];
  size_t used = 0;
  for (int i = 0; i < t->shape.ndim; i++)
    used += (size_t)snprintf(shape + used, sizeof shape - used, "%zu,%s", t->shape.dim[i], i + 1 < t->shape.ndim ? " " : "");
  int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr(t->dtype), shape);
  while ((10 + n + 1) % 64 != 0) text[n++] = ' ';              /* data start on a multiple of 64 */
  text[n++] = '\n';
  const unsigned char lead[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
  return fwrite(lead, 1, 10, f) == 10 && fwrite(text, 1, (size_t)n, f) == (size_t)n;
}

gb_status gb_npy_write (const char *path, const gb_tensor *t, gb_error *err) {
  FILE *f = fopen(path, "wb");
  if (f == NULL) return gb_fail(err, GB_EIO, "cannot write '%s': %s", path, strerror(errno));
  bool good = write_heading(f, t);
  const size_t n = gb_shape_numel(&t->shape), size = gb_dtype_size(t->dtype);
  size_t index[GB_MAXDIM] = {0};
  for (size_t e = 0; e < n && good; e++) {
    ptrdiff_t at = (ptrdiff_t)t->offset;
    for (int i = 0; i < t->shape.ndim; i++) at += (ptrdiff_t)index[i] * t->stride[i];
    const float wide = t->dtype == GB_BF16 ? gb_bf16_to_f32(((const uint16_t *)t->storage->data)[at]) : 0;
    const char *from = (const char *)t->storage->data + (size_t)at * size;
    good = t->dtype == GB_BF16 ? fwrite(&wide, 4, 1, f) == 1 : fwrite(from, size, 1, f) == 1;
    for (int i = t->shape.ndim - 1; i >= 0; i--) {
      if (++index[i] < t->shape.dim[i]) break;
      index[i] = 0;
    }
  }
  if (fclose(f) != 0 || !good) return gb_fail(err, GB_EIO, "cannot write '%s': %s", path, strerror(errno));
  return GB_OK;
}
