/* settings.cpp - what EMU_* of the environment say, or a test while it runs; the one lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulation.h"
#include "faults.h"
#include "internal.h"
#include "module.h"

namespace emu {

settings set;

std::recursive_mutex &lock (void) {
  static std::recursive_mutex one;
  return one;
}

static bool read_number (const char *text, uint64_t *out) {
  char *end;
  *out = strtoull(text, &end, 0);
  return end != text && *end == '\0';
}
static bool read_bool (const char *text, bool *out) {
  uint64_t n;
  if (!read_number(text, &n) || n > 1) return false;
  *out = n != 0;
  return true;
}
static bool read_size (const char *text, size_t *out) {
  uint64_t n;
  if (!read_number(text, &n)) return false;
  *out = (size_t)n;
  return true;
}

static bool set_order (const char *text) {
  set.order = strcmp(text, "fwd") == 0   ? sequence::forward
              : strcmp(text, "rev") == 0 ? sequence::backward
                                         : sequence::seeded;
  return set.order != sequence::seeded || read_number(text, &set.order_seed);
}
static bool set_schedule (const char *text) {
  set.streams = strcmp(text, "eager") == 0  ? schedule::eager
                : strcmp(text, "lazy") == 0 ? schedule::lazy
                                            : schedule::seeded;
  return set.streams != schedule::seeded || read_number(text, &set.stream_seed);
}
static bool set_devices (const char *text) { return read_size(text, &set.devices) && set.devices <= 64; }
static bool set_bytes (const char *text) {
  std::vector<size_t> all;
  const std::string list = text;
  for (size_t from = 0; from <= list.size();) {
    const size_t to = std::min(list.find(',', from), list.size());
    size_t n;
    if (!read_size(list.substr(from, to - from).c_str(), &n)) return false;
    all.push_back(n);
    from = to + 1;
  }
  set.bytes = all;
  return true;
}
static bool set_protect (const char *text) { return read_bool(text, &set.protect); }
static bool set_trap (const char *text) { return read_bool(text, &set.trap); }
static bool set_strict (const char *text) { return read_bool(text, &set.strict); }
static bool set_poison (const char *text) { return read_bool(text, &set.poison); }
static bool set_stack (const char *text) {
  return read_size(text, &set.stack) && set.stack >= 16384 && set.stack % 4096 == 0;
}
static bool set_fail (const char *text) { return ask_failures(text); }

static const struct {
  const char *name, *normal;
  bool (*set)(const char *);
} known[] = {
    {"ORDER", "fwd", set_order},   {"SCHEDULE", "eager", set_schedule},
    {"DEVICES", "1", set_devices}, {"BYTES", "4294967296", set_bytes},
    {"PROTECT", "1", set_protect}, {"TRAP", "0", set_trap},
    {"STRICT", "1", set_strict},   {"POISON", "1", set_poison},
    {"STACK", "65536", set_stack}, {"FAIL", "", set_fail},
};

/* At the end of the process: calls of each function, and memory that was not given back. */
static void report (void) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  if (getenv("EMU_COUNT") != nullptr) print_calls();
  if (getenv("EMU_PTX") != nullptr) print_ptx();
  if (getenv("EMU_LEAKS") == nullptr) return;
  size_t left = 0;
  for (auto &entry : regions())
    left += !entry.second.registered && devices()[(size_t)entry.second.device].lost == cudaSuccess;
  if (left == 0) return;
  fprintf(stderr, "cuda emulation: %zu pieces of memory were not given back\n", left);
  _exit(87);
}

void read_settings (void) {
  static bool done;
  if (done) return;
  done = true;
  for (auto &k : known) {
    const char *text = getenv((std::string("EMU_") + k.name).c_str());
    if (text != nullptr && !k.set(text)) stop("EMU_%s=%s is not understood", k.name, text);
  }
  watch_addresses();
  atexit(report);
}

}   // namespace emu

using namespace emu;

bool emu_set (const char *name, const char *value) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  read_settings();
  run_all(-1);
  for (auto &k : known) {
    if (strcmp(k.name, name) != 0) continue;
    const bool good = k.set(value != nullptr ? value : k.normal);
    apply_limits();
    set_doors();
    return good;
  }
  return false;
}

void emu_begin (void) {
  std::lock_guard<std::recursive_mutex> guard(lock());
  read_settings();
  run_all(-1);
  watch_addresses();
  forget_calls();
  forget();
  for (device &d : devices()) {
    d.lost = cudaSuccess;
    d.most = d.used;
  }
}
