/* host_memory.h - memory for a ledger of a test, fresh at each call. */
#ifndef GB_TESTS_HOST_MEMORY_H
#define GB_TESTS_HOST_MEMORY_H

#include "device/memory.h"

static inline gb_memory *host_memory (void) {
  static gb_memory m;
  m = gb_host_memory();
  return &m;
}

#endif
