/* utf8.c - which bytes are characters. */
#include "plot/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t gb_utf8_length (const char *s) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* of characters of so many bytes */
  const unsigned char *p = (const unsigned char *)s;
  const size_t n = *p < 0x80 ? 1 : *p < 0xC0 ? 0 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF8 ? 4 : 0;
  if (n < 2) return n;
  uint32_t c = *p & (0x7Fu >> n);
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0;
    c = c << 6 | (p[i] & 0x3Fu);
  }
  const int surrogate = c >= 0xD800 && c <= 0xDFFF;
  return c < least[n] || c > 0x10FFFF || surrogate || c == 0xFFFE || c == 0xFFFF ? 0 : n;
}

char *gb_utf8_copy (const char *s) {
  if (s == NULL) s = "";
  const size_t wide = sizeof GB_UTF8_REPLACEMENT - 1;
  char *copy = malloc(wide * strlen(s) + 1), *to = copy;
  if (copy == NULL) return NULL;
  while (*s != '\0') {
    const size_t n = gb_utf8_length(s);
    memcpy(to, n > 0 ? s : GB_UTF8_REPLACEMENT, n > 0 ? n : wide);
    to += n > 0 ? n : wide;
    s += n > 0 ? n : 1;
  }
  *to = '\0';
  return copy;
}
