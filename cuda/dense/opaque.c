/* opaque.c - which opaque ops a GPU runs, and why the others stay on the CPU. A new opaque op needs a row
** here. */
#include "cuda/dense/opaque.h"

#include "base/plain.h"
#include "cuda/dense/call.h"
#include "cuda/fold/fold.h"
#include "program/slices.h"

/* Either 'run' or 'home', the reason for the CPU. */
static const struct {
  gb_cuda_opaque_fn *run;
  gb_cuda_scratch_fn *scratch; /* NULL: it needs none */
  gb_cuda_slices_fn *small;    /* of slices that are small enough, one too; needs no scratch */
  const char *home;
} table[GB_NOPS] = {
    [GB_OP_CAST] = {.run = gb_cuda_cast},
    [GB_OP_CAT] = {.run = gb_cuda_cat},
    [GB_OP_MOVE] = {.home = "copies between devices are the plan's"},
    [GB_OP_CUMSUM] = {.run = gb_cuda_cumsum},
    [GB_OP_SORT] = {.home = "sorting is done on the CPU in this version"},
    [GB_OP_TOPK] = {.home = "sorting is done on the CPU in this version"},
    [GB_OP_INDEX] = {.run = gb_cuda_index},
    [GB_OP_PUT] = {.run = gb_cuda_put},
    [GB_OP_INDEX_ADD] = {.run = gb_cuda_index_add},
    [GB_OP_INDEX_MAX] = {.run = gb_cuda_index_max},
    [GB_OP_INDEX_MIN] = {.run = gb_cuda_index_min},
    [GB_OP_SOBOL] = {.home = "Sobol points are made on the CPU in this version"},
    [GB_OP_RANDPERM] = {.home = "permutations are made on the CPU in this version"},
    [GB_OP_GEMM] = {.run = gb_cuda_gemm},
    [GB_OP_CHOLESKY] = {.run = gb_cuda_cholesky,
                        .scratch = gb_cuda_cholesky_scratch,
                        .small = gb_cuda_small_cholesky},
    [GB_OP_TRISOLVE] = {.run = gb_cuda_trisolve, .small = gb_cuda_small_trisolve},
    [GB_OP_CHOL_INVERSE] = {.run = gb_cuda_chol_inverse,
                            .scratch = gb_cuda_chol_inverse_scratch,
                            .small = gb_cuda_small_chol_inverse},
    [GB_OP_LOGDET] = {.small = gb_cuda_logdets},
    [GB_OP_INV_QUAD] = {.run = gb_cuda_inv_quad,
                        .scratch = gb_cuda_inv_quad_scratch,
                        .small = gb_cuda_small_inv_quad},
    [GB_OP_SOLVE_CHOL] = {.run = gb_cuda_solve_chol, .small = gb_cuda_small_solve_chol},
    [GB_OP_QR] = {.run = gb_cuda_qr, .scratch = gb_cuda_qr_scratch},
    [GB_OP_EIGH] = {.run = gb_cuda_eigh, .scratch = gb_cuda_eigh_scratch},
    [GB_OP_SVD] = {.run = gb_cuda_svd, .scratch = gb_cuda_svd_scratch},
    [GB_OP_LU_SOLVE] = {.run = gb_cuda_lu_solve, .scratch = gb_cuda_lu_solve_scratch},
    [GB_OP_LU_LOGDET] = {.run = gb_cuda_lu_logdet, .scratch = gb_cuda_lu_logdet_scratch},
    [GB_OP_CALL] = {.home = "registered functions run on the CPU"},
};

/* -- what runs */

/* Libraries count rows and columns by 32-bit integers. */
static bool is_small (const gb_shape *s) {
  for (int i = 0; i < s->ndim; i++)
    if (s->dim[i] > INT32_MAX) return false;
  return true;
}

static const char *dense_lack (const gb_opaque *o) {
  if (o->in_dtype[0] != GB_F64 && o->in_dtype[0] != GB_F32) return "its libraries know f64 and f32 alone";
  if (o->packed || o->packed_inverse) return "packed triangles stay on the CPU in this version";
  if (o->grown) return "factors that grow stay on the CPU in this version";
  if (!is_small(&o->in_shape[0]) || (o->nin > 1 && !is_small(&o->in_shape[1])))
    return "its libraries count up to 2^31 rows and columns";
  return NULL;
}

static const char *lack_of (const gb_opaque *o) {
  if (table[o->op].home != NULL) return table[o->op].home;
  if (table[o->op].run == NULL && table[o->op].small == NULL) return "it is no opaque op";
  return gb_op_has(o->op, GB_TRAIT_DENSE) ? dense_lack(o) : NULL;
}

/* NULL: the libraries can be used. */
static const char *libraries_lack (const gb_device *dev) {
  gb_cuda_libraries *l;
  if (gb_cuda_libraries_use(gb_cuda_of(dev), &l, NULL) == GB_OK) return NULL;
  l = gb_cuda_of(dev)->libraries;
  return l != NULL && l->why.text[0] != '\0' ? l->why.text : "its libraries cannot be used";
}

bool gb_cuda_supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack) {
  if (f != NULL) return gb_cuda_fold_supports(dev, f, lack);
  lack->why = lack_of(o);
  if (lack->why == NULL && gb_op_has(o->op, GB_TRAIT_DENSE)) lack->why = libraries_lack(dev);
  return lack->why == NULL;
}

/* -- a run */

/* All slices at once: an op that has no function of one matrix, or whose matrices are small. */
static bool is_at_once (const gb_slices *s) {
  const gb_op op = s->one.op;
  return table[op].small != NULL && (table[op].run == NULL || gb_cuda_is_small(&s->one));
}

bool gb_cuda_slices_at_once (const gb_opaque *o) {
  const gb_slices s = gb_slices_of(o);
  return is_at_once(&s);
}

size_t gb_cuda_opaque_scratch (const gb_device *dev, const gb_opaque *o) {
  gb_cuda_scratch_fn *scratch = table[o->op].scratch;
  if (scratch == NULL) return 0;
  if (table[o->op].small == NULL && !gb_has_slices(o)) return scratch(dev, o);
  const gb_slices s = gb_slices_of(o);
  return s.count == 0 || is_at_once(&s) ? 0 : scratch(dev, &s.one);
}

static gb_status clear_found (gb_cuda *gpu, gb_cuda_found *found, gb_error *err) {
  GB_CUDA_TRY(cudaMemsetAsync(found, 0, sizeof *found, gpu->stream));
  GB_CUDA_TRY(cudaMemsetAsync(found->first, 0xff, sizeof found->first, gpu->stream));
  return GB_OK;
}

/* The matrices of a batch, one after the other. */
static gb_status run_slices (const gb_cuda_call *c, const gb_slices *s) {
  for (size_t k = 0; k < s->count; k++) {
    const void *in[2];
    void *out[GB_MAX_OUTPUTS];
    for (int i = 0; i < s->one.nin; i++) in[i] = (const char *)c->in[i] + gb_slice_of_input(s, i, k);
    for (int i = 0; i < s->one.nout; i++) out[i] = (char *)c->out[i] + gb_slice_of_result(s, i, k);
    const gb_cuda_call one = {c->device, c->gpu, c->lib, &s->one, in, out, c->scratch, c->found, c->err};
    GB_TRY(clear_found(c->gpu, c->found, c->err));
    const gb_status st = table[s->one.op].run(&one);
    if (st != GB_OK) return gb_slice_failed(s, k, st, c->err);
  }
  return GB_OK;
}

static gb_status run_algebra (const gb_cuda_call *c) {
  const gb_slices s = gb_slices_of(c->o);
  if (is_at_once(&s)) return s.count == 0 ? GB_OK : table[c->o->op].small(c, &s);
  return gb_has_slices(c->o) ? run_slices(c, &s) : table[c->o->op].run(c);
}

gb_status gb_cuda_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                          void *scratch, gb_error *err) {
  const char *why = lack_of(o);
  gb_cuda *gpu = gb_cuda_of(dev);
  gb_cuda_libraries *l = NULL;
  if (why != NULL)
    return gb_fail(err, GB_EINTERNAL, "%s does not run on device %s: %s", gb_ops[o->op].name, dev->name, why);
  GB_TRY(gb_cuda_enter(gpu, err));
  if (gb_op_has(o->op, GB_TRAIT_DENSE)) GB_TRY(gb_cuda_libraries_use(gpu, &l, err));
  const gb_cuda_call c = {dev, gpu, l, o, in, out, scratch, (gb_cuda_found *)(void *)gpu->room, err};
  GB_TRY(clear_found(gpu, c.found, err));
  if (gb_op_has(o->op, GB_TRAIT_DENSE) && o->op != GB_OP_GEMM) return run_algebra(&c);
  return table[o->op].run(&c);
}

/* -- what was found */

gb_status gb_cuda_read_found (const gb_cuda_call *c, gb_cuda_found *out) {
  return gb_cuda_download(c->gpu, out, c->found, sizeof *out, c->err);
}

gb_status gb_cuda_not_finite (const gb_cuda_call *c, const void *a, size_t m, uint64_t at) {
  const bool f32 = gb_cuda_is_f32(c);
  const size_t size = f32 ? sizeof(float) : sizeof(double);
  double wide;
  float narrow;
  GB_TRY(gb_cuda_download(c->gpu, f32 ? (void *)&narrow : (void *)&wide, (const char *)a + at * size, size,
                          c->err));
  return gb_fail(c->err, GB_ENAN, "expected finite entries, got %g in row %zu, column %zu",
                 gb_plain(f32 ? (double)narrow : wide), (size_t)at / m + 1, (size_t)at % m + 1);
}

gb_status gb_cuda_overflows (const gb_cuda_call *c, const char *what) {
  return gb_fail(c->err, GB_ENAN, "%s overflows %s: scale the inputs", what,
                 gb_dtype_name(c->o->in_dtype[0]));
}
