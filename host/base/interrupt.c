/* interrupt.c - the flag itself, and its count; how far work is, one record a kind. */
#include "base/interrupt.h"

atomic_bool gb_interrupt_flag;
atomic_uint gb_interrupt_count;

/* 'active' is written last: a handler sees whole records. */
static _Thread_local gb_stage stage[GB_NSTAGES];

void gb_stage_begin (gb_stage_kind kind, const char *what, const char *of, long most) {
  stage[kind] = (gb_stage){.what = what, .of = of, .most = most};
  atomic_signal_fence(memory_order_release);
  stage[kind].active = true;
}

void gb_stage_at (gb_stage_kind kind, long done, double value) {
  stage[kind].done = done;
  stage[kind].value = value;
}

void gb_stage_end (gb_stage_kind kind) { stage[kind].active = false; }

gb_stage gb_stage_look (gb_stage_kind kind) { return stage[kind]; }
