/* far_fold.h - a fold program on a device whose memory is its own. */
#ifndef FAR_FOLD_H
#define FAR_FOLD_H

#include "device/device.h"
#include "plan/tile/cut.h"
#include "support/cpu/fold_fixture.h"

extern int far_parts; /* that were run */

/* From the operands of the program into 'got'. */
void far_run (gb_device *gpu, fx *x);
/* In parts of 'step' indices along the axis of the cut. */
void far_run_parts (gb_device *gpu, fx *x, const gb_cut *c, size_t step);
/* Operands whose elements fill the mantissa of their type, so that each rounding shows. */
void far_make_rough (fx *x);
/* IEEE operations and profiles alone: no function whose library is the device's own. */
bool far_has_exact_bits (const gb_fold *f);

#endif
