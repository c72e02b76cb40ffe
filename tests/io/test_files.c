/* test_files.c - every reader and every writer against a system that fails: the old file stays whole,
** nothing lies beside it, nothing waits, nothing leaks. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>
#include <cmocka.h>

#include "base/interrupt.h"
#include "base/outfile.h"
#include "cpu/price/profile.h"
#include "io/archive/npz.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/text/csv.h"
#include "plan/price/profile.h"
#include "plot/picture/picture.h"
#include "shell/history.h"
#include "support/io/faults.h"
#include "support/memory.h"

static char folder[64];
static gb_ledger ledger;
static gb_error err;

static int set_up (void **state) {
  (void)state;
  gb_ledger_init(&ledger, host_memory(), (size_t)256 << 20);
  snprintf(folder, sizeof folder, "%s/gibbous-files-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  return mkdtemp(folder) == NULL ? -1 : 0;
}

/* Names in the folder; the first one in 'name' (may be NULL). */
static int entries (char *name) {
  int n = 0;
  DIR *d = opendir(folder);
  for (const struct dirent *e; (e = readdir(d)) != NULL;) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (n++ == 0 && name != NULL) strcpy(name, e->d_name);
  }
  closedir(d);
  return n;
}

static void in_folder (const char *name, char path[384]) { snprintf(path, 384, "%s/%s", folder, name); }

static int tear_down (void **state) {
  (void)state;
  char name[256], path[384];
  while (entries(name) > 0) {
    in_folder(name, path);
    if (remove(path) != 0) return -1;
  }
  return ledger.used == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void write_bytes (const char *path, const void *data, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static size_t read_bytes (const char *path, char *to, size_t room) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  const size_t n = fread(to, 1, room, f);
  assert_true(n < room);
  fclose(f);
  return n;
}

/* -- writers: each puts something of its kind, of two sizes */

static gb_status numbers (size_t n, gb_tensor *t) {
  const gb_shape shape = gb_shape_of(1, &n);
  GB_TRY(gb_tensor_new(&ledger, GB_F64, &shape, GB_MEM_TENSOR, "", "", t, &err));
  for (size_t i = 0; i < n; i++) ((double *)t->storage->block.data)[i] = (double)i / 7;
  return GB_OK;
}

static gb_status put_npy (const char *path, size_t n) {
  gb_tensor t;
  GB_TRY(numbers(n, &t));
  const gb_status st = gb_npy_write(path, &t, &err);
  gb_tensor_clear(&t);
  return st;
}

static gb_status put_csv (const char *path, size_t n) {
  gb_tensor t;
  GB_TRY(numbers(n, &t));
  const gb_status st = gb_csv_write(path, n, 1, &(gb_csv_column){.name = "v", .value = &t}, true, &err);
  gb_tensor_clear(&t);
  return st;
}

static gb_status put_tensors (const char *path, size_t n) {
  gb_named_tensor t = {.name = (char *)"v"};
  GB_TRY(numbers(n, &t.value));
  const gb_status st = gb_safetensors_write(path, &(gb_tensor_set){.ntensors = 1, .tensor = &t}, &err);
  gb_tensor_clear(&t.value);
  return st;
}

static gb_status put_archive (const char *path, size_t n) {
  gb_named_tensor t = {.name = (char *)"v"};
  GB_TRY(numbers(n, &t.value));
  const gb_status st = gb_npz_write(path, &(gb_tensor_set){.ntensors = 1, .tensor = &t}, &err);
  gb_tensor_clear(&t.value);
  return st;
}

static gb_status put_figure (const char *path, size_t n) {
  gb_figure f;
  gb_tensor t;
  GB_TRY(numbers(n, &t));
  gb_status st = gb_figure_init(&f, 1, 1, &err);
  const gb_mark m = {.kind = GB_MARK_SCATTER,
                     .n = n,
                     .x = t.storage->block.data,
                     .y = t.storage->block.data,
                     .style = GB_STYLE_BY_ORDER};
  if (st == GB_OK) st = gb_panel_add(&f.panels[0], &m, &err);
  if (st == GB_OK) st = gb_figure_save(&f, path, 200, 150, "by a test", &err);
  gb_figure_clear(&f);
  gb_tensor_clear(&t);
  return st;
}

static gb_status put_text (const char *path, size_t n) {
  static char text[1 << 16];
  memset(text, 'x', sizeof text);
  return gb_outfile_put(path, text, 100 + 8 * n, &err);
}

/* Without memory, or with any fault, wisdom is just not kept: it says so by 'false' alone. */
static gb_status put_wisdom (const char *path, size_t n) {
  char key[64];
  snprintf(key, sizeof key, "machine %zu", n);
  return gb_profile_store_write(path, key, &gb_cpu_price_ops, &gb_cpu_profile_fixed()->taken)
             ? GB_OK
             : gb_fail(&err, GB_EIO, "cannot write '%s'", path);
}

static const struct writer {
  const char *file;
  gb_status (*put)(const char *path, size_t n);
} writers[] = {{"a.npy", put_npy},     {"a.csv", put_csv},    {"a.safetensors", put_tensors},
               {"a.npz", put_archive}, {"a.svg", put_figure}, {"a.png", put_figure},
               {"a.pdf", put_figure},  {"a.json", put_text},  {"wisdom", put_wisdom}};
#define NWRITERS (sizeof writers / sizeof writers[0])

enum { SMALL = 50, LARGE = 3000 };
static char old[1 << 18], now[1 << 18];

/* The write of 'w' fails, and the file stays as it was, alone. */
static void stays (const struct writer *w, const char *path, size_t n, const char *what) {
  const gb_status st = w->put(path, LARGE);
  if (st != GB_EIO && st != GB_EINTR) fail_msg("%s, %s: %s", w->file, what, gb_status_code(st));
  if (read_bytes(path, now, sizeof now) != n || memcmp(now, old, n) != 0)
    fail_msg("%s, %s: the old file changed", w->file, what);
  if (entries(NULL) != 1) fail_msg("%s, %s: something lies beside it", w->file, what);
}

static void a_failing_disk_leaves_the_old_file (void **state) {
  (void)state;
  for (const struct writer *w = writers; w < writers + NWRITERS; w++) {
    char path[384];
    in_folder(w->file, path);
    struct stat large;
    assert_int_equal(w->put(path, LARGE), GB_OK);
    assert_int_equal(stat(path, &large), 0);
    unlink(path);
    assert_int_equal(w->put(path, SMALL), GB_OK);
    const size_t n = read_bytes(path, old, sizeof old);
    int points = 0;
    for (short_write = (size_t)large.st_size / 8 + 1;; points++) {
      writes_left = points;
      if (w->put(path, LARGE) == GB_OK) break;
      writes_left = points;
      stays(w, path, n, "a full disk");
    }
    writes_left = -1;
    short_write = 0;
    assert_in_range(points, 8, 40);
    assert_int_equal(w->put(path, SMALL), GB_OK);
    const size_t back = read_bytes(path, old, sizeof old);
    fsync_fails = true;
    stays(w, path, back, "fsync");
    fsync_fails = false;
    rename_fails = true;
    stays(w, path, back, "rename");
    rename_fails = false;
    gb_interrupt_raise();
    stays(w, path, back, "Ctrl-C");
    gb_interrupt_clear();
    unlink(path);
  }
  assert_false(renamed_unflushed);
}

static void a_limit_on_file_sizes_is_an_error (void **state) {
  (void)state;
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const struct writer *w = writers; w < writers + NWRITERS; w++) {
    char path[384];
    in_folder(w->file, path);
    assert_int_equal(w->put(path, SMALL), GB_OK);
    const size_t n = read_bytes(path, old, sizeof old);
    small = (struct rlimit){.rlim_cur = n < 400 ? 400 : n / 2, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const gb_status st = w->put(path, LARGE); /* SIGXFSZ would end the process here */
    setrlimit(RLIMIT_FSIZE, &before);
    if (st != GB_EIO) fail_msg("%s: %s", w->file, gb_status_code(st));
    if (w->put != put_wisdom) assert_non_null(strstr(err.text, "File too large"));
    assert_int_equal(read_bytes(path, now, sizeof now), n);
    assert_memory_equal(now, old, n);
    assert_int_equal(entries(NULL), 1);
    unlink(path);
  }
  sigset_t waiting;
  sigpending(&waiting);
  assert_false(sigismember(&waiting, SIGXFSZ));
}

static void only_plain_files_are_replaced (void **state) {
  (void)state;
  for (const struct writer *w = writers; w < writers + NWRITERS; w++) {
    char path[384], inside[512];
    in_folder(w->file, path);
    snprintf(inside, sizeof inside, "%s/none/%s", folder, w->file);
    if (w->put != put_wisdom) assert_int_equal(w->put(inside, SMALL), GB_EIO); /* wisdom makes its folder */
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(w->put(path, SMALL), GB_EIO);
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(w->put(path, SMALL), GB_EIO);
    unlink(path);
    assert_int_equal(symlink("/dev/full", path), 0);
    assert_int_equal(w->put(path, SMALL), GB_EIO);
    unlink(path);
    assert_int_equal(entries(NULL), 0);
  }
}

static void a_file_keeps_its_mode_and_a_protected_one_its_content (void **state) {
  (void)state;
  char path[384], link[384];
  struct stat st;
  in_folder("a", path);
  in_folder("link", link);
  write_bytes(path, "old", 3);
  assert_int_equal(chmod(path, 0640), 0);
  assert_int_equal(symlink(path, link), 0);
  assert_int_equal(gb_outfile_put(link, "new", 3, &err), GB_OK);
  assert_int_equal(lstat(link, &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0640);
  assert_int_equal(chmod(path, 0440), 0);
  if (geteuid() != 0) assert_int_equal(gb_outfile_put(path, "newer", 5, &err), GB_EIO);
  else assert_int_equal(gb_outfile_put(path, "newer", 5, &err), GB_OK); /* root may */
}

static pid_t dead_process (void) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  return pid;
}

static bool there (const char *path) { return access(path, F_OK) == 0; }

static void litter_of_dead_processes_is_removed (void **state) {
  (void)state;
  char path[384], dead[480], locked[480], mine[480], other[480], odd[480];
  const long pid = dead_process();
  in_folder("a.npy", path);
  snprintf(dead, sizeof dead, "%s.tmp-%ld-0", path, pid);
  snprintf(locked, sizeof locked, "%s.tmp-%ld-1", path, pid);
  snprintf(mine, sizeof mine, "%s.tmp-%ld-7", path, (long)getpid());
  snprintf(other, sizeof other, "%s/b.npy.tmp-%ld-0", folder, pid);
  snprintf(odd, sizeof odd, "%s.tmp-%ld-x", path, pid);
  char *const all[] = {dead, locked, mine, other, odd};
  for (int i = 0; i < 5; i++) write_bytes(all[i], "half", 4);
  const int fd = open(locked, O_RDONLY); /* its writer lives where its number is not known */
  assert_int_equal(flock(fd, LOCK_EX), 0);
  assert_int_equal(put_npy(path, SMALL), GB_OK);
  assert_true(!there(dead) && there(locked) && there(mine) && there(other) && there(odd));
  close(fd);
  assert_int_equal(put_npy(path, SMALL), GB_OK);
  assert_true(!there(locked) && there(mine) && there(other) && there(odd));
}

/* -- readers */

static gb_status get_npy (const char *path) {
  gb_tensor t;
  const gb_status st = gb_npy_read(&ledger, path, "", &t, &err);
  gb_tensor_clear(&t);
  return st;
}

static gb_status get_csv (const char *path) {
  gb_frame f;
  const gb_status st = gb_csv_read(&ledger, path, "", &(gb_csv_options){0}, &f, &err);
  gb_frame_clear(&f);
  return st;
}

static gb_status get_tensors (const char *path) {
  gb_tensor_set s;
  const gb_status st = gb_safetensors_read(&ledger, path, "", &s, &err);
  gb_tensor_set_clear(&s);
  return st;
}

static gb_status get_history (const char *path) {
  gb_history h;
  const gb_status st = gb_history_read(path, &h, &err);
  gb_history_clear(&h);
  return st;
}

static gb_status get_archive (const char *path) {
  gb_tensor_set s;
  const gb_status st = gb_npz_read(&ledger, path, "", 0, &s, &err);
  gb_tensor_set_clear(&s);
  return st;
}

/* Missing wisdom is not an error; a missing file represents every file that cannot be read. */
static gb_status get_wisdom (const char *path) {
  gb_cpu_profile r;
  return gb_profile_store_read(path, "machine 50", &gb_cpu_price_ops, &r.taken)
             ? GB_OK
             : gb_fail(&err, GB_EIO, "no wisdom in '%s'", path);
}

static gb_status put_history (const char *path, size_t n) {
  static char entry[1 << 14];
  memset(entry, 'x', n);
  entry[n] = '\0';
  char id[GB_HISTORY_ID];
  return gb_history_begin(path, entry, id, &err);
}

static gb_status put_packed (const char *path, size_t n) {
  gzFile f = gzopen(path, "wb");
  for (size_t i = 0; i < n; i++) gzprintf(f, "%zu,%zu\n", i * 7919 % 10007, i * 104729 % 99991);
  return gzclose(f) == Z_OK ? GB_OK : GB_EIO;
}

static const struct reader {
  const char *file;
  gb_status (*put)(const char *path, size_t n), (*get)(const char *path);
} readers[] = {{"a.npy", put_npy, get_npy},         {"a.csv", put_csv, get_csv},
               {"a.csv.gz", put_packed, get_csv},   {"a.safetensors", put_tensors, get_tensors},
               {"a.npz", put_archive, get_archive}, {"history", put_history, get_history},
               {"wisdom", put_wisdom, get_wisdom}};
#define NREADERS (sizeof readers / sizeof readers[0])

static void only_plain_files_are_read (void **state) {
  (void)state;
  for (const struct reader *r = readers; r < readers + NREADERS; r++) {
    char path[384];
    in_folder(r->file, path);
    assert_int_equal(r->get(path), GB_EIO);
    alarm(20); /* for what would wait for ever */
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(r->get(path), GB_EIO);
    if (r->get != get_wisdom) assert_non_null(strstr(err.text, "it is a pipe, not a plain file"));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(r->get(path), GB_EIO);
    rmdir(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_int_equal(r->get(path), GB_EIO);
    unlink(path);
    alarm(0);
  }
  char path[384];
  in_folder("pipe", path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(put_history(path, 10), GB_EIO);
}

/* A Ctrl-C that comes during a read is answered by the one that would come after the next. */
static void a_reader_answers_ctrl_c (void **state) {
  (void)state;
  for (const struct reader *r = readers; r < readers + NREADERS; r++) {
    char path[384];
    in_folder(r->file, path);
    if (r->get == get_wisdom) continue; /* a small file that is read line by line */
    assert_int_equal(r->put(path, r->put == put_history ? 10000 : 300000), GB_OK);
    longest_read = 0;
    assert_int_equal(r->get(path), GB_OK);
    assert_in_range(longest_read, 1, (size_t)4 << 20);
    for (long k = 1; k <= 3; k++) {
      interrupt_at = k;
      reads_since = 0;
      const gb_status st = r->get(path);
      const bool came = gb_interrupted();
      interrupt_at = -1;
      gb_interrupt_clear();
      if (!came && r->get == get_history) continue; /* it takes one read */
      if (st != GB_EINTR && r->get != get_history)
        fail_msg("%s, read %ld: %s", r->file, k, gb_status_code(st));
      assert_in_range(reads_since, 0, 1);
      assert_int_equal(ledger.used, 0);
    }
    unlink(path);
  }
}

/* The n-th and all later allocations fail: an error and no leak, and the old file stays. */
static void no_memory_at_any_point_is_an_error_and_no_leak (void **state) {
  (void)state;
  for (const struct reader *r = readers; r < readers + NREADERS; r++) {
    char path[384];
    in_folder(r->file, path);
    assert_int_equal(r->put(path, SMALL), GB_OK);
    long n = -1;
    gb_status st;
    do {
      permitted = ++n;
      st = r->get(path);
      permitted = -1;
      if (st != GB_OK && st != GB_ENOMEM && r->get != get_wisdom)
        fail_msg("%s, allocation %ld: %s: %s", r->file, n, gb_status_code(st), err.text);
      assert_int_equal(ledger.used, 0);
    } while (st != GB_OK);
    assert_true(n >= 1 || r->get == get_wisdom); /* stdio is the C library's */
    unlink(path);
  }
  for (const struct writer *w = writers; w < writers + NWRITERS; w++) {
    char path[384];
    in_folder(w->file, path);
    assert_int_equal(w->put(path, SMALL), GB_OK);
    const size_t length = read_bytes(path, old, sizeof old);
    long n = -1;
    for (;;) {
      permitted = ++n;
      const gb_status st = w->put(path, LARGE);
      permitted = -1;
      assert_int_equal(ledger.used, 0);
      assert_int_equal(entries(NULL), 1);
      if (st == GB_OK) break;
      if (st != GB_ENOMEM && w->put != put_wisdom)
        fail_msg("%s, allocation %ld: %s: %s", w->file, n, gb_status_code(st), err.text);
      assert_int_equal(read_bytes(path, now, sizeof now), length);
      assert_memory_equal(now, old, length);
    }
    assert_true(n >= 2);
    unlink(path);
  }
}

/* -- the history */

static gb_status begin_entry (const char *path, const char *text) {
  char id[GB_HISTORY_ID];
  return gb_history_begin(path, text, id, &err);
}

static void an_entry_is_there_whole_or_not_at_all (void **state) {
  (void)state;
  char path[384];
  gb_history h;
  in_folder("history", path);
  assert_int_equal(begin_entry(path, "x = 1"), GB_OK);
  assert_int_equal(begin_entry(path, "for i = 1, 2 do\n\tprint 'a\\b'\nend"), GB_OK);
  short_write = 3;
  assert_int_equal(begin_entry(path, "y = 2"), GB_EIO);
  short_write = 0;
  writes_left = 0;
  assert_int_equal(begin_entry(path, "y = 2"), GB_EIO);
  writes_left = -1;
  assert_int_equal(gb_history_read(path, &h, &err), GB_OK);
  assert_int_equal(h.n, 2);
  assert_int_equal(h.damaged, 0);
  assert_string_equal(h.entry[1].text, "for i = 1, 2 do\n\tprint 'a\\b'\nend");
  gb_history_clear(&h);
}

static void an_entry_has_its_time_directory_duration_and_end (void **state) {
  (void)state;
  char path[384], here[4096], first[GB_HISTORY_ID], second[GB_HISTORY_ID];
  gb_history h;
  in_folder("history", path);
  write_bytes(path, "of an older version\n", 20);
  assert_int_equal(gb_history_begin(path, "x = 1", first, &err), GB_OK);
  assert_int_equal(gb_history_begin(path, "\\@y", second, &err), GB_OK);
  assert_int_equal(gb_history_finish(path, second, 0.25, GB_END_INTERRUPTED, &err), GB_OK);
  assert_int_equal(gb_history_finish(path, first, 1.5, GB_END_OK, &err), GB_OK);
  assert_int_equal(gb_history_finish(path, "1.000000-1", 1.5, GB_END_ERROR, &err), GB_OK);
  assert_int_equal(begin_entry(path, "killed"), GB_OK);
  assert_int_equal(gb_history_read(path, &h, &err), GB_OK);
  assert_int_equal(h.n, 4);
  assert_int_equal(h.damaged, 0);
  const gb_history_entry *older = &h.entry[0], *x = &h.entry[1], *y = &h.entry[2], *killed = &h.entry[3];
  assert_string_equal(older->text, "of an older version");
  assert_true(older->began == 0 && older->end == GB_END_UNKNOWN && *older->directory == '\0');
  assert_string_equal(x->text, "x = 1");
  assert_string_equal(x->directory, getcwd(here, sizeof here));
  assert_true(fabs(x->began - (double)time(NULL)) < 100 && x->seconds == 1.5 && x->end == GB_END_OK);
  assert_string_equal(y->text, "\\@y");
  assert_true(y->seconds == 0.25 && y->end == GB_END_INTERRUPTED && y->began >= x->began);
  assert_true(killed->end == GB_END_UNKNOWN && killed->began >= y->began);
  gb_history_clear(&h);
}

static void only_text_comes_back_from_the_history (void **state) {
  (void)state;
  char path[384];
  gb_history h;
  const char lines[] = "good\n\x1b[2J\nnul\0nul\n\xFF\xFE\n\xC0\xAF\n\xED\xA0\x80\n\xC2\x9B"
                       "2J\n\n\xC3\xA9 = 1\tand\\";
  in_folder("history", path);
  write_bytes(path, lines, sizeof lines - 1);
  assert_int_equal(gb_history_read(path, &h, &err), GB_OK);
  assert_int_equal(h.n, 2);
  assert_int_equal(h.damaged, 6);
  assert_string_equal(h.entry[1].text, "\xC3\xA9 = 1\tand\\");
  gb_history_clear(&h);
}

/* Each line is damaged in its own way. */
static void damaged_entries_are_counted (void **state) {
  (void)state;
  char path[384];
  gb_history h;
  static const char *const lines[] = {"\\@",
                                      "\\@1.5-2",
                                      "\\@1.5-2\t/tmp",
                                      "\\@1.5-2\t/tmp\t",
                                      "\\@x-2\t/tmp\tx",
                                      "\\@nan-2\t/tmp\tx",
                                      "\\@-1-2\t/\tx",
                                      "\\@1e300-2\t/\tx",
                                      "\\=1.5-2",
                                      "\\=1.5-2\t1",
                                      "\\=1.5-2\t1\tfine",
                                      "\\=1.5-2\tx\tok",
                                      "\\=1.5-2\t1x\tok",
                                      "\\=1.5-2\tnan\tok",
                                      "\\@1.5-2\t/tmp\t\x1b[2J",
                                      "\\@1.500000000000000000000000000000000000000000000000000-2\t/tmp\tx"};
  const size_t n = sizeof lines / sizeof lines[0];
  in_folder("history", path);
  FILE *f = fopen(path, "wb");
  for (size_t i = 0; i < n; i++) fprintf(f, "%s\n", lines[i]);
  fputs("good\n\\@1.5-2\t/tmp\tcut o", f);
  fclose(f);
  assert_int_equal(gb_history_read(path, &h, &err), GB_OK);
  assert_int_equal(h.n, 1);
  assert_int_equal(h.damaged, n + 1);
  gb_history_clear(&h);
  assert_int_equal(begin_entry(path, "after"), GB_OK); /* on a line of its own */
  assert_int_equal(gb_history_read(path, &h, &err), GB_OK);
  assert_int_equal(h.n, 3);
  assert_string_equal(h.entry[1].text, "cut o");
  assert_string_equal(h.entry[2].text, "after");
  gb_history_clear(&h);
}

static void what_is_too_long_to_be_drawn_is_no_entry (void **state) {
  (void)state;
  char path[384], *text = calloc(GB_HISTORY_LONGEST + 2, 1);
  gb_history h;
  in_folder("history", path);
  memset(text, 'x', GB_HISTORY_LONGEST);
  assert_null(gb_history_unfit(text));
  assert_int_equal(begin_entry(path, text), GB_OK);
  text[GB_HISTORY_LONGEST] = 'x';
  assert_non_null(gb_history_unfit(text));
  assert_int_equal(begin_entry(path, text), GB_OK);
  FILE *f = fopen(path, "ab");
  fprintf(f, "%s\n", text);
  fclose(f);
  assert_int_equal(gb_history_read(path, &h, &err), GB_OK);
  assert_int_equal(h.n, 1);
  assert_int_equal(h.damaged, 2);
  gb_history_clear(&h);
  free(text);
  assert_non_null(gb_history_unfit("a\x1b[2J"));
  assert_non_null(gb_history_unfit("\xFF"));
  assert_null(gb_history_unfit("for i = 1, 2 do\n\tend -- \xC3\xA9"));
}

static void a_long_history_is_cut_to_its_last_half (void **state) {
  (void)state;
  char path[384];
  gb_history h;
  struct stat st;
  in_folder("history", path);
  FILE *f = fopen(path, "wb");
  for (int i = 0; i < 200000; i++) fprintf(f, "x = %d\n", i);
  fclose(f);
  assert_int_equal(gb_history_read(path, &h, &err), GB_OK);
  assert_string_equal(h.entry[h.n - 1].text, "x = 199999");
  assert_int_equal(stat(path, &st), 0);
  assert_in_range(st.st_size, GB_HISTORY_MOST / 2 - 20, GB_HISTORY_MOST / 2);
  const size_t n = h.n;
  gb_history_clear(&h);
  assert_int_equal(gb_history_read(path, &h, &err), GB_OK);
  assert_int_equal(h.n, n);
  gb_history_clear(&h);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_failing_disk_leaves_the_old_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_limit_on_file_sizes_is_an_error, set_up, tear_down),
      cmocka_unit_test_setup_teardown(only_plain_files_are_replaced, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_file_keeps_its_mode_and_a_protected_one_its_content, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(litter_of_dead_processes_is_removed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(only_plain_files_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_reader_answers_ctrl_c, set_up, tear_down),
      cmocka_unit_test_setup_teardown(no_memory_at_any_point_is_an_error_and_no_leak, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_entry_is_there_whole_or_not_at_all, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_entry_has_its_time_directory_duration_and_end, set_up, tear_down),
      cmocka_unit_test_setup_teardown(only_text_comes_back_from_the_history, set_up, tear_down),
      cmocka_unit_test_setup_teardown(damaged_entries_are_counted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_too_long_to_be_drawn_is_no_entry, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_long_history_is_cut_to_its_last_half, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
