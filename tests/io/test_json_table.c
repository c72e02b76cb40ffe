/* test_json_table.c - rows and columns in JSON, whole and damaged: tables as they should be, or errors that leak nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/table/json_table.h"
#include "support/elements.h"
#include "support/io/file_fixture.h"
#include "support/io/mutate.h"

typedef gb_status reader (gb_frame *f);

static gb_status read_lines (gb_frame *f) {
  return gb_json_lines(&file_ledger, file_path, "", f, &file_error);
}

/* Not a table: an empty frame. */
static gb_status read_whole (gb_frame *f) {
  gb_json_text text;
  bool is_table;
  *f = (gb_frame){0};
  GB_TRY(gb_json_text_read(&file_ledger, file_path, "", &text, &file_error));
  const gb_status st = gb_json_table(&text, f, &is_table, &file_error);
  gb_json_text_clear(&text);
  return st;
}

static double number (const gb_frame *f, size_t row, size_t k) {
  return gb_tensor_at(&f->column[k].value, &row);
}

static const char *const rows_text =
    "[{\"a\": 1, \"b\": \"x\", \"c\": true},\n {\"c\": false, \"d\": 0.5, \"a\": null},"
    " {\"a\": -2, \"e\": null}]";

static void rows_become_columns_in_their_order (void **state) {
  (void)state;
  gb_frame f;
  write_file(rows_text, strlen(rows_text));
  assert_int_equal(read_whole(&f), GB_OK);
  assert_int_equal(f.nrows, 3);
  assert_int_equal(f.ncols, 5);
  static const char *const names[] = {"a", "b", "c", "d", "e"};
  for (size_t k = 0; k < 5; k++) assert_string_equal(f.column[k].name, names[k]);
  assert_true(number(&f, 0, 0) == 1 && isnan(number(&f, 1, 0)) && number(&f, 2, 0) == -2);
  assert_int_equal(f.column[1].kind, GB_COLUMN_TEXT);
  assert_memory_equal(elements(&f.column[1].text), "x\0\0", 4);
  assert_true(number(&f, 0, 2) == 1 && number(&f, 1, 2) == 0 && isnan(number(&f, 2, 2)));
  assert_true(isnan(number(&f, 0, 3)) && number(&f, 1, 3) == 0.5 && isnan(number(&f, 2, 3)));
  assert_true(isnan(number(&f, 0, 4)) && isnan(number(&f, 2, 4)));
  gb_frame_clear(&f);
}

static void integers_stay_whole_where_doubles_do_not_hold_them (void **state) {
  (void)state;
  static const struct {
    const char *text;
    gb_dtype type;
  } cases[] = {
      {"{\"a\": [9007199254740993, 1]}", GB_I64},   {"{\"a\": [9007199254740992, 1]}", GB_F64},
      {"{\"a\": [9007199254740993, 0.5]}", GB_F64}, {"[{\"a\": -9007199254740993}, {}]", GB_F64},
      {"[{\"a\": -9007199254740993}]", GB_I64},     {"[{\"a\": null}, {\"a\": 9007199254740993}]", GB_F64},
      {"{\"a\": [true, false]}", GB_BOOL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gb_frame f;
    write_file(cases[i].text, strlen(cases[i].text));
    assert_int_equal(read_whole(&f), GB_OK);
    assert_int_equal(f.column[0].value.dtype, cases[i].type);
    gb_frame_clear(&f);
  }
}

/* Wherever memory ends, all that was held is given back. */
static void no_memory_at_any_point_leaks_nothing (void **state) {
  (void)state;
  static const char lines[] = "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2.5, \"b\": null, \"c\": true}\n";
  static reader *const readers[] = {read_whole, read_lines};
  for (int which = 0; which < 2; which++) {
    gb_frame f;
    write_file(which == 0 ? rows_text : lines, strlen(which == 0 ? rows_text : lines));
    long n = -1;
    gb_status st;
    do {
      file_ledger.fail_after = (long)file_ledger.allocations + ++n;
      st = readers[which](&f);
      if (st != GB_OK) assert_int_equal(st, GB_ENOMEM);
      if (st != GB_OK) assert_int_equal(file_ledger.used, 0);
    } while (st != GB_OK);
    file_ledger.fail_after = -1;
    assert_true(n >= 5);
    gb_frame_clear(&f);
  }
}

static mutator m;

/* Every cell of every column is there. */
static void look_at (const gb_frame *f) {
  for (size_t k = 0; k < f->ncols; k++) {
    const gb_column *c = &f->column[k];
    const char *s = c->text.storage != NULL ? elements(&c->text) : NULL;
    for (size_t i = 0; i < f->nrows; i++)
      if (s != NULL) s += strlen(s) + 1;
      else (void)number(f, i, k);
    if (s != NULL) assert_int_equal(s - (const char *)elements(&c->text), c->text.shape.dim[0]);
  }
}

static void damaged_texts_are_refused_or_read (void **state) {
  (void)state;
  static const char *const words[] = {
      "{",           "}",    "[",        "]",     ",",      ":",  "\"",
      "\\",          "null", "true",     "1e999", "\"a\":", "\n", "9223372036854775808",
      "\"\\u0000\"", "[[[[", "{\"a\": ", NULL};
  static const char *const seeds[] = {
      "[{\"a\": 1, \"b\": \"x\"}, {\"a\": 2}]",
      "{\"a\": [1, 2, 3], \"b\": [\"x\", \"y\", \"z\"], \"c\": [true, false, true]}",
      "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2.5, \"b\": null}\n\n{\"c\": true}\n",
      "[]",
      "{}",
      "3"};
  static reader *const readers[] = {read_whole, read_lines};
  size_t read = 0;
  begin_mutants(&m, 5, words);
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) add_seed(&m, seeds[i], strlen(seeds[i]));
  for (int i = 0; i < 20000; i++) {
    gb_frame f;
    mutate(&m);
    write_file(m.data, m.n);
    const gb_status st = readers[i % 2](&f);
    read += st == GB_OK;
    if (st == GB_OK) look_at(&f);
    else {
      assert_int_equal(st, GB_EFORMAT);
      assert_ptr_equal(strstr(file_error.text, file_path), file_error.text);
    }
    if (st == GB_OK) gb_frame_clear(&f);
    assert_int_equal(file_ledger.used, 0);
  }
  assert_in_range(read, 100, 19900);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(rows_become_columns_in_their_order),
      FILE_TEST(integers_stay_whole_where_doubles_do_not_hold_them),
      FILE_TEST(no_memory_at_any_point_leaks_nothing),
      FILE_TEST(damaged_texts_are_refused_or_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
