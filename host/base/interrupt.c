/* interrupt.c - the flag itself. */
#include "base/interrupt.h"

atomic_bool gb_interrupt_flag;
