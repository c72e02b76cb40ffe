/* file_fixture.h - one file per test, a ledger for its contents, and the error of the last call. */
#ifndef GB_TESTS_FILE_FIXTURE_H
#define GB_TESTS_FILE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "device/ledger.h"

extern char file_path[64];      /* removed after each test */
extern gb_ledger file_ledger;   /* of the host: what is read */
extern gb_ledger device_ledger; /* of the device under test: what is written */
extern gb_error file_error;

int file_setup (void **state);
int file_teardown (void **state); /* fails where a ledger still holds bytes */
void write_file (const void *data, size_t n);
#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, file_setup, file_teardown)

#endif
