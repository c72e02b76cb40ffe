/* table.h - columns that grow value by value, for formats whose rows come one at a time: every byte is charged to a ledger. */
#ifndef GB_IO_TABLE_H
#define GB_IO_TABLE_H

#include "io/text/csv.h"

typedef struct gb_table_column gb_table_column;

typedef struct gb_table {
  gb_ledger *ledger;
  const char *path, *where;
  gb_table_column **column;
  size_t ncols, room;
  gb_block account; /* of what the system gave for the columns */
  bool by_line;     /* messages say "path:7", not "path: row 7" */
} gb_table;

/* 'path' and 'where' outlive the table. */
void gb_table_open (gb_ledger *l, const char *path, const char *where, bool by_line, gb_table *out);

/* A new column; its name is copied. Errors: ENOMEM; EFORMAT where there are GB_FIELDS_MOST of them. */
gb_status gb_table_add (gb_table *t, const char *name, size_t *k, gb_error *err);

/* The column of this name, or a new one; column 'likely' is compared first. */
gb_status gb_table_find (gb_table *t, const char *name, size_t likely, size_t *k, gb_error *err);

/* The value of a column in 'row', from 0, for rows in ascending order; rows between that got none are missing. 'place' is the line
** or the row that messages name. Errors: EFORMAT where the column holds values of another type; ENOMEM. */
gb_status gb_table_put_integer (gb_table *t, size_t k, size_t row, size_t place, int64_t v, gb_error *err);
gb_status gb_table_put_real (gb_table *t, size_t k, size_t row, size_t place, double v, gb_error *err);
gb_status gb_table_put_bool (gb_table *t, size_t k, size_t row, size_t place, bool v, gb_error *err);
gb_status gb_table_put_text (gb_table *t, size_t k, size_t row, size_t place, const char *s, size_t n,
                             gb_error *err);

/* How many rows a column has, the last one with a value. */
size_t gb_table_rows (const gb_table *t, size_t k);

/* Moves 'rows' rows of all columns into a frame: numbers become f64, NaN where they are missing, or i64 where that would round an
** integer and none is missing; truth values bool, or 0, 1 and NaN; text "" where it is missing. The table is empty then. Errors:
** ENOMEM. */
gb_status gb_table_finish (gb_table *t, size_t rows, gb_frame *out, gb_error *err);

/* "path:7" or "path: row 7", and the text. */
gb_status gb_table_fail (const gb_table *t, size_t place, gb_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

void gb_table_close (gb_table *t); /* idempotent */

#endif
