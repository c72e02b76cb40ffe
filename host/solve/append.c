/* append.c - copies rows into tiles and runs the device's Cholesky on the new ones. */
#include "solve/append.h"
#include "tensor/host.h"

#include <string.h>

static size_t order_of (const gb_tensor *l) { return l->storage == NULL ? 0 : l->shape.dim[0]; }

static gb_status expect (gb_node *x, const gb_shape *want, gb_dtype t, const char *what, gb_error *err) {
  char a[GB_SHAPE_TEXT], b[GB_SHAPE_TEXT];
  const gb_shape *s = gb_node_shape(x);
  if (!gb_shape_equal(s, want))
    return gb_fail(err, GB_ESHAPE, "%s: expected shape %s, got %s", what, gb_shape_text(want, a),
                   gb_shape_text(s, b));
  if (gb_node_dtype(x) == t) return GB_OK;
  return gb_fail(err, GB_EDTYPE, "%s: expected %s, got %s", what, gb_dtype_name(t),
                 gb_dtype_name(gb_node_dtype(x)));
}

static gb_status expect_float (gb_node *x, gb_error *err) {
  const gb_dtype t = gb_node_dtype(x);
  if (t == GB_F64 || t == GB_F32) return GB_OK;
  return gb_fail(err, GB_EDTYPE, "a factor is f64 or f32, got %s", gb_dtype_name(t));
}

/* Entries (i, 0) to (i, count - 1) of 'from', on the host, become (row, column) and on. */
static gb_status put_row (const gb_tensor *l, size_t row, size_t column, const gb_tensor *from, size_t i,
                          size_t count, gb_error *err) {
  const size_t size = gb_dtype_size(l->dtype);
  const ptrdiff_t step = from->stride[1] * (ptrdiff_t)size;
  const char *at = (const char *)gb_host_elements(from) + (ptrdiff_t)i * from->stride[0] * (ptrdiff_t)size;
  char side_by_side[GB_BLOCK * sizeof(double)];
  for (size_t done = 0, run; done < count; done += run) {
    void *to = gb_appendable_entry(l, row, column + done, &run);
    if (run > count - done) run = count - done;
    for (size_t k = 0; k < run && from->stride[1] != 1; k++)
      memcpy(side_by_side + k * size, at + (ptrdiff_t)k * step, size);
    GB_TRY(gb_memory_upload(l->storage->ledger->memory, to, from->stride[1] == 1 ? at : side_by_side,
                            run * size, err));
    at += (ptrdiff_t)run * step;
  }
  return GB_OK;
}

/* Entries (row, column) to (row, column + *run - 1) where the host reads them: in 'some' (GB_BLOCK), if not
** in place. */
static gb_status entries (const gb_tensor *l, size_t row, size_t column, size_t *run, double *some,
                          const void **out, gb_error *err) {
  gb_memory *m = l->storage->ledger->memory;
  *out = gb_appendable_entry(l, row, column, run);
  if (gb_memory_is_host(m)) return GB_OK;
  GB_TRY(gb_memory_download(m, some, *out, *run * gb_dtype_size(l->dtype), err));
  *out = some;
  return GB_OK;
}

/* The device's Cholesky of the rows from 'have' on, in place; 'tiles': the table of the factor in its memory. */
static gb_status run_factor (gb_device *dev, const gb_opaque *o, void *tiles, gb_error *err) {
  gb_block scratch;
  const void *in = tiles;
  GB_TRY(gb_ledger_alloc(&dev->ledger, GB_MEM_WORKSPACE, gb_device_opaque_scratch(dev, o), "", "append",
                         &scratch, err));
  const gb_status rc = gb_device_opaque(dev, o, &in, &tiles, scratch.data, err);
  gb_ledger_free(&dev->ledger, &scratch);
  return rc;
}

/* The same at home, in a copy, of which the new rows come back. */
static gb_status run_at_home (gb_device *dev, const gb_opaque *o, void *tiles, gb_error *err) {
  const size_t n = o->in_shape[0].dim[0];
  const gb_dtype t = o->in_dtype[0];
  gb_device *home = dev->home;
  gb_block copy;
  GB_TRY(gb_ledger_alloc(&home->ledger, GB_MEM_WORKSPACE, gb_appendable_copy_bytes(n, t), "", "append", &copy,
                         err));
  gb_status rc = gb_device_wait(dev, err);
  if (rc == GB_OK) rc = gb_appendable_copy(&home->memory, copy.data, &dev->memory, tiles, n, t, err);
  if (rc == GB_OK) rc = run_factor(home, o, copy.data, err);
  if (rc == GB_OK)
    rc = gb_appendable_copy_rows(&dev->memory, tiles, &home->memory, copy.data, o->have, n, t, err);
  gb_ledger_free(&home->ledger, &copy);
  return rc;
}

static gb_status factor_rows (gb_device *dev, const gb_tensor *l, size_t have, gb_error *err) {
  const gb_opaque o = {.op = GB_OP_CHOLESKY,
                       .nin = 1,
                       .nout = 1,
                       .in_dtype = {l->dtype},
                       .out_dtype = {l->dtype},
                       .in_shape = {l->shape},
                       .out_shape = {l->shape},
                       .grown = true,
                       .have = have};
  gb_lack lack;
  if (gb_device_supports(dev, NULL, &o, &lack)) return run_factor(dev, &o, gb_tensor_data(l), err);
  if (dev->home != NULL) return run_at_home(dev, &o, gb_tensor_data(l), err);
  return gb_fail(err, GB_EDEVICE, "append does not run on device %s: %.200s", dev->name, lack.why);
}

/* Takes over 'v': it becomes the result, or is released. */
static gb_status finish (gb_status rc, gb_tensor *v, gb_tensor *out) {
  if (rc == GB_OK) {
    gb_appendable_seal(v);
    *out = *v;
  } else gb_tensor_clear(v);
  return rc;
}

static gb_status check_rows (const gb_tensor *l, gb_node *b, gb_node *c, gb_error *err) {
  const size_t n = order_of(l), k = gb_node_shape(c)->ndim > 0 ? gb_node_shape(c)->dim[0] : 1;
  const gb_shape rows = gb_shape_of(2, (size_t[]){k, n}), corner = gb_shape_of(2, (size_t[]){k, k});
  const gb_dtype t = n > 0 ? l->dtype : gb_node_dtype(c);
  GB_TRY(expect_float(c, err));
  GB_TRY(expect(c, &corner, t, "append: the corner", err));
  return n > 0 ? expect(b, &rows, t, "append: the rows", err) : GB_OK;
}

/* A factor, its new rows and its corner lie on one device. */
static gb_status check_place (const gb_tensor *l, const gb_node *b, const gb_node *c, gb_error *err) {
  char text[GB_NODE_TEXT];
  const gb_device *dev = gb_node_device(c);
  if (b->device != c->device)
    return gb_fail(err, GB_EDEVICE, "append: the rows %s lie on %s, the corner on %s: move one of them first",
                   gb_node_text(b, text), gb_node_device(b)->name, dev->name);
  if (l->storage->ledger == &dev->ledger) return GB_OK;
  return gb_fail(err, GB_EDEVICE, "append: the rows %s lie on %s, and the factor on another device",
                 gb_node_text(b, text), dev->name);
}

gb_status gb_factor_append (gb_graph *g, const gb_tensor *l, gb_node *b, gb_node *c, gb_tensor *out,
                            gb_error *err) {
  GB_TRY(check_rows(l, b, c, err));
  const size_t have = order_of(l), k = gb_node_shape(c)->dim[0];
  gb_node *const nodes[] = {c, b};
  gb_device *dev = gb_graph_device(g, c->device);
  gb_tensor v;
  if (have > 0) GB_TRY(check_place(l, b, c, err));
  GB_TRY(gb_eval(g, have > 0 ? 2 : 1, nodes, err));
  gb_tensor corner, rows;
  GB_TRY(gb_host_of(&c->out[0].tensor, &corner, err));
  if (have > 0) GB_TRY(gb_host_of(&b->out[0].tensor, &rows, err));
  GB_TRY(gb_appendable_grow(&dev->ledger, l, gb_node_dtype(c), k, g->where, "factor", &v, err));
  gb_status rc = GB_OK;
  for (size_t i = 0; i < k && rc == GB_OK; i++) {
    if (have > 0) rc = put_row(&v, have + i, 0, &rows, i, have, err);
    if (rc == GB_OK) rc = put_row(&v, have + i, have, &corner, i, i + 1, err);
  }
  if (rc == GB_OK && k > 0) rc = factor_rows(dev, &v, have, err);
  return finish(rc, &v, out);
}

gb_status gb_factor_of (gb_node *dense, gb_tensor *out, gb_error *err) {
  const gb_shape *s = gb_node_shape(dense);
  const gb_tensor none = {0};
  char text[GB_SHAPE_TEXT];
  gb_tensor v;
  if (s->ndim != 2 || s->dim[0] != s->dim[1])
    return gb_fail(err, GB_ESHAPE, "a factor is a square matrix, got %s", gb_shape_text(s, text));
  GB_TRY(expect_float(dense, err));
  GB_TRY(gb_eval(dense->graph, 1, &dense, err));
  gb_graph *g = dense->graph;
  GB_TRY(gb_appendable_grow(&gb_graph_device(g, dense->device)->ledger, &none, gb_node_dtype(dense),
                            s->dim[0], g->where, "factor", &v, err));
  gb_tensor from;
  gb_status rc = gb_host_of(&dense->out[0].tensor, &from, err);
  for (size_t i = 0; i < s->dim[0] && rc == GB_OK; i++) rc = put_row(&v, i, 0, &from, i, i + 1, err);
  return finish(rc, &v, out);
}

/* What is made of a factor lies where it does. */
static gb_ledger *ledger_of (const gb_graph *g, const gb_tensor *l) {
  return l->storage == NULL ? &g->device->ledger : l->storage->ledger;
}

/* Row i of L, its zeros too. */
static gb_status dense_row (const gb_tensor *l, size_t i, char *to, gb_error *err) {
  const size_t n = order_of(l), size = gb_dtype_size(l->dtype);
  gb_memory *m = l->storage->ledger->memory;
  for (size_t j = 0, run; j <= i; j += run) {
    const void *from = gb_appendable_entry(l, i, j, &run);
    if (run > i + 1 - j) run = i + 1 - j;
    GB_TRY(gb_memory_copy(m, to + j * size, from, run * size, err));
  }
  return gb_memory_fill(m, to + (i + 1) * size, 0, (n - i - 1) * size, err);
}

gb_status gb_factor_dense (gb_graph *g, const gb_tensor *l, gb_tensor *out, gb_error *err) {
  const size_t n = order_of(l), size = gb_dtype_size(l->dtype);
  GB_TRY(gb_tensor_new(ledger_of(g, l), l->dtype, &l->shape, GB_MEM_TENSOR, g->where, "", out, err));
  char *to = gb_tensor_data(out);
  gb_status rc = GB_OK;
  for (size_t i = 0; i < n && rc == GB_OK; i++, to += n * size) rc = dense_row(l, i, to, err);
  if (rc != GB_OK) gb_tensor_clear(out);
  return rc;
}

/* '*out': sum over j < count of L_ij x_j */
static gb_status dot_row (const gb_tensor *l, size_t i, size_t count, const void *x, double *out,
                          gb_error *err) {
  double sum = 0, some[GB_BLOCK];
  for (size_t j = 0, run; j < count; j += run) {
    const void *p;
    double part = 0;
    GB_TRY(entries(l, i, j, &run, some, &p, err));
    if (run > count - j) run = count - j;
    if (l->dtype == GB_F64)
      for (size_t k = 0; k < run; k++) part += ((const double *)p)[k] * ((const double *)x)[j + k];
    else
      for (size_t k = 0; k < run; k++)
        part += (double)((const float *)p)[k] * (double)((const float *)x)[j + k];
    sum += part;
  }
  *out = sum;
  return GB_OK;
}

/* 'part' of 'count' entries of the vector y, from entry 'at'. */
static gb_status put_part (const gb_tensor *y, size_t at, size_t count, const gb_tensor *part,
                           gb_error *err) {
  gb_tensor view = *y;
  view.offset = at;
  view.shape.dim[0] = count;
  return gb_tensor_copy(&view, part, err);
}

/* x_i = (x_i - sum over j < i of L_ij x_j) / L_ii for i from 'from', on the host. */
static gb_status substitute (const gb_tensor *l, size_t from, void *x, gb_error *err) {
  double some[GB_BLOCK], dot;
  const void *pivot;
  for (size_t i = from, n = order_of(l), run; i < n; i++) {
    GB_TRY(entries(l, i, i, &run, some, &pivot, err));
    GB_TRY(dot_row(l, i, i, x, &dot, err));
    gb_element_set(x, i, l->dtype,
                   (gb_element_get(x, i, l->dtype) - dot) / gb_element_get(pivot, 0, l->dtype));
  }
  return GB_OK;
}

gb_status gb_factor_extend (gb_graph *g, const gb_tensor *l, gb_node *w, gb_node *r, gb_tensor *out,
                            gb_error *err) {
  const size_t n = order_of(l), have = gb_node_shape(w)->ndim > 0 ? gb_node_shape(w)->dim[0] : 1;
  const gb_shape known = gb_shape_of(1, (size_t[]){have < n ? have : n}), all = gb_shape_of(1, (size_t[]){n});
  const gb_shape rest = gb_shape_of(1, (size_t[]){n - known.dim[0]});
  gb_node *const nodes[] = {w, r};
  GB_TRY(expect(w, &known, l->dtype, "extend: the known entries", err));
  GB_TRY(expect(r, &rest, l->dtype, "extend: the new entries", err));
  GB_TRY(gb_eval(g, 2, nodes, err));
  GB_TRY(gb_tensor_new(ledger_of(g, l), l->dtype, &all, GB_MEM_TENSOR, g->where, "", out, err));
  gb_tensor x;
  gb_status rc = gb_host_stage(out, &x, err);
  if (rc == GB_OK) rc = put_part(&x, 0, have, &w->out[0].tensor, err);
  if (rc == GB_OK) rc = put_part(&x, have, n - have, &r->out[0].tensor, err);
  if (rc == GB_OK) rc = substitute(l, have, gb_host_elements(&x), err);
  if (rc == GB_OK) rc = gb_host_flush(out, err);
  if (rc != GB_OK) gb_tensor_clear(out);
  return rc;
}
