/* panel.c - the vector work of the far device: that of its home, with addresses that the home has. */
#include "far.h"

#include <math.h>

/* Every call comes by here. */
static gb_panel here (gb_panel x) {
  far_count();
  x.device = home_of(x.device);
  x.at = near(x.at);
  return x;
}

static gb_low_rank low_rank_here (const gb_low_rank *p) {
  gb_low_rank q = *p;
  q.scale = near(p->scale);
  q.lt = near(p->lt);
  q.c = near(p->c);
  q.d = near(p->d);
  q.work = near(p->work);
  return q;
}

static const gb_panel_ops *ops (gb_panel x) { return home_of(x.device)->ops->panel; }

/* A device that is lost gives no values. */
static void p_read (gb_panel x, double *out) {
  ops(x)->read(here(x), out);
  for (size_t i = 0; far_is_lost() && i < x.n * x.r; i++) out[i] = NAN;
}

static void p_write (gb_panel x, const double *values) { ops(x)->write(here(x), values); }

static gb_status p_load (gb_panel x, const void *from, bool f32, size_t stride, gb_error *err) {
  if (far_is_lost()) return far_gone(err);
  return ops(x)->load(here(x), near(from), f32, stride, err);
}

static gb_status p_store (gb_panel x, void *to, bool f32, size_t stride, bool round, gb_error *err) {
  if (far_is_lost()) return far_gone(err);
  return ops(x)->store(here(x), near(to), f32, stride, round, err);
}

static void p_fill (gb_panel x, double value) { ops(x)->fill(here(x), value); }

static void p_copy (gb_panel x, gb_panel y) { ops(x)->copy(here(x), here(y)); }

static void p_subtract (gb_panel b, gb_panel x, gb_panel y) { ops(b)->subtract(here(b), here(x), here(y)); }

static void p_axpy (const double *f, gb_panel x, gb_panel y) { ops(x)->axpy(f, here(x), here(y)); }

static void p_xpay (const double *f, gb_panel x, gb_panel y) { ops(x)->xpay(f, here(x), here(y)); }

static void p_scale (const double *f, gb_panel x) { ops(x)->scale(f, here(x)); }

static void p_divide (const double *f, gb_panel x, gb_panel y) { ops(x)->divide(f, here(x), here(y)); }

static void p_blend (double f, gb_panel x, gb_panel y) { ops(x)->blend(f, here(x), here(y)); }

static void p_combine (const double *a, gb_panel y, const double *b, gb_panel x) {
  ops(y)->combine(a, here(y), b, here(x));
}

static void p_recur (const double *a, gb_panel x, const double *b, gb_panel z, gb_panel y) {
  ops(x)->recur(a, here(x), b, here(z), here(y));
}

static void p_multiply (gb_panel d, gb_panel x) { ops(d)->multiply(here(d), here(x)); }

static void p_inverse_root (gb_panel x, double shift) { ops(x)->inverse_root(here(x), shift); }

static void p_moduli (gb_panel x) { ops(x)->moduli(here(x)); }

static void p_normals (gb_panel x, uint64_t seed, uint64_t stream) { ops(x)->normals(here(x), seed, stream); }

static void p_exponentials (gb_panel x, uint64_t seed) { ops(x)->exponentials(here(x), seed); }

static void p_compact (gb_panel x, size_t to, size_t w, const size_t *at) {
  ops(x)->compact(here(x), to, w, at);
}

static void p_dot (gb_panel x, gb_panel y, void *sums, double *out) {
  ops(x)->dot(here(x), here(y), near(sums), out);
  for (size_t i = 0; far_is_lost() && i < x.r; i++) out[i] = NAN;
}

static void p_step (const double *f, gb_panel p, gb_panel q, gb_panel x, gb_panel r, void *sums,
                    double *out) {
  ops(p)->step(f, here(p), here(q), here(x), here(r), near(sums), out);
}

static double p_sum (gb_panel x) { return ops(x)->sum(here(x)); }

static double p_sum_squares (gb_panel x, double start) { return ops(x)->sum_squares(here(x), start); }

static double p_sum_logs (gb_panel x, double factor, double start) {
  return ops(x)->sum_logs(here(x), factor, start);
}

static size_t p_worst_interleaved (gb_panel x, size_t m, const double *length) {
  return ops(x)->worst_interleaved(here(x), m, length);
}

static void p_cross (gb_panel x, gb_panel y, void *sums, double *out) {
  ops(x)->cross(here(x), here(y), near(sums), out);
  for (size_t i = 0; far_is_lost() && i < x.r * y.r; i++) out[i] = NAN;
}

static void p_mix (gb_panel x, const double *m, gb_panel y) { ops(x)->mix(here(x), m, here(y)); }

static void p_turn (const double *m, size_t to, void *sums, gb_panel x) {
  ops(x)->turn(m, to, near(sums), here(x));
}

static void p_exponents (gb_panel x, int *exponent) { ops(x)->exponents(here(x), exponent); }

static void p_shift (gb_panel x, const int *exponent, int sign) { ops(x)->shift(here(x), exponent, sign); }

static double p_lost (gb_panel x, const int *exponent, bool f32, size_t *column) {
  return ops(x)->lost(here(x), exponent, f32, column);
}

static void p_keep (gb_panel x, const int *exponent, bool f32) { ops(x)->keep(here(x), exponent, f32); }

static bool p_finite (gb_panel x, bool f32, size_t *column) { return ops(x)->finite(here(x), f32, column); }

static size_t p_first_invalid (gb_panel x) { return ops(x)->first_invalid(here(x)); }

static gb_status p_potrf (gb_panel a, size_t *minor, bool *finite, gb_error *err) {
  if (far_is_lost()) return far_gone(err);
  return ops(a)->potrf(here(a), minor, finite, err);
}

static gb_status p_gram (gb_panel lt, double shift, gb_panel c, gb_error *err) {
  if (far_is_lost()) return far_gone(err);
  return ops(lt)->gram(here(lt), shift, here(c), err);
}

static void p_trsm (gb_panel l, bool transposed, gb_panel x) { ops(l)->trsm(here(l), transposed, here(x)); }

static void p_times_gram (gb_panel l, gb_panel x) { ops(l)->times_gram(here(l), here(x)); }

static size_t p_rcond_bytes (const gb_device *dev, bool f32, size_t n) {
  return home_of(dev)->ops->panel->rcond_bytes(home_of(dev), f32, n);
}

static gb_status p_rcond (gb_device *dev, bool f32, size_t n, const void *l, double norm, void *work,
                          double *out, gb_error *err) {
  if (far_is_lost()) return far_gone(err);
  return home_of(dev)->ops->panel->rcond(home_of(dev), f32, n, near(l), norm, near(work), out, err);
}

static void p_solve (const gb_low_rank *p, gb_panel x, gb_panel y) {
  const gb_low_rank q = low_rank_here(p);
  ops(x)->solve(&q, here(x), here(y));
}

static void p_sample (const gb_low_rank *p, uint64_t seed, size_t first, gb_panel x) {
  const gb_low_rank q = low_rank_here(p);
  ops(x)->sample(&q, seed, first, here(x));
}

static size_t p_first_turns (gb_panel left, gb_panel lot, size_t most, size_t *index, double *turn) {
  return ops(left)->first_turns(here(left), here(lot), most, index, turn);
}

static gb_status p_eliminate (const gb_elimination *e, double *left, gb_error *err) {
  if (far_is_lost()) return far_gone(err);
  gb_elimination q = *e;
  q.lt = here(e->lt);
  q.left = here(e->left);
  q.lot = here(e->lot);
  q.sums = near(e->sums);
  return ops(e->lt)->eliminate(&q, left, err);
}

const gb_panel_ops far_panel_ops = {.read = p_read,
                                    .write = p_write,
                                    .load = p_load,
                                    .store = p_store,
                                    .fill = p_fill,
                                    .copy = p_copy,
                                    .subtract = p_subtract,
                                    .axpy = p_axpy,
                                    .xpay = p_xpay,
                                    .scale = p_scale,
                                    .divide = p_divide,
                                    .blend = p_blend,
                                    .combine = p_combine,
                                    .recur = p_recur,
                                    .multiply = p_multiply,
                                    .inverse_root = p_inverse_root,
                                    .moduli = p_moduli,
                                    .normals = p_normals,
                                    .exponentials = p_exponentials,
                                    .compact = p_compact,
                                    .dot = p_dot,
                                    .step = p_step,
                                    .sum = p_sum,
                                    .sum_squares = p_sum_squares,
                                    .sum_logs = p_sum_logs,
                                    .worst_interleaved = p_worst_interleaved,
                                    .cross = p_cross,
                                    .mix = p_mix,
                                    .turn = p_turn,
                                    .exponents = p_exponents,
                                    .shift = p_shift,
                                    .lost = p_lost,
                                    .keep = p_keep,
                                    .finite = p_finite,
                                    .first_invalid = p_first_invalid,
                                    .potrf = p_potrf,
                                    .gram = p_gram,
                                    .trsm = p_trsm,
                                    .times_gram = p_times_gram,
                                    .rcond_bytes = p_rcond_bytes,
                                    .rcond = p_rcond,
                                    .solve = p_solve,
                                    .sample = p_sample,
                                    .first_turns = p_first_turns,
                                    .eliminate = p_eliminate};
