/* values.h - values of nodes as panels or as numbers of the host, and leaves made of either. */
#ifndef GB_ITERATE_VALUES_H
#define GB_ITERATE_VALUES_H

#include "device/panel.h"
#include "graph/build.h"

/* The first 'n' values of a contiguous tensor of f64 or f32, as doubles of the host: for the few numbers
** that a loop needs (noises, shifts). Errors: EDEVICE. */
gb_status gb_read_doubles (gb_device *dev, const gb_tensor *t, double *out, size_t n, gb_error *err);

/* The values of a node, row-major, into the numel doubles at 'to', an address of the device, or into 'out' on
** the host. Evaluates it. Errors: those of evaluating, ENOMEM, EINTR. */
gb_status gb_node_entries (gb_node *n, void *to, gb_error *err);
gb_status gb_node_doubles (gb_node *n, double *out, gb_error *err);

/* A leaf of dtype t, f64 or f32, and shape s with the numel doubles at 'from', an address of the device. */
gb_status gb_leaf_entries (gb_graph *g, const gb_shape *s, gb_dtype t, void *from, const char *name,
                           gb_node **out, gb_error *err);
/* The same of numbers of the host, in any dtype. */
gb_status gb_leaf_doubles (gb_graph *g, const gb_shape *s, gb_dtype t, const double *values, const char *name,
                           gb_node **out, gb_error *err);

#endif
