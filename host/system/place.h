/* place.h - folders, locks and kinds of file systems. */
#ifndef GB_SYSTEM_PLACE_H
#define GB_SYSTEM_PLACE_H

#include <stdbool.h>

#include "base/status.h"

/* Makes a folder and those above it; one that is there is fine. Errors: EIO. */
gb_status gb_folder_make (const char *path, gb_error *err);

/* Takes the lock of a file, which is made if it is not there. '*fd' is -1 if another process has the lock. The lock ends with the process,
** or when the descriptor is closed. Errors: EIO. */
gb_status gb_lock_take (const char *path, int *fd, gb_error *err);

/* Does this path lie on a file system of the network, where locks and shared memory of SQLite's log cannot be relied on? */
bool gb_place_is_remote (const char *path);

#endif
