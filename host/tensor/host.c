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
  const gb_storage *st = t->storage;
  if (is_host(st)) return GB_OK;
  return gb_memory_upload(st->ledger->memory, st->block.data, st->mirror->block.data, st->block.bytes, err);
}

gb_status gb_tensor_move (gb_ledger *to, gb_tensor *t, gb_error *err) {
  gb_storage *from = t->storage;
  if (from == NULL || from->ledger->memory == to->memory) return GB_OK;
  gb_tensor moved, there, here;
  GB_TRY(gb_tensor_new(to, t->dtype, &t->shape, from->block.purpose, from->block.where, from->block.name,
                       &moved, err));
  gb_status rc = gb_host_of(t, &here, err);
  if (rc == GB_OK) rc = gb_host_stage(&moved, &there, err);
  if (rc == GB_OK) {
    gb_tensor_copy(&there, &here);
    rc = gb_host_flush(&moved, err);
  }
  if (rc != GB_OK) {
    gb_tensor_clear(&moved);
    return rc;
  }
  gb_tensor_clear(t);
  *t = moved;
  return GB_OK;
}
