/* rows.h - the rows and fields of delimited text that lies in memory as a whole. */
#ifndef GB_IO_ROWS_H
#define GB_IO_ROWS_H

#include "io/text/number.h"

#define GB_ROW_MOST ((size_t)16 << 20) /* bytes of one row */
#define GB_FIELDS_MOST ((size_t)65536) /* fields of one row */

/* How text is cut. */
typedef struct gb_cut {
  char delimiter;   /* ' ': runs of blanks; 0: not known yet */
  char decimal;     /* '.' or ',' */
  bool mixed;       /* the delimiter can be part of a number */
  uint64_t ends[2]; /* bytes that end a field without quotes besides line ends: eight times each */
} gb_cut;

gb_cut gb_cut_of (char delimiter, char decimal);

/* What is wrong with a row. */
typedef enum gb_row_fault {
  GB_ROW_GOOD,
  GB_ROW_OPEN_QUOTE,
  GB_ROW_AFTER_QUOTE, /* text between the closing quote and the delimiter */
  GB_ROW_MANY_FIELDS
} gb_row_fault;

/* Text from 'at' to 'stop', changed while it is read: quotes and what ends words are overwritten. GB_DECIMAL_BEHIND bytes of 0
** follow it; there is no NUL before. */
typedef struct gb_rows {
  const gb_cut *cut;
  char *at, *stop;
  size_t lines; /* before 'at' */
  size_t line;  /* of the row that was begun last, from 1 */
  size_t n;     /* fields of it that were read */
  gb_row_fault fault;
} gb_rows;

/* Without the quotes and the blanks around it. */
typedef struct gb_field {
  char *at; /* a NUL follows what is no number */
  size_t n;
  bool is_number;
  bool is_last; /* of its row */
  gb_decimal number;
} gb_field;

/* Begins the next row that is neither blank nor a comment ('#'); false at the end. Lines end with LF, CR LF or CR outside
** quotes. */
bool gb_rows_next (gb_rows *r);

/* The next field of the row, unless one before it was the last. False: 'fault' says why, and 'n' is the number of fields before. */
bool gb_rows_field (gb_rows *r, gb_field *f);

/* One line, without a change to the text. */
typedef struct gb_line {
  char *start, *end; /* without the line end */
  size_t length;     /* with the line end */
  size_t breaks;     /* line breaks inside quotes */
} gb_line;

/* The line at 'start' if it is complete before 'stop'; at the end of the file ('ended') a line needs no line end, but quotes are
** closed. 'plain': quotes have no meaning in it. */
bool gb_line_find (const gb_cut *c, char *start, char *stop, bool plain, bool ended, gb_line *out);

/* Does the line at s begin as a comment? */
bool gb_line_is_comment (const char *s, const char *stop);

/* What follows the last line that is complete before 'stop'; 'start' if no line is complete. 'start' begins a line. */
char *gb_lines_end (const gb_cut *c, char *start, char *stop);

/* How many lines end before 'stop'; a CR at 'stop' ends one. */
size_t gb_lines_count (const char *start, const char *stop);

static inline bool gb_is_blank (char c) { return c == ' ' || c == '\t'; }

#endif
