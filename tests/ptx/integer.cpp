/* integer.cpp - integers, bits, predicates, and what only moves words. */
#include <utility>

#include "cuda_emulation/internal.h"
#include "ptx/ptx.h"

namespace ptx {

/* Of unsigned types: sums and products wrap around. */
template <class T> static T add (T a, T b) { return (T)(a + b); }
template <class T> static T sub (T a, T b) { return (T)(a - b); }
template <class T> static T mul (T a, T b) { return (T)((uint64_t)a * b); }
template <class T> static T mad (T a, T b, T c) { return (T)((uint64_t)a * b + c); }
template <class T> static T neg (T a) { return (T)(0 - (uint64_t)a); }
template <class T> static T bit_not (T a) { return (T)~a; }
template <class T> static T bit_and (T a, T b) { return (T)(a & b); }
template <class T> static T bit_or (T a, T b) { return (T)(a | b); }
template <class T> static T bit_xor (T a, T b) { return (T)(a ^ b); }
template <class T> static T least (T a, T b) { return a < b ? a : b; }
template <class T> static T greatest (T a, T b) { return a > b ? a : b; }
template <class T> static T magnitude (T a) { return a < 0 ? (T)(0 - (uint64_t)a) : a; }
template <class T> static T left (T a, uint32_t n) {
  return n < 8 * sizeof(T) ? (T)((uint64_t)a << n) : (T)0;
}
template <class T> static T right (T a, uint32_t n) {
  const uint32_t most = 8 * sizeof(T) - 1;
  return n <= most ? (T)(a >> n) : (T)(a < 0 ? -1 : 0);
}
template <class To, class T> static To wide (T a, T b) { return (To)a * (To)b; }
template <class To, class T> static To wide_mad (T a, T b, To c) {
  return (To)((uint64_t)((To)a * (To)b) + (uint64_t)c);
}
template <class T, class W> static T high (T a, T b) { return (T)((W)a * (W)b >> 8 * sizeof(T)); }

static void refuse_zero (thread &t, const ins &i, bool zero) {
  if (zero) stop_at(t, i, "a division by zero");
}
template <class T> static void quotient (thread &t, const ins &i) {
  const T a = get<T>(t, i.from[0]), b = get<T>(t, i.from[1]);
  refuse_zero(t, i, b == 0);
  put(t, i.to[0], (T)(b == (T)-1 && (T)-1 < 0 ? (T)(0 - (uint64_t)a) : (T)(a / b)),
      t.wild[i.from[0]] || t.wild[i.from[1]]);
}
template <class T> static void rest (thread &t, const ins &i) {
  const T a = get<T>(t, i.from[0]), b = get<T>(t, i.from[1]);
  refuse_zero(t, i, b == 0);
  put(t, i.to[0], (T)(b == (T)-1 && (T)-1 < 0 ? 0 : (T)(a % b)), t.wild[i.from[0]] || t.wild[i.from[1]]);
}

template <class T> static bool eq (T a, T b) { return a == b; }
template <class T> static bool ne (T a, T b) { return a != b; }
template <class T> static bool lt (T a, T b) { return a < b; }
template <class T> static bool le (T a, T b) { return a <= b; }
template <class T> static bool gt (T a, T b) { return a > b; }
template <class T> static bool ge (T a, T b) { return a >= b; }

/* Only the word that is taken decides whether the result is wild. */
template <class T> static void choose (thread &t, const ins &i) {
  const int from = i.from[get<bool>(t, i.from[2]) ? 0 : 1];
  put(t, i.to[0], get<T>(t, from), t.wild[from] || t.wild[i.from[2]]);
}

template <class T> static T moved (T a) { return a; }
template <class T, class Part> static void pack (thread &t, const ins &i) {
  const Part low = get<Part>(t, i.from[0]), high = get<Part>(t, i.from[1]);
  put(t, i.to[0], (T)((T)low | (T)((T)high << 8 * sizeof(Part))), t.wild[i.from[0]] || t.wild[i.from[1]]);
}
template <class T, class Part> static void unpack (thread &t, const ins &i) {
  const T whole = get<T>(t, i.from[0]);
  const bool wild = t.wild[i.from[0]];
  put(t, i.to[0], (Part)whole, wild);
  put(t, i.to[1], (Part)(whole >> 8 * sizeof(Part)), wild);
}

/* -- numbers of several words */

enum what { SUM, DIFFERENCE, LOW, HIGH };
/* a + b, a - b, or a half of a b and c; with the carry of the instruction before (IN), and one for the next (OUT). */
template <what W, bool IN, bool OUT> static void with_carry (thread &t, const ins &i) {
  const uint64_t a = get<uint32_t>(t, i.from[0]), b = get<uint32_t>(t, i.from[1]),
                 carry = IN && t.carry ? 1 : 0;
  bool wild = t.wild[i.from[0]] || t.wild[i.from[1]] || (IN && t.wild_carry);
  uint64_t sum = W == SUM ? a + b + carry : a - b - carry;
  if (W == LOW || W == HIGH) {
    sum = (W == LOW ? (uint32_t)(a * b) : a * b >> 32) + get<uint32_t>(t, i.from[2]) + carry;
    wild = wild || t.wild[i.from[2]];
  }
  put(t, i.to[0], (uint32_t)sum, wild);
  if (OUT) t.carry = sum >> 32 != 0, t.wild_carry = wild;
}
template <what W>
static void add_carried (std::vector<row> &all, const std::string &verb, const std::string &part) {
  for (const char *type : {".u32", ".s32"}) {
    all.push_back({verb + part + ".cc" + type, with_carry<W, false, true>});
    all.push_back({verb + "c" + part + type, with_carry<W, true, false>});
    all.push_back({verb + "c" + part + ".cc" + type, with_carry<W, true, true>});
  }
}

/* -- bits of a word */

static uint32_t count (uint32_t a) { return (uint32_t)__builtin_popcount(a); }
static uint32_t count_wide (uint64_t a) { return (uint32_t)__builtin_popcountll(a); }
static uint32_t zeros (uint32_t a) { return a != 0 ? (uint32_t)__builtin_clz(a) : 32; }
static uint32_t zeros_wide (uint64_t a) { return a != 0 ? (uint32_t)__builtin_clzll(a) : 64; }
template <class T> static T reversed (T a) {
  T r = 0;
  for (size_t k = 0; k < 8 * sizeof(T); k++) r = (T)(r | (T)((a >> k & 1) << (8 * sizeof(T) - 1 - k)));
  return r;
}
/* 'length' bits from 'at' on; past the end is the sign of what is taken, or 0. */
template <class T> static T extract (T a, uint32_t at, uint32_t length) {
  const uint32_t bits = 8 * sizeof(T);
  at &= 255, length &= 255;
  const uint32_t last = at + length - 1 < bits ? at + length - 1 : bits - 1;
  const uint64_t sign = (T)-1 < 0 && length > 0 ? (uint64_t)a >> last & 1 : 0;
  uint64_t r = 0;
  for (uint32_t k = 0; k < bits; k++)
    r |= (k < length && at + k < bits ? (uint64_t)a >> (at + k) & 1 : sign) << k;
  return (T)r;
}
template <class T> static T insert (T a, T b, uint32_t at, uint32_t length) {
  at &= 255, length &= 255;
  for (uint32_t k = 0; k < length && at + k < 8 * sizeof(T); k++)
    b = (T)((b & ~((T)1 << (at + k))) | (T)((a >> k & 1) << (at + k)));
  return b;
}
static uint32_t permuted (uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = (uint64_t)b << 32 | a;
  uint32_t r = 0;
  for (int k = 0; k < 4; k++) {
    const uint32_t s = selector >> 4 * k & 15;
    uint32_t byte = (uint32_t)(bytes >> 8 * (s & 7)) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << 8 * k;
  }
  return r;
}
static uint32_t funnel_left (uint32_t a, uint32_t b, uint32_t n) {
  return (uint32_t)(((uint64_t)b << 32 | a) << (n & 31) >> 32);
}
static uint32_t funnel_right (uint32_t a, uint32_t b, uint32_t n) {
  return (uint32_t)(((uint64_t)b << 32 | a) >> (n & 31));
}
static uint32_t logic (uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (int k = 0; k < 8; k++)
    if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return r;
}

/* -- mnemonics */

/* U the unsigned type of a width, S the signed one. */
template <class U, class S> static void add_width (std::vector<row> &all, const std::string &bits) {
  for (const char *sign : {"s", "u"}) {
    const bool is_signed = *sign == 's';
    const std::string type = sign + bits;
    const row rows[] = {
        {"add.", op<add<U>>::run},
        {"sub.", op<sub<U>>::run},
        {"mul.lo.", op<mul<U>>::run},
        {"mad.lo.", op<mad<U>>::run},
        {"neg.", op<neg<U>>::run},
        {"abs.", op<magnitude<S>>::run},
        {"min.", is_signed ? op<least<S>>::run : op<least<U>>::run},
        {"max.", is_signed ? op<greatest<S>>::run : op<greatest<U>>::run},
        {"shr.", is_signed ? op<right<S>>::run : op<right<U>>::run},
        {"div.", is_signed ? quotient<S> : quotient<U>},
        {"rem.", is_signed ? rest<S> : rest<U>},
        {"setp.eq.", op<eq<U>>::run},
        {"setp.ne.", op<ne<U>>::run},
        {"setp.lt.", is_signed ? op<lt<S>>::run : op<lt<U>>::run},
        {"setp.le.", is_signed ? op<le<S>>::run : op<le<U>>::run},
        {"setp.gt.", is_signed ? op<gt<S>>::run : op<gt<U>>::run},
        {"setp.ge.", is_signed ? op<ge<S>>::run : op<ge<U>>::run},
    };
    for (const row &r : rows) all.push_back({r.mnemonic + type, r.run});
  }
  const row rows[] = {
      {"and.b", op<bit_and<U>>::run}, {"or.b", op<bit_or<U>>::run},  {"xor.b", op<bit_xor<U>>::run},
      {"not.b", op<bit_not<U>>::run}, {"shl.b", op<left<U>>::run},   {"shr.b", op<right<U>>::run},
      {"setp.eq.b", op<eq<U>>::run},  {"setp.ne.b", op<ne<U>>::run},
  };
  for (const row &r : rows) all.push_back({r.mnemonic + bits, r.run});
  for (const char *type : {"b", "u", "s", "f"}) {
    all.push_back({"mov." + (type + bits), op<moved<U>>::run});
    all.push_back({"selp." + (type + bits), choose<U>});
  }
}

std::vector<row> integer_rows (void) {
  std::vector<row> all = {
      {"and.pred", op<bit_and<bool>>::run},
      {"or.pred", op<bit_or<bool>>::run},
      {"xor.pred", op<ne<bool>>::run},
      {"not.pred",
       [] (thread &t, const ins &i) { put(t, i.to[0], !get<bool>(t, i.from[0]), t.wild[i.from[0]]); }},
      {"mov.pred", op<moved<bool>>::run},
      {"mul.wide.s32", op<wide<int64_t, int32_t>>::run},
      {"mul.wide.u32", op<wide<uint64_t, uint32_t>>::run},
      {"mul.wide.s16", op<wide<int32_t, int16_t>>::run},
      {"mul.wide.u16", op<wide<uint32_t, uint16_t>>::run},
      {"mad.wide.s32", op<wide_mad<int64_t, int32_t>>::run},
      {"mad.wide.u32", op<wide_mad<uint64_t, uint32_t>>::run},
      {"mul.hi.s32", op<high<int32_t, int64_t>>::run},
      {"mul.hi.u32", op<high<uint32_t, uint64_t>>::run},
      {"mul.hi.s64", op<high<int64_t, __int128>>::run},
      {"mul.hi.u64", op<high<uint64_t, unsigned __int128>>::run},
      {"mov.b64.pack", pack<uint64_t, uint32_t>},
      {"mov.b64.unpack", unpack<uint64_t, uint32_t>},
      {"mov.b32.pack", pack<uint32_t, uint16_t>},
      {"mov.b32.unpack", unpack<uint32_t, uint16_t>},
      {"popc.b32", op<count>::run},
      {"popc.b64", op<count_wide>::run},
      {"clz.b32", op<zeros>::run},
      {"clz.b64", op<zeros_wide>::run},
      {"brev.b32", op<reversed<uint32_t>>::run},
      {"brev.b64", op<reversed<uint64_t>>::run},
      {"bfe.u32", op<extract<uint32_t>>::run},
      {"bfe.s32", op<extract<int32_t>>::run},
      {"bfe.u64", op<extract<uint64_t>>::run},
      {"bfe.s64", op<extract<int64_t>>::run},
      {"bfi.b32", op<insert<uint32_t>>::run},
      {"bfi.b64", op<insert<uint64_t>>::run},
      {"prmt.b32", op<permuted>::run},
      {"shf.l.wrap.b32", op<funnel_left>::run},
      {"shf.r.wrap.b32", op<funnel_right>::run},
      {"lop3.b32", op<logic>::run},
  };
  add_carried<SUM>(all, "add", "");
  add_carried<DIFFERENCE>(all, "sub", "");
  add_carried<LOW>(all, "mad", ".lo");
  add_carried<HIGH>(all, "mad", ".hi");
  add_width<uint16_t, int16_t>(all, "16");
  add_width<uint32_t, int32_t>(all, "32");
  add_width<uint64_t, int64_t>(all, "64");
  return all;
}

}   // namespace ptx
