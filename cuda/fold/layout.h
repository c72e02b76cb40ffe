/* layout.h - what a launch of one walk takes: the domain in units of work, panels of units, the grid, and the places in
** scratch. A function of the walk, the part and the GPU, so that a plan knows the bytes before a launch. */
#ifndef GB_CUDA_FOLD_LAYOUT_H
#define GB_CUDA_FOLD_LAYOUT_H

#include "cuda/device/gpu.h"
#include "cuda/fold/encode.h"
#include "cuda/fold/kernels.h"

enum { GB_CUDA_GRID = 16 }; /* thread blocks a multiprocessor, at most */

typedef struct gb_cuda_layout {
  gb_cuda_program p; /* all but addresses and what differs between panels */
  size_t all;        /* units of the domain */
  size_t panel;      /* units at once; of a divided walk, bytes of their chains where one unit has no more */
  size_t range;      /* parts at once: all of them, or those of a panel of many units */
  size_t group;      /* units whose totals are there at once: a panel, or the combination that is divided */
  bool
      divided; /* symmetric rows whose combination is several panels: mirrored chains are those of later ones, too */
  size_t combinations; /* of reduced OUTER axes */
  bool carried;
  unsigned blocks; /* most thread blocks */
  size_t shared;   /* bytes of shared memory */
  size_t lists, ins, chains, totals, mirrored, registers,
      bytes;    /* places in scratch; lists that do not fit into the argument */
  size_t state; /* bytes of carried totals */
} gb_cuda_layout;

gb_cuda_layout gb_cuda_lay_out (const gb_cuda *gpu, gb_cuda_type type, const gb_cuda_walk *w,
                                const gb_fold *part);
/* The panel that begins at a unit, into a program of the layout. */
void gb_cuda_enter_panel (const gb_cuda_layout *l, size_t unit, gb_cuda_program *p);
/* The next parts of its units; false: it had the last ones. */
bool gb_cuda_enter_parts (const gb_cuda_layout *l, gb_cuda_program *p);
/* The work of its panel as a share of all. */
double gb_cuda_share_of_panel (const gb_cuda_layout *l, const gb_cuda_program *p);
/* A place of so many bytes behind those that are taken. */
size_t gb_cuda_place (size_t *used, size_t bytes);

static inline bool gb_cuda_is_f32 (gb_cuda_type t) { return t == GB_CUDA_F32 || t == GB_CUDA_F32_UNIT; }
static inline size_t gb_cuda_ceiling (size_t n, size_t by) { return (n + by - 1) / by; }

#endif
