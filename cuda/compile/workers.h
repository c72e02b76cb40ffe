/* workers.h - threads that compile, apart from the host's pool: two at most, of low priority, that call NVRTC and read and
** write the cache, and nothing else. They begin with the first job, and stop when they are closed, or when the thread that
** opened them ends. */
#ifndef GB_CUDA_COMPILE_WORKERS_H
#define GB_CUDA_COMPILE_WORKERS_H

#include "cuda/compile/cache.h"

typedef struct gb_cuda_workers gb_cuda_workers;

/* Belongs to the workers from 'put' until it is done. */
typedef struct gb_cuda_job {
  char *text; /* of the kernel */
  gb_cuda_key key;
  int capability;
  bool done;
  char *image; /* NULL: 'why' */
  size_t bytes;
  bool cached; /* another process had made it */
  char why[512], why_not_kept[256];
  struct gb_cuda_job *next;
} gb_cuda_job;

gb_cuda_workers *gb_cuda_workers_open (void); /* NULL: memory is short */
/* A job; NULL: memory is short. 'text' is copied. */
gb_cuda_job *gb_cuda_job_new (const char *text, const gb_cuda_key *key, int capability);
void gb_cuda_job_free (gb_cuda_job *j); /* one that is done, or was never put; NULL is fine */
/* False: no thread can be made, or they have stopped; the job stays the caller's. */
bool gb_cuda_workers_put (gb_cuda_workers *w, gb_cuda_job *j);
/* Whether the job is done, and so the caller's again; with 'wait' it is when this returns, unless they have stopped. */
bool gb_cuda_workers_done (gb_cuda_workers *w, gb_cuda_job *j, bool wait);
/* Ends the threads: the compilations that run end first, those that wait never begin. All jobs are the caller's again. NULL is
** fine. */
void gb_cuda_workers_close (gb_cuda_workers *w);

#endif
