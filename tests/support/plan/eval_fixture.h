/* eval_fixture.h - graphs on the CPU device: the names of graph_fixture.h, with values. Also random inputs
** that a test can reproduce with one element changed. */
#ifndef GB_TESTS_EVAL_FIXTURE_H
#define GB_TESTS_EVAL_FIXTURE_H

#include <math.h>

#include "base/rng.h"
#include "plan/plan.h"
#include "support/graph/graph_fixture.h"
#include "support/graph/reference.h"

#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != GB_OK) fail_msg("%s: %s", #call, fx.err.text);                                             \
  } while (0)

extern gb_device *device;

void eval_begin (int threads, size_t limit);
void release_to (int mark);
void eval_end (void);

/* Random inputs: number k of a case is a function of (seed, k) and the range. */
typedef struct random_inputs {
  uint64_t seed;
  gb_dtype dtype;    /* of float inputs */
  unsigned flags;    /* of their leaves */
  int next;          /* number of the next input */
  int changed;       /* number of the input of which */
  size_t element;    /* this element */
  double by;         /* is moved by so much (NaN: becomes NaN); changed = -1: none */
  gb_node *leaf[16]; /* float inputs, in order of creation */
} random_inputs;

extern random_inputs inputs;

void inputs_begin (uint64_t seed, gb_dtype dtype, unsigned flags);
gb_node *input_of (int ndim, const size_t *dim, double lo, double hi);
gb_node *in0 (double lo, double hi);
gb_node *in1 (size_t n, double lo, double hi);
gb_node *in2 (size_t n, size_t m, double lo, double hi);
gb_node *in3 (size_t b, size_t n, size_t m, double lo, double hi);

/* Inputs that are not differentiated: integers in lo .. hi, booleans. */
gb_node *ints (int ndim, const size_t *dim, int64_t lo, int64_t hi);
gb_node *attr_node (gb_op op, int nin, gb_node *const *in, gb_attr attr);

/* The expected value of n's output, rounded to its type; malloc'ed. */
double *oracle_of (gb_node *n, int output);
double element (const gb_node *n, int output, size_t i);

#endif
