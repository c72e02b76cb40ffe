/* terminal.h - figures as text. */
#ifndef GB_PLOT_TEXT_TERMINAL_H
#define GB_PLOT_TEXT_TERMINAL_H

#include "plot/figure.h"

/* columns x rows cells, 20 x 8 at least: braille dots with axes. Panels narrower than 16 columns stand below each other; each has
** five rows at least, if need be beyond 'rows'. colour: ANSI colours; ascii: no character beyond ASCII.
** malloc'ed; NULL: no memory. */
char *gb_figure_text (const gb_figure *f, int columns, int rows, bool colour, bool ascii);

#endif
