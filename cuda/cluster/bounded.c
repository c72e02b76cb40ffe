/* bounded.c - an assignment by bounds on a GPU (program/cluster.h). A launch screens its points by their bounds, measures those that are
** left open against their own centres, and compares to all centres those that are open still. How many these are the GPU alone knows:
** nothing waits for it. Of the bounds only that they hold matters to a label, so theirs are not the CPU's. */
#include "cuda/cluster/feed.h"
#include "cuda/cluster/pass.h"
#include "program/bounds.h"

static size_t least_of (size_t a, size_t b) { return a < b ? a : b; }

static gb_status bring (gb_cuda_points *s, const gb_centres *c, const gb_drift *drift, gb_error *err) {
  s->p.ranks = gb_cuda_wide_ranks_of(c->k, s->p.d);
  GB_TRY(gb_cuda_pass_bring_ranks(s, c, err));
  return gb_cuda_upload(s->gpu, s->move, drift->move, c->k * sizeof *s->move, err);
}

/* The room of a launch of 'most' points: lists, centres, sums, counts. */
enum { ROOM = 3 * sizeof(int32_t) + sizeof(double) };

static gb_cuda_bounding bounding_of (const gb_cuda_points *s, const gb_drift *drift, gb_bounds bounds,
                                     size_t most) {
  const gb_dtype compute = s->p.f64 ? GB_F64 : GB_F32;
  const gb_screen screen = gb_screen_of(drift, compute, s->p.k, s->p.d);
  const gb_margins margins = gb_margins_of(drift, compute, s->p.d);
  int32_t *room = (int32_t *)(void *)(s->room + most * sizeof(double));
  return (gb_cuda_bounding){.upper = bounds.upper,
                            .lower = bounds.lower,
                            .move = s->move,
                            .farthest = screen.farthest,
                            .most = screen.most,
                            .next = screen.next,
                            .linear = screen.linear,
                            .constant = screen.constant,
                            .spare = margins.spare,
                            .reach = margins.reach,
                            .tiny = margins.tiny,
                            .second = s->room,
                            .open = room,
                            .left = room + most,
                            .found = room + 2 * most,
                            .count = (unsigned *)(room + 3 * most)};
}

static gb_status run (gb_cuda_points *s, size_t first, size_t n, const gb_cuda_bounding *all, gb_error *err) {
  const unsigned groups = gb_cuda_pass_groups(s);
  cudaStream_t stream = s->gpu->stream;
  gb_cuda_pass part = gb_cuda_pass_part(s, first, n);
  gb_cuda_bounding b = *all;
  b.upper += first, b.lower += first;
  GB_TRY(gb_cuda_pass_wait(s, n, s->p.k, err));
  GB_CUDA_TRY(cudaMemsetAsync(b.count, 0, 2 * sizeof *b.count, stream));
  GB_CUDA_TRY(gb_cuda_screen(&part, &b, groups, stream));
  part.some = b.open, part.have = b.count;
  GB_TRY(gb_cuda_pass_measure(s, &part, err));
  GB_CUDA_TRY(gb_cuda_look_at(&part, &b, groups, stream));
  GB_CUDA_TRY(gb_cuda_compare(&part, &b, groups, stream));
  GB_CUDA_TRY(gb_cuda_settle(&part, &b, groups, stream));
  return GB_OK;
}

gb_status gb_cuda_assign_bounded (gb_device *dev, const gb_points *x, const gb_centres *c,
                                  const gb_drift *drift, gb_quanta q, int32_t *label, gb_bounds bounds,
                                  int64_t *sums, size_t *moved, void *scratch, gb_error *err) {
  gb_cuda_points s;
  gb_cuda_tally t;
  GB_TRY(gb_cuda_pass_open(dev, x, c->k, scratch, &s, err));
  GB_TRY(bring(&s, c, drift, err));
  s.p.point = q.point, s.p.weight = q.weight;
  s.p.label = label, s.p.sums = sums;
  const size_t most = (s.room_bytes / ROOM / GB_CLUSTER_BLOCK - 1) * GB_CLUSTER_BLOCK,
               some = least_of(gb_cuda_pass_some(&s, c->k), most);
  const gb_cuda_bounding b = bounding_of(&s, drift, bounds, most);
  for (size_t i = 0; i < x->n; i += some) GB_TRY(run(&s, i, least_of(x->n - i, some), &b, err));
  GB_TRY(gb_cuda_feed_on(s.gpu, err));
  GB_TRY(gb_cuda_pass_tally(&s, &t, err));
  *moved += t.moved;
  return GB_OK;
}
