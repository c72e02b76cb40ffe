/* elements.c - through tensor/host.h. */
#include "support/elements.h"

#include <stdio.h>
#include <stdlib.h>

#include "tensor/host.h"

static void must (gb_status rc, const gb_error *err) {
  if (rc == GB_OK) return;
  fprintf(stderr, "elements: %s\n", err->text);
  abort();
}

static gb_tensor host_of (const gb_tensor *t) {
  gb_tensor h;
  gb_error err = {0};
  must(gb_host_of(t, &h, &err), &err);
  return h;
}

const void *elements (const gb_tensor *t) {
  const gb_tensor h = host_of(t);
  return gb_tensor_data(&h);
}

double element_at (const gb_tensor *t, const size_t *index) {
  const gb_tensor h = host_of(t);
  return gb_tensor_at(&h, index);
}

void *elements_to_write (const gb_tensor *t) {
  gb_tensor h;
  gb_error err = {0};
  must(gb_host_stage(t, &h, &err), &err);
  return gb_tensor_data(&h);
}

void elements_written (const gb_tensor *t) {
  gb_error err = {0};
  must(gb_host_flush(t, &err), &err);
}

void *elements_copied (const gb_tensor *t) {
  const size_t bytes = gb_shape_bytes(&t->shape, t->dtype);
  gb_storage st = {.refs = 1, .block = {.data = malloc(bytes + GB_ALIGN), .bytes = bytes}};
  gb_tensor flat = *t;
  const gb_tensor h = host_of(t);
  flat.storage = &st;
  flat.offset = 0;
  gb_strides_of(&flat.shape, flat.stride);
  gb_host_copy(&flat, &h);
  return st.block.data;
}

static char *address_of (const gb_tensor *t, size_t i) {
  return (char *)gb_tensor_data(t) + i * gb_dtype_size(t->dtype);
}

double handed_element (const gb_tensor *t, size_t i) {
  uint64_t e = 0;
  gb_error err = {0};
  must(gb_memory_download(t->storage->ledger->memory, &e, address_of(t, i), gb_dtype_size(t->dtype), &err),
       &err);
  return gb_element_get(&e, 0, t->dtype);
}

void set_handed_element (const gb_tensor *t, size_t i, double v) {
  uint64_t e = 0;
  gb_error err = {0};
  gb_element_set(&e, 0, t->dtype, v);
  must(gb_memory_upload(t->storage->ledger->memory, address_of(t, i), &e, gb_dtype_size(t->dtype), &err),
       &err);
}
