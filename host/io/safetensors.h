/* safetensors.h - named tensors in one file: 8 bytes with the length of a JSON heading (little-endian),
** the heading, the data.
**
**   {"__metadata__": {string: string, ...},
**    name: {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
**
** Data are row-major and little-endian; offsets count from the end of the heading and cover the rest of the
** file without a gap. Nothing in a file is ever run. Source: the format's description in the safetensors
** project. */
#ifndef GB_IO_SAFETENSORS_H
#define GB_IO_SAFETENSORS_H

#include "tensor/tensor.h"

#define GB_SAFETENSORS_HEADING ((size_t)1 << 20) /* bytes; longer headings are refused */

typedef struct gb_named_tensor {
  char *name;
  gb_tensor value;
} gb_named_tensor;

typedef struct gb_named_text {
  char *key, *text;
} gb_named_text;

typedef struct gb_tensor_set {
  size_t ntensors, ntexts;
  gb_named_tensor *tensor;
  gb_named_text *text; /* __metadata__ */
  bool canonical;      /* read: the heading is byte for byte what gb_safetensors_write produces */
} gb_tensor_set;

/* Reads F64 F32 F16 BF16 I64 I32 BOOL as they are; I8 I16 U8 U16 U32 become i64. Tensors are charged to 'l'
** and come in the order of the file. Every size is checked before memory for data is allocated, so a file
** takes at most eight times its length. While it is read, the heading is charged with the upper bound of its
** memory. Errors: EIO; EFORMAT (what is wrong, what was expected); ENOMEM; EINTR. 'out' is empty after an
** error. */
gb_status gb_safetensors_read (gb_ledger *l, const char *path, const char *where, gb_tensor_set *out,
                               gb_error *err);

/* Writes the elements of views in index order. Equal contents give equal bytes: tensors are sorted by element
** width, widest first, then by name; metadata by key. The file is written whole or not at all. Errors:
** EOPTION (a name twice, not UTF-8, or reserved); EIO; ENOMEM; EINTR. */
gb_status gb_safetensors_write (const char *path, const gb_tensor_set *set, gb_error *err);

void gb_tensor_set_clear (gb_tensor_set *s); /* idempotent */

#endif
