/* dense_fixture.h - one opaque op on the CPU and on an emulated GPU, with the same inputs. */
#ifndef GB_TESTS_DENSE_FIXTURE_H
#define GB_TESTS_DENSE_FIXTURE_H

#include "cuda/support/gpu_fixture.h"
#include "support/cpu/opaque_fixture.h"

extern gb_device *far_gpu;
extern size_t far_room[3]; /* bytes that an input lies in; 0: what its shape says */

/* Runs the tests in several orders of threads and of work in the stream, each on GPU 0 opened for it; op_device
** is its home. The number of failed tests. */
int run_far_tests (const char *name, const struct CMUnitTest *tests, size_t count);
#define RUN_FAR_TESTS(name, tests) run_far_tests((name), (tests), sizeof(tests) / sizeof *(tests))

/* What both gave. Outputs of the CPU are those of the case. */
typedef struct far_run {
  gb_status near, far;
  gb_error near_error, far_error;
  void *out[GB_MAX_OUTPUTS];
} far_run;

/* Runs the op on both. On the GPU each output and the scratch lie between guards, and scratch is what the op
** declares: no less, and its last bytes are used. With 'place' >= 0 input 'place' is where output 0 goes. */
far_run run_both (op_case *c, int place);
/* Frees both, and the case. */
void end_both (op_case *c, far_run *r);
/* Both succeed. */
void assert_both_run (const op_case *c, const far_run *r);
/* Both succeed with the same bytes in all outputs. */
void assert_same_bytes (op_case *c, int place);
void assert_same_values (op_case *c, int place); /* 0 and -0 are the same */
/* Both fail with the same code, text and order of the minor. */
void assert_same_failure (op_case *c, gb_status st, const char *words);

/* Ops that ran on the GPU so far. */
extern bool ran_far[GB_NOPS];
/* Every row of the table of ops of this kind ran, or is refused with a reason. */
void assert_rows_are_covered (bool dense, const gb_op *home, int nhome);

/* Largest |x - y| of n entries; NaN wins. */
double distance (const void *x, const void *y, size_t n, gb_dtype t);
double *dyadic (size_t n, uint64_t seed);

#endif
