/* npz.h - NumPy's archives of arrays: .npy files in a zip archive. */
#ifndef GB_IO_ARCHIVE_NPZ_H
#define GB_IO_ARCHIVE_NPZ_H

#include "io/safetensors.h"

#define GB_NPZ_RATIO 1000.0 /* of unpacked to packed bytes, unless the caller says another one */

/* Reads every member NAME.npy as io/npy.h reads files, and checks its checksum; the tensors are called NAME and come in the order of the
** archive. max_ratio: 0 = GB_NPZ_RATIO. Errors: EIO, EFORMAT (of the archive, or of the member that is named; two members of one name;
** a member that is not an array), ENOMEM, EINTR. 'out' is empty after an error. */
gb_status gb_npz_read (gb_ledger *l, const char *path, const char *where, double max_ratio,
                       gb_tensor_set *out, gb_error *err);

/* Writes the tensors under their names, stored, in the order of the set. The file is written whole or not at all. Errors: EOPTION (a name
** that is no name of a file, or too long), EIO, ENOMEM, EINTR. */
gb_status gb_npz_write (const char *path, const gb_tensor_set *set, gb_error *err);

#endif
