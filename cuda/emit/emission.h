/* emission.h - how a walk becomes a kernel: which side of its pairs a thread holds in registers and which one passes by, what
** of each is kept, and how many elements a thread has.
**
** A thread holds 'batch' indices of one axis, LANE or TILE; indices of the other one pass, a piece at a time, staged in
** shared memory. What an instruction of level FULL reads is therefore at hand: a value or an element that depends on neither
** side, on the held one (an array over the batch), on the passing one (words of a staged row), or on both, which is read
** from memory. */
#ifndef GB_CUDA_EMIT_EMISSION_H
#define GB_CUDA_EMIT_EMISSION_H

#include "cuda/emit/emit.h"
#include "cuda/emit/text.h"
#include "cuda/emit/wave_room.h"

enum {
  GB_EMIT_OPERANDS = 128,  /* of a fold that is emitted, at most */
  GB_EMIT_UNROLLED = 32,   /* indices of an INNER axis whose loop is unrolled */
  GB_EMIT_ROW = 64,        /* words of a staged row that a thread takes into registers */
  GB_EMIT_STAGE = 16 << 10 /* bytes of staged rows */
};

/* The elements of an operand along its INNER axes, side by side. */
typedef struct gb_stream {
  int form;        /* bits of gb_cuda_level: LANE and TILE */
  bool used, full; /* by the walk; by what runs at level FULL */
  bool outside;    /* by something else than what fills a staged row */
  bool kept;       /* where FULL finds it: registers or a staged row; else in memory */
  bool unrolled;   /* all its axes are loops that are unrolled */
  int n, mul[GB_FOLD_AXES];
  int place; /* in a staged row */
} gb_stream;

typedef struct gb_emission {
  const gb_fold *f;
  const gb_cuda_walk *w;
  gb_cuda_places at; /* of the lists */
  bool code;         /* the text reads the list of instructions */
  int reach, lane, tile;
  gb_cuda_arithmetic arithmetic;
  int held, passing; /* GB_CUDA_LANE or GB_CUDA_TILE: sides, and levels of what depends on them alone */
  int size;          /* bytes of a word */
  int batch, threads, chains;
  int blocks; /* thread blocks that a multiprocessor is to have room for: a bound of registers, which ptxas needs to hear */
  int row, rows; /* words of a staged row, rows of a piece */
  gb_wave wave;
  unsigned rolled; /* INNER axes whose loops are not unrolled */
  bool whole;      /* a thread takes a whole row into registers */
  int unroll;      /* passing indices at once */
  int group, step; /* elements that LSE takes at once, 0: none; how far apart they pass */
  gb_stream stream[GB_EMIT_OPERANDS];
  unsigned char *level; /* by value */
  bool *wanted;         /* by value: of one side, and read at level FULL */
  int *place;           /* by value: in a staged row */
  bool second;          /* the mirrored tiles of a walk over both axes, once more */
  bool diagonal;        /* the blocks of a wave that touch the diagonal */
  void *memory;
  gb_text text;
} gb_emission;

/* False: the walk stays with the interpreter, or memory is short (err). To be closed in any case. */
bool gb_emission_open (gb_emission *e, const gb_fold *f, const gb_cuda_walk *w, int reach,
                       gb_cuda_arithmetic a, gb_error *err);
void gb_emission_close (gb_emission *e);

/* The fold's instruction behind one of the walk's. */
static inline const gb_ins *gb_emission_ins (const gb_emission *e, int n) {
  return &e->f->ins[e->w->from[n]];
}
/* The operands that an output or an instruction reads: at most three, -1 = none. */
void gb_emission_operands (const gb_emission *e, int n, int operand[3]);
bool gb_emission_stages (const gb_emission *e);
/* An operand that only staged rows are made of. */
bool gb_emission_staged (const gb_emission *e, int operand);

#endif
