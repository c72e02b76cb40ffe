/* points.c - see points.h. */
#include "cpu/cluster/points.h"

#include <math.h>
#include <string.h>

/* Of a second cache: what tiles that are read together take of it, and what centres may take that are read once for each tile. */
#define TOGETHER_BYTES ((size_t)256 << 10)
#define CENTRES_BYTES ((size_t)512 << 10)

#define LITTLE_BYTES ((size_t)8 << 10)

#define TURN_COST 10 /* of an element in a tile, in products with centres */

static const gb_isa_kernels *kernels_of (gb_dtype compute) {
  return compute == GB_F64 ? &gb_isa_active->f64 : &gb_isa_active->f32;
}

static size_t rounded (size_t bytes) { return (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN; }

/* Tiles that are read together: more than one while they stay in the second cache with what is read next. */
static size_t tiles_together (size_t tile) {
  const size_t most = TOGETHER_BYTES / tile;
  return most < 1 ? 1 : most < GB_NEAREST_TILES ? most : GB_NEAREST_TILES;
}

static size_t tile_bytes (gb_dtype compute, size_t d) {
  return kernels_of(compute)->cluster_lanes * d * gb_dtype_size(compute);
}

/* Centres that stay in the cache are read again for each tile, which then stays in the first one; little tiles stay there together. */
static size_t tiles_for (size_t centres, size_t tile) {
  const bool stay = centres <= CENTRES_BYTES && GB_NEAREST_TILES * tile > LITTLE_BYTES;
  return stay ? 1 : tiles_together(tile);
}

size_t gb_point_reader_bytes (gb_dtype compute, size_t d) {
  const size_t tile = tile_bytes(compute, d);
  return 2 * rounded(tiles_together(tile) * tile);
}

gb_point_reader gb_point_reader_in (const gb_points *x, size_t k, const void *shift, void *room) {
  const gb_dtype compute = gb_points_compute(x->dtype);
  const gb_isa_kernels *isa = kernels_of(compute);
  const size_t tile = tile_bytes(compute, x->d);
  const size_t tiles = tiles_for(k * (x->d + 1) * gb_dtype_size(compute), tile);
  return (gb_point_reader){.x = x,
                           .end = x->n,
                           .k = k,
                           .isa = isa,
                           .lanes = isa->cluster_lanes,
                           .size = gb_dtype_size(compute),
                           .tiles = tiles,
                           .shift = shift,
                           .tile = room,
                           .rows = (char *)room + rounded(tiles * tile)};
}

#define COPY(from, to, value)                                                                                \
  for (size_t t = 0; t < d; t++) {                                                                           \
    const from *v = (const from *)at + (ptrdiff_t)t * x->column;                                             \
    ((to *)out)[t] = (to)(value);                                                                            \
  }                                                                                                          \
  break

/* Rows of T, one element behind the other. */
static bool lies_together (const gb_points *x) {
  return (x->column == 1 || x->d == 1) && (x->dtype == GB_F64 || x->dtype == GB_F32);
}

static void convert_point (const gb_points *x, size_t i, void *out) {
  const void *at = (const char *)x->at + (ptrdiff_t)i * x->row * (ptrdiff_t)gb_dtype_size(x->dtype);
  const size_t d = x->d;
  if (lies_together(x)) {
    memcpy(out, at, d * gb_dtype_size(x->dtype));
    return;
  }
  switch (x->dtype) {
    case GB_F64: COPY(double, double, *v);
    case GB_I64: COPY(int64_t, double, *v);
    case GB_I32: COPY(int32_t, double, *v);
    case GB_F32: COPY(float, float, *v);
    case GB_F16: COPY(uint16_t, float, gb_f16_to_f32(*v));
    case GB_BF16: COPY(uint16_t, float, gb_bf16_to_f32(*v));
    default: COPY(uint8_t, float, *v);
  }
}

/* -- rows of length 1 */

/* 2^-e for a row whose greatest value is near 2^e: its squares then neither overflow nor vanish. */
static double scale_of (size_t d, const double *row) {
  double most = 0;
  int e;
  for (size_t t = 0; t < d; t++) most = fmax(most, fabs(row[t]));
  frexp(most, &e);
  return ldexp(1, e < -1000 ? 1000 : -e);
}

/* 1 / the root of the sum of squares of value(t), t < d, by four sums, of each fourth t. */
#define ROOT_BELOW_1(value)                                                                                  \
  double a = 0, b = 0, c = 0, e = 0;                                                                         \
  size_t t = 0;                                                                                              \
  for (; t + 4 <= d; t += 4) {                                                                               \
    a += value(t) * value(t), b += value(t + 1) * value(t + 1);                                              \
    c += value(t + 2) * value(t + 2), e += value(t + 3) * value(t + 3);                                      \
  }                                                                                                          \
  for (; t < d; t++) a += value(t) * value(t);                                                               \
  const double by = 1 / sqrt((a + c) + (b + e))

/* NaN where the length is 0. */
static void make_unit_f64 (size_t d, double *row) {
  const double scale = scale_of(d, row);
#define SCALED(t) (row[t] * scale)
  ROOT_BELOW_1(SCALED);
#undef SCALED
  for (t = 0; t < d; t++) row[t] = row[t] * scale * by;
}

static void make_unit_f32 (size_t d, float *row) {
#define WIDE(t) ((double)row[t])
  ROOT_BELOW_1(WIDE);
#undef WIDE
  for (t = 0; t < d; t++) row[t] = (float)((double)row[t] * by);
}

static void copy_point (const gb_points *x, size_t i, void *out) {
  convert_point(x, i, out);
  if (!x->unit) return;
  if (gb_points_compute(x->dtype) == GB_F64) make_unit_f64(x->d, out);
  else make_unit_f32(x->d, out);
}

void gb_copy_point (const gb_points *x, size_t point, void *out) { copy_point(x, point, out); }

/* -- tiles */

static bool lies_plain (const gb_points *x) { return !x->unit && lies_together(x); }

/* Points of tile number 'tile' of the room. */
static gb_point_rows read_points (const gb_point_reader *r, size_t first, size_t tile) {
  const gb_points *x = r->x;
  const size_t left = r->end - first, n = left < r->lanes ? left : r->lanes;
  if (lies_plain(x) && n == r->lanes)
    return (gb_point_rows){(const char *)x->at + (ptrdiff_t)first * x->row * (ptrdiff_t)r->size, x->row, n};
  char *const rows = (char *)r->rows + tile * r->lanes * x->d * r->size, *out = rows;
  for (size_t i = 0; i < r->lanes; i++, out += x->d * r->size)
    copy_point(x, first + (i < n ? i : n - 1), out);
  return (gb_point_rows){rows, (ptrdiff_t)x->d, n};
}

static gb_point_rows read_tile (const gb_point_reader *r, size_t first, size_t tile, gb_next_bytes next) {
  const gb_point_rows rows = read_points(r, first, tile);
  r->isa->cluster_tile(r->x->d, rows.at, rows.step, r->shift,
                       (char *)r->tile + tile * r->lanes * r->x->d * r->size, next);
  return rows;
}

/* Where points lie from 'first' on, those of so many tiles: NULL where they are not close to each other. */
static gb_next_bytes points_ahead (const gb_point_reader *r, size_t first, size_t tiles) {
  const gb_points *x = r->x;
  const size_t left = first < x->n ? x->n - first : 0, most = tiles * r->lanes;
  const bool close = lies_plain(x) && x->row > 0 && (size_t)x->row < 2 * x->d;
  if (!close || left == 0) return (gb_next_bytes){0};
  return (gb_next_bytes){(const char *)x->at + (ptrdiff_t)first * x->row * (ptrdiff_t)r->size,
                         (left < most ? left : most) * (size_t)x->row * r->size};
}

gb_point_rows gb_read_points (const gb_point_reader *r, size_t first) { return read_points(r, first, 0); }

gb_point_rows gb_read_tile (const gb_point_reader *r, size_t first) {
  return read_tile(r, first, 0, points_ahead(r, first + r->lanes, 1));
}

size_t gb_read_tiles (const gb_point_reader *r, size_t first, gb_point_rows *rows, gb_next_bytes *next) {
  const size_t all = (r->end - first + r->lanes - 1) / r->lanes, tiles = all < r->tiles ? all : r->tiles;
  *next = points_ahead(r, first + tiles * r->lanes, tiles);
  const size_t part = next->bytes * TURN_COST / (TURN_COST + r->k) / tiles;
  for (size_t t = 0; t < tiles; t++) {
    rows[t] = read_tile(r, first + t * r->lanes, t, (gb_next_bytes){next->from, part});
    gb_skip_bytes(next, part);
  }
  return tiles;
}

const void *gb_point_at (const gb_point_reader *r, size_t point) {
  const gb_points *x = r->x;
  if (lies_plain(x)) return (const char *)x->at + (ptrdiff_t)point * x->row * (ptrdiff_t)r->size;
  copy_point(x, point, r->rows);
  return r->rows;
}

void gb_put_point (const gb_point_reader *r, size_t point, size_t slot) {
  const size_t bytes = r->x->d * r->size;
  char *out = (char *)r->rows + slot * bytes;
  if (lies_plain(r->x)) memcpy(out, gb_point_at(r, point), bytes);
  else copy_point(r->x, point, out);
}

void gb_turn_rows (const gb_point_reader *r) {
  r->isa->cluster_tile(r->x->d, r->rows, (ptrdiff_t)r->x->d, r->shift, r->tile, (gb_next_bytes){0});
}

double gb_coordinate (const gb_points *x, size_t row, size_t column) {
  const char *at = x->at;
  at += ((ptrdiff_t)row * x->row + (ptrdiff_t)column * x->column) * (ptrdiff_t)gb_dtype_size(x->dtype);
  return gb_element_get(at, 0, x->dtype);
}
