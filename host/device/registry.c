/* registry.c - opening libraries of devices. */
#define _GNU_SOURCE
#include "device/registry.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH 1024

static bool is_kind (const char *kind) {
  size_t n = 0;
  for (; kind[n] != '\0'; n++)
    if (!islower((unsigned char)kind[n]) && kind[n] != '_') return false;
  return n > 0 && n < 32;
}

/* The folder of the program, "" where the system does not say. */
static void program_folder (char *out, size_t size) {
  const ssize_t n = readlink("/proc/self/exe", out, size - 1);
  out[n < 0 ? 0 : n] = '\0';
  char *slash = strrchr(out, '/');
  if (slash != NULL) *slash = '\0';
}

/* A library that lies in one of the folders and cannot be loaded is the one that was meant. */
static void *open_library (const char *kind, char *why, size_t size) {
  char folder[PATH], path[2 * PATH];
  program_folder(folder, sizeof folder);
  const char *folders[] = {getenv("GIBBOUS_DEVICE_PATH"), folder};
  for (int i = 0; i < 2; i++) {
    if (folders[i] == NULL || *folders[i] == '\0') continue;
    snprintf(path, sizeof path, "%.1023s/libgibbous_%s.so", folders[i], kind);
    if (access(path, F_OK) != 0) continue;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) snprintf(why, size, "%s", dlerror());
    return library;
  }
  snprintf(path, sizeof path, "libgibbous_%s.so", kind);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) snprintf(why, size, "%s", dlerror());
  return library;
}

gb_status gb_device_open (const char *kind, gb_device *home, size_t limit, gb_device **out, gb_error *err) {
  if (!is_kind(kind))
    return gb_fail(err, GB_EOPTION, "'%s' is no kind of device: lower-case letters expected", kind);
  char reason[PATH];
  void *library = open_library(kind, reason, sizeof reason);
  if (library == NULL) return gb_fail(err, GB_EDEVICE, "no device of kind '%s': %s", kind, reason);
  gb_device_open_function *open;
  void *symbol = dlsym(library, GB_DEVICE_SYMBOL);
  if (symbol == NULL)
    return gb_fail(err, GB_EDEVICE, "libgibbous_%s.so has no function " GB_DEVICE_SYMBOL, kind);
  memcpy(&open, &symbol, sizeof open);
  gb_error why = {.text = ""};
  const gb_status st = open(GB_DEVICE_ABI, home, limit, out, &why);
  return st == GB_OK ? GB_OK : gb_fail(err, st, "the device '%s' does not open: %.1000s", kind, why.text);
}
