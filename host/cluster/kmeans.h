/* kmeans.h - k-means: centres that minimise the sum of squared distances of points to the nearest of them.
**
** Lloyd's algorithm. Sums of points are whole numbers (program/cluster.h), so the result has the same bits for any number
** of threads, pieces and devices. The memory beside the points is what gb_kmeans_bytes says: a label of four bytes a point,
** centres, the sums of each worker, and while seeds are chosen one number a point. Sources: Lloyd (1982), Least squares quantization
** in PCM; Arthur & Vassilvitskii (2007), k-means++: the advantages of careful seeding. */
#ifndef GB_CLUSTER_KMEANS_H
#define GB_CLUSTER_KMEANS_H

#include "cluster/comm.h"
#include "program/cluster.h"

typedef enum gb_kmeans_start {
  GB_KMEANS_PLUS_PLUS,
  GB_KMEANS_RANDOM,
  GB_KMEANS_GIVEN,
  GB_KMEANS_PARALLEL
} gb_kmeans_start;

typedef struct gb_kmeans_options {
  size_t k;
  gb_kmeans_start start;
  const double *given; /* (k, d), of GIVEN; at rank 0 */
  size_t max_iter;     /* 1 or more */
  double
      tol; /* of the mean variance of the columns: centres that move less, squared and together, end the fit */
  uint64_t seed;
  bool
      bounded; /* Elkan's iterations: distances that bounds tell are not computed; results have the same bits */
  size_t runs; /* that the caller makes of these points: compared among ranks, no more */
  gb_comm *
      comm; /* NULL: one rank. Else the points are those of all ranks; options and d must be alike, and 'given' is rank 0's */
} gb_kmeans_options;

/* Points that do not exist all the time: 'open' brings those of piece 'number' to '*at', where they lie until 'close'. */
typedef struct gb_kmeans_source {
  gb_status (*open)(void *ud, size_t number, const void **at, gb_error *err);
  void (*close)(void *ud, size_t number);
  /* Optional: one point of the piece, with its coordinates side by side, until 'close'. */
  gb_status (*row)(void *ud, size_t number, size_t row, const void **at, gb_error *err);
  void *ud;
} gb_kmeans_source;

/* Points are taken as unit vectors where x.unit says so, for all pieces alike; centres then are unit vectors, too (unit.c).
** Some of the points, on one device, which has cluster ops. All pieces have one d and one type of computation; points are numbered
** through the pieces. A rank without points has one piece of none. */
typedef struct gb_kmeans_piece {
  gb_device *device;
  gb_points x;
  const double *weight;           /* x.weight on the host */
  const gb_kmeans_source *source; /* NULL: the points lie at x.at; else each pass over them opens the piece */
  size_t number;                  /* in the source */
  size_t skip;                    /* points of the source before the first one */
} gb_kmeans_piece;

/* The points of a piece, until they are closed. Errors: those of the source. */
gb_status gb_kmeans_open (const gb_kmeans_piece *p, gb_points *x, gb_error *err);
gb_status gb_kmeans_open_row (const gb_kmeans_piece *p, size_t row, gb_points *x,
                              gb_error *err); /* that point alone */
void gb_kmeans_close (const gb_kmeans_piece *p);

/* Arrays of the caller. */
typedef struct gb_kmeans_result {
  double *centre;  /* (k, d) */
  double *shift;   /* (d), that coordinates were computed less of; NULL: not wanted */
  double *history; /* (max_iter): inertia at the centres that each iteration began with */
  int32_t **label; /* of each piece (n), in the memory of its device */
  double inertia;  /* of the labels and the centres */
  size_t iterations,
      empty; /* empty: clusters that have no point, where there are fewer distinct points than clusters */
  bool converged;
  double change; /* of the last iteration, as 'tol' */
} gb_kmeans_result;

/* Bytes that a fit takes beside points, labels and the arrays of the result: of the device of piece 0 with all its pieces (sums,
** seeds, bounds beyond them and scratch are its parts); and of its home. */
typedef struct gb_kmeans_bytes {
  size_t device, home;
  size_t sums, seeds, bounds, scratch;
  size_t candidates; /* of k-means||, at home */
} gb_kmeans_bytes;
gb_kmeans_bytes gb_kmeans_bytes_of (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece);

/* Errors: ENAN with point and column of the first bad coordinate or weight; ESHAPE (fewer points than clusters); EOPTION (k, weights that
** are all 0, a start that is not finite, a device without passes over points); ENOMEM, EINTR, those of the devices. An error of one
** rank is that of all. Over ranks an iteration has one message, the sums. */
gb_status gb_kmeans_fit (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece,
                         gb_kmeans_result *out, gb_error *err);

/* -- use.c: centres that are known */

/* Centres, and the shift that their fit had: points of the fit get its labels. */
typedef struct gb_kmeans_model {
  size_t k;
  const double *shift, *centre; /* (d), (k, d) */
} gb_kmeans_model;

/* What is wanted of points; NULL: not wanted. */
typedef struct gb_kmeans_use {
  int32_t *label;  /* (n), from 1 */
  int32_t *kept;   /* (n), from 0 */
  double *inertia; /* of the points and their nearest centres */
  double *
      sum; /* (k, d + 1): sums of the points of each centre less the shift; their weight in the last column */
  gb_comm *comm; /* NULL: one rank. Else inertia and sums are of the points of all ranks */
} gb_kmeans_use;

/* Bytes that it takes beside points and the arrays above: at home and on the device of piece 0, which reads the host's memory, in
** all; on a device that has n points in its largest piece. */
size_t gb_kmeans_use_bytes (const gb_kmeans_model *m, bool sums, size_t npieces,
                            const gb_kmeans_piece *piece);
size_t gb_kmeans_use_room (const gb_kmeans_model *m, bool sums, const gb_device *dev, gb_dtype compute,
                           size_t d, size_t n);

/* Errors: ENAN with point and column of the first bad coordinate or weight; ENOMEM, EINTR, those of the device. */
gb_status gb_kmeans_apply (const gb_kmeans_model *m, size_t npieces, const gb_kmeans_piece *piece,
                           const gb_kmeans_use *use, gb_error *err);

/* -- minibatch.c */

/* A fit by mini-batches: each centre becomes the mean of all points that were nearest to it when their batch came. Batches are
** GB_KMEANS_BATCH points in order, whatever pieces they lie in; an iteration is a pass over all. Of one rank only (EOPTION). It has converged when the inertia of a
** pass, summed as its batches met it, is lower by no more than 'tol' of the pass before. All pieces lie on one device in the
** host's memory, and out->label is one array, that of piece 0. Source: Sculley (2010), Web-scale k-means clustering. */
#define GB_KMEANS_BATCH ((size_t)4096)
gb_status gb_kmeans_minibatch (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece,
                               gb_kmeans_result *out, gb_error *err);
/* Bytes that it takes beside points, labels and the arrays of the result. */
size_t gb_kmeans_minibatch_bytes (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece);

#endif
