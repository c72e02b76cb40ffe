/* status.c - texts of the codes, and the only function that fills an error record. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
  const char *code, *text;
} names[] = {
#define X(name, code, text) {code, text},
    GB_STATUS_MAP(X)
#undef X
};

const char *gb_status_code (gb_status s) { return (unsigned)s < GB_NSTATUS ? names[s].code : "internal"; }

const char *gb_status_text (gb_status s) {
  return (unsigned)s < GB_NSTATUS ? names[s].text : "unknown status";
}

gb_status gb_fail (gb_error *err, gb_status code, const char *fmt, ...) {
  if (err != NULL) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    err->need = err->have = err->minimum = err->order = 0;
    err->options[0] = '\0';
  }
  return code;
}
