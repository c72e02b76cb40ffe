/* key.h - what a compiled kernel is known by. */
#ifndef GB_CUDA_COMPILE_KEY_H
#define GB_CUDA_COMPILE_KEY_H

#include <stdint.h>

#include "cuda/emit/emit.h"

/* Of everything that the code depends on. The first word is the text's alone: what it includes, how it is compiled, and
** the versions of Gibbous and the toolkit; the emulation has the same one. */
typedef struct gb_cuda_key {
  uint64_t word[2];
} gb_cuda_key;

/* A generated kernel of a walk. */
typedef struct gb_cuda_code {
  gb_cuda_source source; /* text NULL: the interpreter has this walk to itself */
  gb_cuda_key key;       /* for no GPU in particular */
} gb_cuda_code;

gb_cuda_key gb_cuda_key_of (const gb_cuda_source *s, gb_cuda_arithmetic a);
/* The same for code of one target: a capability, or GB_CUDA_PORTABLE and one. */
gb_cuda_key gb_cuda_key_at (const gb_cuda_key *key, int target);

/* Of no text: what all keys of this library have in common. */
gb_cuda_key gb_cuda_key_of_library (void);

#define GB_CUDA_PORTABLE 0x10000 /* PTX, which the driver compiles for its GPU */

#endif
