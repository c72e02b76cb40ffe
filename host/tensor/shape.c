/* shape.c - checked products, and broadcasting. */
#include "tensor/shape.h"

#include <stdio.h>
#include <string.h>

gb_shape gb_shape_of (int ndim, const size_t *dim) {
  gb_shape s = {.ndim = ndim};
  for (int i = 0; i < ndim; i++) s.dim[i] = dim[i];
  return s;
}

bool gb_shape_equal (const gb_shape *a, const gb_shape *b) {
  return a->ndim == b->ndim && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

bool gb_shape_numel_checked (const gb_shape *s, size_t *out) {
  size_t n = 1;
  for (int i = 0; i < s->ndim; i++)
    if (s->dim[i] == 0) {
      *out = 0;
      return true;
    }
  for (int i = 0; i < s->ndim; i++)
    if (__builtin_mul_overflow(n, s->dim[i], &n) || n > PTRDIFF_MAX) return false;
  *out = n;
  return true;
}

size_t gb_shape_numel (const gb_shape *s) {
  size_t n = 0;
  return gb_shape_numel_checked(s, &n) ? n : SIZE_MAX;
}

size_t gb_shape_bytes (const gb_shape *s, gb_dtype t) {
  size_t n, bytes;
  if (!gb_shape_numel_checked(s, &n) || __builtin_mul_overflow(n, gb_dtype_size(t), &bytes)) return SIZE_MAX;
  return bytes;
}

char *gb_shape_text (const gb_shape *s, char buf[GB_SHAPE_TEXT]) {
  if (s->ndim == 0) return strcpy(buf, "()");
  size_t used = 0;
  for (int i = 0; i < s->ndim && used < GB_SHAPE_TEXT; i++)
    used += (size_t)snprintf(buf + used, GB_SHAPE_TEXT - used, i ? "x%zu" : "%zu", s->dim[i]);
  return buf;
}

bool gb_shape_broadcast (const gb_shape *a, const gb_shape *b, gb_shape *out) {
  if (a->ndim < b->ndim) {
    const gb_shape *t = a;
    a = b;
    b = t;
  }
  gb_shape both = *a; /* out may be a or b */
  bool grew_a = false, grew_b = a->ndim > b->ndim;
  for (int i = 1; i <= b->ndim; i++) {
    const size_t da = a->dim[a->ndim - i], db = b->dim[b->ndim - i];
    if (da == db) continue;
    if (da == 1) grew_a = true;
    else if (db == 1) grew_b = true;
    else return false;
    both.dim[both.ndim - i] = da == 1 ? db : da;
  }
  const bool fits = a->ndim == b->ndim || !(grew_a && grew_b);
  *out = both;
  return fits;
}
