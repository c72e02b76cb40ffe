/* encode.h - a fold as walks: what is fixed when it is compiled. Extents, strides, offsets and addresses come with a
** launch. */
#ifndef GB_CUDA_FOLD_ENCODE_H
#define GB_CUDA_FOLD_ENCODE_H

#include "base/status.h"
#include "cuda/fold/program.h"

typedef struct gb_cuda_walk {
  int reach;          /* gb_cuda_reach */
  unsigned reduced;   /* OUTER axes that its outputs reduce */
  unsigned axes;      /* all axes that they reduce */
  bool lists, stores; /* outputs remember positions; outputs are stored element by element */
  int nins, nouts, nregs;
  int code[GB_CUDA_LEVELS], ncode[GB_CUDA_LEVELS];
  gb_cuda_ins *ins;
  int *from; /* by instruction: its number in the fold */
  gb_cuda_out *out;
  int *number;  /* by output: its number in the fold */
  size_t words; /* of an element */
} gb_cuda_walk;

/* At most one walk an output. Errors: ENOMEM; EINTERNAL (a program that breaks the rules of program/fold.h). */
gb_status gb_cuda_encode (const gb_fold *f, gb_cuda_walk **walks, int *nwalks, gb_error *err);
/* Of a part of the fold, too. */
gb_cuda_places gb_cuda_places_of (const gb_fold *f, const gb_cuda_walk *w);
void gb_cuda_walks_free (gb_cuda_walk *walks, int nwalks);

#endif
