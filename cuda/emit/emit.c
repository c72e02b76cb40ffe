/* emit.c - a walk as the text of a kernel. */
#include "cuda/emit/emit.h"

#include <stdlib.h>

const gb_cuda_header gb_cuda_headers[] = {{NULL, NULL}};
const int gb_cuda_nheaders = 0;
const char *const gb_cuda_options[] = {"--std=c++17", "--fmad=false", "-ftz=false", "-prec-div=true",
                                       "-prec-sqrt=true"};
const int gb_cuda_noptions = sizeof gb_cuda_options / sizeof *gb_cuda_options;

bool gb_cuda_emit (const gb_fold *f, const gb_cuda_walk *w, int reach, gb_cuda_arithmetic a,
                   gb_cuda_source *out, gb_error *err) {
  (void)f, (void)w, (void)a, (void)err;
  *out = (gb_cuda_source){.reach = reach};
  return false;
}

void gb_cuda_source_free (gb_cuda_source *s) {
  free(s->text);
  s->text = NULL;
}

size_t gb_cuda_source_work (const gb_cuda_source *s, const gb_cuda_program *p) {
  switch (s->reach) {
    case GB_CUDA_ROW: return p->units * (p->parts - p->mirrors);
    case GB_CUDA_MIRROR: return p->units * (GB_CUDA_ROWS / GB_CUDA_COLUMNS) * p->mirrors;
    case GB_CUDA_COL: return p->units * p->parts;
    case GB_CUDA_ALL: return p->units * ((p->parts + GB_CUDA_HALVES - 1) / GB_CUDA_HALVES);
    default: return p->units;
  }
}
