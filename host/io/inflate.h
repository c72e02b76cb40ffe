/* inflate.h - members of gzip data as a stream, one after the other: by ISA-L where the build has it (inflate_isal.c), else by
** zlib (inflate_zlib.c). Checksums and lengths are checked. */
#ifndef GB_IO_INFLATE_H
#define GB_IO_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gb_inflate {
  void *state; /* NULL: not open */
  const unsigned char
      *next; /* packed bytes that are not taken yet: the caller gives more when all are taken */
  size_t available;
  const char *why; /* what is wrong with damaged data */
} gb_inflate;

typedef enum gb_inflated {
  GB_INFLATED_SOME,
  GB_INFLATED_END,   /* of a member, complete and intact */
  GB_INFLATED_STUCK, /* nothing was given or taken: it needs more packed bytes */
  GB_INFLATED_DAMAGED,
  GB_INFLATED_NO_MEMORY
} gb_inflated;

/* Bytes that the state is made in. */
extern const size_t gb_inflate_bytes;

/* At the start of a member. state: gb_inflate_bytes, aligned as malloc does, that stay until gb_inflate_close. false: no memory */
bool gb_inflate_open (gb_inflate *g, void *state);
void gb_inflate_reset (gb_inflate *g); /* to the start of another member; packed bytes stay */

/* At most 'room' bytes, less than 4 GiB. '*got' bytes are good in any case. */
gb_inflated gb_inflate_read (gb_inflate *g, unsigned char *to, size_t room, size_t *got);
void gb_inflate_close (gb_inflate *g); /* idempotent */

#endif
