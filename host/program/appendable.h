/* appendable.h - lower triangles that grow by rows, as versions that share memory.
**
** A version is a tensor of shape (n, n) whose storage holds pointers to block rows (packed.h): only ops
** that take a growing factor may read it. Versions are immutable. One that is grown from another has its
** rows: block rows that are full are shared; the last one too if nothing has been added to it since, so
** that k rows cost O(n k) bytes to write, else its rows are copied, at most GB_BLOCK n. Nothing else is
** ever moved or copied, except that the first block row starts small and doubles. Charged to the ledger: 8
** (n / GB_BLOCK) bytes a version, and s (i + 1) GB_BLOCK^2 bytes block row i, while a version needs it. */
#ifndef GB_PROGRAM_APPENDABLE_H
#define GB_PROGRAM_APPENDABLE_H

#include "program/packed.h"
#include "tensor/tensor.h"

/* A version with 'more' rows below those of 'from' (storage NULL: below none), of type t. They are not
** initialised, and not yet anybody's: until gb_appendable_seal another version may be grown in the same
** place. Errors: ENOMEM, ESHAPE (too large). */
gb_status gb_appendable_grow (gb_ledger *l, const gb_tensor *from, gb_dtype t, size_t more, const char *where,
                              const char *name, gb_tensor *out, gb_error *err);
void gb_appendable_seal (const gb_tensor *t);

/* Entries (row, column) to (row, column + *run - 1) are adjacent there; column <= row < n. */
void *gb_appendable_entry (const gb_tensor *t, size_t row, size_t column, size_t *run);

/* Rows there is room for in block rows that exist; bytes of all block rows, shared or not, and of the
** version's own record. */
size_t gb_appendable_capacity (const gb_tensor *t);
size_t gb_appendable_bytes (const gb_tensor *t);

#endif
