/* build.c - one compilation. */
#include "cuda/compile/build.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/library.h"

enum { OPTIONS = 16 };

static gb_status result (const gb_cuda_compiler *nvrtc, nvrtcResult r, const char *call, gb_error *err) {
  if (r == NVRTC_SUCCESS) return GB_OK;
  const gb_status st = r == NVRTC_ERROR_COMPILATION || r == NVRTC_ERROR_INVALID_OPTION ? GB_EFORMAT
                       : r == NVRTC_ERROR_OUT_OF_MEMORY                                ? GB_ENOMEM
                                                                                       : GB_EDEVICE;
  return gb_fail(err, st, "%s: %s", call, nvrtc->nvrtcGetErrorString(r));
}

/* The first line of the log that names an error, behind what 'err' says. */
static void add_log (const gb_cuda_compiler *nvrtc, nvrtcProgram p, gb_error *err) {
  size_t bytes = 0;
  if (nvrtc->nvrtcGetProgramLogSize(p, &bytes) != NVRTC_SUCCESS || bytes < 2) return;
  char *log = calloc(1, bytes + 1);
  if (log != NULL && nvrtc->nvrtcGetProgramLog(p, log) == NVRTC_SUCCESS) {
    const char *line = strstr(log, "error");
    while (line != NULL && line > log && line[-1] != '\n') line--;
    if (line == NULL) line = log;
    log[(line - log) + (ptrdiff_t)strcspn(line, "\n")] = '\0';
    const size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, ": %.400s", line);
  }
  free(log);
}

static gb_status create (const gb_cuda_compiler *nvrtc, const char *text, nvrtcProgram *p, gb_error *err) {
  const char **lists = calloc(2 * (size_t)gb_cuda_nheaders + 1, sizeof *lists);
  if (lists == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a compilation");
  const char **names = lists + gb_cuda_nheaders;
  for (int i = 0; i < gb_cuda_nheaders; i++)
    lists[i] = gb_cuda_headers[i].text, names[i] = gb_cuda_headers[i].name;
  const nvrtcResult r =
      nvrtc->nvrtcCreateProgram(p, text, GB_CUDA_EMIT_NAME ".cu", gb_cuda_nheaders, lists, names);
  free(lists);
  return result(nvrtc, r, "nvrtcCreateProgram", err);
}

static gb_status compile (const gb_cuda_compiler *nvrtc, nvrtcProgram p, int target, gb_error *err) {
  char architecture[40];
  const char *options[OPTIONS] = {architecture};
  int n = 1;
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d",
           target & GB_CUDA_PORTABLE ? "compute" : "sm", target & ~GB_CUDA_PORTABLE);
  for (int i = 0; i < gb_cuda_noptions && n < OPTIONS; i++) options[n++] = gb_cuda_options[i];
  const nvrtcResult r = nvrtc->nvrtcCompileProgram(p, n, options);
  const gb_status st = result(nvrtc, r, "nvrtcCompileProgram", err);
  if (st != GB_OK) add_log(nvrtc, p, err);
  return st;
}

static gb_status take_image (const gb_cuda_compiler *nvrtc, nvrtcProgram p, bool portable, char **image,
                             size_t *bytes, gb_error *err) {
  if (portable) GB_TRY(result(nvrtc, nvrtc->nvrtcGetPTXSize(p, bytes), "nvrtcGetPTXSize", err));
  else GB_TRY(result(nvrtc, nvrtc->nvrtcGetCUBINSize(p, bytes), "nvrtcGetCUBINSize", err));
  char *at = malloc(*bytes + 1);
  if (at == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a compiled kernel");
  const gb_status st = portable ? result(nvrtc, nvrtc->nvrtcGetPTX(p, at), "nvrtcGetPTX", err)
                                : result(nvrtc, nvrtc->nvrtcGetCUBIN(p, at), "nvrtcGetCUBIN", err);
  if (st == GB_OK) *image = at;
  else free(at);
  return st;
}

gb_status gb_cuda_build (const char *text, int target, char **image, size_t *bytes, gb_error *err) {
  const gb_cuda_compiler *nvrtc;
  nvrtcProgram p;
  *image = NULL;
  GB_TRY(gb_cuda_compiler_open(&nvrtc, err));
  GB_TRY(create(nvrtc, text, &p, err));
  gb_status st = compile(nvrtc, p, target, err);
  if (st == GB_OK) st = take_image(nvrtc, p, (target & GB_CUDA_PORTABLE) != 0, image, bytes, err);
  nvrtc->nvrtcDestroyProgram(&p);
  return st;
}
