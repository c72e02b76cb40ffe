/* host.c - host copies of storages that the host cannot read. */
#include "tensor/host.h"

#include <stdlib.h>

static bool is_host (const gb_storage *st) { return gb_memory_is_host(st->ledger->memory); }

/* The mirror is charged to the account of the device's host, past its limit if necessary, since the observed
** value has been computed already. */
static gb_status make_mirror (gb_storage *st, gb_error *err) {
  gb_ledger *home = st->ledger->memory->home;
  gb_storage *m = calloc(1, sizeof *m);
  if (m == NULL || !gb_ledger_force(home, GB_MEM_CACHE, st->block.bytes, "", "", &m->block)) {
    free(m);
    return gb_fail(err, GB_ENOMEM, "no memory for %zu bytes of a device that are looked at", st->block.bytes);
  }
  m->refs = 1;
  m->ledger = home;
  st->mirror = m;
  return GB_OK;
}

gb_status gb_host_stage (const gb_tensor *t, gb_tensor *out, gb_error *err) {
  gb_storage *st = t->storage;
  if (!is_host(st) && st->mirror == NULL) GB_TRY(make_mirror(st, err));
  *out = *t;
  if (!is_host(st)) out->storage = st->mirror;
  return GB_OK;
}

void *gb_host_elements (const gb_tensor *t) { return is_host(t->storage) ? gb_tensor_data(t) : NULL; }

gb_status gb_host_of (const gb_tensor *t, gb_tensor *out, gb_error *err) {
  gb_storage *st = t->storage;
  const bool there = is_host(st) || st->mirror != NULL;
  GB_TRY(gb_host_stage(t, out, err));
  if (there) return GB_OK;
  const gb_status rc =
      gb_memory_download(st->ledger->memory, st->mirror->block.data, st->block.data, st->block.bytes, err);
  if (rc != GB_OK) gb_storage_drop_mirror(st);
  return rc;
}

gb_status gb_host_flush (const gb_tensor *t, gb_error *err) {
  gb_storage *st = t->storage;
  if (is_host(st)) return GB_OK;
  const gb_status rc =
      gb_memory_upload(st->ledger->memory, st->block.data, st->mirror->block.data, st->block.bytes, err);
  gb_storage_drop_mirror(st);
  return rc;
}

/* Bytes at the home of a device, for the time of a copy. */
static gb_status take_transit (const gb_tensor *t, gb_storage *out, gb_error *err) {
  const size_t bytes = gb_shape_bytes(&t->shape, t->dtype);
  *out = (gb_storage){.refs = 1, .ledger = t->storage->ledger->memory->home};
  if (gb_ledger_force(out->ledger, GB_MEM_WORKSPACE, bytes, "", "", &out->block)) return GB_OK;
  return gb_fail(err, GB_ENOMEM, "no memory for %zu bytes on their way", bytes);
}

static gb_status convert_at_home (const gb_tensor *dst, const gb_tensor *src, gb_error *err) {
  gb_storage st;
  gb_tensor some = *dst;
  GB_TRY(take_transit(dst, &st, err));
  some.storage = &st;
  some.offset = 0;
  gb_strides_of(&some.shape, some.stride);
  gb_host_copy(&some, src);
  const gb_status rc =
      gb_memory_upload(dst->storage->ledger->memory, gb_tensor_data(dst), st.block.data, st.block.bytes, err);
  gb_ledger_free(st.ledger, &st.block);
  return rc;
}

/* A mirror that the copy needed goes with it. */
static gb_status copy_converted (const gb_tensor *dst, const gb_tensor *src, gb_error *err) {
  const bool mirrored = src->storage->mirror != NULL;
  gb_tensor from;
  GB_TRY(gb_host_of(src, &from, err));
  const gb_status rc = convert_at_home(dst, &from, err);
  if (!mirrored) gb_storage_drop_mirror(src->storage);
  return rc;
}

gb_status gb_tensor_copy (const gb_tensor *dst, const gb_tensor *src, gb_error *err) {
  gb_memory *to = dst->storage->ledger->memory, *from = src->storage->ledger->memory;
  if (gb_shape_numel(&src->shape) == 0) return GB_OK;
  gb_storage_drop_mirror(dst->storage);
  if (gb_memory_is_host(to)) {
    gb_tensor host;
    GB_TRY(gb_host_of(src, &host, err));
    gb_host_copy(dst, &host);
    return GB_OK;
  }
  if (dst->dtype == src->dtype && gb_tensor_is_contiguous(dst) && gb_tensor_is_contiguous(src))
    return gb_memory_across(to, gb_tensor_data(dst), from, gb_tensor_data(src),
                            gb_shape_bytes(&dst->shape, dst->dtype), err);
  return copy_converted(dst, src, err);
}

gb_status gb_tensor_move (gb_ledger *to, gb_tensor *t, gb_error *err) {
  gb_storage *from = t->storage;
  if (from == NULL || from->ledger->memory == to->memory) return GB_OK;
  gb_tensor moved;
  GB_TRY(gb_tensor_new(to, t->dtype, &t->shape, from->block.purpose, from->block.where, from->block.name,
                       &moved, err));
  const gb_status rc = gb_tensor_copy(&moved, t, err);
  if (rc != GB_OK) {
    gb_tensor_clear(&moved);
    return rc;
  }
  gb_tensor_clear(t);
  *t = moved;
  return GB_OK;
}
