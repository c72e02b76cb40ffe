/* interrupt.c - the flag itself, and its count. */
#include "base/interrupt.h"

atomic_bool gb_interrupt_flag;
atomic_uint gb_interrupt_count;
