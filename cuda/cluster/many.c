/* many.c - seeds by the thousand on a GPU: see program/cluster.h. What a launch finds lies in the GPU's room. */
#include "cuda/cluster/feed.h"
#include "cuda/cluster/pass.h"

static size_t least_of (size_t a, size_t b) { return a < b ? a : b; }

/* Points of which the room has so many bytes each. */
static size_t points_of (const gb_cuda_points *s, size_t bytes) {
  return s->room_bytes / bytes / GB_CLUSTER_BLOCK * GB_CLUSTER_BLOCK;
}

/* The nearest centres, and then how far they are. */
static gb_status run_nearer (gb_cuda_points *s, const gb_cuda_pass *part, gb_error *err) {
  gb_cuda_pass nearest = *part;
  nearest.label = part->found;
  GB_TRY(gb_cuda_pass_turn(s, part, s->p.k, err));
  GB_CUDA_TRY(gb_cuda_assign(&nearest, gb_cuda_pass_groups(s), s->gpu->stream));
  GB_CUDA_TRY(gb_cuda_come_nearer(part, s->gpu->stream));
  return gb_cuda_feed_on(s->gpu, err);
}

/* The room has the nearest centres, then potentials. */
gb_status gb_cuda_nearer (gb_device *dev, const gb_points *x, const gb_centres *c, double scale,
                          int32_t first, bool fresh, void *near, int32_t *label, int64_t *block,
                          void *scratch, gb_error *err) {
  gb_cuda_points s;
  GB_TRY(gb_cuda_pass_open(dev, x, c->k, scratch, &s, err));
  GB_TRY(gb_cuda_pass_bring_ranks(&s, c, err));
  const size_t most = points_of(&s, 2 * sizeof(int32_t)), some = least_of(gb_cuda_pass_some(&s, c->k), most);
  s.p.scale = scale, s.p.fresh = fresh, s.p.near = near, s.p.label = label, s.p.number = first;
  s.p.found = (int32_t *)(void *)s.room;
  s.p.block = (int64_t *)(void *)(s.room + most * sizeof(int32_t));
  for (size_t i = 0; i < x->n; i += some) {
    const size_t n = least_of(x->n - i, some);
    const gb_cuda_pass part = gb_cuda_pass_part(&s, i, n);
    GB_TRY(run_nearer(&s, &part, err));
    GB_TRY(gb_cuda_download(s.gpu, block + i / GB_CLUSTER_BLOCK, part.block,
                            (n + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK * sizeof *block, err));
  }
  return GB_OK;
}

/* A pass that reads no rows. */
static gb_status open_weights (gb_device *dev, const gb_points *x, gb_cuda_points *s, gb_error *err) {
  gb_points w = *x;
  w.unit = false;
  return gb_cuda_pass_open(dev, &w, 0, NULL, s, err);
}

/* -- lots */

typedef struct taking {
  gb_take_point *take;
  void *ud;
} taking;

static void take_lots (void *ud, const void *piece, size_t bytes) {
  const taking *t = ud;
  const gb_cuda_lot *lot = piece;
  for (size_t i = 0; i < bytes / sizeof *lot; i++)
    t->take(t->ud, (gb_far_point){(size_t)lot[i].row, lot[i].apart});
}

/* The room has their number, then those that are drawn. */
gb_status gb_cuda_lots (gb_device *dev, const gb_points *x, double scale, const void *near,
                        const gb_stream *stream, double share, gb_take_point *take, void *ud, gb_error *err) {
  gb_cuda_points s;
  taking t = {take, ud};
  GB_TRY(open_weights(dev, x, &s, err));
  const size_t most = points_of(&s, sizeof(gb_cuda_lot)) - GB_CLUSTER_BLOCK,
               some = least_of(gb_cuda_pass_some(&s, 1), most);
  const gb_cuda_drawing drawing = {.seed = stream->seed,
                                   .stream = stream->stream,
                                   .base = stream->base,
                                   .share = share,
                                   .count = (unsigned long long *)(void *)s.room,
                                   .lot = (gb_cuda_lot *)(void *)(s.room + GB_ALIGN)};
  s.p.scale = scale;
  s.p.near = (void *)near; /* which is only read */
  for (size_t i = 0; i < x->n; i += some) {
    unsigned long long count;
    const gb_cuda_pass part = gb_cuda_pass_part(&s, i, least_of(x->n - i, some));
    GB_TRY(gb_cuda_pass_turn(&s, &part, 1, err));
    GB_CUDA_TRY(cudaMemsetAsync(drawing.count, 0, sizeof count, s.gpu->stream));
    GB_CUDA_TRY(gb_cuda_draw_lots(&part, &drawing, gb_cuda_pass_groups(&s), s.gpu->stream));
    GB_TRY(gb_cuda_download(s.gpu, &count, drawing.count, sizeof count, err));
    GB_TRY(gb_cuda_look(s.gpu, drawing.lot, (size_t)count * sizeof *drawing.lot, take_lots, &t, err));
  }
  return GB_OK;
}

/* -- tally */

/* The room has the weights of some labels at a time. */
gb_status gb_cuda_tally_weights (gb_device *dev, const gb_points *x, const int32_t *label, double scale,
                                 size_t count, int64_t *out, gb_error *err) {
  gb_cuda_points s;
  GB_TRY(open_weights(dev, x, &s, err));
  s.p.label = (int32_t *)label; /* which is only read */
  s.p.weight = scale;
  s.p.block = (int64_t *)(void *)s.room;
  for (size_t first = 0; first < count; first += s.p.k) {
    s.p.number = (int32_t)first;
    s.p.k = least_of(count - first, s.room_bytes / sizeof *out);
    GB_CUDA_TRY(cudaMemsetAsync(s.p.block, 0, s.p.k * sizeof *out, s.gpu->stream));
    GB_TRY(gb_cuda_pass_run(&s, 1, gb_cuda_tally_labels, err));
    GB_TRY(gb_cuda_pass_add(&s, s.p.block, s.p.k, out + first, err));
  }
  return GB_OK;
}
