/* draw.c - a whole figure on a page: grids, marks, axes, legends, panel by panel. */
#include "plot/picture/draw.h"

#include <stdlib.h>

#include "plot/picture/marks.h"

static void draw_panel (const gb_frame *f, const gb_panel *p) {
  const gb_canvas *c = &f->canvas;
  gb_draw_grid(f, p);
  cairo_save(c->cr);
  cairo_rectangle(c->cr, c->left, c->top, c->right - c->left, c->bottom - c->top);
  cairo_clip(c->cr);
  gb_draw_marks(c, p);
  cairo_restore(c->cr);
  gb_draw_axes(f, p);
  if (f->legend_width > 0) gb_draw_legend(c, p, f->legend_x, f->legend_y);
}

bool gb_draw_figure (gb_page *page, const gb_figure *f, double width, double height) {
  gb_frame *frames = calloc(f->rows * f->columns, sizeof *frames);
  if (frames == NULL) return false;
  cairo_set_source_rgb(page->cr, 1, 1, 1);
  cairo_paint(page->cr);
  gb_layout(page, f, width, height, frames);
  for (size_t k = 0; k < f->rows * f->columns; k++) draw_panel(&frames[k], &f->panels[k]);
  gb_page_text(page, f->title, width / 2, 12, 0.5, 0,
               (gb_font){.size = GB_TITLE_SIZE, .bold = true, .colour = gb_ink});
  free(frames);
  return !page->no_memory;
}
