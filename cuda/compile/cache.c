/* cache.c - files of compiled kernels. */
#define _GNU_SOURCE
#include "cuda/compile/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/infile.h"
#include "base/outfile.h"

#define SUFFIX ".cubin"
enum { LITTER = 24 * 3600 }; /* seconds after which a temporary file has no writer */

typedef struct header {
  char mark[8];
  gb_cuda_key key;
  uint64_t bytes; /* of the image, which a checksum of the header and the image follows */
} header;
static const char mark[8] = "gbkern1";

/* -- names */

static bool folder_of (char path[PATH_MAX]) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n = -1;
  if (cache != NULL && *cache == '/') n = snprintf(path, PATH_MAX, "%s/gibbous/kernels", cache);
  else if (home != NULL && *home != '\0') n = snprintf(path, PATH_MAX, "%s/.cache/gibbous/kernels", home);
  return n > 0 && n < PATH_MAX - 100; /* room for names and the suffix of a temporary file */
}

static bool path_of (const gb_cuda_key *key, char path[PATH_MAX]) {
  if (!folder_of(path)) return false;
  const size_t n = strlen(path);
  snprintf(path + n, PATH_MAX - n, "/%016llx%016llx" SUFFIX, (unsigned long long)key->word[0],
           (unsigned long long)key->word[1]);
  return true;
}

static void make_parents (const char *path) {
  char part[PATH_MAX];
  snprintf(part, sizeof part, "%s", path);
  for (char *c = part + 1; *c != '\0'; c++) {
    if (*c != '/') continue;
    *c = '\0';
    mkdir(part, 0777); /* it may be there; the file will tell */
    *c = '/';
  }
}

/* -- one file */

static uint64_t checksum (const header *h, const char *image) {
  return gb_hash_bytes(gb_hash_bytes(0, h, sizeof *h), image, (size_t)h->bytes);
}

static bool is_ours (const header *h, const gb_cuda_key *key, size_t size) {
  return memcmp(h->mark, mark, sizeof mark) == 0 && memcmp(&h->key, key, sizeof *key) == 0 &&
         h->bytes <= GB_CUDA_CACHE_BYTES && size == sizeof *h + h->bytes + sizeof(uint64_t);
}

/* Returns the image, or NULL if the file belongs to another key, is damaged, or memory is short. */
static char *read_image (gb_infile *f, const gb_cuda_key *key, size_t *bytes) {
  header h;
  uint64_t sum;
  if (gb_infile_exactly(f, &h, sizeof h, NULL) != GB_OK || !is_ours(&h, key, f->size)) return NULL;
  *bytes = (size_t)h.bytes;
  char *image = malloc(*bytes + 1);
  if (image != NULL && gb_infile_exactly(f, image, *bytes, NULL) == GB_OK &&
      gb_infile_exactly(f, &sum, sizeof sum, NULL) == GB_OK && sum == checksum(&h, image))
    return image;
  free(image);
  return NULL;
}

bool gb_cuda_cache_read (const gb_cuda_key *key, char **image, size_t *bytes, char why[256]) {
  char path[PATH_MAX];
  gb_infile f;
  gb_error err;
  why[0] = '\0';
  *image = NULL;
  if (!path_of(key, path) || access(path, F_OK) != 0) return false;
  if (gb_infile_open(path, &f, &err) != GB_OK) {
    snprintf(why, 256, "%.255s", err.text);
    return false;
  }
  *image = read_image(&f, key, bytes);
  if (*image == NULL) snprintf(why, 256, "'%.200s' is damaged or of another version", path);
  else futimens(f.fd, NULL); /* the time of its last use */
  gb_infile_close(&f);
  return *image != NULL;
}

void gb_cuda_cache_drop (const gb_cuda_key *key) {
  char path[PATH_MAX];
  if (path_of(key, path)) unlink(path);
}

static gb_status write_image (const char *path, const header *h, const char *image, gb_error *err) {
  const uint64_t sum = checksum(h, image);
  gb_outfile f;
  GB_TRY(gb_outfile_open(path, &f, err));
  GB_TRY(gb_outfile_write(&f, h, sizeof *h, err));
  GB_TRY(gb_outfile_write(&f, image, (size_t)h->bytes, err));
  GB_TRY(gb_outfile_write(&f, &sum, sizeof sum, err));
  return gb_outfile_commit(&f, err);
}

/* -- the bound */

typedef struct entry {
  char name[80];
  off_t bytes;
  struct timespec used;
} entry;

typedef struct listing {
  entry *of;
  size_t n, room;
  uint64_t bytes;
} listing;

static bool is_kernel (const char *name) {
  const size_t n = strlen(name);
  return n > sizeof SUFFIX - 1 && strcmp(name + n - (sizeof SUFFIX - 1), SUFFIX) == 0;
}

/* Temporary files that a process left when it died. */
static bool is_litter (const char *name, const struct stat *st) {
  return strstr(name, SUFFIX ".tmp-") != NULL && time(NULL) - st->st_mtim.tv_sec > LITTER;
}

static void add (listing *l, const char *name, const struct stat *st) {
  if (l->n == l->room) {
    const size_t room = l->room == 0 ? 64 : 2 * l->room;
    entry *more = realloc(l->of, room * sizeof *more);
    if (more == NULL) return;
    l->of = more;
    l->room = room;
  }
  l->of[l->n] = (entry){.bytes = st->st_size, .used = st->st_mtim};
  snprintf(l->of[l->n].name, sizeof l->of->name, "%s", name);
  l->bytes += (uint64_t)st->st_size;
  l->n++;
}

static listing list (DIR *d) {
  listing l = {.of = NULL};
  const struct dirent *e;
  while ((e = readdir(d)) != NULL) {
    struct stat st;
    if (strlen(e->d_name) >= sizeof l.of->name ||
        fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
      continue;
    if (is_kernel(e->d_name)) add(&l, e->d_name, &st);
    else if (is_litter(e->d_name, &st)) unlinkat(dirfd(d), e->d_name, 0);
  }
  return l;
}

static int by_use (const void *a, const void *b) {
  const struct timespec x = ((const entry *)a)->used, y = ((const entry *)b)->used;
  if (x.tv_sec != y.tv_sec) return x.tv_sec < y.tv_sec ? -1 : 1;
  return x.tv_nsec < y.tv_nsec ? -1 : x.tv_nsec > y.tv_nsec;
}

/* Those used least recently go until so many bytes more have room. Another process may remove the same ones. */
static void make_room (size_t bytes) {
  char path[PATH_MAX];
  DIR *d = folder_of(path) ? opendir(path) : NULL;
  if (d == NULL) return;
  listing l = list(d);
  if (l.bytes + bytes > GB_CUDA_CACHE_BYTES) qsort(l.of, l.n, sizeof *l.of, by_use);
  for (size_t i = 0; i < l.n && l.bytes + bytes > GB_CUDA_CACHE_BYTES; i++) {
    unlinkat(dirfd(d), l.of[i].name, 0);
    l.bytes -= (uint64_t)l.of[i].bytes;
  }
  free(l.of);
  closedir(d);
}

bool gb_cuda_cache_write (const gb_cuda_key *key, const char *image, size_t bytes, char why[256]) {
  char path[PATH_MAX];
  gb_error err;
  header h = {.key = *key, .bytes = bytes};
  memcpy(h.mark, mark, sizeof mark);
  why[0] = '\0';
  if (!path_of(key, path)) snprintf(why, 256, "neither XDG_CACHE_HOME nor HOME is set");
  else if (bytes > GB_CUDA_CACHE_BYTES / 4) snprintf(why, 256, "a kernel of %zu bytes is too large", bytes);
  else {
    make_parents(path);
    make_room(sizeof h + bytes + sizeof(uint64_t));
    if (write_image(path, &h, image, &err) != GB_OK) snprintf(why, 256, "%.255s", err.text);
  }
  return why[0] == '\0';
}
