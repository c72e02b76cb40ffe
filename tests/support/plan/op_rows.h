/* op_rows.h - one row for each op of ops.def: how to build small cases, and which checks apply. A builder
** makes case number 'v' from inputs (eval_fixture.h); it must use the op itself. */
#ifndef GB_TESTS_OP_ROWS_H
#define GB_TESTS_OP_ROWS_H

#include "support/plan/eval_fixture.h"

enum {
  GRAD = 1,     /* differentiable: compared with finite differences in its small cases */
  NANS = 2,     /* NaN in input 0 gives NaN */
  CHECKED = 4,  /* compared with the oracle; the others have separate tests in test_ops.c */
  REWRITTEN = 8 /* canonicalisation or lowering may replace the op: it need not be in the graph */
};

typedef struct row {
  const char *id;
  gb_node *(*build)(int v);
  int cases; /* case numbers 0 .. cases-1 */
  unsigned traits;
  double slack; /* factor on the tolerance; 0 = 1 */
} row;

/* Every op of ops.def has one. */
extern const row rows[];
extern const size_t nrows;

#endif
