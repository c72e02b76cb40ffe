/* fold.h - the fold program: the one form that the tile VM, the compiled templates and generated device
** code execute.
**
** A fold has a domain (a product of axes), straight-line tile instructions with loops over short inner
** axes, and several outputs, each with its own reduced axes. Everything elementwise, every reduction and
** every contraction that is not an opaque library call is a fold; a fold without reduced axes stores its
** tiles.
**
** Arithmetic is fixed by the program alone, never by threads, budget, or how tiles are visited:
**  - an output that reduces the TILE axis has one accumulator chain per element over GB_CANON consecutive
**    indices of that axis, ascending, started from the monoid's identity; a SUM chain is flushed into an
**    f64 total per chain, ascending;
**  - an output that reduces the LANE axis has 16 virtual lanes per element (index mod 16), each a chain
**    over the GB_SUPER consecutive indices of a super-tile, ascending, folded to one value by the fixed
**    tree ((l + l+8), then + 4, + 2, + 1), then flushed into an f64 total per super-tile, ascending;
**  - an output that reduces both has the 16 virtual lanes over one GB_TI x GB_TJ tile (TILE index outer,
**    LANE index inner), the tree, and an f64 total per tile, ascending TILE index within a lane block;
**    lane-block totals add in ascending order;
**  - reduced OUTER axes continue the totals in row-major order;
**  - a symmetric fold visits tiles of GB_TI x GB_TI with j >= i: row chains start at the diagonal, the
**    part left of it comes from the mirrored lanes, whose totals add before the row's own;
**  - products with an operand are fused multiply-adds if the ISA has them.
** For f64 programs the chains and the totals are both f64. Other monoids combine in the same order in the
** compute type. The same ISA gives the same bits; ISAs differ only by FMA and the elementary functions. */
#ifndef GB_PROGRAM_FOLD_H
#define GB_PROGRAM_FOLD_H

#include "program/op.h"

#define GB_FOLD_AXES 12 /* most axes a domain can have */
#define GB_TI 64        /* LANE indices of a tile */
#define GB_TJ 16        /* TILE indices of a tile */
#define GB_CANON 256    /* TILE indices of one accumulator chain */
#define GB_SUPER 512    /* LANE indices of one lane-buffer chain */
#define GB_LANES 16     /* virtual lanes, on every ISA and dtype */

typedef uint32_t gb_axes; /* a set of domain axes: bit a = axis a */

typedef enum gb_role {
  GB_AXIS_LANE,  /* at most one; vectorised; an output axis, or reduced through the virtual lanes */
  GB_AXIS_TILE,  /* at most one */
  GB_AXIS_OUTER, /* looped outside tiles, in order of axis number, first slowest */
  GB_AXIS_INNER  /* looped inside a tile by GB_INS_LOOP, or by a front or contraction over a feature axis */
} gb_role;

typedef struct gb_fold_axis {
  size_t extent;
  gb_role role;
  size_t chain; /* outputs that reduce the axis may be broken at multiples of it (gb_carry); 0: nowhere */
} gb_fold_axis;

/* A number in the compute type of a program: i of I64, else f. */
typedef union gb_number {
  double f;
  int64_t i;
} gb_number;

/* A strided buffer read by the program. Address (in elements) = offset + sum over axes of index * stride.
** 'slot' numbers the buffers of the call; several operands may read one buffer. */
typedef struct gb_operand {
  int slot;
  gb_dtype dtype; /* as stored; converted to the compute type on load */
  gb_axes deps;   /* axes with a nonzero stride */
  ptrdiff_t offset;
  ptrdiff_t stride[GB_FOLD_AXES];
} gb_operand;

typedef enum gb_ins_kind {
  GB_INS_LOAD,  /* dst = operand[x]                                        */
  GB_INS_CONST, /* dst = f                                                 */
  GB_INS_BIND,  /* dst = constants[x]: a number bound at run time          */
  /* dst = index along 'axis' * f + g, rounded once; of I64 programs index * step + start; without an axis
  ** (-1) the index is the element index given by operand[x]'s offset and strides */
  GB_INS_IOTA,
  /* dst = uniform (profile = 0; at most f) or normal (1) at element index given by
  ** operand[x]'s offset and strides; seed and stream in seed[2] */
  GB_INS_RAND,
  GB_INS_MAP,    /* dst = op(a, b, c); op is the gb_op of kind MAP, not RADIAL */
  GB_INS_SQDIST, /* dst = sum over 'axis' of [operand[w] *] (operand[x] - operand[y])^2, ascending, by FMA */
  GB_INS_DOT,    /* dst = sum over 'axis' of operand[x] * operand[y], ascending, by FMA */
  GB_INS_RADIAL, /* dst = profile, order, alpha-derivative at u = b * a [with alpha c]; values a, b, c */
  GB_INS_LOOP,   /* begins a loop over INNER 'axis'; accumulators of the loop start at their identities */
  GB_INS_ENDLOOP,
  /* inside a loop: dst = combine(monoid, dst, a); dst is readable after the loop. SUM of a MAP MUL is not
  ** fused; chains run over the whole loop in the compute type. */
  GB_INS_ACC,
  GB_INS_EMIT /* hands value a to output[x] */
} gb_ins_kind;

/* Values are numbered in SSA form, except ACC, whose dst is written once an iteration. */
typedef struct gb_ins {
  gb_ins_kind kind;
  gb_op op;            /* MAP */
  gb_profile profile;  /* RADIAL */
  int order, dalpha;   /* RADIAL */
  gb_monoid monoid;    /* ACC */
  int dst, a, b, c;    /* value numbers, -1 = none */
  int x, y, w;         /* operand, output or constant numbers, -1 = none */
  int axis;            /* SQDIST, DOT, LOOP, IOTA; -1 = none */
  double f, g;         /* CONST, IOTA, RAND */
  int64_t step, start; /* IOTA of I64 programs */
  uint64_t seed[2];    /* RAND */
  gb_axes deps;        /* dependence set of dst */
} gb_ins;

typedef enum gb_out_kind {
  GB_OUT_STORE,    /* reduces nothing: the tile is stored */
  GB_OUT_REDUCE,   /* combine(monoid) over 'reduced' */
  GB_OUT_CONTRACT, /* out[.., r] = sum over 'reduced' of value * operand[x], x varying along 'axis' r */
  /* out[.., k] = sum over 'reduced' of value * (operand[x] - operand[y]); x varies along the kept axis, y
  ** along the reduced one, both along 'axis' k */
  GB_OUT_DIFF
} gb_out_kind;

/* An output reduces exactly one of: nothing; TILE; LANE; TILE and LANE; each with any OUTER axes. INNER axes
** in 'deps' of the emitted value or equal to 'axis' are output axes. */
typedef struct gb_out {
  gb_out_kind kind;
  gb_monoid monoid; /* SUM for CONTRACT and DIFF */
  gb_axes reduced;
  int x, y;       /* operands, -1 = none */
  int axis;       /* INNER axis of the right-hand sides or features, -1 = none (one column) */
  int k;          /* KSMALLEST */
  int slot;       /* output buffer */
  int slot2;      /* KSMALLEST: buffer of positions; -1 = none */
  gb_dtype dtype; /* of the buffer; ARG* and positions: I64 */
  ptrdiff_t offset;
  ptrdiff_t stride[GB_FOLD_AXES];
  ptrdiff_t kstride; /* KSMALLEST: stride of the k axis */
} gb_out;

typedef struct gb_fold {
  gb_dtype compute; /* F64, F32 or I64 */
  int naxes, noperands, nins, nouts, nvalues, nconstants;
  gb_fold_axis axis[GB_FOLD_AXES];
  gb_operand *operand;
  gb_ins *ins;
  gb_out *out;
  /* LANE and TILE run over the same points, every emitted value is symmetric in them, every output is a
  ** SUM that reduces TILE (or both) and its row operand is its column operand mirrored: only tiles with j
  ** >= i are visited. out.x then is the operand varying along TILE; the mirrored operand is out.y (along
  ** LANE). */
  bool symmetric;
  /* The fold is one of several parts of a domain, cut along these axes: outputs that reduce one of them keep
  ** their totals between parts (gb_carry). 0 = the whole domain. */
  gb_axes carried;
  uint64_t identity; /* of the program up to renaming of axes, operands and values; extents excluded */
} gb_fold;

/* A kernel that was compiled from 'f' runs 'part' too: the same program over other extents, strides, offsets,
** starts of IOTA and carried axes. Strides that are 0 stay 0, and those that are 1 stay 1. Extents of INNER axes
** are compiled in, because loops over them are unrolled and templates chosen by them. */
static inline bool gb_fold_serves (const gb_fold *f, const gb_fold *part) {
  if (f->naxes != part->naxes || f->nins != part->nins || f->noperands != part->noperands ||
      f->nouts != part->nouts || f->symmetric != part->symmetric)
    return false;
  for (int a = 0; a < f->naxes; a++)
    if (f->axis[a].role != part->axis[a].role ||
        (f->axis[a].role == GB_AXIS_INNER && f->axis[a].extent != part->axis[a].extent))
      return false;
  return true;
}

/* fold.c. Two folds are one program: a kernel of one serves the other where it serves the extents of its INNER
** axes. Extents, offsets and carried axes are not compared, strides as gb_fold_serves says. Linear. */
bool gb_fold_same_program (const gb_fold *f, const gb_fold *g);

/* The totals of outputs that reduce a carried axis. Parts run in ascending order and may be cut where
** chains end, at multiples of gb_fold_axis.chain; then the bits are those of the whole. */
typedef struct gb_carry {
  void *state;      /* 64-byte aligned, unchanged between parts */
  bool first, last; /* begins at the identities; stores the outputs */
} gb_carry;

/* Statistics of a run; counted in the kernels, asserted in tests. */
typedef struct gb_fold_stats {
  uint64_t pairs; /* tile values of full (LANE, TILE) dependence evaluated, masked edges excluded */
  uint64_t tiles;
  const char *path; /* "vm", or the template's name, "rbf.d3.r1" */
} gb_fold_stats;

#endif
