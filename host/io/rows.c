/* rows.c - finds the end of a row, then splits it in place. */
#include "io/rows.h"

#include <string.h>

#define FIRST_ROOM ((size_t)256 << 10)

static const char candidates[] = ",;\t| ";

static bool is_blank (char c) { return c == ' ' || c == '\t'; }

/* -- the window */

static void replace (gb_rows *r, gb_block *old, gb_block *by) {
  gb_ledger_free(r->ledger, old);
  gb_ledger_move(r->ledger, old, by);
}

/* Doubles the room, keeping the text from 'from'. */
static gb_status grow (gb_rows *r, gb_error *err) {
  if (r->room >= GB_ROW_MOST)
    return gb_fail(err, GB_EFORMAT, "%s:%zu: a row of more than %zu bytes%s", r->bytes.file.path,
                   r->lines + 1, GB_ROW_MOST,
                   memchr((char *)r->window.data + r->from, '"', r->to - r->from) != NULL
                       ? "; is a quote not closed?"
                       : "");
  gb_block wider;
  GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, 2 * r->room, "", "", &wider, err));
  memcpy(wider.data, (char *)r->window.data + r->from, r->to - r->from);
  replace(r, &r->window, &wider);
  r->room *= 2;
  r->to -= r->from;
  r->from = 0;
  return GB_OK;
}

/* Appends more text to the window. One byte of room is kept for a NUL. */
static gb_status fill (gb_rows *r, gb_error *err) {
  char *w = r->window.data;
  if (r->from > 0) {
    memmove(w, w + r->from, r->to - r->from);
    r->to -= r->from;
    r->from = 0;
  } else if (r->to + 1 == r->room) GB_TRY(grow(r, err));
  w = r->window.data;
  size_t got;
  GB_TRY(gb_unpack_read(&r->bytes, w + r->to, r->room - 1 - r->to, &got, err));
  if (memchr(w + r->to, 0, got) != NULL)
    return gb_fail(err, GB_EFORMAT, "%s: NUL bytes; not a text file", r->bytes.file.path);
  r->file_ended = r->to + got + 1 < r->room;
  r->to += got;
  w[r->to] = '\0';
  return GB_OK;
}

/* -- where a row ends */

typedef struct row {
  char *start, *end; /* without the line end */
  size_t length;     /* with the line end */
  size_t breaks;     /* line breaks inside the row */
  bool quoted;       /* it contains a '"' */
} row;

static bool ends_field (const gb_rows *r, char c) {
  return r->delimiter != 0 ? c == r->delimiter || (r->delimiter == ' ' && c == '\t')
                           : strchr(candidates, c) != NULL;
}

/* The closing quote, or NULL if it is not in this window. Counts the line breaks inside. */
static char *close_quote (char *at, const char *stop, size_t *breaks) {
  for (at++; at < stop; at++) {
    if (*at == '"' && at + 1 < stop && at[1] == '"') at++;
    else if (*at == '"') return at;
    *breaks += *at == '\n' || (*at == '\r' && at + 1 < stop && at[1] != '\n');
  }
  return NULL;
}

/* True if the row that begins at 'from' is complete in the window. Quotes have no meaning in comments and
** skipped lines. */
static bool find_end (const gb_rows *r, bool plain, row *out) {
  char *start = (char *)r->window.data + r->from, *stop = (char *)r->window.data + r->to, *at = start;
  bool fresh = true; /* only blanks since the field began */
  *out = (row){.start = start};
  for (; at < stop && *at != '\n' && *at != '\r'; at++) {
    if (*at == '"') {
      out->quoted = true;
      if (fresh && !plain && (at = close_quote(at, stop, &out->breaks)) == NULL) return false;
      fresh = false;
    } else if (ends_field(r, *at)) fresh = true;
    else if (!is_blank(*at)) fresh = false;
  }
  out->end = at;
  if (at == stop) return out->length = (size_t)(at - start), r->file_ended;
  if (*at == '\r' && at + 1 == stop && !r->file_ended) return false; /* does LF follow? */
  out->length = (size_t)(at - start) + 1 + (*at == '\r' && at + 1 < stop && at[1] == '\n');
  return true;
}

/* A comment, a blank line, or one to skip; decided from the window, which holds the start of the line. */
static bool is_plain (const gb_rows *r) {
  const char *at = (char *)r->window.data + r->from, *stop = (char *)r->window.data + r->to;
  while (at < stop && is_blank(*at)) at++;
  return r->lines < r->skip || (at < stop && *at == '#');
}

static gb_status next_line (gb_rows *r, row *out, bool *more, bool *plain, gb_error *err) {
  *more = false;
  for (;;) {
    *plain = is_plain(r);
    if (r->from < r->to && find_end(r, *plain, out)) break;
    if (r->file_ended && r->from == r->to) return GB_OK;
    if (r->file_ended)
      return gb_fail(err, GB_EFORMAT, "%s:%zu: a quote is not closed", r->bytes.file.path, r->lines + 1);
    GB_TRY(fill(r, err));
  }
  *more = true;
  return GB_OK;
}

/* -- the delimiter */

/* Rough test for a number, also with a decimal comma. */
static bool looks_numeric (const char *s, const char *end, bool comma) {
  bool digits = false;
  while (s < end && is_blank(*s)) s++;
  while (end > s && is_blank(end[-1])) end--;
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
    while (d == ' ' && start < end && is_blank(*start)) start++;
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
static char sniff (gb_rows *r) {
  enum { LOOK = 8 };
  guess all[sizeof candidates - 1] = {{0}};
  const size_t from = r->from, lines = r->lines;
  row line;
  char first = ' ';
  for (int rows = 0; rows < LOOK && r->from < r->to;) {
    const bool plain = is_plain(r);
    if (!find_end(r, plain, &line)) break;
    const size_t blanks = strspn(line.start, " \t");
    if (!plain && line.start + blanks < line.end) {
      for (size_t i = 0; candidates[i] != '\0'; i++)
        if (candidates[i] != r->decimal) try_line(&all[i], candidates[i], line.start, line.end);
      for (size_t i = sizeof candidates - 2; rows == 0 && i-- > 0;)
        if (all[i].fields > 1) first = candidates[i];
      rows++;
    }
    r->from += line.length;
    r->lines += 1 + line.breaks;
  }
  r->from = from;
  r->lines = lines;
  const guess *best = NULL;
  for (size_t i = 0; candidates[i] != '\0'; i++)
    if (all[i].rows > 0 && all[i].even && all[i].fields > 1 &&
        (best == NULL || all[i].numeric * best->fields > best->numeric * all[i].fields))
      best = &all[i];
  return best != NULL ? candidates[best - all] : first;
}

/* -- fields */

static gb_status bad (const gb_rows *r, const char *what, gb_error *err) {
  return gb_fail(err, GB_EFORMAT, "%s:%zu: field %zu: %s", r->bytes.file.path, r->line, r->n + 1, what);
}

static gb_status push (gb_rows *r, char *s, gb_error *err) {
  if (r->n == GB_FIELDS_MOST)
    return gb_fail(err, GB_EFORMAT,
                   "%s:%zu: more than %zu fields; is '%c' the delimiter? (.npy files have no such limit)",
                   r->bytes.file.path, r->line, GB_FIELDS_MOST, r->delimiter);
  if (r->n == r->fields_room) {
    gb_block wider;
    const size_t room = r->fields_room == 0 ? 64 : 2 * r->fields_room;
    GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, room * sizeof(char *), "", "", &wider, err));
    if (r->n > 0) memcpy(wider.data, r->fields.data, r->n * sizeof(char *));
    replace(r, &r->fields, &wider);
    r->fields_room = room;
  }
  ((char **)r->fields.data)[r->n++] = s;
  return GB_OK;
}

/* Removes the quotes in place; returns the text after the closing quote. */
static char *unquote (char *s, char *end) {
  char *to = s, *from = s + 1;
  for (; from < end; from++) {
    if (*from == '"' && from + 1 < end && from[1] == '"') from++;
    else if (*from == '"') break;
    *to++ = *from;
  }
  *to = '\0';
  return from < end ? from + 1 : end;
}

static gb_status split (gb_rows *r, row line, gb_error *err) {
  const char d = r->delimiter;
  char *end = line.end;
  while (end > line.start && (end[-1] == ' ' || (end[-1] == '\t' && d != '\t'))) end--;
  *end = '\0';
  r->n = 0;
  for (char *s = line.start;; s++) {
    while (*s == ' ' || (*s == '\t' && d != '\t')) s++;
    char *field = s;
    if (line.quoted && *s == '"') {
      s = unquote(s, end);
      while (s < end && (*s == ' ' || (*s == '\t' && d != '\t')) && d != ' ') s++;
      if (s < end && !ends_field(r, *s))
        return bad(r, "text after the closing quote; a quote inside quotes is \"\"", err);
    } else {
      while (s < end && !ends_field(r, *s)) s++;
      for (char *back = s; back > field && is_blank(back[-1]);) *--back = '\0';
    }
    const bool last = s >= end;
    if (!last) *s = '\0';
    GB_TRY(push(r, field, err));
    if (last) return GB_OK;
  }
}

/* -- rows */

gb_status gb_rows_next (gb_rows *r, bool *more, gb_error *err) {
  for (;;) {
    row line;
    bool plain;
    GB_TRY(next_line(r, &line, more, &plain, err));
    if (!*more) return GB_OK;
    const char *at = line.start;
    while (at < line.end && is_blank(*at)) at++;
    const bool blank = plain || at == line.end;
    /* the delimiter decides where quotes end: scan the row again */
    if (!blank && r->delimiter == 0) {
      r->delimiter = sniff(r);
      continue;
    }
    r->line = r->lines + 1;
    r->from += line.length;
    r->lines += 1 + line.breaks;
    if (!blank) return split(r, line, err);
  }
}

/* The first text, past a byte order mark. */
static gb_status begin (gb_rows *r, gb_error *err) {
  r->from = r->to = r->lines = r->line = 0;
  r->file_ended = false;
  GB_TRY(fill(r, err));
  if (r->to >= 3 && memcmp(r->window.data, "\xEF\xBB\xBF", 3) == 0) r->from = 3;
  return GB_OK;
}

gb_status gb_rows_open (gb_ledger *l, const char *path, size_t skip, char delimiter, char decimal,
                        double max_ratio, gb_rows *out, gb_error *err) {
  *out = (gb_rows){.ledger = l, .skip = skip, .delimiter = delimiter, .decimal = decimal, .room = FIRST_ROOM};
  GB_TRY(gb_unpack_open(l, path, max_ratio, &out->bytes, err));
  if (out->bytes.in.data == NULL && out->bytes.file.size < FIRST_ROOM / 2 && out->bytes.file.size > 0)
    out->room = out->bytes.file.size + 2;
  gb_status st = gb_ledger_alloc(l, GB_MEM_WORKSPACE, out->room, "", "", &out->window, err);
  if (st == GB_OK) st = begin(out, err);
  if (st != GB_OK) gb_rows_close(out);
  return st;
}

gb_status gb_rows_rewind (gb_rows *r, gb_error *err) {
  GB_TRY(gb_unpack_rewind(&r->bytes, err));
  return begin(r, err);
}

void gb_rows_close (gb_rows *r) {
  gb_ledger_free(r->ledger, &r->window);
  gb_ledger_free(r->ledger, &r->fields);
  gb_unpack_close(&r->bytes);
}
