/* npy_heading.h - the dictionary at the start of an .npy file. */
#ifndef GB_IO_NPY_HEADING_H
#define GB_IO_NPY_HEADING_H

#include <stdbool.h>

#include "tensor/shape.h"

#define GB_NPY_HEADING 65536 /* bytes; longer ones are refused */

typedef struct gb_npy_heading {
  char kind;    /* f i u b */
  size_t width; /* bytes an element in the file */
  bool fortran;
  gb_shape shape;
  size_t numel, bytes; /* of the data; numel * 8 fits a ptrdiff_t */
} gb_npy_heading;

/* Parses n bytes, a Python literal of this grammar, blanks between any two words:
**   heading = "{" [ entry { "," entry } [ "," ] ] "}"        each of the three keys once
**   entry   = "descr" ":" string | "fortran_order" ":" ("True" | "False") | "shape" ":" shape
**   shape   = "(" [ number "," [ number { "," number } [ "," ] ] ] ")"        number = digits [ "L" ]
** Strings stand in ' or ", without escapes. Errors: EFORMAT: path, byte of the heading, what was expected. */
gb_status gb_npy_heading_parse (const char *path, const char *text, size_t n, gb_npy_heading *out,
                                gb_error *err);

#endif
