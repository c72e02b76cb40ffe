/* kernels.c - lists of kernels by step, which only grow. Steps of one program on one device share a kernel: it is
** found by the fold's identity, and the entry of the step that it was compiled for owns it. */
#include "lower/kernels.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct entry {
  gb_kernel *kernel;
  int step;
  bool owner;
  size_t extent[GB_FOLD_AXES]; /* of INNER axes */
  struct entry *next;          /* of the step */
  struct entry *alike;         /* owners: of identities that share a place in 'owners' */
} entry;

struct gb_kernels {
  gb_device *device[GB_GRAPH_DEVICES]; /* by number */
  const gb_lowered *low;
  size_t bytes;
  size_t mask;            /* places of 'owners' - 1 */
  entry **owners;         /* seen by the thread that compiles alone */
  entry *_Atomic first[]; /* [steps] constant from an entry on: a new one goes before it */
};

gb_status gb_kernels_new (gb_device *dev, const gb_graph *g, const gb_lowered *low, gb_kernels **out,
                          gb_error *err) {
  size_t places = 1;
  while (places < (size_t)low->nsteps) places *= 2;
  const size_t steps = sizeof(gb_kernels) + (size_t)low->nsteps * sizeof(entry * _Atomic);
  const size_t bytes = steps + places * sizeof(entry *);
  gb_kernels *k = calloc(1, bytes);
  if (k == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
  k->owners = (entry **)((char *)k + steps);
  k->mask = places - 1;
  k->device[0] = dev;
  for (int i = 1; i < low->ndevices; i++) k->device[i] = gb_graph_device(g, i);
  k->low = low;
  k->bytes = bytes;
  *out = k;
  return GB_OK;
}

static void free_entries (entry *e) {
  for (entry *next; e != NULL; e = next) {
    next = e->next;
    if (e->owner) gb_kernel_release(e->kernel);
    free(e);
  }
}

void gb_kernels_free (gb_kernels *k) {
  for (int s = 0; k != NULL && s < k->low->nsteps; s++) free_entries(k->first[s]);
  free(k);
}

gb_device *gb_kernels_device (const gb_kernels *k) { return k->device[0]; }
gb_device *gb_kernels_step_device (const gb_kernels *k, int s) { return k->device[k->low->step[s].device]; }
const gb_lowered *gb_kernels_lowered (const gb_kernels *k) { return k->low; }
size_t gb_kernels_bytes (const gb_kernels *k) { return k->bytes; }

static bool serves (const entry *e, const gb_fold *part) {
  for (int a = 0; a < part->naxes; a++)
    if (part->axis[a].role == GB_AXIS_INNER && part->axis[a].extent != e->extent[a]) return false;
  return true;
}

const gb_kernel *gb_kernels_find (const gb_kernels *k, int s, const gb_fold *part) {
  const entry *e = atomic_load_explicit(&k->first[s], memory_order_acquire);
  while (e != NULL && !serves(e, part)) e = e->next;
  return e == NULL ? NULL : e->kernel;
}

static entry **owners_of (const gb_kernels *k, const gb_fold *f) { return &k->owners[f->identity & k->mask]; }

/* A kernel of another step that serves 'part' of step s; NULL: no step has one. */
static gb_kernel *shared (const gb_kernels *k, int s, const gb_fold *part) {
  const gb_fold *f = &k->low->step[s].fold;
  for (const entry *e = *owners_of(k, f); e != NULL; e = e->alike) {
    const gb_fold *other = &k->low->step[e->step].fold;
    if (gb_kernels_step_device(k, e->step) == gb_kernels_step_device(k, s) && serves(e, part) &&
        other->identity == f->identity && gb_fold_same_program(other, f))
      return e->kernel;
  }
  return NULL;
}

static gb_status compile_own (gb_kernels *k, entry *e, const gb_fold *part, gb_error *err) {
  GB_TRY(gb_device_compile(gb_kernels_step_device(k, e->step), part, &e->kernel, err));
  entry **at = owners_of(k, &k->low->step[e->step].fold);
  e->owner = true;
  e->alike = *at;
  *at = e;
  k->bytes += e->kernel->bytes;
  return GB_OK;
}

gb_status gb_kernels_compile (gb_kernels *k, int s, const gb_fold *part, gb_error *err) {
  if (gb_kernels_find(k, s, part) != NULL) return GB_OK;
  entry *e = calloc(1, sizeof *e);
  if (e == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  e->step = s;
  for (int a = 0; a < part->naxes; a++) e->extent[a] = part->axis[a].extent;
  e->kernel = shared(k, s, part);
  const gb_status st = e->kernel != NULL ? GB_OK : compile_own(k, e, part, err);
  if (st != GB_OK) {
    free(e);
    return st;
  }
  k->bytes += sizeof *e;
  e->next = atomic_load_explicit(&k->first[s], memory_order_relaxed);
  atomic_store_explicit(&k->first[s], e, memory_order_release);
  return GB_OK;
}

size_t gb_kernels_scratch (gb_kernels *k, int s, const gb_fold *part) {
  if (gb_kernels_compile(k, s, part, NULL) != GB_OK) return SIZE_MAX;
  return gb_device_kernel_scratch(gb_kernels_step_device(k, s), gb_kernels_find(k, s, part), part);
}

size_t gb_kernels_state (gb_kernels *k, int s, const gb_fold *part) {
  if (gb_kernels_compile(k, s, part, NULL) != GB_OK) return SIZE_MAX;
  return gb_device_kernel_state(gb_kernels_step_device(k, s), gb_kernels_find(k, s, part), part);
}
