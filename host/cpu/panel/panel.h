/* panel.h - the CPU's panel operations (device/panel.h says what they do), one craft a file; private to
** cpu/panel. */
#ifndef GB_CPU_PANEL_PANEL_H
#define GB_CPU_PANEL_PANEL_H

#include "base/tasks.h"
#include "device/panel.h"

static inline size_t gb_blocks_of (size_t n, size_t side) { return (n + side - 1) / side; }
static inline size_t gb_extent (size_t n, size_t from, size_t side) {
  return n - from < side ? n - from : side;
}

static inline double *gb_panel_row (const gb_panel *x, size_t i) {
  return (double *)x->at + (x->row != NULL ? x->row[i] : i) * x->stride;
}
static inline size_t gb_panel_place (const gb_panel *x, size_t k) {
  return x->column != NULL ? x->column[k] : k;
}
static inline double *gb_panel_entry (const gb_panel *x, size_t i, size_t k) {
  return gb_panel_row(x, i) + gb_panel_place(x, k);
}

/* vector.c: elementwise work and its tasks */
void gb_cpu_read (gb_panel x, double *out);
void gb_cpu_write (gb_panel x, const double *values);
gb_status gb_cpu_load (gb_panel x, const void *from, bool f32, size_t stride, gb_error *err);
gb_status gb_cpu_store (gb_panel x, void *to, bool f32, size_t stride, bool round, gb_error *err);
void gb_cpu_fill (gb_panel x, double value);
void gb_cpu_copy (gb_panel x, gb_panel y);
void gb_cpu_subtract (gb_panel b, gb_panel x, gb_panel y);
void gb_cpu_axpy (const double *f, gb_panel x, gb_panel y);
void gb_cpu_xpay (const double *f, gb_panel x, gb_panel y);
void gb_cpu_scale (const double *f, gb_panel x);
void gb_cpu_divide (const double *f, gb_panel x, gb_panel y);
void gb_cpu_blend (double f, gb_panel x, gb_panel y);
void gb_cpu_combine (const double *a, gb_panel y, const double *b, gb_panel x);
void gb_cpu_recur (const double *a, gb_panel x, const double *b, gb_panel z, gb_panel y);
void gb_cpu_multiply (gb_panel d, gb_panel x);
void gb_cpu_inverse_root (gb_panel x, double shift);
void gb_cpu_moduli (gb_panel x);
void gb_cpu_normals (gb_panel x, uint64_t seed, uint64_t stream);
void gb_cpu_exponentials (gb_panel x, uint64_t seed);
void gb_cpu_compact (gb_panel x, size_t to, size_t w, const size_t *at);

/* sums.c */
void gb_cpu_dot (gb_panel x, gb_panel y, void *sums, double *out);
void gb_cpu_step (const double *f, gb_panel p, gb_panel q, gb_panel x, gb_panel r, void *sums, double *out);
double gb_cpu_sum (gb_panel x);
double gb_cpu_sum_squares (gb_panel x, double start);
double gb_cpu_sum_logs (gb_panel x, double factor, double start);
size_t gb_cpu_worst_interleaved (gb_panel x, size_t m, const double *length);

/* block.c */
void gb_cpu_cross (gb_panel x, gb_panel y, void *sums, double *out);
void gb_cpu_mix (gb_panel x, const double *m, gb_panel y);
void gb_cpu_turn (const double *m, size_t to, void *sums, gb_panel x);

/* sizes.c */
void gb_cpu_exponents (gb_panel x, int *exponent);
void gb_cpu_shift (gb_panel x, const int *exponent, int sign);
double gb_cpu_lost (gb_panel x, const int *exponent, bool f32, size_t *column);
void gb_cpu_keep (gb_panel x, const int *exponent, bool f32);
bool gb_cpu_finite (gb_panel x, bool f32, size_t *column);
size_t gb_cpu_first_invalid (gb_panel x);

/* dense.c */
gb_status gb_cpu_potrf (gb_panel a, size_t *minor, bool *finite, gb_error *err);
gb_status gb_cpu_gram (gb_panel lt, double shift, gb_panel c, gb_error *err);
void gb_cpu_trsm (gb_panel l, bool transposed, gb_panel x);
void gb_cpu_times_gram (gb_panel l, gb_panel x);
size_t gb_cpu_rcond_bytes (const gb_device *dev, bool f32, size_t n);
gb_status gb_cpu_rcond (gb_device *dev, bool f32, size_t n, const void *l, double norm, void *work,
                        double *out, gb_error *err);

/* low_rank.c */
void gb_cpu_low_rank_solve (const gb_low_rank *p, gb_panel x, gb_panel y);
void gb_cpu_low_rank_sample (const gb_low_rank *p, uint64_t seed, size_t first, gb_panel x);

/* pivots.c */
size_t gb_cpu_first_turns (gb_panel left, gb_panel lot, size_t most, size_t *index, double *turn);
gb_status gb_cpu_eliminate (const gb_elimination *e, double *left, gb_error *err);

#endif
