/* safetensors_write.c - the writer: computes the offset of each tensor, then writes the heading and the data
** in that order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "tensor/host.h"

static const char *element_name (gb_dtype t) {
  static const char *const names[GB_NDTYPES] = {
      [GB_F64] = "F64", [GB_F32] = "F32",   [GB_F16] = "F16", [GB_BF16] = "BF16",
      [GB_I64] = "I64", [GB_BOOL] = "BOOL", [GB_I32] = "I32"};
  return names[t];
}

static int by_width_then_name (const void *a, const void *b) {
  const gb_named_tensor *x = *(const gb_named_tensor *const *)a, *y = *(const gb_named_tensor *const *)b;
  const size_t wx = gb_dtype_size(x->value.dtype), wy = gb_dtype_size(y->value.dtype);
  if (wx != wy) return wx > wy ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int by_key (const void *a, const void *b) {
  return strcmp((*(const gb_named_text *const *)a)->key, (*(const gb_named_text *const *)b)->key);
}

/* Adds 'value', whose count it takes, under 'key'. */
static gb_status put (json_t *object, const char *key, json_t *value, gb_error *err) {
  if (value != NULL && json_object_get(object, key) != NULL) {
    json_decref(value);
    return gb_fail(err, GB_EOPTION, "the name '%.64s' is there twice", key);
  }
  if (value != NULL && json_object_set_new(object, key, value) == 0) return GB_OK;
  json_t *unchecked = json_string_nocheck(key), *checked = json_string(key);
  const bool invalid = unchecked != NULL && checked == NULL;
  json_decref(unchecked);
  json_decref(checked);
  return invalid ? gb_fail(err, GB_EOPTION, "a name is not UTF-8")
                 : gb_fail(err, GB_ENOMEM, "no memory for the heading");
}

static gb_status put_text (json_t *object, const gb_named_text *t, gb_error *err) {
  json_t *value = json_string(t->text);
  if (value == NULL) {
    json_t *unchecked = json_string_nocheck(t->text);
    const bool invalid = unchecked != NULL;
    json_decref(unchecked);
    if (invalid) return gb_fail(err, GB_EOPTION, "the text of '%.64s' is not UTF-8", t->key);
  }
  return put(object, t->key, value, err);
}

static gb_status put_tensor (json_t *object, const gb_named_tensor *t, size_t *at, gb_error *err) {
  if (strcmp(t->name, "__metadata__") == 0)
    return gb_fail(err, GB_EOPTION, "a tensor cannot be called '__metadata__'");
  const size_t begin = *at;
  json_t *shape = json_array();
  bool good = shape != NULL;
  for (int i = 0; i < t->value.shape.ndim && good; i++)
    good = json_array_append_new(shape, json_integer((json_int_t)t->value.shape.dim[i])) == 0;
  *at += gb_shape_bytes(&t->value.shape, t->value.dtype);
  if (!good) {
    json_decref(shape);
    shape = NULL;
  }
  json_t *row = json_pack("{s:s, s:o, s:[I, I]}", "dtype", element_name(t->value.dtype), "shape", shape,
                          "data_offsets", (json_int_t)begin, (json_int_t)*at);
  return put(object, t->name, row, err);
}

typedef struct layout {
  const gb_named_tensor **tensor; /* in the order of the file */
  const gb_named_text **text;
  json_t *heading;
} layout;

static gb_status fill_heading (layout *y, const gb_tensor_set *set, gb_error *err) {
  if (set->ntexts > 0) {
    json_t *texts = json_object();
    GB_TRY(put(y->heading, "__metadata__", texts, err));
    for (size_t i = 0; i < set->ntexts; i++) GB_TRY(put_text(texts, y->text[i], err));
  }
  size_t at = 0;
  for (size_t i = 0; i < set->ntensors; i++) GB_TRY(put_tensor(y->heading, y->tensor[i], &at, err));
  return GB_OK;
}

static gb_status make_layout (layout *y, const gb_tensor_set *set, gb_error *err) {
  y->tensor = calloc(set->ntensors + 1, sizeof *y->tensor);
  y->text = calloc(set->ntexts + 1, sizeof *y->text);
  y->heading = json_object();
  if (y->tensor == NULL || y->text == NULL || y->heading == NULL)
    return gb_fail(err, GB_ENOMEM, "no memory for the heading");
  for (size_t i = 0; i < set->ntensors; i++) y->tensor[i] = &set->tensor[i];
  for (size_t i = 0; i < set->ntexts; i++) y->text[i] = &set->text[i];
  qsort(y->tensor, set->ntensors, sizeof *y->tensor, by_width_then_name);
  qsort(y->text, set->ntexts, sizeof *y->text, by_key);
  return fill_heading(y, set, err);
}

/* The length, the heading, and blanks up to a multiple of 8. */
static gb_status write_heading (gb_outfile *f, const json_t *heading, gb_error *err) {
  char *text = json_dumps(heading, JSON_COMPACT);
  if (text == NULL) {
    gb_outfile_abandon(f);
    return gb_fail(err, GB_ENOMEM, "no memory for the heading");
  }
  const size_t n = strlen(text), blanks = (8 - n % 8) % 8;
  const uint64_t length = n + blanks;
  gb_status st = length <= GB_SAFETENSORS_HEADING
                     ? gb_outfile_write(f, &length, sizeof length, err)
                     : gb_fail(err, GB_EOPTION, "a heading of %llu bytes; at most %zu can be read",
                               (unsigned long long)length, GB_SAFETENSORS_HEADING);
  if (st == GB_OK) st = gb_outfile_write(f, text, n, err);
  if (st == GB_OK) st = gb_outfile_write(f, "        ", blanks, err);
  gb_json_free(text);
  if (st != GB_OK) gb_outfile_abandon(f);
  return st;
}

static gb_status write_elements (const gb_tensor *t, gb_outfile_sink *to) {
  gb_tensor host;
  const gb_status st = gb_host_of(t, &host, to->err);
  if (st != GB_OK) gb_outfile_abandon(to->file);
  return st == GB_OK ? gb_tensor_visit(&host, gb_outfile_take, to) : st;
}

gb_status gb_safetensors_write (const char *path, const gb_tensor_set *set, gb_error *err) {
  layout y = {0};
  gb_outfile f = {.fd = -1};
  gb_status st = make_layout(&y, set, err);
  if (st == GB_OK) st = gb_outfile_open(path, &f, err);
  if (st == GB_OK) st = write_heading(&f, y.heading, err);
  gb_outfile_sink to = {&f, err};
  for (size_t i = 0; i < set->ntensors && st == GB_OK; i++) st = write_elements(&y.tensor[i]->value, &to);
  if (st == GB_OK) st = gb_outfile_commit(&f, err);
  json_decref(y.heading);
  free(y.tensor);
  free(y.text);
  return st;
}
