/* ledger.h - the account of every byte held for tensors, arenas and workspaces, and its hard limit.
** Nothing numeric is allocated past it. One ledger a device. Not thread-safe: only the thread that plans
** allocates. */
#ifndef GB_DEVICE_LEDGER_H
#define GB_DEVICE_LEDGER_H

#include <stdbool.h>

#include "base/status.h"

typedef enum gb_purpose {
  GB_MEM_TENSOR,
  GB_MEM_CACHE,
  GB_MEM_ARENA,
  GB_MEM_WORKSPACE,
  GB_NPURPOSES
} gb_purpose;

#define GB_KEPT 16
typedef struct gb_kept {
  char *at;
  size_t bytes;
} gb_kept; /* mappings of freed blocks, side by side */

typedef struct gb_ledger {
  size_t limit;          /* bytes; hard */
  size_t used, peak;     /* over all purposes */
  size_t freed;          /* since freed pages last went back to the system */
  gb_kept kept[GB_KEPT]; /* oldest first; 'kept_bytes' in all */
  int nkept;
  size_t kept_bytes;
  size_t by_purpose[GB_NPURPOSES];
  size_t books;          /* bytes of graphs and plans: an account beside 'used' */
  size_t blocks;         /* live allocations */
  size_t allocations;    /* since the start: a loop that allocates shows here */
  long fail_after;       /* tests: the n-th and all later allocations fail; -1 = never */
  struct gb_block *live; /* list of live blocks, newest first: provenance for refusals */
  /* Called once when an allocation does not fit; may free blocks; then the allocation is tried again. */
  void (*reclaim)(void *ud, size_t bytes);
  void *reclaim_ud;
  /* Called when bytes of graphs and plans do not fit: gives up one plan that is only remembered; false:
  ** there are no more. */
  bool (*shed)(void *ud);
  void *shed_ud;
  /* While lent: where blocks lie, and the account as it was before. */
  char *base;
  size_t extent;
  struct gb_ledger *outer;
} gb_ledger;

/* A live block. 'where' and 'name' are interned strings, "" when unknown. */
typedef struct gb_block {
  struct gb_block *prev, *next;
  size_t bytes;
  gb_purpose purpose;
  const char *where; /* "script.lua:12" */
  const char *name;
  void **holder; /* where the address of the block's bytes is kept */
  void *raw;     /* what the system gave: the block itself if it is large; NULL in lent memory */
} gb_block;

/* Of graphs and plans so many bytes are free. Those of usual scripts are fewer: their tensors have the
** limit to the byte. */
#define GB_FREE_BOOKS ((size_t)64 << 20)

static inline size_t gb_ledger_charged (const gb_ledger *l) {
  return l->books > GB_FREE_BOOKS ? l->books - GB_FREE_BOOKS : 0;
}

/* Bytes that can be had beside 'held' bytes of tensors and what graphs and plans are charged. */
static inline size_t gb_ledger_beside (const gb_ledger *l, size_t held) {
  const size_t taken = held + gb_ledger_charged(l);
  return l->limit > taken ? l->limit - taken : 0;
}

static inline size_t gb_ledger_room (const gb_ledger *l) { return gb_ledger_beside(l, l->used); }

void gb_ledger_init (gb_ledger *l, size_t limit);

/* Enters bytes of a graph or a plan, which the system's allocator gives. What is lent has no such account:
** they are entered outside. Errors: ENOMEM where 'l' has no room for them; they are not entered then. */
gb_status gb_ledger_book (gb_ledger *l, size_t bytes, const char *what, gb_error *err);
void gb_ledger_unbook (gb_ledger *l, size_t bytes);

/* 64-byte aligned, uninitialised; 0 bytes give a valid pointer. '*where' may be "". 'out' must be where
** the address is kept for as long as the block lives: a block that outlives the memory it was lent moves.
** Errors: ENOMEM with need, have and limit in the text. */
gb_status gb_ledger_alloc (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                           void **out, gb_error *err);
void gb_ledger_free (gb_ledger *l, void *p); /* NULL is fine */
const gb_block *gb_ledger_block (const void *p);
void gb_ledger_release (gb_ledger *l); /* gives back to the system what is kept of freed blocks */

/* As gb_ledger_alloc, past any limit: for bytes that are live whatever the limit says. False: the system
** has no memory. */
bool gb_ledger_force (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                      void **out);

/* Work inside a plan that allocates as if it were outside. From gb_ledger_lend on 'l' is another account:
** its blocks lie in 'memory' (64-byte aligned, 'extent' bytes, which each block shortens by its bytes,
** rounded up to 64, and 64 more) and hold no more than 'limit' bytes. '*outer' keeps the account as it
** was; its blocks may be freed meanwhile. Nests. gb_ledger_return ends it: 'l' is '*outer' again, and
** blocks that still live have moved there, past its limit if need be. Without memory to move them the
** process ends: what refers to them would refer to nothing. */
void gb_ledger_lend (gb_ledger *l, gb_ledger *outer, void *memory, size_t extent, size_t limit);
void gb_ledger_return (gb_ledger *l);
bool gb_ledger_owns (const gb_ledger *l, const void *p); /* freeing p makes room in 'l' as it is now */

void gb_ledger_retag (gb_ledger *l, void *p, gb_purpose to);

const char *gb_purpose_name (gb_purpose p);

/* "1.5 GiB". Returns 'buf'. */
#define GB_BYTES_TEXT 32
char *gb_bytes_text (size_t bytes, char buf[GB_BYTES_TEXT]);

/* 80 % of min(MemAvailable, cgroup limit): the default limit. */
size_t gb_memory_available (void);

/* Resident bytes of the whole process, now and at most since the start or the last reset; 0 where the
** system does not say. */
typedef struct gb_process_memory {
  size_t now, peak;
} gb_process_memory;
gb_process_memory gb_process_memory_read (void);
void gb_process_memory_reset (void);

#endif
