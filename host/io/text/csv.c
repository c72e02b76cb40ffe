/* csv.c - two passes over the rows. The first counts the kinds of cells of each column, the second stores the
** values. */
#define _GNU_SOURCE
#include "io/text/csv.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/text/cell.h"
#include "io/text/rows.h"
#include "tensor/host.h"

/* The first pass's counts for one column. */
typedef struct tally {
  size_t missing, bools, dates, words; /* 'words': neither numbers nor bools nor dates */
  size_t commas;                       /* words that are numbers with a decimal comma */
  size_t wholes, inexact, inexact_line;
  size_t infinite, infinite_line;
  size_t text_bytes;
  size_t odd_line;
  char odd[sizeof((gb_column *)0)->odd];
  bool odd_is_mild; /* a bool or a date: a word is shown before it */
} tally;

typedef struct reader {
  const char *path, *where;
  const gb_csv_options *o;
  gb_ledger *ledger;
  gb_frame *f;
  gb_rows rows;
  locale_t c;
  gb_block tallies;
  bool first_is_data;
  size_t first_line;
} reader;

static tally *tally_of (const reader *r, size_t k) { return (tally *)r->tallies.data + k; }

static bool is_left (const reader *r, size_t k) { return r->f->column[k].kind == GB_COLUMN_LEFT; }

/* -- the first pass */

static bool is_heading (const reader *r) {
  gb_cell cell;
  for (size_t k = 0; k < r->rows.n; k++) {
    const gb_field *f = gb_rows_field(&r->rows, k);
    const gb_cell_kind kind = gb_cell_classify(f->at, f->n, r->o->na, r->rows.decimal, r->c, &cell);
    if (kind == GB_CELL_NUMBER || kind == GB_CELL_DATE || cell.comma) return false;
  }
  return true;
}

static gb_status take_bytes (reader *r, gb_purpose p, size_t bytes, gb_tensor *out, gb_error *err) {
  const gb_shape shape = gb_shape_of(1, &bytes);
  return gb_tensor_new(r->ledger, GB_BOOL, &shape, p, r->where, "", out, err);
}

static gb_status no_column (const reader *r, const gb_csv_choice *want, gb_error *err) {
  char known[160] = "";
  for (size_t k = 0; k < r->f->ncols; k++) {
    const size_t used = strlen(known);
    const int n =
        snprintf(known + used, sizeof known - used, "%s%s", k > 0 ? ", " : "", r->f->column[k].name);
    if (n < 0 || (size_t)n >= sizeof known - used) {
      strcpy(known + (used < sizeof known - 5 ? used : sizeof known - 5), " ..");
      break;
    }
  }
  if (want->name == NULL)
    return gb_fail(err, GB_EINDEX, "%s: there is no column %zu among %zu", r->path, want->number,
                   r->f->ncols);
  return gb_fail(err, GB_EOPTION, "%s: there is no column '%.60s'; columns: %s", r->path, want->name, known);
}

/* Marks the columns that are left out. */
static gb_status choose (reader *r, gb_error *err) {
  const gb_csv_options *o = r->o;
  gb_frame *f = r->f;
  for (size_t k = 0; o->chosen != NULL && k < f->ncols; k++) f->column[k].kind = GB_COLUMN_LEFT;
  for (size_t i = 0; i < o->nchosen; i++) {
    bool found = false;
    for (size_t k = 0; k < f->ncols; k++)
      if (o->chosen[i].name != NULL ? strcmp(o->chosen[i].name, f->column[k].name) == 0
                                    : o->chosen[i].number == k + 1)
        found = true, f->column[k].kind = GB_COLUMN_VALUES;
    if (!found) return no_column(r, &o->chosen[i], err);
  }
  for (size_t k = 0; k < f->ncols; k++) f->nkept += f->column[k].kind != GB_COLUMN_LEFT;
  return GB_OK;
}

/* Columns for the fields of the first row, named by them or "". */
static gb_status make_columns (reader *r, bool named, gb_error *err) {
  gb_frame *f = r->f;
  const size_t n = r->rows.n;
  size_t bytes = 1, at = 1;
  for (size_t k = 0; named && k < n; k++) bytes += gb_rows_field(&r->rows, k)->n + 1;
  GB_TRY(take_bytes(r, GB_MEM_WORKSPACE, n * sizeof *f->column + bytes, &f->account, err));
  GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, n * sizeof(tally), r->where, "", &r->tallies, err));
  memset(r->tallies.data, 0, n * sizeof(tally));
  f->column = calloc(n, sizeof *f->column);
  f->names = malloc(bytes);
  if (f->column == NULL || f->names == NULL)
    return gb_fail(err, GB_ENOMEM, "no memory for %zu columns of '%s'", n, r->path);
  f->names[0] = '\0';
  for (size_t k = 0; k < n; k++) {
    f->column[k].name = named ? f->names + at : f->names;
    if (named) at += strlen(strcpy(f->names + at, gb_rows_field(&r->rows, k)->at)) + 1;
  }
  f->ncols = n;
  return choose(r, err);
}

static void note_odd (tally *t, const gb_field *f, size_t line, bool is_mild) {
  const char *s = f->at;
  if (t->odd_line != 0 && !(t->odd_is_mild && !is_mild)) return;
  t->odd_line = line;
  t->odd_is_mild = is_mild;
  size_t n = f->n < sizeof t->odd - 1 ? f->n : sizeof t->odd - 1;
  while (s[n] != '\0' && n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80)
    n--; /* do not split a UTF-8 character */
  memcpy(t->odd, s, n);
  t->odd[n] = '\0';
}

static gb_status count_cell (reader *r, size_t k, gb_error *err) {
  const gb_field *f = gb_rows_field(&r->rows, k);
  tally *t = tally_of(r, k);
  const size_t line = r->rows.line;
  gb_cell cell;
  t->text_bytes += f->n + 1;
  switch (gb_cell_classify(f->at, f->n, r->o->na, r->rows.decimal, r->c, &cell)) {
    case GB_CELL_MISSING: t->missing++; break;
    case GB_CELL_BOOL:
      t->bools++;
      note_odd(t, f, line, true);
      break;
    case GB_CELL_DATE:
      t->dates++;
      note_odd(t, f, line, true);
      break;
    case GB_CELL_TEXT:
      t->words++;
      t->commas += cell.comma;
      note_odd(t, f, line, false);
      break;
    case GB_CELL_RANGE:
      return gb_fail(err, GB_EFORMAT, "%s:%zu: field %zu: the number '%.40s' is out of range", r->path, line,
                     k + 1, f->at);
    case GB_CELL_NUMBER:
      t->wholes += cell.is_whole;
      if (cell.inexact && t->inexact++ == 0) t->inexact_line = line;
      if (isinf(cell.value) && t->infinite++ == 0) t->infinite_line = line;
  }
  return GB_OK;
}

/* A number takes 8 bytes in the result whatever its length in the file, so a table that cannot fit is refused
** before its end. */
static gb_status check_limit (const reader *r, gb_error *err) {
  size_t bytes;
  char need[GB_BYTES_TEXT], limit[GB_BYTES_TEXT];
  const gb_ledger *l = r->ledger;
  if (!__builtin_mul_overflow(8 * r->f->nrows, r->f->nkept, &bytes) && bytes <= l->limit) return GB_OK;
  gb_fail(err, GB_ENOMEM, "%s:%zu: more than %s needed for the columns so far, limit %s", r->path,
          r->rows.line, gb_bytes_text(bytes, need), gb_bytes_text(l->limit, limit));
  if (err != NULL) err->need = bytes, err->have = l->limit;
  return GB_ENOMEM;
}

static gb_status count_row (reader *r, gb_error *err) {
  gb_frame *f = r->f;
  if (r->rows.n != f->ncols)
    return gb_fail(err, GB_EFORMAT, "%s:%zu: expected %zu fields, got %zu", r->path, r->rows.line, f->ncols,
                   r->rows.n);
  for (size_t k = 0; k < f->ncols; k++)
    if (!is_left(r, k)) GB_TRY(count_cell(r, k, err));
  if (++f->nrows % 4096 == 0) GB_TRY(check_limit(r, err));
  return GB_OK;
}

static gb_status count_all (reader *r, gb_error *err) {
  for (bool more;;) {
    GB_TRY(gb_rows_next(&r->rows, &more, err));
    if (!more) break;
    if (r->f->column == NULL) {
      r->first_is_data = r->o->has_names || !is_heading(r);
      r->first_line = r->rows.line;
      GB_TRY(make_columns(r, !r->first_is_data, err));
      if (!r->first_is_data) continue;
    }
    GB_TRY(count_row(r, err));
  }
  if (r->f->column == NULL) return gb_fail(err, GB_EFORMAT, "%s: no rows", r->path);
  return GB_OK;
}

/* -- between the passes: the type of each column */

static void note (reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note (reader *r, const char *fmt, ...) {
  char *notes = r->f->notes;
  const size_t used = strlen(notes), room = sizeof r->f->notes - used;
  va_list ap;
  va_start(ap, fmt);
  const int n = vsnprintf(notes + used, room, fmt, ap);
  va_end(ap);
  if (n < 0 || (size_t)n + 1 >= room) notes[used] = '\0'; /* the buffer of notes is full */
  else strcpy(notes + used + n, "\n");
}

static void label (const reader *r, size_t k, char buf[64]) {
  const char *name = r->f->column[k].name;
  if (*name != '\0') snprintf(buf, 64, "column '%.40s'", name);
  else snprintf(buf, 64, "column %zu", k + 1);
}

/* True if the only word of a column may be its heading. */
static bool is_headed (const reader *r, const tally *t) {
  return r->first_is_data && r->f->nrows >= 3 && t->words == 1 && t->odd_line == r->first_line;
}

static void note_column (reader *r, size_t k) {
  const tally *t = tally_of(r, k);
  const gb_column *col = &r->f->column[k];
  const size_t numbers = r->f->nrows - t->missing - t->bools - t->dates - t->words;
  char buf[64];
  label(r, k, buf);
  if (col->kind == GB_COLUMN_TEXT && 2 * col->nodd <= numbers && !is_headed(r, t))
    note(r, "%s:%zu: %s is text: '%s' is not a number, although %zu of its %zu cells are", r->path,
         col->odd_line, buf, col->odd, numbers, r->f->nrows);
  if (t->inexact > 0 && col->value.dtype != GB_I64)
    note(r,
         "%s:%zu: %s: %zu %s rounded: a column keeps them whole where all its cells are integers of 64 bits",
         r->path, t->inexact_line, buf, t->inexact, t->inexact == 1 ? "integer is" : "integers are");
  if (t->infinite > 0)
    note(r, "%s:%zu: %s: %zu %s infinite", r->path, t->infinite_line, buf, t->infinite,
         t->infinite == 1 ? "cell is" : "cells are");
}

/* A first row of numbers and words above columns of numbers is taken as a heading. */
static void note_heading (reader *r) {
  size_t alone = 0;
  if (!r->first_is_data || r->f->nrows < 3) return;
  for (size_t k = 0; k < r->f->ncols; k++) {
    const tally *t = tally_of(r, k);
    if (t->words == 0) continue;
    if (!is_headed(r, t)) return;
    alone++;
  }
  if (alone > 0)
    note(r, "%s:%zu: read as data, for it holds numbers; if it is a heading: skip = %zu, names = {...}",
         r->path, r->first_line, r->first_line);
}

/* Is every cell a truth value, or a date, or not available? */
static bool are_all (const reader *r, size_t of_kind, const tally *t) {
  return of_kind > 0 && of_kind + t->missing == r->f->nrows;
}

static gb_status open_values (reader *r, gb_dtype type, gb_column *col, gb_error *err) {
  const gb_shape shape = gb_shape_of(1, &r->f->nrows);
  return gb_tensor_new(r->ledger, type, &shape, GB_MEM_TENSOR, r->where, "", &col->value, err);
}

static gb_status open_column (reader *r, size_t k, gb_error *err) {
  gb_column *col = &r->f->column[k];
  const tally *t = tally_of(r, k);
  const size_t n = r->f->nrows;
  const bool truth = are_all(r, t->bools, t);
  if (are_all(r, t->dates, t)) {
    col->kind = GB_COLUMN_DATE;
    GB_TRY(take_bytes(r, GB_MEM_TENSOR, t->text_bytes, &col->text, err));
    return open_values(r, GB_F64, col, err);
  }
  col->nodd = truth ? 0 : t->words + t->bools + t->dates;
  if (col->nodd > 0) {
    col->kind = 10 * col->nodd < n ? GB_COLUMN_MIXED : GB_COLUMN_TEXT;
    col->odd_line = t->odd_line;
    col->comma = t->commas == t->words && t->words > 0;
    memcpy(col->odd, t->odd, sizeof col->odd);
    return col->kind == GB_COLUMN_MIXED ? GB_OK
                                        : take_bytes(r, GB_MEM_TENSOR, t->text_bytes, &col->text, err);
  }
  col->kind = GB_COLUMN_VALUES;
  return open_values(r,
                     truth && t->missing == 0           ? GB_BOOL
                     : t->inexact > 0 && t->wholes == n ? GB_I64
                                                        : GB_F64,
                     col, err);
}

/* -- the second pass */

static gb_status changed (const reader *r, gb_error *err) {
  return gb_fail(err, GB_EIO, "cannot read '%s': it changed meanwhile", r->path);
}

/* 'used' counts the bytes of text so far. */
static gb_status fill_text (reader *r, gb_column *col, const gb_field *f, size_t *used, gb_error *err) {
  if (f->n + 1 > col->text.shape.dim[0] - *used) return changed(r, err);
  memcpy((char *)gb_host_elements(&col->text) + *used, f->at, f->n + 1);
  *used += f->n + 1;
  return GB_OK;
}

static gb_status fill_value (reader *r, gb_column *col, const gb_field *f, size_t row, gb_error *err) {
  gb_cell cell;
  const gb_cell_kind kind = gb_cell_parse(f->at, f->n, r->o->na, r->rows.decimal, r->c, &cell);
  const gb_dtype type = col->value.dtype;
  void *data = gb_host_elements(&col->value);
  if (kind == GB_CELL_TEXT || kind == GB_CELL_RANGE || (type == GB_I64 && !cell.is_whole) ||
      (type == GB_BOOL && kind != GB_CELL_BOOL) ||
      (kind != GB_CELL_MISSING && (kind == GB_CELL_DATE) != (col->kind == GB_COLUMN_DATE)))
    return changed(r, err);
  if (type == GB_F64) ((double *)data)[row] = cell.value;
  else if (type == GB_I64) ((int64_t *)data)[row] = cell.whole;
  else ((uint8_t *)data)[row] = cell.value != 0;
  return GB_OK;
}

static gb_status fill_cell (reader *r, size_t k, size_t row, gb_error *err) {
  const gb_field *f = gb_rows_field(&r->rows, k);
  gb_column *col = &r->f->column[k];
  switch (col->kind) {
    case GB_COLUMN_LEFT:
    case GB_COLUMN_MIXED: return GB_OK;
    case GB_COLUMN_DATE: GB_TRY(fill_text(r, col, f, &tally_of(r, k)->text_bytes, err)); break;
    case GB_COLUMN_TEXT: return fill_text(r, col, f, &tally_of(r, k)->text_bytes, err);
    case GB_COLUMN_VALUES: break;
  }
  return fill_value(r, col, f, row, err);
}

static gb_status fill_all (reader *r, gb_error *err) {
  gb_frame *f = r->f;
  size_t row = 0;
  bool more, heading = !r->first_is_data;
  for (size_t k = 0; k < f->ncols; k++) tally_of(r, k)->text_bytes = 0; /* from here on: bytes filled */
  GB_TRY(gb_rows_rewind(&r->rows, err));
  for (;; heading = false) {
    GB_TRY(gb_rows_next(&r->rows, &more, err));
    if (!more) break;
    if (r->rows.n != f->ncols || row > f->nrows) return changed(r, err);
    if (heading) continue;
    if (row == f->nrows) return changed(r, err);
    for (size_t k = 0; k < f->ncols; k++) GB_TRY(fill_cell(r, k, row, err));
    row++;
  }
  if (row != f->nrows) return changed(r, err);
  for (size_t k = 0; k < f->ncols; k++)
    if (f->column[k].text.storage != NULL && tally_of(r, k)->text_bytes != f->column[k].text.shape.dim[0])
      return changed(r, err);
  return GB_OK;
}

static gb_status read_all (reader *r, gb_error *err) {
  GB_TRY(count_all(r, err));
  GB_TRY(check_limit(r, err));
  for (size_t k = 0; k < r->f->ncols; k++)
    if (!is_left(r, k)) GB_TRY(open_column(r, k, err));
  note_heading(r);
  for (size_t k = 0; k < r->f->ncols; k++)
    if (!is_left(r, k)) note_column(r, k);
  return fill_all(r, err);
}

gb_status gb_csv_read (gb_ledger *l, const char *path, const char *where, const gb_csv_options *o,
                       gb_frame *out, gb_error *err) {
  *out = (gb_frame){0};
  reader r = {.path = path,
              .where = where,
              .o = o,
              .ledger = l,
              .f = out,
              .c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (r.c == (locale_t)0) return gb_fail(err, GB_ENOMEM, "no memory to read '%s'", path);
  gb_status st = gb_rows_open(l, path, o->skip, o->delimiter, o->decimal != 0 ? o->decimal : '.',
                              o->max_ratio > 0 ? o->max_ratio : GB_CSV_RATIO, &r.rows, err);
  if (st == GB_OK) {
    st = read_all(&r, err);
    gb_rows_close(&r.rows);
  }
  gb_ledger_free(l, &r.tallies);
  freelocale(r.c);
  if (st != GB_OK) gb_frame_clear(out);
  return st;
}

void gb_frame_clear (gb_frame *f) {
  for (size_t k = 0; k < f->ncols; k++) {
    gb_tensor_clear(&f->column[k].value);
    gb_tensor_clear(&f->column[k].text);
  }
  gb_tensor_clear(&f->account);
  free(f->column);
  free(f->names);
  *f = (gb_frame){0};
}
