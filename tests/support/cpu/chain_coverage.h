/* chain_coverage.h - what the chains of a test were made of. */
#ifndef GB_TESTS_CHAIN_COVERAGE_H
#define GB_TESTS_CHAIN_COVERAGE_H

#include "support/cpu/fold_fixture.h"

/* The links of the chains that 'x' is planned to run, which are counted; 0 = none. */
int planned (fx *x);

/* Fails unless chains of every kind, in every form and of every small extent were planned so far. */
void assert_every_kind_of_step (void);

#endif
