/* npy.h - NumPy's array file. Plain numbers only: object arrays (pickles) are refused, the heading is
** parsed, never run. */
#ifndef GB_IO_NPY_H
#define GB_IO_NPY_H

#include "tensor/tensor.h"

/* Reads formats 1 to 3, little-endian f8 f4 f2 i8 i4 i2 i1 u1 u2 u4 b1; i4 stays i32, other integers become i64, f2 stays f16;
** Fortran order is transposed into row-major. The heading must have exactly NumPy's keys, each once, and the
** data exactly the length it states. The tensor, and at most GB_NPY_SLICE bytes beside it, are charged to
** 'l'. Errors: EIO, EFORMAT (what is wrong and where), ENOMEM, EINTR. */
#define GB_NPY_SLICE ((size_t)1 << 20)
gb_status gb_npy_read (gb_ledger *l, const char *path, const char *where, gb_tensor *out, gb_error *err);

/* Format 1, row-major, little-endian; bf16 is widened to f4. The file is written whole or not at all. Errors:
** EIO, ENOMEM, EINTR. */
gb_status gb_npy_write (const char *path, const gb_tensor *t, gb_error *err);

#endif
