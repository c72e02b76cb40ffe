/* tally.h - what the cells of a column are, counted. */
#ifndef GB_IO_TALLY_H
#define GB_IO_TALLY_H

#include "io/text/cell.h"
#include "io/text/csv.h"

typedef struct gb_tally {
  size_t missing, bools, dates, words; /* 'words': neither numbers nor bools nor dates */
  size_t commas;                       /* words that are numbers with a decimal comma */
  size_t wholes, inexact, inexact_line;
  size_t infinite, infinite_line;
  size_t text_bytes;
  size_t odd_line;
  char odd[sizeof((gb_column *)0)->odd];
  bool odd_is_mild; /* a bool or a date: a word is shown before it */
} gb_tally;

/* Counts the cell of a field in this line, from 1. False: a number out of range. */
bool gb_tally_count (gb_tally *t, const gb_field *f, const gb_cell_rules *rules, size_t line);

/* What a column of so many rows is whose cells these are: VALUES, DATE, TEXT or MIXED. */
gb_column_kind gb_tally_kind (const gb_tally *t, size_t rows);

/* Adds the cells of a later part of the text, whose lines were counted from 'lines' on. */
void gb_tally_add (gb_tally *t, const gb_tally *part, size_t lines);

#endif
