/* memory.c - memory of the host, and copies between memories. */
#include "device/memory.h"

#include "device/device.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>

/* Large blocks are mappings. A build that watches the heap leaves all blocks to the allocator. */
#define PAGE ((size_t)4096)
#ifdef __SANITIZE_ADDRESS__
#define LARGE SIZE_MAX
#else
#define LARGE ((size_t)1 << 20)
#endif
#define MOST_KEPT ((size_t)256 << 20)
/* Blocks of these sizes are in pages of 2 MiB where the system has them: fewer faults, fewer walks of page tables. The system may take
** seconds to gather the pages of larger ones, and nothing answers Ctrl-C meanwhile. */
#define WIDE_FROM ((size_t)4 << 20)
#define WIDE_TO ((size_t)512 << 20)

static size_t mapped_size (size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static void *map (size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
  if (size >= WIDE_FROM && size <= WIDE_TO)
    madvise(at, size, MADV_HUGEPAGE); /* without it, pages are small */
#endif
  return at;
}

static void drop_kept (gb_memory *m, int i) {
  m->kept_bytes -= m->kept[i].bytes;
  m->nkept--;
  memmove(&m->kept[i], &m->kept[i + 1], (size_t)(m->nkept - i) * sizeof *m->kept);
}

static void unmap_kept (gb_memory *m, int i) {
  munmap(m->kept[i].at, m->kept[i].bytes);
  drop_kept(m, i);
}

/* One mapping with its neighbours in memory. What does not fit, the oldest first, goes back to the system. */
static void keep (gb_memory *m, char *at, size_t size) {
  for (int i = m->nkept - 1; i >= 0; i--) {
    const gb_kept k = m->kept[i];
    if (k.at + k.bytes != at && at + size != k.at) continue;
    at = k.at < at ? k.at : at;
    size += k.bytes;
    drop_kept(m, i);
  }
  while (m->nkept > 0 && (m->nkept == GB_KEPT || m->kept_bytes + size > MOST_KEPT)) unmap_kept(m, 0);
  if (size > MOST_KEPT) {
    munmap(at, size);
    return;
  }
  m->kept[m->nkept++] = (gb_kept){at, size};
  m->kept_bytes += size;
}

/* The front of the least that is large enough. */
static void *take_kept (gb_memory *m, size_t size) {
  int best = -1;
  for (int i = 0; i < m->nkept; i++)
    if (m->kept[i].bytes >= size && (best < 0 || m->kept[i].bytes <= m->kept[best].bytes)) best = i;
  if (best < 0) return NULL;
  gb_kept *k = &m->kept[best];
  char *at = k->at;
  k->at += size;
  k->bytes -= size;
  m->kept_bytes -= size;
  if (k->bytes == 0) drop_kept(m, best);
  return at;
}

/* Aligned by hand, the address that malloc gave in the word before the block: glibc before 2.38 does not
** find what aligned_alloc gave and free took back for another request of the same size, and a loop would
** grow the heap by all that it ever held. */
static void *take_small (size_t bytes) {
  char *raw = malloc((bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN + GB_ALIGN + sizeof(void *));
  if (raw == NULL) return NULL;
  const uintptr_t first = (uintptr_t)raw + sizeof(void *);
  char *at = raw + ((first + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN - (uintptr_t)raw);
  memcpy(at - sizeof raw, &raw, sizeof raw);
  return at;
}

static void *host_take (gb_memory *m, size_t bytes) {
  (void)m;
  return bytes < LARGE ? take_small(bytes) : map(mapped_size(bytes));
}

static void *host_reuse (gb_memory *m, size_t bytes) {
  return bytes < LARGE ? NULL : take_kept(m, mapped_size(bytes));
}

static void host_give (gb_memory *m, void *p, size_t bytes) {
  if (bytes >= LARGE) {
    keep(m, p, mapped_size(bytes));
    return;
  }
  m->freed += bytes;
  void *raw;
  memcpy(&raw, (char *)p - sizeof raw, sizeof raw);
  free(raw);
}

/* The allocator keeps pages of what was freed, up to all of 'freed', and mappings are kept here. */
static size_t host_idle (const gb_memory *m) { return m->kept_bytes + m->freed; }

static void host_trim (gb_memory *m) {
  while (m->nkept > 0) unmap_kept(m, 0);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  m->freed = 0;
}

gb_memory gb_host_memory (void) {
  static const gb_memory_ops host = {.host = true,
                                     .take = host_take,
                                     .give = host_give,
                                     .idle = host_idle,
                                     .reuse = host_reuse,
                                     .trim = host_trim};
  return (gb_memory){.ops = &host};
}

/* -- copies */

static gb_status move (void *to, const void *from, size_t bytes) {
  memmove(to, from, bytes);
  return GB_OK;
}

gb_status gb_memory_upload (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  if (bytes == 0) return GB_OK;
  if (m->ops->host) return move(to, from, bytes);
  GB_TRY(gb_device_alive(m->owner, err));
  return gb_device_checked(m->owner, m->ops->upload(m, to, from, bytes, err), err);
}

gb_status gb_memory_download (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  if (bytes == 0) return GB_OK;
  if (m->ops->host) return move(to, from, bytes);
  GB_TRY(gb_device_alive(m->owner, err));
  return gb_device_checked(m->owner, m->ops->download(m, to, from, bytes, err), err);
}

gb_status gb_memory_copy (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err) {
  if (bytes == 0) return GB_OK;
  if (m->ops->host) return move(to, from, bytes);
  GB_TRY(gb_device_alive(m->owner, err));
  return gb_device_checked(m->owner, m->ops->copy(m, to, from, bytes, err), err);
}

gb_status gb_memory_fill (gb_memory *m, void *to, int byte, size_t bytes, gb_error *err) {
  if (bytes == 0) return GB_OK;
  if (m->ops->host) {
    memset(to, byte, bytes);
    return GB_OK;
  }
  GB_TRY(gb_device_alive(m->owner, err));
  return gb_device_checked(m->owner, m->ops->fill(m, to, byte, bytes, err), err);
}

/* Two devices: piece by piece through the host. */
#define PIECE ((size_t)1 << 16)
static gb_status relay (gb_memory *to_memory, char *to, gb_memory *from_memory, const char *from,
                        size_t bytes, gb_error *err) {
  _Alignas(64) char piece[PIECE];
  for (size_t done = 0; done < bytes; done += PIECE) {
    const size_t some = bytes - done < PIECE ? bytes - done : PIECE;
    GB_TRY(gb_memory_download(from_memory, piece, from + done, some, err));
    GB_TRY(gb_memory_upload(to_memory, to + done, piece, some, err));
  }
  return GB_OK;
}

gb_status gb_memory_across (gb_memory *to_memory, void *to, gb_memory *from_memory, const void *from,
                            size_t bytes, gb_error *err) {
  if (from_memory == to_memory) return gb_memory_copy(to_memory, to, from, bytes, err);
  if (from_memory->ops->host) return gb_memory_upload(to_memory, to, from, bytes, err);
  if (to_memory->ops->host) return gb_memory_download(from_memory, to, from, bytes, err);
  return relay(to_memory, to, from_memory, from, bytes, err);
}
