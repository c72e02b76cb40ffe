/* fold.c - no fold runs on a GPU yet. */
#include "cuda/fold/fold.h"

#include "program/schedule.h"

void gb_cuda_fold_schedule (const gb_device *dev, const gb_fold *f, gb_schedule *out) {
  (void)dev;
  gb_schedule_default(f, out);
}

bool gb_cuda_fold_supports (const gb_device *dev, const gb_fold *f, gb_lack *lack) {
  (void)dev, (void)f;
  lack->why = "it runs no folds in this version";
  return false;
}

gb_status gb_cuda_fold_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  (void)f, (void)out;
  return gb_fail(err, GB_EINTERNAL, "%s runs no folds in this version", dev->name);
}

void gb_cuda_fold_release (gb_kernel *k) { (void)k; }

size_t gb_cuda_fold_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  (void)dev, (void)k, (void)part;
  return 0;
}

size_t gb_cuda_fold_state (const gb_device *dev, const gb_kernel *k, const gb_fold *part) {
  (void)dev, (void)k, (void)part;
  return 0;
}

gb_status gb_cuda_fold_launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err) {
  (void)k, (void)args;
  return gb_fail(err, GB_EINTERNAL, "%s runs no folds in this version", dev->name);
}
