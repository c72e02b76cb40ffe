/* csv.c - two passes over a table of text. The first counts the kinds of cells of each column, the second stores the
** values. Both work on several pieces at a time; what they find is joined in the order of the text. */
#define _GNU_SOURCE
#include "io/text/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/text/reader.h"
#include "tensor/host.h"

gb_status gb_csv_fail (const gb_csv_reader *r, const gb_csv_fault *f, gb_error *err) {
  const size_t line = r->lines + f->line;
  const char *path = r->path;
  switch (f->kind) {
    case GB_FAULT_NONE: return GB_OK;
    case GB_FAULT_CHANGED: return gb_text_changed(path, err);
    case GB_FAULT_RAGGED:
      return gb_fail(err, GB_EFORMAT, "%s:%zu: expected %zu fields, got %zu", path, line, r->f->ncols,
                     f->field);
    case GB_FAULT_RANGE:
      return gb_fail(err, GB_EFORMAT, "%s:%zu: field %zu: the number '%s' is out of range", path, line,
                     f->field, f->number);
    case GB_FAULT_ROW: break;
  }
  if (f->row == GB_ROW_AFTER_QUOTE)
    return gb_fail(err, GB_EFORMAT,
                   "%s:%zu: field %zu: text after the closing quote; a quote inside quotes is \"\"", path,
                   line, f->field);
  if (f->row == GB_ROW_OPEN_QUOTE)
    return gb_fail(err, GB_EFORMAT, "%s:%zu: a quote is not closed", path, line);
  return gb_fail(err, GB_EFORMAT,
                 "%s:%zu: more than %zu fields; is '%c' the delimiter? (.npy files have no such limit)", path,
                 line, GB_FIELDS_MOST, r->head.cut.delimiter);
}

static gb_rows rows_of (const gb_csv_reader *r, char *text, size_t bytes) {
  return (gb_rows){.cut = &r->head.cut, .at = text, .stop = text + bytes};
}

static bool fail_row (const gb_rows *rows, gb_csv_fault *f) {
  *f = (gb_csv_fault){.kind = GB_FAULT_ROW, .row = rows->fault, .line = rows->line, .field = rows->n + 1};
  return false;
}

static void fail_range (const gb_rows *rows, const gb_field *field, gb_csv_fault *f) {
  *f = (gb_csv_fault){.kind = GB_FAULT_RANGE, .line = rows->line, .field = rows->n};
  snprintf(f->number, sizeof f->number, "%.*s", (int)(field->n < 40 ? field->n : 40), field->at);
}

/* -- the first pass */

/* A row of another length is worse than a number out of range. */
static bool count_row (const gb_csv_reader *r, gb_rows *rows, gb_tally *t, gb_csv_fault *fault) {
  const size_t n = r->f->ncols;
  gb_field f = {0};
  while (!f.is_last) {
    const size_t k = rows->n;
    if (!gb_rows_field(rows, &f)) return fail_row(rows, fault);
    if (k < n && fault->kind == GB_FAULT_NONE && !gb_is_left(r, k) &&
        !gb_tally_count(&t[k], &f, &r->rules, rows->line) && !r->f->column[k].is_text)
      fail_range(rows, &f, fault);
  }
  if (rows->n != n) *fault = (gb_csv_fault){.kind = GB_FAULT_RAGGED, .line = rows->line, .field = rows->n};
  return fault->kind == GB_FAULT_NONE;
}

static void count_piece (void *ud, size_t k, char *text, size_t bytes) {
  gb_csv_reader *r = ud;
  gb_csv_part *part = &r->part[k];
  gb_rows rows = rows_of(r, text, bytes);
  *part = (gb_csv_part){0};
  memset(gb_counts_of(r, k), 0, r->f->ncols * sizeof(gb_tally));
  while (gb_rows_next(&rows) && count_row(r, &rows, gb_counts_of(r, k), &part->fault)) part->rows++;
  part->lines = rows.lines;
}

/* A number takes 8 bytes in the result whatever its length in the file, so a table that cannot fit is refused before its end. */
static gb_status check_limit (const gb_csv_reader *r, size_t rows, gb_error *err) {
  const size_t limit = r->ledger->limit, row = 8 * r->f->nkept;
  char need[GB_BYTES_TEXT], have[GB_BYTES_TEXT];
  if (row == 0 || rows <= limit / row) return GB_OK;
  const size_t first = limit / row + 1;
  gb_fail(err, GB_ENOMEM, "%s: %s needed for the columns of its first %zu rows, limit %s", r->path,
          gb_bytes_text(first * row, need), first, gb_bytes_text(limit, have));
  if (err != NULL) err->need = first * row, err->have = limit;
  return GB_ENOMEM;
}

static gb_status widen (gb_csv_reader *r, gb_block *b, size_t used, size_t bytes, gb_error *err) {
  gb_block wider;
  GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, bytes, r->where, "", &wider, err));
  if (used > 0) memcpy(wider.data, b->data, used);
  gb_ledger_free(r->ledger, b);
  gb_ledger_move(r->ledger, b, &wider);
  return GB_OK;
}

/* Enters a piece in the tables of pieces. */
static gb_status note_piece (gb_csv_reader *r, size_t k, size_t bytes, gb_error *err) {
  const size_t i = r->npieces, n = r->f->ncols;
  if (i == r->pieces_room) {
    const size_t room = i == 0 ? 1 : 2 * i;
    GB_TRY(widen(r, &r->spans, i * sizeof(gb_span), room * sizeof(gb_span), err));
    GB_TRY(widen(r, &r->texts, i * n * sizeof(uint32_t), room * n * sizeof(uint32_t), err));
    r->pieces_room = room;
  }
  ((gb_span *)r->spans.data)[i] = (gb_span){(uint32_t)bytes, (uint32_t)r->part[k].rows};
  for (size_t c = 0; c < n; c++)
    ((uint32_t *)r->texts.data)[i * n + c] = (uint32_t)gb_counts_of(r, k)[c].text_bytes;
  r->npieces++;
  return GB_OK;
}

static gb_status count_done (void *ud, size_t k, size_t bytes, gb_error *err) {
  gb_csv_reader *r = ud;
  const gb_csv_part *part = &r->part[k];
  GB_TRY(check_limit(r, r->f->nrows + part->rows, err));
  if (part->fault.kind != GB_FAULT_NONE) return gb_csv_fail(r, &part->fault, err);
  GB_TRY(note_piece(r, k, bytes, err));
  for (size_t c = 0; c < r->f->ncols; c++) gb_tally_add(gb_tally_of(r, c), gb_counts_of(r, k) + c, r->lines);
  r->f->nrows += part->rows;
  r->lines += part->lines;
  return GB_OK;
}

/* Bytes of a piece: wide tables have larger ones, so that the counts of columns stay small beside the text. */
static size_t piece_room (const gb_csv_reader *r) {
  const size_t usual = ((size_t)256 << 10) + 64 * r->f->ncols, size = r->bytes.file.size;
  if (r->o->piece > 0) return r->o->piece;
  return r->bytes.in.data == NULL && size > 0 && size < usual ? size + 1 : usual;
}

/* One of the passes; 'lines' counts from the first row on. */
static gb_status run_pass (gb_csv_reader *r, gb_piece_plan *plan, gb_piece_work *work, gb_piece_done *done,
                           gb_error *err) {
  const size_t bytes = r->pieces.nslots * r->f->ncols * sizeof(gb_tally);
  r->lines = r->head.lines;
  gb_status st = gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, bytes, r->where, "", &r->counts, err);
  if (st == GB_OK) st = gb_pieces_run(&r->pieces, plan, work, done, r, &r->lines, err);
  gb_ledger_free(r->ledger, &r->counts);
  gb_pieces_close(&r->pieces);
  return st;
}

gb_status gb_csv_count (gb_csv_reader *r, gb_error *err) {
  GB_TRY(gb_pieces_open(r->ledger, &r->bytes, r->o->pool, &r->head.cut, r->head.offset, piece_room(r),
                        &r->pieces, err));
  return run_pass(r, NULL, count_piece, count_done, err);
}

/* -- the second pass */

static bool fill_text (const gb_field *f, gb_csv_place *to) {
  if (f->n + 1 > to->stop - to->at) return false;
  char *text = to->text + to->at;
  memcpy(text, f->at, f->n);
  text[f->n] = '\0';
  to->at += f->n + 1;
  return true;
}

static bool fill_value (const gb_csv_reader *r, const gb_column *col, const gb_field *f, size_t row,
                        const gb_csv_place *to) {
  gb_cell cell;
  const gb_cell_kind kind = gb_cell_parse(f, &r->rules, &cell);
  const gb_dtype type = col->value.dtype;
  if (kind == GB_CELL_TEXT || kind == GB_CELL_RANGE || (type == GB_I64 && !cell.is_whole) ||
      (type == GB_BOOL && kind != GB_CELL_BOOL) ||
      (kind != GB_CELL_MISSING && (kind == GB_CELL_DATE) != (col->kind == GB_COLUMN_DATE)))
    return false;
  if (type == GB_F64) ((double *)to->values)[row] = cell.value;
  else if (type == GB_I64) ((int64_t *)to->values)[row] = cell.whole;
  else ((uint8_t *)to->values)[row] = cell.value != 0;
  return true;
}

static bool fill_cell (const gb_csv_reader *r, const gb_column *col, const gb_field *f, size_t row,
                       gb_csv_place *to) {
  switch (col->kind) {
    case GB_COLUMN_LEFT:
    case GB_COLUMN_MIXED: return true;
    case GB_COLUMN_TEXT: return fill_text(f, to);
    case GB_COLUMN_DATE:
      if (!fill_text(f, to)) return false;
      break;
    case GB_COLUMN_VALUES: break;
  }
  return fill_value(r, col, f, row, to);
}

/* False: the file is not what it was. */
static bool fill_row (gb_csv_reader *r, gb_rows *rows, size_t row, gb_csv_place *to) {
  gb_field f = {0};
  while (!f.is_last) {
    const size_t k = rows->n;
    if (!gb_rows_field(rows, &f) || k == r->f->ncols) return false;
    if (!fill_cell(r, &r->f->column[k], &f, row, &to[k])) return false;
  }
  return rows->n == r->f->ncols;
}

static const uint32_t *texts_of (const gb_csv_reader *r, size_t piece) {
  return (const uint32_t *)r->texts.data + piece * r->f->ncols;
}

static gb_csv_place place_of (const gb_column *col, size_t at, size_t bytes) {
  return (gb_csv_place){.values = col->value.storage != NULL ? gb_host_elements(&col->value) : NULL,
                        .text = col->text.storage != NULL ? gb_host_elements(&col->text) : NULL,
                        .at = at,
                        .stop = at + bytes};
}

/* Where the rows and words of each piece of the set go; the frame's rows, the tallies and 'npieces' count what was planned. */
static void plan_fill (void *ud, size_t n) {
  gb_csv_reader *r = ud;
  const gb_span *spans = r->spans.data;
  for (size_t k = 0; k < n; k++, r->npieces++) {
    const uint32_t *bytes = texts_of(r, r->npieces);
    r->part[k] = (gb_csv_part){.rows = r->f->nrows, .piece = r->npieces};
    r->f->nrows += spans[r->npieces].rows;
    for (size_t c = 0; c < r->f->ncols; c++) {
      size_t *used = &gb_tally_of(r, c)->text_bytes;
      gb_places_of(r, k)[c] = place_of(&r->f->column[c], *used, bytes[c]);
      *used += bytes[c];
    }
  }
}

static bool is_filled (const gb_csv_reader *r, size_t k) {
  for (size_t c = 0; c < r->f->ncols; c++) {
    const gb_csv_place *to = &gb_places_of(r, k)[c];
    if (to->text != NULL && to->at != to->stop) return false;
  }
  return true;
}

static void fill_piece (void *ud, size_t k, char *text, size_t bytes) {
  gb_csv_reader *r = ud;
  gb_csv_part *part = &r->part[k];
  gb_rows rows = rows_of(r, text, bytes);
  size_t row = part->rows;
  const size_t end = row + ((const gb_span *)r->spans.data)[part->piece].rows;
  bool same = true;
  while (same && gb_rows_next(&rows)) same = row < end && fill_row(r, &rows, row++, gb_places_of(r, k));
  if (!same || row != end || !is_filled(r, k)) part->fault.kind = GB_FAULT_CHANGED;
}

static gb_status fill_done (void *ud, size_t k, size_t bytes, gb_error *err) {
  const gb_csv_reader *r = ud;
  (void)bytes;
  return gb_csv_fail(r, &r->part[k].fault, err);
}

gb_status gb_csv_fill (gb_csv_reader *r, gb_error *err) {
  const size_t n = r->npieces;
  if (n == 0) return GB_OK;
  GB_TRY(gb_unpack_rewind(&r->bytes, err));
  GB_TRY(gb_pieces_open(r->ledger, &r->bytes, r->o->pool, &r->head.cut, r->head.offset, 1, &r->pieces, err));
  gb_pieces_know(&r->pieces, r->spans.data, n);
  r->npieces = r->f->nrows = 0;
  for (size_t k = 0; k < r->f->ncols; k++) gb_tally_of(r, k)->text_bytes = 0;
  return run_pass(r, plan_fill, fill_piece, fill_done, err);
}

/* -- both */

static gb_status read_all (gb_csv_reader *r, gb_error *err) {
  const gb_csv_options *o = r->o;
  GB_TRY(gb_head_find(r->ledger, &r->bytes, o->skip, o->delimiter, r->rules.decimal, &r->head, err));
  GB_TRY(gb_csv_begin(r, err));
  GB_TRY(gb_csv_count(r, err));
  GB_TRY(gb_csv_open_columns(r, err));
  return gb_csv_fill(r, err);
}

static void close_reader (gb_csv_reader *r) {
  gb_ledger_free(r->ledger, &r->head.row);
  gb_ledger_free(r->ledger, &r->tallies);
  gb_ledger_free(r->ledger, &r->spans);
  gb_ledger_free(r->ledger, &r->texts);
  gb_unpack_close(&r->bytes);
  freelocale(r->rules.c);
}

gb_status gb_csv_read (gb_ledger *l, const char *path, const char *where, const gb_csv_options *o,
                       gb_frame *out, gb_error *err) {
  *out = (gb_frame){0};
  gb_csv_reader r = {.path = path,
                     .where = where,
                     .o = o,
                     .ledger = l,
                     .f = out,
                     .rules = {.na = o->na,
                               .na_length = o->na != NULL ? strlen(o->na) : 0,
                               .decimal = o->decimal != 0 ? o->decimal : '.',
                               .c = newlocale(LC_ALL_MASK, "C", (locale_t)0)}};
  if (r.rules.c == (locale_t)0) return gb_fail(err, GB_ENOMEM, "no memory to read '%s'", path);
  gb_status st = gb_unpack_open(l, path, o->max_ratio > 0 ? o->max_ratio : GB_CSV_RATIO, &r.bytes, err);
  if (st == GB_OK) st = read_all(&r, err);
  close_reader(&r);
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
