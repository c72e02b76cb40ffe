/* tally.c - counting cells; the sum of two parts is what both together would count. */
#include "io/text/tally.h"

#include <math.h>
#include <string.h>

static bool is_shown_before (const gb_tally *t, bool is_mild) {
  return t->odd_line == 0 || (t->odd_is_mild && !is_mild);
}

static void note_odd (gb_tally *t, const gb_field *f, size_t line, bool is_mild) {
  if (!is_shown_before(t, is_mild)) return;
  t->odd_line = line;
  t->odd_is_mild = is_mild;
  size_t n = f->n < sizeof t->odd - 1 ? f->n : sizeof t->odd - 1;
  while (n < f->n && n > 0 && ((unsigned char)f->at[n] & 0xC0) == 0x80)
    n--; /* do not split a UTF-8 character */
  memcpy(t->odd, f->at, n);
  t->odd[n] = '\0';
}

static void note_line (size_t *line, size_t now) {
  if (*line == 0) *line = now;
}

bool gb_tally_count (gb_tally *t, const gb_field *f, const gb_cell_rules *rules, size_t line) {
  gb_cell cell;
  t->text_bytes += f->n + 1;
  switch (gb_cell_classify(f, rules, &cell)) {
    case GB_CELL_NUMBER:
      t->wholes += cell.is_whole;
      if (cell.inexact) t->inexact++, note_line(&t->inexact_line, line);
      if (isinf(cell.value)) t->infinite++, note_line(&t->infinite_line, line);
      break;
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
    case GB_CELL_RANGE: return false;
  }
  return true;
}

/* Is every cell a truth value, or a date, or not available? */
static bool are_all (size_t of_kind, const gb_tally *t, size_t rows) {
  return of_kind > 0 && of_kind + t->missing == rows;
}

gb_column_kind gb_tally_kind (const gb_tally *t, size_t rows) {
  const size_t odd = t->words + t->bools + t->dates;
  if (are_all(t->dates, t, rows)) return GB_COLUMN_DATE;
  if (odd == 0 || are_all(t->bools, t, rows)) return GB_COLUMN_VALUES;
  return 10 * odd < rows ? GB_COLUMN_MIXED : GB_COLUMN_TEXT;
}

void gb_tally_add (gb_tally *t, const gb_tally *part, size_t lines) {
  t->missing += part->missing;
  t->bools += part->bools;
  t->dates += part->dates;
  t->words += part->words;
  t->commas += part->commas;
  t->wholes += part->wholes;
  t->text_bytes += part->text_bytes;
  t->inexact += part->inexact;
  t->infinite += part->infinite;
  if (part->inexact > 0) note_line(&t->inexact_line, lines + part->inexact_line);
  if (part->infinite > 0) note_line(&t->infinite_line, lines + part->infinite_line);
  if (part->odd_line == 0 || !is_shown_before(t, part->odd_is_mild)) return;
  t->odd_line = lines + part->odd_line;
  t->odd_is_mild = part->odd_is_mild;
  memcpy(t->odd, part->odd, sizeof t->odd);
}
