/* appendable.h - lower triangles that grow by rows, as versions that share memory.
**
** A version is a tensor of shape (n, n) whose storage holds pointers to block rows (packed.h): only ops that
** take a growing factor may read it. Versions are immutable. A version grown from another shares its full
** block rows. It also shares the last block row if no other version has appended to it, so that k rows cost
** O(n k) written bytes; otherwise the rows of that block row are copied, at most GB_BLOCK n values. Nothing
** else is moved or copied, except that the first block row starts small and doubles. Charged to the ledger: 8
** (n / GB_BLOCK) bytes for a version, and s (i + 1) GB_BLOCK^2 bytes for block row i while a version needs
** it. */
#ifndef GB_PROGRAM_APPENDABLE_H
#define GB_PROGRAM_APPENDABLE_H

#include "program/packed.h"
#include "tensor/tensor.h"

/* A version with 'more' rows below those of 'from' (storage NULL: below none), of type t. They are
** uninitialised and not yet claimed: until gb_appendable_seal another version may be grown in the same place.
** Errors: ENOMEM, ESHAPE (too large). */
gb_status gb_appendable_grow (gb_ledger *l, const gb_tensor *from, gb_dtype t, size_t more, const char *where,
                              const char *name, gb_tensor *out, gb_error *err);
void gb_appendable_seal (const gb_tensor *t);

/* Entries (row, column) to (row, column + *run - 1) are adjacent there; column <= row < n. */
void *gb_appendable_entry (const gb_tensor *t, size_t row, size_t column, size_t *run);

/* A copy of all of it in one block of another memory, for a device that runs the ops: bytes of a copy of order n;
** and, from the table of a version or a copy in 'from', the table and the block rows at 'to'. */
size_t gb_appendable_copy_bytes (size_t n, gb_dtype t);
gb_status gb_appendable_copy (gb_memory *to_memory, void *to, gb_memory *from_memory, const void *from,
                              size_t n, gb_dtype t, gb_error *err);
/* The rows from 'first' on, between two tables. */
gb_status gb_appendable_copy_rows (gb_memory *to_memory, void *to, gb_memory *from_memory, const void *from,
                                   size_t first, size_t n, gb_dtype t, gb_error *err);

/* Capacity: rows that fit in the existing block rows. Bytes: of all block rows, shared or not, and of the
** version's record. */
size_t gb_appendable_capacity (const gb_tensor *t);
size_t gb_appendable_bytes (const gb_tensor *t);

#endif
