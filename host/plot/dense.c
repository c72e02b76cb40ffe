/* dense.c - thinning by columns, and a rasteriser whose time is proportional to the covered pixels. */
#include "plot/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"

enum { KEPT = 6 }; /* points of a column at most: first, last, lowest and highest of two edges */

static bool good (const gb_mark *s, const gb_scale *x, size_t i) {
  return isfinite(gb_scale_at(x, s->x[i])) && isfinite(s->y[i]) && (s->hi == NULL || isfinite(s->hi[i]));
}

static void keep (const gb_mark *s, size_t i, gb_mark *out) {
  out->x[out->n] = s->x[i];
  out->y[out->n] = s->y[i];
  if (s->hi != NULL) out->hi[out->n] = s->hi[i];
  out->n++;
}

static void extremes (const double *v, size_t from, size_t to, size_t *low, size_t *high) {
  *low = *high = from;
  for (size_t i = from + 1; i < to; i++) {
    if (v[i] < v[*low]) *low = i;
    if (v[i] > v[*high]) *high = i;
  }
}

static int by_position (const void *a, const void *b) {
  const size_t i = *(const size_t *)a, j = *(const size_t *)b;
  return (i > j) - (i < j);
}

/* The points [from, to) lie in one column. */
static void keep_column (const gb_mark *s, size_t from, size_t to, gb_mark *out) {
  size_t at[KEPT] = {from, to - 1}, n = 2;
  if (to - from <= KEPT - 2) {
    for (size_t i = from; i < to; i++) keep(s, i, out);
    return;
  }
  extremes(s->y, from, to, &at[n], &at[n + 1]);
  n += 2;
  if (s->hi != NULL) {
    extremes(s->hi, from, to, &at[n], &at[n + 1]);
    n += 2;
  }
  qsort(at, n, sizeof *at, by_position);
  for (size_t k = 0; k < n; k++)
    if (k == 0 || at[k] != at[k - 1]) keep(s, at[k], out);
}

static double column_of (double x, const gb_scale *r, size_t columns) {
  return floor(gb_scale_at(r, x) * (double)columns);
}

bool gb_mark_thin (const gb_mark *s, const gb_scale *x, size_t columns, gb_mark *out) {
  *out = *s;
  out->n = 0;
  out->x = malloc((s->n + 1) * sizeof *out->x);
  out->y = malloc((s->n + 1) * sizeof *out->y);
  out->hi = s->hi == NULL ? NULL : malloc((s->n + 1) * sizeof *out->hi);
  if (out->x == NULL || out->y == NULL || (s->hi != NULL && out->hi == NULL)) {
    gb_mark_drop(out);
    return false;
  }
  for (size_t from = 0, to; from < s->n && !gb_interrupted(); from = to) {
    to = from + 1;
    if (good(s, x, from)) {
      const double column = column_of(s->x[from], x, columns);
      while (to < s->n && good(s, x, to) && column_of(s->x[to], x, columns) == column) to++;
      keep_column(s, from, to, out);
    } else {
      while (to < s->n && !good(s, x, to)) to++;
      keep(s, from, out);
    }
  }
  return true;
}

void gb_mark_drop (gb_mark *thinned) {
  free(thinned->x);
  free(thinned->y);
  free(thinned->hi);
  *thinned = (gb_mark){0};
}

/* -- pixels */

/* The pixels whose centres lie in [lo, hi), of 'n'. */
static inline size_t first_pixel (double lo, size_t n) {
  const double at = lo + 0.5;
  return !(at > 0) ? 0 : at < (double)n ? (size_t)at : n;
}

static inline void cover_row (gb_mask *m, size_t row, double lo, double hi) {
  const size_t from = first_pixel(lo, m->width), to = first_pixel(hi, m->width);
  unsigned char *at = m->at + row * m->stride;
  if (m->ink == 255 && from < to) memset(at + from, 255, to - from);
  for (size_t i = from; m->ink < 255 && i < to; i++)
    at[i] = (unsigned char)(at[i] + ((255 - at[i]) * m->ink + 254) / 255);
}

void gb_mask_dot (gb_mask *m, double x, double y, double radius) {
  const size_t end = first_pixel(y + radius, m->height);
  for (size_t row = first_pixel(y - radius, m->height); row < end; row++) {
    const double up = (double)row + 0.5 - y, half = sqrt(fmax(radius * radius - up * up, 0));
    cover_row(m, row, x - half, x + half);
  }
}

/* The x with |slope * x + offset| <= half: from middle * offset - reach to middle * offset + reach. */
typedef struct strip {
  double middle, reach;
} strip;

static strip strip_of (double slope, double half) {
  const double flat = 1e-12; /* parallel to x: the strip holds all of a row or nothing */
  const double s = fabs(slope) < flat ? flat : slope;
  return (strip){-1 / s, half / fabs(s)};
}

/* A row of the rectangle is the intersection of two strips: one along the segment, one across it. */
void gb_mask_segment (gb_mask *m, double x0, double y0, double x1, double y1, double width) {
  const double dx = x1 - x0, dy = y1 - y0, length = hypot(dx, dy), x = (x0 + x1) / 2, y = (y0 + y1) / 2;
  if (!(length > 0)) return;
  const double ux = dx / length, uy = dy / length, up = (fabs(dy) + width) / 2;
  const strip along = strip_of(uy, width / 2), across = strip_of(ux, length / 2);
  const size_t end = first_pixel(y + up, m->height);
  for (size_t row = first_pixel(y - up, m->height); row < end; row++) {
    const double above = (double)row + 0.5 - y, a = -above * ux * along.middle,
                 b = above * uy * across.middle;
    const double lo = a - along.reach > b - across.reach ? a - along.reach : b - across.reach;
    const double hi = a + along.reach < b + across.reach ? a + along.reach : b + across.reach;
    cover_row(m, row, x + lo, x + hi);
  }
}
