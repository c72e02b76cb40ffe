/* i64.h - the kernels over int64_t, the same in every table of gb_isa. */
#ifndef GB_CPU_ISA_I64_H
#define GB_CPU_ISA_I64_H

#include "cpu/isa/isa.h"

void gb_i64_map (gb_op op, gb_form form, int nj, void *dst, gb_arg a, gb_arg b, gb_arg c);
void gb_i64_sqdist (int nj, size_t d, const void *xs, const void *y, size_t ystride, const void *w,
                    void *dst);
void gb_i64_dot (int nj, size_t d, const void *xs, const void *y, size_t ystride, void *dst);
void gb_i64_contract_row (int nj, size_t R, const void *t, const void *v, size_t vstride, void *acc);
void gb_i64_contract_col (int nj, size_t R, const void *t, const void *g, void *buf);
void gb_i64_reduce_row (gb_monoid m, int nj, const void *t, void *acc);
void gb_i64_reduce_col (gb_monoid m, int nj, const void *t, void *buf);
void gb_i64_reduce_all (gb_monoid m, int nj, const void *t, void *lanes);

#define GB_I64_KERNELS                                                                                       \
  {                                                                                                          \
    .map = gb_i64_map, .sqdist = gb_i64_sqdist, .dot = gb_i64_dot, .contract_row = gb_i64_contract_row,      \
    .contract_col = gb_i64_contract_col, .reduce_row = gb_i64_reduce_row, .reduce_col = gb_i64_reduce_col,   \
    .reduce_all = gb_i64_reduce_all                                                                          \
  }

#endif
