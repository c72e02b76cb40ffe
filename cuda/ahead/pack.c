/* pack.c - compiles texts (record.c) and puts the images into one file:
**   pack PTXAS TEXTS OUT PORTABLE TARGET...
** TEXTS: a folder of <key>.cu. NVRTC makes PTX for PORTABLE (80), and the assembler of the toolkit makes code of it for each
** TARGET (80, 90): half the time of compiling once for each. All are kept, by key, in the cache of compiled kernels
** (XDG_CACHE_HOME), so that a text that has not changed is not compiled again. Two processes compile. */
#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/outfile.h"
#include "cuda/compile/build.h"
#include "cuda/compile/cache.h"
#include "cuda/compile/pack.h"

enum { MOST = 1 << 16, PROCESSES = 2 };

typedef struct job { /* of one text */
  char path[1100];
  gb_cuda_key key;
} job;

static const char *assembler;
static job *jobs;
static int njobs, target[GB_CUDA_PACK_TARGETS], ntargets; /* the first one is PTX */

extern char **environ;

static int refuse (const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

/* -- what is to be compiled */

static bool read_key (const char *name, gb_cuda_key *key) {
  unsigned long long word[2];
  int end = 0;
  if (sscanf(name, "%16llx%16llx.cu%n", &word[0], &word[1], &end) != 2 || end != 35 || name[end] != '\0')
    return false;
  *key = (gb_cuda_key){{word[0], word[1]}};
  return true;
}

static bool list_jobs (const char *folder) {
  DIR *d = opendir(folder);
  const struct dirent *e;
  gb_cuda_key key;
  jobs = calloc(MOST, sizeof *jobs);
  while (d != NULL && jobs != NULL && (e = readdir(d)) != NULL)
    if (njobs < MOST && read_key(e->d_name, &key)) {
      job *j = &jobs[njobs++];
      j->key = key;
      snprintf(j->path, sizeof j->path, "%.1000s/%.60s", folder, e->d_name);
    }
  if (d != NULL) closedir(d);
  return njobs > 0 && njobs < MOST;
}

static bool read_target (const char *word) {
  char *end;
  const long n = strtol(word, &end, 10);
  if (ntargets == GB_CUDA_PACK_TARGETS || *end != '\0' || n < 10 || n > 999) return false;
  target[ntargets] = (int)n | (ntargets == 0 ? GB_CUDA_PORTABLE : 0);
  ntargets++;
  return true;
}

/* -- one image, into the cache */

static gb_status read_all (const char *path, char **text, size_t *bytes, gb_error *err) {
  gb_infile f;
  *text = NULL;
  GB_TRY(gb_infile_open(path, &f, err));
  *bytes = f.size;
  *text = calloc(1, f.size + 1);
  const gb_status st = *text == NULL ? gb_fail(err, GB_ENOMEM, "no memory for a text")
                                     : gb_infile_exactly(&f, *text, f.size, err);
  gb_infile_close(&f);
  return st;
}

static gb_status run (char *const *command, gb_error *err) {
  pid_t child;
  int status = -1;
  if (posix_spawn(&child, command[0], NULL, NULL, command, environ) == 0) waitpid(child, &status, 0);
  return status == 0 ? GB_OK : gb_fail(err, GB_EFORMAT, "%s failed", command[0]);
}

/* Code for a target, by way of files beside the text. */
static gb_status assemble (const job *j, int to, const char *ptx, char **image, size_t *bytes,
                           gb_error *err) {
  char from[1200], code[1200], architecture[32];
  snprintf(from, sizeof from, "%s.ptx", j->path);
  snprintf(code, sizeof code, "%s.%d", j->path, to);
  snprintf(architecture, sizeof architecture, "-arch=sm_%d", to);
  char *const command[] = {(char *)(uintptr_t)assembler, architecture, from, (char[]){"-o"}, code, NULL};
  gb_status st = gb_outfile_put(from, ptx, strlen(ptx), err);
  if (st == GB_OK) st = run(command, err);
  if (st == GB_OK) st = read_all(code, image, bytes, err);
  unlink(from);
  unlink(code);
  return st;
}

static gb_status make (const job *j, int to, const char *ptx, char **image, size_t *bytes, gb_error *err) {
  char *text;
  size_t length;
  if (ptx != NULL) return assemble(j, to, ptx, image, bytes, err);
  gb_status st = read_all(j->path, &text, &length, err);
  if (st == GB_OK) st = gb_cuda_build(text, to, image, bytes, err);
  free(text);
  return st;
}

/* ptx: NULL where that is what is made. */
static gb_status make_or_find (const job *j, int to, const char *ptx, char **image, gb_error *err) {
  const gb_cuda_key key = gb_cuda_key_at(&j->key, to);
  char why[256];
  size_t bytes;
  if (gb_cuda_cache_read(&key, image, &bytes, why)) return GB_OK;
  GB_TRY(make(j, to, ptx, image, &bytes, err));
  return gb_cuda_cache_write(&key, *image, bytes, why) ? GB_OK : gb_fail(err, GB_EIO, "%s", why);
}

static gb_status compile (const job *j, gb_error *err) {
  char *ptx = NULL;
  gb_status st = make_or_find(j, target[0], NULL, &ptx, err);
  for (int t = 1; t < ntargets && st == GB_OK; t++) {
    char *image = NULL;
    st = make_or_find(j, target[t], ptx, &image, err);
    free(image);
  }
  free(ptx);
  return st;
}

/* Every one of so many processes. */
static int compile_some (int process) {
  gb_error err = {.text = ""};
  for (int i = process; i < njobs; i += PROCESSES)
    if (compile(&jobs[i], &err) != GB_OK) return refuse(jobs[i].path, err.text);
  return 0;
}

static int compile_all (void) {
  int status, failed = 0;
  for (int n = 0; n < PROCESSES; n++) {
    const pid_t child = fork();
    if (child == 0) _exit(compile_some(n));
    failed += child < 0;
  }
  while (wait(&status) > 0) failed += status != 0;
  return failed;
}

/* -- the file */

/* All images of a text; false: one is missing. */
static bool collect (const job *j, gb_cuda_packed *of, size_t *bytes) {
  char why[256], *image;
  for (int t = 0; t < ntargets; t++) {
    of[t].key = gb_cuda_key_at(&j->key, target[t]);
    if (!gb_cuda_cache_read(&of[t].key, &image, &of[t].bytes, why)) return false;
    of[t].image = image;
    *bytes += of[t].bytes;
  }
  return true;
}

static int write_pack (const char *path) {
  gb_error err = {.text = ""};
  const size_t n = (size_t)njobs * (size_t)ntargets;
  size_t bytes = 0;
  gb_cuda_packed *of = calloc(n, sizeof *of);
  bool all = of != NULL;
  for (int i = 0; all && i < njobs; i++) all = collect(&jobs[i], of + i * ntargets, &bytes);
  if (!all) snprintf(err.text, sizeof err.text, "the images of its kernels are not all there");
  if (all) all = gb_cuda_pack_write(path, of, n, target, ntargets, &err) == GB_OK;
  for (size_t i = 0; of != NULL && i < n; i++) free((void *)(uintptr_t)of[i].image);
  free(of);
  if (!all) return refuse(path, err.text);
  printf("%d kernels for %d targets, %.1f MB\n", njobs, ntargets, (double)bytes * 1e-6);
  return 0;
}

int main (int argc, char **argv) {
  if (argc < 5) return refuse(argv[0], "usage: PTXAS TEXTS OUT PORTABLE TARGET...");
  assembler = argv[1];
  for (int i = 4; i < argc; i++)
    if (!read_target(argv[i])) return refuse(argv[i], "no target");
  if (!list_jobs(argv[2])) return refuse(argv[2], "no texts of kernels");
  if (compile_all() != 0) return refuse(argv[0], "not all kernels were compiled");
  const int failed = write_pack(argv[3]);
  free(jobs);
  return failed;
}
