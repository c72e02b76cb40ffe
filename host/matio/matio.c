/* matio.c - the matrices of numbers in a MATLAB file. */
#include <limits.h>
#include <matio.h>
#include <stdio.h>
#include <string.h>

#include "io/foreign/foreign.h"
#include "io/widen.h"

typedef struct walk {
  const char *path;
  mat_t *mat;
  const gb_foreign_sink *sink;
  gb_error *err;
} walk;

/* Bytes of an element as the library gives it, 0 where it is no number that we have. */
static size_t find_type (const matvar_t *v, gb_dtype *out, bool *is_signed, const char **why) {
  *out = GB_I64;
  *is_signed = true;
  *why = v->isComplex ? "is complex" : NULL;
  if (v->isComplex) return 0;
  switch (v->class_type) {
    case MAT_C_DOUBLE: return *out = GB_F64, 8;
    case MAT_C_SINGLE: return *out = GB_F32, 4;
    case MAT_C_INT64: return 8;
    case MAT_C_INT32: return 4;
    case MAT_C_INT16: return 2;
    case MAT_C_INT8: return 1;
    case MAT_C_UINT32: return *is_signed = false, 4;
    case MAT_C_UINT16: return *is_signed = false, 2;
    case MAT_C_UINT8:
      if (v->isLogical) *out = GB_BOOL;
      return *is_signed = false, 1;
    case MAT_C_UINT64: return *why = "has unsigned integers of 64 bits", 0;
    case MAT_C_CHAR: return *why = "is text", 0;
    case MAT_C_SPARSE: return *why = "is sparse: full(x) is not", 0;
    case MAT_C_CELL: return *why = "is a cell array", 0;
    case MAT_C_STRUCT: return *why = "is a structure", 0;
    default: return *why = "holds no numbers", 0;
  }
}

static bool find_shape (const matvar_t *v, gb_shape *out, const char **why) {
  *out = (gb_shape){0};
  *why = "has more axes than a tensor";
  if (v->rank < 0 || v->rank > GB_MAXDIM) return false;
  *why = "is too long along an axis";
  out->ndim = v->rank;
  for (int i = 0; i < v->rank; i++) {
    if (v->dims[i] > INT_MAX) return false;
    out->dim[i] = v->dims[i];
  }
  return true;
}

/* Narrow integers are read into the end of the memory and widened from there. */
static gb_status read_elements (walk *w, matvar_t *v, const gb_foreign_array *a, size_t width, bool is_signed,
                                void *to) {
  int start[GB_MAXDIM] = {0}, stride[GB_MAXDIM], edge[GB_MAXDIM];
  size_t n = 1;
  for (int i = 0; i < a->shape.ndim; i++) {
    stride[i] = 1;
    edge[i] = (int)a->shape.dim[i];
    n *= a->shape.dim[i];
  }
  if (n == 0) return GB_OK;
  const size_t size = a->dtype == GB_I64 ? 8 : width;
  unsigned char *from = (unsigned char *)to + n * (size - width);
  if (Mat_VarReadData(w->mat, v, from, start, stride, edge) != 0)
    return gb_fail(w->err, GB_EFORMAT, "%s: the data of '%.200s' cannot be read: the file is damaged",
                   w->path, v->name);
  if (a->dtype == GB_I64 && width < 8) gb_widen(to, from, n, width, is_signed);
  for (size_t i = 0; a->dtype == GB_BOOL && i < n; i++) from[i] = from[i] != 0;
  return GB_OK;
}

static gb_status read_variable (walk *w, const char *name, matvar_t *v) {
  gb_foreign_array a = {.name = name, .columns = true};
  bool is_signed;
  const char *why;
  void *to = NULL;
  if (v == NULL) return gb_fail(w->err, GB_EFORMAT, "%s: '%.200s' is damaged", w->path, name);
  const size_t width = find_type(v, &a.dtype, &is_signed, &why);
  if (width == 0 || !find_shape(v, &a.shape, &why)) return w->sink->leave(w->sink->ud, name, why, w->err);
  GB_TRY(w->sink->place(w->sink->ud, &a, &to, w->err));
  return read_elements(w, v, &a, width, is_signed, to);
}

static gb_status read_all (walk *w) {
  size_t n = 0;
  char *const *names = Mat_GetDir(w->mat, &n);
  if (names == NULL)
    return gb_fail(w->err, GB_EFORMAT, "%s: a damaged MATLAB file: it has no variables", w->path);
  for (size_t i = 0; i < n; i++) {
    if (names[i] == NULL || !w->sink->wants(w->sink->ud, names[i])) continue;
    matvar_t *v = Mat_VarReadInfo(w->mat, names[i]);
    const gb_status st = read_variable(w, names[i], v);
    Mat_VarFree(v);
    GB_TRY(st);
  }
  return GB_OK;
}

gb_foreign_read_function gb_foreign_read_plugin;
gb_status gb_foreign_read_plugin (unsigned abi, const char *path, const gb_foreign_sink *sink,
                                  gb_error *err) {
  if (abi != GB_FOREIGN_ABI)
    return gb_fail(err, GB_EIO,
                   "libgibbous_matio.so and the program are of two versions: build both together");
  walk w = {path, Mat_Open(path, MAT_ACC_RDONLY), sink, err};
  if (w.mat == NULL)
    return gb_fail(err, GB_EFORMAT, "%s: a damaged MATLAB file, or one that is cut short", path);
  const gb_status st = read_all(&w);
  Mat_Close(w.mat);
  return st;
}
