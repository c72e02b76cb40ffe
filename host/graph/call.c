/* call.c - the table of registered ops, by ascending number. */
#include "graph/call.h"

#include <limits.h>

#include "base/grow.h"

typedef struct entry {
  gb_call call;
  int number, refs;
} entry;

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

int gb_call_register (const gb_call *c) {
  for (size_t i = 0; i < nentries; i++) { /* two Lua states may register the same op */
    if (entries[i]->call.run != c->run || entries[i]->call.ud != c->ud) continue;
    entries[i]->refs++;
    return entries[i]->number;
  }
  if (next_number == INT_MAX || !gb_grow(&entries, nentries, &room, sizeof *entries)) return -1;
  entry *e = malloc(sizeof *e);
  if (e == NULL) return -1;
  *e = (entry){.call = *c, .number = next_number++, .refs = 1};
  entries[nentries++] = e;
  return e->number;
}

const gb_call *gb_call_get (int number) {
  const entry *e = entry_of(number);
  return e == NULL ? NULL : &e->call;
}

void gb_call_ref (int number) {
  entry *e = entry_of(number);
  if (e != NULL) e->refs++;
}

void gb_call_unref (int number) {
  const size_t at = find(number);
  if (at == nentries || entries[at]->number != number || --entries[at]->refs > 0) return;
  entry *e = entries[at];
  nentries--;
  memmove(entries + at, entries + at + 1, (nentries - at) * sizeof *entries);
  if (e->call.release != NULL) e->call.release(e->call.ud);
  free(e);
}
