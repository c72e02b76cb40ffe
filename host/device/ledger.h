/* ledger.h - the account of every byte held for tensors, arenas and workspaces, and its hard limit.
** Nothing numeric is allocated past it. One ledger a device; it keeps the account, the device's memory gives
** the bytes. Not thread-safe: only the thread that plans allocates. */
#ifndef GB_DEVICE_LEDGER_H
#define GB_DEVICE_LEDGER_H

#include "base/status.h"
#include "device/memory.h"

typedef enum gb_purpose {
  GB_MEM_TENSOR,
  GB_MEM_CACHE,
  GB_MEM_ARENA,
  GB_MEM_WORKSPACE,
  GB_NPURPOSES
} gb_purpose;

/* A live block: the record lies with its owner (a storage, a run, a frame that works), who leaves it where
** it is as long as it is live. 'where' and 'name' are interned strings, "" when unknown. */
typedef struct gb_block {
  void *data; /* GB_ALIGN-aligned, of the ledger's memory; NULL: not live */
  size_t bytes;
  gb_purpose purpose;
  const char *where; /* "script.lua:12" */
  const char *name;
  struct gb_block *prev, *next;
} gb_block;

typedef struct gb_ledger {
  gb_memory *memory; /* where blocks come from: of the device, which outlives the ledger */
  size_t limit;      /* bytes; hard */
  size_t used, peak; /* over all purposes */
  size_t by_purpose[GB_NPURPOSES];
  size_t books;  /* bytes of graphs and plans: an account beside 'used' */
  size_t mapped; /* bytes of files that tensors lie in: in no account, for the system can take them back */
  size_t blocks; /* live allocations */
  size_t allocations; /* since the start: a loop that allocates shows here */
  long fail_after;    /* tests: the n-th and all later allocations fail; -1 = never */
  gb_block *live;     /* list of live blocks, newest first: provenance for refusals */
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

void gb_ledger_init (gb_ledger *l, gb_memory *memory, size_t limit);

/* Enters bytes of a graph or a plan, which the system's allocator gives. What is lent has no such account:
** they are entered outside. Errors: ENOMEM where 'l' has no room for them; they are not entered then. */
gb_status gb_ledger_book (gb_ledger *l, size_t bytes, const char *what, gb_error *err);
void gb_ledger_unbook (gb_ledger *l, size_t bytes);
void gb_ledger_map (gb_ledger *l,
                    size_t bytes); /* enters bytes of a file, which are no block of the ledger */
void gb_ledger_unmap (gb_ledger *l, size_t bytes);

/* Uninitialised bytes; 0 bytes have an address, too. 'out' is a record that is not live. '*where' may be "".
** Errors: ENOMEM with need, have and limit in the text; EDEVICE where the device is lost; 'out' is then as it
** was. */
gb_status gb_ledger_alloc (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                           gb_block *out, gb_error *err);
void gb_ledger_free (gb_ledger *l, gb_block *b); /* not live: nothing to do */
/* Gives back to the system what is kept of freed blocks. */
void gb_ledger_release (gb_ledger *l);

/* As gb_ledger_alloc, past any limit: for bytes that are live whatever the limit says. False: the system
** has no memory. */
bool gb_ledger_force (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                      gb_block *out);

/* Work inside a plan that allocates as if it were outside. From gb_ledger_lend on 'l' is another account:
** its blocks lie in 'memory' (aligned, 'extent' bytes, which each block shortens by its bytes, rounded up to
** GB_ALIGN) and hold no more than 'limit' bytes. '*outer' keeps the account as it was; its blocks may be
** freed meanwhile. Nests. gb_ledger_return ends it: 'l' is '*outer' again, and blocks that are still live
** have moved there, past its limit if need be. Without memory to move them the process ends: their owners
** would refer to nothing. */
void gb_ledger_lend (gb_ledger *l, gb_ledger *outer, void *memory, size_t extent, size_t limit);
void gb_ledger_return (gb_ledger *l);
/* The record moves: "to" is live in place of "from". */
void gb_ledger_move (gb_ledger *l, gb_block *to, gb_block *from);
bool gb_ledger_owns (const gb_ledger *l, const gb_block *b); /* freeing b makes room in 'l' as it is now */

void gb_ledger_retag (gb_ledger *l, gb_block *b, gb_purpose to);

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
