/* expression.c - the builders of the public interface: checks of what C callers can get wrong, then
** graph/build.h, whose shape rules check the rest. */
#include <string.h>

#include "embed/embed.h"

gb_status gb_embed_check_inputs (const char *what, int n, gb_node *const *in, gb_error *err) {
  if (err == NULL) return GB_EOPTION;
  if (n < 0 || (n > 0 && in == NULL)) return gb_fail(err, GB_EOPTION, "%s: no list of %d nodes", what, n);
  for (int i = 0; i < n; i++) {
    if (in[i] == NULL) return gb_fail(err, GB_EOPTION, "%s: input %d is NULL", what, i + 1);
    if (in[i]->graph != in[0]->graph)
      return gb_fail(err, GB_EOPTION, "%s: input %d belongs to another session than input 1", what, i + 1);
  }
  return GB_OK;
}

gb_status gb_embed_check (const char *what, int n, gb_node *const *in, gb_node **out, gb_error *err) {
  const gb_status st = gb_embed_check_inputs(what, n, in, err);
  if (out != NULL) *out = NULL;
  else if (st == GB_OK) return gb_fail(err, GB_EOPTION, "%s: no place for the result (NULL)", what);
  return st;
}

/* A builder that fails may leave anything in '*out'. */
static gb_status made (gb_status st, gb_node **out) {
  if (st != GB_OK) *out = NULL;
  return st;
}

/* Of functions with one to three inputs. */
#define CHECK(what, ...)                                                                                     \
  GB_TRY(gb_embed_check(what, (int)(sizeof((gb_node *[]){__VA_ARGS__}) / sizeof(gb_node *)),                 \
                        (gb_node *[]){__VA_ARGS__}, out, err))

gb_status gb_embed_shape (const char *what, const gb_shape *given, gb_shape *out, gb_error *err) {
  size_t numel;
  char text[GB_SHAPE_TEXT];
  if (given == NULL) return gb_fail(err, GB_EOPTION, "%s: the shape is NULL", what);
  if (given->ndim < 0 || given->ndim > GB_MAXDIM)
    return gb_fail(err, GB_ESHAPE, "%s: a shape has 0 to %d axes, got %d", what, GB_MAXDIM, given->ndim);
  *out = gb_shape_of(given->ndim, given->dim);
  if (gb_shape_numel_checked(out, &numel)) return GB_OK;
  return gb_fail(err, GB_ESHAPE, "%s: size overflows: %s", what, gb_shape_text(out, text));
}

/* -- ops by name */

static gb_status find_op (const char *what, const char *name, gb_kind kind, gb_op *out, gb_error *err) {
  if (name == NULL) return gb_fail(err, GB_EOPTION, "%s: the name of the op is NULL", what);
  for (int op = 0; op < GB_NOPS; op++) {
    const gb_op_info *o = &gb_ops[op];
    if (o->kind != kind || o->inputs < 1 || o->outputs != 1 || strcmp(o->name, name) != 0) continue;
    *out = (gb_op)op;
    return GB_OK;
  }
  return gb_fail(err, GB_EOPTION, "%s: unknown op '%s'", what, name);
}

gb_status gibbous_map (const char *name, int n, gb_node *const *in, gb_node **out, gb_error *err) {
  gb_op op;
  GB_TRY(gb_embed_check("map", n, in, out, err));
  GB_TRY(find_op("map", name, GB_KIND_MAP, &op, err));
  if (gb_ops[op].inputs != n)
    return gb_fail(err, GB_EOPTION, "map: '%s' has %d inputs, got %d", name, gb_ops[op].inputs, n);
  if (n == 1) return made(gb_map1(op, in[0], out, err), out);
  if (n == 2) return made(gb_map2(op, in[0], in[1], out, err), out);
  return made(gb_map3(op, in[0], in[1], in[2], out, err), out);
}

gb_status gibbous_reduce (const char *name, gb_node *x, unsigned axes, bool keepdim, gb_node **out,
                          gb_error *err) {
  gb_op op = GB_OP_SUM;
  CHECK("reduce", x);
  const bool mean = name != NULL && strcmp(name, "mean") == 0;
  if (!mean) GB_TRY(find_op("reduce", name, GB_KIND_REDUCE, &op, err));
  if (axes >> gb_node_shape(x)->ndim != 0) {
    char text[GB_NODE_TEXT];
    return gb_fail(err, GB_EINDEX, "reduce: the mask %#x has axes that are not there: %s", axes,
                   gb_node_text(x, text));
  }
  const gb_status st = mean ? gb_mean(x, axes, keepdim, out, err) : gb_reduce(op, x, axes, keepdim, out, err);
  return made(st, out);
}

gb_status gibbous_profile (const char *name, gb_node *s, gb_node *c, gb_node *alpha, gb_node **out,
                           gb_error *err) {
  static const char *const names[GB_NPROFILES] = {"rbf", "m12", "m32", "m52", "rq"};
  CHECK("profile", s, c, alpha != NULL ? alpha : s);
  for (int p = 0; name != NULL && p < GB_NPROFILES; p++)
    if (strcmp(name, names[p]) == 0) return made(gb_radial((gb_profile)p, s, c, alpha, out, err), out);
  return gb_fail(err, GB_EOPTION, "profile: rbf, m12, m32, m52 or rq expected, got %s",
                 name != NULL ? name : "NULL");
}

/* -- products, views and the rest */

#define FORWARD1(name)                                                                                       \
  gb_status gibbous_##name(gb_node *x, gb_node **out, gb_error *err) {                                       \
    CHECK(#name, x);                                                                                         \
    return made(gb_##name(x, out, err), out);                                                                \
  }
#define FORWARD2(name)                                                                                       \
  gb_status gibbous_##name(gb_node *x, gb_node *y, gb_node **out, gb_error *err) {                           \
    CHECK(#name, x, y);                                                                                      \
    return made(gb_##name(x, y, out, err), out);                                                             \
  }

FORWARD1(transpose)
FORWARD1(logdet)
FORWARD2(matmul)
FORWARD2(solve)
FORWARD2(inv_quad)

gb_status gibbous_sqdist (gb_node *x, gb_node *y, gb_node *w, gb_node **out, gb_error *err) {
  CHECK("sqdist", x, y, w != NULL ? w : x);
  return made(gb_sqdist(x, y, w, out, err), out);
}

gb_status gibbous_cast (gb_node *x, gb_dtype t, gb_node **out, gb_error *err) {
  CHECK("cast", x);
  if ((unsigned)t >= GB_NDTYPES) return gb_fail(err, GB_EDTYPE, "cast: unknown dtype %d", (int)t);
  return made(gb_node_build(x->graph, GB_OP_CAST, 1, &x, NULL, NULL, t, out, err), out);
}

gb_status gibbous_move (gb_node *x, int device, gb_node **out, gb_error *err) {
  CHECK("move", x);
  if (device < 0 || device > x->graph->nmore)
    return gb_fail(err, GB_EDEVICE, "move: there is no device %d, the session has %d", device,
                   1 + x->graph->nmore);
  return made(gb_move(x, device, out, err), out);
}

gb_status gibbous_reshape (gb_node *x, const gb_shape *s, gb_node **out, gb_error *err) {
  gb_shape exact;
  CHECK("reshape", x);
  GB_TRY(gb_embed_shape("reshape", s, &exact, err));
  return made(gb_reshape(x, &exact, out, err), out);
}

gb_status gibbous_expand (gb_node *x, const gb_shape *s, gb_node **out, gb_error *err) {
  gb_shape exact;
  CHECK("expand", x);
  GB_TRY(gb_embed_shape("expand", s, &exact, err));
  return made(gb_expand(x, &exact, out, err), out);
}

gb_status gibbous_unsqueeze (gb_node *x, int axis, gb_node **out, gb_error *err) {
  CHECK("unsqueeze", x);
  return made(gb_unsqueeze(x, axis, out, err), out);
}

gb_status gibbous_permute (gb_node *x, int n, const int *axes, gb_node **out, gb_error *err) {
  CHECK("permute", x);
  if (n != gb_node_shape(x)->ndim || (axes == NULL && n > 0))
    return gb_fail(err, GB_ESHAPE, "permute: %d axes expected, got %d", gb_node_shape(x)->ndim,
                   axes != NULL ? n : 0);
  return made(gb_permute(x, axes, out, err), out);
}

gb_status gibbous_slice (gb_node *x, int axis, size_t start, ptrdiff_t step, size_t extent, gb_node **out,
                         gb_error *err) {
  CHECK("slice", x);
  return made(gb_slice(x, axis, start, step, extent, out, err), out);
}

gb_status gibbous_cat (int n, gb_node *const *in, int axis, gb_node **out, gb_error *err) {
  GB_TRY(gb_embed_check("cat", n, in, out, err));
  return made(gb_cat(n, in, axis, out, err), out);
}

gb_status gibbous_cholesky (gb_node *a, double jitter, gb_node **out, gb_error *err) {
  CHECK("cholesky", a);
  return made(gb_cholesky(a, jitter, out, err), out);
}

gb_status gibbous_triangular_solve (gb_node *l, gb_node *b, bool upper, bool transposed, gb_node **out,
                                    gb_error *err) {
  CHECK("triangular_solve", l, b);
  return made(gb_triangular_solve(l, b, upper, transposed, out, err), out);
}

gb_status gibbous_grad (gb_node *y, int n, gb_node *const *xs, gb_node **out, gb_error *err) {
  for (int i = 0; out != NULL && i < n; i++) out[i] = NULL;
  GB_TRY(gb_embed_check_inputs("grad", 1, &y, err));
  GB_TRY(gb_embed_check_inputs("grad", n, xs, err));
  if (n == 0) return GB_OK;
  if (out == NULL) return gb_fail(err, GB_EOPTION, "grad: no place for the result (NULL)");
  if (xs[0]->graph != y->graph)
    return gb_fail(err, GB_EOPTION, "grad: y belongs to another session than its variables");
  const gb_status st = gb_grad(y, NULL, (size_t)n, xs, false, out, err);
  for (int i = 0; st != GB_OK && i < n; i++) out[i] = NULL;
  return st;
}
