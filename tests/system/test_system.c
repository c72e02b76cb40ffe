/* test_system.c - children, their ends, locks, folders, digests: what a sweep asks of the system. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/interrupt.h"
#include "system/child.h"
#include "system/digest.h"
#include "system/place.h"

static char folder[] = "/tmp/gibbous-system-XXXXXX";

static int make_folder (void **state) {
  (void)state;
  return mkdtemp(folder) == NULL;
}

static int remove_folder (void **state) {
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static const char *inside (const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static const char *contents (const char *path) {
  static char text[256];
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  fclose(f);
  return text;
}

static const char *const none[] = {NULL};

/* Starts 'sh -c script', with the environment and the file of output. */
static gb_child start (const char *script, const char *const *env, const char *out) {
  gb_child c;
  gb_error err;
  const char *const argv[] = {"sh", "-c", script, NULL};
  assert_int_equal(GB_OK, gb_child_start(argv, env, out, NULL, &c, &err));
  return c;
}

static gb_child_end end_of (gb_child *c) {
  gb_child *list[] = {c};
  size_t which;
  gb_child_end end;
  gb_error err;
  assert_int_equal(GB_OK, gb_child_wait(list, 1, 10, &which, &err));
  assert_int_equal(0, which);
  assert_int_equal(GB_OK, gb_child_reap(c, &end, &err));
  return end;
}

static void test_ends (void **state) {
  (void)state;
  gb_child c = start("exit 7", none, NULL);
  gb_child_end end = end_of(&c);
  assert_int_equal(7, end.exit);
  assert_int_equal(0, end.signal);
  assert_true(end.peak > 100000 && end.user >= 0 && end.system >= 0);
  assert_int_equal(0, c.pid);
  c = start("kill -9 $$", none, NULL);
  end = end_of(&c);
  assert_int_equal(-1, end.exit);
  assert_int_equal(SIGKILL, end.signal);
}

static void test_environment_and_output (void **state) {
  (void)state;
  setenv("GIBBOUS_KEPT", "kept", 1);
  setenv("GIBBOUS_CHANGED", "old", 1);
  const char *const env[] = {"GIBBOUS_CHANGED=new", "GIBBOUS_ADDED=added", NULL};
  const char *out = inside("out.txt");
  gb_child c = start("echo $GIBBOUS_KEPT $GIBBOUS_CHANGED $GIBBOUS_ADDED; echo error >&2; cat", env, out);
  assert_int_equal(0, end_of(&c).exit); /* cat ends: the input is empty */
  assert_string_equal("kept new added\nerror\n", contents(out));
  c = start("echo again", none, out);
  end_of(&c);
  assert_string_equal("kept new added\nerror\nagain\n", contents(out));
}

static void test_waits (void **state) {
  (void)state;
  gb_child slow = start("sleep 30", none, NULL), fast = start("exit 1", none, NULL),
           gone = start("exit 0", none, NULL);
  gb_child_end end;
  gb_error err;
  end_of(&gone);
  gb_child *list[] = {&slow, &gone, &fast};
  size_t which;
  assert_int_equal(GB_OK, gb_child_wait(list, 3, 10, &which, &err));
  assert_int_equal(2, which);
  gb_child_reap(&fast, &end, &err);
  assert_int_equal(GB_OK, gb_child_wait(list, 3, 0.05, &which, &err));
  assert_int_equal(3, which); /* time ran out */
  assert_int_equal(GB_OK, gb_child_wait(list, 0, 0.01, &which, &err));
  assert_int_equal(0, which);
  gb_interrupt_raise();
  assert_int_equal(GB_EINTR, gb_child_wait(list, 3, 10, &which, &err));
  gb_interrupt_clear();
  gb_child_signal(&slow, SIGTERM);
  assert_int_equal(SIGTERM, end_of(&slow).signal);
}

/* A child that starts children takes them along. */
static void test_group (void **state) {
  (void)state;
  const char *out = inside("pid.txt");
  gb_child c = start("sleep 60 & echo $!; wait", none, out);
  while (access(out, F_OK) != 0 || *contents(out) == '\0') usleep(1000);
  const pid_t below = (pid_t)atoi(contents(out));
  assert_true(gb_process_started(below) > 0);
  gb_child_close(&c);
  gb_child_close(&c);
  for (int i = 0; i < 5000 && gb_process_started(below) > 0; i++) usleep(1000);
  assert_int_equal(0, gb_process_started(below));
}

static void test_no_program (void **state) {
  (void)state;
  gb_child c;
  gb_error err;
  const char *const argv[] = {"/no/such/program", NULL};
  assert_int_equal(GB_EIO, gb_child_start(argv, none, NULL, NULL, &c, &err));
  assert_non_null(strstr(err.text, "cannot start '/no/such/program': No such file"));
  assert_int_equal(0, c.pid);
  assert_int_equal(-1, c.handle);
  gb_child_close(&c);
  const char *const sh[] = {"sh", "-c", "true", NULL};
  assert_int_equal(GB_EIO, gb_child_start(sh, none, "/no/such/folder/out", NULL, &c, &err));
}

static void test_names_of_processes (void **state) {
  (void)state;
  const uint64_t mine = gb_process_started(getpid());
  assert_true(mine > 0);
  assert_int_equal(mine, gb_process_started(getpid()));
  gb_child c = start("exit 0", none, NULL);
  const pid_t pid = c.pid;
  gb_child *list[] = {&c};
  size_t which;
  gb_error err;
  gb_child_wait(list, 1, 10, &which, &err);
  assert_int_equal(0, gb_process_started(pid)); /* ended, and not reaped */
  gb_child_close(&c);
}

/* Of a process without a parent of that number nothing is changed. */
static void test_bind (void **state) {
  (void)state;
  assert_false(gb_child_bind(getpid()));
  const pid_t pid = fork();
  if (pid == 0) _exit(gb_child_bind(getppid()) ? 0 : 1);
  int status;
  assert_int_equal(pid, waitpid(pid, &status, 0));
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The group of a guarded process that has started another one, whose number it writes to a file. */
static pid_t start_guarded (const gb_guard *guard, const char *out) {
  char command[300];
  snprintf(command, sizeof command, "sleep 60 & echo $! > %s", out);
  const pid_t pid = fork();
  if (pid > 0) return pid;
  setpgid(0, 0);
  dup2(guard->pipe, GB_GUARD_DESCRIPTOR);
  gb_guard_enter();
  _exit(system(command));
}

/* Does it end within five seconds? */
static bool ends (pid_t pid) {
  for (int i = 0; i < 5000 && gb_process_started(pid) > 0; i++) usleep(1000);
  return gb_process_started(pid) == 0;
}

/* An owner that is killed leaves a process of a child that has ended: one in the guard's hands, one that left them. */
static void test_guard (void **state) {
  (void)state;
  char kept[64], left[64], ready[64];
  snprintf(kept, sizeof kept, "%s/kept", folder);
  snprintf(left, sizeof left, "%s/left", folder);
  snprintf(ready, sizeof ready, "%s/ready", folder);
  const pid_t owner = fork();
  if (owner == 0) {
    gb_guard guard;
    gb_error err;
    if (gb_guard_start(&guard, &err) != GB_OK) _exit(1);
    const pid_t a = start_guarded(&guard, kept), b = start_guarded(&guard, left);
    waitpid(a, NULL, 0);
    waitpid(b, NULL, 0);
    gb_guard_leave(&guard, b);
    close(open(ready, O_CREAT | O_WRONLY, 0600));
    for (;;) pause();
  }
  for (int i = 0; i < 5000 && access(ready, F_OK) != 0; i++) usleep(1000);
  const pid_t below = (pid_t)atoi(contents(kept)), free_one = (pid_t)atoi(contents(left));
  assert_true(gb_process_started(below) > 0 && gb_process_started(free_one) > 0);
  kill(owner, SIGKILL);
  waitpid(owner, NULL, 0);
  assert_true(ends(below));
  assert_true(gb_process_started(free_one) > 0);
  kill(free_one, SIGKILL);
}

/* A guard that was killed is missed by nobody. */
static void test_guard_is_lost (void **state) {
  (void)state;
  gb_guard guard;
  gb_error err;
  assert_int_equal(GB_OK, gb_guard_start(&guard, &err));
  kill(guard.pid, SIGKILL);
  while (gb_process_started(guard.pid) > 0) usleep(1000);
  const char *out = inside("free");
  int status;
  waitpid(start_guarded(&guard, out), &status, 0);
  assert_int_equal(0, status);
  gb_guard_leave(&guard, 1);
  gb_guard_close(&guard);
  kill((pid_t)atoi(contents(out)), SIGKILL);
}

static void test_guard_closes (void **state) {
  (void)state;
  gb_guard guard;
  gb_error err;
  const char *out = inside("below");
  assert_int_equal(GB_OK, gb_guard_start(&guard, &err));
  waitpid(start_guarded(&guard, out), NULL, 0);
  const pid_t below = (pid_t)atoi(contents(out)), itself = guard.pid;
  assert_true(gb_process_started(below) > 0);
  gb_guard_close(&guard);
  gb_guard_close(&guard);
  gb_guard_leave(&guard, below);
  assert_true(ends(below) && ends(itself));
}

static void test_locks (void **state) {
  (void)state;
  int first, second;
  gb_error err;
  const char *path = inside("lock");
  assert_int_equal(GB_OK, gb_lock_take(path, &first, &err));
  assert_true(first >= 0);
  assert_int_equal(GB_OK, gb_lock_take(path, &second, &err));
  assert_int_equal(-1, second);
  gb_child c = start("sleep 30", none, NULL); /* a child does not hold it on */
  close(first);
  assert_int_equal(GB_OK, gb_lock_take(path, &second, &err));
  assert_true(second >= 0);
  close(second);
  gb_child_close(&c);
  assert_int_equal(GB_EIO, gb_lock_take("/no/such/folder/lock", &first, &err));
}

static void test_folders (void **state) {
  (void)state;
  gb_error err;
  struct stat s;
  char deep[300];
  snprintf(deep, sizeof deep, "%s/a/b//c/", folder);
  assert_int_equal(GB_OK, gb_folder_make(deep, &err));
  assert_int_equal(GB_OK, gb_folder_make(deep, &err));
  assert_true(stat(deep, &s) == 0 && S_ISDIR(s.st_mode));
  close(open(inside("plain"), O_CREAT | O_WRONLY, 0600));
  assert_int_equal(GB_EIO, gb_folder_make(inside("plain"), &err));
  assert_int_equal(GB_EIO, gb_folder_make(inside("plain/below"), &err));
  assert_int_equal(0, symlink("nowhere", inside("dangling")));
  assert_int_equal(GB_EIO, gb_folder_make(inside("dangling"), &err));
  assert_non_null(strstr(err.text, "File exists")); /* what mkdir said, not what was asked then */
  assert_false(gb_place_is_remote("/"));
  assert_false(gb_place_is_remote("/no/such/place"));
}

static void test_digests (void **state) {
  (void)state;
  char text[GB_DIGEST], file[GB_DIGEST];
  gb_error err;
  gb_digest_text("abc", 3, text); /* FIPS 180-4 */
  assert_string_equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", text);
  const size_t n = 3 * 65536; /* whole pieces: the last read finds nothing */
  char *big = malloc(n);
  memset(big, 'x', n);
  FILE *f = fopen(inside("big"), "w");
  assert_int_equal(n, fwrite(big, 1, n, f));
  fclose(f);
  gb_digest_text(big, n, text);
  assert_int_equal(GB_OK, gb_digest_file(inside("big"), file, &err));
  assert_string_equal(text, file);
  free(big);
  assert_int_equal(GB_EIO, gb_digest_file(inside("absent"), file, &err));
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ends),          cmocka_unit_test(test_environment_and_output),
      cmocka_unit_test(test_waits),         cmocka_unit_test(test_group),
      cmocka_unit_test(test_no_program),    cmocka_unit_test(test_names_of_processes),
      cmocka_unit_test(test_locks),         cmocka_unit_test(test_folders),
      cmocka_unit_test(test_digests),       cmocka_unit_test(test_bind),
      cmocka_unit_test(test_guard),         cmocka_unit_test(test_guard_closes),
      cmocka_unit_test(test_guard_is_lost),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
