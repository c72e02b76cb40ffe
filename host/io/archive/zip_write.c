/* zip_write.c - records of numbers, little-endian. */
#include "io/archive/zip_write.h"

#include <string.h>

typedef struct record {
  unsigned char bytes[96];
  size_t n;
} record;

static void put (record *r, uint64_t v, int width) {
  for (int i = 0; i < width; i++) r->bytes[r->n++] = (unsigned char)(v >> 8 * i);
}

enum { NEEDED = 45, MADE_BY = 45, UTF8 = 1 << 11, DATE = 0x21 }; /* version 4.5 has 64 bits; 1980-01-01 */

/* From "version needed" to the lengths of name and extra field: the sizes stand in the extra field. */
static void put_common (record *r, const gb_zip_stored *m, int extra) {
  put(r, NEEDED, 2);
  put(r, UTF8, 2);
  put(r, 0, 2); /* stored */
  put(r, 0, 2);
  put(r, DATE, 2);
  put(r, m->crc, 4);
  put(r, 0xFFFFFFFF, 4);
  put(r, 0xFFFFFFFF, 4);
  put(r, strlen(m->name), 2);
  put(r, (uint64_t)extra, 2);
}

static gb_status write_record (gb_outfile *f, const record *r, const char *name, const record *extra,
                               gb_error *err) {
  GB_TRY(gb_outfile_write(f, r->bytes, r->n, err));
  GB_TRY(gb_outfile_write(f, name, strlen(name), err));
  return gb_outfile_write(f, extra->bytes, extra->n, err);
}

gb_status gb_zip_write_heading (gb_outfile *f, gb_zip_stored *m, uint64_t *written, gb_error *err) {
  record r = {.n = 0}, extra = {.n = 0};
  put(&extra, 1, 2);
  put(&extra, 16, 2);
  put(&extra, m->size, 8);
  put(&extra, m->size, 8);
  put(&r, 0x04034B50, 4);
  put_common(&r, m, (int)extra.n);
  m->at = *written;
  *written += r.n + strlen(m->name) + extra.n + m->size;
  return write_record(f, &r, m->name, &extra, err);
}

static gb_status write_entry (gb_outfile *f, const gb_zip_stored *m, uint64_t *bytes, gb_error *err) {
  record r = {.n = 0}, extra = {.n = 0};
  put(&extra, 1, 2);
  put(&extra, 24, 2);
  put(&extra, m->size, 8);
  put(&extra, m->size, 8);
  put(&extra, m->at, 8);
  put(&r, 0x02014B50, 4);
  put(&r, MADE_BY, 2);
  put_common(&r, m, (int)extra.n);
  put(&r, 0, 2); /* comment */
  put(&r, 0, 2); /* part */
  put(&r, 0, 2);
  put(&r, 0, 4);
  put(&r, 0xFFFFFFFF, 4);
  *bytes += r.n + strlen(m->name) + extra.n;
  return write_record(f, &r, m->name, &extra, err);
}

static gb_status write_end (gb_outfile *f, size_t n, uint64_t at, uint64_t bytes, gb_error *err) {
  record r = {.n = 0}, end = {.n = 0};
  put(&r, 0x06064B50, 4);
  put(&r, 44, 8);
  put(&r, MADE_BY, 2);
  put(&r, NEEDED, 2);
  put(&r, 0, 8); /* parts */
  put(&r, n, 8);
  put(&r, n, 8);
  put(&r, bytes, 8);
  put(&r, at, 8);
  put(&r, 0x07064B50, 4); /* where that record lies */
  put(&r, 0, 4);
  put(&r, at + bytes, 8);
  put(&r, 1, 4);
  put(&end, 0x06054B50, 4);
  put(&end, 0, 4);
  put(&end, 0xFFFF, 2);
  put(&end, 0xFFFF, 2);
  put(&end, 0xFFFFFFFF, 4);
  put(&end, 0xFFFFFFFF, 4);
  put(&end, 0, 2);
  return write_record(f, &r, "", &end, err);
}

gb_status gb_zip_write_directory (gb_outfile *f, const gb_zip_stored *m, size_t n, uint64_t written,
                                  gb_error *err) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < n; i++) GB_TRY(write_entry(f, &m[i], &bytes, err));
  return write_end(f, n, written, bytes, err);
}
