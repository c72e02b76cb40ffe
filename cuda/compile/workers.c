/* workers.c - a queue of jobs and the threads that take them. */
#define _GNU_SOURCE
#include "cuda/compile/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda/compile/build.h"

enum { THREADS = 2, NICE = 10 };

struct gb_cuda_workers {
  pthread_mutex_t lock; /* of all below, and of 'done' and the results of jobs */
  pthread_cond_t more, finished;
  gb_cuda_job *first, **end; /* jobs that wait, the oldest first */
  pthread_t thread[THREADS];
  int nthreads, idle, waiting;
  bool closing;
  pid_t process;         /* a fork of it has no threads */
  gb_cuda_workers *next; /* in the list of all */
};

/* -- the end of the process, which may come before a GPU is closed: NVRTC does not go while a thread is in it */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static gb_cuda_workers *all;

static void stop (gb_cuda_workers *w) {
  pthread_mutex_lock(&w->lock);
  w->closing = true;
  pthread_cond_broadcast(&w->more);
  pthread_mutex_unlock(&w->lock);
  for (int i = 0; i < w->nthreads; i++) pthread_join(w->thread[i], NULL);
  w->nthreads = 0;
}

static void stop_these (void *which) { /* NULL: all */
  pthread_mutex_lock(&all_lock);
  for (gb_cuda_workers *w = all; w != NULL; w = w->next)
    if ((which == NULL || w == which) && w->process == getpid()) stop(w);
  pthread_mutex_unlock(&all_lock);
}
static void stop_all (void) { stop_these(NULL); }
static void register_stop_all (void) { atexit(stop_all); }

/* A process that ends destroys what NVRTC has made in the meantime before it calls functions that were registered earlier.
** What belongs to the thread that ends it comes first of all: so the workers stop with the thread that opened them, and, if
** another one ends the process, as early as can be. */
extern int __cxa_thread_atexit_impl (void (*f)(void *), void *ud, void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void stop_at_end (gb_cuda_workers *w) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_stop_all);
  if (__cxa_thread_atexit_impl != NULL) __cxa_thread_atexit_impl(stop_these, w, &__dso_handle);
}

/* -- jobs */

gb_cuda_job *gb_cuda_job_new (const char *text, const gb_cuda_key *key, int capability) {
  gb_cuda_job *j = calloc(1, sizeof *j);
  if (j == NULL) return NULL;
  *j = (gb_cuda_job){.text = strdup(text), .key = *key, .capability = capability};
  if (j->text != NULL) return j;
  free(j);
  return NULL;
}

void gb_cuda_job_free (gb_cuda_job *j) {
  if (j == NULL) return;
  free(j->text);
  free(j->image);
  free(j);
}

/* Another process may have been faster. */
static void run (gb_cuda_job *j) {
  gb_error err;
  j->cached = gb_cuda_cache_read(&j->key, &j->image, &j->bytes, j->why_not_kept);
  if (j->cached) return;
  if (gb_cuda_build(j->text, j->capability, &j->image, &j->bytes, &err) != GB_OK)
    snprintf(j->why, sizeof j->why, "%.511s", err.text);
  else gb_cuda_cache_write(&j->key, j->image, j->bytes, j->why_not_kept);
}

/* -- threads */

/* The next job; NULL: this thread is to end. */
static gb_cuda_job *next_job (gb_cuda_workers *w) {
  w->idle++;
  while (w->first == NULL && !w->closing) pthread_cond_wait(&w->more, &w->lock);
  w->idle--;
  if (w->closing) return NULL;
  gb_cuda_job *j = w->first;
  w->first = j->next;
  if (w->first == NULL) w->end = &w->first;
  w->waiting--;
  return j;
}

static void *work (void *ud) {
  gb_cuda_workers *w = ud;
  gb_cuda_job *j;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE); /* of this thread alone */
  pthread_mutex_lock(&w->lock);
  while ((j = next_job(w)) != NULL) {
    pthread_mutex_unlock(&w->lock);
    run(j);
    pthread_mutex_lock(&w->lock);
    j->done = true;
    pthread_cond_broadcast(&w->finished);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* Signals are the program's: a thread begins with all of them blocked. */
static bool begin_thread (gb_cuda_workers *w) {
  sigset_t each, before;
  sigfillset(&each);
  pthread_sigmask(SIG_SETMASK, &each, &before);
  const bool made = pthread_create(&w->thread[w->nthreads], NULL, work, w) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  w->nthreads += made;
  return made;
}

/* -- the queue */

gb_cuda_workers *gb_cuda_workers_open (void) {
  gb_cuda_workers *w = calloc(1, sizeof *w);
  if (w == NULL) return NULL;
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->more, NULL);
  pthread_cond_init(&w->finished, NULL);
  w->end = &w->first;
  w->process = getpid();
  pthread_mutex_lock(&all_lock);
  w->next = all;
  all = w;
  pthread_mutex_unlock(&all_lock);
  stop_at_end(w);
  return w;
}

bool gb_cuda_workers_put (gb_cuda_workers *w, gb_cuda_job *j) {
  pthread_mutex_lock(&w->lock);
  if (!w->closing && w->idle <= w->waiting && w->nthreads < THREADS) begin_thread(w);
  const bool taken = !w->closing && w->nthreads > 0;
  if (taken) {
    *w->end = j;
    w->end = &j->next;
    w->waiting++;
    pthread_cond_signal(&w->more);
  }
  pthread_mutex_unlock(&w->lock);
  return taken;
}

bool gb_cuda_workers_done (gb_cuda_workers *w, gb_cuda_job *j, bool wait) {
  pthread_mutex_lock(&w->lock);
  while (wait && !j->done && !w->closing) pthread_cond_wait(&w->finished, &w->lock);
  const bool done = j->done;
  pthread_mutex_unlock(&w->lock);
  return done;
}

void gb_cuda_workers_close (gb_cuda_workers *w) {
  if (w == NULL) return;
  pthread_mutex_lock(&all_lock);
  gb_cuda_workers **at = &all;
  while (*at != w) at = &(*at)->next;
  *at = w->next;
  pthread_mutex_unlock(&all_lock);
  stop(w);
  pthread_cond_destroy(&w->finished);
  pthread_cond_destroy(&w->more);
  pthread_mutex_destroy(&w->lock);
  free(w);
}
