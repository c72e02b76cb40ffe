/* text.h - building reports: strings of fixed room, names of planned things, and what is live when. */
#ifndef GB_PLAN_CHOOSE_TEXT_H
#define GB_PLAN_CHOOSE_TEXT_H

#include <stdio.h>

#include "plan/choose/plan_internal.h"

/* Appends to a string of 'room' bytes; what does not fit is cut. */
void gb_append (char *text, size_t room, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Bytes of the UTF-8 sequence at the start of s; 0 if s starts with a control character or invalid UTF-8. */
size_t gb_letter (const char *s);
/* Writes at most 'width' letters of s and blanks up to 'width'; a byte that begins no letter becomes '?'. */
void gb_put (FILE *f, const char *s, int width);
/* Letters of s, at most 'most'. */
int gb_width (const char *s, int most);
/* The end of a place in a script that is too long: its line number stays. */
const char *gb_short_where (const char *where, size_t width);

/* "z", or the op of a buffer without a name. */
const char *gb_what (const gb_plan *p, int b);

/* "z 200000x200000 f64 298 GiB (script.lua:12)" for buffer b. Returns 'text'. */
#define GB_ROW_TEXT 256
char *gb_buffer_text (const gb_plan *p, int b, char text[GB_ROW_TEXT]);

/* The shape that exists at a time: a window of the whole, or the whole. */
gb_shape gb_row_shape (const gb_plan_row *r);

/* "axis 1 of x", a dimension of buffer b, or that of the leaf from which a cut starts. */
#define GB_AXIS_TEXT 64
char *gb_dim_text (const gb_plan *p, int b, int dim, char text[GB_AXIS_TEXT]);
char *gb_axis_text (const gb_plan *p, const gb_tiling *c, char text[GB_AXIS_TEXT]);

/* Bytes of b in the placement reported: a window of it, a packed triangle, or all. */
size_t gb_planned_bytes (const gb_plan *p, int b);

/* "whole", or "windows of 64 of 1000 along axis 1 of x", "5 loops, 4 steps again: windows of ..."; ", packed triangles",
** ", reordered". */
#define GB_FORM_TEXT 128
char *gb_form_text (const gb_plan *p, const gb_placement *place, char text[GB_FORM_TEXT]);

/* "298 GiB", or "more than 16 EiB" past counting. */
char *gb_size_text (size_t bytes, char text[GB_BYTES_TEXT]);

/* The extents of a fold's widest tile value, "200000x200000", or "" where it stores everything. */
char *gb_streamed_text (const gb_step *s, char text[GB_SHAPE_TEXT]);
/* Bytes of the largest value that passes through the step's tiles and is larger than all that it reads and
** writes; 0 if no value is larger. */
size_t gb_streamed_bytes (const gb_plan *p, const gb_step *st);

/* Some value of the plan lies on the device of this number. */
bool gb_plan_is_on (const gb_plan *p, int device);
/* Of the placement reported: bytes held on one device at each place, malloc'ed: what lives in the arena, and all
** outputs and caches, which are allocated when the run begins; the most of it is the lower bound. */
size_t *gb_timeline (const gb_plan *p, int device);
size_t gb_window_count (const gb_plan *p);      /* of each of its loops; 0 if the plan has none */
bool gb_loop_is_idle (const gb_plan *p, int k); /* none of its steps runs */

/* partition.c: the devices of the plan and the copies between them, where there are several. */
void gb_partition_explain (const gb_plan *p, FILE *f);

/* candidates.c. What a plan would choose with so many bytes, NULL: it would refuse; known where candidates
** are timed or nothing but whole runs fit. And the powers of two between the smallest budget and an ample
** one, from *budget = 0 on. */
const gb_candidate *gb_offer_at (const gb_plan_report *r, size_t budget);
bool gb_sweep_next (const gb_plan_report *r, size_t *budget);

#endif
