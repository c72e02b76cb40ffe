/* lower_fixture.c - kernels, lowered programs and kept bits. */
#include "support/plan/lower_fixture.h"

gb_node *empty_of (gb_dtype t, int ndim, const size_t *dim) {
  const gb_tensor none = {.dtype = t, .shape = gb_shape_of(ndim, dim)};
  return BUILD(gb_node_leaf, fx.g, &none, GB_NODE_GRAD, "");
}

gb_node *radial (gb_profile p, gb_node *s, gb_node *c, gb_node *alpha) {
  return BUILD(gb_radial, p, s, c, alpha);
}
gb_node *grad1 (gb_node *y, gb_node *x) { return BUILD(gb_grad, y, NULL, 1, &x, false); }
gb_node *rows_sum (gb_node *a, int axis) { return BUILD(gb_reduce, GB_OP_SUM, a, 1u << axis, false); }
gb_node *identity_of (size_t n) { return BUILD(gb_eye, fx.g, n, inputs.dtype); }

void grads (gb_node *y, size_t n, gb_node *const *xs, gb_node **out) {
  OK(gb_grad(y, NULL, n, xs, false, out, &fx.err));
  for (size_t i = 0; i < n; i++) hold(GB_OK, out[i]);
}

void eval_all (size_t n, gb_node *const *nodes) {
  if (gb_eval(fx.g, n, nodes, &fx.err) != GB_OK) fail_msg("%s", fx.err.text);
}
void eval1 (gb_node *n) { eval_all(1, &n); }

gb_lowered *lowered (size_t n, gb_node *const *outs) {
  gb_lowered *low = NULL;
  if (gb_lower(fx.g, n, outs, &low, &fx.err) != GB_OK) fail_msg("%s", fx.err.text);
  return low;
}

bool visits_pairs (const gb_step *st) {
  if (!st->is_fold) return false;
  gb_axes outside = 0;
  for (int a = 0; a < st->fold.naxes; a++)
    if (st->fold.axis[a].role != GB_AXIS_INNER && st->fold.axis[a].extent > 1) outside |= (gb_axes)1 << a;
  for (int i = 0; i < st->fold.nins; i++) {
    const gb_axes deps = st->fold.ins[i].deps & outside;
    if ((deps & (deps - 1)) != 0) return true;
  }
  return false;
}

void print_steps (const gb_lowered *low) {
  for (int s = 0; s < low->nsteps; s++) {
    print_message("step %d: %s\n", s, low->step[s].what);
    if (!low->step[s].is_fold) continue;
    char *text = gb_fold_dump(&low->step[s].fold);
    print_message("%s", text);
    free(text);
  }
}

size_t count_of (const gb_node *n) { return gb_shape_numel(gb_node_shape(n)); }

static const void *bits_of (const gb_node *n) { return elements(&n->out[0].tensor); }
bool same_bits (const gb_node *a, const gb_node *b) {
  const size_t bytes = gb_shape_bytes(gb_node_shape(a), gb_node_dtype(a));
  return gb_node_dtype(a) == gb_node_dtype(b) && gb_shape_equal(gb_node_shape(a), gb_node_shape(b)) &&
         memcmp(bits_of(a), bits_of(b), bytes) == 0;
}

kept_bits keep_bits (const gb_node *n) {
  kept_bits k = {.bytes = gb_shape_bytes(gb_node_shape(n), gb_node_dtype(n))};
  k.at = malloc(k.bytes + 1);
  memcpy(k.at, bits_of(n), k.bytes);
  return k;
}

bool has_bits (const gb_node *n, const kept_bits *k) {
  return gb_shape_bytes(gb_node_shape(n), gb_node_dtype(n)) == k->bytes &&
         memcmp(bits_of(n), k->at, k->bytes) == 0;
}

gb_node *reshape (gb_node *a, int ndim, const size_t *dim) {
  const gb_shape s = gb_shape_of(ndim, dim);
  return BUILD(gb_reshape, a, &s);
}
