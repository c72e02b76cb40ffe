/* rows.c - finds the fields of a row that is complete in the window, then ends each in place. */
#include "io/text/rows.h"

#include <string.h>

#include "io/text/eight.h"
#include "io/text/number.h"

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
  GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, 2 * r->room + GB_DECIMAL_BEHIND, "", "", &wider, err));
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
  memset(w + r->to, 0, GB_DECIMAL_BEHIND);
  return GB_OK;
}

/* -- where a row ends */

typedef struct row {
  char *start, *end; /* without the line end */
  size_t length;     /* with the line end */
  size_t breaks;     /* line breaks inside the row */
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

static gb_status push (gb_rows *r, char *at, size_t n, gb_error *err) {
  if (r->n == GB_FIELDS_MOST)
    return gb_fail(err, GB_EFORMAT,
                   "%s:%zu: more than %zu fields; is '%c' the delimiter? (.npy files have no such limit)",
                   r->bytes.file.path, r->line, GB_FIELDS_MOST, r->delimiter);
  if (r->n == r->fields_room) {
    gb_block wider;
    const size_t room = r->fields_room == 0 ? 64 : 2 * r->fields_room;
    GB_TRY(gb_ledger_alloc(r->ledger, GB_MEM_WORKSPACE, room * sizeof(gb_field), "", "", &wider, err));
    if (r->n > 0) memcpy(wider.data, r->fields.data, r->n * sizeof(gb_field));
    replace(r, &r->fields, &wider);
    r->fields_room = room;
  }
  ((gb_field *)r->fields.data)[r->n++] = (gb_field){at, n};
  return GB_OK;
}

/* Removes the quotes in place. */
static void unquote (gb_field *f) {
  char *to = f->at, *end = f->at + f->n - 1;
  for (char *from = f->at + 1; from < end; from++) {
    if (*from == '"') from++;
    *to++ = *from;
  }
  f->n = (size_t)(to - f->at);
}

/* A field without quotes never begins with one. */
static void end_fields (gb_rows *r) {
  gb_field *f = r->fields.data;
  for (size_t k = 0; k < r->n; k++) {
    if (f[k].n > 0 && *f[k].at == '"') unquote(&f[k]);
    f[k].at[f[k].n] = '\0';
  }
}

/* -- finding fields */

static void know_delimiter (gb_rows *r) {
  r->ends[0] = gb_eight_of(r->delimiter);
  r->ends[1] = gb_eight_of(r->delimiter == ' ' ? '\t' : r->delimiter);
}

static bool is_line_end (char c) { return c == '\n' || c == '\r' || c == '\0'; }

static bool is_end (const gb_rows *r, char c) { return is_line_end(c) || ends_field(r, c); }

/* The first delimiter, line end or NUL. */
static char *find_end_of_field (const gb_rows *r, char *s) {
  for (;; s += 8) {
    const uint64_t v = gb_eight_bytes(s);
    const uint64_t ends = gb_eight_zeros(v) | gb_eight_zeros(v ^ gb_eight_of('\n')) |
                          gb_eight_zeros(v ^ gb_eight_of('\r')) | gb_eight_zeros(v ^ r->ends[0]) |
                          gb_eight_zeros(v ^ r->ends[1]);
    if (ends != 0) return s + gb_eight_first(ends);
  }
}

static bool is_between (char c, char delimiter) { return c == ' ' || (c == '\t' && delimiter != '\t'); }

/* The field that begins at '*at', quotes included; '*at' is then what ended it. False: not complete in the window. */
static bool find_field (const gb_rows *r, char **at, size_t *n, size_t *breaks) {
  char *s = *at, *stop = (char *)r->window.data + r->to;
  if (*s == '"') {
    if ((s = close_quote(s, stop, breaks)) == NULL) return false;
    *n = (size_t)(++s - *at);
    while (r->delimiter != ' ' && is_between(*s, r->delimiter)) s++;
  } else {
    s = find_end_of_field(r, s);
    for (*n = (size_t)(s - *at); *n > 0 && is_blank((*at)[*n - 1]);) --*n;
  }
  *at = s;
  return s < stop || r->file_ended;
}

/* Finds the fields of the row at 'from' without a change to the text, for the row may continue beyond the window. */
static gb_status find_fields (gb_rows *r, row *out, bool *complete, gb_error *err) {
  const char d = r->delimiter;
  char *s = (char *)r->window.data + r->from, *stop = (char *)r->window.data + r->to;
  *out = (row){.start = s};
  *complete = false;
  r->n = 0;
  for (;; s++) {
    while (is_between(*s, d)) s++;
    const bool over = d == ' ' && r->n > 0 && is_line_end(*s);
    char *field = s;
    size_t n = 0;
    if (over ? s == stop && !r->file_ended : !find_field(r, &s, &n, &out->breaks)) return GB_OK;
    if (!over && !is_end(r, *s))
      return bad(r, "text after the closing quote; a quote inside quotes is \"\"", err);
    if (!over) GB_TRY(push(r, field, n, err));
    if (s == stop || *s == '\n' || *s == '\r') break;
  }
  out->end = s;
  out->length = (size_t)(s - out->start) + (s < stop);
  if (s < stop && *s == '\r') {
    if (s + 1 == stop && !r->file_ended) return GB_OK; /* does LF follow? */
    out->length += s + 1 < stop && s[1] == '\n';
  }
  *complete = true;
  return GB_OK;
}

/* -- rows */

static void pass (gb_rows *r, const row *line) {
  r->from += line->length;
  r->lines += 1 + line->breaks;
}

/* True if the text at 'from' begins a row of fields, and not a comment, a blank line, or one to skip. */
static bool begins_fields (const gb_rows *r) {
  const char *at = (char *)r->window.data + r->from;
  while (is_blank(*at)) at++;
  return r->lines >= r->skip && *at != '#' && *at != '\n' && *at != '\r' && *at != '\0';
}

/* Leaves out a line that is no row; on the first row finds the delimiter. */
static gb_status other_line (gb_rows *r, bool *more, gb_error *err) {
  row line;
  bool plain;
  GB_TRY(next_line(r, &line, more, &plain, err));
  if (!*more) return GB_OK;
  if (r->delimiter == 0 && begins_fields(r)) {
    r->delimiter = sniff(r);
    know_delimiter(r);
  } else if (!begins_fields(r)) pass(r, &line);
  return GB_OK;
}

gb_status gb_rows_next (gb_rows *r, bool *more, gb_error *err) {
  for (*more = true;;) {
    if (r->delimiter == 0 || !begins_fields(r)) {
      GB_TRY(other_line(r, more, err));
      if (!*more) return GB_OK;
      continue;
    }
    row line;
    bool complete;
    r->line = r->lines + 1;
    GB_TRY(find_fields(r, &line, &complete, err));
    if (complete) {
      pass(r, &line);
      end_fields(r);
      return GB_OK;
    }
    if (r->file_ended)
      return gb_fail(err, GB_EFORMAT, "%s:%zu: a quote is not closed", r->bytes.file.path, r->line);
    GB_TRY(fill(r, err));
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
  if (delimiter != 0) know_delimiter(out);
  GB_TRY(gb_unpack_open(l, path, max_ratio, &out->bytes, err));
  if (out->bytes.in.data == NULL && out->bytes.file.size < FIRST_ROOM / 2 && out->bytes.file.size > 0)
    out->room = out->bytes.file.size + 2;
  gb_status st =
      gb_ledger_alloc(l, GB_MEM_WORKSPACE, out->room + GB_DECIMAL_BEHIND, "", "", &out->window, err);
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
