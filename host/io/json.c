/* json.c - the parser reports a failed allocation as a syntax error; this file distinguishes the two. */
#include "io/json.h"

#include <stdbool.h>
#include <stdlib.h>

static _Thread_local bool starved;

static void *take (size_t n) {
  void *p = malloc(n);
  if (p == NULL) starved = true;
  return p;
}

const char *gb_shown (const char *s, char buf[GB_SHOWN]) {
  size_t n = 0;
  for (; s[n] != '\0' && n + 1 < GB_SHOWN; n++) buf[n] = (unsigned char)s[n] < 32 || s[n] == 127 ? '?' : s[n];
  buf[n] = '\0';
  return buf;
}

gb_status gb_json_parse (const char *text, size_t n, const char *what, json_t **out, gb_error *err) {
  json_error_t why = {.text = ""};
  char buf[GB_SHOWN];
  json_set_alloc_funcs(take, free); /* for the whole process, which is harmless */
  starved = false;
  *out = NULL;
  *out = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
  if (*out != NULL) return GB_OK;
  if (starved) return gb_fail(err, GB_ENOMEM, "%s: no memory for JSON", what);
  return gb_fail(err, GB_EFORMAT, "%s: not JSON: byte %d: %s", what, why.position, gb_shown(why.text, buf));
}

void gb_json_free (char *text) {
  json_malloc_t take_text;
  json_free_t give;
  json_get_alloc_funcs(&take_text, &give);
  give(text);
}
