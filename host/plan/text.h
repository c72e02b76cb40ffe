/* text.h - building reports: a string of fixed room, and names of planned things. */
#ifndef GB_PLAN_TEXT_H
#define GB_PLAN_TEXT_H

#include "plan/parts.h"

/* Appends to a string of 'room' bytes; what does not fit is cut. */
void gb_append (char *text, size_t room, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* "z 200000x200000 f64 298 GiB (script.lua:12)" for buffer b. Returns 'text'. */
#define GB_ROW_TEXT 256
char *gb_buffer_text (const gb_plan *p, int b, char text[GB_ROW_TEXT]);

/* "298 GiB", or "more than 16 EiB" past counting. */
char *gb_size_text (size_t bytes, char text[GB_BYTES_TEXT]);

/* The extents of a fold's widest tile value, "200000x200000", or "" where it stores everything. */
char *gb_streamed_text (const gb_step *s, char text[GB_SHAPE_TEXT]);

#endif
