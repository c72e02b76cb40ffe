/* test_adopt.c - a fold whose chains are made by the interpreter at first and by a compiled kernel later: results, scratch,
** state and accounts are the same before and after, in whole launches, between two parts, and where a call of the compiled
** path fails. The kernel is written by hand (the linker wraps gb_cuda_emit): row sums of a matrix of f32. */
#include "support/cpu/fold_fixture.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/compile/compile.h"
#include "cuda/support/far_fold.h"
#include "cuda/support/gpu_fixture.h"
#include "support/cpu/products.h"

#define MIB ((size_t)1 << 20)
enum { ROWS = 700, COLUMNS = 600 };

/* -- the kernel */

static const char *const kernel =
    "struct program { alignas(8) char bytes[%zu]; };\n"
    "#define FIELD(type, at) (*(type const *)(p.bytes + (at)))\n"
    "typedef unsigned long long u64;\n"
    "extern \"C\" __global__ void " GB_CUDA_EMIT_NAME " (program p) {\n"
    "  const u64 nlane = FIELD(u64, %zu), ntile = FIELD(u64, %zu), parts = FIELD(u64, %zu);\n"
    "  const u64 part0 = FIELD(u64, %zu);\n"
    "  const u64 unit0 = FIELD(u64, %zu), units = FIELD(u64, %zu), count = units * 512;\n"
    "  const char *operand = p.bytes + %zu;\n"
    "  const float *x = *(const float *const *)operand + *(const long long *)(operand + %zu);\n"
    "  const long long by_lane = *(const long long *)(operand + %zu), by_tile = *(const long long *)(operand "
    "+ %zu);\n"
    "  double *chains = FIELD(double *, %zu);\n"
    "  for (u64 k = blockIdx.x; k < units * parts; k += gridDim.x)\n"
    "    for (u64 r = threadIdx.x; r < 512; r += blockDim.x) {\n"
    "      const u64 lane = (unit0 + k / parts) * 512 + r, from = (part0 + k %% parts) * 256;\n"
    "      float sum = 0;\n"
    "      for (u64 j = from; lane < nlane && j < ntile && j < from + 256; j++)\n"
    "        sum += x[(long long)lane * by_lane + (long long)j * by_tile];\n"
    "      chains[k %% parts * count + k / parts * 512 + r] = sum;\n"
    "    }\n"
    "}\n";

bool __real_gb_cuda_emit (const gb_fold *f, const gb_cuda_walk *w, int reach, gb_cuda_arithmetic a,
                          gb_cuda_source *out, gb_error *err);
bool __wrap_gb_cuda_emit (const gb_fold *f, const gb_cuda_walk *w, int reach, gb_cuda_arithmetic a,
                          gb_cuda_source *out, gb_error *err);
bool __wrap_gb_cuda_emit (const gb_fold *f, const gb_cuda_walk *w, int reach, gb_cuda_arithmetic a,
                          gb_cuda_source *out, gb_error *err) {
  if (f->noperands != 1 || reach != GB_CUDA_ROW) return __real_gb_cuda_emit(f, w, reach, a, out, err);
  const size_t room = 4096, stride = offsetof(gb_cuda_operand, stride);
  *out = (gb_cuda_source){.text = malloc(room), .reach = reach, .threads = 128};
  assert_non_null(out->text);
  const int n = snprintf(
      out->text, room, kernel, sizeof(gb_cuda_argument), offsetof(gb_cuda_program, nlane),
      offsetof(gb_cuda_program, ntile), offsetof(gb_cuda_program, parts), offsetof(gb_cuda_program, part),
      offsetof(gb_cuda_program, unit), offsetof(gb_cuda_program, units),
      offsetof(gb_cuda_argument, lists) + (size_t)gb_cuda_places_of(f, w).operands,
      offsetof(gb_cuda_operand, offset), stride, stride + sizeof(int64_t), offsetof(gb_cuda_program, chains));
  assert_true(n > 0 && (size_t)n < room);
  return true;
}

/* -- the program and its launches */

typedef struct fold {
  gb_device *dev;
  gb_kernel *kernel;
  gb_block in, out, state;
  gb_fold_stats stats;
  float got[ROWS];
} fold;

static fx program;
static float want[ROWS]; /* the interpreter's */
static char folder[] = "/tmp/kernels-XXXXXX";

static void make_program (void) {
  fx_init(&program, GB_F32, 3);
  const int lane = fx_axis(&program, GB_AXIS_LANE, ROWS), tile = fx_axis(&program, GB_AXIS_TILE, COLUMNS);
  const int o = fx_operand(&program, GB_F32, fx_bit(lane) | fx_bit(tile), true), v = fx_load(&program, o);
  float *x = program.in[0];
  for (size_t e = 0; e < (size_t)ROWS * COLUMNS; e++)
    x[e] = 1 + (float)fx_below(&program, 1 << 20) * 0x1p-24f; /* each addition rounds */
  fx_emit(&program, v, GB_OUT_REDUCE, GB_SUM, fx_bit(tile), 0, GB_F32, -1, true);
}

static void must (gb_status st, const gb_error *err) {
  if (st != GB_OK) fail_msg("%s", err->text);
}

static void take (gb_device *dev, gb_block *b, size_t bytes) {
  gb_error err;
  must(gb_ledger_alloc(&dev->ledger, GB_MEM_TENSOR, bytes, "", "", b, &err), &err);
}

static void open_fold (fold *f, const char *policy) {
  gb_error err;
  *f = (fold){.dev = NULL};
  setenv("GIBBOUS_CUDA_COMPILE", policy, 1);
  must(gpu_open(0, 64 * MIB, &f->dev, &err), &err);
  must(gb_device_compile(f->dev, &program.f, &f->kernel, &err), &err);
  take(f->dev, &f->in, sizeof(float) * ROWS * COLUMNS);
  take(f->dev, &f->out, sizeof want);
  must(gb_memory_upload(&f->dev->memory, f->in.data, program.in[0], sizeof(float) * ROWS * COLUMNS, &err),
       &err);
}

static void close_fold (fold *f) {
  gb_ledger_free(&f->dev->ledger, &f->in);
  gb_ledger_free(&f->dev->ledger, &f->out);
  gb_ledger_free(&f->dev->ledger, &f->state);
  gb_kernel_release(f->kernel);
  gpu_close(f->dev);
}

/* In scratch of the declared size, full of NaN. */
static gb_status launch (fold *f, const gb_fold *part, const gb_carry *carry, gb_error *err) {
  gb_block scratch = {0};
  const void *operand[] = {f->in.data};
  void *out[] = {f->out.data};
  const size_t bytes = gb_device_kernel_scratch(f->dev, f->kernel, part);
  take(f->dev, &scratch, bytes);
  const gb_fold_args args = {.part = part,
                             .operand = operand,
                             .out = out,
                             .constant = program.constant,
                             .carry = carry,
                             .scratch = scratch.data,
                             .stats = &f->stats};
  gb_status st = gb_memory_fill(&f->dev->memory, scratch.data, 0xff, bytes, err);
  if (st == GB_OK) st = gb_device_launch(f->dev, f->kernel, &args, err);
  if (st == GB_OK) st = gb_memory_download(&f->dev->memory, f->got, f->out.data, sizeof f->got, err);
  gb_ledger_free(&f->dev->ledger, &scratch);
  return st;
}

static void run (fold *f, const char *path) {
  gb_error err;
  memset(f->got, 0, sizeof f->got);
  must(launch(f, &program.f, NULL, &err), &err);
  assert_memory_equal(f->got, want, sizeof want);
  if (path != NULL) assert_string_equal(f->stats.path, path);
}

/* Launches until the compiled kernel makes the chains, 20 s at most. */
static void adopt (fold *f) {
  for (int i = 0; i < 2000; i++) {
    run(f, NULL);
    if (strcmp(f->stats.path, "compiled") == 0) return;
    assert_string_equal(f->stats.path, "vm");
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  fail_msg("nothing was adopted: %s", gb_device_kernels(f->dev));
}

static int begin (void **state) {
  (void)state;
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  assert_non_null(mkdtemp(folder));
  setenv("XDG_CACHE_HOME", folder, 1);
  gpu_begin();
  return 0;
}

static int end (void **state) {
  char command[80];
  (void)state;
  unsetenv("GIBBOUS_CUDA_PANEL");
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

/* -- tests */

/* The reference of all others; chains by hand say that it is not empty. */
static void test_interpreter (void **state) {
  gb_error err;
  fold f;
  (void)state;
  make_program();
  open_fold(&f, "off");
  must(launch(&f, &program.f, NULL, &err), &err);
  assert_string_equal(f.stats.path, "vm");
  memcpy(want, f.got, sizeof want);
  close_fold(&f);
  const float *x = program.in[0];
  for (size_t i = 0; i < ROWS; i++) {
    double total = 0;
    for (size_t c = 0; c < COLUMNS; c += GB_CANON) {
      float sum = 0;
      for (size_t j = c; j < COLUMNS && j < c + GB_CANON; j++) sum += x[i * COLUMNS + j];
      total += (double)sum;
    }
    assert_true(want[i] == (float)total);
  }
}

static void test_adoption (void **state) {
  fold off, f;
  (void)state;
  open_fold(&off, "off");
  const size_t scratch = gb_device_kernel_scratch(off.dev, off.kernel, &program.f);
  close_fold(&off);
  open_fold(&f, "background:0");
  const size_t used = f.dev->ledger.used, bytes = f.kernel->bytes;
  assert_int_equal(gb_device_kernel_scratch(f.dev, f.kernel, &program.f), scratch);
  run(&f, "vm");
  adopt(&f);
  assert_int_equal(gb_device_kernel_scratch(f.dev, f.kernel, &program.f), scratch);
  assert_true(f.dev->ledger.used == used && f.kernel->bytes == bytes);
  run(&f, "compiled");
  close_fold(&f);
  open_fold(&f, "background"); /* kept, and used from the first launch on */
  run(&f, "compiled");
  close_fold(&f);
}

static bool settle (fold *f) {
  gb_error err;
  bool more;
  must(gb_device_settle(f->dev, &more, &err), &err);
  return more;
}

/* Walks that have run are compiled at their next launch, however short they are, and waited for. */
static void test_settling (void **state) {
  fold f;
  (void)state;
  open_fold(&f, "background:1000");
  assert_false(settle(&f));
  run(&f, "vm");
  run(&f, "vm");
  assert_true(settle(&f));
  run(&f, NULL);
  assert_true(settle(&f) || strcmp(f.stats.path, "compiled") == 0);
  run(&f, "compiled");
  assert_false(settle(&f));
  assert_int_equal(emu_calls("nvrtcCompileProgram"), 1);
  close_fold(&f);
  open_fold(&f, "off");
  run(&f, "vm");
  assert_false(settle(&f));
  close_fold(&f);
}

/* The generator's kernels of symmetric programs: one for the rows right of the diagonal, one for what lies left of it. */
static void test_symmetric (void **state) {
  gb_device *dev;
  gb_error err;
  int both = 0;
  (void)state;
  for (int n = 0; n < 40 && both == 0; n++) {
    fx x;
    void *kept[MOST];
    const size_t pairs = symmetric_program(&x, n);
    if (pairs >= 257 * 257 && x.f.nouts == 1) {
      for (int compiled = 0; compiled < 2; compiled++) {
        setenv("GIBBOUS_CUDA_COMPILE", compiled ? "wait" : "off", 1);
        must(gpu_open(0, 64 * MIB, &dev, &err), &err);
        far_run(dev, &x);
        for (int s = 0; s < x.nslots && !compiled; s++) {
          const size_t bytes = x.out_n[s] * gb_dtype_size(x.slot_dtype[s]);
          kept[s] = malloc(bytes);
          memcpy(kept[s], x.got[s], bytes);
        }
        if (compiled) both += strncmp(gb_device_kernels(dev), "2 compiled, 0 from", 18) == 0;
        gpu_close(dev);
      }
      assert_true(fx_same(&x, kept, x.got));
      for (int s = 0; s < x.nslots; s++) free(kept[s]);
    }
    fx_free(&x);
  }
  assert_int_equal(both, 1);
}

/* Panels of a few rows, and other extents: one kernel serves all. */
static void test_panels_and_extents (void **state) {
  gb_error err;
  fold f;
  (void)state;
  setenv("GIBBOUS_CUDA_PANEL", "4096", 1);
  open_fold(&f, "wait");
  run(&f, "compiled");
  gb_fold part = program.f;
  part.axis[0].extent = 300;
  memset(f.got, 0, sizeof f.got);
  must(launch(&f, &part, NULL, &err), &err);
  assert_memory_equal(f.got, want, 300 * sizeof *want);
  assert_string_equal(f.stats.path, "compiled");
  assert_true(strstr(gb_device_kernels(f.dev), "1 compiled, 0 from the cache") != NULL);
  assert_int_equal(emu_calls("nvrtcCompileProgram"), 1);
  close_fold(&f);
}

/* The first 256 columns by the interpreter, the rest by the kernel that was compiled meanwhile. */
static void test_between_parts (void **state) {
  gb_operand operand = program.operand[0];
  gb_error err;
  fold f;
  (void)state;
  open_fold(&f, "background:0");
  gb_fold part = program.f;
  part.operand = &operand;
  part.carried = fx_bit(1);
  part.axis[1].extent = GB_CANON;
  take(f.dev, &f.state, gb_device_kernel_state(f.dev, f.kernel, &part));
  gb_carry carry = {.state = f.state.data, .first = true};
  must(launch(&f, &part, &carry, &err), &err);
  assert_string_equal(f.stats.path, "vm");
  adopt(&f);
  carry = (gb_carry){.state = f.state.data, .last = true};
  operand.offset += GB_CANON * operand.stride[1];
  part.axis[1].extent = COLUMNS - GB_CANON;
  must(launch(&f, &part, &carry, &err), &err);
  assert_string_equal(f.stats.path, "compiled");
  assert_memory_equal(f.got, want, sizeof want);
  close_fold(&f);
}

/* The interpreter makes the chains where a call of the compiled path fails, and from then on. */
static void test_refused (void **state) {
  static const char *const calls[] = {
      "nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize",        "nvrtcGetCUBIN",
      "cuModuleLoadData",   "cuModuleGetFunction", "kernel:" GB_CUDA_EMIT_NAME};
  static const int codes[] = {1, 2};
  char rule[64];
  fold f;
  for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
    for (int k = 0; k < 2; k++) {
      end(state);
      begin(state);
      open_fold(&f, "wait");
      emu_begin();
      snprintf(rule, sizeof rule, "%s@1=%d", calls[c], codes[k]);
      assert_true(emu_set("FAIL", rule));
      run(&f, "vm");
      run(&f, "vm");
      const char *said = gb_device_kernels(f.dev);
      const char *call = calls[c][0] == 'k' ? "cuLaunchKernel" : calls[c];
      if (strstr(said, "1 failed: ") == NULL || strstr(said, call) == NULL) fail_msg("%s: %s", rule, said);
      assert_int_equal(emu_calls(calls[c]), 1); /* it was not tried again */
      close_fold(&f);
    }
}

static void lose (void) {
  gb_error err;
  fold f;
  open_fold(&f, "wait");
  emu_begin();
  assert_true(emu_set("FAIL", "cudaLaunchKernel@1=700"));
  assert_int_equal(launch(&f, &program.f, NULL, &err), GB_EDEVICE);
  assert_non_null(strstr(err.text, "cuda:0 is lost (cuLaunchKernel: "));
}

static void test_loss (void **state) {
  int status;
  (void)state;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    lose();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main (void) {
  const struct CMUnitTest tests[] = {
      TEST(interpreter),        TEST(adoption),      TEST(settling), TEST(symmetric),
      TEST(panels_and_extents), TEST(between_parts), TEST(refused),  TEST(loss)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fx_free(&program);
  return failed;
}
