/* library.c - functions of the toolkit's libraries, found by name. */
#define _GNU_SOURCE
#include "cuda/device/library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Versions of NVRTC are those of the toolkit. */
#if CUDART_VERSION >= 14000
#error "the name of NVRTC is known for CUDA 12 and 13"
#elif CUDART_VERSION >= 13000
#define NVRTC_MAJOR "13"
#else
#define NVRTC_MAJOR "12"
#endif

typedef struct library {
  const char *file, *what; /* without it there is no 'what' */
  int count;
  const char *const *name;
  void **function; /* the table's fields */
  bool tried;
  char why[512]; /* "": it is open */
} library;

#define NAME(name) #name,
#define LIBRARY(table, list, path, use)                                                                      \
  static gb_cuda_##table table##_table;                                                                      \
  static const char *const table##_names[] = {list(NAME)};                                                   \
  static library table##_library = {.file = path,                                                            \
                                    .what = use,                                                             \
                                    .count = sizeof table##_names / sizeof *table##_names,                   \
                                    .name = table##_names,                                                   \
                                    .function = (void **)(void *)&table##_table}

/* The major version of its headers is that of the library. */
LIBRARY(blas, GB_CUDA_BLAS_FUNCTIONS, "libcublas.so." TEXT(CUBLAS_VER_MAJOR), "matrix products");
LIBRARY(solver, GB_CUDA_SOLVER_FUNCTIONS, "libcusolver.so." TEXT(CUSOLVER_VER_MAJOR), "factorisations");
LIBRARY(compiler, GB_CUDA_COMPILER_FUNCTIONS, "libnvrtc.so." NVRTC_MAJOR, "compiled kernels");
LIBRARY(ranges, GB_CUDA_RANGES_FUNCTIONS, "libnvtx3interop.so.1", "named ranges in profiles");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *handle_of (library *l) {
#ifdef GB_CUDA_EMULATED
  const char *missing = getenv("EMU_MISSING"); /* part of the name of a library that is not to be there */
  if (missing != NULL && strstr(l->file, missing) != NULL)
    snprintf(l->why, sizeof l->why, "no %s: %s: not found", l->what, l->file);
  return RTLD_DEFAULT; /* the emulation is part of this library */
#else
  void *handle = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *reason = dlerror();
    snprintf(l->why, sizeof l->why, "no %s: %.400s", l->what, reason != NULL ? reason : l->file);
  }
  return handle;
#endif
}

/* The library stays open until the process ends. */
static void open_library (library *l) {
  void *handle = handle_of(l);
  for (int i = 0; i < l->count && l->why[0] == '\0'; i++) {
    l->function[i] = dlsym(handle, l->name[i]);
    if (l->function[i] == NULL)
      snprintf(l->why, sizeof l->why, "no %s: %s has no function %s, so it is of another version", l->what,
               l->file, l->name[i]);
  }
}

static gb_status use (library *l, gb_error *err) {
  pthread_mutex_lock(&lock);
  if (!l->tried) open_library(l);
  l->tried = true;
  pthread_mutex_unlock(&lock);
  return l->why[0] == '\0' ? GB_OK : gb_fail(err, GB_EDEVICE, "%s", l->why);
}

#define OPEN(table)                                                                                          \
  gb_status gb_cuda_##table##_open(const gb_cuda_##table **out, gb_error *err) {                             \
    *out = &table##_table;                                                                                   \
    return use(&table##_library, err);                                                                       \
  }
OPEN(blas)
OPEN(solver)
OPEN(compiler)
OPEN(ranges)
