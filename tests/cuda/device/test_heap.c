/* Free spans against a list of blocks: what is taken is free and best, what is given back joins its
** neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "cuda/device/heap.h"

enum { GRAINS = 400, MOST = 64, ROUNDS = 200000 };

typedef struct model {
  gb_cuda_heap heap;
  int owner[GRAINS]; /* 0: free, else 1 + number of the block */
  size_t at[MOST], grains[MOST];
  uint64_t draws;
} model;

static size_t draw (model *m, size_t below) {
  return (size_t)(gb_rand_uniform(7, 1, m->draws++) * (double)below) % below;
}

/* The best span by looking at each grain; GRAINS where none is wide enough. */
static size_t best_of_model (const model *m, size_t grains) {
  size_t best = GRAINS, width = GRAINS + 1;
  for (size_t i = 0; i < GRAINS;) {
    size_t end = i;
    while (end < GRAINS && m->owner[end] == 0) end++;
    if (end - i >= grains && end - i < width) best = i, width = end - i;
    i = end == i ? i + 1 : end;
  }
  return best;
}

static void check_spans (const model *m) {
  size_t live = 0, i = 0;
  for (size_t s = 0; s < m->heap.nspans; s++) {
    const size_t from = m->heap.span[s].at / GB_CUDA_GRAIN, n = m->heap.span[s].bytes / GB_CUDA_GRAIN;
    for (; i < from; i++) assert_true(m->owner[i] != 0);
    for (; i < from + n; i++) assert_int_equal(m->owner[i], 0);
    assert_true(i == GRAINS || m->owner[i] != 0);
  }
  for (; i < GRAINS; i++) assert_true(m->owner[i] != 0);
  for (i = 0; i < GRAINS; i++) live += m->owner[i] != 0;
  assert_int_equal(m->heap.live, live * GB_CUDA_GRAIN);
}

static void enter (model *m, int block, size_t at, size_t grains) {
  m->at[block] = at;
  m->grains[block] = grains;
  for (size_t i = at; i < at + grains; i++) {
    assert_int_equal(m->owner[i], 0);
    m->owner[i] = 1 + block;
  }
}

static void take_one (model *m, int block) {
  const size_t grains = 1 + draw(m, draw(m, 8) == 0 ? 60 : 9), best = best_of_model(m, grains);
  size_t at = 0;
  const bool taken = gb_cuda_heap_take(&m->heap, grains * GB_CUDA_GRAIN, &at);
  assert_int_equal(taken, best < GRAINS);
  if (!taken) return;
  assert_int_equal(at, best * GB_CUDA_GRAIN);
  enter(m, block, best, grains);
}

static void take_there (model *m, int block) {
  const size_t at = draw(m, GRAINS), grains = 1 + draw(m, 5);
  bool is_free = at + grains <= GRAINS;
  for (size_t i = at; i < at + grains && i < GRAINS; i++) is_free &= m->owner[i] == 0;
  assert_int_equal(gb_cuda_heap_is_free(&m->heap, at * GB_CUDA_GRAIN, grains * GB_CUDA_GRAIN), is_free);
  if (!is_free) return;
  assert_true(gb_cuda_heap_take_at(&m->heap, at * GB_CUDA_GRAIN, grains * GB_CUDA_GRAIN));
  enter(m, block, at, grains);
}

static void give_one (model *m, int block) {
  gb_cuda_heap_give(&m->heap, m->at[block] * GB_CUDA_GRAIN, m->grains[block] * GB_CUDA_GRAIN);
  for (size_t i = m->at[block]; i < m->at[block] + m->grains[block]; i++) m->owner[i] = 0;
  m->grains[block] = 0;
}

static void test_random_patterns (void **state) {
  static model m;
  (void)state;
  assert_true(gb_cuda_heap_open(&m.heap, GRAINS * GB_CUDA_GRAIN));
  for (int round = 0; round < ROUNDS; round++) {
    const int block = (int)draw(&m, MOST);
    if (m.grains[block] > 0) give_one(&m, block);
    else if (draw(&m, 3) == 0) take_there(&m, block);
    else take_one(&m, block);
    if (round % 16 == 0) check_spans(&m);
  }
  for (int block = 0; block < MOST; block++)
    if (m.grains[block] > 0) give_one(&m, block);
  assert_int_equal(m.heap.nspans, 1);
  assert_int_equal(m.heap.span[0].at, 0);
  assert_int_equal(m.heap.span[0].bytes, GRAINS * GB_CUDA_GRAIN);
  assert_int_equal(m.heap.live, 0);
  gb_cuda_heap_close(&m.heap);
}

/* More blocks than the first array of spans has room for: each second one is given back. */
static void test_many_spans (void **state) {
  enum { N = 5000 };
  gb_cuda_heap h;
  size_t at[N];
  (void)state;
  assert_true(gb_cuda_heap_open(&h, N * GB_CUDA_GRAIN));
  for (int i = 0; i < N; i++) assert_true(gb_cuda_heap_take(&h, gb_cuda_grains(1), &at[i]));
  assert_false(gb_cuda_heap_take(&h, gb_cuda_grains(0), &at[0]));
  for (int i = 0; i < N; i += 2) gb_cuda_heap_give(&h, at[i], GB_CUDA_GRAIN);
  assert_int_equal(h.nspans, N / 2);
  for (int i = 1; i < N; i += 2) gb_cuda_heap_give(&h, at[i], GB_CUDA_GRAIN);
  assert_int_equal(h.nspans, 1);
  gb_cuda_heap_close(&h);
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_patterns),
                                     cmocka_unit_test(test_many_spans)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
