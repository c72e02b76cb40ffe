/* fold.c - folds on a GPU: kernels are their walks; a launch lays out scratch (layout.h), sends the lists (lists.h) and
** starts the passes of each walk (passes.h). All is put into one stream: a launch returns before it is done. */
#include "cuda/fold/fold.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/compile/compile.h"
#include "cuda/fold/code.h"
#include "cuda/fold/estimate.h"
#include "cuda/fold/lists.h"
#include "cuda/fold/passes.h"
#include "program/schedule.h"

typedef struct gb_cuda_kernel {
  gb_kernel kernel;
  gb_fold fold; /* without its lists: what gb_fold_serves compares */
  gb_cuda_type type;
  gb_cuda_arithmetic arithmetic;
  int nwalks;
  gb_cuda_walk *walks;
  gb_cuda_code *code; /* two a walk: of its own reach, and MIRROR, or of WAVE; NULL: nothing is compiled */
} gb_cuda_kernel;

void gb_cuda_fold_schedule (const gb_device *dev, const gb_fold *f, gb_schedule *out) {
  (void)dev;
  gb_schedule_default(f, out);
  gb_schedule_close_tiles(f, out);
}

/* -- compilation */

static bool runs_op (gb_op op) {
  switch (op) {
    case GB_OP_NDTR_RATIO:
    case GB_OP_NDTR_GAP:
    case GB_OP_NDTR_SPREAD:
    case GB_OP_DIGAMMA:
    case GB_OP_TRIGAMMA:
    case GB_OP_POLYGAMMA: return false;
    default: return true;
  }
}

bool gb_cuda_fold_supports (const gb_device *dev, const gb_fold *f, gb_lack *lack) {
  (void)dev;
  for (int n = 0; n < f->nins; n++) {
    if (f->ins[n].kind != GB_INS_MAP || runs_op(f->ins[n].op)) continue;
    *lack = (gb_lack){.why = "its library has no such function", .ins = n};
    return false;
  }
  return true;
}

static size_t bytes_of (const gb_cuda_kernel *k, const gb_fold *f) {
  const size_t each = (size_t)f->nins * (sizeof(gb_cuda_ins) + sizeof(int)) +
                      (size_t)f->nouts * (sizeof(gb_cuda_out) + sizeof(int)) + sizeof(gb_cuda_walk);
  return sizeof *k + (size_t)k->nwalks * each + gb_cuda_codes_bytes(k->code, k->nwalks);
}

gb_status gb_cuda_fold_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  static const gb_cuda_type type[GB_NDTYPES] = {
      [GB_F32] = GB_CUDA_F32, [GB_F64] = GB_CUDA_F64, [GB_I64] = GB_CUDA_I64};
  gb_cuda_kernel *k = calloc(1, sizeof *k);
  if (k == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a program");
  k->fold = *f;
  k->fold.operand = NULL;
  k->fold.ins = NULL;
  k->fold.out = NULL;
  k->type = type[f->compute];
  k->arithmetic = gb_cuda_arithmetic_of(f, dev->arithmetic);
  if (k->arithmetic == GB_CUDA_UNIT) k->type = GB_CUDA_F32_UNIT;
  const gb_status st = gb_cuda_encode(f, &k->walks, &k->nwalks, err);
  if (st != GB_OK) {
    free(k);
    return st;
  }
  if (gb_cuda_compiles(gb_cuda_of(dev))) k->code = gb_cuda_codes_new(f, k->walks, k->nwalks, k->arithmetic);
  k->kernel.bytes = bytes_of(k, f);
  *out = &k->kernel;
  return GB_OK;
}

void gb_cuda_fold_release (gb_kernel *kernel) {
  gb_cuda_kernel *k = (gb_cuda_kernel *)kernel;
  gb_cuda_codes_free(k->code, k->nwalks);
  gb_cuda_walks_free(k->walks, k->nwalks);
  free(k);
}

/* -- launches */

size_t gb_cuda_fold_scratch (const gb_device *dev, const gb_kernel *kernel, const gb_fold *part) {
  const gb_cuda_kernel *k = (const gb_cuda_kernel *)kernel;
  size_t most = 0;
  if (!gb_fold_serves(&k->fold, part)) return SIZE_MAX;
  for (int w = 0; w < k->nwalks; w++) {
    const gb_cuda_layout l = gb_cuda_lay_out(gb_cuda_of(dev), k->type, &k->walks[w], part);
    if (l.bytes > most) most = l.bytes;
  }
  return most;
}

size_t gb_cuda_fold_state (const gb_device *dev, const gb_kernel *kernel, const gb_fold *part) {
  const gb_cuda_kernel *k = (const gb_cuda_kernel *)kernel;
  size_t bytes = 0;
  if (!gb_fold_serves(&k->fold, part)) return SIZE_MAX;
  for (int w = 0; w < k->nwalks; w++)
    gb_cuda_place(&bytes, gb_cuda_lay_out(gb_cuda_of(dev), k->type, &k->walks[w], part).state);
  return bytes;
}

/* Who made the chains. */
static const char *carrier (const int passes[2]) {
  return passes[1] == 0 ? "vm" : passes[0] == 0 ? "compiled" : "vm, compiled";
}

static void count (const gb_fold *f, const int passes[2], gb_fold_stats *stats) {
  double pairs = 1;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role != GB_AXIS_INNER) pairs *= (double)f->axis[a].extent;
  *stats = (gb_fold_stats){
      .pairs = (uint64_t)pairs, .tiles = (uint64_t)(pairs / (GB_TI * GB_TJ)), .path = carrier(passes)};
}

gb_status gb_cuda_fold_launch (gb_device *dev, const gb_kernel *kernel, const gb_fold_args *args,
                               gb_error *err) {
  const gb_cuda_kernel *k = (const gb_cuda_kernel *)kernel;
  gb_cuda *gpu = gb_cuda_of(dev);
  size_t state = 0;
  int passes[2] = {0, 0};
  if (!gb_fold_serves(&k->fold, args->part)) return gb_fail(err, GB_EINTERNAL, "fold: a part of another one");
  if (args->part->carried != 0 && args->carry == NULL)
    return gb_fail(err, GB_EINTERNAL, "fold: a part without its totals");
  GB_TRY(gb_cuda_enter(gpu, err));
  for (int w = 0; w < k->nwalks; w++) {
    const gb_cuda_layout l = gb_cuda_lay_out(gpu, k->type, &k->walks[w], args->part);
    gb_cuda_argument argument;
    const gb_cuda_run r = {.gpu = gpu,
                           .type = k->type,
                           .l = &l,
                           .walk = &k->walks[w],
                           .args = args,
                           .argument = &argument,
                           .code = k->code == NULL ? NULL : &k->code[2 * w],
                           .seconds = gb_cuda_vm_seconds(gpu, k->type, &k->walks[w], args->part),
                           .passes = passes,
                           .err = err};
    char *carried = l.carried ? (char *)args->carry->state + gb_cuda_place(&state, l.state) : NULL;
    if (l.all == 0) continue;
    GB_TRY(gb_cuda_send_lists(gpu, &l, &k->walks[w], args, &argument, err));
    GB_TRY(gb_cuda_run_walk(&r, carried));
  }
  if (args->stats != NULL) count(args->part, passes, args->stats);
  return GB_OK;
}
