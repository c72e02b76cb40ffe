/* csv.h - delimited text to columns. Numbers do not depend on the locale; gzip is unpacked; text is never
** executed. */
#ifndef GB_IO_CSV_H
#define GB_IO_CSV_H

#include <stdbool.h>

#include "base/pool.h"
#include "tensor/tensor.h"

/* A column by its name in the file, or by its number from 1. */
typedef struct gb_csv_choice {
  const char *name; /* NULL: by number */
  size_t number;
} gb_csv_choice;

typedef struct gb_csv_options {
  size_t skip;      /* lines to leave out at the start */
  char delimiter;   /* 0 = the one of , ; tab | and white space that splits the first rows evenly */
  char decimal;     /* ',' or '.'; 0 = '.' */
  const char *na;   /* one more spelling of "not available" besides "", NA, N/A, NaN, null, ?; NULL = none */
  bool has_names;   /* the caller gives names: a first line of text is then an error, not a heading */
  double max_ratio; /* of unpacked to packed bytes; 0 = GB_CSV_RATIO */
  const gb_csv_choice *chosen; /* columns to read, others take no memory; NULL = all */
  size_t nchosen;
  const gb_csv_choice *text; /* columns that are text, whatever their cells look like */
  size_t ntext;
  gb_pool *pool; /* threads; NULL = the caller's alone */
  size_t piece;  /* bytes of a piece that a thread works on at first; 0 = a usual size */
} gb_csv_options;

#define GB_CSV_RATIO 1000.0 /* about the ratio of gzip on one repeated byte */

typedef enum gb_column_kind {
  /* numbers: f64 with NaN for "not available"; i64 if integers need it; bool if all cells are truth values */
  GB_COLUMN_VALUES,
  GB_COLUMN_TEXT,  /* words, in at least one cell of ten */
  GB_COLUMN_MIXED, /* a few words among numbers: most likely a mistake in the file */
  GB_COLUMN_DATE,  /* dates alone, and cells that are not available */
  GB_COLUMN_LEFT   /* not chosen */
} gb_column_kind;

typedef struct gb_column {
  const char *name; /* "" if the file has no heading */
  gb_column_kind kind;
  bool is_text;    /* the options say so */
  gb_tensor value; /* VALUES: (rows); DATE: seconds since 1970 in UTC, NaN where not available */
  gb_tensor text;  /* TEXT, DATE: bytes: the cells as written, one after the other, each ended by NUL */
  size_t nodd;     /* TEXT, MIXED: cells that are not numbers */
  size_t odd_line; /* line of the first such cell, from 1 */
  char odd[48];    /* its text, truncated */
  bool comma;      /* TEXT, MIXED: every odd cell is a number with a decimal comma */
} gb_column;

typedef struct gb_frame {
  size_t nrows, ncols;
  size_t nkept; /* columns that are not left out */
  gb_column *column;
  char *names;
  gb_tensor account; /* ledger entry for the memory of 'column' and 'names' */
  char notes[1024];  /* warnings for the user: lines, each ended by '\n' */
} gb_frame;

/* Reads the file twice: once to find the types of its columns, once to fill them. Beside the result a few pieces of
** text are held for each thread, and of a packed file the whole text where that takes less than half of what is free:
** else it is unpacked twice. All is charged to 'l'. Results and errors are the same for any number of threads and any
** size of pieces. Errors: EIO (cannot read, not a plain file, changed between the passes), EOPTION (a chosen column is
** not there), EFORMAT with path:line (ragged rows, a number out of range, an open quote, too many fields, a NUL byte)
** or without (no rows and no heading, damaged gzip, a compression ratio above 'max_ratio'), ENOMEM, EINTR; of two
** errors in the text the first one is told. A byte order mark is dropped; lines that start with '#' are comments. */
gb_status gb_csv_read (gb_ledger *l, const char *path, const char *where, const gb_csv_options *o,
                       gb_frame *out, gb_error *err);
void gb_frame_clear (gb_frame *f); /* idempotent */

/* The source of one column to write: a vector, a column of a matrix, or text as in gb_column. */
typedef struct gb_csv_column {
  const char *name;
  const gb_tensor *value; /* NULL: text */
  size_t index;           /* of the matrix's column */
  const char *text;
} gb_csv_column;

/* What a column of these cells of text, each ended by NUL, is read as where the options do not say that it is text. */
gb_column_kind gb_csv_kind_of_text (const char *text, size_t rows);

/* Shortest digits that read back the same; integers whole; bool as true and false. 'has_names': the first row
** holds them. The file is written whole or not at all. Errors: EIO, ENOMEM, EINTR. */
gb_status gb_csv_write (const char *path, size_t rows, size_t cols, const gb_csv_column *column,
                        bool has_names, gb_error *err);

#endif
