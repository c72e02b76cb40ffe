/* Generated kernels: compiled, kept on the disk, adopted; and what goes wrong with each. The texts are the test's own: each
** writes a number to every place of the chains. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda/compile/build.h"
#include "cuda/compile/compile.h"
#include "cuda/compile/pack.h"
#include "cuda/compile/workers.h"
#include "cuda/support/gpu_fixture.h"

#define MIB ((size_t)1 << 20)
enum { THREADS = 128 };

/* -- the folder of the cache, one for each test */

static char folder[] = "/tmp/kernels-XXXXXX", kernels[64], packed[64];

static void remove_folder (void) {
  char command[80];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}

static int begin (void **state) {
  (void)state;
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  assert_non_null(mkdtemp(folder));
  snprintf(kernels, sizeof kernels, "%s/gibbous/kernels", folder);
  snprintf(packed, sizeof packed, "%s/pack", folder);
  setenv("XDG_CACHE_HOME", folder, 1);
  setenv("GIBBOUS_CUDA_COMPILE", "wait", 1);
  setenv("GIBBOUS_CUDA_PACK", "off", 1);
  gpu_begin();
  return 0;
}

static int end (void **state) {
  (void)state;
  remove_folder();
  return 0;
}

/* How many files end in 'suffix'; the path of the last one. */
static int count_files (const char *suffix, char path[128]) {
  DIR *d = opendir(kernels);
  const struct dirent *e;
  int n = 0;
  while (d != NULL && (e = readdir(d)) != NULL) {
    const size_t length = strlen(e->d_name), tail = strlen(suffix);
    if (e->d_name[0] == '.' || length < tail || strcmp(e->d_name + length - tail, suffix) != 0) continue;
    if (path != NULL) snprintf(path, 128, "%s/%.60s", kernels, e->d_name);
    n++;
  }
  if (d != NULL) closedir(d);
  return n;
}

/* -- a kernel and its launch */

static char text[1024];

/* The text that writes 'value', an expression of C. */
static gb_cuda_code code_of (const char *value) {
  snprintf(text, sizeof text,
           "struct program { alignas(8) char bytes[%zu]; };\n"
           "extern \"C\" __global__ void " GB_CUDA_EMIT_NAME " (program p) {\n"
           "  double *to = *(double **)(p.bytes + %zu);\n"
           "  to[threadIdx.x] = %s;\n"
           "}\n",
           sizeof(gb_cuda_program), offsetof(gb_cuda_program, chains), value);
  gb_cuda_code c = {.source = {.text = text, .reach = GB_CUDA_ROW, .threads = THREADS, .shared = 0}};
  c.key = gb_cuda_key_of(&c.source, GB_CUDA_EXACT);
  return c;
}

enum { NONE, RAN };

/* The kernel, where there is one, writes 'value' everywhere. */
static gb_status try_it (gb_device *dev, const gb_cuda_code *c, double seconds, double value, int *outcome,
                         gb_error *err) {
  gb_cuda *gpu = gb_cuda_of(dev);
  const gb_cuda_module *m;
  static gb_cuda_argument a;
  double came[THREADS];
  *outcome = NONE;
  GB_TRY(gb_cuda_enter(gpu, err));
  GB_TRY(gb_cuda_find(gpu, c, seconds, &m, err));
  if (m == NULL) return GB_OK;
  a.program.chains = (gb_cuda_word *)(void *)gpu->room;
  const gb_status st = gb_cuda_module_launch(m, 1, gpu->stream, &a, err);
  if (st != GB_OK && st != GB_EDEVICE) {
    gb_cuda_refuse(gpu, c, err);
    return GB_OK;
  }
  GB_TRY(st);
  GB_TRY(gb_cuda_download(gpu, came, gpu->room, sizeof came, err));
  for (int t = 0; t < THREADS; t++) assert_true(came[t] == value);
  *outcome = RAN;
  return GB_OK;
}

static int run (gb_device *dev, const char *expression, double value) {
  const gb_cuda_code c = code_of(expression);
  gb_error err;
  int outcome;
  if (try_it(dev, &c, 1e-3, value, &outcome, &err) != GB_OK) fail_msg("%s", err.text);
  return outcome;
}

static gb_device *open_one (void) {
  gb_device *dev;
  gb_error err;
  if (gpu_open(0, 64 * MIB, &dev, &err) != GB_OK) fail_msg("%s", err.text);
  return dev;
}

static void says (gb_device *dev, const char *words) {
  const char *said = gb_device_kernels(dev);
  if (strstr(said, words) == NULL) fail_msg("'%s' expected in '%s'", words, said);
}

/* Opens a GPU, runs the kernel that writes 7, closes it; what is said of kernels meanwhile. */
static void session (int outcome, const char *words) {
  gb_device *dev = open_one();
  assert_int_equal(run(dev, "7", 7), outcome);
  says(dev, words);
  gpu_close(dev);
}

/* In a process of its own. */
static void apart (void (*body)(void)) {
  int status;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* -- the library and the policy */

static void without_compiler (void) {
  setenv("EMU_MISSING", "libnvrtc", 1);
  session(NONE, "0 compiled, 0 from the cache, 0 on the way; 1 failed: no compiled kernels: libnvrtc.so.");
}

static void test_without_compiler (void **state) {
  (void)state;
  apart(without_compiler);
  assert_int_equal(count_files("", NULL), 0);
}

static void test_policies (void **state) {
  gb_device *dev;
  gb_error err;
  (void)state;
  setenv("GIBBOUS_CUDA_COMPILE", "off", 1);
  session(NONE, "none is compiled (GIBBOUS_CUDA_COMPILE=off)");
  static const char *const wrong[] = {"on", "background:", "background:x", "background:-1", "background:nan"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    setenv("GIBBOUS_CUDA_COMPILE", wrong[i], 1);
    assert_int_equal(gpu_open(0, 64 * MIB, &dev, &err), GB_EOPTION);
    assert_non_null(strstr(err.text, wrong[i]));
    gpu_close(NULL);
  }
}

/* -- hit and miss */

static void test_hit_and_miss (void **state) {
  (void)state;
  session(RAN, "1 compiled, 0 from the cache, 0 on the way");
  assert_int_equal(count_files(".cubin", NULL), 1);
  const long before = emu_calls("nvrtcCompileProgram");
  session(RAN, "0 compiled, 1 from the cache, 0 on the way");
  assert_int_equal(emu_calls("nvrtcCompileProgram"), before);
  gb_device *dev = open_one();
  assert_int_equal(run(dev, "8", 8), RAN); /* another text is another kernel */
  assert_int_equal(run(dev, "7", 7), RAN);
  assert_int_equal(run(dev, "8", 8), RAN);
  says(dev, "1 compiled, 1 from the cache");
  gpu_close(dev);
  assert_int_equal(count_files("", NULL), 2);
}

/* All that the code depends on is in its key. */
static void test_keys (void **state) {
  (void)state;
  const gb_cuda_code c = code_of("1");
  gb_cuda_source s = c.source;
  gb_cuda_key k[5] = {c.key, gb_cuda_key_of(&s, GB_CUDA_UNIT)};
  s.shared = 1024;
  k[2] = gb_cuda_key_of(&s, GB_CUDA_EXACT);
  s = c.source, s.threads = 64;
  k[3] = gb_cuda_key_of(&s, GB_CUDA_EXACT);
  k[4] = code_of("2").key;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++) assert_true(k[i].word[0] != k[j].word[0] && k[i].word[1] != k[j].word[1]);
  const gb_cuda_key at[] = {gb_cuda_key_at(k, 80), gb_cuda_key_at(k, 90),
                            gb_cuda_key_at(k, GB_CUDA_PORTABLE | 90)};
  for (int i = 0; i < 3; i++) {
    assert_true(at[i].word[0] == k->word[0]); /* of the text alone */
    for (int j = 0; j < i; j++) assert_true(at[i].word[1] != at[j].word[1]);
  }
}

/* -- files that are wrong */

/* The byte at 'at' (from the end where negative) is another one. */
static void damage (const char *path, long at) {
  FILE *f = fopen(path, "r+");
  assert_non_null(f);
  fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
  const int byte = fgetc(f);
  fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
  fputc(byte ^ 1, f);
  fclose(f);
}

static void test_damaged_files (void **state) {
  char path[128], moved[160];
  struct stat st;
  (void)state;
  session(RAN, "1 compiled");
  assert_int_equal(count_files(".cubin", path), 1);
  static const long places[] = {0, 6, 8, 16, 24, 40, 1000, -1};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    damage(path, places[i]);
    session(RAN, "1 compiled, 0 from the cache, 0 on the way; cache: '");
    session(RAN, "0 compiled, 1 from the cache, 0 on the way");
  }
  assert_int_equal(stat(path, &st), 0);
  const off_t lengths[] = {0, 20, 32, st.st_size - 1, st.st_size + 1};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    assert_int_equal(truncate(path, lengths[i]), 0);
    session(RAN, "is damaged or of another version");
    session(RAN, "0 compiled, 1 from the cache");
  }
  /* the kernel of another key under this one's name */
  gb_device *dev = open_one();
  assert_int_equal(run(dev, "8", 8), RAN);
  gpu_close(dev);
  snprintf(moved, sizeof moved, "%s.8", path);
  assert_int_equal(rename(path, moved), 0);
  assert_int_equal(count_files(".cubin", moved), 1);
  assert_int_equal(rename(moved, path), 0);
  session(RAN, "is damaged or of another version");
}

/* A file that is whole, with an image that the GPU refuses: it goes, and the kernel is compiled. */
static void test_foreign_image (void **state) {
  static const char foreign[100] = "no image";
  char why[256], path[128];
  (void)state;
  gb_device *dev = open_one();
  const gb_cuda_code c = code_of("7");
  const gb_cuda_key key = gb_cuda_key_at(&c.key, gb_cuda_of(dev)->capability);
  assert_true(gb_cuda_cache_write(&key, foreign, sizeof foreign, why));
  gpu_close(dev);
  session(RAN, "1 compiled, 0 from the cache, 0 on the way; cache: cuModuleLoadData: error 200");
  session(RAN, "0 compiled, 1 from the cache, 0 on the way");
  assert_int_equal(count_files("", path), 1);
}

/* -- the pack */

/* A pack with the kernels of these expressions for one target, of which the last one is 'image' where that is not NULL. */
static void make_pack (const char *const *expressions, int n, int target, const char *image) {
  gb_cuda_packed of[4];
  gb_error err;
  for (int i = 0; i < n; i++) {
    const gb_cuda_code c = code_of(expressions[i]);
    char *own = NULL;
    of[i].key = gb_cuda_key_at(&c.key, target);
    if (i == n - 1 && image != NULL) own = strdup(image), of[i].bytes = strlen(image) + 1;
    else if (gb_cuda_build(c.source.text, target, &own, &of[i].bytes, &err) != GB_OK)
      fail_msg("%s", err.text);
    of[i].image = own;
  }
  if (gb_cuda_pack_write(packed, of, (size_t)n, &target, 1, &err) != GB_OK) fail_msg("%s", err.text);
  for (int i = 0; i < n; i++) free((void *)(uintptr_t)of[i].image);
  setenv("GIBBOUS_CUDA_PACK", packed, 1);
}

static int capability (void) {
  gb_device *dev = open_one();
  const int n = gb_cuda_of(dev)->capability;
  gpu_close(dev);
  return n;
}

/* At the first launch, however short; what the pack has not takes the usual way. */
static void test_pack (void **state) {
  (void)state;
  make_pack((const char *const[]){"7", "9", "8"}, 3, capability(), NULL);
  setenv("GIBBOUS_CUDA_COMPILE", "background", 1);
  gb_device *dev = open_one();
  const long before = emu_calls("nvrtcCompileProgram");
  assert_int_equal(run(dev, "7", 7), RAN);
  assert_int_equal(run(dev, "9", 9), RAN);
  assert_int_equal(run(dev, "7", 7), RAN);
  assert_int_equal(run(dev, "6", 6), NONE);
  assert_string_equal(gb_device_kernels(dev), "2 from the pack, 0 compiled, 0 from the cache, 0 on the way");
  assert_int_equal(emu_calls("nvrtcCompileProgram"), before);
  assert_int_equal(count_files("", NULL), 0);
  gpu_close(dev);
  setenv("GIBBOUS_CUDA_COMPILE", "off", 1);
  session(NONE, "none is compiled (GIBBOUS_CUDA_COMPILE=off)");
}

/* What a GPU takes: code of its major number, from its minor one on, before PTX; and PTX of what came before it. */
static void test_pack_targets (void **state) {
  static const int target[] = {80, 86, 90, GB_CUDA_PORTABLE | 80};
  static const char *const image[] = {"sm_80", "sm_86", "sm_90", "compute_80"};
  static const struct {
    int capability;
    const char *image;
  } takes[] = {{75, NULL},    {80, "sm_80"}, {86, "sm_86"},       {89, "sm_86"},
               {90, "sm_90"}, {92, "sm_90"}, {100, "compute_80"}, {121, "compute_80"}};
  gb_cuda_packed of[4];
  gb_error err;
  char why[GB_CUDA_PACK_WHY], *got;
  size_t bytes;
  (void)state;
  const gb_cuda_key key = code_of("7").key, other = code_of("8").key;
  for (int t = 0; t < 4; t++)
    of[t] = (gb_cuda_packed){gb_cuda_key_at(&key, target[t]), image[t], strlen(image[t]) + 1};
  assert_int_equal(gb_cuda_pack_write(packed, of, 4, target, 4, &err), GB_OK);
  setenv("GIBBOUS_CUDA_PACK", packed, 1);
  gb_cuda_pack *p = gb_cuda_pack_open(why);
  assert_non_null(p);
  for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
    assert_false(gb_cuda_pack_read(p, &other, takes[i].capability, &got, &bytes, why));
    assert_string_equal(why, "");
    assert_int_equal(gb_cuda_pack_read(p, &key, takes[i].capability, &got, &bytes, why),
                     takes[i].image != NULL);
    if (takes[i].image == NULL) continue;
    assert_int_equal(bytes, strlen(takes[i].image) + 1);
    assert_string_equal(got, takes[i].image);
    free(got);
  }
  gb_cuda_pack_close(p);
}

/* Absent, damaged anywhere, too short, too long, of another version: as if it were not there, which is told. */
static void test_damaged_pack (void **state) {
  struct stat st;
  (void)state;
  setenv("GIBBOUS_CUDA_PACK", packed, 1);
  session(RAN, "1 compiled, 0 from the cache, 0 on the way; pack: no '/tmp/kernels-");
  unsetenv("GIBBOUS_CUDA_PACK"); /* beside the library: here, the test */
  session(RAN, "1 from the cache, 0 on the way; pack: no '");
  session(RAN, "/" GB_CUDA_PACK_NAME "'");
  make_pack((const char *const[]){"7"}, 1, capability(), NULL);
  session(RAN, "1 from the pack, 0 compiled, 0 from the cache");
  /* mark, version, numbers, targets, bytes; the index; its checksum; the image */
  static const long places[] = {0, 24, 28, 32, 64, 72, 88, 96, 104, 112, 119};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    damage(packed, places[i]);
    session(RAN, "0 compiled, 1 from the cache, 0 on the way; pack: '");
    session(RAN, "is damaged or of another version");
    damage(packed, places[i]);
  }
  damage(packed, 8);
  session(RAN, "0 compiled, 1 from the cache, 0 on the way; pack: '");
  session(RAN, "' is of another version");
  damage(packed, 8);
  static const long images[] = {120, 1000, -1};
  for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
    damage(packed, images[i]);
    session(RAN, "0 from the pack, 0 compiled, 1 from the cache, 0 on the way; pack: '");
    session(RAN, "/pack' is damaged");
    damage(packed, images[i]);
  }
  session(RAN, "1 from the pack, 0 compiled, 0 from the cache");
  assert_int_equal(stat(packed, &st), 0);
  const off_t lengths[] = {st.st_size + 1, st.st_size - 1, 100, 71, 0};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    assert_int_equal(truncate(packed, lengths[i]), 0);
    session(RAN, "0 compiled, 1 from the cache, 0 on the way; pack: '");
  }
}

/* An image that the GPU refuses: the kernel is compiled. */
static void test_foreign_pack (void **state) {
  (void)state;
  make_pack((const char *const[]){"7"}, 1, capability(), "no image");
  session(RAN,
          "0 from the pack, 1 compiled, 0 from the cache, 0 on the way; pack: cuModuleLoadData: error 200");
}

/* -- a folder that takes nothing */

static void test_no_folder (void **state) {
  (void)state;
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  session(RAN, "1 compiled, 0 from the cache, 0 on the way; cache: cannot write '/dev/null/gibbous/kernels/");
  setenv("XDG_CACHE_HOME", "relative", 1);
  const char *home = getenv("HOME");
  char *before = home == NULL ? NULL : strdup(home);
  unsetenv("HOME");
  session(RAN, "cache: neither XDG_CACHE_HOME nor HOME is set");
  setenv("HOME", folder, 1);
  session(RAN, "1 compiled, 0 from the cache, 0 on the way");
  session(RAN, "0 compiled, 1 from the cache, 0 on the way");
  snprintf(kernels, sizeof kernels, "%s/.cache/gibbous/kernels", folder);
  assert_int_equal(count_files(".cubin", NULL), 1);
  if (before != NULL) setenv("HOME", before, 1);
  free(before);
}

/* The workers alone: the emulation needs files for what it compiles, but not twice for one text, and for what it loads. */
static void test_full_disk (void **state) {
  struct rlimit all, little;
  (void)state;
  session(RAN, "1 compiled");
  remove_folder();
  gb_device *dev = open_one();
  const gb_cuda_code c = code_of("7");
  gb_cuda_job *j = gb_cuda_job_new(c.source.text, &c.key, gb_cuda_of(dev)->capability);
  gb_cuda_workers *w = gb_cuda_workers_open();
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
  little = (struct rlimit){1000, all.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
  const bool put = gb_cuda_workers_put(w, j), done = gb_cuda_workers_done(w, j, true);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
  assert_true(put && done && j->image != NULL && !j->cached);
  assert_non_null(strstr(j->why_not_kept, "cannot write '"));
  assert_int_equal(count_files("", NULL), 0); /* no part of a file, none beside it */
  gb_cuda_workers_close(w);
  gb_cuda_job_free(j);
  gpu_close(dev);
  session(RAN, "1 compiled, 0 from the cache, 0 on the way");
}

/* -- the bound */

/* A file without blocks, used so many minutes ago. */
static void put_old (const char *name, size_t bytes, int minutes) {
  char path[160];
  const struct timespec at = {.tv_sec = time(NULL) - 60 * minutes};
  snprintf(path, sizeof path, "%s/%s", kernels, name);
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
  assert_int_equal(futimens(fd, (struct timespec[2]){at, at}), 0);
  close(fd);
}

static bool exists (const char *name) {
  char path[160];
  snprintf(path, sizeof path, "%s/%s", kernels, name);
  return access(path, F_OK) == 0;
}

static void test_bound (void **state) {
  const gb_cuda_key one = {{1, 1}}, two = {{2, 2}};
  static const char image[5000];
  char why[256], *read;
  size_t bytes;
  (void)state;
  assert_true(gb_cuda_cache_write(&one, image, sizeof image, why));
  put_old("00000000000000010000000000000001.cubin", 5048, 50); /* as is, but old */
  assert_true(gb_cuda_cache_write(&one, image, sizeof image, why));
  put_old("a.cubin", 100 * MIB, 30);
  put_old("b.cubin", 100 * MIB, 40);
  put_old("c.cubin", 56 * MIB - 5048, 20);
  put_old("other.txt", 100 * MIB, 90);                       /* not the cache's */
  put_old("d.cubin.tmp-1-0", 100, 25 * 60);                  /* of a process that died */
  put_old("e.cubin.tmp-1-0", 100, 5);                        /* of one that may be writing */
  assert_true(gb_cuda_cache_read(&one, &read, &bytes, why)); /* used now */
  free(read);
  assert_true(gb_cuda_cache_write(&two, image, sizeof image, why));
  assert_true(exists("a.cubin") && !exists("b.cubin") && exists("c.cubin"));
  assert_true(exists("00000000000000010000000000000001.cubin"));
  assert_true(exists("00000000000000020000000000000002.cubin"));
  assert_true(exists("other.txt") && !exists("d.cubin.tmp-1-0") && exists("e.cubin.tmp-1-0"));
  put_old("f.cubin", 99 * MIB, 1);
  assert_true(gb_cuda_cache_write(&two, image, sizeof image, why));
  assert_true(exists("a.cubin") && exists("c.cubin") && exists("f.cubin"));
  put_old("g.cubin", 150 * MIB, 1);
  assert_true(gb_cuda_cache_write(&two, image, sizeof image, why));
  assert_true(!exists("a.cubin") && !exists("c.cubin") && exists("g.cubin"));
  assert_false(gb_cuda_cache_write(&two, image, 65 * MIB, why));
  assert_non_null(strstr(why, "too large"));
}

/* -- the bound of what is loaded */

/* The kept image of a kernel with zeros behind it, which the emulation passes over. */
static void make_long (gb_device *dev, const char *expression, size_t bytes) {
  const gb_cuda_code c = code_of(expression);
  const gb_cuda_key key = gb_cuda_key_at(&c.key, gb_cuda_of(dev)->capability);
  char why[256], *image;
  size_t n;
  assert_true(gb_cuda_cache_read(&key, &image, &n, why));
  char *longer = calloc(1, bytes);
  assert_non_null(longer);
  memcpy(longer, image, n);
  assert_true(gb_cuda_cache_write(&key, longer, bytes, why));
  free(longer);
  free(image);
}

/* Of three kernels two have room: the one used least recently goes, and comes back. */
static void test_loaded (void **state) {
  static const char *const expressions[] = {"7", "8", "9"};
  (void)state;
  gb_device *dev = open_one();
  for (int e = 0; e < 3; e++) {
    assert_int_equal(run(dev, expressions[e], 7 + e), RAN);
    make_long(dev, expressions[e], 30 * MIB);
  }
  gpu_close(dev);
  emu_begin();
  dev = open_one();
  assert_true(run(dev, "7", 7) == RAN && run(dev, "8", 8) == RAN && run(dev, "7", 7) == RAN);
  assert_int_equal(emu_calls("cuModuleUnload"), 0);
  assert_true(run(dev, "9", 9) == RAN); /* instead of 8 */
  assert_int_equal(emu_calls("cuModuleUnload"), 1);
  assert_true(run(dev, "7", 7) == RAN && run(dev, "9", 9) == RAN);
  says(dev, "0 compiled, 3 from the cache");
  assert_true(run(dev, "8", 8) == RAN); /* instead of 7 */
  says(dev, "0 compiled, 4 from the cache");
  assert_true(run(dev, "9", 9) == RAN);
  assert_int_equal(emu_calls("cuModuleUnload"), 2);
  gpu_close(dev);
  assert_int_equal(emu_calls("cuModuleUnload"), 4);
}

/* -- two processes */

/* Writes one image of many, a byte of its own throughout, while another process does the same. */
static void write_and_read (void) {
  const gb_cuda_key key = {{3, 3}};
  char image[40000], why[256], *read;
  size_t bytes;
  for (int i = 0; i < 60; i++) {
    memset(image, 'a' + (getpid() + i) % 26, sizeof image);
    if (!gb_cuda_cache_write(&key, image, sizeof image, why)) fail_msg("%s", why);
    if (!gb_cuda_cache_read(&key, &read, &bytes, why)) fail_msg("%s", why);
    assert_int_equal(bytes, sizeof image);
    for (size_t b = 1; b < bytes; b++) assert_int_equal(read[b], read[0]);
    free(read);
  }
}

static void test_two_processes (void **state) {
  pid_t child[4];
  int status;
  (void)state;
  session(RAN, "1 compiled");
  remove_folder();
  fflush(stdout);
  for (int i = 0; i < 4; i++)
    if ((child[i] = fork()) == 0) {
      if (i < 2) write_and_read();
      else
        for (int r = 0; r < 10; r++) session(RAN, "0 on the way");
      _exit(0);
    }
  for (int i = 0; i < 4; i++) {
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  assert_int_equal(count_files("", NULL), 2);
}

/* -- texts that do not compile */

static void test_wrong_text (void **state) {
  (void)state;
  gb_device *dev = open_one();
  assert_int_equal(run(dev, "nothing_of_this_name", 7), NONE);
  says(dev, "1 failed: nvrtcCompileProgram: NVRTC_ERROR_COMPILATION: " GB_CUDA_EMIT_NAME ".cu");
  says(dev, "nothing_of_this_name");
  const long before = emu_calls("nvrtcCompileProgram");
  assert_int_equal(run(dev, "nothing_of_this_name", 7), NONE); /* remembered */
  assert_int_equal(emu_calls("nvrtcCompileProgram"), before);
  assert_int_equal(run(dev, "7", 7), RAN); /* others go on */
  says(dev, "1 compiled, 0 from the cache, 0 on the way; 1 failed");
  gpu_close(dev);
  assert_int_equal(count_files("", NULL), 1);
}

/* -- in the background */

/* Until the kernel is adopted: 20 s at most. */
static bool adopted (gb_device *dev, const char *expression, double value) {
  for (int i = 0; i < 2000; i++) {
    if (run(dev, expression, value) == RAN) return true;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  return false;
}

static void test_patience (void **state) {
  gb_error err;
  int outcome;
  (void)state;
  setenv("GIBBOUS_CUDA_COMPILE", "background", 1);
  gb_device *dev = open_one();
  const gb_cuda_code c = code_of("7");
  assert_int_equal(try_it(dev, &c, 0.3, 7, &outcome, &err), GB_OK);
  says(dev, "0 compiled, 0 from the cache, 0 on the way");
  assert_int_equal(try_it(dev, &c, 0.3, 7, &outcome, &err), GB_OK);
  if (outcome == NONE) says(dev, "0 compiled, 0 from the cache, 1 on the way");
  assert_true(adopted(dev, "7", 7));
  says(dev, "1 compiled, 0 from the cache, 0 on the way");
  gpu_close(dev);
  dev = open_one(); /* what is kept needs no patience */
  assert_int_equal(run(dev, "7", 7), RAN);
  gpu_close(dev);
}

/* Three kernels at once on two GPUs. */
static void test_many (void **state) {
  static const char *const expressions[] = {"7", "8", "9"};
  gb_device *dev[2];
  gb_error err;
  (void)state;
  setenv("GIBBOUS_CUDA_COMPILE", "background:0", 1);
  for (int d = 0; d < 2; d++) assert_int_equal(gpu_open(d, 64 * MIB, &dev[d], &err), GB_OK);
  for (int e = 0; e < 3; e++)
    for (int d = 0; d < 2; d++) run(dev[d], expressions[e], 7 + e);
  for (int e = 0; e < 3; e++)
    for (int d = 0; d < 2; d++) assert_true(adopted(dev[d], expressions[e], 7 + e));
  for (int d = 0; d < 2; d++) says(dev[d], "0 on the way");
  gb_device_free(dev[0]);
  gpu_close(dev[1]);
  assert_int_equal(count_files("", NULL), 3);
}

/* What runs ends, what waits never begins, and nothing is left. */
static void test_close_at_work (void **state) {
  static const char *const expressions[] = {"1", "2", "3", "4", "5"};
  (void)state;
  setenv("GIBBOUS_CUDA_COMPILE", "background:0", 1);
  gb_device *dev = open_one();
  for (int e = 0; e < 5; e++) assert_int_equal(run(dev, expressions[e], e + 1), NONE);
  says(dev, "0 compiled, 0 from the cache, 5 on the way");
  gpu_close(dev);
  assert_true(emu_calls("nvrtcCompileProgram") <= 2);
  assert_int_equal(count_files("", NULL), (int)emu_calls("nvrtcCompileProgram"));
  assert_int_equal(emu_calls("nvrtcCreateProgram"), emu_calls("nvrtcCompileProgram"));
}

static const char *program;

/* A process that ends without closing its GPU: what is compiled at that moment is complete first. */
static void end_at_work (void) {
  static gb_device *dev;
  setenv("GIBBOUS_CUDA_COMPILE", "background:0", 1);
  gpu_begin();
  dev = open_one();
  assert_int_equal(run(dev, "7", 7), NONE);
  while (emu_calls("nvrtcCompileProgram") == 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_end_at_work (void **state) {
  int status;
  (void)state;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) execl(program, program, "end", (char *)NULL);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_int_equal(count_files("", NULL), 1);
}

/* -- one failure at each call */

enum { SOUND, FAILED, PAST, WRONG_STATUS, WITHOUT_WORDS, LEAKED, ACCOUNT };

/* Where a session finds its kernels. */
enum { NOWHERE, IN_CACHE, IN_PACK, SOURCES };

/* A session in which call number k fails: the kernel runs, or the interpreter would, or an error of the right kind says that
** the GPU is lost. */
static int failing_session (int code, int source, long k) {
  gb_device *dev;
  gb_error err = {.text = ""};
  char rule[32];
  int outcome = NONE;
  if (source == NOWHERE) remove_folder();
  setenv("GIBBOUS_CUDA_PACK", source == IN_PACK ? packed : "off", 1);
  gpu_begin();
  snprintf(rule, sizeof rule, "*@%ld=%d", k, code);
  emu_set("FAIL", rule);
  gb_status st = gpu_open(0, 64 * MIB, &dev, &err);
  const bool opened = st == GB_OK;
  for (int i = 0; i < 2 && st == GB_OK; i++) {
    const gb_cuda_code c = code_of(i == 0 ? "7" : "8");
    st = try_it(dev, &c, 1, 7 + i, &outcome, &err);
  }
  if (st == GB_OK && outcome == NONE && emu_calls("*") < k) return WRONG_STATUS;
  gb_device_free(dev);
  if (opened && code != 700 && !(st == GB_OK || st == GB_EINTERNAL || st == GB_ENOMEM || st == GB_EDEVICE))
    return WRONG_STATUS;
  if (code == 700 && st != GB_OK && st != GB_EDEVICE) return WRONG_STATUS;
  if (st != GB_OK && err.text[0] == '\0') return WITHOUT_WORDS;
  if (gpu_home()->ledger.used != 0 || gpu_home()->ledger.books != 0) return ACCOUNT;
  if (emu_calls("*") < k) return emu_pieces() == 0 ? PAST : LEAKED;
  if (code != 700 && st != GB_OK && emu_pieces() != 0) return LEAKED;
  return st == GB_OK ? SOUND : FAILED;
}

static void test_each_call (void **state) {
  static const int codes[] = {1, 2, 700};
  int failed = 0, sessions = 0, status;
  (void)state;
  gb_device *dev = open_one(); /* the emulation compiles each text once */
  assert_true(run(dev, "7", 7) == RAN && run(dev, "8", 8) == RAN);
  gpu_close(dev);
  make_pack((const char *const[]){"7", "8"}, 2, capability(), NULL);
  for (int source = SOURCES - 1; source >= 0; source--)
    for (int c = 0; c < 3; c++)
      for (long k = 1, outcome = SOUND; outcome != PAST; k++) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) _exit(failing_session(codes[c], source, k));
        assert_int_equal(waitpid(child, &status, 0), child);
        outcome = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        if (outcome < SOUND || outcome > PAST)
          fail_msg("source %d, code %d at call %ld: outcome %ld", source, codes[c], k, outcome);
        sessions++;
        failed += outcome == FAILED;
      }
  print_message("%d sessions, %d of them failed\n", sessions, failed);
  assert_true(failed > 40 && sessions - failed > 60);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

/* With "threads": the tests of threads alone. */
int main (int argc, char **argv) {
  program = argv[0];
  if (argc > 1 && strcmp(argv[1], "end") == 0) {
    end_at_work();
    return 0;
  }
  const struct CMUnitTest tests[] = {
      TEST(without_compiler), TEST(policies),  TEST(keys),         TEST(hit_and_miss),  TEST(damaged_files),
      TEST(foreign_image),    TEST(pack),      TEST(pack_targets), TEST(damaged_pack),  TEST(foreign_pack),
      TEST(no_folder),        TEST(full_disk), TEST(bound),        TEST(loaded),        TEST(two_processes),
      TEST(wrong_text),       TEST(patience),  TEST(many),         TEST(close_at_work), TEST(end_at_work),
      TEST(each_call),
  };
  const struct CMUnitTest threads[] = {TEST(hit_and_miss), TEST(wrong_text),    TEST(patience),
                                       TEST(many),         TEST(close_at_work), TEST(end_at_work)};
  if (argc > 1) return cmocka_run_group_tests(threads, NULL, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
