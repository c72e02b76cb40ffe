/* axes.c - grid, ticks, labels, colour bars and words around the marks of a panel. */
#include <math.h>
#include <stdio.h>

#include "plot/picture/marks.h"

static const double TICK = 4, MINOR = 2.2;

static void stroke (const gb_canvas *c, double x0, double y0, double x1, double y1) {
  cairo_move_to(c->cr, x0, y0);
  cairo_line_to(c->cr, x1, y1);
  cairo_stroke(c->cr);
}

void gb_draw_grid (const gb_frame *f, const gb_panel *p) {
  const gb_canvas *c = &f->canvas;
  if (p->no_grid || f->mapped != NULL) return;
  cairo_set_line_width(c->cr, 1);
  gb_canvas_use(c, gb_faint, 1);
  for (size_t i = 0; i < f->xticks.n; i++) {
    const double x = gb_canvas_x(c, f->xticks.tick[i].at);
    stroke(c, x, c->top, x, c->bottom);
  }
  for (size_t i = 0; i < f->yticks.n; i++) {
    const double y = gb_canvas_y(c, f->yticks.tick[i].at);
    stroke(c, c->left, y, c->right, y);
  }
}

static const gb_font tick_font = {.size = GB_TICK_SIZE, .colour = {0.15, 0.15, 0.18}};

static void draw_ticks (const gb_frame *f) {
  const gb_canvas *c = &f->canvas;
  gb_canvas_use(c, gb_ink, 1);
  cairo_set_line_width(c->cr, 1);
  for (size_t i = 0; i < f->xticks.n; i++) {
    const double x = gb_canvas_x(c, f->xticks.tick[i].at);
    stroke(c, x, c->bottom, x, c->bottom + TICK);
    if (f->xlabels)
      gb_page_text(c->page, gb_tick_label(&f->xticks.tick[i]), x, c->bottom + 7, 0.5, 0, tick_font);
    gb_canvas_use(c, gb_ink, 1);
  }
  for (size_t i = 0; i < f->yticks.n; i++) {
    const double y = gb_canvas_y(c, f->yticks.tick[i].at);
    stroke(c, c->left - TICK, y, c->left, y);
    if (f->ylabels)
      gb_page_text(c->page, gb_tick_label(&f->yticks.tick[i]), c->left - 7, y, 1, 0.5, tick_font);
    gb_canvas_use(c, gb_ink, 1);
  }
  cairo_set_line_width(c->cr, 0.7);
  for (size_t i = 0; i < f->xticks.nminor; i++) {
    const double x = gb_canvas_x(c, f->xticks.minor[i]);
    stroke(c, x, c->bottom, x, c->bottom + MINOR);
  }
  for (size_t i = 0; i < f->yticks.nminor; i++) {
    const double y = gb_canvas_y(c, f->yticks.minor[i]);
    stroke(c, c->left - MINOR, y, c->left, y);
  }
}

static void draw_colour_bar (const gb_frame *f) {
  enum { GAP = 10, WIDTH = 12, STEPS = 128 };
  const gb_canvas *c = &f->canvas;
  if (f->mapped == NULL) return;
  const double left = c->right + GAP, height = c->bottom - c->top;
  for (int i = 0; i < STEPS; i++) {
    gb_canvas_use(c, gb_colour_map((i + 0.5) / STEPS), 1);
    cairo_rectangle(c->cr, left, c->bottom - height * (i + 1) / STEPS, WIDTH,
                    height / STEPS + (i > 0 ? 1 : 0));
    cairo_fill(c->cr);
  }
  gb_canvas_use(c, gb_ink, 1);
  cairo_set_line_width(c->cr, 1);
  cairo_rectangle(c->cr, left, c->top, WIDTH, height);
  cairo_stroke(c->cr);
  for (size_t i = 0; i < f->vticks.n; i++) {
    const double y = c->bottom - gb_scale_at(&f->v, f->vticks.tick[i].at) * height;
    gb_canvas_use(c, gb_ink, 1);
    stroke(c, left + WIDTH, y, left + WIDTH + 3, y);
    gb_page_text(c->page, gb_tick_label(&f->vticks.tick[i]), left + WIDTH + 6, y, 0, 0.5, tick_font);
  }
  gb_page_text(c->page, f->vticks.note, left, c->top - 4, 0, 1, tick_font);
  gb_page_text(c->page, f->mapped->label, left + WIDTH + 8 + f->value_width + 4, (c->top + c->bottom) / 2,
               0.5, 0, (gb_font){.size = GB_LABEL_SIZE, .upwards = true, .colour = gb_ink});
}

/* What is not to be seen is said. */
static void draw_remarks (const gb_frame *f, const gb_panel *p) {
  const gb_canvas *c = &f->canvas;
  const gb_font soft = {.size = GB_LABEL_SIZE, .colour = gb_soft}, small = {.size = 9, .colour = gb_soft};
  const size_t hidden = gb_panel_hidden(p);
  if (gb_panel_is_empty(p))
    gb_page_text(c->page, p->nmarks == 0 ? "nothing was drawn" : "no value can be drawn",
                 (c->left + c->right) / 2, (c->top + c->bottom) / 2, 0.5, 0.5, soft);
  if (hidden == 0) return;
  char text[96];
  snprintf(text, sizeof text, "%zu value%s \u2264 0 not on the log axis", hidden, hidden == 1 ? "" : "s");
  gb_page_text(c->page, text, c->right - 3, c->bottom - 4, 1, 1, small);
}

void gb_draw_axes (const gb_frame *f, const gb_panel *p) {
  const gb_canvas *c = &f->canvas;
  const gb_font label = {.size = GB_LABEL_SIZE, .colour = gb_ink},
                turned = {.size = GB_LABEL_SIZE, .upwards = true, .colour = gb_ink},
                bold = {.size = GB_LABEL_SIZE, .bold = true, .colour = gb_ink};
  const double middle = (c->left + c->right) / 2;
  gb_canvas_use(c, gb_ink, 1);
  cairo_set_line_width(c->cr, 1);
  cairo_rectangle(c->cr, c->left, c->top, c->right - c->left, c->bottom - c->top);
  cairo_stroke(c->cr);
  draw_ticks(f);
  const double below = c->bottom + 7 + GB_TICK_SIZE + 6, up = (c->top + c->bottom) / 2,
               wide = 2 * fmin(middle - f->cell_left, f->cell_right - middle),
               high = 2 * fmin(up - f->cell_top, f->cell_bottom - up);
  if (f->xlabels) {
    gb_page_text_within(c->page, p->x.label, middle, below, 0.5, 0, wide, label);
    gb_page_text(c->page, f->xticks.note, c->right, below, 1, 0, tick_font);
  }
  if (f->ylabels) {
    gb_page_text(c->page, f->yticks.note, c->left, c->top - 4, 0, 1, tick_font);
    gb_page_text_within(c->page, p->y.label, c->left - 16 - f->tick_width - GB_LABEL_SIZE, up, 0.5, 0, high,
                        turned);
  }
  const bool noted = f->yticks.note[0] != '\0' || f->vticks.note[0] != '\0';
  gb_page_text_within(c->page, p->title, middle, c->top - 7 - (noted ? GB_TICK_SIZE + 2 : 0), 0.5, 1, wide,
                      bold);
  draw_colour_bar(f);
  draw_remarks(f, p);
}
