/* test_number.c - decimal text against the C library's strtod, bit for bit, and ISO dates against its calendar. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "io/text/date.h"
#include "io/text/number.h"

enum { LONGEST = 120 };
static locale_t plain;
static uint64_t state = 88172645463325252u;

static uint64_t draw (uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % below;
}

static uint64_t bits_of (double v) {
  uint64_t b;
  memcpy(&b, &v, sizeof b);
  return b;
}

/* With the bytes behind the text that gb_decimal_scan may read: digits, which it must not count. */
static bool scan (const char *s, char point, gb_decimal *d) {
  char text[LONGEST + 1 + GB_DECIMAL_BEHIND];
  const size_t n = strlen(s);
  memset(text, '7', sizeof text);
  memcpy(text, s, n + 1);
  return gb_decimal_scan(text, n, point, d);
}

static void expect_as_strtod (const char *s) {
  gb_decimal d;
  if (!scan(s, '.', &d)) fail_msg("'%s' is a number", s);
  const double got = gb_decimal_value(&d, s, strlen(s), '.', plain), want = strtod_l(s, NULL, plain);
  if (bits_of(got) != bits_of(want)) fail_msg("'%s': %.17g, not %.17g", s, got, want);
  char comma[LONGEST + 1], *point = strcpy(comma, s);
  if ((point = strchr(comma, '.')) != NULL) *point = ',';
  if (!scan(comma, ',', &d) || bits_of(gb_decimal_value(&d, comma, strlen(s), ',', plain)) != bits_of(want))
    fail_msg("'%s' is not %.17g", comma, want);
}

/* Random digits, mostly few, around a point; an exponent, mostly small. */
static void spell (char *s) {
  const size_t before = draw(8) == 0 ? draw(30) : draw(7), behind = draw(8) == 0 ? draw(30) : draw(19);
  if (draw(3) == 0) *s++ = "+-"[draw(2)];
  if (draw(6) == 0) s += sprintf(s, "%.*s", (int)draw(9), "00000000");
  for (size_t i = 0; i < before; i++) *s++ = (char)('0' + draw(10));
  if (before == 0) *s++ = '0';
  if (draw(4) != 0) {
    *s++ = '.';
    if (draw(4) == 0) s += sprintf(s, "%.*s", (int)draw(9), "00000000");
    for (size_t i = 0; i < behind; i++) *s++ = (char)('0' + draw(10));
  }
  if (draw(3) == 0) s += sprintf(s, "%c%d", "eE"[draw(2)], (int)draw(60) - 30);
  else if (draw(40) == 0) s += sprintf(s, "e%+d", (int)draw(700) - 350);
  *s = '\0';
}

static void random_spellings_are_read_as_strtod_does (void **unused) {
  (void)unused;
  char s[LONGEST + 1];
  for (int i = 0; i < 2000000; i++) {
    spell(s);
    expect_as_strtod(s);
  }
}

static void doubles_written_by_printf_are_read_as_strtod_does (void **unused) {
  (void)unused;
  char s[LONGEST + 1];
  for (int i = 0; i < 300000; i++) {
    const uint64_t b = draw(2) == 0 ? draw(UINT64_MAX) : (1000 + draw(60)) << 52 | draw((uint64_t)1 << 52);
    double v;
    memcpy(&v, &b, sizeof v);
    if (v != v || v - v != 0) continue;
    snprintf(s, sizeof s, "%.*g", (int)(15 + draw(5)), v);
    expect_as_strtod(s);
  }
}

/* Halfway between two doubles, and a unit of the last digit beside it: odd integers above 2^53, and such integers times and divided
** by powers of ten. */
static void ties_go_to_even (void **unused) {
  (void)unused;
  char s[LONGEST + 1];
  for (int i = 0; i < 300000; i++) {
    const uint64_t m = ((uint64_t)1 << (53 + draw(10))) + (draw((uint64_t)1 << 52) | 1);
    for (int k = -1; k <= 1; k++) {
      snprintf(s, sizeof s, "%" PRIu64 "%s%d", m + (uint64_t)(int64_t)k, draw(2) ? "e" : "e-", (int)draw(28));
      expect_as_strtod(s);
      snprintf(s, sizeof s, "%" PRIu64 ".%0*d", m, (int)draw(2), 0);
      expect_as_strtod(s);
    }
  }
  expect_as_strtod("9007199254740993");
  expect_as_strtod("9007199254740993.0");
  expect_as_strtod("0.500000000000000166533453693773481063544750213623046875");
  expect_as_strtod("18446744073709551615e27");
  expect_as_strtod("9999999999999999999e-27");
}

static void ends_of_the_range_are_read_as_strtod_does (void **unused) {
  (void)unused;
  static const char *const all[] = {
      "0",       "-0",       "0e99999",  "-0.000e-99999", "1e308",
      "1.8e308", "1e309",    "5e-324",   "2e-324",        "2.4703282292062328e-324",
      "1e-400",  "1e400000", "00000000", "00000001",      "0000000000000000000000001.5"};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) expect_as_strtod(all[i]);
}

static void other_text_is_no_number (void **unused) {
  (void)unused;
  static const char *const all[] = {"",      "+",    "-",    ".",   "+.",    "e5",        "1e",
                                    "1e+",   "1e5.", "1.2.", "1,5", "0x1p3", "12345678x", "1 2",
                                    "12:30", "1:",   ":1",   "1/2", "--1",   "1e5 ",      "\xB1\xB2\xB3"};
  gb_decimal d;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (scan(all[i], '.', &d)) fail_msg("'%s' is no number", all[i]);
}

static void days_are_those_of_the_calendar (void **unused) {
  (void)unused;
  char s[64];
  double got;
  for (int i = 0; i < 200000; i++) {
    const time_t t = (time_t)draw(9999ull * 31556952u) - (time_t)1969 * 31556952;
    struct tm at;
    gmtime_r(&t, &at);
    if (at.tm_year + 1900 < 0 || at.tm_year + 1900 > 9999) continue;
    snprintf(s, sizeof s, "%04d-%02d-%02dT%02d:%02d:%02dZ", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday,
             at.tm_hour, at.tm_min, at.tm_sec);
    if (!gb_date_seconds(s, strlen(s), &got) || !(got == (double)t))
      fail_msg("%s is %ld, got %.0f", s, (long)t, got);
  }
}

static void dates_have_one_form (void **unused) {
  (void)unused;
  static const struct {
    const char *text;
    double seconds;
  } good[] = {{"1970-01-01", 0},
              {"0000-01-01", -62167219200.0},
              {"2000-02-29", 951782400},
              {"1970-01-02 00:01", 86460},
              {"1970-01-01T00:00:01.25", 1.25},
              {"1970-01-01T01:00+01:00", 0},
              {"1969-12-31T19:30:00-0430", 0},
              {"1970-01-01T02:00:00+02", 0}};
  static const char *const bad[] = {
      "1970-1-01",   "1970-13-01",         "1900-02-29",      "1970-00-10",        "1970-01-32",
      "1970-01-01T", "1970-01-01T24:00",   "1970-01-01T1:00", "1970-01-01T01:00:", "1970-01-01T01:00:00.",
      "1970-01-01x", "1970-01-01T01:00 Z", "01/02/1970",      "1970-01-01T01:60",  "19700101"};
  double got;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
    if (!gb_date_seconds(good[i].text, strlen(good[i].text), &got) || !(got == good[i].seconds))
      fail_msg("%s: got %.17g", good[i].text, got);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    if (gb_date_seconds(bad[i], strlen(bad[i]), &got)) fail_msg("'%s' is no date", bad[i]);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_spellings_are_read_as_strtod_does),
      cmocka_unit_test(doubles_written_by_printf_are_read_as_strtod_does),
      cmocka_unit_test(ties_go_to_even),
      cmocka_unit_test(ends_of_the_range_are_read_as_strtod_does),
      cmocka_unit_test(other_text_is_no_number),
      cmocka_unit_test(days_are_those_of_the_calendar),
      cmocka_unit_test(dates_have_one_form),
  };
  plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  freelocale(plain);
  return failed;
}
