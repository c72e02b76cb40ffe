/* abroad.c - steps of the first lane that run on other devices of the graph: their memory there, and the MOVEs
** that take values across. */
#include "plan/run/run.h"
#include "program/appendable.h"

static gb_device *device_at (const gb_run *r, int number) {
  return gb_graph_device(r->plan->request.graph, number);
}

char *gb_step_arena (const gb_run *r, const gb_lane *l, int s) {
  const int number = r->plan->prog->low->step[s].device;
  return number == 0 ? (char *)l->arena : r->abroad[number].at;
}

static gb_status begin (gb_run *r, int number, gb_error *err) {
  const gb_abroad *need = &r->choice.place->abroad[number];
  gb_abroad_arena *a = &r->abroad[number];
  gb_device *dev = device_at(r, number);
  gb_ledger *l = &dev->ledger;
  if (gb_ledger_room(l) < need->peak) return gb_run_no_room(dev, need->peak, err);
  a->start = l->used;
  a->peak = l->peak;
  l->peak = l->used;
  a->begun = true;
  a->at = NULL;
  if (need->arena == 0) return GB_OK;
  if (gb_ledger_alloc(l, GB_MEM_ARENA, need->arena, "", "arena", &a->own, NULL) != GB_OK)
    return gb_run_no_room(dev, need->arena, err);
  a->at = a->own.data;
  return GB_OK;
}

gb_status gb_abroad_begin (gb_run *r, gb_error *err) {
  for (int i = 1; i < r->plan->prog->low->ndevices; i++) GB_TRY(begin(r, i, err));
  return GB_OK;
}

void gb_abroad_end (gb_run *r) {
  for (int i = 1; i < r->plan->prog->low->ndevices; i++) {
    gb_abroad_arena *a = &r->abroad[i];
    gb_ledger *l = &device_at(r, i)->ledger;
    if (!a->begun) continue;
    gb_ledger_free(l, &a->own);
    a->measured = l->peak - a->start;
    if (l->peak < a->peak) l->peak = a->peak;
    a->begun = false;
  }
}

/* What the source's steps have begun is complete before it is read. */
gb_status gb_run_move (gb_run *r, const gb_step *st, const gb_opaque *o, const void *from, void *to,
                       gb_error *err) {
  const gb_buf *input = &r->plan->prog->low->buf[st->in[0]];
  gb_device *source = device_at(r, input->device), *target = device_at(r, st->device);
  const size_t bytes = gb_shape_bytes(&o->out_shape[0], o->out_dtype[0]);
  GB_TRY(gb_device_wait(source, err));
  r->stats.moved += o->grown ? gb_appendable_copy_bytes(o->in_shape[0].dim[0], o->in_dtype[0]) : bytes;
  if (o->grown)
    return gb_appendable_copy(&target->memory, to, &source->memory, from, o->in_shape[0].dim[0],
                              o->in_dtype[0], err);
  const ptrdiff_t first = st->added ? (ptrdiff_t)o->attr.i[1] * (ptrdiff_t)gb_dtype_size(o->in_dtype[0]) : 0;
  return gb_memory_across(&target->memory, to, &source->memory, (const char *)from + first, bytes, err);
}
