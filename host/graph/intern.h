/* intern.h - one copy of every provenance string, kept as long as the graph; private to graph/. */
#ifndef GB_GRAPH_INTERN_H
#define GB_GRAPH_INTERN_H

typedef struct gb_interned gb_interned;

gb_interned *gb_interned_new (void);    /* NULL: no memory */
void gb_interned_free (gb_interned *t); /* NULL is fine */
/* "" if there is no memory for a new string. */
const char *gb_interned_get (gb_interned *t, const char *text);

#endif
