/* pack.h - kernels that were compiled when the library was built: one file, read-only, beside the library. GIBBOUS_CUDA_PACK
** says otherwise: a path, or "off".
**
** A file is a header, an index sorted by key, a checksum of both, and images, of each of which the index has a checksum. What
** is not such a file of this library is as if absent. */
#ifndef GB_CUDA_COMPILE_PACK_H
#define GB_CUDA_COMPILE_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda/compile/key.h"

#define GB_CUDA_PACK_NAME "libgibbous_cuda.kernels"
enum { GB_CUDA_PACK_TARGETS = 8, GB_CUDA_PACK_WHY = 512 };

typedef struct gb_cuda_pack gb_cuda_pack;

/* One that is used by one thread at a time. NULL: 'why' says why there is none; "": it is switched off. */
gb_cuda_pack *gb_cuda_pack_open (char why[GB_CUDA_PACK_WHY]);
void gb_cuda_pack_close (gb_cuda_pack *p); /* NULL is fine */

/* True: '*image' is what this GPU runs best of what the pack has for the key (key.h, for no GPU in particular), and the caller
** frees it. False: 'why' says what is wrong with the file; it is "" where the pack has no such kernel. */
bool gb_cuda_pack_read (gb_cuda_pack *p, const gb_cuda_key *key, int capability, char **image, size_t *bytes,
                        char why[GB_CUDA_PACK_WHY]);

/* The image of one kernel for one target. */
typedef struct gb_cuda_packed {
  gb_cuda_key key; /* gb_cuda_key_at its target */
  const char *image;
  size_t bytes;
} gb_cuda_packed;

/* Sorts 'of'. Errors: as gb_outfile; ENOMEM. */
gb_status gb_cuda_pack_write (const char *path, gb_cuda_packed *of, size_t n, const int *target, int ntargets,
                              gb_error *err);

#endif
