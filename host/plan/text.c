/* text.c - names and sizes as users read them. */
#include "plan/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gb_append (char *text, size_t room, const char *fmt, ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, fmt);
  vsnprintf(text + used, room - used, fmt, args);
  va_end(args);
}

char *gb_size_text (size_t bytes, char text[GB_BYTES_TEXT]) {
  if (bytes != SIZE_MAX) return gb_bytes_text(bytes, text);
  snprintf(text, GB_BYTES_TEXT, "more than 16 EiB");
  return text;
}

char *gb_buffer_text (const gb_plan *p, int b, char text[GB_ROW_TEXT]) {
  const gb_buf *buf = &p->prog->low->buf[b];
  const char *name = gb_plan_name(p, b), *where = gb_plan_where(p, b);
  char shape[GB_SHAPE_TEXT], size[GB_BYTES_TEXT];
  snprintf(text, GB_ROW_TEXT, "%.60s %s %s %s%s%.80s%s", *name ? name : gb_ops[p->node[buf->source]->op].name,
           gb_shape_text(&buf->shape, shape), gb_dtype_name(buf->dtype), gb_size_text(buf->bytes, size),
           *where ? " (" : "", where, *where ? ")" : "");
  return text;
}

/* Outer axes come first in the domain, then LANE (columns of a row-major value differ) and TILE: the
** extents are listed in the order of axis numbers, those of length 1 left out. */
char *gb_streamed_text (const gb_step *s, char text[GB_SHAPE_TEXT]) {
  text[0] = '\0';
  if (!s->is_fold || s->full_numel == 0) return text;
  size_t product = 1;
  for (int a = 0; a < s->fold.naxes; a++) {
    const gb_fold_axis *x = &s->fold.axis[a];
    if (x->role == GB_AXIS_INNER || x->extent == 1) continue;
    gb_append(text, GB_SHAPE_TEXT, "%s%zu", *text ? "x" : "", x->extent);
    product *= x->extent;
  }
  if (product != s->full_numel) snprintf(text, GB_SHAPE_TEXT, "%zu values", s->full_numel);
  return text;
}
