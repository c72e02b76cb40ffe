/* text.c - a text that grows line by line. */
#include "cuda/emit/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_room (gb_text *t, size_t more) {
  if (t->failed) return false;
  if (t->used + more < t->room) return true;
  const size_t room = 2 * (t->used + more) + 4096;
  char *at = realloc(t->at, room);
  if (at == NULL) t->failed = true;
  else t->at = at, t->room = room;
  return at != NULL;
}

void gb_text_line (gb_text *t, const char *format, ...) {
  char line[4096];
  va_list list;
  va_start(list, format);
  const int n = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (n < 0 || (size_t)n >= sizeof line) t->failed = true;
  if (line[0] == '}') t->depth--;
  const size_t indent = line[0] == '#' ? 0 : 2 * (size_t)t->depth;
  if (!has_room(t, indent + (size_t)n + 2)) return;
  memset(t->at + t->used, ' ', indent);
  memcpy(t->at + t->used + indent, line, (size_t)n);
  t->used += indent + (size_t)n;
  t->at[t->used++] = '\n';
  t->at[t->used] = 0;
  if (n > 0 && line[n - 1] == '{') t->depth++;
}

void gb_text_join (char *to, size_t room, const char *format, ...) {
  const size_t used = strlen(to);
  va_list list;
  va_start(list, format);
  vsnprintf(to + used, room - used, format, list);
  va_end(list);
}
