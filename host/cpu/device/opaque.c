/* opaque.c - which function computes an opaque op, and how much scratch it declares. A row without a scratch
** function needs none. A new opaque op needs a row here. */
#include "cpu/cpu.h"
#include "cpu/linalg/slices.h"

static const struct {
  gb_opaque_fn *run;
  gb_scratch_fn *scratch;
} table[GB_NOPS] = {
    [GB_OP_CAST] = {gb_cpu_cast, NULL},
    [GB_OP_CAT] = {gb_cpu_cat, NULL},
    [GB_OP_CUMSUM] = {gb_cpu_cumsum, NULL},
    [GB_OP_SORT] = {gb_cpu_sort, gb_cpu_sort_scratch},
    [GB_OP_TOPK] = {gb_cpu_topk, gb_cpu_topk_scratch},
    [GB_OP_INDEX] = {gb_cpu_index, NULL},
    [GB_OP_PUT] = {gb_cpu_put, NULL},
    [GB_OP_INDEX_ADD] = {gb_cpu_index_add, NULL},
    [GB_OP_INDEX_MAX] = {gb_cpu_index_max, NULL},
    [GB_OP_INDEX_MIN] = {gb_cpu_index_min, NULL},
    [GB_OP_SOBOL] = {gb_cpu_sobol, NULL},
    [GB_OP_RANDPERM] = {gb_cpu_randperm, NULL},
    [GB_OP_GEMM] = {gb_cpu_gemm, NULL},
    [GB_OP_CHOLESKY] = {gb_cpu_cholesky, gb_cpu_cholesky_scratch},
    [GB_OP_TRISOLVE] = {gb_cpu_trisolve, gb_cpu_solve_scratch},
    [GB_OP_CHOL_INVERSE] = {gb_cpu_chol_inverse, gb_cpu_chol_inverse_scratch},
    [GB_OP_LOGDET] = {gb_cpu_logdet, NULL},
    [GB_OP_INV_QUAD] = {gb_cpu_inv_quad, gb_cpu_inv_quad_scratch},
    [GB_OP_SOLVE_CHOL] = {gb_cpu_solve_chol, gb_cpu_solve_scratch},
    [GB_OP_QR] = {gb_cpu_qr, gb_cpu_qr_scratch},
    [GB_OP_EIGH] = {gb_cpu_eigh, gb_cpu_eigh_scratch},
    [GB_OP_SVD] = {gb_cpu_svd, gb_cpu_svd_scratch},
    [GB_OP_LU_SOLVE] = {gb_cpu_lu_solve, gb_cpu_lu_solve_scratch},
    [GB_OP_LU_LOGDET] = {gb_cpu_lu_logdet, gb_cpu_lu_logdet_scratch},
};

/* BLAS and LAPACK have two types. */
static gb_status check_blas (const gb_opaque *o, gb_error *err) {
  if (!gb_op_has(o->op, GB_TRAIT_DENSE)) return GB_OK;
  if (o->in_dtype[0] == GB_F64 || o->in_dtype[0] == GB_F32) return gb_blas_ready(err);
  return gb_fail(err, GB_EDTYPE, "%s: expected f64 or f32, got %s", gb_ops[o->op].name,
                 gb_dtype_name(o->in_dtype[0]));
}

/* A packed matrix, or one that grows, is a lower triangle. */
static gb_status check_layout (const gb_opaque *o, gb_error *err) {
  const bool lower = o->op == GB_OP_CHOLESKY || gb_op_reads_lower(o->op, &o->attr, GB_TRAIT_PACK);
  const bool matrix = !(o->packed || o->grown) || lower;
  const bool inverse = o->op == GB_OP_CHOL_INVERSE ? !o->grown && (o->packed || !o->packed_inverse)
                                                   : !o->packed_inverse;
  if (matrix && inverse) return GB_OK;
  return gb_fail(err, GB_EINTERNAL, "%s has no such packed form", gb_ops[o->op].name);
}

size_t gb_cpu_opaque_scratch (const gb_device *dev, const gb_opaque *o) {
  gb_scratch_fn *scratch = table[o->op].scratch;
  if (gb_has_slices(o)) return gb_cpu_slices_scratch(dev->pool, o, scratch);
  return scratch == NULL ? 0 : scratch(dev->pool, o);
}

gb_status gb_cpu_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                         void *scratch, gb_error *err) {
  if (table[o->op].run == NULL)
    return gb_fail(err, GB_EINTERNAL, "%s is not an opaque op of the cpu device", gb_ops[o->op].name);
  GB_TRY(check_blas(o, err));
  GB_TRY(check_layout(o, err));
  static char none[64]; /* scratch of an op that needs no bytes may be NULL */
  const gb_opaque_call call = {dev->pool, o, in, out, scratch != NULL ? scratch : none, err};
  return gb_has_slices(o) ? gb_cpu_slices(&call, table[o->op].run, table[o->op].scratch)
                          : table[o->op].run(&call);
}
