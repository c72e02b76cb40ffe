/* compile.c - which kernels of a GPU are compiled, and when; those of the pack and the cache are there before. Kernels are known by their keys; all of this is the launching
** thread's, but for jobs that the workers have. */
#include "cuda/compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/compile/pack.h"
#include "cuda/compile/workers.h"

#define LOADED                                                                                               \
  ((size_t)64 << 20) /* bytes of images on the GPU: beyond them, the kernels used least recently go */
enum { BUCKETS = 256 };

typedef enum policy { OFF, WAIT, BACKGROUND } policy;

typedef enum state { NEW, WANTED, ASKED, READY, FAILED } state; /* WANTED: pack and cache have none */

typedef struct kernel {
  gb_cuda_key key;
  state state;
  double seconds;   /* that its walk has taken in the interpreter */
  gb_cuda_job *job; /* of ASKED */
  gb_cuda_module module;
  size_t bytes;  /* of its image, while it is loaded */
  uint64_t used; /* the number of the last call that used it */
  struct kernel *next;
} kernel;

struct gb_cuda_compilation {
  policy policy;
  double patience;
  gb_cuda_driver *driver;
  gb_cuda_workers *workers;
  gb_cuda_pack *pack; /* NULL: why_no_pack */
  kernel *bucket[BUCKETS];
  size_t loaded;
  uint64_t calls;
  int packed, compiled, cached, failed, asked; /* kernels; asked: not done yet */
  char why[512], why_not_kept[256];            /* the first failure of a kernel, and of the cache */
  char why_no_pack[GB_CUDA_PACK_WHY];
  char text[1800];
};

/* -- opening */

static bool read_policy (const char *text, gb_cuda_compilation *s) {
  char *end = NULL;
  s->policy = BACKGROUND;
  s->patience = GB_CUDA_PATIENCE;
  if (text == NULL || *text == '\0' || strcmp(text, "background") == 0) return true;
  if (strcmp(text, "off") == 0) s->policy = OFF;
  else if (strcmp(text, "wait") == 0) s->policy = WAIT;
  else if (strncmp(text, "background:", 11) == 0) s->patience = strtod(text + 11, &end);
  else return false;
  return end == NULL || (end != text + 11 && *end == '\0' && s->patience >= 0);
}

gb_status gb_cuda_compilation_open (gb_cuda *gpu, gb_error *err) {
  const char *text = getenv("GIBBOUS_CUDA_COMPILE");
  gb_cuda_compilation *s = gpu->compilation = calloc(1, sizeof *s);
  if (s == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a device");
  if (!read_policy(text, s))
    return gb_fail(err, GB_EOPTION,
                   "GIBBOUS_CUDA_COMPILE is 'off', 'wait', 'background' or 'background:SECONDS', got '%.60s'",
                   text);
  if (s->policy == OFF) return GB_OK;
  s->pack = gb_cuda_pack_open(s->why_no_pack);
  s->workers = gb_cuda_workers_open();
  return s->workers != NULL ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for a device");
}

void gb_cuda_compilation_close (gb_cuda *gpu) {
  gb_cuda_compilation *s = gpu->compilation;
  if (s == NULL) return;
  gb_cuda_workers_close(s->workers);
  gb_cuda_pack_close(s->pack);
  for (int b = 0; b < BUCKETS; b++)
    for (kernel *k = s->bucket[b], *next; k != NULL; k = next) {
      next = k->next;
      gb_cuda_module_unload(&k->module);
      gb_cuda_job_free(k->job);
      free(k);
    }
  free(s->driver);
  free(s);
  gpu->compilation = NULL;
}

bool gb_cuda_compiles (const gb_cuda *gpu) {
  return gpu->compilation != NULL && gpu->compilation->policy != OFF;
}

/* -- kernels, by the keys of their texts */

/* Made where it is new; NULL: memory is short. */
static kernel *kernel_of (gb_cuda_compilation *s, const gb_cuda_key *key) {
  kernel **at = &s->bucket[key->word[0] % BUCKETS];
  for (; *at != NULL; at = &(*at)->next)
    if (memcmp(&(*at)->key, key, sizeof *key) == 0) return *at;
  *at = calloc(1, sizeof **at);
  if (*at != NULL) (*at)->key = *key;
  return *at;
}

/* -- what happened */

static void tell (char *to, size_t size, const char *why) {
  if (to[0] == '\0') snprintf(to, size, "%.*s", (int)size - 1, why);
}

static void fail (gb_cuda_compilation *s, kernel *k, const char *why) {
  k->state = FAILED;
  s->failed++;
  tell(s->why, sizeof s->why, why);
}

const char *gb_cuda_compilation_text (gb_cuda *gpu) {
  gb_cuda_compilation *s = gpu->compilation;
  if (!gb_cuda_compiles(gpu)) return "none is compiled (GIBBOUS_CUDA_COMPILE=off)";
  int n = s->pack == NULL ? 0 : snprintf(s->text, sizeof s->text, "%d from the pack, ", s->packed);
  n += snprintf(s->text + n, sizeof s->text - (size_t)n, "%d compiled, %d from the cache, %d on the way",
                s->compiled, s->cached, s->asked);
  if (s->failed > 0)
    n += snprintf(s->text + n, sizeof s->text - (size_t)n, "; %d failed: %s", s->failed, s->why);
  if (s->why_not_kept[0] != '\0')
    n += snprintf(s->text + n, sizeof s->text - (size_t)n, "; cache: %s", s->why_not_kept);
  if (s->why_no_pack[0] != '\0')
    snprintf(s->text + n, sizeof s->text - (size_t)n, "; pack: %s", s->why_no_pack);
  return s->text;
}

/* -- modules */

/* Kernels that wait in the stream may be among those that go. */
static void make_room (gb_cuda *gpu, size_t bytes) {
  gb_cuda_compilation *s = gpu->compilation;
  if (s->loaded + bytes <= LOADED) return;
  cudaStreamSynchronize(gpu->stream);
  while (s->loaded > 0 && s->loaded + bytes > LOADED) {
    kernel *oldest = NULL;
    for (int b = 0; b < BUCKETS; b++)
      for (kernel *k = s->bucket[b]; k != NULL; k = k->next)
        if (k->state == READY && (oldest == NULL || k->used < oldest->used)) oldest = k;
    gb_cuda_module_unload(&oldest->module);
    oldest->state = NEW;
    s->loaded -= oldest->bytes;
  }
}

/* Errors: EDEVICE (the GPU is lost); others leave it in order. */
static gb_status load (gb_cuda *gpu, kernel *k, const gb_cuda_code *c, const char *image, size_t bytes,
                       gb_error *err) {
  gb_cuda_compilation *s = gpu->compilation;
  if (s->driver == NULL) s->driver = gb_cuda_driver_open();
  if (s->driver == NULL) return gb_fail(err, GB_EINTERNAL, "the driver loads no modules");
  make_room(gpu, bytes);
  GB_TRY(gb_cuda_module_load(s->driver, image, &c->source, &k->module, err));
  k->state = READY;
  k->bytes = bytes;
  s->loaded += bytes;
  return GB_OK;
}

/* -- the way of a kernel */

/* An image that the GPU refuses is as if absent. */
static gb_status look_into_pack (gb_cuda *gpu, kernel *k, const gb_cuda_code *c, gb_error *err) {
  gb_cuda_compilation *s = gpu->compilation;
  char *image, why[GB_CUDA_PACK_WHY];
  size_t bytes;
  if (s->pack == NULL) return GB_OK;
  const bool there = gb_cuda_pack_read(s->pack, &k->key, gpu->capability, &image, &bytes, why);
  tell(s->why_no_pack, sizeof s->why_no_pack, why);
  if (!there) return GB_OK;
  const gb_status st = load(gpu, k, c, image, bytes, err);
  free(image);
  s->packed += st == GB_OK;
  if (st == GB_ENOMEM) fail(s, k, err->text);
  else if (st != GB_OK) tell(s->why_no_pack, sizeof s->why_no_pack, err->text);
  return st == GB_EDEVICE ? st : GB_OK;
}

static gb_status look_into_cache (gb_cuda *gpu, kernel *k, const gb_cuda_code *c, gb_error *err) {
  gb_cuda_compilation *s = gpu->compilation;
  char *image, why[256];
  size_t bytes;
  const gb_cuda_key key = gb_cuda_key_at(&k->key, gpu->capability);
  const bool there = gb_cuda_cache_read(&key, &image, &bytes, why);
  tell(s->why_not_kept, sizeof s->why_not_kept, why);
  if (!there) return GB_OK;
  const gb_status st = load(gpu, k, c, image, bytes, err);
  free(image);
  if (st == GB_EDEVICE) return st;
  s->cached += st == GB_OK;
  if (st == GB_ENOMEM) fail(s, k, err->text);
  else if (st != GB_OK) {
    gb_cuda_cache_drop(&key);
    tell(s->why_not_kept, sizeof s->why_not_kept, err->text);
  }
  return GB_OK;
}

/* WANTED: neither has it. */
static gb_status look (gb_cuda *gpu, kernel *k, const gb_cuda_code *c, gb_error *err) {
  k->state = WANTED;
  GB_TRY(look_into_pack(gpu, k, c, err));
  return k->state == WANTED ? look_into_cache(gpu, k, c, err) : GB_OK;
}

static void ask (gb_cuda *gpu, kernel *k, const gb_cuda_code *c) {
  gb_cuda_compilation *s = gpu->compilation;
  const gb_cuda_key key = gb_cuda_key_at(&k->key, gpu->capability);
  k->job = gb_cuda_job_new(c->source.text, &key, gpu->capability);
  if (k->job != NULL && gb_cuda_workers_put(s->workers, k->job)) {
    k->state = ASKED;
    s->asked++;
    return;
  }
  gb_cuda_job_free(k->job);
  k->job = NULL;
  fail(s, k, "no thread to compile in");
}

static gb_status collect (gb_cuda *gpu, kernel *k, const gb_cuda_code *c, gb_error *err) {
  gb_cuda_compilation *s = gpu->compilation;
  gb_cuda_job *j = k->job;
  if (!gb_cuda_workers_done(s->workers, j, s->policy == WAIT)) return GB_OK;
  k->job = NULL;
  s->asked--;
  tell(s->why_not_kept, sizeof s->why_not_kept, j->why_not_kept);
  gb_status st = GB_EFORMAT;
  if (j->image != NULL) st = load(gpu, k, c, j->image, j->bytes, err);
  if (st == GB_OK) s->cached += j->cached, s->compiled += !j->cached;
  else fail(s, k, j->image == NULL ? j->why : err->text);
  gb_cuda_job_free(j);
  return st == GB_EDEVICE ? st : GB_OK;
}

gb_status gb_cuda_find (gb_cuda *gpu, const gb_cuda_code *c, double seconds, const gb_cuda_module **out,
                        gb_error *err) {
  gb_cuda_compilation *s = gpu->compilation;
  *out = NULL;
  if (!gb_cuda_compiles(gpu) || c->source.text == NULL) return GB_OK;
  kernel *k = kernel_of(s, &c->key);
  if (k == NULL) return GB_OK;
  k->seconds += seconds;
  k->used = ++s->calls;
  if (k->state == NEW) GB_TRY(look(gpu, k, c, err));
  if (k->state == WANTED && (s->policy == WAIT || k->seconds >= s->patience)) ask(gpu, k, c);
  if (k->state == ASKED) GB_TRY(collect(gpu, k, c, err));
  if (k->state == READY) *out = &k->module;
  return GB_OK;
}

bool gb_cuda_compilation_settle (gb_cuda *gpu) {
  gb_cuda_compilation *s = gpu->compilation;
  bool any = false;
  if (!gb_cuda_compiles(gpu)) return false;
  for (int b = 0; b < BUCKETS; b++)
    for (kernel *k = s->bucket[b]; k != NULL; k = k->next) {
      if (k->state != WANTED && k->state != ASKED) continue;
      any = true;
      if (k->state == ASKED) gb_cuda_workers_done(s->workers, k->job, true);
      else k->seconds = s->patience;
    }
  return any;
}

void gb_cuda_refuse (gb_cuda *gpu, const gb_cuda_code *c, const gb_error *err) {
  gb_cuda_compilation *s = gpu->compilation;
  kernel *k = kernel_of(s, &c->key);
  if (k == NULL || k->state != READY) return;
  cudaStreamSynchronize(gpu->stream);
  gb_cuda_module_unload(&k->module);
  s->loaded -= k->bytes;
  fail(s, k, err->text);
}
