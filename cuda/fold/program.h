/* program.h - a fold as its kernels read it: plain numbers, in the argument of a kernel, or in device memory where they do
** not fit.
**
** A fold is run as several walks. A walk serves the outputs of one reach that reduce the same OUTER axes, and has the
** instructions that they need. It makes *chains* - sums of at most 256 or 512 elements in the compute type, as
** program/fold.h says - in any order and in as many threads as there are, each in a place of its own; then *totals* absorb
** them in the order of their numbers. So bits depend neither on the grid nor on panels. */
#ifndef GB_CUDA_FOLD_PROGRAM_H
#define GB_CUDA_FOLD_PROGRAM_H

#include "program/fold.h"

enum {
  GB_CUDA_BLOCK = 128,                       /* threads */
  GB_CUDA_HALVES = GB_CUDA_BLOCK / GB_LANES, /* half-warps: each the 16 virtual lanes of a block of lanes */
  GB_CUDA_BATCH = GB_TI / GB_LANES,          /* elements that a thread evaluates at once */
  GB_CUDA_ROWS = GB_CUDA_BLOCK * GB_CUDA_BATCH,    /* LANE indices of a thread block: a super-tile */
  GB_CUDA_COLUMNS = GB_CUDA_HALVES * GB_CUDA_BATCH /* TILE indices of a thread block that reduces LANE */
};

/* Which of LANE and TILE a walk reduces. MIRROR: the lanes of a symmetric program that lie left of the diagonal; WAVE: ROW
** and MIRROR in one pass, which only generated kernels have. */
typedef enum gb_cuda_reach {
  GB_CUDA_KEEP,
  GB_CUDA_ROW,
  GB_CUDA_COL,
  GB_CUDA_ALL,
  GB_CUDA_MIRROR,
  GB_CUDA_WAVE
} gb_cuda_reach;

/* How an element enters its chain. PRODUCT: times an operand that varies along kept axes, or a difference of two. */
typedef enum gb_cuda_how {
  GB_CUDA_STORE,
  GB_CUDA_CHAIN,
  GB_CUDA_CONTRACT,
  GB_CUDA_DIFF,
  GB_CUDA_PRODUCT,
  GB_CUDA_LSE,
  GB_CUDA_SELECT
} gb_cuda_how;

/* EXACT: the bits of GIBBOUS_ISA=avx2. UNIT: 2^x and the square roots of profiles by the special function unit. */
typedef enum gb_cuda_arithmetic { GB_CUDA_EXACT, GB_CUDA_UNIT } gb_cuda_arithmetic;

typedef enum gb_cuda_level {
  GB_CUDA_ONCE,
  GB_CUDA_LANE,
  GB_CUDA_TILE,
  GB_CUDA_FULL,
  GB_CUDA_LEVELS
} gb_cuda_level;

/* A total, or a chain that is complete: f of float programs, i of integer ones and of keys and positions. */
typedef union gb_cuda_word {
  double f;
  int64_t i;
} gb_cuda_word;

typedef struct gb_cuda_operand {
  const void *at;
  int dtype;
  int64_t offset, stride[GB_FOLD_AXES];
} gb_cuda_operand;

typedef struct gb_cuda_ins {
  int kind, op, profile, order, dalpha, monoid;
  int dst, a, b, c;  /* registers, -1 = none */
  int x, y, w, axis; /* operands, an output or a number; -1 = none */
  int jump;          /* LOOP, ENDLOOP: the matching one */
  bool plain;        /* RADIAL: b is a number that enters the profile's constants; else u = b a comes first */
  bool varying;      /* RADIAL: alpha differs by element */
  double f, g;
  int64_t step, start;
  uint64_t seed[2];
} gb_cuda_ins;

typedef struct gb_cuda_out {
  int how, kind, monoid, dtype;
  int x, y, axis, k;
  int rows, lanes; /* CONTRACT, DIFF: operands that vary along TILE and along LANE */
  int acc,
      held; /* first register of the chains, or of the 'held' elements of each slot that LSE takes at once */
  void *at; /* the buffer */
  int64_t *positions; /* KSMALLEST; NULL = not wanted */
  int64_t offset, kstride;
  int slots, cols, words;
  int mul[GB_FOLD_AXES]; /* slot number: sum of index * it */
  unsigned slotted;      /* axes of slots */
  unsigned counted;      /* axes that positions count, in row-major order */
  /* word of its chains in a part, of its totals in an element: sums over the outputs before it */
  size_t first;
  int64_t stride[GB_FOLD_AXES];
} gb_cuda_out;

/* Where the lists of a walk lie behind one another: outputs, operands, numbers, instructions. Outputs and operands end with
** the stride of the last axis of the domain. */
typedef struct gb_cuda_places {
  int out, operand;                  /* bytes of one */
  int operands, constants, ins, end; /* places in bytes; outputs begin at 0 */
} gb_cuda_places;

/* One launch of a walk. An element is a row, a column or the whole of one combination of kept OUTER axes. */
typedef struct gb_cuda_program {
  int naxes, lane, tile, noperands, nouts, nregs;
  int code[GB_CUDA_LEVELS], ncode[GB_CUDA_LEVELS];
  int reach;
  bool symmetric, strip, lists; /* lists: of outputs that remember positions */
  bool first; /* of the combinations of reduced OUTER axes, and of parts that carry totals: totals begin */
  bool last;  /* the same: absorption stores them */
  size_t extent[GB_FOLD_AXES], nlane, ntile;
  unsigned kept, reduced;     /* OUTER axes */
  size_t index[GB_FOLD_AXES]; /* of reduced OUTER axes */
  size_t words;               /* of an element: all outputs' slots, columns and words of a total */
  size_t parts;               /* chains of an element in a launch; of rows, without the mirrored ones */
  size_t part;                /* number of the first of them; 0 but for rows that have no mirrored ones */
  size_t mirrors;             /* of rows of a symmetric program: super-tiles of the panel, which are as many
                                 mirrored chains of an element behind them; 0: of another walk */
  size_t unit, units; /* thread blocks' worth of elements: the first one of this panel, and how many it has */
  size_t each;        /* elements of a unit */
  size_t per;         /* units of one combination of kept OUTER axes */
  size_t wide; /* units that have mirrored chains: the panel's and those behind them in its combination */
  /* [mirrors][words][elements of wide], then [parts][words][elements of the panel]. Where a panel begins within a
     combination, parts begin at its diagonal. */
  gb_cuda_word *chains;
  gb_cuda_word
      *mirrored; /* of a combination in several panels, [words][its elements]: what these have mirrored */
  gb_cuda_word *totals; /* [words][elements]: of the panel, or all of them where they are carried */
  size_t totals_first, totals_count;
  char *registers; /* [blocks of the grid][nregs][batch][threads], or NULL: in shared memory */
  gb_cuda_places at;
  const char *elsewhere;  /* outputs, operands and numbers; NULL: in the argument */
  const gb_cuda_ins *ins; /* NULL: in the argument, behind them */
} gb_cuda_program;

/* The argument of a kernel: as much as every GPU takes. */
enum { GB_CUDA_ARGUMENT = 4096, GB_CUDA_LISTS = GB_CUDA_ARGUMENT - sizeof(gb_cuda_program) };
typedef struct gb_cuda_argument {
  gb_cuda_program program;
  char lists[GB_CUDA_LISTS];
} gb_cuda_argument;

#endif
