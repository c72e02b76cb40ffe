/* panel.h - dense columns of doubles in a device's memory, and the vector work of solvers on them as a table
** of the device.
**
** Few numbers (factors, sums, lists of rows or columns) are on the host; entries are not. Sums of a dot
** product are one chain a column in blocks of GB_PANEL_BLOCK rows and then over the blocks in order: a
** column's result depends neither on the others, nor on its place, nor on threads. Operations that return no
** status may be cut short by an interrupt: a loop over them polls for it. */
#ifndef GB_DEVICE_PANEL_H
#define GB_DEVICE_PANEL_H

#include <stdint.h>

#include "device/device.h"

#define GB_PANEL_BLOCK 256 /* rows of a chain */
#define GB_PANEL_LONG 2048 /* entries of rows of L' that are eliminated together */
#define GB_PANEL_WIDTH 8   /* columns to which a low-rank matrix is applied together */

/* Rows and columns of row-major memory: entry (i, k) is number row[i] * stride + column[k] from 'at'. */
typedef struct gb_panel {
  gb_device *device;
  void *at; /* for the device alone */
  size_t n, r, stride;
  const size_t *row, *column; /* on the host; NULL: 0, 1, 2, ... */
} gb_panel;

/* P = S^-1 (L L' + noise I) S^-1 with S = diag(scale), NULL for I; diag(d) without L, I without both. */
typedef struct gb_low_rank {
  size_t n, rank;
  double noise;
  void *scale; /* (n) */
  void *lt;    /* (rank, n): L' */
  void *c;     /* (rank, rank): lower Cholesky factor of noise I + L' L */
  void *d;     /* (n) */
  void *work;  /* (rank, GB_PANEL_WIDTH) */
} gb_low_rank;

/* One block of pivots of a partial Cholesky factor (solve/precond/partial.c). */
#define GB_PIVOTS 32 /* of a block, at most */
typedef struct gb_elimination {
  size_t rank, rows;  /* rows of L' from earlier blocks; of this one */
  gb_panel lt;        /* (rank + rows, n): the last 'rows' are of K and become those of L' */
  gb_panel left, lot; /* (n, 1): what is left of the diagonal; of the lots of drawn pivots, else 'at' NULL */
  const double *factors; /* (rank, rows): earlier rows of L' at the pivots */
  const double *among;   /* (rows, GB_PIVOTS): entry (m, p) is row m of the block at pivot p */
  const size_t *pivot;   /* (rows) */
  const double *root;    /* (rows): of the pivot's entry */
  const double *step;    /* (rows): what the race's time advanced before it */
  void *sums;            /* gb_panel_elimination_sums(n) doubles */
} gb_elimination;

/* Arrays without a type of panel are on the host: factors f, a, b (r), sums 'out' (r). 'sums' is memory of
** the device: gb_panel_sums doubles. */
typedef struct gb_panel_ops {
  /* Between a panel and the host, row-major (n, r). */
  void (*read)(gb_panel x, double *out);
  void (*write)(gb_panel x, const double *values);
  /* Between a panel and rows of 'stride' entries of f32 or f64. 'store' rounds; where 'round', x becomes
  ** what is stored and the rest of each row 0. Errors: EINTR. */
  gb_status (*load)(gb_panel x, const void *from, bool f32, size_t stride, gb_error *err);
  gb_status (*store)(gb_panel x, void *to, bool f32, size_t stride, bool round, gb_error *err);

  /* Elementwise. */
  void (*fill)(gb_panel x, double value);
  void (*copy)(gb_panel x, gb_panel y);                                      /* y = x */
  void (*subtract)(gb_panel b, gb_panel x, gb_panel y);                      /* y = b - x; y may be b or x */
  void (*axpy)(const double *f, gb_panel x, gb_panel y);                     /* y += f x; f NULL: ones */
  void (*xpay)(const double *f, gb_panel x, gb_panel y);                     /* y = x + f y */
  void (*scale)(const double *f, gb_panel x);                                /* x *= f */
  void (*divide)(const double *f, gb_panel x, gb_panel y);                   /* y = x / f; 0 unless f > 0 */
  void (*blend)(double f, gb_panel x, gb_panel y);                           /* y += f (x - y) */
  void (*combine)(const double *a, gb_panel y, const double *b, gb_panel x); /* y = a y + b x */
  void (*recur)(const double *a, gb_panel x, const double *b, gb_panel z, gb_panel y); /* y -= a x + b z */
  void (*multiply)(gb_panel d, gb_panel x);       /* column k of x times entry k of d (r, 1) */
  void (*inverse_root)(gb_panel x, double shift); /* x = (x + shift)^-1/2 */
  void (*moduli)(gb_panel x);                     /* x = |x|; 1 where that is 0 or not finite */
  /* Column k becomes the standard normals of stream 'stream' - k of the seed; x (n, 1) exponential lots. */
  void (*normals)(gb_panel x, uint64_t seed, uint64_t stream);
  void (*exponentials)(gb_panel x, uint64_t seed);
  /* Columns at[0 .. w) of x, ascending, become the first of a panel of 'to' columns, w <= to <= x.r, in the
  ** same memory; the rest of it is 0. */
  void (*compact)(gb_panel x, size_t to, size_t w, const size_t *at);

  /* Sums. */
  void (*dot)(gb_panel x, gb_panel y, void *sums, double *out); /* out = x . y; sums NULL: one thread */
  /* x += f p; r -= f q; out = r . r */
  void (*step)(const double *f, gb_panel p, gb_panel q, gb_panel x, gb_panel r, void *sums, double *out);
  double (*sum)(gb_panel x);                                   /* of x (n, 1), as one chain */
  double (*sum_squares)(gb_panel x, double start);             /* start + x . x, likewise */
  double (*sum_logs)(gb_panel x, double factor, double start); /* start + factor log x, likewise */
  /* The first k < m with the largest sum of squares over rows k, k + m, k + 2 m, ... of x, as many for each
  ** k and counted round from the first row, each column over its 'length'; columns of length 0 are left
  ** out. */
  size_t (*worst_interleaved)(gb_panel x, size_t m, const double *length);

  /* Products with small matrices m of the host, row-major; sums are chains as in 'dot', those over columns
  ** in their order. 'cross' needs gb_panel_sums(n, x.r * y.r) doubles, 'turn' gb_panel_sums(n, x.r). */
  void (*cross)(gb_panel x, gb_panel y, void *sums, double *out); /* out (x.r, y.r) = x' y */
  void (*mix)(gb_panel x, const double *m, gb_panel y); /* y += x m, m (x.r, y.r); no entry is in both */
  void (*turn)(const double *m, size_t to, void *sums, gb_panel x); /* the first 'to' <= x.r columns = x m */

  /* Sizes. For each column the exponent e with its largest entry in 2^e [1, 2); 0 where that is 0 or not
  ** finite. */
  void (*exponents)(gb_panel x, int *exponent);
  void (*shift)(gb_panel x, const int *exponent, int sign); /* x *= 2^(sign exponent) */
  /* The largest share of a column of x, of its largest entry, that x 2^exponent in this type has lost
  ** beyond rounding: 1 where the column is 0 there; '*column' is the one that lost most. */
  double (*lost)(gb_panel x, const int *exponent, bool f32, size_t *column);
  /* x as x 2^exponent in this type holds it: only entries below the normal numbers change. */
  void (*keep)(gb_panel x, const int *exponent, bool f32);
  /* True where all entries are finite in this type; else 'column' is that of the first that is not. */
  bool (*finite)(gb_panel x, bool f32, size_t *column);
  size_t (*first_invalid)(gb_panel x); /* row of the first entry of x (n, 1) that is < 0 or not finite; n */

  /* Small dense matrices. The lower Cholesky factor in place; '*minor': 0, or the order of the first leading
  ** minor that is not positive; '*finite': its diagonal is. Errors: ENOMEM. */
  gb_status (*potrf)(gb_panel a, size_t *minor, bool *finite, gb_error *err);
  /* Lower triangle of c (k, k) = shift I + lt lt', lt (k, n). Errors: ENOMEM. */
  gb_status (*gram)(gb_panel lt, double shift, gb_panel c, gb_error *err);
  void (*trsm)(gb_panel l, bool transposed, gb_panel x); /* x = L^-1 x, or L'^-1 x */
  void (*times_gram)(gb_panel l, gb_panel x);            /* x (n, 1) = L L' x */
  /* 1 / (|A|_1 |A^-1|_1) from the lower factor l of A, contiguous, and norm = |A|_1. Errors: ENOMEM. */
  size_t (*rcond_bytes)(const gb_device *dev, bool f32, size_t n);
  gb_status (*rcond)(gb_device *dev, bool f32, size_t n, const void *l, double norm, void *work, double *out,
                     gb_error *err);

  /* Low rank. y = P^-1 x; and columns 'first' .. of x become samples with covariance P: column c the
  ** standard normals of stream c of the seed, through a root of P. */
  void (*solve)(const gb_low_rank *p, gb_panel x, gb_panel y);
  void (*sample)(const gb_low_rank *p, uint64_t seed, size_t first, gb_panel x);
  /* Up to 'most' points whose turns are first, earlier ones before later ones of the same turn. A point's
  ** turn is -left, or lot / left where 'lot' has an address; never where nothing is left. Returns how many. */
  size_t (*first_turns)(gb_panel left, gb_panel lot, size_t most, size_t *index, double *turn);
  /* Rows of K become rows of L'; left[m]: what is left of the diagonal, in all, after row m. Errors: ENOMEM,
  ** EINTR. */
  gb_status (*eliminate)(const gb_elimination *e, double *left, gb_error *err);
} gb_panel_ops;

/* -- views */

gb_panel gb_panel_of (gb_device *dev, void *at, size_t n, size_t r); /* rows of r entries */
void *gb_panel_address (void *at, size_t entries);                   /* so many doubles behind 'at' */
gb_panel gb_panel_column (gb_panel x, size_t k);
gb_panel gb_panel_columns (gb_panel x, size_t r, const size_t *column);
gb_panel gb_panel_rows (gb_panel x, size_t n, const size_t *row);
gb_panel gb_panel_diagonal (gb_panel x, size_t n); /* its first n entries, as a column */

/* Room for the sums of the blocks of w columns, and for those of an elimination: doubles. */
size_t gb_panel_sums (size_t n, size_t w);
size_t gb_panel_elimination_sums (size_t n);

/* -- the table of the device of a panel */

static inline void gb_panel_read (gb_panel x, double *out) { x.device->ops->panel->read(x, out); }
static inline void gb_panel_write (gb_panel x, const double *values) {
  x.device->ops->panel->write(x, values);
}
static inline gb_status gb_panel_load (gb_panel x, const void *from, bool f32, size_t stride, gb_error *err) {
  return gb_device_checked(x.device, x.device->ops->panel->load(x, from, f32, stride, err), err);
}
static inline gb_status gb_panel_store (gb_panel x, void *to, bool f32, size_t stride, bool round,
                                        gb_error *err) {
  return gb_device_checked(x.device, x.device->ops->panel->store(x, to, f32, stride, round, err), err);
}
static inline void gb_panel_fill (gb_panel x, double value) { x.device->ops->panel->fill(x, value); }
static inline void gb_panel_copy (gb_panel x, gb_panel y) { x.device->ops->panel->copy(x, y); }
static inline void gb_panel_subtract (gb_panel b, gb_panel x, gb_panel y) {
  x.device->ops->panel->subtract(b, x, y);
}
static inline void gb_panel_axpy (const double *f, gb_panel x, gb_panel y) {
  x.device->ops->panel->axpy(f, x, y);
}
static inline void gb_panel_xpay (const double *f, gb_panel x, gb_panel y) {
  x.device->ops->panel->xpay(f, x, y);
}
static inline void gb_panel_scale (const double *f, gb_panel x) { x.device->ops->panel->scale(f, x); }
static inline void gb_panel_divide (const double *f, gb_panel x, gb_panel y) {
  x.device->ops->panel->divide(f, x, y);
}
static inline void gb_panel_blend (double f, gb_panel x, gb_panel y) { x.device->ops->panel->blend(f, x, y); }
static inline void gb_panel_combine (const double *a, gb_panel y, const double *b, gb_panel x) {
  x.device->ops->panel->combine(a, y, b, x);
}
static inline void gb_panel_recur (const double *a, gb_panel x, const double *b, gb_panel z, gb_panel y) {
  x.device->ops->panel->recur(a, x, b, z, y);
}
static inline void gb_panel_multiply (gb_panel d, gb_panel x) { x.device->ops->panel->multiply(d, x); }
static inline void gb_panel_inverse_root (gb_panel x, double shift) {
  x.device->ops->panel->inverse_root(x, shift);
}
static inline void gb_panel_moduli (gb_panel x) { x.device->ops->panel->moduli(x); }
static inline void gb_panel_normals (gb_panel x, uint64_t seed, uint64_t stream) {
  x.device->ops->panel->normals(x, seed, stream);
}
static inline void gb_panel_exponentials (gb_panel x, uint64_t seed) {
  x.device->ops->panel->exponentials(x, seed);
}
static inline void gb_panel_compact (gb_panel x, size_t to, size_t w, const size_t *at) {
  x.device->ops->panel->compact(x, to, w, at);
}
static inline void gb_panel_dot (gb_panel x, gb_panel y, void *sums, double *out) {
  x.device->ops->panel->dot(x, y, sums, out);
}
static inline void gb_panel_step (const double *f, gb_panel p, gb_panel q, gb_panel x, gb_panel r, void *sums,
                                  double *out) {
  x.device->ops->panel->step(f, p, q, x, r, sums, out);
}
static inline void gb_panel_cross (gb_panel x, gb_panel y, void *sums, double *out) {
  x.device->ops->panel->cross(x, y, sums, out);
}
static inline void gb_panel_mix (gb_panel x, const double *m, gb_panel y) {
  x.device->ops->panel->mix(x, m, y);
}
static inline void gb_panel_turn (const double *m, size_t to, void *sums, gb_panel x) {
  x.device->ops->panel->turn(m, to, sums, x);
}
static inline double gb_panel_sum (gb_panel x) { return x.device->ops->panel->sum(x); }
static inline double gb_panel_sum_squares (gb_panel x, double start) {
  return x.device->ops->panel->sum_squares(x, start);
}
static inline double gb_panel_sum_logs (gb_panel x, double factor, double start) {
  return x.device->ops->panel->sum_logs(x, factor, start);
}
static inline size_t gb_panel_worst_interleaved (gb_panel x, size_t m, const double *length) {
  return x.device->ops->panel->worst_interleaved(x, m, length);
}
static inline void gb_panel_exponents (gb_panel x, int *exponent) {
  x.device->ops->panel->exponents(x, exponent);
}
static inline void gb_panel_shift (gb_panel x, const int *exponent, int sign) {
  x.device->ops->panel->shift(x, exponent, sign);
}
static inline double gb_panel_lost (gb_panel x, const int *exponent, bool f32, size_t *column) {
  return x.device->ops->panel->lost(x, exponent, f32, column);
}
static inline void gb_panel_keep (gb_panel x, const int *exponent, bool f32) {
  x.device->ops->panel->keep(x, exponent, f32);
}
static inline bool gb_panel_finite (gb_panel x, bool f32, size_t *column) {
  return x.device->ops->panel->finite(x, f32, column);
}
static inline size_t gb_panel_first_invalid (gb_panel x) { return x.device->ops->panel->first_invalid(x); }
static inline gb_status gb_panel_potrf (gb_panel a, size_t *minor, bool *finite, gb_error *err) {
  return gb_device_checked(a.device, a.device->ops->panel->potrf(a, minor, finite, err), err);
}
static inline gb_status gb_panel_gram (gb_panel lt, double shift, gb_panel c, gb_error *err) {
  return gb_device_checked(c.device, c.device->ops->panel->gram(lt, shift, c, err), err);
}
static inline void gb_panel_trsm (gb_panel l, bool transposed, gb_panel x) {
  x.device->ops->panel->trsm(l, transposed, x);
}
static inline void gb_panel_times_gram (gb_panel l, gb_panel x) { x.device->ops->panel->times_gram(l, x); }
static inline size_t gb_panel_rcond_bytes (const gb_device *dev, bool f32, size_t n) {
  return dev->ops->panel->rcond_bytes(dev, f32, n);
}
static inline gb_status gb_panel_rcond (gb_device *dev, bool f32, size_t n, const void *l, double norm,
                                        void *work, double *out, gb_error *err) {
  return gb_device_checked(dev, dev->ops->panel->rcond(dev, f32, n, l, norm, work, out, err), err);
}
static inline void gb_panel_solve (const gb_low_rank *p, gb_panel x, gb_panel y) {
  x.device->ops->panel->solve(p, x, y);
}
static inline void gb_panel_sample (const gb_low_rank *p, uint64_t seed, size_t first, gb_panel x) {
  x.device->ops->panel->sample(p, seed, first, x);
}
static inline size_t gb_panel_first_turns (gb_panel left, gb_panel lot, size_t most, size_t *index,
                                           double *turn) {
  return left.device->ops->panel->first_turns(left, lot, most, index, turn);
}
static inline gb_status gb_panel_eliminate (const gb_elimination *e, double *left, gb_error *err) {
  return gb_device_checked(e->lt.device, e->lt.device->ops->panel->eliminate(e, left, err), err);
}

#endif
