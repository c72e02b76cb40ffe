/* foreign.h - arrays in files that a library of another project reads: HDF5 and MATLAB's. The program links none of them: a library of
** ours does, libgibbous_hdf5.so and libgibbous_matio.so, which is opened when such a file is read. */
#ifndef GB_IO_FOREIGN_FOREIGN_H
#define GB_IO_FOREIGN_FOREIGN_H

#include "io/safetensors.h"

#define GB_FOREIGN_ABI 1u
#define GB_FOREIGN_SYMBOL "gb_foreign_read_plugin"

typedef struct gb_foreign_array {
  const char *name;
  gb_dtype dtype; /* f64 f32 i64 bool */
  gb_shape shape;
  bool columns; /* the first axis is the fastest */
} gb_foreign_array;

/* What a library calls for each thing in a file. */
typedef struct gb_foreign_sink {
  bool (*wants)(void *ud, const char *name);
  /* memory for the elements, in the order of the file; the library fills it before its next call */
  gb_status (*place)(void *ud, const gb_foreign_array *a, void **to, gb_error *err);
  /* the thing cannot be read as an array, for this reason */
  gb_status (*leave)(void *ud, const char *name, const char *why, gb_error *err);
  void *ud;
} gb_foreign_sink;

/* What a library gives: a function of this name and type. 'abi' is GB_FOREIGN_ABI of the program. Errors: EIO (another version; the file
** cannot be read), EFORMAT, those of the sink. */
typedef gb_status gb_foreign_read_function (unsigned abi, const char *path, const gb_foreign_sink *sink,
                                            gb_error *err);

/* Reads the arrays of numbers in a file by the library of 'kind', "hdf5" or "matio"; 'only' (may be NULL) names one. Others are left out
** and said in 'notes', a line each; the one that is asked for is an error. The tensors are charged to 'l'. Errors: EIO (no library, with
** the reason and the remedy), EFORMAT (with the name of the array), EOPTION (no such array), ENOMEM. */
gb_status gb_foreign_read (gb_ledger *l, const char *kind, const char *path, const char *only,
                           const char *where, gb_tensor_set *out, char *notes, size_t room, gb_error *err);

#endif
