/* png.h - a PNG row by row. */
#ifndef GB_PLOT_PICTURE_PNG_H
#define GB_PLOT_PICTURE_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* Takes all bytes; false: it cannot. */
typedef bool gb_png_take (void *ud, const void *bytes, size_t n);

typedef struct gb_png {
  gb_png_take *take;
  void *ud;
  size_t width, channels;
  z_stream z;
  unsigned char *row,
      *above;           /* (1 + channels * width): the filter of the row, and its bytes; the row before */
  unsigned char *chunk; /* compressed bytes that are not written yet */
} gb_png;

/* Pixels are 0xrrggbb, or 0xaarrggbb with colours times alpha. 'made' becomes a text of the file; "": none.
** False: no memory, or 'take' could not; the picture is closed then, as after every false of these functions. */
bool gb_png_open (gb_png *p, size_t width, size_t height, bool alpha, const char *made, gb_png_take *take,
                  void *ud);
bool gb_png_row (gb_png *p, const uint32_t *pixels); /* the next row from the top */
bool gb_png_finish (gb_png *p);                      /* after the last row */
void gb_png_close (gb_png *p);                       /* idempotent */

#endif
