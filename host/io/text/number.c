/* number.c - a decimal m 10^e is rounded once. Up to 2^53 and 10^22 m and the power are doubles, and the product or quotient of
** two doubles is rounded correctly: Clinger (1990), How to Read Floating Point Numbers Accurately. Up to 19 digits and 10^27 both
** are integers of 64 bits, and their product or quotient is rounded here from 128 bits. All others go to the C library. */
#define _GNU_SOURCE
#include "io/text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/text/eight.h"

enum { SHORT = 128 }; /* a number of fewer bytes is copied to the stack */

static bool is_digit (char c) { return (unsigned char)(c - '0') < 10; }

/* -- scanning */

/* The high bits of those of eight bytes that are no digits. */
static inline uint64_t others_in (uint64_t v) {
  const uint64_t low = 0x7F7F7F7F7F7F7F7Fu, high = ~low;
  const uint64_t x = v ^ 0x3030303030303030u;            /* digits become 0 .. 9 */
  return (((x & low) + 0x7676767676767676u) | x) & high; /* 10 + 0x76 = 0x80 */
}

/* How many of eight bytes, from the lowest on, are digits. */
static int digits_in (uint64_t v) {
  const uint64_t others = others_in(v);
  return others == 0 ? 8 : gb_eight_first(others);
}

/* The number of eight digits, the first in the lowest byte: they are joined to pairs, to fours, to one. Bytes of 0 count as the
** digit 0. */
static uint64_t eight_digits (uint64_t v) {
  v = (v & 0x0F0F0F0F0F0F0F0Fu) * (10 * 256 + 1) >> 8;
  v = (v & 0x00FF00FF00FF00FFu) * (100 * 65536 + 1) >> 16;
  return (v & 0x0000FFFF0000FFFFu) * (10000 * 4294967296u + 1) >> 32;
}

/* Appends the digits at s to '*m', modulo 2^64. Returns the first byte that is not a digit. */
static const char *append_digits (const char *s, uint64_t *m) {
  static const uint64_t ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  for (;;) {
    const uint64_t v = gb_eight_bytes(s);
    const int n = digits_in(v);
    if (n == 0) return s;
    *m = *m * ten[n] + eight_digits(v << (64 - 8 * n));
    s += n;
    if (n < 8) return s;
  }
}

/* Digits and a point that end within eight bytes, as most numbers do: without the point they are one group of digits. NULL where
** there are no digits, or more than eight bytes. */
static inline const char *read_brief (const char *s, char point, gb_decimal *out) {
  uint64_t v = gb_eight_bytes(s), others = others_in(v);
  if (others == 0) return NULL;
  int n = gb_eight_first(others), length = n, behind = 0;
  out->is_whole = (char)(v >> 8 * n) != point;
  if (!out->is_whole) {
    others &= others - 1;
    if (others == 0) return NULL;
    length = gb_eight_first(others);
    behind = length - 1 - n;
    const uint64_t before = ((uint64_t)1 << 8 * n) - 1;
    v = (v & before) | (v >> 8 & ~before);
    n = length - 1;
  }
  if (n == 0) return NULL;
  out->mantissa = eight_digits(v << (64 - 8 * n));
  out->exponent = -behind;
  return s + length;
}

/* The mantissa of a number of more than 19 digits, from its first digit or point on, up to 'stop'. */
static void scan_long (const char *s, const char *stop, char point, gb_decimal *d) {
  int digits = 0;
  bool fraction = false;
  d->mantissa = 0;
  d->exponent = 0;
  for (; s < stop; s++) {
    if (*s == point) fraction = true;
    else if (digits == 0 && *s == '0') d->exponent -= fraction;
    else if (digits < 19) {
      d->mantissa = 10 * d->mantissa + (uint64_t)(*s - '0');
      digits++;
      d->exponent -= fraction;
    } else {
      d->long_mantissa = true;
      d->exponent += !fraction;
    }
  }
}

/* What follows the exponent whose letter is at s; s where there are no digits. */
static __attribute__((noinline)) const char *read_exponent (const char *s, gb_decimal *d) {
  const char *at = s + 1;
  int e = 0;
  const bool minus = *at == '-';
  at += *at == '+' || *at == '-';
  if (!is_digit(*at)) return s;
  for (; is_digit(*at); at++) e = e < 100000 ? 10 * e + (*at - '0') : e;
  d->exponent += minus ? -e : e;
  d->is_whole = false;
  return at;
}

/* Digits and a point of any length; NULL where there are no digits. */
static __attribute__((noinline)) const char *read_long (const char *s, char point, gb_decimal *out) {
  uint64_t m = 0;
  const char *first = s, *stop = append_digits(s, &m);
  ptrdiff_t digits = stop - first, behind = 0;
  out->is_whole = *stop != point;
  if (!out->is_whole) {
    const char *rest = stop + 1;
    stop = append_digits(rest, &m);
    behind = stop - rest;
    digits += behind;
  }
  if (digits == 0) return NULL;
  out->mantissa = m;
  out->exponent = (int)-behind;
  if (digits > 19) scan_long(first, stop, point, out);
  return stop;
}

const char *gb_decimal_read (const char *s, char point, gb_decimal *out) {
  out->negative = *s == '-';
  out->long_mantissa = false;
  s += *s == '+' || *s == '-';
  const char *stop = read_brief(s, point, out);
  if (stop == NULL) stop = read_long(s, point, out);
  if (stop == NULL) return NULL;
  return *stop == 'e' || *stop == 'E' ? read_exponent(stop, out) : stop;
}

/* -- values */

enum { POWERS = 27 }; /* 10^27 has 5^27 < 2^63 as its odd part */

/* 5^k of 0 <= k <= 27: the powers of ten but for their powers of two. */
static uint64_t power_of_five (int k) {
  static const uint64_t five[] = {1ull,
                                  5ull,
                                  25ull,
                                  125ull,
                                  625ull,
                                  3125ull,
                                  15625ull,
                                  78125ull,
                                  390625ull,
                                  1953125ull,
                                  9765625ull,
                                  48828125ull,
                                  244140625ull,
                                  1220703125ull,
                                  6103515625ull,
                                  30517578125ull,
                                  152587890625ull,
                                  762939453125ull,
                                  3814697265625ull,
                                  19073486328125ull,
                                  95367431640625ull,
                                  476837158203125ull,
                                  2384185791015625ull,
                                  11920928955078125ull,
                                  59604644775390625ull,
                                  298023223876953125ull,
                                  1490116119384765625ull,
                                  7450580596923828125ull};
  return five[k];
}

static bool by_doubles (const gb_decimal *d, double *v) {
  static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (d->mantissa > (uint64_t)1 << 53 || d->exponent < -22 || d->exponent > 22) return false;
  const double m = (double)d->mantissa;
  *v = d->exponent < 0 ? m / ten[-d->exponent] : m * ten[d->exponent];
  return true;
}

/* v 2^e, which is a normal number. */
static double scaled (double v, int e) {
  const uint64_t bits = (uint64_t)(1023 + e) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return v * power;
}

/* q 2^e, where 'more' says that something below q's last bit was left out; q >= 2^54. Rounds to nearest, ties to even. The results
** here are normal numbers: 10^-27 <= |v| < 10^46. */
static double rounded (uint64_t q, int e, bool more) {
  const int drop = 11 - __builtin_clzll(q);
  const uint64_t half = (uint64_t)1 << (drop - 1), rest = q & (2 * half - 1);
  q >>= drop;
  if (rest > half || (rest == half && (more || (q & 1) != 0))) q++;
  return scaled((double)q, e + drop);
}

__extension__ typedef unsigned __int128 wide;

static double product (uint64_t m, int k) {
  const wide p = (wide)m * power_of_five(k);
  const uint64_t high = (uint64_t)(p >> 64), low = (uint64_t)p;
  if (high == 0) return scaled((double)low, k); /* one rounding, of an integer */
  const int up = __builtin_clzll(high);
  const wide top = p << up;
  return rounded((uint64_t)(top >> 64), 64 - up + k, (uint64_t)top != 0);
}

/* m / 5^k with both shifted up to their highest bits: the quotient has 63 or 64 bits. */
static double quotient (uint64_t m, int k) {
  const uint64_t p = power_of_five(k);
  const int up_m = __builtin_clzll(m), up_p = __builtin_clzll(p);
  const uint64_t divisor = p << up_p;
  const wide dividend = (wide)(m << up_m) << 63; /* below divisor 2^64 */
  const uint64_t q = (uint64_t)(dividend / divisor);
  return rounded(q, up_p - up_m - 63 - k, (wide)q * divisor != dividend);
}

/* Parsed by the C library, from a copy that ends behind the number. */
static double by_library (const char *s, size_t n, char point, locale_t c) {
  char brief[SHORT], *copy = brief;
  if (n >= SHORT && (copy = malloc(n + 1)) == NULL) return NAN;
  memcpy(copy, s, n);
  copy[n] = '\0';
  char *at = memchr(copy, point, n);
  if (at != NULL) *at = '.';
  const double v = strtod_l(copy, NULL, c);
  if (copy != brief) free(copy);
  return v;
}

/* Without a branch on the sign, which cannot be predicted. */
static double with_sign (double v, bool negative) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  bits |= (uint64_t)negative << 63;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Of a number that two doubles do not give. Apart from gb_decimal_value, so that the others need no room on the stack. */
static __attribute__((noinline)) double by_integers (const gb_decimal *d, const char *s, size_t n, char point,
                                                     locale_t c) {
  if (d->long_mantissa || d->exponent < -POWERS || d->exponent > POWERS) return by_library(s, n, point, c);
  const double v = d->exponent < 0 ? quotient(d->mantissa, -d->exponent) : product(d->mantissa, d->exponent);
  return with_sign(v, d->negative);
}

double gb_decimal_value (const gb_decimal *d, const char *s, size_t n, char point, locale_t c) {
  double v;
  if (d->mantissa == 0) return with_sign(0, d->negative);
  if (d->long_mantissa || !by_doubles(d, &v)) return by_integers(d, s, n, point, c);
  return with_sign(v, d->negative);
}
