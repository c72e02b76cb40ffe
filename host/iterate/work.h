/* work.h - the workspace of a loop: entries of panels in the device's memory, few numbers on the host. */
#ifndef GB_ITERATE_WORK_H
#define GB_ITERATE_WORK_H

#include "device/panel.h"

typedef struct gb_room {
  gb_device *device;
  void *entries; /* of the device: not read here */
  void *numbers;
} gb_room;

/* Bytes of a workspace: entries of panels, in the memory of the device, and numbers of the host. */
typedef struct gb_work_bytes {
  size_t entries, numbers;
} gb_work_bytes;

typedef struct gb_work {
  gb_room at;
  gb_block block[2];
} gb_work;

/* So many bytes of each, both in the account of 'dev'; '*w' stays where it is. Errors: ENOMEM; then it is
** clear. */
gb_status gb_work_new (gb_device *dev, size_t entries, size_t numbers, const char *name, gb_work *w,
                       gb_error *err);
void gb_work_free (gb_work *w); /* idempotent */

#endif
