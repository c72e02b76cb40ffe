/* stored.c - a large value that streams elsewhere and is stored here is named, once a graph. */
#include "plan/choose/text.h"
#include "plan/run/run.h"
#include "plan/structure/cache.h"

enum { LARGE = 64 << 20, TIMES = 16 }; /* bytes; and so many times the bytes of what it is made of */

gb_status gb_stored_announce (gb_graph *g, void (*say)(const char *text), gb_error *err) {
  gb_plan_context *c = gb_context(g, err);
  if (c == NULL) return GB_ENOMEM;
  c->announce = say;
  return GB_OK;
}

/* It takes all of a matrix although there may be another way. Factorisations do not: nothing else gives their
** results. */
static bool takes_what_streams (const gb_step *st) {
  return !st->is_fold && gb_op_has(st->opaque.op, GB_TRAIT_PARTS);
}

static double bytes_whole (const gb_buf *b) { return (double)gb_shape_bytes(&b->shape, b->dtype); }

/* Made by a fold from much less, and in the arena as a whole. */
static bool is_large (const gb_choice *c, const gb_step *maker, int b) {
  const gb_placement *pl = c->place;
  if (!maker->is_fold || pl->write[b] != GB_HOME_ARENA || pl->compact[b] || pl->life[b].bytes < LARGE)
    return false;
  double sources = 0;
  for (int i = 0; i < maker->nin; i++) sources += bytes_whole(&c->plan->prog->low->buf[maker->in[i]]);
  return bytes_whole(&c->plan->prog->low->buf[b]) >= TIMES * sources;
}

static const gb_step *reader_of (const gb_choice *c, int b) {
  for (int s = 0; s < c->plan->prog->low->nsteps; s++) {
    const gb_step *st = &c->plan->prog->low->step[s];
    for (int i = 0; c->place->runs[s] && i < st->nin; i++)
      if (st->in[i] == b && takes_what_streams(st)) return st;
  }
  return NULL;
}

void gb_tell_stored (const gb_choice *c) {
  gb_plan_context *context = c->plan->request.graph->plans;
  if (context->announce == NULL || c->place->nrun == 0 || c->place->arena < LARGE) return;
  for (int s = 0; s < c->plan->prog->low->nsteps; s++) {
    const gb_step *st = &c->plan->prog->low->step[s];
    for (int i = 0; c->place->runs[s] && i < st->nout; i++) {
      const gb_step *reader = is_large(c, st, st->out[i]) ? reader_of(c, st->out[i]) : NULL;
      if (reader == NULL) continue;
      char value[GB_ROW_TEXT], text[2 * GB_ROW_TEXT] = "";
      gb_append(text, sizeof text,
                "%s is stored for %s (%s): this step takes all of it at once. explain() of the plan shows "
                "the stored values; rows or parts of it, joined later, may need less",
                gb_buffer_text(c->plan, st->out[i], value), reader->what,
                c->plan->prog->low->buf[reader->out[0]].where);
      void (*say)(const char *) = context->announce;
      context->announce = NULL;
      say(text);
      return;
    }
  }
}
