/* status.h - the one list of outcomes, and the error record that carries an outcome upwards. */
#ifndef GB_BASE_STATUS_H
#define GB_BASE_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* X(name, Lua code, text). The Lua code is the 'code' field of the error object. */
#define GB_STATUS_MAP(X)                                                                                     \
  X(OK, "ok", "ok")                                                                                          \
  X(ESHAPE, "shape", "shape mismatch")                                                                       \
  X(ENAN, "nan", "not a number")                                                                             \
  X(EDTYPE, "dtype", "dtype mismatch")                                                                       \
  X(EDEVICE, "device", "device error")                                                                       \
  X(EINDEX, "index", "index out of range")                                                                   \
  X(EOPTION, "option", "bad option")                                                                         \
  X(ECLOSED, "closed", "closed object")                                                                      \
  X(ENOTPD, "not_pd", "matrix is not positive definite")                                                     \
  X(ENOTCONV, "not_converged", "did not converge")                                                           \
  X(EREFUSED, "refused", "plan refused")                                                                     \
  X(ENOMEM, "oom", "out of memory")                                                                          \
  X(ESPLIT, "split", "axis cannot be split")                                                                 \
  X(EIO, "io", "input/output error")                                                                         \
  X(EFORMAT, "format", "bad file format")                                                                    \
  X(EINTR, "interrupted", "interrupted")                                                                     \
  X(ECALLBACK, "callback", "error in a callback")                                                            \
  X(EINTERNAL, "internal", "internal error")

#define X(name, code, text) GB_##name,
typedef enum gb_status { GB_STATUS_MAP(X) GB_NSTATUS } gb_status;
#undef X

/* Caller-owned, no heap: safe to abandon at any point. The three sizes are filled by GB_EREFUSED and
** GB_ENOMEM only (bytes); 0 = unknown, but 'have' is known if 'need' is. GB_EREFUSED lists the ways out, each
** ended by '\n'. */
typedef struct gb_error {
  char text[2048];
  uint64_t need, have, minimum;
  uint64_t order; /* GB_ENOTPD of a factor: the first leading minor that is not positive; 0 = unknown */
  char options[1024];
} gb_error;

/* Formats 'err->text' ('err' may be NULL), clears the rest, and returns 'code'. */
gb_status gb_fail (gb_error *err, gb_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

const char *gb_status_code (gb_status s); /* "shape", "oom", ... */
const char *gb_status_text (gb_status s); /* "shape mismatch", ... */

/* Propagates a failure. The only macro that returns. */
#define GB_TRY(call)                                                                                         \
  do {                                                                                                       \
    gb_status gb_try_ = (call);                                                                              \
    if (gb_try_ != GB_OK) return gb_try_;                                                                    \
  } while (0)

#endif
