/* head.h - where the rows of a text begin, and how they are cut. */
#ifndef GB_IO_HEAD_H
#define GB_IO_HEAD_H

#include "io/text/rows.h"
#include "io/unpack.h"

typedef struct gb_head {
  gb_cut cut;
  size_t offset, lines; /* bytes and lines before the first row */
  gb_block row;         /* the first row; not live if the file has no rows */
  size_t bytes;         /* of it, with its line end */
} gb_head;

/* Leaves out 'skip' lines, a byte order mark, comments and blank lines; finds a delimiter of 0 in the first rows. 'bytes' is then
** at its start again; the caller frees 'row'. Errors: those of gb_unpack_read; EFORMAT (path:line: a NUL byte, a row of more than
** GB_ROW_MOST bytes, an open quote), ENOMEM. */
gb_status gb_head_find (gb_ledger *l, gb_unpack *bytes, size_t skip, char delimiter, char decimal,
                        gb_head *out, gb_error *err);

/* Errors about text: EIO. */
gb_status gb_text_changed (const char *path, gb_error *err);
/* EFORMAT with path:line. */
gb_status gb_row_too_long (const char *path, size_t line, const char *text, size_t n, gb_error *err);
gb_status gb_text_has_nul (const char *path, size_t line, gb_error *err);

#endif
