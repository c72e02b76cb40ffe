/* fold_random.c - random fold programs, instruction by instruction. */
#include "support/random/fold_random.h"

static size_t odd_size (gen *g, int limit) {
  static const size_t sizes[] = {1, 2, 5, 17, 63, 64, 65, 100, 128, 130, 255, 256, 257, 320, 513};
  size_t n;
  do n = sizes[fx_below(&g->x, 15)];
  while (n > (size_t)limit);
  return fx_below(&g->x, 40) == 0 ? 0 : n;
}

static void axes (gen *g) {
  fx *x = &g->x;
  int shape = fx_below(x, 8);
  g->lane = g->tile = g->outer[0] = g->outer[1] = -1;
  bool lane = shape != 0, tile = shape > 2;
  if (fx_below(x, 3) == 0)
    g->outer[0] = fx_axis(x, GB_AXIS_OUTER, (size_t)fx_below(x, 4) + (fx_below(x, 9) != 0));
  int limit = g->outer[0] < 0 ? 600 : 140;
  bool first = fx_below(x, 2);
  if (tile && first) g->tile = fx_axis(x, GB_AXIS_TILE, odd_size(g, limit));
  if (lane)
    g->lane =
        fx_axis(x, GB_AXIS_LANE, tile ? odd_size(g, 140) : odd_size(g, 600) * (size_t)(1 + fx_below(x, 60)));
  if (fx_below(x, 6) == 0) g->outer[1] = fx_axis(x, GB_AXIS_OUTER, (size_t)fx_below(x, 3) + 1);
  if (tile && !first) g->tile = fx_axis(x, GB_AXIS_TILE, odd_size(g, limit));
  g->feature =
      fx_axis(x, GB_AXIS_INNER, (size_t)fx_below(x, fx_below(x, 3) ? 5 : 34) + (fx_below(x, 20) != 0));
  g->column = fx_axis(x, GB_AXIS_INNER, (size_t)fx_below(x, fx_below(x, 2) ? 3 : 34) + 1);
  g->loop = fx_axis(x, GB_AXIS_INNER, (size_t)fx_below(x, 4) + (fx_below(x, 20) != 0));
}

/* Some of the outer, lane and tile axes. */
static gb_axes some_axes (gen *g) {
  gb_axes s = 0;
  int all[4] = {g->lane, g->tile, g->outer[0], g->outer[1]};
  for (int q = 0; q < 4; q++)
    if (fx_below(&g->x, q < 2 ? 2 : 4) == 0) s |= fx_bit(all[q]);
  return s;
}

static gb_dtype some_dtype (gen *g) {
  static const gb_dtype any[] = {GB_F64, GB_F32, GB_F16, GB_BF16, GB_BOOL, GB_I32};
  static const gb_dtype whole[] = {GB_I64, GB_I64, GB_I32, GB_BOOL};
  if (g->x.f.compute == GB_I64) return whole[fx_below(&g->x, 4)];
  return fx_below(&g->x, 2) ? g->x.f.compute : any[fx_below(&g->x, 6)];
}

static int some_operand (gen *g, gb_axes s) {
  return fx_operand(&g->x, some_dtype(g), s, fx_below(&g->x, 2));
}

static void keep (gen *g, int v, int frac, int mag) {
  if (frac + mag > 13) mag = 99;
  if (g->npool < MOST) g->pool[g->npool++] = (fx_value){v, frac, mag};
}

static fx_value pick (gen *g) { return g->pool[fx_below(&g->x, g->npool)]; }

static void add_map (gen *g) {
  static const gb_op smooth[] = {GB_OP_TANH, GB_OP_SIGMOID, GB_OP_SIN, GB_OP_COS, GB_OP_SOFTPLUS, GB_OP_ERF};
  static const gb_op sharp[] = {GB_OP_LT, GB_OP_GE, GB_OP_EQ, GB_OP_AND, GB_OP_OR, GB_OP_NOT};
  fx *x = &g->x;
  fx_value a = pick(g), b = pick(g), c = pick(g);
  bool exact = a.mag != 99 && b.mag != 99 && c.mag != 99;
  int frac = a.frac > b.frac ? a.frac : b.frac, mag = a.mag > b.mag ? a.mag : b.mag;
  int which = fx_below(x, 8);
  if (which == 0 && x->f.compute != GB_I64) keep(g, fx_map(x, smooth[fx_below(x, 6)], a.v, -1, -1), 0, 99);
  else if (which == 1 && exact) keep(g, fx_map(x, sharp[fx_below(x, 6)], a.v, b.v, -1), 0, 0);
  else if (which == 2 && exact) {
    int w = fx_map(x, GB_OP_WHERE, fx_map(x, GB_OP_LT, a.v, b.v, -1), b.v, c.v);
    keep(g, w, c.frac > b.frac ? c.frac : b.frac, c.mag > b.mag ? c.mag : b.mag);
  } else if (which == 3) keep(g, fx_map(x, GB_OP_MAXIMUM, a.v, b.v, -1), frac, mag);
  else if (which == 4) keep(g, fx_map(x, GB_OP_ABS, a.v, -1, -1), a.frac, a.mag);
  else if (which == 5 && exact) keep(g, fx_map(x, GB_OP_MUL, a.v, b.v, -1), a.frac + b.frac, a.mag + b.mag);
  else if (exact) keep(g, fx_map(x, GB_OP_SUB, a.v, b.v, -1), frac, mag + 1);
}

static void add_front (gen *g) {
  fx *x = &g->x;
  bool sq = fx_below(x, 3) != 0, whole = x->f.compute == GB_I64;
  bool odd = fx_below(x, 5) == 0; /* operands of any dependence */
  gb_axes outer = fx_below(x, 3) ? 0 : fx_bit(g->outer[0]);
  int a = some_operand(g, fx_bit(g->feature) | (odd ? some_axes(g) : fx_bit(g->lane) | outer));
  int b = some_operand(g, fx_bit(g->feature) | (odd ? some_axes(g) : fx_bit(g->tile)));
  if (fx_below(x, 4) == 0) {
    int s = a;
    a = b;
    b = s;
  }
  int w = sq && fx_below(x, 4) == 0 ? some_operand(g, fx_bit(g->feature)) : -1;
  int d = 0;
  while ((size_t)1 << d < x->f.axis[g->feature].extent) d++;
  int v = fx_along(x, sq ? GB_INS_SQDIST : GB_INS_DOT, a, b, w, g->feature);
  keep(g, v, whole ? 8 : w >= 0 ? 12 : 8, (sq ? 2 : 0) + d);
  if (whole || !sq || w >= 0 || fx_below(x, 3) == 0) return;
  static const gb_profile profiles[] = {GB_RBF, GB_M12, GB_M32, GB_M52, GB_RQ};
  gb_profile p = profiles[fx_below(x, 5)];
  int order = p == GB_M12 ? 0 : fx_below(x, 3) == 0 ? 1 : 0, dalpha = p == GB_RQ && fx_below(x, 3) == 0;
  int c = fx_below(x, 4) ? fx_bind(x, 0.7) : fx_load(x, fx_operand(x, x->f.compute, some_axes(g), true));
  int alpha = p == GB_RQ ? fx_below(x, 3) ? fx_const(x, 1.25)
                                          : fx_load(x, fx_operand(x, x->f.compute, some_axes(g), true))
                         : -1;
  /* varying parameters stay positive */
  if (x->ins[x->f.nins - 1].kind == GB_INS_LOAD || p == GB_RQ) {
    c = fx_map(x, GB_OP_ADD, fx_map(x, GB_OP_ABS, c, -1, -1), fx_const(x, 0.25), -1);
    if (alpha >= 0) alpha = fx_map(x, GB_OP_ADD, fx_map(x, GB_OP_ABS, alpha, -1, -1), fx_const(x, 0.5), -1);
  }
  keep(g, fx_radial(x, p, order, dalpha, v, c, alpha), 0, 99);
}

static void add_leaf (gen *g) {
  fx *x = &g->x;
  bool whole = x->f.compute == GB_I64;
  int which = fx_below(x, 9), axis[4] = {g->lane, g->tile, g->outer[0], -1};
  if (which == 0) keep(g, fx_bind(x, whole ? 3 : 0.25), 4, whole ? 2 : 0);
  else if (which == 1) keep(g, fx_const(x, whole ? -2 : -0.5), 4, whole ? 2 : 0);
  else if (which == 2 && axis[fx_below(x, 3)] >= 0) {
    gb_ins *i = fx_ins(x, GB_INS_IOTA);
    for (i->axis = -1; i->axis < 0;) i->axis = axis[fx_below(x, 3)];
    i->f = whole ? 1 : 1.0 / 16;
    i->g = whole ? 2 : 0.25;
    i->step = 1;
    i->start = 2;
    keep(g, fx_dst(x, i), 0, 99);
  } else if (which == 3 && !whole) {
    int o = fx_operand(x, GB_F64, some_axes(g), true);
    gb_ins *i = fx_ins(x, GB_INS_RAND);
    i->x = o;
    i->profile = (gb_profile)fx_below(x, 2);
    i->f = 0.875;
    i->seed[0] = 7;
    i->seed[1] = 9;
    keep(g, fx_dst(x, i), 0, 99);
  } else keep(g, fx_load(x, some_operand(g, some_axes(g))), whole ? 0 : 4, whole ? 4 : 0);
}

static gb_axes reduction (gen *g) {
  gb_axes s = 0;
  int which = fx_below(&g->x, 4);
  if (which & 1) s |= fx_bit(g->lane);
  if (which & 2) s |= fx_bit(g->tile);
  for (int q = 0; q < 2; q++)
    if (fx_below(&g->x, 3) == 0) s |= fx_bit(g->outer[q]);
  return s;
}

static gb_dtype result_dtype (gen *g, gb_monoid m) {
  if (m == GB_ARGMINIMUM || m == GB_ARGMAXIMUM) return GB_I64;
  if (m == GB_ANYTRUE || m == GB_ALLTRUE) return GB_BOOL;
  return g->x.f.compute;
}

static void add_reduce (gen *g, fx_value v, gb_axes loops) {
  fx *x = &g->x;
  gb_axes reduced = reduction(g);
  gb_monoid m = (gb_monoid)fx_below(x, GB_NMONOIDS);
  bool whole = x->f.compute == GB_I64;
  double terms = 1;
  for (int a = 0; a < x->f.naxes; a++)
    if (reduced >> a & 1) terms *= (double)x->f.axis[a].extent;
  if (m == GB_PROD && (whole || terms > 60)) m = GB_SUM; /* long products overflow */
  if (m == GB_LSE && whole) m = GB_SUM;
  if (v.mag == 99 &&
      (m == GB_ARGMINIMUM || m == GB_ARGMAXIMUM || m == GB_KSMALLEST || m == GB_ANYTRUE || m == GB_ALLTRUE))
    m = GB_SUM;
  gb_out *o = fx_emit(x, v.v, GB_OUT_REDUCE, m, reduced, loops, result_dtype(g, m), -1, fx_below(x, 2));
  if (m == GB_KSMALLEST) fx_select(x, o, 1 + fx_below(x, 5));
  x->exact[x->f.nouts - 1] = (v.mag != 99 || whole) && m != GB_LSE && m != GB_PROD;
}

static void add_product (gen *g, fx_value v, gb_axes loops) {
  fx *x = &g->x;
  gb_axes reduced = reduction(g), kept = 0, outer = fx_below(x, 4) ? 0 : fx_bit(g->outer[0]);
  bool odd = fx_below(x, 5) == 0, diff = fx_below(x, 3) == 0, single = !diff && fx_below(x, 3) == 0;
  int both[2] = {g->lane, g->tile};
  for (int q = 0; q < 2; q++) kept |= fx_bit(both[q]) & ~reduced;
  gb_axes over = (fx_bit(g->lane) | fx_bit(g->tile)) & reduced;
  int axis = single ? -1 : diff ? g->feature : g->column;
  int a = some_operand(g, fx_bit(axis) | (odd ? some_axes(g) : outer | (diff ? kept : over)));
  int b = diff ? some_operand(g, fx_bit(axis) | (odd ? some_axes(g) : over)) : -1;
  gb_out *o = fx_emit(x, v.v, diff ? GB_OUT_DIFF : GB_OUT_CONTRACT, GB_SUM, reduced, loops, x->f.compute,
                      axis, fx_below(x, 2));
  o->x = a;
  o->y = b;
  x->exact[x->f.nouts - 1] = x->f.compute == GB_I64 || (v.mag != 99 && v.frac + v.mag <= 9);
}

static void add_output (gen *g, fx_value v, gb_axes loops) {
  static const gb_dtype stores[] = {GB_F64, GB_F32, GB_F16, GB_BF16};
  fx *x = &g->x;
  int which = fx_below(x, 5);
  if (which == 0) {
    bool whole = x->f.compute == GB_I64;
    gb_dtype t = whole            ? fx_below(x, 2) ? GB_I64 : GB_I32
                 : fx_below(x, 2) ? x->f.compute
                                  : stores[fx_below(x, 4)];
    if (v.mag == 0 && v.frac == 0 && fx_below(x, 2)) t = GB_BOOL;
    fx_emit(x, v.v, GB_OUT_STORE, GB_SUM, 0, loops, t, -1, fx_below(x, 2));
    x->exact[x->f.nouts - 1] = whole || (v.mag != 99 && v.frac + v.mag <= 7);
  } else if (which <= 2) add_reduce(g, v, loops);
  else add_product(g, v, loops);
}

/* A loop over the short axis: loads, arithmetic, an accumulator, sometimes an output of every iteration. */
static void add_loop (gen *g) {
  static const gb_monoid over[] = {GB_SUM, GB_MAXIMUM, GB_MINIMUM, GB_PROD, GB_LSE};
  fx *x = &g->x;
  bool whole = x->f.compute == GB_I64;
  fx_loop(x, g->loop);
  int a = fx_load(x, some_operand(g, some_axes(g) | fx_bit(g->loop)));
  int b = fx_load(x, some_operand(g, some_axes(g) | (fx_below(x, 2) ? fx_bit(g->loop) : 0)));
  fx_value outside = pick(g);
  int t = fx_map(x, GB_OP_SUB, a, b, -1);
  if (fx_below(x, 2)) t = fx_map(x, GB_OP_MAXIMUM, t, outside.v, -1);
  for (int n = fx_below(x, 3); n > 0; n--)
    t = fx_map(x, fx_below(x, 2) ? GB_OP_MAXIMUM : GB_OP_MINIMUM, t, a, -1);
  if (fx_below(x, 2)) add_output(g, (fx_value){t, 0, 99}, fx_bit(g->loop));
  gb_monoid m = over[fx_below(x, whole ? 3 : 5)];
  int s = fx_acc(x, m, t);
  fx_end(x);
  if (x->f.axis[g->loop].extent > 0) keep(g, s, 0, 99); /* the identity of an empty loop may be infinite */
}

void random_program (gen *g, uint64_t seed) {
  static const gb_dtype compute[] = {GB_F64, GB_F64, GB_F32, GB_F32, GB_I64};
  memset(g, 0, sizeof *g);
  fx_init(&g->x, GB_F64, seed);
  g->x.f.compute = compute[fx_below(&g->x, 5)];
  axes(g);
  for (int n = 2 + fx_below(&g->x, 3); n > 0; n--) add_leaf(g);
  if (g->npool == 0) keep(g, fx_load(&g->x, some_operand(g, some_axes(g))), 4, 0);
  if (fx_below(&g->x, 2)) add_front(g);
  for (int n = fx_below(&g->x, 4); n > 0; n--) add_map(g);
  if (fx_below(&g->x, 3) == 0) add_loop(g);
  for (int n = 1 + fx_below(&g->x, 3); n > 0; n--)
    add_output(g, fx_below(&g->x, 2) ? g->pool[g->npool - 1] : pick(g), 0);
}
