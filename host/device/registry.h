/* registry.h - devices by name: the host's own CPU, and those that a shared library brings. */
#ifndef GB_DEVICE_REGISTRY_H
#define GB_DEVICE_REGISTRY_H

#include "device/device.h"

/* What a library gives: one function of this name and type. 'abi' is GB_DEVICE_ABI of the program; a library
** that was built for another refuses. 'home' is the CPU of the program, which outlives the device; the
** device's limit is 'limit' bytes; 0: the library chooses (gb_device_init takes bytes). */
#define GB_DEVICE_ABI 1
#define GB_DEVICE_SYMBOL "gb_device_open_plugin"
typedef gb_status gb_device_open_function (unsigned abi, gb_device *home, size_t limit, gb_device **out,
                                           gb_error *err);

/* Opens the device of that kind, "cuda" or another: libgibbous_<kind>.so, in the folder that
** GIBBOUS_DEVICE_PATH names, beside the program, or where the system looks for libraries. The library stays
** open until the process ends. Errors: EDEVICE, with the reason; EOPTION (no kind of that spelling). */
gb_status gb_device_open (const char *kind, gb_device *home, size_t limit, gb_device **out, gb_error *err);

#endif
