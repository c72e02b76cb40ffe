/* ledger.c - blocks with a header, so that freeing and reporting need no look-up. */
#include "device/ledger.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>

#define ALIGN ((size_t)64)
_Static_assert(sizeof(gb_block) <= 64, "the block header fits in one alignment unit");

void gb_ledger_init (gb_ledger *l, size_t limit) { *l = (gb_ledger){.limit = limit, .fail_after = -1}; }

static bool fits (gb_ledger *l, size_t bytes) {
  if (l->fail_after >= 0 && (size_t)l->fail_after <= l->allocations) return false;
  return bytes <= gb_ledger_room(l);
}

static gb_ledger *outermost (gb_ledger *l) {
  while (l->outer != NULL) l = l->outer;
  return l;
}

gb_status gb_ledger_book (gb_ledger *l, size_t bytes, const char *what, gb_error *err) {
  l = outermost(l);
  l->books += bytes;
  do
    if (gb_ledger_charged(l) == 0 || l->used + gb_ledger_charged(l) <= l->limit) return GB_OK;
  while (l->shed != NULL && l->shed(l->shed_ud));
  l->books -= bytes;
  char books[GB_BYTES_TEXT], used[GB_BYTES_TEXT], limit[GB_BYTES_TEXT];
  return gb_fail(err, GB_ENOMEM,
                 "no room for %s: graphs and plans take %s (64 MiB are free) beside %s of tensors, limit %s",
                 what, gb_bytes_text(l->books, books), gb_bytes_text(l->used, used),
                 gb_bytes_text(l->limit, limit));
}

void gb_ledger_unbook (gb_ledger *l, size_t bytes) { outermost(l)->books -= bytes; }

static size_t whole_size (size_t bytes) { return ALIGN + (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* The first gap of lent memory that is wide enough. Blocks there are listed by address; '*after' is the
** one before. */
static gb_block *take_lent (const gb_ledger *l, size_t size, gb_block **after) {
  char *at = l->base;
  *after = NULL;
  for (gb_block *b = l->live; b != NULL && (size_t)((char *)b - at) < size; b = b->next) {
    at = (char *)b + whole_size(b->bytes);
    *after = b;
  }
  const bool last = *after == NULL ? l->live == NULL : (*after)->next == NULL;
  if (last && (size_t)(l->base + l->extent - at) < size) return NULL;
  return (gb_block *)(void *)at;
}

/* Aligned by hand: glibc before 2.38 does not find what aligned_alloc gave and free took back for another
** request of the same size, and a loop would grow the heap by all that it ever held. */
static gb_block *aligned_block (size_t size) {
  void *raw = malloc(size + ALIGN);
  if (raw == NULL) return NULL;
  gb_block *b = (gb_block *)(void *)(((uintptr_t)raw + ALIGN - 1) / ALIGN * ALIGN);
  b->raw = raw;
  return b;
}

/* Large blocks are mappings of their own. Some freed ones are kept, the newest last, for blocks to come:
** pages met for the first time cost more than what most ops compute into them. A build that watches the
** heap leaves all blocks to the allocator. */
#define PAGE ((size_t)4096)
#ifdef __SANITIZE_ADDRESS__
#define LARGE SIZE_MAX
#else
#define LARGE ((size_t)1 << 20)
#endif
#define MOST_KEPT ((size_t)256 << 20)

static size_t mapped_size (size_t bytes) { return (whole_size(bytes) + PAGE - 1) / PAGE * PAGE; }

static void *map (size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}

static void drop_kept (gb_ledger *l, int i) {
  l->kept_bytes -= l->kept[i].bytes;
  l->nkept--;
  memmove(&l->kept[i], &l->kept[i + 1], (size_t)(l->nkept - i) * sizeof *l->kept);
}

static void unmap_kept (gb_ledger *l, int i) {
  munmap(l->kept[i].at, l->kept[i].bytes);
  drop_kept(l, i);
}

/* One mapping with its neighbours in memory. What does not fit, the oldest first, goes back to the system. */
static void keep (gb_ledger *l, char *at, size_t size) {
  for (int i = l->nkept - 1; i >= 0; i--) {
    const gb_kept k = l->kept[i];
    if (k.at + k.bytes != at && at + size != k.at) continue;
    at = k.at < at ? k.at : at;
    size += k.bytes;
    drop_kept(l, i);
  }
  while (l->nkept > 0 && (l->nkept == GB_KEPT || l->kept_bytes + size > MOST_KEPT)) unmap_kept(l, 0);
  if (size > MOST_KEPT) {
    munmap(at, size);
    return;
  }
  l->kept[l->nkept++] = (gb_kept){at, size};
  l->kept_bytes += size;
}

/* The front of the least that is large enough. */
static void *take_kept (gb_ledger *l, size_t size) {
  int best = -1;
  for (int i = 0; i < l->nkept; i++)
    if (l->kept[i].bytes >= size && (best < 0 || l->kept[i].bytes <= l->kept[best].bytes)) best = i;
  if (best < 0) return NULL;
  gb_kept *k = &l->kept[best];
  char *at = k->at;
  k->at += size;
  k->bytes -= size;
  l->kept_bytes -= size;
  if (k->bytes == 0) drop_kept(l, best);
  return at;
}

void gb_ledger_release (gb_ledger *l) {
  while (l->nkept > 0) unmap_kept(l, 0);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  l->freed = 0;
}

/* The allocator keeps pages of what was freed, up to all of 'freed', and we keep mappings. Before these
** could take the process past the limit they go back to the system. Invariant: blocks and such pages
** together are no more than the limit. */
static gb_block *take_own (gb_ledger *l, size_t bytes) {
  gb_block *b = NULL;
  const size_t room = gb_ledger_room(l) - bytes;
  if (bytes >= LARGE) b = take_kept(l, mapped_size(bytes));
  if (l->kept_bytes > room || l->freed > room - l->kept_bytes) gb_ledger_release(l);
  if (b == NULL && bytes >= LARGE) b = map(mapped_size(bytes));
  else if (b == NULL) b = aligned_block(whole_size(bytes));
  if (b != NULL && bytes >= LARGE) b->raw = b;
  return b;
}

/* '*after': its place in the list, NULL = the head. */
static gb_block *take (gb_ledger *l, size_t bytes, gb_block **after) {
  *after = NULL;
  if (!fits(l, bytes) || bytes > SIZE_MAX / 2) return NULL;
  return l->base != NULL ? take_lent(l, whole_size(bytes), after) : take_own(l, bytes);
}

static void enter_block (gb_ledger *l, gb_block *b, gb_block *after) {
  b->prev = after;
  b->next = after == NULL ? l->live : after->next;
  if (b->next != NULL) b->next->prev = b;
  if (after == NULL) l->live = b;
  else after->next = b;
  l->blocks++;
  l->used += b->bytes;
  l->by_purpose[b->purpose] += b->bytes;
  if (l->used > l->peak) l->peak = l->used;
}

/* Plans that are only remembered go before what is charged for them makes an allocation fail. */
static gb_block *take_or_shed (gb_ledger *l, size_t bytes, gb_block **after) {
  while (bytes > gb_ledger_room(l) && gb_ledger_charged(l) > 0 && l->shed != NULL && l->shed(l->shed_ud))
    continue;
  return take(l, bytes, after);
}

gb_status gb_ledger_alloc (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                           void **out, gb_error *err) {
  gb_block *after, *b = take_or_shed(l, bytes, &after);
  if (b == NULL && l->reclaim != NULL) {
    l->reclaim(l->reclaim_ud, bytes); /* may re-enter gb_ledger_free; the ledger is whole here */
    b = take_or_shed(l, bytes, &after);
  }
  l->allocations++;
  if (b == NULL) {
    char need[GB_BYTES_TEXT], used[GB_BYTES_TEXT], limit[GB_BYTES_TEXT];
    gb_fail(err, GB_ENOMEM, "%s needed for a %s, %s in use, limit %s", gb_bytes_text(bytes, need),
            gb_purpose_name(p), gb_bytes_text(l->used, used), gb_bytes_text(l->limit, limit));
    if (err != NULL) err->need = bytes, err->have = gb_ledger_room(l);
    return GB_ENOMEM;
  }
  *b = (gb_block){.bytes = bytes,
                  .purpose = p,
                  .where = where,
                  .name = name,
                  .holder = out,
                  .raw = l->base == NULL ? b->raw : NULL};
  enter_block(l, b, after);
  *out = (char *)b + ALIGN;
  return GB_OK;
}

static bool inside (const gb_ledger *l, const void *p) {
  const char *at = p;
  return l->base != NULL && at >= l->base && at <= l->base + l->extent;
}

bool gb_ledger_owns (const gb_ledger *l, const void *p) { return l->base == NULL || inside(l, p); }

/* The account that a block is in: what is lent is known by its address. */
static gb_ledger *account_of (gb_ledger *l, const void *p) {
  while (!gb_ledger_owns(l, p)) l = l->outer;
  return l;
}

static gb_block *header (const void *p) { return (gb_block *)((char *)(uintptr_t)p - ALIGN); }
const gb_block *gb_ledger_block (const void *p) { return header(p); }

void gb_ledger_free (gb_ledger *l, void *p) {
  if (p == NULL) return;
  gb_block *b = header(p);
  l = account_of(l, p);
  if (b->prev != NULL) b->prev->next = b->next;
  else l->live = b->next;
  if (b->next != NULL) b->next->prev = b->prev;
  l->blocks--;
  l->used -= b->bytes;
  l->by_purpose[b->purpose] -= b->bytes;
  if (l->base != NULL) return;
  if (b->bytes >= LARGE) {
    keep(l, (char *)b, mapped_size(b->bytes));
    return;
  }
  l->freed += b->bytes;
  free(b->raw);
}

void gb_ledger_retag (gb_ledger *l, void *p, gb_purpose to) {
  gb_block *b = header(p);
  l = account_of(l, p);
  l->by_purpose[b->purpose] -= b->bytes;
  l->by_purpose[to] += b->bytes;
  b->purpose = to;
}

bool gb_ledger_force (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                      void **out) {
  gb_status st = GB_ENOMEM;
  for (; st != GB_OK && l != NULL; l = l->outer) {
    const gb_ledger was = *l;
    l->limit = SIZE_MAX;
    l->fail_after = -1;
    l->reclaim = NULL; /* a caller may hold blocks that are in no list */
    st = gb_ledger_alloc(l, p, bytes, where, name, out, NULL);
    l->limit = was.limit;
    l->fail_after = was.fail_after;
    l->reclaim = was.reclaim;
  }
  return st == GB_OK;
}

void gb_ledger_lend (gb_ledger *l, gb_ledger *outer, void *memory, size_t extent, size_t limit) {
  *outer = *l;
  *l = (gb_ledger){.limit = limit,
                   .allocations = outer->allocations,
                   .fail_after = outer->fail_after,
                   .reclaim = outer->reclaim,
                   .reclaim_ud = outer->reclaim_ud,
                   .base = memory,
                   .extent = extent,
                   .outer = outer};
}

void gb_ledger_return (gb_ledger *l) {
  gb_block *b = l->live;
  const size_t allocations = l->allocations;
  *l = *l->outer;
  l->allocations = allocations;
  for (gb_block *next; b != NULL; b = next) {
    next = b->next;
    const void *data = *b->holder;
    if (!gb_ledger_force(l, b->purpose, b->bytes, b->where, b->name, b->holder)) {
      fprintf(stderr, "gibbous: no memory for %zu bytes that outlive the function that made them\n",
              b->bytes);
      abort();
    }
    memcpy(*b->holder, data, b->bytes);
  }
}

const char *gb_purpose_name (gb_purpose p) {
  static const char *const names[GB_NPURPOSES] = {"tensor", "cache", "arena", "workspace"};
  return names[p];
}

char *gb_bytes_text (size_t bytes, char buf[GB_BYTES_TEXT]) {
  static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double v = (double)bytes;
  int u = 0;
  while (v >= 1024 && u < 6) v /= 1024, u++;
  snprintf(buf, GB_BYTES_TEXT, u == 0 ? "%.0f %s" : "%.4g %s", v, unit[u]);
  return buf;
}

/* The number after 'key' in a file, in its own units; 0 where there is none. */
static size_t read_number (const char *path, const char *key) {
  FILE *f = fopen(path, "r");
  if (f == NULL) return 0;
  char line[256];
  unsigned long long v = 0;
  while (fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%llu", &v) == 1) break;
  fclose(f);
  return (size_t)v;
}

size_t gb_memory_available (void) {
  size_t have = read_number("/proc/meminfo", "MemAvailable:") * 1024;
  const size_t group = read_number("/sys/fs/cgroup/memory.max", "");
  const size_t group_used = read_number("/sys/fs/cgroup/memory.current", "");
  if (group > group_used && group - group_used < have) have = group - group_used;
  return have == 0 ? (size_t)1 << 30 : have / 10 * 8;
}

gb_process_memory gb_process_memory_read (void) {
  return (gb_process_memory){.now = read_number("/proc/self/status", "VmRSS:") * 1024,
                             .peak = read_number("/proc/self/status", "VmHWM:") * 1024};
}

void gb_process_memory_reset (void) {
  FILE *f = fopen("/proc/self/clear_refs", "w");
  if (f == NULL) return;
  fputs("5", f); /* the peak becomes what is resident now */
  fclose(f);
}
