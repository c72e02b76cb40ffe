/* test_cut.c - which axis of an access is which dimension of a buffer, where steps may be cut, and what a
** cut step looks at: accesses written by hand, and strides checked against an enumeration of addresses. */
#include "plan/tile/axes.h"
#include "program/schedule.h"
#include "support/cpu/fold_fixture.h"

/* -- accesses */

/* A contiguous buffer, or one with strides. */
static gb_buf buf_of (int ndim, const size_t *dim, const ptrdiff_t *stride) {
  gb_buf b = {.cls = GB_BUF_TEMP, .dtype = GB_F64, .shape = gb_shape_of(ndim, dim)};
  gb_strides_of(&b.shape, b.stride);
  for (int k = 0; stride != NULL && k < ndim; k++) b.stride[k] = stride[k];
  b.bytes = gb_shape_bytes(&b.shape, GB_F64);
  return b;
}

#define DIMS(...)                                                                                            \
  (int)(sizeof(size_t[]){__VA_ARGS__} / sizeof(size_t)), (size_t[]) { __VA_ARGS__ }

static gb_fold domain (int n, const size_t *extent) {
  gb_fold f = {.compute = GB_F64, .naxes = n};
  for (int a = 0; a < n; a++)
    f.axis[a] = (gb_fold_axis){.extent = extent[a], .role = a == n - 1 ? GB_AXIS_LANE : GB_AXIS_OUTER};
  return f;
}

typedef struct access {
  const char *what;
  int ndim;
  size_t dim[4];
  ptrdiff_t held[4]; /* strides of the buffer; all 0: contiguous */
  int naxes;
  size_t extent[4];
  ptrdiff_t stride[4], offset;
  int along; /* the dimension asked for */
  int axis;  /* expected, with the factor */
  size_t factor;
} access;

static const access accesses[] = {
    {"rows", 2, {8, 5}, {0}, 2, {8, 5}, {5, 1}, 0, 0, 0, 1},
    {"columns", 2, {8, 5}, {0}, 2, {8, 5}, {5, 1}, 0, 1, 1, 1},
    {"joined axes, rows", 2, {8, 5}, {0}, 1, {40}, {1}, 0, 0, 0, 5},
    {"joined axes, columns", 2, {8, 5}, {0}, 1, {40}, {1}, 0, 1, -1, 0},
    {"the last two of three joined", 3, {3, 8, 5}, {0}, 2, {3, 40}, {40, 1}, 0, 1, 1, 5},
    {"all three joined, the first", 3, {3, 8, 5}, {0}, 1, {120}, {1}, 0, 0, 0, 40},
    {"all three joined, the middle", 3, {3, 8, 5}, {0}, 1, {120}, {1}, 0, 1, -1, 0},
    {"turned", 2, {8, 5}, {0}, 2, {5, 8}, {1, 5}, 0, 0, 1, 1},
    {"flipped rows", 2, {8, 5}, {0}, 2, {8, 5}, {-5, 1}, 35, 0, -1, 0},
    {"rows of flipped columns", 2, {8, 5}, {0}, 2, {8, 5}, {5, -1}, 4, 0, 0, 1},
    {"a column", 2, {8, 5}, {0}, 1, {8}, {5}, 3, 0, 0, 1},
    {"a row", 2, {8, 5}, {0}, 1, {5}, {1}, 10, 0, -1, 0},
    {"part of the columns", 2, {8, 5}, {0}, 2, {8, 2}, {5, 1}, 3, 0, 0, 1},
    {"every second column", 2, {8, 5}, {0}, 2, {8, 3}, {5, 2}, 0, 0, 0, 1},
    {"part of the rows", 2, {8, 5}, {0}, 2, {4, 5}, {5, 1}, 0, 0, -1, 0},
    {"rows from the second on", 2, {8, 5}, {0}, 2, {8, 5}, {5, 1}, 5, 0, -1, 0},
    {"every second row", 2, {8, 5}, {0}, 2, {4, 5}, {10, 1}, 0, 0, -1, 0},
    {"the diagonal", 2, {8, 8}, {0}, 1, {8}, {9}, 0, 0, -1, 0},
    {"the diagonal, columns", 2, {8, 8}, {0}, 1, {8}, {9}, 0, 1, -1, 0},
    {"two axes along one dimension", 1, {8, 0}, {0}, 2, {8, 3}, {1, 1}, 0, 0, -1, 0},
    {"one dimension by two axes", 1, {8, 0}, {0}, 2, {4, 2}, {2, 1}, 0, 0, -1, 0},
    {"repeated along another axis", 1, {8, 0}, {0}, 2, {8, 3}, {1, 0}, 0, 0, 0, 1},
    {"not read along the axis", 2, {8, 5}, {0}, 2, {8, 5}, {0, 1}, 0, 0, -1, 0},
    {"an expanded leaf", 2, {8, 5}, {0, 1}, 2, {8, 5}, {0, 1}, 0, 0, -1, 0},
    {"an expanded leaf, columns", 2, {8, 5}, {0, 1}, 2, {8, 5}, {0, 1}, 0, 1, 1, 1},
    {"a leaf with gaps", 2, {8, 5}, {9, 1}, 2, {8, 5}, {9, 1}, 0, 0, 0, 1},
    {"a turned leaf", 2, {8, 5}, {1, 8}, 2, {8, 5}, {1, 8}, 0, 0, 0, 1},
    {"a flipped leaf", 2, {8, 5}, {-5, 1}, 2, {8, 5}, {-5, 1}, 0, 0, -1, 0},
    {"rows that overlap", 2, {8, 5}, {1, 1}, 2, {8, 5}, {1, 1}, 0, 0, -1, 0},
    {"an extent of one", 2, {1, 5}, {0}, 2, {1, 5}, {5, 1}, 0, 0, 1, 5},
    {"no extent", 2, {0, 5}, {0}, 2, {0, 5}, {5, 1}, 0, 0, -1, 0},
    {"beside an extent of one", 3, {1, 8, 1}, {0}, 1, {8}, {1}, 0, 1, 0, 1},
    {"the middle of three", 3, {3, 8, 5}, {0}, 3, {8, 3, 5}, {5, 40, 1}, 0, 1, 0, 1},
    {"the middle of three, outside flipped", 3, {3, 8, 5}, {0}, 3, {3, 8, 5}, {-40, 5, 1}, 80, 1, 1, 1},
};
#define NACCESSES (sizeof accesses / sizeof accesses[0])

static gb_buf buf_for (const access *a) {
  bool given = false;
  for (int k = 0; k < a->ndim; k++) given |= a->held[k] != 0;
  return buf_of(a->ndim, a->dim, given ? a->held : NULL);
}

static void strides_of (const access *a, ptrdiff_t stride[GB_FOLD_AXES]) {
  memset(stride, 0, GB_FOLD_AXES * sizeof *stride);
  memcpy(stride, a->stride, sizeof a->stride);
}

static void an_axis_is_found_through_strides (void **unused) {
  (void)unused;
  for (size_t i = 0; i < NACCESSES; i++) {
    const access *a = &accesses[i];
    const gb_fold f = domain(a->naxes, a->extent);
    const gb_buf b = buf_for(a);
    ptrdiff_t stride[GB_FOLD_AXES];
    gb_cut c = {.axis = -1};
    strides_of(a, stride);
    const bool found = gb_cut_axis_of(&f, stride, a->offset, &b, a->along, 0, &c);
    if (found != (a->axis >= 0) || c.axis != a->axis || c.factor != a->factor)
      fail_msg("%s: axis %d of factor %zu, expected %d of %zu", a->what, c.axis, c.factor, a->axis,
               a->factor);
    if (found && gb_cut_dim_of(&f, stride, a->offset, &b, &c, a->dim[a->along]) != a->along)
      fail_msg("%s: the dimension is not found back", a->what);
  }
}

static void inner_axes_are_not_cut (void **unused) {
  (void)unused;
  gb_fold f = domain(2, (size_t[]){8, 5});
  f.axis[0].role = GB_AXIS_INNER;
  const gb_buf b = buf_of(DIMS(8, 5), NULL);
  gb_cut c;
  assert_false(gb_cut_axis_of(&f, (ptrdiff_t[GB_FOLD_AXES]){5, 1}, 0, &b, 0, 0, &c));
}

/* For random accesses: where an axis is found, exactly the addresses with index i of the dimension are
** visited at the 'factor' indices of the axis that belong to i. */
static void what_is_found_moves_the_dimension_alone (void **unused) {
  (void)unused;
  fx x;
  int found = 0, none = 0, joined = 0;
  fx_init(&x, GB_F64, 7);
  for (int round = 0; round < 20000; round++) {
    size_t dim[3], extent[3];
    ptrdiff_t stride[GB_FOLD_AXES] = {0}, offset = 0;
    for (int k = 0; k < 3; k++) dim[k] = 1 + (size_t)fx_below(&x, 4);
    const gb_buf b = buf_of(3, dim, NULL);
    const int along = fx_below(&x, 3);
    for (int a = 0; a < 3; a++) { /* an axis, two joined, or a stride of nothing in particular */
      const int k = fx_below(&x, 3);
      extent[a] = fx_below(&x, 4) ? dim[k] : 1 + (size_t)fx_below(&x, 5);
      if (fx_below(&x, 3) == 0 && k > 0) extent[a] = dim[k] * dim[k - 1];
      stride[a] = fx_below(&x, 5) ? b.stride[k] : fx_below(&x, 13) - 3;
      if (fx_below(&x, 6) == 0) stride[a] = -stride[a], offset -= stride[a] * (ptrdiff_t)(extent[a] - 1);
    }
    if (fx_below(&x, 4) == 0) offset += fx_below(&x, 6);
    if (fx_below(&x, 4) == 0) { /* two that lie together, joined */
      const int a = fx_below(&x, 2);
      stride[a] = stride[a + 1] * (ptrdiff_t)extent[a + 1];
      extent[a + 1] *= extent[a];
      extent[a] = 1;
    }
    const gb_fold f = domain(3, extent);
    gb_cut c;
    const int axis = gb_cut_axis_of(&f, stride, offset, &b, along, 0, &c) ? c.axis : -1;
    const size_t factor = axis >= 0 ? c.factor : 0;
    found += axis >= 0;
    none += axis < 0;
    joined += axis >= 0 && c.joined > 0;
    if (axis >= 0 && c.joined > 0) { /* walked apart again */
      extent[c.joined - 1] = extent[axis] / (dim[along] * factor);
      extent[axis] = dim[along] * factor;
    }
    const ptrdiff_t total = (ptrdiff_t)(dim[0] * dim[1] * dim[2]);
    for (size_t q = 0; axis >= 0 && q < extent[0] * extent[1] * extent[2]; q++) {
      const size_t at[3] = {q / (extent[1] * extent[2]), q / extent[2] % extent[1], q % extent[2]};
      ptrdiff_t e = offset;
      for (int a = 0; a < 3; a++) e += (ptrdiff_t)at[a] * stride[a];
      if (e < 0 || e >= total) continue; /* no access of a program leaves its buffer */
      if ((size_t)(e / b.stride[along]) % dim[along] != at[axis] / factor) {
        fx_print(&x);
        fail_msg("round %d: index %zu of the axis is not index %zu of the dimension", round, at[axis],
                 at[axis] / factor);
      }
    }
  }
  print_message("%d found, %d of them joined, %d not\n", found, joined, none);
  assert_true(found > 1000 && none > 1000 && joined > 50);
}

/* -- units */

static fx *sum_over (fx *x, gb_role role, size_t extent, gb_monoid m) {
  fx_init(x, GB_F64, 3);
  const int outer = fx_axis(x, GB_AXIS_OUTER, 3),
            lane = fx_axis(x, role == GB_AXIS_LANE ? GB_AXIS_LANE : role, extent);
  const int v = fx_load(x, fx_operand(x, GB_F64, fx_bit(outer) | fx_bit(lane), true));
  gb_out *o =
      fx_emit(x, v, GB_OUT_REDUCE, m, fx_bit(lane), 0, m == GB_ARGMINIMUM ? GB_I64 : GB_F64, -1, true);
  if (m == GB_KSMALLEST) fx_select(x, o, 2);
  return x;
}

static size_t unit_for (const gb_fold *f, int axis, size_t factor, size_t grain, bool *reduces) {
  gb_cut c = {.axis = axis, .factor = factor};
  gb_fold scheduled = *f;
  gb_schedule_chains(&scheduled, false);
  if (!gb_cut_fold_unit(&scheduled, &c, grain)) return 0;
  if (reduces != NULL) *reduces = c.reduces;
  return c.unit;
}

static void units_are_those_of_the_chains (void **unused) {
  (void)unused;
  static const struct {
    gb_role role;
    size_t unit;
  } roles[] = {{GB_AXIS_LANE, GB_SUPER}, {GB_AXIS_TILE, GB_CANON}, {GB_AXIS_OUTER, 1}};
  for (int i = 0; i < 3; i++) {
    fx x;
    bool reduces;
    sum_over(&x, roles[i].role, 3000, GB_SUM);
    assert_int_equal(unit_for(&x.f, 1, 1, 0, &reduces), roles[i].unit);
    assert_true(reduces);
    if (i < 2) {
      assert_int_equal(unit_for(&x.f, 1, 3, 0, NULL), roles[i].unit); /* 3 indices to one: no help */
      assert_int_equal(unit_for(&x.f, 1, 8, 0, NULL), roles[i].unit / 8);
      assert_int_equal(unit_for(&x.f, 1, 12, 0, NULL), roles[i].unit / 4);
      assert_int_equal(unit_for(&x.f, 1, 4096, 0, NULL), 1);
    }
    assert_int_equal(unit_for(&x.f, 1, 1, 32, NULL), 32);
    assert_int_equal(unit_for(&x.f, 0, 1, 0, &reduces), 1); /* kept */
    assert_false(reduces);
    x.f.symmetric = true;
    assert_int_equal(unit_for(&x.f, 0, 1, 0, NULL), 0);
    fx_free(&x);
  }
}

static void what_has_no_parts_is_not_cut (void **unused) {
  (void)unused;
  static const gb_monoid bad[] = {GB_ARGMINIMUM, GB_ARGMAXIMUM, GB_KSMALLEST};
  fx x;
  for (int i = 0; i < 3; i++) {
    sum_over(&x, GB_AXIS_LANE, 3000, bad[i]);
    assert_int_equal(unit_for(&x.f, 1, 1, 0, NULL), 0);
    assert_int_equal(unit_for(&x.f, 1, 1, 8, NULL), 0);
    fx_free(&x);
  }
  sum_over(&x, GB_AXIS_TILE, 3000, GB_SUM); /* an OUTER axis turns inside each TILE index */
  x.out[0].reduced |= fx_bit(0);
  assert_int_equal(unit_for(&x.f, 1, 1, 0, NULL), 0);
  assert_int_equal(unit_for(&x.f, 0, 1, 0, NULL), 1); /* but not the other way round */
  x.f.axis[0].extent = 1;
  assert_int_equal(unit_for(&x.f, 1, 1, 0, NULL), GB_CANON);
  fx_free(&x);
}

static void numbers_of_the_index_must_shift_exactly (void **unused) {
  (void)unused;
  fx x;
  sum_over(&x, GB_AXIS_LANE, 3000, GB_SUM);
  gb_ins *i = fx_ins(&x, GB_INS_IOTA);
  i->axis = 1;
  i->f = 2;
  i->g = -7;
  assert_int_equal(unit_for(&x.f, 1, 1, 0, NULL), GB_SUPER);
  i->f = 0.1;
  assert_int_equal(unit_for(&x.f, 1, 1, 0, NULL), 0);
  assert_int_equal(unit_for(&x.f, 0, 1, 0, NULL), 1); /* along the other axis it stays */
  i->f = 1;
  i->g = 0.5;
  assert_int_equal(unit_for(&x.f, 1, 1, 0, NULL), 0);
  fx_free(&x);
}

static void grains_follow_the_extent (void **unused) {
  (void)unused;
  static const struct {
    size_t extent, grain;
  } all[] = {{1, 1},  {7, 1},   {8, 1},     {9, 1},      {15, 1},     {16, 2},     {20, 2},       {31, 2},
             {32, 4}, {100, 8}, {1000, 64}, {2047, 128}, {2048, 256}, {4096, 256}, {9000000, 256}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    assert_int_equal(gb_grain(all[i].extent), all[i].grain);
}

/* -- windows */

static ptrdiff_t address (const gb_operand *o, int n, const size_t *at) {
  ptrdiff_t e = o->offset;
  for (int a = 0; a < n; a++) e += (ptrdiff_t)at[a] * o->stride[a];
  return e;
}

/* A window reads element e of the whole where a compact buffer holds it, or in place. */
static void check_window (const access *a, bool compact, gb_window at) {
  gb_buf b = buf_for(a);
  gb_operand o = {.slot = 0, .dtype = GB_F64, .offset = a->offset};
  gb_step st = {.is_fold = true, .fold = domain(a->naxes, a->extent), .nin = 1, .in = (int[]){0}};
  const gb_lowered low = {.buf = &b, .nbufs = 1};
  const gb_cut c = {.cut = true, .axis = a->axis, .factor = a->factor};
  gb_window_fold w = {0};
  strides_of(a, o.stride);
  st.fold.operand = &o;
  st.fold.noperands = 1;
  assert_true(gb_window_room(&w, &st.fold));
  gb_window_of_fold(&w, &low, &st, &c, at, &compact, &a->along);
  assert_int_equal(w.fold.axis[a->axis].extent, at.n * a->factor);
  size_t many = 1;
  for (int k = 0; k < a->naxes; k++) many *= w.fold.axis[k].extent;
  const ptrdiff_t one = b.stride[a->along], up = one * (ptrdiff_t)a->dim[a->along],
                  now = one * (ptrdiff_t)at.held;
  for (size_t q = 0; q < many; q++) {
    size_t part[4], whole[4], rest = q;
    for (int k = a->naxes - 1; k >= 0; rest /= w.fold.axis[k].extent, k--)
      part[k] = whole[k] = rest % w.fold.axis[k].extent;
    whole[a->axis] += at.lo * a->factor;
    ptrdiff_t want = address(&o, a->naxes, whole);
    if (compact) want = want / up * now + want % up - (ptrdiff_t)at.base * one;
    if (address(w.operand, a->naxes, part) != want)
      fail_msg("%s: element %zu of [%zu, %zu)", a->what, q, at.lo, at.lo + at.n);
  }
  gb_window_free(&w);
}

static void windows_read_their_elements (void **unused) {
  (void)unused;
  for (size_t i = 0; i < NACCESSES; i++) {
    const access *a = &accesses[i];
    if (a->axis < 0) continue;
    const size_t n = a->dim[a->along];
    for (size_t lo = 0; lo < n; lo += 3) {
      const size_t most = n - lo < 3 ? n - lo : 3;
      check_window(a, false, (gb_window){lo, most, lo, most, n});
      if (a->held[0] != 0 || a->held[1] != 0) continue; /* only leaves have gaps, and they are whole */
      check_window(a, true, (gb_window){lo, most, lo, most, n});
      check_window(a, true, (gb_window){lo + most - 1, 1, lo, most, n}); /* a grain of a window */
    }
  }
}

/* A window counts on from where it begins, and carries what is reduced. */
static void windows_shift_indices_and_carry (void **unused) {
  (void)unused;
  fx x;
  sum_over(&x, GB_AXIS_LANE, 3000, GB_SUM);
  gb_ins *i = fx_ins(&x, GB_INS_IOTA);
  i->axis = 1;
  i->f = 2;
  i->g = 5;
  gb_step st = {.is_fold = true, .fold = x.f, .nin = 1, .nout = 1, .in = (int[]){0}, .out = (int[]){1}};
  const gb_lowered low = {.nbufs = 2};
  const gb_cut c = {.cut = true, .reduces = true, .axis = 1, .factor = 3};
  const bool compact[2] = {false, false};
  gb_window_fold w = {0};
  assert_true(gb_window_room(&w, &st.fold));
  gb_window_of_fold(&w, &low, &st, &c, (gb_window){512, 88, 512, 88, 1000}, compact, (int[]){0, -1});
  assert_int_equal(w.fold.carried, fx_bit(1));
  assert_int_equal(w.fold.axis[1].extent, 264);
  assert_true(w.ins[x.f.nins - 1].g == 5 + 2 * 512 * 3.0);
  assert_int_equal(w.out[0].offset, x.out[0].offset); /* the result has no such axis */
  gb_window_of_fold(&w, &low, &st, &(gb_cut){.cut = true, .axis = 0, .factor = 1}, (gb_window){1, 2, 1, 2, 3},
                    compact, (int[]){0, 0});
  assert_int_equal(w.fold.carried, 0);
  assert_int_equal(w.out[0].offset, x.out[0].offset + x.out[0].stride[0]);
  gb_window_free(&w);
  fx_free(&x);
}

/* -- opaque ops */

typedef struct opaque_row {
  const char *what;
  gb_op op;
  int64_t attr0;
  int nin, nout;
  int ndim[3];
  size_t dim[3][3];
  int slot, along;
  bool cut, reduces;
  int in_dim[3], out_dim;
  size_t unit;
} opaque_row;

#define COUPLED false, false, {-1, -1, -1}, -1, 0

static const opaque_row opaques[] = {
    {"rows of a product",
     GB_OP_GEMM,
     0,
     2,
     1,
     {2, 2},
     {{9, 4}, {4, 5}},
     0,
     0,
     true,
     false,
     {0, -1, -1},
     0,
     GB_BLOCK},
    {"columns of a product",
     GB_OP_GEMM,
     0,
     2,
     1,
     {2, 2},
     {{9, 4}, {4, 5}},
     1,
     1,
     true,
     false,
     {-1, 1, -1},
     1,
     GB_BLOCK},
    {"inner of a product",
     GB_OP_GEMM,
     0,
     2,
     1,
     {2, 2},
     {{9, 4}, {4, 5}},
     0,
     1,
     true,
     true,
     {1, 0, -1},
     -1,
     GB_BLOCK},
    {"inner, from the second",
     GB_OP_GEMM,
     0,
     2,
     1,
     {2, 2},
     {{9, 4}, {4, 5}},
     1,
     0,
     true,
     true,
     {1, 0, -1},
     -1,
     GB_BLOCK},
    {"matrices of a batch",
     GB_OP_GEMM,
     0,
     2,
     1,
     {3, 3},
     {{7, 9, 4}, {7, 4, 5}},
     0,
     0,
     true,
     false,
     {0, 0, -1},
     0,
     1},
    {"matrices by one matrix",
     GB_OP_GEMM,
     0,
     2,
     1,
     {3, 2},
     {{7, 9, 4}, {4, 5}},
     0,
     0,
     true,
     false,
     {0, -1, -1},
     0,
     1},
    {"matrices by a batch of one",
     GB_OP_GEMM,
     0,
     2,
     1,
     {3, 3},
     {{7, 9, 4}, {1, 4, 5}},
     0,
     0,
     true,
     false,
     {0, -1, -1},
     0,
     1},
    {"columns of a solve",
     GB_OP_TRISOLVE,
     0,
     2,
     1,
     {2, 2},
     {{9, 9}, {9, 5}},
     1,
     1,
     true,
     false,
     {-1, 1, -1},
     1,
     GB_BLOCK},
    {"rows of a solve", GB_OP_TRISOLVE, 0, 2, 1, {2, 2}, {{9, 9}, {9, 5}}, 1, 0, COUPLED},
    {"the factor of a solve", GB_OP_SOLVE_CHOL, 0, 2, 1, {2, 2}, {{9, 9}, {9, 5}}, 0, 0, COUPLED},
    {"one right-hand side", GB_OP_SOLVE_CHOL, 0, 2, 1, {2, 1}, {{9, 9}, {9}}, 1, 0, COUPLED},
    {"beside a running sum", GB_OP_CUMSUM, 1, 1, 1, {2}, {{9, 4}}, 0, 0, true, false, {0, -1, -1}, 0, 1},
    {"along a running sum", GB_OP_CUMSUM, 0, 1, 1, {2}, {{9, 4}}, 0, 0, COUPLED},
    {"beside an order", GB_OP_SORT, 1, 1, 2, {2}, {{9, 4}}, 0, 0, true, false, {0, -1, -1}, 0, 1},
    {"along an order", GB_OP_SORT, 1, 1, 2, {2}, {{9, 4}}, 0, 1, COUPLED},
    {"along the largest", GB_OP_TOPK, 0, 1, 2, {2}, {{9, 4}}, 0, 0, COUPLED},
    {"positions", GB_OP_INDEX, 1, 2, 1, {2, 1}, {{9, 4}, {6}}, 1, 0, true, false, {-1, 0, -1}, 1, 1},
    {"beside positions", GB_OP_INDEX, 1, 2, 1, {2, 1}, {{9, 4}, {6}}, 0, 0, true, false, {0, -1, -1}, 0, 1},
    {"what is indexed", GB_OP_INDEX, 0, 2, 1, {2, 1}, {{9, 4}, {6}}, 0, 0, COUPLED},
    {"beside new entries",
     GB_OP_PUT,
     1,
     3,
     1,
     {2, 1, 2},
     {{9, 4}, {2}, {9, 2}},
     2,
     0,
     true,
     false,
     {0, -1, 0},
     0,
     1},
    {"along new entries", GB_OP_PUT, 0, 3, 1, {2, 1, 2}, {{9, 4}, {2}, {2, 4}}, 0, 0, COUPLED},
    {"positions of new entries", GB_OP_PUT, 0, 3, 1, {2, 1, 2}, {{9, 4}, {2}, {2, 4}}, 1, 0, COUPLED},
    {"what is added to", GB_OP_INDEX_ADD, 0, 3, 1, {2, 1, 2}, {{9, 4}, {5}, {5, 4}}, 0, 0, COUPLED},
    {"added entries",
     GB_OP_INDEX_ADD,
     0,
     3,
     1,
     {2, 1, 2},
     {{9, 4}, {5}, {5, 4}},
     2,
     0,
     true,
     true,
     {-1, 0, 0},
     -1,
     1},
    {"entries that are compared",
     GB_OP_INDEX_MAX,
     0,
     3,
     1,
     {2, 1, 2},
     {{9, 4}, {5}, {5, 4}},
     2,
     0,
     true,
     true,
     {-1, 0, 0},
     -1,
     1},
    {"positions of added entries",
     GB_OP_INDEX_ADD,
     1,
     3,
     1,
     {2, 1, 2},
     {{9, 4}, {5}, {9, 5}},
     1,
     0,
     true,
     true,
     {-1, 0, 1},
     -1,
     1},
    {"beside a join", GB_OP_CAT, 1, 2, 1, {2, 2}, {{9, 4}, {9, 5}}, 1, 0, true, false, {0, 0, -1}, 0, 1},
    {"along a join", GB_OP_CAT, 0, 2, 1, {2, 2}, {{9, 4}, {8, 4}}, 0, 0, COUPLED},
    {"a conversion", GB_OP_CAST, 0, 1, 1, {2}, {{9, 4}}, 0, 1, true, false, {1, -1, -1}, 1, 1},
    {"a factor", GB_OP_CHOLESKY, 0, 1, 1, {2}, {{9, 9}}, 0, 0, COUPLED},
    {"an inverse", GB_OP_CHOL_INVERSE, 0, 1, 1, {2}, {{9, 9}}, 0, 1, COUPLED},
    {"a norm in a factor", GB_OP_INV_QUAD, 0, 2, 1, {2, 2}, {{9, 9}, {9, 5}}, 1, 1, COUPLED},
    {"a QR", GB_OP_QR, 0, 1, 2, {2}, {{9, 4}}, 0, 0, COUPLED},
    {"matrices of a factor", GB_OP_CHOLESKY, 0, 1, 1, {3}, {{7, 9, 9}}, 0, 0, true, false, {0, -1, -1}, 0, 1},
    {"rows of factors", GB_OP_CHOLESKY, 0, 1, 1, {3}, {{7, 9, 9}}, 0, 1, COUPLED},
    {"matrices of solves",
     GB_OP_SOLVE_CHOL,
     0,
     2,
     1,
     {3, 3},
     {{7, 9, 9}, {7, 9, 5}},
     0,
     0,
     true,
     false,
     {0, 0, -1},
     0,
     1},
    {"columns of solves",
     GB_OP_TRISOLVE,
     0,
     2,
     1,
     {3, 3},
     {{7, 9, 9}, {7, 9, 5}},
     1,
     2,
     true,
     false,
     {-1, 2, -1},
     2,
     GB_BLOCK},
    {"rows of solves", GB_OP_TRISOLVE, 0, 2, 1, {3, 3}, {{7, 9, 9}, {7, 9, 5}}, 1, 1, COUPLED},
    {"right-hand sides of one factor",
     GB_OP_LU_SOLVE,
     0,
     2,
     1,
     {2, 3},
     {{9, 9}, {7, 9, 5}},
     1,
     0,
     true,
     false,
     {-1, 0, -1},
     0,
     1},
    {"right-hand sides of one factor of a batch",
     GB_OP_LU_SOLVE,
     0,
     2,
     1,
     {3, 3},
     {{1, 9, 9}, {7, 9, 5}},
     1,
     0,
     true,
     false,
     {-1, 0, -1},
     0,
     1},
    {"a factor for all", GB_OP_LU_SOLVE, 0, 2, 1, {3, 3}, {{1, 9, 9}, {7, 9, 5}}, 0, 0, COUPLED},
    {"QRs", GB_OP_QR, 0, 1, 2, {3}, {{7, 9, 9}}, 0, 0, true, false, {0, -1, -1}, 0, 1},
    {"a call", GB_OP_CALL, 0, 1, 1, {2}, {{9, 4}}, 0, 0, COUPLED},
};

static gb_opaque opaque_of (const opaque_row *r) {
  gb_opaque o = {.op = r->op, .attr = {.i = {r->attr0}}, .nin = r->nin, .nout = r->nout, .unit = GB_BLOCK};
  for (int i = 0; i < r->nin; i++) o.in_shape[i] = gb_shape_of(r->ndim[i], r->dim[i]);
  for (int k = 0; k < r->nout; k++)
    o.out_shape[k] =
        o.in_shape[r->op == GB_OP_TRISOLVE || r->op == GB_OP_SOLVE_CHOL || r->op == GB_OP_LU_SOLVE];
  if (r->op == GB_OP_GEMM) o.out_shape[0].dim[r->ndim[0] - 1] = r->dim[1][r->ndim[1] - 1];
  if (r->op == GB_OP_INDEX) o.out_shape[0].dim[r->attr0] = r->dim[1][0];
  if (r->op == GB_OP_CAT) o.out_shape[0].dim[r->attr0] += r->dim[1][r->attr0];
  return o;
}

static void opaque_ops_say_what_they_couple (void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof opaques / sizeof opaques[0]; i++) {
    const opaque_row *r = &opaques[i];
    const gb_opaque o = opaque_of(r);
    gb_cut c = {0};
    if (gb_cut_opaque(&o, r->slot, r->along, 0, &c) != r->cut) fail_msg("%s: cut the other way", r->what);
    if (!r->cut) continue;
    bool ok = c.cut && c.reduces == r->reduces && c.unit == r->unit;
    for (int k = 0; k < 3; k++) ok = ok && c.in_dim[k] == r->in_dim[k];
    for (int k = 0; k < r->nout; k++) ok = ok && c.out_dim[k] == r->out_dim;
    if (!ok) fail_msg("%s: other dimensions, unit %zu", r->what, c.unit);
    gb_opaque w = o, first = o;
    gb_window_of_opaque(&w, &c, (gb_window){2, 2, 2, 2, r->dim[r->slot][r->along]}, NULL);
    for (int k = 0; k < r->nin; k++)
      for (int d = 0; d < r->ndim[k]; d++)
        assert_int_equal(w.in_shape[k].dim[d], d == r->in_dim[k] ? 2 : r->dim[k][d]);
    for (int k = 0; k < r->nout; k++)
      if (r->out_dim >= 0) assert_int_equal(w.out_shape[k].dim[r->out_dim], 2);
    assert_int_equal(w.continues, r->reduces);
    for (int d = 0; d < GB_MAXDIM; d++) { /* which matrices these are */
      const bool batch = r->op != GB_OP_GEMM && gb_op_has(r->op, GB_TRAIT_DENSE) && d == r->in_dim[0] &&
                         r->out_dim == 0;
      assert_int_equal(w.from[d], batch ? 2 : 0);
      assert_int_equal(w.whole[d], batch ? r->dim[r->slot][r->along] : 0);
    }
    gb_window_of_opaque(&first, &c, (gb_window){0, 2, 0, 2, 9}, NULL);
    assert_false(first.continues);
  }
}

static void a_grain_is_the_block_of_a_product (void **unused) {
  (void)unused;
  for (int slot = 0; slot < 2; slot++)
    for (int along = 0; along < 2; along++) {
      gb_opaque o = opaque_of(&opaques[0]);
      gb_cut c;
      assert_true(gb_cut_opaque(&o, slot, along, 16, &c));
      assert_int_equal(c.unit, 16);
      gb_window_of_opaque(&o, &c, (gb_window){0, 1, 0, 1, 9}, NULL);
      assert_int_equal(o.block[c.axis], 16);
    }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_axis_is_found_through_strides),
      cmocka_unit_test(inner_axes_are_not_cut),
      cmocka_unit_test(what_is_found_moves_the_dimension_alone),
      cmocka_unit_test(units_are_those_of_the_chains),
      cmocka_unit_test(what_has_no_parts_is_not_cut),
      cmocka_unit_test(numbers_of_the_index_must_shift_exactly),
      cmocka_unit_test(grains_follow_the_extent),
      cmocka_unit_test(windows_read_their_elements),
      cmocka_unit_test(windows_shift_indices_and_carry),
      cmocka_unit_test(opaque_ops_say_what_they_couple),
      cmocka_unit_test(a_grain_is_the_block_of_a_product),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
