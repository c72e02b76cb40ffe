/* generated_programs.c - programs of kernels. */
#include "cuda/emit/generated_programs.h"

#include "support/cpu/products.h"

/* LOGS: LSE, of R values; FIRST: ARG*; FEW: R least ones. */
typedef enum shape {
  ROWS,
  COLUMNS,
  BOTH,
  MATRIX,
  SLOPES,
  LOGS,
  LOGS_OF_COLUMNS,
  FIRST,
  FIRST_OF_COLUMNS,
  FEW,
  FEW_OF_COLUMNS,
  SYMMETRIC,
  SQUARE
} shape;

static const struct {
  shape shape;
  gb_profile profile;
  int d, R;
  gb_dtype compute, stored;
} list[] = {
    {ROWS, GB_RBF, 1, 1, GB_F32, GB_F32},
    {ROWS, GB_M32, 2, 16, GB_F32, GB_F32},
    {ROWS, GB_RBF, 3, 1, GB_F32, GB_F32},
    {ROWS, GB_M12, 4, 3, GB_F32, GB_F16},
    {ROWS, GB_M52, 5, 1, GB_F32, GB_BF16},
    {ROWS, GB_RQ, 6, 3, GB_F32, GB_F32},
    {ROWS, GB_RBF, 7, 16, GB_F32, GB_F32},
    {ROWS, GB_RBF, 8, 1, GB_F32, GB_F32},
    {ROWS, GB_M32, 8, 16, GB_F32, GB_F32},
    {ROWS, GB_RBF, 32, 1, GB_F32, GB_F32},
    {ROWS, GB_M52, 32, 16, GB_F32, GB_F32},
    {ROWS, GB_RBF, 40, 3, GB_F32, GB_F32},
    {ROWS, GB_RBF, 3, 1, GB_F64, GB_F64},
    {ROWS, GB_RQ, 8, 3, GB_F64, GB_F32},
    {COLUMNS, GB_RBF, 3, 1, GB_F32, GB_F32},
    {COLUMNS, GB_M32, 8, 16, GB_F32, GB_F32},
    {COLUMNS, GB_M12, 5, 3, GB_F64, GB_F64},
    {COLUMNS, GB_RBF, 32, 1, GB_F32, GB_BF16},
    {BOTH, GB_RBF, 3, 1, GB_F32, GB_F32},
    {BOTH, GB_RQ, 2, 3, GB_F64, GB_F64},
    {MATRIX, GB_RBF, 3, 1, GB_F32, GB_F32},
    {MATRIX, GB_M52, 8, 1, GB_F32, GB_F16},
    {SLOPES, GB_M52, 3, 1, GB_F32, GB_F32},
    {SLOPES, GB_RBF, 8, 1, GB_F64, GB_F64},
    {SLOPES, GB_RQ, 2, 1, GB_F32, GB_F32},
    {SYMMETRIC, GB_RBF, 3, 1, GB_F32, GB_F32},
    {SYMMETRIC, GB_M32, 8, 3, GB_F32, GB_F32},
    {SYMMETRIC, GB_M12, 1, 16, GB_F64, GB_F64},
    {SQUARE, GB_RBF, 3, 1, GB_F32, GB_F32},
    {SQUARE, GB_M32, 3, 2, GB_F32, GB_F32},
    {SQUARE, GB_RBF, 3, 4, GB_F32, GB_F32},
    {SQUARE, GB_RBF, 3, 16, GB_F32, GB_F32},
    {SQUARE, GB_RBF, 1, 1, GB_F32, GB_F16},
    {SQUARE, GB_M52, 8, 1, GB_F32, GB_F32},
    {SQUARE, GB_RBF, 8, 4, GB_F32, GB_F32},
    {SQUARE, GB_RBF, 32, 1, GB_F32, GB_F32},
    {SQUARE, GB_RBF, 3, 1, GB_F64, GB_F64},
    {SQUARE, GB_RQ, 8, 2, GB_F64, GB_F32},
    {LOGS, GB_RBF, 3, 1, GB_F32, GB_F32},
    {LOGS, GB_M32, 8, 2, GB_F32, GB_F16},
    {LOGS, GB_RBF, 32, 1, GB_F32, GB_F32},
    {LOGS, GB_RBF, 2, 1, GB_F64, GB_F64},
    {LOGS_OF_COLUMNS, GB_RBF, 3, 1, GB_F32, GB_F32},
    {LOGS_OF_COLUMNS, GB_RBF, 32, 1, GB_F32, GB_F32},
    {LOGS_OF_COLUMNS, GB_M52, 2, 1, GB_F64, GB_F32},
    {FIRST, GB_RBF, 2, 1, GB_F32, GB_F32},
    {FIRST, GB_RBF, 8, 1, GB_F64, GB_F64},
    {FIRST_OF_COLUMNS, GB_RBF, 3, 1, GB_F32, GB_F32},
    {FIRST_OF_COLUMNS, GB_M12, 1, 1, GB_F64, GB_F64},
    {FEW, GB_RBF, 3, 1, GB_F32, GB_F32},
    {FEW, GB_RBF, 2, 5, GB_F32, GB_F32},
    {FEW, GB_RBF, 3, 16, GB_F32, GB_F32},
    {FEW, GB_M32, 2, 8, GB_F64, GB_F64},
    {FEW_OF_COLUMNS, GB_RBF, 3, 3, GB_F32, GB_F32},
    {FEW_OF_COLUMNS, GB_RBF, 2, 16, GB_F64, GB_F64},
    {ROWS, GB_M12, 1, 3, GB_F32, GB_I32},
    {ROWS, GB_RQ, 2, 1, GB_F64, GB_I32},
};
enum { COUNT = sizeof list / sizeof *list };
const int nkernel_programs = COUNT;

static const size_t sizes[][2] = {{65, 257},  {257, 65},  {0, 63},    {64, 0},  {1, 1},
                                  {511, 256}, {513, 255}, {512, 513}, {1100, 2}};
const int nkernel_sizes = sizeof sizes / sizeof *sizes - 1;

/* Derivatives by points and by the scale: of both sides at once. */
static void add_slopes (fx *x, const product *q, gb_profile p) {
  const int alpha = p == GB_RQ ? fx_bind(x, 1.5) : -1;
  const int s = fx_along(x, GB_INS_SQDIST, q->xl, q->xt, -1, q->feature);
  const int slope = fx_radial(x, p, 1, 0, s, fx_bind(x, 0.7), alpha);
  gb_out *o = fx_emit(x, slope, GB_OUT_DIFF, GB_SUM, fx_bit(q->tile), 0, x->f.compute, q->feature, true);
  o->x = q->xl, o->y = q->xt;
  o = fx_emit(x, slope, GB_OUT_DIFF, GB_SUM, fx_bit(q->lane), 0, x->f.compute, q->feature, true);
  o->x = q->xt, o->y = q->xl;
  const int curve = fx_radial(x, p, 2, 0, s, fx_bind(x, 0.6), alpha);
  fx_emit(x, fx_map(x, GB_OP_MUL, curve, s, -1), GB_OUT_REDUCE, GB_SUM, fx_bit(q->tile), 0, x->f.compute, -1,
          true);
  if (alpha < 0) return;
  const int by_alpha = fx_radial(x, p, 0, 1, s, fx_bind(x, 0.7), alpha);
  fx_emit(x, by_alpha, GB_OUT_REDUCE, GB_SUM, fx_bit(q->tile), 0, x->f.compute, -1, true);
}

static void add_columns (fx *x, const product *q, bool one) {
  gb_out *o =
      fx_emit(x, q->k, GB_OUT_CONTRACT, GB_SUM, fx_bit(q->lane), 0, x->f.compute, one ? -1 : q->column, true);
  o->x = fx_operand(x, x->f.compute, fx_bit(q->lane) | (one ? 0 : fx_bit(q->column)), true);
}

/* What orders and maxima are about: in lines of 'line' NaN, infinities, zeros of both signs, and lines of nothing else. */
static void spoil (fx *x, int operand, int line) {
  static const double odd[] = {0, NAN, INFINITY, -INFINITY, 0, -0.0};
  const gb_operand *o = &x->operand[operand];
  const int other = x->f.axis[0].role == x->f.axis[line].role ? 1 : 0;
  for (size_t i = 0; i < x->f.axis[line].extent; i++)
    for (size_t k = 0; k < x->f.axis[other].extent; k++) {
      const bool here = i % 12 < 6 || k % 23 == i % 23, sign = i % 6 >= 4 && k % 2 == 1;
      const ptrdiff_t at = o->offset + (ptrdiff_t)i * o->stride[line] + (ptrdiff_t)k * o->stride[other];
      if (i % 6 > 0 && here && i > 0)
        gb_element_set(x->in[o->slot], (size_t)at, o->dtype, sign ? -odd[i % 6] : odd[i % 6]);
    }
}

/* Distances of few values, so that many are equal. */
static int with_ties (fx *x, const product *q) {
  const int s = fx_along(x, GB_INS_SQDIST, q->xl, q->xt, -1, q->feature);
  return fx_map(x, GB_OP_ROUND, fx_map(x, GB_OP_MUL, s, fx_const(x, 4), -1), -1, -1);
}

/* Of kernels, and of a matrix in memory with what is odd in its lines. */
static void add_kept (fx *x, shape s, int k, const product *q) {
  const bool columns = s == LOGS_OF_COLUMNS || s == FIRST_OF_COLUMNS || s == FEW_OF_COLUMNS;
  const gb_axes over = fx_bit(columns ? q->lane : q->tile);
  const int matrix = fx_operand(x, x->f.compute, fx_bit(q->lane) | fx_bit(q->tile), true);
  spoil(x, matrix, columns ? q->tile : q->lane);
  const int odd = fx_load(x, matrix);
  if (s == LOGS || s == LOGS_OF_COLUMNS) {
    if (k > 1) fx_emit(x, q->k, GB_OUT_REDUCE, GB_LSE, over, 0, x->f.compute, -1, true);
    const int far = fx_map(x, GB_OP_MUL, odd, fx_const(x, 9), -1);
    fx_emit(x, fx_map(x, GB_OP_ADD, q->k, far, -1), GB_OUT_REDUCE, GB_LSE, over, 0, x->f.compute, -1, true);
    fx_emit(x, q->k, GB_OUT_REDUCE, GB_SUM, over, 0, x->f.compute, -1, true);
    return;
  }
  const int ties = with_ties(x, q);
  const bool few = s == FEW || s == FEW_OF_COLUMNS;
  for (int n = 0; n < (!few ? 4 : k > 8 ? 1 : 2); n++) {
    const gb_monoid m = few ? GB_KSMALLEST : n % 2 == 0 ? GB_ARGMINIMUM : GB_ARGMAXIMUM;
    const int value = k > 8 ? fx_map(x, GB_OP_ADD, ties, odd, -1) : n < (few ? 1 : 2) ? ties : odd;
    gb_out *o = fx_emit(x, value, GB_OUT_REDUCE, m, over, 0, few ? x->f.compute : GB_I64, -1, true);
    if (few) fx_select(x, o, k);
  }
}

static void add_outputs (fx *x, shape s, gb_profile p, const product *q, int R) {
  const gb_axes lane = fx_bit(q->lane), tile = fx_bit(q->tile);
  const bool one = R == 1;
  gb_out *o;
  switch (s) {
    case LOGS:
    case LOGS_OF_COLUMNS:
    case FIRST:
    case FIRST_OF_COLUMNS:
    case FEW:
    case FEW_OF_COLUMNS: add_kept(x, s, R, q); break;
    case ROWS: product_contraction(x, q, q->k, one, tile); break;
    case COLUMNS: add_columns(x, q, one); break;
    case BOTH:
      product_contraction(x, q, q->k, true, tile | lane);
      fx_emit(x, q->k, GB_OUT_REDUCE, GB_MAXIMUM, tile | lane, 0, x->f.compute, -1, true);
      break;
    case MATRIX: fx_emit(x, q->k, GB_OUT_STORE, GB_SUM, 0, 0, GB_BF16, -1, true); break;
    case SLOPES: add_slopes(x, q, p); break;
    case SQUARE: product_contraction(x, q, q->k, one, tile); break;
    default:
      product_contraction(x, q, q->k, one, tile);
      product_contraction(x, q, q->k, true, tile | lane);
      fx_emit(x, q->k, GB_OUT_REDUCE, GB_SUM, tile | lane, 0, x->f.compute, -1, true);
      o = fx_emit(x, q->k, GB_OUT_DIFF, GB_SUM, tile, 0, x->f.compute, q->feature, true);
      o->x = q->xl, o->y = q->xt;
  }
}

fx *kernel_program (int number, int size) {
  if (number >= COUNT) return NULL;
  const bool symmetric = list[number].shape >= SYMMETRIC;
  const size_t n = sizes[size][0], m = symmetric ? n : sizes[size][1];
  fx *x = calloc(1, sizeof *x);
  assert_non_null(x);
  fx_init(x, list[number].compute, (uint64_t)(1 + number));
  x->f.symmetric = symmetric;
  const product q = product_of(x, list[number].profile, n, m, (size_t)list[number].d, (size_t)list[number].R,
                               list[number].stored, symmetric);
  add_outputs(x, list[number].shape, list[number].profile, &q, list[number].R);
  return x;
}
