/* contour.c - marching squares. Source: Lorensen & Cline (1987), in two dimensions. */
#include "plot/contour.h"

#include <math.h>
#include <stdlib.h>

typedef struct grid {
  const double *v;
  size_t columns;
  double x0, dx, y0, dy, level;
} grid;

typedef struct point {
  double x, y;
} point;

/* Where edge e (0 bottom, 1 right, 2 top, 3 left) of the cell at (q, r) crosses the level. */
static point crossing (const grid *g, size_t q, size_t r, int e) {
  static const int corner[4][2][2] = {{{0, 0}, {1, 0}}, {{1, 0}, {1, 1}}, {{0, 1}, {1, 1}}, {{0, 0}, {0, 1}}};
  const size_t q0 = q + (size_t)corner[e][0][0], r0 = r + (size_t)corner[e][0][1],
               q1 = q + (size_t)corner[e][1][0], r1 = r + (size_t)corner[e][1][1];
  const double a = g->v[r0 * g->columns + q0], b = g->v[r1 * g->columns + q1], t = (g->level - a) / (b - a);
  return (point){g->x0 + g->dx * ((double)q0 + t * ((double)q1 - (double)q0)),
                 g->y0 + g->dy * ((double)r0 + t * ((double)r1 - (double)r0))};
}

static void add (gb_contour *out, point p) {
  out->x[out->n] = p.x;
  out->y[out->n++] = p.y;
}

/* Edges that are joined, by which corners are above: bit 0 left bottom, 1 right bottom, 2 right top, 3 left top.
** Where opposite corners are above, the mean of the four says which side is connected. */
static void march (const grid *g, size_t q, size_t r, gb_contour *out) {
  static const int joined[16][4] = {{-1, -1, -1, -1}, {3, 0, -1, -1}, {0, 1, -1, -1}, {3, 1, -1, -1},
                                    {1, 2, -1, -1},   {3, 2, 0, 1},   {0, 2, -1, -1}, {3, 2, -1, -1},
                                    {2, 3, -1, -1},   {0, 2, -1, -1}, {0, 3, 1, 2},   {1, 2, -1, -1},
                                    {1, 3, -1, -1},   {0, 1, -1, -1}, {0, 3, -1, -1}, {-1, -1, -1, -1}};
  const double *low = &g->v[r * g->columns + q], *high = low + g->columns;
  const double at[4] = {low[0], low[1], high[1], high[0]};
  int above = 0;
  for (int i = 0; i < 4; i++) {
    if (!isfinite(at[i])) return;
    above |= (at[i] > g->level) << i;
  }
  const bool saddle = above == 5 || above == 10, middle = (at[0] + at[1] + at[2] + at[3]) / 4 > g->level;
  const int *edges = joined[saddle && !middle ? 15 - above : above];
  for (int i = 0; i < 4 && edges[i] >= 0; i += 2) {
    add(out, crossing(g, q, r, edges[i]));
    add(out, crossing(g, q, r, edges[i + 1]));
    add(out, (point){NAN, NAN});
  }
}

gb_status gb_contour_make (const double *values, size_t rows, size_t columns, const double x[2],
                           const double y[2], double level, gb_contour *out, gb_error *err) {
  const size_t cells = rows > 0 && columns > 0 ? (rows - 1) * (columns - 1) : 0, most = 6 * cells + 1;
  *out = (gb_contour){malloc(most * sizeof *out->x), malloc(most * sizeof *out->y), 0};
  if (out->x == NULL || out->y == NULL) {
    gb_contour_clear(out);
    return gb_fail(err, GB_ENOMEM, "no memory for the contours of %zu cells", cells);
  }
  const grid g = {values, columns,
                  x[0],   columns > 1 ? (x[1] - x[0]) / (double)(columns - 1) : 1,
                  y[0],   rows > 1 ? (y[1] - y[0]) / (double)(rows - 1) : 1,
                  level};
  for (size_t r = 0; r + 1 < rows; r++)
    for (size_t q = 0; q + 1 < columns; q++) march(&g, q, r, out);
  return GB_OK;
}

void gb_contour_clear (gb_contour *c) {
  free(c->x);
  free(c->y);
  *c = (gb_contour){0};
}
