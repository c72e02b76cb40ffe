/* call.h - ops implemented above the plan (iterative solves, custom functions): the registry behind CALL.
**
** An entry lives as long as its owner or a node of its number counts it; numbers are never used again. The
** registry is one for the process, and any thread may use it; an op is run by the thread of its graph. */
#ifndef GB_GRAPH_CALL_H
#define GB_GRAPH_CALL_H

#include "graph/node.h"

typedef struct gb_call {
  const char *name;
  /* NULL: its bytes are unknown, and every plan that contains it is refused. */
  size_t (*scratch_bytes)(void *ud, const gb_opaque *o);
  /* Bytes at the home of the graph's device: numbers of the host, and what plans within a run take there for
  ** steps that the device lacks. NULL: they are not known before it runs, and no plan counts them. */
  size_t (*home_bytes)(void *ud, const gb_opaque *o);
  /* Inputs are tensors the callee may count and wrap in leaves; outputs are bound contiguous buffers to fill.
  ** Evaluations inside must take their memory from 'scratch' (gb_ledger_lend); other plans may run during the
  ** call. */
  gb_status (*run)(void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                   void *scratch, gb_error *err);
  /* A gradient rule as in grad.h; NULL = not differentiable. */
  gb_status (*grad)(void *ud, gb_node *y, gb_node *const *out_bar, const bool *need, gb_node **in_bar,
                    gb_error *err);
  /* Under vmap: all inputs and the result 'shape' have the batch axis in front; adapts the attributes. NULL =
  ** slice by slice. */
  gb_status (*batch)(void *ud, int nin, gb_node *const *in, const gb_shape *shape, gb_attr *attr,
                     gb_error *err);
  void (*release)(void *ud); /* called when the last count of the entry goes; NULL = nothing to do */
  bool keeps;                /* its result is worth caching for later plans, like a factor */
  unsigned map_axes;         /* bit a: slices along axis a of all inputs and outputs are independent */
  /* Adapts the attributes when 'o' has smaller shapes, for fewer slices. NULL = they serve any number. */
  void (*resize)(void *ud, gb_opaque *o);
  void *ud;
} gb_call;

/* Returns its number, for attr.i[0] of CALL, counted once; -1: no memory. Registering the same function and
** data again returns the same entry. */
int gb_call_register (const gb_call *c);
const gb_call *gb_call_get (int number); /* NULL: unknown number; valid while it is counted */
void gb_call_ref (int number);
void gb_call_unref (int number);

#endif
