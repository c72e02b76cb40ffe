/* estimate.c - how long the interpreter takes for a walk. */
#include "cuda/fold/estimate.h"

#include "cuda/fold/layout.h"

/* How fast the interpreter is, roughly: issue slots that an instruction of f32 takes an element, of the 128 that a
** multiprocessor has each clock. It decides when a walk is worth a compilation, and nothing else. */
#define SLOTS 9
#define CLOCK 1.7e9

static double trips (const gb_fold *f, int axis) {
  return f->axis[axis].extent == 0 ? 1 : (double)f->axis[axis].extent;
}

/* Instructions that an element of a walk takes. */
static double instructions_of (const gb_cuda_walk *w, const gb_fold *f) {
  const gb_cuda_ins *code = w->ins + w->code[GB_CUDA_FULL];
  double sum = 0, times = 1;
  for (int pc = 0; pc < w->ncode[GB_CUDA_FULL]; pc++) {
    const gb_cuda_ins *i = &code[pc];
    switch (i->kind) {
      case GB_INS_LOOP: times *= trips(f, i->axis); break;
      case GB_INS_ENDLOOP: times /= trips(f, code[i->jump].axis); break;
      case GB_INS_SQDIST:
      case GB_INS_DOT: sum += times * (1 + 2 * trips(f, i->axis)); break;
      case GB_INS_EMIT: sum += times * (1 + w->out[i->x].cols); break;
      default: sum += times;
    }
  }
  return sum;
}

double gb_cuda_vm_seconds (const gb_cuda *gpu, gb_cuda_type type, const gb_cuda_walk *w, const gb_fold *f) {
  double elements = 1;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role != GB_AXIS_INNER && !(w->reduced >> a & 1)) elements *= (double)f->axis[a].extent;
  const double slots = elements * instructions_of(w, f) * (gb_cuda_is_f32(type) ? SLOTS : 2 * SLOTS);
  return slots / (gpu->multiprocessors * 128.0 * CLOCK);
}
