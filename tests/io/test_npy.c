/* test_npy.c - NumPy files: what is read, and that hostile files are refused. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "io/npy.h"
#include "support/elements.h"
#include "support/io/file_fixture.h"

/* NumPy */

static void arrays_written_read_back_the_same (void **state) {
  (void)state;
  for (gb_dtype t = 0; t < GB_NDTYPES; t++) {
    if (t == GB_BF16) continue;
    const gb_shape s = gb_shape_of(2, (size_t[]){3, 5});
    gb_tensor a, b;
    assert_int_equal(gb_tensor_new(&device_ledger, t, &s, GB_MEM_TENSOR, "", "", &a, &file_error), GB_OK);
    void *to = elements_to_write(&a);
    for (size_t i = 0; i < 15; i++) gb_element_set(to, i, t, t == GB_BOOL ? (double)(i % 2) : (double)i - 7);
    elements_written(&a);
    assert_int_equal(gb_npy_write(file_path, &a, &file_error), GB_OK);
    assert_int_equal(gb_npy_read(&file_ledger, file_path, "", &b, &file_error), GB_OK);
    assert_int_equal(b.dtype, t);
    assert_true(gb_shape_equal(&a.shape, &b.shape));
    assert_memory_equal(elements(&a), b.storage->block.data, a.storage->block.bytes);
    gb_tensor_clear(&a);
    gb_tensor_clear(&b);
  }
}

/* A file of this version, heading and data; the heading without a line end. */
static void make_npy (int version, const char *heading, size_t n, const void *data, size_t bytes) {
  static unsigned char file[70000];
  const unsigned char lead[] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0, (unsigned char)n, (unsigned char)(n >> 8),
      0,    0};
  const size_t before = version == 1 ? 10 : 12;
  memcpy(file, lead, before);
  memcpy(file + before, heading, n);
  if (bytes > 0) memcpy(file + before + n, data, bytes);
  write_file(file, before + n + bytes);
}

static gb_status read_npy (int version, const char *heading, const void *data, size_t bytes, gb_tensor *t) {
  make_npy(version, heading, strlen(heading), data, bytes);
  return gb_npy_read(&file_ledger, file_path, "", t, &file_error);
}

static void headings_that_numpy_writes_are_read (void **state) {
  (void)state;
  static const struct {
    const char *text;
    int ndim;
    size_t dim[2];
  } rows[] = {{"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }   \n", 1, {1}},
              {"{'shape': (), 'fortran_order': True, 'descr': '=f8'}", 0, {0}},
              {" {\"descr\":\"<f8\",\"fortran_order\":False,\"shape\":(1,1)}", 2, {1, 1}},
              {"{'descr': '<f8', 'fortran_order': False, 'shape': (1L, 1L), }\n", 2, {1, 1}}};
  const double v = 2.5;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int version = 1; version <= 3; version++) {
      gb_tensor t;
      if (read_npy(version, rows[i].text, &v, 8, &t) != GB_OK)
        fail_msg("%s: %s", rows[i].text, file_error.text);
      const gb_shape want = gb_shape_of(rows[i].ndim, rows[i].dim);
      assert_true(gb_shape_equal(&t.shape, &want));
      assert_true(*(double *)t.storage->block.data == v);
      gb_tensor_clear(&t);
    }
}

static void fortran_order_is_transposed (void **state) {
  (void)state;
  const int32_t v[] = {1, 2, 3, 4, 5, 6};
  gb_tensor t;
  assert_int_equal(
      read_npy(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n", v, sizeof v, &t), GB_OK);
  assert_int_equal(t.dtype, GB_I32);
  const int32_t want[] = {1, 3, 5, 2, 4, 6};
  assert_memory_equal(t.storage->block.data, want, sizeof want);
  gb_tensor_clear(&t);
}

/* Every type, both orders, more than one slice: as an element by element reading has it, in a slice beside
** the result. */
static void arrays_are_read_in_slices (void **state) {
  (void)state;
  static const struct {
    const char *descr;
    size_t width;
    bool is_signed;
  } types[] = {{"<f8", 8, false}, {"<f4", 4, false}, {"<f2", 2, false}, {"<i8", 8, true},
               {"<i4", 4, true},  {"<i2", 2, true},  {"|i1", 1, true},  {"<u4", 4, false},
               {"<u2", 2, false}, {"|u1", 1, false}, {"|b1", 1, false}};
  const size_t rows = 1013, cols = 1201, n = rows * cols;
  unsigned char *data = malloc(n * 8 + 128);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    for (int fortran = 0; fortran < 2; fortran++) {
      const size_t w = types[i].width;
      const bool is_bool = types[i].descr[1] == 'b';
      char heading[128];
      snprintf(heading, sizeof heading, "{'descr': '%s', 'fortran_order': %s, 'shape': (%zu, %zu), }",
               types[i].descr, fortran ? "True" : "False", rows, cols);
      const size_t before = 10 + strlen(heading);
      const unsigned char lead[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)strlen(heading), 0};
      memcpy(data, lead, 10);
      memcpy(data + 10, heading, strlen(heading));
      for (size_t b = 0; b < n * w; b++)
        data[before + b] = is_bool ? b * 2654435761u >> 9 & 1 : (unsigned char)(b * 2654435761u >> 13);
      write_file(data, before + n * w);
      gb_tensor t;
      file_ledger.peak = 0;
      assert_int_equal(gb_npy_read(&file_ledger, file_path, "", &t, &file_error), GB_OK);
      assert_in_range(file_ledger.peak, t.storage->block.bytes, t.storage->block.bytes + GB_NPY_SLICE);
      for (size_t e = 0; e < n; e++) {
        const unsigned char *from = data + before + (fortran ? e % cols * rows + e / cols : e) * w;
        int64_t whole = 0;
        memcpy(&whole, from, w);
        if (types[i].is_signed && w < 8 && (from[w - 1] & 0x80) != 0) whole -= (int64_t)1 << (8 * w);
        if (t.dtype == GB_I64) assert_true(((int64_t *)t.storage->block.data)[e] == whole);
        else assert_true(memcmp((char *)t.storage->block.data + e * w, from, w) == 0);
      }
      gb_tensor_clear(&t);
    }
  free(data);
}

#define HEADING(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

/* Headings that are refused, and words of the message. */
static const struct {
  const char *heading, *words;
} hostile[] = {
    {HEADING("'|O'", "False", "(1,)"), "Python objects"},
    {HEADING("'>f8'", "False", "(1,)"), "big-endian data ('>f8')"},
    {HEADING("'!f8'", "False", "(1,)"), "big-endian data ('!f8')"},
    {HEADING("'<f8junk'", "False", "(1,)"), "'<f8junk' is not read"},
    {HEADING("'<f08'", "False", "(1,)"), "'<f08' is not read"},
    {HEADING("'f8'", "False", "(1,)"), "'f8' is not read"},
    {HEADING("'|f8'", "False", "(1,)"), "'|f8' is not read"},
    {HEADING("'<c16'", "False", "(1,)"), "save .real and .imag"},
    {HEADING("'<u8'", "False", "(1,)"), ".astype('<i8')"},
    {HEADING("''", "False", "(1,)"), "is not read"},
    {HEADING("[('a', '<f8')]", "False", "(1,)"), "an array of records"},
    {HEADING("'<f8'", "1", "(1,)"), "True or False"},
    {HEADING("'<f8'", "Falsex", "(1,)"), "True or False"},
    {HEADING("'<f8'", "'False'", "(1,)"), "True or False"},
    {HEADING("'<f8'", "False", "(99,)"), "792 bytes of data expected, 8 found"},
    {HEADING("'<f8'", "False", "()") "x", "nothing after '}'"},
    {HEADING("'<f4'", "False", "(1,)"), "4 bytes of data expected, 8 found"},
    {HEADING("'<f8'", "False", "(1)"), "a shape of one axis is (n,)"},
    {HEADING("'<f8'", "False", "(-1,)"), "a number that fits"},
    {HEADING("'<f8'", "False", "(1 1)"), "(n,)"},
    {HEADING("'<f8'", "False", "(1,1 1)"), "a comma between"},
    {HEADING("'<f8'", "False", "(1,,1)"), "a number"},
    {HEADING("'<f8'", "False", "(1.0,)"), "(n,)"},
    {HEADING("'<f8'", "False", "(0x1,)"), "(n,)"},
    {HEADING("'<f8'", "False", "[1]"), "in parentheses"},
    {HEADING("'<f8'", "False", "(4294967296, 4294967296, 2)"), "overflows"},
    {HEADING("'<f8'", "False", "(18446744073709551615, 0)"), "overflows"},
    {HEADING("'<f8'", "False", "(18446744073709551616,)"), "fits 64 bits"},
    {HEADING("'<f8'", "False", "(1,1,1,1,1,1,1,1,1)"), "at most 8 axes"},
    {"{'descr': '<f8', 'shape': (1,), }", "no 'fortran_order'"},
    {"{'fortran_order': False, 'shape': (1,), }", "no 'descr'"},
    {"{'descr': '<f8', 'fortran_order': False}", "no 'shape'"},
    {"{}", "no 'descr'"},
    {"", "expected '{'"},
    {"{'note': \"'shape': (1,)\", 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
     "unknown key 'note'"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}", "'shape' is there twice"},
    {"{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}", "',' or '}'"},
    {"{,}", "a key"},
    {"{'descr'", "':' after the key"},
    {"{'descr':'", "the element type as a string"},
    {"{'descr':'<", "the element type as a string"},
    {"{'descr':'<f8', 'shape': (1,2", "a comma between"},
    {"{'des\\x63r': '<f8'}", "a key"},
    {"garbage", "expected '{'"},
};

static void hostile_arrays_are_refused (void **state) {
  (void)state;
  gb_tensor t;
  for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
    assert_int_equal(read_npy(1, hostile[i].heading, "12345678", 8, &t), GB_EFORMAT);
    if (strstr(file_error.text, hostile[i].words) == NULL)
      fail_msg("%s: '%s' does not contain '%s'", hostile[i].heading, file_error.text, hostile[i].words);
    assert_int_equal(file_ledger.used, 0);
  }
  /* one byte more */
  assert_int_equal(read_npy(1, HEADING("'<f8'", "False", "(1,)"), "123456789", 9, &t), GB_EFORMAT);
  assert_int_equal(read_npy(1, HEADING("'|b1'", "False", "(1,)"), "2", 1, &t), GB_EFORMAT);
  assert_int_equal(read_npy(4, HEADING("'<f8'", "False", "(1,)"), "12345678", 8, &t), GB_EFORMAT);
  make_npy(1, "{'descr': '<f8', \0'fortran_order': False, 'shape': (1,)}", 57, "12345678", 8);
  assert_int_equal(gb_npy_read(&file_ledger, file_path, "", &t, &file_error), GB_EFORMAT);
  static char blanks[65537];
  memset(blanks, ' ', sizeof blanks - 1);
  memcpy(blanks, HEADING("'<f8'", "False", "(1,)"), sizeof HEADING("'<f8'", "False", "(1,)") - 1);
  write_file("\x93NUMPY\2\0\1\0\1\0", 12);
  assert_int_equal(gb_npy_read(&file_ledger, file_path, "", &t, &file_error), GB_EFORMAT);
  assert_non_null(strstr(file_error.text, "longer than 65536 bytes"));
  assert_int_equal(read_npy(1, "", NULL, 0, &t), GB_EFORMAT);
  for (size_t n = 0; n < 12; n++) { /* cut before the heading */
    write_file("\x93NUMPY\2\0\1\0\0\0", n);
    assert_int_equal(gb_npy_read(&file_ledger, file_path, "", &t, &file_error), GB_EFORMAT);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(arrays_written_read_back_the_same), FILE_TEST(headings_that_numpy_writes_are_read),
      FILE_TEST(fortran_order_is_transposed),       FILE_TEST(arrays_are_read_in_slices),
      FILE_TEST(hostile_arrays_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
