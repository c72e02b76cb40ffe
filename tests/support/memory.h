/* memory.h - memory for a ledger of a test: the host's, or that of the device under test. */
#ifndef GB_TESTS_MEMORY_H
#define GB_TESTS_MEMORY_H

#include "device/memory.h"

/* Each call reuses the oldest of TEST_MEMORIES: as many ledgers may refer to one at a time. */
#define TEST_MEMORIES 16
gb_memory *host_memory (void);

/* Of the kind of device that GIBBOUS_DEVICE names, where that is not the CPU; its host has a ledger, but no
** code: enough for tests that compute nothing. */
gb_memory *test_memory (void);

/* Bytes that the host of 'm' holds: mirrors of what was read. 0 for memory of the host. */
size_t mirror_bytes (const gb_memory *m);

/* "far" or another kind that GIBBOUS_DEVICE names; NULL: tests run on the CPU. */
const char *test_device_kind (void);

#endif
