/* far.h - addresses of the far device. */
#ifndef GB_TESTS_FAR_H
#define GB_TESTS_FAR_H

#include "device/panel.h"

/* Bit 55: not canonical on x86-64, the kernel's on AArch64, and no part of a tag there. */
#define FAR ((uintptr_t)1 << 55)
static inline void *far (void *near) { return (void *)((uintptr_t)near | FAR); }
static inline void *near (const void *far) { return (void *)((uintptr_t)far & ~FAR); }
static inline gb_device *home_of (const gb_device *dev) { return dev->priv; }

/* Faults that GIBBOUS_FAR_FAULT asks for: "open", "bytes=N" (the device has room for N bytes, whatever its limit),
** "lost=N" (call N and all later ones fail). */
void far_count (void); /* one more call */
bool far_is_lost (void);
gb_status far_gone (gb_error *err);

extern const gb_panel_ops far_panel_ops; /* panel.c */

#endif
