/* tiles.c - points that are an expression: each pass computes some rows of it at a time, and nothing holds them all. The rows of a tile
** follow from the shape alone, so no budget decides a bit. */
#include <string.h>

#include "lua/cluster/problem.h"

#define TILE_BYTES ((size_t)4 << 20)

size_t lgb_tile_rows (size_t d, gb_dtype t) {
  const size_t row = d * gb_dtype_size(t), blocks = TILE_BYTES / (row * GB_CLUSTER_BLOCK);
  return (blocks > 0 ? blocks : 1) * GB_CLUSTER_BLOCK;
}

/* The plan of the rows of a piece. */
static gb_status plan_tile (const lgb_points *p, size_t piece, gb_plan **plan, gb_error *err) {
  gb_node *rows = NULL;
  const gb_plan_options o = {0};
  GB_TRY(gb_slice(p->tiles[piece]->x, 0, p->first[piece], 1, p->piece[piece].x.n, &rows, err));
  const gb_status st = gb_plan_new(p->session->graph, 1, &rows, &o, plan, err);
  gb_node_unref(rows);
  return st;
}

/* What a plan takes on one device; 'on' has all of it where it is a plan of one device. */
static size_t peak_on (const gb_plan *plan, const gb_device *on, const gb_device *dev) {
  const gb_plan_device *of;
  gb_plan_report r;
  const int n = gb_plan_devices(plan, &of);
  gb_plan_report_get(plan, &r);
  for (int i = 0; i < n; i++)
    if (strcmp(of[i].name, dev->name) == 0) return of[i].peak;
  return n == 0 && on == dev ? r.peak : 0;
}

gb_status lgb_tile_bytes (const lgb_points *p, const gb_device *dev, size_t *bytes, gb_error *err) {
  *bytes = 0;
  for (size_t i = 0; i < p->npieces; i++) {
    gb_plan *plan;
    /* All tiles of an expression but its last one are alike. */
    if (p->tiles[i] == NULL || (p->first[i] > 0 && p->piece[i].x.n == p->tiles[i]->rows)) continue;
    GB_TRY(plan_tile(p, i, &plan, err));
    const gb_node *x = p->tiles[i]->x;
    const gb_device *on = gb_node_device(x);
    size_t peak = peak_on(plan, on, dev);
    /* The host's copy of a tile of another device. */
    if (dev == p->session->home && p->piece[i].device == NULL && !gb_memory_is_host(&on->memory))
      peak += p->piece[i].x.n * p->d * gb_dtype_size(gb_node_dtype(x));
    if (peak > *bytes) *bytes = peak;
    gb_plan_free(plan);
  }
  return GB_OK;
}

gb_status lgb_tile_open (void *points, size_t piece, const void **at, gb_error *err) {
  lgb_points *p = points;
  lgb_tiles *t = p->tiles[piece];
  gb_tensor host;
  GB_TRY(plan_tile(p, piece, &t->plan, err));
  gb_status st = gb_plan_run_with(t->plan, 0, NULL, NULL, &t->value, err);
  if (st == GB_OK && p->piece[piece].device != NULL) {
    *at = gb_tensor_data(&t->value);
    return GB_OK;
  }
  if (st == GB_OK) st = gb_host_of(&t->value, &host, err);
  if (st == GB_OK) *at = gb_host_elements(&host);
  else lgb_tile_close(points, piece);
  return st;
}

void lgb_tile_close (void *points, size_t piece) {
  lgb_tiles *t = ((lgb_points *)points)->tiles[piece];
  gb_tensor_clear(&t->value);
  gb_plan_free(t->plan);
  t->plan = NULL;
}
