/* csv.c - one pass over the file in memory: split into cells, then into columns of numbers or text. */
#define _GNU_SOURCE
#include "io/csv.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/grow.h"

/* The whole file, NUL-terminated; gz or plain. Caller frees. */
static gb_status slurp (const char *path, char **text, gb_error *err) {
  gzFile f = gzopen(path, "rb");
  if (f == NULL) return gb_fail(err, GB_EIO, "cannot open '%s': %s", path, strerror(errno));
  size_t used = 0, room = 1 << 16;
  char *buf = malloc(room + 1);
  int got = 0;
  while (buf != NULL && (got = gzread(f, buf + used, (unsigned)(room - used < 1 << 24 ? room - used : 1 << 24))) > 0) {
    used += (size_t)got;
    if (used == room) {
      char *more = realloc(buf, 2 * room + 1);
      if (more == NULL) free(buf);
      buf = more;
      room *= 2;
    }
  }
  int code = Z_OK;
  const char *why = gzerror(f, &code);
  gb_status rc = GB_OK;
  if (buf == NULL) rc = gb_fail(err, GB_ENOMEM, "no memory to read '%s'", path);
  else if (got < 0)
    rc = gb_fail(err, GB_EIO, "cannot read '%s': %s", path, code == Z_ERRNO ? strerror(errno) : why);
  else if (memchr(buf, 0, used) != NULL) rc = gb_fail(err, GB_EFORMAT, "%s: NUL bytes; not a text file", path);
  gzclose(f);
  if (rc != GB_OK) {
    free(buf);
    return rc;
  }
  buf[used] = '\0';
  *text = buf;
  return GB_OK;
}

typedef struct cells {       /* fields of the line being read, pointing into the file's text */
  char **field;
  size_t n, room;
} cells;

static bool push (cells *c, char *s) {
  if (!gb_grow(&c->field, c->n, &c->room, sizeof *c->field)) return false;
  c->field[c->n++] = s;
  return true;
}

static char *trim (char *s) {
  while (*s == ' ' || *s == '\t') s++;
  char *end = s + strlen(s);
  while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) *--end = '\0';
  return s;
}

/* Removes the quotes of a quoted field in place and returns what follows it. */
static char *unquote (char *s, char **rest) {
  char *to = s, *from = s + 1;
  for (; *from != '\0'; from++) {
    if (*from == '"' && from[1] == '"') from++;
    else if (*from == '"') break;
    *to++ = *from;
  }
  if (*from == '"') from++;
  *rest = from;
  *to = '\0';
  return s;
}

/* Splits one line in place. A delimiter of ' ' means runs of blanks. */
static bool split (char *line, char delimiter, cells *out) {
  out->n = 0;
  char *s = line;
  for (;;) {
    while (*s == ' ' || (*s == '\t' && delimiter != '\t')) s++;
    if (delimiter == ' ' && *s == '\0') return true;
    char *field = s, *rest = s;
    if (*s == '"') field = unquote(s, &rest);
    char *end = rest;
    while (*end != '\0' && *end != delimiter && !(delimiter == ' ' && *end == '\t')) end++;
    const bool last = *end == '\0';
    *end = '\0';
    if (!push(out, field == rest ? trim(field) : field)) return false;
    if (last) return true;
    s = end + 1;
  }
}

static char sniff (const char *line) {
  for (const char *d = ",;\t|"; *d != '\0'; d++)
    if (strchr(line, *d) != NULL) return *d;
  return ' ';
}

typedef enum cell_kind { NUMBER, MISSING, TEXT, RANGE } cell_kind;

static cell_kind parse (const char *s, const char *na, locale_t c, double *v) {
  static const char *const missing[] = {"", "NA", "N/A", "na", "NaN", "nan", "NAN", "null", "NULL", "?", "."};
  *v = NAN;
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
    if (strcmp(s, missing[i]) == 0) return MISSING;
  if (na != NULL && strcmp(s, na) == 0) return MISSING;
  if (strpbrk(s, "xXpP") != NULL) return TEXT;                 /* no hexadecimal */
  char *end;
  errno = 0;
  const double d = strtod_l(s, &end, c);
  if (end == s || *end != '\0') return TEXT;
  if (errno == ERANGE && isinf(d)) return RANGE;
  *v = d;
  return NUMBER;
}

typedef struct reader {
  const char *path;
  const gb_csv_options *o;
  gb_frame *f;
  size_t line;
  locale_t c;
} reader;

static gb_status no_memory (const reader *r, gb_error *err) {
  return gb_fail(err, GB_ENOMEM, "%s:%zu: no memory for the table", r->path, r->line);
}

static gb_status make_columns (reader *r, size_t n, gb_error *err) {
  r->f->column = calloc(n, sizeof *r->f->column);
  if (r->f->column == NULL) return no_memory(r, err);
  r->f->ncols = n;
  for (size_t k = 0; k < n; k++)
    if ((r->f->column[k].name = strdup("")) == NULL) return no_memory(r, err);
  return GB_OK;
}

static bool is_heading (const reader *r, const cells *c) {
  double v;
  for (size_t k = 0; k < c->n; k++)
    if (parse(c->field[k], r->o->na, r->c, &v) == NUMBER) return false;
  return true;
}

static gb_status grow (reader *r, gb_error *err) {
  const size_t room = r->f->room ? 2 * r->f->room : 256;
  for (size_t k = 0; k < r->f->ncols; k++) {
    gb_column *col = &r->f->column[k];
    double *value = realloc(col->value, room * sizeof *value);
    if (value == NULL) return no_memory(r, err);
    col->value = value;
    char **text = realloc(col->text, room * sizeof *text);
    if (text == NULL) return no_memory(r, err);
    memset(text + r->f->room, 0, (room - r->f->room) * sizeof *text);
    col->text = text;
  }
  r->f->room = room;
  return GB_OK;
}

static gb_status add_row (reader *r, const cells *c, gb_error *err) {
  gb_frame *f = r->f;
  if (c->n != f->ncols)
    return gb_fail(err, GB_EFORMAT, "%s:%zu: expected %zu fields, got %zu", r->path, r->line, f->ncols, c->n);
  if (f->nrows == r->f->room) GB_TRY(grow(r, err));
  for (size_t k = 0; k < c->n; k++) {
    gb_column *col = &f->column[k];
    const cell_kind kind = parse(c->field[k], r->o->na, r->c, &col->value[f->nrows]);
    if (kind == RANGE)
      return gb_fail(err, GB_EFORMAT, "%s:%zu: field %zu: the number '%s' is out of range", r->path, r->line, k + 1, c->field[k]);
    if ((col->text[f->nrows] = strdup(c->field[k])) == NULL) return no_memory(r, err);
    if (kind == TEXT && col->ntext++ == 0) col->first_line = r->line;
  }
  f->nrows++;
  return GB_OK;
}

static gb_status first_row (reader *r, const cells *c, gb_error *err) {
  GB_TRY(make_columns(r, c->n, err));
  if (r->o->has_names || !is_heading(r, c)) return add_row(r, c, err);
  for (size_t k = 0; k < c->n; k++) {
    char *name = strdup(c->field[k]);
    if (name == NULL) return no_memory(r, err);
    free(r->f->column[k].name);
    r->f->column[k].name = name;
  }
  return GB_OK;
}

static gb_status read_lines (reader *r, char *text, cells *c, gb_error *err) {
  char delimiter = r->o->delimiter;
  size_t skip = r->o->skip;
  if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3;
  for (char *next = text; next != NULL && *next != '\0';) {
    char *line = next;
    next = strchr(line, '\n');
    if (next != NULL) *next++ = '\0';
    r->line++;
    if (skip > 0) {
      skip--;
      continue;
    }
    if (*trim(line) == '\0' || *line == '#') continue;
    if (delimiter == 0) delimiter = sniff(line);
    if (!split(line, delimiter, c)) return no_memory(r, err);
    GB_TRY(r->f->column == NULL ? first_row(r, c, err) : add_row(r, c, err));
  }
  if (r->f->column == NULL) return gb_fail(err, GB_EFORMAT, "%s: no rows", r->path);
  return GB_OK;
}

/* Cells as text are kept only where they say more than the numbers do. */
static void drop_text (gb_frame *f) {
  for (size_t k = 0; k < f->ncols; k++) {
    gb_column *col = &f->column[k];
    if (col->ntext > 0 || col->text == NULL) continue;
    for (size_t i = 0; i < f->nrows; i++) free(col->text[i]);
    free(col->text);
    col->text = NULL;
  }
}

gb_status gb_csv_read (const char *path, const gb_csv_options *o, gb_frame *out, gb_error *err) {
  *out = (gb_frame){0};
  char *text = NULL;
  GB_TRY(slurp(path, &text, err));
  reader r = {.path = path, .o = o, .f = out, .c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  cells c = {0};
  gb_status rc = r.c == (locale_t)0 ? no_memory(&r, err) : read_lines(&r, text, &c, err);
  free(c.field);
  free(text);
  if (r.c != (locale_t)0) freelocale(r.c);
  if (rc == GB_OK) drop_text(out);
  else gb_frame_clear(out);
  return rc;
}

void gb_frame_clear (gb_frame *f) {
  for (size_t k = 0; k < f->ncols; k++) {
    gb_column *col = &f->column[k];
    if (col->text != NULL)
      for (size_t i = 0; i < f->room; i++) free(col->text[i]);
    free(col->text);
    free(col->value);
    free(col->name);
  }
  free(f->column);
  *f = (gb_frame){0};
}

/* The fewest digits that read back as the same double. */
static void print_number (FILE *f, double v) {
  char s[32];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(s, sizeof s, "%.*g", digits, v);
    if (digits == 17 || strtod(s, NULL) == v) break;
  }
  fputs(s, f);
}

gb_status gb_csv_write (const char *path, size_t rows, size_t cols, const double *value, const char *const *names, gb_error *err) {
  FILE *f = fopen(path, "w");
  if (f == NULL) return gb_fail(err, GB_EIO, "cannot write '%s': %s", path, strerror(errno));
  for (size_t k = 0; names != NULL && k < cols; k++) fprintf(f, "%s%s", names[k], k + 1 < cols ? "," : "\n");
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < cols; k++) {
      if (!isnan(value[i * cols + k])) print_number(f, value[i * cols + k]);
      else fputs("NaN", f);
      fputc(k + 1 < cols ? ',' : '\n', f);
    }
  const bool bad = ferror(f) != 0;
  if ((fclose(f) != 0) || bad) return gb_fail(err, GB_EIO, "cannot write '%s': %s", path, strerror(errno));
  return GB_OK;
}
