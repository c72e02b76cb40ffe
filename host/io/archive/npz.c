/* npz.c - members of a zip archive as sources and sinks of npy.h. */
#include "io/archive/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/archive/zip.h"
#include "io/archive/zip_write.h"
#include "io/npy.h"

#define NAME 256 /* bytes of a name that is written */

/* -- reading */

static gb_status read_member (void *ud, void *to, size_t n, size_t *got, gb_error *err) {
  return gb_zip_read(ud, to, n, got, err);
}

/* The name without ".npy"; the caller frees it. */
static gb_status name_of (const char *path, const char *member, char **out, gb_error *err) {
  const size_t n = strlen(member);
  if (n <= 4 || strcmp(member + n - 4, ".npy") != 0)
    return gb_fail(err, GB_EFORMAT,
                   "%s: '%.80s' is not an array (.npy); unpack the archive and read its files one by one",
                   path, member);
  if ((*out = strndup(member, n - 4)) == NULL) return gb_fail(err, GB_ENOMEM, "no memory to read '%s'", path);
  return GB_OK;
}

static gb_status check_new (const char *path, const gb_tensor_set *set, const char *name, gb_error *err) {
  for (size_t i = 0; i < set->ntensors; i++)
    if (strcmp(set->tensor[i].name, name) == 0)
      return gb_fail(err, GB_EFORMAT, "%s: two arrays are called '%.80s'", path, name);
  return GB_OK;
}

static gb_status read_array (gb_zip *z, size_t i, const char *where, gb_tensor_set *set, gb_error *err) {
  const gb_zip_member *m = gb_zip_at(z, i);
  char label[400], *name;
  GB_TRY(name_of(z->file.path, m->name, &name, err));
  const gb_status st = check_new(z->file.path, set, name, err);
  set->tensor[set->ntensors++].name = name; /* the set frees it */
  GB_TRY(st);
  snprintf(label, sizeof label, "%.250s: %.100s", z->file.path, m->name);
  GB_TRY(gb_zip_begin(z, i, err));
  return gb_npy_read_from(z->ledger, &(gb_npy_source){label, (size_t)m->size, read_member, z}, where,
                          &set->tensor[i].value, err);
}

gb_status gb_npz_read (gb_ledger *l, const char *path, const char *where, double max_ratio,
                       gb_tensor_set *out, gb_error *err) {
  gb_zip z;
  *out = (gb_tensor_set){0};
  GB_TRY(gb_zip_open(l, path, max_ratio > 0 ? max_ratio : GB_NPZ_RATIO, &z, err));
  out->tensor = calloc(z.n + 1, sizeof *out->tensor);
  gb_status st = out->tensor == NULL ? gb_fail(err, GB_ENOMEM, "no memory to read '%s'", path) : GB_OK;
  for (size_t i = 0; i < z.n && st == GB_OK; i++) st = read_array(&z, i, where, out, err);
  gb_zip_close(&z);
  if (st != GB_OK) gb_tensor_set_clear(out);
  return st;
}

/* -- writing */

typedef struct tally {
  uint32_t crc;
  uint64_t size;
} tally;

static gb_status add_up (void *ud, const void *p, size_t bytes) {
  tally *t = ud;
  for (const unsigned char *at = p; bytes > 0;) {
    const size_t some = bytes < 1u << 30 ? bytes : 1u << 30;
    t->crc = (uint32_t)crc32(t->crc, at, (unsigned)some);
    t->size += some;
    at += some;
    bytes -= some;
  }
  return GB_OK;
}

static gb_status check_name (const char *name, gb_error *err) {
  const size_t n = strlen(name);
  if (n > 0 && n + 5 < NAME && name[0] != '/' && strstr(name, "..") == NULL && strchr(name, '\\') == NULL)
    return GB_OK;
  return gb_fail(err, GB_EOPTION, "an array in an .npz file cannot be called '%.80s'", name);
}

/* The array is walked twice: its checksum stands before it. */
static gb_status write_array (gb_outfile *f, const gb_named_tensor *t, char *name, gb_zip_stored *m,
                              uint64_t *written, gb_error *err) {
  tally sum = {.crc = (uint32_t)crc32(0, NULL, 0)};
  gb_outfile_sink to = {f, err};
  snprintf(name, NAME, "%s.npy", t->name);
  GB_TRY(gb_npy_emit(&t->value, add_up, &sum, err));
  *m = (gb_zip_stored){.name = name, .crc = sum.crc, .size = sum.size};
  GB_TRY(gb_zip_write_heading(f, m, written, err));
  return gb_npy_emit(&t->value, gb_outfile_take, &to, err);
}

static gb_status write_all (gb_outfile *f, const gb_tensor_set *set, gb_zip_stored *m, char (*name)[NAME],
                            gb_error *err) {
  uint64_t written = 0;
  for (size_t i = 0; i < set->ntensors; i++)
    GB_TRY(write_array(f, &set->tensor[i], name[i], &m[i], &written, err));
  GB_TRY(gb_zip_write_directory(f, m, set->ntensors, written, err));
  return gb_outfile_commit(f, err);
}

gb_status gb_npz_write (const char *path, const gb_tensor_set *set, gb_error *err) {
  gb_outfile f = {.fd = -1};
  for (size_t i = 0; i < set->ntensors; i++) GB_TRY(check_name(set->tensor[i].name, err));
  gb_zip_stored *m = calloc(set->ntensors + 1, sizeof *m);
  char(*name)[NAME] = calloc(set->ntensors + 1, sizeof *name);
  gb_status st = m == NULL || name == NULL ? gb_fail(err, GB_ENOMEM, "no memory to write '%s'", path) : GB_OK;
  if (st == GB_OK) st = gb_outfile_open(path, &f, err);
  if (st == GB_OK) st = write_all(&f, set, m, name, err);
  gb_outfile_abandon(&f);
  free(m);
  free(name);
  return st;
}
