/* csv_write.c - columns as delimited text that reads back the same. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "io/text/csv.h"
#include "io/text/tally.h"
#include "tensor/host.h"

enum { NUMBER = 40 }; /* bytes of a number at most */

/* The fewest digits that read back as the same double. */
static void number_text (double v, char s[NUMBER]) {
  if (isnan(v)) strcpy(s, "NaN");
  else
    for (int digits = 15; digits <= 17; digits++) {
      snprintf(s, NUMBER, "%.*g", digits, v);
      if (digits == 17 || strtod(s, NULL) == v) break;
    }
}

static void cell_text (const gb_tensor *t, size_t row, size_t column, char s[NUMBER]) {
  const size_t index[GB_MAXDIM] = {row, column};
  if (gb_dtype_is_whole(t->dtype)) snprintf(s, NUMBER, "%" PRId64, gb_tensor_integer_at(t, index));
  else if (t->dtype == GB_BOOL) strcpy(s, gb_tensor_at(t, index) != 0 ? "true" : "false");
  else number_text(gb_tensor_at(t, index), s);
}

/* A cell that holds what may separate cells is quoted, whichever of them is meant: a reader that looks for the delimiter counts each
** outside of quotes. So are a comment's sign and, at the start of a file, a byte order mark, which would be left out. */
static bool wants_quotes (const char *s) {
  return *s == '#' || strncmp(s, "\xEF\xBB\xBF", 3) == 0 || strpbrk(s, ",;\t| \"\n\r") != NULL;
}

static gb_status put (gb_outfile *f, const char *s, gb_error *err) {
  return gb_outfile_write(f, s, strlen(s), err);
}

static gb_status put_text (gb_outfile *f, const char *s, gb_error *err) {
  if (!wants_quotes(s)) return put(f, s, err);
  GB_TRY(put(f, "\"", err));
  for (const char *q; (q = strchr(s, '"')) != NULL; s = q + 1) {
    GB_TRY(gb_outfile_write(f, s, (size_t)(q + 1 - s), err));
    GB_TRY(put(f, "\"", err));
  }
  GB_TRY(put(f, s, err));
  return put(f, "\"", err);
}

/* A column as it is read: the tensor where the host reads it, or the next cell of text. */
typedef union source {
  gb_tensor value;
  const char *text;
} source;

static gb_status open_sources (size_t cols, const gb_csv_column *column, source *at, gb_error *err) {
  for (size_t k = 0; k < cols; k++)
    if (column[k].value != NULL) GB_TRY(gb_host_of(column[k].value, &at[k].value, err));
    else at[k].text = column[k].text;
  return GB_OK;
}

/* A lone empty cell is quoted, since a blank line is not a row. */
static gb_status put_row (gb_outfile *f, size_t row, size_t cols, const gb_csv_column *column, source *at,
                          gb_error *err) {
  char s[NUMBER];
  for (size_t k = 0; k < cols; k++) {
    if (column[k].value != NULL) {
      cell_text(&at[k].value, row, column[k].index, s);
      GB_TRY(put(f, s, err));
    } else {
      const char *cell = at[k].text;
      GB_TRY(cols == 1 && *cell == '\0' ? put(f, "\"\"", err) : put_text(f, cell, err));
      at[k].text += strlen(cell) + 1;
    }
    GB_TRY(put(f, k + 1 < cols ? "," : "\n", err));
  }
  return GB_OK;
}

static gb_status put_all (gb_outfile *f, size_t rows, size_t cols, const gb_csv_column *column,
                          bool has_names, source *at, gb_error *err) {
  for (size_t k = 0; has_names && k < cols; k++) {
    GB_TRY(put_text(f, column[k].name, err));
    GB_TRY(put(f, k + 1 < cols ? "," : "\n", err));
  }
  for (size_t i = 0; i < rows; i++) GB_TRY(put_row(f, i, cols, column, at, err));
  return GB_OK;
}

/* A longer cell is a word, as far as it matters here. */
#define LONGEST_NUMBER 400

static gb_field field_of (const char *cell, char room[LONGEST_NUMBER + GB_DECIMAL_BEHIND]) {
  gb_field f = {.at = room, .n = strnlen(cell, LONGEST_NUMBER)};
  memcpy(room, cell, f.n);
  memset(room + f.n, 0, GB_DECIMAL_BEHIND);
  f.is_number = cell[f.n] == '\0' && gb_decimal_scan(room, f.n, '.', &f.number);
  return f;
}

gb_column_kind gb_csv_kind_of_text (const char *text, size_t rows) {
  const gb_cell_rules rules = {.decimal = '.', .c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
  char room[LONGEST_NUMBER + GB_DECIMAL_BEHIND];
  gb_tally t = {0};
  for (size_t i = 0; rules.c != (locale_t)0 && i < rows; i++, text += strlen(text) + 1) {
    const gb_field f = field_of(text, room);
    gb_tally_count(&t, &f, &rules, i + 1);
  }
  if (rules.c != (locale_t)0) freelocale(rules.c);
  return gb_tally_kind(&t, rows);
}

gb_status gb_csv_write (const char *path, size_t rows, size_t cols, const gb_csv_column *column,
                        bool has_names, gb_error *err) {
  gb_outfile f = {.fd = -1};
  source *at = calloc(cols + 1, sizeof *at);
  const locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  gb_status st = at == NULL || c == (locale_t)0 ? gb_fail(err, GB_ENOMEM, "no memory to write '%s'", path)
                                                : GB_OK;
  if (st == GB_OK) st = open_sources(cols, column, at, err);
  if (st == GB_OK) st = gb_outfile_open(path, &f, err);
  if (st == GB_OK) {
    const locale_t old = uselocale(c); /* a decimal point in any locale */
    st = put_all(&f, rows, cols, column, has_names, at, err);
    uselocale(old);
  }
  if (st == GB_OK) st = gb_outfile_commit(&f, err);
  if (c != (locale_t)0) freelocale(c);
  free(at);
  return st;
}
