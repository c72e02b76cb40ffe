/* file_fixture.c - the file is in memory if the system supports that. */
#include "support/io/file_fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "support/memory.h"

char file_path[64];
gb_ledger file_ledger, device_ledger;
gb_error file_error;

int file_setup (void **state) {
  (void)state;
  gb_ledger_init(&file_ledger, host_memory(), (size_t)64 << 20);
  gb_ledger_init(&device_ledger, test_memory(), (size_t)64 << 20);
  snprintf(file_path, sizeof file_path, "%s/gibbous-io-%d",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
  return 0;
}

int file_teardown (void **state) {
  (void)state;
  unlink(file_path);
  return file_ledger.used + device_ledger.used + mirror_bytes(device_ledger.memory) == 0 ? 0 : -1;
}

void write_file (const void *data, size_t n) {
  FILE *f = fopen(file_path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}
