/* test_fuzz_files.c - hostile files: an accepted file is used, written and read again; a refused file leaves
** nothing. GIBBOUS_FUZZ_FILES=n gives the number of files a format, GIBBOUS_FUZZ_SEED the start. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>
#include <cmocka.h>

#include "cpu/price/profile.h"
#include "io/archive/npz.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/text/csv.h"
#include "plan/price/profile.h"
#include "shell/history.h"
#include "support/io/mutate.h"
#include "support/memory.h"
#include "tensor/host.h"

#define LIMIT ((size_t)256 << 20)
#define BESIDE ((size_t)64 << 20) /* bytes that a reader may hold beside its result and the file */

static mutator m;
static gb_ledger ledger;
static gb_error err;
static int fd[2]; /* files in memory: the mutant, and its copy */
static char path[2][64], packed_path[64];
static long cases = 2000, accepted;
static uint64_t first_seed = 20261122;
static size_t result; /* bytes of what was accepted, in the ledger */

static int group_set_up (void **state) {
  (void)state;
  const char *n = getenv("GIBBOUS_FUZZ_FILES"), *seed = getenv("GIBBOUS_FUZZ_SEED");
  if (n != NULL) cases = atol(n);
  if (seed != NULL) first_seed = strtoull(seed, NULL, 10);
  gb_ledger_init(&ledger, host_memory(), LIMIT);
  for (int i = 0; i < 2; i++) {
    fd[i] = memfd_create("mutant", 0);
    if (fd[i] < 0) return -1;
    snprintf(path[i], sizeof path[i], "/proc/%d/fd/%d", (int)getpid(), fd[i]);
  }
  snprintf(packed_path, sizeof packed_path, "/tmp/gibbous-fuzz-%d.csv.gz", (int)getpid());
  return symlink(path[0], packed_path);
}

static int group_tear_down (void **state) {
  (void)state;
  print_message("peak memory of the process: %zu MiB\n", gb_process_memory_read().peak >> 20);
  return unlink(packed_path);
}

static void keep (int i, const void *p, size_t n) {
  if (ftruncate(fd[i], 0) != 0 || pwrite(fd[i], p, n, 0) != (ssize_t)n) abort();
}

/* Writers replace files by new ones, which a file in memory is not: they write to a real one. */
static char scratch[64];
static const char *scratch_path (void) {
  snprintf(scratch, sizeof scratch, "%s/gibbous-fuzz-%d.out",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
  return scratch;
}

typedef gb_status attempt (void); /* reads the mutant, uses the result, and releases it */

/* If the process crashes, the number identifies the file. */
static void run (const char *name, attempt *try) {
  long refused = 0;
  accepted = 0;
  for (long i = 0; i < cases; i++) {
    mutate(&m);
    keep(0, m.data, m.n);
    ledger.peak = result = 0;
    err.text[0] = '\0';
    const gb_status st = try();
    if (st != GB_OK && st != GB_EFORMAT && st != GB_ENOMEM)
      fail_msg("%s %ld: %s: %s", name, i, gb_status_code(st), err.text);
    if (st != GB_OK && err.text[0] == '\0') fail_msg("%s %ld: refused without a word", name, i);
    if (ledger.used != 0) fail_msg("%s %ld: %zu bytes left", name, i, ledger.used);
    if (ledger.peak > result + BESIDE + m.n)
      fail_msg("%s %ld: %zu bytes at most for a result of %zu", name, i, ledger.peak, result);
    if (st == GB_OK) accepted++;
    else refused++;
  }
  print_message("%s: %ld files, %ld accepted, %ld refused\n", name, cases, accepted, refused);
}

static bool same_tensor (const gb_tensor *a, const gb_tensor *b) {
  return a->dtype == b->dtype && gb_shape_equal(&a->shape, &b->shape) &&
         a->storage->block.bytes == b->storage->block.bytes &&
         memcmp(a->storage->block.data, b->storage->block.data, a->storage->block.bytes) == 0;
}

static volatile double total;

static void sum (const gb_tensor *t) {
  const size_t n = gb_shape_numel(&t->shape);
  assert_int_equal(t->storage->block.bytes, n * gb_dtype_size(t->dtype));
  for (size_t e = 0; e < n; e++) total = total + gb_element_get(t->storage->block.data, e, t->dtype);
}

/* -- npy */

static gb_status try_npy (void) {
  gb_tensor t, back;
  GB_TRY(gb_npy_read(&ledger, path[0], "", &t, &err));
  result = t.storage->block.bytes;
  sum(&t);
  /* Data without conversion are the bytes at the end of the file. */
  const char *text = memmem(m.data, m.n, "<f8", 3);
  if (t.dtype == GB_F64 && text != NULL && memmem(m.data, m.n, "True", 4) == NULL)
    assert_memory_equal(t.storage->block.data, m.data + m.n - t.storage->block.bytes, t.storage->block.bytes);
  if (mutator_draw(&m, 16) == 0) {
    assert_int_equal(gb_npy_write(scratch_path(), &t, &err), GB_OK);
    assert_int_equal(gb_npy_read(&ledger, scratch_path(), "", &back, &err), GB_OK);
    assert_true(same_tensor(&t, &back));
    result += back.storage->block.bytes;
    gb_tensor_clear(&back);
  }
  gb_tensor_clear(&t);
  return GB_OK;
}

static void hostile_arrays (void **state) {
  (void)state;
  static const char *const words[] = {
      "'descr'",   "'shape'", "'fortran_order'",
      "True",      "False",   "(",
      ")",         "{",       "}",
      ":",         ",",       "'<f8'",
      "'>f8'",     "'|O'",    "'<f4'",
      "'<f2'",     "'|i1'",   "'<u4'",
      "'|b1'",     "'<U5'",   "[('a', '<f8')]",
      "(3,)",      "()",      "(0,)",
      "(2, 3)",    "'",       "\"",
      "\\x41",     " ",       "\n",
      "\x93NUMPY", "None",    "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
      NULL};
  static const struct {
    const char *descr;
    size_t width;
  } types[] = {{"<f8", 8}, {"<f4", 4}, {"<f2", 2}, {"<i8", 8}, {"<i4", 4},
               {"<i2", 2}, {"|i1", 1}, {"|u1", 1}, {"<u2", 2}, {"|b1", 1}};
  static const struct {
    const char *shape;
    size_t n;
  } shapes[] = {{"(2, 3)", 6}, {"(7,)", 7}, {"()", 1}, {"(0, 4)", 0}, {"(2, 1, 2)", 4}};
  begin_mutants(&m, first_seed, words);
  for (size_t i = 0; i < 20; i++) {
    unsigned char file[512] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)(1 + i % 3), 0};
    const size_t before = i % 3 == 0 ? 10 : 12, k = i % 10, s = i % 5;
    const int n = snprintf((char *)file + before, 256,
                           "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }   \n", types[k].descr,
                           i % 2 ? "True" : "False", shapes[s].shape);
    file[8] = (unsigned char)n;
    for (size_t b = 0; b < shapes[s].n * types[k].width; b++)
      file[before + (size_t)n + b] = (unsigned char)(types[k].descr[1] == 'b' ? b % 2 : 7 * b);
    add_seed(&m, file, before + (size_t)n + shapes[s].n * types[k].width);
  }
  run("npy", try_npy);
  assert_true(accepted > cases / 200);
}

/* -- npz */

static gb_status try_npz (void) {
  gb_tensor_set set;
  GB_TRY(gb_npz_read(&ledger, path[0], "", 0, &set, &err));
  result = 0;
  for (size_t i = 0; i < set.ntensors; i++) {
    sum(&set.tensor[i].value);
    result += set.tensor[i].value.storage->block.bytes;
  }
  gb_tensor_set_clear(&set);
  return GB_OK;
}

static void hostile_archives (void **state) {
  (void)state;
  static const char *const words[] = {"PK\1\2",           "PK\3\4", "PK\5\6", "PK\6\6", "PK\6\7",
                                      "\xFF\xFF\xFF\xFF", "\x08",   "a.npy",  "<f8",    NULL};
  static unsigned char file[4096];
  begin_mutants(&m, first_seed + 7, words);
  for (size_t n = 0; n < 4; n++) {
    gb_named_tensor list[4];
    char name[4][2] = {"a", "b", "c", "d"};
    for (size_t k = 0; k < n; k++) {
      const gb_shape s = gb_shape_of(1, (size_t[]){3 * k});
      list[k].name = name[k];
      assert_int_equal(gb_tensor_new(&ledger, GB_F64, &s, GB_MEM_TENSOR, "", "", &list[k].value, &err),
                       GB_OK);
      memset(gb_host_elements(&list[k].value), 0, 24 * k);
    }
    assert_int_equal(gb_npz_write(scratch_path(), &(gb_tensor_set){.ntensors = n, .tensor = list}, &err),
                     GB_OK);
    for (size_t k = 0; k < n; k++) gb_tensor_clear(&list[k].value);
    FILE *f = fopen(scratch_path(), "rb");
    assert_non_null(f);
    add_seed(&m, file, fread(file, 1, sizeof file, f));
    fclose(f);
  }
  run("npz", try_npz);
}

/* -- csv */

static size_t frame_bytes (const gb_frame *f) {
  size_t n = 0;
  for (size_t k = 0; k < f->ncols; k++) {
    const gb_column *c = &f->column[k];
    if (c->value.storage != NULL) n += c->value.storage->block.bytes;
    if (c->text.storage != NULL) n += c->text.storage->block.bytes;
  }
  return n;
}

static bool same_frame (const gb_frame *a, const gb_frame *b) {
  if (a->nrows != b->nrows || a->ncols != b->ncols) return false;
  for (size_t k = 0; k < a->ncols; k++) {
    const gb_column *x = &a->column[k], *y = &b->column[k];
    if (x->kind != y->kind) return false;
    if (x->text.storage != NULL && !same_tensor(&x->text, &y->text)) return false;
    if (x->value.storage != NULL && !same_tensor(&x->value, &y->value)) return false;
  }
  return true;
}

/* Saves the mutant, to investigate a failure. */
static void write_out (void) {
  fputs("the file: \"", stderr);
  for (size_t i = 0; i < m.n; i++)
    if (m.data[i] >= 32 && m.data[i] < 127 && m.data[i] != '\\') fputc(m.data[i], stderr);
    else fprintf(stderr, "\\x%02x", m.data[i]);
  fputs("\"\n", stderr);
}

/* Every cell is looked at; what can be written back reads back the same. */
static void use_frame (const gb_frame *f, bool again) {
  gb_csv_column column[64];
  bool named = false, good = f->ncols <= 64;
  for (size_t k = 0; k < f->ncols; k++) {
    const gb_column *c = &f->column[k];
    named |= *c->name != '\0';
    if (c->value.storage != NULL) sum(&c->value);
    const char *s = c->text.storage != NULL ? c->text.storage->block.data : NULL;
    for (size_t i = 0; s != NULL && i < f->nrows; i++) s += strlen(s) + 1;
    if (s != NULL) assert_ptr_equal(s, (char *)c->text.storage->block.data + c->text.storage->block.bytes);
    good = good && c->kind != GB_COLUMN_MIXED && c->kind != GB_COLUMN_LEFT;
    if (good)
      column[k] = (gb_csv_column){.name = c->name,
                                  .value = c->kind == GB_COLUMN_VALUES ? &c->value : NULL,
                                  .text = c->text.storage != NULL ? c->text.storage->block.data : NULL};
  }
  if (!good || !named || !again || mutator_draw(&m, 16) != 0) return;
  gb_frame back;
  assert_int_equal(gb_csv_write(scratch_path(), f->nrows, f->ncols, column, true, &err), GB_OK);
  if (gb_csv_read(&ledger, scratch_path(), "", &(gb_csv_options){.delimiter = ','}, &back, &err) != GB_OK)
    fail_msg("%s", err.text);
  result += frame_bytes(&back);
  if (!same_frame(f, &back)) {
    write_out();
    fail_msg("written and read again, it is another table");
  }
  gb_frame_clear(&back);
}

static gb_status try_csv (void) {
  static const gb_csv_choice first = {.number = 1};
  static const gb_csv_options all[] = {{0},
                                       {0},
                                       {0},
                                       {.decimal = ','},
                                       {.skip = 1},
                                       {.has_names = true},
                                       {.delimiter = ' '},
                                       {.na = "-99"},
                                       {.chosen = &first, .nchosen = 1}};
  gb_frame f;
  const gb_csv_options *o = &all[mutator_draw(&m, 9)];
  GB_TRY(gb_csv_read(&ledger, path[0], "", o, &f, &err));
  result = frame_bytes(&f);
  use_frame(&f, o->na == NULL && o->decimal == 0); /* otherwise words differ in the written file */
  gb_frame_clear(&f);
  return GB_OK;
}

static const char *const tables[] = {"a,b,c\n1,2,3\n4,5,6\n",
                                     "x;y\r\n1,5;2,5\r\n-3,25;NA\r\n",
                                     "1\t2\n3\t4\n",
                                     "1 2 3\n 4  5 6 \n",
                                     "# note\nname,v\n\"ada, \"\"l\"\"\",1\nbob,2\n",
                                     "id,ok\n9007199254740993,true\n-1,false\n",
                                     "a\rb\r\r1\r2\r",
                                     "\xEF\xBB\xBFyear,ppm\n1958.2,315.71\n1958.3,NaN\n",
                                     "v\n\"two\nlines\"\nx\n",
                                     "a|b\ninf|1e308\n-inf|5e-324\n",
                                     "at,v\n2020-02-29,1\n1999-12-31T23:59:59.5+01:30,2\nNA,3\n",
                                     ",\n,\n",
                                     "\"\"\n1\n",
                                     "h\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\nodd\n"};
static const char *const table_words[] = {",",
                                          ";",
                                          "\t",
                                          "|",
                                          " ",
                                          "\"",
                                          "\"\"",
                                          "\n",
                                          "\r",
                                          "\r\n",
                                          "#",
                                          "NA",
                                          "nan",
                                          "inf",
                                          "-inf",
                                          "true",
                                          "FALSE",
                                          "\"a\nb\"",
                                          "1,5",
                                          "9007199254740993",
                                          "-9223372036854775809",
                                          "\xEF\xBB\xBF",
                                          "1e999",
                                          "2020-02-30",
                                          "2020-02-29",
                                          "\xFF",
                                          "\\",
                                          "0x1p3",
                                          "?",
                                          ".",
                                          "-",
                                          "+",
                                          NULL};

static void hostile_tables (void **state) {
  (void)state;
  begin_mutants(&m, first_seed + 1, table_words);
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) add_seed(&m, tables[i], strlen(tables[i]));
  run("csv", try_csv);
  assert_true(accepted > cases / 10);
}

/* -- csv.gz */

enum { PACKED = 6 };
static gb_frame whole[PACKED]; /* of each seed */

/* Accepted contents equal the packed ones: a checksum detects every other case. */
static gb_status try_packed (void) {
  gb_frame f;
  GB_TRY(gb_csv_read(&ledger, packed_path, "", &(gb_csv_options){0}, &f, &err));
  result = frame_bytes(&f);
  bool known = false;
  for (size_t i = 0; i < PACKED && !known; i++) known = same_frame(&f, &whole[i]);
  if (!known) fail_msg("another table than was packed is accepted");
  gb_frame_clear(&f);
  return GB_OK;
}

static void hostile_packed_tables (void **state) {
  (void)state;
  static const char *const words[] = {"\x1F\x8B", "\x1F\x8B\x08", "\x08",  "\x04",
                                      "\x10",     "\x02",         "1,2\n", NULL};
  gb_ledger own;
  gb_ledger_init(&own, host_memory(), LIMIT);
  begin_mutants(&m, first_seed + 2, words);
  for (size_t i = 0; i < PACKED; i++) {
    static char text[4096];
    static unsigned char file[8192];
    size_t n = 0;
    for (size_t k = 0; k < 40 + 30 * i; k++)
      n += (size_t)sprintf(text + n, "%zu.%zu,%zu\n", k, k * k % 97, k * 7919 % 1009);
    gz_header heading = {.name = (unsigned char *)(uintptr_t) "table.csv",
                         .comment = (unsigned char *)(uintptr_t) "made up",
                         .hcrc = i % 2 == 0};
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, (int)(3 * i) % 10, Z_DEFLATED, 16 + 15, 9,
                                  i % 3 == 2 ? Z_FIXED : Z_DEFAULT_STRATEGY),
                     Z_OK);
    if (i % 2 == 0) deflateSetHeader(&z, &heading);
    z.next_in = (unsigned char *)text;
    z.avail_in = (unsigned)n;
    z.next_out = file;
    z.avail_out = sizeof file;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    add_seed(&m, file, sizeof file - z.avail_out);
    keep(0, file, sizeof file - z.avail_out);
    assert_int_equal(gb_csv_read(&own, packed_path, "", &(gb_csv_options){0}, &whole[i], &err), GB_OK);
  }
  run("csv.gz", try_packed);
  assert_true(accepted > 0);
  for (size_t i = 0; i < PACKED; i++) gb_frame_clear(&whole[i]);
}

/* -- safetensors */

static bool same_set (const gb_tensor_set *a, const gb_tensor_set *b) {
  if (a->ntensors != b->ntensors || a->ntexts != b->ntexts) return false;
  for (size_t i = 0; i < a->ntensors; i++) {
    size_t k = 0;
    while (k < b->ntensors && strcmp(a->tensor[i].name, b->tensor[k].name) != 0) k++;
    if (k == b->ntensors || !same_tensor(&a->tensor[i].value, &b->tensor[k].value)) return false;
  }
  return true;
}

static gb_status try_tensors (void) {
  gb_tensor_set s, back;
  GB_TRY(gb_safetensors_read(&ledger, path[0], "", &s, &err));
  for (size_t i = 0; i < s.ntensors; i++) {
    sum(&s.tensor[i].value);
    result += s.tensor[i].value.storage->block.bytes;
  }
  if (mutator_draw(&m, 16) == 0) {
    assert_int_equal(gb_safetensors_write(scratch_path(), &s, &err), GB_OK);
    assert_int_equal(gb_safetensors_read(&ledger, scratch_path(), "", &back, &err), GB_OK);
    assert_true(same_set(&s, &back));
    result *= 2;
    gb_tensor_set_clear(&back);
  }
  gb_tensor_set_clear(&s);
  return GB_OK;
}

static const char *const json_words[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ":",
                                         ",",
                                         "\"",
                                         "\\",
                                         "\\u0000",
                                         "\\ud800",
                                         "\"dtype\"",
                                         "\"shape\"",
                                         "\"data_offsets\"",
                                         "\"F64\"",
                                         "\"F32\"",
                                         "\"BF16\"",
                                         "\"I8\"",
                                         "\"U32\"",
                                         "\"BOOL\"",
                                         "\"__metadata__\"",
                                         "true",
                                         "null",
                                         "[0,8]",
                                         "[8,16]",
                                         "[2,3]",
                                         "{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}",
                                         "\"a\":",
                                         "[[[[[[[[[[",
                                         "]]]]]]]]]]",
                                         "1e5",
                                         "1.0",
                                         " ",
                                         "\n",
                                         "\xFF",
                                         NULL};

static void hostile_tensors (void **state) {
  (void)state;
  static const struct {
    const char *heading;
    size_t data;
  } seeds[] = {
      {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2,3],\"data_offsets\":[0,48]}}", 48},
      {"{\"__metadata__\":{\"k\":\"v\",\"made by\":\"a "
       "test\"},\"a\":{\"dtype\":\"I8\",\"shape\":[5],\"data_offsets\":[0,5]},\"b\":{\"dtype\":\"BOOL\","
       "\"shape\":[3],\"data_offsets\":[5,8]}}",
       8},
      {"{\"x\":{\"dtype\":\"U16\",\"shape\":[2],\"data_offsets\":[0,4]},\"y\":{\"dtype\":\"F16\",\"shape\":[]"
       ",\"data_offsets\":[4,6]},\"z\":{\"dtype\":\"I64\","
       "\"shape\":[0,7],\"data_offsets\":[6,6]}}  ",
       6},
      {"{}", 0},
      {"{\"w\":{\"dtype\":\"BF16\",\"shape\":[1,1,1,1,1,1,1,4],\"data_offsets\":[0,8]}}", 8}};
  begin_mutants(&m, first_seed + 3, json_words);
  for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
    unsigned char file[1024] = {0};
    const uint64_t n = strlen(seeds[i].heading);
    memcpy(file, &n, 8);
    memcpy(file + 8, seeds[i].heading, n);
    for (size_t b = 0; b < seeds[i].data; b++) file[8 + n + b] = (unsigned char)(b % 2);
    add_seed(&m, file, 8 + n + seeds[i].data);
  }
  run("safetensors", try_tensors);
  assert_true(accepted > cases / 200);
}

/* -- json */

static gb_status try_json (void) {
  json_t *v = NULL, *back = NULL;
  GB_TRY(gb_json_parse((const char *)m.data, m.n, "text", &v, &err));
  char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
  assert_non_null(text);
  assert_int_equal(gb_json_parse(text, strlen(text), "text", &back, &err), GB_OK);
  assert_true(json_equal(v, back));
  free(text);
  json_decref(v);
  json_decref(back);
  return GB_OK;
}

static void hostile_json (void **state) {
  (void)state;
  static const char *const texts[] = {
      "{\"a\":[1,2.5,-3e-7,true,false,null],\"b\":{\"c\":\"d\\u00e9\\n\"}}",
      "[[],{},[[[1]]]]",
      "\"text\"",
      "-0.0",
      "{\"kernel\":{\"%\":\"object\",\"at\":1},\"objects\":[{\"class\":\"x\",\"own\":{}}]}",
      "9223372036854775807"};
  begin_mutants(&m, first_seed + 4, json_words);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) add_seed(&m, texts[i], strlen(texts[i]));
  run("json", try_json);
  assert_true(accepted > cases / 50);
}

/* -- wisdom */

static gb_cpu_profile sheets[2];
static const char *const keys[] = {"machine one, 2 threads", "machine two, 4 threads"};

/* A sheet that is read is the one that was written under this key. */
static gb_status try_wisdom (void) {
  gb_cpu_profile r;
  bool any = false;
  for (int i = 0; i < 2; i++) {
    if (!gb_profile_store_read(path[0], keys[i], &gb_cpu_price_ops, &r.taken)) continue;
    if (memcmp(&r, &sheets[i], sizeof r) != 0) fail_msg("a changed sheet is read");
    any = true;
  }
  return any ? GB_OK : gb_fail(&err, GB_EFORMAT, "no wisdom");
}

static void scale (void *ud, const char *name, double *value) {
  (void)name;
  *value *= 1 + 0.1 * *(const double *)ud;
}

static void hostile_wisdom (void **state) {
  (void)state;
  static const char *const words[] = {"gibbous wisdom 2\n",
                                      "[machine one, 2 threads]\n",
                                      "[machine two, 4 threads]\n",
                                      "end ",
                                      "\n",
                                      "threads 2\n",
                                      " ",
                                      "nan",
                                      "inf",
                                      "-1",
                                      "]",
                                      "[",
                                      NULL};
  static unsigned char file[MUTANT_MOST];
  begin_mutants(&m, first_seed + 5, words);
  for (int i = 0; i < 2; i++) {
    double by = i;
    memset(&sheets[i], 0, sizeof sheets[i]);
    sheets[i] = *gb_cpu_profile_fixed();
    gb_cpu_profile_walk(&sheets[i], scale, &by);
    assert_true(gb_profile_store_write(scratch_path(), keys[i], &gb_cpu_price_ops, &sheets[i].taken));
    FILE *f = fopen(scratch_path(), "rb");
    add_seed(&m, file, fread(file, 1, sizeof file, f));
    fclose(f);
  }
  assert_int_equal(m.nseeds, 2);
  /* as reading leaves it */
  for (int i = 0; i < 2; i++)
    assert_true(gb_profile_store_read(scratch_path(), keys[i], &gb_cpu_price_ops, &sheets[i].taken));
  run("wisdom", try_wisdom);
  assert_true(accepted > cases / 50);
}

/* -- history */

/* The bytes of a text that may be drawn. */
static size_t harmless (const char *text) {
  for (const char *c = text; *c != '\0'; c++)
    assert_true((unsigned char)*c >= 32 || *c == '\t' || *c == '\n');
  assert_null(strchr(text, 127));
  return strlen(text);
}

static gb_status try_history (void) {
  size_t n = 0;
  gb_history h;
  GB_TRY(gb_history_read(path[0], &h, &err));
  for (size_t i = 0; i < h.n; i++) {
    const gb_history_entry *e = &h.entry[i];
    n += harmless(e->text) + harmless(e->directory) + harmless(e->id);
    assert_true(e->began >= 0 && e->seconds >= 0 && e->end <= GB_END_INTERRUPTED);
  }
  gb_history_clear(&h);
  assert_true(n <= m.n);
  return GB_OK;
}

static void hostile_histories (void **state) {
  (void)state;
  static const char *const words[] = {
      "\\n",          "\\\\",     "\\", "\n",         "\x1b[2J",    "\xC3\xA9", "\xF0\x9F\x8C\x92",
      "\xED\xA0\x80", "\xC2\x9B", "\t", "\\@1.5-2\t", "\\=1.5-2\t", NULL};
  static const char *const texts[] = {"x = 1\nfor i = 1, 2 do\\n  print(i)\\nend\n",
                                      "print 'a\\\\b'\n\xC3\xA9 = 2\n", "", "\n\n\n",
                                      "\\@1.5-2\t/tmp\tx = 1\n\\=1.5-2\t0.25\tok\n"};
  begin_mutants(&m, first_seed + 6, words);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) add_seed(&m, texts[i], strlen(texts[i]));
  run("history", try_history);
  assert_int_equal(accepted, cases);
}

static int sweep (void **state) {
  (void)state;
  unlink(scratch_path());
  return 0;
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(hostile_arrays, sweep),
      cmocka_unit_test_teardown(hostile_archives, sweep),
      cmocka_unit_test_teardown(hostile_tables, sweep),
      cmocka_unit_test_teardown(hostile_packed_tables, sweep),
      cmocka_unit_test_teardown(hostile_tensors, sweep),
      cmocka_unit_test_teardown(hostile_json, sweep),
      cmocka_unit_test_teardown(hostile_wisdom, sweep),
      cmocka_unit_test_teardown(hostile_histories, sweep),
  };
  const char *only = getenv("GIBBOUS_FUZZ_FORMAT"); /* the name of one test */
  if (only != NULL) cmocka_set_test_filter(only);
  return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}
