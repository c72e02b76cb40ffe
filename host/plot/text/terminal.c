/* terminal.c - panels as text: axes, labels that stand at their ticks, legends. */
#include "plot/text/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot/text/dots.h"
#include "plot/ticks.h"

/* Lines around a plot: those that its parts want, or get. */
typedef struct surround {
  int title, head, foot, keys, remark;
} surround;

typedef struct block {
  gb_screen *screen;
  const gb_panel *panel;
  int left, top, w, h; /* cells of the panel with all that surrounds it */
  bool colour, ascii;
  gb_plot_area area;
  gb_ticks x, y;
  int margin; /* columns of the labels at the left */
  surround lines;
} block;

static bool some (const char *s) { return s != NULL && s[0] != '\0'; }

static double columns_of (void *ud, const char *text) {
  (void)ud;
  return gb_text_columns(text);
}

static double one_row (void *ud, const char *text) {
  (void)ud, (void)text;
  return 1;
}

enum { LEAST_WIDTH = 8, LEAST_HEIGHT = 3, BEYOND = 2 /* columns that labels may reach to the right */ };

/* A label a second row at most; one for each three rows where there is room. */
static void fit_y (block *b) {
  const gb_ruler r = {.length = b->area.h - 0.25,
                      .gap = 1,
                      .before = 1,
                      .after = 1,
                      .most = (size_t)fmax(fmin(b->area.h / 2.0, 8), 2) + 1,
                      .ascii = b->ascii,
                      .extent = one_row};
  gb_ticks_fit(&b->panel->y, &b->area.y, &r, &b->y);
  int widest = 0;
  for (size_t i = 0; i < b->y.n; i++)
    widest = (int)fmax(widest, gb_text_columns(gb_tick_label(&b->y.tick[i])));
  b->margin = (int)fmin(widest, b->w / 3.0);
}

/* Labels are rounded to columns, so the gap is one wider than what is seen. */
static void fit_x (block *b) {
  const gb_ruler r = {.length = b->area.w - 0.5,
                      .gap = 2,
                      .before = b->margin,
                      .after = BEYOND - 0.5,
                      .most = (size_t)fmax(fmin(b->area.w / 7.0, 9), 2) + 1,
                      .ascii = b->ascii,
                      .extent = columns_of};
  gb_ticks_fit(&b->panel->x, &b->area.x, &r, &b->x);
}

/* -- the legend: entries in lines below the panel */

static bool has_entry (const gb_mark *m) {
  return m->kind == GB_MARK_HEATMAP || (m->label[0] != '\0' && m->kind != GB_MARK_TEXT);
}

static const char *sign_of (const gb_panel *p, size_t i) {
  static const char *const nested[] = {"\u2591", "\u2592", "\u2593"};
  switch (p->marks[i].kind) {
    case GB_MARK_SCATTER: return "\u2022";
    case GB_MARK_BAND: return nested[gb_mark_nesting(p, i) < 2 ? gb_mark_nesting(p, i) : 2];
    case GB_MARK_BARS:
    case GB_MARK_COLUMNS: return "\u2592";
    case GB_MARK_ERRORS:
    case GB_MARK_VLINE: return "\u2502";
    default:
      return gb_mark_dash(p, i) == GB_DASH_SOLID    ? "\u2501"
             : gb_mark_dash(p, i) == GB_DASH_DOTTED ? "\u00b7"
                                                    : "\u254c";
  }
}

/* The sign as text of the terminal's; where there is only ASCII, what the marks themselves are drawn with. */
static const char *plain_sign (const gb_panel *p, size_t i) {
  switch (p->marks[i].kind) {
    case GB_MARK_BAND: return gb_mark_nesting(p, i) == 0 ? ":" : gb_mark_nesting(p, i) == 1 ? "=" : "%";
    case GB_MARK_BARS:
    case GB_MARK_COLUMNS: return "=";
    case GB_MARK_SCATTER: return "*";
    case GB_MARK_ERRORS:
    case GB_MARK_VLINE: return "|";
    default: return "-";
  }
}

/* The ends of a heat map's colours, or the label of another mark. */
static void entry_text (const gb_panel *p, size_t i, bool ascii, char *text, size_t room) {
  const gb_mark *m = &p->marks[i];
  double lo, hi;
  if (m->kind != GB_MARK_HEATMAP) snprintf(text, room, "%s", m->label);
  else if (gb_mark_levels(m, &lo, &hi))
    snprintf(text, room, ascii ? "%s%s%.4g :=%%# %.4g" : "%s%s%.4g \u2591\u2592\u2593\u2588 %.4g", m->label,
             m->label[0] != '\0' ? " " : "", lo, hi);
  else text[0] = '\0';
}

/* How many entries from mark 'from' on there are, after an entry that reaches from column 'last' to 'at', or in its
** place where the line has no room. */
static void say_more (block *b, int row, int last, int at, size_t from) {
  char text[32];
  size_t more = 0;
  for (size_t i = from; i < b->panel->nmarks; i++) more += has_entry(&b->panel->marks[i]);
  snprintf(text, sizeof text, "and %zu more", more);
  if (at + gb_text_columns(text) > b->w) {
    for (at = last; last < b->w; last++) gb_screen_put(b->screen, b->left + last, row, " ", -1);
    snprintf(text, sizeof text, "and %zu more", more + 1);
  }
  gb_screen_clip(b->screen, b->left + at, row, text, b->w - at);
}

/* Lines that the legend takes, 'most' at most; drawn too where 'row' is not negative. */
static int legend (block *b, int row, int most) {
  const gb_panel *p = b->panel;
  int lines = 0, at = 0, last = 0;
  for (size_t i = 0; i < p->nmarks && p->legend != GB_LEGEND_OFF; i++) {
    char text[128];
    if (!has_entry(&p->marks[i])) continue;
    entry_text(p, i, b->ascii, text, sizeof text);
    if (text[0] == '\0') continue;
    const bool mapped = p->marks[i].kind == GB_MARK_HEATMAP;
    const int wide = gb_text_columns(text) + 4 + (mapped ? 0 : 2);
    if (lines == 0 || at + wide - 2 > b->w) {
      if (lines == most) {
        if (row >= 0) say_more(b, row + lines - 1, last, at, i);
        return lines;
      }
      lines++;
      at = 2;
    }
    if (row >= 0) {
      const int y = row + lines - 1;
      if (!mapped)
        gb_screen_put(b->screen, b->left + at, y, b->ascii ? plain_sign(p, i) : sign_of(p, i),
                      gb_mark_colour(p, i));
      gb_screen_clip(b->screen, b->left + at + (mapped ? 0 : 2), y, text, b->w - at - (mapped ? 0 : 2));
    }
    last = at;
    at += wide;
  }
  return lines;
}

/* -- around the plot */

static void centre (block *b, int row, const char *text) {
  const int n = gb_text_columns(text), from = (b->w - n) / 2;
  gb_screen_clip(b->screen, b->left + (from < 0 ? 0 : from), row, text, b->w);
}

static void draw_y_axis (block *b) {
  const int at = b->area.left - 1;
  for (int r = 0; r < b->area.h; r++) gb_screen_put(b->screen, at, b->area.top + r, "\u2502", -1);
  for (size_t i = 0; i < b->y.n; i++) {
    const char *label = gb_tick_label(&b->y.tick[i]);
    const int row = (int)fmin(fmax(floor(gb_area_y(&b->area, b->y.tick[i].at) / 4), 0), b->area.h - 1);
    const int n = gb_text_columns(label), wide = n < b->margin ? n : b->margin;
    gb_screen_clip(b->screen, at - wide, b->area.top + row, label, b->margin);
    gb_screen_put(b->screen, at, b->area.top + row, "\u2524", -1);
  }
}

static void draw_x_axis (block *b) {
  const int left = b->area.left, row = b->area.top + b->area.h;
  gb_screen_put(b->screen, left - 1, row, "\u2514", -1);
  for (int c = 0; c < b->area.w; c++) gb_screen_put(b->screen, left + c, row, "\u2500", -1);
  for (size_t i = 0; i < b->x.n; i++) {
    const char *label = gb_tick_label(&b->x.tick[i]);
    const int at = (int)fmin(fmax(floor(gb_area_x(&b->area, b->x.tick[i].at) / 2), 0), b->area.w - 1);
    const int n = gb_text_columns(label);
    gb_screen_put(b->screen, left + at, row, "\u252c", -1);
    gb_screen_put(b->screen, left + at - (n - 1) / 2, row + 1, label, -1);
  }
}

static void draw_head (block *b, int row) {
  char text[160];
  snprintf(text, sizeof text, "%s%s%s", some(b->panel->y.label) ? b->panel->y.label : "",
           some(b->panel->y.label) && b->y.note[0] != '\0' ? "  " : "", b->y.note);
  gb_screen_clip(b->screen, b->left + (b->w > 30 ? 2 : 0), row, text, b->w - 2);
}

static void draw_foot (block *b, int row) {
  char text[160];
  snprintf(text, sizeof text, "%s%s%s", some(b->panel->x.label) ? b->panel->x.label : "",
           some(b->panel->x.label) && b->x.note[0] != '\0' ? "  " : "", b->x.note);
  const int n = gb_text_columns(text), from = b->area.left + (b->area.w - n) / 2;
  gb_screen_clip(b->screen, from < b->left ? b->left : from, row, text, b->w);
}

/* What is not to be seen is said. */
static void draw_remarks (block *b, int row, size_t hidden) {
  char text[96];
  if (gb_panel_is_empty(b->panel)) {
    const char *words = b->panel->nmarks == 0 ? "nothing was drawn" : "no value can be drawn";
    const int from = (b->area.w - gb_text_columns(words)) / 2;
    gb_screen_clip(b->screen, b->area.left + (from < 0 ? 0 : from), b->area.top + b->area.h / 2, words,
                   b->area.w);
  }
  if (hidden == 0) return;
  snprintf(text, sizeof text, "%zu value%s %s 0 not on the log axis", hidden, hidden == 1 ? "" : "s",
           b->ascii ? "<=" : "\u2264");
  gb_screen_clip(b->screen, b->left, row, text, b->w);
}

/* As many lines as are wanted and left. */
static int grant (int *left, int wanted) {
  const int n = wanted < *left ? wanted : *left;
  *left -= n;
  return n;
}

/* Ticks of the plot at its present size. */
static void fit_both (block *b) {
  fit_y(b);
  b->area.left = b->left + b->margin + 1;
  b->area.w = (int)fmax(b->w - b->margin - 1 - BEYOND, LEAST_WIDTH);
  fit_x(b);
}

/* The lines of a panel: title, head, plot, axis, labels, foot, legend, remark; the plot has three at least, and the
** others what is left. */
static void share_lines (block *b, const surround *wanted) {
  int left = b->h - 2 - LEAST_HEIGHT;
  b->lines.title = grant(&left, wanted->title);
  b->lines.head = grant(&left, wanted->head);
  b->lines.foot = grant(&left, wanted->foot);
  b->lines.remark = grant(&left, wanted->remark);
  b->lines.keys = grant(&left, wanted->keys);
  b->area.h = LEAST_HEIGHT + left;
  b->area.top = b->top + b->lines.title + b->lines.head;
}

static surround wishes_of (block *b) {
  const gb_panel *p = b->panel;
  return (surround){.title = some(p->title),
                    .head = some(p->y.label) || b->y.note[0] != '\0',
                    .foot = some(p->x.label) || b->x.note[0] != '\0',
                    .keys = legend(b, -1, b->h / 3),
                    .remark = gb_panel_hidden(p) > 0};
}

static void widen (surround *a, const surround *b) {
  if (b->title > a->title) a->title = b->title;
  if (b->head > a->head) a->head = b->head;
  if (b->foot > a->foot) a->foot = b->foot;
  if (b->keys > a->keys) a->keys = b->keys;
  if (b->remark > a->remark) a->remark = b->remark;
}

/* The plots of a row of panels stand at one height. Heads and feet depend on the ticks' notes, and ticks on the lines
** that remain: a second round settles it. */
static void lay_out (block *row, int n) {
  for (int round = 0; round < 2; round++) {
    surround wanted = {0};
    for (int k = 0; k < n; k++) {
      const surround own = wishes_of(&row[k]);
      widen(&wanted, &own);
    }
    for (int k = 0; k < n; k++) {
      share_lines(&row[k], &wanted);
      fit_both(&row[k]);
    }
  }
}

static void draw_panel (block *b) {
  const surround *l = &b->lines;
  const int below = b->area.top + b->area.h + 2;
  if (l->title && some(b->panel->title)) centre(b, b->top, b->panel->title);
  if (l->head) draw_head(b, b->area.top - 1);
  gb_area_draw(&b->area, b->panel);
  draw_y_axis(b);
  draw_x_axis(b);
  if (l->foot) draw_foot(b, below);
  (void)legend(b, below + l->foot, l->keys);
  draw_remarks(b, below + l->foot + l->keys, l->remark ? gb_panel_hidden(b->panel) : 0);
}

/* Panels narrower than this stand below each other; where their heights are up to the figure they are tall. */
enum { PANEL_WIDTH = 16, PANEL_HEIGHT = LEAST_HEIGHT + 2, TALL_PANEL = 8 };

char *gb_figure_text (const gb_figure *f, int columns, int rows, bool colour, bool ascii) {
  gb_screen screen;
  const bool title = some(f->title);
  const int panels = (int)(f->rows * f->columns),
            across = columns / (int)f->columns < PANEL_WIDTH ? 1 : (int)f->columns, down = panels / across;
  const int w = columns / across, even = (rows - title) / down, h = even < PANEL_HEIGHT ? TALL_PANEL : even;
  block *row = calloc((size_t)across, sizeof *row);
  if (row == NULL) return NULL;
  if (!gb_screen_open(&screen, columns, down > 1 ? (int)fmax(rows, title + down * h) : rows)) {
    free(row);
    return NULL;
  }
  for (int first = 0; first < panels; first += across) {
    for (int k = 0; k < across; k++) {
      row[k] = (block){.screen = &screen,
                       .panel = &f->panels[first + k],
                       .w = w - (across > 1),
                       .h = h,
                       .left = k * w,
                       .top = title + first / across * h,
                       .colour = colour,
                       .ascii = ascii,
                       .area = {.screen = &screen, .colour = colour}};
      gb_panel_scales(f, (size_t)(first + k), &row[k].area.x, &row[k].area.y);
    }
    lay_out(row, across);
    for (int k = 0; k < across; k++) draw_panel(&row[k]);
  }
  if (title) {
    const int from = (columns - gb_text_columns(f->title)) / 2;
    gb_screen_clip(&screen, from < 0 ? 0 : from, 0, f->title, columns);
  }
  char *text = gb_screen_text(&screen, colour, ascii);
  free(row);
  gb_screen_close(&screen);
  return text;
}
