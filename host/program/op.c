/* op.c - the op table as data. */
#include "program/op.h"

const gb_op_info gb_ops[GB_NOPS] = {
#define X(id, name, nin, kind, shape, grad, nout, doc) {#id, name, nin, GB_KIND_##kind, nout, doc},
#include "program/ops.def"
#undef X
};
