/* record.c - a device that stands for a GPU where there is none: "cuda:0" of libgibbous_cuda_record.so. Plans, folds and the
** texts of generated kernels are those of a GPU (an imaginary H200, as in cuda/price/profile.c); the CPU computes. Each text of
** a walk over many elements goes into a file of GIBBOUS_CUDA_RECORD, an existing folder, by its key. So a script that runs
** here says which kernels it has. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cuda/dense/opaque.h"
#include "cuda/fold/code.h"
#include "cuda/price/profile.h"
#include "device/registry.h"
#include "program/schedule.h"

/* What prices ask of dense algebra, which this device leaves to the CPU: nothing that is recorded has a batch of matrices. */
bool gb_cuda_slices_at_once (const gb_opaque *o) {
  (void)o;
  return false;
}

#define LIMIT ((size_t)126 << 30) /* bytes of memory that plans reckon with */
#define FEW 1e5 /* elements, which take the interpreter no longer than a module takes to be loaded */
enum { MOST = 2000, NAME = 80 }; /* kernels that are remembered; characters of what is said of one */

typedef struct note {
  gb_cuda_key key;
  int reach;
  double elements; /* of all launches */
  long launches;
} note;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static note notes[MOST]; /* of the kernels that were launched since they were asked for */
static int nnotes;
static bool said; /* so that the next launch begins anew */
static char text[MOST * NAME];

/* -- notes */

static void take_note (const gb_cuda_key *key, int reach, double elements) {
  int n = 0;
  if (said) nnotes = 0;
  said = false;
  while (n < nnotes && (memcmp(&notes[n].key, key, sizeof *key) != 0 || notes[n].reach != reach)) n++;
  if (n == MOST) return;
  if (n == nnotes) notes[nnotes++] = (note){.key = *key, .reach = reach};
  notes[n].launches++;
  notes[n].elements += elements;
}

static const char *name_of (int reach) {
  switch (reach) {
    case GB_CUDA_ROW: return "rows";
    case GB_CUDA_COL: return "columns";
    case GB_CUDA_MIRROR: return "mirror";
    case GB_CUDA_WAVE: return "wave";
    case GB_CUDA_ALL: return "all";
    default: return "elements";
  }
}

/* Of each kernel that was launched since the last call: key, reach, launches, their elements. The same again where there is none. */
static const char *kernels (const gb_device *dev) {
  size_t n = 0;
  (void)dev;
  pthread_mutex_lock(&lock);
  said = true;
  text[0] = '\0';
  for (int i = 0; i < nnotes; i++)
    n += (size_t)snprintf(text + n, NAME, "%016llx%016llx %s %ld %.3g\n",
                          (unsigned long long)notes[i].key.word[0], (unsigned long long)notes[i].key.word[1],
                          name_of(notes[i].reach), notes[i].launches, notes[i].elements);
  pthread_mutex_unlock(&lock);
  return text;
}

/* -- texts */

typedef struct kernel {
  gb_kernel kernel;
  gb_kernel *near; /* of the home */
  int ncodes;
  note *codes; /* of its walks over many elements */
} kernel;

static gb_status write_text (const gb_cuda_code *c, gb_error *err) {
  const char *folder = getenv("GIBBOUS_CUDA_RECORD");
  char path[1024];
  if (folder == NULL || *folder == '\0') return GB_OK;
  snprintf(path, sizeof path, "%.900s/%016llx%016llx.cu", folder, (unsigned long long)c->key.word[0],
           (unsigned long long)c->key.word[1]);
  if (access(path, F_OK) == 0) return GB_OK;
  return gb_outfile_put(path, c->source.text, strlen(c->source.text), err);
}

static double elements_of (const gb_fold *f) {
  double n = 1;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role != GB_AXIS_INNER) n *= (double)f->axis[a].extent;
  return n;
}

static gb_status record (kernel *k, const gb_fold *f, int chosen, gb_error *err) {
  gb_cuda_walk *walks;
  int nwalks;
  if (elements_of(f) < FEW) return GB_OK;
  GB_TRY(gb_cuda_encode(f, &walks, &nwalks, err));
  gb_cuda_code *codes = gb_cuda_codes_new(f, walks, nwalks, gb_cuda_arithmetic_of(f, chosen));
  k->codes = calloc(2 * (size_t)nwalks + 1, sizeof *k->codes);
  gb_status st = GB_OK;
  if (codes == NULL || k->codes == NULL) st = gb_fail(err, GB_ENOMEM, "no memory for texts");
  for (int c = 0; st == GB_OK && c < 2 * nwalks; c++) {
    if (codes[c].source.text == NULL) continue;
    k->codes[k->ncodes++] = (note){.key = codes[c].key, .reach = codes[c].source.reach};
    st = write_text(&codes[c], err);
  }
  gb_cuda_codes_free(codes, nwalks);
  gb_cuda_walks_free(walks, nwalks);
  return st;
}

/* -- programs: those of the home */

static const kernel *mine (const gb_kernel *k) { return (const kernel *)k; }

static void release (gb_kernel *k) {
  gb_kernel_release(((kernel *)k)->near);
  free(((kernel *)k)->codes);
  free(k);
}

static gb_status compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  kernel *k = calloc(1, sizeof *k);
  if (k == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  gb_status st = record(k, f, dev->arithmetic, err);
  if (st == GB_OK) st = gb_device_compile(dev->home, f, &k->near, err);
  k->kernel.bytes = sizeof *k + (st == GB_OK ? k->near->bytes : 0);
  if (st == GB_OK) *out = &k->kernel;
  else release(&k->kernel);
  return st;
}

static gb_status launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err) {
  pthread_mutex_lock(&lock);
  for (int c = 0; c < mine(k)->ncodes; c++)
    take_note(&mine(k)->codes[c].key, mine(k)->codes[c].reach, elements_of(args->part));
  pthread_mutex_unlock(&lock);
  return gb_device_launch(dev->home, mine(k)->near, args, err);
}

static size_t kernel_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  return gb_device_kernel_scratch(dev->home, mine(k)->near, part);
}
static size_t kernel_state (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  return gb_device_kernel_state(dev->home, mine(k)->near, part);
}
static void schedule (const gb_device *dev, const gb_fold *f, gb_schedule *out) {
  (void)dev;
  gb_schedule_default(f, out);
  gb_schedule_close_tiles(f, out);
}

static size_t opaque_scratch (const gb_device *dev, const gb_opaque *o) {
  return dev->home->ops->opaque_scratch(dev->home, o);
}
static gb_status opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                         void *scratch, gb_error *err) {
  return dev->home->ops->opaque(dev->home, o, in, out, scratch, err);
}

/* -- the device */

static gb_memory memory (const gb_device *dev) {
  (void)dev;
  return gb_host_memory();
}

static gb_status set_threads (gb_device *dev, int threads, gb_error *err) {
  GB_TRY(gb_device_set_threads(dev->home, threads, err));
  for (gb_device *d = dev; d != NULL; d = d->next) d->pool = dev->home->pool;
  return GB_OK;
}

static void close_device (gb_device *dev) { (void)dev; }
static const char *isa (const gb_device *dev) { return gb_device_isa(dev->home); }
static const char *library (const gb_device *dev) { return gb_device_library(dev->home); }

/* Figures are the imaginary ones: nothing is measured. */
gb_status gb_cuda_measure (gb_device *dev, gb_cuda_profile *out, gb_error *err) {
  (void)dev, (void)out;
  return gb_fail(err, GB_EINTERNAL, "there is no GPU to measure");
}

static gb_price_ops prices;
static gb_device_ops ops = {.name = "cuda",
                            .memory = memory,
                            .set_threads = set_threads,
                            .close = close_device,
                            .schedule = schedule,
                            .block = GB_CUDA_DENSE_BLOCK,
                            .compile = compile,
                            .release = release,
                            .kernel_scratch = kernel_scratch,
                            .kernel_state = kernel_state,
                            .launch = launch,
                            .opaque_scratch = opaque_scratch,
                            .opaque = opaque,
                            .arithmetics = gb_cuda_arithmetics,
                            .isa = isa,
                            .library = library,
                            .kernels = kernels,
                            .price = &prices};

static void choose_ops (const gb_device *home) {
  pthread_mutex_lock(&lock);
  prices = gb_cuda_price_ops;
  prices.identity = NULL, prices.measure = NULL;
  ops.panel = home->ops->panel;
  pthread_mutex_unlock(&lock);
}

gb_device_open_function gb_device_open_plugin;
gb_status gb_device_open_plugin (unsigned abi, gb_device *home, int ordinal, size_t limit, gb_device **out,
                                 gb_error *err) {
  if (abi != GB_DEVICE_ABI)
    return gb_fail(err, GB_EDEVICE, "libgibbous_cuda_record.so is of another version of the program");
  if (ordinal > 0) return gb_fail(err, GB_EDEVICE, "there is one device that records, number 0");
  int arithmetic;
  GB_TRY(gb_cuda_arithmetic_chosen(&arithmetic, err));
  gb_device *dev = calloc(1, sizeof *dev);
  if (dev == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a device");
  choose_ops(home);
  dev->home = home;
  dev->pool = home->pool;
  dev->arithmetic = arithmetic;
  gb_device_init(dev, &ops, memory(dev), limit != 0 ? limit : LIMIT);
  snprintf(dev->name, sizeof dev->name, "cuda:0");
  *out = dev;
  return GB_OK;
}
