/* Libraries of the toolkit by name: each has all functions that its table asks for, or one sentence says why
** not. This is the one test that looks for the real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/device/library.h"

/* 'table' has 'count' functions, all of them or none. */
static void check (const char *file, gb_status st, const void *table, size_t count, const gb_error *err) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    void *function;
    memcpy(&function, (const char *)table + i * sizeof function, sizeof function);
    found += function != NULL;
  }
  if (st == GB_OK) {
    print_message("%s: %zu functions\n", file, found);
    assert_int_equal(found, count);
    return;
  }
  print_message("%s\n", err->text);
  assert_int_equal(st, GB_EDEVICE);
  assert_non_null(strstr(err->text, file));
  assert_null(strchr(err->text, '\n'));
  if (strstr(err->text, "cannot open") == NULL) fail_msg("the library is there, and unfit: %s", err->text);
}

#define CHECK(name, file)                                                                                    \
  {                                                                                                          \
    const gb_cuda_##name *t, *again;                                                                         \
    gb_error err = {.text = ""}, later = {.text = ""};                                                       \
    const gb_status st = gb_cuda_##name##_open(&t, &err);                                                    \
    check(file, st, t, sizeof *t / sizeof(void *), &err);                                                    \
    assert_int_equal(gb_cuda_##name##_open(&again, &later), st); /* the outcome stays */                     \
    assert_ptr_equal(again, t);                                                                              \
    assert_string_equal(err.text, later.text);                                                               \
  }

static void test_tables (void **state) {
  (void)state;
  CHECK(blas, "libcublas.so.")
  CHECK(solver, "libcusolver.so.")
  CHECK(compiler, "libnvrtc.so.")
  CHECK(ranges, "libnvtx3interop.so.")
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
