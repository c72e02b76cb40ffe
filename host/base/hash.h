/* hash.h - one 64-bit mixing step for every hash in the project (consing, identities, cache keys). */
#ifndef GB_BASE_HASH_H
#define GB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Folds 'v' into 'h'; the constants are those of SplitMix64's finaliser. */
static inline uint64_t gb_hash_u64 (uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
  h ^= h >> 30;
  h *= 0xbf58476d1ce4e5b9u;
  h ^= h >> 27;
  h *= 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

/* Bitwise, so that 0.0 and -0.0 differ. */
static inline uint64_t gb_hash_f64 (uint64_t h, double d) {
  uint64_t v;
  memcpy(&v, &d, sizeof v);
  return gb_hash_u64(h, v);
}

static inline uint64_t gb_hash_bytes (uint64_t h, const void *p, size_t n) {
  const unsigned char *s = p;
  for (; n >= 8; n -= 8, s += 8) {
    uint64_t v;
    memcpy(&v, s, 8);
    h = gb_hash_u64(h, v);
  }
  uint64_t tail = 0;
  memcpy(&tail, s, n);
  return gb_hash_u64(h, tail ^ ((uint64_t)n << 56));
}

#endif
