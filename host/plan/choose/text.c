/* text.c - names and sizes as users read them. */
#include "plan/choose/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void gb_append (char *text, size_t room, const char *fmt, ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, fmt);
  vsnprintf(text + used, room - used, fmt, args);
  va_end(args);
}

char *gb_size_text (size_t bytes, char text[GB_BYTES_TEXT]) {
  if (bytes != SIZE_MAX) return gb_bytes_text(bytes, text);
  snprintf(text, GB_BYTES_TEXT, "more than 16 EiB");
  return text;
}

/* Lead bytes that overlong, surrogate and too large sequences begin with are told by their second byte. */
static bool is_lead (unsigned char a, unsigned char b) {
  if (a < 0xc2 || a > 0xf4) return false;
  if (a == 0xe0) return b >= 0xa0;
  if (a == 0xed) return b < 0xa0;
  if (a == 0xf0) return b >= 0x90;
  return a != 0xf4 || b < 0x90;
}

size_t gb_letter (const char *s) {
  const unsigned char *c = (const unsigned char *)s;
  if (*c < 0x80) return *c >= 0x20 && *c != 0x7f;
  if (!is_lead(c[0], c[1])) return 0;
  const size_t n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
  for (size_t i = 1; i < n; i++)
    if ((c[i] & 0xc0) != 0x80) return 0;
  return n;
}

void gb_put (FILE *f, const char *s, int width) {
  int done = 0;
  for (; *s != '\0' && done < width; done++) {
    const size_t n = gb_letter(s);
    if (n == 0) fputc('?', f);
    else fwrite(s, 1, n, f);
    s += n == 0 ? 1 : n;
  }
  fprintf(f, "%*s", width - done, "");
}

int gb_width (const char *s, int most) {
  int n = 0;
  for (; *s != '\0' && n < most; n++) {
    const size_t step = gb_letter(s);
    s += step == 0 ? 1 : step;
  }
  return n;
}

const char *gb_short_where (const char *where, size_t width) {
  const char *file = strrchr(where, '/');
  if (strlen(where) <= width) return where;
  if (file != NULL) where = file + 1;
  const size_t n = strlen(where);
  if (n > width) where += n - width;
  while (((unsigned char)*where & 0xc0) == 0x80) where++; /* within a letter */
  return where;
}

const char *gb_what (const gb_plan *p, int b) {
  const char *name = gb_plan_name(p, b);
  return *name ? name : gb_ops[gb_plan_node(p, b)->op].name;
}

gb_shape gb_row_shape (const gb_plan_row *r) {
  gb_shape s = r->shape;
  if (r->window > 0) s.dim[r->axis] = r->window;
  return s;
}

char *gb_dim_text (const gb_plan *p, int b, int dim, char text[GB_AXIS_TEXT]) {
  char shape[GB_SHAPE_TEXT];
  const char *name = gb_plan_name(p, b);
  if (*name) snprintf(text, GB_AXIS_TEXT, "axis %d of %.24s", dim + 1, name);
  else
    snprintf(text, GB_AXIS_TEXT, "axis %d of a %.20s %s", dim + 1,
             gb_shape_text(&p->prog->low->buf[b].shape, shape),
             p->prog->low->buf[b].cls == GB_BUF_LEAF ? "leaf" : gb_what(p, b));
  return text;
}

char *gb_axis_text (const gb_plan *p, const gb_tiling *c, char text[GB_AXIS_TEXT]) {
  return gb_dim_text(p, c->leaf, c->dim[c->leaf], text);
}

size_t gb_planned_bytes (const gb_plan *p, int b) {
  const gb_placement *pl = p->choice.place;
  return pl->compact[b] || pl->packed[b] ? pl->life[b].bytes : p->prog->low->buf[b].bytes;
}

static bool is_packed (const gb_placement *place) {
  for (int b = 0; b < place->nbufs; b++)
    if (place->packed[b]) return true;
  return false;
}

/* Steps within each loop, and those between two, are in program order by themselves. */
static bool is_reordered (const gb_placement *place) {
  const gb_tiling *c = place->tiling != NULL && place->chunk < place->tiling->extent ? place->tiling : NULL;
  for (int t = 1; t < place->nplaces; t++)
    if (place->order[t] < place->order[t - 1] && (c == NULL || gb_same_part(place, t, t - 1))) return true;
  return false;
}

/* "5 loops, 4 steps again: " */
static void say_loops (int loops, int again, char text[GB_FORM_TEXT]) {
  gb_append(text, GB_FORM_TEXT, "%d loops", loops);
  if (again > 0) gb_append(text, GB_FORM_TEXT, ", %d step%s again", again, again == 1 ? "" : "s");
  gb_append(text, GB_FORM_TEXT, ": ");
}

char *gb_form_text (const gb_plan *p, const gb_placement *place, char text[GB_FORM_TEXT]) {
  char axis[GB_AXIS_TEXT];
  const gb_tiling *c = place->tiling;
  text[0] = '\0';
  if (place->nest != NULL)
    gb_append(text, GB_FORM_TEXT, "staged values in windows of %zu of %zu", place->rows, place->nest->widest);
  else if (c == NULL || place->chunk >= c->extent) gb_append(text, GB_FORM_TEXT, "whole");
  else {
    if (c->nloops > 1) say_loops(c->nloops, gb_placement_again(place), text);
    gb_append(text, GB_FORM_TEXT, "windows of %zu of %zu along %s", place->chunk, c->extent,
              gb_axis_text(p, c, axis));
  }
  if (is_packed(place)) gb_append(text, GB_FORM_TEXT, ", packed triangles");
  if (is_reordered(place)) gb_append(text, GB_FORM_TEXT, ", reordered");
  return text;
}

char *gb_buffer_text (const gb_plan *p, int b, char text[GB_ROW_TEXT]) {
  const gb_buf *buf = &p->prog->low->buf[b];
  const char *where = gb_plan_where(p, b);
  char shape[GB_SHAPE_TEXT], size[GB_BYTES_TEXT];
  snprintf(text, GB_ROW_TEXT, "%.60s %s %s %s%s%.80s%s", gb_what(p, b), gb_shape_text(&buf->shape, shape),
           gb_dtype_name(buf->dtype), gb_size_text(buf->bytes, size), *where ? " (" : "", where,
           *where ? ")" : "");
  return text;
}

/* Outer axes come first in the domain, then LANE (columns of a row-major value differ) and TILE: the
** extents are listed in the order of axis numbers, those of length 1 left out. */
char *gb_streamed_text (const gb_step *s, char text[GB_SHAPE_TEXT]) {
  text[0] = '\0';
  if (!s->is_fold || s->full_numel == 0) return text;
  size_t product = 1;
  for (int a = 0; a < s->fold.naxes; a++) {
    const gb_fold_axis *x = &s->fold.axis[a];
    if (x->role == GB_AXIS_INNER || x->extent == 1) continue;
    gb_append(text, GB_SHAPE_TEXT, "%s%zu", *text ? "x" : "", x->extent);
    product *= x->extent;
  }
  if (product != s->full_numel) snprintf(text, GB_SHAPE_TEXT, "%zu values", s->full_numel);
  return text;
}

size_t gb_streamed_bytes (const gb_plan *p, const gb_step *st) {
  size_t most = 0;
  for (int i = 0; i < st->nin + st->nout; i++) {
    const size_t n = gb_shape_numel(&p->prog->low->buf[i < st->nin ? st->in[i] : st->out[i - st->nin]].shape);
    if (n > most) most = n;
  }
  if (!st->is_fold || st->full_numel <= most) return 0;
  const size_t width = st->fold.compute == GB_F32 ? 4 : 8;
  return st->full_numel > SIZE_MAX / width ? SIZE_MAX : st->full_numel * width;
}

/* time */

/* Sums of what begins and ends at a place: it was chosen, so none is past counting. */
static void add_life (size_t *live, int first, int last, size_t bytes) {
  live[first] += bytes;
  live[last + 1] -= bytes;
}

bool gb_plan_is_on (const gb_plan *p, int device) {
  const gb_lowered *low = p->prog->low;
  for (int b = 0; b < low->nbufs; b++)
    if (low->buf[b].device == device) return true;
  return device > 0 && p->choice.place->abroad[device].peak > 0;
}

size_t *gb_timeline (const gb_plan *p, int device) {
  const gb_placement *pl = p->choice.place;
  size_t *live = calloc((size_t)pl->nplaces + 2, sizeof *live);
  if (live == NULL) return NULL;
  for (int t = 0; t < pl->nplaces; t++) {
    const int s = pl->order[t];
    const bool first = pl->place[s] == t;
    const gb_life *a = &pl->scratch[t], *b = &pl->state[s], *home = &pl->within[s];
    if (p->prog->low->home == device && first)
      add_life(live, home->first, home->last, gb_round_size(home->bytes));
    if (p->prog->low->step[s].device != device) continue;
    const size_t inside = gb_nest_bytes(pl, t);
    add_life(live, a->first, a->last, inside > 0 ? inside : gb_round_size(a->bytes));
    if (first) add_life(live, b->first, b->last, gb_round_size(b->bytes));
  }
  for (int b = 0; b < pl->nbufs; b++) {
    const gb_life *life = &pl->life[b];
    const bool arena = pl->write[b] == GB_HOME_ARENA;
    if (p->prog->low->buf[b].device != device) continue;
    if (pl->nest != NULL && pl->compact[b]) continue; /* held by nodes */
    if (pl->write[b] == GB_HOME_NONE || pl->write[b] == GB_HOME_SHARED || life->last < 0) continue;
    add_life(live, arena ? life->first : 0, arena ? life->last : pl->nplaces - 1,
             arena ? gb_round_size(life->bytes) : gb_planned_bytes(p, b));
  }
  for (int t = 1; t < pl->nplaces; t++) live[t] += live[t - 1];
  return live;
}

size_t gb_window_count (const gb_plan *p) {
  const gb_placement *pl = p->choice.place;
  if (pl->tiling == NULL || pl->chunk >= pl->tiling->extent) return 0;
  return pl->chunk == 0 ? 0 : (pl->hi - pl->lo + pl->chunk - 1) / pl->chunk;
}

bool gb_loop_is_idle (const gb_plan *p, int k) {
  const gb_loop *loop = &p->choice.place->loop[k];
  return p->number[loop->first] == p->number[loop->last + 1];
}
