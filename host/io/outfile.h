/* outfile.h - a file that is there whole or not at all: written under another name beside its place, then renamed. */
#ifndef GB_IO_OUTFILE_H
#define GB_IO_OUTFILE_H

#include <stddef.h>

#include "base/status.h"

typedef struct gb_outfile {
  int fd;                    /* -1: closed */
  char *path, *temp;         /* where it will be, where it is */
} gb_outfile;

/* Links are followed; what is there already keeps its permissions and stays as it is until the commit. Errors: EIO (also for a
** path that holds something else than a plain file), ENOMEM. On any error of these functions the temporary file is gone. */
gb_status gb_outfile_open (const char *path, gb_outfile *out, gb_error *err);

/* Errors: EIO, EINTR (Ctrl-C). */
gb_status gb_outfile_write (gb_outfile *f, const void *p, size_t n, gb_error *err);

/* The bytes are on the disk under the final name when this returns GB_OK. */
gb_status gb_outfile_commit (gb_outfile *f, gb_error *err);

void gb_outfile_abandon (gb_outfile *f);      /* idempotent */

#endif
