/* memory.c - rings of memories: a ledger refers to one of them. */
#include "support/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "device/registry.h"

static gb_memory ring[TEST_MEMORIES];

static gb_memory *next_of_ring (gb_memory made) {
  static size_t calls;
  gb_memory *m = &ring[calls++ % TEST_MEMORIES];
  *m = made;
  return m;
}

gb_memory *host_memory (void) { return next_of_ring(gb_host_memory()); }

const char *test_device_kind (void) {
  const char *kind = getenv("GIBBOUS_DEVICE");
  return kind == NULL || *kind == '\0' ? NULL : kind;
}

static gb_memory memory_of_host (const gb_device *dev) {
  (void)dev;
  return gb_host_memory();
}

static gb_device *open_without_code (void) {
  static const gb_device_ops ops = {.name = "host", .memory = memory_of_host};
  static gb_device home;
  gb_device *opened = NULL;
  gb_error err;
  gb_device_init(&home, &ops, gb_host_memory(), SIZE_MAX);
  if (gb_device_open(test_device_kind(), &home, 0, &opened, &err) == GB_OK) return opened;
  fprintf(stderr, "GIBBOUS_DEVICE: %s\n", err.text);
  abort();
}

gb_memory *test_memory (void) {
  static gb_device *opened;
  if (test_device_kind() == NULL) return host_memory();
  if (opened == NULL) opened = open_without_code();
  return next_of_ring(opened->ops->memory(opened));
}

size_t mirror_bytes (const gb_memory *m) { return m->home == NULL ? 0 : m->home->used; }
