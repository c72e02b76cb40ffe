/* code.c - texts of generated kernels by walk. */
#include "cuda/fold/code.h"

#include <stdlib.h>
#include <string.h>

const char *const gb_cuda_arithmetics[] = {"exact", "unit", NULL};

gb_status gb_cuda_arithmetic_chosen (int *out, gb_error *err) {
  const char *name = getenv("GIBBOUS_CUDA_ARITHMETIC");
  if (name == NULL || *name == '\0') name = "unit";
  for (*out = 0; gb_cuda_arithmetics[*out] != NULL; ++*out)
    if (strcmp(gb_cuda_arithmetics[*out], name) == 0) return GB_OK;
  return gb_fail(err, GB_EDEVICE, "GIBBOUS_CUDA_ARITHMETIC must be 'unit' or 'exact', got '%.40s'", name);
}

gb_cuda_arithmetic gb_cuda_arithmetic_of (const gb_fold *f, int chosen) {
  return f->compute == GB_F32 ? (gb_cuda_arithmetic)chosen : GB_CUDA_EXACT;
}

/* False: there is no text of that reach. */
static bool make (const gb_fold *f, const gb_cuda_walk *w, int reach, gb_cuda_arithmetic a,
                  gb_cuda_code *out) {
  gb_error err;
  if (!gb_cuda_emit(f, w, reach, a, &out->source, &err)) return false;
  out->key = gb_cuda_key_of(&out->source, a);
  return true;
}

gb_cuda_code *gb_cuda_codes_new (const gb_fold *f, const gb_cuda_walk *walks, int nwalks,
                                 gb_cuda_arithmetic a) {
  gb_cuda_code *codes = calloc(2 * (size_t)nwalks + 1, sizeof *codes);
  for (int n = 0; codes != NULL && n < nwalks; n++) {
    const gb_cuda_walk *w = &walks[n];
    const bool mirrors = f->symmetric && w->reach == GB_CUDA_ROW;
    if (mirrors && make(f, w, GB_CUDA_WAVE, a, &codes[2 * n])) continue;
    make(f, w, w->reach, a, &codes[2 * n]);
    if (mirrors) make(f, w, GB_CUDA_MIRROR, a, &codes[2 * n + 1]);
  }
  return codes;
}

void gb_cuda_codes_free (gb_cuda_code *codes, int nwalks) {
  for (int c = 0; codes != NULL && c < 2 * nwalks; c++) gb_cuda_source_free(&codes[c].source);
  free(codes);
}

size_t gb_cuda_codes_bytes (const gb_cuda_code *codes, int nwalks) {
  size_t bytes = 0;
  for (int c = 0; codes != NULL && c < 2 * nwalks; c++)
    bytes += sizeof *codes + (codes[c].source.text == NULL ? 0 : strlen(codes[c].source.text) + 1);
  return bytes;
}
