/* tensor.c - storage counts and strided copies. */
#include "tensor/tensor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void gb_strides_of (const gb_shape *s, ptrdiff_t stride[GB_MAXDIM]) {
  memset(stride, 0, GB_MAXDIM * sizeof stride[0]);
  ptrdiff_t n = 1;
  for (int i = s->ndim - 1; i >= 0; i--) {
    stride[i] = n;
    n *= (ptrdiff_t)s->dim[i];
  }
}

gb_status gb_tensor_new (gb_ledger *l, gb_dtype t, const gb_shape *s, gb_purpose p, const char *where,
                         const char *name, gb_tensor *out, gb_error *err) {
  char text[GB_SHAPE_TEXT];
  const size_t bytes = gb_shape_bytes(s, t);
  if (bytes == SIZE_MAX)
    return gb_fail(err, GB_ESHAPE, "the size of a %s %s tensor overflows", gb_shape_text(s, text),
                   gb_dtype_name(t));
  gb_storage *st = malloc(sizeof *st);
  if (st == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a storage record");
  gb_status rc = gb_ledger_alloc(l, p, bytes, where, name, &st->block, err);
  if (rc != GB_OK) {
    free(st);
    return rc;
  }
  st->refs = 1;
  st->ledger = l;
  st->mirror = NULL;
  st->owned = NULL;
  st->release = NULL;
  st->refresh = NULL;
  *out = (gb_tensor){.storage = st, .dtype = t, .shape = *s};
  gb_strides_of(s, out->stride);
  return GB_OK;
}

gb_tensor gb_tensor_ref (const gb_tensor *t) {
  if (t->storage != NULL) t->storage->refs++;
  return *t;
}

void gb_storage_drop_mirror (gb_storage *st) {
  if (st->mirror == NULL) return;
  gb_ledger_free(st->mirror->ledger, &st->mirror->block);
  free(st->mirror);
  st->mirror = NULL;
}

void gb_tensor_clear (gb_tensor *t) {
  gb_storage *st = t->storage;
  t->storage = NULL;
  if (st == NULL || --st->refs > 0) return;
  assert(st->refs == 0);
  if (st->release != NULL) st->release(st);
  gb_storage_drop_mirror(st);
  gb_ledger_free(st->ledger, &st->block);
  free(st);
}

bool gb_tensor_is_contiguous (const gb_tensor *t) {
  ptrdiff_t want = 1;
  for (int i = t->shape.ndim - 1; i >= 0; i--) {
    if (t->shape.dim[i] != 1 && t->stride[i] != want) return false;
    want *= (ptrdiff_t)t->shape.dim[i];
  }
  return true;
}

void *gb_tensor_data (const gb_tensor *t) {
  return (char *)t->storage->block.data + t->offset * gb_dtype_size(t->dtype);
}

static size_t element_at (const gb_tensor *t, const size_t *index) {
  ptrdiff_t at = (ptrdiff_t)t->offset;
  for (int i = 0; i < t->shape.ndim; i++) at += (ptrdiff_t)index[i] * t->stride[i];
  return (size_t)at;
}

double gb_tensor_at (const gb_tensor *t, const size_t *index) {
  return gb_element_get(t->storage->block.data, element_at(t, index), t->dtype);
}

int64_t gb_tensor_integer_at (const gb_tensor *t, const size_t *index) {
  const void *data = t->storage->block.data;
  const size_t at = element_at(t, index);
  return t->dtype == GB_I32 ? ((const int32_t *)data)[at] : ((const int64_t *)data)[at];
}

static gb_status visit_contiguous (const gb_tensor *t, size_t n,
                                   gb_status (*take)(void *ud, const void *p, size_t bytes), void *ud) {
  const size_t size = gb_dtype_size(t->dtype);
  for (size_t done = 0; done < n; done += GB_VISIT) {
    const size_t count = n - done < GB_VISIT ? n - done : GB_VISIT;
    GB_TRY(take(ud, (const char *)gb_tensor_data(t) + done * size, count * size));
  }
  return GB_OK;
}

gb_status gb_tensor_visit (const gb_tensor *t, gb_status (*take)(void *ud, const void *p, size_t bytes),
                           void *ud) {
  const size_t n = gb_shape_numel(&t->shape), size = gb_dtype_size(t->dtype);
  if (gb_tensor_is_contiguous(t)) return visit_contiguous(t, n, take, ud);
  _Alignas(8) char run[GB_VISIT * 8];
  size_t index[GB_MAXDIM] = {0}, held = 0;
  ptrdiff_t at = (ptrdiff_t)t->offset;
  for (size_t done = 0; done < n; done++) {
    memcpy(run + held++ * size, (const char *)t->storage->block.data + (size_t)at * size, size);
    if (held == GB_VISIT || done + 1 == n) {
      GB_TRY(take(ud, run, held * size));
      held = 0;
    }
    for (int i = t->shape.ndim - 1; i >= 0; i--) { /* odometer */
      at += t->stride[i];
      if (++index[i] < t->shape.dim[i]) break;
      at -= t->stride[i] * (ptrdiff_t)t->shape.dim[i];
      index[i] = 0;
    }
  }
  return GB_OK;
}

void gb_host_copy (const gb_tensor *dst, const gb_tensor *src) {
  const size_t n = gb_shape_numel(&src->shape), size = gb_dtype_size(src->dtype);
  if (n == 0) return;
  if (dst->dtype == src->dtype && gb_tensor_is_contiguous(dst) && gb_tensor_is_contiguous(src)) {
    memcpy(gb_tensor_data(dst), gb_tensor_data(src), n * size);
    return;
  }
  size_t index[GB_MAXDIM] = {0};
  ptrdiff_t from = (ptrdiff_t)src->offset, to = (ptrdiff_t)dst->offset;
  const bool same = dst->dtype == src->dtype;
  for (size_t done = 0; done < n; done++) {
    if (same)
      memcpy((char *)dst->storage->block.data + (size_t)to * size,
             (char *)src->storage->block.data + (size_t)from * size, size);
    else
      gb_element_set(dst->storage->block.data, (size_t)to, dst->dtype,
                     gb_element_get(src->storage->block.data, (size_t)from, src->dtype));
    for (int i = src->shape.ndim - 1; i >= 0; i--) { /* odometer */
      from += src->stride[i];
      to += dst->stride[i];
      if (++index[i] < src->shape.dim[i]) break;
      from -= src->stride[i] * (ptrdiff_t)src->shape.dim[i];
      to -= dst->stride[i] * (ptrdiff_t)src->shape.dim[i];
      index[i] = 0;
    }
  }
}
