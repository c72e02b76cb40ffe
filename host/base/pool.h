/* pool.h - a fixed set of worker threads that run one job at a time. The assignment of parts to threads never
** affects a result: jobs combine their parts in the order of part numbers. */
#ifndef GB_BASE_POOL_H
#define GB_BASE_POOL_H

#include "base/status.h"

typedef struct gb_pool gb_pool;

/* 'threads' >= 1 counts the calling thread. Errors: ENOMEM. */
gb_status gb_pool_new (int threads, gb_pool **out, gb_error *err);
void gb_pool_free (gb_pool *p);         /* joins the workers; NULL is fine */
int gb_pool_threads (const gb_pool *p); /* NULL counts as 1 */

/* Calls job(ud, t) once for each t in 0 .. threads-1, concurrently, t = 0 on the calling thread,
** and returns when all have. Callers of several threads take turns. Not reentrant: a job must not call
** gb_pool_run. Allocates nothing. */
void gb_pool_run (gb_pool *p, void (*job)(void *ud, int thread), void *ud);

#endif
