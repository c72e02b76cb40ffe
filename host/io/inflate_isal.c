/* inflate_isal.c - inflate by Intel's ISA-L, about twice as fast as zlib. All of its state is in the bytes that it gets. */
#include <isa-l/igzip_lib.h>

#include "io/inflate.h"

/* The heading of a member is read by a call of its own: isal_inflate forgets the checksum of one that comes in two parts. */
typedef struct member {
  struct inflate_state data;
  struct isal_gzip_header heading; /* no room for names: they are passed over */
  bool in_heading;
} member;

#define RESERVED_FLAGS 0xE0u

const size_t gb_inflate_bytes = sizeof(member);

void gb_inflate_reset (gb_inflate *g) {
  member *m = g->state;
  isal_inflate_reset(&m->data);
  isal_gzip_header_init(&m->heading);
  m->data.crc_flag = ISAL_GZIP_NO_HDR_VER;
  m->in_heading = true;
}

bool gb_inflate_open (gb_inflate *g, void *state) {
  member *m = state;
  *g = (gb_inflate){.state = state};
  isal_inflate_init(&m->data);
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

/* Reads on in the heading. False: it is damaged, or needs more packed bytes. */
static bool pass_heading (member *m, int *code) {
  if (!m->in_heading) return true;
  *code = isal_read_gzip_header(&m->data, &m->heading);
  if (*code != ISAL_DECOMP_OK) return false;
  m->in_heading = false;
  return (m->heading.flags & RESERVED_FLAGS) == 0 || (*code = ISAL_INVALID_WRAPPER, false);
}

gb_inflated gb_inflate_read (gb_inflate *g, unsigned char *to, size_t room, size_t *got) {
  member *m = g->state;
  struct inflate_state *s = &m->data;
  const size_t before = g->available;
  int code = ISAL_DECOMP_OK;
  s->next_in = (unsigned char *)g->next; /* it is not written to */
  s->avail_in = (uint32_t)before;
  s->next_out = to;
  s->avail_out = (uint32_t)room;
  const bool in_data = pass_heading(m, &code);
  if (in_data) code = isal_inflate(s);
  g->next = s->next_in;
  g->available = s->avail_in;
  *got = room - s->avail_out;
  if (code < 0) return g->why = reason(code), GB_INFLATED_DAMAGED;
  if (in_data && s->block_state == ISAL_BLOCK_FINISH) return GB_INFLATED_END;
  return *got == 0 && g->available == before ? GB_INFLATED_STUCK : GB_INFLATED_SOME;
}

void gb_inflate_close (gb_inflate *g) { *g = (gb_inflate){.state = NULL}; }
