/* draw.c - a whole figure on a page: grids, marks, axes, legends, panel by panel. */
#include "plot/picture/draw.h"

#include <stdlib.h>

#include "base/interrupt.h"
#include "plot/picture/marks.h"

enum { STRIP = 1 << 21 /* pixels that are drawn at once */ };

static void draw_panel (const gb_frame *f, const gb_panel *p) {
  gb_canvas on = f->canvas;
  const gb_canvas *c = &on;
  double left, right;
  gb_draw_grid(f, p);
  cairo_save(c->cr);
  cairo_rectangle(c->cr, c->left, c->top, c->right - c->left, c->bottom - c->top);
  cairo_clip(c->cr);
  cairo_clip_extents(c->cr, &left, &on.first, &right, &on.last);
  if (on.first < on.last) gb_draw_marks(c, p);
  cairo_restore(c->cr);
  gb_draw_axes(f, p);
  if (f->legend_width > 0) gb_draw_legend(c, p, f->legend_x, f->legend_y);
}

/* All panels where 'frames' has laid them out. */
static void draw_all (gb_page *page, const gb_figure *f, gb_frame *frames, double width) {
  cairo_set_source_rgb(page->cr, 1, 1, 1);
  cairo_paint(page->cr);
  for (size_t k = 0; k < f->rows * f->columns; k++) {
    frames[k].canvas.page = page;
    frames[k].canvas.cr = page->cr;
    draw_panel(&frames[k], &f->panels[k]);
  }
  gb_page_text_within(page, f->title, width / 2, 12, 0.5, 0, width - 8,
                      (gb_font){.size = GB_TITLE_SIZE, .bold = true, .colour = gb_ink});
}

bool gb_draw_figure (gb_page *page, const gb_figure *f, double width, double height) {
  gb_frame *frames = calloc(f->rows * f->columns, sizeof *frames);
  if (frames == NULL) return false;
  gb_layout(page, f, width, height, frames);
  draw_all(page, f, frames, width);
  free(frames);
  return !page->no_memory;
}

typedef struct strips {
  const gb_figure *figure;
  gb_frame *frames;
  int width, height, rows; /* of the picture; rows of a strip */
  double scale;
  bool is_laid_out;
} strips;

/* The strip that begins at 'top'. */
static bool draw_strip (strips *s, cairo_surface_t *on, int top) {
  cairo_surface_set_device_offset(on, 0, -top);
  gb_page page = {.cr = cairo_create(on)};
  const double width = s->width / s->scale;
  cairo_scale(page.cr, s->scale, s->scale);
  if (!s->is_laid_out) gb_layout(&page, s->figure, width, s->height / s->scale, s->frames);
  s->is_laid_out = true;
  draw_all(&page, s->figure, s->frames, width);
  const bool good = cairo_status(page.cr) == CAIRO_STATUS_SUCCESS;
  cairo_destroy(page.cr);
  cairo_surface_flush(on);
  return good && !gb_interrupted();
}

static bool draw_strips (strips *s, cairo_surface_t *on, gb_row_take *take, void *ud) {
  const unsigned char *data = cairo_image_surface_get_data(on);
  const size_t stride = (size_t)cairo_image_surface_get_stride(on);
  for (int top = 0; top < s->height; top += s->rows) {
    if (!draw_strip(s, on, top)) return false;
    for (int r = 0; r < s->rows && top + r < s->height; r++)
      if (gb_interrupted() || !take(ud, (const uint32_t *)(const void *)(data + (size_t)r * stride)))
        return false;
  }
  return true;
}

bool gb_draw_pixels (const gb_figure *f, int width, int height, double scale, gb_row_take *take, void *ud) {
  const int rows = STRIP / width > 0 ? STRIP / width : 1;
  strips s = {.figure = f,
              .frames = calloc(f->rows * f->columns, sizeof *s.frames),
              .width = width,
              .height = height,
              .rows = rows < height ? rows : height,
              .scale = scale};
  cairo_surface_t *on = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, s.rows);
  const bool good = s.frames != NULL && cairo_surface_status(on) == CAIRO_STATUS_SUCCESS &&
                    draw_strips(&s, on, take, ud);
  cairo_surface_destroy(on);
  free(s.frames);
  return good;
}
