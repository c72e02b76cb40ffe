/* plan_random_graph.c - a graph from a tape. */
#include "support/random/plan_random_graph.h"

/* composites */

#define COMPOSITES 12

static void make_composite (int which) {
  gb_node *x = nonempty(any_float());
  const int axis = an_axis(x);
  const unsigned mask = 1u << axis;
  gb_node *y = partner(x);
  switch (which) {
    case 0: keep(BUILD(gb_softmax, x, axis), false); return;
    case 1: keep(BUILD(gb_log_softmax, x, axis), true); return;
    case 2: keep(BUILD(gb_var, x, mask, choice(2) == 1, 0), true); return;
    case 3: keep(BUILD(gb_norm, x, mask, choice(2) == 1, 2), true); return;
    case 4: keep(BUILD(gb_clamp, x, number_node(-0.5), number_node(0.5)), false); return;
    case 5: keep(BUILD(gb_mean, x, mask, true), false); return;
    case 6: keep(BUILD(gb_stack, 2, ((gb_node *[]){x, map1(GB_OP_COS, x)}), 0), false); return;
    case 7: keep(numel(x) <= LARGE / 2 ? BUILD(gb_tile, x, 1, (size_t[]){2}) : x, false); return;
    case 8: keep(BUILD(gb_diag, float_of(1, 1, 130)), false); return;
    case 9: {
      gb_node *a = dominant();
      keep(BUILD(gb_lstsq, a, side_of(a)), true);
      return;
    }
    case 10: keep(sub(mul(x, y), mul(x, number_node(0.5))), true); return;
    default: keep(square(sub(x, y)), true); return;
  }
}

/* one step */

static void make_fold (gb_op op) {
  switch (op) {
    case GB_OP_MATMUL: make_matmul(); return;
    case GB_OP_SQDIST: make_sqdist(); return;
    default: make_diffmv(); return;
  }
}

static void make_map (gb_op op) {
  switch (op) {
    case GB_OP_POW: make_pow(); return;
    case GB_OP_WHERE: make_where(); return;
    case GB_OP_WITH_SLOPE: make_with_slope(); return;
    case GB_OP_RADIAL: make_radial(); return;
    case GB_OP_NOT:
    case GB_OP_AND:
    case GB_OP_OR: make_logic(op); return;
    case GB_OP_LT:
    case GB_OP_LE:
    case GB_OP_GT:
    case GB_OP_GE:
    case GB_OP_EQ:
    case GB_OP_NE: make_test(op); return;
    default: break;
  }
  if (gb_ops[op].inputs == 2) make_map2(op);
  else make_map1(op);
}

static void make_step (void) {
  const size_t which = choice(GB_NOPS + COMPOSITES);
  const gb_op op = (gb_op)which;
  if (which >= GB_NOPS) {
    make_composite((int)which - GB_NOPS);
    return;
  }
  switch (gb_ops[op].kind) {
    case GB_KIND_LEAF:
    case GB_KIND_GEN: make_generator(op); return;
    case GB_KIND_MAP: make_map(op); return;
    case GB_KIND_VIEW: make_view(op); return;
    case GB_KIND_REDUCE:
      if (op == GB_OP_KMIN) make_kmin();
      else make_reduce(op);
      return;
    case GB_KIND_FOLD: make_fold(op); return;
    case GB_KIND_OPAQUE: make_opaque(op); return;
  }
}

/* the whole graph */

static size_t add_gradients (gb_node **out, size_t n) {
  gb_node *loss = NULL, *bar[MOST_OUTPUTS];
  for (int i = made.n - 1, terms = 0; i >= 0 && terms < 8; i--) {
    if ((made.raw[i]->flags & GB_NODE_NEEDS_GRAD) == 0) continue;
    gb_node *term = BUILD(gb_mean, made.raw[i], 0, false);
    loss = loss == NULL ? term : add(loss, term);
    terms++;
  }
  const size_t most = (size_t)(made.nleaf < 4 ? made.nleaf : 4);
  if (loss == NULL || most == 0) return n;
  const gb_status rc = gb_grad(loss, NULL, most, made.leaf, true, bar, &fx.err);
  made.loss = loss;
  if (rc != GB_OK) return made.broken = true, n;
  for (size_t i = 0; i < most; i++) out[n++] = hold(GB_OK, bar[i]);
  if (choice(2)) out[n++] = loss;
  made.nasked = (int)most;
  return n;
}

size_t make_graph (const tape *t, gb_node *out[MOST_OUTPUTS]) {
  memset(&made, 0, sizeof made);
  row_of(t->frame);
  made.dtype = choice(4) == 3 ? GB_F32 : GB_F64;
  made.grad = choice(8) != 0;
  for (int i = 0; i < 3; i++) made.extent[i] = draw_extent();
  for (int i = 0; i < t->nleaves; i++) {
    row_of(t->leaf[i]);
    const size_t dims[3] = {some_extent(), some_extent(), 1 + choice(3)};
    keep(leaf_like(made.dtype, (int)choice(4), dims, 0), false);
  }
  for (int i = 0; i < t->nsteps; i++) {
    row_of(t->step[i]);
    make_step();
  }
  row_of(t->frame);
  made.column = 8;
  size_t n = 0;
  const size_t last = (size_t)made.n - 1;
  for (size_t more = 1 + choice(3); n < more; n++)
    out[n] = choice(3) == 2 ? made.pool[last - choice(least(last + 1, 4))] : made.raw[last - least(n, last)];
  for (int i = made.nwhole - 1; i >= 0 && i >= made.nwhole - 2; i--) out[n++] = made.whole[i];
  for (int i = made.ntruth - 1; i >= 0 && i >= made.ntruth - 2; i--) out[n++] = made.truth[i];
  return made.grad ? add_gradients(out, n) : n;
}
