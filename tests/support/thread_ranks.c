/* thread_ranks.c - the last rank to come to a message does the work of all. */
#include "support/thread_ranks.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { SECONDS = 5 };
typedef enum kind { SUM, GREATEST, BROADCAST } kind;

typedef struct message {
  kind kind;
  void *at;
  size_t n, from;
} message;

typedef struct group {
  pthread_mutex_t lock;
  pthread_cond_t done;
  size_t ranks, waiting, left;
  uint64_t number; /* of the message that they come to */
  const char *broken;
  message message[MOST_RANKS];
  gb_comm comm[MOST_RANKS];
  void (*job)(void *ud, gb_comm *c);
  void *ud;
} group;

static void sum (group *g, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t total = 0;
    for (size_t r = 0; r < g->ranks; r++) total += (uint64_t)((int64_t *)g->message[r].at)[i];
    for (size_t r = 0; r < g->ranks; r++) ((int64_t *)g->message[r].at)[i] = (int64_t)total;
  }
}

static void greatest (group *g, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double most = ((double *)g->message[0].at)[i];
    for (size_t r = 1; r < g->ranks; r++)
      if (((double *)g->message[r].at)[i] > most) most = ((double *)g->message[r].at)[i];
    for (size_t r = 0; r < g->ranks; r++) ((double *)g->message[r].at)[i] = most;
  }
}

static void deliver (group *g) {
  const message m = g->message[0];
  for (size_t r = 1; r < g->ranks; r++)
    if (g->message[r].kind != m.kind || g->message[r].n != m.n || g->message[r].from != m.from)
      g->broken = "ranks send different messages";
  if (g->broken != NULL) return;
  if (m.kind == SUM) sum(g, m.n);
  else if (m.kind == GREATEST) greatest(g, m.n);
  else
    for (size_t r = 0; r < g->ranks; r++)
      if (r != m.from) memcpy(g->message[r].at, g->message[m.from].at, m.n);
}

static void wait_for (group *g) {
  const uint64_t number = g->number;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += SECONDS;
  while (number == g->number && g->broken == NULL) {
    if (g->left > 0) g->broken = "a rank has left the others alone";
    else if (pthread_cond_timedwait(&g->done, &g->lock, &end) == ETIMEDOUT) g->broken = "ranks hang";
  }
}

static gb_status send (gb_comm *c, message m, gb_error *err) {
  group *g = c->ud;
  pthread_mutex_lock(&g->lock);
  g->message[c->rank] = m;
  if (++g->waiting == g->ranks) {
    deliver(g);
    g->waiting = 0;
    g->number++;
    pthread_cond_broadcast(&g->done);
  } else {
    wait_for(g);
    if (g->broken != NULL) pthread_cond_broadcast(&g->done);
  }
  const char *broken = g->broken;
  pthread_mutex_unlock(&g->lock);
  return broken == NULL ? GB_OK : gb_fail(err, GB_EIO, "%s", broken);
}

static gb_status send_sum (gb_comm *c, int64_t *v, size_t n, gb_error *err) {
  return send(c, (message){SUM, v, n, 0}, err);
}
static gb_status send_greatest (gb_comm *c, double *v, size_t n, gb_error *err) {
  return send(c, (message){GREATEST, v, n, 0}, err);
}
static gb_status send_broadcast (gb_comm *c, size_t from, void *at, size_t bytes, gb_error *err) {
  return send(c, (message){BROADCAST, at, bytes, from}, err);
}

static void *run_rank (void *comm) {
  gb_comm *c = comm;
  group *g = c->ud;
  g->job(g->ud, c);
  pthread_mutex_lock(&g->lock);
  g->left++;
  pthread_cond_broadcast(&g->done);
  pthread_mutex_unlock(&g->lock);
  return NULL;
}

void thread_ranks_run (size_t ranks, size_t most, void (*job)(void *ud, gb_comm *c), void *ud) {
  static const gb_comm_ops ops = {send_sum, send_greatest, send_broadcast};
  group g = {.ranks = ranks, .job = job, .ud = ud};
  pthread_t thread[MOST_RANKS];
  pthread_mutex_init(&g.lock, NULL);
  pthread_cond_init(&g.done, NULL);
  for (size_t r = 0; r < ranks; r++)
    g.comm[r] = (gb_comm){.ops = &ops, .rank = r, .ranks = ranks, .most = most, .ud = &g};
  for (size_t r = 1; r < ranks; r++) pthread_create(&thread[r], NULL, run_rank, &g.comm[r]);
  run_rank(&g.comm[0]);
  for (size_t r = 1; r < ranks; r++) pthread_join(thread[r], NULL);
  pthread_cond_destroy(&g.done);
  pthread_mutex_destroy(&g.lock);
}
