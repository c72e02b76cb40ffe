/* palette.c - colours that stay apart in the common forms of colour blindness. */
#include "plot/palette.h"

#include <math.h>

#include "plot/figure.h"

/* The first six: Okabe & Ito (2008), without black and yellow, which are ink and too light. */
static const gb_rgb palette[GB_NPALETTE] = {
    {0.00, 0.45, 0.70}, {0.84, 0.37, 0.00}, {0.00, 0.62, 0.45}, {0.80, 0.47, 0.65},
    {0.90, 0.62, 0.00}, {0.34, 0.71, 0.91}, {0.35, 0.35, 0.35}, {0.45, 0.25, 0.10},
};

gb_rgb gb_rgb_of (int colour) {
  if (colour < GB_COLOUR_RGB) return palette[colour % GB_NPALETTE];
  return (gb_rgb){(colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0, (colour & 255) / 255.0};
}

/* Straight pieces between eleven colours of viridis. Source: Smith & van der Walt (2015). */
gb_rgb gb_colour_map (double t) {
  static const gb_rgb at[] = {{0.267, 0.005, 0.329}, {0.283, 0.141, 0.458}, {0.254, 0.265, 0.530},
                              {0.207, 0.372, 0.553}, {0.164, 0.471, 0.558}, {0.128, 0.567, 0.551},
                              {0.135, 0.659, 0.518}, {0.267, 0.749, 0.441}, {0.478, 0.821, 0.318},
                              {0.741, 0.873, 0.150}, {0.993, 0.906, 0.144}};
  enum { PIECES = sizeof at / sizeof at[0] - 1 };
  const double s = fmin(fmax(t, 0), 1) * PIECES;
  const int i = s < PIECES ? (int)s : PIECES - 1;
  const double f = s - i;
  return (gb_rgb){at[i].r + f * (at[i + 1].r - at[i].r), at[i].g + f * (at[i + 1].g - at[i].g),
                  at[i].b + f * (at[i + 1].b - at[i].b)};
}
