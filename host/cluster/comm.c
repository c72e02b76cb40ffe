/* comm.c - see comm.h. */
#include "cluster/comm.h"

#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 63 }; /* ranks that say something in one message */

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

gb_status gb_comm_place (gb_comm *c, int64_t mine, int64_t *before, int64_t *total, gb_status st,
                         gb_error *err) {
  const size_t rank = gb_comm_rank(c), ranks = gb_comm_ranks(c);
  int64_t of[AT_ONCE + 1];
  *before = *total = 0;
  for (size_t first = 0; first < ranks; first += AT_ONCE) {
    const size_t n = ranks - first < AT_ONCE ? ranks - first : AT_ONCE;
    for (size_t i = 0; i < n; i++) of[i] = first + i == rank ? mine : 0;
    GB_TRY(gb_comm_sum(c, of, n, st, err));
    for (size_t i = 0; i < n; i++) {
      if (first + i < rank) *before += of[i];
      *total += of[i];
    }
  }
  return GB_OK;
}
