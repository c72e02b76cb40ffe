/* probe.h - small fold programs written to be timed. */
#ifndef GB_CPU_PRICE_PROBE_H
#define GB_CPU_PRICE_PROBE_H

#include "device/device.h"
#include "program/fold.h"
#include "program/library.h"

enum { GB_PROBE_LANE, GB_PROBE_TILE, GB_PROBE_INNER, GB_PROBE_MOST = 24 };

/* A fold over lanes x rows (rows 0: no TILE axis) with one inner axis, and where its operands and results
** lie. */
typedef struct gb_probe {
  gb_fold f;
  gb_operand operand[GB_PROBE_MOST];
  gb_ins ins[GB_PROBE_MOST];
  gb_out out[2];
  gb_axes deps[GB_PROBE_MOST]; /* of values */
  const void *in[GB_PROBE_MOST];
  void *to[2];
} gb_probe;

void gb_probe_begin (gb_probe *p, gb_dtype compute, size_t lanes, size_t rows, size_t inner);
/* An operand of the compute type with these strides. Returns its number. */
int gb_probe_operand (gb_probe *p, const void *at, ptrdiff_t lane, ptrdiff_t tile, ptrdiff_t inner);
/* Appends an instruction; dst and deps are filled in. Returns its value. */
int gb_probe_ins (gb_probe *p, gb_ins i);
int gb_probe_load (gb_probe *p, const void *at, ptrdiff_t lane, ptrdiff_t tile);
int gb_probe_map (gb_probe *p, gb_op op, int a, int b, int c);
int gb_probe_const (gb_probe *p, double v);
/* Hands 'value' to an output at 'to' that reduces 'reduced' and keeps the strides given for the other
** axes. */
void gb_probe_emit (gb_probe *p, int value, gb_out o, void *to);

/* Seconds of the fastest of some runs, on the threads of 'be': one thread by the processor time it took,
** so that a busy machine counts little, several by the clock. 'scratch': 'room' bytes. Errors: EINTR;
** ENOMEM. */
gb_status gb_probe_time (gb_device *dev, gb_probe *p, void *scratch, size_t room, double *seconds,
                         gb_error *err);
gb_status gb_probe_time_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                                void *scratch, size_t room, double *seconds, gb_error *err);

#endif
