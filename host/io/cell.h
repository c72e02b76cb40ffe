/* cell.h - the meaning of one cell of text. */
#ifndef GB_IO_CELL_H
#define GB_IO_CELL_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum gb_cell_kind {
  GB_CELL_NUMBER,
  GB_CELL_MISSING,
  GB_CELL_BOOL,
  GB_CELL_TEXT,
  GB_CELL_RANGE
} gb_cell_kind;

typedef struct gb_cell {
  double value;  /* the nearest double; NaN unless NUMBER or BOOL (0 or 1) */
  int64_t whole; /* of an integer that fits */
  bool is_whole; /* an integer, written without point or exponent, that fits 64 bits */
  bool inexact;  /* written as an integer that 'value' cannot represent */
  bool comma;    /* TEXT that would be a number if its one comma were a point */
} gb_cell;

/* Decimal numbers, inf, and words for "not available" and for truth; nothing hexadecimal. 'na' (may be
** NULL) is one more word for "not available". 'c' is the C locale. RANGE: a number beyond the largest
** double. */
gb_cell_kind gb_cell_parse (const char *s, const char *na, char decimal, locale_t c, gb_cell *out);

#endif
