/* pack.c - the file of kernels that come with the library. */
#define _GNU_SOURCE
#include "cuda/compile/pack.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/infile.h"
#include "base/outfile.h"

enum { MOST = 1 << 20 }; /* images */

typedef struct header {
  char mark[8];
  gb_cuda_key library; /* whose kernels these are */
  uint32_t n, ntargets;
  int32_t target[GB_CUDA_PACK_TARGETS];
  uint64_t bytes; /* of the file */
} header;
static const char mark[8] = "gbpack1";

typedef struct entry {
  gb_cuda_key key;
  uint64_t at, bytes, sum;
} entry;

struct gb_cuda_pack {
  header h;
  entry *of;
  int fd;
  char path[PATH_MAX];
};

static int by_key (const void *a, const void *b) {
  const gb_cuda_key *x = a, *y = b;
  for (int w = 0; w < 2; w++)
    if (x->word[w] != y->word[w]) return x->word[w] < y->word[w] ? -1 : 1;
  return 0;
}

static uint64_t checksum (const header *h, const entry *of) {
  return gb_hash_bytes(gb_hash_bytes(0, h, sizeof *h), of, h->n * sizeof *of);
}

/* -- opening */

/* False: it is switched off. */
static bool path_of (char path[PATH_MAX]) {
  const char *said = getenv("GIBBOUS_CUDA_PACK");
  Dl_info here;
  if (said != NULL && *said != '\0') snprintf(path, PATH_MAX, "%s", said);
  else if (dladdr((void *)(uintptr_t)&path_of, &here) == 0) return false;
  else {
    const char *slash = strrchr(here.dli_fname, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - here.dli_fname);
    snprintf(path, PATH_MAX, "%.*s" GB_CUDA_PACK_NAME, folder < PATH_MAX - 64 ? folder : 0, here.dli_fname);
  }
  return strcmp(path, "off") != 0;
}

/* Why the file cannot be used; NULL: it can. */
static const char *read_index (gb_cuda_pack *p, gb_infile *f) {
  uint64_t sum;
  const char *damaged = "is damaged or of another version";
  if (gb_infile_exactly(f, &p->h, sizeof p->h, NULL) != GB_OK || memcmp(p->h.mark, mark, sizeof mark) != 0 ||
      p->h.n > MOST || p->h.ntargets > GB_CUDA_PACK_TARGETS)
    return damaged;
  const gb_cuda_key ours = gb_cuda_key_of_library();
  if (memcmp(&p->h.library, &ours, sizeof ours) != 0) return "is of another version";
  if (p->h.bytes != f->size) return damaged;
  p->of = malloc(p->h.n * sizeof *p->of + 1);
  if (p->of == NULL) return "has no room in memory";
  if (gb_infile_exactly(f, p->of, p->h.n * sizeof *p->of, NULL) != GB_OK ||
      gb_infile_exactly(f, &sum, sizeof sum, NULL) != GB_OK || sum != checksum(&p->h, p->of))
    return damaged;
  for (uint32_t i = 0; i < p->h.n; i++)
    if (p->of[i].at > p->h.bytes || p->of[i].bytes > p->h.bytes - p->of[i].at) return damaged;
  return NULL;
}

gb_cuda_pack *gb_cuda_pack_open (char why[GB_CUDA_PACK_WHY]) {
  gb_cuda_pack *p = calloc(1, sizeof *p);
  gb_infile f;
  gb_error err;
  snprintf(why, GB_CUDA_PACK_WHY, "%s", p == NULL ? "no memory" : "");
  if (p == NULL) return NULL;
  p->fd = -1;
  const bool wanted = path_of(p->path);
  if (wanted && access(p->path, F_OK) != 0) snprintf(why, GB_CUDA_PACK_WHY, "no '%.400s'", p->path);
  else if (wanted && gb_infile_open(p->path, &f, &err) != GB_OK)
    snprintf(why, GB_CUDA_PACK_WHY, "%.500s", err.text);
  else if (wanted) {
    const char *wrong = read_index(p, &f);
    p->fd = f.fd;
    if (wrong != NULL) snprintf(why, GB_CUDA_PACK_WHY, "'%.400s' %s", p->path, wrong);
  }
  if (wanted && why[0] == '\0') return p;
  gb_cuda_pack_close(p);
  return NULL;
}

void gb_cuda_pack_close (gb_cuda_pack *p) {
  if (p == NULL) return;
  if (p->fd >= 0) close(p->fd);
  free(p->of);
  free(p);
}

/* -- one image */

static char *read_image (const gb_cuda_pack *p, const entry *e) {
  char *image = malloc((size_t)e->bytes + 1);
  size_t n = 0;
  while (image != NULL && n < e->bytes) {
    const ssize_t got = pread(p->fd, image + n, (size_t)e->bytes - n, (off_t)(e->at + n));
    if (got <= 0) break;
    n += (size_t)got;
  }
  if (image != NULL && n == e->bytes && gb_hash_bytes(0, image, n) == e->sum) return image;
  free(image);
  return NULL;
}

/* How well a GPU runs what was made for a target: code runs on GPUs of its major number, from its minor one on, and PTX on all
** later ones. 0: not at all. */
static int fit (int target, int capability) {
  const int made = target & ~GB_CUDA_PORTABLE;
  if (made > capability) return 0;
  if (target & GB_CUDA_PORTABLE) return made;
  return made / 10 == capability / 10 ? GB_CUDA_PORTABLE + made : 0;
}

bool gb_cuda_pack_read (gb_cuda_pack *p, const gb_cuda_key *key, int capability, char **image, size_t *bytes,
                        char why[GB_CUDA_PACK_WHY]) {
  const entry *found = NULL;
  int best = 0;
  why[0] = '\0';
  *image = NULL;
  for (uint32_t t = 0; t < p->h.ntargets; t++) {
    const int fits = fit(p->h.target[t], capability);
    const gb_cuda_key at = gb_cuda_key_at(key, p->h.target[t]);
    const entry *e = fits > best ? bsearch(&at, p->of, p->h.n, sizeof *p->of, by_key) : NULL;
    if (e != NULL) found = e, best = fits;
  }
  if (found == NULL) return false;
  *bytes = (size_t)found->bytes;
  *image = read_image(p, found);
  if (*image == NULL) snprintf(why, GB_CUDA_PACK_WHY, "'%.400s' is damaged", p->path);
  return *image != NULL;
}

/* -- writing */

static gb_status write_all (gb_outfile *f, const header *h, const entry *of, const gb_cuda_packed *from,
                            gb_error *err) {
  const uint64_t sum = checksum(h, of);
  GB_TRY(gb_outfile_write(f, h, sizeof *h, err));
  GB_TRY(gb_outfile_write(f, of, h->n * sizeof *of, err));
  GB_TRY(gb_outfile_write(f, &sum, sizeof sum, err));
  for (uint32_t i = 0; i < h->n; i++) GB_TRY(gb_outfile_write(f, from[i].image, from[i].bytes, err));
  return gb_outfile_commit(f, err);
}

gb_status gb_cuda_pack_write (const char *path, gb_cuda_packed *of, size_t n, const int *target, int ntargets,
                              gb_error *err) {
  header h = {.library = gb_cuda_key_of_library(), .n = (uint32_t)n, .ntargets = (uint32_t)ntargets};
  gb_outfile f;
  if (n > MOST || ntargets > GB_CUDA_PACK_TARGETS) return gb_fail(err, GB_EOPTION, "too many kernels");
  memcpy(h.mark, mark, sizeof mark);
  for (int t = 0; t < ntargets; t++) h.target[t] = target[t];
  entry *index = calloc(n + 1, sizeof *index);
  if (index == NULL) return gb_fail(err, GB_ENOMEM, "no memory for an index");
  qsort(of, n, sizeof *of, by_key);
  h.bytes = sizeof h + n * sizeof *index + sizeof(uint64_t);
  for (size_t i = 0; i < n; i++) {
    index[i] = (entry){of[i].key, h.bytes, of[i].bytes, gb_hash_bytes(0, of[i].image, of[i].bytes)};
    h.bytes += of[i].bytes;
  }
  gb_status st = gb_outfile_open(path, &f, err);
  if (st == GB_OK) st = write_all(&f, &h, index, of, err);
  free(index);
  return st;
}
