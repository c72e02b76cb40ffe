/* history.h - what was entered at the prompt, in a text file: one line an entry, backslashes and line
** breaks escaped. */
#ifndef GB_SHELL_HISTORY_H
#define GB_SHELL_HISTORY_H

#include <stddef.h>

#include "base/status.h"

#define GB_HISTORY_MOST ((size_t)1 << 20) /* bytes of a file that are read, and kept: the last ones */

/* Gives the entries, oldest first. Lines that are not UTF-8, or hold control characters, are left out: no
** terminal should be shown them. A longer file is cut to its last half, whole lines, on the way. Errors:
** EIO (no plain file), ENOMEM, EINTR. */
gb_status gb_history_read (const char *path, void (*take)(void *ud, const char *entry), void *ud,
                           gb_error *err);

/* Adds one entry; all of it or nothing. Errors: EIO, ENOMEM. */
gb_status gb_history_append (const char *path, const char *entry, gb_error *err);

#endif
