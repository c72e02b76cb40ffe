#include "cuda/support/gpu_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/registry.h"

extern gb_device_open_function gb_device_open_plugin;

static gb_device *home;

static void close_home (void) { gb_device_free(home); }

gb_device *gpu_home (void) {
  gb_error err;
  if (home != NULL) return home;
  if (gb_device_cpu_new(2, GPU_HOME, &home, &err) != GB_OK) fail_msg("%s", err.text);
  atexit(close_home);
  return home;
}

gb_status gpu_open (int ordinal, size_t limit, gb_device **out, gb_error *err) {
  *out = NULL;
  return gb_device_open_plugin(GB_DEVICE_ABI, gpu_home(), ordinal, limit, out, err);
}

void gpu_close (gb_device *dev) {
  if (dev != NULL) {
    assert_int_equal(dev->ledger.used, 0);
    gb_device_free(dev);
  }
  assert_int_equal(emu_pieces(), 0);
  assert_int_equal(gpu_home()->ledger.used, 0);
  assert_int_equal(gpu_home()->ledger.books, 0);
}

void gpu_begin (void) {
  static const char *const settings[] = {"ORDER", "SCHEDULE", "BYTES", "FAIL"};
  setenv("EMU_DEVICES", "2", 0); /* read once */
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) assert_true(emu_set(settings[i], NULL));
  emu_begin();
  assert_int_equal(emu_pieces(), 0);
}

int gpu_open_group (gb_device **out) {
  gb_error err;
  gpu_begin();
  emu_set("SCHEDULE", getenv("GPU_SCHEDULE"));
  if (gpu_open(0, (size_t)1 << 28, out, &err) == GB_OK) return 0;
  print_error("%s\n", err.text);
  return 1;
}

int gpu_close_group (gb_device *dev) {
  const size_t used = dev->ledger.used;
  gb_device_free(dev);
  return used == 0 ? 0 : 1;
}
