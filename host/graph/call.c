/* call.c - the table of registered ops, by ascending number. */
#include "graph/call.h"

#include <limits.h>
#include <pthread.h>

#include "base/grow.h"

typedef struct entry {
  gb_call call;
  int number, refs;
} entry;

/* One table for the process, so that no number is used twice; its lock keeps threads apart. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry **entries; /* each in its own block: an entry must not move while it runs */
static size_t nentries, room;
static int next_number;

/* Index of 'number', or the index where it belongs. */
static size_t find (int number) {
  size_t lo = 0, hi = nentries;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (entries[mid]->number < number) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static entry *entry_of (int number) {
  const size_t at = find(number);
  return at < nentries && entries[at]->number == number ? entries[at] : NULL;
}

static entry *find_same (const gb_call *c) {
  for (size_t i = 0; i < nentries; i++)
    if (entries[i]->call.run == c->run && entries[i]->call.ud == c->ud) return entries[i];
  return NULL;
}

static entry *add (const gb_call *c) {
  if (next_number == INT_MAX || !gb_grow(&entries, nentries, &room, sizeof *entries)) return NULL;
  entry *e = malloc(sizeof *e);
  if (e == NULL) return NULL;
  *e = (entry){.call = *c, .number = next_number++};
  return entries[nentries++] = e;
}

int gb_call_register (const gb_call *c) {
  pthread_mutex_lock(&lock);
  entry *e = find_same(c);
  if (e == NULL) e = add(c);
  if (e != NULL) e->refs++;
  pthread_mutex_unlock(&lock);
  return e == NULL ? -1 : e->number;
}

const gb_call *gb_call_get (int number) {
  pthread_mutex_lock(&lock);
  const entry *e = entry_of(number);
  pthread_mutex_unlock(&lock);
  return e == NULL ? NULL : &e->call;
}

void gb_call_ref (int number) {
  pthread_mutex_lock(&lock);
  entry *e = entry_of(number);
  if (e != NULL) e->refs++;
  pthread_mutex_unlock(&lock);
}

/* Takes the entry out of the table where nothing counts it any more; else NULL. */
static entry *take_unused (int number) {
  const size_t at = find(number);
  if (at == nentries || entries[at]->number != number || --entries[at]->refs > 0) return NULL;
  entry *e = entries[at];
  nentries--;
  memmove(entries + at, entries + at + 1, (nentries - at) * sizeof *entries);
  return e;
}

void gb_call_unref (int number) {
  pthread_mutex_lock(&lock);
  entry *e = take_unused(number);
  pthread_mutex_unlock(&lock);
  if (e == NULL) return;
  if (e->call.release != NULL) e->call.release(e->call.ud);
  free(e);
}
