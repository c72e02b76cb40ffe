/* json.c - a plan as JSON: the data of gb_plan_explain. */
#include <stdio.h>
#include <stdlib.h>

#include "plan/text.h"

static void write_string (FILE *f, const char *s) {
  fputc('"', f);
  for (; *s != '\0'; s++) {
    const unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') fprintf(f, "\\%c", c);
    else if (c < 0x20) fprintf(f, "\\u%04x", c);
    else fputc(c, f);
  }
  fputc('"', f);
}

/* A size past counting is null. */
static void write_size (FILE *f, const char *key, size_t v) {
  if (v == SIZE_MAX) fprintf(f, "\"%s\": null", key);
  else fprintf(f, "\"%s\": %zu", key, v);
}

static void write_text (FILE *f, const char *key, const char *v) {
  fprintf(f, "\"%s\": ", key);
  write_string(f, v);
}

static void write_step (const gb_plan *p, int place, FILE *f) {
  const int s = p->place->order[place];
  const gb_step *st = &p->prog->low->step[s];
  fprintf(f, "{\"step\": %d, ", place + 1);
  write_text(f, "what", st->what);
  fprintf(f, ", \"fold\": %s, ", st->is_fold ? "true" : "false");
  write_size(f, "never_stored", st->is_fold ? st->full_numel : 0);
  fputs(", ", f);
  write_size(f, "scratch", p->place->scratch[s].bytes);
  fputs(", ", f);
  write_text(f, "where", gb_plan_where(p, st->out[0]));
  fputc('}', f);
}

static void write_row (const gb_plan_row *r, FILE *f) {
  static const char *const names[] = {
      [GB_BUF_LEAF] = "leaf", [GB_BUF_OUTPUT] = "output", [GB_BUF_CACHE] = "cache", [GB_BUF_TEMP] = "arena"};
  fputc('{', f);
  write_text(f, "what", r->what);
  fputs(", ", f);
  write_text(f, "class", names[r->cls]);
  fputs(", ", f);
  write_size(f, "bytes", r->bytes);
  fputs(", ", f);
  write_size(f, "offset", r->offset);
  fprintf(f, ", \"first\": %d, \"last\": %d, ", r->first + 1, r->last + 1);
  write_text(f, "where", r->where);
  fputc('}', f);
}

char *gb_plan_json (const gb_plan *p) {
  const gb_plan_report *r = &p->report;
  const struct { const char *key; size_t v; } sizes[] = {
    {"peak", r->peak}, {"arena", r->arena}, {"outputs", r->outputs}, {"caches", r->caches},
    {"lower_bound", r->lower_bound}, {"minimum", r->minimum}, {"budget", gb_plan_budget(p)}};
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  if (f == NULL) return NULL;
  fputc('{', f);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    write_size(f, sizes[i].key, sizes[i].v);
    fputs(",\n ", f);
  }
  fputs("\"steps\": [", f);
  bool first = true;
  for (int t = 0; t < p->place->nsteps; t++) {
    if (!p->place->runs[p->place->order[t]]) continue;
    fputs(first ? "\n  " : ",\n  ", f);
    first = false;
    write_step(p, t, f);
  }
  fputs("],\n \"buffers\": [", f);
  for (int i = 0; i < r->nrows; i++) {
    fputs(i == 0 ? "\n  " : ",\n  ", f);
    write_row(&r->row[i], f);
  }
  fputs("]}\n", f);
  if (fclose(f) != 0) {
    free(text);
    return NULL;
  }
  return text;
}
