/* plan_random.h - random graphs for tests of plans: the choices, the leaves, and the pool of operands.
**
** Every choice is a number of a tape, a table with one row for the frame of the graph (dtype, extents,
** outputs) and one for each leaf and step. So a graph can be rebuilt without some steps and with choices
** replaced by 0, the simplest one: plan_shrink.h. Values are always finite and small, so that factorisations
** exist. */
#ifndef GB_TESTS_PLAN_RANDOM_H
#define GB_TESTS_PLAN_RANDOM_H

#include "base/rng.h"
#include "support/plan/eval_fixture.h"

#define MOST_STEPS 200
#define MOST_LEAVES 4
#define MOST_OUTPUTS 12
#define WIDTH 32 /* choices of a step */

typedef struct tape {
  int nleaves, nsteps;
  uint32_t frame[WIDTH], leaf[MOST_LEAVES][WIDTH], step[MOST_STEPS][WIDTH];
} tape;

/* The graph under construction. */
typedef struct graph_of_tape {
  const uint32_t *row; /* choices in use */
  int column;
  gb_dtype dtype;                /* of floats */
  bool grad;                     /* some leaves are differentiated */
  size_t extent[3];              /* few, so that operands often match */
  gb_node *pool[4 * MOST_STEPS]; /* float values in (-40, 40) */
  gb_node *raw[4 * MOST_STEPS];  /* the same before taming: outputs are chosen from these */
  int n;
  gb_node *whole[MOST_STEPS], *truth[MOST_STEPS]; /* i64 and bool values */
  int nwhole, ntruth;
  gb_node *leaf[MOST_STEPS]; /* differentiable leaves */
  int nleaf, nasked, made;   /* differentiable leaves; leaves whose gradients are outputs; filled inputs */
  gb_node *loss;             /* the differentiated value; NULL: none */
  bool broken;               /* the gradient could not be built: fx.err says why */
} graph_of_tape;

extern graph_of_tape made;

/* choices */

void row_of (const uint32_t *row);

/* 0 .. below-1; past the end of the row always 0. */
size_t choice (size_t below);

/* The first choice of a step is its op: taken in turn, so that every op is used equally. Steps of 37 visit
** all ops. */
void tape_of (uint64_t seed, tape *t);

/* shapes and leaves */

size_t draw_extent (void);
size_t some_extent (void);
size_t least (size_t a, size_t b);
size_t numel (const gb_node *x);
int rank (const gb_node *x);
size_t dim (const gb_node *x, int axis);

/* Positions are never differentiated and lie in 1 .. top. */
gb_node *leaf_like (gb_dtype t, int ndim, const size_t *dims, size_t top);

/* Another leaf over the storage of leaf x, its axes reversed. */
gb_node *alias_of (const gb_node *x);
gb_node *vector_leaf (size_t n);
gb_node *matrix_leaf (size_t n, size_t m);
gb_node *positions (size_t n, size_t top);

/* the pool */

gb_node *number_node (double v);
gb_node *scaled (gb_node *x, double by);

/* Maps into (lo, hi). */
gb_node *within (gb_node *x, double lo, double hi);
void keep (gb_node *y, bool grows);

/* The latest value, or any. */
gb_node *any_float (void);

/* A float value of 'ndim' axes, at least 'elements' of them in each and at most 'most'; a new leaf if the
** search finds none. */
gb_node *float_of (int ndim, size_t smallest, size_t most);
gb_node *matrix (size_t smallest, size_t most);

/* A matrix with n rows or columns, by 'axis'. */
gb_node *matrix_with (int axis, size_t extent, size_t most);

/* A value that broadcasts with x to at most 'LARGE' elements, else a number. */
#define LARGE 40000
gb_node *partner_of (const gb_node *x, gb_node *const *pool, int n, gb_node *otherwise);
gb_node *partner (const gb_node *x);
gb_node *any_truth (void);
gb_node *any_whole (void);

#endif
