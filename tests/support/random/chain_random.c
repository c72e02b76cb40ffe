/* chain_random.c - random fold programs made of the steps that chains run. */
#include "support/random/chain_random.h"

static bool chance (gen *g, int one_in) { return fx_below(&g->x, one_in) == 0; }

static void keep (gen *g, int v, double most) {
  if (g->npool < MOST) g->pool[g->npool++] = (bounded){v, most};
}

/* The last one, one of the last, or any. */
static bounded pick (gen *g) {
  int last = g->npool - 1, back = fx_below(&g->x, 4);
  if (back < 2) return g->pool[last];
  return g->pool[back == 2 && last >= 4 ? last - fx_below(&g->x, 4) : fx_below(&g->x, g->npool)];
}

static bool has_room (const gen *g, int ins) { return g->x.f.nins + ins < MOST - 16 && g->npool < MOST - 4; }

/* -- data */

/* A few elements become NaN, infinities or zeros, which must propagate. */
static void spoil (gen *g, int operand) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40, -1e-310, 3e38, 1e308, 1e-20};
  fx *x = &g->x;
  gb_dtype t = x->operand[operand].dtype;
  if (g->tame || t == GB_BOOL || fx_below(x, 3)) return;
  int only = fx_below(x, 2) ? 10 : 1 + fx_below(x, 9);
  for (int n = 1 + fx_below(x, 3); n > 0; n--)
    gb_element_set(x->in[operand], (size_t)(fx_next(x) % x->in_n[operand]), t, odd[fx_below(x, 10) % only]);
}

static int points_of (gen *g, gb_axes axes) {
  static const gb_dtype any[] = {GB_F64, GB_F32, GB_BF16, GB_BOOL};
  fx *x = &g->x;
  int o = fx_operand(x, chance(g, 6) ? any[fx_below(x, 4)] : x->f.compute, axes, !chance(g, 3));
  spoil(g, o);
  return o;
}

/* The operand with LANE and TILE exchanged, over the same memory. */
static int mirror_of (gen *g, int o) {
  fx *x = &g->x;
  gb_operand *m = &x->operand[x->f.noperands];
  *m = x->operand[o];
  m->stride[g->lane] = x->operand[o].stride[g->tile];
  m->stride[g->tile] = x->operand[o].stride[g->lane];
  m->deps = 0;
  for (int a = 0; a < x->f.naxes; a++)
    if (m->stride[a] != 0) m->deps |= fx_bit(a);
  return x->f.noperands++;
}

static int other_points (gen *g, int o, gb_axes rest) {
  return g->sym ? mirror_of(g, o) : points_of(g, fx_bit(g->tile) | rest);
}

static gb_axes maybe_outer (gen *g) { return chance(g, 3) ? fx_bit(g->outer) : 0; }

/* -- leaves */

static int number (gen *g) {
  fx *x = &g->x;
  switch (fx_below(x, 4)) {
    case 0: return fx_const(x, 0.375);
    case 1: return fx_load(x, points_of(g, maybe_outer(g)));
    default: return fx_bind(x, 0.25 + fx_below(x, 8) / 8.0);
  }
}

/* A value of the points alone: of one side, of both, or symmetric in them. */
static int leaf (gen *g, gb_axes rest) {
  fx *x = &g->x;
  if (g->sym) {
    if (chance(g, 4)) return rest ? fx_load(x, points_of(g, rest)) : number(g);
    int l = points_of(g, fx_bit(g->lane) | rest), a = fx_load(x, l), b = fx_load(x, mirror_of(g, l));
    return fx_map(x, fx_below(x, 2) ? GB_OP_ADD : GB_OP_MUL, a, b, -1);
  }
  switch (fx_below(x, 8)) {
    case 0: return rest ? fx_load(x, points_of(g, rest)) : number(g);
    case 1:
    case 2:
    case 3: return fx_load(x, points_of(g, fx_bit(g->lane) | rest | maybe_outer(g)));
    case 4:
    case 5:
    case 6: return fx_load(x, points_of(g, fx_bit(g->tile) | rest));
    default:
      return fx_load(x, points_of(g, chance(g, 3) || !rest ? fx_bit(g->lane) | fx_bit(g->tile) : rest));
  }
}

/* -- fronts and profiles */

static int scale (gen *g) {
  fx *x = &g->x;
  int c = chance(g, 3) ? fx_load(x, fx_operand(x, x->f.compute, maybe_outer(g), true)) : fx_bind(x, 0.7);
  return x->ins[x->f.nins - 1].kind == GB_INS_LOAD
             ? fx_map(x, GB_OP_ADD, fx_map(x, GB_OP_ABS, c, -1, -1), fx_const(x, 0.5), -1)
             : c;
}

static void add_profile (gen *g, int s, double most) {
  fx *x = &g->x;
  gb_profile p = (gb_profile)fx_below(x, GB_NPROFILES);
  int order = chance(g, 3) && !(g->tame && p <= GB_M52 && p != GB_RBF) ? fx_below(x, 3) : 0;
  int dalpha = p == GB_RQ && chance(g, 3), c = scale(g), alpha = p == GB_RQ ? scale(g) : -1;
  int k = fx_radial(x, p, order, dalpha, s, c, alpha);
  keep(g, k, dalpha ? 1 + most : 8);
  if (fx_below(x, 2)) return;
  int by = number(g);
  k = fx_below(x, 2) ? fx_map(x, GB_OP_MUL, k, by, -1) : fx_map(x, GB_OP_MUL, by, k, -1);
  keep(g, k, dalpha ? 1 + most : 8);
}

/* Distances or products, and profiles of the distances: one, several, or two that are joined. */
static void add_front (gen *g, gb_axes rest) {
  fx *x = &g->x;
  int axis = chance(g, 3) ? g->one : g->feature, l = g->xl, t = g->xt;
  if (axis == g->one || rest || chance(g, 3)) {
    l = points_of(g, fx_bit(g->lane) | fx_bit(axis) | rest);
    t = other_points(g, l, fx_bit(axis) | rest);
  }
  bool product = axis == g->one ? fx_below(x, 3) > 0 : chance(g, 3);
  int w = !product && chance(g, 3) ? points_of(g, fx_bit(axis) | rest) : -1;
  bool swap = chance(g, 4);
  double most = 4 * (double)x->f.axis[axis].extent;
  int s = fx_along(x, product ? GB_INS_DOT : GB_INS_SQDIST, swap ? t : l, swap ? l : t, w, axis);
  if (product && axis == g->one && chance(g, 2)) {
    s = fx_below(x, 2) ? fx_map(x, GB_OP_MUL, s, g->pool[g->npool - 1].v, -1)
                       : fx_map(x, GB_OP_MUL, g->pool[g->npool - 1].v, s, -1);
    most *= g->pool[g->npool - 1].most;
  }
  if (w >= 0 || product) {
    keep(g, s, most);
    if (product || g->tame) return;
  } else if (fx_below(x, 2)) keep(g, s, most);
  for (int n = 1 + fx_below(x, 3); n > 0; n--) add_profile(g, g->far >= 0 && chance(g, 3) ? g->far : s, most);
  if (!rest) g->far = s;
  if (g->npool >= 2 && fx_below(x, 2)) {
    bounded a = g->pool[g->npool - 1], b = g->pool[g->npool - 2];
    bool mul = fx_below(x, 2);
    keep(g, fx_map(x, mul ? GB_OP_MUL : GB_OP_ADD, a.v, b.v, -1), mul ? a.most * b.most : a.most + b.most);
  }
}

/* -- elementwise */

static void add_wild (gen *g, bounded a, bounded b) {
  static const gb_op one[] = {GB_OP_RECIP, GB_OP_SQRT,  GB_OP_RSQRT,    GB_OP_EXP,
                              GB_OP_LOG,   GB_OP_FLOOR, GB_OP_SIGN,     GB_OP_ISNAN,
                              GB_OP_NOT,   GB_OP_EXPM1, GB_OP_ISFINITE, GB_OP_DETACH};
  static const gb_op two[] = {GB_OP_DIV, GB_OP_DIV, GB_OP_DIV, GB_OP_MUL, GB_OP_LT, GB_OP_LE, GB_OP_GT,
                              GB_OP_GE,  GB_OP_EQ,  GB_OP_NE,  GB_OP_AND, GB_OP_OR, GB_OP_POW};
  fx *x = &g->x;
  switch (fx_below(x, 4)) {
    case 0: keep(g, fx_map(x, one[fx_below(x, 12)], a.v, -1, -1), 1); break;
    case 1: keep(g, fx_map(x, two[fx_below(x, 13)], a.v, b.v, -1), 1); break;
    case 2: keep(g, fx_map(x, GB_OP_WHERE, pick(g).v, a.v, b.v), 1); break;
    default: keep(g, fx_map(x, one[fx_below(x, 3)], a.v, -1, -1), 1);
  }
}

/* Tame values stay small. */
static void calm (gen *g) {
  bounded last = g->pool[g->npool - 1];
  if (last.most > 16 && g->tame) keep(g, fx_map(&g->x, GB_OP_TANH, last.v, -1, -1), 2);
}

static void add_map (gen *g) {
  static const gb_op smooth[] = {GB_OP_TANH, GB_OP_SIGMOID, GB_OP_SIN, GB_OP_ERF};
  fx *x = &g->x;
  bounded a = pick(g), b = chance(g, 3) ? (bounded){leaf(g, 0), 2} : pick(g);
  if (fx_below(x, 2)) {
    bounded t = a;
    a = b;
    b = t;
  }
  double sum = a.most + b.most, top = a.most > b.most ? a.most : b.most;
  if (!g->tame && chance(g, 3)) {
    add_wild(g, a, b);
    return;
  }
  switch (fx_below(x, 12)) {
    case 0: keep(g, fx_map(x, GB_OP_NEG, a.v, -1, -1), a.most); break;
    case 1: keep(g, fx_map(x, GB_OP_ABS, a.v, -1, -1), a.most); break;
    case 2: keep(g, fx_map(x, GB_OP_SQUARE, a.v, -1, -1), a.most * a.most); break;
    case 3: keep(g, fx_map(x, GB_OP_RELU, a.v, -1, -1), a.most); break;
    case 4: keep(g, fx_map(x, GB_OP_MINIMUM, a.v, b.v, -1), top); break;
    case 5: keep(g, fx_map(x, GB_OP_MAXIMUM, a.v, b.v, -1), top); break;
    case 6:
    case 7: keep(g, fx_map(x, GB_OP_SUB, a.v, b.v, -1), sum); break;
    case 8: keep(g, fx_map(x, GB_OP_ADD, a.v, b.v, -1), sum); break;
    case 9:
    case 10: keep(g, fx_map(x, GB_OP_MUL, a.v, b.v, -1), a.most * b.most); break;
    default: keep(g, fx_map(x, smooth[fx_below(x, 4)], a.v, -1, -1), 2);
  }
  calm(g);
}

/* As many live values as a chain has slots, or more. */
static void add_crowd (gen *g) {
  fx *x = &g->x;
  int n = 3 + fx_below(x, 24), first = g->npool;
  bool calls = fx_below(x, 2);
  for (int q = 0; q < n && has_room(g, n - q + 4); q++) {
    bounded a = q == 0 ? pick(g) : g->pool[g->npool - 1];
    keep(g,
         fx_map(x,
                calls && q % 3 == 0 ? GB_OP_TANH
                : q % 2             ? GB_OP_NEG
                                    : GB_OP_RELU,
                a.v, -1, -1),
         a.most);
  }
  n = g->npool - first;
  for (int q = 0; q < n && has_room(g, 2); q++) {
    bounded a = g->pool[g->npool - 1], b = g->pool[first + q];
    keep(g, fx_map(x, GB_OP_SUB, a.v, b.v, -1), a.most + b.most);
    calm(g);
  }
}

/* -- loops */

static void add_loop (gen *g) {
  static const gb_monoid over[] = {GB_SUM, GB_SUM, GB_PROD, GB_MINIMUM, GB_MAXIMUM};
  fx *x = &g->x;
  const int axis = g->loop, outside = g->npool;
  const size_t turns = x->f.axis[axis].extent;
  bounded acc[3];
  int naccs = 1 + fx_below(x, 3);
  fx_loop(x, axis);
  for (int n = 1 + fx_below(x, 3); n > 0; n--) keep(g, leaf(g, fx_bit(axis)), 2);
  if (chance(g, 3)) {
    int l = points_of(g, fx_bit(g->lane) | fx_bit(g->feature) | fx_bit(axis));
    int t = other_points(g, l, fx_bit(g->feature));
    double most = 4 * (double)x->f.axis[g->feature].extent;
    int w = chance(g, 2) ? points_of(g, fx_bit(g->feature) | (chance(g, 2) ? fx_bit(axis) : maybe_outer(g)))
                         : -1;
    bool dot = w < 0 && chance(g, 2);
    keep(g, fx_along(x, dot ? GB_INS_DOT : GB_INS_SQDIST, l, t, w, g->feature), most);
  }
  for (int n = 1 + fx_below(x, 4); n > 0 && has_room(g, 8); n--) add_map(g);
  for (int n = 0; n < naccs; n++) {
    bounded a = n == 0 ? g->pool[g->npool - 1] : pick(g);
    gb_monoid m = over[g->tame ? fx_below(x, 2) : fx_below(x, 5)];
    acc[n] = (bounded){fx_acc(x, m, a.v), a.most * (double)(turns + 1)};
    if (chance(g, 4) && has_room(g, 4)) add_map(g);
  }
  fx_end(x);
  g->npool = outside;
  for (int n = 0; n < naccs; n++) {
    keep(g, acc[n].v, acc[n].most);
    calm(g);
  }
}

/* -- outputs */

static gb_axes reduction (gen *g, int which) {
  gb_axes outer = chance(g, 3) ? fx_bit(g->outer) : 0;
  return outer | (which & 1 ? fx_bit(g->tile) : 0) | (which & 2 ? fx_bit(g->lane) : 0);
}

static void add_contract (gen *g, int v) {
  fx *x = &g->x;
  bool single = chance(g, 3), all = g->sym && chance(g, 5);
  gb_axes reduced = reduction(g, all ? 3 : g->sym ? 1 : 1 + fx_below(x, 2));
  int over = reduced & fx_bit(g->tile) ? g->tile : g->lane, axis = single || all ? -1 : g->column;
  gb_out *o = fx_emit(x, v, GB_OUT_CONTRACT, GB_SUM, reduced, 0, x->f.compute, axis, !chance(g, 3));
  o->x = points_of(g, fx_bit(over) | fx_bit(axis) | (chance(g, 3) ? fx_bit(g->outer) : 0));
  if (g->sym) o->y = mirror_of(g, o->x);
}

static void add_diff (gen *g, int v, bool row) {
  fx *x = &g->x;
  gb_axes reduced = reduction(g, row || g->sym ? 1 : 2);
  gb_out *o = fx_emit(x, v, GB_OUT_DIFF, GB_SUM, reduced, 0, x->f.compute, g->feature, !chance(g, 3));
  bool swap = g->sym ? chance(g, 2) && !(reduced & fx_bit(g->outer)) : !row;
  o->x = swap ? g->xt : g->xl;
  o->y = swap ? g->xl : g->xt;
}

static void add_reduce (gen *g, int v) {
  static const gb_monoid any[] = {GB_SUM,     GB_SUM, GB_PROD,       GB_MINIMUM,
                                  GB_MAXIMUM, GB_LSE, GB_ARGMINIMUM, GB_KSMALLEST};
  fx *x = &g->x;
  gb_monoid m = g->sym ? GB_SUM : any[fx_below(x, 8)];
  if (g->tame && (m == GB_PROD || m >= GB_ARGMINIMUM)) m = GB_SUM;
  gb_axes reduced = reduction(g, g->sym ? 1 + 2 * fx_below(x, 2) : 1 + fx_below(x, 3));
  gb_dtype to = m == GB_ARGMINIMUM ? GB_I64 : x->f.compute;
  gb_out *o = fx_emit(x, v, GB_OUT_REDUCE, m, reduced, 0, to, -1, !chance(g, 3));
  if (m == GB_KSMALLEST) fx_select(x, o, 1 + fx_below(x, 5));
}

static void add_output (gen *g, int v) {
  fx *x = &g->x;
  switch (fx_below(x, 7)) {
    case 0:
    case 1: add_contract(g, v); break;
    case 2: add_diff(g, v, fx_below(x, 2)); break;
    case 3:
      add_diff(g, v, true);
      add_diff(g, v, false);
      break;
    case 4:
      if (g->sym) add_reduce(g, v);
      else
        fx_emit(x, v, GB_OUT_STORE, GB_SUM, 0, 0, chance(g, 5) ? GB_F32 : x->f.compute, -1, fx_below(x, 2));
      break;
    default: add_reduce(g, v);
  }
}

/* -- programs */

static void chain_axes (gen *g) {
  static const size_t lanes[] = {1, 63, 64, 65, 128, 300, 513, 700, 64, 128, 129}, loops[] = {0, 1, 2, 3, 5};
  static const size_t tiles[] = {1, 63, 64, 65, 128, 300, 513, 700, 17, 33, 2};
  fx *x = &g->x;
  size_t n, m;
  g->outer = chance(g, 3) ? fx_axis(x, GB_AXIS_OUTER, 1 + (size_t)fx_below(x, 3)) : -1;
  const size_t most = (fx_below(x, 8) ? 24000 : 120000) / (g->outer >= 0 ? 2 : 1);
  do {
    n = lanes[fx_below(x, 11)];
    m = g->sym ? n : tiles[fx_below(x, 11)];
  } while (n * m > most || (n < GB_TI && !chance(g, 6)));
  bool first = fx_below(x, 2);
  if (first) g->tile = fx_axis(x, GB_AXIS_TILE, m);
  g->lane = fx_axis(x, GB_AXIS_LANE, n);
  if (!first) g->tile = fx_axis(x, GB_AXIS_TILE, m);
  g->loop = fx_axis(x, GB_AXIS_INNER, g->tame ? 2 : loops[fx_below(x, 5)]);
  g->feature = fx_axis(x, GB_AXIS_INNER, 1 + (size_t)fx_below(x, 9));
  g->column = fx_axis(x, GB_AXIS_INNER, 1 + (size_t)fx_below(x, 6));
  g->one = fx_axis(x, GB_AXIS_INNER, 1);
  g->xl = points_of(g, fx_bit(g->lane) | fx_bit(g->feature) | (chance(g, 4) ? fx_bit(g->outer) : 0));
  g->xt = other_points(g, g->xl, fx_bit(g->feature));
}

void chain_program (gen *g, uint64_t seed) {
  fx *x = &g->x;
  memset(g, 0, sizeof *g);
  fx_init(x, seed % 2 ? GB_F32 : GB_F64, seed);
  g->far = -1;
  g->tame = fx_below(x, 2);
  g->sym = chance(g, 4);
  x->f.symmetric = g->sym;
  chain_axes(g);
  keep(g, leaf(g, 0), 2);
  if (fx_below(x, 8)) add_front(g, 0);
  bool crowded = chance(g, 10);
  for (int n = crowded ? 0 : fx_below(x, 9); n > 0 && has_room(g, 12); n--) {
    switch (fx_below(x, 8)) {
      case 0: add_front(g, 0); break;
      case 1: add_output(g, pick(g).v); break;
      case 2:
        if (x->f.nins < 40) add_loop(g);
        break;
      default: add_map(g);
    }
  }
  if (crowded) add_crowd(g);
  int same = pick(g).v;
  for (int n = 1 + fx_below(x, 3); n > 0 && x->f.nins < MOST - 6; n--)
    add_output(g, chance(g, 3) ? same : chance(g, 6) ? leaf(g, 0) : pick(g).v);
}

bool is_cheap_and_tame (const gen *g) {
  size_t pairs = 1;
  for (int a = 0; a < g->x.f.naxes; a++)
    if (g->x.f.axis[a].role != GB_AXIS_INNER) pairs *= g->x.f.axis[a].extent;
  return g->tame && pairs * (size_t)g->x.f.nins < 300000;
}
