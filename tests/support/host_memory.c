/* host_memory.c - a ring of memories: a ledger refers to one of them. */
#include "support/host_memory.h"

gb_memory *host_memory (void) {
  static gb_memory ring[HOST_MEMORIES];
  static size_t calls;
  gb_memory *m = &ring[calls++ % HOST_MEMORIES];
  *m = gb_host_memory();
  return m;
}
