/* zip_write.h - a zip archive of stored members with 64-bit sizes, written from front to back. */
#ifndef GB_IO_ARCHIVE_ZIP_WRITE_H
#define GB_IO_ARCHIVE_ZIP_WRITE_H

#include <stdint.h>

#include "base/outfile.h"

/* A member whose length and checksum are known before it is written. */
typedef struct gb_zip_stored {
  const char *name; /* at most 65535 bytes */
  uint32_t crc;
  uint64_t size, at; /* 'at': bytes of the archive before it, which gb_zip_write_heading sets */
} gb_zip_stored;

/* The heading of a member, whose bytes the caller then writes. '*written': bytes of the archive so far, counted here. Every member has
** 64-bit sizes, whatever they are. Errors: those of gb_outfile_write. */
gb_status gb_zip_write_heading (gb_outfile *f, gb_zip_stored *m, uint64_t *written, gb_error *err);

/* The directory of n members behind the last one. */
gb_status gb_zip_write_directory (gb_outfile *f, const gb_zip_stored *m, size_t n, uint64_t written,
                                  gb_error *err);

#endif
