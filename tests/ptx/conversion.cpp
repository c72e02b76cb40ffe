/* conversion.cpp - cvt: from integers and numbers to others. What does not fit into an integer is the nearest one that does. */
#include <fenv.h>
#include <math.h>

#include <limits>
#include <utility>

#include "ptx/ptx.h"

namespace ptx {

template <class To, class From> static To converted (From a) { return (To)a; }

/* -- numbers to whole ones */

enum way { NEAREST, DOWN, UP, TO_ZERO };
template <way W, class T> static T whole (T a) {
  return W == NEAREST ? std::nearbyint(a)
         : W == DOWN  ? std::floor(a)
         : W == UP    ? std::ceil(a)
                      : std::trunc(a);
}
/* NaN is 0, or 2^63 where there are 64 bits. */
template <way W, class To, class From> static To integer (From a) {
  const From r = whole<W>(a);
  if (r != r) return sizeof(To) == 8 ? (To)0x8000000000000000u : (To)0;
  if (r < (From)std::numeric_limits<To>::min()) return std::numeric_limits<To>::min();
  if (r >= std::ldexp((From)1, std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
  return (To)r;
}
static float saturated (float a) { return a > 0 ? a < 1 ? a : 1.0f : 0.0f; } /* NaN is 0 */

template <int MODE> static float narrowed (double a) {
  volatile double x = a;
  fesetround(MODE);
  volatile float r = (float)x;
  fesetround(FE_TONEAREST);
  return r;
}

/* -- 16 bits */

static float of_half (uint16_t h) {
  const int e = h >> 10 & 31, m = h & 1023;
  const float a = e == 31  ? (m == 0 ? INFINITY : NAN)
                  : e == 0 ? ldexpf((float)m, -24)
                           : ldexpf((float)(1024 + m), e - 25);
  return h & 0x8000 ? -a : a;
}
static uint16_t to_half (float a) {
  const uint16_t sign = std::signbit(a) ? 0x8000 : 0;
  const float b = fabsf(a);
  if (b != b) return 0x7fff;
  if (b >= 65520.0f) return (uint16_t)(sign | 0x7c00);
  int e;
  frexpf(b, &e); /* b in [2^(e-1), 2^e) */
  const int unit = (e - 1 < -14 ? -14 : e - 1) - 10;
  const int m = (int)nearbyintf(ldexpf(b, -unit)); /* 2048 carries into the exponent */
  return (uint16_t)(sign | (m < 1024 ? m : ((unit + 24) << 10) + m));
}
static float of_bfloat (uint16_t h) {
  const uint32_t w = (uint32_t)h << 16;
  float a;
  memcpy(&a, &w, sizeof a);
  return a;
}
static uint16_t to_bfloat (float a) {
  uint32_t w;
  memcpy(&w, &a, sizeof w);
  if (a != a) return 0x7fff;
  return (uint16_t)((w + 0x7fff + (w >> 16 & 1)) >> 16);
}

/* -- mnemonics */

template <class To, class From> static void add_pair (std::vector<row> &all, const std::string &types) {
  if constexpr (std::numeric_limits<To>::is_integer && std::numeric_limits<From>::is_integer) {
    all.push_back({"cvt." + types, op<converted<To, From>>::run});
  } else if constexpr (std::numeric_limits<To>::is_integer) {
    all.push_back({"cvt.rni." + types, op<integer<NEAREST, To, From>>::run});
    all.push_back({"cvt.rmi." + types, op<integer<DOWN, To, From>>::run});
    all.push_back({"cvt.rpi." + types, op<integer<UP, To, From>>::run});
    all.push_back({"cvt.rzi." + types, op<integer<TO_ZERO, To, From>>::run});
  } else if constexpr (std::numeric_limits<From>::is_integer) {
    all.push_back({"cvt.rn." + types, op<converted<To, From>>::run});
  }
}
template <class To> static void add_to (std::vector<row> &all, const std::string &to) {
  add_pair<To, uint8_t>(all, to + ".u8"), add_pair<To, int8_t>(all, to + ".s8");
  add_pair<To, uint16_t>(all, to + ".u16"), add_pair<To, int16_t>(all, to + ".s16");
  add_pair<To, uint32_t>(all, to + ".u32"), add_pair<To, int32_t>(all, to + ".s32");
  add_pair<To, uint64_t>(all, to + ".u64"), add_pair<To, int64_t>(all, to + ".s64");
  add_pair<To, float>(all, to + ".f32"), add_pair<To, double>(all, to + ".f64");
}
template <class T> static void add_rounding (std::vector<row> &all, const std::string &type) {
  all.push_back({"cvt.rni." + type, op<whole<NEAREST, T>>::run});
  all.push_back({"cvt.rmi." + type, op<whole<DOWN, T>>::run});
  all.push_back({"cvt.rpi." + type, op<whole<UP, T>>::run});
  all.push_back({"cvt.rzi." + type, op<whole<TO_ZERO, T>>::run});
}

/* A byte is sign-extended or not in the register that takes it. */
static int32_t signed_byte (uint32_t a) { return (int8_t)a; }
static uint32_t unsigned_byte (uint32_t a) { return (uint8_t)a; }

std::vector<row> conversion_rows (void) {
  std::vector<row> all = {
      {"cvt.f64.f32", op<converted<double, float>>::run},
      {"cvt.rn.f32.f64", op<converted<float, double>>::run},
      {"cvt.rz.f32.f64", op<narrowed<FE_TOWARDZERO>>::run},
      {"cvt.rm.f32.f64", op<narrowed<FE_DOWNWARD>>::run},
      {"cvt.rp.f32.f64", op<narrowed<FE_UPWARD>>::run},
      {"cvt.sat.f32.f32", op<saturated>::run},
      {"cvt.f32.f16", op<of_half>::run},
      {"cvt.rn.f16.f32", op<to_half>::run},
      {"cvt.f32.bf16", op<of_bfloat>::run},
      {"cvt.rn.bf16.f32", op<to_bfloat>::run},
      {"cvt.s8.s32", op<signed_byte>::run},
      {"cvt.u8.u32", op<unsigned_byte>::run},
  };
  add_to<uint16_t>(all, "u16"), add_to<int16_t>(all, "s16");
  add_to<uint32_t>(all, "u32"), add_to<int32_t>(all, "s32");
  add_to<uint64_t>(all, "u64"), add_to<int64_t>(all, "s64");
  add_to<float>(all, "f32"), add_to<double>(all, "f64");
  add_rounding<float>(all, "f32.f32"), add_rounding<double>(all, "f64.f64");
  return all;
}

}   // namespace ptx
