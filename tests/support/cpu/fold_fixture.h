/* fold_fixture.h - fold programs built by hand or at random, run on the executor and checked against
** fold_reference. */
#ifndef GB_FOLD_FIXTURE_H
#define GB_FOLD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/fold/fold.h"
#include "support/cpu/fold_reference.h"

#define MOST 96

/* A value and its exactness: a multiple of 2^-frac below 2^mag; mag = 99: inexact. */
typedef struct fx_value {
  int v, frac, mag;
} fx_value;

typedef struct fx {
  gb_fold f;
  gb_operand operand[MOST];
  gb_ins ins[MOST];
  gb_out out[MOST];
  bool exact[MOST]; /* outputs whose result is exact in any order */
  gb_number constant[MOST];
  void *in[MOST], *got[MOST], *want[MOST];
  size_t in_n[MOST], out_n[MOST];
  gb_dtype slot_dtype[MOST];
  int nslots; /* of outputs */
  uint64_t seed;
} fx;

uint64_t fx_next (fx *x);
int fx_below (fx *x, int n);
void fx_init (fx *x, gb_dtype compute, uint64_t seed);
void fx_free (fx *x);
gb_axes fx_bit (int a);
int fx_axis (fx *x, gb_role role, size_t extent);

/* An operand over 'axes' of multiples of 1/16 in (-1, 1), 0 or 1 for bool, small integers for i64. */
int fx_operand (fx *x, gb_dtype dtype, gb_axes axes, bool plain);
gb_ins *fx_ins (fx *x, gb_ins_kind kind);
int fx_dst (fx *x, gb_ins *i);
int fx_load (fx *x, int operand);
int fx_const (fx *x, double v);
int fx_bind (fx *x, double v);
int fx_map (fx *x, gb_op op, int a, int b, int c);
int fx_along (fx *x, gb_ins_kind kind, int a, int b, int w, int axis);
int fx_radial (fx *x, gb_profile p, int order, int dalpha, int s, int c, int alpha);
void fx_loop (fx *x, int axis);
void fx_end (fx *x);
int fx_acc (fx *x, gb_monoid m, int a);

/* Emits 'value' to a new output over all kept axes; 'loops' are the enclosing loops. */
gb_out *fx_emit (fx *x, int value, gb_out_kind kind, gb_monoid m, gb_axes reduced, gb_axes loops,
                 gb_dtype dtype, int axis, bool plain);

/* Changes the last output to KSMALLEST of k, with positions. */
void fx_select (fx *x, gb_out *o, int k);
void fx_blank (fx *x, void **buf);
void fx_expect (fx *x);

/* A kernel of the CPU, to be released; and a launch of it or of a part. */
gb_kernel *fx_compile (const fx *x, gb_device *dev);
gb_status fx_launch (const fx *x, gb_device *dev, const gb_kernel *k, const gb_fold *part, void **out,
                     const gb_carry *carry, void *scratch, gb_fold_stats *stats, gb_error *err);

/* Runs into 'got' with scratch of exactly the declared size, filled with 'poison'. */
gb_status fx_run (fx *x, gb_device *dev, int poison, gb_fold_stats *stats);
bool fx_same (const fx *x, void **a, void **b);

/* Results of chains and of the plain interpreter. */
bool fx_alike (const fx *x, void **a, void **b);
void fx_print (const fx *x);

/* Equal where exact; else within 'tol' of the number of terms and of the value. */
bool fx_close (fx *x, double tol);

#endif
