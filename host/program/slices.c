/* slices.c - which memory a slice of a batch has. */
#include "program/slices.h"

#include <stdio.h>
#include <string.h>

static int leading (const gb_shape *s) { return s->ndim > 2 ? s->ndim - 2 : 0; }

bool gb_has_slices (const gb_opaque *o) {
  if (!gb_op_has(o->op, GB_TRAIT_DENSE) || o->op == GB_OP_GEMM) return false;
  for (int i = 0; i < o->nin; i++)
    if (leading(&o->in_shape[i]) > 0) return true;
  return false;
}

static gb_shape without (const gb_shape *s, int axes) { return gb_shape_of(s->ndim - axes, s->dim + axes); }

gb_slices gb_slices_of (const gb_opaque *o) {
  gb_slices s = {.one = *o, .all = o};
  int axes = 0;
  for (int i = 0; i < o->nin; i++) {
    const int own = leading(&o->in_shape[i]);
    s.one.in_shape[i] = without(&o->in_shape[i], own);
    if (own > axes) axes = own;
  }
  for (int k = 0; k < o->nout; k++) s.one.out_shape[k] = without(&o->out_shape[k], axes);
  memset(s.one.from, 0, sizeof s.one.from);
  memset(s.one.whole, 0, sizeof s.one.whole);
  s.lead = gb_shape_of(axes, o->out_shape[0].dim);
  s.count = gb_shape_numel(&s.lead);
  return s;
}

bool gb_slice_is_small (const gb_opaque *one) {
  for (int i = 0; i < one->nin; i++)
    if (gb_shape_numel(&one->in_shape[i]) > (size_t)GB_BLOCK * GB_BLOCK) return false;
  return true;
}

size_t gb_matrix_at (const gb_shape *lead, const gb_shape *in, size_t k) {
  size_t at = 0, stride = 1;
  for (int back = 1; back <= in->ndim - 2; back++) {
    const size_t extent = lead->dim[lead->ndim - back], have = in->dim[in->ndim - 2 - back];
    if (have != 1) at += k % extent * stride;
    k /= extent;
    stride *= have;
  }
  return at;
}

size_t gb_slice_of_input (const gb_slices *s, int slot, size_t k) {
  return gb_matrix_at(&s->lead, &s->all->in_shape[slot], k) * gb_shape_numel(&s->one.in_shape[slot]) *
         gb_dtype_size(s->one.in_dtype[slot]);
}

size_t gb_slice_of_result (const gb_slices *s, int output, size_t k) {
  return k * gb_shape_numel(&s->one.out_shape[output]) * gb_dtype_size(s->one.out_dtype[output]);
}

gb_status gb_slice_failed (const gb_slices *s, size_t k, gb_status st, gb_error *err) {
  const gb_opaque *o = s->all;
  size_t at = gb_matrix_at(&s->lead, &o->in_shape[0], k), number = 0, stride = 1;
  for (int a = leading(&o->in_shape[0]) - 1; a >= 0; a--) {
    const size_t have = o->in_shape[0].dim[a];
    number += (o->from[a] + at % have) * stride;
    at /= have;
    stride *= o->whole[a] != 0 ? o->whole[a] : have;
  }
  if (err == NULL || stride == 1) return st;
  char words[64];
  const size_t size = sizeof err->text,
               used = (size_t)snprintf(words, sizeof words, "matrix %zu of %zu: ", number + 1, stride);
  memmove(err->text + used, err->text, size - used);
  memcpy(err->text, words, used);
  err->text[size - 1] = '\0';
  return st;
}
