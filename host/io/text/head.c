/* head.c - a window that moves over lines that are no rows, until the first row lies in it. */
#include "io/text/head.h"

#include <string.h>

#define ROOM ((size_t)256 << 10)

static const char candidates[] = ",;\t| ";

/* -- the window */

typedef struct window {
  gb_unpack *bytes;
  gb_ledger *ledger;
  gb_block text;
  size_t room, from, to; /* bytes that hold text: [from, to) */
  size_t base;           /* bytes of the file before the window */
  size_t lines;          /* before 'from' */
  bool file_ended, has_nul;
  char decimal;
} window;

static char *text_of (const window *w) { return (char *)w->text.data + w->from; }
static char *end_of (const window *w) { return (char *)w->text.data + w->to; }

gb_status gb_text_changed (const char *path, gb_error *err) {
  return gb_fail(err, GB_EIO, "cannot read '%s': it changed meanwhile", path);
}

gb_status gb_row_too_long (const char *path, size_t line, const char *text, size_t n, gb_error *err) {
  return gb_fail(err, GB_EFORMAT, "%s:%zu: a row of more than %zu bytes%s", path, line, GB_ROW_MOST,
                 memchr(text, '"', n) != NULL ? "; is a quote not closed?" : "");
}

gb_status gb_text_has_nul (const char *path, size_t line, gb_error *err) {
  return gb_fail(err, GB_EFORMAT, "%s:%zu: a NUL byte: this is not a text file, or one that is damaged", path,
                 line);
}

/* Doubles the room, keeping the text from 'from'. */
static gb_status grow (window *w, gb_error *err) {
  if (w->room >= GB_ROW_MOST)
    return gb_row_too_long(w->bytes->file.path, w->lines + 1, text_of(w), w->to - w->from, err);
  gb_block wider;
  GB_TRY(gb_ledger_alloc(w->ledger, GB_MEM_WORKSPACE, 2 * w->room, "", "", &wider, err));
  memcpy(wider.data, w->text.data, w->to);
  gb_ledger_free(w->ledger, &w->text);
  gb_ledger_move(w->ledger, &w->text, &wider);
  w->room *= 2;
  return GB_OK;
}

/* Appends more text to the window. */
static gb_status fill (window *w, gb_error *err) {
  if (w->has_nul)
    return gb_text_has_nul(w->bytes->file.path, w->lines + 1 + gb_lines_count(text_of(w), end_of(w)), err);
  if (w->from > 0) {
    memmove(w->text.data, text_of(w), w->to - w->from);
    w->base += w->from;
    w->to -= w->from;
    w->from = 0;
  } else if (w->to == w->room) GB_TRY(grow(w, err));
  size_t got;
  GB_TRY(gb_unpack_read(w->bytes, end_of(w), w->room - w->to, &got, err));
  const char *nul = memchr(end_of(w), 0, got);
  w->file_ended = nul == NULL && w->to + got < w->room;
  w->has_nul = nul != NULL;
  w->to += nul != NULL ? (size_t)(nul - end_of(w)) : got;
  return GB_OK;
}

/* -- the delimiter */

/* Rough test for a number, also with a decimal comma. */
static bool looks_numeric (const char *s, const char *end, bool comma) {
  bool digits = false;
  while (s < end && gb_is_blank(*s)) s++;
  while (end > s && gb_is_blank(end[-1])) end--;
  for (; s < end; s++) {
    if (*s >= '0' && *s <= '9') digits = true;
    else if (strchr("+-.eE", *s) == NULL && !(comma && *s == ',')) return false;
  }
  return digits;
}

typedef struct guess {
  size_t fields, rows, numeric;
  bool even;
} guess;

/* Counts the fields of this line split at 'd' outside quotes. */
static void try_line (guess *g, char d, const char *at, const char *end) {
  size_t fields = 0;
  for (const char *start = at;; start = at) {
    bool quoted = false;
    while (d == ' ' && start < end && gb_is_blank(*start)) start++;
    if (d == ' ' && start == end && fields > 0) break;
    for (at = start; at < end && (quoted || !(*at == d || (d == ' ' && *at == '\t'))); at++)
      quoted ^= *at == '"';
    fields++;
    g->numeric += looks_numeric(start, at, d != ',');
    if (at == end) break;
    at++;
  }
  g->even = g->rows == 0 || (g->even && fields == g->fields);
  g->fields = fields;
  g->rows++;
}

/* Of the delimiters that split the first rows evenly, the one that yields most numbers; of equals the first.
** If none splits them evenly, the first one that occurs. */
static char sniff (const window *w) {
  enum { LOOK = 8 };
  guess all[sizeof candidates - 1] = {{0}};
  const gb_cut any = gb_cut_of(0, w->decimal);
  char first = ' ', *at = text_of(w), *stop = end_of(w);
  gb_line line;
  for (int rows = 0; rows < LOOK && at < stop; at += line.length) {
    const bool plain = gb_line_is_comment(at, stop);
    if (!gb_line_find(&any, at, stop, plain, w->file_ended, &line)) break;
    while (at < line.end && gb_is_blank(*at)) at++;
    const bool is_row = !plain && at < line.end;
    at = line.start;
    if (!is_row) continue;
    for (size_t i = 0; candidates[i] != '\0'; i++)
      if (candidates[i] != w->decimal) try_line(&all[i], candidates[i], line.start, line.end);
    for (size_t i = sizeof candidates - 2; rows == 0 && i-- > 0;)
      if (all[i].fields > 1) first = candidates[i];
    rows++;
  }
  const guess *best = NULL;
  for (size_t i = 0; candidates[i] != '\0'; i++)
    if (all[i].rows > 0 && all[i].even && all[i].fields > 1 &&
        (best == NULL || all[i].numeric * best->fields > best->numeric * all[i].fields))
      best = &all[i];
  return best != NULL ? candidates[best - all] : first;
}

/* -- the first row */

/* The line at 'from'; '*more' is false at the end of the file. */
static gb_status find_line (window *w, const gb_cut *c, size_t skip, gb_line *out, bool *plain, bool *more,
                            gb_error *err) {
  for (;;) {
    *more = w->from < w->to;
    *plain = w->lines < skip || gb_line_is_comment(text_of(w), end_of(w));
    if (*more && gb_line_find(c, text_of(w), end_of(w), *plain, w->file_ended, out)) return GB_OK;
    if (w->file_ended && *more)
      return gb_fail(err, GB_EFORMAT, "%s:%zu: a quote is not closed", w->bytes->file.path, w->lines + 1);
    if (w->file_ended) return GB_OK;
    GB_TRY(fill(w, err));
  }
}

/* Moves to the first row. */
static gb_status find_row (window *w, const gb_cut *c, size_t skip, gb_line *row, bool *found,
                           gb_error *err) {
  for (;; w->from += row->length, w->lines += 1 + row->breaks) {
    bool plain;
    GB_TRY(find_line(w, c, skip, row, &plain, found, err));
    if (!*found) return GB_OK;
    const char *at = row->start;
    while (at < row->end && gb_is_blank(*at)) at++;
    if (!plain && at < row->end) return GB_OK;
  }
}

static gb_status keep_row (window *w, const gb_line *row, gb_head *out, gb_error *err) {
  out->offset = w->base + w->from;
  out->lines = w->lines;
  out->bytes = row->length;
  GB_TRY(gb_ledger_alloc(w->ledger, GB_MEM_WORKSPACE, row->length, "", "", &out->row, err));
  memcpy(out->row.data, row->start, row->length);
  return GB_OK;
}

static gb_status look (window *w, size_t skip, char delimiter, gb_head *out, gb_error *err) {
  gb_line row;
  bool found, plain;
  out->cut = gb_cut_of(delimiter, w->decimal);
  GB_TRY(fill(w, err));
  if (w->to >= 3 && memcmp(w->text.data, "\xEF\xBB\xBF", 3) == 0) w->from = 3;
  GB_TRY(find_row(w, &out->cut, skip, &row, &found, err));
  if (!found) return GB_OK;
  if (delimiter == 0) { /* the row may end elsewhere where it is known */
    out->cut = gb_cut_of(sniff(w), w->decimal);
    GB_TRY(find_line(w, &out->cut, skip, &row, &plain, &found, err));
  }
  return keep_row(w, &row, out, err);
}

gb_status gb_head_find (gb_ledger *l, gb_unpack *bytes, size_t skip, char delimiter, char decimal,
                        gb_head *out, gb_error *err) {
  window w = {.bytes = bytes, .ledger = l, .room = ROOM, .decimal = decimal};
  *out = (gb_head){0};
  if (bytes->in.data == NULL && bytes->file.size < ROOM / 2 && bytes->file.size > 0)
    w.room = bytes->file.size + 1;
  gb_status st = gb_ledger_alloc(l, GB_MEM_WORKSPACE, w.room, "", "", &w.text, err);
  if (st == GB_OK) st = look(&w, skip, delimiter, out, err);
  gb_ledger_free(l, &w.text);
  if (st == GB_OK) st = gb_unpack_rewind(bytes, err);
  if (st != GB_OK) gb_ledger_free(l, &out->row);
  return st;
}
