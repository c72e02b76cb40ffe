/* cell.h - the meaning of one cell of text. */
#ifndef GB_IO_CELL_H
#define GB_IO_CELL_H

#include "io/text/rows.h"

typedef enum gb_cell_kind {
  GB_CELL_NUMBER,
  GB_CELL_MISSING,
  GB_CELL_BOOL,
  GB_CELL_DATE, /* YYYY-MM-DD, and a time of the day behind 'T' or a blank */
  GB_CELL_TEXT,
  GB_CELL_RANGE
} gb_cell_kind;

typedef struct gb_cell {
  double
      value; /* the nearest double; of DATE seconds since 1970, UTC; NaN unless NUMBER, DATE or BOOL (0 or 1) */
  int64_t whole; /* of an integer that fits */
  bool is_whole; /* an integer, written without point or exponent, that fits 64 bits */
  bool inexact;  /* written as an integer that 'value' cannot represent */
  bool comma;    /* TEXT that would be a number if its one comma were a point */
} gb_cell;

/* How words are understood. */
typedef struct gb_cell_rules {
  const char *na; /* one more word for "not available"; may be NULL */
  size_t na_length;
  char decimal;
  locale_t c; /* the C locale */
} gb_cell_rules;

/* The cell of a field. Decimal numbers, inf, ISO dates, and words for "not available" and for truth; nothing hexadecimal. RANGE: a
** number beyond the largest double. */
gb_cell_kind gb_cell_parse (const gb_field *f, const gb_cell_rules *rules, gb_cell *out);

/* The same but for 'value', which is worked out only where the kind or 'inexact' hangs on it. */
gb_cell_kind gb_cell_classify (const gb_field *f, const gb_cell_rules *rules, gb_cell *out);

#endif
