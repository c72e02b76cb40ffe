/* cell.c - text to numbers. A number with few digits is a product or quotient of two exact doubles, hence
** correctly rounded; all others go to the C library. Source: Clinger (1990), How to Read Floating Point
** Numbers Accurately. */
#define _GNU_SOURCE
#include "io/cell.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHORT = 128 }; /* a number with a decimal comma of up to so many bytes is copied to the stack */

static bool is_digit (char c) { return c >= '0' && c <= '9'; }

/* The parts of [+-] digits [point digits] [e [+-] digits]. */
typedef struct decimal {
  bool negative, is_whole, long_mantissa;
  uint64_t mantissa; /* of the first 19 significant digits */
  int exponent;      /* of ten; capped far beyond the range of doubles */
} decimal;

static bool scan (const char *s, char point, decimal *d) {
  *d = (decimal){.is_whole = true};
  int digits = 0;
  bool any = false, fraction = false;
  if (*s == '+' || *s == '-') d->negative = *s++ == '-';
  for (;; s++) {
    if (*s == point && !fraction) {
      fraction = true;
      d->is_whole = false;
      continue;
    }
    if (!is_digit(*s)) break;
    any = true;
    if (digits == 0 && *s == '0') d->exponent -= fraction;
    else if (digits < 19) {
      d->mantissa = 10 * d->mantissa + (uint64_t)(*s - '0');
      digits++;
      d->exponent -= fraction;
    } else {
      d->long_mantissa = true;
      d->exponent += !fraction;
    }
  }
  if (!any) return false;
  if (*s == 'e' || *s == 'E') {
    int e = 0;
    bool minus = false;
    d->is_whole = false;
    s++;
    if (*s == '+' || *s == '-') minus = *s++ == '-';
    if (!is_digit(*s)) return false;
    for (; is_digit(*s); s++) e = e < 100000 ? 10 * e + (*s - '0') : e;
    d->exponent += minus ? -e : e;
  }
  return *s == '\0';
}

/* The nearest double, if one rounding suffices. */
static bool quick (const decimal *d, double *v) {
  static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (d->long_mantissa || d->mantissa > (uint64_t)1 << 53 || d->exponent < -22 || d->exponent > 22)
    return false;
  const double m = (double)d->mantissa;
  *v = d->exponent < 0 ? m / ten[-d->exponent] : m * ten[d->exponent];
  if (d->negative) *v = -*v;
  return true;
}

/* Parsed by the C library. If there is no memory for a long number it counts as text. */
static double slow (const char *s, char point, locale_t c) {
  char brief[SHORT], *copy = brief;
  const size_t n = strlen(s) + 1;
  if (point == '.') return strtod_l(s, NULL, c);
  if (n > SHORT && (copy = malloc(n)) == NULL) return NAN;
  memcpy(copy, s, n);
  char *at = strchr(copy, point);
  if (at != NULL) *at = '.';
  const double v = strtod_l(copy, NULL, c);
  if (copy != brief) free(copy);
  return v;
}

/* True if v is exactly the integer with these digits. */
static bool is_exact (const char *s, double v) {
  char text[400];
  if (*s == '+' || *s == '-') s++;
  while (*s == '0' && s[1] != '\0') s++;
  snprintf(text, sizeof text, "%.0f", fabs(v));
  return strcmp(text, s) == 0;
}

static void whole (const char *s, const decimal *d, gb_cell *out) {
  const uint64_t most = (uint64_t)INT64_MAX + d->negative;
  out->is_whole = !d->long_mantissa && d->exponent == 0 && d->mantissa <= most;
  if (out->is_whole) out->whole = (int64_t)(d->negative ? 0 - d->mantissa : d->mantissa);
  if (fabs(out->value) < 9007199254740992.0) return;
  if (out->is_whole && fabs(out->value) < 9223372036854775808.0)
    out->inexact = (int64_t)out->value != out->whole;
  else out->inexact = !is_exact(s, out->value);
}

static bool is_one_of (const char *s, const char *const *words) {
  for (; *words != NULL; words++)
    if (strcmp(s, *words) == 0) return true;
  return false;
}

static gb_cell_kind word (const char *s, gb_cell *out) {
  static const char *const missing[] = {"",    "NA",   "N/A",  "na", "NaN", "nan",
                                        "NAN", "null", "NULL", "?",  ".",   NULL};
  static const char *const no[] = {"false", "False", "FALSE", NULL}, *const yes[] = {"true", "True", "TRUE",
                                                                                     NULL};
  if (is_one_of(s, missing)) return GB_CELL_MISSING;
  if (is_one_of(s, no) || is_one_of(s, yes)) {
    out->value = is_one_of(s, yes);
    return GB_CELL_BOOL;
  }
  const char *name = s + (*s == '+' || *s == '-');
  if (strcasecmp(name, "nan") == 0) return GB_CELL_MISSING;
  if (strcasecmp(name, "inf") != 0 && strcasecmp(name, "infinity") != 0) return GB_CELL_TEXT;
  out->value = *s == '-' ? -INFINITY : INFINITY;
  return GB_CELL_NUMBER;
}

gb_cell_kind gb_cell_parse (const char *s, const char *na, char point, locale_t c, gb_cell *out) {
  decimal d;
  *out = (gb_cell){.value = NAN};
  if (na != NULL && strcmp(s, na) == 0) return GB_CELL_MISSING;
  if (!scan(s, point, &d)) {
    const gb_cell_kind kind = word(s, out);
    out->comma = kind == GB_CELL_TEXT && point == '.' && strchr(s, ',') != NULL && scan(s, ',', &d);
    return kind;
  }
  if (!quick(&d, &out->value)) {
    errno = 0;
    out->value = slow(s, point, c);
    if (isinf(out->value)) return GB_CELL_RANGE;
  }
  if (d.is_whole) whole(s, &d, out);
  return GB_CELL_NUMBER;
}
