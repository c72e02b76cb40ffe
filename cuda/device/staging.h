/* staging.h - pinned memory of the host through which all bytes from and to a GPU go: copies to it return
** before they are done and what was read from may change at once; copies from it return when they are
** done. */
#ifndef GB_CUDA_DEVICE_STAGING_H
#define GB_CUDA_DEVICE_STAGING_H

#include <cuda_runtime_api.h>

#include "device/memory.h"

enum { GB_CUDA_SLOTS = 2 };
#define GB_CUDA_SLOT ((size_t)4 << 20) /* bytes */

typedef struct gb_cuda_staging {
  char *at;                        /* the slots, side by side; NULL: not open */
  cudaEvent_t done[GB_CUDA_SLOTS]; /* the last copy from or to the slot */
  int next;                        /* the slot whose copy is the oldest */
  struct gb_ledger *account;       /* of the host, where the bytes are booked */
} gb_cuda_staging;

struct gb_cuda;
/* Errors: ENOMEM, EDEVICE. After a failure, closing gives back what was taken. */
gb_status gb_cuda_staging_open (gb_cuda_staging *s, struct gb_ledger *account, gb_error *err);
void gb_cuda_staging_close (gb_cuda_staging *s);

/* Bytes on their way to a GPU, written where they lie pinned, as many at a time as there are. */
typedef struct gb_cuda_sending {
  struct gb_cuda *gpu;
  cudaStream_t stream; /* in which they go: the GPU's, unless it is another one before the first bytes */
  char *to;            /* of the bytes in the slot */
  size_t used;         /* bytes in the slot; 0: no slot is taken */
  int slot;
} gb_cuda_sending;

/* All that was sent since the beginning is in the stream after the end; a failure ends it. Nothing else is copied between. */
gb_cuda_sending gb_cuda_send_to (struct gb_cuda *gpu, void *to);
gb_status gb_cuda_send (gb_cuda_sending *s, const void *from, size_t bytes, gb_error *err);
gb_status gb_cuda_send_end (gb_cuda_sending *s, gb_error *err);

gb_status gb_cuda_upload (struct gb_cuda *gpu, void *to, const void *from, size_t bytes, gb_error *err);
gb_status gb_cuda_download (struct gb_cuda *gpu, void *to, const void *from, size_t bytes, gb_error *err);
/* Shows the bytes to 'look' piece by piece where they lie on the host, without a copy of their own. Pieces
** are whole numbers of 64 bytes but for the last. */
gb_status gb_cuda_look (struct gb_cuda *gpu, const void *from, size_t bytes,
                        void (*look)(void *ud, const void *piece, size_t bytes), void *ud, gb_error *err);

#endif
