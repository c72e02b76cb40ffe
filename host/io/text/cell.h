/* cell.h - the meaning of one cell of text. */
#ifndef GB_IO_CELL_H
#define GB_IO_CELL_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The cell of the n bytes at s, with GB_DECIMAL_BEHIND bytes behind them (number.h). Decimal numbers, inf, ISO dates, and words for "not available" and for truth;
** nothing hexadecimal. 'na' (may be NULL) is one more word for "not available". 'c' is the C locale. RANGE: a number beyond the
** largest double. */
gb_cell_kind gb_cell_parse (const char *s, size_t n, const char *na, char decimal, locale_t c, gb_cell *out);

/* The same but for 'value', which is worked out only where the kind or 'inexact' hangs on it. */
gb_cell_kind gb_cell_classify (const char *s, size_t n, const char *na, char decimal, locale_t c,
                               gb_cell *out);

#endif
