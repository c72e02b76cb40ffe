/* opaque.c - no opaque op runs on a GPU yet. */
#include "cuda/device/opaque.h"

#include "cuda/fold/fold.h"

bool gb_cuda_supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack) {
  (void)o;
  if (f != NULL) return gb_cuda_fold_supports(dev, f, lack);
  lack->why = "it has no kernel for it in this version";
  return false;
}

size_t gb_cuda_opaque_scratch (const gb_device *dev, const gb_opaque *o) {
  (void)dev, (void)o;
  return 0;
}

gb_status gb_cuda_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                          void *scratch, gb_error *err) {
  (void)o, (void)in, (void)out, (void)scratch;
  return gb_fail(err, GB_EINTERNAL, "%s has no kernel for an opaque op in this version", dev->name);
}
