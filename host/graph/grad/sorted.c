/* sorted.c - nodes by age. */
#include "graph/grad/sorted.h"

#include <stdlib.h>

static int by_serial (const void *a, const void *b) {
  const uint64_t x = (*(gb_node *const *)a)->serial, y = (*(gb_node *const *)b)->serial;
  return x < y ? -1 : x > y;
}

gb_status gb_sorted_below (gb_graph *g, size_t nroots, gb_node *const *roots, gb_sorted *out, gb_error *err) {
  *out = (gb_sorted){0};
  GB_TRY(gb_graph_order(g, nroots, roots, GB_WALK_ALL, &out->node, &out->count, err));
  qsort(out->node, out->count, sizeof *out->node, by_serial);
  return GB_OK;
}

void gb_sorted_clear (gb_sorted *s) {
  free(s->node);
  *s = (gb_sorted){0};
}

size_t gb_sorted_find (const gb_sorted *s, const gb_node *n) {
  size_t lo = 0, hi = s->count;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (s->node[mid]->serial < n->serial) lo = mid + 1;
    else hi = mid;
  }
  return lo < s->count && s->node[lo] == n ? lo : s->count;
}
