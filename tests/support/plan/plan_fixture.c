/* plan_fixture.c - a lowering without folds and a device that runs its steps naively. */
#include "support/plan/plan_fixture.h"

#include "cpu/price/profile.h"

#include "far/far.h"

naive_device naive;

static bool is_cache (const gb_node *n) { return strcmp(n->name, "cache") == 0; }

gb_status gb_structure (gb_graph *g, size_t nouts, gb_node *const *outs, gb_order *o, gb_error *err) {
  free(o->node);
  GB_TRY(gb_graph_order(g, nouts, outs, GB_WALK_ALL, &o->node, &o->count, err));
  uint64_t h = nouts;
  for (size_t i = 0; i < o->count; i++) {
    const gb_node *n = o->node[i];
    h = gb_hash_u64(gb_hash_u64(h, (uint64_t)n->op), is_cache(n));
    if (n->op != GB_OP_CONST) h = gb_hash_bytes(h, &n->attr, sizeof n->attr);
    h = gb_hash_bytes(h, gb_node_shape(n), sizeof(gb_shape));
    for (int k = 0; k < n->nin; k++) h = gb_hash_u64(h, n->in[k]->index);
  }
  for (size_t i = 0; i < nouts; i++) h = gb_hash_u64(h, outs[i]->index);
  o->structure = h;
  return GB_OK;
}

static void naive_step (gb_lowered *l, const gb_node *n, const int *buf_of, int b) {
  gb_step *st = &l->step[l->nsteps++];
  st->is_fold = true;
  st->what = gb_ops[n->op].name;
  st->full_where = "";
  st->in = calloc(4, sizeof *st->in);
  st->out = calloc(1, sizeof *st->out);
  st->constant = calloc(4, sizeof *st->constant);
  st->out[st->nout++] = b;
  for (int k = 0; k < n->nin; k++) {
    if (n->in[k]->op == GB_OP_CONST) st->constant[st->nconstants++] = n->in[k]->index;
    else st->in[st->nin++] = buf_of[n->in[k]->index];
  }
  st->fold.identity = (uint64_t)n->op;
  st->fold.noperands = st->nin;
  st->fold.operand = calloc(4, sizeof *st->fold.operand);
  st->fold.nconstants = st->nconstants;
  st->fold.axis[0].extent = gb_shape_numel(n->nin > 0 ? gb_node_shape(n->in[0]) : gb_node_shape(n));
  st->fold.axis[1].extent = gb_shape_numel(gb_node_shape(n));
}

/* Nothing here is staged. */
gb_status gb_lower_ordered (gb_graph *g, const gb_order *o, size_t nouts, gb_node *const *outs,
                            const bool *inlined, gb_lowered **out, gb_error *err) {
  const size_t count = o->count;
  (void)g;
  if (inlined != NULL) return gb_fail(err, GB_EREFUSED, "no products");
  naive.lowerings++;
  gb_lowered *l = calloc(1, sizeof *l);
  int *buf_of = calloc(count + 1, sizeof *buf_of);
  *l = (gb_lowered){.ndevices = 1,
                    .structure = o->structure,
                    .nnodes = count,
                    .nouts = (int)nouts,
                    .buf = calloc(count, sizeof(gb_buf)),
                    .step = calloc(count, sizeof(gb_step)),
                    .out = calloc(nouts + 1, sizeof(int))};
  for (size_t i = 0; i < count; i++) {
    const gb_node *n = o->node[i];
    if (n->op == GB_OP_CONST) continue;
    const int b = buf_of[i] = l->nbufs++;
    gb_buf *buf = &l->buf[b];
    *buf =
        (gb_buf){.source = i, .dtype = gb_node_dtype(n), .shape = *gb_node_shape(n), .where = "", .name = ""};
    gb_strides_of(&buf->shape, buf->stride);
    buf->cls = n->nin == 0 ? GB_BUF_LEAF : is_cache(n) ? GB_BUF_CACHE : GB_BUF_TEMP;
    if (buf->cls == GB_BUF_LEAF) continue;
    buf->bytes = gb_shape_bytes(&buf->shape, buf->dtype);
    naive_step(l, n, buf_of, b);
  }
  for (size_t i = 0; i < nouts; i++) l->out[i] = buf_of[outs[i]->index];
  for (size_t i = 0; i < nouts; i++)
    if (l->buf[l->out[i]].cls != GB_BUF_LEAF) l->buf[l->out[i]].cls = GB_BUF_OUTPUT;
  free(buf_of);
  *out = l;
  return GB_OK;
}

void gb_lowered_free (gb_lowered *l) {
  for (int s = 0; s < l->nsteps; s++) {
    free(l->step[s].in);
    free(l->step[s].out);
    free(l->step[s].constant);
    free(l->step[s].fold.operand);
  }
  free(l->buf);
  free(l->step);
  free(l->out);
  free(l);
}

static double naive_map (gb_op op, double a, double b) {
  switch (op) {
    case GB_OP_SIN: return sin(a);
    case GB_OP_EXP: return exp(a);
    case GB_OP_ATAN: return atan(a);
    case GB_OP_ADD: return a + b;
    case GB_OP_MUL: return a * b;
    default: fail_msg("the naive device has no %s", gb_ops[op].name); return NAN;
  }
}

static gb_status naive_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err) {
  (void)dev, (void)f, (void)err;
  *out = calloc(1, sizeof **out);
  return GB_OK;
}
static void naive_release (gb_kernel *k) { free(k); }

static size_t naive_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *f) {
  (void)dev, (void)k;
  return f->axis[1].extent == 1 ? 0 : 24 + 8 * (f->axis[1].extent / 2);
}

static gb_status naive_launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err) {
  const gb_fold *f = args->part;
  const gb_number *constant = args->constant;
  const double *a = f->noperands > 0 ? near(args->operand[0]) : NULL;
  const double *b = f->noperands > 1 ? near(args->operand[1]) : NULL;
  const size_t count = f->axis[1].extent;
  double *y = near(args->out[0]);
  if (naive.steps == naive.fail_at) return gb_fail(err, GB_ENOTPD, "minor 3 is not positive");
  if (naive.steps == naive.interrupt_at) gb_interrupt_raise();
  naive.steps++;
  memset(near(args->scratch), 0x11, naive_scratch(dev, k, f));
  if (f->identity == GB_OP_SUM) {
    double sum = 0;
    for (size_t i = 0; i < f->axis[0].extent; i++) sum += a[i];
    *y = sum;
  } else
    for (size_t i = 0; i < count - naive.skip / 8; i++)
      y[i] = naive_map((gb_op)f->identity, a ? a[i] : constant[0].f,
                       b                   ? b[i]
                       : f->nconstants > 0 ? constant[0].f
                                           : 0);
  memset((char *)y + 8 * count, 0x22, (size_t)naive.overrun);
  args->stats->pairs = count;
  return GB_OK;
}

/* The fixed figures of the CPU: it measures none. */
static gb_price_ops naive_prices;

static const gb_device_ops naive_ops = {.name = "naive",
                                        .compile = naive_compile,
                                        .release = naive_release,
                                        .kernel_scratch = naive_scratch,
                                        .launch = naive_launch,
                                        .price = &naive_prices};

void plan_begin (size_t limit) {
  fixture_begin();
  naive_prices = gb_cpu_price_ops;
  naive_prices.measure = NULL;
  fx.device.ops = &naive_ops;
  strcpy(fx.device.name, naive_ops.name);
  fx.device.ledger.limit = limit;
  naive = (naive_device){.fail_at = -1, .interrupt_at = -1};
}

void plan_end (void) {
  gb_interrupt_clear();
  while (fx.n > 0) gb_node_unref(fx.held[--fx.n]);
  gb_cache_sweep(fx.g); /* without handles no cache can be reused */
  if (fx.device.free_profiles != NULL) fx.device.free_profiles(fx.device.profiles);
  fx.device.free_profiles = NULL;
  fx.device.profiles = NULL;
  fixture_end();
}

gb_node *data_leaf (size_t n) { return leaf_of(GB_F64, 0, 1, (size_t[]){n}, NULL, 0.2, 0.9); }
gb_node *named (gb_node *n, const char *name) {
  gb_node_set_name(n, name);
  return n;
}
double at (const gb_node *n, size_t i) { return element_at(&n->out[0].tensor, &i); }
