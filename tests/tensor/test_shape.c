/* test_shape.c - the ground floor: shapes, element types, strided copies, the ledger, random numbers, the
** pool. */
#ifdef __linux__
#include <malloc.h>
#endif
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/pool.h"
#include "base/rng.h"
#include "support/elements.h"
#include "support/memory.h"
#include "tensor/host.h"

#define SHAPE(...)                                                                                           \
  gb_shape_of((int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (size_t[]){__VA_ARGS__})

/* -- status */

static void every_status_has_a_code_and_a_text (void **state) {
  (void)state;
  for (int s = 0; s < GB_NSTATUS; s++) {
    assert_string_not_equal(gb_status_code((gb_status)s), "");
    assert_string_not_equal(gb_status_text((gb_status)s), "");
  }
  assert_string_equal(gb_status_code(GB_ENOTPD), "not_pd");
  assert_string_equal(gb_status_code((gb_status)999), "internal");
}

static void failing_fills_the_text_and_clears_the_sizes (void **state) {
  (void)state;
  gb_error err = {.need = 1, .have = 2, .minimum = 3};
  assert_int_equal(gb_fail(&err, GB_EIO, "line %d of %s", 7, "a.csv"), GB_EIO);
  assert_string_equal(err.text, "line 7 of a.csv");
  assert_int_equal(err.need + err.have + err.minimum, 0);
  assert_int_equal(gb_fail(NULL, GB_EIO, "nobody listens"), GB_EIO);
}

/* -- shapes */

static void shapes_print_as_users_write_them (void **state) {
  (void)state;
  char text[GB_SHAPE_TEXT];
  const gb_shape scalar = {0}, s = SHAPE(500, 3),
                 big = SHAPE(SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, 1, 2);
  assert_string_equal(gb_shape_text(&scalar, text), "()");
  assert_string_equal(gb_shape_text(&s, text), "500x3");
  assert_true(strlen(gb_shape_text(&big, text)) < GB_SHAPE_TEXT);
}

static void products_that_overflow_are_noticed (void **state) {
  (void)state;
  size_t n;
  const gb_shape scalar = {0}, empty = SHAPE(SIZE_MAX, 0, SIZE_MAX),
                 huge = SHAPE((size_t)1 << 32, (size_t)1 << 31);
  const gb_shape fits = SHAPE((size_t)1 << 31, (size_t)1 << 31);
  assert_true(gb_shape_numel_checked(&scalar, &n) && n == 1);
  assert_true(gb_shape_numel_checked(&empty, &n) && n == 0);
  assert_false(gb_shape_numel_checked(&huge, &n));
  assert_true(gb_shape_numel_checked(&fits, &n) && n == (size_t)1 << 62);
  assert_int_equal(gb_shape_bytes(&fits, GB_F64), SIZE_MAX);
  assert_int_equal(gb_shape_bytes(&empty, GB_F64), 0);
}

static void broadcast (gb_shape a, gb_shape b, const char *want) {
  gb_shape out;
  char text[GB_SHAPE_TEXT];
  const bool ok = gb_shape_broadcast(&a, &b, &out);
  assert_string_equal(ok ? gb_shape_text(&out, text) : "no", want);
  assert_int_equal(gb_shape_broadcast(&b, &a, &out), ok);
  assert_string_equal(ok ? gb_shape_text(&out, text) : "no", want);
  gb_shape first = a, second = b; /* in place */
  assert_int_equal(gb_shape_broadcast(&first, &b, &first), ok);
  assert_string_equal(ok ? gb_shape_text(&first, text) : "no", want);
  assert_int_equal(gb_shape_broadcast(&a, &second, &second), ok);
  assert_string_equal(ok ? gb_shape_text(&second, text) : "no", want);
}

static void broadcasting_grows_one_side_of_unequal_ranks (void **state) {
  (void)state;
  const gb_shape scalar = {0};
  broadcast(SHAPE(5, 1), SHAPE(1, 4), "5x4");
  broadcast(SHAPE(5, 3), SHAPE(3), "5x3");
  broadcast(SHAPE(5, 3), SHAPE(1), "5x3");
  broadcast(SHAPE(5, 3), scalar, "5x3");
  broadcast(SHAPE(5, 1), SHAPE(5), "no");
  broadcast(SHAPE(5, 3), SHAPE(4), "no");
  broadcast(SHAPE(2, 5, 3), SHAPE(1, 3), "2x5x3");
  broadcast(SHAPE(2, 5, 1), SHAPE(1, 3), "no");
  broadcast(SHAPE(6), SHAPE(1, 1), "no");
  broadcast(SHAPE(0), SHAPE(1), "0");
  broadcast(SHAPE(0), SHAPE(2), "no");
}

/* -- element types */

static void every_half_survives_the_way_to_float_and_back (void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    const float f = gb_f16_to_f32((uint16_t)h), b = gb_bf16_to_f32((uint16_t)h);
    if (isnan(f)) assert_true(isnan(gb_f16_to_f32(gb_f32_to_f16(f))));
    else assert_int_equal(gb_f32_to_f16(f), h);
    if (isnan(b)) assert_true(isnan(gb_bf16_to_f32(gb_f32_to_bf16(b))));
    else assert_int_equal(gb_f32_to_bf16(b), h);
  }
}

/* The compiler's own half, over exponents and the bits around every rounding boundary. */
static void floats_round_to_the_nearest_half_ties_to_even (void **state) {
  (void)state;
  for (uint32_t high = 0; high < 65536; high++) {
    static const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
      const uint32_t bits = high << 16 | low[i];
      float f;
      memcpy(&f, &bits, sizeof f);
      const uint16_t got = gb_f32_to_f16(f);
      if (isnan(f)) {
        assert_true(isnan(gb_f16_to_f32(got)));
        continue;
      }
      uint16_t best = got;
      const double err = fabs((double)gb_f16_to_f32(got) - (double)f);
      for (int step = -1; step <= 1; step += 2) { /* neither neighbour is nearer */
        const uint16_t near = (uint16_t)(got + step);
        if ((near ^ got) & 0x8000u || isinf(gb_f16_to_f32(near)) || isinf(gb_f16_to_f32(got))) continue;
        const double other = fabs((double)gb_f16_to_f32(near) - (double)f);
        if (other < err || (other == err && (got & 1) != 0)) best = near;
      }
      assert_int_equal(best, got);
      assert_int_equal(isinf(gb_f16_to_f32(got)) != 0, fabsf(f) >= 65520.0f);
      const double bf = (double)gb_bf16_to_f32(gb_f32_to_bf16(f));
      if (isfinite(bf)) assert_true(fabs(bf - (double)f) <= ldexp(fmax(fabs((double)f), 0x1p-126), -8));
    }
  }
}

static void elements_convert_with_the_types_rounding (void **state) {
  (void)state;
  unsigned char buf[8];
  static const struct {
    gb_dtype t;
    double in, out;
  } cases[] = {
      {GB_F64, 0.1, 0.1},
      {GB_F32, 0.1, (double)0.1f},
      {GB_F16, 2049, 2048},
      {GB_F16, 1e6, INFINITY},
      {GB_BF16, 257, 256},
      {GB_I64, -3, -3},
      {GB_BOOL, 7, 1},
      {GB_BOOL, 0, 0},
      {GB_I32, -3.9, -3},
      {GB_I32, 0x1p40, 0x1p31 - 1},
      {GB_I32, -INFINITY, -0x1p31},
      {GB_I32, NAN, 0},
      {GB_I64, NAN, 0},
      {GB_I64, -INFINITY, -0x1p63},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gb_element_set(buf, 0, cases[i].t, cases[i].in);
    assert_true(gb_element_get(buf, 0, cases[i].t) == cases[i].out);
  }
}

static void dtypes_are_found_by_name (void **state) {
  (void)state;
  gb_dtype t;
  for (int i = 0; i < GB_NDTYPES; i++)
    assert_true(gb_dtype_parse(gb_dtype_name((gb_dtype)i), &t) && (int)t == i);
  assert_false(gb_dtype_parse("float64", &t));
}

/* -- tensors and the ledger */

static gb_tensor tensor (gb_ledger *l, gb_dtype t, gb_shape s) {
  gb_tensor x;
  assert_int_equal(gb_tensor_new(l, t, &s, GB_MEM_TENSOR, "", "", &x, NULL), GB_OK);
  return x;
}

static void strided_copies_convert_in_index_order (void **state) {
  (void)state;
  gb_ledger l;
  gb_error err;
  gb_ledger_init(&l, test_memory(), 1 << 20);
  gb_tensor a = tensor(&l, GB_F64, SHAPE(3, 4)), b = tensor(&l, GB_F32, SHAPE(4, 3));
  double *to = elements_to_write(&a);
  for (size_t i = 0; i < 12; i++) to[i] = (double)i;
  elements_written(&a);
  gb_tensor view = a; /* transposed, columns flipped */
  view.shape = b.shape;
  view.stride[0] = -1;
  view.stride[1] = 4;
  view.offset = 3;
  assert_false(gb_tensor_is_contiguous(&view));
  assert_int_equal(gb_tensor_copy(&b, &view, &err), GB_OK);
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 3; j++) assert_true(element_at(&b, (size_t[]){i, j}) == (double)(j * 4 + 3 - i));
  gb_tensor_clear(&a);
  gb_tensor_clear(&a);
  gb_tensor_clear(&b);
  assert_int_equal(l.used, 0);
  assert_int_equal(mirror_bytes(l.memory), 0);
}

static void storage_lives_as_long_as_its_last_count (void **state) {
  (void)state;
  gb_ledger l;
  gb_ledger_init(&l, host_memory(), 1 << 20);
  gb_tensor a = tensor(&l, GB_F64, SHAPE(8)), b = gb_tensor_ref(&a);
  gb_tensor_clear(&a);
  assert_int_equal(l.used, 64);
  gb_tensor_clear(&b);
  assert_int_equal(l.used, 0);
  assert_int_equal(l.blocks, 0);
}

static void the_ledger_keeps_its_limit_and_its_account (void **state) {
  (void)state;
  gb_ledger l;
  gb_error err;
  gb_block p, q, r;
  gb_ledger_init(&l, host_memory(), 1000);
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_TENSOR, 600, "a.lua:1", "x", &p, &err), GB_OK);
  assert_int_equal((uintptr_t)p.data % 64, 0);
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_CACHE, 401, "", "", &q, &err), GB_ENOMEM);
  assert_string_equal(err.text, "401 B needed for a cache, 600 B in use, limit 1000 B");
  assert_int_equal(err.need, 401);
  assert_int_equal(err.have, 400);
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_CACHE, 400, "", "", &q, &err), GB_OK);
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_CACHE, 0, "", "", &r, &err), GB_OK);
  assert_string_equal(p.where, "a.lua:1");
  gb_ledger_retag(&l, &q, GB_MEM_TENSOR);
  assert_int_equal(l.by_purpose[GB_MEM_TENSOR], 1000);
  gb_ledger_free(&l, &q);
  gb_ledger_free(&l, &p);
  gb_ledger_free(&l, &r);
  assert_int_equal(l.used, 0);
  assert_int_equal(l.peak, 1000);
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_ARENA, SIZE_MAX, "", "", &p, &err), GB_ENOMEM);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define MIB ((size_t)1 << 20)

static bool filled (gb_ledger *l, size_t bytes, gb_block *at) {
  gb_error err;
  if (gb_ledger_alloc(l, GB_MEM_TENSOR, bytes, "", "", at, &err) != GB_OK) return false;
  memset(at->data, 1, bytes);
  return true;
}

/* A large block in each round, as an evaluation takes, and a small one that stays. */
static void a_loop_finds_its_memory_again (void **state) {
  (void)state;
  enum { ROUNDS = 60 };
  gb_ledger l;
  gb_block large, small[ROUNDS];
  gb_ledger_init(&l, host_memory(), SIZE_MAX);
  assert_true(filled(&l, 30 * MIB, &large));
  gb_ledger_free(&l, &large);
  gb_ledger_release(&l);
  const size_t before = gb_process_memory_read().now;
  for (int i = 0; i < ROUNDS; i++) {
    assert_true(filled(&l, 14 * MIB, &large) && filled(&l, 192, &small[i]));
    gb_ledger_free(&l, &large);
  }
  assert_true(gb_process_memory_read().now < before + 40 * MIB);
  for (int i = 0; i < ROUNDS; i++) gb_ledger_free(&l, &small[i]);
  gb_ledger_release(&l);
}

/* Mappings of freed blocks: the next block of their size has one back, with what was written there,
** smaller ones have parts of it, which are one again when they are freed; what is kept is bounded, is
** given back before a block would pass the limit with it, and in the end. */
static void large_blocks_are_kept_within_the_limit (void **state) {
  (void)state;
  gb_ledger l;
  gb_block a, b, small;
  gb_ledger_init(&l, host_memory(), 100 * MIB);
  assert_true(filled(&l, MIB, &a));
  gb_ledger_free(&l, &a);
  assert_true(l.memory->kept_bytes >= MIB);
  gb_ledger_release(&l);
  const size_t before = gb_process_memory_read().now;
  assert_true(filled(&l, 40 * MIB, &a));
  const char *first = a.data;
  assert_int_equal((uintptr_t)first % 64, 0);
  memset(a.data, 7, 40 * MIB);
  gb_ledger_free(&l, &a);
  assert_int_equal(l.used, 0);
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_TENSOR, 40 * MIB, "", "", &b, NULL), GB_OK);
  assert_ptr_equal(first, b.data);
  assert_int_equal(((char *)b.data)[40 * MIB - 1], 7);
  gb_ledger_free(&l, &b);
  assert_true(filled(&l, 10 * MIB, &small));
  assert_ptr_equal(first, small.data);
  assert_true(filled(&l, 20 * MIB, &b));
  assert_true((char *)b.data > first && (char *)b.data < first + 40 * MIB);
  gb_ledger_free(&l, &small);
  gb_ledger_free(&l, &b);
  assert_true(filled(&l, 40 * MIB, &b));
  assert_ptr_equal(first, b.data);
  assert_true(gb_process_memory_read().now < before + 44 * MIB);
  gb_ledger_free(&l, &b);
  assert_true(filled(&l, 70 * MIB, &b)); /* and 40 kept are more than 100 */
  assert_true(gb_process_memory_read().now < before + 74 * MIB);
  gb_ledger_free(&l, &b);
  gb_ledger_release(&l);
  assert_true(gb_process_memory_read().now < before + 4 * MIB);
  gb_ledger_init(&l, host_memory(), SIZE_MAX);
  for (int i = 0; i < 40; i++) {
    gb_block all[3];
    for (int k = 0; k < 3; k++) assert_true(filled(&l, (size_t)(5 + (i * 7 + k * 3) % 40) * MIB, &all[k]));
    for (int k = 0; k < 3; k++) gb_ledger_free(&l, &all[k]);
    assert_true(l.memory->nkept <= GB_KEPT && l.memory->kept_bytes <= 256 * MIB);
  }
  gb_ledger_release(&l);
  assert_int_equal(l.memory->kept_bytes, 0);
}

/* Blocks of a few MiB that are freed between others leave holes, whose pages the allocator would keep. */
static void what_was_freed_is_no_more_than_the_limit_leaves (void **state) {
  (void)state;
  enum { BLOCKS = 100, EACH = 2 };
  gb_ledger l;
  gb_block block[BLOCKS], large;
  gb_ledger_init(&l, host_memory(), 240 * MIB);
  assert_true(filled(&l, 30 * MIB, &large));
  gb_ledger_free(&l, &large);
  gb_ledger_release(&l);
  const size_t before = gb_process_memory_read().now;
  for (int i = 0; i < BLOCKS; i++) assert_true(filled(&l, EACH * MIB, &block[i]));
  for (int i = 0; i < BLOCKS; i += 2) gb_ledger_free(&l, &block[i]);
  assert_true(filled(&l, 130 * MIB, &large)); /* 100 + 130 of 240; with the holes, 330 */
  const size_t now = gb_process_memory_read().now;
  assert_true(now - before <= l.limit);
  assert_true(now - before >= l.used - 8 * MIB);
  for (int i = 1; i < BLOCKS; i += 2) gb_ledger_free(&l, &block[i]);
  gb_ledger_free(&l, &large);
  gb_ledger_release(&l);
}
#endif

static gb_block to_reclaim;

static void reclaim (void *ud, size_t bytes) {
  (void)bytes;
  gb_ledger_free(ud, &to_reclaim);
}

static void a_full_ledger_reclaims_once_and_tries_again (void **state) {
  (void)state;
  gb_ledger l;
  gb_block p;
  gb_ledger_init(&l, host_memory(), 100);
  l.reclaim = reclaim;
  l.reclaim_ud = &l;
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_CACHE, 80, "", "", &to_reclaim, NULL), GB_OK);
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_TENSOR, 90, "", "", &p, NULL), GB_OK);
  assert_null(to_reclaim.data);
  l.fail_after = (long)l.allocations;
  l.reclaim = NULL;
  gb_block q;
  assert_int_equal(gb_ledger_alloc(&l, GB_MEM_TENSOR, 1, "", "", &q, NULL), GB_ENOMEM);
  gb_ledger_free(&l, &p);
}

static void bytes_print_in_the_nearest_unit (void **state) {
  (void)state;
  char text[GB_BYTES_TEXT];
  assert_string_equal(gb_bytes_text(1023, text), "1023 B");
  assert_string_equal(gb_bytes_text(1536, text), "1.5 KiB");
  assert_string_equal(gb_bytes_text((size_t)3 << 30, text), "3 GiB");
}

/* -- random numbers, hashes, threads */

/* Known answers published with the Random123 library (kat_vectors, philox4x32 10). */
static void philox_gives_the_published_numbers (void **state) {
  (void)state;
  uint32_t w[4];
  gb_philox(0, 0, 0, w);
  assert_int_equal(w[0], 0x6627e8d5u);
  assert_int_equal(w[1], 0xe169c58du);
  assert_int_equal(w[2], 0xbc57ac4cu);
  assert_int_equal(w[3], 0x9b00dbd8u);
  gb_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, w);
  assert_int_equal(w[0], 0x408f276du);
  assert_int_equal(w[1], 0x41c83b0eu);
  assert_int_equal(w[2], 0xa20bc7c6u);
  assert_int_equal(w[3], 0x6d5451fdu);
}

static void random_numbers_have_their_moments (void **state) {
  (void)state;
  enum { N = 200000 };
  double u1 = 0, u2 = 0, z1 = 0, z2 = 0, z4 = 0;
  for (uint64_t i = 0; i < N; i++) {
    const double u = gb_rand_uniform(7, 1, i), z = gb_rand_normal(7, 2, i);
    assert_true(u > 0 && u < 1);
    u1 += u, u2 += u * u, z1 += z, z2 += z * z, z4 += z * z * z * z;
  }
  const double tol = 5 / sqrt((double)N); /* five standard errors, up to each statistic's own deviation */
  assert_true(fabs(u1 / N - 0.5) <= 0.29 * tol);
  assert_true(fabs(u2 / N - 1.0 / 3) <= 0.30 * tol);
  assert_true(fabs(z1 / N) <= tol);
  assert_true(fabs(z2 / N - 1) <= 1.42 * tol);
  assert_true(fabs(z4 / N - 3) <= 9.8 * tol);
}

/* Box and Muller's formula in long double, from the words of the element. */
static long double normal_of_words (const uint32_t w[4]) {
  const long double two_pi = 6.283185307179586476925286766559L;
  const long double u = ((long double)(((uint64_t)w[0] << 20) ^ (w[1] >> 12)) + 0.5L) * 0x1p-52L;
  const long double v = ((long double)(((uint64_t)w[2] << 20) ^ (w[3] >> 12)) + 0.5L) * 0x1p-52L;
  return sqrtl(-2 * logl(u)) * sinl(two_pi * (0.25L - fabsl(v - 0.5L))) * -1;
}

static void normal_numbers_are_right_to_three_ulp (void **state) {
  (void)state;
  for (uint64_t i = 0; i < 200000; i++) {
    uint32_t w[4];
    gb_philox(3, 9, i, w);
    const long double want = normal_of_words(w);
    const double got = gb_rand_normal(3, 9, i);
    if (!(fabsl((long double)got - want) <= 3 * 0x1p-52L * fabsl(want)))
      fail_msg("element %d: %.17g, expected %.20Lg", (int)i, got, want);
  }
}

/* Of nothing but operations that round in one way, so that these are the bits on any machine. */
static void normal_numbers_have_the_same_bits_everywhere (void **state) {
  (void)state;
  uint64_t all = 0;
  for (uint64_t i = 0; i < 100000; i++) all = gb_hash_f64(all, gb_rand_normal(1, 2, i));
  if (all != 0xd6ba2b85b88bdc08u) fail_msg("the hash of 100,000 is 0x%016llx", (unsigned long long)all);
}

static void hashes_tell_the_zeros_apart (void **state) {
  (void)state;
  assert_true(gb_hash_f64(0, 0.0) != gb_hash_f64(0, -0.0));
  assert_true(gb_hash_bytes(0, "abcdefgh", 8) != gb_hash_bytes(0, "abcdefgh\0", 9));
}

typedef struct marks {
  int calls[8];
} marks;

static void mark (void *ud, int t) { ((marks *)ud)->calls[t]++; }

static void the_pool_calls_each_part_once_a_job (void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads++) {
    gb_pool *p;
    marks m = {{0}};
    assert_int_equal(gb_pool_new(threads, &p, NULL), GB_OK);
    assert_int_equal(gb_pool_threads(p), threads);
    for (int job = 0; job < 200; job++) gb_pool_run(p, mark, &m);
    for (int t = 0; t < 8; t++) assert_int_equal(m.calls[t], t < threads ? 200 : 0);
    gb_pool_free(p);
  }
  marks m = {{0}};
  gb_pool_run(NULL, mark, &m);
  assert_int_equal(m.calls[0], 1);
  gb_pool_free(NULL);
}

int main (void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_status_has_a_code_and_a_text),
    cmocka_unit_test(failing_fills_the_text_and_clears_the_sizes),
    cmocka_unit_test(shapes_print_as_users_write_them),
    cmocka_unit_test(products_that_overflow_are_noticed),
    cmocka_unit_test(broadcasting_grows_one_side_of_unequal_ranks),
    cmocka_unit_test(every_half_survives_the_way_to_float_and_back),
    cmocka_unit_test(floats_round_to_the_nearest_half_ties_to_even),
    cmocka_unit_test(elements_convert_with_the_types_rounding),
    cmocka_unit_test(dtypes_are_found_by_name),
    cmocka_unit_test(strided_copies_convert_in_index_order),
    cmocka_unit_test(storage_lives_as_long_as_its_last_count),
    cmocka_unit_test(the_ledger_keeps_its_limit_and_its_account),
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    cmocka_unit_test(a_loop_finds_its_memory_again),
    cmocka_unit_test(what_was_freed_is_no_more_than_the_limit_leaves),
    cmocka_unit_test(large_blocks_are_kept_within_the_limit),
#endif
    cmocka_unit_test(a_full_ledger_reclaims_once_and_tries_again),
    cmocka_unit_test(bytes_print_in_the_nearest_unit),
    cmocka_unit_test(philox_gives_the_published_numbers),
    cmocka_unit_test(random_numbers_have_their_moments),
    cmocka_unit_test(normal_numbers_are_right_to_three_ulp),
    cmocka_unit_test(normal_numbers_have_the_same_bits_everywhere),
    cmocka_unit_test(hashes_tell_the_zeros_apart),
    cmocka_unit_test(the_pool_calls_each_part_once_a_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
