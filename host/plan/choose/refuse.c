/* refuse.c - the text of a refusal: what it would take, what takes it, what would fit, what cannot be
** split, and the ways out. */
#include <string.h>

#include "plan/choose/text.h"

#define LISTED 3

static size_t planned_bytes (const gb_plan *p, const gb_placement *place, int b) {
  const int home = place->write[b];
  return home == GB_HOME_NONE || home == GB_HOME_SHARED ? 0 : p->prog->low->buf[b].bytes;
}

/* The largest values of the placement, largest first, ties in order of steps. */
static int find_largest (const gb_plan *p, const gb_placement *place, int largest[LISTED]) {
  int n = 0;
  for (int b = 0; b < place->nbufs; b++) {
    if (planned_bytes(p, place, b) == 0) continue;
    int at = n;
    while (at > 0 && planned_bytes(p, place, largest[at - 1]) < planned_bytes(p, place, b)) at--;
    if (at == LISTED) continue;
    if (n < LISTED) n++;
    memmove(largest + at + 1, largest + at, (size_t)(n - at - 1) * sizeof *largest);
    largest[at] = b;
  }
  return n;
}

/* The place of the step that needs most scratch, where that is more than 'bytes'; else -1. */
static int find_scratch (const gb_placement *place, size_t bytes) {
  int at = -1;
  for (int s = 0; s < place->nsteps; s++) {
    const int t = place->place[s];
    if (place->runs[s] && place->scratch[t].bytes > (at < 0 ? bytes : place->scratch[at].bytes)) at = t;
  }
  return at;
}

static bool is_requested (const gb_plan *p, int b) {
  for (int i = 0; i < p->prog->low->nouts; i++)
    if (p->prog->low->out[i] == b) return true;
  return false;
}

/* The op that wants b whole, GB_NOPS where none does. */
static gb_op wanted_by (const gb_plan *p, int b) {
  for (int s = 0; s < p->prog->low->nsteps; s++) {
    const gb_step *st = &p->prog->low->step[s];
    if (st->is_fold) continue;
    for (int i = 0; i < st->nin; i++)
      if (st->in[i] == b) return st->added ? wanted_by(p, st->out[0]) : st->opaque.op;
    for (int i = 0; i < st->nout && !st->added; i++)
      if (st->out[i] == b) return st->opaque.op;
  }
  return GB_NOPS;
}

/* A refusal as it is written: the message, and the ways out, a line each. */
typedef struct refusal {
  char text[2048], options[1024];
} refusal;

/* A way out is told twice, for people and for programs. */
static void add_option (refusal *r, const char *option) {
  gb_append(r->text, sizeof r->text, "\n  %s", option);
  if (strlen(r->options) + strlen(option) + 2 < sizeof r->options)
    gb_append(r->options, sizeof r->options, "%s\n", option);
}

static void say_way_out (const gb_plan *p, int b, refusal *r) {
  char size[GB_BYTES_TEXT], text[512] = "";
  const char *name = *gb_plan_name(p, b) ? gb_plan_name(p, b) : "the largest";
  const gb_op op = wanted_by(p, b);
  gb_size_text(p->prog->low->buf[b].bytes, size);
  if (is_requested(p, b))
    gb_append(
        text, sizeof text,
        "%.60s is dense (%s) because it was asked for whole: ask for a contraction of it (sum, matmul), "
        "a slice or its diagonal",
        name, size);
  else if (op != GB_NOPS && gb_op_has(op, GB_TRAIT_DIRECT))
    gb_append(text, sizeof text,
              "%.60s is stored (%s) because %s is a direct method: an iterative one is not, "
              "gb.solvers.cg{}:solve(A, b), or solver = \"cg\" in a model",
              name, size, gb_ops[op].name);
  else if (op != GB_NOPS)
    gb_append(text, sizeof text, "%.60s is stored (%s) because %s needs all of it at once", name, size,
              gb_ops[op].name);
  if (*text) add_option(r, text);
}

/* The largest values, and scratch that is larger still. */
static void say_largest (const gb_plan *p, const gb_placement *place, int n, const int *largest, refusal *r) {
  char row[GB_ROW_TEXT], size[GB_BYTES_TEXT];
  const int at = find_scratch(place, n > 0 ? planned_bytes(p, place, largest[0]) : 0);
  const char *head = "\n  largest: ";
  if (at >= 0) {
    const gb_step *st = &p->prog->low->step[place->order[at]];
    const char *where = gb_plan_where(p, st->out[0]);
    gb_append(r->text, sizeof r->text, "%sscratch of %.60s %s%s%.80s%s", head, st->what,
              gb_size_text(place->scratch[at].bytes, size), *where ? " (" : "", where, *where ? ")" : "");
    head = "\n           ";
  }
  for (int i = 0; i < n; i++, head = "\n           ")
    gb_append(r->text, sizeof r->text, "%s%s", head, gb_buffer_text(p, largest[i], row));
}

/* No limit of the device gives that many bytes. */
static bool say_too_large (const gb_device *dev, size_t bytes, refusal *r) {
  char has[GB_BYTES_TEXT], text[128] = "";
  const size_t most = gb_memory_capacity(&dev->memory);
  if (bytes <= most) return false;
  gb_append(text, sizeof text, "it does not fit the device: %s has %s", dev->name, gb_bytes_text(most, has));
  add_option(r, text);
  return true;
}

static void say_budgets (const gb_plan *p, const gb_placement *place, size_t need, size_t minimum,
                         refusal *r) {
  char size[GB_BYTES_TEXT], form[GB_FORM_TEXT], text[512] = "";
  if (minimum == SIZE_MAX || say_too_large(gb_plan_home(p), minimum, r)) return;
  gb_append(text, sizeof text, "smallest budget that works: %s (%zu bytes)", gb_bytes_text(minimum, size),
            minimum);
  if (strcmp(gb_form_text(p, place, form), "whole") != 0) gb_append(text, sizeof text, ": %s", form);
  add_option(r, text);
  if (need == minimum || need == SIZE_MAX || need > gb_memory_capacity(&gb_plan_home(p)->memory)) return;
  text[0] = '\0';
  gb_append(text, sizeof text, "with %s (%zu bytes) it runs as a whole", gb_bytes_text(need, size), need);
  add_option(r, text);
}

/* what cannot be split */

/* The first step that reads a leaf whose axis was named to be cut, -1: no axis was named. */
static int reader_of_batch (const gb_plan *p, int *leaf) {
  const gb_lowered *low = p->prog->low;
  for (int s = 0; s < low->nsteps; s++)
    for (int i = 0; i < low->step[s].nin; i++) {
      const gb_buf *buf = &low->buf[low->step[s].in[i]];
      const int axis = p->request.node[buf->source]->batch;
      if (buf->cls != GB_BUF_LEAF || axis < 1 || buf->shape.dim[axis - 1] < 2) continue;
      *leaf = low->step[s].in[i];
      return s;
    }
  return -1;
}

static void say_step_that_couples (const gb_plan *p, int s, const char *axis, size_t extent, refusal *r) {
  const gb_step *st = &p->prog->low->step[s];
  const char *where = gb_plan_where(p, st->out[0]), *name = gb_what(p, st->out[0]);
  const bool told = strstr(st->what, name) != NULL;
  gb_append(r->text, sizeof r->text,
            "\n  cannot split: %.60s%s%.40s%s%.80s%s needs all of %s (%zu) before it can begin", st->what,
            told ? "" : ": ", told ? "" : name, *where ? " (" : "", where, *where ? ")" : "", axis, extent);
}

static bool touches (const gb_step *st, int b) {
  for (int i = 0; i < st->nin + st->nout; i++)
    if ((i < st->nin ? st->in[i] : st->out[i - st->nin]) == b) return true;
  return false;
}

/* The axis that was named; or that along which the plan of least need is cut; or one that the step which
** makes or reads the largest value needs whole. */
static const gb_tiling *told_cutting (const gb_plan *p, const gb_placement *place, int largest) {
  const gb_lowered_plan *prog = p->prog;
  const gb_axes_found *found = p->request.options.math ? &prog->math : &prog->bits;
  const gb_tiling *told = prog->batch != NULL ? prog->batch : place->tiling;
  for (int i = 0; told == NULL && i < found->n; i++) {
    const int s = found->tiling[i]->coupled;
    if (s >= 0 && touches(&prog->low->step[s], largest)) told = found->tiling[i];
  }
  return told != NULL && told->coupled >= 0 && place->runs[told->coupled] ? told : NULL;
}

static void say_coupled (const gb_plan *p, const gb_placement *place, int largest, refusal *r) {
  char axis[GB_AXIS_TEXT];
  int leaf = -1;
  const int reader = p->prog->batch == NULL ? reader_of_batch(p, &leaf) : -1;
  const gb_tiling *c = told_cutting(p, place, largest);
  if (reader >= 0) {
    const int dim = p->request.node[p->prog->low->buf[leaf].source]->batch - 1;
    say_step_that_couples(p, reader, gb_dim_text(p, leaf, dim, axis), p->prog->low->buf[leaf].shape.dim[dim],
                          r);
  } else if (c != NULL) say_step_that_couples(p, c->coupled, gb_axis_text(p, c, axis), c->extent, r);
}

/* Tensors that live handles hold count against the limit: name the largest where they matter. */
static void say_held (const gb_ledger *l, refusal *r) {
  char text[512] = "";
  const gb_block *top[LISTED];
  size_t bytes = 0, blocks = 0;
  int n = 0;
  for (const gb_block *b = l->live; b != NULL; b = b->next) {
    if (b->purpose == GB_MEM_CACHE || b->bytes == 0) continue;
    bytes += b->bytes;
    blocks++;
    int at = n;
    while (at > 0 && top[at - 1]->bytes < b->bytes) at--;
    if (at == LISTED) continue;
    if (n < LISTED) n++;
    memmove(top + at + 1, top + at, (size_t)(n - at - 1) * sizeof *top);
    top[at] = b;
  }
  if (bytes < l->limit / 8) return;
  char size[GB_BYTES_TEXT];
  gb_append(text, sizeof text, "held: %s in %zu tensor%s", gb_bytes_text(bytes, size), blocks,
            blocks == 1 ? "" : "s");
  for (int i = 0; i < n; i++)
    gb_append(text, sizeof text, "%s%.40s%s%s%s%.60s%s", i == 0 ? ": " : ", ", top[i]->name,
              *top[i]->name ? " " : "", gb_bytes_text(top[i]->bytes, size), *top[i]->where ? " (" : "",
              top[i]->where, *top[i]->where ? ")" : "");
  add_option(r, text);
}

gb_status gb_choice_refuse (const gb_choice *c, const gb_placement *place, size_t need, size_t have,
                            size_t minimum, gb_error *err) {
  const gb_plan *p = c->plan;
  const gb_ledger *l = &gb_plan_home(p)->ledger;
  char a[GB_BYTES_TEXT], b[GB_BYTES_TEXT];
  refusal r = {.text = ""};
  int largest[LISTED];
  const int n = find_largest(p, place, largest);
  gb_append(r.text, sizeof r.text, "needs %s, have %s", gb_size_text(need, a), gb_bytes_text(have, b));
  if (p->request.options.budget == 0) gb_append(r.text, sizeof r.text, " of %s", gb_bytes_text(l->limit, a));
  say_largest(p, place, n, largest, &r);
  say_coupled(p, place, n > 0 ? largest[0] : -1, &r);
  size_t held = 0; /* what a limit is for beside the plan */
  if (p->request.options.budget == 0) held = gb_choice_pinned(c);
  if (p->request.options.budget == 0 && l->limit > have && l->limit - have > held) held = l->limit - have;
  if (minimum != SIZE_MAX) minimum += held;
  say_budgets(p, place, need == SIZE_MAX ? need : need + held, minimum, &r);
  if (n > 0 && planned_bytes(p, place, largest[0]) >= need / 8) say_way_out(p, largest[0], &r);
  if (p->request.options.budget == 0) say_held(l, &r);
  gb_fail(err, GB_EREFUSED, "%s", r.text);
  if (err != NULL) {
    err->need = need;
    err->have = have;
    err->minimum = minimum;
    strcpy(err->options, r.options);
  }
  return GB_EREFUSED;
}

gb_status gb_choice_refuse_abroad (const gb_choice *c, int device, size_t need, gb_error *err) {
  const gb_device *dev = gb_graph_device(c->plan->request.graph, device);
  const size_t have = gb_ledger_room(&dev->ledger);
  const size_t works = dev->ledger.used + gb_ledger_charged(&dev->ledger) +
                       need; /* more may be used than the limit */
  char least[GB_BYTES_TEXT], room[GB_BYTES_TEXT], limit[GB_BYTES_TEXT], way[256] = "";
  refusal r = {.text = ""};
  gb_append(r.text, sizeof r.text, "needs %s on %s, have %s of %s", gb_bytes_text(need, least), dev->name,
            gb_bytes_text(have, room), gb_bytes_text(dev->ledger.limit, limit));
  if (!say_too_large(dev, works, &r)) {
    gb_append(way, sizeof way, "a limit of %zu bytes on %s works: gb.memory.limit(%zu, {device = '%s'})",
              works, dev->name, works, dev->name);
    add_option(&r, way);
  }
  gb_fail(err, GB_EREFUSED, "%s", r.text);
  if (err != NULL) {
    err->need = err->minimum = need;
    err->have = have;
    strcpy(err->options, r.options);
  }
  return GB_EREFUSED;
}
