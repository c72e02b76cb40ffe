/* host_memory.h - memory for a ledger of a test. */
#ifndef GB_TESTS_HOST_MEMORY_H
#define GB_TESTS_HOST_MEMORY_H

#include "device/memory.h"

/* New memory of the host, for up to HOST_MEMORIES ledgers at a time: later calls reuse the oldest. */
#define HOST_MEMORIES 16
gb_memory *host_memory (void);

#endif
