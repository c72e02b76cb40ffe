/* figure.c - ownership of the series, their ranges and ticks. */
#include "plot/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static void series_clear (gb_series *s) {
  free(s->x);
  free(s->y);
  free(s->hi);
  free(s->label);
}

void gb_figure_clear (gb_figure *f) {
  for (size_t i = 0; i < f->nseries; i++) series_clear(&f->series[i]);
  free(f->series);
  for (size_t i = 0; i < f->nticks; i++) free(f->tick_name[i]);
  free(f->tick_name);
  free(f->tick_at);
  free(f->title);
  free(f->xlabel);
  free(f->ylabel);
  *f = (gb_figure){0};
}

gb_status gb_figure_set_text (char **slot, const char *text, gb_error *err) {
  char *copy = strdup(text == NULL ? "" : text);
  if (copy == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a label");
  free(*slot);
  *slot = copy;
  return GB_OK;
}

static bool copy_values (double **to, const double *from, size_t n) {
  if (from == NULL) return true;
  *to = malloc((n + 1) * sizeof **to);
  if (*to == NULL) return false;
  memcpy(*to, from, n * sizeof **to);
  return true;
}

gb_status gb_figure_add (gb_figure *f, gb_series_kind kind, size_t n, size_t rows, const double *x,
                         const double *y, const double *hi, const char *label, int colour, gb_error *err) {
  if (!gb_grow(&f->series, f->nseries, &f->room, sizeof *f->series))
    return gb_fail(err, GB_ENOMEM, "no memory for a series");
  const bool grid = kind == GB_SERIES_HEATMAP;
  gb_series s = {
      .kind = kind, .n = n, .rows = rows, .colour = colour, .label = strdup(label == NULL ? "" : label)};
  if (s.label == NULL || !copy_values(&s.x, x, grid ? 2 : n) || !copy_values(&s.y, y, grid ? 2 : n) ||
      !copy_values(&s.hi, hi, grid ? n * rows : n)) {
    series_clear(&s);
    return gb_fail(err, GB_ENOMEM, "no memory for a series of %zu points", n);
  }
  f->series[f->nseries++] = s;
  return GB_OK;
}

gb_status gb_figure_set_yticks (gb_figure *f, size_t n, const double *at, const char *const *names,
                                gb_error *err) {
  f->tick_at = malloc((n + 1) * sizeof *f->tick_at);
  f->tick_name = malloc((n + 1) * sizeof *f->tick_name);
  if (f->tick_at == NULL || f->tick_name == NULL)
    return gb_fail(err, GB_ENOMEM, "no memory for %zu ticks", n);
  for (; f->nticks < n; f->nticks++) {
    f->tick_at[f->nticks] = at[f->nticks];
    f->tick_name[f->nticks] = strdup(names[f->nticks]);
    if (f->tick_name[f->nticks] == NULL) return gb_fail(err, GB_ENOMEM, "no memory for %zu ticks", n);
  }
  return GB_OK;
}

static void widen (gb_range *s, const double *v, size_t n) {
  for (size_t i = 0; v != NULL && i < n; i++)
    if (isfinite(v[i])) {
      if (v[i] < s->lo) s->lo = v[i];
      if (v[i] > s->hi) s->hi = v[i];
    }
}

/* Bars begin at 0 and reach half a unit up and down. */
static void widen_by_bars (gb_range *x, gb_range *y, const gb_series *s) {
  widen(x, (double[]){0}, 1);
  for (size_t i = 0; i < s->n; i++) widen(y, (double[]){s->y[i] - 0.5, s->y[i] + 0.5}, 2);
}

/* A round step that gives 4 to 8 ticks; an empty or single-valued range is opened around its value. */
static void settle (gb_range *s, double margin) {
  if (!(s->lo <= s->hi)) s->lo = 0, s->hi = 1;
  if (s->lo == s->hi) {
    const double half = s->lo == 0 ? 1 : 0.05 * fabs(s->lo);
    s->lo -= half;
    s->hi += half;
  }
  const double pad = margin * (s->hi - s->lo);
  s->lo -= pad;
  s->hi += pad;
  const double raw = (s->hi - s->lo) / 6, power = pow(10, floor(log10(raw))), unit = raw / power;
  s->step = power * (unit < 1.5 ? 1 : unit < 2.25 ? 2 : unit < 3.5 ? 2.5 : unit < 7.5 ? 5 : 10);
}

void gb_figure_ranges (const gb_figure *f, gb_range *x, gb_range *y) {
  *x = *y = (gb_range){.lo = INFINITY, .hi = -INFINITY};
  bool grid = false;
  for (size_t i = 0; i < f->nseries; i++) {
    const gb_series *s = &f->series[i];
    if (s->kind == GB_SERIES_HEATMAP) { /* the outer cells extend half a cell past their centres */
      const double hx = s->n > 1 ? (s->x[1] - s->x[0]) / (2.0 * (double)(s->n - 1)) : 0.5;
      const double hy = s->rows > 1 ? (s->y[1] - s->y[0]) / (2.0 * (double)(s->rows - 1)) : 0.5;
      widen(x, (double[]){s->x[0] - hx, s->x[1] + hx}, 2);
      widen(y, (double[]){s->y[0] - hy, s->y[1] + hy}, 2);
      grid = true;
      continue;
    }
    widen(x, s->x, s->n);
    widen(y, s->y, s->n);
    if (s->kind == GB_SERIES_BAND) widen(y, s->hi, s->n);
    if (s->kind == GB_SERIES_BARS) widen_by_bars(x, y, s);
  }
  settle(x, grid ? 0 : 0.02);
  settle(y, grid ? 0 : 0.05);
}

double gb_range_first_tick (const gb_range *s) { return ceil(s->lo / s->step - 1e-9) * s->step; }

void gb_range_label (const gb_range *s, double tick, char buf[32]) {
  if (fabs(tick) < 1e-9 * s->step) tick = 0;
  const double largest = fmax(fabs(s->lo), fabs(s->hi));
  if (largest >= 1e6 || (largest < 1e-3 && largest > 0)) {
    snprintf(buf, 32, "%.3g", tick);
    return;
  }
  int digits = 0;
  for (double step = s->step; digits < 6 && fabs(step - round(step)) > 1e-6 * step; step *= 10) digits++;
  snprintf(buf, 32, "%.*f", digits, tick);
}

const char *gb_figure_ytick (const gb_figure *f, const gb_range *y, size_t i, double *at, char buf[32]) {
  if (f->nticks > 0) {
    if (i >= f->nticks) return NULL;
    *at = f->tick_at[i];
    return f->tick_name[i];
  }
  *at = gb_range_first_tick(y) + (double)i * y->step;
  if (!(*at <= y->hi)) return NULL;
  gb_range_label(y, *at, buf);
  return buf;
}

/* A band takes the colour of the line that follows it, so that a mean and its band match. */
int gb_series_colour (const gb_figure *f, size_t i) {
  if (f->series[i].colour >= 0) return f->series[i].colour;
  int next = 0;
  for (size_t k = 0; k < i; k++)
    if (f->series[k].colour < 0 && f->series[k].kind != GB_SERIES_BAND) next++;
  return next;
}
