/* real.c - tests of the emulated GPU on a real one: the library that GIBBOUS_CUDA_LIBRARY names is opened as the program
** opens it, and the settings of the emulation do nothing. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_emulation/emulation.h"
#include "device/registry.h"

static gb_device_open_function *open_function (void) {
  static gb_device_open_function *found;
  const char *path = getenv("GIBBOUS_CUDA_LIBRARY");
  if (found != NULL) return found;
  void *library = dlopen(path != NULL ? path : "libgibbous_cuda.so", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  *(void **)&found = dlsym(library, GB_DEVICE_SYMBOL);
  return found;
}

gb_device_open_function gb_device_open_plugin;
gb_status gb_device_open_plugin (unsigned abi, gb_device *home, int ordinal, size_t limit, gb_device **out,
                                 gb_error *err) {
  return open_function()(abi, home, ordinal, limit, out, err);
}

void emu_begin (void) {}
bool emu_set (const char *setting, const char *value) {
  return value == NULL || strcmp(setting, "FAIL") != 0;
}
long emu_calls (const char *name) {
  (void)name;
  return 0;
}
size_t emu_pieces (void) { return 0; }
bool emu_is_real (void) { return true; }
