/* table.c - a column is of the type of its first value. Integers are kept as such until one is missing or a real number comes. */
#include "io/table/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/text/rows.h"
#include "tensor/host.h"

typedef enum cell_type { NOTHING, INTEGERS, REALS, BOOLS, TEXT } cell_type;

static const char *const type_names[] = {"nothing", "numbers", "numbers", "truth values", "strings"};

struct gb_table_column {
  cell_type type;
  bool large;          /* an integer that f64 would round */
  size_t rows, absent; /* rows so far, and those without a value */
  gb_block cells;      /* int64_t, double, or text: cells ended by NUL */
  size_t used, room;   /* bytes */
  size_t line;         /* of the first value */
  char *name;
};

gb_status gb_table_fail (const gb_table *t, size_t place, gb_error *err, const char *fmt, ...) {
  char what[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return gb_fail(err, GB_EFORMAT, t->by_line ? "%s:%zu: %s" : "%s: row %zu: %s", t->path, place, what);
}

static gb_status no_memory (const gb_table *t, gb_error *err) {
  return gb_fail(err, GB_ENOMEM, "no memory for the columns of '%s'", t->path);
}

/* -- columns */

void gb_table_open (gb_ledger *l, const char *path, const char *where, bool by_line, gb_table *out) {
  *out = (gb_table){.ledger = l, .path = path, .where = where, .by_line = by_line};
}

/* Room for one more column, at twice the room whenever it is full; names count as 64 bytes. */
static gb_status widen (gb_table *t, gb_error *err) {
  if (t->ncols < t->room) return GB_OK;
  const size_t room = t->room == 0 ? 16 : 2 * t->room;
  gb_ledger_free(t->ledger, &t->account);
  GB_TRY(gb_ledger_alloc(t->ledger, GB_MEM_WORKSPACE, room * (sizeof(gb_table_column) + 64), t->where, "",
                         &t->account, err));
  gb_table_column **wider = realloc(t->column, room * sizeof *wider);
  if (wider == NULL) return no_memory(t, err);
  t->column = wider;
  t->room = room;
  return GB_OK;
}

gb_status gb_table_add (gb_table *t, const char *name, size_t *k, gb_error *err) {
  if (t->ncols == GB_FIELDS_MOST)
    return gb_fail(err, GB_EFORMAT, "%s: more than %zu columns", t->path, GB_FIELDS_MOST);
  GB_TRY(widen(t, err));
  gb_table_column *c = calloc(1, sizeof *c);
  if (c == NULL || (c->name = strdup(name)) == NULL) {
    free(c);
    return no_memory(t, err);
  }
  *k = t->ncols;
  t->column[t->ncols++] = c;
  return GB_OK;
}

gb_status gb_table_find (gb_table *t, const char *name, size_t likely, size_t *k, gb_error *err) {
  *k = likely;
  if (likely < t->ncols && strcmp(t->column[likely]->name, name) == 0) return GB_OK;
  for (*k = 0; *k < t->ncols; ++*k)
    if (strcmp(t->column[*k]->name, name) == 0) return GB_OK;
  return gb_table_add(t, name, k, err);
}

size_t gb_table_rows (const gb_table *t, size_t k) { return t->column[k]->rows; }

static void clear_column (gb_table *t, gb_table_column *c) {
  gb_ledger_free(t->ledger, &c->cells);
  free(c->name);
  free(c);
}

void gb_table_close (gb_table *t) {
  for (size_t k = 0; k < t->ncols; k++) clear_column(t, t->column[k]);
  gb_ledger_free(t->ledger, &t->account);
  free(t->column);
  t->column = NULL;
  t->ncols = t->room = 0;
}

/* -- cells */

static gb_status make_room (gb_table *t, gb_table_column *c, size_t bytes, gb_error *err) {
  if (bytes <= c->room - c->used) return GB_OK;
  size_t room = c->room == 0 ? 512 : 2 * c->room;
  while (room - c->used < bytes) room *= 2;
  gb_block wider;
  GB_TRY(gb_ledger_alloc(t->ledger, GB_MEM_WORKSPACE, room, t->where, c->name, &wider, err));
  if (c->used > 0) memcpy(wider.data, c->cells.data, c->used);
  gb_ledger_free(t->ledger, &c->cells);
  gb_ledger_move(t->ledger, &c->cells, &wider);
  c->cells.name = ""; /* the column's own is not interned */
  c->room = room;
  return GB_OK;
}

static void append (gb_table_column *c, const void *from, size_t n) {
  memcpy((char *)c->cells.data + c->used, from, n);
  c->used += n;
}

/* Integers become reals. */
static void round_integers (gb_table_column *c) {
  char *at = c->cells.data;
  for (size_t i = 0; i < c->used; i += sizeof(int64_t)) {
    int64_t v;
    memcpy(&v, at + i, sizeof v);
    memcpy(at + i, &(double){(double)v}, sizeof v);
  }
  c->type = REALS;
}

/* Rows without a value up to 'rows'. */
static gb_status pad (gb_table *t, gb_table_column *c, size_t rows, gb_error *err) {
  const size_t n = rows - c->rows;
  if (n == 0) return GB_OK;
  if (c->type == INTEGERS) round_integers(c);
  c->absent += n;
  c->rows = rows;
  if (c->type == NOTHING) return GB_OK;
  GB_TRY(make_room(t, c, c->type == TEXT ? n : n * sizeof(double), err));
  for (size_t i = 0; i < n; i++)
    if (c->type == TEXT) append(c, "", 1);
    else append(c, &(double){NAN}, sizeof(double));
  return GB_OK;
}

/* The column holds values of this type from now on. */
static gb_status become (gb_table *t, gb_table_column *c, cell_type type, size_t place, gb_error *err) {
  const size_t absent = c->rows;
  c->type = type == INTEGERS && absent > 0 ? REALS : type;
  c->line = place;
  c->rows = c->absent = 0;
  return pad(t, c, absent, err);
}

/* Room for a value of this type in 'row'. */
static gb_status begin (gb_table *t, size_t k, cell_type type, size_t row, size_t place, size_t bytes,
                        gb_error *err) {
  gb_table_column *c = t->column[k];
  GB_TRY(pad(t, c, row, err));
  if (c->type == NOTHING) GB_TRY(become(t, c, type, place, err));
  if (c->type == INTEGERS && type == REALS) round_integers(c);
  const bool fits = c->type == type || (c->type == REALS && type == INTEGERS);
  if (!fits)
    return gb_table_fail(t, place, err, "column '%.60s' has %s here, and %s in the rows before", c->name,
                         type_names[type], type_names[c->type]);
  c->rows++;
  return make_room(t, c, bytes, err);
}

gb_status gb_table_put_integer (gb_table *t, size_t k, size_t row, size_t place, int64_t v, gb_error *err) {
  const int64_t most = (int64_t)1 << 53;
  gb_table_column *c = t->column[k];
  GB_TRY(begin(t, k, INTEGERS, row, place, sizeof v, err));
  c->large |= v > most || v < -most;
  if (c->type == INTEGERS) append(c, &v, sizeof v);
  else append(c, &(double){(double)v}, sizeof(double));
  return GB_OK;
}

gb_status gb_table_put_real (gb_table *t, size_t k, size_t row, size_t place, double v, gb_error *err) {
  GB_TRY(begin(t, k, REALS, row, place, sizeof v, err));
  append(t->column[k], &v, sizeof v);
  return GB_OK;
}

gb_status gb_table_put_bool (gb_table *t, size_t k, size_t row, size_t place, bool v, gb_error *err) {
  GB_TRY(begin(t, k, BOOLS, row, place, sizeof(double), err));
  append(t->column[k], &(double){v}, sizeof(double));
  return GB_OK;
}

gb_status gb_table_put_text (gb_table *t, size_t k, size_t row, size_t place, const char *s, size_t n,
                             gb_error *err) {
  if (memchr(s, 0, n) != NULL)
    return gb_table_fail(t, place, err, "column '%.60s' has text with a NUL byte", t->column[k]->name);
  GB_TRY(begin(t, k, TEXT, row, place, n + 1, err));
  append(t->column[k], s, n);
  append(t->column[k], "", 1);
  return GB_OK;
}

/* -- the frame */

static gb_status new_vector (gb_table *t, gb_dtype type, size_t n, gb_tensor *out, gb_error *err) {
  const gb_shape shape = gb_shape_of(1, &n);
  return gb_tensor_new(t->ledger, type, &shape, GB_MEM_TENSOR, t->where, "", out, err);
}

static gb_status finish_text (gb_table *t, gb_table_column *c, gb_column *out, gb_error *err) {
  out->kind = GB_COLUMN_TEXT;
  out->nodd = c->rows;
  out->odd_line = t->by_line ? c->line : 0;
  GB_TRY(new_vector(t, GB_BOOL, c->used, &out->text, err));
  if (c->used > 0) memcpy(gb_host_elements(&out->text), c->cells.data, c->used);
  if (c->used > 0) snprintf(out->odd, sizeof out->odd, "%s", (const char *)c->cells.data);
  return GB_OK;
}

static gb_status finish_values (gb_table *t, gb_table_column *c, gb_column *out, gb_error *err) {
  const bool whole = c->type == INTEGERS && c->large, truth = c->type == BOOLS && c->absent == 0;
  const size_t n = c->rows;
  if (c->type == INTEGERS && !whole) round_integers(c);
  GB_TRY(new_vector(t, whole ? GB_I64 : truth ? GB_BOOL : GB_F64, n, &out->value, err));
  void *to = gb_host_elements(&out->value);
  const double *v = c->cells.data;
  if (truth)
    for (size_t i = 0; i < n; i++) ((uint8_t *)to)[i] = v[i] != 0;
  else if (c->type == NOTHING)
    for (size_t i = 0; i < n; i++) ((double *)to)[i] = NAN;
  else if (n > 0) memcpy(to, v, n * sizeof *v);
  return GB_OK;
}

static gb_status open_frame (gb_table *t, size_t rows, gb_frame *out, gb_error *err) {
  size_t bytes = 1;
  for (size_t k = 0; k < t->ncols; k++) bytes += strlen(t->column[k]->name) + 1;
  GB_TRY(new_vector(t, GB_BOOL, t->ncols * sizeof *out->column + bytes, &out->account, err));
  out->column = calloc(t->ncols + 1, sizeof *out->column);
  out->names = malloc(bytes);
  if (out->column == NULL || out->names == NULL) return no_memory(t, err);
  out->nrows = rows;
  out->ncols = out->nkept = t->ncols;
  char *at = out->names;
  for (size_t k = 0; k < t->ncols; at += strlen(at) + 1, k++)
    out->column[k].name = strcpy(at, t->column[k]->name);
  return GB_OK;
}

static gb_status finish (gb_table *t, size_t rows, gb_frame *out, gb_error *err) {
  GB_TRY(open_frame(t, rows, out, err));
  for (size_t k = 0; k < t->ncols; k++) {
    gb_table_column *c = t->column[k];
    GB_TRY(pad(t, c, rows, err));
    GB_TRY(c->type == TEXT ? finish_text(t, c, &out->column[k], err)
                           : finish_values(t, c, &out->column[k], err));
    gb_ledger_free(t->ledger, &c->cells);
  }
  return GB_OK;
}

gb_status gb_table_finish (gb_table *t, size_t rows, gb_frame *out, gb_error *err) {
  *out = (gb_frame){0};
  const gb_status st = finish(t, rows, out, err);
  gb_table_close(t);
  if (st != GB_OK) gb_frame_clear(out);
  return st;
}
