/* rows.c - a field that is a number ends where its digits do; all others are searched for their end, eight bytes at once. */
#define _GNU_SOURCE
#include "io/text/rows.h"

#include <string.h>

#include "io/text/eight.h"

gb_cut gb_cut_of (char delimiter, char decimal) {
  return (gb_cut){.delimiter = delimiter,
                  .decimal = decimal,
                  .mixed = delimiter == decimal ||
                           (delimiter != '\0' && strchr("0123456789+-eE", delimiter) != NULL),
                  .ends = {gb_eight_of(delimiter), gb_eight_of(delimiter == ' ' ? '\t' : delimiter)}};
}

static bool is_line_end (char c) { return c == '\n' || c == '\r' || c == '\0'; }

static bool ends_field (const gb_cut *c, char b) {
  return c->delimiter != 0 ? b == c->delimiter || (c->delimiter == ' ' && b == '\t')
                           : b != '\0' && strchr(",;\t| ", b) != NULL;
}

/* Blanks beside a field that do not end it. */
static bool is_between (char b, char delimiter) { return b == ' ' || (b == '\t' && delimiter != '\t'); }

/* The closing quote, or NULL if it is not before 'stop'. Counts the line breaks inside. */
static char *close_quote (char *at, const char *stop, size_t *breaks) {
  for (at++; at < stop; at++) {
    if (*at == '"' && at + 1 < stop && at[1] == '"') at++;
    else if (*at == '"') return at;
    *breaks += *at == '\n' || (*at == '\r' && at + 1 < stop && at[1] != '\n');
  }
  return NULL;
}

/* -- lines */

bool gb_line_is_comment (const char *s, const char *stop) {
  while (s < stop && gb_is_blank(*s)) s++;
  return s < stop && *s == '#';
}

bool gb_line_find (const gb_cut *c, char *start, char *stop, bool plain, bool ended, gb_line *out) {
  char *at = start;
  bool fresh = true; /* only blanks since the field began */
  *out = (gb_line){.start = start};
  for (; at < stop && *at != '\n' && *at != '\r'; at++) {
    if (*at == '"') {
      if (fresh && !plain && (at = close_quote(at, stop, &out->breaks)) == NULL) return false;
      fresh = false;
    } else if (ends_field(c, *at)) fresh = true;
    else if (!gb_is_blank(*at)) fresh = false;
  }
  out->end = at;
  if (at == stop) return out->length = (size_t)(at - start), ended;
  if (*at == '\r' && at + 1 == stop && !ended) return false; /* does LF follow? */
  out->length = (size_t)(at - start) + 1 + (*at == '\r' && at + 1 < stop && at[1] == '\n');
  return true;
}

/* What follows the last line end of text without quotes; 'start' if it has no line end. A CR at 'stop' may belong to a LF. */
static char *after_last_line_end (char *start, char *stop) {
  for (char *s = stop; s > start; s--)
    if (s[-1] == '\n' || (s[-1] == '\r' && s < stop)) return s;
  return start;
}

char *gb_lines_end (const gb_cut *c, char *start, char *stop) {
  for (;;) {
    char *quote = memchr(start, '"', (size_t)(stop - start));
    start = after_last_line_end(start, quote == NULL ? stop : quote);
    if (quote == NULL) return start;
    gb_line line;
    if (!gb_line_find(c, start, stop, gb_line_is_comment(start, stop), false, &line)) return start;
    start += line.length;
  }
}

size_t gb_lines_count (const char *start, const char *stop) {
  size_t n = 0;
  for (; start < stop; start++)
    n += *start == '\n' || (*start == '\r' && (start + 1 == stop || start[1] != '\n'));
  return n;
}

/* -- rows */

/* Goes on behind the line end at s. */
static void pass_line_end (gb_rows *r, char *s) {
  r->at = s + (s < r->stop) + (*s == '\r' && s[1] == '\n');
  r->lines++;
}

bool gb_rows_next (gb_rows *r) {
  while (r->at < r->stop) {
    char *s = r->at;
    while (gb_is_blank(*s)) s++;
    if (*s != '#' && !is_line_end(*s)) {
      r->line = r->lines + 1;
      r->n = 0;
      return true;
    }
    while (!is_line_end(*s)) s++;
    pass_line_end(r, s);
  }
  return false;
}

/* -- fields */

static inline bool ends_here (const gb_cut *c, char b) {
  return is_line_end(b) || b == c->delimiter || (c->delimiter == ' ' && b == '\t');
}

/* The field ends at s, with a delimiter or a line end. */
static inline void pass_field (gb_rows *r, gb_field *f, char *s) {
  r->n++;
  if (r->cut->delimiter == ' ')
    while (gb_is_blank(*s)) s++;
  f->is_last = is_line_end(*s);
  if (f->is_last) pass_line_end(r, s);
  else r->at = s + (r->cut->delimiter != ' ');
}

/* The first delimiter, line end or NUL. */
static char *find_end_of_field (const gb_cut *c, char *s) {
  for (;; s += 8) {
    const uint64_t v = gb_eight_bytes(s);
    const uint64_t ends = gb_eight_zeros(v) | gb_eight_zeros(v ^ gb_eight_of('\n')) |
                          gb_eight_zeros(v ^ gb_eight_of('\r')) | gb_eight_zeros(v ^ c->ends[0]) |
                          gb_eight_zeros(v ^ c->ends[1]);
    if (ends != 0) return s + gb_eight_first(ends);
  }
}

/* Of "" only one is kept. */
static void unquote (gb_field *f) {
  char *to = f->at, *end = f->at + f->n;
  for (char *from = f->at; from < end; from++) {
    if (*from == '"') from++;
    *to++ = *from;
  }
  f->n = (size_t)(to - f->at);
}

static char *find_quoted (gb_rows *r, gb_field *f) {
  char *s = close_quote(f->at, r->stop, &r->lines);
  if (s == NULL) return r->fault = GB_ROW_OPEN_QUOTE, NULL;
  f->at++;
  f->n = (size_t)(s++ - f->at);
  while (r->cut->delimiter != ' ' && is_between(*s, r->cut->delimiter)) s++;
  if (!ends_here(r->cut, *s)) return r->fault = GB_ROW_AFTER_QUOTE, NULL;
  if (memchr(f->at, '"', f->n) != NULL) unquote(f);
  return s;
}

static char *find_bare (const gb_rows *r, gb_field *f) {
  char *s = find_end_of_field(r->cut, f->at);
  for (f->n = (size_t)(s - f->at); f->n > 0 && gb_is_blank(f->at[f->n - 1]);) f->n--;
  return s;
}

/* Signs and digits take the same branch: which of them begins a cell cannot be predicted. */
static inline bool may_be_number (char c, char decimal) {
  const unsigned from_plus = (unsigned char)(c - '+'), plus_minus_digits = 1 | 1 << 2 | 0x3FF << 5;
  return (from_plus < 15 && (plus_minus_digits >> from_plus & 1) != 0) || c == decimal;
}

/* What does not begin with a number that a delimiter follows. */
static __attribute__((noinline)) bool other_field (gb_rows *r, gb_field *f) {
  char *s = *f->at == '"' ? find_quoted(r, f) : find_bare(r, f);
  if (s == NULL) return false;
  pass_field(r, f, s);
  f->at[f->n] = '\0';
  f->is_number = may_be_number(*f->at, r->cut->decimal) &&
                 gb_decimal_scan(f->at, f->n, r->cut->decimal, &f->number);
  return true;
}

bool gb_rows_field (gb_rows *r, gb_field *f) {
  char *s = r->at;
  while (is_between(*s, r->cut->delimiter)) s++;
  f->at = s;
  if (r->n == GB_FIELDS_MOST) return r->fault = GB_ROW_MANY_FIELDS, false;
  if (!r->cut->mixed && may_be_number(*s, r->cut->decimal)) {
    const char *end = gb_decimal_read(s, r->cut->decimal, &f->number);
    if (end != NULL && ends_here(r->cut, *end)) {
      f->n = (size_t)(end - s);
      f->is_number = true;
      pass_field(r, f, s + f->n);
      return true;
    }
  }
  return other_field(r, f);
}
