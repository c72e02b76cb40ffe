/* points.h - points by tiles: as rows of T one after the other, and as tiles of lanes (isa.h). */
#ifndef GB_CPU_CLUSTER_POINTS_H
#define GB_CPU_CLUSTER_POINTS_H

#include "cpu/isa/isa.h"
#include "program/cluster.h"

extern const gb_cluster_ops gb_cpu_cluster_ops; /* cluster.c */

/* bounded.c */
gb_status gb_assign_bounded (gb_device *dev, const gb_points *x, const gb_centres *c, const gb_drift *drift,
                             gb_quanta q, int32_t *label, gb_bounds bounds, int64_t *sums, size_t *moved,
                             void *scratch, gb_error *err);

/* many.c */
gb_status gb_come_nearer (gb_device *dev, const gb_points *x, const gb_centres *c, double scale,
                          int32_t first, bool fresh, void *near, int32_t *label, int64_t *block,
                          void *scratch, gb_error *err);
gb_status gb_draw_lots (gb_device *dev, const gb_points *x, double scale, const void *near,
                        const gb_stream *s, double share, gb_take_point *take, void *ud, gb_error *err);
gb_status gb_tally_labels (gb_device *dev, const gb_points *x, const int32_t *label, double scale, size_t n,
                           int64_t *out, gb_error *err);

#define GB_MOST_LANES 64 /* of a tile */

/* What a thread needs to read points. */
typedef struct gb_point_reader {
  const gb_points *x;
  size_t end, k; /* points before 'end' are read; centres that they are compared with */
  const gb_isa_kernels *isa;
  size_t lanes, size; /* of a tile; bytes of T */
  size_t tiles;       /* that there is room for */
  const void *shift;  /* (d) of T; NULL: no tiles are made */
  void *tile, *rows;  /* (tiles, d, lanes), (tiles, lanes, d) */
} gb_point_reader;

/* Some points, at most those of a tile. */
typedef struct gb_point_rows {
  const void *at;
  ptrdiff_t step; /* elements between rows */
  size_t n;
} gb_point_rows;

/* Bytes of the room of a reader. */
size_t gb_point_reader_bytes (gb_dtype compute, size_t d);
/* All points; one or several tiles at a time, as is best for k centres. */
gb_point_reader gb_point_reader_in (const gb_points *x, size_t k, const void *shift, void *room);

/* Points 'first' and those behind it, of a tile: where they lie, or copied. A row that the tile has beyond the last point is a
** copy of that one, which may be read as well. */
gb_point_rows gb_read_points (const gb_point_reader *r, size_t first);
/* The same in r->tile too, less the shift. */
gb_point_rows gb_read_tile (const gb_point_reader *r, size_t first);

/* Points 'first' and those behind it, of up to r->tiles tiles, to r->tile: how many tiles there are. The memory of as many points behind
** them is on its way but for 'next', which is for those who compare them. */
size_t gb_read_tiles (const gb_point_reader *r, size_t first, gb_point_rows *rows, gb_next_bytes *next);

/* A point where it lies, or copied to r->rows. */
const void *gb_point_at (const gb_point_reader *r, size_t point);
/* A point becomes row 'slot' of r->rows, whose lanes gb_turn_rows then makes the tile. */
void gb_put_point (const gb_point_reader *r, size_t point, size_t slot);
void gb_turn_rows (const gb_point_reader *r);

/* A point as T. */
void gb_copy_point (const gb_points *x, size_t point, void *out);

/* As it lies. */
double gb_coordinate (const gb_points *x, size_t row, size_t column);

static inline const void *gb_point_of (const gb_point_reader *r, const gb_point_rows *rows, size_t i) {
  return (const char *)rows->at + (ptrdiff_t)i * rows->step * (ptrdiff_t)r->size;
}

#endif
