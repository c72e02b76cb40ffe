/* vmap_rules.h - batched forms of ops; private to graph/.
**
** 'in' are the inputs of 'n' with 'mapped' ones carrying the batch axis in front. A rule returns n's batched
** result, axis in front, or NULL without failure if the op has no batched form and must be done slice by
** slice. */
#ifndef GB_GRAPH_GRAD_VMAP_RULES_H
#define GB_GRAPH_GRAD_VMAP_RULES_H

#include "graph/formula.h"

typedef struct gb_batch {
  size_t size; /* extent of the batch axis */
  const gb_node *n;
  gb_node *const *in;
  const bool *mapped;
} gb_batch;

gb_node *gb_vmap_node (gb_formula *e, const gb_batch *b);

/* Random generators made inside the trace: the element index gains the batch axis; sequences get one stream
** per slice. */
gb_node *gb_vmap_random (gb_formula *e, const gb_node *n, size_t size);

/* 'size' copies in front. */
gb_node *gb_ex_repeat (gb_formula *e, gb_node *a, size_t size);
/* Nodes of one shape under a new first axis. */
gb_node *gb_ex_stack (gb_formula *e, size_t n, gb_node *const *each);

#endif
