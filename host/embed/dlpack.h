/* dlpack.h - the structures of DLPack, by which libraries of tensors exchange memory: versions 1.x, and those before 1.0. */
#ifndef GB_EMBED_DLPACK_H
#define GB_EMBED_DLPACK_H

#include <stdint.h>

typedef struct gb_dl_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits; /* of an element */
  uint16_t lanes;
  int64_t *shape, *strides; /* in elements; strides NULL: row-major */
  uint64_t byte_offset;
} gb_dl_tensor;

enum { GB_DL_CPU = 1 };                                                    /* device_type */
enum { GB_DL_INT = 0, GB_DL_FLOAT = 2, GB_DL_BFLOAT = 4, GB_DL_BOOL = 6 }; /* code */
enum { GB_DL_READ_ONLY = 1 };                                              /* flags */

struct DLManagedTensor {
  gb_dl_tensor tensor;
  void *context;
  void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  gb_dl_tensor tensor;
};

#endif
