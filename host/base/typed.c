/* typed.c - a queue of bytes. */
#include "base/typed.h"

static char queue[4096];
static size_t first, last; /* of it are kept: first .. last - 1 */

void gb_typed_keep (const char *keys, size_t n) {
  for (size_t i = 0; i < n && last < sizeof queue; i++) queue[last++] = keys[i];
}

bool gb_typed_take (unsigned char *key) {
  if (first == last) return false;
  *key = (unsigned char)queue[first++];
  if (first == last) first = last = 0;
  return true;
}
