/* kmeans.h - k-means: centres that minimise the sum of squared distances of points to the nearest of them.
**
** Lloyd's algorithm. Sums of points are whole numbers (program/cluster.h), so the result has the same bits for any number
** of threads, pieces and devices. The memory beside the points is what gb_kmeans_bytes says: a label of four bytes a point,
** centres, the sums of each worker, and while seeds are chosen one number a point. Sources: Lloyd (1982), Least squares quantization
** in PCM; Arthur & Vassilvitskii (2007), k-means++: the advantages of careful seeding. */
#ifndef GB_CLUSTER_KMEANS_H
#define GB_CLUSTER_KMEANS_H

#include "program/cluster.h"

typedef enum gb_kmeans_start { GB_KMEANS_PLUS_PLUS, GB_KMEANS_RANDOM, GB_KMEANS_GIVEN } gb_kmeans_start;

typedef struct gb_kmeans_options {
  size_t k;
  gb_kmeans_start start;
  const double *given; /* (k, d), of GIVEN */
  size_t max_iter;     /* 1 or more */
  double
      tol; /* of the mean variance of the columns: centres that move less, squared and together, end the fit */
  uint64_t seed;
} gb_kmeans_options;

/* Some of the points, on one device, which has cluster ops. All pieces have one d and one type of computation; points are numbered
** through the pieces. */
typedef struct gb_kmeans_piece {
  gb_device *device;
  gb_points x;
  const double *weight; /* x.weight on the host */
} gb_kmeans_piece;

/* Arrays of the caller. */
typedef struct gb_kmeans_result {
  double *centre;  /* (k, d) */
  double *history; /* (max_iter): inertia at the centres that each iteration began with */
  int32_t **label; /* of each piece (n), in the memory of its device */
  double inertia;  /* of the labels and the centres */
  size_t iterations,
      empty; /* empty: clusters that have no point, where there are fewer distinct points than clusters */
  bool converged;
  double change; /* of the last iteration, as 'tol' */
} gb_kmeans_result;

/* Bytes that a fit takes beside points, labels and the arrays of the result: of the device of piece 0 with all its pieces; and of
** its home. */
typedef struct gb_kmeans_bytes {
  size_t device, home;
} gb_kmeans_bytes;
gb_kmeans_bytes gb_kmeans_bytes_of (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece);

/* Errors: ENAN with point and column of the first bad coordinate or weight; ESHAPE (fewer points than clusters); EOPTION (k, weights that
** are all 0, a start that is not finite, a device without passes over points); ENOMEM, EINTR, those of the devices. */
gb_status gb_kmeans_fit (const gb_kmeans_options *o, size_t npieces, const gb_kmeans_piece *piece,
                         gb_kmeans_result *out, gb_error *err);

#endif
