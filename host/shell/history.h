/* history.h - entries of the prompt in a text file. Two lines an entry: one when it is typed, with an id and the working
** directory, so that a crash loses nothing; one when it has ended, with the id, how long it took and how it ended. A
** line without an id is an entry too: files of older versions have no others. Backslashes and line breaks are
** escaped. */
#ifndef GB_SHELL_HISTORY_H
#define GB_SHELL_HISTORY_H

#include <stddef.h>

#include "base/status.h"

#define GB_HISTORY_MOST ((size_t)1 << 20)     /* bytes at the end of a file that are read and kept */
#define GB_HISTORY_LONGEST ((size_t)16 << 10) /* bytes of an entry: one that is recalled is drawn whole */
#define GB_HISTORY_ID 48                      /* bytes that hold an id */

typedef enum gb_history_end {
  GB_END_UNKNOWN, /* the session was killed, or is still at it */
  GB_END_OK,
  GB_END_ERROR,
  GB_END_INTERRUPTED
} gb_history_end;

typedef struct gb_history_entry {
  const char *text, *directory; /* "": unknown */
  double began;                 /* seconds since 1970; 0: unknown */
  double seconds;               /* that it took, unless 'end' is unknown */
  gb_history_end end;
  const char *id; /* "": none */
} gb_history_entry;

typedef struct gb_history {
  gb_history_entry *entry; /* the oldest first */
  size_t n;
  size_t damaged; /* lines left out: not UTF-8, control characters, too long, cut off */
  char *bytes;    /* that the texts lie in */
} gb_history;

/* Reads a file; a longer one is cut to its last half at a line boundary. Errors: EIO (not a plain file), ENOMEM,
** EINTR. */
gb_status gb_history_read (const char *path, gb_history *out, gb_error *err);
void gb_history_clear (gb_history *h); /* idempotent; zeros are fine */

/* NULL, or why a text is no entry: what would be left out when it is read. */
const char *gb_history_unfit (const char *text);

/* Appends an entry, whole or not at all, and gives its id. Errors: EIO, ENOMEM. */
gb_status gb_history_begin (const char *path, const char *text, char id[GB_HISTORY_ID], gb_error *err);
/* Appends how the entry of this id ended. Errors: EIO. */
gb_status gb_history_finish (const char *path, const char *id, double seconds, gb_history_end end,
                             gb_error *err);

#endif
