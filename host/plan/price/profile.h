/* profile.h - which figures of a device are in force, so that a planner may compare candidates by predicted time.
**
** A device is measured once (about two seconds, at the first comparison, never at start), and its figures are
** remembered in a text file of wisdom under all that they depend on: device, libraries, threads, version. Those
** that were measured while the machine was busy are used, and measured again by a later process. */
#ifndef GB_PLAN_PRICE_PROFILE_H
#define GB_PLAN_PRICE_PROFILE_H

#include "device/price.h"

/* The device's figures: chosen as fixed, known, read from wisdom, or measured and written there; valid until
** others are asked for. NULL: the device has none. A file that cannot be read, or written, is no error. A device
** that cannot measure, or has no room to, has its fixed figures. Errors: EINTR. */
gb_status gb_device_profile_get (gb_device *dev, const gb_device_profile **out, gb_error *err);
/* 'say' is called before the machine is measured, 'again': for the last time it was busy. NULL: nobody. */
void gb_device_profile_announce (gb_device *dev, void (*say)(bool again));
/* The same as far as it takes no measuring, else NULL. */
const gb_device_profile *gb_device_profile_known (gb_device *dev);

/* The fixed figures are chosen by GIBBOUS_RATES=fixed, or here. */
void gb_device_profile_choose_fixed (gb_device *dev, bool fixed);

/* profile_store.c. The file: $GIBBOUS_WISDOM, $XDG_CACHE_HOME/gibbous/wisdom or ~/.cache/gibbous/wisdom;
** false: none of these is set, or the path is too long. A file holds one section a key. Reading fails on
** the least doubt; writing replaces the section of 'key' and keeps the GB_WISDOM_SHEETS - 1 youngest of
** the others, in one rename. The table says which figures there are. */
#define GB_WISDOM_SHEETS 16
#define GB_WISDOM_PATH 1024
#define GB_WISDOM_KEY 512
bool gb_profile_store_path (char path[GB_WISDOM_PATH]);
void gb_profile_store_key (const gb_device *dev, char key[GB_WISDOM_KEY]);
bool gb_profile_store_read (const char *path, const char *key, const gb_price_ops *price,
                            gb_device_profile *out);
bool gb_profile_store_write (const char *path, const char *key, const gb_price_ops *price,
                             const gb_device_profile *r);

#endif
