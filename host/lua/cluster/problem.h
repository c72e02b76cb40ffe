/* problem.h - what the functions of k-means are given: points, weights, options; and where the points lie. */
#ifndef GB_LUA_CLUSTER_PROBLEM_H
#define GB_LUA_CLUSTER_PROBLEM_H

#include "cluster/share.h"
#include "lua/lgb.h"

/* An expression without a value, of which some rows at a time are computed (tiles.c). */
typedef struct lgb_tiles {
  gb_node *x;
  size_t rows;     /* of a tile; the last one may have fewer */
  gb_tensor value; /* of the tile that is open */
  gb_plan *plan;   /* that made it */
} lgb_tiles;

typedef struct lgb_points {
  lgb_session *session;
  size_t ndevices;
  gb_device *device[GB_DEVICES]; /* that pass over them */
  size_t npieces, n, d;
  gb_dtype dtype;
  bool unit;                 /* rows are taken divided by their lengths */
  gb_kmeans_piece *piece;    /* where the points lie: device NULL, on the host */
  gb_node *weights;          /* NULL: none */
  gb_kmeans_source source;   /* of the pieces of expressions; ud: this */
  lgb_tiles **tiles;         /* of each piece; NULL: it has a value */
  size_t *first;             /* row of its expression that a piece begins with */
  size_t nstorages, mirrors; /* mirrors: bytes of copies for the host that are not there yet */
  const gb_storage **storage;
  gb_kmeans_share share;
} lgb_points;

/* Pushes what keeps them alive. The points are a list of tensors, argument 1; argument 2 is an option table of which {devices, ranks,
** spherical, weights} are read: one of several ranks may have no points. values: the points are read, too; else only extents are known, and gb.empty is welcome. home: the host passes over them,
** whatever 'devices' says. */
lgb_points *lgb_checkpoints (lua_State *L, bool values, bool home);

/* Shares the points out among the devices, for a fit or for centres that are known, with the bytes that passes take on each device
** beside them (0: of the home); pushes what keeps the pieces alive. Rooms: option 'rooms', bytes by name of a device, and no more than is free. */
typedef size_t lgb_beside (const void *ud, const gb_device *dev, const lgb_points *p);
void lgb_share_points (lua_State *L, lgb_points *p, const gb_kmeans_options *fit, lgb_beside *beside,
                       const void *ud);

/* Bytes of the memory of numbers that lie where a pass cannot read them, as contiguous f64 on the host. 0: they lie well. */
size_t lgb_doubles_bytes (const gb_node *x);
/* Adds to 'mirrors' what the host copies to make doubles of weights or a start: nothing where another device has doubles. */
void lgb_note_doubles (lgb_points *p, const gb_node *x);
/* Contiguous doubles of x, in a holder that is pushed, or where they lie: then an empty one is pushed. */
const double *lgb_pushdoubles (lua_State *L, lgb_session *s, gb_node *x);

/* ranks.c: the communicator, where option 'ranks' asks for it; NULL: one rank. */
gb_comm *lgb_checkranks (lua_State *L, int arg);

/* tiles.c */
size_t lgb_tile_rows (size_t d, gb_dtype t);
/* The most bytes that a tile of the points takes on a device; 0 where no points are computed by tiles. */
gb_status lgb_tile_bytes (const lgb_points *p, const gb_device *dev, size_t *bytes, gb_error *err);
gb_status lgb_tile_open (void *points, size_t piece, const void **at, gb_error *err);
void lgb_tile_close (void *points, size_t piece);

#endif
