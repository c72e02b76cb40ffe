/* products.c - a profile of distances and what is summed of it. */
#include "support/cpu/products.h"

/* k(x_i, x'_j) for n lanes and m rows of dimension d; one set of points if 'same'. */
product product_of (fx *x, gb_profile p, size_t n, size_t m, size_t d, size_t R, gb_dtype stored, bool same) {
  product q;
  q.lane = fx_axis(x, GB_AXIS_LANE, n);
  q.tile = fx_axis(x, GB_AXIS_TILE, m);
  q.feature = fx_axis(x, GB_AXIS_INNER, d);
  q.column = fx_axis(x, GB_AXIS_INNER, R);
  q.xl = fx_operand(x, stored, fx_bit(q.lane) | fx_bit(q.feature), true);
  q.xt = fx_operand(x, stored, fx_bit(q.tile) | fx_bit(q.feature), true);
  if (same) x->operand[q.xt].slot = x->operand[q.xl].slot;
  int c = fx_bind(x, 0.8), alpha = p == GB_RQ ? fx_bind(x, 1.5) : -1;
  q.k = fx_radial(x, p, 0, 0, fx_along(x, GB_INS_SQDIST, q.xl, q.xt, -1, q.feature), c, alpha);
  return q;
}

/* The operand with LANE and TILE exchanged, over the same memory. */
static int mirrored (fx *x, int o, const product *q) {
  gb_operand *m = &x->operand[x->f.noperands];
  *m = x->operand[o];
  m->stride[q->lane] = x->operand[o].stride[q->tile];
  m->stride[q->tile] = x->operand[o].stride[q->lane];
  return x->f.noperands++;
}

gb_out *product_contraction (fx *x, const product *q, int value, bool one, gb_axes reduced) {
  gb_out *o =
      fx_emit(x, value, GB_OUT_CONTRACT, GB_SUM, reduced, 0, x->f.compute, one ? -1 : q->column, true);
  o->x = fx_operand(x, x->f.compute, fx_bit(q->tile) | (one ? 0 : fx_bit(q->column)), true);
  if (x->f.symmetric) o->y = mirrored(x, o->x, q);
  return o;
}

/* Row sums, contractions, differences and totals of one symmetric value. */
static void add_symmetric_output (fx *x, const product *q, int value, gb_axes loops) {
  gb_out *o;
  gb_axes both = fx_bit(q->lane) | fx_bit(q->tile);
  switch (fx_below(x, 6)) {
    case 0: fx_emit(x, value, GB_OUT_REDUCE, GB_SUM, fx_bit(q->tile), loops, x->f.compute, -1, true); break;
    case 1: fx_emit(x, value, GB_OUT_REDUCE, GB_SUM, both, loops, x->f.compute, -1, true); break;
    case 2:
      o = fx_emit(x, value, GB_OUT_DIFF, GB_SUM, fx_bit(q->tile), loops, x->f.compute, q->feature, true);
      o->x = q->xl;
      o->y = q->xt;
      if (fx_below(x, 2)) o->x = q->xt, o->y = q->xl;
      break;
    case 3: product_contraction(x, q, value, true, both); break;
    case 4: product_contraction(x, q, value, true, fx_bit(q->tile)); break;
    default: product_contraction(x, q, value, false, fx_bit(q->tile));
  }
}

size_t symmetric_program (fx *x, int n) {
  static const size_t sizes[] = {1, 2, 63, 64, 65, 128, 200, 255, 256, 257, 320, 513, 600};
  fx_init(x, n % 3 ? GB_F32 : GB_F64, (uint64_t)n + 1000);
  const size_t m = sizes[fx_below(x, 13)];
  size_t outer = 1;
  x->f.symmetric = true;
  const int batch = fx_below(x, 3) == 0 ? fx_axis(x, GB_AXIS_OUTER, outer = (size_t)fx_below(x, 3) + 1) : -1;
  const product q = product_of(x, (gb_profile)(n % GB_NPROFILES), m, m, (size_t)fx_below(x, 10) + 1,
                               (size_t)fx_below(x, 9) + 1, x->f.compute, true);
  int value = fx_below(x, 2) ? q.k : fx_map(x, GB_OP_TANH, q.k, -1, -1);
  if (batch >= 0)
    value = fx_map(x, GB_OP_MUL, value, fx_load(x, fx_operand(x, x->f.compute, fx_bit(batch), true)), -1);
  for (int k = fx_below(x, 3); k >= 0; k--) add_symmetric_output(x, &q, value, 0);
  if (batch >= 0 && fx_below(x, 2))
    for (int o = 0; o < x->f.nouts; o++) x->out[o].reduced |= fx_bit(batch), x->out[o].stride[batch] = 0;
  return outer * m * m;
}

void long_program (fx *x, bool wide) {
  fx_init(x, GB_F32, wide);
  const int lane = fx_axis(x, GB_AXIS_LANE, 70), tile = fx_axis(x, GB_AXIS_TILE, 300);
  const gb_axes side[] = {fx_bit(lane), fx_bit(tile), fx_bit(lane) | fx_bit(tile)};
  gb_ins *i = fx_ins(x, GB_INS_IOTA);
  i->axis = tile, i->f = 0.5, i->g = 0.25;
  int sum = fx_dst(x, i);
  sum = fx_map(x, GB_OP_ADD, sum, fx_bind(x, 0.5), -1);
  int v[6];
  for (int n = 0; n < 6; n++) v[n] = fx_load(x, fx_operand(x, GB_F32, side[n % 3], true));
  for (int n = 0; n < (wide ? 24 : 72); n++) {
    sum = fx_map(x, GB_OP_ADD, sum, v[n % 6], -1);
    if (wide || n == 71) fx_emit(x, sum, GB_OUT_REDUCE, GB_SUM, fx_bit(tile), 0, GB_F32, -1, true);
  }
}
