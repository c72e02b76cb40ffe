/* date.c - digits at fixed places. */
#include "io/text/date.h"

/* The text that is left. */
typedef struct cursor {
  const char *at, *end;
} cursor;

static bool take (cursor *c, char what) {
  if (c->at == c->end || *c->at != what) return false;
  c->at++;
  return true;
}

static bool take_number (cursor *c, int digits, int least, int most, int *out) {
  *out = 0;
  for (; digits > 0; digits--, c->at++) {
    if (c->at == c->end || *c->at < '0' || *c->at > '9') return false;
    *out = 10 * *out + (*c->at - '0');
  }
  return *out >= least && *out <= most;
}

static int days_of_month (int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return days[month - 1] + (month == 2 && leap);
}

/* Days from 1970-01-01. Years are counted from March, so that the leap day is the last one. */
static long days_since_1970 (int year, int month, int day) {
  const int y = year - (month <= 2), m = month + (month <= 2 ? 9 : -3);
  const long of_years = 365L * y + (y >= 0 ? y / 4 - y / 100 + y / 400 : -1);
  return of_years + (153L * m + 2) / 5 + day - 1 - 719468;
}

/* Z, an offset, or nothing: seconds to take away. */
static bool take_zone (cursor *c, long *offset) {
  int hours, minutes = 0;
  *offset = 0;
  if (c->at == c->end || take(c, 'Z')) return true;
  const bool east = take(c, '+');
  if (!east && !take(c, '-')) return false;
  if (!take_number(c, 2, 0, 23, &hours)) return false;
  take(c, ':');
  if (c->at < c->end && !take_number(c, 2, 0, 59, &minutes)) return false;
  *offset = (east ? 60L : -60L) * (60L * hours + minutes);
  return true;
}

static bool take_time (cursor *c, double *seconds) {
  int hour, minute, second = 0;
  double fraction = 0;
  long offset;
  if (!take_number(c, 2, 0, 23, &hour) || !take(c, ':') || !take_number(c, 2, 0, 59, &minute)) return false;
  if (take(c, ':')) {
    if (!take_number(c, 2, 0, 59, &second)) return false;
    if (take(c, '.')) {
      double part = 0, unit = 1;
      const char *first = c->at;
      for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (unit < 1e9) part = 10 * part + (*c->at - '0'), unit *= 10;
      if (c->at == first) return false;
      fraction = part / unit;
    }
  }
  if (!take_zone(c, &offset)) return false;
  *seconds = (double)(3600L * hour + 60L * minute + second - offset) + fraction;
  return true;
}

bool gb_date_seconds (const char *s, size_t n, double *out) {
  cursor c = {s, s + n};
  int year, month, day;
  double seconds = 0;
  if (n < 10 || s[4] != '-') return false;
  if (!take_number(&c, 4, 0, 9999, &year) || !take(&c, '-') || !take_number(&c, 2, 1, 12, &month) ||
      !take(&c, '-') || !take_number(&c, 2, 1, days_of_month(year, month), &day))
    return false;
  if (c.at < c.end && ((!take(&c, 'T') && !take(&c, ' ')) || !take_time(&c, &seconds))) return false;
  if (c.at < c.end) return false;
  *out = 86400.0 * (double)days_since_1970(year, month, day) + seconds;
  return true;
}
