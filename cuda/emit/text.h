/* text.h - a text that grows line by line, indented by its braces. */
#ifndef GB_CUDA_EMIT_TEXT_H
#define GB_CUDA_EMIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gb_text {
  char *at; /* NULL: nothing yet */
  size_t used, room;
  int depth;
  bool failed; /* memory was short: the text is incomplete */
} gb_text;

/* A line that ends in '{' indents those that follow, and one that begins with '}' ends that. */
void gb_text_line (gb_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends to what is in a room of fixed size; never past its end. */
void gb_text_join (char *to, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
