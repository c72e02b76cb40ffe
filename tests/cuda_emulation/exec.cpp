/* exec.cpp - a grid on one thread of the host: blocks one after another, the threads of a block as fibers that run until
** they wait. A warp operation is done when all lanes of its mask have come to it, a barrier when all threads have; where
** neither can happen the kernel is wrong, and the process stops with the places. Shared memory is filled with NaN
** before each block, and dynamic shared memory ends at a page that cannot be touched. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "fiber.h"
#include "internal.h"

namespace emu {

running now;
size_t grids_begun;

void stop (const char *format, ...) {
  va_list more;
  va_start(more, format);
  fprintf(stderr, "cuda emulation: ");
  vfprintf(stderr, format, more);
  va_end(more);
  if (now.kernel != nullptr)
    fprintf(stderr, " [kernel %s, block %u,%u,%u", now.kernel, now.block.x, now.block.y, now.block.z);
  if (now.kernel != nullptr && now.thread != nullptr)
    fprintf(stderr, ", thread %u,%u,%u", now.thread->index.x, now.thread->index.y, now.thread->index.z);
  fprintf(stderr, "%s\n", now.kernel != nullptr ? "]" : "");
  fflush(stderr);
  _exit(86);
}

/* -- shared memory */

static std::map<const void *, std::vector<piece>> &owned (void) {
  static std::map<const void *, std::vector<piece>> all;
  return all;
}
void own_shared (const void *kernel, const std::vector<piece> &spans) { owned()[kernel] = spans; }

/* The sections emu_shared_* of the object that holds a kernel, from its file: they are in no segment of their own. */
static std::vector<piece> read_sections (const char *path, char *base) {
  std::vector<piece> found;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) stop("cannot read %s, where kernels are", path);
  char *file = (char *)mmap(nullptr, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (file == MAP_FAILED) stop("cannot read %s, where kernels are", path);
  const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)file;
  const ElfW(Shdr) *section = (const ElfW(Shdr) *)(file + head->e_shoff);
  const char *names = file + section[head->e_shstrndx].sh_offset;
  for (int i = 0; i < head->e_shnum; i++)
    if (strncmp(names + section[i].sh_name, "emu_shared_", 11) == 0)
      found.push_back({base + section[i].sh_addr, (size_t)section[i].sh_size});
  munmap(file, (size_t)st.st_size);
  return found;
}

static int find_object (struct dl_phdr_info *info, size_t, void *wanted) {
  Dl_info *w = (Dl_info *)wanted;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &p = info->dlpi_phdr[i];
    const char *low = (const char *)info->dlpi_addr + p.p_vaddr;
    if (p.p_type != PT_LOAD || (const char *)w->dli_saddr < low ||
        (const char *)w->dli_saddr >= low + p.p_memsz)
      continue;
    w->dli_fname = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
    w->dli_fbase = (void *)info->dlpi_addr;
    return 1;
  }
  return 0;
}

static const std::vector<piece> &shared_of (const void *kernel) {
  static std::map<void *, std::vector<piece>> known; /* by load address */
  Dl_info where = {};
  where.dli_saddr = (void *)(uintptr_t)kernel;
  auto own = owned().find(kernel);
  if (own != owned().end()) return own->second;
  if (dl_iterate_phdr(find_object, &where) == 0) stop("a kernel that is in no loaded object");
  auto it = known.find(where.dli_fbase);
  if (it == known.end())
    it = known.emplace(where.dli_fbase, read_sections(where.dli_fname, (char *)where.dli_fbase)).first;
  return it->second;
}

/* Dynamic shared memory ends at the closed page; what rounding leaves above it, and 64 bytes below, are checked. */
static const size_t most_shared = 232448, room_before = 64; /* the limit of sm_90 */
static const unsigned char untouched = 0x5A;
static unsigned char *room_end;

static void make_room (void) {
  const size_t page = 4096, bytes = (most_shared + room_before + page - 1) / page * page;
  unsigned char *p = (unsigned char *)mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) stop("no memory for shared memory");
  mprotect(p + bytes, page, PROT_NONE);
  room_end = p + bytes;
}

/* By hand, because the sections have red zones under AddressSanitizer, which checks memset. */
__attribute__((no_sanitize("address"), optimize("no-tree-loop-distribute-patterns"))) static void
fill_raw (char *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[i] = (char)0xFF;
}

static void fill_shared (const std::vector<piece> &sections, size_t bytes) {
  if (set.poison)
    for (const piece &s : sections) fill_raw(s.at, s.bytes);
  const size_t rounded = (bytes + 15) / 16 * 16;
  now.room = room_end - rounded;
  memset(now.room - room_before, untouched, room_before);
  if (set.poison) memset(now.room, 0xFF, bytes);
  memset(now.room + bytes, untouched, rounded - bytes);
}

static void check_room (size_t bytes) {
  for (const unsigned char *p = now.room - room_before; p < now.room; p++)
    if (*p != untouched) stop("a write %zu bytes before dynamic shared memory", (size_t)(now.room - p));
  for (const unsigned char *p = now.room + bytes; p < room_end; p++)
    if (*p != untouched) stop("a write past the %zu bytes of dynamic shared memory", bytes);
}

/* -- threads of the block that runs */

/* Asynchronous copies of one thread; 'group' is 0 until they are committed. */
struct pending_copy {
  copy_ahead what;
  size_t group;
};
struct copies_of_thread {
  std::vector<pending_copy> waiting;
  size_t groups;
};
static std::vector<cuda_thread> threads;
static std::vector<unsigned> order;
static std::vector<copies_of_thread> copies;

static bool is_barrier (wait w) { return w >= wait::block && w < wait::warp; }
static bool is_warp (wait w) { return w >= wait::warp; }

void park (wait op, unsigned mask, const char *file, int line) {
  cuda_thread *t = now.thread;
  if (t == nullptr) stop("%s:%d a barrier or a warp operation outside of a kernel", file, line);
  t->waits = op;
  t->mask = mask;
  t->file = file;
  t->line = line;
  if (is_warp(op) && (mask >> t->lane & 1) == 0)
    stop("%s:%d lane %u is not in its own mask %08x", file, line, t->lane, mask);
  give_way_ordered(t, is_warp(op) ? 1 + t->linear / 32 : 0);
}

void copy_later (const copy_ahead &c) { copies[now.thread->linear].waiting.push_back({c, 0}); }
void commit_copies (void) {
  copies_of_thread &mine = copies[now.thread->linear];
  mine.groups++; /* a group may be empty */
  for (pending_copy &c : mine.waiting)
    if (c.group == 0) c.group = mine.groups;
}
void wait_copies (size_t but) {
  copies_of_thread &mine = copies[now.thread->linear];
  std::vector<pending_copy> left;
  for (const pending_copy &c : mine.waiting) {
    if (c.group == 0 || c.group + but > mine.groups) {
      left.push_back(c);
      continue;
    }
    const size_t taken = c.what.bytes - std::min(c.what.bytes, c.what.zeros);
    memcpy(c.what.to, c.what.from, taken);
    memset((char *)c.what.to + taken, 0, c.what.bytes - taken);
  }
  mine.waiting.swap(left);
}

[[noreturn]] static void stop_at (cuda_thread &t, const char *what, const cuda_thread *other = nullptr) {
  now.thread = &t;
  const char *file = t.file != nullptr ? t.file : "?";
  if (other == nullptr) stop("%s:%d %s", file, t.line, what);
  stop("%s:%d against %s:%d: %s", file, t.line, other->file != nullptr ? other->file : "?", other->line,
       what);
}

/* -- warp operations */

struct warp {
  cuda_thread *lane;
  unsigned lanes;
};

static int64_t whole (const cuda_thread &t) {
  int64_t v;
  memcpy(&v, t.in, sizeof v);
  return v;
}
static int64_t combine (wait op, int64_t a, int64_t b) {
  switch (op) {
    case wait::add: return a + b;
    case wait::least: return std::min(a, b);
    case wait::most: return std::max(a, b);
    case wait::bit_and: return a & b;
    case wait::bit_or: return a | b;
    default: return a ^ b;
  }
}

/* No memcpy between operands: the detector of races would see it. */
static void give (cuda_thread &t, const unsigned char *from, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++) t.out[i] = from[i];
}
template <class T> static void give_value (cuda_thread &t, T v) {
  give(t, (const unsigned char *)&v, sizeof v);
}

static void shuffle (const warp &w, unsigned mask) {
  for (unsigned i = 0; i < w.lanes; i++) {
    cuda_thread &t = w.lane[i];
    if ((mask >> i & 1) == 0) continue;
    if (t.source < 0 || t.source > 31 || (mask >> t.source & 1) == 0)
      stop_at(t, "a shuffle reads a lane outside of its mask");
    give(t, w.lane[t.source].in, t.size);
  }
}

static void vote (const warp &w, unsigned mask, wait op) {
  for (unsigned i = 0; i < w.lanes; i++) {
    if ((mask >> i & 1) == 0) continue;
    unsigned bits = 0;
    for (unsigned j = 0; j < w.lanes; j++) {
      if ((mask >> j & 1) == 0) continue;
      const bool yes = op == wait::ballot ? (w.lane[j].in[0] & 1) != 0 : whole(w.lane[j]) == whole(w.lane[i]);
      bits |= (unsigned)yes << j;
    }
    if (op == wait::ballot) give_value(w.lane[i], bits);
    else give_value(w.lane[i], (int64_t)bits);
  }
}

static void reduce (const warp &w, unsigned mask, wait op) {
  const unsigned first = (unsigned)__builtin_ctz(mask);
  int64_t total = whole(w.lane[first]);
  for (unsigned i = first + 1; i < w.lanes; i++)
    if ((mask >> i & 1) != 0) total = combine(op, total, whole(w.lane[i]));
  for (unsigned i = 0; i < w.lanes; i++)
    if ((mask >> i & 1) != 0) give_value(w.lane[i], total);
}

static void finish (const warp &w, unsigned mask, wait op) {
  if (op == wait::shuffle) shuffle(w, mask);
  else if (op == wait::ballot || op == wait::match) vote(w, mask, op);
  else if (op != wait::warp) reduce(w, mask, op);
  for (unsigned i = 0; i < w.lanes; i++)
    if ((mask >> i & 1) != 0) w.lane[i].waits = wait::none;
}

/* Whether all lanes that 't' names have come to the same operation. */
static bool all_came (const warp &w, cuda_thread &t, unsigned mask) {
  bool all = true;
  for (unsigned j = 0; j < w.lanes; j++) {
    cuda_thread &u = w.lane[j];
    if ((mask >> j & 1) == 0) continue;
    if (u.done) stop_at(t, "the mask of a warp operation names a lane that has exited");
    if (u.waits != t.waits || u.mask != t.mask) all = false;
    else if (set.strict && u.line != t.line) stop_at(t, "one warp operation is reached from two places", &u);
  }
  return all;
}

static bool finish_warp_operations (void) {
  bool any = false;
  for (size_t from = 0; from < threads.size(); from += 32) {
    const warp w = {&threads[from], (unsigned)std::min<size_t>(32, threads.size() - from)};
    for (unsigned i = 0; i < w.lanes; i++) {
      cuda_thread &t = w.lane[i];
      if (t.done || !is_warp(t.waits)) continue;
      /* The last warp of a block may be partial: the full mask then means the lanes there are. */
      const unsigned there = w.lanes < 32 ? (1u << w.lanes) - 1 : ~0u, mask = t.mask == ~0u ? there : t.mask;
      if ((mask & ~there) != 0)
        stop_at(t, "the mask of a warp operation names lanes that the block does not have");
      if (!all_came(w, t, mask)) continue;
      finish(w, mask, t.waits);
      any = true;
    }
  }
  return any;
}

/* -- the block */

static size_t run_ready (void) {
  size_t alive = 0;
  for (unsigned i : order) {
    cuda_thread &t = threads[i];
    if (!t.done && t.waits == wait::none) resume(&t);
    if (!t.done) alive++;
  }
  return alive;
}

static void open_barrier (size_t alive) {
  cuda_thread *first = nullptr;
  int yes = 0;
  for (cuda_thread &t : threads) {
    if (t.done) continue;
    if (first == nullptr) first = &t;
    if (set.strict && (t.line != first->line || t.waits != first->waits))
      stop_at(t, "a divergent barrier", first);
    yes += t.predicate != 0;
  }
  if (set.strict && alive < threads.size())
    stop_at(*first, "a barrier that threads which have exited never reach");
  const wait op = first->waits;
  for (cuda_thread &t : threads) {
    if (t.done) continue;
    t.waits = wait::none;
    t.predicate = op == wait::block_or ? yes > 0 : op == wait::block_and ? yes == (int)alive : yes;
  }
}

[[noreturn]] static void stop_waiting (void) {
  cuda_thread *first = nullptr, *other = nullptr;
  for (cuda_thread &t : threads) {
    if (t.done) continue;
    if (first == nullptr) first = &t;
    else if (other == nullptr && (t.line != first->line || t.waits != first->waits || t.mask != first->mask))
      other = &t;
  }
  stop_at(*first, "threads wait for each other for ever", other);
}

static void run_block (void) {
  for (size_t alive; (alive = run_ready()) > 0;) {
    if (finish_warp_operations()) continue;
    size_t waiting = 0;
    for (const cuda_thread &t : threads) waiting += !t.done && is_barrier(t.waits);
    if (waiting < alive) stop_waiting();
    open_barrier(alive);
  }
}

static void begin_block (const dim3 &size) {
  for (unsigned i = 0; i < threads.size(); i++) {
    cuda_thread &t = threads[i];
    t.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    t.linear = i;
    t.lane = i & 31;
    t.waits = wait::none;
    t.done = false;
    t.predicate = 0;
    t.file = nullptr;
    t.line = 0;
    t.stack = -1;
    copies[i] = {{}, 0};
  }
}

/* -- the grid */

/* The place of the i-th block: as it is, from the end, or anywhere (i times an odd number that has no factor of n). */
static size_t block_at (size_t i, size_t n, uint64_t step, uint64_t begin) {
  if (set.order == sequence::forward) return i;
  if (set.order == sequence::backward) return n - 1 - i;
  return (size_t)(((unsigned __int128)i * step + begin) % n);
}

static uint64_t common_factor (uint64_t a, uint64_t b) { return b == 0 ? a : common_factor(b, a % b); }

void run_grid (const launch_call &how, const std::function<void()> &thread) {
  static std::mt19937_64 random;
  const size_t blocks = (size_t)how.grid.x * how.grid.y * how.grid.z;
  const std::vector<piece> &sections = shared_of(how.function);
  if (room_end == nullptr) make_room();
  grids_begun++;
  random.seed(set.order_seed);
  uint64_t step = random() % blocks, begin = random() % blocks;
  while (common_factor(step, blocks) != 1) step = (step + 1) % (blocks > 1 ? blocks : 2);
  threads.resize((size_t)how.block.x * how.block.y * how.block.z);
  copies.resize(std::max(copies.size(), threads.size()));
  order.resize(threads.size());
  for (unsigned i = 0; i < order.size(); i++)
    order[i] = set.order == sequence::backward ? (unsigned)order.size() - 1 - i : i;
  now = {{},
         {how.block.x, how.block.y, how.block.z},
         {how.grid.x, how.grid.y, how.grid.z},
         nullptr,
         nullptr,
         how.name};
  begin_fibers(&thread);
  for (size_t i = 0; i < blocks; i++) {
    const size_t b = block_at(i, blocks, step, begin);
    now.block = {(unsigned)(b % how.grid.x), (unsigned)(b / how.grid.x % how.grid.y),
                 (unsigned)(b / how.grid.x / how.grid.y)};
    if (set.order == sequence::seeded) std::shuffle(order.begin(), order.end(), random);
    begin_block(how.block);
    fill_shared(sections, how.shared);
    order_block_begin();
    run_block();
    order_block_end();
    now.thread = nullptr;
    check_room(how.shared);
  }
  now = {};
}

void abandon_grid (void) {
  now = {};
  end_fibers();
}

}   // namespace emu
