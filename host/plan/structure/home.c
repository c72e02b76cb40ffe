/* home.c - steps that their device does not run: they are computed at home, on the CPU that the device belongs to.
**
** The steps are those of a device that runs everything, so each value has the bits that it has on the CPU alone, and
** gradients, shapes and devices of results are what the graph says. Only where a step runs changes: MOVEs before it
** take its inputs home, MOVEs after it take its results to the device on which the graph has them. What home alone
** reads stays there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place/remote.h"
#include "plan/structure/supports.h"
#include "program/appendable.h"

typedef struct homing {
  gb_lowered *low;
  const gb_device *dev; /* the home */
  int home;             /* its number */
  int *copy;            /* [buffers] the one at home that has the same elements, -1: none yet */
  bool *read_there;     /* [buffers] by a step that runs on the device of the buffer */
  gb_step *step;        /* the new list */
  int nsteps;
  bool failed; /* no memory */
} homing;

/* which steps */

/* Registered ops and MOVEs are the run's own. */
static bool may_go (const gb_step *st) {
  return st->is_fold || (st->opaque.op != GB_OP_CALL && st->opaque.op != GB_OP_MOVE);
}

static bool runs_on (const gb_device *dev, const gb_step *st, gb_lack *lack) {
  return gb_device_supports(dev, st->is_fold ? &st->fold : NULL, st->is_fold ? NULL : &st->opaque, lack);
}

/* Sends steps home whose device lacks them; '*any': there are some. Steps that stay are refused later, by name. */
static gb_status send_steps (gb_graph *g, gb_lowered *low, homing *h, gb_error *err) {
  for (int s = 0; s < low->nsteps; s++) {
    gb_step *st = &low->step[s];
    gb_lack lack, none;
    gb_device *dev = gb_graph_device(g, st->device), *home = dev->home;
    if (home == NULL || !may_go(st) || runs_on(dev, st, &lack) || !runs_on(home, st, &none)) continue;
    if (h->dev == NULL) {
      GB_TRY(gb_graph_add_device(g, home, &h->home, err));
      h->dev = home;
    }
    if (h->dev != home) continue;
    st->device = h->home;
    st->lack = lack;
    if (!st->is_fold) st->opaque.unit = home->ops->block != 0 ? home->ops->block : GB_BLOCK;
  }
  return GB_OK;
}

static void find_readers (homing *h) {
  for (int s = 0; s < h->low->nsteps; s++) {
    const gb_step *st = &h->low->step[s];
    for (int i = 0; i < st->nin && !gb_step_is_home(st); i++) h->read_there[st->in[i]] = true;
  }
}

/* MOVEs */

/* A buffer at home with the elements of b. */
static int add_buffer (homing *h, int b) {
  gb_lowered *low = h->low;
  gb_buf *to = &low->buf[low->nbufs];
  *to = low->buf[b];
  to->cls = GB_BUF_TEMP;
  to->device = h->home;
  to->elsewhere = true;
  to->staged = false;
  gb_strides_of(&to->shape, to->stride);
  to->bytes = gb_shape_bytes(&to->shape, to->dtype);
  return low->nbufs++;
}

static void add_move (homing *h, int from, int to, ptrdiff_t low) {
  const gb_buf *b = &h->low->buf[to];
  gb_step *st = &h->step[h->nsteps++];
  char text[160];
  *st = (gb_step){.device = b->device,
                  .asked = b->device,
                  .added = true,
                  .opaque = {.op = GB_OP_MOVE,
                             .attr = {.i = {b->device, low}},
                             .nin = 1,
                             .nout = 1,
                             .in_dtype = {b->dtype},
                             .out_dtype = {b->dtype},
                             .in_shape = {b->shape},
                             .out_shape = {b->shape},
                             .unit = GB_BLOCK},
                  .call_source = b->source,
                  .nin = 1,
                  .nout = 1,
                  .in = malloc(sizeof *st->in),
                  .out = malloc(sizeof *st->out),
                  .full_where = ""};
  snprintf(text, sizeof text, "move%s%s", *b->name ? ": " : "", b->name);
  st->what = strdup(text);
  if (st->in == NULL || st->out == NULL || st->what == NULL) {
    h->failed = true;
    st->nin = st->nout = 0;
    return;
  }
  st->in[0] = from;
  st->out[0] = to;
}

static bool is_contiguous (const gb_buf *b) {
  ptrdiff_t stride[GB_MAXDIM];
  gb_strides_of(&b->shape, stride);
  for (int k = 0; k < b->shape.ndim; k++)
    if (b->shape.dim[k] > 1 && b->stride[k] != stride[k]) return gb_shape_numel(&b->shape) == 0;
  return true;
}

/* The copy of a growing factor: its tiles, and a table of where they lie. */
static int copy_grown (homing *h, int b) {
  if (h->copy[b] >= 0) return h->copy[b];
  const int to = h->copy[b] = add_buffer(h, b);
  gb_buf *made = &h->low->buf[to];
  made->bytes = gb_appendable_copy_bytes(made->shape.dim[0], made->dtype);
  add_move(h, b, to, 0);
  h->step[h->nsteps - 1].opaque.grown = true;
  return to;
}

/* The copy of b at home. A leaf that is not contiguous goes with all that lies between its elements, as a list. */
static int copy_home (homing *h, int b) {
  if (h->copy[b] >= 0) return h->copy[b];
  const gb_window_layout l = gb_window_layout_of(&h->low->buf[b], -1);
  const bool whole = is_contiguous(&h->low->buf[b]);
  const int to = h->copy[b] = add_buffer(h, b);
  gb_buf *made = &h->low->buf[to];
  if (!whole) {
    made->shape = gb_shape_of(1, &l.span);
    gb_strides_of(&made->shape, made->stride);
    made->bytes = gb_shape_bytes(&made->shape, made->dtype);
  }
  add_move(h, b, to, whole ? 0 : l.low);
  return to;
}

/* Addresses in a list count from its first element, not from element (0, ..., 0) of the leaf. */
static void shift_operands (gb_step *st, int slot, ptrdiff_t low) {
  for (int i = 0; st->is_fold && i < st->fold.noperands; i++)
    if (st->fold.operand[i].slot == slot) st->fold.operand[i].offset -= low;
}

static void take_inputs (homing *h, gb_step *st) {
  for (int i = 0; i < st->nin; i++) {
    const int b = st->in[i];
    if (h->low->buf[b].device == h->home) continue;
    if (!st->is_fold && st->opaque.grown && i == 0) {
      st->in[i] = copy_grown(h, b);
      continue;
    }
    if (!is_contiguous(&h->low->buf[b])) shift_operands(st, i, gb_window_layout_of(&h->low->buf[b], -1).low);
    st->in[i] = copy_home(h, b);
  }
}

/* Results that home alone reads stay there. One that later plans may find is read from where they find it. */
static void give_result (homing *h, int *result) {
  const int b = *result;
  gb_buf *buf = &h->low->buf[b];
  if (buf->cls == GB_BUF_TEMP && !h->read_there[b]) {
    buf->device = h->home;
    buf->elsewhere = true;
    return;
  }
  *result = add_buffer(h, b);
  add_move(h, *result, b, 0);
  if (buf->cls != GB_BUF_CACHE) h->copy[b] = *result;
}

static void write_steps (homing *h) {
  for (int s = 0; s < h->low->nsteps; s++) {
    gb_step st = h->low->step[s];
    const bool is_home = gb_step_is_home(&st);
    if (is_home) take_inputs(h, &st);
    h->step[h->nsteps++] = st;
    for (int k = 0; is_home && k < st.nout; k++) give_result(h, &st.out[k]);
  }
}

/* Room for a MOVE, and a buffer, of each input and each result of the steps that go home. */
static bool make_room (homing *h) {
  gb_lowered *low = h->low;
  size_t most = 1;
  for (int s = 0; s < low->nsteps; s++)
    if (gb_step_is_home(&low->step[s])) most += (size_t)(low->step[s].nin + low->step[s].nout);
  const size_t nbufs = (size_t)low->nbufs + most;
  gb_buf *buf = realloc(low->buf, nbufs * sizeof *buf);
  if (buf != NULL) low->buf = buf;
  h->step = calloc((size_t)low->nsteps + most, sizeof *h->step);
  h->copy = malloc(nbufs * sizeof *h->copy);
  h->read_there = calloc(nbufs, sizeof *h->read_there);
  for (size_t b = 0; h->copy != NULL && b < nbufs; b++) h->copy[b] = -1;
  return buf != NULL && h->step != NULL && h->copy != NULL && h->read_there != NULL;
}

/* Registered ops have memory at home, too. */
static gb_status find_home_of_calls (gb_graph *g, gb_lowered *low, gb_error *err) {
  gb_device *home = gb_graph_device(g, 0)->home;
  bool any = false;
  for (int s = 0; home != NULL && s < low->nsteps; s++) any |= gb_step_home_bytes(&low->step[s]) > 0;
  if (!any) return GB_OK;
  GB_TRY(gb_graph_add_device(g, home, &low->home, err));
  if (low->ndevices <= low->home) low->ndevices = low->home + 1;
  return GB_OK;
}

gb_status gb_lowered_bring_home (gb_graph *g, gb_lowered *low, gb_error *err) {
  homing h = {.low = low};
  GB_TRY(find_home_of_calls(g, low, err));
  GB_TRY(send_steps(g, low, &h, err));
  if (h.dev == NULL) return GB_OK;
  bool ok = make_room(&h);
  if (ok) {
    find_readers(&h);
    write_steps(&h);
    free(low->step);
    low->step = h.step;
    low->nsteps = h.nsteps;
    if (low->ndevices <= h.home) low->ndevices = h.home + 1;
    ok = !h.failed;
  } else free(h.step);
  free(h.copy);
  free(h.read_there);
  return ok ? GB_OK : gb_fail(err, GB_ENOMEM, "no memory for a plan of %d steps", low->nsteps);
}
