/* select.c - chooses the kernel table: by name, by GIBBOUS_ISA, or the widest that the machine supports. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu/isa/isa.h"

const gb_isa *gb_isa_active;

static bool has_avx512 (void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("fma");
}
static bool has_avx2 (void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool has_portable (void) { return true; }

/* Widest first. */
static const struct {
  const gb_isa *isa;
  bool (*present)(void);
} isas[] = {{&gb_isa_avx512, has_avx512}, {&gb_isa_avx2, has_avx2}, {&gb_isa_portable, has_portable}};
enum { NISAS = sizeof isas / sizeof *isas };

static gb_status refuse (const char *name, const char *why, gb_error *err) {
  char list[64] = "";
  for (int i = 0; i < NISAS; i++) {
    if (!isas[i].present()) continue;
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", isas[i].isa->name);
  }
  return gb_fail(err, GB_EOPTION, "expected an instruction set this machine has (%s), got '%s', which %s",
                 list, name, why);
}

/* One table for the process: devices that are opened by several threads write it once. */
static void activate (const gb_isa *isa) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (gb_isa_active != isa) gb_isa_active = isa;
  pthread_mutex_unlock(&lock);
}

gb_status gb_isa_select (const char *name, gb_error *err) {
  if (name == NULL) name = getenv("GIBBOUS_ISA");
  const bool any = name == NULL || *name == '\0';
  for (int i = 0; i < NISAS; i++) {
    if (!any && strcmp(name, isas[i].isa->name) != 0) continue;
    if (isas[i].present()) {
      activate(isas[i].isa);
      return GB_OK;
    }
    if (!any) return refuse(name, "it lacks", err);
  }
  return refuse(name, "is unknown", err);
}
