/* The public interface as a program sees it: this file is compiled with host/include alone on its path. */
#include <gibbous.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 61, M = 47, D = 3, R = 2, HELD = 128 };

static gb_session *session;
static gb_error err;
static gb_node *held[HELD];
static int nheld;

static gb_node *hold (gb_status st, gb_node *x) {
  if (st != GB_OK) fail_msg("%s: %s", gibbous_status_text(st), err.text);
  assert_true(x != NULL && nheld < HELD);
  return held[nheld++] = x;
}

/* NEW(gibbous_matmul, x, y) calls gibbous_matmul(x, y, &node, &err); the test holds the node. It does
** not nest. */
#define NEW(call, ...)                                                                                       \
  ({                                                                                                         \
    gb_node *new_ = NULL;                                                                                    \
    const gb_status st_ = call(__VA_ARGS__, &new_, &err);                                                    \
    hold(st_, new_);                                                                                         \
  })

/* That it fails so, says so, and gives nothing. */
#define REFUSED(status, words, call, ...)                                                                    \
  do {                                                                                                       \
    gb_node *none_ = (gb_node *)&err;                                                                        \
    err.text[0] = '\0';                                                                                      \
    assert_int_equal(call(__VA_ARGS__, &none_, &err), status);                                               \
    if (strstr(err.text, words) == NULL) fail_msg("'%s' is not in '%s'", words, err.text);                   \
    assert_null(none_);                                                                                      \
  } while (0)

#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != GB_OK) fail_msg("%s", err.text);                                                           \
  } while (0)

static gb_session_options options (void) {
  const char *kind = getenv("GIBBOUS_DEVICE");
  return (gb_session_options){.device = kind, .threads = 2, .limit = (size_t)64 << 20};
}

static int begin (void **state) {
  (void)state;
  const gb_session_options o = options();
  return gibbous_open(&o, &session, &err) == GB_OK ? 0 : -1;
}

static size_t used (void) {
  gb_memory_use m;
  OK(gibbous_memory(session, 0, &m, &err));
  return m.used;
}

/* The session closes only if the test has leaked no node. */
static int end (void **state) {
  (void)state;
  while (nheld > 0) gibbous_unref(held[--nheld]);
  const gb_status st = gibbous_close(session, &err);
  if (st != GB_OK) print_error("%s\n", err.text);
  return st == GB_OK ? 0 : -1;
}

/* The same numbers for the same seed, in (-1, 1). */
static void fill (double *to, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    to[i] = (double)(seed >> 8) / 8388608.0 - 1;
  }
}

static gb_shape shape (int ndim, size_t a, size_t b) { return (gb_shape){.ndim = ndim, .dim = {a, b}}; }

static gb_node *matrix (const double *data, size_t rows, size_t columns) {
  const gb_shape s = shape(2, rows, columns);
  return NEW(gibbous_tensor, session, GB_F64, &s, data, "a matrix");
}

static gb_node *map1 (const char *op, gb_node *x) { return NEW(gibbous_map, op, 1, &x); }
static gb_node *map2 (const char *op, gb_node *x, gb_node *y) {
  gb_node *in[] = {x, y};
  return NEW(gibbous_map, op, 2, in);
}

static void assert_read (gb_node *x, size_t n, const double *want, double tolerance) {
  double got[N * N];
  assert_true(n <= N * N);
  OK(gibbous_read(x, GB_F64, got, n, &err));
  for (size_t i = 0; i < n; i++)
    if (!(fabs(got[i] - want[i]) <= tolerance))
      fail_msg("element %zu: %.17g, expected %.17g", i, got[i], want[i]);
}

/* -- values against plain loops */

static double x_[N * D], y_[M * D], v_[M * R];

/* sum((K v)^2), K_ij = exp(-c |x_i - y_j|^2 / 2), and its gradients. */
static double loops (double c, double product[N * R], double dx[N * D], double *dc) {
  static double k[N][M], s[N][M];
  double loss = 0;
  memset(product, 0, N * R * sizeof *product);
  memset(dx, 0, N * D * sizeof *dx);
  *dc = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      s[i][j] = 0;
      for (int d = 0; d < D; d++) s[i][j] += pow(x_[i * D + d] - y_[j * D + d], 2);
      k[i][j] = exp(-c * s[i][j] / 2);
      for (int r = 0; r < R; r++) product[i * R + r] += k[i][j] * v_[j * R + r];
    }
  for (int i = 0; i < N * R; i++) loss += product[i] * product[i];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      double bar = 0;
      for (int r = 0; r < R; r++) bar += 2 * product[i * R + r] * v_[j * R + r] * k[i][j];
      *dc -= bar * s[i][j] / 2;
      for (int d = 0; d < D; d++) dx[i * D + d] -= bar * c * (x_[i * D + d] - y_[j * D + d]);
    }
  return loss;
}

static gb_node *product_of (gb_node *x, gb_node *y, gb_node *c, gb_node *v) {
  gb_node *s = NEW(gibbous_sqdist, x, y, NULL);
  gb_node *k = NEW(gibbous_profile, "rbf", s, c, NULL);
  return NEW(gibbous_matmul, k, v);
}

static gb_node *loss_of (gb_node *product) {
  return NEW(gibbous_reduce, "sum", map1("square", product), 0, false);
}

static void test_kernel_product (void **state) {
  (void)state;
  const double c_ = 0.8;
  double product[N * R], dx[N * D], dc;
  const double loss = loops(c_, product, dx, &dc);
  const gb_shape sx = shape(2, N, D), scalar = shape(0, 0, 0);
  gb_node *x = NEW(gibbous_variable, session, GB_F64, &sx, x_, "x");
  gb_node *c = NEW(gibbous_variable, session, GB_F64, &scalar, &c_, "c");
  gb_node *kv = product_of(x, matrix(y_, M, D), c, matrix(v_, M, R));
  const gb_shape got = gibbous_shape(kv);
  assert_int_equal(got.ndim, 2);
  assert_int_equal(got.dim[0], N);
  assert_int_equal(got.dim[1], R);
  assert_read(kv, N * R, product, 1e-12);
  gb_node *y = loss_of(kv), *by[] = {x, c}, *gradient[2];
  assert_read(y, 1, &loss, 1e-10);
  OK(gibbous_eval(1, &y, &err));
  OK(gibbous_grad(y, 2, by, gradient, &err));
  for (int i = 0; i < 2; i++) hold(GB_OK, gradient[i]);
  OK(gibbous_eval(2, gradient, &err));
  assert_read(gradient[0], N * D, dx, 1e-10);
  assert_read(gradient[1], 1, &dc, 1e-10);
}

/* A = V V' / 4 + I, by a Cholesky factor in plain loops. */
static void test_linear_algebra (void **state) {
  (void)state;
  static double a[N][N], l[N][N];
  double z[N], alpha[N], logdet = 0, quad = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      a[i][j] = i == j;
      for (int d = 0; d < D; d++) a[i][j] += x_[i * D + d] * x_[j * D + d] / 4;
    }
  for (int j = 0; j < N; j++)
    for (int i = j; i < N; i++) {
      double s = a[i][j];
      for (int k = 0; k < j; k++) s -= l[i][k] * l[j][k];
      l[i][j] = i == j ? sqrt(s) : s / l[j][j];
    }
  for (int i = 0; i < N; i++) {
    z[i] = v_[i];
    for (int k = 0; k < i; k++) z[i] -= l[i][k] * z[k];
    z[i] /= l[i][i];
    logdet += 2 * log(l[i][i]);
    quad += z[i] * z[i];
  }
  for (int i = N - 1; i >= 0; i--) {
    alpha[i] = z[i];
    for (int k = i + 1; k < N; k++) alpha[i] -= l[k][i] * alpha[k];
    alpha[i] /= l[i][i];
  }
  gb_node *x = matrix(x_, N, D), *xt = NEW(gibbous_transpose, x);
  gb_node *xx = NEW(gibbous_matmul, x, xt), *quarter = NEW(gibbous_number, session, 0.25);
  gb_node *eye = NEW(gibbous_eye, session, N, GB_F64), *A = map2("add", map2("mul", xx, quarter), eye);
  const gb_shape s = shape(1, N, 0);
  gb_node *b = NEW(gibbous_tensor, session, GB_F64, &s, v_, NULL);
  gb_node *factor = NEW(gibbous_cholesky, A, 0);
  assert_read(factor, N * N, &l[0][0], 1e-12);
  assert_read(NEW(gibbous_triangular_solve, factor, b, false, false), N, z, 1e-12);
  assert_read(NEW(gibbous_solve, A, b), N, alpha, 1e-12);
  assert_read(NEW(gibbous_logdet, A), 1, &logdet, 1e-12);
  assert_read(NEW(gibbous_inv_quad, A, b), 1, &quad, 1e-12);
  gb_node *broken = NEW(gibbous_cholesky, map1("neg", A), 0);
  assert_int_equal(gibbous_eval(1, &broken, &err), GB_ENOTPD);
  assert_int_equal(err.order, 1);
}

static void test_views_and_reductions (void **state) {
  (void)state;
  const double six[] = {3, 1, 2, 6, 5, 4}, turned[] = {3, 6, 1, 5, 2, 4}, last[] = {2, 1, 4, 5},
               sums[] = {6, 15}, mean = 3.5, both[] = {3, 1, 2, 3, 1, 2}, beside[] = {3, 1, 2, 3, 6, 5, 4, 6},
               chosen[] = {-3, 1, 2, -6, -5, -4};
  gb_node *x = matrix(six, 2, 3);
  assert_read(NEW(gibbous_transpose, x), 6, turned, 0);
  assert_read(NEW(gibbous_permute, x, 2, ((int[]){1, 0})), 6, turned, 0);
  assert_read(NEW(gibbous_slice, x, -1, 2, -1, 2), 4, last, 0);
  const gb_shape flat = shape(1, 6, 0), three = shape(1, 3, 0), two_by_three = shape(2, 2, 3);
  assert_read(NEW(gibbous_reshape, x, &flat), 6, six, 0);
  gb_node *row = NEW(gibbous_tensor, session, GB_F64, &three, six, "row");
  gb_node *lifted = NEW(gibbous_unsqueeze, row, 0);
  assert_read(NEW(gibbous_expand, lifted, &two_by_three), 6, both, 0);
  gb_node *parts[] = {x, NEW(gibbous_slice, x, 1, 0, 1, 1)};
  assert_read(NEW(gibbous_cat, 2, parts, 1), 8, beside, 0);
  gb_node *sum = NEW(gibbous_reduce, "sum", x, 1u << 1, true);
  assert_int_equal(gibbous_shape(sum).ndim, 2);
  assert_read(sum, 2, sums, 0);
  assert_read(NEW(gibbous_reduce, "mean", x, 0, false), 1, &mean, 0);
  gb_node *three_ = NEW(gibbous_number, session, 3);
  gb_node *in[] = {map2("lt", x, three_), x, map1("neg", x)};
  assert_read(NEW(gibbous_map, "where", 3, in), 6, chosen, 0);

  gb_node *at = NEW(gibbous_reduce, "argmax", x, 1u << 1, false);
  int64_t position[2] = {0};
  assert_int_equal(gibbous_dtype(at), GB_I64);
  OK(gibbous_read(at, GB_I64, position, 2, &err));
  assert_int_equal(position[0], 1);
  assert_int_equal(position[1], 1);
  gb_node *f32 = NEW(gibbous_cast, x, GB_F32);
  float narrow[6] = {0};
  OK(gibbous_read(f32, GB_F32, narrow, 6, &err));
  for (int i = 0; i < 6; i++) assert_true(narrow[i] == (float)six[i]);
  assert_read(f32, 6, six, 0);
  const int64_t big[] = {(INT64_C(1) << 53) + 1, -1};
  const gb_shape two = shape(1, 2, 0);
  gb_node *whole = NEW(gibbous_tensor, session, GB_I64, &two, big, NULL);
  OK(gibbous_read(whole, GB_I64, position, 2, &err));
  assert_memory_equal(position, big, sizeof big);
  const int32_t labels[] = {INT32_MAX, -7};
  int32_t back[2] = {0};
  gb_node *stored = NEW(gibbous_tensor, session, GB_I32, &two, labels, NULL);
  OK(gibbous_read(stored, GB_I32, back, 2, &err));
  assert_memory_equal(back, labels, sizeof labels);
  gb_node *more = map2("add", stored, NEW(gibbous_number, session, 8));
  assert_int_equal(gibbous_dtype(more), GB_I64);
  OK(gibbous_read(more, GB_I64, position, 2, &err));
  assert_true(position[0] == (INT64_C(1) << 31) + 7 && position[1] == 1);
}

/* More elements than are copied at a time. */
static void test_long_reads (void **state) {
  (void)state;
  enum { LONG = 9001 };
  static double from[LONG], to[LONG];
  static float narrow[LONG];
  const gb_shape s = shape(1, LONG, 0);
  for (int i = 0; i < LONG; i++) from[i] = i;
  gb_node *x = NEW(gibbous_tensor, session, GB_F64, &s, from, NULL), *f32 = NEW(gibbous_cast, x, GB_F32);
  assert_read(NEW(gibbous_slice, x, 0, LONG - 1, -1, 3), 3, (double[]){LONG - 1, LONG - 2, LONG - 3}, 0);
  OK(gibbous_read(x, GB_F64, to, LONG, &err));
  assert_memory_equal(to, from, sizeof to);
  memset(to, 0, sizeof to);
  OK(gibbous_read(f32, GB_F64, to, LONG, &err));
  assert_memory_equal(to, from, sizeof to);
  OK(gibbous_read(f32, GB_F32, narrow, LONG, &err));
  for (int i = 0; i < LONG; i++) assert_true(narrow[i] == (float)i);
}

/* -- plans */

static void test_plan (void **state) {
  (void)state;
  const gb_shape sx = shape(2, N, D);
  gb_node *x = NEW(gibbous_variable, session, GB_F64, &sx, x_, "x"), *c = NEW(gibbous_number, session, 0.8);
  gb_node *y = loss_of(product_of(x, matrix(y_, M, D), c, matrix(v_, M, R))), *outs[] = {y, NULL};
  OK(gibbous_grad(y, 1, &x, &outs[1], &err));
  hold(GB_OK, outs[1]);
  gb_plan *p = NULL;
  gb_plan_summary r, after;
  OK(gibbous_plan(2, outs, 0, &p, &err));
  OK(gibbous_plan_report(p, &r, &err));
  assert_true(r.minimum > N * D * sizeof(double) && r.minimum <= r.peak && r.measured == 0);
  char *text = NULL;
  OK(gibbous_plan_explain(p, &text, &err));
  assert_non_null(strstr(text, "peak"));
  free(text);
  const size_t before = used();
  OK(gibbous_plan_run(p, &err));
  assert_true(used() > before);
  OK(gibbous_plan_report(p, &after, &err));
  assert_int_equal(after.predicted, after.measured);
  assert_int_equal(after.measured, r.peak);
  gibbous_plan_free(p);
  double product[N * R], dx[N * D], dc;
  const double loss = loops(0.8, product, dx, &dc);
  assert_read(y, 1, &loss, 1e-10);
  assert_read(outs[1], N * D, dx, 1e-10);
}

static void test_refusal (void **state) {
  (void)state;
  gb_node *x = matrix(x_, N, D), *xt = NEW(gibbous_transpose, x), *k = NEW(gibbous_matmul, x, xt);
  gb_node *eye = NEW(gibbous_eye, session, N, GB_F64), *l = NEW(gibbous_cholesky, map2("add", k, eye), 0);
  gb_plan *p = (gb_plan *)&err;
  assert_int_equal(gibbous_plan(1, &l, 1000, &p, &err), GB_EREFUSED);
  assert_null(p);
  assert_non_null(strstr(err.text, "1000 B"));
  const size_t minimum = err.minimum;
  assert_true(minimum >= N * N * sizeof(double) && err.need >= minimum && err.have == 1000);
  assert_int_equal(gibbous_plan(1, &l, minimum - 1, &p, &err), GB_EREFUSED);
  OK(gibbous_plan(1, &l, minimum, &p, &err));
  OK(gibbous_plan_run(p, &err));
  gb_plan_summary r;
  OK(gibbous_plan_report(p, &r, &err));
  assert_true(r.measured == r.predicted && r.measured <= minimum);
  gibbous_plan_free(p);
}

/* A refusal names what is held, by names and places that the caller may have overwritten. */
static void test_texts_are_copied (void **state) {
  (void)state;
  char name[] = "points", where[] = "here.c:7";
  const gb_shape s = shape(2, 1536, 1024);
  double *many = calloc(1536 * 1024, sizeof *many);
  assert_non_null(many);
  gibbous_at(session, where);
  NEW(gibbous_tensor, session, GB_F64, &s, many, name);
  free(many);
  memset(name, 'z', sizeof name - 1);
  memset(where, 'z', sizeof where - 1);
  gb_node *y = NEW(gibbous_eye, session, 4096, GB_F64); /* 128 MiB of 64 */
  assert_int_equal(gibbous_eval(1, &y, &err), GB_EREFUSED);
  if (strstr(err.options, "points 12 MiB (here.c:7)") == NULL) fail_msg("%s", err.options);
}

/* -- bad input */

static void test_bad_nodes (void **state) {
  (void)state;
  gb_node *x = matrix(x_, N, D), *y = matrix(y_, M, D), *in[] = {x, NULL}, *out;
  const gb_shape many = {.ndim = GB_MAXDIM + 1}, huge = shape(2, SIZE_MAX / 2, 3), one = shape(0, 0, 0);
  REFUSED(GB_ESHAPE, "61x3", gibbous_matmul, x, y);
  REFUSED(GB_EOPTION, "input 2 is NULL", gibbous_matmul, x, NULL);
  REFUSED(GB_EOPTION, "input 1 is NULL", gibbous_transpose, NULL);
  REFUSED(GB_EOPTION, "unknown op 'exq'", gibbous_map, "exq", 1, &x);
  REFUSED(GB_EOPTION, "unknown op 'matmul'", gibbous_map, "matmul", 1, &x);
  REFUSED(GB_EOPTION, "is NULL", gibbous_map, NULL, 1, &x);
  REFUSED(GB_EOPTION, "2 inputs, got 1", gibbous_map, "add", 1, &x);
  REFUSED(GB_EOPTION, "input 2 is NULL", gibbous_map, "add", 2, in);
  REFUSED(GB_EOPTION, "no list", gibbous_map, "add", 2, NULL);
  REFUSED(GB_EOPTION, "no list", gibbous_cat, -1, in, 0);
  REFUSED(GB_EOPTION, "one tensor", gibbous_cat, 0, in, 0);
  REFUSED(GB_EOPTION, "unknown op 'kmin'", gibbous_reduce, "kmin", x, 0, false);
  REFUSED(GB_EINDEX, "0x4", gibbous_reduce, "mean", x, 1u << 2, false);
  REFUSED(GB_EOPTION, "matern", gibbous_profile, "matern", x, y, NULL);
  REFUSED(GB_EOPTION, "alpha", gibbous_profile, "rq", x, NEW(gibbous_number, session, 1), NULL);
  REFUSED(GB_ESHAPE, "0 to 8 axes", gibbous_reshape, x, &many);
  REFUSED(GB_EOPTION, "shape is NULL", gibbous_expand, x, NULL);
  REFUSED(GB_ESHAPE, "overflows", gibbous_expand, NEW(gibbous_number, session, 1), &huge);
  REFUSED(GB_ESHAPE, "2 axes", gibbous_permute, x, 3, ((int[]){0, 1, 2}));
  REFUSED(GB_ESHAPE, "each axis once", gibbous_permute, x, 2, ((int[]){1, 1}));
  REFUSED(GB_EINDEX, "slice", gibbous_slice, x, 0, 60, 1, 2);
  REFUSED(GB_EINDEX, "unsqueeze", gibbous_unsqueeze, x, 5);
  REFUSED(GB_EDTYPE, "dtype 77", gibbous_cast, x, (gb_dtype)77);
  REFUSED(GB_EDEVICE, "no device 1", gibbous_move, x, 1);
  REFUSED(GB_EDTYPE, "dtype", gibbous_tensor, session, GB_NDTYPES, &one, x_, NULL);
  REFUSED(GB_EOPTION, "data is NULL", gibbous_tensor, session, GB_F64, &one, NULL, NULL);
  REFUSED(GB_EOPTION, "session is NULL", gibbous_variable, NULL, GB_F64, &one, x_, NULL);
  REFUSED(GB_EDTYPE, "float", gibbous_variable, session, GB_I64, &one, x_, NULL);
  REFUSED(GB_ENOMEM, "limit", gibbous_tensor, session, GB_F64, &((gb_shape){2, {4096, 4096}}), x_, NULL);
  assert_int_equal(gibbous_matmul(x, y, NULL, &err), GB_EOPTION);
  assert_int_equal(gibbous_matmul(x, y, &out, NULL), GB_EOPTION);
  assert_true(gibbous_ref(NULL) == NULL);
  gibbous_unref(NULL);
}

static void test_bad_calls (void **state) {
  (void)state;
  gb_node *x = matrix(x_, N, D), *y = matrix(y_, M, D), *g[2] = {x, x};
  double to[N * D];
  assert_int_equal(gibbous_read(x, GB_F64, to, 5, &err), GB_ESHAPE);
  assert_non_null(strstr(err.text, "5 elements asked for"));
  assert_int_equal(gibbous_read(x, GB_F32, to, N * D, &err), GB_EDTYPE);
  assert_int_equal(gibbous_read(x, GB_F64, NULL, N * D, &err), GB_EOPTION);
  assert_int_equal(gibbous_read(NULL, GB_F64, to, 1, &err), GB_EOPTION);
  assert_int_equal(gibbous_eval(1, (gb_node *[]){NULL}, &err), GB_EOPTION);
  assert_int_equal(gibbous_grad(NEW(gibbous_reduce, "sum", x, 0, false), 2, (gb_node *[]){x, y}, g, &err),
                   GB_EOPTION);
  assert_true(g[0] == NULL && g[1] == NULL);
  g[0] = g[1] = x;
  assert_int_equal(gibbous_grad(NULL, 2, (gb_node *[]){x, y}, g, &err), GB_EOPTION);
  assert_true(g[0] == NULL && g[1] == NULL);
  g[0] = g[1] = x;
  assert_int_equal(gibbous_grad(x, 2, NULL, g, &err), GB_EOPTION);
  assert_true(g[0] == NULL && g[1] == NULL);
  assert_int_equal(gibbous_grad(x, 1, &x, NULL, &err), GB_EOPTION);
  gb_plan *p;
  assert_int_equal(gibbous_plan(0, NULL, 0, &p, &err), GB_EOPTION);
  assert_int_equal(gibbous_plan(1, &x, 0, NULL, &err), GB_EOPTION);
  assert_int_equal(gibbous_plan_run(NULL, &err), GB_EOPTION);
  gibbous_plan_free(NULL);
  gb_session *s;
  assert_int_equal(gibbous_open(&(gb_session_options){.device = "nowhere"}, &s, &err), GB_EDEVICE);
  assert_null(s);
  assert_int_equal(gibbous_open(&(gb_session_options){.device = "../x"}, &s, &err), GB_EOPTION);
  assert_int_equal(gibbous_open(&(gb_session_options){.threads = -1}, &s, &err), GB_EOPTION);
  assert_int_equal(gibbous_open(NULL, NULL, &err), GB_EOPTION);
  int number;
  assert_int_equal(gibbous_device(session, "nowhere", 0, &number, &err), GB_EDEVICE);
  assert_int_equal(gibbous_close(session, &err), GB_EOPTION);
  assert_non_null(strstr(err.text, "still held"));
}

static void test_two_sessions_do_not_mix (void **state) {
  (void)state;
  gb_session *other;
  gb_node *theirs, *x = matrix(x_, N, D), *sum = NEW(gibbous_reduce, "sum", x, 0, false), *g;
  OK(gibbous_open(NULL, &other, &err));
  OK(gibbous_number(other, 2, &theirs, &err));
  REFUSED(GB_EOPTION, "another session", gibbous_map, "mul", 2, ((gb_node *[]){x, theirs}));
  assert_int_equal(gibbous_grad(sum, 1, &theirs, &g, &err), GB_EOPTION);
  assert_non_null(strstr(err.text, "another session"));
  assert_int_equal(gibbous_eval(2, (gb_node *[]){x, theirs}, &err), GB_EOPTION);
  gibbous_unref(theirs);
  OK(gibbous_close(other, &err));
}

/* -- counts, places, interrupts, devices */

static void test_counts_and_bytes (void **state) {
  (void)state;
  const size_t before = used();
  gb_node *x, *y;
  const gb_shape s = shape(2, N, D);
  gibbous_at(session, "here.c:7");
  OK(gibbous_tensor(session, GB_F64, &s, x_, "points", &x, &err));
  gibbous_at(session, NULL);
  REFUSED(GB_ESHAPE, "points 61x3 (here.c:7)", gibbous_matmul, x, x);
  OK(gibbous_map("exp", 1, &x, &y, &err));
  gibbous_unref(x);
  assert_true(gibbous_ref(y) == y);
  gibbous_unref(y);
  OK(gibbous_eval(1, &y, &err));
  assert_true(used() - before < 2 * sizeof x_); /* what it was made of has gone */
  double want[N * D];
  for (int i = 0; i < N * D; i++) want[i] = exp(x_[i]);
  assert_read(y, N * D, want, 1e-15);
  gibbous_unref(y);
  assert_int_equal(used(), before);
}

/* A factor that only the library holds is kept for later plans, and does not keep the session open. */
static void test_kept_factor (void **state) {
  (void)state;
  const gb_shape s = shape(1, N, 0);
  gb_node *x = matrix(x_, N, D), *xt = NEW(gibbous_transpose, x), *xx = NEW(gibbous_matmul, x, xt);
  gb_node *eye = NEW(gibbous_eye, session, N, GB_F64), *A = map2("add", xx, eye);
  gb_node *b = NEW(gibbous_tensor, session, GB_F64, &s, v_, NULL), *alpha = NEW(gibbous_solve, A, b);
  double to[N];
  OK(gibbous_read(alpha, GB_F64, to, N, &err));
  assert_true(used() > N * N * sizeof(double));
}

static void test_interrupt (void **state) {
  (void)state;
  gb_node *y = map1("exp", matrix(x_, N, D));
  gibbous_interrupt(true);
  const gb_status st = gibbous_eval(1, &y, &err);
  gibbous_interrupt(false);
  assert_int_equal(st, GB_EINTR);
  OK(gibbous_eval(1, &y, &err));
}

static void test_other_device (void **state) {
  (void)state;
  int number = -1, again = -1;
  OK(gibbous_device(session, getenv("GIBBOUS_DEVICE") != NULL ? "cpu" : "far", 0, &number, &err));
  OK(gibbous_device(session, getenv("GIBBOUS_DEVICE") != NULL ? "cpu" : "far", 0, &again, &err));
  assert_int_equal(number, 1);
  assert_int_equal(again, 1);
  gb_memory_use m;
  gb_node *x = matrix(x_, N, D), *there = NEW(gibbous_move, x, 1);
  REFUSED(GB_EDEVICE, "lies on", gibbous_map, "add", 2, ((gb_node *[]){x, there}));
  gb_node *y = map1("neg", there);
  OK(gibbous_eval(1, &y, &err));
  OK(gibbous_memory(session, 1, &m, &err));
  assert_true(m.used >= sizeof x_);
  double want[N * D];
  for (int i = 0; i < N * D; i++) want[i] = -x_[i];
  assert_read(y, N * D, want, 0);
  assert_read(NEW(gibbous_move, y, 0), N * D, want, 0);
}

/* The first limit counts, of the host's memory beside another device, too. */
static void test_limit_of_other_device (void **state) {
  (void)state;
  const char *kind = getenv("GIBBOUS_DEVICE") != NULL ? "cpu" : "far";
  gb_memory_use m;
  int number = -1;
  for (size_t limit = 4096; limit <= 8192; limit += 4096) {
    OK(gibbous_device(session, kind, limit, &number, &err));
    OK(gibbous_memory(session, number, &m, &err));
    assert_int_equal(m.limit, 4096);
  }
  const gb_shape s = shape(2, 32, 32);
  static const double zeros[32 * 32];
  gb_node *x = NEW(gibbous_tensor, session, GB_F64, &s, zeros, NULL), *there = NEW(gibbous_move, x, number);
  assert_int_equal(gibbous_eval(1, &there, &err), GB_EREFUSED);
  assert_true(err.need == sizeof zeros && err.have <= 4096 && strstr(err.text, kind) != NULL);
}

/* -- two sessions in two threads */

typedef struct worker {
  pthread_t thread;
  double loss[8];
  gb_status st;
  gb_error err;
} worker;

static gb_status one_loss (gb_session *s, double scale, double *loss, gb_error *e) {
  const gb_shape sx = shape(2, N, D), sy = shape(2, M, D), sv = shape(2, M, R);
  gb_node *n[8] = {0};
  gb_status st = gibbous_tensor(s, GB_F64, &sx, x_, "x", &n[0], e);
  if (st == GB_OK) st = gibbous_tensor(s, GB_F64, &sy, y_, "y", &n[1], e);
  if (st == GB_OK) st = gibbous_tensor(s, GB_F64, &sv, v_, "v", &n[2], e);
  if (st == GB_OK) st = gibbous_number(s, scale, &n[3], e);
  if (st == GB_OK) st = gibbous_sqdist(n[0], n[1], NULL, &n[4], e);
  if (st == GB_OK) st = gibbous_profile("rbf", n[4], n[3], NULL, &n[5], e);
  if (st == GB_OK) st = gibbous_matmul(n[5], n[2], &n[6], e);
  if (st == GB_OK) st = gibbous_reduce("sum", n[6], 0, false, &n[7], e);
  if (st == GB_OK) st = gibbous_read(n[7], GB_F64, loss, 1, e);
  for (int i = 0; i < 8; i++) gibbous_unref(n[i]);
  return st;
}

static void *work (void *ud) {
  worker *w = ud;
  gb_session *s;
  const gb_session_options o = options();
  w->st = gibbous_open(&o, &s, &w->err);
  for (int i = 0; i < 8 && w->st == GB_OK; i++) w->st = one_loss(s, 0.1 * (i + 1), &w->loss[i], &w->err);
  const gb_status closed = gibbous_close(s, &w->err);
  if (w->st == GB_OK) w->st = closed;
  return NULL;
}

static void test_two_threads (void **state) {
  (void)state;
  static worker w[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(w[i].thread, NULL), 0);
  for (int i = 0; i < 2; i++)
    if (w[i].st != GB_OK) fail_msg("thread %d: %s", i, w[i].err.text);
  assert_memory_equal(w[0].loss, w[1].loss, sizeof w[0].loss);
  double product[N * R], dx[N * D], dc, sum = 0;
  loops(0.1, product, dx, &dc);
  for (int i = 0; i < N * R; i++) sum += product[i];
  assert_true(fabs(w[0].loss[0] - sum) <= 1e-11);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main (void) {
  fill(x_, N * D, 1);
  fill(y_, M * D, 2);
  fill(v_, M * R, 3);
  const struct CMUnitTest tests[] = {TEST(test_kernel_product),
                                     TEST(test_linear_algebra),
                                     TEST(test_views_and_reductions),
                                     TEST(test_long_reads),
                                     TEST(test_plan),
                                     TEST(test_refusal),
                                     TEST(test_texts_are_copied),
                                     TEST(test_bad_nodes),
                                     TEST(test_bad_calls),
                                     TEST(test_two_sessions_do_not_mix),
                                     TEST(test_counts_and_bytes),
                                     TEST(test_kept_factor),
                                     TEST(test_interrupt),
                                     TEST(test_other_device),
                                     TEST(test_limit_of_other_device),
                                     TEST(test_two_threads)};
  return cmocka_run_group_tests_name("embed", tests, NULL, NULL);
}
