/* pace.c - a stream holds no more work than an interrupt can wait for. */
#include "cuda/device/gpu.h"

#define PIECE 0.02 /* seconds */

/* With panels that a test has chosen each one is a piece. */
gb_status gb_cuda_pace (gb_cuda *gpu, double seconds, gb_error *err) {
  const bool ends = gpu->panel != 0 || gpu->begun >= PIECE;
  gpu->begun = ends ? seconds : gpu->begun + seconds;
  if (!ends) return GB_OK;
  GB_CUDA_TRY(cudaEventRecord(gpu->piece[gpu->turn], gpu->stream));
  gpu->turn = 1 - gpu->turn;
  GB_CUDA_TRY(cudaEventSynchronize(gpu->piece[gpu->turn]));
  return gpu->home->interrupted() ? gb_fail(err, GB_EINTR, "interrupted") : GB_OK;
}
