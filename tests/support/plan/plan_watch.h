/* plan_watch.h - invariants of every plan: its report is consistent, it runs in the predicted bytes, under
** two poison patterns, with the same bits for every budget, and it releases everything. Uses plan/plan.h
** alone.
**
** The first violation for a graph is described in 'trouble'; no function here ends the test. */
#ifndef GB_TESTS_PLAN_WATCH_H
#define GB_TESTS_PLAN_WATCH_H

#include "plan/place/pack.h"
#include "support/plan/alloc_guard.h"
#include "support/plan/eval_fixture.h"

#define MOST_RESULTS 16

extern char trouble[2200];

#define TROUBLE(...) (trouble[0] == '\0' ? (void)snprintf(trouble, sizeof trouble, __VA_ARGS__) : (void)0)

/* The requested outputs, and the bytes of the device's ledger and of its home's without their values. */
typedef struct asked {
  size_t n;
  gb_node **out;
  size_t level, blocks, at_home;
} asked;

asked ask (size_t n, gb_node **out);

/* values */

/* Contents of the results, contiguous; or the failure, which is compared too. */
typedef struct bits {
  gb_status rc;
  size_t n, bytes[MOST_RESULTS];
  void *at[MOST_RESULTS];
} bits;

void bits_take (bits *b, const gb_tensor *t);
void bits_free (bits *b);

/* -1: equal; else the first result that differs. */
int bits_differ (const bits *a, const bits *b);

/* Drops all computed values. */
void forget_values (const asked *q);

/* a run */

bool opened (const asked *q, size_t budget, gb_plan **p, gb_plan_report *r);
void check_level (const asked *q, const char *when);

/* A numeric failure (a singular matrix) is an outcome; any other failure is a violation. */
bool numeric (gb_status rc);

/* The largest unused end of a step's scratch, under both poison patterns. */
typedef struct idle_scratch {
  size_t idle;
  char where[160];
} idle_scratch;

extern idle_scratch slack;

/* Runs under both poison patterns: an unwritten byte cannot match both. 'want' holds the results for another
** budget; if it is empty it is filled. */
void check_case (const asked *q, size_t budget, bits *want);

/* other ways to run the same plan */

/* With the caller's memory: the requested arena suffices, and nothing else is allocated. */
void check_closed (const asked *q, const bits *want);

/* With other tensors for the leaves, twice, keeping the arena: equal contents give equal results. */
void check_rebound (const asked *q, const bits *want);

/* After another value was observed and its caches exist: the ledger's limit is kept to the byte, caches are
** dropped, and the bits are those of a fresh graph. */
void check_history (const asked *q, uint32_t choice, const bits *want);

/* One byte below the minimum is refused, naming the minimum, with nothing held. */
void check_refusal (const asked *q, size_t minimum);

#endif
