/* emit.h - the text of a kernel that makes the chains of one walk (fold/encode.h), as the interpreter's pass of that walk
** does: from the same gb_cuda_program, to the same places, with the same bits (class EXACT). The totals are the
** interpreter's. The text says what is fixed when a fold is compiled; extents, strides, offsets, addresses and numbers
** are read when it runs, so that it serves every part of the program. */
#ifndef GB_CUDA_EMIT_EMIT_H
#define GB_CUDA_EMIT_EMIT_H

#include "base/status.h"
#include "cuda/fold/encode.h"

#define GB_CUDA_EMIT_NAME                                                                                    \
  "gb_generated" /* of the kernel: extern "C" void (argument), launched in one dimension. The argument is the first bytes of a
                  ** gb_cuda_argument, as many as the text reads. */

typedef struct gb_cuda_source {
  char *text;    /* NULL: the walk stays with the interpreter */
  int reach;     /* of the pass that it replaces: that of the walk, or MIRROR */
  bool code;     /* it reads the list of instructions */
  int threads;   /* of a thread block */
  size_t shared; /* bytes of dynamic shared memory of a thread block */
} gb_cuda_source;

/* True if a kernel was made. Otherwise the walk stays with the interpreter (integers, LSE and lists of anything but rows or columns,
** long lists, programs that are too long), or memory was short, which 'err' tells. reach: the walk's own, or MIRROR of a symmetric one. */
bool gb_cuda_emit (const gb_fold *f, const gb_cuda_walk *w, int reach, gb_cuda_arithmetic a,
                   gb_cuda_source *out, gb_error *err);
void gb_cuda_source_free (gb_cuda_source *s);

/* Thread blocks that have something to do in a launch; a grid of any size is right. p->reach is the source's. */
size_t gb_cuda_source_work (const gb_cuda_source *s, const gb_cuda_program *p);

/* What a text includes, by name, for nvrtcCreateProgram; and what nvrtcCompileProgram is to be told beside the
** architecture. */
typedef struct gb_cuda_header {
  const char *name, *text;
} gb_cuda_header;
extern const gb_cuda_header gb_cuda_headers[];
extern const int gb_cuda_nheaders;
extern const char *const gb_cuda_options[];
extern const int gb_cuda_noptions;

#endif
