/* outfile.h - a file that exists whole or not at all: written under a temporary name beside the target, then
** renamed. */
#ifndef GB_BASE_OUTFILE_H
#define GB_BASE_OUTFILE_H

#include <stddef.h>

#include "base/status.h"

typedef struct gb_outfile {
  int fd;            /* -1: closed */
  char *path, *temp; /* the target; the temporary file */
  char *buffer;      /* bytes that are not written yet */
  size_t held;       /* number of these bytes */
  size_t unflushed;  /* bytes written since the last flush to disk */
} gb_outfile;

/* Links are followed. An existing file stays unchanged until the commit, which keeps its permissions and, if
** allowed, its owner. Temporary files of this path that dead processes left are removed. Errors: EIO (also if
** the path is not a plain file, or the file is not writable), ENOMEM. Every error of these functions removes
** the temporary file. Exceeding the process limit on file sizes is EIO; it does not end the process. */
gb_status gb_outfile_open (const char *path, gb_outfile *out, gb_error *err);

/* Small pieces are buffered. Errors: EIO, EINTR (Ctrl-C). */
gb_status gb_outfile_write (gb_outfile *f, const void *p, size_t n, gb_error *err);

/* The same as a visitor of runs of bytes (gb_tensor_visit): 'ud' is a gb_outfile_sink. */
typedef struct gb_outfile_sink {
  gb_outfile *file;
  gb_error *err;
} gb_outfile_sink;
gb_status gb_outfile_take (void *ud, const void *p, size_t n);

/* If this returns GB_OK, the bytes are on the disk under the final name. */
gb_status gb_outfile_commit (gb_outfile *f, gb_error *err);

void gb_outfile_abandon (gb_outfile *f); /* idempotent; {.fd = -1} is fine */

/* All of a small file: open, write, commit. */
gb_status gb_outfile_put (const char *path, const void *p, size_t n, gb_error *err);

/* Adds bytes to the end of a plain file: all of them, or none. A missing file is created with the permissions
** 'mode'. Writers of other processes wait for each other. Errors: EIO. */
gb_status gb_outfile_append (const char *path, unsigned mode, const void *p, size_t n, gb_error *err);

#endif
