/* ticks.h - round places along an axis, with labels that fit and have the digits they need. */
#ifndef GB_PLOT_TICKS_H
#define GB_PLOT_TICKS_H

#include "plot/scale.h"

typedef struct gb_tick {
  double at;
  const char *name; /* of a named tick, the axis's; NULL: 'text' */
  char text[28];
} gb_tick;

enum { GB_MOST_TICKS = 64, GB_MOST_MINOR = 96 };

typedef struct gb_ticks {
  size_t n, nminor;
  gb_tick tick[GB_MOST_TICKS];
  double minor[GB_MOST_MINOR]; /* without labels */
  char note
      [64]; /* value = label x note's power + note's offset: "\u00d710\u2076 + 1000000"; "": labels are the values */
} gb_ticks;

/* How labels are measured along the axis, in the renderer's unit. */
typedef struct gb_ruler {
  double length;        /* of the axis */
  double gap;           /* least distance between two labels */
  double before, after; /* how far the outer labels may reach beyond the axis */
  size_t most;          /* ticks at most */
  bool ascii;           /* powers as 1e6 */
  double (*extent)(void *ud, const char *text);
  void *ud;
} gb_ruler;

/* As many round ticks as fit: no two labels touch, and each is centred at its place. An axis too short for
** one has none. */
void gb_ticks_fit (const gb_axis *a, const gb_scale *s, const gb_ruler *r, gb_ticks *out);
const char *gb_tick_label (const gb_tick *t);

#endif
