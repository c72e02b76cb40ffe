/* device.c - opening and closing the device under test. */
#include "support/device.h"

#include <stddef.h>

#include "device/registry.h"
#include "support/memory.h"

gb_status test_device_new (int threads, size_t limit, gb_device **out, gb_error *err) {
  gb_device *home;
  GB_TRY(gb_device_cpu_new(threads, limit, &home, err));
  *out = home;
  if (test_device_kind() == NULL) return GB_OK;
  const gb_status rc = gb_device_open(test_device_kind(), home, limit, out, err);
  if (rc != GB_OK) gb_device_free(home);
  return rc;
}

/* A device's memory knows the ledger of its home, which is a member of the home. */
gb_device *test_device_home (gb_device *dev) {
  gb_ledger *l = dev->memory.home;
  return l == NULL ? dev : (gb_device *)(void *)((char *)l - offsetof(gb_device, ledger));
}

size_t test_device_free (gb_device *dev) {
  gb_device *home = test_device_home(dev);
  size_t held = home->ledger.used;
  if (home != dev) {
    held += dev->ledger.used;
    gb_device_free(dev);
  }
  gb_device_free(home);
  return held;
}

static size_t level;

void home_begin (gb_device *dev) {
  gb_ledger *l = &test_device_home(dev)->ledger;
  level = l->peak = l->used;
}

size_t home_rise (gb_device *dev) {
  const gb_device *home = test_device_home(dev);
  return home == dev ? 0 : home->ledger.peak - level;
}
