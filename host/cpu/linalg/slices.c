/* slices.c - dense algebra of a batch.
**
** Slices of at most a block of numbers are handed to the threads, some a task: each is computed by one thread, which has
** scratch of its own. Larger ones follow one another, each computed by all threads. Either way a slice has the bits that
** it has alone. The failure that is reported is that of the first slice that fails, whatever the threads do. */
#include "cpu/linalg/slices.h"

#include <math.h>
#include <string.h>

#include "program/work.h"

typedef struct batch {
  const gb_opaque_call *call;
  const gb_slices *s;
  gb_opaque_fn *run;
  size_t each, scratch; /* slices of a task; bytes of a thread */
  atomic_flag lock;     /* of the failure */
  atomic_size_t failed; /* the first slice that failed; SIZE_MAX: none */
  gb_status status;
} batch;

static size_t slices_of_task (const gb_slices *s) {
  const double each = GB_FEW_MULTIPLY_ADDS / 8 / fmax(1, gb_opaque_work(&s->one).flops);
  return each < 1 ? 1 : each > 256 ? 256 : (size_t)each;
}

static size_t tasks_of (const gb_slices *s) { return gb_blocks(s->count, slices_of_task(s)); }

/* The threads of small slices, NULL: the caller alone. */
static const gb_pool *threads_of (const gb_pool *pool, const gb_slices *s) {
  const double work = (double)s->count * gb_opaque_work(&s->one).flops;
  return tasks_of(s) > 1 && work >= GB_FEW_MULTIPLY_ADDS ? pool : NULL;
}

static size_t scratch_of (const gb_pool *pool, const gb_slices *s, gb_scratch_fn *scratch) {
  return scratch == NULL ? 0 : gb_align64(scratch(pool, &s->one));
}

/* Any thread may take a task. */
size_t gb_cpu_slices_scratch (const gb_pool *pool, const gb_opaque *o, gb_scratch_fn *scratch) {
  const gb_slices s = gb_slices_of(o);
  if (s.count == 0 || scratch == NULL) return 0;
  if (!gb_slice_is_small(&s.one)) return scratch(pool, &s.one);
  const size_t parts = (size_t)gb_pool_threads(threads_of(pool, &s));
  return (parts - 1) * scratch_of(NULL, &s, scratch) + scratch(NULL, &s.one);
}

static gb_status run_slice (const batch *b, size_t k, gb_pool *pool, void *scratch, gb_error *err) {
  const gb_opaque *o = &b->s->one;
  const void *in[2];
  void *out[GB_MAX_OUTPUTS];
  for (int i = 0; i < o->nin; i++) in[i] = (const char *)b->call->in[i] + gb_slice_of_input(b->s, i, k);
  for (int i = 0; i < o->nout; i++) out[i] = (char *)b->call->out[i] + gb_slice_of_result(b->s, i, k);
  const gb_opaque_call one = {pool, o, in, out, scratch, err};
  return b->run(&one);
}

static void note (batch *b, size_t k, gb_status st, const gb_error *err) {
  while (atomic_flag_test_and_set_explicit(&b->lock, memory_order_acquire)) continue;
  if (k < atomic_load(&b->failed)) {
    atomic_store(&b->failed, k);
    b->status = st;
    if (b->call->err != NULL) *b->call->err = *err;
  }
  atomic_flag_clear_explicit(&b->lock, memory_order_release);
}

static void run_some (void *ud, gb_tasks *s, size_t task, int thread) {
  batch *b = ud;
  gb_error err;
  for (size_t k = task * b->each; k < b->s->count && k < (task + 1) * b->each; k++) {
    if (!gb_tasks_poll(s) || k > atomic_load(&b->failed)) return;
    const gb_status st = run_slice(b, k, NULL, (char *)b->call->scratch + (size_t)thread * b->scratch, &err);
    if (st != GB_OK) note(b, k, st, &err);
  }
}

static gb_status run_large (batch *b) {
  for (size_t k = 0; k < b->s->count; k++) {
    const gb_status st = run_slice(b, k, b->call->pool, b->call->scratch, b->call->err);
    if (st != GB_OK) return st == GB_EINTR ? st : gb_slice_failed(b->s, k, st, b->call->err);
  }
  return GB_OK;
}

gb_status gb_cpu_slices (const gb_opaque_call *c, gb_opaque_fn *run, gb_scratch_fn *scratch) {
  const gb_slices s = gb_slices_of(c->o);
  batch b = {.call = c,
             .s = &s,
             .run = run,
             .each = slices_of_task(&s),
             .scratch = scratch_of(NULL, &s, scratch),
             .lock = ATOMIC_FLAG_INIT,
             .failed = SIZE_MAX};
  if (!gb_slice_is_small(&s.one)) return run_large(&b);
  /* all of the declared scratch, also parts that no task uses */
  memset(c->scratch, 0, gb_cpu_slices_scratch(c->pool, c->o, scratch));
  gb_pool *pool = threads_of(c->pool, &s) == NULL ? NULL : c->pool;
  GB_TRY(gb_tasks_run(pool, tasks_of(&s), run_some, &b, c->err));
  const size_t failed = atomic_load(&b.failed);
  if (failed == SIZE_MAX) return GB_OK;
  return b.status == GB_EINTR ? b.status : gb_slice_failed(&s, failed, b.status, c->err);
}
