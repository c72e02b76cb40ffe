/* Memory of a GPU through its account: blocks against a model, room that ends, pages that go back, copies of
** all sizes and alignments while work runs late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "cuda/device/memory.h"
#include "cuda/device/staging.h"
#include "cuda/support/gpu_fixture.h"

#define MIB ((size_t)1 << 20)

static uint64_t draws;
static size_t draw (size_t below) {
  return (size_t)(gb_rand_uniform(11, 3, draws++) * (double)below) % below;
}

static gb_device *open_gpu (size_t limit) {
  gb_device *dev;
  gb_error err;
  if (gpu_open(0, limit, &dev, &err) != GB_OK) fail_msg("%s", err.text);
  return dev;
}

static gb_status alloc (gb_device *dev, size_t bytes, gb_block *b) {
  gb_error err;
  return gb_ledger_alloc(&dev->ledger, GB_MEM_TENSOR, bytes, "", "", b, &err);
}

/* -- blocks */

typedef struct held {
  gb_block block;
  unsigned char tag;
} held;

/* The first and last bytes, which are those that neighbours would hit. */
static void write_tag (gb_device *dev, held *h) {
  gb_error err;
  const size_t some = h->block.bytes < 64 ? h->block.bytes : 64;
  char *at = h->block.data;
  assert_int_equal(gb_memory_fill(&dev->memory, at, h->tag, some, &err), GB_OK);
  assert_int_equal(gb_memory_fill(&dev->memory, at + h->block.bytes - some, h->tag, some, &err), GB_OK);
}

static void check_tag (gb_device *dev, const held *h) {
  unsigned char first[64], last[64];
  gb_error err;
  const size_t some = h->block.bytes < 64 ? h->block.bytes : 64;
  const char *at = h->block.data;
  assert_int_equal(gb_memory_download(&dev->memory, first, at, some, &err), GB_OK);
  assert_int_equal(gb_memory_download(&dev->memory, last, at + h->block.bytes - some, some, &err), GB_OK);
  for (size_t i = 0; i < some; i++) {
    assert_int_equal(first[i], h->tag);
    assert_int_equal(last[i], h->tag);
  }
}

static size_t random_size (void) {
  switch (draw(6)) {
    case 0: return draw(3);
    case 1: return 2 * MIB - 1 + draw(3);
    case 2: return draw(6 * MIB);
    default: return draw(100000);
  }
}

/* Takes and gives at random below a limit. The account is the sum of the blocks; a range of addresses has
** room for all that the limit allows, one allocation only for what its fragments hold. */
static void run_pattern (gb_device *dev, int rounds, bool range) {
  enum { MOST = 40 };
  static held h[MOST];
  size_t sum = 0;
  int refused = 0;
  memset(h, 0, sizeof h);
  for (int round = 0; round < rounds; round++) {
    held *one = &h[draw(MOST)];
    if (one->block.data != NULL) {
      check_tag(dev, one);
      sum -= one->block.bytes;
      gb_ledger_free(&dev->ledger, &one->block);
    } else {
      const size_t bytes = random_size();
      const gb_status st = alloc(dev, bytes, &one->block);
      if (range || sum + bytes > dev->ledger.limit)
        assert_int_equal(st, sum + bytes <= dev->ledger.limit ? GB_OK : GB_ENOMEM);
      refused += st != GB_OK;
      if (st != GB_OK) continue;
      assert_int_equal((uintptr_t)one->block.data % GB_ALIGN, 0);
      one->tag = (unsigned char)draw(256);
      write_tag(dev, one);
      sum += bytes;
    }
    if (draw(50) == 0) gb_ledger_release(&dev->ledger);
    assert_int_equal(dev->ledger.used, sum);
  }
  for (int i = 0; i < MOST; i++) {
    if (h[i].block.data == NULL) continue;
    check_tag(dev, &h[i]);
    gb_ledger_free(&dev->ledger, &h[i].block);
  }
  assert_true(refused > 0 && refused < rounds / 2);
}

static void test_blocks (void **state) {
  (void)state;
  static const char *const schedules[] = {"eager", "lazy"};
  for (int s = 0; s < 2; s++) {
    gpu_begin();
    assert_true(emu_set("SCHEDULE", schedules[s]));
    gb_device *dev = open_gpu(16 * MIB);
    run_pattern(dev, 500, true);
    gb_ledger_release(&dev->ledger);
    assert_int_equal(gb_cuda_memory_mapped(&dev->memory), 0);
    gpu_close(dev);
  }
}

/* Without ranges of addresses the memory is one allocation of the limit. */
static void test_blocks_of_one_allocation (void **state) {
  (void)state;
  gpu_begin();
  assert_true(emu_set("FAIL", "cuMemAddressReserve@1+=801"));
  gb_device *dev = open_gpu(16 * MIB);
  run_pattern(dev, 400, false);
  assert_int_equal(gb_cuda_memory_mapped(&dev->memory), 16 * MIB);
  assert_true(emu_bytes(0) >= 16 * MIB + GB_CUDA_ROOM && emu_bytes(0) < 17 * MIB + GB_CUDA_ROOM);
  gpu_close(dev);
}

/* Pages follow the blocks: no more than these need, nothing after they are gone. */
static void test_pages (void **state) {
  gb_block b[3] = {{NULL}};
  (void)state;
  gpu_begin();
  gb_device *dev = open_gpu(64 * MIB);
  assert_int_equal(gb_cuda_memory_mapped(&dev->memory), 0);
  assert_int_equal(alloc(dev, 10, &b[0]), GB_OK);
  assert_int_equal(gb_cuda_memory_mapped(&dev->memory), 2 * MIB);
  assert_int_equal(alloc(dev, 2 * MIB, &b[1]), GB_OK);
  assert_int_equal(gb_cuda_memory_mapped(&dev->memory), 4 * MIB);
  assert_int_equal(alloc(dev, 20 * MIB, &b[2]), GB_OK);
  assert_int_equal(gb_cuda_memory_mapped(&dev->memory), 24 * MIB);
  gb_ledger_free(&dev->ledger, &b[2]);
  assert_int_equal(dev->memory.ops->idle(&dev->memory),
                   20 * MIB);                           /* the page that b[1] shares with it stays */
  assert_int_equal(alloc(dev, 15 * MIB, &b[2]), GB_OK); /* of what is kept */
  assert_int_equal(gb_cuda_memory_mapped(&dev->memory), 24 * MIB);
  gb_ledger_free(&dev->ledger, &b[2]);
  assert_int_equal(alloc(dev, 62 * MIB - 10, &b[2]), GB_OK); /* to the byte: what is kept goes back before */
  assert_true(gb_cuda_memory_mapped(&dev->memory) <= 66 * MIB);
  for (int i = 0; i < 3; i++) gb_ledger_free(&dev->ledger, &b[i]);
  gb_ledger_release(&dev->ledger);
  assert_int_equal(gb_cuda_memory_mapped(&dev->memory), 0);
  gpu_close(dev);
}

/* The limit that the library chooses leaves a tenth; a GPU with less than its limit says so and works on. */
static void test_room (void **state) {
  gb_block b = {NULL}, c = {NULL};
  gb_error err;
  (void)state;
  gpu_begin();
  assert_true(emu_set("BYTES", "104857600"));
  gb_device *dev = open_gpu(0);
  assert_true(dev->ledger.limit <= 90 * MIB && dev->ledger.limit > 80 * MIB);
  dev->ledger.limit = 200 * MIB;
  assert_int_equal(alloc(dev, 60 * MIB, &b), GB_OK);
  assert_int_equal(gb_ledger_alloc(&dev->ledger, GB_MEM_TENSOR, 60 * MIB, "", "", &c, &err), GB_ENOMEM);
  assert_non_null(strstr(err.text, "on device cuda:0, which has no such room"));
  assert_int_equal(dev->ledger.used, 60 * MIB);
  assert_int_equal(alloc(dev, 30 * MIB, &c), GB_OK);
  assert_int_equal(gb_device_wait(dev, &err), GB_OK);
  gb_ledger_free(&dev->ledger, &b);
  gb_ledger_free(&dev->ledger, &c);
  assert_int_equal(alloc(dev, 90 * MIB, &b), GB_OK); /* in pages that other blocks had */
  gb_ledger_free(&dev->ledger, &b);
  gpu_close(dev);
}

/* Each has an account and a memory of its own. */
static void test_simulated (void **state) {
  gb_block a = {NULL}, b = {NULL};
  gb_error err;
  unsigned char back = 0;
  (void)state;
  gpu_begin();
  gb_device *dev = open_gpu(64 * MIB);
  assert_int_equal(gb_device_add_simulated(dev, 32 * MIB, &err), GB_OK);
  assert_string_equal(dev->next->name, "cuda:0:2");
  assert_int_equal(alloc(dev, 64 * MIB, &a), GB_OK);
  assert_int_equal(alloc(dev->next, 32 * MIB, &b), GB_OK);
  assert_int_equal(gb_memory_fill(&dev->memory, a.data, 5, 64 * MIB, &err), GB_OK);
  assert_int_equal(gb_memory_across(&dev->next->memory, b.data, &dev->memory, a.data, MIB + 3, &err), GB_OK);
  assert_int_equal(gb_memory_download(&dev->next->memory, &back, (char *)b.data + MIB + 2, 1, &err), GB_OK);
  assert_int_equal(back, 5);
  gb_ledger_free(&dev->ledger, &a);
  gb_ledger_free(&dev->next->ledger, &b);
  gpu_close(dev);
}

/* -- copies */

typedef struct copies {
  gb_device *dev;
  size_t extent;
  unsigned char *model, *from, *back; /* of the host: the block's bytes, what is sent, what came */
  gb_block block;
} copies;

static void check_block (copies *c) {
  gb_error err;
  memset(c->back, 0xEE, c->extent);
  assert_int_equal(gb_memory_download(&c->dev->memory, c->back, c->block.data, c->extent, &err), GB_OK);
  assert_memory_equal(c->back, c->model, c->extent);
}

static void copy_once (copies *c, size_t at, size_t bytes, int way) {
  gb_error err;
  unsigned char *far = (unsigned char *)c->block.data + at;
  const size_t half = c->extent / 2;
  if (way == 0) {
    for (size_t i = 0; i < bytes; i++) c->from[i] = (unsigned char)(draws + i * 7 + i / 4093);
    memcpy(c->model + at, c->from, bytes);
    assert_int_equal(gb_memory_upload(&c->dev->memory, far, c->from, bytes, &err), GB_OK);
    memset(c->from, 0xDD, bytes); /* what was read may change at once */
  } else if (way == 1) {
    memset(c->model + at, (int)(draws % 256), bytes);
    assert_int_equal(gb_memory_fill(&c->dev->memory, far, (int)(draws % 256), bytes, &err), GB_OK);
  } else if (way == 2) {
    memcpy(c->model + half + at, c->model + at, bytes);
    assert_int_equal(gb_memory_copy(&c->dev->memory, far + half, far, bytes, &err), GB_OK);
  } else {
    memset(c->back, 0xEE, bytes + 1);
    assert_int_equal(gb_memory_download(&c->dev->memory, c->back, far, bytes, &err), GB_OK);
    assert_memory_equal(c->back, c->model + at, bytes);
    assert_int_equal(c->back[bytes], 0xEE);
  }
  draws++;
}

static void run_copies (const char *schedule) {
  static const size_t edges[] = {1, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097};
  gpu_begin();
  assert_true(emu_set("SCHEDULE", schedule));
  copies c = {.dev = open_gpu(0), .extent = 5 * GB_CUDA_SLOT};
  c.model = calloc(1, c.extent);
  c.from = malloc(c.extent);
  c.back = malloc(c.extent);
  assert_int_equal(alloc(c.dev, c.extent, &c.block), GB_OK);
  gb_error err;
  assert_int_equal(gb_memory_fill(&c.dev->memory, c.block.data, 0, c.extent, &err), GB_OK);
  for (size_t bytes = 0; bytes <= 130; bytes++)
    for (int way = 0; way < 4; way++) copy_once(&c, bytes % 17, bytes, way);
  for (size_t e = 0; e < sizeof edges / sizeof *edges; e++)
    for (size_t at = 0; at < 9; at++)
      for (int way = 0; way < 4; way++) copy_once(&c, at * 1001, edges[e], way);
  for (int way = 0, k = 0; k < 12; k++)
    copy_once(&c, 9000u * (unsigned)k, 8000, way); /* more than there are slots */
  check_block(&c);
  for (size_t slots = 1; slots <= 2; slots++)
    for (size_t off = 0; off < 3; off += 2)
      for (int way = 0; way < 4; way++) copy_once(&c, 5 * off, slots * GB_CUDA_SLOT - 1 + off, way);
  check_block(&c);
  gb_ledger_free(&c.dev->ledger, &c.block);
  free(c.model), free(c.from), free(c.back);
  gpu_close(c.dev);
}

static void test_copies (void **state) {
  (void)state;
  run_copies("eager");
  run_copies("lazy");
  run_copies("5");
}

/* A copy to a slot is queued and no event says when it is done: what passes the slot next waits for it all the same. */
static void test_slot_without_event (void **state) {
  enum { BYTES = 4096 };
  static unsigned char from[BYTES], back[BYTES];
  gb_block a, b;
  gb_error err;
  (void)state;
  gpu_begin();
  gb_device *dev = open_gpu(8 * MIB);
  assert_int_equal(alloc(dev, BYTES, &a), GB_OK);
  assert_int_equal(alloc(dev, BYTES, &b), GB_OK);
  assert_int_equal(gb_memory_fill(&dev->memory, a.data, 7, BYTES, &err), GB_OK);
  assert_true(emu_set("SCHEDULE", "lazy"));
  emu_begin();
  assert_true(emu_set("FAIL", "cudaEventRecord@1=2"));
  assert_int_equal(gb_memory_download(&dev->memory, back, a.data, BYTES, &err), GB_ENOMEM);
  for (int turn = 0; turn < GB_CUDA_SLOTS; turn++) {
    memset(from, 20 + turn, BYTES);
    assert_int_equal(gb_memory_upload(&dev->memory, b.data, from, BYTES, &err), GB_OK);
    assert_int_equal(gb_memory_copy(&dev->memory, a.data, b.data, BYTES / 2, &err), GB_OK);
    if (turn + 1 < GB_CUDA_SLOTS) continue;
    assert_int_equal(gb_memory_download(&dev->memory, back, b.data, BYTES, &err), GB_OK);
    assert_memory_equal(back, from, BYTES);
  }
  gb_ledger_free(&dev->ledger, &a);
  gb_ledger_free(&dev->ledger, &b);
  gpu_close(dev);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_blocks_of_one_allocation),
      cmocka_unit_test(test_pages),
      cmocka_unit_test(test_room),
      cmocka_unit_test(test_simulated),
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_slot_without_event),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
