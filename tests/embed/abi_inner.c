/* abi_inner.c - the library's side of abi_rows.h. */
#include "base/status.h"
#include "tensor/shape.h"

#define ABI_ROWS abi_inner
#define ABI_STATUSES GB_NSTATUS
#include "embed/abi_rows.h"
