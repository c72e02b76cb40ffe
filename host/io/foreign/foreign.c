/* foreign.c - opens the library, and makes the tensors that it fills. */
#include "io/foreign/foreign.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/registry.h"
#include "tensor/host.h"

typedef struct collector {
  gb_ledger *ledger;
  const char *path, *only, *where;
  gb_tensor_set *set;
  char *notes;
  size_t room;
  bool found;
} collector;

static gb_status open_library (const char *kind, const char *path, gb_foreign_read_function **read,
                               gb_error *err) {
  char where[GB_LIBRARY_PATH], why[1024];
  const char *package = strcmp(kind, "hdf5") == 0 ? "libhdf5-dev" : "libmatio-dev";
  void *library = gb_library_open(kind, where, why, sizeof why), *symbol = NULL;
  if (library != NULL && (symbol = dlsym(library, GB_FOREIGN_SYMBOL)) == NULL)
    snprintf(why, sizeof why, "%.900s has no function " GB_FOREIGN_SYMBOL, where);
  if (symbol == NULL)
    return gb_fail(
        err, GB_EIO,
        "%s: it is read by libgibbous_%s.so, of the package gibbous-%s, or built where Debian's %s is "
        "installed: %s; otherwise save each array as .npy",
        path, kind, kind, package, why);
  memcpy(read, &symbol, sizeof *read);
  return GB_OK;
}

static bool wants (void *ud, const char *name) {
  collector *c = ud;
  if (c->only == NULL) return true;
  const bool is_it = strcmp(name, c->only) == 0;
  c->found |= is_it;
  return is_it;
}

static gb_status add_place (collector *c, const char *name, gb_error *err) {
  gb_tensor_set *s = c->set;
  gb_named_tensor *wider = realloc(s->tensor, (s->ntensors + 1) * sizeof *wider);
  if (wider != NULL) s->tensor = wider;
  char *copy = strdup(name);
  if (wider == NULL || copy == NULL) {
    free(copy);
    return gb_fail(err, GB_ENOMEM, "no memory to read '%s'", c->path);
  }
  s->tensor[s->ntensors++] = (gb_named_tensor){.name = copy};
  return GB_OK;
}

/* The first axis has the smallest stride. */
static void set_columns (gb_tensor *t) {
  ptrdiff_t n = 1;
  for (int i = 0; i < t->shape.ndim; i++) {
    t->stride[i] = n;
    n *= (ptrdiff_t)t->shape.dim[i];
  }
}

static gb_status place (void *ud, const gb_foreign_array *a, void **to, gb_error *err) {
  collector *c = ud;
  GB_TRY(add_place(c, a->name, err));
  gb_tensor *t = &c->set->tensor[c->set->ntensors - 1].value;
  GB_TRY(gb_tensor_new(c->ledger, a->dtype, &a->shape, GB_MEM_TENSOR, c->where, "", t, err));
  *to = gb_host_elements(t);
  if (a->columns) set_columns(t);
  return GB_OK;
}

static gb_status leave (void *ud, const char *name, const char *why, gb_error *err) {
  collector *c = ud;
  if (c->only != NULL)
    return gb_fail(err, GB_EFORMAT, "%s: '%.200s' %s: only arrays of numbers are read", c->path, name, why);
  const size_t used = strlen(c->notes);
  const int n =
      snprintf(c->notes + used, c->room - used, "%s: '%.200s' %s, and is left out\n", c->path, name, why);
  if (n < 0 || (size_t)n >= c->room - used) c->notes[used] = '\0';
  return GB_OK;
}

gb_status gb_foreign_read (gb_ledger *l, const char *kind, const char *path, const char *only,
                           const char *where, gb_tensor_set *out, char *notes, size_t room, gb_error *err) {
  gb_foreign_read_function *read = NULL;
  collector c = {
      .ledger = l, .path = path, .only = only, .where = where, .set = out, .notes = notes, .room = room};
  const gb_foreign_sink sink = {wants, place, leave, &c};
  *out = (gb_tensor_set){0};
  notes[0] = '\0';
  GB_TRY(open_library(kind, path, &read, err));
  gb_status st = read(GB_FOREIGN_ABI, path, &sink, err);
  if (st == GB_OK && only != NULL && !c.found)
    st = gb_fail(err, GB_EOPTION, "%s: it has no array '%.200s'", path, only);
  if (st != GB_OK) gb_tensor_set_clear(out);
  return st;
}
