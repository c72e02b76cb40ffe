/* zip.c - the directory at the end of the file says where members lie; nothing else is believed of a local heading but its length. */
#include "io/archive/zip.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "io/widen.h"

#define IN ((size_t)64 << 10)
#define FREE_OF_RATIO ((uint64_t)16 << 20)

enum {
  END = 22,        /* bytes of the record at the end, without its comment */
  COMMENT = 65535, /* at most */
  LOCATOR = 20,    /* of the record with 64-bit numbers */
  END_64 = 56,     /* that record */
  ENTRY = 46,      /* an entry of the directory, without its name */
  LOCAL = 30       /* a local heading, without its name */
};
#define SAYS_64 0xFFFFFFFFu /* in place of a 32-bit number that stands in the extra field */

static uint64_t number (const unsigned char *p, size_t width) { return (uint64_t)gb_integer(p, width, 0); }

static gb_status damaged (const gb_zip *z, const char *what, gb_error *err) {
  return gb_fail(err, GB_EFORMAT, "%s: damaged zip archive: %s", z->file.path, what);
}

static gb_status read_at (gb_zip *z, uint64_t at, void *to, size_t n, gb_error *err) {
  if (at > z->file.size || n > z->file.size - at) return damaged(z, "it is cut short", err);
  if (lseek(z->file.fd, (off_t)at, SEEK_SET) < 0)
    return gb_fail(err, GB_EIO, "cannot read '%s': %s", z->file.path, strerror(errno));
  return gb_infile_exactly(&z->file, to, n, err);
}

/* -- the directory */

typedef struct directory {
  uint64_t at, bytes, count;
} directory;

/* Of an archive that needs 64 bits: 'end' lies at 'at'. */
static gb_status read_end_64 (gb_zip *z, uint64_t at, directory *d, gb_error *err) {
  unsigned char locator[LOCATOR], r[END_64];
  if (at < LOCATOR) return damaged(z, "64-bit numbers are announced and missing", err);
  GB_TRY(read_at(z, at - LOCATOR, locator, LOCATOR, err));
  if (memcmp(locator, "PK\6\7", 4) != 0) return damaged(z, "64-bit numbers are announced and missing", err);
  GB_TRY(read_at(z, number(locator + 8, 8), r, END_64, err));
  if (memcmp(r, "PK\6\6", 4) != 0) return damaged(z, "64-bit numbers are announced and missing", err);
  *d = (directory){number(r + 48, 8), number(r + 40, 8), number(r + 32, 8)};
  return GB_OK;
}

/* The record at the end, before which a comment of any length may stand: the last one whose comment ends with the file. */
static gb_status find_directory (gb_zip *z, unsigned char *tail, directory *d, gb_error *err) {
  const size_t n = z->file.size < END + COMMENT ? z->file.size : END + COMMENT;
  GB_TRY(read_at(z, z->file.size - n, tail, n, err));
  for (size_t back = END; back <= n; back++) {
    const unsigned char *r = tail + n - back;
    if (memcmp(r, "PK\5\6", 4) != 0 || number(r + 20, 2) != back - END) continue;
    *d = (directory){number(r + 16, 4), number(r + 12, 4), number(r + 10, 2)};
    if (number(r + 4, 2) != 0 && number(r + 4, 2) != 0xFFFF)
      return damaged(z, "it is one part of several", err);
    return d->at == SAYS_64 || d->bytes == SAYS_64 || d->count == 0xFFFF
               ? read_end_64(z, z->file.size - back, d, err)
               : GB_OK;
  }
  return gb_fail(err, GB_EFORMAT, "%s: not a zip archive, or one that is cut short: it has no directory",
                 z->file.path);
}

/* Numbers that do not fit 32 bits, from the field 1 among the extra ones. */
static bool widen (const unsigned char *extra, size_t n, gb_zip_member *m) {
  uint64_t *wide[] = {&m->size, &m->packed, &m->at};
  for (size_t at = 0; at + 4 <= n;) {
    const size_t bytes = (size_t)number(extra + at + 2, 2);
    if (bytes > n - at - 4) return false;
    const unsigned char *from = extra + at + 4, *end = from + bytes;
    if (number(extra + at, 2) == 1)
      for (int i = 0; i < 3; i++) {
        if (*wide[i] != SAYS_64) continue;
        if (end - from < 8) return false;
        *wide[i] = number(from, 8);
        from += 8;
      }
    at += 4 + bytes;
  }
  return true;
}

/* The member of the entry at 'e', which has 'left' bytes. Its name moves to the front of the entry, where a NUL ends it. */
static gb_status parse_entry (gb_zip *z, unsigned char *e, size_t left, gb_zip_member *m, size_t *length,
                              gb_error *err) {
  if (left < ENTRY || memcmp(e, "PK\1\2", 4) != 0) return damaged(z, "its directory is not readable", err);
  const size_t name = (size_t)number(e + 28, 2), extra = (size_t)number(e + 30, 2),
               comment = (size_t)number(e + 32, 2), flags = (size_t)number(e + 8, 2);
  *length = ENTRY + name + extra + comment;
  if (left < *length) return damaged(z, "its directory is not readable", err);
  *m = (gb_zip_member){.method = (int)number(e + 10, 2),
                       .crc = (uint32_t)number(e + 16, 4),
                       .packed = number(e + 20, 4),
                       .size = number(e + 24, 4),
                       .at = number(e + 42, 4)};
  if (!widen(e + ENTRY + name, extra, m)) return damaged(z, "its directory is not readable", err);
  memmove(e, e + ENTRY, name);
  e[name] = '\0';
  m->name = (char *)e;
  if (memchr(e, 0, name) != NULL) return damaged(z, "the name of a member holds a NUL", err);
  if ((flags & 1) != 0)
    return gb_fail(err, GB_EFORMAT, "%s: '%.80s' is encrypted, which is not read", z->file.path, m->name);
  if (m->method != 0 && m->method != 8)
    return gb_fail(err, GB_EFORMAT,
                   "%s: '%.80s' is packed by method %d; stored and deflated members are read", z->file.path,
                   m->name, m->method);
  if (m->method == 0 && m->packed != m->size) return damaged(z, "a stored member has two lengths", err);
  return GB_OK;
}

/* Claims that cannot be: members take more than the file, or unpack to more than they may. */
static gb_status check_sizes (const gb_zip *z, double max_ratio, gb_error *err) {
  uint64_t packed = 0, size = 0;
  for (size_t i = 0; i < z->n; i++) {
    const gb_zip_member *m = gb_zip_at(z, i);
    if (m->at > z->file.size || m->packed > z->file.size - packed) return damaged(z, "members overlap", err);
    packed += m->packed;
    if (__builtin_add_overflow(size, m->size, &size)) return damaged(z, "a member is too long", err);
  }
  if (max_ratio > 0 && size > FREE_OF_RATIO && (double)size > max_ratio * (double)z->file.size)
    return gb_fail(
        err, GB_EFORMAT,
        "%s: it unpacks to more than %g times its size; max_ratio = ... allows more, or unpack it first",
        z->file.path, max_ratio);
  return GB_OK;
}

static gb_status read_directory (gb_zip *z, const directory *d, double max_ratio, gb_error *err) {
  if (d->bytes > GB_ZIP_DIRECTORY || d->count > d->bytes / ENTRY)
    return damaged(z, "its directory has an impossible length", err);
  GB_TRY(gb_ledger_alloc(z->ledger, GB_MEM_WORKSPACE, (size_t)d->bytes, "", "", &z->names, err));
  GB_TRY(gb_ledger_alloc(z->ledger, GB_MEM_WORKSPACE, (size_t)d->count * sizeof(gb_zip_member), "", "",
                         &z->list, err));
  GB_TRY(read_at(z, d->at, z->names.data, (size_t)d->bytes, err));
  size_t at = 0, length = 0;
  for (; z->n < d->count; z->n++, at += length)
    GB_TRY(parse_entry(z, (unsigned char *)z->names.data + at, (size_t)d->bytes - at,
                       (gb_zip_member *)z->list.data + z->n, &length, err));
  return check_sizes(z, max_ratio, err);
}

static gb_status look (gb_zip *z, double max_ratio, gb_error *err) {
  directory d = {0};
  gb_block tail;
  GB_TRY(gb_ledger_alloc(z->ledger, GB_MEM_WORKSPACE, END + COMMENT, "", "", &tail, err));
  const gb_status st = find_directory(z, tail.data, &d, err);
  gb_ledger_free(z->ledger, &tail);
  return st == GB_OK ? read_directory(z, &d, max_ratio, err) : st;
}

gb_status gb_zip_open (gb_ledger *l, const char *path, double max_ratio, gb_zip *out, gb_error *err) {
  *out = (gb_zip){.file.fd = -1, .ledger = l};
  GB_TRY(gb_infile_open(path, &out->file, err));
  gb_status st = gb_ledger_alloc(l, GB_MEM_WORKSPACE, IN, "", "", &out->in, err);
  if (st == GB_OK) st = look(out, max_ratio, err);
  if (st != GB_OK) gb_zip_close(out);
  return st;
}

/* -- members */

static gb_status bad_member (const gb_zip *z, const char *what, gb_error *err) {
  return gb_fail(err, GB_EFORMAT, "%s: '%.80s': %s", z->file.path, z->member->name, what);
}

static void end_member (gb_zip *z) {
  if (z->inflating) inflateEnd(&z->z);
  z->inflating = false;
}

gb_status gb_zip_begin (gb_zip *z, size_t i, gb_error *err) {
  unsigned char local[LOCAL];
  end_member(z);
  const gb_zip_member *m = z->member = gb_zip_at(z, i);
  GB_TRY(read_at(z, m->at, local, LOCAL, err));
  if (memcmp(local, "PK\3\4", 4) != 0) return bad_member(z, "it is not where the directory says", err);
  const uint64_t at = m->at + LOCAL + number(local + 26, 2) + number(local + 28, 2);
  if (at > z->file.size || m->packed > z->file.size - at)
    return bad_member(z, "it ends behind the file", err);
  GB_TRY(read_at(z, at, NULL, 0, err));
  z->taken = z->given = 0;
  z->crc = (uint32_t)crc32(0, NULL, 0);
  z->z = (z_stream){0};
  if (m->method == 0) return GB_OK;
  if (inflateInit2(&z->z, -15) != Z_OK)
    return gb_fail(err, GB_ENOMEM, "no memory to unpack '%s'", z->file.path);
  z->inflating = true;
  return GB_OK;
}

/* Unpacks at most n bytes; none at the end of the member. */
static gb_status inflate_some (gb_zip *z, unsigned char *to, size_t n, size_t *got, gb_error *err) {
  *got = 0;
  while (*got == 0) {
    if (z->z.avail_in == 0) {
      const uint64_t left = z->member->packed - z->taken;
      const size_t some = left < IN ? (size_t)left : IN;
      GB_TRY(gb_infile_exactly(&z->file, z->in.data, some, err));
      z->taken += some;
      z->z.next_in = z->in.data;
      z->z.avail_in = (unsigned)some;
    }
    z->z.next_out = to;
    z->z.avail_out = (unsigned)n;
    const int code = inflate(&z->z, Z_NO_FLUSH);
    *got = n - z->z.avail_out;
    if (code == Z_STREAM_END) return GB_OK;
    if (code == Z_MEM_ERROR) return gb_fail(err, GB_ENOMEM, "no memory to unpack '%s'", z->file.path);
    if (code == Z_BUF_ERROR && z->taken == z->member->packed)
      return bad_member(z, "its data end too early", err);
    if (code != Z_OK && code != Z_BUF_ERROR) return bad_member(z, "damaged data", err);
  }
  return GB_OK;
}

/* At the end of a member: is it whole? */
static gb_status check_end (const gb_zip *z, gb_error *err) {
  if (z->crc != z->member->crc) return bad_member(z, "its checksum is wrong: the file is damaged", err);
  return GB_OK;
}

gb_status gb_zip_read (gb_zip *z, void *to, size_t n, size_t *got, gb_error *err) {
  const uint64_t left = z->member->size - z->given;
  unsigned char *at = to;
  if (n > left) n = (size_t)left;
  for (*got = 0; *got < n;) {
    size_t some = n - *got < IN ? n - *got : IN;
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    if (z->inflating) GB_TRY(inflate_some(z, at + *got, some, &some, err));
    else GB_TRY(gb_infile_exactly(&z->file, at + *got, some, err));
    if (some == 0) return bad_member(z, "it is shorter than the directory says", err);
    z->crc = (uint32_t)crc32(z->crc, at + *got, (unsigned)some);
    *got += some;
    z->given += some;
  }
  return z->given == z->member->size ? check_end(z, err) : GB_OK;
}

void gb_zip_close (gb_zip *z) {
  end_member(z);
  gb_ledger_free(z->ledger, &z->in);
  gb_ledger_free(z->ledger, &z->names);
  gb_ledger_free(z->ledger, &z->list);
  gb_infile_close(&z->file);
}
