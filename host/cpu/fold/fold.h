/* fold.h - inside the fold executor: a gb_fold compiled for tiles, and the state of a thread while it runs.
**
**  kernel.c        what a device does with folds: compile, scratch, launch
**  compile.c       the loop level at which each instruction runs, where values live
**  place.c         operands to packs, outputs to accumulators
**  fit.c           a compiled program fitted to a part of its fold: what depends on extents and strides
**  pack.c          strided memory of any dtype to and from the compute type
**  interpret.c     runs the instructions of one level
**  chain.c         runs of instructions as chains of steps, the running value in registers; chain_plan.c,
**                  chain_link.c, chain_super.c plan them: instructions into links, locations of
**                  arguments, steps that do the work of several instructions
**  cull.c          skips tiles that would add nothing
**  accumulate.c    a tile into chains; accumulate_lse.c, accumulate_select.c: monoids whose state is a pair
**                  or a list
**  totals.c        chains into totals; totals_arith.c their arithmetic; store.c totals into outputs
**  walk.c          traversal, threads, order
**
** Conventions of a program, beyond program/fold.h:
**  - positions (ARG*, KSMALLEST) count from 1 in row-major order of the reduced axes taken by axis number;
**  - the loops around an EMIT are output axes; a constant is hoisted out of loops wherever it stands;
**  - WHERE is (condition, then, else); KSMALLEST writes values and positions with the same offset and
**    strides;
**  - an output never overlaps an operand or another output. */
#ifndef GB_CPU_FOLD_FOLD_H
#define GB_CPU_FOLD_FOLD_H

#include <stdatomic.h>

#include "cpu/cpu.h"
#include "cpu/isa/isa.h"

#define GB_BLOCKS (GB_SUPER / GB_TI) /* lane blocks of a super-tile */
#define GB_STRIP 256                 /* most lane blocks of a strip; a multiple of GB_BLOCKS */

extern bool gb_cpu_fold_no_templates; /* tests: every program through the plain interpreter, same bits */
extern bool gb_cpu_fold_all_tiles;    /* tests: tiles out of reach too, same bits */
extern double gb_cpu_fold_alone;      /* steps below which one thread runs a fold alone; tests: 0 */

/* An 8-byte total: f for float programs, i for I64 ones and for keys and positions. */
typedef union gb_word {
  double f;
  int64_t i;
} gb_word;

/* Kinds of compiled instruction beyond gb_ins_kind: SQDIST and RADIAL in one pass. */
enum { GB_X_FRONT = GB_INS_EMIT + 1 };

/* An interval that contains some values; bounds that are not finite allow anything. */
typedef struct gb_span {
  double lo, hi;
} gb_span;

/* The layouts into which operands of any strides and dtype are packed for the kernels. */
typedef enum gb_pack_layout {
  GB_PACK_ONE,   /* [inner][feature]: no dependence on LANE or TILE; filled once an item */
  GB_PACK_LANES, /* [block][inner][feature][GB_TI]: filled once an item */
  GB_PACK_ROWS,  /* [inner][GB_CANON][feature]: filled once a chunk */
  GB_PACK_COLS   /* [inner][GB_CANON]: filled once a chunk */
} gb_pack_layout;

typedef struct gb_xpack {
  int operand, axis; /* axis: the feature axis, contiguous in the pack; -1 = none */
  gb_pack_layout layout;
  bool direct;               /* ROWS: kernels read the operand in place */
  bool zero;                 /* LANES: lanes past the edge are 0, else copies of the last valid lane */
  gb_axes inner;             /* INNER axes other than 'axis' that the operand varies along */
  size_t count, width;       /* their combinations; extent of 'axis' */
  size_t step[GB_FOLD_AXES]; /* elements of the pack (direct: of the operand) by inner axis */
  size_t block;              /* LANES: elements of one lane block */
  size_t row;                /* ROWS: elements between rows */
  size_t at;                 /* byte offset in the workspace */
  size_t box;                /* offset of the bounds, if tiles may be culled */
} gb_xpack;

typedef struct gb_xvalue {
  gb_form form, level; /* level: the loop level that computes it, as the form of that level */
  int def, last, uses; /* instruction numbers; loops extend them */
  int pack;            /* a loaded value that lives in a pack, -1 = none */
  int reg;             /* FULL register, -1 = none */
  /* in the chain being planned; 'slot': its number, -1 = none */
  enum { GB_IN_REGISTER, GB_IN_SLOT, GB_IN_PACK, GB_IN_OPERAND } where;
  int slot;
  bool again, crosses; /* read from memory by the chain; read after it */
  int made, reader; /* while a chain is planned: operations of level FULL; reader: the last outside loops */
  int sink;         /* the first output of the value, the others through 'next'; -1 = none */
  size_t at;        /* byte offset in the workspace */
  size_t box;       /* offset of the bounds of a LANE or TILE value, if tiles may be culled */
} gb_xvalue;

typedef struct gb_xop {
  int kind; /* gb_ins_kind or GB_X_FRONT */
  gb_form form;
  const gb_ins *ins, *front; /* front: the SQDIST of a GB_X_FRONT */
  int px, py, pw;            /* packs, -1 = none; SQDIST and DOT without px go element by element */
  int jump;                  /* LOOP, ENDLOOP: index of the matching one in its list */
  int redirect;              /* output whose memory may be written directly, -1 = none */
} gb_xop;

/* The location of a link's argument. Those after SLOT are set for every tile. */
typedef enum gb_source {
  GB_FROM_NONE,
  GB_FROM_SLOT,
  GB_FROM_VALUE,
  GB_FROM_PACK,
  GB_FROM_OPERAND,
  GB_FROM_ROWS,
  GB_FROM_COLUMNS,
  GB_FROM_MIRROR,
  GB_FROM_LANES,
  GB_FROM_OUT
} gb_source;

typedef struct gb_xlink {
  gb_link link;
  gb_source from[4];
  int number[4]; /* of the slot, value, pack, operand or output */
  int b[2], c;   /* RADIAL: values */
  int loop;      /* axis of the loop around it, -1 = none */
} gb_xlink;

/* Operations [first, end) of level FULL. */
typedef struct gb_xchain {
  int first, end, link, nlinks;
  bool by_row;
} gb_xchain;

enum { GB_MOST_SLOTS = 24 }; /* values that a chain may keep beside the running one */

/* Which of LANE and TILE an output reduces: none, TILE, LANE, both. */
typedef enum gb_reach { GB_REACH_KEEP, GB_REACH_ROW, GB_REACH_COL, GB_REACH_ALL } gb_reach;
typedef enum gb_how {
  GB_HOW_STORE,
  GB_HOW_CHAIN,
  GB_HOW_CONTRACT,
  GB_HOW_DIFF,
  GB_HOW_PRODUCT,
  GB_HOW_LSE,
  GB_HOW_SELECT
} gb_how;

/* An output. 'slots' = combinations of the axes in 'inner'; 'cols' = right-hand sides or features kept
** side by side. A total is 'words' gb_words. PRODUCT counts its columns among the slots. */
typedef struct gb_xout {
  const gb_out *o;
  gb_reach reach;
  gb_how how;
  bool outer;   /* reduces OUTER axes: totals are kept for the whole output until the end */
  bool carried; /* totals kept between parts of the domain, in memory of the caller */
  /* Words in front of the totals, of an output that reduces LANE, and TILE in parts of the domain: what each lane
  ** block has so far. When the last part is over it is added to the total, as where there is one part. 0: none */
  size_t nparts;
  gb_axes inner;
  size_t slots, cols, words;
  size_t mul[GB_FOLD_AXES];  /* slot number = sum of index * mul over 'inner' */
  size_t omul[GB_FOLD_AXES]; /* number of a kept OUTER combination, if 'outer'; else 0 */
  size_t nouter;             /* such combinations; 1 unless 'outer' */
  size_t pmul[GB_FOLD_AXES]; /* position = 1 + sum of index * pmul over reduced axes */
  int px, py;                /* packs of the TILE side (ROWS) and the LANE side (LANES), -1 = none */
  size_t apart;              /* ROW: bytes between the chains of lane blocks; 0 = one block at a time */
  /* ROW: [slots][cols][GB_TI]; COL: [slots][GB_CANON][cols][GB_LANES]; LSE: maxima, sums; SELECT: see
  ** accumulate_select.c */
  size_t chain, chain2;
  size_t mirror; /* symmetric ROW: the COL chains */
  /* ROW [block][slots][cols][GB_TI]; ALL [block][slots]; strips: of the item, [super][slots][cols] words */
  size_t part;
  bool entered; /* written by the chain being planned */
  int next;     /* output of the same value in that chain, -1 = none */
  int grouped;  /* ALL: number + 1 of the chain that writes it, [GB_CANON / GB_TJ][GB_LANES] at 'groups' */
  size_t groups;
  size_t moved; /* symmetric ROW: mirrored totals of own rows, [slots][GB_SUPER][cols] */
  /* COL [outer][slots][TILE][cols]; ALL [outer][slots]; with 'outer': ROW [outer][slots][cols][LANE], KEEP
  ** [outer][slots][TILE][LANE]; else NULL */
  gb_word *total;
  gb_word *across;        /* symmetric ROW: mirrored totals, [slots][TILE][cols] */
  size_t ntotal, nacross; /* words */
} gb_xout;

/* A fold as it was compiled; what depends on extents and strides is filled in for each part (gb_exec_fit). */
typedef struct gb_xprog {
  const gb_fold *f; /* the part that runs */
  const gb_isa *isa;
  const gb_isa_kernels *k;
  gb_dtype compute;
  size_t size;                 /* bytes of an element of the compute type */
  int lane, tile;              /* axis numbers, -1 = none */
  bool strip;                  /* no TILE axis: the rows of a tile are consecutive lane blocks */
  size_t nlane, ntile, nouter; /* extents; 1 where the axis is absent */
  size_t nsuper, nchunk, items;
  size_t groups; /* items along the chunks of a super-tile, if no chain crosses them */
  int rows;      /* rows of a tile run: as many as fit in L1 */
  size_t sweep;  /* rows of a chunk that all lane blocks visit before the next: COL chains in L1 */
  size_t strips; /* strips of an item: enough work between synchronisations */
  size_t width;  /* lanes of an item */
  bool pairs;    /* some value depends on both LANE and TILE */
  bool inside;   /* an item walks all OUTER combinations: no other item shares its totals */
  bool ordered;  /* items share totals and flush in the order of their numbers */
  bool fused;    /* the whole FULL level is one template call */
  bool turned;   /* the FULL level is one row reduction of elements adjacent along the rows */
  int threads;
  gb_xop *op;
  int code[4], ncode[4]; /* op ranges by level */
  gb_xvalue *value;
  gb_xpack *pack;
  int npacks;
  gb_xout *out;
  gb_xchain *chain;
  int nchains;
  gb_xlink *link;
  int nlinks, most_links, nslots;
  bool whole;            /* one chain is the whole level FULL */
  size_t links, slots;   /* offsets in the workspace */
  bool reaches;          /* distant tiles add nothing and may be culled */
  size_t spans;          /* offset in the workspace: bounds of the values of a tile */
  int *bound, nbound[4]; /* values of level LANE, then TILE: rebound for every block or tile */
  size_t pointers, bases, temp[3], mask, ones, small; /* offsets in the workspace */
  size_t fixed, work;  /* bytes of a thread's workspace: those that all parts have; all */
  size_t meta;         /* bytes of the tables that a launch fits */
  size_t totals, kept; /* bytes of totals: in scratch; those that are carried */
  bool last;           /* of the parts of the domain */
} gb_xprog;

/* Entries of the tables of a program. */
typedef struct gb_xcounts {
  size_t ops, packs, outs, links, values, bound, chains;
} gb_xcounts;

/* A kernel of the CPU: the program with tables and a fold of its own, in one block of memory. */
typedef struct gb_cpu_kernel {
  gb_kernel kernel;
  gb_fold fold;
  gb_xprog prog;
} gb_cpu_kernel;

/* State shared by threads. Progress of item k, in a ring, is k * (nchunk + 2) + stages finished. */
typedef struct gb_xshared {
  _Atomic size_t next;
  atomic_bool stop;
  struct {
    _Alignas(64) _Atomic uint64_t v;
  } * ring;
  size_t nring;
} gb_xshared;

typedef struct gb_xthread {
  const gb_xprog *p;
  gb_xshared *shared;
  const void *const *operand;
  void *const *outbase;
  const gb_number *constant;
  char *ws;
  const char **base;        /* where each pack begins: workspace, or operand of a direct one */
  void **ptr;               /* current address of each value */
  size_t idx[GB_FOLD_AXES]; /* OUTER and INNER indices; 0 at LANE and TILE */
  size_t item;
  size_t item0, item_lanes; /* first lane of the item; its lanes */
  size_t group;             /* of chunks */
  size_t lane0, lanes;      /* of the super-tile or the current strip */
  size_t chunk0, chunk_rows;
  int block;     /* lane block within the item */
  int valid;     /* valid lanes of the block; strips: lanes of the strip */
  size_t tile0;  /* first TILE index of the tile run */
  int nj;        /* its rows */
  bool mirrored; /* a tile off the diagonal of a symmetric fold */
  bool last;     /* the last super-tile of its OUTER combination */
  uint64_t pairs, tiles;
  const char *path;
} gb_xthread;

/* compile.c. 'room' holds gb_exec_room bytes, enough for any program of the fold. Lay: places tables from 'at' on and
** returns their end; fitted ones are those that a launch fits to its part. Errors: EINTERNAL. */
size_t gb_exec_room (const gb_fold *f);
gb_status gb_exec_compile (const gb_fold *f, void *room, gb_xprog *p, gb_error *err);
char *gb_exec_lay_fitted (gb_xprog *p, const gb_xcounts *n, char *at);
char *gb_exec_lay_constant (gb_xprog *p, const gb_xcounts *n, char *at);

/* kernel.c. The kernel's program for a part of its fold, with p->meta bytes of tables of its own in 'fitted'. */
void gb_exec_enter (const gb_cpu_kernel *k, const gb_fold *part, void *fitted, gb_xprog *p);

/* place.c */
gb_form gb_exec_form (const gb_xprog *p, int operand);
int gb_exec_pack_of (gb_xprog *p, int operand, gb_pack_layout layout, int axis, bool zero);
gb_status gb_exec_place_out (gb_xprog *p, int o, gb_axes loops, gb_error *err);
size_t gb_exec_row_of_columns (const gb_xprog *p);
size_t gb_exec_combinations (const gb_fold *f, gb_axes s, size_t mul[GB_FOLD_AXES]);

/* fit.c. Fits the program to a part on so many threads: extents, bytes, and where 'enters' the tables, which
** are then the caller's own; else they stay as they are. */
void gb_exec_domain (gb_xprog *p, const gb_fold *part);
void gb_exec_fit (gb_xprog *p, const gb_fold *part, int threads, bool enters);
static inline size_t gb_take (size_t *used, size_t bytes) {
  size_t at = *used;
  *used += (bytes + 63) & ~(size_t)63;
  return at;
}
static inline void *gb_carve (char **at, size_t n, size_t size) {
  size_t used = 0;
  gb_take(&used, n * size);
  *at += used;
  return *at - used;
}

/* kernel.c: fitted tables and totals, then the workspaces, then the progress of items. */
typedef struct gb_scratch_layout {
  size_t workspaces, ring, bytes;
} gb_scratch_layout;
gb_scratch_layout gb_exec_lay_scratch (const gb_xprog *p);

/* pack.c: n elements; strides in elements. */
void gb_exec_load_run (gb_dtype to, void *dst, const void *src, gb_dtype from, ptrdiff_t stride, size_t n);
void gb_exec_store_run (void *dst, gb_dtype to, ptrdiff_t dstride, const void *src, gb_dtype from,
                        ptrdiff_t sstride, size_t n);
void gb_exec_transpose (const gb_xthread *t, size_t rows, size_t lanes, const void *src, ptrdiff_t step,
                        void *dst, ptrdiff_t dstep);
void gb_exec_fill_packs (gb_xthread *t, bool per_chunk);
const void *gb_exec_pack_at (const gb_xthread *t, int pack); /* at the current block, tile, INNER indices */
const char *gb_exec_operand_at (const gb_xthread *t, int operand, size_t lane, size_t tile);
void gb_exec_load (const gb_xthread *t, int operand, gb_form form, void *dst);
ptrdiff_t gb_exec_operand_index (const gb_xthread *t, int operand, size_t lane, size_t tile);

/* interpret.c */
void gb_exec_bind (gb_xthread *t, gb_form level);
void gb_exec_run (gb_xthread *t, gb_form level);
double gb_exec_scalar (const gb_xthread *t, int value);

/* chain.c */
void gb_exec_plan_chains (gb_xprog *p);
void gb_exec_fit_links (gb_xprog *p);          /* strides of arguments in memory */
void gb_exec_begin_chains (gb_xthread *t);     /* once a thread */
bool gb_exec_chain_runs (const gb_xthread *t); /* on the current block */
void gb_exec_run_chain (gb_xthread *t, const gb_xchain *c);

/* cull.c; rows within one chunk. */
void gb_exec_lay_hulls (gb_xprog *p, size_t *used, gb_span *scratch); /* scratch: one for each value */
void gb_exec_hull_lanes (gb_xthread *t);                              /* once an item: its packs are filled */
void gb_exec_hull_rows (gb_xthread *t);                               /* once a chunk */
bool gb_exec_culled (const gb_xthread *t, size_t from, size_t to);    /* on the current block */

/* accumulate.c */
char *gb_exec_column_chain (const gb_xthread *t, const gb_xout *x, size_t base, size_t slot);
void gb_exec_absorb_groups (gb_xthread *t, gb_xout *x, void *lanes, size_t groups);
void gb_exec_accumulate (gb_xthread *t, int out, int value);
const void *gb_exec_masked (gb_xthread *t, const void *tile, int nj, gb_monoid m);
void gb_exec_fill (gb_dtype compute, void *p, size_t n, gb_monoid m);

/* accumulate_lse.c, accumulate_select.c */
void gb_exec_lse (gb_xthread *t, gb_xout *x, size_t slot, const void *tile);
void gb_exec_select (gb_xthread *t, gb_xout *x, size_t slot, const void *tile);
void gb_exec_select_one (const gb_xprog *p, const gb_xout *x, gb_word *state, const void *row, size_t i,
                         int64_t position);
void gb_exec_select_merge (gb_word *into, const gb_word *from, size_t words);
void gb_exec_select_begin (gb_xthread *t, gb_xout *x); /* ROW: the chains of the current block */
void gb_exec_select_flush (gb_xthread *t, gb_xout *x);
double gb_exec_key_value (int64_t key);

/* totals_arith.c */
void gb_exec_absorb (const gb_xprog *p, const gb_xout *x, gb_word *into, const gb_word *from);
void gb_exec_absorb_value (const gb_xprog *p, const gb_xout *x, gb_word *into, const void *row, size_t i,
                           int64_t position);
void gb_exec_absorb_chains (const gb_xprog *p, const gb_xout *x, gb_word *into, const void *chain, size_t n);
void gb_exec_identity (const gb_xprog *p, const gb_xout *x, gb_word *w, size_t words);
gb_word gb_exec_fold_lanes (gb_dtype compute, gb_monoid m, const void *lanes);

/* totals.c */
size_t gb_exec_outer (const gb_xthread *t, const gb_xout *x); /* number of the kept OUTER combination */
size_t gb_exec_blocks (const gb_xthread *t);                  /* lane blocks of the item */
size_t gb_exec_lanes (const gb_xthread *t, size_t block);     /* valid lanes of one block */
gb_word *gb_exec_part (const gb_xthread *t, const gb_xout *x);
gb_word *gb_exec_kept_parts (const gb_xthread *t,
                             const gb_xout *x); /* of its lane blocks, where there are any */
/* The super-tile of a strip's row, counted within the item. */
static inline size_t gb_exec_super (const gb_xthread *t, size_t row) {
  return (t->lane0 - t->item0 + row * GB_TI) / GB_SUPER;
}
void gb_exec_exchange_rows (gb_xthread *t, gb_xout *x, bool back);
void gb_exec_begin_item (gb_xthread *t);
/* COL chains of rows of the chunk to identities */
void gb_exec_begin_columns (gb_xthread *t, size_t from, size_t n);
void gb_exec_begin_rows (gb_xthread *t);                          /* ROW chains of the current block */
void gb_exec_flush_rows (gb_xthread *t);                          /* ROW chains into the totals of the item */
void gb_exec_fold_columns (gb_xthread *t, size_t from, size_t n); /* COL chains to one value each, in place */

/* store.c */
void gb_exec_flush_columns (gb_xthread *t); /* COL values into totals, in the order of items */
void gb_exec_end_item (gb_xthread *t);      /* in the order of items if any totals are shared */
/* outputs that reduce OUTER axes, at the very end; carried ones in the last part */
void gb_exec_store_totals (gb_xthread *t, bool last);

static inline size_t gb_exec_slot (const gb_xthread *t, const gb_xout *x) {
  size_t s = 0;
  for (gb_axes a = x->inner; a; a &= a - 1) {
    int q = __builtin_ctz(a);
    s += t->idx[q] * x->mul[q];
  }
  return s;
}
/* The state of a ROW output for the current lane block; 'base': its chain or chain2. */
static inline char *gb_exec_row_state (const gb_xthread *t, const gb_xout *x, size_t base) {
  return t->ws + base + (size_t)t->block * x->apart;
}
static inline gb_monoid gb_exec_monoid (const gb_xout *x) {
  return x->o->kind == GB_OUT_REDUCE ? x->o->monoid : GB_SUM;
}

#endif
