/* reader.h - what the two passes over a table of text share. */
#ifndef GB_IO_READER_H
#define GB_IO_READER_H

#include "io/text/pieces.h"
#include "io/text/tally.h"

typedef enum gb_fault_kind {
  GB_FAULT_NONE,
  GB_FAULT_ROW, /* of 'row' */
  GB_FAULT_RAGGED,
  GB_FAULT_RANGE,
  GB_FAULT_CHANGED
} gb_fault_kind;

/* What is wrong with a piece; lines are counted from its start. */
typedef struct gb_csv_fault {
  gb_fault_kind kind;
  gb_row_fault row;
  size_t line, field; /* from 1 */
  char number[41];
} gb_csv_fault;

/* Where the cells of a column in a piece go. */
typedef struct gb_csv_place {
  void *values; /* of the whole column; NULL: it has none */
  char *text;
  size_t at, stop; /* bytes of the text that are the piece's */
} gb_csv_place;

/* A piece that a thread works on. */
typedef struct gb_csv_part {
  size_t rows, lines; /* counted; the second time 'rows' are those before it */
  size_t piece;       /* its number, the second time */
  gb_csv_fault fault;
} gb_csv_part;

typedef struct gb_csv_reader {
  const char *path, *where;
  const gb_csv_options *o;
  gb_ledger *ledger;
  gb_frame *f;
  gb_cell_rules rules;
  gb_unpack bytes;
  gb_head head;
  gb_pieces pieces;
  bool first_is_data;
  gb_block tallies; /* gb_tally[columns] of the whole table */
  gb_block counts;  /* of the pieces of a set and the columns: gb_tally, the second time gb_csv_place */
  gb_csv_part part[GB_SLOTS_MOST];
  size_t lines; /* before the next piece */
  gb_block spans,
      texts; /* gb_span[npieces], and the bytes of text in each column: uint32_t[npieces][columns] */
  size_t npieces, pieces_room;
} gb_csv_reader;

static inline gb_tally *gb_tally_of (const gb_csv_reader *r, size_t k) {
  return (gb_tally *)r->tallies.data + k;
}

static inline gb_tally *gb_counts_of (const gb_csv_reader *r, size_t piece) {
  return (gb_tally *)r->counts.data + piece * r->f->ncols;
}

static inline gb_csv_place *gb_places_of (const gb_csv_reader *r, size_t piece) {
  return (gb_csv_place *)r->counts.data + piece * r->f->ncols;
}

static inline bool gb_is_left (const gb_csv_reader *r, size_t k) {
  return r->f->column[k].kind == GB_COLUMN_LEFT;
}

/* Columns for the fields of the first row, named by it if it is a heading. */
gb_status gb_csv_begin (gb_csv_reader *r, gb_error *err);

/* The first pass: fills the tallies, the spans and the number of rows. */
gb_status gb_csv_count (gb_csv_reader *r, gb_error *err);

/* Between the passes: the type of each column, its memory, and notes. */
gb_status gb_csv_open_columns (gb_csv_reader *r, gb_error *err);

/* The second pass. */
gb_status gb_csv_fill (gb_csv_reader *r, gb_error *err);

/* Bytes of tensors, 'n' of them. */
gb_status gb_csv_take (gb_csv_reader *r, gb_purpose p, size_t n, gb_tensor *out, gb_error *err);

/* The error of a piece's fault. */
gb_status gb_csv_fail (const gb_csv_reader *r, const gb_csv_fault *f, gb_error *err);

#endif
