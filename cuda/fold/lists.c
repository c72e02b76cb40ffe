/* lists.c - operands, instructions, outputs and constants of a launch, and their upload. */
#include "cuda/fold/lists.h"

#include <stdlib.h>
#include <string.h>

static void copy_strides (int64_t *to, const ptrdiff_t *from, int naxes) {
  for (int a = 0; a < naxes; a++) to[a] = from[a];
}

/* ARG* and KSMALLEST count positions in row-major order of the axes that they reduce. */
static void place_positions (gb_cuda_out *o, const gb_fold *part, unsigned axes) {
  size_t n = 1;
  for (int a = part->naxes - 1; a >= 0; a--) {
    o->pmul[a] = axes >> a & 1 ? n : 0;
    if (axes >> a & 1) n *= part->axis[a].extent;
  }
}

/* The lists with what belongs to the part, side by side as scratch has them; to be freed. */
static char *lists_of (const gb_cuda_layout *l, const gb_cuda_walk *w, const gb_fold_args *args,
                       gb_error *err) {
  const gb_fold *f = args->part;
  char *lists = calloc(1, l->chains + 1);
  if (lists == NULL) {
    gb_fail(err, GB_ENOMEM, "no memory for a launch");
    return NULL;
  }
  gb_cuda_operand *operand = (gb_cuda_operand *)(lists + l->operands);
  gb_cuda_ins *ins = (gb_cuda_ins *)(lists + l->ins);
  gb_cuda_out *out = (gb_cuda_out *)(lists + l->outs);
  for (int n = 0; n < f->noperands; n++) {
    const gb_operand *o = &f->operand[n];
    operand[n] = (gb_cuda_operand){.at = args->operand[o->slot], .dtype = (int)o->dtype, .offset = o->offset};
    copy_strides(operand[n].stride, o->stride, f->naxes);
  }
  for (int n = 0; n < w->nins; n++) {
    const gb_ins *i = &f->ins[w->from[n]];
    ins[n] = w->ins[n];
    ins[n].f = i->f, ins[n].g = i->g, ins[n].step = i->step, ins[n].start = i->start;
    memcpy(ins[n].seed, i->seed, sizeof ins[n].seed);
  }
  for (int n = 0; n < w->nouts; n++) {
    const gb_out *o = &f->out[w->number[n]];
    out[n] = w->out[n];
    out[n].dtype = (int)o->dtype, out[n].offset = o->offset, out[n].kstride = o->kstride;
    out[n].at = args->out[o->slot];
    out[n].positions = o->slot2 >= 0 ? args->out[o->slot2] : NULL;
    copy_strides(out[n].stride, o->stride, f->naxes);
    place_positions(&out[n], f, w->axes);
  }
  if (f->nconstants > 0)
    memcpy(lists + l->constants, args->constant, (size_t)f->nconstants * sizeof *args->constant);
  return lists;
}

gb_status gb_cuda_send_lists (gb_cuda *gpu, gb_cuda_layout *l, const gb_cuda_walk *w,
                              const gb_fold_args *args, gb_error *err) {
  char *lists = lists_of(l, w, args, err);
  if (lists == NULL) return GB_ENOMEM;
  char *scratch = args->scratch;
  const gb_status st = gb_cuda_upload(gpu, scratch, lists, l->chains, err);
  free(lists);
  l->p.operand = (const gb_cuda_operand *)(scratch + l->operands);
  l->p.ins = (const gb_cuda_ins *)(scratch + l->ins);
  l->p.out = (const gb_cuda_out *)(scratch + l->outs);
  l->p.constant = (const gb_number *)(scratch + l->constants);
  l->p.chains = (gb_cuda_word *)(scratch + l->chains);
  l->p.registers = l->shared == 0 && l->p.nregs > 0 ? scratch + l->registers : NULL;
  return st;
}
