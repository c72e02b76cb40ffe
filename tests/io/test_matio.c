/* test_matio.c - MATLAB files that matio itself wrote, whole and damaged. */
#define _GNU_SOURCE
#include <matio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/foreign/foreign.h"
#include "support/io/file_fixture.h"
#include "tensor/host.h"

static char notes[2048];

static void add (mat_t *mat, const char *name, enum matio_classes class, enum matio_types type, size_t rows,
                 size_t cols, void *data, int flags) {
  size_t dim[2] = {rows, cols};
  matvar_t *v = Mat_VarCreate(name, class, type, 2, dim, data, flags);
  assert_int_equal(Mat_VarWrite(mat, v, MAT_COMPRESSION_ZLIB), 0);
  Mat_VarFree(v);
}

/* Matrices are columns one after the other. */
static void make_file (void) {
  double x[6] = {0, 1, 2, 3, 4, 5};
  int16_t k[3] = {-1, 0, 7};
  uint8_t ok[2] = {1, 0};
  char text[] = "abcd";
  remove(file_path);
  mat_t *mat = Mat_CreateVer(file_path, NULL, MAT_FT_MAT5);
  assert_non_null(mat);
  add(mat, "x", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, 3, x, 0);
  add(mat, "k", MAT_C_INT16, MAT_T_INT16, 1, 3, k, 0);
  add(mat, "ok", MAT_C_UINT8, MAT_T_UINT8, 1, 2, ok, MAT_F_LOGICAL);
  add(mat, "text", MAT_C_CHAR, MAT_T_UINT8, 1, 4, text, 0);
  Mat_Close(mat);
}

static gb_status read (const char *only, gb_tensor_set *set) {
  return gb_foreign_read(&file_ledger, "matio", file_path, only, "", set, notes, sizeof notes, &file_error);
}

static void matrices_of_numbers_are_read (void **state) {
  (void)state;
  static const int64_t want[] = {-1, 0, 7};
  gb_tensor_set set;
  make_file();
  if (read(NULL, &set) != GB_OK) fail_msg("%s", file_error.text);
  assert_int_equal(set.ntensors, 3);
  const gb_tensor *x = &set.tensor[0].value, *k = &set.tensor[1].value, *ok = &set.tensor[2].value;
  assert_string_equal(set.tensor[0].name, "x");
  assert_int_equal(x->shape.dim[0], 2);
  assert_true(gb_tensor_at(x, (size_t[]){1, 0}) == 1 && gb_tensor_at(x, (size_t[]){0, 2}) == 4);
  assert_int_equal(k->dtype, GB_I64);
  for (size_t i = 0; i < 3; i++) assert_true(gb_tensor_integer_at(k, (size_t[]){0, i}) == want[i]);
  assert_int_equal(ok->dtype, GB_BOOL);
  assert_true(gb_tensor_at(ok, (size_t[]){0, 0}) == 1 && gb_tensor_at(ok, (size_t[]){0, 1}) == 0);
  assert_non_null(strstr(notes, "'text' is text, and is left out\n"));
  gb_tensor_set_clear(&set);
  assert_int_equal(read("k", &set), GB_OK);
  assert_int_equal(set.ntensors, 1);
  gb_tensor_set_clear(&set);
}

static void what_cannot_be_read_is_named (void **state) {
  (void)state;
  gb_tensor_set set;
  make_file();
  assert_int_equal(read("text", &set), GB_EFORMAT);
  assert_non_null(strstr(file_error.text, "'text' is text: only arrays of numbers are read"));
  assert_int_equal(read("y", &set), GB_EOPTION);
  write_file("MATLAB 5.0 MAT-file", 19);
  assert_int_equal(read(NULL, &set), GB_EFORMAT);
}

static void damaged_files_are_refused_or_read (void **state) {
  (void)state;
  static unsigned char all[1 << 16];
  gb_tensor_set set;
  make_file();
  FILE *f = fopen(file_path, "rb");
  const size_t n = fread(all, 1, sizeof all, f);
  fclose(f);
  srand(5);
  for (int i = 0; i < 1500; i++) {
    const size_t at = (size_t)rand() % n;
    const unsigned char old = all[at];
    all[at] = (unsigned char)rand();
    write_file(all, i % 10 == 0 ? at : n);
    all[at] = old;
    const gb_status st = read(NULL, &set);
    if (st != GB_OK && st != GB_EFORMAT && st != GB_ENOMEM) fail_msg("byte %zu: %s", at, file_error.text);
    gb_tensor_set_clear(&set);
    assert_int_equal(file_ledger.used, 0);
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(matrices_of_numbers_are_read),
      FILE_TEST(what_cannot_be_read_is_named),
      FILE_TEST(damaged_files_are_refused_or_read),
  };
  setenv("GIBBOUS_DEVICE_PATH", GIBBOUS_BUILD, 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
