/* doors.cpp - memory of devices is closed to the process. While a device's work runs, an access opens a piece around it, if
** that device may touch it; all pieces are closed when the work ends, so that the cost goes by what was touched. Host
** code that touches such memory, and a device that touches what is not its own, have no such answer (faults.cpp). */
#include <sys/mman.h>

#include "internal.h"

namespace emu {

struct span {
  char *at;
  size_t bytes;
};
static const size_t page = 4096, first_piece = size_t(64) << 10, last_piece = size_t(4) << 20;
static int open_for = -1; /* the device whose work runs */
static bool open_every;
static std::vector<span> opened;
static size_t next_piece = first_piece; /* grows, for work that walks through much memory */

static bool may_touch (const region &r) {
  if (r.of == kind::mapped && !open_every) return r.access.count(open_for) != 0;
  if (open_every || r.device == open_for) return true;
  return devices()[(size_t)open_for].peers.count(r.device) != 0;
}

bool is_open (const void *at) {
  if (!set.protect) return true;
  for (const span &s : opened)
    if (at >= s.at && at < s.at + s.bytes) return true;
  return false;
}

/* The region whose mapping holds an address, with what surrounds it on its pages. */
static const region *mapping_of (const char *p) {
  auto next = regions().upper_bound((char *)(uintptr_t)p);
  if (next != regions().end() && next->second.base <= p) return &next->second;
  if (next == regions().begin()) return nullptr;
  const region &r = (--next)->second;
  return p < r.base + r.mapped ? &r : nullptr;
}

bool open_door (const void *address) {
  char *p = (char *)((uintptr_t)address / page * page);
  const region *r = open_for >= 0 ? mapping_of(p) : nullptr;
  if (r == nullptr || !on_device(r) || is_open(p) || !may_touch(*r)) return false;
  const size_t left = (size_t)(r->base + r->mapped - p), bytes = left < next_piece ? left : next_piece;
  if (mprotect(p, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  opened.push_back({p, bytes});
  if (next_piece < last_piece) next_piece *= 2;
  return true;
}

static void close_doors (void) {
  for (const span &s : opened) mprotect(s.at, s.bytes, PROT_NONE);
  opened.clear();
  next_piece = first_piece;
}

void forget_doors (const char *from, size_t bytes) {
  for (span &s : opened)
    if (s.at >= from && s.at < from + bytes) s.bytes = 0;
}

void set_door (const region &r) {
  const bool open = !set.protect && (r.of != kind::mapped || !r.access.empty());
  if (r.of == kind::device || r.of == kind::mapped)
    mprotect(r.base, r.mapped, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
void set_doors (void) {
  for (auto &entry : regions()) set_door(entry.second);
}

device_side::device_side(int device, bool every) : before(open_for), before_every(open_every) {
  close_doors();
  opened.reserve(1024); /* the handler of a fault should not allocate */
  open_for = device;
  open_every = every;
}
device_side::~device_side() {
  close_doors();
  open_for = before;
  open_every = before_every;
}

}   // namespace emu
