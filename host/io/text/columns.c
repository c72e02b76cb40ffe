/* columns.c - the columns of a table: from its first row, and from what its cells are. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/text/reader.h"

gb_status gb_csv_take (gb_csv_reader *r, gb_purpose p, size_t n, gb_tensor *out, gb_error *err) {
  const gb_shape shape = gb_shape_of(1, &n);
  return gb_tensor_new(r->ledger, GB_BOOL, &shape, p, r->where, "", out, err);
}

/* -- from the first row */

static gb_status no_column (const gb_csv_reader *r, const gb_csv_choice *want, gb_error *err) {
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

static bool is_named (const gb_csv_choice *c, const gb_frame *f, size_t k) {
  return c->name != NULL ? strcmp(c->name, f->column[k].name) == 0 : c->number == k + 1;
}

static void keep (gb_column *c) { c->kind = GB_COLUMN_VALUES; }
static void take_as_text (gb_column *c) { c->is_text = true; }

static gb_status mark (gb_csv_reader *r, const gb_csv_choice *list, size_t n, void (*as)(gb_column *),
                       gb_error *err) {
  for (size_t i = 0; i < n; i++) {
    bool found = false;
    for (size_t k = 0; k < r->f->ncols; k++)
      if (is_named(&list[i], r->f, k)) found = true, as(&r->f->column[k]);
    if (!found) return no_column(r, &list[i], err);
  }
  return GB_OK;
}

/* Marks the columns that are left out, and those that are text. */
static gb_status choose (gb_csv_reader *r, gb_error *err) {
  const gb_csv_options *o = r->o;
  gb_frame *f = r->f;
  for (size_t k = 0; o->chosen != NULL && k < f->ncols; k++) f->column[k].kind = GB_COLUMN_LEFT;
  GB_TRY(mark(r, o->chosen, o->nchosen, keep, err));
  GB_TRY(mark(r, o->text, o->ntext, take_as_text, err));
  for (size_t k = 0; k < f->ncols; k++) f->nkept += f->column[k].kind != GB_COLUMN_LEFT;
  return GB_OK;
}

/* Begins the first row in a copy of it, which reading changes. */
static gb_rows first_row (const gb_csv_reader *r, const gb_block *copy) {
  char *text = copy->data;
  memcpy(text, r->head.row.data, r->head.bytes);
  memset(text + r->head.bytes, 0, GB_DECIMAL_BEHIND);
  gb_rows rows = {.cut = &r->head.cut, .at = text, .stop = text + r->head.bytes};
  gb_rows_next(&rows);
  return rows;
}

/* Counts the fields, and bytes for their names; is it a heading? */
static gb_status look_at (const gb_csv_reader *r, gb_rows *rows, size_t *bytes, bool *is_heading,
                          gb_error *err) {
  gb_cell cell;
  gb_field f = {0};
  *bytes = 1;
  *is_heading = true;
  while (!f.is_last) {
    if (!gb_rows_field(rows, &f))
      return gb_csv_fail(r, &(gb_csv_fault){GB_FAULT_ROW, rows->fault, rows->line, rows->n + 1, ""}, err);
    const gb_cell_kind kind = gb_cell_classify(&f, &r->rules, &cell);
    if (kind == GB_CELL_NUMBER || kind == GB_CELL_RANGE || kind == GB_CELL_DATE || cell.comma)
      *is_heading = false;
    *bytes += f.n + 1;
  }
  return GB_OK;
}

/* 'bytes' for names. */
static gb_status make_columns (gb_csv_reader *r, size_t n, size_t bytes, gb_error *err) {
  gb_frame *f = r->f;
  GB_TRY(gb_csv_take(r, GB_MEM_WORKSPACE, n * sizeof *f->column + bytes, &f->account, err));
  GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, n * sizeof(gb_tally), r->where, "", &r->tallies, err));
  memset(r->tallies.data, 0, n * sizeof(gb_tally));
  f->column = calloc(n, sizeof *f->column);
  f->names = malloc(bytes);
  if (f->column == NULL || f->names == NULL)
    return gb_fail(err, GB_ENOMEM, "no memory for %zu columns of '%s'", n, r->path);
  f->names[0] = '\0';
  for (size_t k = 0; k < n; k++) f->column[k].name = f->names;
  f->ncols = n;
  return GB_OK;
}

static void name_columns (gb_csv_reader *r, gb_rows *rows) {
  gb_field f;
  char *at = r->f->names + 1;
  for (size_t k = 0; k < r->f->ncols && gb_rows_field(rows, &f); k++, at += f.n + 1) {
    memcpy(at, f.at, f.n);
    at[f.n] = '\0';
    r->f->column[k].name = at;
  }
}

static gb_status begin_with (gb_csv_reader *r, const gb_block *copy, gb_error *err) {
  gb_rows rows = first_row(r, copy);
  size_t bytes;
  bool is_heading;
  GB_TRY(look_at(r, &rows, &bytes, &is_heading, err));
  r->first_is_data = r->o->has_names || !is_heading;
  GB_TRY(make_columns(r, rows.n, r->first_is_data ? 1 : bytes, err));
  if (!r->first_is_data) {
    const size_t lines = rows.lines;
    rows = first_row(r, copy);
    name_columns(r, &rows);
    r->head.offset += r->head.bytes;
    r->head.lines += lines;
  }
  return choose(r, err);
}

gb_status gb_csv_begin (gb_csv_reader *r, gb_error *err) {
  gb_block copy = {0};
  if (r->head.row.data == NULL) return gb_fail(err, GB_EFORMAT, "%s: no rows", r->path);
  GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, r->head.bytes + GB_DECIMAL_BEHIND, r->where, "", &copy,
                         err));
  const gb_status st = begin_with(r, &copy, err);
  gb_ledger_free(r->ledger, &copy);
  gb_ledger_free(r->ledger, &r->head.row);
  return st;
}

/* -- from the cells */

static void note (gb_csv_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note (gb_csv_reader *r, const char *fmt, ...) {
  char *notes = r->f->notes;
  const size_t used = strlen(notes), room = sizeof r->f->notes - used;
  va_list ap;
  va_start(ap, fmt);
  const int n = vsnprintf(notes + used, room, fmt, ap);
  va_end(ap);
  if (n < 0 || (size_t)n + 1 >= room) notes[used] = '\0'; /* the buffer of notes is full */
  else strcpy(notes + used + n, "\n");
}

static void label (const gb_csv_reader *r, size_t k, char buf[64]) {
  const char *name = r->f->column[k].name;
  if (*name != '\0') snprintf(buf, 64, "column '%.40s'", name);
  else snprintf(buf, 64, "column %zu", k + 1);
}

/* True if the only word of a column may be its heading. */
static bool is_headed (const gb_csv_reader *r, const gb_tally *t) {
  return r->first_is_data && r->f->nrows >= 3 && t->words == 1 && t->odd_line == r->head.lines + 1;
}

static void note_column (gb_csv_reader *r, size_t k) {
  const gb_tally *t = gb_tally_of(r, k);
  const gb_column *col = &r->f->column[k];
  const size_t numbers = r->f->nrows - t->missing - t->bools - t->dates - t->words;
  char buf[64];
  if (col->is_text) return;
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
static void note_heading (gb_csv_reader *r) {
  size_t alone = 0;
  if (!r->first_is_data || r->f->nrows < 3) return;
  for (size_t k = 0; k < r->f->ncols; k++) {
    const gb_tally *t = gb_tally_of(r, k);
    if (t->words == 0) continue;
    if (!is_headed(r, t)) return;
    alone++;
  }
  if (alone > 0)
    note(r, "%s:%zu: read as data, for it holds numbers; if it is a heading: skip = %zu, names = {...}",
         r->path, r->head.lines + 1, r->head.lines + 1);
}

static gb_status open_values (gb_csv_reader *r, gb_dtype type, gb_column *col, gb_error *err) {
  const gb_shape shape = gb_shape_of(1, &r->f->nrows);
  return gb_tensor_new(r->ledger, type, &shape, GB_MEM_TENSOR, r->where, "", &col->value, err);
}

static gb_status open_column (gb_csv_reader *r, size_t k, gb_error *err) {
  gb_column *col = &r->f->column[k];
  const gb_tally *t = gb_tally_of(r, k);
  const size_t n = r->f->nrows;
  col->kind = col->is_text ? GB_COLUMN_TEXT : gb_tally_kind(t, n);
  if (col->kind == GB_COLUMN_TEXT || col->kind == GB_COLUMN_MIXED) {
    col->nodd = t->words + t->bools + t->dates;
    col->odd_line = t->odd_line;
    col->comma = t->commas == t->words && t->words > 0 && !col->is_text;
    memcpy(col->odd, t->odd, sizeof col->odd);
  }
  if (col->kind == GB_COLUMN_TEXT || col->kind == GB_COLUMN_DATE)
    GB_TRY(gb_csv_take(r, GB_MEM_TENSOR, t->text_bytes, &col->text, err));
  if (col->kind == GB_COLUMN_DATE) return open_values(r, GB_F64, col, err);
  if (col->kind != GB_COLUMN_VALUES) return GB_OK;
  return open_values(r,
                     t->bools > 0 && t->missing == 0    ? GB_BOOL
                     : t->inexact > 0 && t->wholes == n ? GB_I64
                                                        : GB_F64,
                     col, err);
}

/* Beside unpacked text that is kept, the columns and the pieces of the second pass may not fit. */
static void make_room (gb_csv_reader *r) {
  size_t bytes = 2 * (r->pieces.room + GB_DECIMAL_BEHIND) + r->f->ncols * sizeof(gb_csv_place);
  for (size_t k = 0; k < r->f->ncols; k++)
    if (!gb_is_left(r, k)) bytes += 8 * r->f->nrows + gb_tally_of(r, k)->text_bytes;
  if (bytes > gb_ledger_room(r->ledger)) gb_unpack_forget(&r->bytes);
}

gb_status gb_csv_open_columns (gb_csv_reader *r, gb_error *err) {
  make_room(r);
  for (size_t k = 0; k < r->f->ncols; k++)
    if (!gb_is_left(r, k)) GB_TRY(open_column(r, k, err));
  note_heading(r);
  for (size_t k = 0; k < r->f->ncols; k++)
    if (!gb_is_left(r, k)) note_column(r, k);
  return GB_OK;
}
