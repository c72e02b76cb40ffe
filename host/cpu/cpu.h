/* cpu.h - the entries of the CPU device's table, one file each: kernel.c compiles and runs folds, opaque.c runs opaque
** ops, profile.c measures. */
#ifndef GB_CPU_CPU_H
#define GB_CPU_CPU_H

#include "device/device.h"
#include "program/fold.h"
#include "program/library.h"

gb_status gb_cpu_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err);
void gb_cpu_release (gb_kernel *k);
size_t gb_cpu_kernel_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *part);
size_t gb_cpu_kernel_state (const gb_device *dev, const gb_kernel *k, const gb_fold *part);
gb_status gb_cpu_launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err);

size_t gb_cpu_opaque_scratch (const gb_device *dev, const gb_opaque *o);
gb_status gb_cpu_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                         void *scratch, gb_error *err);

extern const gb_panel_ops gb_cpu_panel_ops; /* cpu/panel/panel.c */

#endif
