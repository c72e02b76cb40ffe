/* embed.h - what the files behind include/gibbous.h share. */
#ifndef GB_EMBED_EMBED_H
#define GB_EMBED_EMBED_H

#include "graph/grad/grad.h"
#include "plan/plan.h"
#include "tensor/host.h"

#define GIBBOUS_OWN_TYPES
#include "include/gibbous.h"

/* GB_EOPTION with the name of the function where an input is NULL or belongs to another graph than the first
** one, or where there is no place for the result. '*out' is NULL afterwards. */
gb_status gb_embed_check (const char *what, int n, gb_node *const *in, gb_node **out, gb_error *err);
gb_status gb_embed_check_inputs (const char *what, int n, gb_node *const *in, gb_error *err);

/* A copy of the caller's shape whose unused extents are 0. Errors: EOPTION, ESHAPE. */
gb_status gb_embed_shape (const char *what, const gb_shape *given, gb_shape *out, gb_error *err);

/* Of a session: its own device, the host beside it, the graph of its nodes. */
gb_device *gb_embed_device (const gb_session *s);
gb_device *gb_embed_home (const gb_session *s);
gb_graph *gb_embed_graph (const gb_session *s);
gb_status gb_embed_check_session (const char *what, const gb_session *s, const void *out, gb_error *err);

#endif
