/* inflate_zlib.c - inflate by zlib. */
#include <stdlib.h>
#include <zlib.h>

#include "io/inflate.h"

#define GZIP_ANY_WINDOW (16 + 15)

const size_t gb_inflate_bytes = sizeof(z_stream);

static void *take (void *ud, unsigned n, unsigned size) {
  (void)ud;
  return calloc(n, size);
}

static void give (void *ud, void *p) {
  (void)ud;
  free(p);
}

bool gb_inflate_open (gb_inflate *g, void *state) {
  z_stream *z = state;
  *z = (z_stream){.zalloc = take, .zfree = give};
  *g = (gb_inflate){.state = NULL};
  if (inflateInit2(z, GZIP_ANY_WINDOW) != Z_OK) return false;
  g->state = z;
  return true;
}

void gb_inflate_reset (gb_inflate *g) { inflateReset(g->state); }

gb_inflated gb_inflate_read (gb_inflate *g, unsigned char *to, size_t room, size_t *got) {
  z_stream *z = g->state;
  z->next_in = (unsigned char *)g->next; /* it is not written to */
  z->avail_in = (unsigned)g->available;
  z->next_out = to;
  z->avail_out = (unsigned)room;
  const int code = inflate(z, Z_NO_FLUSH);
  g->next = z->next_in;
  g->available = z->avail_in;
  *got = room - z->avail_out;
  g->why = z->msg != NULL ? z->msg : "unknown form";
  switch (code) {
    case Z_OK: return GB_INFLATED_SOME;
    case Z_STREAM_END: return GB_INFLATED_END;
    case Z_BUF_ERROR: return GB_INFLATED_STUCK;
    case Z_MEM_ERROR: return GB_INFLATED_NO_MEMORY;
    default: return GB_INFLATED_DAMAGED;
  }
}

void gb_inflate_close (gb_inflate *g) {
  if (g->state != NULL) inflateEnd(g->state);
  *g = (gb_inflate){.state = NULL};
}
