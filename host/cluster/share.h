/* share.h - which device passes over which points, and how points of the host get there.
**
** Points in the memory of a device of the list stay there. Those of the host are shared out by whole blocks, in order and in equal parts. A
** device that reads the host's memory reads them where they lie. Another one gets them in pieces, packed and in their own type: as many
** pieces as its room holds stay, the others pass through two slots, of which one is filled while a pass goes over the other. All of this
** follows from extents, types, places and rooms; it decides no bit of a result. */
#ifndef GB_CLUSTER_SHARE_H
#define GB_CLUSTER_SHARE_H

#include "cluster/kmeans.h"

#define GB_KMEANS_SLOT ((size_t)32 << 20) /* bytes of a slot where there is room */

typedef struct gb_kmeans_lot gb_kmeans_lot;

/* A piece that comes from the host. */
typedef struct gb_kmeans_sent {
  gb_kmeans_piece from; /* where it lies there */
  gb_kmeans_lot *lot;
  char *at;          /* on the device: where it is, or was last */
  bool stays, there; /* for good; now */
} gb_kmeans_sent;

/* What one device has. */
struct gb_kmeans_lot {
  gb_device *device;
  size_t room;   /* bytes that it may take in all */
  size_t beside; /* of these, what its passes take beside the following: sums, scratch */
  /* gb_kmeans_share_out: */
  size_t n;                     /* points */
  size_t near, labels, weights; /* bytes: of seeds and bounds, as gb_kmeans_bytes_of has them; of its block */
  size_t rows;             /* bytes of its block for points of the host: pieces that stay, slots, one point */
  size_t slot, sent, stay; /* bytes of a slot; pieces that come from the host; that stay */
  size_t minimum;          /* of 'room' that would do */
  gb_block held;           /* labels, weights, rows; while a fit runs */
  char *line, *slots;      /* of the block: one point; two slots */
  gb_kmeans_sent *in_slot[2], *coming; /* what is there; what is on its way */
  const gb_kmeans_sent *open;          /* what passes go over */
};

typedef struct gb_kmeans_share {
  /* Given; a device is listed once. A piece without a device lies on the host, or its source opens there. */
  size_t nfrom;
  const gb_kmeans_piece *from;
  const gb_kmeans_options
      *fit;      /* labels are kept on the devices; NULL: the points meet centres that are known */
  bool weighted; /* points have weights */
  size_t nlots;
  gb_kmeans_lot lot[GB_DEVICES];
  /* gb_kmeans_share_out: */
  size_t host, npieces; /* points on the host; pieces in all */
  /* Arrays of the caller, (npieces) each, that gb_kmeans_share_cut fills in: */
  gb_kmeans_piece *piece;
  gb_kmeans_sent *sent;
  int32_t **label;
  gb_kmeans_source source; /* of the pieces that are sent */
} gb_kmeans_share;

/* Sizes of each lot, and how many pieces there are. A lot whose minimum is above its room has the sizes of the minimum. */
void gb_kmeans_share_out (gb_kmeans_share *s);
void gb_kmeans_share_cut (gb_kmeans_share *s);

/* All that a device takes. */
static inline size_t gb_kmeans_lot_bytes (const gb_kmeans_lot *l) {
  return l->beside + l->near + l->labels + l->weights + l->rows;
}

/* Takes memory, runs 'work' over s->piece and s->label, brings labels, of a fit, to 'labels' (n) on the host, and gives memory back.
** Labels of devices that read the host's memory lie there all the time. Errors: of 'work', of devices. */
gb_status gb_kmeans_share_run (gb_kmeans_share *s, int32_t *labels,
                               gb_status (*work)(void *ud, gb_error *err), void *ud, gb_error *err);

#endif
