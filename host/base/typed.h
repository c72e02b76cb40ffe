/* typed.h - keys that were typed while the terminal was asked a question, and came with its answer. Whoever reads keys
** next takes them first. Main thread only. */
#ifndef GB_BASE_TYPED_H
#define GB_BASE_TYPED_H

#include <stdbool.h>
#include <stddef.h>

/* Behind those that are kept already; what has no room (4 KiB) is lost. */
void gb_typed_keep (const char *keys, size_t n);
bool gb_typed_take (unsigned char *key); /* false: none is left */

#endif
