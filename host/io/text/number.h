/* number.h - decimal text to the nearest double. */
#ifndef GB_IO_NUMBER_H
#define GB_IO_NUMBER_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of [+-] digits [point digits] [e [+-] digits]. */
typedef struct gb_decimal {
  bool negative;
  bool is_whole;      /* written without point and exponent */
  bool long_mantissa; /* more than 19 significant digits: 'mantissa' lacks some */
  uint64_t mantissa;  /* the first 19 significant digits */
  int exponent;       /* of ten, of 'mantissa'; capped far beyond the range of doubles */
} gb_decimal;

#define GB_DECIMAL_BEHIND 8 /* bytes behind a text that can be read, the first of them NUL */

/* The longest such number at the start of the text; returns what follows it, NULL where none begins there. */
const char *gb_decimal_read (const char *s, char point, gb_decimal *out);

/* True if the n bytes at s are such a number and nothing else; byte n is no part of a number. */
static inline bool gb_decimal_scan (const char *s, size_t n, char point, gb_decimal *out) {
  return gb_decimal_read(s, point, out) == s + n;
}

/* The nearest double, ties to even, as the C library's strtod reads the same text: infinite beyond the range. 'c' is
** the C locale. Where there is no memory for a number of very many digits: NaN. */
double gb_decimal_value (const gb_decimal *d, const char *s, size_t n, char point, locale_t c);

#endif
