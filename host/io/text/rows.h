/* rows.h - the rows of delimited text, one at a time, through a window that moves over the file. */
#ifndef GB_IO_ROWS_H
#define GB_IO_ROWS_H

#include "io/unpack.h"

#define GB_ROW_MOST ((size_t)16 << 20) /* bytes of one row */
#define GB_FIELDS_MOST ((size_t)65536) /* fields of one row */

/* Without the quotes and the blanks around it; a NUL follows. */
typedef struct gb_field {
  char *at;
  size_t n;
} gb_field;

typedef struct gb_rows {
  gb_unpack bytes;
  gb_ledger *ledger;
  gb_block window;       /* of text */
  size_t room, from, to; /* bytes of the window that hold text: [from, to) */
  bool file_ended;
  size_t lines;     /* before 'from' */
  size_t line;      /* of the row that was read last, from 1 */
  size_t skip;      /* lines left out at the start */
  char delimiter;   /* ' ': runs of blanks; 0: not known yet */
  char decimal;     /* '.' or ',' */
  uint64_t ends[2]; /* bytes that end a field without quotes besides line ends: eight times each */
  gb_block fields;  /* gb_field[fields_room]: of the row that was read last */
  size_t n, fields_room;
} gb_rows;

/* A delimiter of 0 is found in the first rows. Errors: those of gb_unpack_open, ENOMEM. */
gb_status gb_rows_open (gb_ledger *l, const char *path, size_t skip, char delimiter, char decimal,
                        double max_ratio, gb_rows *out, gb_error *err);

/* The next row that is neither blank nor a comment ('#'); '*more' is false at the end of the file. Lines end
** with LF, CR LF or CR outside quotes. Errors: EIO, EFORMAT (path:line), EINTR, ENOMEM. */
gb_status gb_rows_next (gb_rows *r, bool *more, gb_error *err);

static inline const gb_field *gb_rows_field (const gb_rows *r, size_t k) {
  return (const gb_field *)r->fields.data + k;
}

gb_status gb_rows_rewind (gb_rows *r, gb_error *err); /* the delimiter stays */
void gb_rows_close (gb_rows *r);                      /* idempotent */

#endif
