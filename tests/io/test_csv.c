/* test_csv.c - text tables, packed or not: what is read, and that hostile files are refused by line. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/hash.h"
#include "io/text/csv.h"
#include "support/elements.h"
#include "support/io/file_fixture.h"

static gb_status read_text (const char *text, gb_csv_options o, gb_frame *f) {
  write_file(text, strlen(text));
  return gb_csv_read(&file_ledger, file_path, "", &o, f, &file_error);
}

static void expect_error (gb_status want, const char *text, gb_csv_options o, const char *part) {
  gb_frame f;
  const gb_status got = read_text(text, o, &f);
  if (got != want)
    fail_msg("'%s': %s: %s", text, gb_status_code(got), got == GB_OK ? "read" : file_error.text);
  if (strstr(file_error.text, part) == NULL) fail_msg("'%s' does not contain '%s'", file_error.text, part);
  assert_null(f.column);
  assert_int_equal(file_ledger.used, 0);
}

static void expect_format_error (const char *text, const char *part) {
  expect_error(GB_EFORMAT, text, (gb_csv_options){0}, part);
}

static void expect_read (const char *text, gb_csv_options o, gb_frame *f) {
  const gb_status got = read_text(text, o, f);
  if (got != GB_OK) fail_msg("'%s': %s", text, file_error.text);
}

static double number (const gb_frame *f, size_t row, size_t k) {
  return gb_tensor_at(&f->column[k].value, &row);
}

static const char *text_at (const gb_frame *f, size_t row, size_t k) {
  const char *s = f->column[k].text.storage->block.data;
  while (row-- > 0) s += strlen(s) + 1;
  return s;
}

static void a_heading_names_the_columns (void **state) {
  (void)state;
  gb_frame f;
  expect_read("\xEF\xBB\xBF"
              "a, \"b,c\" ,d\r\n1,2,3\r\n# note\r\n4,NA,-1e-3\r\n",
              (gb_csv_options){0}, &f);
  assert_int_equal(f.nrows, 2);
  assert_int_equal(f.ncols, 3);
  assert_string_equal(f.column[1].name, "b,c");
  assert_true(number(&f, 1, 0) == 4);
  assert_true(isnan(number(&f, 1, 1)));
  assert_true(number(&f, 1, 2) == -1e-3);
  assert_string_equal(f.notes, "");
  gb_frame_clear(&f);
}

static void a_first_row_of_numbers_is_data (void **state) {
  (void)state;
  gb_frame f;
  expect_read("1 2\n3\t4\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.nrows, 2);
  assert_true(number(&f, 0, 1) == 2 && number(&f, 1, 1) == 4);
  gb_frame_clear(&f);
  expect_read("who,1990,1991\na,1,2\nb,3,4\nc,5,6\n", (gb_csv_options){0}, &f); /* all words: nothing tells */
  assert_string_equal(f.notes, "");
  gb_frame_clear(&f);
  expect_read("year,1990\n1,2\n3,4\n5,6\n", (gb_csv_options){0}, &f);
  assert_non_null(
      strstr(f.notes, ":1: read as data, for it holds numbers; if it is a heading: skip = 1, names = {...}"));
  gb_frame_clear(&f);
}

static void words_keep_their_text_and_their_line (void **state) {
  (void)state;
  gb_frame f;
  expect_read("h1,h2\n2,1958-03\n2,1958-04\n", (gb_csv_options){.skip = 1}, &f);
  assert_int_equal(f.column[1].kind, GB_COLUMN_TEXT);
  assert_int_equal(f.column[1].nodd, 2);
  assert_int_equal(f.column[1].odd_line, 2);
  assert_string_equal(f.column[1].odd, "1958-03");
  assert_string_equal(text_at(&f, 1, 1), "1958-04");
  assert_int_equal(f.column[0].kind, GB_COLUMN_VALUES);
  gb_frame_clear(&f);
}

static void lines_end_in_any_of_three_ways (void **state) {
  (void)state;
  static const char *const texts[] = {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4", "a,b\r1,2\r3,4\r",
                                      "a,b\r\r1,2\n\n\r\n3,4"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    gb_frame f;
    expect_read(texts[i], (gb_csv_options){0}, &f);
    assert_int_equal(f.nrows, 2);
    assert_true(number(&f, 0, 1) == 2 && number(&f, 1, 0) == 3 && number(&f, 1, 1) == 4);
    gb_frame_clear(&f);
  }
}

static void quotes_hold_delimiters_quotes_and_lines (void **state) {
  (void)state;
  gb_frame f;
  expect_read("name,v\n\"two\nlines, \"\"quoted\"\"\",1\nplain,2\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.nrows, 2);
  assert_string_equal(text_at(&f, 0, 0), "two\nlines, \"quoted\"");
  assert_true(number(&f, 1, 1) == 2);
  gb_frame_clear(&f);
  expect_format_error("a,b\n1,2\n\"3,4\n5,6\n", ":3: a quote is not closed");
  expect_format_error("a,b\n\"x\ny\",2\n3\n", ":4: expected 2 fields, got 1"); /* lines inside quotes count */
  expect_format_error("a,b\n1,\"2\"x\n", ":2: field 2: text after the closing quote");
}

static void integers_that_no_double_holds_stay_integers (void **state) {
  (void)state;
  gb_frame f;
  expect_read("id,v\n9007199254740993,1\n-9223372036854775808,2\n0,3\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.column[0].value.dtype, GB_I64);
  const int64_t *id = f.column[0].value.storage->block.data;
  assert_true(id[0] == 9007199254740993 && id[1] == INT64_MIN && id[2] == 0);
  assert_int_equal(f.column[1].value.dtype, GB_F64);
  assert_string_equal(f.notes, "");
  gb_frame_clear(&f);
  expect_read("id\n9007199254740993\nNA\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.column[0].value.dtype, GB_F64);
  assert_non_null(strstr(f.notes, ":2: column 'id': 1 integer is rounded"));
  gb_frame_clear(&f);
  expect_read("id\n18446744073709551615\n1\n", (gb_csv_options){0}, &f);
  assert_non_null(strstr(f.notes, "1 integer is rounded"));
  gb_frame_clear(&f);
  expect_read("v\n100000000000000000000\n9007199254740992\n", (gb_csv_options){0}, &f); /* both are doubles */
  assert_int_equal(f.column[0].value.dtype, GB_F64);
  assert_true(number(&f, 0, 0) == 1e20);
  assert_string_equal(f.notes, "");
  gb_frame_clear(&f);
}

static void decimal_commas_are_told (void **state) {
  (void)state;
  gb_frame f;
  expect_read("1,5;2,5\n3,25;-1,0\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.ncols, 2);
  assert_true(f.column[0].comma && f.column[1].comma);
  assert_string_equal(f.column[0].odd, "1,5");
  gb_frame_clear(&f);
  expect_read("1,5;2,5\n3,25;-1,0\n", (gb_csv_options){.decimal = ','}, &f);
  assert_true(number(&f, 0, 0) == 1.5 && number(&f, 0, 1) == 2.5 && number(&f, 1, 0) == 3.25 &&
              number(&f, 1, 1) == -1);
  gb_frame_clear(&f);
  expect_read("x\n1,7976931348623157e308\n0,30000000000000004\n", (gb_csv_options){.decimal = ','}, &f);
  assert_true(number(&f, 0, 0) == 1.7976931348623157e308 && number(&f, 1, 0) == 0.1 + 0.2);
  gb_frame_clear(&f);
  expect_read("a,b\n\"x, y\",\"1,2,3\"\n", (gb_csv_options){0}, &f);
  assert_true(!f.column[0].comma && !f.column[1].comma);
  gb_frame_clear(&f);
}

static void words_of_truth_and_infinities_are_read (void **state) {
  (void)state;
  gb_frame f;
  expect_read("a,b,c\ntrue,TRUE,inf\nFalse,NA,-Infinity\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.column[0].value.dtype, GB_BOOL);
  assert_true(number(&f, 0, 0) == 1 && number(&f, 1, 0) == 0);
  assert_int_equal(f.column[1].value.dtype, GB_F64);
  assert_true(number(&f, 0, 1) == 1 && isnan(number(&f, 1, 1)));
  assert_true(number(&f, 0, 2) == INFINITY && number(&f, 1, 2) == -INFINITY);
  assert_non_null(strstr(f.notes, ":2: column 'c': 2 cells are infinite"));
  gb_frame_clear(&f);
  expect_read("a\ntrue\n2\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.column[0].kind, GB_COLUMN_TEXT);
  assert_string_equal(text_at(&f, 1, 0), "2");
  gb_frame_clear(&f);
}

static void the_delimiter_is_the_one_that_splits_evenly (void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t cols;
  } rows[] = {{"a;b;c\n1;2;3\n", 3},
              {"a\tb\n1\t2\n", 2},
              {"a|b\n1|2\n", 2},
              {"1 2 3\n4 5 6\n", 3},
              {"x;y\n1,5;2,5\n", 2},
              {"1, 2, 3\n4, 5, 6\n", 3},
              {"name,note\nbob,a;b\nann,c\n", 2},
              {"a,b\n\"1;2;3\",4\n\"5;6\",7\n", 2},
              {"1\n2\n", 1},
              {"1,5 2,5\n3,5 4,5\n", 2}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    gb_frame f;
    expect_read(rows[i].text, (gb_csv_options){0}, &f);
    if (f.ncols != rows[i].cols) fail_msg("'%s': %zu columns", rows[i].text, f.ncols);
    gb_frame_clear(&f);
  }
}

/* Every number that a double prints is read as that double, by the short way or the long one. */
static void numbers_are_read_to_the_last_bit (void **state) {
  (void)state;
  static char text[1 << 20];
  enum { N = 20000 };
  static double want[N];
  size_t used = 0;
  uint64_t g = 7;
  for (size_t i = 0; i < N; i++) {
    static const char *const formats[] = {"%.17g\n", "%.3f\n", "%.6e\n", "%.15g\n", "%.0f\n"};
    char cell[400];
    g = gb_hash_u64(g, i);
    uint64_t bits = g;
    /* of a usual size */
    if (i % 2 == 0) bits = (g & 0x800FFFFFFFFFFFFF) | (uint64_t)(1023 - 40 + g % 90) << 52;
    double v;
    memcpy(&v, &bits, 8);
    if (!isfinite(v)) v = 1.5;
    snprintf(cell, sizeof cell, formats[i % 2 == 0 ? i / 2 % 5 : 0], v);
    want[i] = strtod(cell, NULL);
    assert_true(used + strlen(cell) < sizeof text);
    used += (size_t)sprintf(text + used, "%s", cell);
  }
  gb_frame f;
  expect_read(text, (gb_csv_options){0}, &f);
  assert_int_equal(f.nrows, N);
  assert_memory_equal(f.column[0].value.storage->block.data, want, sizeof want);
  gb_frame_clear(&f);
}

static void hostile_tables_are_refused_by_line (void **state) {
  (void)state;
  expect_format_error("a,b\n1,2\n3\n", ":3: expected 2 fields, got 1");
  expect_format_error("a\n1\n1e999\n", ":3: field 1: the number '1e999' is out of range");
  expect_format_error("", "no rows");
  gb_frame f;
  write_file("a,b\n1,\0002\n", 9);
  assert_int_equal(gb_csv_read(&file_ledger, file_path, "", &(gb_csv_options){0}, &f, &file_error),
                   GB_EFORMAT);
  assert_int_equal(gb_csv_read(&file_ledger, "/nonexistent/file", "", &(gb_csv_options){0}, &f, &file_error),
                   GB_EIO);
}

/* Rows of n fields: memory follows the file, not a count of rows that might come. */
static void many_columns_take_what_they_need (void **state) {
  (void)state;
  static char text[2 * 100001 + 1];
  const size_t most = 65536;
  for (size_t k = 0; k < 100001; k++) memcpy(text + 2 * k, k + 1 < 100001 ? "1," : "1\n", 2);
  expect_format_error(text, ":1: more than 65536 fields; is ',' the delimiter?");
  strcpy(text + 2 * most - 1, "\n");
  gb_frame f;
  file_ledger.peak = 0;
  expect_read(text, (gb_csv_options){0}, &f);
  assert_int_equal(f.ncols, most);
  assert_true(number(&f, 0, most - 1) == 1);
  assert_in_range(file_ledger.peak, most * 8, (size_t)48 << 20);
  gb_frame_clear(&f);
  file_ledger.limit = 1 << 20;
  expect_error(GB_ENOMEM, text, (gb_csv_options){0}, "limit 1 MiB");
  file_ledger.limit = (size_t)64 << 20;
}

/* Beside the result, a window and the counts of the columns are held. */
static void long_tables_take_a_window_beside_the_result (void **state) {
  (void)state;
  const size_t n = 1 << 20;
  char *text = malloc(4 * n + 1);
  for (size_t i = 0; i < n; i++) memcpy(text + 4 * i, "1,2\n", 4);
  text[4 * n] = '\0';
  gb_frame f;
  file_ledger.peak = 0;
  expect_read(text, (gb_csv_options){0}, &f);
  assert_in_range(file_ledger.peak, 16 * n, 16 * n + (1 << 20));
  gb_frame_clear(&f);
  file_ledger.limit = 8 * n;
  expect_error(GB_ENOMEM, text, (gb_csv_options){0}, "limit 8 MiB");
  file_ledger.limit = (size_t)64 << 20;
  free(text);
  text = malloc(((size_t)17 << 20) + 1);
  memset(text, 'x', (size_t)17 << 20);
  text[(size_t)17 << 20] = '\0';
  expect_format_error(text, ":1: a row of more than 16777216 bytes");
  text[0] = '"';
  expect_format_error(text, "is a quote not closed?");
  free(text);
}

static void dates_are_seconds_and_keep_their_text (void **state) {
  (void)state;
  gb_frame f;
  expect_read("at,v\n2020-02-29,1\nNA,2\n2020-02-29T00:00:01Z,3\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.column[0].kind, GB_COLUMN_DATE);
  assert_true(number(&f, 0, 0) == 1582934400.0 && isnan(number(&f, 1, 0)) &&
              number(&f, 2, 0) == 1582934401.0);
  assert_string_equal(text_at(&f, 1, 0), "NA");
  assert_string_equal(text_at(&f, 2, 0), "2020-02-29T00:00:01Z");
  gb_frame_clear(&f);
  expect_read("at\n2020-02-29\n1\n", (gb_csv_options){0}, &f);
  assert_int_equal(f.column[0].kind, GB_COLUMN_TEXT);
  assert_string_equal(f.column[0].odd, "2020-02-29");
  gb_frame_clear(&f);
}

static void chosen_columns_alone_are_kept (void **state) {
  (void)state;
  const gb_csv_choice by_name = {.name = "b"}, by_number = {.number = 3}, none = {.name = "x"},
                      far = {.number = 4};
  const char *table = "a,b,c\n1,2,1e999\n3,4,5\n";
  gb_frame f;
  expect_error(GB_EFORMAT, table, (gb_csv_options){0}, "out of range");
  expect_read(table, (gb_csv_options){.chosen = &by_name, .nchosen = 1}, &f);
  assert_int_equal(f.ncols, 3);
  assert_int_equal(f.column[0].kind, GB_COLUMN_LEFT);
  assert_null(f.column[0].value.storage);
  assert_int_equal(f.column[2].kind, GB_COLUMN_LEFT);
  assert_true(number(&f, 1, 1) == 4);
  gb_frame_clear(&f);
  expect_error(GB_EFORMAT, table, (gb_csv_options){.chosen = &by_number, .nchosen = 1}, "out of range");
  expect_error(GB_EFORMAT, "a,b\n1,2\n1\n", (gb_csv_options){.chosen = &by_name, .nchosen = 1},
               ":3: expected 2");
  expect_error(GB_EOPTION, table, (gb_csv_options){.chosen = &none, .nchosen = 1},
               "no column 'x'; columns: a, b, c");
  expect_error(GB_EINDEX, table, (gb_csv_options){.chosen = &far, .nchosen = 1}, "no column 4 among 3");
}

/* Fields, quotes and line ends that lie across the ends of the window are those that lie within it. */
static void rows_across_windows_are_whole (void **state) {
  (void)state;
  enum { ROWS = 30000 };
  char *text = malloc(ROWS * 40), *at = text;
  gb_frame f;
  at += sprintf(at, "v,w\r\n");
  for (int i = 0; i < ROWS; i++)
    at += sprintf(at, "%d.5, \"a\"\"%d\r\n,\"%s", i, i, i % 3 == 0 ? "\r\n" : " \n");
  expect_read(text, (gb_csv_options){.delimiter = ','}, &f);
  assert_int_equal(f.nrows, ROWS);
  const char *s = f.column[1].text.storage->block.data;
  for (int i = 0; i < ROWS; i++) {
    char want[32];
    snprintf(want, sizeof want, "a\"%d\r\n,", i);
    assert_string_equal(s, want);
    s += strlen(s) + 1;
    assert_true(number(&f, (size_t)i, 0) == i + 0.5);
  }
  gb_frame_clear(&f);
  free(text);
}

/* A CR at the end of the window waits for its LF: counted twice, the lines behind would be off by one. */
static void a_line_end_across_windows_is_one (void **state) {
  (void)state;
  enum { WINDOW = 256 << 10 };
  char *text = malloc(WINDOW + 64);
  for (int shift = -4; shift <= 4; shift++) {
    memset(text, 'x', WINDOW + shift);
    strcpy(text + WINDOW + shift, "\r\nx\r\ny\r\n1,2\n");
    expect_error(GB_EFORMAT, text, (gb_csv_options){.delimiter = ','}, ":4: expected 1 fields, got 2");
  }
  free(text);
}

/* A tensor of the device with these elements. */
static gb_tensor written (gb_dtype t, const gb_shape *s, const void *from) {
  gb_tensor x;
  assert_int_equal(gb_tensor_new(&device_ledger, t, s, GB_MEM_TENSOR, "", "", &x, &file_error), GB_OK);
  memcpy(elements_to_write(&x), from, gb_shape_bytes(s, t));
  elements_written(&x);
  return x;
}

static void numbers_written_read_back_the_same (void **state) {
  (void)state;
  const double v[] = {0.1 + 0.2, 1.0 / 3, -1e-300, 9007199254740993.0, 5e-324, 1e22};
  const int64_t w[] = {INT64_MAX, INT64_MIN, 9007199254740993};
  const uint8_t b[] = {1, 0, 1};
  gb_tensor m = written(GB_F64, &(gb_shape){2, {3, 2}}, v), i64 = written(GB_I64, &(gb_shape){1, {3}}, w),
            truth = written(GB_BOOL, &(gb_shape){1, {3}}, b);
  const char words[] = "plain\0with, \"all\"\nof it \0#";
  const gb_csv_column columns[] = {{.name = "p", .value = &m},
                                   {.name = "q,r", .value = &m, .index = 1},
                                   {.name = "w", .value = &i64},
                                   {.name = "t", .value = &truth},
                                   {.name = "s", .text = words}};
  assert_int_equal(gb_csv_write(file_path, 3, 5, columns, true, &file_error), GB_OK);
  gb_frame f;
  assert_int_equal(gb_csv_read(&file_ledger, file_path, "", &(gb_csv_options){0}, &f, &file_error), GB_OK);
  for (size_t i = 0; i < 6; i++) assert_true(number(&f, i / 2, i % 2) == v[i]);
  assert_memory_equal(f.column[2].value.storage->block.data, w, sizeof w);
  assert_memory_equal(f.column[3].value.storage->block.data, b, sizeof b);
  assert_string_equal(f.column[1].name, "q,r");
  assert_string_equal(text_at(&f, 1, 4), "with, \"all\"\nof it ");
  assert_string_equal(text_at(&f, 2, 4), "#");
  gb_frame_clear(&f);
  gb_tensor_clear(&m);
  gb_tensor_clear(&i64);
  gb_tensor_clear(&truth);
}

/* gzip */

/* Appends 'text', packed as one member, to the bytes at 'to'; returns the new length. */
static size_t pack (unsigned char *to, size_t used, size_t room, const char *text, size_t n) {
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + 15, 9, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = (unsigned char *)(uintptr_t)text;
  z.avail_in = (unsigned)n;
  z.next_out = to + used;
  z.avail_out = (unsigned)(room - used);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  used = room - z.avail_out;
  deflateEnd(&z);
  return used;
}

static gb_status read_bytes (const void *data, size_t n, gb_csv_options o, gb_frame *f) {
  write_file(data, n);
  return gb_csv_read(&file_ledger, file_path, "", &o, f, &file_error);
}

static void a_packed_table_cut_anywhere_is_refused (void **state) {
  (void)state;
  static char text[16384];
  static unsigned char packed[16384];
  size_t n = 0;
  for (int i = 0; i < 300; i++) n += (size_t)sprintf(text + n, "%d.%d,%d\n", i, i * i % 997, i * 7919 % 1009);
  const size_t all = pack(packed, 0, sizeof packed, text, n);
  gb_frame f;
  assert_int_equal(read_bytes(packed, all, (gb_csv_options){0}, &f), GB_OK);
  assert_int_equal(f.nrows, 300);
  gb_frame_clear(&f);
  for (size_t cut = 2; cut < all; cut++) {
    assert_int_equal(read_bytes(packed, cut, (gb_csv_options){0}, &f), GB_EFORMAT);
    if (strstr(file_error.text, "cut short") == NULL)
      fail_msg("%zu of %zu bytes: %s", cut, all, file_error.text);
  }
}

static void members_follow_each_other_and_nothing_else_does (void **state) {
  (void)state;
  static unsigned char packed[4096];
  size_t n = pack(packed, 0, sizeof packed, "1,2\n3,", 6);
  n = pack(packed, n, sizeof packed, "4\n", 2);
  gb_frame f;
  assert_int_equal(read_bytes(packed, n, (gb_csv_options){0}, &f), GB_OK);
  assert_true(f.nrows == 2 && number(&f, 1, 1) == 4);
  gb_frame_clear(&f);
  memset(packed + n, 0, 512); /* as a tape pads it */
  assert_int_equal(read_bytes(packed, n + 512, (gb_csv_options){0}, &f), GB_OK);
  gb_frame_clear(&f);
  packed[n + 512] = 1;
  assert_int_equal(read_bytes(packed, n + 513, (gb_csv_options){0}, &f), GB_EFORMAT);
  packed[n] = 'x';
  assert_int_equal(read_bytes(packed, n + 1, (gb_csv_options){0}, &f), GB_EFORMAT);
  assert_non_null(strstr(file_error.text, "other bytes follow"));
  for (size_t i = 0; i < 10; i++) { /* the second member's heading */
    const size_t second = pack(packed, 0, sizeof packed, "1,2\n3,", 6);
    n = pack(packed, second, sizeof packed, "4\n", 2);
    packed[second + i] ^= 0x10;
    if (read_bytes(packed, n, (gb_csv_options){0}, &f) == GB_OK)
      assert_true(f.nrows == 2 && number(&f, 1, 1) == 4);
    gb_frame_clear(&f);
  }
}

/* Headings and checksums lie anywhere in the pieces of the file that are read. */
static void members_may_end_anywhere (void **state) {
  (void)state;
  enum { MEMBERS = 3000, MOST = 1 << 20 };
  unsigned char *packed = malloc(MOST);
  size_t n = 0;
  for (int i = 0; i < MEMBERS; i++) {
    char row[64];
    const int bytes = snprintf(row, sizeof row, "%d,%.*s\n", i, 1 + i * 7 % 40,
                               "1234567890.12345678901234567890123456789012");
    n = pack(packed, n, MOST, row, (size_t)bytes);
  }
  assert_true(n > 3 << 15);
  gb_frame f;
  assert_int_equal(read_bytes(packed, n, (gb_csv_options){0}, &f), GB_OK);
  assert_int_equal(f.nrows, MEMBERS);
  for (size_t i = 0; i < MEMBERS; i++) assert_true(number(&f, i, 0) == (double)i);
  gb_frame_clear(&f);
  for (size_t i = 1; i <= 8; i++) { /* the checksum and the length of the last member */
    packed[n - i] ^= 1;
    assert_int_equal(read_bytes(packed, n, (gb_csv_options){0}, &f), GB_EFORMAT);
    assert_non_null(strstr(file_error.text, "damaged gzip data: incorrect"));
    packed[n - i] ^= 1;
  }
  free(packed);
}

/* A second member whose heading has all fields and a checksum crosses a border of what is read at once, at each of its bytes; and one
** with a flag that has no meaning. */
static void headings_cross_any_border (void **state) {
  (void)state;
  enum { READ_AT_ONCE = 64 << 10, BEFORE = 128 };
  static unsigned char packed[READ_AT_ONCE + 4096], first[BEFORE], second[256];
  static const unsigned char extra[BEFORE] = {0};
  gz_header heading = {.name = (unsigned char *)(uintptr_t) "table.csv",
                       .comment = (unsigned char *)(uintptr_t) "made up",
                       .extra = (unsigned char *)(uintptr_t)extra,
                       .extra_len = 7,
                       .hcrc = 1};
  const size_t m = pack(first, 0, sizeof first, "1,2\n", 4);
  z_stream z = {.next_in = (unsigned char *)(uintptr_t) "3,4\n",
                .avail_in = 4,
                .next_out = second,
                .avail_out = sizeof second};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + 15, 9, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflateSetHeader(&z, &heading), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  const size_t n = sizeof second - z.avail_out;
  deflateEnd(&z);
  gb_frame f;
  for (size_t behind = 0; behind <= n; behind++) { /* bytes of the second member behind the border */
    const size_t start = READ_AT_ONCE + behind - n, name = start - m - 1;
    memcpy(packed, first, 10);
    packed[3] = 8; /* a name fills the first member */
    memset(packed + 10, 'n', name);
    packed[10 + name] = 0;
    memcpy(packed + 11 + name, first + 10, m - 10);
    memcpy(packed + start, second, n);
    assert_int_equal(read_bytes(packed, start + n, (gb_csv_options){0}, &f), GB_OK);
    assert_true(f.nrows == 2 && number(&f, 1, 1) == 4);
    gb_frame_clear(&f);
    packed[start + 12] ^= 1; /* of the extra field, which the checksum covers */
    assert_int_equal(read_bytes(packed, start + n, (gb_csv_options){0}, &f), GB_EFORMAT);
  }
  first[3] = 0x20;
  assert_int_equal(read_bytes(first, m, (gb_csv_options){0}, &f), GB_EFORMAT);
}

static void a_bomb_is_refused_unless_it_is_asked_for (void **state) {
  (void)state;
  const size_t n = (size_t)20 << 20;
  char *text = malloc(n);
  unsigned char *packed = malloc(n);
  for (size_t i = 0; i < n; i += 2) memcpy(text + i, "1\n", 2);
  size_t all = 0;
  for (int i = 0; i < 1; i++) all = pack(packed, all, n, text, n);
  gb_frame f;
  assert_int_equal(read_bytes(packed, all, (gb_csv_options){.max_ratio = 100}, &f), GB_EFORMAT);
  assert_non_null(strstr(file_error.text, "it unpacks to more than 100 times its size"));
  file_ledger.limit = (size_t)128 << 20;
  assert_int_equal(read_bytes(packed, all, (gb_csv_options){.max_ratio = 5000}, &f), GB_OK);
  assert_int_equal(f.nrows, n / 2);
  gb_frame_clear(&f);
  file_ledger.limit = (size_t)64 << 20;
  free(text);
  free(packed);
}

static void a_name_that_promises_gzip_is_believed (void **state) {
  (void)state;
  char name[80];
  snprintf(name, sizeof name, "%s.csv.gz", file_path);
  write_file("1,2\n", 4);
  assert_int_equal(rename(file_path, name), 0);
  gb_frame f;
  assert_int_equal(gb_csv_read(&file_ledger, name, "", &(gb_csv_options){0}, &f, &file_error), GB_EFORMAT);
  assert_non_null(strstr(file_error.text, "its name ends in .gz"));
  unlink(name);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(a_heading_names_the_columns),
      FILE_TEST(a_first_row_of_numbers_is_data),
      FILE_TEST(words_keep_their_text_and_their_line),
      FILE_TEST(lines_end_in_any_of_three_ways),
      FILE_TEST(quotes_hold_delimiters_quotes_and_lines),
      FILE_TEST(integers_that_no_double_holds_stay_integers),
      FILE_TEST(decimal_commas_are_told),
      FILE_TEST(words_of_truth_and_infinities_are_read),
      FILE_TEST(the_delimiter_is_the_one_that_splits_evenly),
      FILE_TEST(numbers_are_read_to_the_last_bit),
      FILE_TEST(hostile_tables_are_refused_by_line),
      FILE_TEST(many_columns_take_what_they_need),
      FILE_TEST(long_tables_take_a_window_beside_the_result),
      FILE_TEST(dates_are_seconds_and_keep_their_text),
      FILE_TEST(chosen_columns_alone_are_kept),
      FILE_TEST(rows_across_windows_are_whole),
      FILE_TEST(a_line_end_across_windows_is_one),
      FILE_TEST(numbers_written_read_back_the_same),
      FILE_TEST(a_packed_table_cut_anywhere_is_refused),
      FILE_TEST(members_follow_each_other_and_nothing_else_does),
      FILE_TEST(members_may_end_anywhere),
      FILE_TEST(headings_cross_any_border),
      FILE_TEST(a_bomb_is_refused_unless_it_is_asked_for),
      FILE_TEST(a_name_that_promises_gzip_is_believed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
