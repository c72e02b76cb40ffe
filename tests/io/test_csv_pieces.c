/* test_csv_pieces.c - tables on several threads, in pieces of any size, packed or not: the same results and the same errors. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/hash.h"
#include "base/pool.h"
#include "io/inflate.h"
#include "io/text/csv.h"
#include "support/elements.h"
#include "support/io/file_fixture.h"

enum { ROOM = 1 << 16 };
static uint64_t state;

static size_t draw (size_t below) {
  state = gb_hash_u64(state, below);
  return (size_t)(state % below);
}

/* -- texts */

static const char *const cells[] = {"1",
                                    "-2.5",
                                    "3.25e2",
                                    "9007199254740993",
                                    "NA",
                                    "",
                                    "word",
                                    "12345678.125",
                                    " 7 ",
                                    "\"quoted\"",
                                    "\"two\nlines\"",
                                    "\"a\r\nb, \"\"c\"\"\"",
                                    "\" 5\" ",
                                    "5\"",
                                    "true",
                                    "2020-02-29",
                                    "inf",
                                    "# no comment",
                                    "0.30000000000000004",
                                    "\xC3\xA4\xC3\xB6"};
static const char *const ends[] = {"\n", "\r\n", "\r"};
static const char *const odd[] = {"1e999",         "\"open", "\"x\"y", "1,2",
                                  "# a \"comment", "\n\n",   "",       "\xEF\xBB\xBF"};
enum { NCELLS = sizeof cells / sizeof *cells, NODD = sizeof odd / sizeof *odd };

typedef struct text {
  char s[ROOM];
  size_t n;
} text;

static void add (text *t, const char *s) {
  const size_t n = strlen(s);
  assert_true(t->n + n < ROOM);
  memcpy(t->s + t->n, s, n + 1);
  t->n += n;
}

/* A table of columns that are mostly of one kind; one of 'faults' rows has something odd. */
static void spell (text *t, size_t faults) {
  const size_t cols = 1 + draw(5), rows = draw(200), kinds = 1 + draw(NCELLS);
  const char *end = ends[draw(3)];
  t->n = 0;
  for (size_t k = 0; k < cols; k++) {
    char name[16];
    snprintf(name, sizeof name, "%sc%zu", k > 0 ? "," : "", k);
    add(t, name);
  }
  add(t, end);
  for (size_t i = 0; i < rows; i++) {
    if (draw(30) == 0) add(t, "# it's a \"comment"), add(t, end);
    if (draw(30) == 0) add(t, end);
    for (size_t k = 0; k < cols; k++) {
      if (k > 0) add(t, ",");
      add(t, faults > 0 && draw(faults * cols) == 0 ? odd[draw(NODD)] : cells[draw(kinds)]);
    }
    if (i + 1 < rows || draw(2) == 0) add(t, end);
  }
  if (faults > 0 && draw(8) == 0) t->s[draw(t->n)] = '\0';
}

/* As gzip packs it, to no more than 2 ROOM bytes. */
static size_t pack (const char *s, size_t n, unsigned char *to) {
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + 15, 9, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = (unsigned char *)(uintptr_t)s;
  z.avail_in = (unsigned)n;
  z.next_out = to;
  z.avail_out = 2 * ROOM;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  deflateEnd(&z);
  return 2 * ROOM - z.avail_out;
}

/* -- comparing */

typedef struct outcome {
  gb_status status;
  char error[sizeof file_error.text];
  gb_frame f;
} outcome;

static outcome read_it (gb_csv_options o) {
  outcome out = {0};
  file_error.text[0] = '\0';
  out.status = gb_csv_read(&file_ledger, file_path, "", &o, &out.f, &file_error);
  if (out.status != GB_OK) strcpy(out.error, file_error.text);
  return out;
}

static void expect_same_tensor (const gb_tensor *a, const gb_tensor *b) {
  assert_int_equal(a->storage == NULL, b->storage == NULL);
  if (a->storage == NULL) return;
  assert_int_equal(a->dtype, b->dtype);
  assert_int_equal(a->shape.dim[0], b->shape.dim[0]);
  assert_memory_equal(elements(a), elements(b), gb_shape_bytes(&a->shape, a->dtype)); /* NaN: the same bits */
}

static void expect_same (const outcome *a, const outcome *b) {
  assert_string_equal(a->error, b->error);
  assert_int_equal(a->status, b->status);
  assert_int_equal(a->f.nrows, b->f.nrows);
  assert_int_equal(a->f.ncols, b->f.ncols);
  assert_string_equal(a->f.notes, b->f.notes);
  for (size_t k = 0; k < a->f.ncols; k++) {
    const gb_column *c = &a->f.column[k], *d = &b->f.column[k];
    assert_string_equal(c->name, d->name);
    assert_int_equal(c->kind, d->kind);
    assert_int_equal(c->nodd, d->nodd);
    assert_int_equal(c->odd_line, d->odd_line);
    assert_string_equal(c->odd, d->odd);
    assert_int_equal(c->comma, d->comma);
    expect_same_tensor(&c->value, &d->value);
    expect_same_tensor(&c->text, &d->text);
  }
}

enum { NPOOLS = 3 };
static gb_pool *pool[NPOOLS];

static void expect_same_in_all_ways (gb_csv_options o, outcome *whole) {
  static const size_t pieces[] = {1, 7, 64, 1000, 0};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    for (int p = 0; p < NPOOLS; p++) {
      o.piece = pieces[i];
      o.pool = pool[p];
      outcome cut = read_it(o);
      expect_same(whole, &cut);
      gb_frame_clear(&cut.f);
    }
}

/* The same tables plain and packed, with room for the unpacked text and without. */
static void threads_and_pieces_change_nothing (void **unused) {
  (void)unused;
  static text t;
  static unsigned char packed[2 * ROOM];
  for (int p = 0; p < NPOOLS; p++)
    assert_int_equal(gb_pool_new((int[NPOOLS]){1, 2, 5}[p], &pool[p], &file_error), GB_OK);
  for (int i = 0; i < 300; i++) {
    state = (uint64_t)i + 1;
    spell(&t, i % 2 == 0 ? 0 : 1 + draw(100));
    gb_csv_options o = {.delimiter = draw(3) == 0 ? '\0' : ',', .skip = draw(4) == 0 ? draw(5) : 0};
    if (draw(5) == 0) o.na = "1";
    write_file(t.s, t.n);
    outcome whole = read_it(o);
    expect_same_in_all_ways(o, &whole);
    if (i % 5 == 0) {
      write_file(packed, pack(t.s, t.n, packed));
      expect_same_in_all_ways(o, &whole);
      file_ledger.limit = (size_t)1 << 20;
      outcome tight = read_it((gb_csv_options){.delimiter = o.delimiter, .skip = o.skip, .na = o.na});
      expect_same(&whole, &tight);
      gb_frame_clear(&tight.f);
      file_ledger.limit = (size_t)64 << 20;
    }
    gb_frame_clear(&whole.f);
  }
  for (int p = 0; p < NPOOLS; p++) gb_pool_free(pool[p]);
}

/* A row too long for any piece, a NUL and a ragged row: the first in the text is told, however it is cut. */
static void the_first_error_of_a_text_is_told (void **unused) {
  (void)unused;
  const size_t most = (size_t)17 << 20;
  char *s = malloc(most + 64);
  assert_int_equal(gb_pool_new(3, &pool[0], &file_error), GB_OK);
  for (int which = 0; which < 3; which++) {
    char *at = s + sprintf(s, "a,b\n1,2\n%s", which == 0 ? "3\n" : "3,4\n");
    if (which == 1) *at++ = '\0';
    memset(at, 'x', most);
    write_file(s, (size_t)(at - s) + most);
    static const char *const want[] = {":3: expected 2 fields, got 1", ":4: a NUL byte",
                                       ":4: a row of more than 16777216 bytes"};
    static const size_t pieces[] = {0, 5, 4096};
    for (int i = 0; i < 3; i++) {
      outcome out = read_it((gb_csv_options){.delimiter = ',', .piece = pieces[i], .pool = pool[0]});
      assert_int_equal(out.status, GB_EFORMAT);
      if (strstr(out.error, want[which]) == NULL) fail_msg("'%s', not '%s'", out.error, want[which]);
    }
  }
  gb_pool_free(pool[0]);
  free(s);
}

static size_t unpacked; /* bytes that were inflated */

gb_inflated __real_gb_inflate_read (gb_inflate *g, unsigned char *to, size_t room, size_t *got);
gb_inflated __wrap_gb_inflate_read (gb_inflate *g, unsigned char *to, size_t room, size_t *got);
gb_inflated __wrap_gb_inflate_read (gb_inflate *g, unsigned char *to, size_t room, size_t *got) {
  const gb_inflated what = __real_gb_inflate_read(g, to, room, got);
  unpacked += *got;
  return what;
}

/* A packed file is unpacked once, but for its beginning: what is kept of it is in the ledger beside the columns. */
static void unpacked_text_is_kept_where_there_is_room (void **unused) {
  (void)unused;
  enum { ROWS = 200000, BYTES = 8 * ROWS };
  char *s = malloc(BYTES);
  unsigned char *packed = malloc(BYTES);
  for (int i = 0; i < ROWS; i++) memcpy(s + 8 * i, "1,2.5,x\n", 8);
  write_file(s, BYTES);
  outcome plain = read_it((gb_csv_options){0});
  const size_t result = file_ledger.used;
  write_file(packed, pack(s, BYTES, packed));
  file_ledger.peak = 0;
  unpacked = 0;
  outcome kept = read_it((gb_csv_options){0});
  assert_in_range(unpacked, BYTES, BYTES + ((size_t)256 << 10));
  assert_in_range(file_ledger.peak - result, result + BYTES, result + BYTES + ((size_t)2 << 20));
  expect_same(&plain, &kept);
  gb_frame_clear(&kept.f);
  file_ledger.limit = 2 * result + (1 << 20); /* the columns fit, and the text not beside them */
  unpacked = 0;
  outcome twice = read_it((gb_csv_options){0});
  assert_true(unpacked >= 2 * BYTES);
  expect_same(&plain, &twice);
  gb_frame_clear(&twice.f);
  gb_frame_clear(&plain.f);
  file_ledger.limit = (size_t)64 << 20;
  free(packed);
  free(s);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(threads_and_pieces_change_nothing),
      FILE_TEST(the_first_error_of_a_text_is_told),
      FILE_TEST(unpacked_text_is_kept_where_there_is_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
