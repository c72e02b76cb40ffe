/* svg.c - a plan as a drawing: what lies where in memory (upwards) during which step (to the right), what
** is in use in all, the budget, and what the last run took. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "plan/choose/text.h"

#define WIDTH 960.0
#define HEIGHT 460.0
#define LEFT 86.0
#define RIGHT 20.0
#define TOP 76.0
#define BOTTOM 74.0
#define LETTER 6.3 /* of the small type, wide on average */
#define MOST_LABELS 60

typedef struct canvas {
  FILE *f;
  const gb_plan *p;
  size_t *live; /* [places] */
  int ncolumns; /* steps */
  double top;   /* bytes at the upper end */
} canvas;

static void write_escaped (FILE *f, const char *s, int most) {
  for (int done = 0; *s != '\0' && done < most; done++) {
    const size_t n = gb_letter(s);
    if (*s == '<') fputs("&lt;", f);
    else if (*s == '>') fputs("&gt;", f);
    else if (*s == '&') fputs("&amp;", f);
    else if (*s == '"') fputs("&quot;", f);
    else if (n == 0) fputc('?', f);
    else fwrite(s, 1, n, f);
    s += n == 0 ? 1 : n;
  }
}

static double x_of (const canvas *c, double column) {
  return LEFT + (WIDTH - LEFT - RIGHT) * column / (c->ncolumns > 0 ? c->ncolumns : 1);
}

static double y_of (const canvas *c, double bytes) {
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * bytes / c->top;
}

static void write_text (const canvas *c, double x, double y, const char *style, const char *s, int most) {
  fprintf(c->f, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
  write_escaped(c->f, s, most);
  fputs("</text>\n", c->f);
}

static void write_line (const canvas *c, double x0, double y0, double x1, double y1, const char *style) {
  fprintf(c->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x0, y0, x1, y1,
          style);
}

static void write_head (const canvas *c) {
  const gb_plan_report *r = &c->p->report;
  char peak[GB_BYTES_TEXT], bound[GB_BYTES_TEXT], text[GB_ROW_TEXT] = "";
  const bool several = c->p->prog->low->ndevices > 1;
  fprintf(
      c->f,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
      WIDTH, HEIGHT, WIDTH, HEIGHT);
  fputs("<style>text{font-family:sans-serif;font-size:11px;fill:#222}.title{font-size:15px;font-weight:bold}"
        ".grey{fill:#666}.mid{text-anchor:middle}.right{text-anchor:end}.grid{stroke:#ddd}.axis{stroke:#666}"
        ".budget{stroke:#c0392b;stroke-width:1.5;stroke-dasharray:7 4}.red{fill:#c0392b}"
        ".peak{stroke:#555;stroke-dasharray:2 3}.measured{stroke:#1e8449;stroke-width:2}.green{fill:#1e8449}"
        ".live{fill:none;stroke:#222;stroke-width:1.8}.band{fill:#f4ecd8}"
        ".temp{fill:#7fb3d5}.workspace{fill:#d5d8dc}.state{fill:#bb8fce}.output{fill:#82c99a}.cache{fill:#"
        "f5c26b}"
        ".box{stroke:#fff;stroke-width:0.7}</style>\n",
        c->f);
  fprintf(c->f, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", WIDTH, HEIGHT);
  for (size_t i = 0; i < c->p->request.nouts && i < 3; i++) {
    const gb_node *n = c->p->request.out[i];
    gb_append(text, sizeof text, "%s%.60s", i == 0 ? "plan: " : ", ",
              *n->name ? n->name : gb_ops[n->op].name);
  }
  if (c->p->request.nouts > 3) gb_append(text, sizeof text, " and %zu more", c->p->request.nouts - 3);
  write_text(c, LEFT, 24, "title", text, 100);
  text[0] = '\0';
  gb_append(text, sizeof text, "%d step%s, peak %s%s%s, lower bound %s", r->nsteps, r->nsteps == 1 ? "" : "s",
            gb_size_text(r->peak, peak), several ? " on " : "",
            several ? c->p->request.graph->device->name : "", gb_size_text(r->lower_bound, bound));
  if (c->p->request.nouts > 0 && *c->p->request.out[0]->where)
    gb_append(text, sizeof text, ", %.60s", c->p->request.out[0]->where);
  write_text(c, LEFT, 42, "grey", text, 140);
}

/* Powers of two, or halves of them, so that between three and eight lines fit. */
static void write_grid (const canvas *c) {
  double unit = 1;
  char size[GB_BYTES_TEXT];
  while (c->top / unit > 8) unit *= 2;
  for (double b = 0; b <= c->top; b += unit) {
    write_line(c, LEFT, y_of(c, b), WIDTH - RIGHT, y_of(c, b), "grid");
    write_text(c, LEFT - 6, y_of(c, b) + 4, "right grey", gb_bytes_text((size_t)b, size), 20);
  }
  for (int k = 0; k < c->ncolumns; k += (c->ncolumns + 23) / 24) {
    char number[16];
    snprintf(number, sizeof number, "%d", k + 1);
    write_text(c, x_of(c, k + 0.5), HEIGHT - BOTTOM + 15, "mid grey", number, 12);
  }
  write_line(c, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis");
  write_text(c, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 31, "mid grey", "step", 12);
}

static void write_band (const canvas *c, const gb_loop *loop) {
  const size_t n = gb_window_count(c->p);
  const gb_placement *pl = c->p->choice.place;
  char text[GB_ROW_TEXT] = "", axis[GB_AXIS_TEXT];
  const double x0 = x_of(c, c->p->number[loop->first]), x1 = x_of(c, c->p->number[loop->last + 1]);
  fprintf(c->f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"band\"/>\n", x0, TOP - 14,
          x1 - x0, HEIGHT - BOTTOM - TOP + 14);
  gb_append(text, sizeof text, "%zu times: windows of %zu of %zu along %s", n, pl->chunk, pl->tiling->extent,
            gb_axis_text(c->p, pl->tiling, axis));
  const bool late = (x0 + x1) / 2 > WIDTH / 2;
  write_text(c, late ? x1 - 4 : x0 + 4, TOP - 3, late ? "right" : "left", text, 90);
}

static void write_tooltip (const canvas *c, const gb_plan_row *r) {
  char shape[GB_SHAPE_TEXT], size[GB_BYTES_TEXT];
  fputs("<title>", c->f);
  write_escaped(c->f, r->what, 100);
  if (r->cls != GB_ROW_WORKSPACE && r->cls != GB_ROW_STATE)
    fprintf(c->f, " %s %s", gb_shape_text(&r->shape, shape), gb_dtype_name(r->dtype));
  fprintf(c->f, ", %s, %s, steps %d to %d", gb_row_class_name(r->cls), gb_size_text(r->bytes, size),
          r->first + 1, r->last + 1);
  if (*r->where) fputs(", ", c->f);
  write_escaped(c->f, r->where, 100);
  fputs("</title>", c->f);
}

/* Bytes [low, low + bytes) from one column to another. */
static void write_box (const canvas *c, const gb_plan_row *r, double low, int from, int to, double opacity) {
  const double x = x_of(c, from), y = y_of(c, low + (double)r->bytes);
  fprintf(
      c->f,
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"box %s\" fill-opacity=\"%.2f\">", x,
      y, x_of(c, to) - x, y_of(c, low) - y, gb_row_class_name(r->cls), opacity);
  write_tooltip(c, r);
  fputs("</rect>\n", c->f);
}

static void add_if_it_fits (char *text, const char *more, int room) {
  if ((int)(strlen(text) + strlen(more)) <= room) gb_append(text, GB_ROW_TEXT, "%s", more);
}

/* Name, shape, bytes, as far as there is room. False: there is none. */
static bool write_label (const canvas *c, const gb_plan_row *r, double low, int from, int to) {
  char text[GB_ROW_TEXT] = "", shape[GB_SHAPE_TEXT], size[GB_BYTES_TEXT], more[GB_ROW_TEXT];
  const double width = x_of(c, to) - x_of(c, from), height = y_of(c, low) - y_of(c, low + (double)r->bytes);
  const int room = (int)((width - 8) / LETTER);
  const gb_shape held = gb_row_shape(r);
  if (height < 13 || room < gb_width(r->what, 6)) return false;
  gb_append(text, sizeof text, "%s", r->what);
  snprintf(more, sizeof more, " %s", gb_shape_text(&held, shape));
  if (r->cls != GB_ROW_WORKSPACE && r->cls != GB_ROW_STATE) add_if_it_fits(text, more, room);
  snprintf(more, sizeof more, ", %s", gb_size_text(r->bytes, size));
  add_if_it_fits(text, more, room);
  write_text(c, x_of(c, from) + 4, y_of(c, low + (double)r->bytes / 2) + 4, "left", text, room);
  return true;
}

/* Outputs and caches are allocated when the run begins, above the arena, and written by their step: before
** it they are pale. */
static void write_boxes (const canvas *c, bool labels) {
  const gb_plan_report *r = &c->p->report;
  double above = (double)r->arena;
  int shown = 0;
  for (int i = 0; i < r->nrows; i++) {
    const gb_plan_row *row = &r->row[i];
    if (row->cls == GB_ROW_INPUT || row->bytes == 0 || *row->device != '\0') continue;
    const bool arena = row->offset != SIZE_MAX;
    const double low = arena ? (double)row->offset : above;
    const int from = row->first, to = row->last + 1;
    if (!arena) above += (double)row->bytes;
    if ((double)row->bytes < c->top / 500) continue;
    if (labels && shown < MOST_LABELS) shown += write_label(c, row, low, arena ? from : 0, to);
    if (labels) continue;
    if (!arena && from > 0) write_box(c, row, low, 0, from, 0.3);
    write_box(c, row, low, from, to, 0.9);
  }
}

static void write_live (const canvas *c) {
  const gb_placement *pl = c->p->choice.place;
  fputs("<path class=\"live\" d=\"", c->f);
  for (int t = 0; t < pl->nplaces; t++) {
    const int k = c->p->number[t];
    const double y = y_of(c, (double)c->live[t]);
    if (!pl->runs[pl->order[t]]) continue;
    if (k == 0) fprintf(c->f, "M%.1f %.1fH%.1f", x_of(c, 0), y, x_of(c, 1));
    else fprintf(c->f, "V%.1fH%.1f", y, x_of(c, k + 1));
  }
  fputs("\"/>\n", c->f);
}

static void write_level (const canvas *c, double bytes, const char *style) {
  write_line(c, LEFT, y_of(c, bytes), WIDTH - RIGHT, y_of(c, bytes), style);
}

/* What the lines mean stands in the upper corner, where nothing is drawn. */
static void write_levels (const canvas *c) {
  const gb_plan_report *r = &c->p->report;
  const gb_run_stats *s = &c->p->runs.stats;
  char size[GB_BYTES_TEXT], text[GB_ROW_TEXT] = "";
  const bool far = (double)r->budget > c->top;
  gb_append(text, sizeof text, "budget %s%s", gb_size_text(r->budget, size),
            far ? ", above this picture" : "");
  write_text(c, WIDTH - RIGHT, 22, "right red", text, 80);
  if (!far) write_level(c, (double)r->budget, "budget");
  text[0] = '\0';
  gb_append(text, sizeof text, "reserved %s", gb_size_text(r->peak, size));
  write_text(c, WIDTH - RIGHT, 37, "right grey", text, 80);
  write_level(c, (double)r->peak, "peak");
  if (!c->p->runs.ran) return;
  text[0] = '\0';
  gb_append(text, sizeof text, "measured %s, difference %lld B", gb_size_text(s->measured, size),
            (long long)s->measured - (long long)s->predicted);
  write_text(c, WIDTH - RIGHT, 52, "right green", text, 80);
  write_level(c, (double)s->measured, "measured");
}

static void write_legend (const canvas *c) {
  static const gb_row_class classes[] = {GB_ROW_OUTPUT, GB_ROW_CACHE, GB_ROW_TEMP, GB_ROW_WORKSPACE,
                                         GB_ROW_STATE};
  double x = LEFT;
  const double y = HEIGHT - 18;
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    const char *name = gb_row_class_name(classes[i]);
    fprintf(c->f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"10\" class=\"%s\"/>\n", x, y - 9, name);
    write_text(c, x + 17, y, "left", name, 20);
    x += 96;
  }
  write_line(c, x, y - 4, x + 18, y - 4, "live");
  write_text(c, x + 24, y, "left", "in use", 20);
}

/* Room for what is reserved and measured, and for the budget where that is not far above. */
static double top_of (const gb_plan *p) {
  double top = (double)p->report.peak;
  if (p->runs.ran && (double)p->runs.stats.measured > top) top = (double)p->runs.stats.measured;
  if (top < 1) top = 1;
  if ((double)p->report.budget > top && (double)p->report.budget < 2.5 * top) top = (double)p->report.budget;
  return 1.06 * top;
}

static bool open_canvas (canvas *c, const gb_plan *p, char **text, size_t *n) {
  *c = (canvas){.p = p, .top = top_of(p), .live = gb_timeline(p, 0), .ncolumns = p->report.nsteps};
  if (c->live == NULL) return false;
  c->f = open_memstream(text, n);
  return c->f != NULL;
}

char *gb_plan_svg (const gb_plan *p) {
  char *text = NULL;
  size_t n;
  canvas c;
  bool ok = open_canvas(&c, p, &text, &n);
  if (ok) {
    write_head(&c);
    const gb_placement *pl = p->choice.place;
    for (int k = 0; gb_window_count(p) > 0 && k < pl->nloops; k++)
      if (!gb_loop_is_idle(p, k)) write_band(&c, &pl->loop[k]);
    write_grid(&c);
    write_boxes(&c, false);
    write_live(&c);
    write_boxes(&c, true);
    write_levels(&c);
    write_legend(&c);
    fputs("</svg>\n", c.f);
    ok = fclose(c.f) == 0;
  }
  free(c.live);
  if (ok) return text;
  free(text);
  return NULL;
}
