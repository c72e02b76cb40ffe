/* pieces.h - text in pieces that begin and end with whole lines, several at a time: while threads work on one set of pieces, one
** of them reads the next. What is in a piece depends on the room of a slot, never on threads. */
#ifndef GB_IO_PIECES_H
#define GB_IO_PIECES_H

#include "base/tasks.h"
#include "io/text/head.h"

enum { GB_SLOTS_MOST = 64 }; /* pieces of a set */

typedef struct gb_slot {
  gb_block memory; /* of 'room' bytes of text, and GB_DECIMAL_BEHIND more */
  size_t bytes;    /* of the piece */
  size_t used;     /* of text: the piece, and what belongs to the next one */
} gb_slot;

/* Where a piece stands in the text, found when it was read for the first time. */
typedef struct gb_span {
  uint32_t bytes, rows;
} gb_span;

typedef struct gb_pieces {
  gb_unpack *bytes;
  gb_ledger *ledger;
  gb_pool *pool;
  const gb_cut *cut;
  gb_slot slot[2][GB_SLOTS_MOST]; /* of two sets */
  size_t nslots, room;
  int filled;         /* the set that is read next */
  size_t n;           /* pieces in it */
  gb_slot *carry;     /* behind whose piece the next one begins; NULL: at the file's position */
  bool short_of_room; /* a line is longer than a slot */
  bool ended;         /* there is no more text */
  bool has_nul;       /* the text ends at a NUL */
  size_t nul_lines;   /* line breaks between the last piece and it */
  gb_status status;   /* of reading: what was read before is good */
  gb_error error;
  const gb_span *known; /* the second time: what each piece holds */
  size_t nknown, next;
} gb_pieces;

/* Works on piece k of the set, n in all; 'text' is followed by GB_DECIMAL_BEHIND bytes of 0. */
typedef void gb_piece_work (void *ud, size_t k, char *text, size_t bytes);
/* Called in the order of the text behind the work on each piece. */
typedef gb_status gb_piece_done (void *ud, size_t k, size_t bytes, gb_error *err);
/* Called before a set of n pieces is worked on; may be NULL. */
typedef void gb_piece_plan (void *ud, size_t n);

/* From byte 'offset' of 'bytes' on, which is at its start; no slot takes more than 'room' bytes at first. A set has as many pieces
** as the pool has threads, fewer where the ledger has little room. Errors: ENOMEM, and those of gb_unpack_read. */
gb_status gb_pieces_open (gb_ledger *l, gb_unpack *bytes, gb_pool *pool, const gb_cut *cut, size_t offset,
                          size_t room, gb_pieces *out, gb_error *err);

/* The pieces of a text that was read before: it is cut in the same way. */
void gb_pieces_know (gb_pieces *p, const gb_span *span, size_t n);

/* Runs over the text. '*lines' counts the lines of the pieces that are done, for messages. Errors: those of 'done';
** EFORMAT (path:line: a NUL byte, a row of more than GB_ROW_MOST bytes), ENOMEM, EINTR, EIO; errors of the text come in
** the order of the text. */
gb_status gb_pieces_run (gb_pieces *p, gb_piece_plan *plan, gb_piece_work *work, gb_piece_done *done,
                         void *ud, const size_t *lines, gb_error *err);

void gb_pieces_close (gb_pieces *p); /* idempotent */

#endif
