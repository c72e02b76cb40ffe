/* wave_room.h - whether the chains of a symmetric walk fit into a wave (wave.c), and how. The generator decides by it, and
** prices know by it which walks evaluate a pair once. */
#ifndef GB_CUDA_EMIT_WAVE_ROOM_H
#define GB_CUDA_EMIT_WAVE_ROOM_H

#include <stdbool.h>

/* Columns go in groups from place to place along the rows of a super-tile, with their chains in shared memory. A thread block
** has each place twice, once for each of two chunks. */
typedef struct gb_wave {
  int batch;      /* rows of a thread */
  int places;     /* of a super-tile */
  int group;      /* columns that are at one place at once */
  int step, side; /* words of the chain of a column, and of those that are under way of a chunk */
  int rows;       /* columns of a chunk that are staged at once */
} gb_wave;

/* chains: of an element; held: words of a row that a thread has, beside its chains; row: of a staged column; size: bytes of a
** word. evaluation: instructions of a pair that the other pass would take. False: two passes are better. */
bool gb_wave_fits (gb_wave *w, int chains, int held, int row, int size, double evaluation);

#endif
