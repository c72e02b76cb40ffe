/* test_io.c - text tables and NumPy files: what is read, and that hostile files are refused by line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/csv.h"
#include "io/npy.h"

static char path[64];

static void write_file (const void *data, size_t n) {
  snprintf(path, sizeof path, "/tmp/gibbous-io-%d", (int)getpid());
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static gb_status read_text (const char *text, gb_csv_options o, gb_frame *f, gb_error *err) {
  write_file(text, strlen(text));
  gb_status st = gb_csv_read(path, &o, f, err);
  unlink(path);
  return st;
}

static void expect_format_error (const char *text, const char *part) {
  gb_frame f;
  gb_error err;
  assert_int_equal(read_text(text, (gb_csv_options){0}, &f, &err), GB_EFORMAT);
  if (strstr(err.text, part) == NULL) fail_msg("'%s' does not contain '%s'", err.text, part);
  assert_null(f.column);
}

static void a_heading_names_the_columns (void **state) {
  (void)state;
  gb_frame f;
  gb_error err;
  assert_int_equal(read_text("\xEF\xBB\xBF" "a, \"b,c\" ,d\r\n1,2,3\r\n# note\r\n4,NA,-1e-3\r\n", (gb_csv_options){0}, &f, &err), GB_OK);
  assert_int_equal(f.nrows, 2);
  assert_int_equal(f.ncols, 3);
  assert_string_equal(f.column[1].name, "b,c");
  assert_true(f.column[0].value[1] == 4);
  assert_true(isnan(f.column[1].value[1]));
  assert_true(f.column[2].value[1] == -1e-3);
  gb_frame_clear(&f);
}

static void a_first_row_of_numbers_is_data (void **state) {
  (void)state;
  gb_frame f;
  gb_error err;
  assert_int_equal(read_text("1 2\n3\t4\n", (gb_csv_options){0}, &f, &err), GB_OK);
  assert_int_equal(f.nrows, 2);
  assert_true(f.column[1].value[0] == 2 && f.column[1].value[1] == 4);
  gb_frame_clear(&f);
}

static void words_keep_their_text_and_their_line (void **state) {
  (void)state;
  gb_frame f;
  gb_error err;
  assert_int_equal(read_text("h1,h2\n2,1958-03\n2,1958-04\n", (gb_csv_options){.skip = 1}, &f, &err), GB_OK);
  assert_int_equal(f.column[1].ntext, 2);
  assert_int_equal(f.column[1].first_line, 2);
  assert_string_equal(f.column[1].text[1], "1958-04");
  assert_null(f.column[0].text);
  gb_frame_clear(&f);
}

static void hostile_tables_are_refused_by_line (void **state) {
  (void)state;
  expect_format_error("a,b\n1,2\n3\n", ":3: expected 2 fields, got 1");
  expect_format_error("a\n1\n1e999\n", ":3: field 1: the number '1e999' is out of range");
  expect_format_error("", "no rows");
  write_file("a,b\n1,\0002\n", 9);
  gb_frame f;
  gb_error err;
  assert_int_equal(gb_csv_read(path, &(gb_csv_options){0}, &f, &err), GB_EFORMAT);
  unlink(path);
  assert_int_equal(gb_csv_read("/nonexistent/file", &(gb_csv_options){0}, &f, &err), GB_EIO);
}

static void numbers_written_read_back_the_same (void **state) {
  (void)state;
  const double v[] = {0.1 + 0.2, 1.0 / 3, -1e-300, 9007199254740993.0, 5e-324, 1e22};
  gb_error err;
  snprintf(path, sizeof path, "/tmp/gibbous-io-%d", (int)getpid());
  assert_int_equal(gb_csv_write(path, 3, 2, v, (const char *const[]){"p", "q"}, &err), GB_OK);
  gb_frame f;
  assert_int_equal(gb_csv_read(path, &(gb_csv_options){0}, &f, &err), GB_OK);
  unlink(path);
  for (size_t i = 0; i < 6; i++) assert_memory_equal(&f.column[i % 2].value[i / 2], &v[i], sizeof v[i]);
  gb_frame_clear(&f);
}

static void arrays_written_read_back_the_same (void **state) {
  (void)state;
  gb_ledger l;
  gb_ledger_init(&l, 1 << 20);
  for (gb_dtype t = 0; t < GB_NDTYPES; t++) {
    if (t == GB_BF16) continue;
    const gb_shape s = gb_shape_of(2, (size_t[]){3, 5});
    gb_tensor a, b;
    gb_error err;
    assert_int_equal(gb_tensor_new(&l, t, &s, GB_MEM_TENSOR, "", "", &a, &err), GB_OK);
    for (size_t i = 0; i < 15; i++) gb_element_set(a.storage->data, i, t, t == GB_BOOL ? (double)(i % 2) : (double)i - 7);
    snprintf(path, sizeof path, "/tmp/gibbous-io-%d", (int)getpid());
    assert_int_equal(gb_npy_write(path, &a, &err), GB_OK);
    assert_int_equal(gb_npy_read(&l, path, "", &b, &err), GB_OK);
    unlink(path);
    assert_int_equal(b.dtype, t);
    assert_true(gb_shape_equal(&a.shape, &b.shape));
    assert_memory_equal(a.storage->data, b.storage->data, a.storage->bytes);
    gb_tensor_clear(&a);
    gb_tensor_clear(&b);
  }
  assert_int_equal(l.used, 0);
}

static gb_status read_npy (const char *heading, const void *data, size_t bytes, gb_ledger *l, gb_tensor *t, gb_error *err) {
  unsigned char file[512] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  const size_t n = strlen(heading);
  file[8] = (unsigned char)n;
  memcpy(file + 10, heading, n);
  if (bytes > 0) memcpy(file + 10 + n, data, bytes);
  write_file(file, 10 + n + bytes);
  gb_status st = gb_npy_read(l, path, "", t, err);
  unlink(path);
  return st;
}

static void fortran_order_is_transposed (void **state) {
  (void)state;
  gb_ledger l;
  gb_ledger_init(&l, 1 << 20);
  const int32_t v[] = {1, 2, 3, 4, 5, 6};
  gb_tensor t;
  gb_error err;
  assert_int_equal(read_npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n", v, sizeof v, &l, &t, &err), GB_OK);
  assert_int_equal(t.dtype, GB_I64);
  const int64_t want[] = {1, 3, 5, 2, 4, 6};
  assert_memory_equal(t.storage->data, want, sizeof want);
  gb_tensor_clear(&t);
}

static void hostile_arrays_are_refused (void **state) {
  (void)state;
  static const char *const bad[] = {
      "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n", "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }\n",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (99,), }\n", "{'descr': '<f8', 'shape': (4294967296, 4294967296, 2), }\n",
      "{'descr': '<f8', 'shape': (1,2", "{'descr': '<f8', 'shape': (-1,), }", "garbage", "{'descr': '<c16', 'shape': (1,), }\n",
  };
  gb_ledger l;
  gb_ledger_init(&l, 1 << 20);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    gb_tensor t;
    gb_error err;
    assert_int_equal(read_npy(bad[i], "12345678", 8, &l, &t, &err), GB_EFORMAT);
    assert_int_equal(l.used, 0);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_heading_names_the_columns),
      cmocka_unit_test(a_first_row_of_numbers_is_data),
      cmocka_unit_test(words_keep_their_text_and_their_line),
      cmocka_unit_test(hostile_tables_are_refused_by_line),
      cmocka_unit_test(numbers_written_read_back_the_same),
      cmocka_unit_test(arrays_written_read_back_the_same),
      cmocka_unit_test(fortran_order_is_transposed),
      cmocka_unit_test(hostile_arrays_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
