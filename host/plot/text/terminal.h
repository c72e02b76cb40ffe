/* terminal.h - figures as text. */
#ifndef GB_PLOT_TEXT_TERMINAL_H
#define GB_PLOT_TEXT_TERMINAL_H

#include "plot/figure.h"

enum { GB_LEAST_COLUMNS = 20, GB_LEAST_ROWS = 8 }; /* of a figure as text */

/* columns x rows cells, no fewer than these: braille dots with axes. Panels narrower than 16 columns stand below each other; each has
** five rows at least, if need be beyond 'rows'. colour: ANSI colours; ascii: no character beyond ASCII.
** malloc'ed; NULL: no memory. */
char *gb_figure_text (const gb_figure *f, int columns, int rows, bool colour, bool ascii);

#endif
