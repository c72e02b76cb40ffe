/* rng.c - Philox4x32-10 and the two distributions drawn from it. */
#include "base/rng.h"

#include <math.h>

void gb_philox (uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4]) {
  uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32);
  uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0; out[1] = c1; out[2] = c2; out[3] = c3;
}

/* 52 bits centred in their cell, so neither 0 nor 1 can come out. */
static double unit (uint32_t hi, uint32_t lo) {
  const uint64_t bits = ((uint64_t)hi << 20) ^ ((uint64_t)lo >> 12);   /* 52 bits */
  return ((double)bits + 0.5) * 0x1p-52;
}

double gb_rand_uniform (uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t w[4];
  gb_philox(seed, stream, index, w);
  return unit(w[0], w[1]);
}

double gb_rand_normal (uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t w[4];
  gb_philox(seed, stream, index, w);
  const double r = sqrt(-2.0 * log(unit(w[0], w[1])));
  return r * cos(6.283185307179586476925 * unit(w[2], w[3]));
}
