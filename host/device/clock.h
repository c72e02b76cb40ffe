/* clock.h - the clock of a device whose calls return before their work is done: seconds between two places in the
** order of its work. A device without one works while its calls run, so the host's clock times it. */
#ifndef GB_DEVICE_CLOCK_H
#define GB_DEVICE_CLOCK_H

#include "device/device.h"

/* Spans are numbered as they begin; one may contain others, which then end before it. */
struct gb_clock_ops {
  /* A span of the work that the following calls begin. 'name' is shown by tools that watch the device. Errors: ENOMEM,
  ** EDEVICE. */
  gb_status (*begin)(gb_device *dev, const char *name, int *span, gb_error *err);
  gb_status (*end)(gb_device *dev, int span, gb_error *err);
  /* After gb_device_wait: when it began and ended, in seconds of gb_clock. */
  gb_status (*read)(gb_device *dev, int span, double *from, double *to, gb_error *err);
  /* This span and all that began after it are not asked for any more. */
  void (*drop)(gb_device *dev, int span);
};

/* As the slots. A device that has no clock is EINTERNAL. */
gb_status gb_device_begin_span (gb_device *dev, const char *name, int *span, gb_error *err);
gb_status gb_device_end_span (gb_device *dev, int span, gb_error *err);
gb_status gb_device_read_span (gb_device *dev, int span, double *from, double *to, gb_error *err);
void gb_device_drop_spans (gb_device *dev, int span);

#endif
