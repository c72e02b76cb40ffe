/* explain.c - a plan as one readable screen of at most 100 columns. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "plan/choose/text.h"
#include "plan/report/again.h"
#include "plan/structure/supports.h"

#define COLUMNS 100
#define BAR 20
#define WHERE 19 /* of a script line */
#define NAME 38  /* of a buffer */
#define OFFER 90 /* of a candidate, at most */
#define MOST_BUFFERS 8
#define MOST_INPUTS 4
#define MOST_STREAMED 4
#define MOST_AT_HOME 6
#define MOST_BARS 12
#define MOST_OFFERS 8
#define SMALLEST 200 /* buffers below this part of the peak are only counted */

/* header */

/* Returns the columns used. */
static int say_outputs (const gb_plan *p, FILE *f) {
  const size_t shown = p->request.nouts > 3 ? 2 : p->request.nouts;
  char shape[GB_SHAPE_TEXT];
  int width = 0;
  for (size_t i = 0; i < shown; i++) {
    const gb_node *n = p->request.out[i];
    const char *name = *n->name ? n->name : gb_ops[n->op].name;
    fputs(i == 0 ? "" : ", ", f);
    gb_put(f, name, gb_width(name, 24));
    width += gb_width(name, 24) + (i == 0 ? 0 : 2);
    width += fprintf(f, " %s %s", gb_shape_text(gb_node_shape(n), shape), gb_dtype_name(gb_node_dtype(n)));
  }
  if (p->request.nouts > shown) width += fprintf(f, " and %zu more", p->request.nouts - shown);
  return width;
}

static void say_header (const gb_plan *p, FILE *f) {
  const gb_plan_report *r = &p->report;
  const char *where = p->request.nouts > 0 ? gb_short_where(p->request.out[0]->where, 30) : "";
  fputs("plan    ", f);
  if (8 + say_outputs(p, f) + 26 + gb_width(where, 30) > COLUMNS) fputs("\n     ", f);
  fprintf(f, "   %d step%s, exact=%s", r->nsteps, r->nsteps == 1 ? "" : "s",
          p->request.options.math ? "math" : "bits");
  if (*where) fputs("   ", f);
  gb_put(f, where, gb_width(where, 30));
  fputc('\n', f);
}

/* What a run takes of one device. */
typedef struct taken {
  const char *name;
  size_t budget, peak, arena, outputs, caches, held, lower_bound;
} taken;

static taken taken_of (const gb_plan *p, int device) {
  const gb_plan_report *r = &p->report;
  const gb_abroad *a = &p->choice.place->abroad[device];
  const gb_device *dev = gb_graph_device(p->request.graph, device);
  if (device > 0)
    return (taken){dev->name, gb_ledger_room(&dev->ledger),      a->peak, a->arena, a->outputs, 0,
                   0,         gb_add_sizes(a->bound, a->outputs)};
  return (taken){dev->name, r->budget, r->peak, r->arena, r->outputs, r->caches, r->held, r->lower_bound};
}

static void say_device (const gb_plan *p, int device, FILE *f) {
  const taken t = taken_of(p, device);
  char a[GB_BYTES_TEXT];
  fprintf(f, "%-7s budget %s", t.name, gb_size_text(t.budget, a));
  fprintf(f, " = %s arena", gb_size_text(t.arena, a));
  fprintf(f, " + %s outputs", gb_size_text(t.outputs, a));
  if (device == 0) fprintf(f, " + %s caches", gb_size_text(t.caches, a));
  if (t.held > 0) fprintf(f, "\n        + %s in existing caches", gb_size_text(t.held, a));
  const size_t used = gb_add_sizes(t.peak, t.held);
  fprintf(f, " + %s unused\n", gb_size_text(t.budget > used ? t.budget - used : 0, a));
}

static bool is_on_several (const gb_plan *p) { return p->prog->low->ndevices > 1; }

static int peak_place (const gb_plan *p, const size_t *live) {
  int at = -1;
  for (int t = 0; t < p->choice.place->nplaces; t++)
    if (p->choice.place->runs[p->choice.place->order[t]] && (at < 0 || live[t] > live[at])) at = t;
  return at;
}

static void say_peak (const gb_plan *p, int device, const size_t *live, FILE *f) {
  const taken r = taken_of(p, device);
  const int at = peak_place(p, live);
  char a[GB_BYTES_TEXT], b[GB_BYTES_TEXT];
  fprintf(f, "peak    %s", gb_size_text(r.peak, a));
  if (is_on_several(p)) fprintf(f, " on %s", r.name);
  if (at >= 0) {
    const char *what = p->prog->low->step[p->choice.place->order[at]].what;
    fprintf(f, " at step %d \"", p->number[at] + 1);
    gb_put(f, what, gb_width(what, 22));
    fputc('"', f);
  }
  const double lost = r.peak == 0 ? 0 : (double)(r.peak - r.lower_bound) / (double)r.peak;
  fprintf(f, ", lower bound %s, fragmentation %.2f %%\n", gb_size_text(r.lower_bound, b), 100 * lost);
}

/* buffers */

static int by_size (const void *a, const void *b) {
  const gb_plan_row *x = *(const gb_plan_row *const *)a, *y = *(const gb_plan_row *const *)b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return (x > y) - (x < y);
}

/* "mul, then cholesky" and "300x1024 f64": what there is of a window is shown. */
static void name_row (const gb_plan_row *r, char *name, size_t room, char *kind, size_t most) {
  char shape[GB_SHAPE_TEXT];
  const gb_shape held = gb_row_shape(r);
  name[0] = kind[0] = '\0';
  if (r->cls == GB_ROW_WORKSPACE || r->cls == GB_ROW_STATE) {
    gb_append(name, room, "%s of step %d", r->what, r->step + 1);
    if (*r->device != '\0') gb_append(kind, most, " on %s", r->device);
    return;
  }
  gb_append(name, room, "%s%s%s", r->was, *r->was ? ", then " : "", r->what);
  gb_append(kind, most, " %s %s%s", gb_shape_text(&held, shape), gb_dtype_name(r->dtype),
            r->packed       ? " packed"
            : r->window > 0 ? " a window"
                            : "");
  if (*r->device != '\0') gb_append(kind, most, " on %s", r->device);
}

static void time_row (const gb_plan_row *r, char *text, size_t room) {
  const bool stays = r->cls == GB_ROW_OUTPUT || r->cls == GB_ROW_CACHE;
  text[0] = '\0';
  if (stays) gb_append(text, room, "from step %d", r->first + 1);
  else if (r->first == r->last) gb_append(text, room, "step %d", r->first + 1);
  else gb_append(text, room, "steps %d..%d", r->first + 1, r->last + 1);
}

static void say_row (const gb_plan_row *r, FILE *f) {
  char size[GB_BYTES_TEXT], name[GB_ROW_TEXT], kind[GB_ROW_TEXT], when[GB_ROW_TEXT];
  name_row(r, name, sizeof name, kind, sizeof kind);
  time_row(r, when, sizeof when);
  fprintf(f, "  %10s  %-9s  ", gb_size_text(r->bytes, size), gb_row_class_name(r->cls));
  const int left = gb_width(name, NAME - gb_width(kind, NAME - 8));
  gb_put(f, name, left);
  gb_put(f, kind, NAME - left);
  fputs("  ", f);
  const char *where = gb_short_where(r->where, WHERE);
  fprintf(f, *where ? "%-14s  " : "%s", when);
  gb_put(f, where, gb_width(where, WHERE));
  fputc('\n', f);
}

/* The largest rows of inputs, or of all others. */
static bool say_rows (const gb_plan *p, bool inputs, int most, FILE *f) {
  const gb_plan_row **order = calloc((size_t)p->report.nrows + 1, sizeof *order);
  if (order == NULL) return false;
  int n = 0, shown = 0;
  size_t rest = 0;
  char size[GB_BYTES_TEXT];
  for (int i = 0; i < p->report.nrows; i++)
    if ((p->row[i].cls == GB_ROW_INPUT) == inputs) order[n++] = &p->row[i];
  qsort(order, (size_t)n, sizeof *order, by_size);
  if (n > 0)
    fputs(inputs ? "inputs  they exist already, pinned or cached: not part of the peak\n" : "buffers\n", f);
  while (shown < n && shown < most && (shown == 0 || order[shown]->bytes > p->report.peak / SMALLEST))
    say_row(order[shown++], f);
  for (int i = shown; i < n; i++) rest = gb_add_sizes(rest, order[i]->bytes);
  if (n > shown) fprintf(f, "  %10s  in %d more\n", gb_size_text(rest, size), n - shown);
  free(order);
  return true;
}

static void say_streamed (const gb_plan *p, FILE *f) {
  int n = 0;
  for (int t = 0; t < p->choice.place->nplaces; t++) {
    const int s = p->choice.place->order[t];
    const gb_step *st = &p->prog->low->step[s];
    const size_t bytes = p->choice.place->runs[s] ? gb_streamed_bytes(p, st) : 0;
    char shape[GB_SHAPE_TEXT], size[GB_BYTES_TEXT];
    if (bytes == 0 || *gb_streamed_text(st, shape) == '\0' || n++ >= MOST_STREAMED) continue;
    if (n == 1) fputs("streamed, never stored\n", f);
    fprintf(f, "  %10s  %s in step %d%s%s\n", gb_size_text(bytes, size), shape, p->number[t] + 1,
            *st->full_where ? "   " : "", gb_short_where(st->full_where, 30));
  }
  if (n > MOST_STREAMED) fprintf(f, "              in %d more steps\n", n - MOST_STREAMED);
  if (n > 1) fprintf(f, "              each of the %d steps computes its own\n", n);
}

/* Steps that the device of their values does not run. */
static void say_home (const gb_plan *p, FILE *f) {
  const gb_placement *pl = p->choice.place;
  int n = 0;
  for (int t = 0; t < pl->nplaces; t++) {
    const gb_step *st = &p->prog->low->step[pl->order[t]];
    char what[GB_LACK_TEXT];
    if (!pl->runs[pl->order[t]] || !gb_step_is_home(st) || n++ >= MOST_AT_HOME) continue;
    if (n == 1) fputs("computed at home\n", f);
    fprintf(f, "  step %d: ", p->number[t] + 1);
    gb_lack_text(st, st->lack, what);
    gb_put(f, what, gb_width(what, 40));
    fprintf(f, " runs on %s, not on %s: %.80s\n", gb_graph_device(p->request.graph, st->device)->name,
            gb_graph_device(p->request.graph, st->asked)->name, st->lack.why);
  }
  if (n > MOST_AT_HOME) fprintf(f, "  and %d more steps\n", n - MOST_AT_HOME);
}

/* time */

static void say_loop (const gb_plan *p, const gb_loop *loop, FILE *f) {
  const gb_placement *pl = p->choice.place;
  char axis[GB_AXIS_TEXT];
  const size_t n = gb_window_count(p);
  const int first = p->number[loop->first] + 1, last = p->number[loop->last + 1];
  if (first == last) fprintf(f, "  step %d", first);
  else fprintf(f, "  steps %d to %d", first, last);
  fprintf(f, " in %zu window%s of %zu of %zu along %s\n", n, n == 1 ? "" : "s", pl->chunk, pl->tiling->extent,
          gb_axis_text(p, pl->tiling, axis));
  if (loop == pl->loop && pl->tiling->coupled >= 0)
    fprintf(f, "  but not \"%.60s\", which needs all of it at once\n",
            p->prog->low->step[pl->tiling->coupled].what);
}

/* The steps at places first .. last, of which at least one runs: how much is live at most, and in which of
** them. */
static void say_bar (const gb_plan *p, const size_t *live, size_t peak, int first, int last, FILE *f) {
  const gb_placement *pl = p->choice.place;
  int at = -1;
  for (int t = first; t <= last; t++)
    if (pl->runs[pl->order[t]] && (at < 0 || live[t] > live[at])) at = t;
  const gb_step *st = &p->prog->low->step[pl->order[at]];
  const char *where = gb_short_where(gb_plan_where(p, st->out[0]), WHERE);
  const int from = p->number[first] + 1, to = p->number[last + 1];
  char label[GB_ROW_TEXT] = "", size[GB_BYTES_TEXT], bar[BAR + 1];
  const int n = (int)((double)live[at] / (double)peak * BAR + 0.5);
  memset(bar, '#', (size_t)n);
  memset(bar + n, '.', (size_t)(BAR - n));
  bar[BAR] = '\0';
  gb_append(label, sizeof label, from == to ? "%d" : "%d..%d", from, to);
  fprintf(f, "  %9s  |%s| %10s  ", label, bar, gb_size_text(live[at], size));
  if (*where) {
    gb_put(f, st->what, 31);
    fputs("  ", f);
    gb_put(f, where, gb_width(where, WHERE));
  } else gb_put(f, st->what, gb_width(st->what, 31));
  fputc('\n', f);
}

/* The last of the places from t on that share a line: so many running steps, and none beyond a loop's
** ends. */
static int end_of_bar (const gb_plan *p, int t, int share) {
  const gb_placement *pl = p->choice.place;
  const bool loops = gb_window_count(p) > 0;
  int last = t;
  while (last + 1 < pl->nplaces && p->number[last + 2] - p->number[t] <= share &&
         !(loops && gb_loop_at(pl, last + 1) != gb_loop_at(pl, t)))
    last++;
  return last;
}

/* A line a step; where there are many, a line for several. */
static void say_time (const gb_plan *p, int device, const size_t *live, FILE *f) {
  const gb_placement *pl = p->choice.place;
  const int top = peak_place(p, live), share = (pl->nrun + MOST_BARS - 1) / MOST_BARS;
  if (top < 0 || live[top] == 0) return;
  char size[GB_BYTES_TEXT];
  fputs("memory held", f);
  if (is_on_several(p)) fprintf(f, " on %s", gb_graph_device(p->request.graph, device)->name);
  fprintf(f, " over time, by step; # up to %s\n", gb_size_text(live[top], size));
  for (int t = 0; t < pl->nplaces;) {
    const int last = end_of_bar(p, t, share), k = gb_loop_at(pl, t);
    if (k >= 0 && t == pl->loop[k].first && gb_window_count(p) > 0 && !gb_loop_is_idle(p, k))
      say_loop(p, &pl->loop[k], f);
    if (p->number[last + 1] > p->number[t]) say_bar(p, live, live[top], t, last, f);
    t = last + 1;
  }
}

/* candidates */

static void say_offer (const gb_plan_report *r, const gb_candidate *o, FILE *f) {
  char size[GB_BYTES_TEXT];
  fprintf(f, "  %-6s  ", o->chosen ? "chosen" : o->fits ? " also" : " no");
  const int width = gb_width(o->name, OFFER);
  gb_put(f, o->name, width < 44 ? 44 : width);
  fprintf(f, "  %10s", gb_size_text(o->need, size));
  if (o->seconds > 0 && o->short_of == NULL) fprintf(f, "   ~%.2g s", o->seconds);
  if (o->short_of != NULL) fprintf(f, "   over by %s on %s", gb_size_text(o->over, size), o->short_of);
  else if (o->need > r->budget)
    fprintf(f, "   over by %s", gb_size_text(o->need == SIZE_MAX ? SIZE_MAX : o->need - r->budget, size));
  fputc('\n', f);
}

/* No budget chooses it, as far as is known; one that another device is short of would be chosen with more there. */
static bool is_needless (const gb_plan_report *r, int at) {
  if (r->candidate[at].short_of != NULL) return false;
  if (r->timed) {
    for (int i = 0; i < r->ncandidates; i++)
      if (gb_offer_at(r, r->candidate[i].need) == &r->candidate[at]) return false;
    return true;
  }
  for (int i = 0; i < at; i++)
    if (r->candidate[i].need <= r->candidate[at].need) return true;
  return false;
}

/* Of the windows along one axis the largest and the smallest. */
static bool is_telling (const gb_plan_report *r, int at) {
  const gb_candidate *o = &r->candidate[at];
  int first = -1, last = -1;
  if (o->tiling == NULL && o->rows == 0) return true;
  for (int i = 0; i < r->ncandidates; i++) {
    const gb_candidate *other = &r->candidate[i];
    if (other->tiling != o->tiling || (other->rows > 0) != (o->rows > 0) || other->packed != o->packed ||
        other->chosen || is_needless(r, i))
      continue;
    if (first < 0) first = i;
    last = i;
  }
  return at == first || at == last;
}

static void say_offers (const gb_plan *p, FILE *f) {
  const gb_plan_report *r = &p->report;
  const gb_device *unpriced = gb_plan_unpriced(p);
  int shown = 0, needless = 0, more = 0;
  if (r->ncandidates > 0) {
    fprintf(f, "realisations, %s", p->request.options.math ? "equal up to rounding" : "all of the same bits");
    if (is_on_several(p)) fprintf(f, ", with their bytes on %s", gb_plan_home(p)->name);
    fputc('\n', f);
    if (unpriced != NULL) fprintf(f, "  without seconds: no prices for device %s\n", unpriced->name);
  }
  for (int i = 0; i < r->ncandidates; i++)
    if (r->candidate[i].chosen) say_offer(r, &r->candidate[i], f);
  for (int i = 0; i < r->ncandidates; i++) {
    if (r->candidate[i].chosen) continue;
    if (is_needless(r, i)) needless++;
    else if (!is_telling(r, i) || shown == MOST_OFFERS) more++;
    else {
      say_offer(r, &r->candidate[i], f);
      shown++;
    }
  }
  if (more > 0) fprintf(f, "          and %d between\n", more);
  if (needless > 0) fprintf(f, "          and %d that no budget chooses\n", needless);
}

static void name_shortly (const gb_candidate *o, char *text, size_t room) {
  text[0] = '\0';
  if (o->tiling == NULL) gb_append(text, room, "%s", o->name);
  else {
    if (o->tiling->nloops > 1) gb_append(text, room, "%d loops of ", o->tiling->nloops);
    gb_append(text, room, "windows of %zu%s", o->chunk, o->packed ? ", packed" : "");
    if (o->again > 0) gb_append(text, room, ", %d step%s again", o->again, o->again == 1 ? "" : "s");
  }
}

static void add_item (FILE *f, const char *item, int *column) {
  const int width = (int)strlen(item);
  if (*column + width > COLUMNS) {
    fputs("\n     ", f);
    *column = 5;
  }
  fputs(item, f);
  *column += width;
}

/* What would be chosen at powers of two, each choice once. */
static void say_sweep (const gb_plan_report *r, FILE *f) {
  const gb_candidate *before = NULL;
  char size[GB_BYTES_TEXT], name[GB_ROW_TEXT], item[GB_ROW_TEXT];
  int column = 5;
  for (size_t budget = 0; gb_sweep_next(r, &budget);) {
    const gb_candidate *o = gb_offer_at(r, budget);
    if (o == NULL || o == before) continue;
    name_shortly(o, name, sizeof name);
    item[0] = '\0';
    gb_append(item, sizeof item, "   %s: %s", gb_size_text(budget, size), name);
    if (o->seconds > 0) gb_append(item, sizeof item, " ~%.2g s", o->seconds);
    if (before == NULL) fputs("sweep", f);
    add_item(f, item, &column);
    before = o;
  }
  if (before != NULL) fputc('\n', f);
}

static void say_run (const char *device, size_t predicted, size_t measured, FILE *f) {
  fprintf(f, "after run%s%s: predicted %zu B, measured %zu B, difference %lld\n", *device ? " on " : "",
          device, predicted, measured, (long long)measured - (long long)predicted);
}

/* A line a device. */
static void say_measured (const gb_plan *p, FILE *f) {
  const gb_run_stats *s = &p->runs.stats;
  const gb_plan_device *d;
  if (!p->runs.ran) return;
  const int n = gb_plan_devices(p, &d);
  say_run(n > 1 ? d[0].name : "", s->predicted, s->measured, f);
  for (int i = 1; i < n; i++) say_run(d[i].name, d[i].peak, gb_plan_measured_on(p, i), f);
}

typedef void say_live (const gb_plan *p, int device, const size_t *live, FILE *f);

/* What is held on each device over time. */
static bool say_each (const gb_plan *p, say_live *say, FILE *f) {
  for (int i = 0; i < p->prog->low->ndevices; i++) {
    if (i > 0 && !gb_plan_is_on(p, i)) continue;
    size_t *live = gb_timeline(p, i);
    if (live == NULL) return false;
    say(p, i, live, f);
    free(live);
  }
  return true;
}

char *gb_plan_explain (const gb_plan *p) {
  char *text = NULL, size[GB_BYTES_TEXT];
  size_t n;
  FILE *f = open_memstream(&text, &n);
  if (f == NULL) return NULL;
  say_header(p, f);
  for (int i = 0; i < p->prog->low->ndevices; i++)
    if (i == 0 || gb_plan_is_on(p, i)) say_device(p, i, f);
  bool ok = say_each(p, say_peak, f);
  ok = ok && say_rows(p, false, MOST_BUFFERS, f) && say_rows(p, true, MOST_INPUTS, f);
  say_home(p, f);
  gb_partition_explain(p, f);
  say_streamed(p, f);
  gb_repeats_explain(p, f);
  ok = ok && say_each(p, say_time, f);
  say_offers(p, f);
  fprintf(f, "smallest budget %s", gb_size_text(p->report.minimum, size));
  fprintf(f, is_on_several(p) ? " on %s\n" : "\n", gb_plan_home(p)->name);
  if (p->report.ncandidates > 1) say_sweep(&p->report, f);
  say_measured(p, f);
  if (fclose(f) == 0 && ok) return text;
  free(text);
  return NULL;
}

char *gb_plan_programs (const gb_plan *p) {
  const gb_placement *pl = p->choice.place;
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  if (f == NULL) return NULL;
  bool ok = true;
  for (int t = 0; t < pl->nplaces; t++) {
    const gb_step *st = &p->prog->low->step[pl->order[t]];
    if (!pl->runs[pl->order[t]]) continue;
    char *program = st->is_fold ? gb_fold_dump(&st->fold) : NULL;
    ok = ok && (!st->is_fold || program != NULL);
    fprintf(f, "%d  %s\n%s", p->number[t] + 1, st->what, program == NULL ? "" : program);
    free(program);
  }
  if (fclose(f) == 0 && ok) return text;
  free(text);
  return NULL;
}
