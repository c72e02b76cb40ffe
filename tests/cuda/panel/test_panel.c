/* The vector work of solvers on a GPU against the CPU's, on the same random panels: rows and columns by
** lists, blocks that are not full, entries that are no numbers. Bit for bit, but where the CPU leaves the
** order to BLAS and LAPACK. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>
#include <cmocka.h>

#include "base/rng.h"
#include "cuda/device/gpu.h"
#include "cuda/panel/panel.h"
#include "cuda/support/gpu_fixture.h"

static gb_device *gpu;
static uint64_t draws;

static double uniform (void) { return gb_rand_uniform(5, 9, draws++); }
static size_t draw (size_t below) { return (size_t)(uniform() * (double)below) % below; }

/* -- the same memory on both sides */

typedef struct twin {
  size_t entries;
  double *near;  /* of the CPU */
  gb_block *far; /* where the ledger knows it */
} twin;

static void send (twin *t) {
  gb_error err;
  assert_int_equal(gb_memory_upload(&gpu->memory, t->far->data, t->near, t->entries * sizeof(double), &err),
                   GB_OK);
}

static twin twin_of (size_t entries) {
  gb_error err;
  twin t = {
      .entries = entries, .near = malloc((entries + 1) * sizeof(double)), .far = calloc(1, sizeof(gb_block))};
  if (gb_ledger_alloc(&gpu->ledger, GB_MEM_WORKSPACE, (entries + 1) * sizeof(double), "", "", t.far, &err) !=
      GB_OK)
    fail_msg("%s", err.text);
  for (size_t i = 0; i < entries; i++) t.near[i] = gb_rand_normal(5, 8, draws++);
  send(&t);
  return t;
}

static void twin_free (twin *t) {
  gb_ledger_free(&gpu->ledger, t->far);
  free(t->far);
  free(t->near);
}

static double *fetch (const twin *t) {
  gb_error err;
  double *back = malloc((t->entries + 1) * sizeof *back);
  assert_int_equal(gb_memory_download(&gpu->memory, back, t->far->data, t->entries * sizeof *back, &err),
                   GB_OK);
  return back;
}

/* NaN is NaN, whatever its bits. */
static bool is_same (double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }

static void assert_same (const char *what, const double *a, const double *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!is_same(a[i], b[i]))
      fail_msg("%s: entry %zu of %zu is %a on the GPU, %a on the CPU", what, i, n, b[i], a[i]);
}

static void check_twin (const char *what, const twin *t) {
  double *back = fetch(t);
  assert_same(what, t->near, back, t->entries);
  free(back);
}

static void check_close (const char *what, const twin *t, double tolerance) {
  double *back = fetch(t), most = 0;
  for (size_t i = 0; i < t->entries; i++) most = fmax(most, fabs(t->near[i]));
  for (size_t i = 0; i < t->entries; i++)
    if (!(fabs(back[i] - t->near[i]) <= tolerance * most))
      fail_msg("%s: entry %zu is %g on the GPU, %g on the CPU", what, i, back[i], t->near[i]);
  free(back);
}

/* -- panels */

enum { LITTLE_ROOM = 1 << 16 }; /* work is done in parts then */
enum { PANELS = 4, MOST_ROWS = 1100, MOST_COLUMNS = 40, WIDEST = 130 };

typedef struct scene {
  size_t n, r;
  twin memory[PANELS], sums, factors; /* 'sums' is room, 'factors' (r) lie in memory */
  gb_panel near[PANELS], far[PANELS];
  size_t rows[PANELS][MOST_ROWS], columns[PANELS][WIDEST];
  double f[WIDEST], g[WIDEST];
  int exponent[WIDEST];
} scene;

/* So many of 0 .. below - 1, without order; 'ascending' with it. */
static void choose (size_t *out, size_t count, size_t below, bool ascending) {
  size_t all[2 * MOST_ROWS] = {0};
  for (size_t i = 0; i < below; i++) all[i] = i;
  for (size_t i = 0; i < count; i++) {
    const size_t j = i + draw(below - i), t = all[j];
    all[j] = all[i], all[i] = t;
    out[i] = t;
  }
  for (size_t i = 1; ascending && i < count; i++)
    for (size_t j = i; j > 0 && out[j - 1] > out[j]; j--) {
      const size_t t = out[j];
      out[j] = out[j - 1], out[j - 1] = t;
    }
}

static void make_panel (scene *s, int p, bool listed) {
  const size_t height = s->n + draw(20), width = s->r + draw(3);
  s->memory[p] = twin_of((height + 1) * width);
  gb_panel x = gb_panel_of(gpu_home(), s->memory[p].near, s->n, s->r);
  x.stride = width;
  if (listed && draw(2)) {
    choose(s->rows[p], s->n, height, false);
    x.row = s->rows[p];
  }
  if (listed && draw(2)) {
    choose(s->columns[p], s->r, width, true);
    x.column = s->columns[p];
  }
  s->near[p] = s->far[p] = x;
  s->far[p].device = gpu;
  s->far[p].at = s->memory[p].far->data;
}

static void begin_scene (scene *s, size_t n, size_t r, bool listed) {
  s->n = n, s->r = r;
  for (int p = 0; p < PANELS; p++) make_panel(s, p, listed);
  s->sums = twin_of(gb_panel_sums(n, r));
  s->factors = twin_of(r);
  for (size_t k = 0; k < r; k++) {
    s->f[k] = draw(5) == 0 ? 0 : uniform() * 4 - 2;
    s->g[k] = uniform() - 0.5;
    s->exponent[k] = (int)draw(40) - 20;
  }
}

static void end_scene (scene *s) {
  for (int p = 0; p < PANELS; p++) twin_free(&s->memory[p]);
  twin_free(&s->sums);
  twin_free(&s->factors);
}

static void check_scene (const char *what, const scene *s) {
  for (int p = 0; p < PANELS; p++) check_twin(what, &s->memory[p]);
}

/* Some entries that are no usual numbers. */
static void spoil (twin *t) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-310, 1e300, -1e-40};
  if (t->entries == 0) return;
  for (int i = 0; i < 6; i++) t->near[draw(t->entries)] = odd[draw(8)];
  send(t);
}

static void run_scenes (void (*body)(scene *), bool listed) {
  static scene s;
  static const size_t heights[] = {0, 1, 3, 255, 256, 257, 511, 700, 1025};
  for (size_t h = 0; h < sizeof heights / sizeof *heights; h++)
    for (int turn = 0; turn < 3; turn++) {
      const size_t r = turn == 0 ? 1 : turn == 1 ? 1 + draw(8) : 9 + draw(MOST_COLUMNS - 9);
      begin_scene(&s, heights[h], r, listed);
      if (turn == 1) spoil(&s.memory[0]);
      gb_cuda_of(gpu)->room_bytes = turn == 2 ? LITTLE_ROOM : GB_CUDA_ROOM;
      body(&s);
      end_scene(&s);
    }
}

#define BOTH(call)                                                                                           \
  {                                                                                                          \
    const gb_panel_ops *ops = gpu_home()->ops->panel;                                                        \
    gb_panel *x = s->near;                                                                                   \
    (void)x;                                                                                                 \
    ops->call;                                                                                               \
    ops = gpu->ops->panel;                                                                                   \
    x = s->far;                                                                                              \
    ops->call;                                                                                               \
    check_scene(#call, s);                                                                                   \
  }

static void elementwise (scene *s) {
  BOTH(copy(x[0], x[1]))
  BOTH(subtract(x[0], x[2], x[1]))
  BOTH(subtract(x[0], x[2], x[2]))
  BOTH(axpy(NULL, x[0], x[1]))
  BOTH(axpy(s->f, x[0], x[1]))
  BOTH(xpay(s->f, x[2], x[3]))
  BOTH(scale(s->g, x[1]))
  BOTH(divide(s->f, x[0], x[3]))
  BOTH(blend(0.37, x[2], x[1]))
  BOTH(combine(s->f, x[1], s->g, x[2]))
  BOTH(recur(s->f, x[1], s->g, x[2], x[3]))
  BOTH(shift(x[1], s->exponent, 1))
  BOTH(shift(x[1], s->exponent, -1))
  BOTH(fill(x[2], 1.25))
  BOTH(inverse_root(x[2], 0.3))
  BOTH(normals(x[1], 17, 1000))
}

static void shrunk (scene *s) {
  for (size_t k = 0; k < s->r; k++) s->exponent[k] = -(int)(draw(2) ? 120 + draw(40) : 1010 + draw(30));
  for (int f32 = 0; f32 < 2; f32++) {
    size_t column[2] = {77, 77};
    const double near = gpu_home()->ops->panel->lost(s->near[0], s->exponent, f32, &column[0]),
                 far = gpu->ops->panel->lost(s->far[0], s->exponent, f32, &column[1]);
    assert_same("lost", &near, &far, 1);
    assert_int_equal(column[0], column[1]);
    BOTH(keep(x[0], s->exponent, f32))
  }
}

static void sizes (scene *s) {
  int near[MOST_COLUMNS], far[MOST_COLUMNS];
  gpu_home()->ops->panel->exponents(s->near[0], near);
  gpu->ops->panel->exponents(s->far[0], far);
  for (size_t k = 0; k < s->r; k++) assert_int_equal(near[k], far[k]);
  for (int f32 = 0; f32 < 2; f32++)
    for (int p = 0; p < 2; p++) {
      size_t column[2] = {77, 77};
      const bool a = gpu_home()->ops->panel->finite(s->near[p], f32, &column[0]),
                 b = gpu->ops->panel->finite(s->far[p], f32, &column[1]);
      assert_int_equal(a, b);
      assert_int_equal(column[0], column[1]);
    }
  if (s->n == 0) return;
  for (int p = 0; p < 2; p++)
    assert_int_equal(gpu_home()->ops->panel->first_invalid(s->near[p]),
                     gpu->ops->panel->first_invalid(s->far[p]));
}

static void in_and_out (scene *s) {
  double *near = malloc((s->n * s->r + 1) * sizeof *near), *far = malloc((s->n * s->r + 1) * sizeof *far);
  gpu_home()->ops->panel->read(s->near[0], near);
  gpu->ops->panel->read(s->far[0], far);
  assert_same("read", near, far, s->n * s->r);
  BOTH(write(x[1], near))
  free(near), free(far);
}

/* Tensors have their own rows: of one type, with room beyond the panel's columns. */
static void tensors (scene *s) {
  gb_error err;
  const size_t stride = s->r + draw(3);
  for (int p = 0; p < 2; p++) s->near[p].column = s->far[p].column = NULL;
  for (int f32 = 0; f32 < 2; f32++)
    for (int round = 0; round < 2; round++) {
      twin t = twin_of(s->n * stride);
      assert_int_equal(gpu_home()->ops->panel->store(s->near[0], t.near, f32, stride, round, &err), GB_OK);
      assert_int_equal(gpu->ops->panel->store(s->far[0], t.far->data, f32, stride, round, &err), GB_OK);
      check_twin("store", &t);
      assert_int_equal(gpu_home()->ops->panel->load(s->near[1], t.near, f32, stride, &err), GB_OK);
      assert_int_equal(gpu->ops->panel->load(s->far[1], t.far->data, f32, stride, &err), GB_OK);
      check_scene("load", s);
      twin_free(&t);
    }
}

static void sums (scene *s) {
  double near[MOST_COLUMNS], far[MOST_COLUMNS];
  for (int with = 0; with < 2; with++) {
    gpu_home()->ops->panel->dot(s->near[0], s->near[1], with ? s->sums.near : NULL, near);
    gpu->ops->panel->dot(s->far[0], s->far[1], with ? s->sums.far->data : NULL, far);
    assert_same("dot", near, far, s->r);
  }
  gpu_home()->ops->panel->step(s->f, s->near[0], s->near[1], s->near[2], s->near[3], s->sums.near, near);
  gpu->ops->panel->step(s->f, s->far[0], s->far[1], s->far[2], s->far[3], s->sums.far->data, far);
  assert_same("step", near, far, s->r);
  check_scene("step", s);
}

static void chains (scene *s) {
  double near[3], far[3];
  for (int p = 0; p < 2; p++) {
    const gb_panel_ops *ops = gpu_home()->ops->panel;
    near[0] = ops->sum(s->near[p]), near[1] = ops->sum_squares(s->near[p], 0.5);
    near[2] = ops->sum_logs(s->near[p], -2, 1);
    ops = gpu->ops->panel;
    far[0] = ops->sum(s->far[p]), far[1] = ops->sum_squares(s->far[p], 0.5);
    far[2] = ops->sum_logs(s->far[p], -2, 1);
    assert_same("chains", near, far, 3);
  }
}

static void test_elementwise (void **state) {
  (void)state;
  run_scenes(elementwise, true);
  run_scenes(shrunk, true);
}
static void test_sizes (void **state) {
  (void)state;
  run_scenes(sizes, true);
}
static void test_in_and_out (void **state) {
  (void)state;
  run_scenes(in_and_out, true);
  run_scenes(tensors, true);
}
static void test_sums (void **state) {
  (void)state;
  run_scenes(sums, true);
  run_scenes(chains, true);
}

/* Of one column, of dense columns, of whole memories. */
static void special (scene *s) {
  if (s->n == 0) return;
  BOTH(moduli(x[0]))
  BOTH(exponentials(x[3], 4))
  BOTH(multiply(x == s->near ? gb_panel_of(gpu_home(), s->factors.near, s->r, 1)
                             : gb_panel_of(gpu, s->factors.far->data, s->r, 1),
                x[1]))
  double length[MOST_COLUMNS];
  for (size_t k = 0; k < s->r; k++) length[k] = draw(3) == 0 ? 0 : 0.1 + uniform();
  for (size_t m = 1; m < 40; m += 7)
    assert_int_equal(gpu_home()->ops->panel->worst_interleaved(s->near[1], m, length),
                     gpu->ops->panel->worst_interleaved(s->far[1], m, length));
  for (int p = 0; p < 2; p++) {
    gb_panel *const of[] = {&s->near[2], &s->far[2]};
    of[p]->stride = s->r, of[p]->row = of[p]->column = NULL;
  }
  size_t at[MOST_COLUMNS];
  const size_t w = draw(s->r + 1), to = w + draw(s->r - w + 1);
  choose(at, w, s->r, true);
  BOTH(compact(x[2], to, w, at))
}

static void test_special (void **state) {
  (void)state;
  run_scenes(special, true);
}

/* -- products with each other and with small matrices */

static void narrow (scene *s, int p, size_t r) { s->near[p].r = s->far[p].r = r; }

static void crossed (scene *s, int p, int q) {
  const size_t width = s->near[p].r * s->near[q].r;
  double *near = malloc(2 * width * sizeof *near), *far = near + width;
  twin sums = twin_of(gb_panel_sums(s->n, width));
  memset(near, 0xff, 2 * width * sizeof *near); /* all NaN */
  gpu_home()->ops->panel->cross(s->near[p], s->near[q], sums.near, near);
  gpu->ops->panel->cross(s->far[p], s->far[q], sums.far->data, far);
  assert_same("cross", near, far, width);
  check_scene("cross", s);
  for (size_t e = 0; s->n == 0 && e < width; e++) assert_true(far[e] == 0);
  twin_free(&sums);
  free(near);
}

static void products (scene *s) {
  const size_t r = s->r, fewer = 1 + draw(r), to = 1 + draw(r);
  double *m = malloc(r * r * sizeof *m);
  for (size_t e = 0; e < r * r; e++) m[e] = draw(9) == 0 ? 0 : gb_rand_normal(5, 8, draws++);
  crossed(s, 0, 1);
  crossed(s, 0, 0);
  narrow(s, 1, fewer);
  crossed(s, 0, 1);
  crossed(s, 1, 0);
  BOTH(mix(x[0], m, x[1]))
  BOTH(mix(x[1], m, x[2]))
  BOTH(turn(m, to, x == s->near ? (void *)s->sums.near : s->sums.far->data, x[3]))
  BOTH(turn(m, r, x == s->near ? (void *)s->sums.near : s->sums.far->data, x[2]))
  free(m);
}

/* With little room, the matrix of the widest has more entries than the room. */
static void test_products (void **state) {
  static scene s;
  static const size_t heights[] = {0, 1, 255, 256, 257, 700}, widths[] = {1, 3, 17, 40, WIDEST};
  (void)state;
  for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
    for (size_t h = 0; h < sizeof heights / sizeof *heights; h++)
      for (int turn = 0; turn < 3; turn++) {
        begin_scene(&s, heights[h], widths[k], turn > 0);
        if (turn == 1) spoil(&s.memory[0]);
        gb_cuda_of(gpu)->room_bytes = turn == 2 ? LITTLE_ROOM : GB_CUDA_ROOM;
        products(&s);
        end_scene(&s);
      }
  gb_cuda_of(gpu)->room_bytes = GB_CUDA_ROOM;
}

/* -- small dense matrices */

/* Positive definite, or not from some minor on. */
static twin matrix (size_t n, bool bad) {
  twin t = twin_of(n * n);
  double *a = malloc(n * n * sizeof *a);
  memcpy(a, t.near, n * n * sizeof *a);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) {
      double s = i == k ? 0.5 : 0;
      for (size_t m = 0; m < n; m++) s += a[i * n + m] * a[k * n + m];
      t.near[i * n + k] = s;
    }
  if (bad) t.near[n / 2 * n + n / 2] = -1;
  send(&t);
  free(a);
  return t;
}

static gb_panel square (gb_device *dev, const twin *t, size_t n) {
  return gb_panel_of(dev, dev == gpu ? t->far->data : (void *)t->near, n, n);
}

static void compare_factors (size_t n, bool bad) {
  size_t minor[2];
  bool finite[2];
  gb_error err;
  twin a = matrix(n, bad), x = twin_of(n * 3), v = twin_of(n);
  gb_device *const side[] = {gpu_home(), gpu};
  for (int d = 0; d < 2; d++)
    assert_int_equal(side[d]->ops->panel->potrf(square(side[d], &a, n), &minor[d], &finite[d], &err), GB_OK);
  assert_int_equal(minor[0], minor[1]);
  assert_int_equal(minor[1], bad ? n / 2 + 1 : 0);
  if (!bad) {
    assert_int_equal(finite[0], finite[1]);
    check_close("potrf", &a, 1e-12);
    for (int t = 0; t < 2; t++) {
      for (int d = 0; d < 2; d++)
        side[d]->ops->panel->trsm(square(side[d], &a, n), t,
                                  gb_panel_of(side[d], d ? x.far->data : (void *)x.near, n, 3));
      check_close("trsm", &x, 1e-9);
    }
    send(&a); /* the same factor on both sides */
    for (int d = 0; d < 2; d++)
      side[d]->ops->panel->times_gram(square(side[d], &a, n),
                                      gb_panel_of(side[d], d ? v.far->data : (void *)v.near, n, 1));
    check_twin("times_gram", &v);
  }
  twin_free(&a), twin_free(&x), twin_free(&v);
}

static void compare_conditions (size_t n) {
  gb_error err;
  size_t minor;
  bool finite;
  double far, norm = 0;
  twin a = matrix(n, false);
  for (size_t k = 0; k < n; k++) {
    double s = 0;
    for (size_t i = 0; i < n; i++) s += fabs(a.near[i * n + k]);
    norm = fmax(norm, s);
  }
  assert_int_equal(gpu_home()->ops->panel->potrf(square(gpu_home(), &a, n), &minor, &finite, &err), GB_OK);
  send(&a);
  for (int f32 = 0; f32 < 2; f32++) {
    float *narrow = (float *)(void *)a.near;
    for (size_t i = 0; f32 && i < n * n; i++) narrow[i] = (float)a.near[i];
    send(&a);
    double near;
    void *work = malloc(gpu_home()->ops->panel->rcond_bytes(gpu_home(), f32, n));
    twin room = twin_of(gpu->ops->panel->rcond_bytes(gpu, f32, n) / sizeof(double));
    assert_int_equal(gpu_home()->ops->panel->rcond(gpu_home(), f32, n, a.near, norm, work, &near, &err),
                     GB_OK);
    assert_int_equal(gpu->ops->panel->rcond(gpu, f32, n, a.far->data, norm, room.far->data, &far, &err),
                     GB_OK);
    if (!(fabs(far - near) <= (f32 ? 1e-3 : 1e-9) * near)) fail_msg("order %zu: %g, not %g", n, far, near);
    free(work);
    twin_free(&room);
  }
  twin_free(&a);
}

static void test_dense (void **state) {
  static const size_t orders[] = {1, 2, 17, 40, 97};
  gb_error err;
  (void)state;
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    compare_factors(orders[i], false);
    compare_factors(orders[i], true);
    compare_conditions(orders[i]);
    const size_t k = orders[i], n = 5000;
    twin lt = twin_of(k * n), c = twin_of(k * k);
    for (int d = 0; d < 2; d++) {
      gb_device *dev = d ? gpu : gpu_home();
      const gb_panel from = gb_panel_of(dev, d ? lt.far->data : (void *)lt.near, k, n);
      assert_int_equal(dev->ops->panel->gram(from, 0.25, square(dev, &c, k), &err), GB_OK);
    }
    check_close("gram", &c, 1e-13);
    twin_free(&lt), twin_free(&c);
  }
}

/* -- low rank */

typedef struct low_rank_twin {
  size_t n, rank;
  twin scale, lt, c, d, work;
} low_rank_twin;

static gb_low_rank side_of (const low_rank_twin *o, int d, bool scaled, bool diagonal) {
#define AT(t) (d ? o->t.far->data : (void *)o->t.near)
  return (gb_low_rank){.n = o->n,
                       .rank = diagonal ? 0 : o->rank,
                       .noise = 0.7,
                       .scale = scaled ? AT(scale) : NULL,
                       .lt = diagonal ? NULL : AT(lt),
                       .c = AT(c),
                       .d = diagonal && scaled ? AT(d) : NULL,
                       .work = AT(work)};
#undef AT
}

static low_rank_twin make_operator (size_t n, size_t rank) {
  gb_error err;
  size_t minor;
  bool finite;
  low_rank_twin o = {n,
                     rank,
                     twin_of(n),
                     twin_of(rank * n),
                     twin_of(rank * rank),
                     twin_of(n),
                     twin_of(rank * GB_PANEL_WIDTH)};
  for (size_t i = 0; i < n; i++) o.scale.near[i] = 0.5 + uniform(), o.d.near[i] = 0.5 + uniform();
  const gb_panel c = square(gpu_home(), &o.c, rank);
  assert_int_equal(gpu_home()->ops->panel->gram(gb_panel_of(gpu_home(), o.lt.near, rank, n), 0.7, c, &err),
                   GB_OK);
  assert_int_equal(gpu_home()->ops->panel->potrf(c, &minor, &finite, &err), GB_OK);
  send(&o.scale), send(&o.d), send(&o.c);
  return o;
}

static void free_operator (low_rank_twin *o) {
  twin_free(&o->scale), twin_free(&o->lt), twin_free(&o->c), twin_free(&o->d), twin_free(&o->work);
}

static void low_rank (scene *s) {
  if (s->n == 0) return;
  low_rank_twin o = make_operator(s->n, s->n > 600 ? 70 + draw(20) : 1 + draw(37));
  for (int kind = 0; kind < 4; kind++) {
    const gb_low_rank p = side_of(&o, 0, kind % 2, kind / 2), q = side_of(&o, 1, kind % 2, kind / 2);
    const size_t first = draw(s->r);
    gpu_home()->ops->panel->solve(&p, s->near[0], s->near[1]);
    gpu->ops->panel->solve(&q, s->far[0], s->far[1]);
    check_scene("solve", s);
    gpu_home()->ops->panel->sample(&p, 31, first, s->near[2]);
    gpu->ops->panel->sample(&q, 31, first, s->far[2]);
    check_scene("sample", s);
  }
  free_operator(&o);
}

static void test_low_rank (void **state) {
  (void)state;
  run_scenes(low_rank, true);
}

/* -- pivots */

static void compare_turns (size_t n, bool drawn) {
  size_t index[2][40];
  double turn[2][40];
  twin left = twin_of(n), lot = twin_of(n);
  for (size_t i = 0; i < n; i++) {
    left.near[i] = draw(6) == 0 ? 0 : (double)draw(9); /* many of the same turn */
    lot.near[i] = uniform();
  }
  send(&left), send(&lot);
  for (size_t most = 1; most <= 40; most += 13) {
    size_t count[2];
    for (int d = 0; d < 2; d++) {
      gb_device *dev = d ? gpu : gpu_home();
      const gb_panel l = gb_panel_of(dev, d ? left.far->data : (void *)left.near, n, 1);
      gb_panel lots = gb_panel_of(dev, d ? lot.far->data : (void *)lot.near, n, 1);
      if (!drawn) lots.at = NULL;
      count[d] = dev->ops->panel->first_turns(l, lots, most, index[d], turn[d]);
    }
    assert_int_equal(count[0], count[1]);
    for (size_t i = 0; i < count[0]; i++) assert_int_equal(index[0][i], index[1][i]);
    assert_same("turns", turn[0], turn[1], count[0]);
  }
  twin_free(&left), twin_free(&lot);
}

typedef struct block_of_pivots {
  size_t n, rank, rows;
  double factors[64 * GB_PIVOTS], among[GB_PIVOTS * GB_PIVOTS], root[GB_PIVOTS], step[GB_PIVOTS],
      left[2][GB_PIVOTS];
  size_t pivot[GB_PIVOTS];
} block_of_pivots;

static void compare_elimination (size_t n, size_t rank, size_t rows, bool drawn) {
  static block_of_pivots b;
  gb_error err;
  twin lt = twin_of((rank + rows) * n), left = twin_of(n), lot = twin_of(n),
       sums = twin_of(gb_panel_elimination_sums(n));
  for (size_t i = 0; i < rank * rows; i++) b.factors[i] = gb_rand_normal(5, 8, draws++);
  for (size_t i = 0; i < GB_PIVOTS * GB_PIVOTS; i++) b.among[i] = gb_rand_normal(5, 8, draws++);
  for (size_t r = 0; r < rows; r++) b.root[r] = 1 + uniform(), b.step[r] = 0.1 * uniform();
  choose(b.pivot, rows, n < 1000 ? n : 1000, false);
  for (size_t i = 0; i < n; i++) left.near[i] = draw(9) == 0 ? 0 : 3 + uniform(), lot.near[i] = uniform();
  send(&left), send(&lot);
  for (int d = 0; d < 2; d++) {
    gb_device *dev = d ? gpu : gpu_home();
#define AT(t) (d ? t.far->data : (void *)t.near)
    gb_elimination e = {.rank = rank,
                        .rows = rows,
                        .lt = gb_panel_of(dev, AT(lt), rank + rows, n),
                        .left = gb_panel_of(dev, AT(left), n, 1),
                        .lot = gb_panel_of(dev, drawn ? AT(lot) : NULL, n, 1),
                        .factors = b.factors,
                        .among = b.among,
                        .pivot = b.pivot,
                        .root = b.root,
                        .step = b.step,
                        .sums = AT(sums)};
#undef AT
    assert_int_equal(dev->ops->panel->eliminate(&e, b.left[d], &err), GB_OK);
  }
  if (rank == 0) { /* no BLAS: the same bits */
    check_twin("eliminate", &lt), check_twin("left", &left), check_twin("lot", &lot);
    assert_same("left over", b.left[0], b.left[1], rows);
  } else if (rows == 1) check_close("eliminate", &lt, 1e-12);
  twin_free(&lt), twin_free(&left), twin_free(&lot), twin_free(&sums);
}

static void test_pivots (void **state) {
  static const size_t lengths[] = {40, 2047, 2048, 2049, 5000};
  (void)state;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int drawn = 0; drawn < 2; drawn++) {
      gb_cuda_of(gpu)->room_bytes = i % 2 == 0 ? LITTLE_ROOM : GB_CUDA_ROOM;
      compare_turns(lengths[i], drawn);
      compare_elimination(lengths[i], 0, 1 + draw(GB_PIVOTS), drawn);
      compare_elimination(lengths[i], 0, GB_PIVOTS, drawn);
      compare_elimination(lengths[i], 1 + draw(60), 1, drawn);
    }
}

/* -- a device that is lost gives nothing that could be taken for a result */
static void test_loss (void **state) {
  static scene s;
  double out[MOST_COLUMNS], *read;
  gb_error err;
  (void)state;
  emu_begin();
  if (!emu_set("FAIL", "cudaMemcpyAsync@1=700")) skip(); /* a real GPU is not lost on demand */
  emu_set("FAIL", NULL);
  begin_scene(&s, 300, 5, false);
  emu_begin();
  assert_true(emu_set("FAIL", "cudaMemcpyAsync@1=700"));
  gpu->ops->panel->axpy(s.f, s.far[0], s.far[1]);
  gpu->ops->panel->dot(s.far[0], s.far[1], s.sums.far->data, out);
  for (size_t k = 0; k < s.r; k++) assert_true(isnan(out[k]));
  assert_true(isnan(gpu->ops->panel->sum(s.far[0])));
  gpu->ops->panel->mix(s.far[0], s.g, gb_panel_column(s.far[1], 0));
  gpu->ops->panel->turn(s.g, 1, s.sums.far->data, s.far[2]);
  gpu->ops->panel->cross(s.far[0], gb_panel_column(s.far[1], 0), s.sums.far->data, out);
  for (size_t k = 0; k < s.r; k++) assert_true(isnan(out[k]));
  read = malloc(s.n * s.r * sizeof *read);
  gpu->ops->panel->read(s.far[0], read);
  for (size_t i = 0; i < s.n * s.r; i++) assert_true(isnan(read[i]));
  assert_int_equal(gb_panel_store(s.far[0], s.memory[1].far->data, false, 5, false, &err), GB_EDEVICE);
  assert_non_null(strstr(err.text, "cuda:0 is lost"));
  assert_int_equal(gb_device_wait(gpu, &err), GB_EDEVICE);
  free(read);
  end_scene(&s);
}

static int open_gpu (void **state) {
  (void)state;
  return gpu_open_group(&gpu);
}
static int close_gpu (void **state) {
  (void)state;
  return gpu_close_group(gpu);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elementwise), cmocka_unit_test(test_sizes),    cmocka_unit_test(test_in_and_out),
      cmocka_unit_test(test_sums),        cmocka_unit_test(test_special),  cmocka_unit_test(test_products),
      cmocka_unit_test(test_dense),       cmocka_unit_test(test_low_rank), cmocka_unit_test(test_pivots),
      cmocka_unit_test(test_loss),
  };
  return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
