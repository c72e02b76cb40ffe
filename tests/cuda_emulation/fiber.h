/* fiber.h - CUDA threads as fibers of one thread of the host: each has a stack while it is not done. A thread that never
** waits leaves its stack to the next one, so a block without barriers uses a single stack. */
#pragma once
#include "internal.h"

namespace emu {

/* Until 'end_fibers', resumed threads run 'body'. */
void begin_fibers (const std::function<void()> *body);
void end_fibers (void);
void resume (cuda_thread *);   /* until it waits or is done */
void give_way (cuda_thread *); /* from the thread itself: back to where it was resumed */

/* A thread that passes a barrier is ordered after all that came to it (for the detector of races). 'group' is 0 for the
** block, 1 + w for warp w. */
void give_way_ordered (cuda_thread *, unsigned group);
void order_block_begin (void); /* after what the scheduler wrote for the block */
void order_block_end (void);

}   // namespace emu
