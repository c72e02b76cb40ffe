/* unpack.h - the bytes of a plain file, unpacked if it is gzip. */
#ifndef GB_IO_UNPACK_H
#define GB_IO_UNPACK_H

#include <stdbool.h>

#include "base/infile.h"
#include "device/ledger.h"
#include "io/inflate.h"

typedef struct gb_unpacked gb_unpacked; /* unpacked bytes that are kept */

typedef struct gb_unpack {
  gb_infile file;
  gb_ledger *ledger;
  gb_block in; /* packed bytes, and the state of inflate; not live: the file is not packed */
  gb_inflate inflate;
  bool at_end; /* at the end of a member: another one may follow */
  bool file_ended;
  uint64_t taken, given; /* bytes of the file, bytes unpacked */
  double max_ratio;      /* given / taken; 0 = no limit */
  bool remembers;        /* all bytes since the start are kept */
  bool replays;          /* reads give what is kept */
  bool ended;            /* the last member was read to its end */
  gb_unpacked *kept, *last;
  size_t kept_bytes, room; /* in all, and of the last block */
} gb_unpack;

/* Gzip is recognised by its first two bytes; a file named .gz must be gzip. Errors: EIO, EFORMAT, ENOMEM. */
gb_status gb_unpack_open (gb_ledger *l, const char *path, double max_ratio, gb_unpack *out, gb_error *err);

/* At most n bytes; fewer only at the end, or beside an error: '*got' bytes before it are good. Every member must be
** complete with a correct checksum; only zeros may follow the last one. Errors: EIO, EFORMAT, EINTR, ENOMEM. */
gb_status gb_unpack_read (gb_unpack *u, void *to, size_t n, size_t *got, gb_error *err);

/* Goes to the start; what is kept of all bytes is not unpacked again. */
gb_status gb_unpack_rewind (gb_unpack *u, gb_error *err);

/* From the start of a packed file on, makes room to keep the next n bytes that gb_unpack_read gives, on a thread that
** has the ledger. They are kept as long as they take at most half of what is free: else all are forgotten. */
void gb_unpack_remember (gb_unpack *u, size_t n);
void gb_unpack_forget (gb_unpack *u);
void gb_unpack_close (gb_unpack *u); /* idempotent */

#endif
