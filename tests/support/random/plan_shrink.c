/* plan_shrink.c - smaller tapes that still fail, and the graph of a tape in print. */
#include "support/random/plan_shrink.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ATTEMPTS 600
#define PATIENCE 30 /* seconds for one attempt */

bool child_ends_well (bool (*job)(const void *ud), const void *ud, bool quiet) {
  int status = 0;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion must not return into the parent's tests */
    alarm(quiet ? PATIENCE : 0);
    const int null = quiet ? open("/dev/null", O_WRONLY) : -1;
    if (null >= 0) dup2(null, 1), dup2(null, 2);
    const bool good = job(ud);
    fflush(NULL);
    _exit(good ? 0 : 1);
  }
  return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

typedef struct attempt {
  examine *wrong;
  tape t;
} attempt;

static bool is_fine (const void *ud) {
  const attempt *a = ud;
  return !a->wrong(&a->t, false);
}

typedef struct shrinking {
  attempt best;
  int tried;
} shrinking;

/* Keeps 't' if it fails too. */
static bool try_tape (shrinking *s, const tape *t) {
  if (s->tried >= ATTEMPTS || memcmp(t, &s->best.t, sizeof *t) == 0) return false;
  attempt a = {s->best.wrong, *t};
  s->tried++;
  if (child_ends_well(is_fine, &a, true)) return false;
  s->best = a;
  return true;
}

static bool drop_steps (shrinking *s) {
  bool any = false;
  for (int size = s->best.t.nsteps / 2 + 1; size > 0; size /= 2)
    for (int at = s->best.t.nsteps - size; at >= 0; at -= size) {
      tape t = s->best.t;
      if (at + size > t.nsteps) continue;
      memmove(t.step[at], t.step[at + size], (size_t)(t.nsteps - at - size) * sizeof t.step[0]);
      t.nsteps -= size;
      any |= try_tape(s, &t);
    }
  return any;
}

static bool drop_leaves (shrinking *s) {
  bool any = false;
  for (int at = s->best.t.nleaves - 1; at >= 0 && s->best.t.nleaves > 1; at--) {
    tape t = s->best.t;
    memmove(t.leaf[at], t.leaf[at + 1], (size_t)(t.nleaves - at - 1) * sizeof t.leaf[0]);
    t.nleaves--;
    any |= try_tape(s, &t);
  }
  return any;
}

/* Row r of a tape: the frame, the leaves, the steps. */
static uint32_t *row_at (tape *t, int r) {
  return r == 0 ? t->frame : r <= t->nleaves ? t->leaf[r - 1] : t->step[r - 1 - t->nleaves];
}

/* A step becomes a leaf, so that later steps find the rest of the pool unchanged. */
static bool steps_to_leaves (shrinking *s) {
  bool any = false;
  for (int size = s->best.t.nsteps / 2 + 1; size > 0; size /= 2)
    for (int at = 0; at < s->best.t.nsteps; at += size) {
      tape t = s->best.t;
      for (int r = at; r < at + size && r < t.nsteps; r++) memset(t.step[r], 0, sizeof t.step[r]);
      any |= try_tape(s, &t);
    }
  return any;
}

/* Sets choices to 0 or 1, except the first of a step, which is its op. */
static bool plainer_choices (shrinking *s) {
  bool any = false;
  for (int r = 0; r <= s->best.t.nleaves + s->best.t.nsteps; r++)
    for (int k = r > s->best.t.nleaves; k < WIDTH / 2; k++)
      for (uint32_t value = 0; value < 2 && row_at(&s->best.t, r)[k] > 1; value++) {
        tape t = s->best.t;
        row_at(&t, r)[k] = value;
        any |= try_tape(s, &t);
      }
  return any;
}

/* saying it */

static void print_node (const gb_node *n) {
  char shape[GB_SHAPE_TEXT];
  fprintf(stderr, "  n%zu = %s(", n->index, gb_ops[n->op].name);
  for (int i = 0; i < n->nin; i++) fprintf(stderr, "%sn%zu", i > 0 ? ", " : "", n->in[i]->index);
  fprintf(stderr, ")  %s %s", gb_dtype_name(gb_node_dtype(n)), gb_shape_text(gb_node_shape(n), shape));
  if (n->op == GB_OP_CONST) fprintf(stderr, "  %g", n->attr.f[0]);
  else if (n->op == GB_OP_LEAF) {
    fprintf(stderr, "  strides");
    for (int a = 0; a < rank(n); a++) fprintf(stderr, " %td", n->out[0].tensor.stride[a]);
  } else {
    int last = GB_MAXDIM + 1;
    while (last >= 0 && n->attr.i[last] == 0) last--;
    for (int a = 0; a <= last; a++)
      fprintf(stderr, "%s%lld", a == 0 ? "  attr " : " ", (long long)n->attr.i[a]);
  }
  fputc('\n', stderr);
}

void print_graph (size_t n, gb_node **out) {
  gb_node **order;
  size_t count;
  OK(gb_graph_order(fx.g, n, out, GB_WALK_ALL, &order, &count, &fx.err));
  for (size_t i = 0; i < count; i++) print_node(order[i]);
  fprintf(stderr, "  asked for:");
  for (size_t i = 0; i < n; i++) fprintf(stderr, " n%zu", out[i]->index);
  fputc('\n', stderr);
  free(order);
}

static bool is_fine_aloud (const void *ud) {
  const attempt *a = ud;
  return !a->wrong(&a->t, true);
}

void shrink_and_print (uint64_t seed, examine *wrong) {
  shrinking s = {.best.wrong = wrong};
  tape_of(seed, &s.best.t);
  const int steps = s.best.t.nsteps;
  while (steps_to_leaves(&s) | drop_steps(&s) | drop_leaves(&s))
    if (s.tried >= ATTEMPTS) break;
  s.tried = 0;
  while (plainer_choices(&s) && s.tried < ATTEMPTS) drop_steps(&s);
  fprintf(stderr, "graph %llu, shrunk from %d steps to %d:\n", (unsigned long long)seed, steps,
          s.best.t.nsteps);
  child_ends_well(is_fine_aloud, &s.best, false);
}
