/* layout.c - where panels, their labels, legends and colour bars lie on a page. */
#include <math.h>
#include <string.h>

#include "plot/picture/marks.h"

enum { EDGE = 10, BAR = 12, BAR_GAP = 10, TICK_GAP = 6, LEAST = 12 };

typedef struct margins {
  double left, top, right, bottom;
} margins;

typedef struct measured {
  gb_page *page;
  bool upright; /* along a vertical axis labels extend by their height */
} measured;

static double extent (void *ud, const char *text) {
  const measured *m = ud;
  return m->upright ? GB_TICK_SIZE * 0.9 : gb_page_text_width(m->page, text, GB_TICK_SIZE, false);
}

static void fit (gb_page *page, const gb_axis *a, const gb_scale *s, bool upright, double length,
                 double slack, gb_ticks *out) {
  measured m = {page, upright};
  const double spacing = upright ? 42 : 70; /* a tick for so many points, where labels are short */
  const gb_ruler r = {.length = length,
                      .gap = upright ? 3 : 8,
                      .before = slack,
                      .after = slack,
                      .most = (size_t)fmin(fmax(length / spacing, 2), 10) + 1,
                      .extent = extent,
                      .ud = &m};
  gb_ticks_fit(a, s, &r, out);
}

static double widest (gb_page *page, const gb_ticks *t) {
  double w = 0;
  for (size_t i = 0; i < t->n; i++)
    w = fmax(w, gb_page_text_width(page, gb_tick_label(&t->tick[i]), GB_TICK_SIZE, false));
  return w;
}

static bool some (const char *s) { return s != NULL && s[0] != '\0'; }

/* What surrounds the plotting area of one panel. */
static margins margins_of (const gb_panel *p, const gb_frame *f, bool beside) {
  margins m = {.left = TICK_GAP, .top = EDGE, .right = EDGE + 4, .bottom = TICK_GAP};
  if (f->ylabels) m.left += f->tick_width + 4;
  if (f->ylabels && some(p->y.label)) m.left += GB_LABEL_SIZE + 6;
  if (some(p->title)) m.top += GB_LABEL_SIZE + 8;
  if (f->yticks.note[0] != '\0' || f->vticks.note[0] != '\0') m.top += GB_TICK_SIZE + 2;
  if (f->xlabels) m.bottom += GB_TICK_SIZE + 4;
  if (f->xlabels && (some(p->x.label) || f->xticks.note[0] != '\0')) m.bottom += GB_LABEL_SIZE + 6;
  if (f->mapped != NULL) {
    m.right += BAR_GAP + BAR + TICK_GAP + f->value_width;
    if (some(f->mapped->label)) m.right += GB_LABEL_SIZE + 6;
  }
  if (beside) m.right += f->legend_width + 8;
  return m;
}

static const gb_mark *mapped_of (const gb_panel *p) {
  for (size_t i = 0; i < p->nmarks && !p->bare; i++)
    if (p->marks[i].kind == GB_MARK_HEATMAP) return &p->marks[i];
  return NULL;
}

static void start (gb_page *page, const gb_figure *f, size_t k, gb_frame *frame) {
  const gb_panel *p = &f->panels[k];
  *frame = (gb_frame){.canvas = {.page = page, .cr = page->cr, .panels = f->rows * f->columns},
                      .mapped = mapped_of(p)};
  gb_panel_scales(f, k, &frame->canvas.x, &frame->canvas.y);
  frame->xlabels = !f->share_x || k / f->columns == f->rows - 1;
  frame->ylabels = !f->share_y || k % f->columns == 0;
  gb_legend_size(page, p, &frame->legend_width, &frame->legend_height);
  double lo, hi;
  if (frame->mapped != NULL && gb_mark_levels(frame->mapped, &lo, &hi))
    frame->v = hi > lo ? (gb_scale){lo, hi, false} : (gb_scale){lo - 0.5, lo + 0.5, false};
  else frame->mapped = NULL;
}

/* Ticks for an area of this size. */
static void fit_all (gb_page *page, const gb_panel *p, gb_frame *f, double width, double height) {
  static const gb_axis plain;
  fit(page, &p->x, &f->canvas.x, false, width, EDGE + 3, &f->xticks);
  fit(page, &p->y, &f->canvas.y, true, height, 6, &f->yticks);
  if (f->mapped != NULL) fit(page, &plain, &f->v, true, height, 6, &f->vticks);
  f->tick_width = widest(page, &f->yticks);
  f->value_width = widest(page, &f->vticks);
}

/* One unit of x as long as one of y, as far as both sides keep the least length. */
static void keep_aspect (gb_canvas *c) {
  const double w = c->right - c->left, h = c->bottom - c->top;
  const double x = c->x.hi / 2 - c->x.lo / 2, y = c->y.hi / 2 - c->y.lo / 2; /* halves: neither overflows */
  const double cutx = (w - fmax(fmin(w, h / y * x), LEAST)) / 2,
               cuty = (h - fmax(fmin(h, w / x * y), LEAST)) / 2;
  c->left += cutx, c->right -= cutx, c->top += cuty, c->bottom -= cuty;
}

/* One pass: margins of the ticks that are known so far, the widest of each column and row; then ticks of the
** sizes that follow. */
static void place (gb_page *page, const gb_figure *f, double width, double height, gb_frame *frames,
                   const bool *beside) {
  const double head = some(f->title) ? GB_TITLE_SIZE + 14 : 2, foot = 6;
  double left[64] = {0}, right[64] = {0}, top[64] = {0}, bottom[64] = {0}, sum_w = 6, sum_h = head + foot;
  for (size_t k = 0; k < f->rows * f->columns; k++) {
    const margins m = margins_of(&f->panels[k], &frames[k], beside[k]);
    const size_t r = k / f->columns, c = k % f->columns;
    left[c] = fmax(left[c], m.left), right[c] = fmax(right[c], m.right);
    top[r] = fmax(top[r], m.top), bottom[r] = fmax(bottom[r], m.bottom);
  }
  for (size_t c = 0; c < f->columns; c++) sum_w += left[c] + right[c];
  for (size_t r = 0; r < f->rows; r++) sum_h += top[r] + bottom[r];
  const double w = fmax((width - sum_w) / (double)f->columns, LEAST),
               h = fmax((height - sum_h) / (double)f->rows, LEAST);
  double y = head;
  for (size_t r = 0; r < f->rows; r++) {
    double x = 6;
    for (size_t c = 0; c < f->columns; c++) {
      gb_frame *o = &frames[r * f->columns + c];
      gb_canvas *a = &o->canvas;
      a->left = x + left[c], a->right = a->left + w, a->top = y + top[r], a->bottom = a->top + h;
      o->cell_left = x, o->cell_right = a->right + right[c], o->cell_top = y,
      o->cell_bottom = a->bottom + bottom[r];
      if (f->panels[r * f->columns + c].equal) keep_aspect(a);
      fit_all(page, &f->panels[r * f->columns + c], o, a->right - a->left, a->bottom - a->top);
      x += left[c] + w + right[c];
    }
    y += top[r] + h + bottom[r];
  }
}

void gb_layout (gb_page *page, const gb_figure *f, double width, double height, gb_frame *frames) {
  enum { PASSES = 3, MOST = 64 };
  const size_t n = f->rows * f->columns;
  page->panel = height / (double)f->rows;
  bool beside[MOST] = {false};
  for (size_t k = 0; k < n; k++) {
    start(page, f, k, &frames[k]);
    fit_all(page, &f->panels[k], &frames[k], width / (double)f->columns - 60, height / (double)f->rows - 60);
  }
  for (int pass = 0; pass < PASSES; pass++) {
    place(page, f, width, height, frames, beside);
    for (size_t k = 0; k < n; k++) {
      gb_frame *o = &frames[k];
      if (o->legend_width <= 0) continue;
      const bool inside = !beside[k] && gb_legend_place(&o->canvas, &f->panels[k], o->legend_width,
                                                        o->legend_height, &o->legend_x, &o->legend_y);
      if (inside) continue;
      beside[k] = true;
      o->legend_x = o->cell_right - EDGE - o->legend_width;
      o->legend_y = o->canvas.top;
    }
  }
}
