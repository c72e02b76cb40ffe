/* canon.c - the canonicaliser: which rules look at which op. */
#include "graph/canon/gather.h"

typedef gb_node *rule (gb_formula *e, const gb_pending_op *d);

/* Rules of each op in the order they are tried; the first that answers wins. */
static rule *const *rules_of (gb_op op) {
  static rule *const sum[] = {gb_canon_joined_reduction, gb_canon_sum_expanded, gb_canon_sum_squares,
                              gb_canon_sum_products,     gb_canon_scale_out,    NULL};
  static rule *const reduce[] = {gb_canon_reduce_units, gb_canon_joined_reduction, NULL};
  static rule *const any[] = {gb_canon_joined_reduction, NULL};
  static rule *const square[] = {gb_canon_algebra, gb_canon_square, gb_canon_lift, NULL};
  static rule *const scale[] = {gb_canon_rescale, gb_canon_algebra, gb_canon_lift, NULL};
  static rule *const terms[] = {gb_canon_algebra, gb_canon_lift, gb_canon_terms, NULL};
  static rule *const radial[] = {gb_canon_radial, gb_canon_lift, NULL};
  static rule *const map[] = {gb_canon_algebra, gb_canon_lift, NULL};
  static rule *const sqdist[] = {gb_canon_sqdist, NULL};
  static rule *const diffmv[] = {gb_canon_diffmv, gb_canon_scale_out, NULL};
  static rule *const matmul[] = {gb_canon_joined_product, gb_canon_matmul, gb_canon_scale_out, NULL};
  static rule *const permute[] = {gb_canon_permute, NULL};
  static rule *const index[] = {gb_canon_gather, NULL};
  static rule *const put[] = {gb_canon_put, NULL};
  static rule *const none[] = {NULL};
  switch (op) {
    case GB_OP_SUM: return sum;
    case GB_OP_PROD:
    case GB_OP_MIN:
    case GB_OP_MAX:
    case GB_OP_LOGSUMEXP: return reduce;
    case GB_OP_ANY:
    case GB_OP_ALL:
    case GB_OP_ARGMIN:
    case GB_OP_ARGMAX: return any;
    case GB_OP_SQUARE: return square;
    case GB_OP_MUL:
    case GB_OP_DIV:
    case GB_OP_NEG: return scale;
    case GB_OP_ADD:
    case GB_OP_SUB: return terms;
    case GB_OP_EXP:
    case GB_OP_RADIAL: return radial;
    case GB_OP_SQDIST: return sqdist;
    case GB_OP_DIFFMV: return diffmv;
    case GB_OP_MATMUL: return matmul;
    case GB_OP_PERMUTE: return permute;
    case GB_OP_INDEX: return index;
    case GB_OP_PUT: return put;
    default: return gb_ops[op].kind == GB_KIND_MAP ? map : none;
  }
}

/* Rules that reason about real numbers need inputs that are floats of one type and have elements (a sum of
** nothing is 0, also beside an infinite factor). For all other inputs only those rules apply that check types
** themselves or move views, gathers and parts. */
static bool suits (rule *r, const gb_pending_op *d) {
  if (r == gb_canon_algebra || r == gb_canon_lift || r == gb_canon_reduce_units || r == gb_canon_gather)
    return true;
  if (r == gb_canon_put || r == gb_canon_joined_reduction) return true;
  for (int i = 0; i < d->nin; i++) {
    const gb_dtype t = gb_node_dtype(d->in[i]);
    if (!gb_dtype_is_float(t) || t != gb_node_dtype(d->in[0]) || gb_shape_numel(gb_node_shape(d->in[i])) == 0)
      return false;
  }
  return true;
}

gb_status gb_canon (gb_graph *g, gb_op op, int nin, gb_node *const *in, const gb_attr *attr, gb_node **out,
                    gb_error *err) {
  *out = NULL;
  rule *const *r = rules_of(op);
  if (!*r || nin == 0) return GB_OK;
  const gb_pending_op d = {op, nin, in, attr};
  gb_formula e;
  gb_formula_init(&e, g, err);
  gb_node *n = NULL;
  for (; *r && !n && e.status == GB_OK; r++)
    if (suits(*r, &d)) n = (*r)(&e, &d);
  return gb_formula_take(&e, n, out);
}
