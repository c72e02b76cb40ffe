/* explain.c - a plan as one readable screen. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/text.h"

#define BAR 40
#define MOST_ROWS 24              /* of a list; a longer one says how many it leaves out */
#define SMALLEST 2000             /* buffers below this part of the peak are only counted */

static bool is_live (const gb_life *l, int place) { return place >= l->first && place <= l->last; }

/* Bytes live at a place: what of the arena is in use, outputs and caches from their step on. */
static size_t live_bytes (const gb_plan *p, int s) {
  const gb_placement *pl = p->place;
  size_t bytes = 0;
  for (int k = 0; k < pl->nsteps; k++) {
    if (is_live(&pl->scratch[k], s)) bytes = gb_add_sizes(bytes, gb_round_size(pl->scratch[k].bytes));
    if (is_live(&pl->state[k], s)) bytes = gb_add_sizes(bytes, gb_round_size(pl->state[k].bytes));
  }
  for (int b = 0; b < pl->nbufs; b++) {
    const gb_life *life = &pl->life[b];
    if (pl->write[b] == GB_HOME_NONE || pl->write[b] == GB_HOME_SHARED || s < life->first) continue;
    if (pl->write[b] != GB_HOME_ARENA) bytes = gb_add_sizes(bytes, p->prog->low->buf[b].bytes);
    else if (s <= life->last) bytes = gb_add_sizes(bytes, gb_round_size(life->bytes));
  }
  return bytes;
}

static void say_summary (const gb_plan *p, FILE *f) {
  const gb_plan_report *r = &p->report;
  char a[GB_BYTES_TEXT], b[GB_BYTES_TEXT], c[GB_BYTES_TEXT], d[GB_BYTES_TEXT];
  fprintf(f, "plan  %d step%s for %zu value%s", r->nsteps, r->nsteps == 1 ? "" : "s", p->nouts,
          p->nouts == 1 ? "" : "s");
  if (p->nouts > 0 && *p->out[0]->where) fprintf(f, "  (%s)", p->out[0]->where);
  fprintf(f, "\npeak %s = %s arena + %s outputs + %s caches\n", gb_size_text(r->peak, a),
          gb_size_text(r->arena, b), gb_size_text(r->outputs, c), gb_size_text(r->caches, d));
  fprintf(f, "lower bound %s, smallest budget %s, budget %s\n", gb_size_text(r->lower_bound, a),
          gb_size_text(r->minimum, b), gb_size_text(gb_plan_budget(p), c));
}

/* Something larger than all that the step reads and writes passed through its tiles. */
static bool streams (const gb_plan *p, const gb_step *st) {
  size_t most = 0;
  for (int i = 0; i < st->nin + st->nout; i++) {
    const size_t n = gb_shape_numel(&p->prog->low->buf[i < st->nin ? st->in[i] : st->out[i - st->nin]].shape);
    if (n > most) most = n;
  }
  return st->full_numel > most;
}

static void say_loop (const gb_plan *p, FILE *f) {
  const gb_placement *pl = p->place;
  const size_t n = (pl->cutting->extent + pl->chunk - 1) / pl->chunk;
  if (n > 1)
    fprintf(f, "      steps %d to %d in %zu windows of %zu of %zu\n", pl->loop_first + 1, pl->loop_last + 1, n, pl->chunk,
            pl->cutting->extent);
}

static void say_step (const gb_plan *p, int place, FILE *f) {
  const gb_step *st = &p->prog->low->step[p->place->order[place]];
  char shape[GB_SHAPE_TEXT], size[GB_BYTES_TEXT];
  size_t bytes = 0;
  for (int i = 0; i < st->nout; i++) bytes = gb_add_sizes(bytes, p->prog->low->buf[st->out[i]].bytes);
  fprintf(f, "%4d  %-40s %10s", place + 1, st->what, gb_size_text(bytes, size));
  const char *where = gb_plan_where(p, st->out[0]);
  if (*where) fprintf(f, "  %s", where);
  fputc('\n', f);
  if (streams(p, st) && *gb_streamed_text(st, shape)) {
    const size_t width = st->fold.compute == GB_F32 ? 4 : 8;
    const size_t never = st->full_numel > SIZE_MAX / width ? SIZE_MAX : st->full_numel * width;
    fprintf(f, "      streamed, never stored: %s (%s)%s%s\n", shape, gb_size_text(never, size),
            *st->full_where ? "  " : "", st->full_where);
  }
}

static void say_steps (const gb_plan *p, FILE *f) {
  int shown = 0;
  for (int t = 0; t < p->place->nsteps; t++) {
    if (!p->place->runs[p->place->order[t]]) continue;
    if (t == p->place->loop_first) say_loop(p, f);
    if (shown++ < MOST_ROWS) say_step(p, t, f);
  }
  if (shown > MOST_ROWS) fprintf(f, "      and %d more steps\n", shown - MOST_ROWS);
}

static int by_size (const void *a, const void *b) {
  const gb_plan_row *x = *(const gb_plan_row *const *)a, *y = *(const gb_plan_row *const *)b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return (x > y) - (x < y);
}

static void say_row (const gb_plan_row *r, FILE *f) {
  static const char *const names[] = {
      [GB_BUF_LEAF] = "leaf", [GB_BUF_OUTPUT] = "output", [GB_BUF_CACHE] = "cache", [GB_BUF_TEMP] = "arena"};
  char size[GB_BYTES_TEXT], at[GB_BYTES_TEXT] = "";
  if (r->offset != SIZE_MAX) snprintf(at, sizeof at, "+%zu", r->offset);
  fprintf(f, "  %-7s %14s %12s  steps %d..%d  %s%s%s\n", names[r->cls], at, gb_size_text(r->bytes, size),
          r->first + 1, r->last + 1, r->what, *r->where ? "  " : "", r->where);
}

static bool say_memory (const gb_plan *p, FILE *f) {
  const gb_plan_row **order = calloc((size_t)p->report.nrows + 1, sizeof *order);
  if (order == NULL) return false;
  for (int i = 0; i < p->report.nrows; i++) order[i] = &p->row[i];
  qsort(order, (size_t)p->report.nrows, sizeof *order, by_size);
  fputs("memory\n", f);
  int shown = 0;
  while (shown < p->report.nrows && shown < MOST_ROWS && order[shown]->bytes > p->report.peak / SMALLEST)
    say_row(order[shown++], f);
  if (p->report.nrows > shown) fprintf(f, "  and %d smaller\n", p->report.nrows - shown);
  free(order);
  return true;
}

static void say_bars (const gb_plan *p, FILE *f) {
  size_t most = 1;
  int shown = 0;
  for (int s = 0; s < p->place->nsteps; s++)
    if (p->place->runs[p->place->order[s]] && live_bytes(p, s) > most) most = live_bytes(p, s);
  fputs("live bytes by step\n", f);
  for (int s = 0; s < p->place->nsteps; s++) {
    if (!p->place->runs[p->place->order[s]] || shown++ >= MOST_ROWS) continue;
    const size_t live = live_bytes(p, s);
    const int n = (int)((double)live / (double)most * BAR + 0.5);
    char size[GB_BYTES_TEXT], bar[BAR + 1];
    memset(bar, '#', (size_t)n);
    memset(bar + n, '.', (size_t)(BAR - n));
    bar[BAR] = '\0';
    fprintf(f, "%4d  %s  %s\n", s + 1, bar, gb_size_text(live, size));
  }
}

char *gb_plan_explain (const gb_plan *p) {
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  if (f == NULL) return NULL;
  say_summary(p, f);
  say_steps(p, f);
  const bool ok = p->report.nrows == 0 || say_memory(p, f);
  if (p->report.nrows > 0) say_bars(p, f);
  if (fclose(f) != 0 || !ok) {
    free(text);
    return NULL;
  }
  return text;
}

char *gb_plan_programs (const gb_plan *p) {
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  if (f == NULL) return NULL;
  bool ok = true;
  for (int s = 0; s < p->prog->low->nsteps; s++) {
    const gb_step *st = &p->prog->low->step[s];
    char *program = st->is_fold ? gb_fold_dump(&st->fold) : NULL;
    ok = ok && (!st->is_fold || program != NULL);
    fprintf(f, "%d  %s\n%s", s + 1, st->what, program == NULL ? "" : program);
    free(program);
  }
  if (fclose(f) == 0 && ok) return text;
  free(text);
  return NULL;
}
