/* hdf5.c - the data sets of numbers in an HDF5 file. Links out of the file are not followed, filters are not loaded from elsewhere. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "io/foreign/foreign.h"

typedef struct walk {
  const char *path;
  const gb_foreign_sink *sink;
  gb_error *err;
  gb_status status;
} walk;

/* An open data set with its parts; 0 or less: not open. */
typedef struct set {
  hid_t id, type, space, made;
} set;

static void close_set (set *s) {
  if (s->made > 0) H5Pclose(s->made);
  if (s->space > 0) H5Sclose(s->space);
  if (s->type > 0) H5Tclose(s->type);
  if (s->id > 0) H5Dclose(s->id);
}

/* What the elements become; false where they are no numbers that we have, and 'why' says so. */
static bool find_type (hid_t type, gb_foreign_array *a, hid_t *as, const char **why) {
  const H5T_class_t kind = H5Tget_class(type);
  const size_t width = H5Tget_size(type);
  if (kind == H5T_FLOAT && width > 0 && width <= 8) {
    a->dtype = width == 8 ? GB_F64 : GB_F32;
    *as = width == 8 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    return true;
  }
  if (kind == H5T_INTEGER && width > 0 && (width < 8 || (width == 8 && H5Tget_sign(type) == H5T_SGN_2))) {
    a->dtype = GB_I64;
    *as = H5T_NATIVE_INT64;
    return true;
  }
  *why = kind == H5T_STRING     ? "is text"
         : kind == H5T_INTEGER  ? "has unsigned integers of 64 bits"
         : kind == H5T_FLOAT    ? "has floats of more than 64 bits"
         : kind == H5T_COMPOUND ? "has records"
         : kind == H5T_ENUM     ? "has names of values"
                                : "holds no numbers";
  return false;
}

static bool find_shape (hid_t space, gb_shape *out, const char **why) {
  hsize_t dim[H5S_MAX_RANK];
  const int n = H5Sget_simple_extent_ndims(space);
  *out = (gb_shape){0};
  *why = "is empty";
  if (n < 0 || H5Sget_simple_extent_type(space) == H5S_NULL) return false;
  *why = "has more axes than a tensor";
  if (n > GB_MAXDIM) return false;
  *why = "has no readable shape";
  if (n > 0 && H5Sget_simple_extent_dims(space, dim, NULL) != n) return false;
  out->ndim = n;
  for (int i = 0; i < n; i++) out->dim[i] = (size_t)dim[i];
  return true;
}

static bool is_elsewhere (hid_t made) {
  return H5Pget_external_count(made) != 0 || H5Pget_layout(made) == H5D_VIRTUAL;
}

static gb_status read_set (walk *w, const char *name, set *s) {
  gb_foreign_array a = {.name = name};
  const char *why = NULL;
  hid_t as = 0;
  void *to = NULL;
  if (s->id < 0 || s->type < 0 || s->space < 0 || s->made < 0)
    return gb_fail(w->err, GB_EFORMAT, "%s: '%.200s' is damaged", w->path, name);
  if (is_elsewhere(s->made)) return w->sink->leave(w->sink->ud, name, "lies in other files", w->err);
  if (!find_type(s->type, &a, &as, &why) || !find_shape(s->space, &a.shape, &why))
    return w->sink->leave(w->sink->ud, name, why, w->err);
  GB_TRY(w->sink->place(w->sink->ud, &a, &to, w->err));
  if (H5Dread(s->id, as, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
    return gb_fail(w->err, GB_EFORMAT,
                   "%s: the data of '%.200s' cannot be read: the file is damaged, or packed by a filter that "
                   "is not there",
                   w->path, name);
  return GB_OK;
}

static herr_t visit (hid_t file, const char *name, const H5O_info_t *info, void *ud) {
  walk *w = ud;
  if (info->type != H5O_TYPE_DATASET || !w->sink->wants(w->sink->ud, name)) return 0;
  set s = {.id = H5Dopen2(file, name, H5P_DEFAULT)};
  if (s.id >= 0) s = (set){s.id, H5Dget_type(s.id), H5Dget_space(s.id), H5Dget_create_plist(s.id)};
  w->status = read_set(w, name, &s);
  close_set(&s);
  return w->status == GB_OK ? 0 : 1;
}

gb_foreign_read_function gb_foreign_read_plugin;
gb_status gb_foreign_read_plugin (unsigned abi, const char *path, const gb_foreign_sink *sink,
                                  gb_error *err) {
  walk w = {path, sink, err, GB_OK};
  if (abi != GB_FOREIGN_ABI)
    return gb_fail(err, GB_EIO,
                   "libgibbous_hdf5.so and the program are of two versions: build both together");
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* errors come back by status */
  H5PLset_loading_state(0);
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return gb_fail(err, GB_EFORMAT, "%s: a damaged HDF5 file, or one that is cut short", path);
  const herr_t end = H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &w);
  H5Fclose(file);
  if (w.status == GB_OK && end < 0)
    return gb_fail(err, GB_EFORMAT, "%s: a damaged HDF5 file: its groups cannot be read", path);
  return w.status;
}
