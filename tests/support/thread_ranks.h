/* thread_ranks.h - ranks that are threads of the test: a communicator that sees when they fall out of step. */
#ifndef GB_TESTS_THREAD_RANKS_H
#define GB_TESTS_THREAD_RANKS_H

#include "cluster/comm.h"

enum { MOST_RANKS = 8 };

/* Runs job(ud, c) once for each rank, concurrently, and returns when all have. A message that ranks do not send alike, one that a rank
** waits for when another has returned, and one that takes 5 seconds are errors at all of them. 'most': as gb_comm.most. */
void thread_ranks_run (size_t ranks, size_t most, void (*job)(void *ud, gb_comm *c), void *ud);

#endif
