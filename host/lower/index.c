/* index.c - index maps through broadcasting and views. */
#include <string.h>

#include "lower/internal.h"

gb_ix gb_ix_axis (int axis) {
  gb_ix ix = {0};
  ix.coef[axis] = 1;
  return ix;
}

gb_axes gb_ix_deps (const gb_ix *ix) {
  gb_axes d = 0;
  for (int a = 0; a < GB_FOLD_AXES; a++)
    if (ix->coef[a] != 0) d |= (gb_axes)1 << a;
  return d;
}

gb_axes gb_map_deps (const gb_map *m, int ndim) {
  gb_axes d = 0;
  for (int i = 0; i < ndim; i++) d |= gb_ix_deps(&m->dim[i]);
  return d;
}

gb_map gb_map_broadcast (const gb_map *m, const gb_shape *of, const gb_shape *input) {
  gb_map out = {0};
  for (int i = 0; i < input->ndim; i++)
    if (input->dim[i] != 1) out.dim[i] = m->dim[i + of->ndim - input->ndim];
  return out;
}

static void add_scaled (gb_ix *to, const gb_ix *from, ptrdiff_t k) {
  to->off += k * from->off;
  for (int a = 0; a < GB_FOLD_AXES; a++) to->coef[a] += k * from->coef[a];
}

/* A falling axis counted from its other end, so that it rises; the set of those. Its own inverse. */
static gb_axes turn_falling (gb_ix *ix, const size_t *axis_extent, gb_axes which) {
  gb_axes turned = 0;
  for (int a = 0; a < GB_FOLD_AXES; a++) {
    if (which == 0 ? ix->coef[a] >= 0 : !(which >> a & 1)) continue;
    ix->off += ix->coef[a] * ((ptrdiff_t)axis_extent[a] - 1);
    ix->coef[a] = -ix->coef[a];
    turned |= (gb_axes)1 << a;
  }
  return turned;
}

/* Splits the flat index of a group over the dimensions lo..hi-1 of 'shape'. The flat index must be a sum
** of axes whose steps are multiples of the inner extents, each axis lying within one dimension. */
static bool unflatten (gb_ix *flat, const gb_shape *shape, int lo, int hi, const size_t *axis_extent,
                       gb_map *out, int *axis, size_t *inner) {
  ptrdiff_t size[GB_MAXDIM + 1];
  if (lo == hi) return true; /* of view dimensions of extent 1: the only index is 0 */
  size[hi - lo] = 1;
  for (int i = hi - 1; i >= lo; i--) size[i - lo] = size[i - lo + 1] * (ptrdiff_t)shape->dim[i];
  const gb_axes falling = turn_falling(flat, axis_extent, 0);
  ptrdiff_t off = flat->off;
  for (int i = lo; i < hi; i++) {
    const ptrdiff_t step = size[i - lo + 1];
    out->dim[i] = (gb_ix){.off = off / step};
    off %= step;
  }
  if (flat->off < 0) return false;
  for (int a = 0; a < GB_FOLD_AXES; a++) {
    const ptrdiff_t c = flat->coef[a], reach = c * ((ptrdiff_t)axis_extent[a] - 1);
    if (c == 0) continue;
    int i = lo;
    while (size[i - lo + 1] > c) i++; /* the dimension whose step divides the axis' step */
    if (c % size[i - lo + 1] != 0) return false;
    if (flat->off % size[i - lo] + reach < size[i - lo]) { /* it stays inside */
      out->dim[i].coef[a] += c / size[i - lo + 1];
      continue;
    }
    if (flat->off == 0 && size[i - lo] % c == 0 && axis_extent[a] % (size_t)(size[i - lo] / c) == 0) {
      *axis = a; /* as two axes each would */
      *inner = (size_t)(size[i - lo] / c);
    }
    return false;
  }
  for (int i = lo; falling != 0 && i < hi; i++) turn_falling(&out->dim[i], axis_extent, falling);
  return true;
}

/* Two axes of one dimension may together reach past it although each stays inside. */
static bool stays_inside (const gb_map *m, const gb_shape *s, const size_t *axis_extent) {
  for (int i = 0; i < s->ndim; i++) {
    ptrdiff_t top = m->dim[i].off, bottom = top;
    for (int a = 0; a < GB_FOLD_AXES; a++) {
      if (m->dim[i].coef[a] == 0 || axis_extent[a] == 0) continue;
      const ptrdiff_t reach = m->dim[i].coef[a] * ((ptrdiff_t)axis_extent[a] - 1);
      *(reach > 0 ? &top : &bottom) += reach;
    }
    if (s->dim[i] > 0 && (top >= (ptrdiff_t)s->dim[i] || bottom < 0)) return false;
  }
  return true;
}

/* Groups of dimensions of equal product, from the left: the view's [*v, v2), the input's [*s, s2). */
static bool next_group (const gb_shape *view, const gb_shape *in, int *v, int *s, int *v2, int *s2) {
  size_t pv = 1, ps = 1;
  *v2 = *v;
  *s2 = *s;
  do {
    if (pv <= ps && *v2 < view->ndim) pv *= view->dim[(*v2)++];
    else if (*s2 < in->ndim) ps *= in->dim[(*s2)++];
    else if (*v2 < view->ndim) pv *= view->dim[(*v2)++];
    else return false;
  } while (pv != ps || (pv == 1 && (*v2 < view->ndim || *s2 < in->ndim) && *v2 - *v + *s2 - *s == 0));
  return true;
}

static bool through_reshape (const gb_node *n, const gb_map *m, const size_t *extent, gb_map *out, int *axis,
                             size_t *inner) {
  const gb_shape *view = gb_node_shape(n), *in = gb_node_shape(n->in[0]);
  if (gb_shape_numel(view) == 0) return true; /* nothing is ever indexed */
  for (int v = 0, s = 0, v2, s2; v < view->ndim || s < in->ndim; v = v2, s = s2) {
    if (!next_group(view, in, &v, &s, &v2, &s2)) return false;
    gb_ix flat = {0};
    ptrdiff_t step = 1;
    for (int i = v2 - 1; i >= v; i--) {
      add_scaled(&flat, &m->dim[i], step);
      step *= (ptrdiff_t)view->dim[i];
    }
    if (!unflatten(&flat, in, s, s2, extent, out, axis, inner)) return false;
  }
  return stays_inside(out, in, extent);
}

bool gb_map_through_view (const gb_node *n, const gb_map *m, const size_t *extent, gb_map *out, int *axis,
                          size_t *inner) {
  const gb_shape *view = gb_node_shape(n), *in = gb_node_shape(n->in[0]);
  const int at = (int)n->attr.i[0];
  memset(out, 0, sizeof *out);
  *axis = -1;
  *inner = 0;
  switch (n->op) {
    case GB_OP_RESHAPE: return through_reshape(n, m, extent, out, axis, inner);
    case GB_OP_UNSQUEEZE:
      for (int i = 0; i < in->ndim; i++) out->dim[i] = m->dim[i < at ? i : i + 1];
      return true;
    case GB_OP_SQUEEZE:
      for (int i = 0; i < view->ndim; i++) out->dim[i < at ? i : i + 1] = m->dim[i];
      return true;
    case GB_OP_PERMUTE:
      for (int i = 0; i < view->ndim; i++) out->dim[n->attr.i[i]] = m->dim[i];
      return true;
    case GB_OP_EXPAND: *out = gb_map_broadcast(m, view, in); return true;
    case GB_OP_SLICE:
      for (int i = 0; i < view->ndim; i++) {
        if (i != at) out->dim[i] = m->dim[i];
        else {
          out->dim[i].off = n->attr.i[1];
          add_scaled(&out->dim[i], &m->dim[i], n->attr.i[2]);
        }
      }
      return true;
    case GB_OP_DIAGONAL:
      for (int i = 0; i < view->ndim; i++) out->dim[i] = m->dim[i];
      out->dim[in->ndim - 1] = m->dim[view->ndim - 1];
      return true;
    default: /* PICK: another output, the same indices */ *out = *m; return true;
  }
}
