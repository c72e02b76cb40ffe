/* memory.cpp - ld and st: each address is in memory that the state space has, and aligned; what a kernel reads of shared memory was
** written, or is wild. */
#include <sys/mman.h>

#include <algorithm>

#include "cuda_emulation/internal.h"
#include "ptx/ptx.h"

namespace ptx {

static char *map_shared (void) { /* and 'unwritten' behind it; a 32-bit address reaches both */
  void *p =
      mmap(nullptr, 2 * MOST_SHARED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (p == MAP_FAILED) emu::stop("no memory for shared memory of PTX");
  return (char *)p;
}
char *const shared = map_shared();
unsigned char *const unwritten = (unsigned char *)shared + MOST_SHARED;

/* -- which addresses there are */

struct span {
  const char *low, *high;
};
static std::vector<span> spans; /* of state space global, ascending; those that follow each other are one */
static span last;               /* the one that was hit last */

void note_memory (const module &m) {
  spans.clear();
  if (!m.data.empty()) spans.push_back({m.data.data(), m.data.data() + m.data.size()});
  for (auto &r : emu::regions()) spans.push_back({r.first, r.first + r.second.bytes});
  std::sort(spans.begin(), spans.end(), [] (const span &a, const span &b) { return a.low < b.low; });
  size_t n = 0;
  for (const span &s : spans) {
    if (n > 0 && spans[n - 1].high == s.low) spans[n - 1].high = s.high;
    else spans[n++] = s;
  }
  spans.resize(n);
  last = {nullptr, nullptr};
}

static bool is_in (const span &s, const char *at, size_t bytes) {
  return at >= s.low && at < s.high && bytes <= (size_t)(s.high - at);
}
static bool is_global (const char *at, size_t bytes) {
  if (is_in(last, at, bytes)) return true;
  auto it = std::upper_bound(spans.begin(), spans.end(), at,
                             [] (const char *p, const span &s) { return p < s.low; });
  if (it == spans.begin() || !is_in(*--it, at, bytes)) return false;
  last = *it;
  return true;
}
static bool is_shared (const thread &t, const char *at, size_t bytes) {
  const function *kernel = t.calls.empty() ? t.f : t.calls.front().f;
  return is_in({shared, shared + kernel->shared}, at, bytes);
}
static bool is_argument (const thread &t, const char *at, size_t bytes) {
  return is_in({t.argument, t.argument + t.argument_bytes}, at, bytes);
}
static bool is_frame (const thread &t, const char *at, size_t bytes) {
  return is_in({t.frames, t.frames + t.m->most_frame}, at, bytes);
}

enum space { GENERIC, GLOBAL, SHARED, PARAM, LOCAL, CONST };

template <space S> static bool is_there (const thread &t, const char *at, size_t bytes) {
  switch (S) {
    case GLOBAL:
    case CONST: return is_global(at, bytes);
    case SHARED: return is_shared(t, at, bytes);
    case PARAM: return is_argument(t, at, bytes) || is_frame(t, at, bytes);
    case LOCAL: return is_frame(t, at, bytes);
    default:
      return is_global(at, bytes) || is_shared(t, at, bytes) || is_frame(t, at, bytes) ||
             is_argument(t, at, bytes);
  }
}

template <space S> static char *address (const thread &t, const ins &i, size_t bytes) {
  if (t.wild[i.from[0]]) stop_at(t, i, "an address is made of what nothing wrote");
  char *at = (char *)(t.word[i.from[0]] + (uint64_t)i.offset);
  if ((uintptr_t)at % bytes != 0) stop_at(t, i, "%p is not aligned to %zu bytes", (void *)at, bytes);
  if (is_there<S>(t, at, bytes)) return at;
  if (S == SHARED)
    stop_at(t, i, "byte %td of the %zu of shared memory", at - shared,
            (t.calls.empty() ? t.f : t.calls.front().f)->shared);
  stop_at(t, i, "%s", emu::describe_address(at).c_str());
}

/* -- loads and stores */

template <space S> static bool was_written (const thread &t, const char *at, size_t bytes) {
  if (S != SHARED && (S != GENERIC || !is_shared(t, at, bytes))) return true;
  for (size_t b = 0; b < bytes; b++)
    if (unwritten[at - shared + b]) return false;
  return true;
}

/* A value that is narrower than its register is extended by its sign. */
template <space S, class T, int N> static void load (thread &t, const ins &i) {
  const char *at = address<S>(t, i, N * sizeof(T));
  for (int k = 0; k < N; k++, at += sizeof(T)) {
    T v;
    memcpy(&v, at, sizeof v);
    put(t, i.to[k], (uint64_t)(int64_t)v, !was_written<S>(t, at, sizeof v));
  }
}
template <space S, class T, int N> static void store (thread &t, const ins &i) {
  char *at = address<S>(t, i, N * sizeof(T));
  for (int k = 0; k < N; k++, at += sizeof(T)) {
    const T v = get<T>(t, i.from[1 + k]);
    const bool wild = t.wild[i.from[1 + k]];
    if (wild && emu::set.strict && (S == GLOBAL || (S == GENERIC && is_global(at, sizeof v))))
      stop_at(t, i, "what nothing wrote goes into memory");
    memcpy(at, &v, sizeof v);
    if (S == SHARED || (S == GENERIC && is_shared(t, at, sizeof v)))
      memset(unwritten + (at - shared), wild ? 0xFF : 0, sizeof v);
  }
}

template <space S, class T>
static void add_type (std::vector<row> &all, const std::string &space, const std::string &type) {
  all.push_back({"ld" + space + "." + type, load<S, T, 1>});
  all.push_back({"ld" + space + ".v2." + type, load<S, T, 2>});
  all.push_back({"ld" + space + ".v4." + type, load<S, T, 4>});
  all.push_back({"st" + space + "." + type, store<S, T, 1>});
  all.push_back({"st" + space + ".v2." + type, store<S, T, 2>});
  all.push_back({"st" + space + ".v4." + type, store<S, T, 4>});
}
template <space S> static void add_space (std::vector<row> &all, const std::string &space) {
  for (const char *kind : {"u", "b", "f"}) {
    add_type<S, uint32_t>(all, space, kind + std::string("32"));
    add_type<S, uint64_t>(all, space, kind + std::string("64"));
    if (*kind == 'f') continue;
    add_type<S, uint8_t>(all, space, kind + std::string("8"));
    add_type<S, uint16_t>(all, space, kind + std::string("16"));
  }
  add_type<S, int8_t>(all, space, "s8");
  add_type<S, int16_t>(all, space, "s16");
  add_type<S, int32_t>(all, space, "s32");
  add_type<S, int64_t>(all, space, "s64");
}

static uint64_t same_address (uint64_t a) { return a; }
static uint64_t same_address_wide (uint32_t a) { return a; }

std::vector<row> memory_rows (void) {
  std::vector<row> all;
  add_space<GENERIC>(all, "");
  add_space<GLOBAL>(all, ".global");
  add_space<GLOBAL>(all, ".global.nc");
  add_space<SHARED>(all, ".shared");
  add_space<PARAM>(all, ".param");
  add_space<LOCAL>(all, ".local");
  add_space<CONST>(all, ".const");
  for (const char *space : {"global", "shared", "local", "param", "const"}) {
    all.push_back({std::string("cvta.") + space + ".u64", op<same_address>::run});
    all.push_back({std::string("cvta.to.") + space + ".u64", op<same_address>::run});
  }
  all.push_back({"cvta.shared.u32", op<same_address_wide>::run});
  return all;
}

}   // namespace ptx
