/* slices.h - dense algebra of a batch on the CPU. */
#ifndef GB_CPU_LINALG_SLICES_H
#define GB_CPU_LINALG_SLICES_H

#include "cpu/linalg/opaque.h"
#include "program/slices.h"

/* What the function of one matrix needs for all of them; of 'scratch', which may be NULL. */
size_t gb_cpu_slices_scratch (const gb_pool *pool, const gb_opaque *o, gb_scratch_fn *scratch);
/* Errors: of the first slice that fails, with the number of its matrix; EINTR. */
gb_status gb_cpu_slices (const gb_opaque_call *c, gb_opaque_fn *run, gb_scratch_fn *scratch);

#endif
