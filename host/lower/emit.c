/* emit.c - from the roots of a draft to instructions. Every value is written at the outermost open loop
** that it depends on, so what is common to all right-hand sides is computed once. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "lower/internal.h"

enum { MOST_NESTED = 1500 };

static int no_memory (gb_emitter *e) {
  e->rc = gb_fail(e->s->err, GB_ENOMEM, "no memory to write a program");
  return -1;
}

/* Instructions and loops */

static bool push_ins (gb_emitter *e, gb_scope *to, const gb_ins *ins) {
  if (!gb_grow(&to->ins, to->n, &to->room, sizeof *to->ins)) return no_memory(e), false;
  to->ins[to->n++] = *ins;
  return true;
}

/* The innermost open scope whose axis is in 'deps'. */
static int level_of (const gb_emitter *e, gb_axes deps) {
  int level = e->depth;
  while (level > 0 && !(deps >> e->scope[level].axis & 1)) level--;
  return level;
}

static int new_value (gb_emitter *e, gb_axes deps) {
  if (!gb_grow(&e->deps, e->nvalues, &e->deps_room, sizeof *e->deps)) return no_memory(e);
  e->deps[e->nvalues] = deps;
  return e->nvalues++;
}

int gb_emit_ins (gb_emitter *e, gb_ins ins, gb_axes deps) {
  ins.deps = deps;
  if ((ins.dst = new_value(e, deps)) < 0) return -1;
  return push_ins(e, &e->scope[level_of(e, deps)], &ins) ? ins.dst : -1;
}

int gb_emit_acc (gb_emitter *e, gb_ins ins, gb_axes deps) {
  ins.deps = deps;
  if ((ins.dst = new_value(e, deps)) < 0) return -1;
  return push_ins(e, &e->scope[e->depth], &ins) ? ins.dst : -1;
}

int gb_emit_map (gb_emitter *e, gb_op op, int a, int b, int c) {
  const gb_axes deps = (a < 0 ? 0 : e->deps[a]) | (b < 0 ? 0 : e->deps[b]) | (c < 0 ? 0 : e->deps[c]);
  return gb_emit_ins(
      e,
      (gb_ins){.kind = GB_INS_MAP, .op = op, .a = a, .b = b, .c = c, .x = -1, .y = -1, .w = -1, .axis = -1},
      deps);
}

bool gb_emit_open (gb_emitter *e, int axis) {
  gb_scope *in = &e->scope[++e->depth];
  in->axis = axis;
  in->serial = ++e->serial;
  in->n = 0;
  return true;
}

/* Writes the finished loop where what it yields belongs. */
bool gb_emit_close (gb_emitter *e, gb_axes result_deps) {
  gb_scope *in = &e->scope[e->depth--];
  gb_scope *to = &e->scope[level_of(e, result_deps)];
  gb_ins mark = {
      .kind = GB_INS_LOOP, .dst = -1, .a = -1, .b = -1, .c = -1, .x = -1, .y = -1, .w = -1, .axis = in->axis};
  bool ok = push_ins(e, to, &mark);
  for (int i = 0; ok && i < in->n; i++) ok = push_ins(e, to, &in->ins[i]);
  mark.kind = GB_INS_ENDLOOP;
  return ok && push_ins(e, to, &mark);
}

int gb_emit_axis (gb_emitter *e, size_t extent, gb_axes taken) {
  for (int a = e->d->naxes; a < e->naxes; a++) { /* one extent, one axis, unless it is being looped */
    bool open = taken >> a & 1;
    for (int l = 1; l <= e->depth; l++) open |= e->scope[l].axis == a;
    if (e->extent[a] == extent && !open) return a;
  }
  if (e->naxes == GB_FOLD_AXES) {
    e->rc = gb_fail(e->s->err, GB_EREFUSED,
                    "the expression at %s has more than %d axes at once; evaluate a part of it first",
                    e->d->root->node->where, GB_FOLD_AXES);
    return -1;
  }
  e->extent[e->naxes] = extent;
  e->features |= (gb_axes)1 << e->naxes;
  return e->naxes++;
}

/* Operands */

static int slot_of (gb_emitter *e, int buf) {
  for (int i = 0; i < e->nslots; i++)
    if (e->slot[i] == buf) return i;
  if (!gb_grow(&e->slot, e->nslots, &e->slot_room, sizeof *e->slot)) return no_memory(e);
  e->slot[e->nslots] = buf;
  return e->nslots++;
}

static int add_operand (gb_emitter *e, const gb_operand *o) {
  for (int i = 0; i < e->noperands; i++)
    if (e->operand[i].slot == o->slot && e->operand[i].offset == o->offset &&
        memcmp(e->operand[i].stride, o->stride, sizeof o->stride) == 0)
      return i;
  if (!gb_grow(&e->operand, e->noperands, &e->operand_room, sizeof *e->operand)) return no_memory(e);
  e->operand[e->noperands] = *o;
  return e->noperands++;
}

static void stride_operand (gb_operand *o, const gb_map *m, int ndim, const ptrdiff_t *stride) {
  for (int i = 0; i < ndim; i++) {
    o->offset += m->dim[i].off * stride[i];
    for (int a = 0; a < GB_FOLD_AXES; a++) o->stride[a] += m->dim[i].coef[a] * stride[i];
  }
  for (int a = 0; a < GB_FOLD_AXES; a++)
    if (o->stride[a] != 0) o->deps |= (gb_axes)1 << a;
}

int gb_emit_strided (gb_emitter *e, int buf, const gb_map *m, int ndim, const ptrdiff_t *stride) {
  gb_operand o = {.slot = -1, .dtype = GB_I64};
  if (buf >= 0) {
    if ((o.slot = slot_of(e, buf)) < 0) return -1;
    o.dtype = e->s->buf[buf].dtype;
  }
  stride_operand(&o, m, ndim, stride);
  return add_operand(e, &o);
}

bool gb_emit_resolve (gb_emitter *e, gb_node **n, int *output, gb_map *m) {
  *output = 0;
  while (!gb_is_leaf(*n) && gb_ops[(*n)->op].kind == GB_KIND_VIEW && !e->s->decision[(*n)->index].stored) {
    gb_map below;
    int axis;
    size_t inner;
    if ((*n)->op == GB_OP_PICK) {
      *output = (int)(*n)->attr.i[0];
      *n = (*n)->in[0];
      return true;
    }
    if (!gb_map_through_view(*n, m, e->extent, &below, &axis, &inner)) return false;
    *m = below;
    *n = (*n)->in[0];
  }
  return e->s->decision[(*n)->index].stored;
}

/* What a step computes for a view that shows every element of an elementwise value: the value, once for
** all its views. */
static void find_shown (const gb_emitter *e, gb_node **n, gb_map *m) {
  gb_node *at = *n;
  gb_map map = *m;
  while (!gb_is_leaf(at) && gb_ops[at->op].kind == GB_KIND_VIEW && !e->s->decision[at->index].stored) {
    gb_map below;
    int axis;
    size_t inner;
    if (gb_shape_numel(gb_node_shape(at->in[0])) > gb_shape_numel(gb_node_shape(at))) return;
    if (at->op == GB_OP_PICK || !gb_map_through_view(at, &map, e->extent, &below, &axis, &inner)) return;
    map = below;
    at = at->in[0];
  }
  if (gb_ops[at->op].kind != GB_KIND_MAP) return;
  *n = at;
  *m = map;
}

static int emit_stored (gb_emitter *e, gb_node *n, const gb_map *m, bool stage) {
  gb_node *base = n;
  gb_map at = *m;
  int output;
  if (!gb_emit_resolve(e, &base, &output, &at)) {
    base = n;
    at = *m;
    output = 0;
    find_shown(e, &base, &at);
    gb_decision *d = &e->s->decision[base->index];
    d->staged |= stage && !gb_is_leaf(base) && gb_ops[base->op].kind != GB_KIND_OPAQUE &&
                 base->op != GB_OP_PICK && gb_streams(e->s, base);
  }
  const int buf = gb_need(e->s, base, output, &e->rc);
  if (buf < 0) return -1;
  const gb_buf b = e->s->buf[buf];
  return gb_emit_strided(e, buf, &at, b.shape.ndim, b.stride);
}

int gb_emit_stored (gb_emitter *e, gb_node *n, const gb_map *m) { return emit_stored(e, n, m, false); }
int gb_emit_staged (gb_emitter *e, gb_node *n, const gb_map *m) { return emit_stored(e, n, m, true); }

/* Values */

static bool same_value (const gb_known *k, const gb_node *n, const gb_map *m) {
  if (k->node == n) return memcmp(&k->map, m, sizeof *m) == 0;
  if (k->node->op != n->op || !gb_is_twin(k->node, n)) return false;
  const gb_map t = gb_map_transposed(m, gb_node_shape(n)->ndim);
  return memcmp(&k->map, &t, sizeof t) == 0;
}

static size_t bucket_of (const gb_node *n) { return gb_hash_u64(0, gb_twin_key(n)) % GB_KNOWN_BUCKETS; }

static int find_known (const gb_emitter *e, const gb_node *n, const gb_map *m) {
  for (int i = e->bucket[bucket_of(n)]; i > 0; i = e->known[i - 1].before) {
    const gb_known *k = &e->known[i - 1];
    if (!same_value(k, n, m)) continue;
    if (k->level == 0 || (k->level <= e->depth && e->scope[k->level].serial == k->serial)) return k->value;
  }
  return -1;
}

static int remember (gb_emitter *e, gb_node *n, const gb_map *m, int value) {
  if (value < 0) return -1;
  if (!gb_grow(&e->known, e->nknown, &e->known_room, sizeof *e->known)) return no_memory(e);
  const int level = level_of(e, e->deps[value]);
  int *last = &e->bucket[bucket_of(n)];
  e->known[e->nknown] = (gb_known){n, *m, value, level, level > 0 ? e->scope[level].serial : 0, *last};
  *last = ++e->nknown;
  return value;
}

int gb_emit_load (gb_emitter *e, int operand) {
  if (operand < 0) return -1;
  return gb_emit_ins(
      e, (gb_ins){.kind = GB_INS_LOAD, .a = -1, .b = -1, .c = -1, .x = operand, .y = -1, .w = -1, .axis = -1},
      e->operand[operand].deps);
}

void gb_emit_full (gb_emitter *e, gb_node *n) {
  const double size = (double)gb_shape_numel(gb_node_shape(n));
  if (size <= e->full_numel) return;
  e->full_numel = size;
  e->full = n;
}

gb_dtype gb_class_of (const gb_node *n) {
  const gb_node *at = n;
  if (!gb_is_leaf(n) && gb_ops[n->op].kind == GB_KIND_MAP && gb_node_dtype(n) == GB_BOOL && n->nin > 0)
    at = n->in[0];
  const gb_dtype t = gb_node_dtype(at);
  return t == GB_BOOL ? GB_BOOL : gb_dtype_compute(t);
}

/* Not a walk over the whole region: a bool made of bools takes the type of the first float below its first
** inputs; GB_BOOL where there is none. */
static gb_dtype compute_type (const gb_node *n) {
  for (int steps = 0; steps < 64; steps++) {
    const bool reduces = !gb_is_leaf(n) && gb_ops[n->op].kind == GB_KIND_REDUCE;
    const gb_dtype t = gb_class_of(reduces ? n->in[0] : n);
    if (t != GB_BOOL) return t;
    if (gb_is_leaf(n) || n->nin == 0) break;
    n = n->in[0];
  }
  return GB_BOOL;
}

gb_dtype gb_compute_type (const gb_draft *d) {
  for (int i = 0; i < d->nroots; i++) {
    const gb_dtype t = compute_type(d->root[i].node);
    if (t != GB_BOOL) return t;
  }
  return GB_BOOL;
}

/* A part that varies along one side only, or not at all, is computed once by a step of its own; but pairs
** never are, not even those of two other axes. */
static bool hoists (const gb_emitter *e, const gb_node *n, const gb_map *m) {
  const gb_kind kind = gb_ops[n->op].kind;
  if ((kind != GB_KIND_MAP && kind != GB_KIND_VIEW && n->op != GB_OP_RAND && n->op != GB_OP_RANDN) ||
      gb_hands_on(n))
    return false;
  const gb_shape *s = gb_node_shape(n);
  const gb_axes deps = gb_map_deps(m, s->ndim);
  double reach = 1;
  bool missing = false;
  for (int a = 0; a < e->naxes; a++) {
    if (deps >> a & 1) reach *= (double)e->extent[a];
    /* columns share a tile */
    else if (a < e->d->naxes && e->extent[a] > 1 && !(e->d->columns >> a & 1)) missing = true;
  }
  const double size = (double)gb_shape_numel(s);
  return missing && size <= 4 * reach && (!gb_streams(e->s, n) || size <= e->s->decision[n->index].widest);
}

/* A generator under a view is not worth a step, nor is a number that is read in another type. */
static bool is_view_of_generator (const gb_emitter *e, const gb_node *n) {
  while (!gb_is_leaf(n) && gb_ops[n->op].kind == GB_KIND_VIEW && n->op != GB_OP_PICK) n = n->in[0];
  if (gb_is_inlined_cast(e->s, n) && gb_shape_numel(gb_node_shape(n)) == 1) return true;
  return n->op == GB_OP_CONST || n->op == GB_OP_RANGE || n->op == GB_OP_EYE;
}

static bool same_shape (const gb_node *a, const gb_node *b) {
  return gb_shape_equal(gb_node_shape(a), gb_node_shape(b));
}

int gb_emit_value (gb_emitter *e, gb_node *n, const gb_map *m) {
  while (gb_hands_on(n) && !gb_is_leaf(n) && !e->s->decision[n->index].stored && same_shape(n, n->in[0]))
    n = n->in[0];
  const int known = find_known(e, n, m);
  if (known >= 0) return known;
  gb_node *base = n;
  gb_map at = *m;
  int output;
  if (gb_emit_resolve(e, &base, &output, &at))
    return remember(e, n, m, gb_emit_load(e, gb_emit_stored(e, n, m)));
  const gb_dtype type = gb_class_of(n);
  const bool foreign = type != GB_BOOL && type != e->compute;
  if (foreign) return remember(e, n, m, gb_emit_load(e, gb_emit_staged(e, n, m)));
  if (hoists(e, n, m) && !is_view_of_generator(e, n))
    return remember(e, n, m, gb_emit_load(e, gb_emit_stored(e, n, m)));
  gb_emit_full(e, n);
  if (++e->nested > MOST_NESTED) {
    e->rc = gb_fail(e->s->err, GB_EREFUSED,
                    "the expression at %s is more than %d operations deep without a value that can be "
                    "stored; evaluate a part of it first",
                    n->where, MOST_NESTED);
    return -1;
  }
  const int v = gb_emit_body(e, n, m);
  e->nested--;
  return remember(e, n, m, v);
}

/* Outputs */

static int out_slot (gb_emitter *e, int buf) {
  if (!gb_grow(&e->out_slot, e->nout_slots, &e->out_slot_room, sizeof *e->out_slot)) return no_memory(e);
  e->out_slot[e->nout_slots] = buf;
  return e->nout_slots++;
}

static bool add_out (gb_emitter *e, const gb_root *r, gb_out o, int value) {
  gb_operand strides = {0};
  ptrdiff_t stride[GB_MAXDIM];
  const gb_shape *s = gb_node_shape(r->node);
  gb_strides_of(s, stride);
  stride_operand(&strides, &r->out, s->ndim - (r->node->op == GB_OP_KMIN), stride);
  if (r->node->op == GB_OP_KMIN) o.kstride = stride[s->ndim - 1];
  memcpy(o.stride, strides.stride, sizeof o.stride);
  o.offset = strides.offset;
  o.reduced = r->reduced;
  o.dtype = gb_node_dtype(r->node);
  o.slot2 = -1;
  if ((o.slot = out_slot(e, r->buf[0])) < 0) return false;
  if (r->node->op == GB_OP_KMIN && (o.slot2 = out_slot(e, r->buf[1])) < 0) return false;
  if (!gb_grow(&e->out, e->nouts, &e->out_room, sizeof *e->out)) return no_memory(e), false;
  gb_ins emit = {.kind = GB_INS_EMIT,
                 .dst = -1,
                 .a = value,
                 .b = -1,
                 .c = -1,
                 .x = e->nouts,
                 .y = -1,
                 .w = -1,
                 .axis = -1,
                 .deps = e->deps[value]};
  e->out[e->nouts++] = o;
  return push_ins(e, &e->scope[e->depth], &emit);
}

static bool fail (const gb_emitter *e) { return e->rc != GB_OK || e->split_axis >= 0; }

/* What reduces axes of one index only is its one value; but a selection still has positions to give. */
static bool add_reduced (gb_emitter *e, const gb_root *r, int v) {
  const gb_monoid m = gb_monoid_of(r->node->op);
  const bool select = m == GB_ARGMINIMUM || m == GB_ARGMAXIMUM || m == GB_KSMALLEST;
  return add_out(e, r,
                 (gb_out){.kind = r->reduced == 0 && !select ? GB_OUT_STORE : GB_OUT_REDUCE,
                          .monoid = m,
                          .x = -1,
                          .y = -1,
                          .axis = -1,
                          .k = m == GB_KSMALLEST ? (int)r->node->attr.i[1] : 0},
                 v);
}

int gb_weight_of_sum (const gb_emitter *e, const gb_root *r, gb_map *weight, gb_map *value) {
  const gb_node *p = r->node->in[0];
  if (r->node->op != GB_OP_SUM || gb_is_leaf(p) || p->op != GB_OP_MUL || e->s->decision[p->index].stored)
    return -1;
  if ((r->reduced & (r->reduced - 1)) != 0 || r->reduced == 0 || r->kept == 0) return -1;
  for (int side = 0; side < 2; side++) {
    const gb_shape *sb = gb_node_shape(p->in[side]), *sa = gb_node_shape(p->in[1 - side]);
    *weight = gb_map_broadcast(&r->in, gb_node_shape(p), sb);
    *value = gb_map_broadcast(&r->in, gb_node_shape(p), sa);
    const gb_axes deps = gb_map_deps(value, sa->ndim);
    if (gb_map_deps(weight, sb->ndim) == r->reduced && (deps & r->reduced) != 0 && (deps & r->kept) != 0)
      return side;
  }
  return -1;
}

/* A contraction with one right-hand side. */
static bool emit_weighted_sum (gb_emitter *e, const gb_root *r, int side, const gb_map *weight,
                               const gb_map *value) {
  gb_node *const *in = r->node->in[0]->in;
  const int x = gb_emit_stored(e, in[side], weight);
  const int v = x < 0 ? -1 : gb_emit_value(e, in[1 - side], value);
  return v >= 0 &&
         add_out(e, r, (gb_out){.kind = GB_OUT_CONTRACT, .monoid = GB_SUM, .x = x, .y = -1, .axis = -1}, v);
}

static bool emit_reduce (gb_emitter *e, const gb_root *r) {
  gb_map weight, value;
  const int side = gb_weight_of_sum(e, r, &weight, &value);
  if (side >= 0) return emit_weighted_sum(e, r, side, &weight, &value);
  const int v = gb_emit_value(e, r->node->in[0], &r->in);
  return v >= 0 && add_reduced(e, r, v);
}

/* The indices of operand 0 or 1 of a matmul root. */
static gb_map matmul_map (const gb_root *r, int which) {
  const gb_shape *out = gb_node_shape(r->node), *in = gb_node_shape(r->node->in[which]);
  gb_map m = gb_map_broadcast(&r->out, out, in);
  const int nd = in->ndim;
  m.dim[nd - 2] = which == 0 ? r->out.dim[out->ndim - 2] : r->inner;
  m.dim[nd - 1] = which == 0 ? r->inner : r->out.dim[out->ndim - 1];
  return m;
}

static int only_axis (gb_axes set) { return set == 0 ? -1 : __builtin_ctz(set); }

static bool emit_matmul (gb_emitter *e, const gb_root *r) {
  gb_node *const *in = r->node->in;
  const gb_map ma = matmul_map(r, 0), mb = matmul_map(r, 1);
  const int side = gb_tile_side(e->s, r->node);
  const bool one_axis = (r->columns & (r->columns - 1)) == 0;
  if (side >= 0 && one_axis && r->reduced != 0) {
    const int v = gb_emit_value(e, in[side], side == 0 ? &ma : &mb);
    const int x = v < 0 ? -1 : gb_emit_stored(e, in[1 - side], side == 0 ? &mb : &ma);
    if (x < 0) return false;
    if (gb_both_stream(e->s, r->node)) e->s->buf[e->slot[e->operand[x].slot]].staged = true;
    return add_out(
        e, r,
        (gb_out){.kind = GB_OUT_CONTRACT, .monoid = GB_SUM, .x = x, .y = -1, .axis = only_axis(r->columns)},
        v);
  }
  const int a = gb_emit_value(e, in[0], &ma);
  const int b = a < 0 ? -1 : gb_emit_value(e, in[1], &mb);
  const int v = b < 0 ? -1 : gb_emit_map(e, GB_OP_MUL, a, b, -1);
  return v >= 0 && add_reduced(e, r, v);
}

/* The indices of a matrix under the batch axes of a contraction's result. */
static gb_map matrix_map (const gb_root *r, const gb_node *in, const gb_ix *row, const gb_ix *column) {
  const gb_shape *s = gb_node_shape(in);
  gb_map m = gb_map_broadcast(&r->out, gb_node_shape(r->node), s);
  m.dim[s->ndim - 2] = s->dim[s->ndim - 2] == 1 ? (gb_ix){0} : *row;
  m.dim[s->ndim - 1] = *column;
  return m;
}

static bool emit_diffmv (gb_emitter *e, const gb_root *r) {
  gb_node *const *in = r->node->in;
  const int nd = gb_node_shape(r->node)->ndim;
  const gb_ix *row = &r->out.dim[nd - 2], *feature = &r->out.dim[nd - 1];
  const gb_map mw = matrix_map(r, in[0], row, &r->inner), mx = matrix_map(r, in[1], row, feature);
  const gb_map my = matrix_map(r, in[2], &r->inner, feature);
  const int x = gb_emit_stored(e, in[1], &mx);
  const int y = x < 0 ? -1 : gb_emit_stored(e, in[2], &my);
  int v = y < 0 ? -1 : gb_emit_value(e, in[0], &mw);
  if (v >= 0 && r->reduced == 0) {
    const int a = gb_emit_load(e, x), d = gb_emit_map(e, GB_OP_SUB, a, gb_emit_load(e, y), -1);
    v = gb_emit_map(e, GB_OP_MUL, v, d, -1);
    return v >= 0 &&
           add_out(e, r, (gb_out){.kind = GB_OUT_REDUCE, .monoid = GB_SUM, .x = -1, .y = -1, .axis = -1}, v);
  }
  return v >= 0 &&
         add_out(
             e, r,
             (gb_out){.kind = GB_OUT_DIFF, .monoid = GB_SUM, .x = x, .y = y, .axis = only_axis(r->columns)},
             v);
}

static bool emit_store (gb_emitter *e, const gb_root *r) {
  gb_node *n = r->node;
  int v;
  if (gb_is_leaf(n)) v = gb_emit_load(e, gb_emit_stored(e, n, &r->out));
  else if (gb_ops[n->op].kind == GB_KIND_VIEW || gb_hands_on(n)) v = gb_emit_body(e, n, &r->out);
  else v = remember(e, n, &r->out, gb_emit_body(e, n, &r->out));
  return v >= 0 &&
         add_out(e, r, (gb_out){.kind = GB_OUT_STORE, .monoid = GB_SUM, .x = -1, .y = -1, .axis = -1}, v);
}

static bool emit_root (gb_emitter *e, const gb_root *r) {
  gb_axes loops = e->inner & r->kept;
  int opened = 0;
  for (int a = 0; a < e->d->naxes; a++)
    if (loops >> a & 1) {
      gb_emit_open(e, a);
      opened++;
    }
  bool ok;
  switch (r->form) {
    case GB_ROOT_REDUCE: ok = emit_reduce(e, r); break;
    case GB_ROOT_MATMUL: ok = emit_matmul(e, r); break;
    case GB_ROOT_DIFFMV: ok = emit_diffmv(e, r); break;
    default: ok = emit_store(e, r); break;
  }
  for (; opened > 0; opened--)
    ok = gb_emit_close(e, opened > 1 ? (gb_axes)1 << e->scope[opened - 1].axis : 0) && ok;
  return ok;
}

gb_status gb_emit_draft (gb_emitter *e) {
  for (int i = 0; i < e->d->nroots; i++)
    if (!emit_root(e, &e->d->root[i]) || fail(e)) break;
  return e->split_axis >= 0 ? GB_OK : e->rc;
}

void gb_emit_number_outputs (gb_emitter *e) {
  for (int i = 0; i < e->nout_slots; i++)
    for (int k = 0; k < 2; k++)
      if (e->out_slot[i] == gb_unnumbered(k)) {
        e->out_slot[i] = e->d->root->buf[k];
        break;
      }
}

void gb_emitter_init (gb_emitter *e, gb_lower_state *s, gb_draft *d, gb_axes inner) {
  memset(e, 0, sizeof *e);
  e->s = s;
  e->d = d;
  e->inner = inner;
  e->naxes = d->naxes;
  memcpy(e->extent, d->extent, sizeof e->extent);
  e->split_axis = -1;
  const gb_dtype type = gb_compute_type(d);
  e->compute = type != GB_BOOL ? type : GB_F32;
}

void gb_emitter_clear (gb_emitter *e) {
  for (int i = 0; i <= GB_FOLD_AXES; i++) free(e->scope[i].ins);
  free(e->operand);
  free(e->deps);
  free(e->known);
  free(e->out);
  free(e->slot);
  free(e->out_slot);
  free(e->constant);
}
