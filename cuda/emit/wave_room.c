/* wave_room.c - registers, shared memory and instructions of a wave. */
#include "cuda/emit/wave_room.h"

#include "program/fold.h"

enum { ROOM = 48 << 10 /* bytes of shared memory that every block can have */ };

/* Registers of chains and held elements that a thread of so many rows may have. */
static const struct { int batch, words; } budgets[] = {{8, 104}, {4, 140}};

static bool choose_batch (gb_wave *w, int chains, int held, int size) {
  for (int k = 0; k < (int)(sizeof budgets / sizeof *budgets); k++) {
    w->batch = budgets[k].batch;
    if ((chains + (chains + held) * w->batch) * (size / 4) <= budgets[k].words) return true;
  }
  return false;
}

static int aligned (int words, int to) { return (words + to - 1) / to * to; }

/* A thread reads the chains of a column as words of 16 bytes, 'step' apart, and half-warps of two chunks read theirs at once:
** no two of them meet in a bank. */
static void size_group (gb_wave *w, int group, int size) {
  w->places = GB_SUPER / GB_LANES / w->batch;
  w->group = group;
  w->step = GB_LANES + 16 / size;
  w->side = aligned(w->places * group * w->step, 32) + 16;
}

/* A wave that waits at every few columns, or stages few of them at once, is none. */
static bool choose_group (gb_wave *w, int chains, int row, int size) {
  for (int group = GB_LANES; group >= GB_LANES / 2; group /= 2)
    for (w->rows = GB_CANON; w->rows >= GB_TI; w->rows /= 2) {
      size_group(w, group, size);
      if ((2 * w->rows * row + 16 / size + 2 * w->side * chains) * size <= ROOM) return true;
    }
  return false;
}

/* It saves one evaluation of two, and takes the chains of each column from shared memory and back. */
bool gb_wave_fits (gb_wave *w, int chains, int held, int row, int size, double evaluation) {
  *w = (gb_wave){0};
  if (row == 0 || chains == 0) return false;
  return choose_batch(w, chains, held, size) && choose_group(w, chains, row, size) &&
         evaluation * w->batch > 4 * chains;
}
