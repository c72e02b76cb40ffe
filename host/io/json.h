/* json.h - JSON from files: strict, and honest about why it was not read. */
#ifndef GB_IO_JSON_H
#define GB_IO_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "base/status.h"

/* What the values of n bytes of JSON take at most: short lists of short lists are the worst. */
#define GB_JSON_MOST ((size_t)1 << 20) /* bytes; longer texts are refused */
static inline size_t gb_json_bytes (size_t n) { return 4096 + 48 * n; }

/* Any value. The text must be UTF-8 without NUL, no key may be there twice, whole numbers must fit 64
** bits. 'what' begins the message. Errors: EFORMAT (where and why), ENOMEM. '*out' is counted by the
** caller; NULL after an error. */
gb_status gb_json_parse (const char *text, size_t n, const char *what, json_t **out, gb_error *err);

void gb_json_free (char *text); /* what json_dumps gave */

/* Text from a file as part of a message: short, without control characters. Returns 'buf'. */
#define GB_SHOWN 96
const char *gb_shown (const char *s, char buf[GB_SHOWN]);

#endif
