/* active.h - the columns that still iterate. They lie side by side at the front of a loop's own panels, and
** A is multiplied with r, r / 2, r / 4, ... columns, so a column that has left costs nothing. */
#ifndef GB_SOLVE_FRAME_ACTIVE_H
#define GB_SOLVE_FRAME_ACTIVE_H

#include "iterate/product.h"

typedef enum gb_column_state {
  GB_COLUMN_ACTIVE,
  GB_COLUMN_CONVERGED,
  GB_COLUMN_INDEFINITE,
  GB_COLUMN_BROKEN, /* not finite */
  GB_COLUMN_STAGNATED
} gb_column_state;

typedef struct gb_active {
  size_t n, r;
  size_t live, width;   /* listed columns; columns of the loop's panels, zeros behind the listed ones */
  size_t *column;       /* (r): the first 'live' are the listed columns, ascending */
  size_t *stay;         /* (r): work of gb_active_drop */
  unsigned char *state; /* (r): gb_column_state */
} gb_active;

/* All columns active, none listed, in arrays of the caller: lists (2 r), state (r). */
gb_active gb_active_bind (size_t n, size_t r, size_t *lists, unsigned char *state);

/* The width at which A is multiplied with 'live' of r columns: r, halved as often as they fit. */
size_t gb_active_width (size_t r, size_t live);

/* Lists the columns whose state is one of a set of bits. */
void gb_active_list (gb_active *a, unsigned states);

/* Columns that are not active leave the list; the entries of the others move together in panels (n, width)
** and in arrays (live). */
void gb_active_drop (gb_active *a, int npanels, const gb_panel *panel, int narrays, double *const *array);

/* The listed columns of a loop's panel, the whole of it, and those of a panel (n, r) of all columns. */
gb_panel gb_active_own (const gb_active *a, gb_panel v);
gb_panel gb_active_own_wide (const gb_active *a, gb_panel v);
gb_panel gb_active_of_all (const gb_active *a, gb_panel v);

/* y = A x, both of them panels of the loop. Errors: as gb_product_resize and gb_product_run. */
gb_status gb_active_multiply (const gb_active *a, gb_product *by, gb_panel x, gb_panel y, gb_error *err);

#endif
