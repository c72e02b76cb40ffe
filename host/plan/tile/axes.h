/* axes.h - along which axes a lowered graph can be cut, and how: which steps run once a window, which
** before, which after.
**
** The cut starts at leaves (the rows of x) and follows the values made of them, step by step (cut.h). A
** step that needs all of the axis at once, or a result accumulated over it, runs after the last window;
** what it reads is then kept whole. Nothing is ever computed otherwise than uncut: a step is cut only
** where its bits allow. */
#ifndef GB_PLAN_TILE_AXES_H
#define GB_PLAN_TILE_AXES_H

#include "plan/tile/cut.h"

typedef enum gb_when { GB_BEFORE, GB_WITHIN, GB_AFTER } gb_when;

typedef struct gb_tiling {
  int refs;
  size_t extent; /* of the axis */
  size_t unit;   /* windows begin at multiples of it: a power of two */
  size_t grain;  /* 0: arithmetic as without a cut; else accumulations run in pieces of it, always */
  int nsteps, nbufs, within; /* steps that run once a window */
  unsigned char *when;       /* [nsteps] gb_when */
  gb_cut *cut;               /* [nsteps] */
  int *dim;                  /* [nbufs] dimension along which the buffer has the axis, -1: not, or whole */
  /* [nbufs] its window is no run of memory in the whole, and an opaque op needs one: only the window may
  ** exist, not a value made before */
  bool *scattered;
  int leaf;    /* a leaf it starts from */
  int coupled; /* the first step that has the axis and needs all of it at once, -1: none */
} gb_tiling;

/* The extent of a batch decides the grain of its sums: clamp(2^floor(log2(extent / 8)), 1, 256), so that
** chunks of it are as good for 9 samples as for 9 million. */
size_t gb_grain (size_t extent);

static inline bool gb_is_within (const gb_tiling *c, int s) { return c != NULL && c->when[s] == GB_WITHIN; }

/* What a tiling may do. grain 0: only what changes no bit. grains: the sums of another tiling run in
** pieces, window by window; a sum that both cut is left whole; NULL: there is no other. sums: also folds
** whose windows spare no memory, which devices can share. */
typedef struct gb_cut_rules {
  size_t grain;
  const gb_tiling *grains;
  bool sums;
} gb_cut_rules;

/* Cuts the axis that is dimension seed[b] of leaf b (-1: not a seed), of one extent. *out NULL: no step
** can be cut. Errors: ENOMEM. */
gb_status gb_cut_along (const gb_lowered *low, const int *seed, gb_cut_rules rules, gb_tiling **out,
                        gb_error *err);
void gb_tiling_unref (gb_tiling *c); /* NULL is fine */

#endif
