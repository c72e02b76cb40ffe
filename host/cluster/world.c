/* world.c - see world.h. */
#include "cluster/world.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/registry.h"

/* Variables that launchers give to the processes that they start: Open MPI's, those of PMIx (srun, prun), those of PMI (MPICH, Intel). */
static const char *launcher_variable (void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (getenv(names[i]) != NULL) return names[i];
  return NULL;
}

static gb_status find_function (gb_world_function **f, gb_error *err) {
  char path[GB_LIBRARY_PATH], why[512];
  void *library = gb_library_open("mpi", path, why, sizeof why);
  if (library == NULL)
    return gb_fail(
        err, GB_EIO,
        "no MPI: %s; it is built where MPI is installed (Debian: libopenmpi-dev), with -DGB_MPI=ON, and "
        "GIBBOUS_MPI names it where it lies elsewhere",
        why);
  void *symbol = dlsym(library, GB_WORLD_SYMBOL);
  if (symbol == NULL) return gb_fail(err, GB_EIO, "no MPI: %.1000s has no function " GB_WORLD_SYMBOL, path);
  memcpy(f, &symbol, sizeof *f);
  return GB_OK;
}

gb_status gb_world_check (gb_error *err) {
  gb_world_function *f = NULL;
  return find_function(&f, err);
}

gb_status gb_world (gb_comm **out, gb_error *err) {
  gb_world_function *f = NULL;
  gb_error why;
  const char *variable = launcher_variable();
  *out = NULL;
  if (variable == NULL) return GB_OK;
  if (find_function(&f, &why) != GB_OK)
    return gb_fail(err, GB_EIO, "this process has been started as one of several (%s=%s), but there is %s",
                   variable, getenv(variable), why.text);
  return f(GB_WORLD_ABI, out, err);
}
