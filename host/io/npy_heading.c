/* npy_heading.c - a recursive-descent parser. It never reads past 'end'. */
#include "io/npy_heading.h"

#include <string.h>

typedef struct parser {
  const char *path, *start, *at, *end;
  gb_npy_heading *h;
  gb_error *err;
} parser;

static gb_status expected (const parser *p, const char *what) {
  return gb_fail(p->err, GB_EFORMAT, "%s: byte %zu of the heading: expected %s", p->path,
                 (size_t)(p->at - p->start) + 1, what);
}

static void skip (parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')) p->at++;
}

/* Consumes the character if it is next. */
static bool take (parser *p, char c) {
  skip(p);
  if (p->at == p->end || *p->at != c) return false;
  p->at++;
  return true;
}

typedef struct word {
  const char *s;
  size_t n;
} word;

static bool is (word w, const char *text) { return w.n == strlen(text) && memcmp(w.s, text, w.n) == 0; }

static bool take_string (parser *p, word *out) {
  skip(p);
  if (p->at == p->end || (*p->at != '\'' && *p->at != '"')) return false;
  const char *start = p->at + 1, *stop = start;
  while (stop < p->end && *stop != *p->at && *stop != '\\' && (unsigned char)*stop >= 32 &&
         (unsigned char)*stop < 127)
    stop++;
  if (stop == p->end || *stop != *p->at) return false;
  *out = (word){start, (size_t)(stop - start)};
  p->at = stop + 1;
  return true;
}

static bool take_name (parser *p, word *out) {
  skip(p);
  const char *start = p->at;
  while (p->at < p->end && ((*p->at >= 'A' && *p->at <= 'Z') || (*p->at >= 'a' && *p->at <= 'z'))) p->at++;
  *out = (word){start, (size_t)(p->at - start)};
  return out->n > 0;
}

/* Digits; false if there are none, or too many for a size_t. */
static bool take_number (parser *p, size_t *out) {
  skip(p);
  const char *start = p->at;
  *out = 0;
  for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
    if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, (size_t)(*p->at - '0'), out))
      return false;
  if (p->at == start) return false;
  if (p->at < p->end && *p->at == 'L') p->at++; /* a long integer of Python 2 */
  return true;
}

static gb_status unread (const parser *p, word type, const char *remedy) {
  return gb_fail(p->err, GB_EFORMAT, "%s: element type '%.*s' is not read%s%s", p->path,
                 type.n < 24 ? (int)type.n : 24, type.s, *remedy != '\0' ? "; " : "", remedy);
}

static gb_status parse_type (parser *p) {
  word w;
  skip(p);
  if (p->at < p->end && *p->at == '[')
    return gb_fail(p->err, GB_EFORMAT, "%s: an array of records is not read; save its fields one by one",
                   p->path);
  if (!take_string(p, &w)) return expected(p, "the element type as a string");
  const char order = w.n > 1 ? w.s[0] : '\0', kind = w.n > 1 ? w.s[1] : '\0';
  if (kind == 'O')
    return gb_fail(p->err, GB_EFORMAT,
                   "%s: an array of Python objects is not read, for reading it would run code; save "
                   "x.astype('<f8') or the like",
                   p->path);
  if (order == '>' || order == '!')
    return gb_fail(p->err, GB_EFORMAT, "%s: big-endian data ('%.*s'); save it with .astype('<%.*s')", p->path,
                   w.n < 8 ? (int)w.n : 8, w.s, w.n < 8 ? (int)w.n - 1 : 7, w.s + 1);
  const bool digit = w.n == 3 && w.s[2] >= '1' && w.s[2] <= '8';
  const size_t width = digit ? (size_t)(w.s[2] - '0') : 0;
  if (kind == 'u' && width == 8) return unread(p, w, "save it with .astype('<i8')");
  if (kind == 'c') return unread(p, w, "save .real and .imag");
  const bool powers = width == 1 || width == 2 || width == 4 || width == 8;
  const bool known = (kind == 'f' && powers && width > 1) || (kind == 'b' && width == 1) ||
                     (kind == 'i' && powers) || (kind == 'u' && powers);
  if (!known || (order != '<' && order != '=' && !(order == '|' && width == 1))) return unread(p, w, "");
  p->h->kind = kind;
  p->h->width = width;
  return GB_OK;
}

static gb_status parse_order (parser *p) {
  word w;
  if (take_name(p, &w) && (is(w, "True") || is(w, "False"))) {
    p->h->fortran = is(w, "True");
    return GB_OK;
  }
  return expected(p, "True or False for 'fortran_order'");
}

static gb_status parse_shape (parser *p) {
  gb_shape *s = &p->h->shape;
  if (!take(p, '(')) return expected(p, "the shape in parentheses");
  for (bool comma = true; !take(p, ')');) {
    size_t n;
    if (!comma) return expected(p, "a comma between the numbers of the shape");
    if (!take_number(p, &n)) return expected(p, "a number that fits 64 bits, or the end of the shape");
    if (s->ndim == GB_MAXDIM)
      return gb_fail(p->err, GB_EFORMAT, "%s: at most %d axes expected, the shape has more", p->path,
                     GB_MAXDIM);
    s->dim[s->ndim++] = n;
    comma = take(p, ',');
    if (!comma && s->ndim == 1) return expected(p, "a comma: a shape of one axis is (n,)");
  }
  return GB_OK;
}

/* The bytes of the data. The product of the extents must fit even if an axis has extent 0. */
static gb_status check_size (parser *p) {
  gb_npy_heading *h = p->h;
  size_t most = 8;
  h->numel = 1;
  for (int i = 0; i < h->shape.ndim; i++) {
    const size_t n = h->shape.dim[i];
    if (__builtin_mul_overflow(most, n > 0 ? n : 1, &most) || most > PTRDIFF_MAX)
      return gb_fail(p->err, GB_EFORMAT, "%s: the size of the array overflows", p->path);
    h->numel *= n;
  }
  h->bytes = h->numel * h->width;
  return GB_OK;
}

static gb_status parse_entry (parser *p, unsigned *seen) {
  static const struct {
    const char *name;
    gb_status (*parse)(parser *p);
  } keys[] = {{"descr", parse_type}, {"fortran_order", parse_order}, {"shape", parse_shape}};
  word key;
  if (!take_string(p, &key)) return expected(p, "a key as a string");
  for (unsigned k = 0; k < 3; k++) {
    if (!is(key, keys[k].name)) continue;
    if ((*seen & 1u << k) != 0)
      return gb_fail(p->err, GB_EFORMAT, "%s: '%s' is there twice in the heading", p->path, keys[k].name);
    *seen |= 1u << k;
    if (!take(p, ':')) return expected(p, "':' after the key");
    return keys[k].parse(p);
  }
  return gb_fail(p->err, GB_EFORMAT, "%s: unknown key '%.*s': expected descr, fortran_order and shape",
                 p->path, key.n < 40 ? (int)key.n : 40, key.s);
}

gb_status gb_npy_heading_parse (const char *path, const char *text, size_t n, gb_npy_heading *out,
                                gb_error *err) {
  parser p = {.path = path, .start = text, .at = text, .end = text + n, .h = out, .err = err};
  unsigned seen = 0;
  *out = (gb_npy_heading){0};
  if (!take(&p, '{')) return expected(&p, "'{'");
  for (bool comma = true; !take(&p, '}'); comma = take(&p, ',')) {
    if (!comma) return expected(&p, "',' or '}'");
    GB_TRY(parse_entry(&p, &seen));
  }
  skip(&p);
  if (p.at != p.end) return expected(&p, "nothing after '}'");
  if ((seen & 1) == 0) return gb_fail(err, GB_EFORMAT, "%s: the heading has no 'descr'", path);
  if ((seen & 2) == 0) return gb_fail(err, GB_EFORMAT, "%s: the heading has no 'fortran_order'", path);
  if ((seen & 4) == 0) return gb_fail(err, GB_EFORMAT, "%s: the heading has no 'shape'", path);
  return check_size(&p);
}
