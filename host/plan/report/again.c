/* again.c - what the loops of a plan compute again rather than keep: how often, at what work, and what it spares. */
#include "plan/report/again.h"

#include "plan/choose/text.h"
#include "program/work.h"

#define MOST_AGAIN 6
#define NAME 30
#define WHERE 19

static double flops_of (const gb_step *st) {
  return (st->is_fold ? gb_fold_work(&st->fold) : gb_opaque_work(&st->opaque)).flops;
}

static int times_again (const gb_placement *pl, int s) { return pl->runs[s] ? gb_loops_again(pl, s) : 0; }

gb_repeats gb_plan_repeats (const gb_plan *p) {
  const gb_placement *pl = p->choice.place;
  gb_repeats all = {0};
  for (int s = 0; s < pl->nsteps; s++) {
    const gb_step *st = &p->prog->low->step[s];
    if (!pl->runs[s]) continue;
    all.steps += times_again(pl, s);
    all.once += flops_of(st);
    all.again += times_again(pl, s) * flops_of(st);
  }
  return all;
}

bool gb_next_repeat (const gb_plan *p, gb_repeat *r) {
  const gb_placement *pl = p->choice.place;
  while (++r->place < pl->nplaces) {
    const int s = pl->order[r->place], times = times_again(pl, s);
    const gb_step *st = &p->prog->low->step[s];
    if (times == 0 || pl->place[s] != r->place) continue;
    r->buf = st->out[0];
    r->times = times;
    r->flops = times * flops_of(st);
    r->whole = r->held = 0;
    for (int k = 0; k < st->nout; k++) {
      r->whole = gb_add_sizes(r->whole, p->prog->low->buf[st->out[k]].bytes);
      r->held = gb_add_sizes(r->held, gb_planned_bytes(p, st->out[k]));
    }
    return true;
  }
  return false;
}

/* "655 Mflop" */
static char *flops_text (double flops, char text[GB_BYTES_TEXT]) {
  static const char *const unit[] = {"", "k", "M", "G", "T", "P"};
  int k = 0;
  while (flops >= 999.5 && k < 5) flops /= 1000, k++;
  text[0] = '\0';
  gb_append(text, GB_BYTES_TEXT, "%.3g %sflop", flops, unit[k]);
  return text;
}

static void say_repeat (const gb_plan *p, const gb_repeat *r, FILE *f) {
  const gb_buf *b = &p->prog->low->buf[r->buf];
  char size[GB_BYTES_TEXT], held[GB_BYTES_TEXT], flops[GB_BYTES_TEXT], shape[GB_SHAPE_TEXT];
  char name[GB_ROW_TEXT] = "", kind[GB_ROW_TEXT] = "";
  gb_append(name, sizeof name, "%s", gb_what(p, r->buf));
  gb_append(kind, sizeof kind, " %s %s", gb_shape_text(&b->shape, shape), gb_dtype_name(b->dtype));
  fprintf(f, "  %10s  ", gb_size_text(r->whole, size));
  const int left = gb_width(name, NAME - gb_width(kind, NAME - 8));
  gb_put(f, name, left);
  gb_put(f, kind, NAME - left);
  fprintf(f, "  holds %s, %d time%s again: +%s", gb_size_text(r->held, held), r->times,
          r->times == 1 ? "" : "s", flops_text(r->flops, flops));
  const char *where = gb_short_where(gb_plan_where(p, r->buf), WHERE);
  if (*where) fputs("   ", f);
  gb_put(f, where, gb_width(where, WHERE));
  fputc('\n', f);
}

void gb_repeats_explain (const gb_plan *p, FILE *f) {
  const gb_repeats all = gb_plan_repeats(p);
  char flops[GB_BYTES_TEXT];
  int n = 0;
  if (all.steps == 0) return;
  fprintf(f, "computed again by later loops, never stored whole: +%s, %.0f %% more work\n",
          flops_text(all.again, flops), all.once > 0 ? 100 * all.again / all.once : 0);
  for (gb_repeat r = {.place = -1}; gb_next_repeat(p, &r);)
    if (n++ < MOST_AGAIN) say_repeat(p, &r, f);
  if (n > MOST_AGAIN) fprintf(f, "              and %d more values\n", n - MOST_AGAIN);
}
