/* eight.h - eight bytes of text at once, as an integer whose lowest byte is the first. */
#ifndef GB_IO_EIGHT_H
#define GB_IO_EIGHT_H

#include <stdint.h>
#include <string.h>

static inline uint64_t gb_eight_bytes (const char *s) {
  uint64_t v;
  memcpy(&v, s, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  v = __builtin_bswap64(v);
#endif
  return v;
}

/* Eight times the same byte. */
static inline uint64_t gb_eight_of (char c) { return 0x0101010101010101u * (unsigned char)c; }

/* The high bits of the bytes of v that are 0; above the lowest such byte others may be marked, too. */
static inline uint64_t gb_eight_zeros (uint64_t v) {
  return (v - 0x0101010101010101u) & ~v & 0x8080808080808080u;
}

/* Which of eight bytes is the first one marked; marks != 0. */
static inline int gb_eight_first (uint64_t marks) { return __builtin_ctzll(marks) / 8; }

#endif
