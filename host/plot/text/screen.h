/* screen.h - cells of text with colours: characters, braille dots and shades. */
#ifndef GB_PLOT_TEXT_SCREEN_H
#define GB_PLOT_TEXT_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gb_cell {
  uint32_t character;  /* 0: none; GB_CELL_TAKEN: the wide one before it reaches here */
  uint32_t combined;   /* a mark on the character; 0: none */
  unsigned char dots;  /* braille bits, where there is no character */
  unsigned char shade; /* 0 to 4, where there are neither */
  int colour;          /* of a style; -1 none */
} gb_cell;

#define GB_CELL_TAKEN UINT32_MAX

typedef struct gb_screen {
  int w, h;
  gb_cell *at; /* (h, w) */
} gb_screen;

bool gb_screen_open (gb_screen *s, int w, int h); /* false: no memory */
void gb_screen_close (gb_screen *s);

/* What lies outside is left out. */
gb_cell *gb_screen_cell (const gb_screen *s, int column, int row); /* NULL outside */
void gb_screen_put (gb_screen *s, int column, int row, const char *text, int colour);
/* At most 'most' columns; the last is an ellipsis where there are more. */
void gb_screen_clip (gb_screen *s, int column, int row, const char *text, int most);
int gb_text_columns (const char *text); /* of UTF-8; wide characters take two, those that combine none */

/* malloc'ed lines without blanks at their ends; NULL: no memory. ascii: every drawn character is ASCII, and text
** that is not has question marks. */
char *gb_screen_text (const gb_screen *s, bool colour, bool ascii);

#endif
