/* dlpack.c - values given to other libraries, and theirs taken as leaves. What is given holds a count of its node; what is
** taken goes back by its deleter when the last tensor over it is gone. */
#include "embed/dlpack.h"

#include <stdlib.h>
#include <string.h>

#include "embed/embed.h"

/* -- dtypes */

static const struct {
  uint8_t code, bits;
} forms[GB_NDTYPES] = {
    [GB_F64] = {GB_DL_FLOAT, 64},   [GB_F32] = {GB_DL_FLOAT, 32}, [GB_F16] = {GB_DL_FLOAT, 16},
    [GB_BF16] = {GB_DL_BFLOAT, 16}, [GB_I64] = {GB_DL_INT, 64},   [GB_I32] = {GB_DL_INT, 32},
    [GB_BOOL] = {GB_DL_BOOL, 8}};

static gb_status dtype_of (const gb_dl_tensor *d, gb_dtype *out, gb_error *err) {
  for (int t = 0; t < GB_NDTYPES; t++)
    if (forms[t].code == d->code && forms[t].bits == d->bits && d->lanes == 1) {
      *out = (gb_dtype)t;
      return GB_OK;
    }
  return gb_fail(err, GB_EDTYPE,
                 "from_dlpack: elements of code %d, %d bits and %d lanes are not read: f64, f32, f16, bf16, "
                 "i64, i32 and "
                 "bool are",
                 d->code, d->bits, d->lanes);
}

/* -- giving */

/* What a consumer holds; 'older' has no flags. */
typedef struct given {
  struct DLManagedTensorVersioned managed;
  struct DLManagedTensor older;
  gb_node *node;
  gb_tensor held;
  int64_t shape[GB_MAXDIM], strides[GB_MAXDIM];
} given;

static void take_back (given *g) {
  gb_tensor_clear(&g->held);
  gb_node_unref(g->node);
  free(g);
}

static void delete_given (struct DLManagedTensorVersioned *self) { take_back(self->context); }
static void delete_older (struct DLManagedTensor *self) { take_back(self->context); }

/* The value of x where the host reads it, or a copy of it. */
static gb_status hold_value (gb_node *x, bool copied, gb_tensor *out, gb_error *err) {
  gb_tensor host;
  if (!gb_node_has_value(x)) GB_TRY(gb_eval(x->graph, 1, &x, err));
  GB_TRY(gb_host_of(&x->out[0].tensor, &host, err));
  if (!copied) {
    *out = gb_tensor_ref(&host);
    return GB_OK;
  }
  GB_TRY(gb_tensor_new(host.storage->ledger, host.dtype, &host.shape, GB_MEM_TENSOR, x->graph->where, "", out,
                       err));
  gb_host_copy(out, &host);
  return GB_OK;
}

static gb_dl_tensor described (given *g) {
  const gb_tensor *t = &g->held;
  for (int k = 0; k < t->shape.ndim; k++) {
    g->shape[k] = (int64_t)t->shape.dim[k];
    g->strides[k] = (int64_t)t->stride[k];
  }
  return (gb_dl_tensor){.data = gb_host_elements(t),
                        .device_type = GB_DL_CPU,
                        .ndim = t->shape.ndim,
                        .code = forms[t->dtype].code,
                        .bits = forms[t->dtype].bits,
                        .lanes = 1,
                        .shape = g->shape,
                        .strides = g->strides};
}

static gb_status give (gb_node *x, bool copied, given **out, gb_error *err) {
  GB_TRY(gb_embed_check_inputs("to_dlpack", 1, &x, err));
  given *g = calloc(1, sizeof *g);
  if (g == NULL) return gb_fail(err, GB_ENOMEM, "to_dlpack: no memory");
  const gb_status st = hold_value(x, copied, &g->held, err);
  if (st != GB_OK) {
    free(g);
    return st;
  }
  g->node = gb_node_ref(x);
  g->managed = (struct DLManagedTensorVersioned){
      .major = 1, .context = g, .deleter = delete_given, .flags = GB_DL_READ_ONLY, .tensor = described(g)};
  g->older = (struct DLManagedTensor){.tensor = g->managed.tensor, .context = g, .deleter = delete_older};
  *out = g;
  return GB_OK;
}

gb_status gibbous_to_dlpack (gb_node *x, struct DLManagedTensorVersioned **out, gb_error *err) {
  given *g;
  if (err == NULL) return GB_EOPTION;
  if (out == NULL) return gb_fail(err, GB_EOPTION, "to_dlpack: no place for the result (NULL)");
  *out = NULL;
  GB_TRY(give(x, false, &g, err));
  *out = &g->managed;
  return GB_OK;
}

gb_status gibbous_to_dlpack_legacy (gb_node *x, struct DLManagedTensor **out, gb_error *err) {
  given *g;
  if (err == NULL) return GB_EOPTION;
  if (out == NULL) return gb_fail(err, GB_EOPTION, "to_dlpack: no place for the result (NULL)");
  *out = NULL;
  GB_TRY(give(x, true, &g, err));
  *out = &g->older;
  return GB_OK;
}

/* -- taking */

/* What a storage owns of another library. */
typedef struct taken {
  struct DLManagedTensorVersioned *managed; /* one of the two */
  struct DLManagedTensor *older;
} taken;

static void give_back (const taken *t) {
  if (t->managed != NULL && t->managed->deleter != NULL) t->managed->deleter(t->managed);
  if (t->older != NULL && t->older->deleter != NULL) t->older->deleter(t->older);
}

static void release (gb_storage *st) {
  give_back(st->owned);
  free(st->owned);
  st->block = (gb_block){0};
}

static gb_status check_tensor (const gb_dl_tensor *d, gb_shape *shape, gb_error *err) {
  if (d->device_type != GB_DL_CPU)
    return gb_fail(err, GB_EDEVICE, "from_dlpack: memory of device type %d: copy it to the CPU first",
                   (int)d->device_type);
  if (d->ndim < 0 || d->ndim > GB_MAXDIM)
    return gb_fail(err, GB_ESHAPE, "from_dlpack: %d axes, at most %d expected", (int)d->ndim, GB_MAXDIM);
  *shape = (gb_shape){.ndim = d->ndim};
  for (int k = 0; k < d->ndim; k++) {
    if (d->shape[k] < 0) return gb_fail(err, GB_ESHAPE, "from_dlpack: axis %d has a negative extent", k + 1);
    shape->dim[k] = (size_t)d->shape[k];
  }
  size_t n = 1;
  for (int k = 0; k < d->ndim; k++)
    if (__builtin_mul_overflow(n, shape->dim[k], &n))
      return gb_fail(err, GB_ESHAPE, "from_dlpack: too many elements");
  return GB_OK;
}

/* The memory as a tensor of the host, which goes back when it is cleared; its address and its end are not yet looked at. */
static gb_status view_of (gb_session *s, const gb_dl_tensor *d, const taken *t, gb_tensor *out,
                          gb_error *err) {
  gb_dtype type = GB_F64;
  gb_shape shape;
  GB_TRY(check_tensor(d, &shape, err));
  GB_TRY(dtype_of(d, &type, err));
  taken *owned = malloc(sizeof *owned);
  if (owned == NULL) return gb_fail(err, GB_ENOMEM, "from_dlpack: no memory");
  *owned = *t;
  const gb_status st = gb_tensor_over(&gb_embed_home(s)->ledger, type, &shape,
                                      (char *)d->data + d->byte_offset, "", owned, release, NULL, out, err);
  if (st != GB_OK) free(owned);
  for (int k = 0; st == GB_OK && d->strides != NULL && k < d->ndim; k++)
    out->stride[k] = (ptrdiff_t)d->strides[k];
  return st;
}

/* Can a node lie over it? Kernels read whole multiples of GB_ALIGN bytes. */
static bool fits (gb_session *s, const gb_tensor *t) {
  return gb_embed_device(s) == gb_embed_home(s) && gb_tensor_is_contiguous(t) &&
         (uintptr_t)gb_host_elements(t) % GB_ALIGN == 0 &&
         gb_shape_bytes(&t->shape, t->dtype) % GB_ALIGN == 0;
}

static gb_status copy_of (gb_session *s, const gb_tensor *from, gb_tensor *out, gb_error *err) {
  gb_tensor writable;
  GB_TRY(
      gb_tensor_new(&gb_embed_device(s)->ledger, from->dtype, &from->shape, GB_MEM_TENSOR, "", "", out, err));
  gb_status st = gb_host_stage(out, &writable, err);
  if (st == GB_OK) {
    gb_host_copy(&writable, from);
    st = gb_host_flush(out, err);
  }
  if (st != GB_OK) gb_tensor_clear(out);
  return st;
}

/* After an error the caller has its tensor still: the view is cleared without giving it back. */
static gb_status take (gb_session *s, const gb_dl_tensor *d, const taken *t, const char *name, gb_node **out,
                       gb_error *err) {
  gb_tensor view, copy = {0};
  GB_TRY(view_of(s, d, t, &view, err));
  gb_status st = fits(s, &view) ? GB_OK : copy_of(s, &view, &copy, err);
  if (st == GB_OK)
    st = gb_node_leaf(gb_embed_graph(s), copy.storage != NULL ? &copy : &view, 0, name, out, err);
  if (st != GB_OK) *(taken *)view.storage->owned = (taken){0};
  gb_tensor_clear(&copy);
  gb_tensor_clear(&view);
  return st;
}

gb_status gibbous_from_dlpack (gb_session *s, struct DLManagedTensorVersioned *t, const char *name,
                               gb_node **out, gb_error *err) {
  if (out != NULL) *out = NULL;
  GB_TRY(gb_embed_check_session("from_dlpack", s, out, err));
  if (t == NULL) return gb_fail(err, GB_EOPTION, "from_dlpack: the tensor is NULL");
  if (t->major != 1)
    return gb_fail(err, GB_EOPTION, "from_dlpack: DLPack %u.%u, 1.x expected", (unsigned)t->major,
                   (unsigned)t->minor);
  return take(s, &t->tensor, &(taken){.managed = t}, name, out, err);
}

gb_status gibbous_from_dlpack_legacy (gb_session *s, struct DLManagedTensor *t, const char *name,
                                      gb_node **out, gb_error *err) {
  if (out != NULL) *out = NULL;
  GB_TRY(gb_embed_check_session("from_dlpack", s, out, err));
  if (t == NULL) return gb_fail(err, GB_EOPTION, "from_dlpack: the tensor is NULL");
  return take(s, &t->tensor, &(taken){.older = t}, name, out, err);
}
