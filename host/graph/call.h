/* call.h - ops implemented above the plan (iterative solves, custom functions): the registry behind CALL. */
#ifndef GB_GRAPH_CALL_H
#define GB_GRAPH_CALL_H

#include "graph/node.h"

typedef struct gb_call {
  const char *name;
  size_t (*scratch_bytes)(void *ud, const gb_opaque *o);
  /* Inputs are tensors the callee may count and wrap in leaves; outputs are bound contiguous buffers to fill. */
  gb_status (*run)(void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out, void *scratch, gb_error *err);
  /* A gradient rule as in grad.h; NULL = not differentiable. */
  gb_status (*grad)(void *ud, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar, gb_error *err);
  void *ud;
} gb_call;

#define GB_MAX_CALLS 64

int gb_call_register (const gb_call *c);       /* its number, for attr.i[0] of CALL; -1: table full */
const gb_call *gb_call_get (int number);       /* NULL: unknown */

#endif
