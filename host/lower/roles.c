/* roles.c - the domain as a device is asked to schedule it: axes that are one in memory are joined; and whether
** a program mirrors itself. */
#include "lower/internal.h"

static bool has (gb_axes set, int a) { return set >> a & 1; }

/* Joining */

static bool same_use (const gb_emitter *e, int a, int b) {
  for (int i = 0; i < e->d->nroots; i++) {
    const gb_root *r = &e->d->root[i];
    if (has(r->kept, a) != has(r->kept, b) || has(r->reduced, a) != has(r->reduced, b)) return false;
    const bool ordered = r->node->op == GB_OP_ARGMIN || r->node->op == GB_OP_ARGMAX;
    for (int c = a + 1; ordered && c < b; c++)
      if (has(r->reduced, c) && e->extent[c] > 1) return false;
  }
  return true;
}

/* Whether index (a, b) is one index a * extent(b) + b for everything in memory. */
static bool lie_together (const gb_emitter *e, int a, int b) {
  const ptrdiff_t n = (ptrdiff_t)e->extent[b];
  for (int i = 0; i < e->noperands; i++)
    if (e->operand[i].stride[a] != n * e->operand[i].stride[b]) return false;
  for (int i = 0; i < e->nouts; i++)
    if (e->out[i].stride[a] != n * e->out[i].stride[b]) return false;
  return true;
}

static bool joins (const gb_emitter *e, int a, int b) {
  if (a >= b || has(e->d->columns, a) || has(e->d->columns, b) || e->extent[a] < 2 || e->extent[b] < 2)
    return false;
  return same_use(e, a, b) && lie_together(e, a, b);
}

void gb_join_axes (gb_emitter *e) {
  for (bool again = true; again;) {
    again = false;
    for (int a = 0; a < e->d->naxes && !again; a++)
      for (int b = a + 1; b < e->d->naxes && !again; b++)
        if (joins(e, a, b)) {
          e->extent[b] *= e->extent[a];
          e->extent[a] = 1;
          again = true;
        }
  }
}

/* Symmetry */

static bool is_symmetric_value (const gb_root *r, int lane, int tile, const gb_emitter *e) {
  const gb_node *value = NULL;
  gb_ix i = {0}, j = {0};
  if (r->form == GB_ROOT_MATMUL) {
    const int nd = gb_node_shape(r->node)->ndim, side = gb_tile_side(e->s, r->node);
    if (side < 0 || gb_both_stream(e->s, r->node)) return false; /* a_ik b_kj; or as many columns as rows */
    value = r->node->in[side];
    i = r->out.dim[side == 0 ? nd - 2 : nd - 1];
    j = r->inner;
  } else if (r->form == GB_ROOT_REDUCE && r->node->op == GB_OP_SUM) {
    gb_map weight, weighted, at = r->in;
    const int side = gb_weight_of_sum(e, r, &weight, &weighted);
    value = r->node->in[0];
    if (side >= 0) {
      value = value->in[1 - side];
      at = weighted;
    }
    const int nd = gb_node_shape(value)->ndim;
    if (nd < 2) return false;
    i = at.dim[nd - 2];
    j = at.dim[nd - 1];
  } else return false;
  const gb_axes pair = (gb_axes)1 << lane | (gb_axes)1 << tile;
  /* it may exist in part */
  if (e->s->decision[value->index].staged || e->s->decision[value->index].on_staged) return false;
  return (value->flags & GB_NODE_SYMMETRIC) && i.off == 0 && j.off == 0 &&
         (gb_ix_deps(&i) | gb_ix_deps(&j)) == pair && gb_ix_deps(&i) != pair && gb_ix_deps(&j) != pair;
}

void gb_mark_symmetric (gb_emitter *e, int lane, int tile, gb_fold *f) {
  if (lane < 0 || tile < 0 || f->axis[lane].extent != f->axis[tile].extent || f->axis[lane].extent < 2)
    return;
  for (int i = 0; i < e->d->nroots; i++) {
    const gb_out *o = &f->out[i];
    const bool row = o->reduced == (gb_axes)1 << tile,
               plain = o->kind == GB_OUT_REDUCE || o->kind == GB_OUT_CONTRACT;
    if (!row || !plain || o->monoid != GB_SUM || !is_symmetric_value(&e->d->root[i], lane, tile, e)) return;
    if (o->kind == GB_OUT_CONTRACT && f->operand[o->x].stride[lane] != 0) return;
  }
  for (int i = 0; i < f->nouts; i++) {
    gb_out *o = &f->out[i];
    if (o->kind != GB_OUT_CONTRACT) continue;
    gb_operand mirrored = f->operand[o->x];
    mirrored.stride[lane] = mirrored.stride[tile];
    mirrored.stride[tile] = 0;
    mirrored.deps = (mirrored.deps & ~((gb_axes)1 << tile)) | (mirrored.deps >> tile & 1) << lane;
    f->operand[f->noperands] = mirrored; /* room for one an output was made */
    o->y = f->noperands++;
  }
  f->symmetric = true;
}
