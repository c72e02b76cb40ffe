/* graph_fixture.h - a graph without a device, for tests that only build expressions; the names are short on
** purpose. Nodes are owned by the fixture and released by fixture_end, which also checks that nothing
** leaked. */
#ifndef GB_TESTS_GRAPH_FIXTURE_H
#define GB_TESTS_GRAPH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/grad/grad.h"
#include "support/elements.h"

typedef struct fixture {
  gb_device device;
  gb_graph *g;
  gb_node **held;
  int n;
  gb_error err;
} fixture;

extern fixture fx;

void fixture_begin (void);
void fixture_end (void);
gb_node *hold (gb_status st, gb_node *n);

/* BUILD(gb_map1, GB_OP_EXP, x) calls gb_map1(GB_OP_EXP, x, &node, err) and holds the node. Does not nest. */
#define BUILD(call, ...)                                                                                     \
  ({                                                                                                         \
    gb_node *built_ = NULL;                                                                                  \
    gb_status st_ = call(__VA_ARGS__, &built_, &fx.err);                                                     \
    hold(st_, built_);                                                                                       \
  })

gb_node *num (double v);
gb_node *map1 (gb_op op, gb_node *a);
gb_node *map2 (gb_op op, gb_node *a, gb_node *b);
gb_node *add (gb_node *a, gb_node *b);
gb_node *sub (gb_node *a, gb_node *b);
gb_node *mul (gb_node *a, gb_node *b);
gb_node *dvd (gb_node *a, gb_node *b);
gb_node *square (gb_node *a);
gb_node *sum_axis (gb_node *a, int axis);
gb_node *sum_all (gb_node *a);
gb_node *unsq (gb_node *a, int axis);
gb_node *sq (gb_node *a, int axis);
gb_node *tr (gb_node *a);
gb_node *mm (gb_node *a, gb_node *b);
gb_node *dist (gb_node *x, gb_node *y, gb_node *w);
gb_node *eye (size_t n);

/* A new leaf. data NULL: filled with a fixed sequence in (lo, hi). */
gb_node *leaf_of (gb_dtype t, unsigned flags, int ndim, const size_t *dim, const double *data, double lo,
                  double hi);
gb_node *leaf0 (double v);
gb_node *leaf1 (size_t n);
gb_node *leaf2 (size_t n, size_t m);

/* Setup and teardown of a test that only builds expressions. */
int fixture_setup (void **state);
int fixture_teardown (void **state);
#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#define SHAPE(...)                                                                                           \
  gb_shape_of((int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (size_t[]){__VA_ARGS__})
void refuse (gb_status st, gb_status want, const char *text);
#define REFUSED(status, text, call, ...)                                                                     \
  do {                                                                                                       \
    gb_node *n_ = NULL;                                                                                      \
    refuse(call(__VA_ARGS__, &n_, &fx.err), status, text);                                                   \
  } while (0)
gb_node *data_leaf_of (int ndim, const size_t *dim, const double *v);
#define DATA(...)                                                                                            \
  data_leaf_of((int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (size_t[]){__VA_ARGS__}, NULL)

/* Below n, of a fixed sequence that starts at fixture_seed. */
extern uint32_t fixture_seed;
unsigned pick (unsigned n);

#endif
