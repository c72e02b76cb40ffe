/* ledger.h - the account of every byte held for tensors, arenas and workspaces, and its hard limit.
** Nothing numeric is allocated past it. One ledger a device. Not thread-safe: only the thread that plans allocates. */
#ifndef GB_MEM_LEDGER_H
#define GB_MEM_LEDGER_H

#include <stdbool.h>

#include "base/status.h"

typedef enum gb_purpose { GB_MEM_TENSOR, GB_MEM_CACHE, GB_MEM_ARENA, GB_MEM_WORKSPACE, GB_NPURPOSES } gb_purpose;

typedef struct gb_ledger {
  size_t limit;                        /* bytes; hard */
  size_t used, peak;                   /* over all purposes */
  size_t by_purpose[GB_NPURPOSES];
  size_t blocks;                       /* live allocations */
  size_t allocations;                  /* since the start: a loop that allocates shows here */
  long fail_after;                     /* tests: the n-th and all later allocations fail; -1 = never */
  struct gb_block *live;               /* list of live blocks, newest first: provenance for refusals */
  /* Called once when an allocation does not fit; may free blocks; then the allocation is tried again. */
  void (*reclaim)(void *ud, size_t bytes);
  void *reclaim_ud;
} gb_ledger;

/* A live block. 'where' and 'name' are interned strings, "" when unknown. */
typedef struct gb_block {
  struct gb_block *prev, *next;
  size_t bytes;
  gb_purpose purpose;
  const char *where;                   /* "script.lua:12" */
  const char *name;
} gb_block;

void gb_ledger_init (gb_ledger *l, size_t limit);

/* 64-byte aligned, uninitialised; 0 bytes give a valid pointer. '*where' may be "".
** Errors: ENOMEM with need, have and limit in the text. */
gb_status gb_ledger_alloc (gb_ledger *l, gb_purpose p, size_t bytes, const char *where, const char *name,
                           void **out, gb_error *err);
void gb_ledger_free (gb_ledger *l, void *p);    /* NULL is fine */
const gb_block *gb_ledger_block (const void *p);
void gb_ledger_retag (gb_ledger *l, void *p, gb_purpose to);

const char *gb_purpose_name (gb_purpose p);

/* "1.5 GiB". Returns 'buf'. */
#define GB_BYTES_TEXT 32
char *gb_bytes_text (size_t bytes, char buf[GB_BYTES_TEXT]);

/* 80 % of min(MemAvailable, cgroup limit): the default limit. */
size_t gb_memory_available (void);

#endif
