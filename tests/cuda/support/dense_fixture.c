#include "cuda/support/dense_fixture.h"

#define GUARD ((size_t)256)
#define POISON 0xcb

gb_device *far_gpu;
bool ran_far[GB_NOPS];
size_t far_room[3];

static const struct {
  const char *order, *schedule;
} settings[] = {{"fwd", "eager"}, {"rev", "lazy"}, {"7", "3"}};
static int setting;

static int start_far (void **state) {
  gb_error err;
  (void)state;
  gpu_begin();
  assert_true(emu_set("ORDER", settings[setting].order));
  assert_true(emu_set("SCHEDULE", settings[setting].schedule));
  op_device = gpu_home();
  if (gpu_open(0, (size_t)512 << 20, &far_gpu, &err) != GB_OK) fail_msg("%s", err.text);
  return 0;
}

static int stop_far (void **state) {
  (void)state;
  gpu_close(far_gpu);
  return 0;
}

int run_far_tests (const char *name, const struct CMUnitTest *tests, size_t count) {
  int failed = 0;
  for (setting = 0; setting < (int)(sizeof settings / sizeof *settings); setting++) {
    print_message("threads %s, work %s\n", settings[setting].order, settings[setting].schedule);
    failed += _cmocka_run_group_tests(name, tests, count, start_far, stop_far);
  }
  return failed;
}

/* -- memory of the GPU between guards */

typedef struct piece {
  gb_block block;
  size_t bytes;
} piece;

static void *piece_at (const piece *p) { return (char *)p->block.data + GUARD; }

static void piece_new (piece *p, size_t bytes, const void *contents) {
  gb_error err;
  unsigned char *image = malloc(bytes + 2 * GUARD);
  *p = (piece){.bytes = bytes};
  if (gb_ledger_alloc(&far_gpu->ledger, GB_MEM_WORKSPACE, bytes + 2 * GUARD, "", "", &p->block, &err) !=
      GB_OK)
    fail_msg("%s", err.text);
  memset(image, POISON, bytes + 2 * GUARD);
  if (contents != NULL && bytes > 0) memcpy(image + GUARD, contents, bytes);
  assert_int_equal(gb_memory_upload(&far_gpu->memory, p->block.data, image, bytes + 2 * GUARD, &err), GB_OK);
  free(image);
}

/* Its bytes, a copy; checks the guards. */
static void *piece_read (const piece *p, const char *what) {
  gb_error err;
  unsigned char *image = malloc(p->bytes + 2 * GUARD);
  if (gb_memory_download(&far_gpu->memory, image, p->block.data, p->bytes + 2 * GUARD, &err) != GB_OK)
    fail_msg("%s", err.text);
  for (size_t i = 0; i < GUARD; i++)
    if (image[i] != POISON || image[GUARD + p->bytes + i] != POISON)
      fail_msg("%s: guard byte %zu of %zu bytes was overwritten", what, i, p->bytes);
  memmove(image, image + GUARD, p->bytes);
  return image;
}

static void piece_free (piece *p) { gb_ledger_free(&far_gpu->ledger, &p->block); }

/* Pieces of scratch are multiples of 256 bytes. A library of a real GPU need not write all that it asked for. */
static void check_scratch (const piece *scratch, const char *name) {
  unsigned char *bytes = piece_read(scratch, name);
  size_t idle = 0;
  while (idle < scratch->bytes && bytes[scratch->bytes - 1 - idle] == POISON) idle++;
  if (idle >= GUARD && !emu_is_real())
    fail_msg("%s: %zu of %zu bytes of scratch stay unused", name, idle, scratch->bytes);
  free(bytes);
}

/* -- a run */

static gb_status run_far (op_case *c, int place, void **out, gb_error *err) {
  const char *name = gb_ops[c->o.op].name;
  piece in[3], result[GB_MAX_OUTPUTS], scratch;
  const void *from[3];
  void *to[GB_MAX_OUTPUTS];
  for (int i = 0; i < c->o.nin; i++) {
    const size_t bytes = gb_shape_bytes(&c->o.in_shape[i], c->o.in_dtype[i]);
    piece_new(&in[i], far_room[i] != 0 ? far_room[i] : bytes, c->in[i]);
    from[i] = piece_at(&in[i]);
  }
  for (int i = 0; i < c->o.nout; i++) {
    piece_new(&result[i], c->bytes[i], c->o.continues ? c->out[i] : NULL);
    to[i] = i == 0 && place >= 0 ? piece_at(&in[place]) : piece_at(&result[i]);
  }
  piece_new(&scratch, gb_device_opaque_scratch(far_gpu, &c->o), NULL);
  gb_status st = gb_device_opaque(far_gpu, &c->o, from, to, piece_at(&scratch), err);
  if (st == GB_OK) st = gb_device_wait(far_gpu, err);
  if (st == GB_OK) check_scratch(&scratch, name);
  for (int i = 0; i < c->o.nout; i++) {
    out[i] = piece_read(i == 0 && place >= 0 ? &in[place] : &result[i], name);
    piece_free(&result[i]);
  }
  for (int i = 0; i < c->o.nin; i++) piece_free(&in[i]);
  piece_free(&scratch);
  ran_far[c->o.op] |= st == GB_OK;
  return st;
}

far_run run_both (op_case *c, int place) {
  far_run r = {GB_OK};
  r.far = run_far(c, place, r.out, &r.far_error);
  r.near = op_run(c);
  r.near_error = op_error;
  return r;
}

void end_both (op_case *c, far_run *r) {
  for (int i = 0; i < c->o.nout; i++) free(r->out[i]);
  op_free(c);
}

void assert_both_run (const op_case *c, const far_run *r) {
  if (r->near != GB_OK) fail_msg("%s at home: %s", gb_ops[c->o.op].name, r->near_error.text);
  if (r->far != GB_OK) fail_msg("%s on the GPU: %s", gb_ops[c->o.op].name, r->far_error.text);
}

/* The sign of a zero sum is that of the library's first addend. */
static bool is_same (gb_dtype t, bool values, const void *near, const void *far, size_t e) {
  const size_t size = gb_dtype_size(t);
  if (memcmp((const char *)near + e * size, (const char *)far + e * size, size) == 0) return true;
  return values && gb_element_get(near, e, t) == 0 && gb_element_get(far, e, t) == 0;
}

static void assert_output (const op_case *c, int output, bool values, const void *far) {
  const gb_dtype t = c->o.out_dtype[output];
  const void *near = c->out[output];
  const size_t n = c->bytes[output] / gb_dtype_size(t);
  size_t first = n, count = 0;
  for (size_t e = n; e-- > 0;)
    if (!is_same(t, values, near, far, e)) first = e, count++;
  if (count > 0)
    fail_msg("%s %s: %zu of %zu elements of output %d differ, %zu: %.17g at home, %.17g on the GPU",
             gb_ops[c->o.op].name, gb_dtype_name(t), count, n, output, first, gb_element_get(near, first, t),
             gb_element_get(far, first, t));
}

static void assert_same (op_case *c, int place, bool values) {
  far_run r = run_both(c, place);
  assert_both_run(c, &r);
  for (int i = 0; i < c->o.nout; i++) assert_output(c, i, values, r.out[i]);
  end_both(c, &r);
}

void assert_same_bytes (op_case *c, int place) { assert_same(c, place, false); }
void assert_same_values (op_case *c, int place) { assert_same(c, place, true); }

void assert_same_failure (op_case *c, gb_status st, const char *words) {
  far_run r = run_both(c, -1);
  assert_int_equal(r.near, st);
  if (r.far != st) fail_msg("status %d, %s", r.far, r.far == GB_OK ? "" : r.far_error.text);
  assert_string_equal(r.far_error.text, r.near_error.text);
  assert_int_equal(r.far_error.order, r.near_error.order);
  if (strstr(r.far_error.text, words) == NULL) fail_msg("'%s' expected in '%s'", words, r.far_error.text);
  end_both(c, &r);
}

/* -- rows */

static gb_opaque row_of (gb_op op) {
  gb_opaque o = {.op = op, .nin = gb_ops[op].inputs < 0 ? 1 : gb_ops[op].inputs, .nout = gb_ops[op].outputs};
  for (int i = 0; i < 4; i++) o.in_shape[i] = shape2(2, 2);
  return o;
}

void assert_rows_are_covered (bool dense, const gb_op *home, int nhome) {
  int rows = 0, refused = 0;
  for (gb_op op = 0; op < GB_NOPS; op++) {
    if (gb_ops[op].kind != GB_KIND_OPAQUE || gb_op_has(op, GB_TRAIT_DENSE) != dense) continue;
    gb_lack lack;
    const gb_opaque o = row_of(op);
    bool at_home = false;
    for (int i = 0; i < nhome; i++) at_home |= home[i] == op;
    rows++;
    if (gb_device_supports(far_gpu, NULL, &o, &lack) == at_home)
      fail_msg("%s: %s", gb_ops[op].name, lack.why != NULL ? lack.why : "it runs on the GPU");
    if (!at_home && !ran_far[op]) fail_msg("no test runs %s on the GPU", gb_ops[op].name);
    refused += at_home;
    if (at_home && strcmp(lack.why, "it gives no reason") == 0) fail_msg("%s: no reason", gb_ops[op].name);
  }
  assert_int_equal(refused, nhome);
  assert_true(rows > nhome);
  print_message("%d rows: %d on the GPU, %d at home\n", rows, rows - refused, refused);
}

/* -- numbers */

double distance (const void *x, const void *y, size_t n, gb_dtype t) {
  double most = 0;
  for (size_t i = 0; i < n; i++) {
    const double d = fabs(gb_element_get(x, i, t) - gb_element_get(y, i, t));
    if (!(d <= most)) most = d;
  }
  return most;
}

double *dyadic (size_t n, uint64_t seed) {
  double *x = random_normal(n, seed);
  for (size_t i = 0; i < n; i++) x[i] = floor(4 * x[i]) / 4;
  return x;
}
