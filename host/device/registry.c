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

#define MOST_KIND 32 /* characters, the end included */

/* "cuda:1" is number 1 of the kind "cuda", "cuda" its number 0. */
typedef struct device_name {
  char kind[MOST_KIND];
  int ordinal;
} device_name;

static bool read_name (const char *name, device_name *out) {
  size_t n = 0;
  for (; islower((unsigned char)name[n]) || name[n] == '_'; n++)
    if (n == MOST_KIND - 1) return false;
  if (n == 0) return false;
  snprintf(out->kind, sizeof out->kind, "%.*s", (int)n, name);
  out->ordinal = 0;
  if (name[n] == '\0') return true;
  const char *digits = name + n + 1;
  const size_t count = strspn(digits, "0123456789");
  if (name[n] != ':' || count == 0 || count > 3 || digits[count] != '\0') return false;
  out->ordinal = atoi(digits);
  return true;
}

static bool is_first_of (const char *name, const char *kind) {
  const size_t n = strlen(kind);
  return strncmp(name, kind, n) == 0 && strcmp(name + n, ":0") == 0;
}

bool gb_device_same_name (const char *a, const char *b) {
  return strcmp(a, b) == 0 || is_first_of(a, b) || is_first_of(b, a);
}

/* The folder of the program, "" where the system does not say. */
static void program_folder (char *out, size_t size) {
  const ssize_t n = readlink("/proc/self/exe", out, size - 1);
  out[n < 0 ? 0 : n] = '\0';
  char *slash = strrchr(out, '/');
  if (slash != NULL) *slash = '\0';
}

/* The folder of the file that holds this code: "" where that is the program, found by its name. A library that another
** program has opened looks around itself. */
static void own_folder (char *out, size_t size) {
  Dl_info info;
  const bool found = dladdr((const void *)own_folder, &info) != 0 && info.dli_fname != NULL;
  snprintf(out, size, "%s", found ? info.dli_fname : "");
  char *slash = strrchr(out, '/');
  *(slash != NULL ? slash : out) = '\0';
}

/* The path of a kind's library in the first folder that has one. The folders are those of a build, where all lies in one
** folder, and of an installation: PREFIX/bin/gibbous, PREFIX/lib/libgibbous_embed.so, PREFIX/lib/lua/5.4/gibbous.so and
** PREFIX/lib/gibbous, where the libraries are. */
static bool find (const char *kind, char path[GB_LIBRARY_PATH]) {
  char program[PATH], own[PATH];
  program_folder(program, sizeof program);
  own_folder(own, sizeof own);
  const struct {
    const char *folder, *below;
  } places[] = {{getenv("GIBBOUS_DEVICE_PATH"), ""},
                {program, ""},
                {program, "/../lib/gibbous"},
                {own, ""},
                {own, "/gibbous"},
                {own, "/../../gibbous"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    if (places[i].folder == NULL || *places[i].folder == '\0') continue;
    snprintf(path, GB_LIBRARY_PATH, "%.1023s%s/libgibbous_%s.so", places[i].folder, places[i].below, kind);
    if (access(path, F_OK) == 0) return true;
  }
  return false;
}

bool gb_library_exists (const char *kind) {
  char path[GB_LIBRARY_PATH];
  return find(kind, path);
}

static void *load (const char *path, char *why, size_t size) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) snprintf(why, size, "%s", dlerror());
  return library;
}

/* Variables of the program that are named as those of kinds are. */
static bool is_setting (const char *kind) {
  static const char *const settings[] = {"device", "devices", "isa", "rates", "threads", "wisdom"};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (strcmp(kind, settings[i]) == 0) return true;
  return strchr(kind, '_') != NULL;
}

/* What GIBBOUS_<KIND> says: "off", "emulated", a path; "" where it says nothing of the kind. 'name': the variable. */
static const char *said_of (const char *kind, char name[MOST_KIND + 8]) {
  strcpy(name, "GIBBOUS_");
  for (size_t i = 0, n = strlen(name); i <= strlen(kind); i++)
    name[n + i] = (char)toupper((unsigned char)kind[i]);
  const char *said = is_setting(kind) ? NULL : getenv(name);
  return said != NULL ? said : "";
}

/* The library of a kind, and where it lies. One that lies in one of the folders and cannot be loaded is the one that
** was meant. */
void *gb_library_open (const char *kind, char path[GB_LIBRARY_PATH], char *why, size_t size) {
  char folder[PATH], variable[MOST_KIND + 8];
  const char *said = said_of(kind, variable);
  program_folder(folder, sizeof folder);
  if (strcmp(said, "off") == 0) {
    snprintf(why, size, "it is switched off by the environment, %s=off", variable);
    return NULL;
  }
  if (strcmp(said, "emulated") == 0) {
    snprintf(path, GB_LIBRARY_PATH, "%s/tests/%s/libgibbous_%s.so", folder, kind, kind);
    return load(path, why, size);
  }
  if (*said != '\0' && strchr(said, '/') == NULL) {
    snprintf(why, size, "%s is '%.200s': off, emulated, or the path of a library", variable, said);
    return NULL;
  }
  snprintf(path, GB_LIBRARY_PATH, "%s", said);
  if (*said != '\0') return load(said, why, size);
  if (find(kind, path)) return load(path, why, size);
  snprintf(path, GB_LIBRARY_PATH, "libgibbous_%s.so", kind);
  return load(path, why, size);
}

static gb_status open_named (const char *name, device_name *out, char path[GB_LIBRARY_PATH], void **library,
                             gb_error *err) {
  if (!read_name(name, out))
    return gb_fail(
        err, GB_EOPTION,
        "'%s' is no kind of device: lower-case letters expected, then perhaps a colon and a number", name);
  char reason[PATH];
  *library = gb_library_open(out->kind, path, reason, sizeof reason);
  if (*library != NULL) return GB_OK;
  return gb_fail(err, GB_EDEVICE, "no device of kind '%s': %s", out->kind, reason);
}

/* A library says its kind by the name of what it opens. */
static gb_status check_kind (const char *path, const char *kind, gb_device *dev, gb_error *err) {
  if (strcmp(dev->ops->name, kind) == 0) return GB_OK;
  const gb_status st = gb_fail(err, GB_EDEVICE,
                               "no device of kind '%s': %.1000s is a library of the kind '%s'", kind, path,
                               dev->ops->name);
  gb_device_free(dev);
  return st;
}

/* The function that opens devices of a library, which every library of devices has. */
static gb_status find_opener (void *library, const char *path, const char *kind,
                              gb_device_open_function **open, gb_error *err) {
  void *symbol = dlsym(library, GB_DEVICE_SYMBOL);
  if (symbol == NULL)
    return gb_fail(
        err, GB_EDEVICE,
        "no device of kind '%s': %.1000s is no library of devices, it has no function " GB_DEVICE_SYMBOL,
        kind, path);
  memcpy(open, &symbol, sizeof *open);
  return GB_OK;
}

gb_status gb_device_open (const char *name, gb_device *home, size_t limit, gb_device **out, gb_error *err) {
  device_name asked;
  char path[GB_LIBRARY_PATH];
  void *library;
  gb_device_open_function *open = NULL;
  GB_TRY(open_named(name, &asked, path, &library, err));
  GB_TRY(find_opener(library, path, asked.kind, &open, err));
  gb_error why = {.text = ""};
  const gb_status st = open(GB_DEVICE_ABI, home, asked.ordinal, limit, out, &why);
  if (st != GB_OK) return gb_fail(err, st, "the device '%s' does not open: %.1000s", name, why.text);
  GB_TRY(check_kind(path, asked.kind, *out, err));
  (*out)->home = home;
  return GB_OK;
}

gb_status gb_device_count (const char *kind, int *count, gb_error *err) {
  device_name asked;
  char path[GB_LIBRARY_PATH];
  void *library;
  gb_device_open_function *open = NULL;
  GB_TRY(open_named(kind, &asked, path, &library, err));
  GB_TRY(find_opener(library, path, asked.kind, &open, err));
  gb_device_count_function *counting;
  void *symbol = dlsym(library, GB_DEVICE_COUNT_SYMBOL);
  *count = 1;
  if (symbol == NULL) return GB_OK;
  memcpy(&counting, &symbol, sizeof counting);
  return counting(GB_DEVICE_ABI, count, err);
}
