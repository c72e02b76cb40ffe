/* The types of gibbous.h are those that the library is compiled with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "include/gibbous.h"

#define ABI_ROWS abi_outer
#define ABI_STATUSES (GB_EINTERNAL + 1)
#include "embed/abi_rows.h"

extern const abi_row abi_inner[];

static void test_rows (void **state) {
  (void)state;
  int n = 0;
  for (; abi_outer[n].what != NULL; n++)
    if (abi_outer[n].value != abi_inner[n].value)
      fail_msg("%s: %zu in gibbous.h, %zu in the library", abi_outer[n].what, abi_outer[n].value,
               abi_inner[n].value);
  assert_true(n > 30);
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
