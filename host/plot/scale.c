/* scale.c - ranges of panels, linear and logarithmic. */
#include "plot/scale.h"

#include <float.h>
#include <math.h>

/* The half widths of a heat map's cells. */
static void half_cell (const gb_mark *m, double *hx, double *hy) {
  *hx = m->n > 1 ? (m->x[1] - m->x[0]) / (2.0 * (double)(m->n - 1)) : 0.5;
  *hy = m->rows > 1 ? (m->y[1] - m->y[0]) / (2.0 * (double)(m->rows - 1)) : 0.5;
}

static void widen (gb_scale *s, double v) {
  if (!isfinite(v) || (s->log && !(v > 0))) return;
  s->lo = fmin(s->lo, v);
  s->hi = fmax(s->hi, v);
}

static void widen_all (gb_scale *s, const double *v, size_t n) {
  for (size_t i = 0; v != NULL && i < n; i++) widen(s, v[i]);
}

static void widen_by_bars (gb_scale *along, gb_scale *across, const gb_mark *m, const double *lengths,
                           const double *at) {
  widen(along, 0);
  widen_all(along, lengths, m->n);
  for (size_t i = 0; i < m->n; i++) {
    widen(across, at[i] - m->extent / 2);
    widen(across, at[i] + m->extent / 2);
  }
}

static void widen_by_mark (gb_scale *x, gb_scale *y, const gb_mark *m) {
  double hx, hy;
  switch (m->kind) {
    case GB_MARK_HEATMAP:
      half_cell(m, &hx, &hy);
      widen(x, m->x[0] - hx), widen(x, m->x[0]), widen(x, m->x[1] + hx); /* edges may lie below a log axis */
      widen(y, m->y[0] - hy), widen(y, m->y[0]), widen(y, m->y[1] + hy);
      break;
    case GB_MARK_BARS: widen_by_bars(x, y, m, m->x, m->y); break;
    case GB_MARK_COLUMNS: widen_by_bars(y, x, m, m->y, m->x); break;
    case GB_MARK_HLINE: widen(y, m->y[0]); break;
    case GB_MARK_VLINE: widen(x, m->x[0]); break;
    default:
      widen_all(x, m->x, m->n);
      widen_all(y, m->y, m->n);
      widen_all(y, m->hi, m->n);
  }
}

/* An empty range is 0 to 1 (1 to 10); one that doubles cannot resolve is opened around its value. */
static void open (gb_scale *s) {
  if (!(s->lo <= s->hi)) s->lo = s->log ? 1 : 0, s->hi = s->log ? 10 : 1;
  if (s->log) {
    if (!(s->hi / s->lo > 1 + 1e-9)) s->lo /= 2, s->hi *= 2;
    return;
  }
  const double largest = fmax(fabs(s->lo), fabs(s->hi));
  if (s->hi - s->lo > fmax(1e-13 * largest, 1e-300)) return;
  const double half = largest < 1e-290 ? 1 : 0.05 * largest;
  s->lo -= half;
  s->hi += half;
}

/* Bars stand on the edge of the panel: an end at 0 stays there. */
static void pad (gb_scale *s, double margin, bool bars) {
  if (s->log) {
    const double factor = pow(10, margin * (log10(s->hi) - log10(s->lo)));
    s->lo = fmax(s->lo / factor, DBL_MIN);
    s->hi = fmin(s->hi * factor, DBL_MAX);
    return;
  }
  const double by = margin * s->hi - margin * s->lo; /* where hi - lo may overflow */
  if (!bars || s->lo != 0) s->lo = fmax(s->lo - by, -DBL_MAX);
  if (!bars || s->hi != 0) s->hi = fmin(s->hi + by, DBL_MAX);
}

/* Limits win over values; where only one is given, the other lies beyond it. */
static void limit (gb_scale *s, const gb_axis *a) {
  const bool low = !isnan(a->lo), high = !isnan(a->hi);
  if (low) s->lo = a->lo;
  if (high) s->hi = a->hi;
  if (s->lo < s->hi) return;
  const double span = fmax(fabs(low ? s->lo : s->hi), 1);
  if (low) s->hi = fmin(s->log ? 10 * s->lo : s->lo + span, DBL_MAX);
  else s->lo = s->log ? fmax(s->hi / 10, DBL_TRUE_MIN) : fmax(s->hi - span, -DBL_MAX);
}

static bool shares (const gb_figure *f, size_t a, size_t b, bool vertical) {
  if (a == b) return true;
  return vertical ? f->share_y && a / f->columns == b / f->columns
                  : f->share_x && a % f->columns == b % f->columns;
}

void gb_panel_scales (const gb_figure *f, size_t panel, gb_scale *x, gb_scale *y) {
  const gb_panel *own = &f->panels[panel];
  *x = (gb_scale){INFINITY, -INFINITY, own->x.log};
  *y = (gb_scale){INFINITY, -INFINITY, own->y.log};
  bool grid = false, columns = false, bars = false;
  for (size_t k = 0; k < f->rows * f->columns; k++) {
    const bool with_x = shares(f, panel, k, false), with_y = shares(f, panel, k, true);
    for (size_t i = 0; (with_x || with_y) && i < f->panels[k].nmarks; i++) {
      gb_scale unused = {.lo = INFINITY, .hi = -INFINITY}, unused_too = unused;
      const gb_mark *m = &f->panels[k].marks[i];
      widen_by_mark(with_x ? x : &unused, with_y ? y : &unused_too, m);
      grid = grid || m->kind == GB_MARK_HEATMAP;
      columns = columns || m->kind == GB_MARK_COLUMNS;
      bars = bars || m->kind == GB_MARK_BARS;
    }
  }
  open(x), open(y);
  pad(x, grid ? 0 : 0.02, bars), pad(y, grid ? 0 : 0.05, columns);
  limit(x, &own->x), limit(y, &own->y);
}

double gb_scale_at (const gb_scale *s, double v) {
  if (!s->log) return (v / 2 - s->lo / 2) / (s->hi / 2 - s->lo / 2); /* halves: no difference overflows */
  return v > 0 ? (log10(v) - log10(s->lo)) / (log10(s->hi) - log10(s->lo)) : NAN;
}

static size_t below (const gb_axis *a, const double *v, size_t n) {
  size_t count = 0;
  for (size_t i = 0; a->log && v != NULL && i < n; i++) count += isfinite(v[i]) && !(v[i] > 0);
  return count;
}

size_t gb_panel_hidden (const gb_panel *p) {
  size_t count = 0;
  for (size_t i = 0; i < p->nmarks; i++) {
    const gb_mark *m = &p->marks[i];
    const size_t n = m->kind == GB_MARK_HEATMAP ? 2 : m->n;
    count += below(&p->x, m->x, n) + below(&p->y, m->y, n);
    if (m->kind != GB_MARK_HEATMAP) count += below(&p->y, m->hi, n);
  }
  return count;
}

bool gb_panel_is_empty (const gb_panel *p) {
  for (size_t i = 0; i < p->nmarks; i++) {
    const gb_mark *m = &p->marks[i];
    if (m->kind == GB_MARK_HLINE || m->kind == GB_MARK_VLINE) return false;
    if (m->kind == GB_MARK_HEATMAP) {
      double low, high;
      if (gb_mark_levels(m, &low, &high)) return false;
      continue;
    }
    for (size_t k = 0; k < m->n; k++) {
      const bool x = isfinite(m->x[k]) && !(p->x.log && !(m->x[k] > 0));
      if (x && isfinite(m->y[k]) && !(p->y.log && !(m->y[k] > 0))) return false;
    }
  }
  return true;
}
