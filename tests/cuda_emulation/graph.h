/* graph.h - streams that record instead of running: what stream.cpp, memory.cpp and runtime.cpp ask of graph.cpp. */
#pragma once
#include "internal.h"

namespace emu {

void record (stream &, const std::shared_ptr<work> &); /* of a stream that records */
/* Before a stream follows an event: the event's recording takes the stream in. */
cudaError_t follow_across (stream &, const std::shared_ptr<work> &event);

/* What is refused, and spoils the recording: a call that takes memory or waits for all; a wait for what is recorded; use
** of the default stream beside a blocking stream that records. */
cudaError_t not_while_recording (void);
cudaError_t not_recorded (const stream *, const std::shared_ptr<work> &);
cudaError_t not_default (const stream *);

/* Parts of enqueue (stream.cpp): 'w' into the queue as it is; an end of several pieces of work. */
void queue_work (const std::shared_ptr<work> &w);
std::shared_ptr<work> enqueue_after (stream *, const char *what,
                                     const std::vector<std::shared_ptr<work>> &all);

}   // namespace emu
