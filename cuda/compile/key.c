/* key.c - hashes of texts. */
#define _GNU_SOURCE
#include "cuda/compile/key.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"

static uint64_t hash_text (uint64_t h, const char *text) { return gb_hash_bytes(h, text, strlen(text)); }

/* The emulation's images work only with the library that they were compiled for, and never on a GPU. */
static uint64_t hash_kind (uint64_t h) {
#ifdef GB_CUDA_EMULATED
  Dl_info here;
  struct stat st;
  if (dladdr((void *)(uintptr_t)&hash_kind, &here) == 0) return gb_hash_u64(h, 1);
  char *path = realpath(here.dli_fname, NULL);
  h = hash_text(h, path != NULL ? path : here.dli_fname);
  if (stat(path != NULL ? path : here.dli_fname, &st) == 0)
    h = gb_hash_u64(gb_hash_u64(h, (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec);
  free(path);
#endif
  return h;
}

/* What all kernels of this library share, which is much text: from two beginnings. */
static uint64_t common[2];
static void hash_common (void) {
  for (int n = 0; n < 2; n++) {
    uint64_t h = hash_text((uint64_t)n + 1, GIBBOUS_VERSION);
    if (n == 1) h = hash_kind(h);
    h = gb_hash_u64(h, CUDART_VERSION);
    for (int i = 0; i < gb_cuda_noptions; i++) h = hash_text(h, gb_cuda_options[i]);
    for (int i = 0; i < gb_cuda_nheaders; i++)
      h = hash_text(hash_text(h, gb_cuda_headers[i].name), gb_cuda_headers[i].text);
    common[n] = h;
  }
}

static uint64_t hash_source (uint64_t h, const gb_cuda_source *s, gb_cuda_arithmetic a) {
  h = gb_hash_u64(h, (uint64_t)a);
  h = gb_hash_u64(h, (uint64_t)s->threads);
  h = gb_hash_u64(h, s->shared);
  return hash_text(h, s->text);
}

gb_cuda_key gb_cuda_key_of_library (void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, hash_common);
  return (gb_cuda_key){{common[0], common[1]}};
}

gb_cuda_key gb_cuda_key_of (const gb_cuda_source *s, gb_cuda_arithmetic a) {
  gb_cuda_key_of_library();
  return (gb_cuda_key){{hash_source(common[0], s, a), hash_source(common[1], s, a)}};
}

gb_cuda_key gb_cuda_key_at (const gb_cuda_key *key, int target) {
  return (gb_cuda_key){{key->word[0], gb_hash_u64(key->word[1], (uint64_t)target)}};
}
