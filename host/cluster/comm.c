/* comm.c - see comm.h. */
#include "cluster/comm.h"

#include <stdio.h>
#include <string.h>

/* Messages of 'size'-byte items, as many at a time as one may have. */
#define GB_IN_PIECES(c, at, n, size, call)                                                                   \
  for (size_t done_ = 0, some; done_ < (n); done_ += some) {                                                 \
    some = (n)-done_ < (c)->most ? (n)-done_ : (c)->most;                                                    \
    (c)->messages++;                                                                                         \
    (c)->sent += some * (size);                                                                              \
    GB_TRY(call);                                                                                            \
  }

gb_status gb_comm_sum (gb_comm *c, int64_t *v, size_t n, gb_status st, gb_error *err) {
  if (c == NULL) return st;
  if (st != GB_OK) memset(v, 0, n * sizeof *v); /* nobody reads the sums */
  v[n] = st != GB_OK;
  GB_IN_PIECES(c, v, n + 1, sizeof *v, c->ops->sum(c, v + done_, some, err));
  return v[n] == 0 ? GB_OK : gb_comm_agree(c, st, err);
}

gb_status gb_comm_greatest (gb_comm *c, double *v, size_t n, gb_error *err) {
  if (c == NULL) return GB_OK;
  GB_IN_PIECES(c, v, n, sizeof *v, c->ops->greatest(c, v + done_, some, err));
  return GB_OK;
}

gb_status gb_comm_broadcast (gb_comm *c, size_t from, void *at, size_t bytes, gb_error *err) {
  if (c == NULL) return GB_OK;
  GB_IN_PIECES(c, at, bytes, 1, c->ops->broadcast(c, from, (char *)at + done_, some, err));
  return GB_OK;
}

/* What a rank that has failed says. */
typedef struct said {
  gb_status st;
  gb_error err;
} said;

static void name_rank (const gb_comm *c, size_t rank, gb_error *err) {
  char of[64];
  const size_t most = sizeof err->text - 1;
  const int length = snprintf(of, sizeof of, " (rank %zu of %zu)", rank, c->ranks);
  size_t end = strnlen(err->text, most);
  if (end > most - (size_t)length) end = most - (size_t)length;
  memcpy(err->text + end, of, (size_t)length + 1);
}

gb_status gb_comm_agree (gb_comm *c, gb_status st, gb_error *err) {
  if (c == NULL) return st;
  said s = {.st = st};
  double first = st == GB_OK ? 0 : (double)(c->ranks - c->rank); /* the greatest is the lowest rank's */
  if (st != GB_OK && err != NULL) s.err = *err;
  GB_TRY(gb_comm_greatest(c, &first, 1, err));
  if (first == 0) return GB_OK;
  const size_t rank = c->ranks - (size_t)first;
  GB_TRY(gb_comm_broadcast(c, rank, &s, sizeof s, err));
  name_rank(c, rank, &s.err);
  if (err != NULL) *err = s.err;
  return s.st;
}

gb_status gb_comm_place (gb_comm *c, size_t n, int64_t *of, size_t *first, size_t *total, gb_error *err) {
  const size_t rank = gb_comm_rank(c), ranks = gb_comm_ranks(c);
  for (size_t i = 0; i < ranks; i++) of[i] = i == rank ? (int64_t)n : 0;
  GB_TRY(gb_comm_sum(c, of, ranks, GB_OK, err));
  *first = *total = 0;
  for (size_t i = 0; i < ranks; i++) {
    if (i < rank) *first += (size_t)of[i];
    *total += (size_t)of[i];
  }
  return GB_OK;
}
