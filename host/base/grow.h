/* grow.h - arrays that grow one element at a time, at twice the room whenever they are full. */
#ifndef GB_BASE_GROW_H
#define GB_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more element than 'n'. 'array' is the address of the pointer to elements of 'size'
** bytes, NULL at first; '*room' is its capacity. False: no memory; nothing has changed. */
static inline bool gb_grow (void *array, size_t n, size_t *room, size_t size) {
  if (n < *room) return true;
  const size_t more = *room == 0 ? 16 : 2 * *room;
  void *at;
  memcpy(&at, array, sizeof at); /* all object pointers have one representation */
  at = realloc(at, more * size);
  if (at == NULL) return false;
  memcpy(array, &at, sizeof at);
  *room = more;
  return true;
}

#endif
