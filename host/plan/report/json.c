/* json.c - a plan as JSON: the data of gb_plan_explain. Sizes are bytes, steps and axes count from 1; what
** is past counting or not known is null. */
#include <stdlib.h>

#include "plan/choose/text.h"
#include "plan/report/again.h"

/* Writes the comma between members of the object or list that was opened last. */
typedef struct json {
  FILE *f;
  bool inside;
} json;

static void write_string (json *j, const char *s) {
  fputc('"', j->f);
  while (*s != '\0') {
    const size_t n = gb_letter(s);
    if (*s == '"' || *s == '\\') fprintf(j->f, "\\%c", *s);
    else if (n > 0) fwrite(s, 1, n, j->f);
    else if ((unsigned char)*s < 0x80) fprintf(j->f, "\\u%04x", (unsigned)*s);
    else fputc('?', j->f);
    s += n == 0 ? 1 : n;
  }
  fputc('"', j->f);
}

static void next (json *j, const char *key) {
  if (j->inside) fputs(", ", j->f);
  j->inside = true;
  if (key == NULL) return;
  write_string(j, key);
  fputs(": ", j->f);
}

static void begin (json *j, const char *key, char bracket) {
  next(j, key);
  fputc(bracket, j->f);
  j->inside = false;
}

static void end (json *j, char bracket) {
  fputc(bracket, j->f);
  j->inside = true;
}

static void write_text (json *j, const char *key, const char *v) {
  next(j, key);
  write_string(j, v);
}

static void write_size (json *j, const char *key, size_t v) {
  next(j, key);
  if (v == SIZE_MAX) fputs("null", j->f);
  else fprintf(j->f, "%zu", v);
}

static void write_number (json *j, const char *key, double v) {
  next(j, key);
  fprintf(j->f, "%.9g", v);
}

static void write_flag (json *j, const char *key, bool v) {
  next(j, key);
  fputs(v ? "true" : "false", j->f);
}

static void write_null (json *j, const char *key) {
  next(j, key);
  fputs("null", j->f);
}

static void write_shape (json *j, const char *key, const gb_shape *s) {
  begin(j, key, '[');
  for (int k = 0; k < s->ndim; k++) write_size(j, NULL, s->dim[k]);
  end(j, ']');
}

/* the parts */

static void write_sizes (json *j, const gb_plan_report *r) {
  write_size(j, "budget", r->budget);
  write_size(j, "peak", r->peak);
  write_size(j, "arena", r->arena);
  write_size(j, "outputs", r->outputs);
  write_size(j, "caches", r->caches);
  write_size(j, "held", r->held);
  write_size(j, "lower_bound", r->lower_bound);
  write_size(j, "minimum", r->minimum);
}

static void write_results (json *j, const gb_plan *p) {
  begin(j, "results", '[');
  for (size_t i = 0; i < p->request.nouts; i++) {
    const gb_node *n = p->request.out[i];
    begin(j, NULL, '{');
    write_text(j, "what", *n->name ? n->name : gb_ops[n->op].name);
    write_text(j, "dtype", gb_dtype_name(gb_node_dtype(n)));
    write_shape(j, "shape", gb_node_shape(n));
    write_text(j, "where", n->where);
    end(j, '}');
  }
  end(j, ']');
}

static void write_device (json *j, const gb_plan *p) {
  begin(j, "device", '{');
  write_text(j, "name", p->request.graph->device->name);
  write_size(j, "threads", (size_t)p->prog->threads[0]);
  end(j, '}');
}

static void write_windows (json *j, const gb_plan *p) {
  const gb_placement *pl = p->choice.place;
  const size_t count = gb_window_count(p);
  if (count == 0) {
    write_null(j, "windows");
    return;
  }
  const gb_tiling *c = pl->tiling;
  begin(j, "windows", '{');
  write_size(j, "count", count);
  write_size(j, "of", pl->chunk);
  write_size(j, "extent", c->extent);
  write_text(j, "leaf", gb_what(p, c->leaf));
  write_size(j, "axis", (size_t)c->dim[c->leaf] + 1);
  write_size(j, "first", (size_t)p->number[pl->loop[0].first] + 1);
  write_size(j, "last", (size_t)p->number[pl->loop[pl->nloops - 1].last + 1]);
  begin(j, "loops", '[');
  for (int k = 0; k < pl->nloops; k++) {
    if (gb_loop_is_idle(p, k)) continue;
    begin(j, NULL, '{');
    write_size(j, "first", (size_t)p->number[pl->loop[k].first] + 1);
    write_size(j, "last", (size_t)p->number[pl->loop[k].last + 1]);
    end(j, '}');
  }
  end(j, ']');
  begin(j, "again", '[');
  for (gb_repeat r = {.place = -1}; gb_next_repeat(p, &r);) {
    begin(j, NULL, '{');
    write_size(j, "step", (size_t)p->number[r.place] + 1);
    write_size(j, "times", (size_t)r.times);
    write_number(j, "flops", r.flops);
    write_size(j, "whole", r.whole);
    write_size(j, "held", r.held);
    end(j, '}');
  }
  end(j, ']');
  end(j, '}');
}

static const char *when_of (const gb_plan *p, int place) {
  const gb_placement *pl = p->choice.place;
  if (gb_window_count(p) == 0) return "once";
  if (gb_loop_at(pl, place) >= 0) return "window";
  if (place < pl->loop[0].first) return "before";
  return place > pl->loop[pl->nloops - 1].last ? "after" : "between";
}

static void write_step (json *j, const gb_plan *p, const size_t *live, int place) {
  const int s = p->choice.place->order[place];
  const gb_step *st = &p->prog->low->step[s];
  char shape[GB_SHAPE_TEXT];
  begin(j, NULL, '{');
  write_size(j, "step", (size_t)p->number[place] + 1);
  write_text(j, "what", st->what);
  write_flag(j, "fold", st->is_fold);
  write_text(j, "when", when_of(p, place));
  write_size(j, "live", live[place]);
  write_size(j, "scratch", p->choice.place->scratch[place].bytes);
  write_size(j, "state", p->choice.place->state[s].bytes);
  write_size(j, "never_stored", gb_streamed_bytes(p, st));
  write_text(j, "never_stored_shape", gb_streamed_bytes(p, st) > 0 ? gb_streamed_text(st, shape) : "");
  write_text(j, "where", gb_plan_where(p, st->out[0]));
  end(j, '}');
}

static void write_steps (json *j, const gb_plan *p, const size_t *live) {
  begin(j, "steps", '[');
  for (int t = 0; t < p->choice.place->nplaces; t++)
    if (p->choice.place->runs[p->choice.place->order[t]]) write_step(j, p, live, t);
  end(j, ']');
}

static void write_row (json *j, const gb_plan_row *r) {
  const bool shaped = r->cls != GB_ROW_WORKSPACE && r->cls != GB_ROW_STATE;
  begin(j, NULL, '{');
  write_text(j, "what", r->what);
  if (*r->was) write_text(j, "overwrites", r->was);
  write_text(j, "class", gb_row_class_name(r->cls));
  if (shaped) write_text(j, "dtype", gb_dtype_name(r->dtype));
  if (shaped) write_shape(j, "shape", &r->shape);
  if (r->packed) write_flag(j, "packed", true);
  if (r->window > 0) {
    write_size(j, "window", r->window);
    write_size(j, "axis", (size_t)r->axis + 1);
  }
  write_size(j, "bytes", r->bytes);
  write_size(j, "offset", r->offset);
  write_size(j, "first", (size_t)r->first + 1);
  write_size(j, "last", (size_t)r->last + 1);
  write_text(j, "where", r->where);
  end(j, '}');
}

static void write_offers (json *j, const gb_plan_report *r) {
  begin(j, "realisations", '[');
  for (int i = 0; i < r->ncandidates; i++) {
    const gb_candidate *o = &r->candidate[i];
    begin(j, NULL, '{');
    write_text(j, "name", o->name);
    write_size(j, "need", o->need);
    if (o->chunk > 0) write_size(j, "window", o->chunk);
    write_flag(j, "packed", o->packed);
    write_flag(j, "reordered", o->reordered);
    if (o->seconds > 0) write_number(j, "seconds", o->seconds);
    write_flag(j, "fits", o->fits);
    write_flag(j, "chosen", o->chosen);
    end(j, '}');
  }
  end(j, ']');
}

static void write_sweep (json *j, const gb_plan_report *r) {
  begin(j, "sweep", '[');
  for (size_t budget = 0; gb_sweep_next(r, &budget);) {
    const gb_candidate *o = gb_offer_at(r, budget);
    if (o == NULL) continue;
    begin(j, NULL, '{');
    write_size(j, "budget", budget);
    write_text(j, "realisation", o->name);
    end(j, '}');
  }
  end(j, ']');
}

static void write_measured (json *j, const gb_plan *p) {
  if (!p->runs.ran) {
    write_null(j, "measured");
    return;
  }
  begin(j, "measured", '{');
  write_size(j, "predicted", p->runs.stats.predicted);
  write_size(j, "bytes", p->runs.stats.measured);
  write_number(j, "seconds", p->runs.stats.seconds);
  write_size(j, "pairs", (size_t)p->runs.stats.pairs);
  write_size(j, "windows", (size_t)p->runs.stats.windows);
  end(j, '}');
}

static void write_copies (json *j, const gb_plan_device *d) {
  begin(j, "copies", '[');
  for (int i = 0; i < d->ncopies; i++) {
    begin(j, NULL, '{');
    write_text(j, "what", d->copy[i].what);
    write_text(j, "from", d->copy[i].from);
    write_text(j, "to", d->copy[i].to);
    write_size(j, "bytes", d->copy[i].bytes);
    write_size(j, "times", d->copy[i].times);
    write_text(j, "where", d->copy[i].where);
    end(j, '}');
  }
  end(j, ']');
}

static void write_devices (json *j, const gb_plan *p) {
  const gb_plan_device *d;
  const int n = gb_plan_devices(p, &d);
  if (n == 0) return;
  begin(j, "devices", '[');
  for (int i = 0; i < n; i++) {
    begin(j, NULL, '{');
    write_text(j, "name", d[i].name);
    write_size(j, "budget", d[i].budget);
    write_size(j, "peak", d[i].peak);
    write_size(j, "arena", d[i].arena);
    write_size(j, "first", d[i].lo + (d[i].extent > 0));
    write_size(j, "last", d[i].hi);
    write_size(j, "window", d[i].chunk);
    write_copies(j, &d[i]);
    end(j, '}');
  }
  end(j, ']');
}

char *gb_plan_json (const gb_plan *p) {
  char *text = NULL;
  size_t n, *live = gb_timeline(p, 0);
  json j = {.f = live == NULL ? NULL : open_memstream(&text, &n)};
  if (j.f != NULL) {
    begin(&j, NULL, '{');
    write_results(&j, p);
    write_device(&j, p);
    write_text(&j, "exact", p->request.options.math ? "math" : "bits");
    write_sizes(&j, &p->report);
    write_windows(&j, p);
    write_steps(&j, p, live);
    begin(&j, "buffers", '[');
    for (int i = 0; i < p->report.nrows; i++) write_row(&j, &p->row[i]);
    end(&j, ']');
    write_offers(&j, &p->report);
    write_sweep(&j, &p->report);
    write_devices(&j, p);
    write_measured(&j, p);
    end(&j, '}');
    fputc('\n', j.f);
  }
  free(live);
  if (j.f != NULL && fclose(j.f) == 0) return text;
  free(text);
  return NULL;
}
