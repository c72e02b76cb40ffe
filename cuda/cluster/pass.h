/* pass.h - a pass over points: where the parts of its scratch lie, what is sent there, and its launches. */
#ifndef GB_CUDA_CLUSTER_PASS_H
#define GB_CUDA_CLUSTER_PASS_H

#include "cuda/cluster/kernels.h"
#include "cuda/device/gpu.h"
#include "program/cluster.h"

typedef struct gb_cuda_points {
  gb_cuda *gpu;
  char *room; /* of the GPU's, what the lengths of a launch's points leave */
  size_t room_bytes;
  float *move;    /* (k), in the scratch */
  gb_cuda_pass p; /* of all points */
} gb_cuda_points;

size_t gb_cuda_pass_bytes (gb_dtype compute, size_t k, size_t d);

/* scratch NULL: the pass has none. Nothing is sent yet. Errors, of all that follow: EDEVICE, EINTR. */
gb_status gb_cuda_pass_open (gb_device *dev, const gb_points *x, size_t k, void *scratch, gb_cuda_points *out,
                             gb_error *err);
gb_status gb_cuda_pass_clear (gb_cuda_points *s, gb_error *err); /* the tally: zeros, and no bad point */
gb_status gb_cuda_pass_tally (gb_cuda_points *s, gb_cuda_tally *out, gb_error *err);
gb_status gb_cuda_pass_send_shift (gb_cuda_points *s, const double *shift, gb_error *err);
gb_status gb_cuda_pass_send_centres (gb_cuda_points *s, const double *centre,
                                     gb_error *err); /* (k, d), as they are */
gb_status gb_cuda_pass_send_ranks (gb_cuda_points *s, const double *centre,
                                   gb_error *err); /* for gb_cuda_assign */

/* The tally is cleared, the shift and the centres are sent: as they are; for gb_cuda_assign. */
gb_status gb_cuda_pass_bring_centres (gb_cuda_points *s, const gb_centres *c, gb_error *err);
gb_status gb_cuda_pass_bring_ranks (gb_cuda_points *s, const gb_centres *c, gb_error *err);
/* out += numbers of the GPU. */
gb_status gb_cuda_pass_add (const gb_cuda_points *s, const int64_t *from, size_t count, int64_t *out,
                            gb_error *err);

/* Points of one launch, whole blocks of them: as many as take some milliseconds, each compared with so many others. */
size_t gb_cuda_pass_some (const gb_cuda_points *s, size_t others);
/* 'n' points from 'first' on; the turn of a launch that has them; their lengths, where these are needed; both. */
gb_cuda_pass gb_cuda_pass_part (const gb_cuda_points *s, size_t first, size_t n);
gb_status gb_cuda_pass_wait (gb_cuda_points *s, size_t n, size_t others, gb_error *err);
gb_status gb_cuda_pass_measure (gb_cuda_points *s, const gb_cuda_pass *part, gb_error *err);
gb_status gb_cuda_pass_turn (gb_cuda_points *s, const gb_cuda_pass *part, size_t others, gb_error *err);

typedef cudaError_t gb_cuda_pass_launch (const gb_cuda_pass *p, unsigned groups, cudaStream_t s);
/* All points, launch by launch. */
gb_status gb_cuda_pass_run (gb_cuda_points *s, size_t others, gb_cuda_pass_launch *launch, gb_error *err);
unsigned gb_cuda_pass_groups (const gb_cuda_points *s);

/* bounded.c, as gb_cluster_ops has it */
gb_status gb_cuda_assign_bounded (gb_device *dev, const gb_points *x, const gb_centres *c,
                                  const gb_drift *drift, gb_quanta q, int32_t *label, gb_bounds bounds,
                                  int64_t *sums, size_t *moved, void *scratch, gb_error *err);

/* many.c: passes of k-means||, as gb_cluster_ops has them */
gb_status gb_cuda_nearer (gb_device *dev, const gb_points *x, const gb_centres *c, double scale,
                          int32_t first, bool fresh, void *near, int32_t *label, int64_t *block,
                          void *scratch, gb_error *err);
gb_status gb_cuda_lots (gb_device *dev, const gb_points *x, double scale, const void *near,
                        const gb_stream *s, double share, gb_take_point *take, void *ud, gb_error *err);
gb_status gb_cuda_tally_weights (gb_device *dev, const gb_points *x, const int32_t *label, double scale,
                                 size_t count, int64_t *out, gb_error *err);

#endif
