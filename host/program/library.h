/* library.h - opaque ops: work that is not a fold, done by a library or by a device's own algorithm. */
#ifndef GB_PROGRAM_LIBRARY_H
#define GB_PROGRAM_LIBRARY_H

#include "program/op.h"
#include "program/packed.h"

/* An opaque op with everything its sizes may depend on. */
typedef struct gb_opaque {
  gb_op op;
  gb_attr attr;
  int nin, nout;
  gb_dtype in_dtype[4], out_dtype[GB_MAX_OUTPUTS]; /* CAT: inputs past 4 are of type in_dtype[0] */
  gb_shape in_shape[4], out_shape[GB_MAX_OUTPUTS];
  const size_t *extent; /* CAT: extents of all inputs along the axis; NULL = see in_shape */
  size_t unit;          /* windows of the op's result begin at multiples of it, a power of two */
  size_t block[3];      /* GEMM: rows, columns, inner indices of a block; 0 = GB_BLOCK */
  bool continues; /* GEMM: adds to the contents of the result; INDEX_ADD, _MAX, _MIN: starts from them */
  /* GEMM: elements between rows and between matrices, of both inputs and the result; 0 = contiguous */
  size_t row[3], matrix[3];
  /* the factor has the layout of packed.h, for CHOLESKY the matrix too; TRISOLVE, SOLVE_CHOL, LOGDET,
  ** INV_QUAD, CHOL_INVERSE: input 0, lower */
  bool packed;
  bool packed_inverse; /* CHOL_INVERSE of a packed factor: the result is packed too */
  bool grown;          /* like 'packed', in the layout of a growing triangle; not for CHOL_INVERSE */
  size_t have;         /* CHOLESKY, grown, in place: rows that are factored already */
  /* a window of a batch of matrices: along axis a of input 0, first index and extent of the whole; extent 0 = all of it
  ** is here */
  size_t from[GB_MAXDIM], whole[GB_MAXDIM];
} gb_opaque;

#endif
