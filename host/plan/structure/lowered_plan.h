/* lowered_plan.h - a lowered graph with all that is known of it: one serves every graph of its structure.
**
** It holds no node and no tensor. Its tables of axes and placements are filled when they are first asked
** for, under the lock of the graph's context. */
#ifndef GB_PLAN_STRUCTURE_LOWERED_PLAN_H
#define GB_PLAN_STRUCTURE_LOWERED_PLAN_H

#include "plan/place/nest.h"
#include "plan/place/place.h"
#include "plan/tile/packed_factor.h"

#define GB_PLACEMENTS 8 /* placements that are remembered */
#define GB_AXES 8       /* axes that a long program tries to cut */
#define GB_TILINGS 24   /* tilings that a short program tries, each from any leaf */
#define GB_SOURCES 32   /* axes of results that are tried where no leaf has them */
#define GB_CHAINS 16    /* tilings of several loops */

typedef struct gb_axes_found {
  gb_tiling *tiling[GB_TILINGS];
  int n;
  bool looked;
} gb_axes_found;

typedef struct gb_lowered_plan {
  int refs;
  int threads[GB_GRAPH_DEVICES]; /* by number of the device: scratch is for so many */
  uint64_t structure;
  size_t nnodes, nouts;
  gb_lowered *low;
  gb_kernels *kernels[GB_DEVICES]; /* of the devices that run it, the graph's own first; NULL past them */
  size_t *scratch;                 /* [steps] bytes on the graph's own */
  uint64_t *arithmetic;            /* [buffers] gb_buffer_signatures */
  int widest_in, widest_out, most_constants; /* of one step */
  struct {
    uint64_t key;
    gb_placement *place;
  } placed[GB_PLACEMENTS];
  int next_place;
  gb_tiling *batch;         /* the axis that leaves name: its sums run in grains, cut or not; or NULL */
  gb_axes_found batch_cuts; /* that axis in one loop, where it can be cut so, and in several */
  gb_axes_found bits, math; /* found by search; bits: cut where no bit changes, math: anywhere */
  gb_axes_found sums;       /* as bits, and axes whose cuts share work between devices but save no memory */
  gb_axes_found bits_chains, math_chains; /* of the axes of 'bits' and 'math', in several loops */
  gb_packed_factor *packed_factor;        /* factors that can be packed */
  int npacked_factors;
  gb_nest *nest;     /* staged values inside their readers, or NULL */
  uint64_t used;     /* stamp of the last use */
  gb_ledger *ledger; /* of the books that have its bytes */
  size_t booked;
} gb_lowered_plan;

/* Lowers a graph in canonical order. Errors: as gb_lower; ENOMEM; EDEVICE, where the graph's device does not run a
** step. */
gb_status gb_lowered_plan_new (gb_graph *g, const gb_order *o, size_t nouts, gb_node *const *outs,
                               gb_lowered_plan **out, gb_error *err);
void gb_lowered_plan_unref (gb_lowered_plan *p);
/* Enters its bytes in the ledger's books; after each change of its size. */
gb_status gb_lowered_plan_book (gb_lowered_plan *p, gb_ledger *l, gb_error *err);
/* Its scratch is for the numbers of threads that the devices of its steps have now. */
bool gb_lowered_plan_has_threads (const gb_lowered_plan *p, const gb_graph *g);
/* Where it is not, sizes scratch for these numbers and drops placements. */
void gb_lowered_plan_follow_threads (gb_lowered_plan *p, const gb_graph *g);
/* Its kernels on another device too, compiled for steps within 'tiling'. Errors: ENOMEM; those of compiling. */
gb_status gb_lowered_plan_compile (gb_lowered_plan *p, const gb_graph *g, gb_device *dev,
                                   const gb_tiling *tiling, gb_error *err);
gb_kernels *gb_lowered_plan_kernels (const gb_lowered_plan *p, const gb_device *dev); /* NULL: none yet */
/* The axes that it can be cut along, searched once. */
gb_status gb_lowered_plan_find_tilings (gb_lowered_plan *p, bool math, bool sums, const gb_axes_found **out,
                                        gb_error *err);
/* The same axes in several loops, in which cheap values, or all that may be, are computed again. */
gb_status gb_lowered_plan_find_chains (gb_lowered_plan *p, bool math, const gb_axes_found **out,
                                       gb_error *err);

#endif
