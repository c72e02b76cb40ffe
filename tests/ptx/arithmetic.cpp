/* arithmetic.cpp - f32 and f64: rounded as IEEE says. An instruction without a rounding mode is not known here: ptxas may contract it. */
#include <fenv.h>
#include <math.h>

#include <utility>

#include "ptx/ptx.h"

namespace ptx {

template <class T> static T add (T a, T b) { return a + b; }
template <class T> static T sub (T a, T b) { return a - b; }
template <class T> static T mul (T a, T b) { return a * b; }
template <class T> static T quotient (T a, T b) { return a / b; }
template <class T> static T reciprocal (T a) { return 1 / a; }
template <class T> static T root (T a) { return std::sqrt(a); }
template <class T> static T fused (T a, T b, T c) { return std::fma(a, b, c); }

/* A number and a NaN are the number; -0 is less than 0. */
template <class T> static T least (T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class T> static T greatest (T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
template <class T> static T least_or_nan (T a, T b) { return a != a ? a : b != b ? b : least(a, b); }
template <class T> static T greatest_or_nan (T a, T b) { return a != a ? a : b != b ? b : greatest(a, b); }

/* Signs are bits: of NaN, too. */
static uint32_t opposite (uint32_t a) { return a ^ 0x80000000u; }
static uint64_t opposite_wide (uint64_t a) { return a ^ 0x8000000000000000u; }
static uint32_t magnitude (uint32_t a) { return a & 0x7fffffffu; }
static uint64_t magnitude_wide (uint64_t a) { return a & 0x7fffffffffffffffu; }
static uint32_t with_sign (uint32_t a, uint32_t b) { return (a & 0x80000000u) | (b & 0x7fffffffu); }
static uint64_t with_sign_wide (uint64_t a, uint64_t b) {
  return (a & 0x8000000000000000u) | (b & 0x7fffffffffffffffu);
}

/* -- other directions */

template <int MODE, class T> static T directed (T a, T b, T c) {
  volatile T x = a, y = b, z = c;
  fesetround(MODE);
  volatile T r = std::fma(x, y, z);
  fesetround(FE_TONEAREST);
  return r;
}
template <int MODE, class T> static T directed_sum (T a, T b) { return directed<MODE, T>(a, 1, b); }
template <int MODE, class T> static T directed_product (T a, T b) {
  return directed<MODE, T>(a, b, std::signbit(a) != std::signbit(b) ? (T)-0.0 : (T)0);
}

/* -- the special function unit, as the emulation has it: the host's functions; .ftz as the device flushes */

static float flushed (float a) { return std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a; }
static float unit_exp2 (float a) { return exp2f(a); }
static float unit_log2 (float a) { return log2f(a); }
static float unit_exp2_flushed (float a) { return flushed(exp2f(flushed(a))); }
static float unit_log2_flushed (float a) { return log2f(flushed(a)); }
static float unit_root_flushed (float a) { return flushed(sqrtf(flushed(a))); }
static float unit_reciprocal_flushed (float a) { return flushed(1 / flushed(a)); }
static float unit_reciprocal_root (float a) { return 1 / sqrtf(a); }
static float unit_reciprocal_root_flushed (float a) { return 1 / sqrtf(flushed(a)); }
static float unit_tanh (float a) { return tanhf(a); }
static float unit_sine (float a) { return sinf(a); }
static float unit_cosine (float a) { return cosf(a); }
/* First guesses of 20 bits; the rest of a word is 0. */
static double guess (double a) {
  uint64_t w;
  memcpy(&w, &a, sizeof w);
  w &= 0xffffffff00000000u;
  memcpy(&a, &w, sizeof w);
  return a;
}
static double unit_reciprocal_wide (double a) { return guess(1 / a); }
static double unit_reciprocal_root_wide (double a) { return guess(1 / std::sqrt(a)); }

/* -- comparisons; those of the second half are true where one is NaN */

template <class T> static bool eq (T a, T b) { return a == b; }
template <class T> static bool ne (T a, T b) { return a < b || a > b; }
template <class T> static bool lt (T a, T b) { return a < b; }
template <class T> static bool le (T a, T b) { return a <= b; }
template <class T> static bool gt (T a, T b) { return a > b; }
template <class T> static bool ge (T a, T b) { return a >= b; }
template <class T> static bool equ (T a, T b) { return !ne(a, b); }
template <class T> static bool neu (T a, T b) { return !(a == b); }
template <class T> static bool ltu (T a, T b) { return !(a >= b); }
template <class T> static bool leu (T a, T b) { return !(a > b); }
template <class T> static bool gtu (T a, T b) { return !(a <= b); }
template <class T> static bool geu (T a, T b) { return !(a < b); }
template <class T> static bool num (T a, T b) { return a == a && b == b; }
template <class T> static bool nan (T a, T b) { return !num(a, b); }

template <class T> static void add_type (std::vector<row> &all, const std::string &type) {
#define COMPARE(name) all.push_back({"setp." #name "." + type, op<name<T>>::run})
  COMPARE(eq), COMPARE(ne), COMPARE(lt), COMPARE(le), COMPARE(gt), COMPARE(ge), COMPARE(equ), COMPARE(neu);
  COMPARE(ltu), COMPARE(leu), COMPARE(gtu), COMPARE(geu), COMPARE(num), COMPARE(nan);
#undef COMPARE
  const row rows[] = {
      {"add.rn.", op<add<T>>::run},
      {"sub.rn.", op<sub<T>>::run},
      {"mul.rn.", op<mul<T>>::run},
      {"div.rn.", op<quotient<T>>::run},
      {"rcp.rn.", op<reciprocal<T>>::run},
      {"sqrt.rn.", op<root<T>>::run},
      {"fma.rn.", op<fused<T>>::run},
      {"min.", op<least<T>>::run},
      {"max.", op<greatest<T>>::run},
      {"min.NaN.", op<least_or_nan<T>>::run},
      {"max.NaN.", op<greatest_or_nan<T>>::run},
      {"add.rm.", op<directed_sum<FE_DOWNWARD, T>>::run},
      {"add.rp.", op<directed_sum<FE_UPWARD, T>>::run},
      {"add.rz.", op<directed_sum<FE_TOWARDZERO, T>>::run},
      {"mul.rm.", op<directed_product<FE_DOWNWARD, T>>::run},
      {"mul.rp.", op<directed_product<FE_UPWARD, T>>::run},
      {"mul.rz.", op<directed_product<FE_TOWARDZERO, T>>::run},
      {"fma.rm.", op<directed<FE_DOWNWARD, T>>::run},
      {"fma.rp.", op<directed<FE_UPWARD, T>>::run},
      {"fma.rz.", op<directed<FE_TOWARDZERO, T>>::run},
  };
  for (const row &r : rows) all.push_back({r.mnemonic + type, r.run});
}

std::vector<row> arithmetic_rows (void) {
  std::vector<row> all = {
      {"neg.f32", op<opposite>::run},
      {"neg.f64", op<opposite_wide>::run},
      {"abs.f32", op<magnitude>::run},
      {"abs.f64", op<magnitude_wide>::run},
      {"copysign.f32", op<with_sign>::run},
      {"copysign.f64", op<with_sign_wide>::run},
      {"ex2.approx.f32", op<unit_exp2>::run},
      {"ex2.approx.ftz.f32", op<unit_exp2_flushed>::run},
      {"lg2.approx.f32", op<unit_log2>::run},
      {"lg2.approx.ftz.f32", op<unit_log2_flushed>::run},
      {"sqrt.approx.f32", op<root<float>>::run},
      {"sqrt.approx.ftz.f32", op<unit_root_flushed>::run},
      {"rcp.approx.f32", op<reciprocal<float>>::run},
      {"rcp.approx.ftz.f32", op<unit_reciprocal_flushed>::run},
      {"rsqrt.approx.f32", op<unit_reciprocal_root>::run},
      {"rsqrt.approx.ftz.f32", op<unit_reciprocal_root_flushed>::run},
      {"tanh.approx.f32", op<unit_tanh>::run},
      {"sin.approx.f32", op<unit_sine>::run},
      {"cos.approx.f32", op<unit_cosine>::run},
      {"rcp.approx.ftz.f64", op<unit_reciprocal_wide>::run},
      {"rsqrt.approx.ftz.f64", op<unit_reciprocal_root_wide>::run},
  };
  add_type<float>(all, "f32");
  add_type<double>(all, "f64");
  return all;
}

}   // namespace ptx
