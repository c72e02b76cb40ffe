/* csv.h - delimited text to columns. Numbers do not depend on the locale; gzip is read as is; text is
** never executed. */
#ifndef GB_IO_CSV_H
#define GB_IO_CSV_H

#include <stdbool.h>

#include "tensor/tensor.h"

typedef struct gb_csv_options {
  size_t skip;      /* lines to leave out at the start */
  char delimiter;   /* 0 = of , ; tab | and white space the one that splits the first rows evenly */
  char decimal;     /* ',' or '.'; 0 = '.' */
  const char *na;   /* one more spelling of "not available" besides "", NA, N/A, NaN, null, ?; NULL = none */
  bool has_names;   /* names are given from outside: a first line of text is then an error, not a heading */
  double max_ratio; /* of unpacked to packed bytes; 0 = GB_CSV_RATIO */
} gb_csv_options;

#define GB_CSV_RATIO 1000.0 /* about what gzip makes of one byte that is repeated */

typedef enum gb_column_kind {
  /* numbers: f64 with NaN for "not available"; i64 where integers need it; bool where all are words of
  ** truth */
  GB_COLUMN_VALUES,
  GB_COLUMN_TEXT, /* words, in at least one cell of ten */
  GB_COLUMN_MIXED /* a few words among numbers: most likely a mistake in the file */
} gb_column_kind;

typedef struct gb_column {
  const char *name; /* "" where the file has no heading */
  gb_column_kind kind;
  gb_tensor value; /* VALUES: (rows) */
  gb_tensor text;  /* TEXT: bytes: the cells as written, one after the other, each ended by NUL */
  size_t nodd;     /* TEXT, MIXED: cells that are no numbers */
  size_t odd_line; /* the line of the first, from 1, */
  char odd[48];    /* and its text, cut where it is longer */
  bool comma;      /* TEXT, MIXED: every odd cell is a number with a decimal comma */
} gb_column;

typedef struct gb_frame {
  size_t nrows, ncols;
  gb_column *column;
  char *names;
  gb_tensor account; /* what 'column' and 'names' take, in the ledger */
  char notes[1024];  /* what a reader should know: lines, each ended by '\n' */
} gb_frame;

/* Reads the file twice: once to know its columns, once to fill them, so that nothing but the result and a
** window is held; all of it is charged to 'l'. Errors: EIO (cannot read, no plain file, changed
** meanwhile), EFORMAT with path:line (ragged rows, a number out of range, an open quote, too many fields;
** NUL bytes, no rows and no heading, damaged or outrageous gzip), ENOMEM, EINTR. A byte order mark is
** dropped; lines that start with '#' are comments. */
gb_status gb_csv_read (gb_ledger *l, const char *path, const char *where, const gb_csv_options *o,
                       gb_frame *out, gb_error *err);
void gb_frame_clear (gb_frame *f); /* idempotent */

/* What one column of a file is made of: a vector, a column of a matrix, or text as gb_column has it. */
typedef struct gb_csv_column {
  const char *name;
  const gb_tensor *value; /* NULL: text */
  size_t index;           /* of the matrix's column */
  const char *text;
} gb_csv_column;

/* Shortest digits that read back the same; integers whole; bool as true and false. 'has_names': the first
** row holds them. The file is there whole or not at all. Errors: EIO, ENOMEM, EINTR. */
gb_status gb_csv_write (const char *path, size_t rows, size_t cols, const gb_csv_column *column,
                        bool has_names, gb_error *err);

#endif
