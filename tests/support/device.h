/* device.h - the device that tests compute on: the CPU, or the kind that GIBBOUS_DEVICE names, with the CPU as
** its home. */
#ifndef GB_TESTS_DEVICE_H
#define GB_TESTS_DEVICE_H

#include "device/device.h"

/* As gb_device_cpu_new. */
gb_status test_device_new (int threads, size_t limit, gb_device **out, gb_error *err);

/* Frees it with its home. Returns the bytes that are still in use on both ledgers. */
size_t test_device_free (gb_device *dev);

/* The CPU itself where that is the device. */
gb_device *test_device_home (gb_device *dev);

#endif
