/* unpack.h - the bytes of a plain file, unpacked if it is gzip. */
#ifndef GB_IO_UNPACK_H
#define GB_IO_UNPACK_H

#include <stdbool.h>
#include <zlib.h>

#include "base/infile.h"
#include "device/ledger.h"

typedef struct gb_unpack {
  gb_infile file;
  gb_ledger *ledger;
  gb_block in; /* packed bytes; not live: the file is not packed */
  z_stream z;
  bool at_end; /* at the end of a member: another one may follow */
  bool file_ended;
  uint64_t taken, given; /* bytes of the file, bytes unpacked */
  double max_ratio;      /* given / taken; 0 = no limit */
} gb_unpack;

/* Gzip is recognised by its first two bytes; a file named .gz must be gzip. Errors: EIO, EFORMAT, ENOMEM. */
gb_status gb_unpack_open (gb_ledger *l, const char *path, double max_ratio, gb_unpack *out, gb_error *err);

/* At most n bytes; fewer only at the end. Every member must be complete with a correct checksum; only zeros
** may follow the last one. Errors: EIO, EFORMAT, EINTR, ENOMEM. */
gb_status gb_unpack_read (gb_unpack *u, void *to, size_t n, size_t *got, gb_error *err);

gb_status gb_unpack_rewind (gb_unpack *u, gb_error *err);
void gb_unpack_close (gb_unpack *u); /* idempotent */

#endif
