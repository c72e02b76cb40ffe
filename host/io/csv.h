/* csv.h - delimited text to columns. Numbers do not depend on the locale; gzip is read as is; text is never executed. */
#ifndef GB_IO_CSV_H
#define GB_IO_CSV_H

#include <stdbool.h>

#include "base/status.h"

typedef struct gb_csv_options {
  size_t skip;               /* lines to leave out at the start */
  char delimiter;            /* 0 = the one of , ; tab | that occurs in the first line, else white space */
  const char *na;            /* one more spelling of "not available" besides "", NA, N/A, NaN, null, ?; NULL = none */
  bool has_names;            /* names are given from outside: a first line of text is then an error, not a heading */
} gb_csv_options;

typedef struct gb_column {
  char *name;                /* "" where the file has no heading */
  double *value;             /* (rows); NaN = not available */
  char **text;               /* (rows) cells as written, kept only where some cell is not a number; else NULL */
  size_t ntext;              /* cells that are not numbers */
  size_t first_line;         /* line of the first such cell, from 1 */
} gb_column;

typedef struct gb_frame {
  size_t nrows, ncols;
  gb_column *column;
  size_t room;               /* rows allocated in every column */
} gb_frame;

/* Errors: EIO (cannot read), EFORMAT with path:line (ragged rows, a number out of range, NUL bytes, no rows and no heading),
** ENOMEM. Lines may end in CR LF; a byte order mark is dropped; lines that start with '#' are comments. */
gb_status gb_csv_read (const char *path, const gb_csv_options *o, gb_frame *out, gb_error *err);
void gb_frame_clear (gb_frame *f);

/* Writes rows x cols values, row-major, shortest digits that read back the same. 'names' may be NULL. */
gb_status gb_csv_write (const char *path, size_t rows, size_t cols, const double *value, const char *const *names, gb_error *err);

#endif
