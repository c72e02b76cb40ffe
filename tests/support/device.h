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

/* The bytes of a run at home, where its device has another memory: home_begin before it; home_rise gives the most
** bytes above those at the beginning, 0 where the device is its own home. A plan predicts 0: steps work in the
** device's memory, and copies of values are made when the host looks at them. */
void home_begin (gb_device *dev);
size_t home_rise (gb_device *dev);

#endif
