/* json_table.h - tables in JSON: a list of objects, an object of lists, or an object a line. */
#ifndef GB_IO_JSON_TABLE_H
#define GB_IO_JSON_TABLE_H

#include "io/json.h"
#include "io/text/csv.h"

#define GB_JSON_LINE_MOST ((size_t)16 << 20) /* bytes of a line */

/* JSON lines. Columns are in the order of their first rows; a key that a row lacks and null are missing values (gb_table_finish).
** Beside the columns only a line is held; a byte order mark is left out. Errors: EIO, ENOMEM, EINTR; EFORMAT with path:line. */
gb_status gb_json_lines (gb_ledger *l, const char *path, const char *where, gb_frame *out, gb_error *err);

/* The whole text of a file, with blanks for a byte order mark. */
typedef struct gb_json_text {
  gb_ledger *ledger;
  const char *path, *where;
  gb_block bytes;
  size_t n;
} gb_json_text;

/* Errors: EIO, ENOMEM, EINTR. */
gb_status gb_json_text_read (gb_ledger *l, const char *path, const char *where, gb_json_text *out,
                             gb_error *err);
void gb_json_text_clear (gb_json_text *t); /* idempotent */

/* A list whose first value is an object; or an object of lists of one length, each of numbers, strings or truth values alone.
** '*is_table' is false for all else, and 'out' empty. Errors: as above; EFORMAT says in which row. */
gb_status gb_json_table (const gb_json_text *t, gb_frame *out, bool *is_table, gb_error *err);

#endif
