/* draft.c - values that must exist, in dependency order. Asking for a value drafts the step that computes
** it, after the steps of everything that step reads. */
#include <stdlib.h>
#include <string.h>

#include "graph/call.h"
#include "lower/internal.h"

enum { DEEPEST_REQUEST = 4000 };

void gb_draft_forget (gb_draft *d) {
  if (d->written != NULL) gb_emitter_clear(d->written);
  free(d->written);
  d->written = NULL;
}

void gb_draft_clear (gb_draft *d) {
  gb_draft_forget(d);
  free(d->root);
  free(d->in);
  free(d->shared);
}

void gb_find_makers (const gb_lower_state *s, int *maker) {
  for (int i = 0; i < s->nbufs; i++) maker[i] = -1;
  for (int d = 0; d < s->ndrafts; d++) {
    const gb_draft *dr = &s->draft[d];
    for (int r = 0; r < dr->nroots && dr->merged_into < 0; r++)
      for (int k = 0; k < 2; k++)
        if (dr->root[r].buf[k] >= 0) maker[dr->root[r].buf[k]] = d;
    for (int k = 0; dr->opaque != NULL && k < dr->opaque->nout; k++)
      maker[s->buf_of[dr->opaque->index * GB_MAX_OUTPUTS + (size_t)k]] = d;
  }
}

static gb_status no_memory (gb_lower_state *s) {
  return gb_fail(s->err, GB_ENOMEM, "no memory to lower the graph");
}

/* Buffers */

static bool keeps_its_value (const gb_node *n) {
  const gb_call *c = n->op == GB_OP_CALL ? gb_call_get((int)n->attr.i[0]) : NULL;
  return c != NULL ? c->keeps : gb_op_has(n->op, GB_TRAIT_KEEP);
}

static bool is_open (gb_lower_state *s, const gb_node *n, gb_status *rc) {
  if (s->sealed)
    *rc = gb_fail(s->err, GB_EINTERNAL, "%s at %s is asked for after the steps were counted",
                  gb_ops[n->op].name, n->where);
  return !s->sealed;
}

static int add_buffer (gb_lower_state *s, const gb_node *n, int output, gb_buf_class cls, gb_status *rc) {
  if (!is_open(s, n, rc)) return -1;
  if (!gb_grow(&s->buf, s->nbufs, &s->buf_room, sizeof *s->buf)) {
    *rc = no_memory(s);
    return -1;
  }
  const gb_value *v = &n->out[output];
  gb_buf *b = &s->buf[s->nbufs];
  *b = (gb_buf){.cls = cls,
                .source = n->index,
                .output = output,
                .device = n->device,
                .dtype = v->dtype,
                .shape = v->shape,
                .bytes = cls == GB_BUF_LEAF ? 0 : gb_shape_bytes(&v->shape, v->dtype),
                .where = n->where,
                .name = n->name,
                .staged = cls == GB_BUF_TEMP && s->decision[n->index].staged};
  gb_strides_of(&v->shape, b->stride);
  if (cls == GB_BUF_LEAF && v->tensor.storage != NULL) memcpy(b->stride, v->tensor.stride, sizeof b->stride);
  s->buf_of[n->index * GB_MAX_OUTPUTS + (size_t)output] = s->nbufs;
  return s->nbufs++;
}

static gb_draft *add_draft (gb_lower_state *s, gb_draft *d, gb_status *rc) {
  const bool open = is_open(s, d->opaque != NULL ? d->opaque : d->root->node, rc);
  if (!open || !gb_grow(&s->draft, s->ndrafts, &s->draft_room, sizeof *s->draft)) {
    gb_draft_clear(d);
    if (open) *rc = no_memory(s);
    return NULL;
  }
  s->draft[s->ndrafts] = *d;
  return &s->draft[s->ndrafts++];
}

static bool add_input (gb_draft *d, int buf) {
  for (int i = 0; i < d->nin; i++)
    if (d->in[i] == buf) return true;
  if (!gb_grow(&d->in, d->nin, &d->in_room, sizeof *d->in)) return false;
  d->in[d->nin++] = buf;
  return true;
}

/* Opaque calls */

/* A view that leaves every element where it is: the buffer of what it looks at will do. */
static gb_node *same_memory (gb_node *n) {
  while (n->nin == 1 && (n->op == GB_OP_RESHAPE || n->op == GB_OP_UNSQUEEZE || n->op == GB_OP_SQUEEZE) &&
         !gb_is_leaf(n))
    n = n->in[0];
  return n;
}

static bool leaf_is_contiguous (const gb_node *n) {
  return n->out[0].tensor.storage == NULL || gb_tensor_is_contiguous(&n->out[0].tensor);
}

static int stored_copy (gb_lower_state *s, gb_node *n, gb_status *rc);

int gb_need_contiguous (gb_lower_state *s, gb_node *n, gb_status *rc) {
  gb_node *base = same_memory(n);
  int output = 0;
  if (base->op == GB_OP_PICK && !gb_is_leaf(base)) {
    output = (int)base->attr.i[0];
    base = base->in[0];
  }
  if (gb_is_leaf(base) && !leaf_is_contiguous(base)) return stored_copy(s, base, rc);
  return gb_need(s, base, output, rc);
}

static int draft_opaque (gb_lower_state *s, gb_node *n, int output, gb_status *rc) {
  gb_draft d = {.opaque = n, .merged_into = -1};
  for (int i = 0; i < n->nin && *rc == GB_OK; i++) {
    const int b = gb_need_contiguous(s, n->in[i], rc);
    if (*rc != GB_OK) break;
    if (!gb_grow(&d.in, d.nin, &d.in_room, sizeof *d.in)) *rc = no_memory(s);
    else d.in[d.nin++] = b; /* in order, repeated where an input is */
  }
  if (*rc != GB_OK) {
    gb_draft_clear(&d);
    return -1;
  }
  if (add_draft(s, &d, rc) == NULL) return -1;
  for (int k = 0; k < n->nout; k++)
    if (add_buffer(s, n, k, keeps_its_value(n) ? GB_BUF_CACHE : GB_BUF_TEMP, rc) < 0) return -1;
  return s->buf_of[n->index * GB_MAX_OUTPUTS + (size_t)output];
}

/* Folds */

/* A new axis for an extent above 1, a constant 0 otherwise. */
static gb_ix new_axis (gb_draft *d, size_t extent, gb_axes *set) {
  if (extent == 1) return (gb_ix){0};
  d->extent[d->naxes] = extent;
  *set |= (gb_axes)1 << d->naxes;
  return gb_ix_axis(d->naxes++);
}

static void reduce_root (gb_draft *d, gb_root *r) {
  const gb_node *n = r->node;
  const gb_shape *in = gb_node_shape(n->in[0]);
  const unsigned mask = n->op == GB_OP_KMIN ? 1u << (in->ndim - 1) : (unsigned)n->attr.i[0];
  for (int i = 0, o = 0; i < in->ndim; i++) {
    const bool gone = mask >> i & 1;
    r->in.dim[i] = new_axis(d, in->dim[i], gone ? &r->reduced : &r->kept);
    if (!gone) r->out.dim[o++] = r->in.dim[i];
  }
}

static void matmul_root (gb_draft *d, gb_root *r) {
  const gb_shape *out = gb_node_shape(r->node), *a = gb_node_shape(r->node->in[0]);
  for (int i = 0; i < out->ndim; i++) r->out.dim[i] = new_axis(d, out->dim[i], &r->kept);
  r->inner = new_axis(d, a->dim[a->ndim - 1], &r->reduced);
}

static void diffmv_root (gb_draft *d, gb_root *r) {
  const gb_shape *out = gb_node_shape(r->node), *w = gb_node_shape(r->node->in[0]);
  for (int i = 0; i < out->ndim; i++) r->out.dim[i] = new_axis(d, out->dim[i], &r->kept);
  r->columns = gb_ix_deps(&r->out.dim[out->ndim - 1]);
  r->inner = new_axis(d, w->dim[w->ndim - 1], &r->reduced);
  if (r->reduced == 0) r->columns = 0; /* one row: a product, no contraction */
}

static void store_root (gb_draft *d, gb_root *r) {
  const gb_shape *out = gb_node_shape(r->node);
  for (int i = 0; i < out->ndim; i++) r->out.dim[i] = new_axis(d, out->dim[i], &r->kept);
}

static void init_root (const gb_lower_state *s, gb_draft *d, gb_root *r, bool copy) {
  gb_node *n = r->node;
  r->form = GB_ROOT_STORE;
  if (copy) store_root(d, r);
  else if (gb_ops[n->op].kind == GB_KIND_REDUCE) {
    r->form = GB_ROOT_REDUCE;
    reduce_root(d, r);
  } else if (n->op == GB_OP_MATMUL) {
    r->form = GB_ROOT_MATMUL;
    matmul_root(d, r);
    const int nd = gb_node_shape(n)->ndim, side = gb_tile_side(s, n);
    if (side >= 0 && r->reduced != 0) r->columns = gb_ix_deps(&r->out.dim[side == 0 ? nd - 1 : nd - 2]);
  } else if (n->op == GB_OP_DIFFMV) {
    r->form = GB_ROOT_DIFFMV;
    diffmv_root(d, r);
  } else store_root(d, r);
  d->columns |= r->columns;
}

/* Room for an axis at 'at': those from there on move up by one. */
static gb_axes make_room (gb_axes set, int at) {
  const gb_axes below = ((gb_axes)1 << at) - 1;
  return (set & below) | (set & ~below) << 1;
}

/* axis = axis * inner + a new one, which follows it: positions count axes in their order, the last
** fastest. */
static void split_ix (gb_ix *ix, int axis, size_t inner) {
  memmove(ix->coef + axis + 2, ix->coef + axis + 1, (size_t)(GB_FOLD_AXES - axis - 2) * sizeof *ix->coef);
  ix->coef[axis + 1] = ix->coef[axis];
  ix->coef[axis] *= (ptrdiff_t)inner;
}

static gb_axes split_set (gb_axes set, int axis) {
  return make_room(set, axis + 1) | (set >> axis & 1) << (axis + 1);
}

static void split_domain (gb_draft *d, int axis, size_t inner) {
  memmove(d->extent + axis + 2, d->extent + axis + 1, (size_t)(d->naxes - axis - 1) * sizeof *d->extent);
  d->extent[axis + 1] = inner;
  d->extent[axis] /= inner;
  d->columns = make_room(d->columns, axis + 1); /* right-hand sides are never split */
  for (int r = 0; r < d->nroots; r++) {
    gb_root *root = &d->root[r];
    for (int i = 0; i < GB_MAXDIM; i++) {
      split_ix(&root->out.dim[i], axis, inner);
      split_ix(&root->in.dim[i], axis, inner);
    }
    split_ix(&root->inner, axis, inner);
    root->kept = split_set(root->kept, axis);
    root->reduced = split_set(root->reduced, axis);
    root->columns = make_room(root->columns, axis + 1);
  }
  d->naxes++;
}

/* What the program reads, and which values vary along two axes. */
static bool take_reads (gb_draft *d, const gb_emitter *e) {
  for (int i = 0; i < e->nslots; i++)
    if (!add_input(d, e->slot[i])) return false;
  for (int i = 0; i < e->nknown; i++) {
    const gb_axes on = gb_map_deps(&e->known[i].map, gb_node_shape(e->known[i].node)->ndim);
    if (e->known[i].level != 0 || on >> d->naxes != 0 || (on & (on - 1)) == 0) continue;
    if (!gb_grow(&d->shared, d->nshared, &d->shared_room, sizeof *d->shared)) return false;
    d->shared[d->nshared++] = (struct gb_shared){e->known[i].node, e->known[i].map};
  }
  return true;
}

/* Writes the program; splits axes until every reshape in the region is affine. */
static gb_status discover (gb_lower_state *s, gb_draft *d) {
  for (;;) {
    gb_emitter *e = d->written = malloc(sizeof *e);
    if (e == NULL) return no_memory(s);
    gb_emitter_init(e, s, d, 0);
    const gb_status rc = gb_emit_draft(e);
    const int axis = e->split_axis;
    if (rc == GB_OK && axis < 0) return take_reads(d, e) ? GB_OK : no_memory(s);
    struct gb_split loop = {0};
    if (axis >= 0) loop = (struct gb_split){e->loop_of[axis].node, e->loop_of[axis].dim, e->split_inner};
    gb_draft_forget(d);
    if (rc != GB_OK) return rc;
    if (axis >= d->naxes) d->split[d->nsplits++] = loop;
    else split_domain(d, axis, loop.inner);
  }
}

static int draft_fold (gb_lower_state *s, gb_node *n, int output, bool copy, gb_status *rc) {
  gb_draft d = {.nroots = 1, .merged_into = -1, .root = calloc(1, sizeof *d.root)};
  if (d.root == NULL) {
    *rc = no_memory(s);
    return -1;
  }
  d.root->node = n;
  for (int k = 0; k < 2; k++) d.root->buf[k] = gb_unnumbered(k);
  init_root(s, &d, d.root, copy);
  if ((*rc = discover(s, &d)) != GB_OK) {
    gb_draft_clear(&d);
    return -1;
  }
  d.root->buf[0] = d.root->buf[1] = -1;
  gb_draft *kept = add_draft(s, &d, rc);
  for (int k = 0; kept != NULL && k < (copy ? 1 : n->nout); k++)
    if ((kept->root->buf[k] = add_buffer(s, n, k, GB_BUF_TEMP, rc)) < 0) return -1;
  return kept == NULL ? -1 : kept->root->buf[output];
}

/* A leaf whose elements are not in row-major order, copied; its own buffer stays what others read. */
static int stored_copy (gb_lower_state *s, gb_node *n, gb_status *rc) {
  for (int i = 0; i < s->ndrafts; i++)
    if (s->draft[i].opaque == NULL && s->draft[i].root->node == n) return s->draft[i].root->buf[0];
  const int own = gb_need(s, n, 0, rc);
  if (own < 0) return -1;
  const int b = draft_fold(s, n, 0, true, rc);
  s->buf_of[n->index * GB_MAX_OUTPUTS] = own;
  return b;
}

/* The stored value that n only hands on, so that it needs no buffer of its own; NULL where there is none.
** A leaf is not such a value: its value may be replaced, and what was detached from it keeps the old one. */
static gb_node *handed_on (const gb_lower_state *s, const gb_node *n) {
  if (!gb_hands_on(n) || n->op == GB_OP_CAST) return NULL;
  const gb_node *made = n->in[0];
  if (made->op == GB_OP_PICK && !gb_is_leaf(made)) made = made->in[0];
  const bool stands = !gb_is_leaf(made) && s->decision[made->index].stored;
  return stands && gb_shape_equal(gb_node_shape(n), gb_node_shape(n->in[0])) ? n->in[0] : NULL;
}

int gb_need (gb_lower_state *s, gb_node *n, int output, gb_status *rc) {
  if (n->op == GB_OP_PICK && !gb_is_leaf(n)) return gb_need(s, n->in[0], (int)n->attr.i[0], rc);
  const int have = s->buf_of[n->index * GB_MAX_OUTPUTS + (size_t)output];
  if (have >= 0) return have;
  if (gb_is_leaf(n)) return add_buffer(s, n, output, GB_BUF_LEAF, rc);
  gb_node *made = handed_on(s, n);
  if (made != NULL) return gb_need(s, made, output, rc);
  if (s->depth == DEEPEST_REQUEST) {
    *rc = gb_fail(s->err, GB_EREFUSED,
                  "the expression is too deep to plan at once (%d stored values on top of each other); "
                  "evaluate a part of it first",
                  DEEPEST_REQUEST);
    return -1;
  }
  s->depth++;
  const bool whole = (gb_ops[n->op].kind == GB_KIND_OPAQUE && !gb_is_inlined_cast(s, n)) ||
                     (n->op == GB_OP_MATMUL && !gb_matmul_is_fold(s, n));
  const int b = whole ? draft_opaque(s, n, output, rc) : draft_fold(s, n, output, false, rc);
  s->depth--;
  return b;
}
