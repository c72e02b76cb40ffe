/* Calls of CUDA that fail: why a GPU does not open, one failure at each call of a session, GPUs that are
** lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/kmeans.h"
#include "cuda/support/gpu_fixture.h"
#include "device/clock.h"
#include "device/registry.h"
#include "program/library.h"

#define MIB ((size_t)1 << 20)

/* -- opening */

static void assert_refused (const char *setting, const char *value, int ordinal, const char *words) {
  gb_device *dev;
  gb_error err;
  gpu_begin();
  if (setting != NULL) assert_true(emu_set(setting, value));
  assert_int_equal(gpu_open(ordinal, 0, &dev, &err), GB_EDEVICE);
  if (strstr(err.text, words) == NULL) fail_msg("'%s' expected in '%s'", words, err.text);
  assert_null(dev);
  gpu_close(NULL);
}

static void test_reasons (void **state) {
  (void)state;
  assert_refused("FAIL", "cudaGetDeviceCount@1=35", 0, "install a newer driver");
  assert_refused("FAIL", "cudaGetDeviceCount@1=100", 0, "the NVIDIA driver finds no GPU");
  assert_refused("FAIL", "cudaDriverGetVersion@1=35", 0, "no NVIDIA driver is loaded");
  assert_refused("FAIL", "cudaGetDeviceCount@1=999", 0, "cudaGetDeviceCount: ");
  assert_refused(NULL, NULL, 2, "there is no GPU number 2: the NVIDIA driver finds 2, counted from 0");
  assert_refused("FAIL", "cudaSetDevice@1=46", 0, "exclusive mode");
  assert_refused("FAIL", "kernel:probe@1=209", 0, "the library has no code for GPU 0");
}

static void test_other_version (void **state) {
  extern gb_device_open_function gb_device_open_plugin;
  extern gb_device_count_function gb_device_count_plugin;
  gb_device *dev = NULL;
  gb_error err;
  int count = 0;
  (void)state;
  gpu_begin();
  assert_int_equal(gb_device_open_plugin(GB_DEVICE_ABI + 1, gpu_home(), 0, 0, &dev, &err), GB_EDEVICE);
  assert_non_null(strstr(err.text, "another version"));
  assert_int_equal(gb_device_count_plugin(GB_DEVICE_ABI + 1, &count, &err), GB_EDEVICE);
  assert_int_equal(gb_device_count_plugin(GB_DEVICE_ABI, &count, &err), GB_OK);
  assert_int_equal(count, 2);
  gpu_close(NULL);
}

/* -- a session: opens, holds blocks, copies, waits, closes. What it reads is right, or an earlier call
** failed. */

static gb_status work (gb_device *dev, gb_error *err) {
  gb_block a = {NULL}, b = {NULL};
  unsigned char sent[1000], came[1000];
  for (size_t i = 0; i < sizeof sent; i++) sent[i] = (unsigned char)(i * 13);
  gb_status st = gb_ledger_alloc(&dev->ledger, GB_MEM_TENSOR, 3 * MIB, "", "", &a, err);
  if (st == GB_OK) st = gb_ledger_alloc(&dev->ledger, GB_MEM_ARENA, 5000, "", "", &b, err);
  if (st == GB_OK) st = gb_memory_upload(&dev->memory, a.data, sent, sizeof sent, err);
  if (st == GB_OK) st = gb_memory_copy(&dev->memory, b.data, a.data, sizeof sent, err);
  if (st == GB_OK) st = gb_memory_fill(&dev->memory, b.data, 9, 10, err);
  if (st == GB_OK) st = gb_device_wait(dev, err);
  if (st == GB_OK) st = gb_memory_download(&dev->memory, came, b.data, sizeof came, err);
  if (st == GB_OK) {
    memset(sent, 9, 10);
    assert_memory_equal(sent, came, sizeof sent);
  }
  gb_ledger_free(&dev->ledger, &a);
  gb_ledger_free(&dev->ledger, &b);
  gb_ledger_release(&dev->ledger);
  return st;
}

/* -- the same with dense algebra: libraries that are opened, asked and called */

/* The op on matrices of a block, at multiples of 256 bytes; its scratch is the block behind them. */
static gb_status run_op (gb_device *dev, const gb_block *b, gb_opaque o, const size_t *in, const size_t *out,
                         gb_error *err) {
  const void *from[2];
  void *to[GB_MAX_OUTPUTS];
  o.nin = gb_ops[o.op].inputs, o.nout = gb_ops[o.op].outputs;
  for (int i = 0; i < o.nin; i++) from[i] = (char *)b->data + 256 * in[i];
  for (int i = 0; i < o.nout; i++) to[i] = (char *)b->data + 256 * out[i];
  if (gb_device_opaque_scratch(dev, &o) > MIB) return gb_fail(err, GB_EINTERNAL, "much scratch");
  return gb_device_opaque(dev, &o, from, to, (char *)b->data + MIB, err);
}

/* A = [4 2; 2 5]: factor, solution of A x = b twice, eigenvalues, a product. */
static gb_status dense_work (gb_device *dev, gb_error *err) {
  static const double a[4] = {4, 2, 2, 5}, b[2] = {8, 12}, factor[4] = {2, 0, 1, 2}, x[2] = {1, 2};
  const gb_shape square = gb_shape_of(2, (size_t[]){2, 2}), line = gb_shape_of(1, (size_t[]){2});
  gb_opaque o = {.in_shape = {square, square}, .out_shape = {square, square}};
  gb_block room = {NULL};
  double l[4], y[2], z[2];
  gb_status st = gb_ledger_alloc(&dev->ledger, GB_MEM_TENSOR, 2 * MIB, "", "", &room, err);
  if (st == GB_OK) st = gb_memory_upload(&dev->memory, room.data, a, sizeof a, err);
  if (st == GB_OK) st = gb_memory_upload(&dev->memory, (char *)room.data + 256, b, sizeof b, err);
  o.op = GB_OP_CHOLESKY;
  if (st == GB_OK) st = run_op(dev, &room, o, (size_t[]){0}, (size_t[]){2}, err);
  o.op = GB_OP_GEMM;
  if (st == GB_OK) st = run_op(dev, &room, o, (size_t[]){0, 2}, (size_t[]){5}, err);
  o.op = GB_OP_EIGH;
  if (st == GB_OK) st = run_op(dev, &room, o, (size_t[]){0}, (size_t[]){6, 7}, err);
  o.op = GB_OP_SOLVE_CHOL, o.in_shape[1] = line;
  if (st == GB_OK) st = run_op(dev, &room, o, (size_t[]){2, 1}, (size_t[]){3}, err);
  o.op = GB_OP_LU_SOLVE;
  if (st == GB_OK) st = run_op(dev, &room, o, (size_t[]){0, 1}, (size_t[]){4}, err);
  if (st == GB_OK) st = gb_memory_download(&dev->memory, l, (char *)room.data + 512, sizeof l, err);
  if (st == GB_OK) st = gb_memory_download(&dev->memory, y, (char *)room.data + 768, sizeof y, err);
  if (st == GB_OK) st = gb_memory_download(&dev->memory, z, (char *)room.data + 1024, sizeof z, err);
  for (int i = 0; st == GB_OK && i < 4; i++) assert_true(l[i] == factor[i]);
  for (int i = 0; st == GB_OK && i < 2; i++)
    assert_true(y[i] - x[i] < 1e-14 && x[i] - y[i] < 1e-14 && z[i] - x[i] < 1e-14 && x[i] - z[i] < 1e-14);
  gb_ledger_free(&dev->ledger, &room);
  gb_ledger_release(&dev->ledger);
  return st;
}

/* -- the first one between the marks of the clock */

static gb_status timed_work (gb_device *dev, gb_error *err) {
  int outer, inner;
  double from, to;
  gb_error other;
  GB_TRY(gb_device_begin_span(dev, "outer", &outer, err));
  gb_status st = gb_device_begin_span(dev, "inner", &inner, err);
  if (st == GB_OK) {
    st = work(dev, err);
    const gb_status ended = gb_device_end_span(dev, inner, st == GB_OK ? err : &other);
    st = st == GB_OK ? ended : st;
  }
  const gb_status ended = gb_device_end_span(dev, outer, st == GB_OK ? err : &other);
  st = st == GB_OK ? ended : st;
  if (st == GB_OK) st = gb_device_wait(dev, err);
  if (st == GB_OK) st = gb_device_read_span(dev, inner, &from, &to, err);
  if (st == GB_OK) assert_true(to > from);
  gb_device_drop_spans(dev, outer);
  return st;
}

/* -- clusters: passes over points with few and with many features, and seeds */

static gb_status fit_points (gb_device *dev, size_t d, const gb_block *b, gb_error *err) {
  enum { POINTS = 40, CLUSTERS = 3 };
  double x[POINTS * 12], centre[CLUSTERS * 12], history[2];
  int32_t *label = (int32_t *)(void *)((char *)b->data + MIB), came[POINTS];
  for (size_t i = 0; i < POINTS * d; i++) x[i] = (double)(i / d % CLUSTERS * 100 + i % 7);
  GB_TRY(gb_memory_upload(&dev->memory, b->data, x, POINTS * d * sizeof *x, err));
  const gb_kmeans_options o = {.k = CLUSTERS, .max_iter = 2, .seed = 1};
  const gb_kmeans_piece piece = {
      .device = dev,
      .x = {.at = b->data, .dtype = GB_F64, .row = (ptrdiff_t)d, .column = 1, .n = POINTS, .d = d}};
  gb_kmeans_result r = {.centre = centre, .history = history, .label = &label};
  GB_TRY(gb_kmeans_fit(&o, 1, &piece, &r, err));
  GB_TRY(gb_memory_download(&dev->memory, came, label, sizeof came, err));
  for (size_t i = 0; i < POINTS; i++) assert_int_equal(came[i], came[i % CLUSTERS]);
  assert_true(came[0] != came[1] && came[1] != came[2] && came[2] != came[0]);
  return GB_OK;
}

static gb_status cluster_work (gb_device *dev, gb_error *err) {
  gb_block b = {NULL};
  dev->home = gpu_home(); /* as the registry does */
  GB_TRY(gb_ledger_alloc(&dev->ledger, GB_MEM_TENSOR, 2 * MIB, "", "", &b, err));
  gb_status st = fit_points(dev, 3, &b, err);
  if (st == GB_OK) st = fit_points(dev, 12, &b, err);
  gb_ledger_free(&dev->ledger, &b);
  gb_ledger_release(&dev->ledger);
  return st;
}

typedef gb_status work_fn (gb_device *dev, gb_error *err);

/* Out of room is no loss, and what CUDA refuses for another reason is neither; but a failure that was met
** where no status is returned is one. */
static bool is_sorted (int code, gb_status st) {
  if (st == GB_OK || st == GB_EDEVICE) return true;
  return code == 2 ? st == GB_ENOMEM : code == 1 && (st == GB_EINTERNAL || st == GB_ENOMEM);
}

enum { SOUND, FAILED, PAST, WRONG_STATUS, WITHOUT_WORDS, LEAKED, ACCOUNT };

/* A session in which call number k fails. What it holds in the end: a GPU that is lost gives nothing back,
** and where the session ended well, the call that failed may have been one that gives back. */
static int session (work_fn *todo, const char *schedule, int code, long k) {
  gb_device *dev;
  gb_error err = {.text = ""};
  char rule[32];
  snprintf(rule, sizeof rule, "*@%ld=%d", k, code);
  gpu_begin();
  emu_set("SCHEDULE", schedule);
  emu_set("FAIL", rule);
  gb_status st = gpu_open(0, 64 * MIB, &dev, &err);
  if (st == GB_OK) st = todo(dev, &err);
  if (dev != NULL && dev->ledger.used != 0) return ACCOUNT;
  gb_device_free(dev);
  if (!is_sorted(code, st)) return WRONG_STATUS;
  if (st != GB_OK && err.text[0] == '\0') return WITHOUT_WORDS;
  if (gpu_home()->ledger.used != 0 || gpu_home()->ledger.books != 0) return ACCOUNT;
  if (emu_calls("*") < k) return emu_pieces() == 0 ? PAST : LEAKED;
  if (code != 700 && st != GB_OK && emu_pieces() != 0) return LEAKED;
  return st == GB_OK ? SOUND : FAILED;
}

/* In a process of its own: what a lost GPU keeps goes with it. */
static int session_apart (work_fn *todo, const char *schedule, int code, long k) {
  int status;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(session(todo, schedule, code, k));
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void fail_each_call (work_fn *todo, int least) {
  static const int codes[] = {1, 2, 700};
  static const char *const schedules[] = {"eager", "lazy"};
  int failed = 0, sessions = 0;
  for (int s = 0; s < 2; s++)
    for (int c = 0; c < 3; c++)
      for (long k = 1;; k++) {
        const int outcome = session_apart(todo, schedules[s], codes[c], k);
        if (outcome < SOUND || outcome > PAST)
          fail_msg("%s, code %d at call %ld: outcome %d", schedules[s], codes[c], k, outcome);
        sessions++;
        failed += outcome == FAILED;
        if (outcome == PAST) break;
      }
  print_message("%d sessions, %d of them failed\n", sessions, failed);
  assert_true(failed > least && failed < sessions);
}

static void test_each_call (void **state) {
  (void)state;
  fail_each_call(work, 60);
}
static void test_each_timed_call (void **state) {
  (void)state;
  fail_each_call(timed_work, 90);
}
static void test_each_dense_call (void **state) {
  (void)state;
  fail_each_call(dense_work, 600);
}

static void test_each_cluster_call (void **state) {
  (void)state;
  fail_each_call(cluster_work, 600);
}

/* -- loss */

static void lose_one_of_two (void) {
  gb_device *first, *second;
  gb_block b = {NULL}, c = {NULL};
  gb_error err;
  char byte = 0;
  gpu_begin();
  assert_int_equal(gpu_open(0, 0, &first, &err), GB_OK);
  assert_int_equal(gpu_open(1, 0, &second, &err), GB_OK);
  assert_string_equal(second->name, "cuda:1");
  assert_int_equal(gb_ledger_alloc(&first->ledger, GB_MEM_TENSOR, 100, "script.lua:7", "z", &b, &err), GB_OK);
  assert_int_equal(gb_ledger_alloc(&second->ledger, GB_MEM_TENSOR, 100, "", "", &c, &err), GB_OK);
  emu_begin();
  assert_true(emu_set("FAIL", "cudaMemsetAsync@1=719"));
  assert_int_equal(gb_memory_fill(&first->memory, b.data, 1, 100, &err), GB_EDEVICE);
  assert_non_null(strstr(err.text, "device cuda:0 is lost (cudaMemsetAsync: "));
  assert_non_null(strstr(err.text, "1 value of 100 B, the largest: z of script.lua:7"));
  const long calls = emu_calls("*");
  assert_int_equal(gb_memory_fill(&first->memory, b.data, 1, 100, &err), GB_EDEVICE);
  assert_int_equal(gb_device_wait(first, &err), GB_EDEVICE);
  assert_int_equal(emu_calls("*"), calls); /* a lost device is left alone */
  assert_int_equal(gb_memory_fill(&second->memory, c.data, 77, 100, &err), GB_OK);
  assert_int_equal(gb_memory_download(&second->memory, &byte, (char *)c.data + 99, 1, &err), GB_OK);
  assert_int_equal(byte, 77);
  gb_ledger_free(&first->ledger, &b);
  gb_ledger_free(&second->ledger, &c);
  gb_device_free(first);
  gb_device_free(second);
}

/* A failure in the stream is found by the next call that looks, not before. */
static void lose_late (void) {
  gb_device *dev;
  gb_error err;
  gpu_begin();
  assert_int_equal(gpu_open(0, 0, &dev, &err), GB_OK);
  assert_int_equal(gb_device_wait(dev, &err), GB_OK);
  assert_true(emu_set("FAIL", "cudaStreamSynchronize@1=700"));
  emu_begin();
  assert_int_equal(gb_device_wait(dev, &err), GB_EDEVICE);
  assert_non_null(strstr(err.text, "cuda:0 is lost (cudaStreamSynchronize: "));
  assert_int_equal(gb_device_wait(dev, &err), GB_EDEVICE);
  gb_device_free(dev);
}

/* Apart, because what lost GPUs held stays with the process. */
static void run_apart (void (*body)(void)) {
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

static void test_loss (void **state) {
  (void)state;
  run_apart(lose_one_of_two);
  run_apart(lose_late);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reasons),
      cmocka_unit_test(test_other_version),
      cmocka_unit_test(test_each_call),
      cmocka_unit_test(test_each_timed_call),
      cmocka_unit_test(test_each_dense_call),
      cmocka_unit_test(test_each_cluster_call),
      cmocka_unit_test(test_loss),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
