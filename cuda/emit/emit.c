/* emit.c - a walk as the text of a kernel. */
#include "cuda/emit/emit.h"

#include <stdlib.h>

#include "cuda/emit/lines.h"

/* Fused multiply-adds are written; 1675: a pragma of gcc in arith/elementwise.inc. */
const char *const gb_cuda_options[] = {"--std=c++20",        "--fmad=false",    "-ftz=false",
                                       "-prec-div=true",     "-prec-sqrt=true", "-default-device",
                                       "-diag-suppress=1675"};
const int gb_cuda_noptions = sizeof gb_cuda_options / sizeof *gb_cuda_options;

bool gb_cuda_emit (const gb_fold *f, const gb_cuda_walk *w, int reach, gb_cuda_arithmetic a,
                   gb_cuda_source *out, gb_error *err) {
  gb_emission e;
  *out = (gb_cuda_source){.reach = reach};
  if (gb_emission_open(&e, f, w, reach, a, err)) {
    gb_emit_kernel(&e);
    if (e.text.failed) gb_fail(err, GB_ENOMEM, "no memory for the text of a kernel");
    else {
      out->text = e.text.at;
      out->threads = e.threads;
      out->code = e.code;
      e.text.at = NULL;
    }
  }
  gb_emission_close(&e);
  return out->text != NULL;
}

void gb_cuda_source_free (gb_cuda_source *s) {
  free(s->text);
  s->text = NULL;
}

size_t gb_cuda_source_work (const gb_cuda_source *s, const gb_cuda_program *p) {
  switch (s->reach) {
    case GB_CUDA_ROW: return p->units * p->parts;
    case GB_CUDA_WAVE: return p->units * (p->per - p->unit % p->per);
    case GB_CUDA_MIRROR: return p->wide * (GB_CUDA_ROWS / GB_CUDA_COLUMNS) * p->mirrors;
    case GB_CUDA_COL: return p->units * (p->lists ? p->parts / GB_LANES : p->parts);
    case GB_CUDA_ALL: return p->units * ((p->parts + GB_CUDA_HALVES - 1) / GB_CUDA_HALVES);
    default: return p->units;
  }
}
