/* json_table.c - values are found by their brackets and parsed one by one, so that no more than one is held beside the columns. */
#include "io/table/json_table.h"

#include <stdio.h>
#include <string.h>

#include "base/infile.h"
#include "base/interrupt.h"
#include "io/table/table.h"

/* -- one value */

static gb_status put (gb_table *t, size_t k, const char *name, size_t row, size_t place, const json_t *v,
                      gb_error *err) {
  switch (json_typeof(v)) {
    case JSON_NULL: return GB_OK;
    case JSON_INTEGER: return gb_table_put_integer(t, k, row, place, json_integer_value(v), err);
    case JSON_REAL: return gb_table_put_real(t, k, row, place, json_real_value(v), err);
    case JSON_TRUE: return gb_table_put_bool(t, k, row, place, true, err);
    case JSON_FALSE: return gb_table_put_bool(t, k, row, place, false, err);
    case JSON_STRING:
      return gb_table_put_text(t, k, row, place, json_string_value(v), json_string_length(v), err);
    default:
      return gb_table_fail(t, place, err,
                           "'%.60s' is a list or an object; a column holds numbers, strings or truth values",
                           name);
  }
}

static const char *const kinds[] = {"an object", "a list",  "a string", "number",
                                    "number",    "boolean", "boolean",  "null"};

static gb_status put_object (gb_table *t, size_t row, size_t place, json_t *object, gb_error *err) {
  if (!json_is_object(object))
    return gb_table_fail(t, place, err, "an object expected, got %s", kinds[json_typeof(object)]);
  const char *name;
  json_t *v;
  size_t likely = 0, k;
  json_object_foreach(object, name, v) {
    GB_TRY(gb_table_find(t, name, likely, &k, err));
    GB_TRY(put(t, k, name, row, place, v, err));
    likely = k + 1;
  }
  return GB_OK;
}

/* A parsed value takes more than its text: what short texts need is not worth an entry. */
static gb_status account_for (gb_table *t, size_t n, gb_block *account, gb_error *err) {
  if (n <= 4096 || (account->data != NULL && account->bytes >= gb_json_bytes(n))) return GB_OK;
  gb_ledger_free(t->ledger, account);
  return gb_ledger_alloc(t->ledger, GB_MEM_WORKSPACE, gb_json_bytes(n), t->where, "", account, err);
}

static gb_status put_row (gb_table *t, size_t row, size_t place, const char *s, size_t n, gb_block *account,
                          gb_error *err) {
  char what[512];
  json_t *v;
  if (row % 1024 == 0 && gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
  GB_TRY(account_for(t, n, account, err));
  snprintf(what, sizeof what, t->by_line ? "%s:%zu" : "%s: row %zu", t->path, place);
  GB_TRY(gb_json_parse(s, n, what, &v, err));
  const gb_status st = put_object(t, row, place, v, err);
  json_decref(v);
  return st;
}

/* -- lines */

/* A window over the lines of a file. */
typedef struct lines {
  gb_infile file;
  gb_ledger *ledger;
  gb_block text;
  size_t room, from, to, number;
  bool ended;
} lines;

static gb_status fill (lines *w, const char *where, gb_error *err) {
  size_t got;
  memmove(w->text.data, (char *)w->text.data + w->from, w->to - w->from);
  w->to -= w->from;
  w->from = 0;
  if (w->to == w->room) {
    if (w->room >= GB_JSON_LINE_MOST)
      return gb_fail(err, GB_EFORMAT, "%s:%zu: a line of more than %zu bytes", w->file.path, w->number + 1,
                     GB_JSON_LINE_MOST);
    gb_block wider;
    GB_TRY(gb_ledger_alloc(w->ledger, GB_MEM_WORKSPACE, 2 * w->room, where, "", &wider, err));
    memcpy(wider.data, w->text.data, w->to);
    gb_ledger_free(w->ledger, &w->text);
    gb_ledger_move(w->ledger, &w->text, &wider);
    w->room *= 2;
  }
  GB_TRY(gb_infile_read(&w->file, (char *)w->text.data + w->to, w->room - w->to, &got, err));
  w->ended = w->to + got < w->room;
  w->to += got;
  return GB_OK;
}

static bool is_marked (const char *s, size_t n) { return n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0; }

/* The next line without its end; '*more' is false at the end of the file. */
static gb_status next (lines *w, const char *where, const char **s, size_t *n, bool *more, gb_error *err) {
  for (;;) {
    const char *at = (char *)w->text.data + w->from,
               *end = w->from < w->to ? memchr(at, '\n', w->to - w->from) : NULL;
    *more = end != NULL || w->from < w->to;
    if (end == NULL && !w->ended) {
      GB_TRY(fill(w, where, err));
      continue;
    }
    if (!*more) return GB_OK;
    *s = at;
    *n = end != NULL ? (size_t)(end - at) : w->to - w->from;
    w->from += *n + (end != NULL);
    w->number++;
    return GB_OK;
  }
}

static bool is_blank (const char *s, size_t n) {
  for (; n > 0; s++, n--)
    if (strchr(" \t\r", *s) == NULL || *s == '\0') return false;
  return true;
}

static gb_status put_lines (lines *w, gb_table *t, size_t *rows, gb_block *account, gb_error *err) {
  const char *s;
  size_t n;
  for (bool more;;) {
    GB_TRY(next(w, t->where, &s, &n, &more, err));
    if (!more) return GB_OK;
    if (w->number == 1 && is_marked(s, n)) s += 3, n -= 3;
    if (is_blank(s, n)) continue;
    GB_TRY(put_row(t, *rows, w->number, s, n, account, err));
    ++*rows;
  }
}

gb_status gb_json_lines (gb_ledger *l, const char *path, const char *where, gb_frame *out, gb_error *err) {
  lines w = {.ledger = l, .room = (size_t)64 << 10};
  gb_block account = {0};
  gb_table t;
  size_t rows = 0;
  *out = (gb_frame){0};
  gb_table_open(l, path, where, true, &t);
  GB_TRY(gb_infile_open(path, &w.file, err));
  gb_status st = gb_ledger_alloc(l, GB_MEM_WORKSPACE, w.room, where, "", &w.text, err);
  if (st == GB_OK) st = put_lines(&w, &t, &rows, &account, err);
  gb_ledger_free(l, &account);
  gb_ledger_free(l, &w.text);
  gb_infile_close(&w.file);
  if (st == GB_OK) st = gb_table_finish(&t, rows, out, err);
  gb_table_close(&t);
  return st;
}

/* -- whole texts */

gb_status gb_json_text_read (gb_ledger *l, const char *path, const char *where, gb_json_text *out,
                             gb_error *err) {
  gb_infile f;
  *out = (gb_json_text){.ledger = l, .path = path, .where = where};
  GB_TRY(gb_infile_open(path, &f, err));
  gb_status st = gb_ledger_alloc(l, GB_MEM_WORKSPACE, f.size + 1, where, "", &out->bytes, err);
  if (st == GB_OK) st = gb_infile_read(&f, out->bytes.data, f.size, &out->n, err);
  gb_infile_close(&f);
  if (st == GB_OK && is_marked(out->bytes.data, out->n)) memset(out->bytes.data, ' ', 3);
  if (st != GB_OK) gb_json_text_clear(out);
  return st;
}

void gb_json_text_clear (gb_json_text *t) {
  if (t->bytes.data != NULL) gb_ledger_free(t->ledger, &t->bytes);
}

/* What is left of a text. */
typedef struct cursor {
  const char *start, *at, *stop;
  const char *path;
} cursor;

static bool is_space (char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static char look (cursor *c) {
  while (c->at < c->stop && is_space(*c->at)) c->at++;
  return c->at < c->stop ? *c->at : '\0';
}

static bool take (cursor *c, char what) {
  if (look(c) != what) return false;
  c->at++;
  return true;
}

static gb_status expected (const cursor *c, const char *what, gb_error *err) {
  return gb_fail(err, GB_EFORMAT, "%s: not JSON: byte %zu: %s expected", c->path,
                 (size_t)(c->at - c->start) + 1, what);
}

/* Behind the string that begins at s. */
static const char *string_end (const char *s, const char *stop) {
  for (s++; s < stop && *s != '"'; s++) s += *s == '\\';
  return s < stop ? s + 1 : stop;
}

/* Behind the value that begins at s; its brackets and quotes are closed, if it is a value. */
static const char *value_end (const char *s, const char *stop) {
  size_t depth = 0;
  while (s < stop) {
    if (*s == '"') s = string_end(s, stop);
    else if (*s == '[' || *s == '{') depth++, s++;
    else if (*s == ']' || *s == '}') {
      if (depth == 0) break;
      depth--, s++;
    } else if (depth == 0 && (*s == ',' || *s == ':' || is_space(*s))) break;
    else s++;
    if (depth == 0 && (s[-1] == ']' || s[-1] == '}' || s[-1] == '"')) break;
  }
  return s;
}

/* Rows of the list whose bracket was taken. */
static gb_status put_list (cursor *c, gb_table *t, size_t *rows, gb_block *account, gb_error *err) {
  do {
    look(c);
    const char *end = value_end(c->at, c->stop);
    GB_TRY(put_row(t, *rows, *rows + 1, c->at, (size_t)(end - c->at), account, err));
    c->at = end;
    ++*rows;
  } while (take(c, ','));
  if (!take(c, ']')) return expected(c, "',' or ']'", err);
  return look(c) == '\0' && c->at == c->stop ? GB_OK : expected(c, "the end of the text", err);
}

/* The values of a list as a column; '*is_table' is false if they cannot be a column. */
static gb_status put_column (cursor *c, gb_table *t, size_t k, bool *is_table, gb_error *err) {
  json_type first = JSON_NULL;
  for (size_t row = 0;; row++) {
    json_t *v;
    if (row % 1024 == 0 && gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    look(c);
    const char *end = value_end(c->at, c->stop);
    if (end == c->at || *c->at == '[' || *c->at == '{') return *is_table = false, GB_OK;
    const gb_status parsed = gb_json_parse(c->at, (size_t)(end - c->at), c->path, &v, err);
    if (parsed != GB_OK) return *is_table = false, parsed == GB_EFORMAT ? GB_OK : parsed;
    const json_type type = json_is_boolean(v) ? JSON_TRUE : json_is_number(v) ? JSON_REAL : json_typeof(v);
    if (row == 0) first = type;
    *is_table = type == first && type != JSON_NULL;
    const gb_status st = *is_table ? put(t, k, "", row, row + 1, v, err) : GB_OK;
    json_decref(v);
    if (st != GB_OK || !*is_table) return st;
    c->at = end;
    if (!take(c, ',')) return GB_OK;
  }
}

/* Columns of the object whose brace was taken; '*is_table' is false if its values cannot be columns. */
static gb_status put_columns (cursor *c, gb_table *t, size_t *rows, bool *is_table, gb_error *err) {
  do {
    json_t *name;
    size_t k;
    *is_table = look(c) == '"';
    if (!*is_table) return GB_OK;
    const char *end = value_end(c->at, c->stop);
    const size_t known = t->ncols;
    gb_status st = gb_json_parse(c->at, (size_t)(end - c->at), c->path, &name, err);
    if (st == GB_EFORMAT) return *is_table = false, GB_OK;
    if (st == GB_OK) st = gb_table_find(t, json_string_value(name), known, &k, err);
    json_decref(name);
    if (st != GB_OK) return st;
    c->at = end;
    *is_table = k == known && take(c, ':') && take(c, '[');
    if (*is_table) GB_TRY(put_column(c, t, k, is_table, err));
    if (!*is_table || !take(c, ']')) return *is_table = false, GB_OK;
    *is_table = k == 0 || gb_table_rows(t, k) == *rows;
    *rows = gb_table_rows(t, k);
  } while (*is_table && take(c, ','));
  *is_table = *is_table && take(c, '}') && look(c) == '\0' && c->at == c->stop;
  return GB_OK;
}

gb_status gb_json_table (const gb_json_text *text, gb_frame *out, bool *is_table, gb_error *err) {
  cursor c = {.start = text->bytes.data, .at = text->bytes.data, .path = text->path};
  gb_table t;
  gb_block account = {0};
  size_t rows = 0;
  gb_status st = GB_OK;
  c.stop = c.start + text->n;
  *out = (gb_frame){0};
  *is_table = false;
  gb_table_open(text->ledger, text->path, text->where, false, &t);
  if (take(&c, '[')) {
    *is_table = look(&c) == '{';
    if (*is_table) st = put_list(&c, &t, &rows, &account, err);
  } else if (take(&c, '{')) st = put_columns(&c, &t, &rows, is_table, err);
  gb_ledger_free(text->ledger, &account);
  if (st == GB_OK && *is_table) st = gb_table_finish(&t, rows, out, err);
  gb_table_close(&t);
  return st;
}
