/* cache.h - compiled kernels on the disk: $XDG_CACHE_HOME/gibbous/kernels or ~/.cache/gibbous/kernels, a file for each key
** (key.h).
**
** A file is a header, the image, and a checksum of both. It is written beside and renamed, so that other processes see it
** whole or not at all. What is not such a file of this key is as if absent. All files together take GB_CUDA_CACHE_BYTES at
** most: those used least recently go first. */
#ifndef GB_CUDA_COMPILE_CACHE_H
#define GB_CUDA_COMPILE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda/compile/key.h"

#define GB_CUDA_CACHE_BYTES ((size_t)256 << 20)

/* True: '*image' is set, and the caller frees it. False: 'why' says what is wrong with the file; it is "" where the cache
** has no file for the key. */
bool gb_cuda_cache_read (const gb_cuda_key *key, char **image, size_t *bytes, char why[256]);
void gb_cuda_cache_drop (const gb_cuda_key *key); /* the GPU refuses the image */
/* False: 'why' says why the image was not kept. From any thread. */
bool gb_cuda_cache_write (const gb_cuda_key *key, const char *image, size_t bytes, char why[256]);

#endif
