/* pieces.c - a piece ends behind the last line that is complete in its slot; what follows moves to the front of the next slot. */
#include "io/text/pieces.h"

#include <string.h>

/* -- reading: on any thread, without the ledger */

/* Text behind what the slot holds, up to a NUL or an error. */
static void take_text (gb_pieces *p, gb_slot *s) {
  char *at = (char *)s->memory.data + s->used;
  size_t got;
  p->status = gb_unpack_read(p->bytes, at, p->room - s->used, &got, &p->error);
  const char *nul = memchr(at, 0, got);
  p->has_nul = nul != NULL;
  p->ended = p->has_nul || p->status != GB_OK || s->used + got < p->room;
  s->used += nul != NULL ? (size_t)(nul - at) : got;
}

/* The next piece; false where the text has ended, or where the slot holds no whole line. */
static bool fill_slot (gb_pieces *p, gb_slot *s) {
  char *text = s->memory.data;
  take_text(p, s);
  const bool whole = p->ended && !p->has_nul && p->status == GB_OK;
  s->bytes = whole ? s->used : (size_t)(gb_lines_end(p->cut, text, text + s->used) - text);
  p->short_of_room = s->bytes == 0 && !p->ended;
  if (p->has_nul) p->nul_lines = gb_lines_count(text + s->bytes, text + s->used);
  p->carry = s;
  return s->bytes > 0;
}

/* The next piece of those that are known. */
static bool refill_slot (gb_pieces *p, gb_slot *s) {
  size_t got;
  p->ended = p->next == p->nknown;
  if (p->ended) return false;
  s->bytes = s->used = p->known[p->next++].bytes;
  p->status = gb_unpack_read(p->bytes, s->memory.data, s->bytes, &got, &p->error);
  if (p->status == GB_OK && got < s->bytes) p->status = gb_text_changed(p->bytes->file.path, &p->error);
  p->ended = p->status != GB_OK;
  return !p->ended;
}

/* Nothing where the text has ended. */
static void fill_set (gb_pieces *p) {
  gb_slot *set = p->slot[p->filled];
  p->n = 0;
  for (size_t k = 0; k < p->nslots && !p->ended; k++) {
    if (k > 0 && p->known == NULL) {
      const gb_slot *last = &set[k - 1];
      set[k].used = last->used - last->bytes;
      memcpy(set[k].memory.data, (char *)last->memory.data + last->bytes, set[k].used);
    }
    if (!(p->known != NULL ? refill_slot(p, &set[k]) : fill_slot(p, &set[k]))) return;
    p->n = k + 1;
  }
}

/* -- slots: on the thread that has the ledger */

static gb_status open_slot (gb_pieces *p, gb_slot *s, gb_error *err) {
  const size_t bytes = p->room + GB_DECIMAL_BEHIND;
  if (s->memory.data != NULL && s->memory.bytes >= bytes) return GB_OK;
  gb_ledger_free(p->ledger, &s->memory);
  return gb_ledger_alloc(p->ledger, GB_MEM_WORKSPACE, bytes, "", "", &s->memory, err);
}

/* Slots of the set that is read next, which no thread uses; more than one where they take little of what is free. */
static gb_status open_set (gb_pieces *p, gb_error *err) {
  gb_slot *set = p->slot[p->filled];
  while (p->nslots > 1 && p->nslots * p->room > gb_ledger_room(p->ledger) / 8) p->nslots--;
  for (size_t k = 0; k < p->nslots; k++) GB_TRY(open_slot(p, &set[k], err));
  gb_unpack_remember(p->bytes, p->nslots * p->room);
  return GB_OK;
}

/* Moves what follows the last piece to the front of the set that is read next. */
static void move_carry (gb_pieces *p) {
  gb_slot *to = &p->slot[p->filled][0];
  to->used = 0;
  if (p->carry == NULL) return;
  to->used = p->carry->used - p->carry->bytes;
  memcpy(to->memory.data, (char *)p->carry->memory.data + p->carry->bytes, to->used);
  p->carry = NULL;
}

static gb_status prepare (gb_pieces *p, gb_error *err) {
  if (p->ended) return GB_OK;
  if (p->short_of_room) p->room = p->room < GB_ROW_MOST / 2 ? 2 * p->room : GB_ROW_MOST;
  GB_TRY(open_set(p, err));
  move_carry(p);
  return GB_OK;
}

/* -- the run */

typedef struct job {
  gb_pieces *p;
  gb_slot *set;
  gb_piece_work *work;
  void *ud;
} job;

/* Task 0 reads the next set. */
static void work_on (void *ud, gb_tasks *s, size_t task, int thread) {
  const job *j = ud;
  (void)s;
  (void)thread;
  if (task == 0) return fill_set(j->p);
  gb_slot *one = &j->set[task - 1];
  memset((char *)one->memory.data + one->bytes, 0, GB_DECIMAL_BEHIND);
  j->work(j->ud, task - 1, one->memory.data, one->bytes);
}

/* Why there is no more text. */
static gb_status end_of_text (const gb_pieces *p, size_t lines, gb_error *err) {
  const char *path = p->bytes->file.path;
  if (p->status != GB_OK) {
    if (err != NULL) *err = p->error;
    return p->status;
  }
  if (p->has_nul) return gb_text_has_nul(path, lines + 1 + p->nul_lines, err);
  if (p->ended) return GB_OK;
  return gb_row_too_long(path, lines + 1, p->carry->memory.data, p->carry->used, err);
}

gb_status gb_pieces_run (gb_pieces *p, gb_piece_plan *plan, gb_piece_work *work, gb_piece_done *done,
                         void *ud, const size_t *lines, gb_error *err) {
  for (;;) {
    const size_t n = p->n;
    const job j = {.p = p, .set = p->slot[p->filled], .work = work, .ud = ud};
    if (n == 0 && (p->ended || (p->short_of_room && p->room == GB_ROW_MOST)))
      return end_of_text(p, *lines, err);
    p->filled = 1 - p->filled;
    if (n > 0 && plan != NULL) plan(ud, n);
    GB_TRY(prepare(p, err));
    GB_TRY(gb_tasks_run(p->pool, 1 + n, work_on, (void *)(uintptr_t)&j, err));
    for (size_t k = 0; k < n; k++) GB_TRY(done(ud, k, j.set[k].bytes, err));
  }
}

/* -- opening and closing */

/* Reads 'n' bytes that are not wanted. */
static gb_status pass_bytes (gb_unpack *bytes, size_t n, gb_error *err) {
  char some[1024];
  gb_unpack_remember(bytes, n);
  while (n > 0) {
    size_t got;
    GB_TRY(gb_unpack_read(bytes, some, n < sizeof some ? n : sizeof some, &got, err));
    if (got == 0) return gb_text_changed(bytes->file.path, err);
    n -= got;
  }
  return GB_OK;
}

gb_status gb_pieces_open (gb_ledger *l, gb_unpack *bytes, gb_pool *pool, const gb_cut *cut, size_t offset,
                          size_t room, gb_pieces *out, gb_error *err) {
  const int threads = gb_pool_threads(pool);
  *out = (gb_pieces){.bytes = bytes,
                     .ledger = l,
                     .pool = pool,
                     .cut = cut,
                     .nslots = threads < GB_SLOTS_MOST ? (size_t)threads : GB_SLOTS_MOST,
                     .room = room < GB_ROW_MOST ? room : GB_ROW_MOST};
  return pass_bytes(bytes, offset, err);
}

void gb_pieces_know (gb_pieces *p, const gb_span *span, size_t n) {
  p->known = span;
  p->nknown = n;
  p->room = 1;
  for (size_t i = 0; i < n; i++)
    if (span[i].bytes > p->room) p->room = span[i].bytes;
}

void gb_pieces_close (gb_pieces *p) {
  for (int set = 0; set < 2; set++)
    for (size_t k = 0; k < GB_SLOTS_MOST; k++) gb_ledger_free(p->ledger, &p->slot[set][k].memory);
}
