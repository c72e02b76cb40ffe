/* gpu.h - one GPU: what the rooms of cuda/ know of it, and how calls of CUDA fail. All its work is in one
** stream, in the order of the calls; a call returns before its work is done, and gb_device_wait or a copy to
** the host says whether the work failed. */
#ifndef GB_CUDA_DEVICE_GPU_H
#define GB_CUDA_DEVICE_GPU_H

#include <cuda_runtime_api.h>

#include "cuda/device/clock.h"
#include "cuda/device/staging.h"
#include "device/device.h"

#define GB_CUDA_ROOM ((size_t)8 << 20)

typedef struct gb_cuda {
  int ordinal;     /* among the GPUs that the driver shows */
  gb_device *home; /* the CPU of the program */
  cudaStream_t stream;
  char *room; /* some of its memory, for one piece of work at a time */
  size_t room_bytes;
  gb_cuda_staging staging;
  gb_cuda_clock *clock; /* NULL: nothing was timed yet */
  cudaEvent_t piece[2]; /* ends of the latest pieces of work (gb_cuda_pace) */
  int turn;
  double begun;                            /* seconds of work since the latest piece */
  struct gb_cuda_libraries *libraries;     /* of dense algebra; NULL: not needed yet */
  struct gb_cuda_compilation *compilation; /* of generated kernels */
  struct gb_cuda_feeding *feeding;         /* of points of the host; NULL: not needed yet */
  int capability;                          /* 90: 9.0 */
  int multiprocessors;
  size_t panel;     /* bytes of chains that a fold keeps at once; 0: as many as are fast */
  size_t shared;    /* bytes of shared memory that a block can have */
  size_t total;     /* bytes of its memory */
  char failed[256]; /* why a call that returns no status failed, the first one; "": none has */
  char isa[16], text[192];
} gb_cuda;

static inline gb_cuda *gb_cuda_of (const gb_device *dev) { return (gb_cuda *)dev->priv; }

/* status.c: EDEVICE where the GPU or its context is gone for good, ENOMEM where it has no room, EINTERNAL for
** what it refuses otherwise. 'call' begins with the name of the function. */
gb_status gb_cuda_status (cudaError_t e, const char *call, gb_error *err);
bool gb_cuda_is_loss (cudaError_t e);
/* For calls that return no status: the first failure is kept, and what gb_cuda_enter returns from then on. */
void gb_cuda_note (gb_cuda *gpu, cudaError_t e, const char *call);
void gb_cuda_note_error (gb_cuda *gpu, gb_status st, const gb_error *err);
/* Makes the GPU that of the calling thread. */
gb_status gb_cuda_enter (gb_cuda *gpu, gb_error *err);
gb_status gb_cuda_wait (gb_cuda *gpu, gb_error *err);
/* Before work of so many seconds, roughly, that is a part of more: what is in the stream is cut into pieces, and of
** those two are under way; an interrupt ends it when the older one is done. Errors: EINTR, EDEVICE. */
gb_status gb_cuda_pace (gb_cuda *gpu, double seconds, gb_error *err);

#define GB_CUDA_TRY(call) GB_TRY(gb_cuda_status((call), #call, err))

#endif
