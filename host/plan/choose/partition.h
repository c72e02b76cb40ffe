/* partition.h - one plan over several devices: the steps within a cut axis run on all of them, each on a
** range of it.
**
** The first device has the leaves, the outputs, and every step before and after the loop. The others are
** simulated: memory of their own, the same code, one after the other. Ranges are contiguous and ascending
** in the order of the devices. */
#ifndef GB_PLAN_CHOOSE_PARTITION_H
#define GB_PLAN_CHOOSE_PARTITION_H

#include <stdio.h>

#include "plan/place/remote.h"
#include "plan/plan.h"

/* What one device does in a plan. */
typedef struct gb_partition_part {
  gb_device *device;
  double speed;
  size_t budget;        /* as asked, 0 = what its ledger has */
  bool takes_part;      /* false: only the first, which was not asked to */
  size_t lo, hi, chunk; /* its range and its windows; lo = hi: it gets nothing */
  gb_remote remote;     /* of others than the first */
  const void **read;    /* [buffers] addresses on it */
  void **write;
  gb_block arena; /* during a run */
  bool runs;
  size_t start, peak; /* of its ledger before the run */
  size_t measured;    /* by its ledger, of the last run */
} gb_partition_part;

typedef struct gb_partition {
  int n;
  gb_partition_part share[GB_DEVICES]; /* [0]: the first device */
  bool chosen;
  uint64_t key;           /* what the choice depends on */
  gb_plan_device *report; /* [n] as planned first */
} gb_partition;

/* partition.c. Errors: EDEVICE (a device twice, none that computes), EOPTION, ENOMEM. */
gb_status gb_partition_new (gb_plan *p, int n, const gb_plan_on *on, gb_error *err);
void gb_partition_free (gb_plan *p);
/* Ranges by water-filling: whole ranges in one window where the devices' budgets hold the axis; else
** windows, and every device that can run the smallest one has room for any number of them. Errors:
** EREFUSED naming the device; ENOMEM. */
gb_status gb_partition_choose (gb_plan *p, gb_error *err);
gb_status gb_partition_minimum (gb_plan *p, size_t *minimum, gb_error *err); /* of the first device */

/* remote.c. Without shares each does nothing. Begin takes the memory of the other devices, all of it:
** ENOMEM naming the device. Run does their part of the loop, when the first device has done its own. */
gb_status gb_partition_begin (gb_plan *p, gb_error *err);
gb_status gb_partition_run (gb_plan *p, void *arena, gb_error *err);
void gb_partition_end (gb_plan *p);

/* partition.c */
gb_status gb_partition_report (gb_plan *p, gb_error *err);
void gb_partition_explain (const gb_plan *p, FILE *f);

#endif
