/* memory.h - how a device holds bytes: where they come from, and the only ways from and to the host.
** Whoever allocates through a ledger has an account of it (ledger.h); this is what the account draws on. */
#ifndef GB_DEVICE_MEMORY_H
#define GB_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define GB_ALIGN ((size_t)64) /* of every block */

typedef struct gb_memory gb_memory;

/* Addresses of a memory that is not the host's are handles: arithmetic on them is allowed, dereferencing
** them is not. Bytes of one call lie in one block. */
typedef struct gb_memory_ops {
  bool host; /* the host may read and write the bytes; the last four are then NULL */
  /* GB_ALIGN-aligned, uninitialised, with what is left to the next multiple of GB_ALIGN; NULL where the
  ** device has no such room. 'bytes' may be 0. */
  void *(*take)(gb_memory *m, size_t bytes);
  void (*give)(gb_memory *m, void *p, size_t bytes);
  /* Freed blocks that are kept for blocks to come: their bytes; a block made of them, NULL where none fits;
  ** giving them back to the system. All three are NULL where nothing is kept. */
  size_t (*idle)(const gb_memory *m);
  void *(*reuse)(gb_memory *m, size_t bytes);
  void (*trim)(gb_memory *m);
  size_t (*mapped)(const gb_memory *m); /* bytes of the device that it holds, whole pages; NULL: not known */
  size_t (*capacity)(const gb_memory *m); /* bytes that the device has in all; NULL: not known */
  gb_status (*upload)(gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err);
  gb_status (*download)(gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err);
  gb_status (*copy)(gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err);
  gb_status (*fill)(gb_memory *m, void *to, int byte, size_t bytes, gb_error *err);
} gb_memory_ops;

/* Mappings of freed blocks, side by side. */
#define GB_KEPT 16
typedef struct gb_kept {
  char *at;
  size_t bytes;
} gb_kept;

struct gb_memory {
  const gb_memory_ops *ops;
  struct gb_device *owner; /* whose memory it is, which a failure names; NULL: of no device */
  struct gb_ledger
      *home;  /* account of the host, which copies for the host are charged to; NULL: it is the host's */
  void *priv; /* of a device that is not the host */
  /* The host's: freed mappings, oldest first, and what was freed since pages last went back. */
  gb_kept kept[GB_KEPT];
  int nkept;
  size_t kept_bytes, freed;
};

/* Memory of the host: malloc for small blocks, mappings of their own for large ones. Some freed mappings
** are kept: pages met for the first time cost more than what most ops compute into them. */
gb_memory gb_host_memory (void);

static inline bool gb_memory_is_host (const gb_memory *m) { return m->ops->host; }
/* Bytes beyond which no limit works; SIZE_MAX: none is known, as of a device that has no
** memory yet. */
static inline size_t gb_memory_capacity (const gb_memory *m) {
  return m->ops == NULL || m->ops->capacity == NULL ? SIZE_MAX : m->ops->capacity(m);
}

/* The only copies between host and device, and within a device. 0 bytes are nothing to do; then addresses
** may be NULL. Errors: EDEVICE. */
gb_status gb_memory_upload (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err);
gb_status gb_memory_download (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err);
gb_status gb_memory_copy (gb_memory *m, void *to, const void *from, size_t bytes, gb_error *err);
gb_status gb_memory_fill (gb_memory *m, void *to, int byte, size_t bytes, gb_error *err);
/* From a block of one memory to a block of another, through the host where neither is the host's. */
gb_status gb_memory_across (gb_memory *to_memory, void *to, gb_memory *from_memory, const void *from,
                            size_t bytes, gb_error *err);

#endif
