/* digest.h - SHA-256 of text and files, as 64 hexadecimal digits. */
#ifndef GB_SYSTEM_DIGEST_H
#define GB_SYSTEM_DIGEST_H

#include "base/status.h"

#define GB_DIGEST 65

void gb_digest_text (const void *p, size_t n, char out[GB_DIGEST]);
gb_status gb_digest_file (const char *path, char out[GB_DIGEST], gb_error *err); /* EIO, EINTR */

#endif
