/* feed.h - points of the host on their way to a GPU, beside the passes over those that are there. They go in a stream of their
** own, which waits for the work that was called before and for which the work waits that is called after gb_cuda_fed. The thread
** that packs them into pinned memory is the one that calls passes: a pass calls gb_cuda_feed_on when its launches are in the
** stream, so that the GPU works while the next points are packed. */
#ifndef GB_CUDA_CLUSTER_FEED_H
#define GB_CUDA_CLUSTER_FEED_H

#include "cuda/device/gpu.h"
#include "program/cluster.h"

/* As gb_cluster_ops has them. Errors: EDEVICE, ENOMEM. */
gb_status gb_cuda_feed (gb_device *dev, const gb_points *x, void *to, gb_error *err);
gb_status gb_cuda_fed (gb_device *dev, gb_error *err);

gb_status gb_cuda_feed_on (gb_cuda *gpu, gb_error *err); /* what waits is sent */
void gb_cuda_feed_close (gb_cuda *gpu);

#endif
