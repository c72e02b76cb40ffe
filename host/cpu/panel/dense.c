/* dense.c - small dense matrices by BLAS and LAPACK. */
#include <math.h>

#include "cpu/linalg/blas.h"
#include "cpu/panel/panel.h"

gb_status gb_cpu_potrf (gb_panel a, size_t *minor, bool *finite, gb_error *err) {
  GB_TRY(gb_blas_ready(err));
  *minor = a.n == 0 ? 0 : gb_lapack_potrf(GB_F64, a.n, a.at, a.stride);
  *finite = true;
  for (size_t i = 0; i < a.n; i++) *finite &= isfinite(gb_panel_row(&a, i)[i]) != 0;
  return GB_OK;
}

gb_status gb_cpu_gram (gb_panel lt, double shift, gb_panel c, gb_error *err) {
  GB_TRY(gb_blas_ready(err));
  for (size_t i = 0; i < c.n; i++)
    for (size_t k = 0; k < c.r; k++) gb_panel_row(&c, i)[k] = 0;
  for (size_t i = 0; i < lt.r; i += GB_BLOCK)
    gb_blas_syrk_lower(GB_F64, false, c.n, gb_extent(lt.r, i, GB_BLOCK), 1, (double *)lt.at + i, lt.stride,
                       c.at, c.stride);
  for (size_t i = 0; i < c.n; i++) gb_panel_row(&c, i)[i] += shift;
  return GB_OK;
}

void gb_cpu_trsm (gb_panel l, bool transposed, gb_panel x) {
  gb_blas_trsm_left(GB_F64, GB_LOWER, transposed, false, l.n, x.r, l.at, l.stride, x.at, x.stride);
}

void gb_cpu_times_gram (gb_panel l, gb_panel x) {
  double *v = x.at;
  for (size_t i = 0; i < l.n; i++) {
    const double *row = gb_panel_row(&l, i), t = v[i];
    for (size_t j = 0; j < i; j++) v[j] += row[j] * t;
    v[i] = row[i] * t;
  }
  for (size_t i = l.n; i-- > 0;) {
    const double *row = gb_panel_row(&l, i);
    double t = 0;
    for (size_t j = 0; j <= i; j++) t += row[j] * v[j];
    v[i] = t;
  }
}

static gb_dtype dtype_of (bool f32) { return f32 ? GB_F32 : GB_F64; }

size_t gb_cpu_rcond_bytes (const gb_device *dev, bool f32, size_t n) {
  (void)dev;
  return gb_lapack_pocon_bytes(dtype_of(f32), n);
}

gb_status gb_cpu_rcond (gb_device *dev, bool f32, size_t n, const void *l, double norm, void *work,
                        double *out, gb_error *err) {
  (void)dev;
  GB_TRY(gb_blas_ready(err));
  *out = gb_lapack_pocon(dtype_of(f32), n, l, n, norm, work);
  return GB_OK;
}
