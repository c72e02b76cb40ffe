/* unit.c - spherical k-means: points and centres are unit vectors, so that the nearest centre is that of the greatest cosine. Of a
** cluster the sum's direction has the greatest sum of cosines. Source: Dhillon & Modha (2001), Concept decompositions for large
** sparse text data using clustering. */
#include <math.h>

#include "cluster/kmeans_fit.h"

bool gb_kmeans_make_unit (size_t d, const double *shift, double least, double *v) {
  double most = 0, sum = 0;
  for (size_t t = 0; t < d; t++) most = fmax(most, fabs(v[t] + shift[t]));
  if (!(most > 0)) return false;
  for (size_t t = 0; t < d; t++) sum += (v[t] + shift[t]) / most * ((v[t] + shift[t]) / most);
  const double length = most * sqrt(sum);
  if (!(length > least)) return false;
  for (size_t t = 0; t < d; t++) v[t] = (v[t] + shift[t]) / most / sqrt(sum) - shift[t];
  return true;
}

double gb_kmeans_no_length (size_t d, gb_dtype compute, double scale, double weight, double heaviest) {
  const double unit = compute == GB_F64 ? 0x1p-53 : 0x1p-24;
  return 2 * sqrt((double)d) * (unit + fmax(1 / weight, 1 / heaviest) / scale);
}

gb_status gb_kmeans_check_unit (size_t npieces, const gb_kmeans_piece *piece, gb_error *err) {
  for (size_t i = 0; i < npieces; i++)
    if (piece[i].x.unit && !piece[i].device->ops->cluster->unit_rows)
      return gb_fail(err, GB_EOPTION,
                     "k-means: device %s does not divide rows by their lengths: spherical = true works with "
                     "device = 'cpu'",
                     piece[i].device->name);
  return GB_OK;
}
