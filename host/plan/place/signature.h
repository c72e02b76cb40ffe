/* signature.h - which arithmetic makes a buffer. */
#ifndef GB_PLAN_PLACE_SIGNATURE_H
#define GB_PLAN_PLACE_SIGNATURE_H

#include "plan/tile/axes.h"

/* Fills made[buffers]. 'batch': the axis whose sums run in grains, or NULL. Equal signatures of one node
** mean equal bits. Errors: ENOMEM. */
gb_status gb_buffer_signatures (const gb_lowered *low, const gb_tiling *batch, uint64_t *made, gb_error *err);

#endif
