/* outfile.h - a file that is there whole or not at all: written under another name beside its place, then
** renamed. */
#ifndef GB_BASE_OUTFILE_H
#define GB_BASE_OUTFILE_H

#include <stddef.h>

#include "base/status.h"

typedef struct gb_outfile {
  int fd;            /* -1: closed */
  char *path, *temp; /* where it will be, where it is */
  char *buffer;      /* what is not written yet */
  size_t held;       /* bytes of it */
  size_t unflushed;  /* bytes given to the system since it last put them on the disk */
} gb_outfile;

/* Links are followed; what is there already keeps its owner, where that is allowed, and its permissions,
** and stays as it is until the commit. Temporary files of this path that dead processes left are removed.
** Errors: EIO (also for a path that holds something else than a plain file, or a file that may not be
** written), ENOMEM. On any error of these functions the temporary file is gone. A limit on the size of
** files is an error as any other (EIO), not the end of the process. */
gb_status gb_outfile_open (const char *path, gb_outfile *out, gb_error *err);

/* Small pieces are collected. Errors: EIO, EINTR (Ctrl-C). */
gb_status gb_outfile_write (gb_outfile *f, const void *p, size_t n, gb_error *err);

/* The same as a visitor of runs of bytes (gb_tensor_visit): 'ud' is a gb_outfile_sink. */
typedef struct gb_outfile_sink {
  gb_outfile *file;
  gb_error *err;
} gb_outfile_sink;
gb_status gb_outfile_take (void *ud, const void *p, size_t n);

/* The bytes are on the disk under the final name when this returns GB_OK. */
gb_status gb_outfile_commit (gb_outfile *f, gb_error *err);

void gb_outfile_abandon (gb_outfile *f); /* idempotent; {.fd = -1} is fine */

/* All of a small file: open, write, commit. */
gb_status gb_outfile_put (const char *path, const void *p, size_t n, gb_error *err);

/* Adds bytes to the end of a plain file: all of them, or none. A file that does not exist is made, with
** the permissions 'mode'. Writers of other processes wait for each other. Errors: EIO. */
gb_status gb_outfile_append (const char *path, unsigned mode, const void *p, size_t n, gb_error *err);

#endif
