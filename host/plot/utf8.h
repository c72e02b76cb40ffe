/* utf8.h - text from scripts, which may be any bytes, as characters that files of XML and fonts can take. */
#ifndef GB_PLOT_UTF8_H
#define GB_PLOT_UTF8_H

#include <stddef.h>

#define GB_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Bytes of the character that s begins with; 0: none, or a surrogate, or one that is no character of XML. s
** ends with a 0, which counts as a character of one byte, as other controls do. */
size_t gb_utf8_length (const char *s);

/* A malloc'ed copy with a replacement character for each byte that begins none; of NULL, "". NULL: no memory. */
char *gb_utf8_copy (const char *s);

#endif
