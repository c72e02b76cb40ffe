/* lists.c - outputs, operands, numbers and instructions of a launch, one by one to where they lie. */
#include "cuda/fold/lists.h"

#include <string.h>

#include "cuda/device/staging.h"

/* Where the next one goes: a place of the host, or through a pinned slot to the GPU. */
typedef struct writer {
  char *at;
  gb_cuda_sending *sending; /* NULL: to 'at' */
  gb_error *err;
} writer;

static gb_status put (writer *to, const void *from, size_t bytes) {
  if (to->sending != NULL) return gb_cuda_send(to->sending, from, bytes, to->err);
  if (bytes > 0) memcpy(to->at, from, bytes);
  to->at += bytes;
  return GB_OK;
}

static void copy_strides (int64_t *to, const ptrdiff_t *from, int naxes) {
  for (int a = 0; a < naxes; a++) to[a] = from[a];
}

static gb_status put_output (writer *to, const gb_cuda_layout *l, const gb_cuda_walk *w, int n,
                             const gb_fold_args *args) {
  const gb_out *o = &args->part->out[w->number[n]];
  gb_cuda_out out = w->out[n];
  out.dtype = (int)o->dtype, out.offset = o->offset, out.kstride = o->kstride;
  out.at = args->out[o->slot];
  out.positions = o->slot2 >= 0 ? args->out[o->slot2] : NULL;
  out.counted = w->axes;
  copy_strides(out.stride, o->stride, args->part->naxes);
  return put(to, &out, (size_t)l->p.at.out);
}

static gb_status put_operand (writer *to, const gb_cuda_layout *l, const gb_operand *o,
                              const gb_fold_args *args) {
  gb_cuda_operand operand = {.at = args->operand[o->slot], .dtype = (int)o->dtype, .offset = o->offset};
  copy_strides(operand.stride, o->stride, args->part->naxes);
  return put(to, &operand, (size_t)l->p.at.operand);
}

static gb_status put_lists (writer *to, const gb_cuda_layout *l, const gb_cuda_walk *w,
                            const gb_fold_args *args) {
  const gb_fold *f = args->part;
  for (int n = 0; n < w->nouts; n++) GB_TRY(put_output(to, l, w, n, args));
  for (int n = 0; n < f->noperands; n++) GB_TRY(put_operand(to, l, &f->operand[n], args));
  return put(to, args->constant, (size_t)f->nconstants * sizeof *args->constant);
}

static gb_status put_code (writer *to, const gb_cuda_walk *w, const gb_fold_args *args) {
  for (int n = 0; n < w->nins; n++) {
    const gb_ins *i = &args->part->ins[w->from[n]];
    gb_cuda_ins ins = w->ins[n];
    ins.f = i->f, ins.g = i->g, ins.step = i->step, ins.start = i->start;
    memcpy(ins.seed, i->seed, sizeof ins.seed);
    GB_TRY(put(to, &ins, sizeof ins));
  }
  return GB_OK;
}

gb_status gb_cuda_send_lists (gb_cuda *gpu, const gb_cuda_layout *l, const gb_cuda_walk *w,
                              const gb_fold_args *args, gb_cuda_argument *out, gb_error *err) {
  char *scratch = args->scratch;
  const gb_cuda_places *at = &l->p.at;
  gb_cuda_sending sending = gb_cuda_send_to(gpu, scratch + l->lists);
  const bool fits = at->ins <= (int)GB_CUDA_LISTS;
  writer lists = {.at = out->lists, .sending = fits ? NULL : &sending, .err = err};
  out->program = l->p;
  out->program.elsewhere = fits ? NULL : scratch + l->lists;
  out->program.ins = NULL;
  out->program.chains = (gb_cuda_word *)(scratch + l->chains);
  out->program.mirrored = l->divided ? (gb_cuda_word *)(scratch + l->mirrored) : NULL;
  out->program.registers = l->shared == 0 && l->p.nregs > 0 ? scratch + l->registers : NULL;
  GB_TRY(put_lists(&lists, l, w, args));
  if (at->end > (int)GB_CUDA_LISTS) return gb_cuda_send_end(&sending, err);
  return put_code(&lists, w, args);
}

gb_status gb_cuda_send_code (gb_cuda *gpu, const gb_cuda_layout *l, const gb_cuda_walk *w,
                             const gb_fold_args *args, gb_cuda_argument *out, gb_error *err) {
  char *to = (char *)args->scratch + l->ins;
  gb_cuda_sending sending = gb_cuda_send_to(gpu, to);
  if (l->p.at.end <= (int)GB_CUDA_LISTS || out->program.ins != NULL) return GB_OK;
  GB_TRY(put_code(&(writer){.sending = &sending, .err = err}, w, args));
  out->program.ins = (const gb_cuda_ins *)to;
  return gb_cuda_send_end(&sending, err);
}
