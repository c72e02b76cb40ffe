/* decide.c - which values are stored. A function of graph and shapes alone: neither budget nor what
** happens to have a value can change it.
**
** Leaves, results of opaque ops and requested outputs are stored; MAP, VIEW and GEN are inlined; the
** result of a REDUCE or a contraction is inlined where it has more than twice the elements of the stored
** values it is made of and either a consumer chain reduces one of its axes or consumers look at less than
** half of it (a row, a corner); squared distances and products of points also where nothing is reduced, so
** that a dense kernel matrix is stored once, with the bits of a streamed one. Long chains are cut, so that
** no region is deep.
**
** Nothing is inlined where each of its elements would compute others again: a product of what streams is a
** step of its own, which computes an element of either operand once, and so is a reduction whose result is
** spread along the next one. They are then staged: the step makes the whole of the value or a window at a
** time, and to its consumers it is still a value that streams, of the sources it is made of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lower/internal.h"

enum { DEEPEST = 400 }; /* nodes of one region on top of each other */

/* A number, a range or an identity is written down anew wherever it is used, whether or not someone looked
** at it. */
static bool is_written (const gb_node *n) {
  return n->op == GB_OP_CONST || n->op == GB_OP_RANGE || n->op == GB_OP_EYE;
}

/* A random value is the same whether or not someone looked at it, too, until its history is ended. */
static bool is_drawn (const gb_node *n) { return n->op == GB_OP_RAND || n->op == GB_OP_RANDN; }

bool gb_is_leaf (const gb_node *n) {
  if (n->op == GB_OP_LEAF || (n->flags & GB_NODE_HELD) != 0) return true;
  if (n->nin > 0 || !gb_node_has_value(n) || is_written(n)) return false;
  return !is_drawn(n) || (n->flags & GB_NODE_ENDED) != 0;
}

static gb_kind kind_of (const gb_node *n) { return gb_is_leaf(n) ? GB_KIND_LEAF : gb_ops[n->op].kind; }

static double numel (const gb_node *n) { return (double)gb_shape_numel(gb_node_shape(n)); }

/* What consumers reduce */

static unsigned grown_dims (const gb_shape *s) { /* dimensions with more than one index */
  unsigned d = 0;
  for (int i = 0; i < s->ndim; i++)
    if (s->dim[i] > 1) d |= 1u << i;
  return d;
}

static unsigned through_view (const gb_node *v, unsigned mask) {
  const gb_shape *view = gb_node_shape(v), *in = gb_node_shape(v->in[0]);
  const unsigned at = (unsigned)v->attr.i[0], low = (1u << at) - 1;
  unsigned out = 0;
  switch (v->op) {
    case GB_OP_UNSQUEEZE: return (mask & low) | (mask >> 1 & ~low);
    case GB_OP_SQUEEZE: return (mask & low) | (mask & ~low) << 1;
    case GB_OP_PERMUTE:
      for (int i = 0; i < view->ndim; i++)
        if (mask >> i & 1) out |= 1u << v->attr.i[i];
      return out;
    case GB_OP_EXPAND: return mask >> (view->ndim - in->ndim) & grown_dims(in);
    case GB_OP_DIAGONAL: return mask | (mask >> (view->ndim - 1) & 1) << (in->ndim - 1);
    case GB_OP_RESHAPE: return mask != 0 ? grown_dims(in) : 0;
    default: return mask;
  }
}

/* Tells the inputs of n which of their dimensions n or what is above it reduces, and how many of their
** elements it visits. */
static void push_down (gb_lower_state *s, const gb_node *n) {
  const unsigned above = s->decision[n->index].reduced_above;
  const int nd = gb_node_shape(n)->ndim;
  const gb_kind kind = n->op == GB_OP_CAST && !gb_is_leaf(n) ? GB_KIND_MAP : kind_of(n);
  const bool elementwise = kind == GB_KIND_MAP || (kind == GB_KIND_VIEW && n->op != GB_OP_PICK);
  for (int i = 0; i < gb_node_reads(n); i++) {
    const gb_shape *in = gb_node_shape(n->in[i]);
    unsigned *to = &s->decision[n->in[i]->index].reduced_above;
    const double seen = s->decision[n->index].visited, all = numel(n->in[i]);
    s->decision[n->in[i]->index].visited += elementwise && seen < all ? seen : all;
    const double reads = elementwise ? s->decision[n->index].read : all;
    if (reads > s->decision[n->in[i]->index].read) s->decision[n->in[i]->index].read = reads;
    switch (kind) {
      case GB_KIND_MAP: *to |= above >> (nd - in->ndim) & grown_dims(in); break;
      case GB_KIND_VIEW: *to |= n->op == GB_OP_PICK ? 0 : through_view(n, above); break;
      case GB_KIND_REDUCE:
        *to |= (n->op == GB_OP_KMIN ? 1u << (in->ndim - 1) : (unsigned)n->attr.i[0]) & grown_dims(in);
        break;
      case GB_KIND_FOLD:
        if (n->op == GB_OP_MATMUL) *to |= 1u << (in->ndim - 1 - i) & grown_dims(in);
        else if (n->op == GB_OP_DIFFMV && i == 0) *to |= 1u << (in->ndim - 1) & grown_dims(in);
        break;
      default: break;
    }
  }
}

/* What a value is made of */

/* Of all outputs: the vectors of an eigendecomposition are not few because its values are. */
static double numel_of_outputs (const gb_node *n) {
  double all = 0;
  for (int k = 0; k < n->nout; k++) all += (double)gb_shape_numel(&n->out[k].shape);
  return all;
}

static void add_source (const gb_lower_state *s, gb_decision *d, size_t source) {
  for (int i = 0; i < d->nsources; i++)
    if (d->source[i] == source) return;
  d->source_numel += numel_of_outputs(s->order[source]);
  if (d->nsources >= 0 && d->nsources < GB_SOURCES) d->source[d->nsources++] = source;
  else d->nsources = -1;
}

static void add_sources (const gb_lower_state *s, gb_decision *d, const gb_node *in) {
  const gb_decision *from = &s->decision[in->index];
  if (from->stored && !from->staged) add_source(s, d, in->index);
  else if (from->nsources >= 0)
    for (int i = 0; i < from->nsources; i++) add_source(s, d, from->source[i]);
  else { /* too many to name: counted again at worst */ d->source_numel += from->source_numel;
    d->nsources = -1;
  }
}

static bool may_inline (const gb_node *n) {
  switch (n->op) {
    case GB_OP_SUM:
    case GB_OP_PROD:
    case GB_OP_MIN:
    case GB_OP_MAX:
    case GB_OP_LOGSUMEXP:
    case GB_OP_ANY:
    case GB_OP_ALL:
    case GB_OP_MATMUL:
    case GB_OP_SQDIST: return true;
    default: return false;
  }
}

static double widest (const gb_lower_state *s, const gb_node *n) {
  const gb_shape *shape = gb_node_shape(n);
  double most = 0;
  for (int i = 0; i < gb_node_reads(n); i++)
    if (s->decision[n->in[i]->index].widest > most) most = s->decision[n->in[i]->index].widest;
  for (int i = 0; gb_node_reads(n) == 0 && i < shape->ndim; i++)
    if ((double)shape->dim[i] > most) most = (double)shape->dim[i];
  return most;
}

/* Products of points, as squared distances: with the same sum whether stored or streamed. Not products of
** what streams: each column of theirs would compute that again. */
static bool is_pairwise (const gb_lower_state *s, const gb_node *n) {
  if (n->op != GB_OP_MATMUL) return n->op == GB_OP_SQDIST;
  return numel(n) > 2 * s->decision[n->index].source_numel && !gb_streams(s, n->in[0]) &&
         !gb_streams(s, n->in[1]);
}

/* Inlined, each element of the one operand would be computed again for all columns, and of the other for
** all rows. */
static bool repeats_operands (const gb_lower_state *s, const gb_node *n) {
  const gb_shape *a = gb_node_shape(n->in[0]);
  return n->op == GB_OP_MATMUL && a->dim[a->ndim - 1] > 1 &&
         (gb_streams(s, n->in[0]) || gb_streams(s, n->in[1]));
}

enum { MANY_TIMES = 16 };

/* Inlined, a reduction over several elements runs again for each index along which its result is spread. A
** few times a tile does that in registers, or once before an inner loop; not many times, nor on top of
** another, nor for as little as a vector. */
static bool repeats_itself (const gb_lower_state *s, const gb_node *n) {
  const gb_decision *d = &s->decision[n->index];
  if (kind_of(n) != GB_KIND_REDUCE || !(d->read >= 2 * numel(n)) || !(numel(n->in[0]) >= 2 * numel(n)))
    return false;
  return d->on_repeated || d->read >= MANY_TIMES * numel(n) || numel(n) <= widest(s, n);
}

static bool is_half (const gb_node *n) { return gb_dtype_is_half(gb_node_dtype(n)); }
static bool is_storage (const gb_node *n) { return gb_dtype_is_storage(gb_node_dtype(n)); }

bool gb_is_inlined_cast (const gb_lower_state *s, const gb_node *n) {
  if (n->op != GB_OP_CAST || gb_is_leaf(n) || gb_node_dtype(n) == GB_BOOL ||
      gb_node_dtype(n->in[0]) == GB_BOOL)
    return false;
  if (gb_hands_on(n)) return true;
  const bool twice = is_half(n) && gb_node_dtype(n->in[0]) == GB_I64; /* rounded to f64 before f32 */
  const bool number = numel(n) == 1 &&
                      !is_storage(n); /* a parameter: read by each consumer, no step for itself */
  return !twice && (number || gb_streams(s, n->in[0]));
}

/* What it is made of is read in another type than it is computed in, hence from memory, where it may exist in part. */
static bool changes_type (const gb_node *n, const gb_node *in) {
  const gb_dtype own = gb_class_of(n), of = gb_class_of(in);
  if (numel(in) == 1 || gb_hands_on(n)) return false;
  return n->op == GB_OP_CAST || (own != of && own != GB_BOOL && of != GB_BOOL);
}

static void decide (gb_lower_state *s, gb_node *n, int *height) {
  gb_decision *d = &s->decision[n->index];
  const gb_kind kind = kind_of(n);
  int below = 0;
  for (int i = 0; i < gb_node_reads(n) && kind != GB_KIND_LEAF; i++) {
    add_sources(s, d, n->in[i]);
    const int h = s->decision[n->in[i]->index].stored ? 0 : height[n->in[i]->index];
    if (h > below) below = h;
    const gb_decision *from = &s->decision[n->in[i]->index];
    d->on_staged |= from->staged || (from->on_staged && !from->stored) || changes_type(n, n->in[i]);
    d->on_repeated |= !from->stored && (from->on_repeated || (kind_of(n->in[i]) == GB_KIND_REDUCE &&
                                                              from->read >= 2 * numel(n->in[i])));
  }
  height[n->index] = below + 1;
  if (kind == GB_KIND_OPAQUE && gb_is_inlined_cast(s, n)) d->stored = d->staged = is_storage(n);
  else if (kind == GB_KIND_LEAF || kind == GB_KIND_OPAQUE) d->stored = true;
  else if (kind == GB_KIND_REDUCE || kind == GB_KIND_FOLD) {
    const bool part = 2 * d->visited < numel(n);
    d->stored = !may_inline(n) || !(numel(n) > 2 * d->source_numel) ||
                (d->reduced_above == 0 && !is_pairwise(s, n) && !part);
    d->staged = !d->stored && !part && (repeats_operands(s, n) || repeats_itself(s, n)) &&
                (s->inlined == NULL || !s->inlined[n->index]);
    d->stored |= d->staged;
  }
  const bool cheap = !gb_streams(s, n) || gb_node_has_value(n); /* evaluation stores links of long chains */
  if (below >= DEEPEST && cheap && n->op != GB_OP_PICK) d->stored = true;
  if (d->asked && is_drawn(n)) d->stored = true; /* as when it is asked for first */
  d->widest = d->stored && !d->staged ? numel(n) : widest(s, n);
}

bool gb_streams (const gb_lower_state *s, const gb_node *n) {
  const gb_decision *d = &s->decision[n->index];
  return (!d->stored || d->staged) && numel(n) > 1 && numel(n) > 2 * d->source_numel;
}

static size_t rows_of (const gb_node *n) { return gb_node_shape(n)->dim[gb_node_shape(n)->ndim - 2]; }
static size_t columns_of (const gb_node *n) { return gb_node_shape(n)->dim[gb_node_shape(n)->ndim - 1]; }

/* A few columns beside a stored matrix (or rows) are stored too: as tile values they would leave most
** lanes empty. */
static bool is_thin (const gb_lower_state *s, const gb_node *product, int side) {
  const size_t few = side == 0 ? rows_of(product) : columns_of(product);
  return few < GB_TI && 4 * numel(product->in[side]) <= numel(product->in[1 - side]) &&
         !gb_streams(s, product->in[1 - side]);
}

static bool streams_in (const gb_lower_state *s, const gb_node *product, int side) {
  return gb_streams(s, product->in[side]) && !is_thin(s, product, side);
}

/* BLAS has no products of half precision; a fold converts on load and rounds each total once. */
bool gb_matmul_is_fold (const gb_lower_state *s, const gb_node *n) {
  return is_half(n) || streams_in(s, n, 0) || streams_in(s, n, 1);
}

bool gb_both_stream (const gb_lower_state *s, const gb_node *n) {
  return streams_in(s, n, 0) && streams_in(s, n, 1);
}

int gb_tile_side (const gb_lower_state *s, const gb_node *n) {
  const bool first = streams_in(s, n, 0), second = streams_in(s, n, 1);
  if (first != second) return first ? 0 : 1;
  if (!first) return is_half(n) ? 0 : -1;
  /* nothing is computed again but what varies along one side */
  if (rows_of(n) == 1 || columns_of(n) == 1) return -1;
  return numel(n->in[0]) > numel(n->in[1]) ? 0 : 1;
}

gb_status gb_decide (gb_lower_state *s, size_t nouts, gb_node *const *outs) {
  int *height = calloc(s->count + 1, sizeof *height);
  s->decision = calloc(s->count + 1, sizeof *s->decision);
  if (height == NULL || s->decision == NULL) {
    free(height);
    return gb_fail(s->err, GB_ENOMEM, "no memory to lower %zu nodes", s->count);
  }
  for (size_t i = 0; i < nouts; i++) {
    s->decision[outs[i]->index].visited += numel(outs[i]);
    s->decision[outs[i]->index].read = fmax(s->decision[outs[i]->index].read, numel(outs[i]));
    s->decision[outs[i]->index].asked = true;
  }
  for (size_t i = s->count; i-- > 0;)
    if (kind_of(s->order[i]) != GB_KIND_LEAF) push_down(s, s->order[i]);
  for (size_t i = 0; i < s->count; i++) decide(s, s->order[i], height);
  free(height);
  return GB_OK;
}
