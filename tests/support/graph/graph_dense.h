/* graph_dense.h - the value of an expression by plain loops: every node dense, in double. The oracle for
** tests that build expressions without a device. Opaque ops other than CAST and CAT are not evaluated. */
#ifndef GB_TESTS_GRAPH_DENSE_H
#define GB_TESTS_GRAPH_DENSE_H

#include "graph/node.h"

/* Values in row-major order, malloc'ed. */
double *dense (gb_node *n);

#endif
