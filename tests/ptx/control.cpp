/* control.cpp - branches, calls, barriers and warps. What threads wait for is the emulation's (tests/cuda_emulation/exec.cpp), which
** takes the line of the PTX for the place. */
#include "cuda_emulation/internal.h"
#include "ptx/ptx.h"

namespace ptx {

static const char place[] = "PTX";

static void branch (thread &t, const ins &i) { t.next = &t.f->code[i.target]; }
static void call (thread &t, const ins &i) { begin_function(t, i.f, &i); }
static void leave (thread &t, const ins &) { end_function(t); }
static void nothing (thread &, const ins &) {}
static void trap (thread &t, const ins &i) { stop_at(t, i, "a trap"); }

static void barrier (thread &t, const ins &i) {
  if (i.nfrom > 1 || get<uint32_t>(t, i.from[0]) != 0) stop_at(t, i, "a barrier of a part of a block");
  emu::park(emu::wait::block, 0, place, i.line);
}
static uint32_t mask_of (const thread &t, const ins &i, int from) {
  if (t.wild[i.from[from]]) stop_at(t, i, "a mask is made of what nothing wrote");
  return get<uint32_t>(t, i.from[from]);
}
static void warp_barrier (thread &t, const ins &i) {
  emu::park(emu::wait::warp, mask_of(t, i, 0), place, i.line);
}

/* -- shuffles */

enum class way { up, down, across, at };
struct carried {
  uint32_t word;
  bool wild;
};

/* to[0] and, where it is asked for, the predicate to[1]: whether the lane that is read is in the segment. from: word, lane or distance,
** segment, mask. */
template <way W> static void shuffle (thread &t, const ins &i) {
  const int lane = (int)emu::now.thread->lane;
  const uint32_t b = get<uint32_t>(t, i.from[1]), c = get<uint32_t>(t, i.from[2]);
  const int segment = (int)(c >> 8 & 31), clamp = (int)(c & 31), by = (int)(b & 31);
  const int first = lane & segment, most = first | (clamp & ~segment);
  int from = W == way::up     ? lane - by
             : W == way::down ? lane + by
             : W == way::at   ? first | (by & ~segment)
                              : lane ^ by;
  const bool inside = W == way::up ? from >= most : from <= most;
  if (!inside) from = lane;
  const carried mine = {get<uint32_t>(t, i.from[0]), t.wild[i.from[0]]};
  const bool unknown = t.wild[i.from[1]] || t.wild[i.from[2]];
  const carried got = emu::in_warp(emu::wait::shuffle, mask_of(t, i, 3), mine, from, place, i.line);
  put(t, i.to[0], got.word, got.wild || unknown);
  if (i.nto > 1) put(t, i.to[1], inside, unknown);
}

static uint32_t ballot_of (thread &t, const ins &i, bool yes) {
  if (t.wild[i.from[0]]) stop_at(t, i, "a vote of what nothing wrote");
  return emu::in_warp(emu::wait::ballot, mask_of(t, i, 1), (unsigned)yes, 0, place, i.line);
}
static void ballot (thread &t, const ins &i) {
  put(t, i.to[0], ballot_of(t, i, get<bool>(t, i.from[0])), false);
}
static void any (thread &t, const ins &i) {
  put(t, i.to[0], ballot_of(t, i, get<bool>(t, i.from[0])) != 0, false);
}
static void all_yes (thread &t, const ins &i) {
  put(t, i.to[0], ballot_of(t, i, !get<bool>(t, i.from[0])) == 0, false);
}

std::vector<row> control_rows (void) {
  return {
      {"bra", branch},
      {"bra.uni", branch},
      {"call", call},
      {"call.uni", call},
      {"ret", leave},
      {"ret.uni", leave},
      {"trap", trap},
      {"bar.sync", barrier},
      {"barrier.sync", barrier},
      {"bar.warp.sync", warp_barrier},
      {"membar.cta", nothing},
      {"membar.gl", nothing},
      {"fence.acq_rel.cta", nothing},
      {"shfl.sync.up.b32", shuffle<way::up>},
      {"shfl.sync.down.b32", shuffle<way::down>},
      {"shfl.sync.bfly.b32", shuffle<way::across>},
      {"shfl.sync.idx.b32", shuffle<way::at>},
      {"vote.sync.ballot.b32", ballot},
      {"vote.sync.any.pred", any},
      {"vote.sync.all.pred", all_yes},
  };
}

}   // namespace ptx
