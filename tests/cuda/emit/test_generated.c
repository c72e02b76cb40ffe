/* test_generated.c - generated kernels: what cuda/emit prints, compiled by the emulated NVRTC (the real one judges it where
** it is; with EMU_PTX they are its PTX) and run in place of the interpreter's passes, has the interpreter's bits; whole and in
** parts, in several orders of threads, at all edges. Texts are compiled many at a time. A pass finds its kernel because the linker wraps gb_cuda_start. */
#include <cuda.h>
#include <nvrtc.h>
#include <pthread.h>

#include "cuda/device/gpu.h"
#include "cuda/emit/emit.h"
#include "cuda/emit/generated_programs.h"
#include "cuda/fold/kernels.h"
#include "cuda/support/far_fold.h"
#include "cuda/support/gpu_fixture.h"
#include "plan/tile/cut.h"
#include "program/schedule.h"
#include "support/cpu/products.h"

enum {
  RANDOM_FOLDS = 28,
  RANDOM_CHAINS = 78,
  RANDOM_KEPT = 140,
  MOST_PROGRAMS = 768,
  MOST_KERNELS = 512,
  MOST_WALKS = 24, /* kernels of a program */
  AT_ONCE = 12,    /* texts of a compilation */
  WAVES = 10       /* programs of kernels that evaluate a pair once */
};

typedef struct kernel {
  gb_cuda_source source;
  CUfunction function;
} kernel;

/* A walk of a program, and the kernel that makes its chains. */
typedef struct carried {
  int reach, kernel;
  unsigned reduced;
  bool lists;
} carried;

typedef struct program {
  fx *x;
  char name[64];
  int nwalks;
  carried walk[MOST_WALKS];
} program;

static gb_device *gpu;
static program programs[MOST_PROGRAMS];
static kernel kernels[MOST_KERNELS];
static int nprograms, nkernels, refused, waves;
static int logs, lists;        /* walks with LSE, and those of lists, that are generated */
static bool kept_alone;        /* walks without LSE and lists are the interpreter's */
static bool by_two_passes;     /* symmetric walks, though there is a wave */
static const program *running; /* by generated kernels; NULL: by the interpreter */
static long launches;

/* Generated kernels are the PTX of the real NVRTC (tests/ptx), and not what g++ makes of their texts. */
static bool runs_ptx (void) { return getenv("EMU_PTX") != NULL; }
/* There, most programs run in one order of threads and whole, unless GB_TEST_PROGRAMS says that there is time. */
static bool has_little_time (void) { return runs_ptx() && getenv("GB_TEST_PROGRAMS") == NULL; }

/* -- the pass of a walk, where a kernel replaces it */

void __real_gb_cuda_start (gb_cuda_type type, gb_cuda_pass pass, unsigned blocks, size_t shared,
                           cudaStream_t stream, const gb_cuda_argument *a);
void __wrap_gb_cuda_start (gb_cuda_type type, gb_cuda_pass pass, unsigned blocks, size_t shared,
                           cudaStream_t stream, const gb_cuda_argument *a);

static const kernel *kernel_of (const gb_cuda_program *p) {
  for (int w = 0; running != NULL && w < running->nwalks; w++) {
    const carried *c = &running->walk[w];
    const bool wave = c->reach == GB_CUDA_WAVE && (p->reach == GB_CUDA_ROW || p->reach == GB_CUDA_MIRROR);
    if ((wave || c->reach == p->reach) && c->reduced == p->reduced && c->lists == p->lists)
      return &kernels[c->kernel];
  }
  return NULL;
}

void __wrap_gb_cuda_start (gb_cuda_type type, gb_cuda_pass pass, unsigned blocks, size_t shared,
                           cudaStream_t stream, const gb_cuda_argument *a) {
  const kernel *k = pass <= GB_CUDA_ELEMENTS_PASS ? kernel_of(&a->program) : NULL;
  if (k == NULL) {
    __real_gb_cuda_start(type, pass, blocks, shared, stream, a);
    return;
  }
  if (k->source.reach == GB_CUDA_WAVE && pass == GB_CUDA_ROWS_PASS) return; /* made with the mirrored ones */
  gb_cuda_argument own = *a;
  void *arguments[] = {&own};
  const size_t work = gb_cuda_source_work(&k->source, &a->program);
  const unsigned grid = work < 5 ? (unsigned)work : 5; /* blocks have several units */
  assert_true(work > 0);
  assert_int_equal(cuLaunchKernel(k->function, grid, 1, 1, (unsigned)k->source.threads, 1, 1,
                                  (unsigned)k->source.shared, (CUstream)stream, arguments, NULL),
                   CUDA_SUCCESS);
  launches++;
}

/* -- texts, and their compilation */

static int kernel_of_text (gb_cuda_source *s) {
  for (int k = 0; k < nkernels; k++)
    if (strcmp(kernels[k].source.text, s->text) == 0) {
      gb_cuda_source_free(s);
      return k;
    }
  assert_true(nkernels < MOST_KERNELS);
  kernels[nkernels].source = *s;
  return nkernels++;
}

static bool has_logs (const gb_cuda_walk *w) {
  for (int k = 0; k < w->nouts; k++)
    if (w->out[k].how == GB_CUDA_LSE) return true;
  return false;
}

static bool add_walk (program *p, const gb_cuda_walk *w, int reach, gb_cuda_arithmetic a) {
  gb_cuda_source s;
  gb_error err = {.text = ""};
  if (!gb_cuda_emit(&p->x->f, w, reach, a, &s, &err)) {
    assert_string_equal(err.text, "");
    return false;
  }
  logs += has_logs(w);
  lists += w->lists;
  assert_true(p->nwalks < MOST_WALKS);
  p->walk[p->nwalks++] =
      (carried){.reach = reach, .kernel = kernel_of_text(&s), .reduced = w->reduced, .lists = w->lists};
  return true;
}

/* False: none of its walks is generated, or the device lacks a function. */
static bool add_program (fx *x, const char *name, gb_cuda_arithmetic a) {
  gb_cuda_walk *walks;
  gb_error err;
  gb_lack lack;
  int n;
  program *p = &programs[nprograms];
  assert_true(nprograms < MOST_PROGRAMS);
  *p = (program){.x = x};
  snprintf(p->name, sizeof p->name, "%s", name);
  memset(&err, 0, sizeof err);
  if (!gb_device_supports(gpu, &x->f, NULL, &lack)) return false;
  assert_int_equal(gb_cuda_encode(&x->f, &walks, &n, &err), GB_OK);
  for (int w = 0; w < n; w++) {
    if (kept_alone && !has_logs(&walks[w]) && !walks[w].lists) continue;
    const bool mirrors = x->f.symmetric && walks[w].reach == GB_CUDA_ROW;
    if (mirrors && !by_two_passes && add_walk(p, &walks[w], GB_CUDA_WAVE, a)) {
      waves++;
      continue;
    }
    refused += !add_walk(p, &walks[w], walks[w].reach, a);
    if (mirrors) refused += !add_walk(p, &walks[w], GB_CUDA_MIRROR, a);
  }
  gb_cuda_walks_free(walks, n);
  nprograms += p->nwalks > 0;
  return p->nwalks > 0;
}

/* Appends a text with its kernel named by its number. */
static void append (char **all, size_t *used, const char *text, int number) {
  const char *name = strstr(text, GB_CUDA_EMIT_NAME);
  const size_t head = (size_t)(name - text) + strlen(GB_CUDA_EMIT_NAME), room = strlen(text) + 32;
  *all = realloc(*all, *used + room);
  assert_non_null(*all);
  *used += (size_t)snprintf(*all + *used, room, "%.*s_%d%s", (int)head, text, number, text + head);
}

typedef struct job {
  int from, to; /* kernels */
  char *image;
  char log[2000];
} job;

static void *compile (void *at) {
  job *j = at;
  nvrtcProgram p;
  const char *names[64], *texts[64], *options[16] = {"-arch=sm_90"};
  char *all = NULL;
  size_t used = 0, bytes;
  for (int h = 0; h < gb_cuda_nheaders; h++)
    names[h] = gb_cuda_headers[h].name, texts[h] = gb_cuda_headers[h].text;
  for (int o = 0; o < gb_cuda_noptions; o++) options[1 + o] = gb_cuda_options[o];
  for (int k = j->from; k < j->to; k++) append(&all, &used, kernels[k].source.text, k);
  if (nvrtcCreateProgram(&p, all, "generated.cu", gb_cuda_nheaders, texts, names) != NVRTC_SUCCESS)
    return NULL;
  if (nvrtcCompileProgram(p, 1 + gb_cuda_noptions, options) == NVRTC_SUCCESS &&
      nvrtcGetCUBINSize(p, &bytes) == 0) {
    j->image = malloc(bytes);
    nvrtcGetCUBIN(p, j->image);
  } else if (nvrtcGetProgramLogSize(p, &bytes) == NVRTC_SUCCESS) {
    char *log = malloc(bytes);
    nvrtcGetProgramLog(p, log);
    const char *error = strstr(log, "error");
    if (strstr(log, "are spilled") != NULL) error = strstr(log, "are spilled") - 10;
    snprintf(j->log, sizeof j->log, "%s", error != NULL ? error : log);
    free(log);
  }
  nvrtcDestroyProgram(&p);
  free(all);
  return NULL;
}

/* Into a folder, to be looked at. */
static void write_texts (int from, int to) {
  const char *folder = getenv("GB_TEST_TEXTS");
  for (int k = from; folder != NULL && k < to; k++) {
    char path[512];
    snprintf(path, sizeof path, "%s/%d.cu", folder, k);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(kernels[k].source.text, f);
    fclose(f);
  }
}

static void load (const job *j) {
  CUmodule m;
  assert_int_equal(cuModuleLoadData(&m, j->image), CUDA_SUCCESS);
  for (int k = j->from; k < j->to; k++) {
    char name[64];
    snprintf(name, sizeof name, "%s_%d", GB_CUDA_EMIT_NAME, k);
    assert_int_equal(cuModuleGetFunction(&kernels[k].function, m, name), CUDA_SUCCESS);
  }
  free(j->image);
}

/* Kernels [from, to), in two threads. */
static void compile_kernels (int from, int to) {
  write_texts(from, to);
  job jobs[MOST_KERNELS / AT_ONCE + 1];
  int n = 0;
  for (int k = from; k < to; k += AT_ONCE, n++)
    jobs[n] = (job){.from = k, .to = k + AT_ONCE < to ? k + AT_ONCE : to};
  for (int i = 0; i < n; i += 2) {
    pthread_t other;
    if (i + 1 < n) assert_int_equal(pthread_create(&other, NULL, compile, &jobs[i + 1]), 0);
    compile(&jobs[i]);
    if (i + 1 < n) pthread_join(other, NULL);
  }
  for (int i = 0; i < n; i++) {
    /* Registers are given kernel by kernel, but what they call is laid out for a whole text. */
    if (jobs[i].image != NULL) load(&jobs[i]);
    else if (strstr(jobs[i].log, "spilled") == NULL || jobs[i].to - jobs[i].from == 1)
      fail_msg("kernels %d to %d: %s", jobs[i].from, jobs[i].to, jobs[i].log);
    else
      for (int k = jobs[i].from; k < jobs[i].to; k++) compile_kernels(k, k + 1);
  }
}

/* -- runs */

static bool is_empty (const gb_fold *f) {
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].extent == 0) return true;
  return false;
}

/* Functions of NVRTC's own library, where PTX runs: each within some ulp of the largest element. */
static bool is_near (const fx *x, void **want) {
  const double tolerance = x->f.compute == GB_F32 ? 2e-5 : 1e-13;
  for (int s = 0; s < x->nslots; s++) {
    double most = 1;
    for (size_t e = 0; e < x->out_n[s]; e++) {
      const double a = fabs(gb_element_get(want[s], e, x->slot_dtype[s]));
      if (a > most && a < INFINITY) most = a;
    }
    for (size_t e = 0; e < x->out_n[s]; e++) {
      const double a = gb_element_get(want[s], e, x->slot_dtype[s]),
                   b = gb_element_get(x->got[s], e, x->slot_dtype[s]);
      if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * most) continue;
      print_message("slot %d element %zu: expected about %.17g, got %.17g\n", s, e, a, b);
      return false;
    }
  }
  return true;
}

static bool has_bits_of (fx *x, void **want) {
  if (runs_ptx() && !far_has_exact_bits(&x->f)) return is_near(x, want);
  return fx_alike(x, want, x->got);
}

/* The program by its generated kernels, or by the interpreter (NULL), whole or in parts, has the interpreter's bits. */
static bool is_alike (fx *x, void **want, const program *p, const gb_cut *c, size_t step) {
  const long before = launches;
  running = p;
  if (c == NULL) far_run(gpu, x);
  else far_run_parts(gpu, x, c, step);
  running = NULL;
  return has_bits_of(x, want) && (launches > before || p == NULL || c != NULL || is_empty(&x->f));
}

static bool has_the_interpreters_bits (const program *p, uint64_t seed) {
  fx *x = p->x;
  void *want[MOST];
  far_run(gpu, x);
  memcpy(want, x->got, sizeof want);
  memset(x->got, 0, sizeof x->got);
  bool ok = is_alike(x, want, p, NULL, 0);
  for (int a = 0; ok && a < x->f.naxes && !(has_little_time() && seed % 5 > 0); a++) {
    gb_cut c = {.axis = a, .factor = 1};
    gb_schedule_chains(&x->f, true);
    c.cut = x->f.axis[a].role != GB_AXIS_INNER && x->f.axis[a].extent > 1 && gb_cut_fold_unit(&x->f, &c, 0);
    if (!c.cut || c.unit >= x->f.axis[a].extent) continue;
    const size_t units = (x->f.axis[a].extent + c.unit - 1) / c.unit, many = (units + 9) / 10;
    ok = is_alike(x, want, p, &c, c.unit * many * (1 + (seed + (uint64_t)a) % 7));
  }
  for (int s = 0; s < MOST; s++) free(want[s]);
  return ok;
}

/* Every step-th of them. */
static void run_programs (int from, int step, const char *order) {
  int wrong = 0;
  assert_true(emu_set("ORDER", order));
  for (int n = from; n < nprograms; n += step) {
    if (has_the_interpreters_bits(&programs[n], (uint64_t)n)) continue;
    print_message("%s, order %s\n", programs[n].name, order);
    if (getenv("GB_TEST_PRINT") != NULL) {
      fx_print(programs[n].x);
      for (int w = 0; w < programs[n].nwalks; w++) puts(kernels[programs[n].walk[w].kernel].source.text);
    }
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

static void run_in_all_orders (int from) {
  static const char *const orders[] = {"fwd", "rev", "7"};
  for (int k = 0; k < 3; k++)
    if (!has_little_time()) run_programs(from, 1, orders[k]);
    else if (k < 2) run_programs(from + k, 2, orders[k]);
  emu_set("ORDER", NULL);
}

static void drop (fx *x) {
  if (x == NULL) return;
  fx_free(x);
  free(x);
}

static int add_random (fx *(*make)(uint64_t seed), const char *name, int count) {
  int added = 0;
  for (uint64_t seed = 1; seed <= (uint64_t)count; seed++) {
    char of[64];
    snprintf(of, sizeof of, "%s %d", name, (int)seed);
    fx *x = make(seed);
    if (x != NULL) far_make_rough(x);
    if (x != NULL && add_program(x, of, GB_CUDA_EXACT)) added++;
    else drop(x);
  }
  return added;
}

static void random_programs_have_the_interpreters_bits (void **state) {
  (void)state;
  const int from = nprograms, first = nkernels;
  const int folds = add_random(random_fold, "random fold", RANDOM_FOLDS);
  const int chains = add_random(random_chain, "random chain", RANDOM_CHAINS);
  compile_kernels(first, nkernels);
  run_in_all_orders(from);
  print_message("%d and %d random programs, %d kernels, %d walks refused\n", folds, chains, nkernels - first,
                refused);
  assert_true(folds >= 20 && chains >= 20 && nkernels >= 110);
}

/* Not rough: equal elements are what positions are about. */
static int add_kept (int count) {
  int added = 0;
  for (uint64_t seed = 1; seed <= (uint64_t)count; seed++) {
    char of[64];
    snprintf(of, sizeof of, "random kept %d", (int)seed);
    fx *x = random_kept(seed);
    if (x != NULL && add_program(x, of, GB_CUDA_EXACT)) added++;
    else drop(x);
  }
  return added;
}

static void random_kept_elements_are_the_interpreters (void **state) {
  (void)state;
  const int from = nprograms, first = nkernels, refusals = refused;
  logs = lists = 0;
  kept_alone = true;
  const int added = add_kept(RANDOM_KEPT);
  kept_alone = false;
  compile_kernels(first, nkernels);
  run_in_all_orders(from);
  print_message("%d random programs, %d kernels, %d walks with LSE, %d of lists, %d refused\n", added,
                nkernels - first, logs, lists, refused - refusals);
  assert_true(logs >= 8 && lists >= 16);
}

static fx *rough_program (int number, int size) {
  fx *x = kernel_program(number, size);
  far_make_rough(x);
  return x;
}

/* All sizes of a program have one text, but where strides of nothing are 0. */
static void programs_of_kernels_have_the_interpreters_bits (void **state) {
  (void)state;
  const int from = nprograms, first = nkernels, refusals = refused;
  for (int number = 0; number < nkernel_programs; number++) {
    int texts = nkernels;
    for (int size = 0; size < nkernel_sizes; size++) {
      char of[64];
      snprintf(of, sizeof of, "kernel program %d of size %d", number, size);
      fx *x = rough_program(number, size);
      if (!add_program(x, of, GB_CUDA_EXACT)) fail_msg("%s is refused", of);
      by_two_passes = x->f.symmetric && x->f.nouts > 1;
      if (by_two_passes) assert_true(add_program(rough_program(number, size), of, GB_CUDA_EXACT));
      by_two_passes = false;
      if (size == 0 || is_empty(&x->f)) texts = nkernels;
      if (nkernels != texts)
        fail_msg("%s has a text of its own:\n%s%s", of, kernels[texts - 1].source.text,
                 kernels[texts].source.text);
    }
  }
  compile_kernels(first, nkernels);
  run_in_all_orders(from);
  print_message("%d programs of kernels, %d kernels, %d walks refused, %d waves\n", nprograms - from,
                nkernels - first, refused - refusals, waves);
  assert_int_equal(refused, refusals);
  assert_int_equal(waves, WAVES * nkernel_sizes);
}

/* -- panels */

/* In panels of one unit, and of two of a single column. */
static bool is_alike_in_panels (const program *p) {
  static const size_t bytes[] = {1, 70000};
  void *want[MOST];
  far_run(gpu, p->x);
  memcpy(want, p->x->got, sizeof want);
  memset(p->x->got, 0, sizeof p->x->got);
  bool ok = true;
  for (int k = 0; ok && k < 2; k++) {
    gb_cuda_of(gpu)->panel = bytes[k];
    ok = is_alike(p->x, want, p, NULL, 0) && is_alike(p->x, want, NULL, NULL, 0);
  }
  gb_cuda_of(gpu)->panel = 0;
  for (int s = 0; s < MOST; s++) free(want[s]);
  return ok;
}

/* What a panel of a symmetric walk mirrors is that of later panels, too, by the wave, by two kernels, and by the interpreter. */
static void symmetric_walks_are_divided (void **state) {
  (void)state;
  static const int numbers[] = {25, 26, 28, 30};
  const int from = nprograms, first = nkernels, before = waves;
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    assert_true(add_program(rough_program(numbers[k], nkernel_sizes), "divided", GB_CUDA_EXACT));
  assert_int_equal(waves - before, 3);
  assert_int_equal(nkernels, first); /* the texts of other sizes */
  emu_set("ORDER", "7");
  for (int n = from; n < nprograms; n++)
    if (!is_alike_in_panels(&programs[n])) fail_msg("kernel program %d in panels", numbers[n - from]);
  emu_set("ORDER", NULL);
}

/* Lists, or instructions alone, lie outside of the argument of the kernel. */
static void long_programs_have_the_interpreters_bits (void **state) {
  (void)state;
  const int from = nprograms, first = nkernels;
  for (int wide = 0; wide < 2; wide++) {
    fx *x = calloc(1, sizeof *x);
    long_program(x, wide == 1);
    far_make_rough(x);
    assert_true(add_program(x, wide ? "wide" : "long", GB_CUDA_EXACT));
  }
  compile_kernels(first, nkernels);
  run_in_all_orders(from);
}

/* -- class UNIT, and NaN */

static float *result_of (const fx *x, void **buffers) {
  assert_int_equal(x->slot_dtype[0], GB_F32);
  return buffers[0];
}

/* The largest difference of two results; NaN where one of them is. */
static double distance (const fx *x, void **a, void **b) {
  double most = 0;
  for (size_t k = 0; k < x->out_n[0]; k++) {
    const double d = fabs((double)result_of(x, a)[k] - (double)result_of(x, b)[k]);
    if (!(d <= most)) most = d;
  }
  return most;
}

/* They have the bits of the interpreter in that class, and are near those of the other one. Here 2^x is the host's library. */
static void unit_kernels_are_close (void **state) {
  (void)state;
  static const int numbers[] = {0, 1, 2, 3, 4, 5, 28, 29, 30};
  const int from = nprograms, first = nkernels;
  int other = 0;
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    fx *x = kernel_program(numbers[k], 0);
    far_make_rough(x);
    assert_true(add_program(x, "unit", GB_CUDA_UNIT));
  }
  compile_kernels(first, nkernels);
  assert_int_equal(nkernels - first, sizeof numbers / sizeof *numbers); /* no text is that of class EXACT */
  for (int n = from; n < nprograms; n++) {
    void *unit[MOST];
    fx *x = programs[n].x;
    gpu->arithmetic = GB_CUDA_UNIT;
    assert_true(has_the_interpreters_bits(&programs[n], (uint64_t)n));
    gpu->arithmetic = GB_CUDA_EXACT;
    memcpy(unit, x->got, sizeof unit);
    memset(x->got, 0, sizeof x->got);
    far_run(gpu, x);
    const double d = distance(x, unit, x->got);
    other += d > 0;
    assert_true(d <= 2e-5); /* of sums of 257 terms */
    for (int s = 0; s < MOST; s++) free(unit[s]);
  }
  assert_true(other >= 3);
}

/* LSE takes exponentials of values that the unit has made. */
static void logs_of_unit_kernels_have_the_interpreters_bits (void **state) {
  (void)state;
  static const int numbers[] = {38, 39, 42};
  const int from = nprograms, first = nkernels;
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    assert_true(add_program(rough_program(numbers[k], 0), "logs", GB_CUDA_UNIT));
  compile_kernels(first, nkernels);
  assert_int_equal(nkernels - first, sizeof numbers / sizeof *numbers);
  gpu->arithmetic = GB_CUDA_UNIT;
  for (int n = from; n < nprograms; n++) assert_true(has_the_interpreters_bits(&programs[n], (uint64_t)n));
  gpu->arithmetic = GB_CUDA_EXACT;
}

/* A point that is NaN makes its own row NaN and no other one, in both classes; of a product with itself, all rows. */
static void a_point_that_is_nan_is_one_row (void **state) {
  (void)state;
  int seen = 0;
  for (int n = 0; n < nprograms; n++) {
    fx *x = programs[n].x;
    const bool unit = strcmp(programs[n].name, "unit") == 0;
    if (!unit && strcmp(programs[n].name, "kernel program 2 of size 0") != 0) continue;
    if (x->operand[0].dtype != GB_F32) continue;
    ((float *)x->in[x->operand[0].slot])[x->operand[0].offset + 5 * x->operand[0].stride[0]] = NAN;
    running = &programs[n];
    far_run(gpu, x);
    running = NULL;
    for (size_t k = 0; k < x->f.axis[0].extent; k++) {
      const float v = result_of(x, x->got)[x->out[0].offset + (ptrdiff_t)k * x->out[0].stride[0]];
      assert_int_equal(isnan(v) != 0, x->f.symmetric || k == 5);
    }
    seen++;
  }
  assert_true(seen >= 8);
}

static void close_all (void) {
  for (int n = 0; n < nprograms; n++) drop(programs[n].x);
  for (int k = 0; k < nkernels; k++) gb_cuda_source_free(&kernels[k].source);
}

int main (void) {
  gb_error err;
  setenv("GIBBOUS_CUDA_COMPILE", "off", 1); /* kernels are this test's */
  setenv("GIBBOUS_CUDA_ARITHMETIC", "exact", 1);
  if (gpu_open(0, (size_t)1 << 30, &gpu, &err) != GB_OK) {
    print_message("%s\n", err.text);
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_of_kernels_have_the_interpreters_bits),
      cmocka_unit_test(symmetric_walks_are_divided),
      cmocka_unit_test(random_programs_have_the_interpreters_bits),
      cmocka_unit_test(random_kept_elements_are_the_interpreters),
      cmocka_unit_test(long_programs_have_the_interpreters_bits),
      cmocka_unit_test(unit_kernels_are_close),
      cmocka_unit_test(logs_of_unit_kernels_have_the_interpreters_bits),
      cmocka_unit_test(a_point_that_is_nan_is_one_row),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  close_all();
  gpu_close(gpu);
  return failed;
}
