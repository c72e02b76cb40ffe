/* pool.c - workers parked on a condition variable between jobs. */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct gb_pool {
  int threads;          /* including the caller */
  pthread_mutex_t turn; /* held by the caller whose job runs */
  pthread_mutex_t lock;
  pthread_cond_t start, done;
  unsigned long generation; /* counts jobs; a worker runs each generation once */
  int running;              /* workers still inside the current job */
  bool quit;
  void (*job)(void *, int);
  void *ud;
  struct worker {
    gb_pool *pool;
    int index;
    pthread_t id;
  } worker[];
};

static void *work (void *arg) {
  struct worker *w = arg;
  gb_pool *p = w->pool;
  unsigned long seen = 0;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (!p->quit && p->generation == seen) pthread_cond_wait(&p->start, &p->lock);
    if (p->quit) break;
    seen = p->generation;
    pthread_mutex_unlock(&p->lock);
    p->job(p->ud, w->index);
    pthread_mutex_lock(&p->lock);
    if (--p->running == 0) pthread_cond_signal(&p->done);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

gb_status gb_pool_new (int threads, gb_pool **out, gb_error *err) {
  if (threads < 1) threads = 1;
  gb_pool *p = calloc(1, sizeof *p + (size_t)threads * sizeof p->worker[0]);
  if (p == NULL) return gb_fail(err, GB_ENOMEM, "no memory for a pool of %d threads", threads);
  p->threads = 1;
  pthread_mutex_init(&p->turn, NULL);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->start, NULL);
  pthread_cond_init(&p->done, NULL);
  sigset_t all, old; /* workers take no signals: SIGINT belongs to the main thread */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (int t = 1; t < threads; t++) {
    p->worker[t] = (struct worker){p, t, 0};
    if (pthread_create(&p->worker[t].id, NULL, work, &p->worker[t]) != 0) break;
    p->threads++;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  *out = p;
  return GB_OK;
}

void gb_pool_free (gb_pool *p) {
  if (p == NULL) return;
  pthread_mutex_lock(&p->lock);
  p->quit = true;
  pthread_cond_broadcast(&p->start);
  pthread_mutex_unlock(&p->lock);
  for (int t = 1; t < p->threads; t++) pthread_join(p->worker[t].id, NULL);
  pthread_cond_destroy(&p->start);
  pthread_cond_destroy(&p->done);
  pthread_mutex_destroy(&p->lock);
  pthread_mutex_destroy(&p->turn);
  free(p);
}

int gb_pool_threads (const gb_pool *p) { return p == NULL ? 1 : p->threads; }

void gb_pool_run (gb_pool *p, void (*job)(void *ud, int thread), void *ud) {
  if (p == NULL || p->threads == 1) {
    job(ud, 0);
    return;
  }
  pthread_mutex_lock(&p->turn);
  pthread_mutex_lock(&p->lock);
  p->job = job;
  p->ud = ud;
  p->running = p->threads - 1;
  p->generation++;
  pthread_cond_broadcast(&p->start);
  pthread_mutex_unlock(&p->lock);
  job(ud, 0);
  pthread_mutex_lock(&p->lock);
  while (p->running > 0) pthread_cond_wait(&p->done, &p->lock);
  pthread_mutex_unlock(&p->lock);
  pthread_mutex_unlock(&p->turn);
}
