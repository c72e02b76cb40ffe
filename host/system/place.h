/* place.h - folders, locks, claims, journals and kinds of file systems. */
#ifndef GB_SYSTEM_PLACE_H
#define GB_SYSTEM_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Makes a folder and those above it; one that is there is fine. Errors: EIO. */
gb_status gb_folder_make (const char *path, gb_error *err);

/* Takes the lock of a file, which is made if it is not there. '*fd' is -1 if another process has the lock. The lock ends with the process,
** or when the descriptor is closed. Errors: EIO. */
gb_status gb_lock_take (const char *path, int *fd, gb_error *err);

/* Makes a file that is not there, with this text: of several processes that try, on any host, one is told that it won. The file is there
** with all of the text, but on file systems without hard links, where a process that is killed may leave a part. Errors: EIO. */
gb_status gb_claim_make (const char *path, const char *text, size_t n, bool *won, gb_error *err);

/* Adds bytes to the end of a file that no other process writes: all of them, or none. A missing file is made. durable: they are on the
** disk when this returns. Errors: EIO. */
gb_status gb_journal_append (const char *path, const char *text, size_t n, bool durable, gb_error *err);

/* Leaves the first bytes of a file, where it has more. Errors: EIO. */
gb_status gb_file_cut (const char *path, uint64_t bytes, gb_error *err);

/* Does this path lie on a file system of the network, where locks and shared memory of SQLite's log cannot be relied on? */
bool gb_place_is_remote (const char *path);

#endif
