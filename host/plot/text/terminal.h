/* terminal.h - figures as text. */
#ifndef GB_PLOT_TEXT_TERMINAL_H
#define GB_PLOT_TEXT_TERMINAL_H

#include "plot/figure.h"

/* At most columns x rows cells: braille dots with axes; colour: ANSI colours; ascii: no character beyond ASCII.
** malloc'ed; NULL: no memory. */
char *gb_figure_text (const gb_figure *f, int columns, int rows, bool colour, bool ascii);

#endif
