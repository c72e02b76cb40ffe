/* library.h - what the emulated cuBLAS and cuSOLVER share: handles, checks of addresses, work in a handle's stream.
** A library reads and writes memory of its device alone; where a GPU would fault, the process stops with the name. */
#pragma once
#include <library_types.h>
#include <math.h>

#include "internal.h"

namespace emu {

struct library_handle {
  int device = 0;
  cudaStream_t queue = nullptr;
};

/* Bytes of a column-major matrix with a leading dimension. */
inline size_t matrix_bytes (int64_t rows, int64_t columns, int64_t ld, size_t element) {
  return rows <= 0 || columns <= 0 ? 0 : ((size_t)ld * (size_t)(columns - 1) + (size_t)rows) * element;
}

inline void must_be_on_device (const char *name, const char *what, const void *p, size_t bytes) {
  if (bytes == 0) return;
  if (!on_device(region_of(p, bytes)) &&
      !(region_of(p, bytes) != nullptr && region_of(p, 1)->of == kind::pinned))
    stop("%s: %s (%zu bytes) leaves memory of a device: %s", name, what, bytes, describe_address(p).c_str());
}

/* What a library leaves in a workspace is nobody's business. */
inline void destroy (void *p, size_t bytes) {
  if (p != nullptr && bytes > 0) memset(p, 0xFF, bytes);
}

void library_work (const library_handle &, const char *name, double operations, std::function<void()> body);

template <class T> bool all_finite (const T *a, int64_t rows, int64_t columns, int64_t ld) {
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < rows; i++)
      if (!isfinite(a[i + j * ld])) return false;
  return true;
}
template <class T> void fill_nan (T *a, int64_t rows, int64_t columns, int64_t ld) {
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < rows; i++) a[i + j * ld] = (T)NAN;
}

}   // namespace emu
