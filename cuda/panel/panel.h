/* panel.h - the vector work of solvers on a GPU (device/panel.h says what it does), one craft a file. Sums
** have the order of the CPU's, so that their bits are the same; of small dense matrices the CPU's order is a
** library's own. */
#ifndef GB_CUDA_PANEL_PANEL_H
#define GB_CUDA_PANEL_PANEL_H

#include "device/panel.h"

extern const gb_panel_ops gb_cuda_panel_ops;

/* vector.cu */
void gb_cuda_panel_read (gb_panel x, double *out);
void gb_cuda_panel_write (gb_panel x, const double *values);
gb_status gb_cuda_panel_load (gb_panel x, const void *from, bool f32, size_t stride, gb_error *err);
gb_status gb_cuda_panel_store (gb_panel x, void *to, bool f32, size_t stride, bool round, gb_error *err);
void gb_cuda_panel_fill (gb_panel x, double value);
void gb_cuda_panel_copy (gb_panel x, gb_panel y);
void gb_cuda_panel_subtract (gb_panel b, gb_panel x, gb_panel y);
void gb_cuda_panel_axpy (const double *f, gb_panel x, gb_panel y);
void gb_cuda_panel_xpay (const double *f, gb_panel x, gb_panel y);
void gb_cuda_panel_scale (const double *f, gb_panel x);
void gb_cuda_panel_divide (const double *f, gb_panel x, gb_panel y);
void gb_cuda_panel_blend (double f, gb_panel x, gb_panel y);
void gb_cuda_panel_combine (const double *a, gb_panel y, const double *b, gb_panel x);
void gb_cuda_panel_recur (const double *a, gb_panel x, const double *b, gb_panel z, gb_panel y);
void gb_cuda_panel_multiply (gb_panel d, gb_panel x);
void gb_cuda_panel_inverse_root (gb_panel x, double shift);
void gb_cuda_panel_moduli (gb_panel x);
void gb_cuda_panel_normals (gb_panel x, uint64_t seed, uint64_t stream);
void gb_cuda_panel_exponentials (gb_panel x, uint64_t seed);
void gb_cuda_panel_compact (gb_panel x, size_t to, size_t w, const size_t *at);
void gb_cuda_panel_shift (gb_panel x, const int *exponent, int sign);
void gb_cuda_panel_keep (gb_panel x, const int *exponent, bool f32);

/* sums.cu */
void gb_cuda_panel_dot (gb_panel x, gb_panel y, void *sums, double *out);
void gb_cuda_panel_step (const double *f, gb_panel p, gb_panel q, gb_panel x, gb_panel r, void *sums,
                         double *out);
double gb_cuda_panel_sum (gb_panel x);
double gb_cuda_panel_sum_squares (gb_panel x, double start);
double gb_cuda_panel_sum_logs (gb_panel x, double factor, double start);
size_t gb_cuda_panel_worst_interleaved (gb_panel x, size_t m, const double *length);

/* block.cu */
void gb_cuda_panel_cross (gb_panel x, gb_panel y, void *sums, double *out);
void gb_cuda_panel_mix (gb_panel x, const double *m, gb_panel y);
void gb_cuda_panel_turn (const double *m, size_t to, void *sums, gb_panel x);

/* sizes.cu */
void gb_cuda_panel_exponents (gb_panel x, int *exponent);
double gb_cuda_panel_lost (gb_panel x, const int *exponent, bool f32, size_t *column);
bool gb_cuda_panel_finite (gb_panel x, bool f32, size_t *column);
size_t gb_cuda_panel_first_invalid (gb_panel x);

/* dense.cu */
gb_status gb_cuda_panel_potrf (gb_panel a, size_t *minor, bool *finite, gb_error *err);
gb_status gb_cuda_panel_gram (gb_panel lt, double shift, gb_panel c, gb_error *err);
void gb_cuda_panel_trsm (gb_panel l, bool transposed, gb_panel x);
void gb_cuda_panel_times_gram (gb_panel l, gb_panel x);
size_t gb_cuda_panel_rcond_bytes (const gb_device *dev, bool f32, size_t n);
gb_status gb_cuda_panel_rcond (gb_device *dev, bool f32, size_t n, const void *l, double norm, void *work,
                               double *out, gb_error *err);

/* low_rank.cu */
void gb_cuda_panel_solve (const gb_low_rank *p, gb_panel x, gb_panel y);
void gb_cuda_panel_sample (const gb_low_rank *p, uint64_t seed, size_t first, gb_panel x);

/* pivots.cu */
size_t gb_cuda_panel_first_turns (gb_panel left, gb_panel lot, size_t most, size_t *index, double *turn);
gb_status gb_cuda_panel_eliminate (const gb_elimination *e, double *left, gb_error *err);

#endif
