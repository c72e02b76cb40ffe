/* refuse.c - the text of a refusal: what it would take, what takes it, what would fit, and the ways out. */
#include <stdio.h>
#include <string.h>

#include "plan/text.h"

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
      if (st->in[i] == b) return st->opaque.op;
    for (int i = 0; i < st->nout; i++)
      if (st->out[i] == b) return st->opaque.op;
  }
  return GB_NOPS;
}

static bool is_direct (gb_op op) {
  return op == GB_OP_CHOLESKY || op == GB_OP_TRISOLVE || op == GB_OP_CHOL_INVERSE || op == GB_OP_LU_SOLVE ||
         op == GB_OP_LU_LOGDET;
}

static void say_way_out (const gb_plan *p, int b, char *text, size_t room) {
  const char *name = *gb_plan_name(p, b) ? gb_plan_name(p, b) : "the largest";
  const gb_op op = wanted_by(p, b);
  if (is_requested(p, b))
    gb_append(text, room,
              "\n  %.60s is dense because it was asked for whole: ask for a contraction of it (sum, matmul), "
              "a slice or its diagonal",
              name);
  else if (is_direct(op))
    gb_append(text, room, "\n  %.60s is stored because %s is a direct method: an iterative one is not, "
              "gb.solvers.cg{}:solve(A, b), or solver = \"cg\" in a model", name, gb_ops[op].name);
  else if (op != GB_NOPS)
    gb_append(text, room, "\n  %.60s is stored because %s needs all of it at once", name, gb_ops[op].name);
}

/* Tensors that live handles hold count against the limit: name the largest where they matter. */
static void say_held (const gb_ledger *l, char *text, size_t room) {
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
  gb_append(text, room, "\n  held: %s in %zu tensor%s", gb_bytes_text(bytes, size), blocks,
            blocks == 1 ? "" : "s");
  for (int i = 0; i < n; i++)
    gb_append(text, room, "%s%.40s%s%s%s%.60s%s", i == 0 ? ": " : ", ", top[i]->name,
              *top[i]->name ? " " : "", gb_bytes_text(top[i]->bytes, size), *top[i]->where ? " (" : "",
              top[i]->where, *top[i]->where ? ")" : "");
}

gb_status gb_plan_refuse (const gb_plan *p, const gb_placement *place, size_t need, size_t have,
                          size_t minimum, gb_error *err) {
  const gb_ledger *l = &p->graph->backend->ledger;
  char a[GB_BYTES_TEXT], b[GB_BYTES_TEXT], row[GB_ROW_TEXT], text[2048] = "";
  const size_t room = sizeof text;
  int largest[LISTED];
  const int n = find_largest(p, place, largest);
  gb_append(text, room, "needs %s, have %s", gb_size_text(need, a), gb_bytes_text(have, b));
  if (p->options.budget == 0) gb_append(text, room, " of %s", gb_bytes_text(l->limit, a));
  for (int i = 0; i < n; i++)
    gb_append(text, room, "%s%s", i == 0 ? "\n  largest: " : "\n           ",
              gb_buffer_text(p, largest[i], row));
  if (minimum != SIZE_MAX)
    gb_append(text, room, "\n  smallest budget that works: %s", gb_bytes_text(minimum, a));
  if (n > 0) say_way_out(p, largest[0], text, room);
  if (p->options.budget == 0) say_held(l, text, room);
  gb_fail(err, GB_EREFUSED, "%s", text);
  if (err != NULL) {
    err->need = need;
    err->have = have;
    err->minimum = minimum;
  }
  return GB_EREFUSED;
}
