/* comm.h - ranks: processes, or threads in tests, that each hold some of the points of one data set.
**
** Points are numbered through the ranks, in order. What ranks add are whole numbers, and what they compare they compare exactly, so
** no result depends on how points are divided among them. All ranks call the same functions in the same order with the same sizes: a
** rank that fails takes part in the next sum or agreement and says so there, and all ranks return what the lowest one that failed
** says. 'comm' NULL is one rank, which talks to nobody. */
#ifndef GB_CLUSTER_COMM_H
#define GB_CLUSTER_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct gb_comm gb_comm;

/* One message each, of gb_comm.most numbers or bytes at most; they return when the result is there. Errors: EIO, after which ranks are
** no longer in step. */
typedef struct gb_comm_ops {
  gb_status (*sum)(gb_comm *c, int64_t *v, size_t n, gb_error *err);     /* in place */
  gb_status (*greatest)(gb_comm *c, double *v, size_t n, gb_error *err); /* in place; no NaN */
  gb_status (*broadcast)(gb_comm *c, size_t from, void *at, size_t bytes, gb_error *err);
} gb_comm_ops;

struct gb_comm {
  const gb_comm_ops *ops;
  size_t rank, ranks;
  size_t most;             /* numbers or bytes of a message */
  uint64_t messages, sent; /* so far, and their bytes */
  void *ud;                /* of the maker */
};

static inline size_t gb_comm_rank (const gb_comm *c) { return c == NULL ? 0 : c->rank; }
static inline size_t gb_comm_ranks (const gb_comm *c) { return c == NULL ? 1 : c->ranks; }

/* The sums over all ranks, where no rank has failed; v has room for one number more, which counts those that have. 'st' and 'err': what
** happened at this rank so far. */
gb_status gb_comm_sum (gb_comm *c, int64_t *v, size_t n, gb_status st, gb_error *err);
/* The greatest of all ranks. */
gb_status gb_comm_greatest (gb_comm *c, double *v, size_t n, gb_error *err);
/* The bytes of rank 'from', at every rank. */
gb_status gb_comm_broadcast (gb_comm *c, size_t from, void *at, size_t bytes, gb_error *err);

/* What the lowest rank that has failed says, at every rank: 'text (rank 1 of 4)'. OK: none has. */
gb_status gb_comm_agree (gb_comm *c, gb_status st, gb_error *err);

/* What the ranks before this one have of something, and what all have, where no rank has failed. */
gb_status gb_comm_place (gb_comm *c, int64_t mine, int64_t *before, int64_t *total, gb_status st,
                         gb_error *err);

#endif
