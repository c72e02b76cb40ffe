/* test_safetensors.c - what is written reads back bit for bit; every damaged file is refused by name; no
** fault of the system loses the file that was there. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/outfile.h"
#include "io/safetensors.h"
#include "support/elements.h"
#include "support/io/faults.h"
#include "support/memory.h"

/* Fixture */

static char folder[64], path[96];
static gb_ledger ledger, device_ledger; /* of what is read, and of what is written */
static gb_error err;

static int set_up (void **state) {
  (void)state;
  gb_ledger_init(&ledger, host_memory(), (size_t)64 << 20);
  gb_ledger_init(&device_ledger, test_memory(), (size_t)64 << 20);
  snprintf(folder, sizeof folder, "%s/gibbous-safetensors-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(path, sizeof path, "%s/a.safetensors", folder);
  return 0;
}

static int entries (void) {
  int n = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static int tear_down (void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static void write_bytes (const void *data, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static size_t read_bytes (char *to, size_t room) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  const size_t n = fread(to, 1, room, f);
  fclose(f);
  return n;
}

static gb_tensor numbers (gb_dtype t, int ndim, const size_t *dim) {
  const gb_shape s = gb_shape_of(ndim, dim);
  gb_tensor out;
  assert_int_equal(gb_tensor_new(&device_ledger, t, &s, GB_MEM_TENSOR, "", "", &out, &err), GB_OK);
  const size_t n = gb_shape_numel(&s);
  void *to = elements_to_write(&out);
  for (size_t i = 0; i < n; i++)
    gb_element_set(to, i, t, t == GB_BOOL ? (double)(i % 2) : (double)i * 1.5 - 3);
  elements_written(&out);
  return out;
}

/* One tensor of each type, an empty one, one element, and a view. */
#define COUNT 9
static gb_tensor_set everything (gb_named_tensor *store, gb_named_text *texts) {
  static const char *const names[COUNT] = {"z",     "b",    "half", "brain", "whole",
                                           "truth", "none", "one",  "turned"};
  for (int i = 0; i < GB_NDTYPES; i++) store[i].value = numbers((gb_dtype)i, 2, (size_t[]){3, 2});
  store[6].value = numbers(GB_F64, 2, (size_t[]){0, 5});
  store[7].value = numbers(GB_F64, 0, NULL);
  store[8].value = numbers(GB_F32, 2, (size_t[]){2, 4});
  gb_tensor *v = &store[8].value; /* its transpose */
  v->shape = gb_shape_of(2, (size_t[]){4, 2});
  v->stride[0] = 1;
  v->stride[1] = 4;
  for (int i = 0; i < COUNT; i++) store[i].name = (char *)names[i];
  texts[0] = (gb_named_text){(char *)"made by", (char *)"a test: \"quoted\", \xC3\xA9\n"};
  texts[1] = (gb_named_text){(char *)"a", (char *)""};
  return (gb_tensor_set){.ntensors = COUNT, .ntexts = 2, .tensor = store, .text = texts};
}

static void forget (gb_named_tensor *store, size_t n) {
  for (size_t i = 0; i < n; i++) gb_tensor_clear(&store[i].value);
}

static const gb_tensor *named (const gb_tensor_set *s, const char *name) {
  for (size_t i = 0; i < s->ntensors; i++)
    if (strcmp(s->tensor[i].name, name) == 0) return &s->tensor[i].value;
  fail_msg("no tensor '%s'", name);
  return NULL;
}

/* A file of this heading and data is refused, with these words, and nothing is left. */
static void refused (const char *heading, size_t data, const char *words) {
  char file[4096] = {0};
  const uint64_t n = strlen(heading);
  memcpy(file, &n, 8);
  memcpy(file + 8, heading, n);
  write_bytes(file, 8 + n + data);
  gb_tensor_set s;
  const size_t used = ledger.used;
  const gb_status st = gb_safetensors_read(&ledger, path, "", &s, &err);
  if (st != GB_EFORMAT) fail_msg("%s: %s", heading, gb_status_code(st));
  if (strstr(err.text, words) == NULL) fail_msg("'%s' does not contain '%s'", err.text, words);
  assert_null(s.tensor);
  assert_int_equal(ledger.used, used);
}

/* Tests */

static void tensors_written_read_back_the_same (void **state) {
  (void)state;
  gb_named_tensor store[COUNT];
  gb_named_text texts[2];
  const gb_tensor_set s = everything(store, texts);
  assert_int_equal(gb_safetensors_write(path, &s, &err), GB_OK);
  gb_tensor_set back;
  assert_int_equal(gb_safetensors_read(&ledger, path, "", &back, &err), GB_OK);
  assert_int_equal(back.ntensors, COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    const gb_tensor *a = &store[i].value, *b = named(&back, store[i].name);
    assert_int_equal(a->dtype, b->dtype);
    assert_true(gb_shape_equal(&a->shape, &b->shape));
    for (size_t r = 0; a->shape.ndim == 2 && r < a->shape.dim[0]; r++)
      for (size_t c = 0; c < a->shape.dim[1]; c++)
        assert_true(element_at(a, (size_t[]){r, c}) == element_at(b, (size_t[]){r, c}));
  }
  assert_true(element_at(named(&back, "one"), NULL) == -3);
  assert_int_equal(back.ntexts, 2);
  assert_string_equal(back.text[0].key, "a"); /* sorted */
  assert_string_equal(back.text[1].text, texts[0].text);
  gb_tensor_set_clear(&back);
  forget(store, COUNT);
  assert_int_equal(ledger.used, 0);
}

static void equal_contents_give_equal_bytes (void **state) {
  (void)state;
  gb_named_tensor store[COUNT];
  gb_named_text texts[2];
  gb_tensor_set s = everything(store, texts);
  char first[4096], second[4096];
  assert_int_equal(gb_safetensors_write(path, &s, &err), GB_OK);
  const size_t n = read_bytes(first, sizeof first);
  assert_int_equal(*(uint64_t *)(void *)first % 8, 0); /* data begin at a multiple of 8 */
  for (size_t i = 0; i < COUNT / 2; i++) {             /* in another order */
    const gb_named_tensor t = store[i];
    store[i] = store[COUNT - 1 - i];
    store[COUNT - 1 - i] = t;
  }
  const gb_named_text t = texts[0];
  texts[0] = texts[1];
  texts[1] = t;
  assert_int_equal(gb_safetensors_write(path, &s, &err), GB_OK);
  assert_int_equal(read_bytes(second, sizeof second), n);
  assert_memory_equal(first, second, n);
  forget(store, COUNT);
}

static void other_integers_become_i64 (void **state) {
  (void)state;
  static const struct {
    const char *type;
    size_t width;
    int64_t want;
  } rows[] = {{"I8", 1, -2}, {"U8", 1, 254}, {"I16", 2, -2}, {"U16", 2, 65534}, {"U32", 4, 4294967294}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char file[256] = {0}, heading[128];
    const size_t bytes = 3 * rows[i].width;
    const uint64_t n = (uint64_t)snprintf(heading, sizeof heading,
                                          "{\"v\":{\"dtype\":\"%s\",\"shape\":[3],\"data_offsets\":[0,%zu]}}",
                                          rows[i].type, bytes);
    memcpy(file, &n, 8);
    memcpy(file + 8, heading, n);
    file[8 + n] = 1;
    file[8 + n + rows[i].width] = 7;
    memset(file + 8 + n + 2 * rows[i].width, 0xFF, rows[i].width);
    file[8 + n + 2 * rows[i].width] = (char)0xFE;
    write_bytes(file, 8 + n + bytes);
    gb_tensor_set s;
    assert_int_equal(gb_safetensors_read(&ledger, path, "", &s, &err), GB_OK);
    const int64_t *v = s.tensor[0].value.storage->block.data;
    assert_int_equal(v[0], 1);
    assert_int_equal(v[1], 7);
    assert_int_equal(v[2], rows[i].want);
    gb_tensor_set_clear(&s);
  }
}

#define ROW(name, type, shape, offsets)                                                                      \
  "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void hostile_headings_are_refused (void **state) {
  (void)state;
  refused("", 0, "starts with '{'");
  refused("[]", 0, "starts with '{'");
  refused("{", 0, "not JSON");
  refused("{}x", 0, "not JSON");
  refused("{}", 8, "0 bytes of data expected, the file has 8");
  refused("{\"a\\u0000b\":1}", 0, "not JSON");
  refused("{\"\xFF\":1}", 0, "not JSON");
  refused("{\"v\":[]}", 0, "an object of dtype, shape and data_offsets expected");
  refused("{\"v\":{\"dtype\":\"F64\",\"shape\":[1]}}", 8,
          "an object of dtype, shape and data_offsets expected");
  refused("{" ROW("v", "F64", "[1]", "[0,8]") "," ROW("v", "F64", "[1]", "[8,16]") "}", 16, "duplicate");
  refused("{" ROW("v", "C64", "[1]", "[0,8]") "}", 8, "BOOL expected, got C64");
  refused("{\"v\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,8]}}", 8, "'dtype' must be a string");
  refused("{" ROW("v", "F64", "1", "[0,8]") "}", 8, "'shape' must be a list");
  refused("{" ROW("v", "F64", "[1.0]", "[0,8]") "}", 8, "axis 1 of 'shape' must be a whole number");
  refused("{" ROW("v", "F64", "[-1]", "[0,8]") "}", 8, "axis 1 of 'shape' must be a whole number");
  refused("{" ROW("v", "F64", "[1,1,1,1,1,1,1,1,1]", "[0,8]") "}", 8, "at most 8 axes expected, got 9");
  refused("{" ROW("v", "F64", "[4294967296,4294967296,2]", "[0,8]") "}", 8, "overflows");
  refused("{" ROW("v", "F64", "[2305843009213693952]", "[0,8]") "}", 8, "overflows");
  refused("{" ROW("v", "F64", "[9223372036854775808]", "[0,8]") "}", 8, "not JSON");
  refused("{" ROW("v", "F64", "[2]", "[0,8]") "}", 8, "16 bytes expected for its shape, its offsets hold 8");
  refused("{" ROW("v", "F64", "[1]", "[0,16]") "}", 8, "within the 8 bytes of data");
  refused("{" ROW("v", "F64", "[1]", "[8,0]") "}", 8, "within the 8 bytes of data");
  refused("{" ROW("v", "F64", "[1]", "[-8,0]") "}", 8, "within the 8 bytes of data");
  refused("{" ROW("v", "F64", "[1]", "[0]") "}", 8, "within the 8 bytes of data");
  refused("{" ROW("v", "F64", "[1]", "[8,16]") "}", 16,
          "expected at byte 0 of the data, where the one before ends");
  refused("{" ROW("v", "F64", "[1]", "[0,8]") "," ROW("w", "F64", "[1]", "[0,8]") "}", 8,
          "'w': expected at byte 8");
  refused("{" ROW("v", "F64", "[1]", "[0,8]") "," ROW("w", "F32", "[1]", "[4,8]") "}", 8,
          "'w': expected at byte 8");
  refused("{" ROW("v", "F64", "[1]", "[0,8]") "}", 12, "8 bytes of data expected, the file has 12");
  refused("{\"__metadata__\":[]}", 0, "must be an object of strings");
  refused("{\"__metadata__\":{\"a\":1}}", 0, "'a' must be a string");
  refused("{\"\\u001b[31m\":1}", 0, "'?[31m'");
  write_bytes("\x02\0\0\0\0\0\0", 7);
  gb_tensor_set s;
  assert_int_equal(gb_safetensors_read(&ledger, path, "", &s, &err), GB_EFORMAT);
  write_bytes("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10);
  assert_int_equal(gb_safetensors_read(&ledger, path, "", &s, &err), GB_EFORMAT);
  assert_non_null(strstr(err.text, "at most 2 bytes expected"));
  assert_int_equal(gb_safetensors_read(&ledger, folder, "", &s, &err), GB_EIO);
  assert_int_equal(gb_safetensors_read(&ledger, "/nonexistent/a", "", &s, &err), GB_EIO);
}

static void a_bool_is_0_or_1 (void **state) {
  (void)state;
  const char heading[] = "{" ROW("v", "BOOL", "[2]", "[0,2]") "}";
  char file[256] = {(char)(sizeof heading - 1)};
  memcpy(file + 8, heading, sizeof heading - 1);
  file[8 + sizeof heading] = 2;
  write_bytes(file, 8 + sizeof heading + 1);
  gb_tensor_set s;
  assert_int_equal(gb_safetensors_read(&ledger, path, "", &s, &err), GB_EFORMAT);
  assert_non_null(strstr(err.text, "element 2 of BOOL, got 2"));
}

static void a_file_cut_short_at_any_byte_is_refused (void **state) {
  (void)state;
  gb_named_tensor store[COUNT];
  gb_named_text texts[2];
  const gb_tensor_set s = everything(store, texts);
  assert_int_equal(gb_safetensors_write(path, &s, &err), GB_OK);
  char whole[4096];
  const size_t n = read_bytes(whole, sizeof whole), used = ledger.used;
  assert_in_range(n, 500, sizeof whole - 1);
  for (size_t length = 0; length < n; length++) {
    write_bytes(whole, length);
    gb_tensor_set back;
    assert_int_equal(gb_safetensors_read(&ledger, path, "", &back, &err), GB_EFORMAT);
    assert_int_equal(ledger.used, used);
  }
  whole[n] = 0;
  write_bytes(whole, n + 1); /* nor may anything follow */
  gb_tensor_set back;
  assert_int_equal(gb_safetensors_read(&ledger, path, "", &back, &err), GB_EFORMAT);
  forget(store, COUNT);
}

/* Whatever is accepted has tensors of the size it says, and can be read, written and read again. */
static void use (const gb_tensor_set *s) {
  volatile double sum = 0;
  for (size_t i = 0; i < s->ntensors; i++) {
    const gb_tensor *t = &s->tensor[i].value;
    const size_t n = gb_shape_numel(&t->shape);
    assert_int_equal(t->storage->block.bytes, n * gb_dtype_size(t->dtype));
    for (size_t e = 0; e < n; e++) sum = sum + gb_element_get(t->storage->block.data, e, t->dtype);
  }
  assert_int_equal(gb_safetensors_write(path, s, &err), GB_OK);
}

static uint32_t draw (uint64_t *g) { return (uint32_t)(*g = gb_hash_u64(*g, 1)); }

/* Of every four cases one changes a byte, one several, one the length or digits of the heading, one copies
** a stretch elsewhere. */
static void damage (char *file, size_t n, size_t heading, uint64_t *g) {
  const uint32_t kind = draw(g) % 4;
  if (kind == 0) file[draw(g) % n] ^= (char)(1u << draw(g) % 8);
  if (kind == 1)
    for (uint32_t k = draw(g) % 8 + 1; k > 0; k--) file[draw(g) % n] = (char)draw(g);
  if (kind == 2)
    for (uint32_t k = draw(g) % 4 + 1; k > 0; k--) {
      const size_t at = 8 + draw(g) % heading;
      if (file[at] >= '0' && file[at] <= '9') file[at] = (char)('0' + draw(g) % 10);
      else if (draw(g) % 8 == 0) file[draw(g) % 8] = (char)draw(g);
    }
  if (kind == 3) {
    const size_t length = draw(g) % 32 + 1, from = draw(g) % (n - 32), to = 8 + draw(g) % (n - 40);
    memmove(file + to, file + from, length);
  }
}

static void damaged_files_never_crash_the_reader (void **state) {
  (void)state;
  gb_named_tensor store[COUNT];
  gb_named_text texts[2];
  const gb_tensor_set s = everything(store, texts);
  assert_int_equal(gb_safetensors_write(path, &s, &err), GB_OK);
  char whole[4096], file[4096];
  const size_t n = read_bytes(whole, sizeof whole), used = ledger.used;
  uint64_t heading;
  memcpy(&heading, whole, 8);
  uint64_t g = 20261122;
  int accepted = 0;
  for (int i = 0; i < 8000; i++) {
    memcpy(file, whole, n);
    damage(file, n, heading, &g);
    write_bytes(file, n);
    gb_tensor_set back;
    const gb_status st = gb_safetensors_read(&ledger, path, "", &back, &err);
    assert_true(st == GB_OK || st == GB_EFORMAT);
    if (st == GB_OK && ++accepted % 16 == 0) use(&back);
    gb_tensor_set_clear(&back);
    assert_int_equal(ledger.used, used);
  }
  print_message("%d of 8000 damaged files accepted, the others refused\n", accepted);
  assert_in_range(accepted, 500, 6000); /* data may hold anything */
  forget(store, COUNT);
}

static void names_that_cannot_be_kept_are_refused (void **state) {
  (void)state;
  static const struct {
    const char *first, *second, *words;
  } rows[] = {{"a", "a", "the name 'a' is there twice"},
              {"a", "__metadata__", "cannot be called '__metadata__'"},
              {"a", "\xFF", "a name is not UTF-8"}};
  for (size_t i = 0; i < 3; i++) {
    gb_named_tensor store[2] = {{(char *)rows[i].first, numbers(GB_F64, 0, NULL)},
                                {(char *)rows[i].second, numbers(GB_F64, 0, NULL)}};
    assert_int_equal(gb_safetensors_write(path, &(gb_tensor_set){.ntensors = 2, .tensor = store}, &err),
                     GB_EOPTION);
    assert_non_null(strstr(err.text, rows[i].words));
    forget(store, 2);
  }
  gb_named_text text = {(char *)"k", (char *)"\xC3("};
  assert_int_equal(gb_safetensors_write(path, &(gb_tensor_set){.ntexts = 1, .text = &text}, &err),
                   GB_EOPTION);
  assert_non_null(strstr(err.text, "the text of 'k' is not UTF-8"));
}

/* A write fails at some point: an error, the file that was there stays as it was, and nothing lies beside
** it. */
static void expect_old_file (const gb_tensor_set *s, const char *old, size_t n, const char *words) {
  char now[4096];
  assert_int_equal(gb_safetensors_write(path, s, &err), GB_EIO);
  if (strstr(err.text, words) == NULL) fail_msg("'%s' does not contain '%s'", err.text, words);
  assert_int_equal(read_bytes(now, sizeof now), n);
  assert_memory_equal(now, old, n);
  assert_int_equal(entries(), 1);
}

static void a_failing_disk_leaves_the_old_file (void **state) {
  (void)state;
  gb_named_tensor store[COUNT];
  gb_named_text texts[2];
  gb_tensor_set s = everything(store, texts);
  char old[4096], now[4096];
  s.ntexts = 0;
  assert_int_equal(gb_safetensors_write(path, &s, &err), GB_OK);
  const size_t n = read_bytes(old, sizeof old);
  s.ntexts = 2;
  int points = 0;
  short_write = 100;
  for (writes_left = 0;; points++) {
    const long k = writes_left;
    if (gb_safetensors_write(path, &s, &err) == GB_OK) break;
    writes_left = k;
    expect_old_file(&s, old, n, "No space left on device");
    writes_left = k + 1;
  }
  writes_left = -1;
  const size_t longer = read_bytes(old, sizeof old);
  assert_true(longer > n);
  assert_int_equal(points, (longer + 99) / 100);
  short_write = 3;
  flushes = 0;
  assert_int_equal(gb_safetensors_write(path, &s, &err), GB_OK);
  short_write = 0;
  assert_int_equal(flushes, 2); /* the file, the folder's entry */
  assert_int_equal(read_bytes(now, sizeof now), longer);
  assert_memory_equal(now, old, longer);
  fsync_fails = true;
  expect_old_file(&s, old, longer, "Input/output error");
  fsync_fails = false;
  rename_fails = true;
  expect_old_file(&s, old, longer, "cross-device");
  rename_fails = false;
  gb_interrupt_raise();
  assert_int_equal(gb_safetensors_write(path, &s, &err), GB_EINTR);
  gb_interrupt_clear();
  assert_int_equal(entries(), 1);
  forget(store, COUNT);
}

static void only_plain_files_are_replaced (void **state) {
  (void)state;
  const gb_tensor_set none = {0};
  assert_int_equal(gb_safetensors_write("/dev/full", &none, &err), GB_EIO);
  assert_int_equal(gb_safetensors_write(folder, &none, &err), GB_EIO);
  assert_int_equal(gb_safetensors_write("/nonexistent/a", &none, &err), GB_EIO);
  char link[96];
  snprintf(link, sizeof link, "%s/link", folder);
  assert_int_equal(gb_safetensors_write(path, &none, &err), GB_OK);
  assert_int_equal(chmod(path, 0640), 0);
  assert_int_equal(symlink(path, link), 0);
  assert_int_equal(gb_safetensors_write(link, &none, &err), GB_OK);
  struct stat st;
  assert_int_equal(lstat(link, &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0640);
  unlink(link);
}

typedef gb_status task (const gb_tensor_set *s);
static gb_status task_write (const gb_tensor_set *s) { return gb_safetensors_write(path, s, &err); }

static gb_status task_read (const gb_tensor_set *s) {
  (void)s;
  gb_tensor_set back;
  const gb_status st = gb_safetensors_read(&ledger, path, "", &back, &err);
  gb_tensor_set_clear(&back);
  return st;
}

static void no_memory_at_any_point_is_an_error_and_no_leak (void **state) {
  (void)state;
  static task *const tasks[] = {task_write, task_read};
  gb_named_tensor store[COUNT];
  gb_named_text texts[2];
  const gb_tensor_set s = everything(store, texts);
  const size_t used = ledger.used;
  for (size_t i = 0; i < 2; i++) {
    long n = -1;
    gb_status st;
    do {
      permitted = ++n;
      st = tasks[i](&s);
      permitted = -1;
      if (st != GB_OK && st != GB_ENOMEM)
        fail_msg("task %zu, allocation %ld: %s: %s", i, n, gb_status_code(st), err.text);
      assert_int_equal(ledger.used, used);
      assert_true(entries() <= 1);
    } while (st != GB_OK);
    assert_true(n > 20);
  }
  forget(store, COUNT);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_written_read_back_the_same),
      cmocka_unit_test(equal_contents_give_equal_bytes),
      cmocka_unit_test(other_integers_become_i64),
      cmocka_unit_test(hostile_headings_are_refused),
      cmocka_unit_test(a_bool_is_0_or_1),
      cmocka_unit_test(a_file_cut_short_at_any_byte_is_refused),
      cmocka_unit_test(damaged_files_never_crash_the_reader),
      cmocka_unit_test(names_that_cannot_be_kept_are_refused),
      cmocka_unit_test(a_failing_disk_leaves_the_old_file),
      cmocka_unit_test(only_plain_files_are_replaced),
      cmocka_unit_test(no_memory_at_any_point_is_an_error_and_no_leak),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
