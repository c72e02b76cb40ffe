/* appendable.c - block rows, reference-counted by the versions that contain them. */
#include "program/appendable.h"

#include <stdlib.h>
#include <string.h>

#define B GB_BLOCK

typedef struct shared_row {
  int refs;
  size_t rows;   /* capacity */
  size_t filled; /* rows that belong to some version */
  gb_block block;
  gb_ledger *ledger;
} shared_row;

/* What a version holds on the host: its rows, and what its table in the device's memory says of them. */
typedef struct version {
  size_t n;
  gb_block_row *said; /* (n) */
  shared_row *row[];  /* (n) */
} version;

static size_t order_of (const gb_tensor *t) { return t->storage == NULL ? 0 : t->shape.dim[0]; }
static version *version_of (const gb_storage *st) { return st->owned; }
static shared_row **rows_of (const gb_storage *st) { return version_of(st)->row; }
static size_t tile_bytes (const shared_row *r, gb_dtype t) { return r->rows * B * gb_dtype_size(t); }

static void drop_row (shared_row *r) {
  if (r == NULL || --r->refs > 0) return;
  gb_ledger_free(r->ledger, &r->block);
  free(r);
}

static void release (gb_storage *st) {
  version *v = version_of(st);
  for (size_t i = 0; i < v->n; i++) drop_row(v->row[i]);
  free(v->said);
  free(v);
}

/* Rows move where memory that was lent to a function is returned: the table follows before it is read. */
static gb_status refresh (gb_storage *st, gb_error *err) {
  version *v = version_of(st);
  bool moved = false;
  for (size_t i = 0; i < v->n; i++) {
    const gb_block_row now = gb_block_row_of(v->row[i]->block.data, v->row[i]->rows);
    moved |= v->said[i] != now;
    v->said[i] = now;
  }
  if (!moved) return GB_OK;
  return gb_memory_upload(st->ledger->memory, st->block.data, v->said, v->n * sizeof *v->said, err);
}

static version *new_version (size_t n) {
  version *v = calloc(1, sizeof *v + n * sizeof *v->row);
  if (v == NULL) return NULL;
  v->n = n;
  v->said = calloc(n + 1, sizeof *v->said);
  if (v->said != NULL) return v;
  free(v);
  return NULL;
}

/* Block row i with room for 'need' rows. */
static gb_status new_row (const gb_tensor *t, size_t i, size_t need, const char *where, const char *name,
                          gb_error *err) {
  shared_row *r = malloc(sizeof *r);
  if (r == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a block row");
  *r = (shared_row){.rows = i > 0 ? B : GB_FEWEST_ROWS, .refs = 1, .ledger = t->storage->ledger};
  while (r->rows < need) r->rows *= 2;
  const size_t bytes = (i + 1) * tile_bytes(r, t->dtype);
  const gb_status rc = gb_ledger_alloc(r->ledger, GB_MEM_TENSOR, bytes, where, name, &r->block, err);
  if (rc == GB_OK) rows_of(t->storage)[i] = r;
  else free(r);
  return rc;
}

/* Block row i of 'from', which has 'have' rows, for a version with 'need' rows. */
static gb_status take_row (const gb_tensor *t, const gb_tensor *from, size_t i, size_t have, size_t need,
                           const char *where, const char *name, gb_error *err) {
  shared_row *old = rows_of(from->storage)[i];
  if (have == need || (old->filled == have && need <= old->rows)) {
    rows_of(t->storage)[i] = old;
    old->refs++;
    return GB_OK;
  }
  GB_TRY(new_row(t, i, need, where, name, err));
  shared_row *copy = rows_of(t->storage)[i];
  for (size_t j = 0; j <= i; j++)
    GB_TRY(gb_memory_copy(
        t->storage->ledger->memory, (char *)copy->block.data + j * tile_bytes(copy, t->dtype),
        (char *)old->block.data + j * tile_bytes(old, t->dtype), have * B * gb_dtype_size(t->dtype), err));
  return GB_OK;
}

static gb_status fill (const gb_tensor *t, const gb_tensor *from, const char *where, const char *name,
                       gb_error *err) {
  const size_t n = order_of(t), have = order_of(from);
  for (size_t i = 0; i < gb_blocks(n, B); i++) {
    const size_t need = gb_block_extent(n, B, i);
    if (i * B >= have) GB_TRY(new_row(t, i, need, where, name, err));
    else GB_TRY(take_row(t, from, i, gb_block_extent(have, B, i), need, where, name, err));
  }
  return GB_OK;
}

gb_status gb_appendable_grow (gb_ledger *l, const gb_tensor *from, gb_dtype t, size_t more, const char *where,
                              const char *name, gb_tensor *out, gb_error *err) {
  const size_t have = order_of(from), n = have + more;
  const gb_shape table = {.ndim = 1, .dim = {gb_blocks(n, B)}}, square = {.ndim = 2, .dim = {n, n}};
  gb_tensor v;
  if (n < have || gb_shape_bytes(&square, t) > PTRDIFF_MAX)
    return gb_fail(err, GB_ESHAPE, "a factor of order %zu is too large", n);
  GB_TRY(gb_tensor_new(l, GB_I64, &table, GB_MEM_TENSOR, where, name, &v, err));
  v.storage->owned = new_version(table.dim[0]);
  if (v.storage->owned == NULL) {
    gb_tensor_clear(&v);
    return gb_fail(err, GB_ENOMEM, "no memory for a version of a factor");
  }
  v.storage->release = release;
  v.storage->refresh = refresh;
  v.dtype = t;
  v.shape = square;
  gb_strides_of(&square, v.stride);
  gb_status rc = fill(&v, from, where, name, err);
  if (rc == GB_OK) rc = refresh(v.storage, err);
  if (rc == GB_OK) *out = v;
  else gb_tensor_clear(&v);
  return rc;
}

void gb_appendable_seal (const gb_tensor *t) {
  for (size_t i = 0, n = order_of(t); i < gb_blocks(n, B); i++) {
    shared_row *r = rows_of(t->storage)[i];
    if (r->filled < gb_block_extent(n, B, i)) r->filled = gb_block_extent(n, B, i);
  }
}

void *gb_appendable_entry (const gb_tensor *t, size_t row, size_t column, size_t *run) {
  const shared_row *r = rows_of(t->storage)[row / B];
  *run = B - column % B;
  return (char *)r->block.data + column / B * tile_bytes(r, t->dtype) +
         (row % B * B + column % B) * gb_dtype_size(t->dtype);
}

/* Copies: room for each block row is as small as it can be. */

static size_t room_of (size_t n, size_t i) {
  size_t rows = GB_FEWEST_ROWS;
  while (rows < gb_block_extent(n, B, i)) rows *= 2;
  return rows;
}

static size_t copied_table (size_t n) {
  return (gb_blocks(n, B) * sizeof(gb_block_row) + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN;
}

size_t gb_appendable_copy_bytes (size_t n, gb_dtype t) {
  size_t bytes = copied_table(n);
  for (size_t i = 0; i < gb_blocks(n, B); i++) bytes += (i + 1) * room_of(n, i) * B * gb_dtype_size(t);
  return bytes;
}

/* Entry i of a table, which lies in 'm'. */
static gb_status read_entry (gb_memory *m, const void *table, size_t i, gb_block_row *out, gb_error *err) {
  const gb_block_row *at = (const gb_block_row *)table + i;
  return gb_memory_download(m, out, at, sizeof *out, err);
}

gb_status gb_appendable_copy_rows (gb_memory *to_memory, void *to, gb_memory *from_memory, const void *from,
                                   size_t first, size_t n, gb_dtype t, gb_error *err) {
  for (size_t i = first / B; i < gb_blocks(n, B); i++) {
    const size_t row = B * gb_dtype_size(t), skip = first > i * B ? first - i * B : 0;
    gb_block_row there, here;
    GB_TRY(read_entry(to_memory, to, i, &there, err));
    GB_TRY(read_entry(from_memory, from, i, &here, err));
    for (size_t j = 0; j <= i; j++) {
      char *into = (char *)gb_block_row_data(there) + (j * gb_block_row_rows(there) + skip) * row;
      const char *at = (const char *)gb_block_row_data(here) + (j * gb_block_row_rows(here) + skip) * row;
      GB_TRY(
          gb_memory_across(to_memory, into, from_memory, at, (gb_block_extent(n, B, i) - skip) * row, err));
    }
  }
  return GB_OK;
}

gb_status gb_appendable_copy (gb_memory *to_memory, void *to, gb_memory *from_memory, const void *from,
                              size_t n, gb_dtype t, gb_error *err) {
  char *at = (char *)to + copied_table(n);
  for (size_t i = 0; i < gb_blocks(n, B); i++) {
    const gb_block_row r = gb_block_row_of(at, room_of(n, i));
    GB_TRY(gb_memory_upload(to_memory, (gb_block_row *)to + i, &r, sizeof r, err));
    at += (i + 1) * room_of(n, i) * B * gb_dtype_size(t);
  }
  return gb_appendable_copy_rows(to_memory, to, from_memory, from, 0, n, t, err);
}

size_t gb_appendable_capacity (const gb_tensor *t) {
  const size_t n = gb_blocks(order_of(t), B);
  return n == 0 ? 0 : (n - 1) * B + rows_of(t->storage)[n - 1]->rows;
}

size_t gb_appendable_bytes (const gb_tensor *t) {
  size_t bytes = t->storage == NULL ? 0 : t->storage->block.bytes;
  for (size_t i = 0; i < gb_blocks(order_of(t), B); i++)
    bytes += (i + 1) * tile_bytes(rows_of(t->storage)[i], t->dtype);
  return bytes;
}
