/* json.h - strict parsing of JSON from files, with exact reasons for failures. */
#ifndef GB_IO_JSON_H
#define GB_IO_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "base/status.h"

/* Upper bound of the memory for the values of n bytes of JSON; the worst case are short lists of short
** lists. */
static inline size_t gb_json_bytes (size_t n) { return 4096 + 48 * n; }

/* Any value. The text must be UTF-8 without NUL, keys must be unique, whole numbers must fit 64 bits. 'what'
** begins the message. Errors: EFORMAT (where and why), ENOMEM. '*out' is counted by the caller; NULL after an
** error. */
gb_status gb_json_parse (const char *text, size_t n, const char *what, json_t **out, gb_error *err);

void gb_json_free (char *text); /* what json_dumps gave */

/* Text from a file as part of a message: short, without control characters. Returns 'buf'. */
#define GB_SHOWN 96
const char *gb_shown (const char *s, char buf[GB_SHOWN]);

#endif
