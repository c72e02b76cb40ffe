/* cell.c - text to numbers, dates and words. */
#define _GNU_SOURCE
#include "io/text/cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "io/text/date.h"
#include "io/text/number.h"

/* A number of up to 19 digits with a smaller exponent than this is finite. */
#define FINITE_EXPONENT 280

/* True if v is exactly the integer with these digits. */
static bool is_exact (const char *s, double v) {
  char text[400];
  if (*s == '+' || *s == '-') s++;
  while (*s == '0' && s[1] != '\0') s++;
  snprintf(text, sizeof text, "%.0f", fabs(v));
  return strcmp(text, s) == 0;
}

static void whole (const char *s, const gb_decimal *d, gb_cell *out) {
  const uint64_t most = (uint64_t)INT64_MAX + d->negative;
  out->is_whole = !d->long_mantissa && d->exponent == 0 && d->mantissa <= most;
  if (out->is_whole) out->whole = (int64_t)(d->negative ? 0 - d->mantissa : d->mantissa);
  if (!(fabs(out->value) >= 9007199254740992.0)) return;
  if (out->is_whole && fabs(out->value) < 9223372036854775808.0)
    out->inexact = (int64_t)out->value != out->whole;
  else out->inexact = !is_exact(s, out->value);
}

static bool is_one_of (const char *s, const char *const *words) {
  for (; *words != NULL; words++)
    if (strcmp(s, *words) == 0) return true;
  return false;
}

/* What is no number: the words here have at most nine bytes and begin with one of 'first'. */
static gb_cell_kind word (const char *s, size_t n, gb_cell *out) {
  static const char *const missing[] = {"",    "NA",   "N/A",  "na", "NaN", "nan",
                                        "NAN", "null", "NULL", "?",  ".",   NULL};
  static const char *const no[] = {"false", "False", "FALSE", NULL}, *const yes[] = {"true", "True", "TRUE",
                                                                                     NULL};
  static const char first[] = "NnfFtTiI+-?."; /* and the NUL of "" */
  if (n > 9 || memchr(first, *s, sizeof first) == NULL) return GB_CELL_TEXT;
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

static gb_cell_kind no_number (const char *s, size_t n, char point, gb_cell *out) {
  gb_decimal d;
  const gb_cell_kind kind = word(s, n, out);
  if (kind != GB_CELL_TEXT) return kind;
  if (gb_date_seconds(s, n, &out->value)) return GB_CELL_DATE;
  out->comma = point == '.' && memchr(s, ',', n) != NULL && gb_decimal_scan(s, n, ',', &d);
  return kind;
}

static gb_cell_kind look (const char *s, size_t n, const char *na, char point, locale_t c, bool valued,
                          gb_cell *out) {
  gb_decimal d;
  *out = (gb_cell){.value = NAN};
  if (na != NULL && strcmp(s, na) == 0) return GB_CELL_MISSING;
  if (!gb_decimal_scan(s, n, point, &d)) return no_number(s, n, point, out);
  const bool large = d.mantissa > (uint64_t)1 << 53 || d.exponent > 0;
  if (valued || d.exponent > FINITE_EXPONENT || (d.is_whole && large)) {
    out->value = gb_decimal_value(&d, s, n, point, c);
    if (isinf(out->value)) return GB_CELL_RANGE;
  }
  if (d.is_whole) whole(s, &d, out);
  return GB_CELL_NUMBER;
}

gb_cell_kind gb_cell_parse (const char *s, size_t n, const char *na, char point, locale_t c, gb_cell *out) {
  return look(s, n, na, point, c, true, out);
}

gb_cell_kind gb_cell_classify (const char *s, size_t n, const char *na, char point, locale_t c,
                               gb_cell *out) {
  return look(s, n, na, point, c, false, out);
}
