/* widen.h - integers of 1, 2 and 4 bytes to i64, in the memory of the result. */
#ifndef GB_IO_WIDEN_H
#define GB_IO_WIDEN_H

#include <stdint.h>
#include <string.h>

static inline int64_t gb_integer (const unsigned char *p, size_t width, int is_signed) {
  uint64_t v = 0;
  memcpy(&v, p, width); /* little-endian, as in all supported files */
  const unsigned unused = 64 - 8 * (unsigned)width;
  return is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

/* Widens n integers at 'from' into 'to'. 'from' is at or after 'to', so each is read before it is
** overwritten. */
static inline void gb_widen (int64_t *to, const unsigned char *from, size_t n, size_t width, int is_signed) {
  for (size_t i = 0; i < n; i++) to[i] = gb_integer(from + i * width, width, is_signed);
}

#endif
