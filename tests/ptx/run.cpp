/* run.cpp - a thread of a kernel: frames of functions, and the loop over instructions. Threads wait for each other as fibers of the
** emulation. */
#include <stdarg.h>
#include <stdio.h>

#include "cuda_emulation/internal.h"
#include "ptx/ptx.h"

namespace ptx {

void stop_at (const thread &t, const ins &i, const char *format, ...) {
  char what[600];
  va_list more;
  va_start(more, format);
  vsnprintf(what, sizeof what, format, more);
  va_end(more);
  const size_t line = (size_t)i.line - 1;
  emu::stop("%s, line %d, %s: %s", t.f->name.c_str(), i.line,
            line < t.m->lines.size() ? t.m->lines[line].c_str() : "?", what);
}

/* -- frames */

static uint64_t value_of (const thread &t, const constant &c) {
  const emu::running &n = emu::now;
  switch (c.where) {
    case base::value: return c.value;
    case base::argument: return (uint64_t)(uintptr_t)t.argument + c.value;
    case base::frame: return (uint64_t)(uintptr_t)t.frame + c.value;
    case base::thread_x: return n.thread->index.x;
    case base::thread_y: return n.thread->index.y;
    case base::thread_z: return n.thread->index.z;
    case base::block_x: return n.block.x;
    case base::block_y: return n.block.y;
    case base::block_z: return n.block.z;
    case base::threads_x: return n.block_size.x;
    case base::threads_y: return n.block_size.y;
    case base::threads_z: return n.block_size.z;
    case base::blocks_x: return n.grid_size.x;
    case base::blocks_y: return n.grid_size.y;
    case base::blocks_z: return n.grid_size.z;
    case base::lane: return n.thread->lane;
    default: return ((uint64_t)1 << n.thread->lane) - 1;
  }
}

/* Slots and frames of functions that call each other lie one behind the other. */
void begin_function (thread &t, const function *f, const ins *from) {
  const function *caller = t.f;
  const uint64_t *given = t.word;
  if (from != nullptr) {
    for (int k = 0; k < from->nfrom; k++)
      if (t.wild[from->from[k]]) stop_at(t, *from, "an argument is made of what nothing wrote");
    t.calls.push_back({caller, from});
    t.word += caller->nslots, t.wild += caller->nslots, t.frame += caller->frame;
  }
  t.f = f;
  t.next = f->code.data();
  memset(t.word, 0xFF, (size_t)f->nslots * sizeof *t.word);
  memset(t.wild, 1, (size_t)f->nslots);
  memset(t.frame, 0xFF, f->frame);
  for (const constant &c : f->constants) put(t, c.slot, value_of(t, c), false);
  for (size_t k = 0; from != nullptr && k < f->in.size(); k++)
    memcpy(t.frame + f->in[k].at, (const char *)(uintptr_t)given[from->from[k]], f->in[k].bytes);
}

void end_function (thread &t) {
  if (t.calls.empty()) {
    t.done = true;
    return;
  }
  const function *callee = t.f;
  const char *results = t.frame;
  const call_record c = t.calls.back();
  t.calls.pop_back();
  t.f = c.f;
  t.next = c.from + 1;
  t.word -= c.f->nslots, t.wild -= c.f->nslots, t.frame -= c.f->frame;
  for (size_t k = 0; k < callee->out.size(); k++)
    memcpy((char *)(uintptr_t)t.word[c.from->to[k]], results + callee->out[k].at, callee->out[k].bytes);
}

/* -- threads */

struct room { /* of a thread of a block; used again by later blocks and grids */
  std::vector<uint64_t> word;
  std::unique_ptr<bool[]> wild;
  std::vector<char> frames;
  size_t slots = 0;
};

static room &room_of_thread (const module &m) {
  static std::vector<std::unique_ptr<room>> rooms;
  const size_t n = emu::now.thread->linear;
  while (rooms.size() <= n) rooms.push_back(std::make_unique<room>());
  room &r = *rooms[n];
  if (r.slots < m.most_slots) {
    r.word.resize(m.most_slots);
    r.wild.reset(new bool[m.most_slots]);
    r.slots = m.most_slots;
  }
  if (r.frames.size() < m.most_frame) r.frames.resize(m.most_frame);
  return r;
}

void run_thread (const module &m, const function &f, const std::string &argument) {
  static size_t grid;
  if (grid != emu::grids_begun) note_memory(m);
  grid = emu::grids_begun;
  room &r = room_of_thread(m);
  thread t = {};
  t.m = &m;
  t.word = r.word.data(), t.wild = r.wild.get(), t.wild_carry = true;
  t.frame = r.frames.data(), t.frames = r.frames.data();
  t.argument = argument.data(), t.argument_bytes = argument.size();
  begin_function(t, &f, nullptr);
  while (!t.done) {
    const ins &i = *t.next++;
    if (i.guard >= 0) {
      if (t.wild[i.guard] && emu::set.strict) stop_at(t, i, "a predicate is made of what nothing wrote");
      if (get<bool>(t, i.guard) != i.guarded_by) continue;
    }
    i.run(t, i);
  }
}

}   // namespace ptx
