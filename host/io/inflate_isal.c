/* inflate_isal.c - inflate by Intel's ISA-L, about twice as fast as zlib. All of its state is in the bytes that it gets. */
#include <isa-l/igzip_lib.h>

#include "io/inflate.h"

const size_t gb_inflate_bytes = sizeof(struct inflate_state);

void gb_inflate_reset (gb_inflate *g) {
  struct inflate_state *s = g->state;
  isal_inflate_reset(s);
  s->crc_flag = ISAL_GZIP;
}

bool gb_inflate_open (gb_inflate *g, void *state) {
  *g = (gb_inflate){.state = state};
  isal_inflate_init(state);
  gb_inflate_reset(g);
  return true;
}

/* As zlib says it. */
static const char *reason (int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK: return "invalid block";
    case ISAL_INVALID_SYMBOL: return "invalid code";
    case ISAL_INVALID_LOOKBACK: return "invalid distance too far back";
    case ISAL_INVALID_WRAPPER: return "incorrect header check";
    case ISAL_UNSUPPORTED_METHOD: return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM: return "incorrect data check";
    default: return "unknown form";
  }
}

gb_inflated gb_inflate_read (gb_inflate *g, unsigned char *to, size_t room, size_t *got) {
  struct inflate_state *s = g->state;
  const size_t before = g->available;
  s->next_in = (unsigned char *)g->next; /* it is not written to */
  s->avail_in = (uint32_t)before;
  s->next_out = to;
  s->avail_out = (uint32_t)room;
  const int code = isal_inflate(s);
  g->next = s->next_in;
  g->available = s->avail_in;
  *got = room - s->avail_out;
  if (code < 0) return g->why = reason(code), GB_INFLATED_DAMAGED;
  if (s->block_state == ISAL_BLOCK_FINISH) return GB_INFLATED_END;
  return *got == 0 && g->available == before ? GB_INFLATED_STUCK : GB_INFLATED_SOME;
}

void gb_inflate_close (gb_inflate *g) { *g = (gb_inflate){.state = NULL}; }
