/* isa.h - the table of vector kernels, compiled once per ISA from one source and chosen at start. cpu/fold
** owns loops, packing, the ends of chains, threads and totals; these kernels own the lanes.
**
** A tile is GB_TI lanes wide: element (j, i) of a tile value is at j * GB_TI + i, 64-byte aligned. Lanes
** past the ragged edge hold copies of a valid lane (never garbage); kernels always do all GB_TI lanes and
** 'nj' <= GB_CANON rows. T is float for the f32 tables and double for the f64 ones. */
#ifndef GB_CPU_ISA_ISA_H
#define GB_CPU_ISA_ISA_H

#include "cpu/isa/ahead.h"
#include "program/bounds.h"
#include "program/fold.h"

/* How a value is laid out: by the tile axes it depends on. */
typedef enum gb_form {
  GB_FORM_ONE,  /* one element                        */
  GB_FORM_LANE, /* GB_TI elements, one a lane         */
  GB_FORM_TILE, /* nj elements, one a row             */
  GB_FORM_FULL  /* nj x GB_TI                         */
} gb_form;

typedef struct gb_arg {
  const void *p;
  gb_form form;
} gb_arg;

/* A chain: consecutive steps of a tile run on GB_CHAIN_ROWS rows at a time, the running value in registers,
** values read again in slots of those rows only. Each step has the arithmetic of the kernel it replaces, bit
** for bit. */
#define GB_CHAIN_ROWS 2

typedef enum gb_link_kind {
  GB_LINK_END,
  GB_LINK_READ,        /* value = arg 0, of 'form' LANE, TILE or FULL             */
  GB_LINK_WRITE,       /* arg 0 FULL = value                                      */
  GB_LINK_PUT,         /* arg 0, rows of any distance = value                     */
  GB_LINK_FILL,        /* value = 'fill'; arg 0 FULL = value                      */
  GB_LINK_MAP,         /* value = op(value [, arg 0 of 'form'])                   */
  GB_LINK_MAP_BACK,    /* value = op(arg 0, value)                                */
  GB_LINK_MAP_SHIFTED, /* value = op(value + arg 0, one number); RECIP, SQRT, RSQRT */
  GB_LINK_MAP_OUTER,   /* value = op(arg 0 LANE, arg 1 TILE), or the other way round: 'back'; ADD, SUB, MUL */
  GB_LINK_WHERE,      /* value = WHERE of value and arg 0 and 1 of their own forms, value its input 'which' */
  GB_LINK_ACCUMULATE, /* slot of arg 0 = combine(slot, value); SUM, PROD, MINIMUM, MAXIMUM */
  GB_LINK_CALL,       /* value = op(args of their own forms), through arg 3 FULL */
  GB_LINK_SQDIST,     /* value = sum over n of (arg 0 LANE - arg 1 TILE)^2 [; arg 3, a slot, = value] */
  GB_LINK_SQDIST_BY,  /* the same, each square times its element of arg 2        */
  GB_LINK_DOT,        /* value = sum over n of arg 0 LANE * arg 1 TILE           */
  GB_LINK_MUL_DOT,    /* value = value * (arg 0 LANE * arg 1 TILE)               */
  GB_LINK_RADIAL,     /* value = profile(b * value)                              */
  /* value = op(profile(b * value), second(b * value)), ADD or MUL; the profiles in ascending order, not
  ** RQ. ADD 'scaled': each times a number first, arg 0 and 1, 1 where NULL */
  GB_LINK_RADIAL_PAIR,
  GB_LINK_RADIAL_WITH,  /* value = op(value, profile(b * arg 0 FULL)); ADD or MUL; not RQ */
  GB_LINK_LOOP,         /* n times; jump: past its end                             */
  GB_LINK_AGAIN,        /* its end; jump: its first step                           */
  GB_LINK_CONTRACT_ROW, /* the sinks leave the value. arg 0: operand, arg 1: chains, n columns */
  GB_LINK_CONTRACT_COL,
  GB_LINK_DIFF_ROW, /* arg 0: LANE points, arg 1: TILE points, arg 2: chains; n features   */
  GB_LINK_DIFF_COL,
  GB_LINK_DIFF_BOTH,  /* arg 2: chains of ROW, arg 3: of COL                     */
  GB_LINK_REDUCE_ROW, /* arg 1: chains; SUM, PROD, MINIMUM, MAXIMUM              */
  GB_LINK_REDUCE_COL,
  GB_LINK_REDUCE_ALL /* arg 1: virtual lanes, a group for every GB_TJ rows      */
} gb_link_kind;

/* Where an argument of a step begins; bytes to the next row of the tile, and to the next index of the
** loop. A FULL argument with row 0 is a slot. An argument that is one element is TILE with row 0. */
typedef struct gb_link_place {
  char *at;
  size_t row, again;
  gb_form form;
} gb_link_place;

typedef struct gb_link {
  void (*run[GB_CHAIN_ROWS])(void); /* of the ISA, for one row and for GB_CHAIN_ROWS; set by link_step */
  gb_link_kind kind;
  gb_op op;
  gb_profile profile, second;
  int order, dalpha, which;
  gb_monoid monoid;
  bool mirror, back, scaled; /* mirror: a sink of mirrored tiles only */
  gb_link_place arg[4];
  size_t n;
  ptrdiff_t jump; /* in links, from this one */
  double fill, b[2], alpha;
  _Alignas(8) char constants[2][6 * 8]; /* of the profiles at b and alpha; set by link_constants */
} gb_link;

/* Of the points of a tile: the number of the nearest centre; from that a point is 'first' apart at least and 'upper' at most, and 'lower'
** at least from any other. Bounds are NaN, 0 or infinite where a chain overflows. */
typedef struct gb_two_nearest {
  int32_t label[GB_TI];
  float upper[GB_TI], first[GB_TI], lower[GB_TI];
} gb_two_nearest;

#define GB_SCREEN 960

/* Points that go from the sum of one cluster to that of another, 'row' (n) of those at x (rows of T, 'step' elements apart): a sum (d + 1)
** gains or loses the whole number nearest to w (x[t] - shift[t]) quanta.point, below 2^62, the difference in T, its product in f64, and of
** the weight w that nearest to w quanta.weight. The same bits on every ISA. Labels below 0: no sum loses. */
typedef struct gb_moves {
  size_t d, n;
  const void *x, *shift;
  ptrdiff_t step;
  const double *weight; /* of all rows; NULL: 1 each */
  gb_quanta quanta;
  int64_t *sums;
  const int32_t *row, *to; /* to: new labels of all rows */
  int32_t *label;          /* of all rows */
} gb_moves;

typedef struct gb_isa_kernels {
  /* dst = op(a, b, c), all in T; comparisons and logic give 0 or 1. 'form' is dst's and at least each
  ** argument's. ONE and TILE forms are computed by the same vector code, so a value has the same bits in
  ** every form. */
  void (*map)(gb_op op, gb_form form, int nj, void *dst, gb_arg a, gb_arg b, gb_arg c);

  /* dst FULL = sum_k w_k (x_ki - y_jk)^2. xs: (d) rows of GB_TI lanes; y: rows of 'ystride' elements; w
  ** (d) or NULL. */
  void (*sqdist)(int nj, size_t d, const void *xs, const void *y, size_t ystride, const void *w, void *dst);
  void (*dot)(int nj, size_t d, const void *xs, const void *y, size_t ystride, void *dst);
  /* dst = profile(b * a), b a >= 0; 'count' contiguous elements, a multiple of GB_LANES. dst may be a. A
  ** derivative of M12 or M32 is 0 at its pole (b a = 0). */
  void (*radial)(gb_profile p, int order, int dalpha, size_t count, const void *a, double b, double alpha,
                 void *dst);
  /* sqdist and radial in one pass over registers; bit-equal to the two. NULL w only. */
  void (*sqdist_radial)(gb_profile p, int nj, size_t d, const void *xs, const void *y, size_t ystride,
                        double c, double alpha, void *dst);

  /* Row chains: acc[r][i] = fma(t[j][i], v[j * vstride + r], acc[r][i]) for j ascending, R columns. acc: R
  ** x GB_TI. */
  void (*contract_row)(int nj, size_t R, const void *t, const void *v, size_t vstride, void *acc);
  /* Column lanes: buf[j][r][l] = fma(t[j][i], g[r][i], buf[j][r][l]), l = i mod 16, i ascending; the first
  ** 'ni' lanes count (g is zero past them, t finite or masked by the caller). buf: nj x R x GB_LANES. */
  void (*contract_col)(int nj, size_t R, const void *t, const void *g, void *buf);
  /* acc[k][i] = fma(t[j][i], x[k][i] - y[j][k], acc[k][i]) */
  void (*diff_row)(int nj, size_t d, const void *t, const void *xs, const void *y, size_t ystride, void *acc);
  /* buf[j][k][l] = fma(t[j][i], y[j][k] - x[k][i], buf[j][k][l]): the DIFF of the TILE side */
  void (*diff_col)(int nj, size_t d, const void *t, const void *xs, const void *y, size_t ystride, void *buf);
  /* acc[i] = combine(acc[i], t[j][i]), j ascending; SUM, PROD, MINIMUM, MAXIMUM, ANYTRUE, ALLTRUE. */
  void (*reduce_row)(gb_monoid m, int nj, const void *t, void *acc);
  /* buf[j][l] = combine(buf[j][l], t[j][i]) */
  void (*reduce_col)(gb_monoid m, int nj, const void *t, void *buf);
  /* lanes[l] = combine(lanes[l], t[j][i]), j outer, i inner ascending */
  void (*reduce_all)(gb_monoid m, int nj, const void *t, void *lanes);
  /* Chains of pairs for the log of a sum of exponentials: top, and sum of exp(t - top). By rows, GB_TJ at
  ** a time, a pair a lane; by columns, a whole row at a time, a pair a virtual lane. top, sum: GB_TI; nj x
  ** GB_LANES. */
  void (*lse_row)(int nj, const void *t, void *top, void *sum);
  void (*lse_col)(int nj, const void *t, void *top, void *sum);
  /* lanes[r][l] = fma(t[j][i], v, ..): both axes reduced against a (j) or (i) operand is done by map +
  ** reduce_all. */

  /* Fully fused row product for one right-hand side: front, profile and contraction in registers, acc as
  ** contract_row. Returns 0 if no template is compiled for (p, d); the caller then runs the pieces. Bit-equal
  ** to the pieces. */
  int (*fused_row)(gb_profile p, int nj, size_t d, const void *xs, const void *y, size_t ystride, double c,
                   double alpha, const void *v, size_t vstride, void *acc);
  /* As fused_row, and buf[j][l] as contract_col with g (GB_TI). */
  int (*fused_sym)(gb_profile p, int nj, size_t d, const void *xs, const void *y, size_t ystride, double c,
                   double alpha, const void *v, size_t vstride, const void *g, void *acc, void *buf);

  /* Fills 'run' by step, op, profile, order, which, monoid, n and the forms of arg 0 and 1. */
  void (*link_step)(gb_link *l);
  void (*link_constants)(gb_link *l);
  /* Runs a chain, ended by GB_LINK_END, over 'nj' rows of a whole block of lanes; by_row: each row is
  ** finished before the next begins, as REDUCE_ALL needs. */
  void (*chain)(const gb_link *l, int nj, bool mirrored, bool by_row);

  /* c (m, n) = beta c + alpha a b, rows of c 'ldc' apart; element (i, p) of a at i * ai + p * ak, (p, j)
  ** of b at p * bk + j * bj. beta 0: c is not read. For small products, on the calling thread; takes no
  ** memory. */
  void (*product)(size_t m, size_t n, size_t k, double alpha, const void *a, size_t ai, size_t ak,
                  const void *b, size_t bk, size_t bj, double beta, void *c, size_t ldc);

  /* dst[j * dstep + i] = src[i * step + j] for j < rows, i < lanes: elements of T's size, bits
  ** unchanged. */
  void (*transpose)(size_t rows, size_t lanes, const void *src, ptrdiff_t step, void *dst, ptrdiff_t dstep);
  /* acc[i] = combine(acc[i], src[i * step + j]) for i < lanes, j ascending: reduce_row without writing the
  ** tile. SUM, PROD, MINIMUM, MAXIMUM. */
  void (*reduce_turned)(gb_monoid m, int nj, size_t lanes, const void *src, ptrdiff_t step, void *acc);

  /* dst[i] = the draw of element first + i step of stream seed[1] under seed[0], i < lanes, rounded to T:
  ** standard normal, or the lesser of 'most' and a number that is uniform in (0, 1). The bits of
  ** gb_rand_normal and gb_rand_uniform on every ISA. */
  void (*draw)(int normal, double most, const uint64_t seed[2], uint64_t first, uint64_t step, size_t lanes,
               void *dst);

  /* Clustering (cluster/). A tile has cluster_lanes points, feature by feature: dst[t * cluster_lanes + i] =
  ** src[i * step + t] - shift[t]. Meanwhile the memory of 'next' is brought into the second cache. */
#define GB_NEAREST_TILES 4
#define GB_SPARE 16
#define GB_CENTRES 8
  size_t cluster_lanes;
  void (*cluster_tile)(size_t d, const void *src, ptrdiff_t step, const void *shift, void *dst,
                       gb_next_bytes next);
  /* c (k, d), numbers of T, and their squared lengths (in f64, rounded to T), as 'nearest' reads them: k (d + 1) elements. A multiple of
  ** GB_CENTRES of them may be packed apart from those behind them. */
  void (*group_centres)(size_t k, size_t d, const double *c, void *to);
  /* label[i] = the first j with the least |c_j|^2 - 2 c_j . x_i, for all points of some tiles, one behind the other, at most
  ** GB_NEAREST_TILES: for each j one chain of multiply-adds, features ascending, that begins with |c_j|^2. 0 where all are
  ** NaN. k < 2^24. 'next' as above. */
  void (*nearest)(size_t k, size_t d, size_t tiles, const void *tile, const void *groups, gb_next_bytes next,
                  int32_t *label);
  /* As 'nearest' for one tile, with bounds of distances, of k centres that lie in any order: number (k) has their numbers, that of the
  ** least number is the first. */
  void (*nearest_two)(size_t k, size_t d, const void *tile, const void *groups, const int32_t *number,
                      const gb_margins *m, gb_two_nearest *out);
  /* out[i] = |x_i - c|^2: fma(x - c, x - c, sum), features ascending. */
  void (*apart)(size_t d, const void *tile, const void *c, void *out);
  /* |x - shift - c|^2 in f64, the difference from the shift in T: 16 sums, of each 16th feature, and their tree. */
  double (*square_apart)(size_t d, const void *x, const void *shift, const double *c);
  /* out[i] = square_apart of row i of x and centre label[i]. */
  void (*squares)(size_t rows, size_t d, const void *x, ptrdiff_t step, const void *shift, const double *c,
                  const int32_t *label, double *out);
  /* least[t] = min(least[t], x[i * step + t]), most likewise, for all rows i. False: one of these is infinite or NaN. */
  bool (*bounds)(size_t rows, size_t d, const void *x, ptrdiff_t step, void *least, void *most);
  void (*move)(const gb_moves *m);
} gb_isa_kernels;

typedef struct gb_isa {
  const char *name; /* "avx512", "avx2", "portable" */
  gb_isa_kernels f32, f64;
  /* T = int64_t, the same on every ISA: map (no op whose value is not an integer), sqdist, dot,
  ** contract_*, reduce_*; the rest NULL. Sums and products wrap; idiv by 0 is 0 and mod by 0 is x. */
  gb_isa_kernels i64;
  /* f64 total[i] += (double)acc[i]; acc = 0. 'count' a multiple of GB_LANES. */
  void (*flush_f32)(size_t count, float *acc, double *total);
  void (*flush_f64)(size_t count, double *acc, double *total);
  /* f64 sums of 'n' groups of virtual lanes, each by the tree ((l + l+8), + 4, + 2, + 1) in f32, to the
  ** start of the group. */
  void (*fold_f32)(size_t n, float *lanes);
  /* Upper bounds of n <= GB_SCREEN points get looser by what the centres moved, and lower bounds of those whose label stays. The numbers
  ** of the others, to 'open': how many. A label of -1 is taken for 0. */
  size_t (*screen)(const gb_screen *s, size_t n, const int32_t *label, float *upper, float *lower,
                   uint16_t *open);
  /* The numbers i of which a[i] != b[i], ascending, to 'at', which has room for GB_SPARE more than n: how many. */
  size_t (*differing)(size_t n, const int32_t *a, const int32_t *b, int32_t *at);
  /* Adds the whole number nearest to v[i] * scale, below 2^62, to 'high', and that nearest to 2^30 times what is left to 'low', for all i;
  ** scale: a power of 2. */
  void (*add_twice)(size_t n, const double *v, double scale, gb_two_sums *to);
  /* Microbenchmarks, on the calling thread for about 'seconds': vector operations a second (a vector = 64
  ** bytes). */
  double (*rate_fma)(double seconds);   /* FMA vector instructions/s, as 64-byte vectors */
  double (*rate_issue)(double seconds); /* best mix of FMA and add: all vector instructions/s */
  double (*rate_exp2)(double seconds);  /* f32 exp2 elements/s from L1 */
} gb_isa;

extern const gb_isa gb_isa_avx512, gb_isa_avx2, gb_isa_portable;

/* The chosen table; set by gb_isa_select. name NULL = GIBBOUS_ISA or the best of the machine. Errors:
** EOPTION. */
extern const gb_isa *gb_isa_active;
gb_status gb_isa_select (const char *name, gb_error *err);

#endif
