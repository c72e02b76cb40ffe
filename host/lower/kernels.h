/* kernels.h - the folds of a lowered graph as devices have compiled them: those of number 0 as one device has,
** which is the graph's own or one that shares its work; the others as the devices that they lie on.
**
** A kernel serves the step's fold and all its parts, but for windows of right-hand sides: extents of INNER axes
** are compiled in (gb_fold_serves), so there is one kernel for each number of columns that a candidate runs at
** once. Steps that are one program share their kernels. Kernels are added while candidates are placed, by one thread at a time (the lock of the graph's context);
** runs of other threads may look for theirs meanwhile. */
#ifndef GB_LOWER_KERNELS_H
#define GB_LOWER_KERNELS_H

#include "lower/lower.h"

typedef struct gb_kernels gb_kernels;

/* Of 'low', which must outlive them, for steps of device 0 on 'dev'; nothing is compiled yet. Errors: ENOMEM. */
gb_status gb_kernels_new (gb_device *dev, const gb_graph *g, const gb_lowered *low, gb_kernels **out,
                          gb_error *err);
void gb_kernels_free (gb_kernels *k); /* NULL is fine */

gb_device *gb_kernels_device (const gb_kernels *k);             /* of number 0 */
gb_device *gb_kernels_step_device (const gb_kernels *k, int s); /* that runs step s */
const gb_lowered *gb_kernels_lowered (const gb_kernels *k);
size_t gb_kernels_bytes (const gb_kernels *k); /* of host memory */

/* Compiles what serves 'part' of step s where nothing does yet. Errors: those of the device. */
gb_status gb_kernels_compile (gb_kernels *k, int s, const gb_fold *part, gb_error *err);
/* What serves it; NULL: nothing does. */
const gb_kernel *gb_kernels_find (const gb_kernels *k, int s, const gb_fold *part);

/* Bytes that a launch of 'part' of step s takes, and that it keeps between parts; compiles what serves it.
** Errors show as SIZE_MAX. */
size_t gb_kernels_scratch (gb_kernels *k, int s, const gb_fold *part);
size_t gb_kernels_state (gb_kernels *k, int s, const gb_fold *part);

#endif
