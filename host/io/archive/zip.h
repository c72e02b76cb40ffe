/* zip.h - the members of a zip archive, read one at a time: stored or deflated, also with 64-bit sizes. Source: PKWARE's APPNOTE,
** sections 4.3 to 4.5. */
#ifndef GB_IO_ARCHIVE_ZIP_H
#define GB_IO_ARCHIVE_ZIP_H

#include <stdbool.h>
#include <zlib.h>

#include "base/infile.h"
#include "device/ledger.h"

#define GB_ZIP_DIRECTORY ((size_t)16 << 20) /* bytes of the directory; longer ones are refused */

typedef struct gb_zip_member {
  const char *name; /* ended by NUL */
  int method;       /* 0 stored, 8 deflated */
  uint32_t crc;
  uint64_t at;           /* of the local heading */
  uint64_t packed, size; /* bytes in the file, and unpacked */
} gb_zip_member;

typedef struct gb_zip {
  gb_infile file;
  gb_ledger *ledger;
  gb_block names, list; /* the directory with names ended by NUL; gb_zip_member[n] */
  size_t n;
  /* the member that is being read */
  const gb_zip_member *member;
  gb_block in; /* packed bytes */
  z_stream z;
  bool inflating;
  uint64_t taken, given; /* packed bytes read, bytes handed out */
  uint32_t crc;          /* of the bytes handed out */
} gb_zip;

/* Reads the directory. Refused are (EFORMAT): what is no zip archive or is cut short, members that overlap, lie outside the file, are
** encrypted, or packed in another way; and archives that claim to unpack to more than 'max_ratio' times their size and 16 MiB.
** Errors: also EIO, ENOMEM, EINTR. 'path' must outlive 'out'. */
gb_status gb_zip_open (gb_ledger *l, const char *path, double max_ratio, gb_zip *out, gb_error *err);

static inline const gb_zip_member *gb_zip_at (const gb_zip *z, size_t i) {
  return (const gb_zip_member *)z->list.data + i;
}

/* Goes to the first byte of member i. Errors: EIO, EFORMAT, ENOMEM. */
gb_status gb_zip_begin (gb_zip *z, size_t i, gb_error *err);

/* The next n bytes of the member; fewer only at its end, where its length and checksum must be right. Errors: EIO, EFORMAT, EINTR. */
gb_status gb_zip_read (gb_zip *z, void *to, size_t n, size_t *got, gb_error *err);

void gb_zip_close (gb_zip *z); /* idempotent */

#endif
