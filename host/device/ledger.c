/* ledger.c - the account: blocks in a list, by the records of their owners. */
#include "device/ledger.h"

#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gb_ledger_init (gb_ledger *l, gb_memory *memory, size_t limit) {
  *l = (gb_ledger){.memory = memory, .limit = limit, .fail_after = -1};
}

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

void gb_ledger_map (gb_ledger *l, size_t bytes) { outermost(l)->mapped += bytes; }
void gb_ledger_unmap (gb_ledger *l, size_t bytes) { outermost(l)->mapped -= bytes; }

/* Of lent memory: no two blocks share an address, not even empty ones. */
static size_t whole_size (size_t bytes) {
  return bytes == 0 ? GB_ALIGN : (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN;
}

/* The first gap of lent memory that is wide enough. Blocks there are listed by address; '*after' is the
** one before. */
static void *take_lent (const gb_ledger *l, size_t size, gb_block **after) {
  char *at = l->base;
  *after = NULL;
  for (gb_block *b = l->live; b != NULL && (size_t)((char *)b->data - at) < size; b = b->next) {
    at = (char *)b->data + whole_size(b->bytes);
    *after = b;
  }
  const bool last = *after == NULL ? l->live == NULL : (*after)->next == NULL;
  if (last && (size_t)(l->base + l->extent - at) < size) return NULL;
  return at;
}

/* Invariant: blocks and what the memory keeps of freed ones together are no more than the limit. Before
** they could be more, it goes back to the system. */
static void *take_own (gb_ledger *l, size_t bytes) {
  gb_memory *m = l->memory;
  if (m->ops->idle == NULL) return m->ops->take(m, bytes);
  void *kept = m->ops->reuse(m, bytes);
  if (m->ops->idle(m) > gb_ledger_room(l) - bytes) m->ops->trim(m);
  return kept != NULL ? kept : m->ops->take(m, bytes);
}

void gb_ledger_release (gb_ledger *l) {
  if (l->memory->ops->trim != NULL) l->memory->ops->trim(l->memory);
}

/* '*after': its place in the list, NULL = the head. */
static void *take (gb_ledger *l, size_t bytes, gb_block **after) {
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
static void *take_or_shed (gb_ledger *l, size_t bytes, gb_block **after) {
  while (bytes > gb_ledger_room(l) && gb_ledger_charged(l) > 0 && l->shed != NULL && l->shed(l->shed_ud))
    continue;
  return take(l, bytes, after);
}

/* Where the account has room and the memory has none, the device has less than its limit, or is lost. */
static gb_status no_room (const gb_ledger *l, gb_purpose p, size_t bytes, gb_error *err) {
  char need[GB_BYTES_TEXT], used[GB_BYTES_TEXT], limit[GB_BYTES_TEXT];
  gb_device *dev = gb_memory_is_host(l->memory) ? NULL : l->memory->owner;
  if (dev != NULL && bytes <= gb_ledger_room(l) && gb_device_wait(dev, err) == GB_EDEVICE) return GB_EDEVICE;
  gb_fail(err, GB_ENOMEM, "%s needed for a %s, %s in use, limit %s%s%s%s", gb_bytes_text(bytes, need),
          gb_purpose_name(p), gb_bytes_text(l->used, used), gb_bytes_text(l->limit, limit),
          dev != NULL ? ", on device " : "", dev != NULL ? dev->name : "",
          dev != NULL && bytes <= gb_ledger_room(l) ? ", which has no such room" : "");
  if (err != NULL) err->need = bytes, err->have = gb_ledger_room(l);
  return GB_ENOMEM;
}

gb_status gb_ledger_alloc (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                           gb_block *out, gb_error *err) {
  gb_block *after;
  void *data = take_or_shed(l, bytes, &after);
  if (data == NULL && l->reclaim != NULL) {
    l->reclaim(l->reclaim_ud, bytes); /* may re-enter gb_ledger_free; the ledger is whole here */
    data = take_or_shed(l, bytes, &after);
  }
  l->allocations++;
  if (data == NULL) return no_room(l, p, bytes, err);
  *out = (gb_block){.data = data, .bytes = bytes, .purpose = p, .where = where, .name = name};
  enter_block(l, out, after);
  return GB_OK;
}

static bool inside (const gb_ledger *l, const void *p) {
  const char *at = p;
  return l->base != NULL && at >= l->base && at <= l->base + l->extent;
}

bool gb_ledger_owns (const gb_ledger *l, const gb_block *b) { return l->base == NULL || inside(l, b->data); }

/* The account that a block is in: what is lent is known by its address. */
static gb_ledger *account_of (gb_ledger *l, const gb_block *b) {
  while (!gb_ledger_owns(l, b)) l = l->outer;
  return l;
}

static void leave_list (gb_ledger *l, gb_block *b) {
  if (b->prev != NULL) b->prev->next = b->next;
  else l->live = b->next;
  if (b->next != NULL) b->next->prev = b->prev;
}

void gb_ledger_free (gb_ledger *l, gb_block *b) {
  if (b->data == NULL) return;
  l = account_of(l, b);
  leave_list(l, b);
  l->blocks--;
  l->used -= b->bytes;
  l->by_purpose[b->purpose] -= b->bytes;
  if (l->base == NULL) l->memory->ops->give(l->memory, b->data, b->bytes);
  b->data = NULL;
}

void gb_ledger_move (gb_ledger *l, gb_block *to, gb_block *from) {
  l = account_of(l, from);
  *to = *from;
  if (to->prev != NULL) to->prev->next = to;
  else l->live = to;
  if (to->next != NULL) to->next->prev = to;
  from->data = NULL;
}

void gb_ledger_retag (gb_ledger *l, gb_block *b, gb_purpose to) {
  l = account_of(l, b);
  l->by_purpose[b->purpose] -= b->bytes;
  l->by_purpose[to] += b->bytes;
  b->purpose = to;
}

bool gb_ledger_force (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                      gb_block *out) {
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
  *l = (gb_ledger){.memory = outer->memory,
                   .limit = limit,
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
    const gb_block was = *b;
    gb_error err;
    if (!gb_ledger_force(l, was.purpose, was.bytes, was.where, was.name, b) ||
        gb_memory_copy(l->memory, b->data, was.data, was.bytes, &err) != GB_OK) {
      fprintf(stderr, "gibbous: no memory for %zu bytes that outlive the function that made them\n",
              was.bytes);
      abort();
    }
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
