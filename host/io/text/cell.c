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

/* True if v is exactly the integer with these n digits, which may have a sign. */
static bool is_exact (const char *s, size_t n, double v) {
  char text[400];
  const char *end = s + n;
  if (*s == '+' || *s == '-') s++;
  while (*s == '0' && s + 1 < end) s++;
  const int length = snprintf(text, sizeof text, "%.0f", fabs(v));
  return length == end - s && memcmp(text, s, (size_t)length) == 0;
}

static void whole (const gb_field *f, gb_cell *out) {
  const gb_decimal *d = &f->number;
  const uint64_t most = (uint64_t)INT64_MAX + d->negative;
  out->is_whole = !d->long_mantissa && d->exponent == 0 && d->mantissa <= most;
  if (out->is_whole) out->whole = (int64_t)(d->negative ? 0 - d->mantissa : d->mantissa);
  if (!(fabs(out->value) >= 9007199254740992.0)) return;
  if (out->is_whole && fabs(out->value) < 9223372036854775808.0)
    out->inexact = (int64_t)out->value != out->whole;
  else out->inexact = !is_exact(f->at, f->n, out->value);
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

static __attribute__((noinline)) gb_cell_kind no_number (const char *s, size_t n, char point, gb_cell *out) {
  gb_decimal d;
  const gb_cell_kind kind = word(s, n, out);
  if (kind != GB_CELL_TEXT) return kind;
  if (gb_date_seconds(s, n, &out->value)) return GB_CELL_DATE;
  out->comma = point == '.' && memchr(s, ',', n) != NULL && gb_decimal_scan(s, n, ',', &d);
  return kind;
}

static inline gb_cell_kind look (const gb_field *f, const gb_cell_rules *r, bool valued, gb_cell *out) {
  const gb_decimal *d = &f->number;
  *out = (gb_cell){.value = NAN};
  if (r->na != NULL && f->n == r->na_length && memcmp(f->at, r->na, f->n) == 0) return GB_CELL_MISSING;
  if (!f->is_number) return no_number(f->at, f->n, r->decimal, out);
  const bool large = d->mantissa > (uint64_t)1 << 53 || d->exponent > 0;
  if (valued || d->exponent > FINITE_EXPONENT || (d->is_whole && large)) {
    out->value = gb_decimal_value(d, f->at, f->n, r->decimal, r->c);
    if (isinf(out->value)) return GB_CELL_RANGE;
  }
  if (d->is_whole) whole(f, out);
  return GB_CELL_NUMBER;
}

gb_cell_kind gb_cell_parse (const gb_field *f, const gb_cell_rules *rules, gb_cell *out) {
  return look(f, rules, true, out);
}

gb_cell_kind gb_cell_classify (const gb_field *f, const gb_cell_rules *rules, gb_cell *out) {
  return look(f, rules, false, out);
}
