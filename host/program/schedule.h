/* schedule.h - how a device walks the domain of a fold: which axis is vectorised, tiled, looped outside tiles or
** inside them, and where the chains of sums may be broken.
**
** Lowering writes a fold's domain, instructions and outputs; the device's schedule fixes the order of its
** arithmetic. It depends on the fold alone, never on budget, threads or free memory. */
#ifndef GB_PROGRAM_SCHEDULE_H
#define GB_PROGRAM_SCHEDULE_H

#include "device/device.h"
#include "program/fold.h"

struct gb_schedule {
  int lane, tile;             /* -1 = none */
  gb_axes inner;              /* looped inside tiles, beside the axes that are INNER already */
  size_t chain[GB_FOLD_AXES]; /* as gb_fold_axis.chain */
  bool symmetric;             /* half of the tiles is enough where the program mirrors itself */
};

/* The device's schedule, or the default where it has none of its own. Axes of 'f' that may be chosen are OUTER;
** features and right-hand sides are INNER. */
void gb_schedule_of (const gb_device *dev, const gb_fold *f, gb_schedule *out);

/* Tiles of GB_TI lanes; chains of GB_SUPER of them and of GB_CANON rows of tiles. */
void gb_schedule_default (const gb_fold *f, gb_schedule *out);
/* For a device that adds up tiles in an order of its own: a sum over LANE and TILE is not broken along TILE. */
void gb_schedule_close_tiles (const gb_fold *f, gb_schedule *s);
/* Chains of that length for a fold whose axes have their roles; closed: of such a device. */
void gb_schedule_chains (gb_fold *f, bool closed);

#endif
