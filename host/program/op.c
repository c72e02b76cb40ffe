/* op.c - the op table as data. */
#include "program/op.h"

/* The words of the column 'traits'. */
enum {
  METHOD = GB_TRAIT_METHOD,
  RANDOM = GB_TRAIT_RANDOM,
  KEEP = GB_TRAIT_KEEP,
  PARTS = GB_TRAIT_PARTS,
  DENSE = GB_TRAIT_DENSE,
  DIRECT = GB_TRAIT_DIRECT,
  FACTOR = GB_TRAIT_FACTOR,
  PACK = GB_TRAIT_PACK,
  GROW = GB_TRAIT_GROW
};

const gb_op_info gb_ops[GB_NOPS] = {
#define X(id, name, nin, kind, shape, grad, vmap, cut, inplace, traits, nout, doc)                           \
  {#id, name, nin, GB_KIND_##kind, inplace, traits, nout, doc},
#include "program/ops.def"
#undef X
};
