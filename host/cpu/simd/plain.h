/* plain.h - fallbacks for instruction sets: from the library, or four lanes at a time. Included at the end of
** the headers in cpu/simd. */
#ifndef GB_CPU_SIMD_PLAIN_H
#define GB_CPU_SIMD_PLAIN_H

#include <string.h>

#define vf_sin_near(x) vf_sleef1(sin, u10, x)
#define vf_cos_near(x) vf_sleef1(cos, u10, x)
#define vd_sin_near(x) vd_sleef1(sin, u10, x)
#define vd_cos_near(x) vd_sleef1(cos, u10, x)
#define vf_exp(x) vf_sleef1(exp, u10, x)
#define vd_exp(x) vd_sleef1(exp, u10, x)

/* The tree over 16 lanes, of four groups. */
GB_INLINE void vf_fold4 (const float *lanes, double sum[4]) {
  typedef float quad __attribute__((vector_size(16)));
  for (int g = 0; g < 4; g++) {
    quad q[4];
    memcpy(q, lanes + 16 * g, sizeof q);
    const quad v = (q[0] + q[2]) + (q[1] + q[3]);
    sum[g] = (double)((v[0] + v[2]) + (v[1] + v[3]));
  }
}

#endif
