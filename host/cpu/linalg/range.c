/* range.c - entries near the limits of a type: scaling by powers of 2 so that sums of products stay finite,
** and the error for results that do not fit. Matrices of ordinary entries keep every bit. */
#include <math.h>
#include <string.h>

#include "cpu/linalg/opaque.h"

/* Entries from 2^least to 2^most are ordinary: sums of 2^40 products with numbers up to 1 stay finite, and
** the loss to subnormal numbers is below the rounding of the sum. */
typedef struct ordinary {
  int least, most;
} ordinary;

static ordinary ordinary_of (gb_dtype t) { return t == GB_F32 ? (ordinary){-76, 84} : (ordinary){-900, 980}; }

/* Branch-free for each entry: bits without the sign order like magnitudes, and a difference has its top bit
** set if the first is smaller. True if some entry is above 'most', or all are below 'least'. */
#define IS_FAR(name, U, T)                                                                                   \
  static bool name(size_t count, const void *a, T least, T most) {                                           \
    const U top = (U)1 << (sizeof(U) * 8 - 1);                                                               \
    U low, high, above = 0, reached = 0, v;                                                                  \
    memcpy(&low, &least, sizeof low), memcpy(&high, &most, sizeof high);                                     \
    for (size_t i = 0; i < count; i++) {                                                                     \
      memcpy(&v, (const char *)a + i * sizeof v, sizeof v);                                                  \
      v &= ~top;                                                                                             \
      above |= high - v;                                                                                     \
      reached |= low - 1 - v;                                                                                \
    }                                                                                                        \
    return (above & top) != 0 || (reached & top) == 0;                                                       \
  }
IS_FAR(is_far_f64, uint64_t, double)
IS_FAR(is_far_f32, uint32_t, float)
#undef IS_FAR

int gb_far_exponent (gb_dtype t, size_t count, const void *a) {
  const ordinary o = ordinary_of(t);
  const double least = ldexp(1, o.least), greatest = ldexp(1, o.most);
  double most = 0;
  int exponent;
  if (t == GB_F32 ? !is_far_f32(count, a, (float)least, (float)greatest)
                  : !is_far_f64(count, a, least, greatest))
    return 0;
  for (size_t i = 0; i < count; i++) most = fmax(most, fabs(gb_element_get(a, i, t)));
  frexp(most, &exponent);
  return most == 0 ? 0 : exponent;
}

void gb_scale_by_power (gb_dtype t, size_t count, int exponent, void *a) {
  if (exponent == 0) return;
  for (size_t i = 0; i < count; i++) gb_element_set(a, i, t, ldexp(gb_element_get(a, i, t), exponent));
}

static gb_status is_finite (const gb_opaque_call *c, size_t n, size_t m, const void *a, bool *finite) {
  const gb_status st =
      gb_check_finite(gb_pool_for(c->pool, (double)n * (double)m), c->o->in_dtype[0], n, m, a, NULL);
  *finite = st == GB_OK;
  return st == GB_ENAN ? GB_OK : st;
}

gb_status gb_right_is_finite (const gb_opaque_call *c, bool *finite) {
  const gb_shape *s = &c->o->in_shape[1];
  return is_finite(c, s->dim[0], gb_columns(s), c->in[1], finite);
}

static gb_status matrix_is_finite (const gb_opaque_call *c, bool *finite) {
  const gb_shape *s = &c->o->in_shape[0];
  if (!c->o->packed && !c->o->grown) return is_finite(c, s->dim[0], s->dim[1], c->in[0], finite);
  const gb_tiles l = gb_tiles_of_factor(c->o, c->in[0]);
  const gb_status st = gb_check_lower(c->pool, &l, 0, NULL);
  *finite = st == GB_OK;
  return st == GB_ENAN ? GB_OK : st;
}

gb_status gb_check_result (const gb_opaque_call *c, const char *what, size_t n, size_t m,
                           const void *result) {
  bool finite;
  GB_TRY(is_finite(c, n, m, result, &finite));
  if (finite) return GB_OK;
  GB_TRY(matrix_is_finite(c, &finite));
  if (!finite) return GB_OK;
  return gb_fail(c->err, GB_ENAN, "%s overflows %s: scale the inputs", what,
                 gb_dtype_name(c->o->in_dtype[0]));
}
