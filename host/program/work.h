/* work.h - how much a step has to do, whatever does it: the numerator of every rate that is reported. */
#ifndef GB_PROGRAM_WORK_H
#define GB_PROGRAM_WORK_H

#include "program/fold.h"
#include "program/library.h"

/* Floating point operations: an addition, a product, a quotient and an elementary function are one each, a fused
** multiply-add two. Bytes: of the operands and results, each once. In doubles, so that nothing overflows. */
typedef struct gb_work {
  double flops, bytes;
  gb_dtype compute;
} gb_work;

gb_work gb_fold_work (const gb_fold *f);
/* The textbook count of a factorisation, 0 flops of what only moves bytes; a registered op (CALL): its operands and
** results alone. */
gb_work gb_opaque_work (const gb_opaque *o);

#endif
