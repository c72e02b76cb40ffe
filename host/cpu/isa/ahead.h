/* ahead.h - memory that will be read next, brought into the second cache while something else is computed. */
#ifndef GB_CPU_ISA_AHEAD_H
#define GB_CPU_ISA_AHEAD_H

#include <stddef.h>

typedef struct gb_next_bytes {
  const void *from; /* NULL: nothing is known of what comes next */
  size_t bytes;
} gb_next_bytes;

static inline void gb_skip_bytes (gb_next_bytes *n, size_t bytes) {
  if (n->from == NULL) return;
  n->from = (const char *)n->from + bytes;
  n->bytes -= bytes;
}

/* Lines before 'asked' are on their way; each question adds 'step' bytes to those that are due. */
typedef struct gb_ahead {
  const char *asked, *due;
  size_t step;
} gb_ahead;

/* The span is asked for in equal parts by 'questions' questions. */
static inline gb_ahead gb_ahead_of (gb_next_bytes s, size_t questions) {
  const size_t bytes = s.from == NULL ? 0 : s.bytes;
  return (gb_ahead){s.from, s.from, (bytes + questions - 1) / questions};
}

static inline void gb_ask_ahead (gb_ahead *a) {
  enum { LINE = 64, SECOND_CACHE = 2 };
  for (a->due += a->step; a->asked < a->due; a->asked += LINE) __builtin_prefetch(a->asked, 0, SECOND_CACHE);
}

#endif
