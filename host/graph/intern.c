/* intern.c - an open-addressed set of strings without removal. */
#include "graph/intern.h"

#include <stdlib.h>

#include "base/hash.h"

struct gb_interned {
  char **slot; /* power of two, NULL = free */
  size_t nslots, used;
};

gb_interned *gb_interned_new (void) {
  gb_interned *t = malloc(sizeof *t);
  if (t == NULL) return NULL;
  *t = (gb_interned){.slot = calloc(64, sizeof *t->slot), .nslots = 64};
  if (t->slot == NULL) {
    free(t);
    return NULL;
  }
  return t;
}

void gb_interned_free (gb_interned *t) {
  if (t == NULL) return;
  for (size_t i = 0; i < t->nslots; i++) free(t->slot[i]);
  free(t->slot);
  free(t);
}

/* The slot that holds 'text', or the free slot for it. */
static char **find (char **slot, size_t nslots, const char *text) {
  size_t i = (size_t)gb_hash_bytes(0, text, strlen(text));
  for (;; i++) {
    char **s = &slot[i & (nslots - 1)];
    if (*s == NULL || strcmp(*s, text) == 0) return s;
  }
}

static int grow (gb_interned *t) {
  const size_t n = 2 * t->nslots;
  char **slot = calloc(n, sizeof *slot);
  if (slot == NULL) return 0;
  for (size_t i = 0; i < t->nslots; i++)
    if (t->slot[i] != NULL) *find(slot, n, t->slot[i]) = t->slot[i];
  free(t->slot);
  t->slot = slot;
  t->nslots = n;
  return 1;
}

const char *gb_interned_get (gb_interned *t, const char *text) {
  if (text == NULL || *text == '\0') return "";
  char **s = find(t->slot, t->nslots, text);
  if (*s != NULL) return *s;
  if (2 * (t->used + 1) > t->nslots) {
    if (!grow(t)) return "";
    s = find(t->slot, t->nslots, text);
  }
  const size_t n = strlen(text) + 1;
  if ((*s = malloc(n)) == NULL) return "";
  memcpy(*s, text, n);
  t->used++;
  return *s;
}
