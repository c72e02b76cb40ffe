/* test_npz.c - NumPy's archives: what is read, and that hostile ones are refused. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "io/archive/npz.h"
#include "support/elements.h"
#include "support/io/file_fixture.h"

/* -- archives with 32-bit records, as most programs write them */

typedef struct maker {
  unsigned char file[1 << 16], directory[4096];
  size_t n, ndirectory, count;
} maker;

static void put (unsigned char *to, size_t *n, uint64_t v, int width) {
  for (int i = 0; i < width; i++) to[(*n)++] = i < 8 ? (unsigned char)(v >> 8 * i) : 0;
}

static size_t deflated (const void *data, size_t n, unsigned char *to, size_t room) {
  z_stream z = {.next_in = (void *)(uintptr_t)data,
                .avail_in = (unsigned)n,
                .next_out = to,
                .avail_out = (unsigned)room};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  deflateEnd(&z);
  return room - z.avail_out;
}

/* What both headings of a member say. */
typedef struct member {
  const char *name;
  const void *data;
  size_t n;
  int method, flags;
  size_t says; /* 0: n */
} member;

static void put_common (unsigned char *to, size_t *at, const member *m, size_t packed) {
  put(to, at, 20, 2);
  put(to, at, (unsigned)m->flags, 2);
  put(to, at, (unsigned)m->method, 2);
  put(to, at, 0, 4);
  put(to, at, crc32(crc32(0, NULL, 0), m->data, (unsigned)m->n), 4);
  put(to, at, packed, 4);
  put(to, at, m->says > 0 ? m->says : m->n, 4);
  put(to, at, strlen(m->name), 2);
  put(to, at, 0, 2);
}

static void add (maker *z, member m) {
  static unsigned char body[1 << 15];
  const size_t at = z->n;
  size_t packed = m.n;
  if (m.method == 8) packed = deflated(m.data, m.n, body, sizeof body);
  else memcpy(body, m.data, m.n);
  put(z->file, &z->n, 0x04034B50, 4);
  put_common(z->file, &z->n, &m, packed);
  memcpy(z->file + z->n, m.name, strlen(m.name));
  z->n += strlen(m.name);
  memcpy(z->file + z->n, body, packed);
  z->n += packed;
  put(z->directory, &z->ndirectory, 0x02014B50, 4);
  put(z->directory, &z->ndirectory, 20, 2);
  put_common(z->directory, &z->ndirectory, &m, packed);
  put(z->directory, &z->ndirectory, 0, 2 + 2 + 2 + 4);
  put(z->directory, &z->ndirectory, at, 4);
  memcpy(z->directory + z->ndirectory, m.name, strlen(m.name));
  z->ndirectory += strlen(m.name);
  z->count++;
}

static void finish (maker *z, const char *comment) {
  const size_t at = z->n;
  memcpy(z->file + z->n, z->directory, z->ndirectory);
  z->n += z->ndirectory;
  put(z->file, &z->n, 0x06054B50, 4);
  put(z->file, &z->n, 0, 4);
  put(z->file, &z->n, z->count, 2);
  put(z->file, &z->n, z->count, 2);
  put(z->file, &z->n, z->ndirectory, 4);
  put(z->file, &z->n, at, 4);
  put(z->file, &z->n, strlen(comment), 2);
  memcpy(z->file + z->n, comment, strlen(comment));
  z->n += strlen(comment);
}

/* The bytes of an .npy file of n doubles 0, 1, .. of this type. */
static size_t make_npy (unsigned char *to, const char *type, size_t n) {
  char text[128];
  int length =
      snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }", type, n);
  while ((10 + length + 1) % 64 != 0) text[length++] = ' ';
  text[length++] = '\n';
  memcpy(to, "\x93NUMPY\1\0", 8);
  to[8] = (unsigned char)length;
  to[9] = 0;
  memcpy(to + 10, text, (size_t)length);
  for (size_t i = 0; i < n; i++) memcpy(to + 10 + length + 8 * i, &(double){(double)i}, 8);
  return 10 + (size_t)length + 8 * n;
}

static maker z;
static unsigned char npy[16384];

static gb_status read_made (const char *comment, double ratio, gb_tensor_set *out) {
  finish(&z, comment);
  write_file(z.file, z.n);
  return gb_npz_read(&file_ledger, file_path, "", ratio, out, &file_error);
}

static void expect_refused (const char *part) {
  gb_tensor_set set;
  if (read_made("", 0, &set) != GB_EFORMAT) fail_msg("it is read, and should be refused: %s", part);
  if (strstr(file_error.text, part) == NULL) fail_msg("'%s' does not contain '%s'", file_error.text, part);
  assert_int_equal(file_ledger.used, 0);
  z = (maker){.n = 0};
}

/* -- tests */

static void stored_and_deflated_members_are_read (void **state) {
  (void)state;
  gb_tensor_set set;
  z = (maker){.n = 0};
  const size_t n = make_npy(npy, "<f8", 1000);
  add(&z, (member){.name = "a.npy", .data = npy, .n = n});
  add(&z, (member){.name = "folder/b.npy", .data = npy, .n = n, .method = 8});
  assert_int_equal(read_made("a comment", 0, &set), GB_OK);
  assert_int_equal(set.ntensors, 2);
  assert_string_equal(set.tensor[0].name, "a");
  assert_string_equal(set.tensor[1].name, "folder/b");
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < 1000; i++) assert_true(gb_tensor_at(&set.tensor[k].value, &i) == (double)i);
  gb_tensor_set_clear(&set);
  z = (maker){.n = 0};
  assert_int_equal(read_made("", 0, &set), GB_OK);
  assert_int_equal(set.ntensors, 0);
  gb_tensor_set_clear(&set);
}

static void tensors_written_read_back_the_same (void **state) {
  (void)state;
  char *names[] = {"x", "longer.name", "half", "none"};
  const gb_dtype types[] = {GB_F64, GB_I64, GB_F16, GB_F32};
  gb_named_tensor list[4];
  gb_tensor_set set = {.ntensors = 4, .tensor = list}, back;
  for (size_t k = 0; k < 4; k++) {
    const gb_shape s = gb_shape_of(2, (size_t[]){k == 3 ? 0 : 70, 13});
    list[k].name = names[k];
    assert_int_equal(
        gb_tensor_new(&device_ledger, types[k], &s, GB_MEM_TENSOR, "", "", &list[k].value, &file_error),
        GB_OK);
    void *to = elements_to_write(&list[k].value);
    for (size_t i = 0; i < s.dim[0] * 13; i++) gb_element_set(to, i, types[k], (double)i - 7);
    elements_written(&list[k].value);
  }
  assert_int_equal(gb_npz_write(file_path, &set, &file_error), GB_OK);
  assert_int_equal(gb_npz_read(&file_ledger, file_path, "", 0, &back, &file_error), GB_OK);
  assert_int_equal(back.ntensors, 4);
  for (size_t k = 0; k < 4; k++) {
    assert_string_equal(back.tensor[k].name, names[k]);
    assert_int_equal(back.tensor[k].value.dtype, types[k]);
    assert_true(gb_shape_equal(&back.tensor[k].value.shape, &list[k].value.shape));
    assert_memory_equal(elements(&list[k].value), back.tensor[k].value.storage->block.data,
                        list[k].value.storage->block.bytes);
    gb_tensor_clear(&list[k].value);
  }
  gb_tensor_set_clear(&back);
  list[0].name = "../x";
  set.ntensors = 1;
  assert_int_equal(gb_npz_write(file_path, &set, &file_error), GB_EOPTION);
}

static void hostile_archives_are_refused (void **state) {
  (void)state;
  const size_t n = make_npy(npy, "<f8", 4);
  z = (maker){.n = 0};
  add(&z, (member){.name = "a.txt", .data = "abc", .n = 3});
  expect_refused("'a.txt' is not an array (.npy)");
  add(&z, (member){.name = "a.npy", .data = npy, .n = n});
  add(&z, (member){.name = "a.npy", .data = npy, .n = n});
  expect_refused("two arrays are called 'a'");
  add(&z, (member){.name = "a.npy", .data = npy, .n = n, .flags = 1});
  expect_refused("'a.npy' is encrypted");
  add(&z, (member){.name = "a.npy", .data = npy, .n = n, .method = 12});
  expect_refused("is packed by method 12");
  add(&z, (member){.name = "a.npy", .data = npy, .n = n, .method = 8, .says = n + 8});
  expect_refused("bytes of data expected");
  add(&z, (member){.name = "a.npy", .data = npy, .n = n, .says = n - 8});
  expect_refused("a stored member has two lengths");
  add(&z, (member){.name = "a.npy", .data = npy, .n = n, .method = 8, .says = (size_t)3 << 30});
  expect_refused("it unpacks to more than 1000 times its size");
  make_npy(npy, "|O", 4);
  add(&z, (member){.name = "a.npy", .data = npy, .n = n});
  expect_refused("a.npy");
  add(&z, (member){.name = "a.npy", .data = "abc", .n = 3});
  expect_refused(": a.npy: not a NumPy array file");
  /* all entries say the same bytes */
  make_npy(npy, "<f8", 1500);
  add(&z, (member){.name = "a.npy", .data = npy, .n = 12128});
  for (int i = 0; i < 9; i++, z.count++) {
    memcpy(z.directory + z.ndirectory, z.directory, 51);
    z.directory[z.ndirectory + 46] = (unsigned char)('b' + i);
    z.ndirectory += 51;
  }
  expect_refused("members overlap");
}

/* Whatever is cut off or flipped, the archive is refused or its numbers are those that were written. */
static void damaged_archives_are_refused_or_whole (void **state) {
  (void)state;
  static unsigned char all[1 << 16];
  gb_tensor_set set;
  z = (maker){.n = 0};
  const size_t n = make_npy(npy, "<f8", 40);
  add(&z, (member){.name = "a.npy", .data = npy, .n = n});
  add(&z, (member){.name = "b.npy", .data = npy, .n = n, .method = 8});
  finish(&z, "");
  const size_t length = z.n;
  memcpy(all, z.file, length);
  for (size_t cut = 0; cut < length; cut++) {
    write_file(all, cut);
    assert_int_equal(gb_npz_read(&file_ledger, file_path, "", 0, &set, &file_error), GB_EFORMAT);
    assert_int_equal(file_ledger.used, 0);
  }
  size_t whole = 0;
  for (size_t bit = 0; bit < 8 * length; bit += 1 + bit % 3) {
    all[bit / 8] ^= (unsigned char)(1 << bit % 8);
    write_file(all, length);
    const gb_status st = gb_npz_read(&file_ledger, file_path, "", 0, &set, &file_error);
    all[bit / 8] ^= (unsigned char)(1 << bit % 8);
    if (st != GB_OK) {
      if (st == GB_ENOMEM) fail_msg("bit %zu: %s", bit, file_error.text);
      assert_int_equal(file_ledger.used, 0);
      continue;
    }
    whole++;
    for (size_t k = 0; k < set.ntensors; k++)
      for (size_t i = 0; i < 40; i++) assert_true(gb_tensor_at(&set.tensor[k].value, &i) == (double)i);
    gb_tensor_set_clear(&set);
  }
  assert_in_range(whole, 1, length); /* names, dates and versions may change */
}

int main (void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(stored_and_deflated_members_are_read),
      FILE_TEST(tensors_written_read_back_the_same),
      FILE_TEST(hostile_archives_are_refused),
      FILE_TEST(damaged_archives_are_refused_or_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
