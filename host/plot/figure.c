/* figure.c - ownership of panels and marks, and the styles that follow from their order. */
#include "plot/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "plot/palette.h"
#include "plot/utf8.h"

static void mark_clear (gb_mark *m) {
  free(m->x);
  free(m->y);
  free(m->hi);
  free(m->label);
}

static void ticks_clear (gb_axis *a) {
  for (size_t i = 0; i < a->nticks; i++) free(a->tick_name[i]);
  free(a->tick_name);
  free(a->tick_at);
  a->nticks = 0;
}

static void axis_clear (gb_axis *a) {
  ticks_clear(a);
  free(a->label);
}

static void panel_clear (gb_panel *p) {
  for (size_t i = 0; i < p->nmarks; i++) mark_clear(&p->marks[i]);
  free(p->marks);
  free(p->title);
  axis_clear(&p->x);
  axis_clear(&p->y);
}

void gb_figure_clear (gb_figure *f) {
  for (size_t i = 0; f->panels != NULL && i < f->rows * f->columns; i++) panel_clear(&f->panels[i]);
  free(f->panels);
  free(f->title);
  *f = (gb_figure){0};
}

gb_status gb_figure_init (gb_figure *f, size_t rows, size_t columns, gb_error *err) {
  *f = (gb_figure){.rows = rows, .columns = columns, .panels = calloc(rows * columns, sizeof *f->panels)};
  if (f->panels == NULL) return gb_fail(err, GB_ENOMEM, "no memory for %zu panels", rows * columns);
  for (size_t i = 0; i < rows * columns; i++) {
    gb_panel *p = &f->panels[i];
    p->x.lo = p->x.hi = p->y.lo = p->y.hi = NAN;
  }
  return GB_OK;
}

gb_status gb_figure_set_text (char **slot, const char *text, gb_error *err) {
  char *copy = gb_utf8_copy(text);
  if (copy == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a label");
  free(*slot);
  *slot = copy;
  return GB_OK;
}

static bool copy_values (double **to, const double *from, size_t n) {
  *to = NULL;
  if (from == NULL) return true;
  *to = malloc((n + 1) * sizeof **to);
  if (*to == NULL) return false;
  memcpy(*to, from, n * sizeof **to);
  return true;
}

gb_status gb_panel_add (gb_panel *p, const gb_mark *like, gb_error *err) {
  if (!gb_grow(&p->marks, p->nmarks, &p->room, sizeof *p->marks))
    return gb_fail(err, GB_ENOMEM, "no memory for a mark");
  const bool grid = like->kind == GB_MARK_HEATMAP;
  gb_mark m = *like;
  m.x = m.y = m.hi = NULL;
  m.label = gb_utf8_copy(like->label);
  if (m.label == NULL || !copy_values(&m.x, like->x, grid ? 2 : m.n) ||
      !copy_values(&m.y, like->y, grid ? 2 : m.n) ||
      !copy_values(&m.hi, like->hi, grid ? m.n * m.rows : m.n)) {
    mark_clear(&m);
    return gb_fail(err, GB_ENOMEM, "no memory for a mark of %zu points", m.n);
  }
  p->marks[p->nmarks++] = m;
  return GB_OK;
}

gb_status gb_axis_set_ticks (gb_axis *a, size_t n, const double *at, const char *const *names,
                             gb_error *err) {
  ticks_clear(a);
  a->tick_at = malloc((n + 1) * sizeof *a->tick_at);
  a->tick_name = malloc((n + 1) * sizeof *a->tick_name);
  if (a->tick_at == NULL || a->tick_name == NULL)
    return gb_fail(err, GB_ENOMEM, "no memory for %zu ticks", n);
  for (; a->nticks < n; a->nticks++) {
    a->tick_at[a->nticks] = at[a->nticks];
    a->tick_name[a->nticks] = gb_utf8_copy(names[a->nticks]);
    if (a->tick_name[a->nticks] == NULL) return gb_fail(err, GB_ENOMEM, "no memory for %zu ticks", n);
  }
  return GB_OK;
}

/* -- styles by order */

bool gb_mark_is_area (const gb_mark *m) { return m->kind == GB_MARK_BAND || m->kind == GB_MARK_ERRORS; }

/* Marks that take the next colour of the palette. */
static bool takes_colour (const gb_mark *m) {
  const bool plain = m->kind == GB_MARK_HEATMAP || m->kind == GB_MARK_TEXT || m->kind == GB_MARK_HLINE ||
                     m->kind == GB_MARK_VLINE;
  return m->style.colour < 0 && !plain && !gb_mark_is_area(m);
}

static size_t order_of (const gb_panel *p, size_t i) {
  size_t next = 0;
  for (size_t k = 0; k < i; k++) next += takes_colour(&p->marks[k]);
  return next;
}

int gb_mark_colour (const gb_panel *p, size_t i) {
  const gb_mark *m = &p->marks[i];
  if (m->style.colour >= 0) return m->style.colour;
  if (m->kind == GB_MARK_TEXT) return GB_COLOUR_RGB | 0x262626;
  if (m->kind == GB_MARK_HLINE || m->kind == GB_MARK_VLINE) return GB_COLOUR_RGB | 0x595959;
  return (int)(order_of(p, i) % GB_NPALETTE);
}

/* Once the palette is used up, lines differ by their dashes too. */
gb_dash gb_mark_dash (const gb_panel *p, size_t i) {
  const gb_mark *m = &p->marks[i];
  if (m->style.dash >= 0) return (gb_dash)m->style.dash;
  if (m->kind == GB_MARK_HLINE || m->kind == GB_MARK_VLINE) return GB_DASH_DASHED;
  return takes_colour(m) ? (gb_dash)(order_of(p, i) / GB_NPALETTE % GB_NDASHES) : GB_DASH_SOLID;
}

size_t gb_mark_nesting (const gb_panel *p, size_t i) {
  size_t before = 0;
  for (size_t k = 0; k < i; k++)
    before += p->marks[k].kind == GB_MARK_BAND && gb_mark_colour(p, k) == gb_mark_colour(p, i);
  return before;
}

double gb_mark_alpha (const gb_panel *p, size_t i) {
  const gb_mark *m = &p->marks[i];
  if (m->style.alpha > 0) return m->style.alpha;
  if (m->kind == GB_MARK_BAND) return fmin(0.18 + 0.12 * (double)gb_mark_nesting(p, i), 0.6);
  return m->kind == GB_MARK_SCATTER ? 0.85 : 1;
}

bool gb_mark_levels (const gb_mark *m, double *low, double *high) {
  double lo = INFINITY, hi = -INFINITY;
  for (size_t i = 0; i < m->n * m->rows; i++)
    if (isfinite(m->hi[i])) lo = fmin(lo, m->hi[i]), hi = fmax(hi, m->hi[i]);
  const bool any = lo <= hi;
  *low = isnan(m->low) ? lo : m->low;
  *high = isnan(m->high) ? hi : m->high;
  return any;
}
