/* isa_harness.h - helpers of the kernel table tests: run a test for every table of every instruction set of
** this machine, typed access to buffers, reproducible numbers, errors in units of the last place. */
#ifndef GB_TESTS_ISA_HARNESS_H
#define GB_TESTS_ISA_HARNESS_H

#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cpu/isa/isa.h"

/* One floating-point table. */
typedef struct table {
  const gb_isa *isa;
  const gb_isa_kernels *k;
  bool single;  /* float, else double */
  bool fused;   /* multiply-adds round once */
  size_t width; /* bytes an element */
} table;

void each_table (void (*test)(const table *t));

#define EACH_TABLE(name)                                                                                     \
  static void name(void **state) {                                                                           \
    (void)state;                                                                                             \
    each_table(name##_in);                                                                                   \
  }

double get (const table *t, const void *p, size_t i);
void put (const table *t, void *p, size_t i, double v);

/* a b + c with the rounding of the table's instruction set. */
double muladd (const table *t, double a, double b, double c);

/* a - b rounded to the table's type. */
double minus (const table *t, double a, double b);

/* Uniform in [lo, hi]; the same sequence in every run. */
double uniform (double lo, double hi);
void *room (const table *t, size_t n);
void *random_values (const table *t, size_t n, double lo, double hi);
void *zeros (const table *t, size_t n);

/* Fails unless the error is within 'most', NaN included. */
void check_ulps (const table *t, double got, long double want, double most, const char *what, double at);
void check_same (const table *t, const void *a, const void *b, size_t n, const char *what);

#endif
