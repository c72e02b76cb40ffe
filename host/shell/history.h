/* history.h - entries of the prompt in a text file, one line per entry, backslashes and line breaks
** escaped. */
#ifndef GB_SHELL_HISTORY_H
#define GB_SHELL_HISTORY_H

#include <stddef.h>

#include "base/status.h"

#define GB_HISTORY_MOST ((size_t)1 << 20) /* bytes at the end of a file that are read and kept */

/* Passes the entries, oldest first. Lines that are not UTF-8 or contain control characters are skipped, since
** they could affect the terminal, and counted in 'damaged' unless that is NULL. A longer file is cut to its last half at a line boundary. Errors: EIO (not
** a plain file), ENOMEM, EINTR. */
gb_status gb_history_read (const char *path, void (*take)(void *ud, const char *entry), void *ud,
                           size_t *damaged, gb_error *err);

/* Appends one entry, whole or not at all. Errors: EIO, ENOMEM. */
gb_status gb_history_append (const char *path, const char *entry, gb_error *err);

#endif
