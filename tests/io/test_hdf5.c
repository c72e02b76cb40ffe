/* test_hdf5.c - HDF5 files that the library itself wrote, whole and damaged. */
#define _GNU_SOURCE
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/foreign/foreign.h"
#include "support/io/file_fixture.h"
#include "tensor/host.h"

static char notes[2048];

static void add (hid_t file, const char *name, hid_t as, hid_t type, int n, const hsize_t *dim,
                 const void *data) {
  const hid_t space = n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(n, dim, NULL),
              links = H5Pcreate(H5P_LINK_CREATE), made = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  if (n == 2) {
    H5Pset_chunk(made, 2, (hsize_t[]){2, 2});
    H5Pset_deflate(made, 6);
  }
  const hid_t set = H5Dcreate2(file, name, as, space, links, made, H5P_DEFAULT);
  assert_true(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(set);
  H5Pclose(made);
  H5Pclose(links);
  H5Sclose(space);
}

static void make_file (void) {
  const double x[6] = {0, 1, 2, 3, 4, 5};
  const int32_t k[3] = {-1, 0, 7};
  const uint64_t wide[1] = {UINT64_MAX};
  const hid_t file = H5Fcreate(file_path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 4);
  add(file, "x", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, (hsize_t[]){2, 3}, x);
  add(file, "group/k", H5T_STD_I32BE, H5T_NATIVE_INT32, 1, (hsize_t[]){3}, k);
  add(file, "half", H5T_IEEE_F32BE, H5T_NATIVE_DOUBLE, 0, NULL, x + 3);
  add(file, "text", text, text, 1, (hsize_t[]){1}, "abcd");
  add(file, "wide", H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, (hsize_t[]){1}, wide);
  H5Tclose(text);
  H5Fclose(file);
}

static gb_status read (const char *only, gb_tensor_set *set) {
  return gb_foreign_read(&file_ledger, "hdf5", file_path, only, "", set, notes, sizeof notes, &file_error);
}

static const gb_tensor *find (const gb_tensor_set *set, const char *name) {
  for (size_t i = 0; i < set->ntensors; i++)
    if (strcmp(set->tensor[i].name, name) == 0) return &set->tensor[i].value;
  fail_msg("there is no '%s'", name);
  return NULL;
}

static void data_sets_of_numbers_are_read (void **state) {
  (void)state;
  gb_tensor_set set;
  make_file();
  if (read(NULL, &set) != GB_OK) fail_msg("%s", file_error.text);
  assert_int_equal(set.ntensors, 3);
  const gb_tensor *x = find(&set, "x"), *k = find(&set, "group/k"), *half = find(&set, "half");
  assert_int_equal(x->shape.ndim, 2);
  assert_true(gb_tensor_at(x, (size_t[]){1, 0}) == 3);
  assert_int_equal(k->dtype, GB_I64);
  assert_int_equal(gb_tensor_integer_at(k, (size_t[]){0}), -1);
  assert_int_equal(half->dtype, GB_F32);
  assert_int_equal(half->shape.ndim, 0);
  assert_non_null(strstr(notes, "'text' is text, and is left out\n"));
  assert_non_null(strstr(notes, "'wide' has unsigned integers of 64 bits, and is left out\n"));
  gb_tensor_set_clear(&set);
  assert_int_equal(read("x", &set), GB_OK);
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
  file_ledger.limit = 40;
  assert_int_equal(read("x", &set), GB_ENOMEM);
  file_ledger.limit = (size_t)64 << 20;
  assert_int_equal(file_ledger.used, 0);
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
      FILE_TEST(data_sets_of_numbers_are_read),
      FILE_TEST(what_cannot_be_read_is_named),
      FILE_TEST(damaged_files_are_refused_or_read),
  };
  setenv("GIBBOUS_DEVICE_PATH", GIBBOUS_BUILD, 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
