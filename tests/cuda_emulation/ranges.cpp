/* ranges.cpp - NVTX: named ranges, counted, and stopped where one ends that did not begin. */
#include "internal.h"

static thread_local int depth;

extern "C" {
int nvtxRangePushA (const char *name) {
  emu::call here("nvtxRangePushA", emu::needs::nothing);
  if (name == nullptr) emu::stop("a range without a name");
  return depth++;
}
int nvtxRangePop (void) {
  emu::call here("nvtxRangePop", emu::needs::nothing);
  if (depth == 0) emu::stop("a range ends that did not begin");
  return --depth;
}
}
