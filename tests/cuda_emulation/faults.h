/* faults.h - failures that a test asks for, and illegal addresses. */
#pragma once
#include "internal.h"

namespace emu {

/* "api@n=code,...": the n-th call of 'api' gives 'code'; "@n+": that one and all later ones. 'api' is a function's name,
** "*" for every call, "kernel:name" or "kernel:*" for launches. Codes that end a device end it. False: not understood. */
bool ask_failures (const char *text);
void forget_calls (void);
void print_calls (void);
void watch_addresses (void); /* from now on, accesses to closed memory are told in words */
void apply_limits (void);    /* settings of devices, to the devices there are (runtime.cpp) */

}   // namespace emu
