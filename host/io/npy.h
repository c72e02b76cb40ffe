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

/* Where the bytes of such a file come from: 'read' gives the next n, fewer only at the end. */
typedef struct gb_npy_source {
  const char *path; /* what messages call it */
  size_t size;      /* bytes of the whole */
  gb_status (*read)(void *ud, void *to, size_t n, size_t *got, gb_error *err);
  void *ud;
} gb_npy_source;

/* The same of such a source, to its end. Errors: also those of source->read. */
gb_status gb_npy_read_from (gb_ledger *l, const gb_npy_source *source, const char *where, gb_tensor *out,
                            gb_error *err);

/* The array where it lies in the file, which is mapped and never copied: C order as rows, Fortran order as columns. For f8 f4 f2 i8 i4 b1,
** whose elements begin at multiples of their size. Its bytes are in no account but l->mapped; before a plan reads them it is looked
** whether the file still has them (EIO). Errors: as gb_npy_read. */
gb_status gb_npy_map (gb_ledger *l, const char *path, const char *where, gb_tensor *out, gb_error *err);

/* Format 1, row-major, little-endian; bf16 is widened to f4. The file is written whole or not at all. Errors:
** EIO, ENOMEM, EINTR. */
gb_status gb_npy_write (const char *path, const gb_tensor *t, gb_error *err);

/* The bytes of such a file, handed to 'take' in order, which fills 'err' where it fails. */
gb_status gb_npy_emit (const gb_tensor *t, gb_status (*take)(void *ud, const void *p, size_t bytes), void *ud,
                       gb_error *err);

#endif
