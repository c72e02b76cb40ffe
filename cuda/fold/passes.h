/* passes.h - runs a walk that is laid out: all its kernels are put into the stream. */
#ifndef GB_CUDA_FOLD_PASSES_H
#define GB_CUDA_FOLD_PASSES_H

#include "cuda/compile/compile.h"
#include "cuda/fold/layout.h"
#include "device/device.h"

typedef struct gb_cuda_run {
  gb_cuda *gpu;
  gb_cuda_type type;
  const gb_cuda_layout *l;
  const gb_cuda_walk *walk;
  const gb_fold_args *args;
  gb_cuda_argument *argument; /* of every kernel: its program says which units, and of which combination */
  const gb_cuda_code *code;   /* of the walk: its own reach, and MIRROR, or WAVE; NULL: nothing is compiled */
  double seconds;             /* that the interpreter takes for one combination, roughly */
  int *passes;                /* that made chains: by the interpreter, by compiled kernels */
  gb_error *err;
} gb_cuda_run;

/* 'state': totals that are carried from part to part; NULL where there are none. */
gb_status gb_cuda_run_walk (const gb_cuda_run *r, char *state);

#endif
