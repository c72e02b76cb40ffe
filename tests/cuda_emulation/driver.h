/* driver.h - what entry points of the emulated driver share. */
#pragma once
#include "internal.h"

#define EMU_DRIVER_CALL(...)                                                                                 \
  emu::call here(__VA_ARGS__);                                                                               \
  if (here.error != cudaSuccess) return emu::driver_result(here.error)
