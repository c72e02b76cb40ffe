/* infile.h - plain files, read from the start. Pipes, devices and directories are refused before a call could
** block. */
#ifndef GB_BASE_INFILE_H
#define GB_BASE_INFILE_H

#include <stddef.h>

#include "base/status.h"

typedef struct gb_infile {
  int fd;           /* -1: closed */
  const char *path; /* the caller's */
  size_t size;      /* bytes when it was opened; 0 for files that the system generates (/proc) */
} gb_infile;

/* Errors: EIO (cannot open; not a plain file). 'path' must outlive 'out'. */
gb_status gb_infile_open (const char *path, gb_infile *out, gb_error *err);

/* The next bytes, at most n; fewer only at the end of the file. Errors: EIO, EINTR (Ctrl-C). */
gb_status gb_infile_read (gb_infile *f, void *to, size_t n, size_t *got, gb_error *err);

/* Exactly n bytes. Errors: also EIO if the file ends earlier. */
gb_status gb_infile_exactly (gb_infile *f, void *to, size_t n, gb_error *err);

gb_status gb_infile_rewind (gb_infile *f, gb_error *err); /* EIO */
void gb_infile_close (gb_infile *f);                      /* idempotent; {.fd = -1} is fine */

/* Bytes of a file as memory that is only read, with a page of zeros behind them. */
typedef struct gb_mapping {
  int fd;
  char *path;
  void *base;    /* of the pages */
  size_t length; /* of the pages */
  size_t end;    /* bytes that the file must have */
} gb_mapping;

/* '*at': the address of the mapped bytes. The file stays open until the mapping is closed. The system ends a process (SIGBUS) that reads
** mapped bytes beyond the present end of the file: gb_mapping_check compares the size beforehand. Errors: EIO, ENOMEM. */
gb_status gb_infile_map (gb_infile *f, size_t from, size_t bytes, gb_mapping *out, void **at, gb_error *err);
gb_status gb_mapping_check (const gb_mapping *m, gb_error *err); /* EIO */
void gb_mapping_close (gb_mapping *m);

#endif
