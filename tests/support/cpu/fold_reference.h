/* fold_reference.h - a fold program evaluated by plain loops in double: the oracle for tests of the executor
** and of lowering. No tiles, sums in plain index order, no rounding to the compute type. */
#ifndef GB_FOLD_REFERENCE_H
#define GB_FOLD_REFERENCE_H

#include "program/fold.h"

/* Same arguments as the 'fold' slot of gb_device_ops, without scratch. A symmetric program is evaluated in
** full. Integers are exact up to 2^53. Aborts on a malformed program. */
void gb_fold_reference (const gb_fold *f, const void *const *operand, void *const *out,
                        const gb_number *constant);

/* The profiles of op.h at u, in double; alpha is read by RQ only. */
double gb_reference_radial (gb_profile p, int order, int dalpha, double u, double alpha);
double gb_reference_map (gb_op op, double a, double b, double c);

#endif
