/* registry.h - devices by name: the host's own CPU, and those that a shared library brings. */
#ifndef GB_DEVICE_REGISTRY_H
#define GB_DEVICE_REGISTRY_H

#include "device/device.h"

/* What a library gives: a function of this name and type, which opens device number 'ordinal', from 0, of
** those that the machine has of the kind. 'abi' is GB_DEVICE_ABI of the program; a library that was built for
** another refuses. 'home' is the CPU of the program, which outlives the device and knows of interrupts; the
** device's limit is 'limit' bytes; 0: the library chooses (gb_device_init takes bytes). Where a machine can have
** several, the device is named "kind:ordinal". */
#define GB_DEVICE_ABI 13
#define GB_DEVICE_SYMBOL "gb_device_open_plugin"
typedef gb_status gb_device_open_function (unsigned abi, gb_device *home, int ordinal, size_t limit,
                                           gb_device **out, gb_error *err);
/* Optional, too: how many devices of the kind there are, at least 1, without opening one. Errors: EDEVICE,
** with the reason that none can be opened. */
#define GB_DEVICE_COUNT_SYMBOL "gb_device_count_plugin"
typedef gb_status gb_device_count_function (unsigned abi, int *count, gb_error *err);

/* Opens the device of that name: "cuda", or "cuda:1" for the second one of the kind. Its library is
** libgibbous_<kind>.so, in the folder that GIBBOUS_DEVICE_PATH names, beside the program or the library that opens it, in
** lib/gibbous of an installation, or where the system looks for libraries. GIBBOUS_<KIND> says otherwise: "off" for none, "emulated" for the one of the tests, or
** the path of one; any other value opens none. The library stays open until the process ends. What it opens has the
** kind for the name of its ops. Errors: EDEVICE, with the reason; EOPTION (no device of that spelling). */
gb_status gb_device_open (const char *name, gb_device *home, size_t limit, gb_device **out, gb_error *err);

/* Opens the library of a kind where gb_device_open looks for it, and gives its path. NULL: it could not be opened, and 'why' has the reason. */
#define GB_LIBRARY_PATH 2048
void *gb_library_open (const char *kind, char path[GB_LIBRARY_PATH], char *why, size_t size);

/* Does the library of a kind lie in one of the folders where it is looked for? Opens nothing. */
bool gb_library_exists (const char *kind);

/* How many devices of a kind could be opened; 1 where its library does not say. Errors: as above. */
gb_status gb_device_count (const char *kind, int *count, gb_error *err);

/* Whether two names mean the same device: "cuda" is "cuda:0". */
bool gb_device_same_name (const char *a, const char *b);

#endif
