/* far_fold.c - a fold program on a device whose memory is its own. */
#include "cuda/support/far_fold.h"

#include "program/schedule.h"

int far_parts;

typedef struct far {
  gb_kernel *kernel;
  gb_block in[MOST], out[MOST], state;
  const void *operand[MOST];
  void *result[MOST];
} far;

static void must (gb_status st, const gb_error *err) {
  if (st != GB_OK) fail_msg("%s", err->text);
}

static void *room (gb_device *gpu, gb_block *b, size_t bytes) {
  gb_error err;
  assert_true(bytes != SIZE_MAX);
  must(gb_ledger_alloc(&gpu->ledger, GB_MEM_WORKSPACE, bytes, "", "", b, &err), &err);
  return b->data;
}

static size_t bytes_of_input (const fx *x, int s) { return x->in_n[s] * gb_dtype_size(x->operand[s].dtype); }
static size_t bytes_of_output (const fx *x, int s) { return x->out_n[s] * gb_dtype_size(x->slot_dtype[s]); }

/* Operands and blank results there. */
static void send (gb_device *gpu, far *f, fx *x) {
  gb_error err;
  memset(f, 0, sizeof *f);
  must(gb_device_compile(gpu, &x->f, &f->kernel, &err), &err);
  fx_blank(x, x->got);
  for (int s = 0; s < x->f.noperands; s++) {
    f->operand[s] = room(gpu, &f->in[s], bytes_of_input(x, s));
    must(gb_memory_upload(&gpu->memory, f->in[s].data, x->in[s], bytes_of_input(x, s), &err), &err);
  }
  for (int s = 0; s < x->nslots; s++) {
    f->result[s] = room(gpu, &f->out[s], bytes_of_output(x, s));
    must(gb_memory_upload(&gpu->memory, f->out[s].data, x->got[s], bytes_of_output(x, s), &err), &err);
  }
}

/* In scratch of the declared size, full of NaN. */
static void launch (gb_device *gpu, far *f, fx *x, const gb_fold *part, const gb_carry *carry) {
  gb_block scratch = {0};
  gb_error err;
  const size_t bytes = gb_device_kernel_scratch(gpu, f->kernel, part);
  const gb_fold_args args = {.part = part,
                             .operand = f->operand,
                             .out = f->result,
                             .constant = x->constant,
                             .carry = carry,
                             .scratch = room(gpu, &scratch, bytes)};
  must(gb_memory_fill(&gpu->memory, scratch.data, 0xff, bytes, &err), &err);
  must(gb_device_launch(gpu, f->kernel, &args, &err), &err);
  must(gb_device_wait(gpu, &err), &err);
  gb_ledger_free(&gpu->ledger, &scratch);
}

/* The results into 'got'. */
static void receive (gb_device *gpu, far *f, fx *x) {
  gb_error err;
  for (int s = 0; s < x->nslots; s++)
    must(gb_memory_download(&gpu->memory, x->got[s], f->out[s].data, bytes_of_output(x, s), &err), &err);
  for (int s = 0; s < MOST; s++)
    gb_ledger_free(&gpu->ledger, &f->in[s]), gb_ledger_free(&gpu->ledger, &f->out[s]);
  gb_ledger_free(&gpu->ledger, &f->state);
  gb_kernel_release(f->kernel);
}

void far_run (gb_device *gpu, fx *x) {
  static far f;
  send(gpu, &f, x);
  launch(gpu, &f, x, &x->f, NULL);
  receive(gpu, &f, x);
}

/* In parts of 'step' indices along the axis of the cut. */
void far_run_parts (gb_device *gpu, fx *x, const gb_cut *c, size_t step) {
  static far f;
  gb_window_fold w = {0};
  gb_lowered low = {0};
  int slot[2 * MOST], dim[2 * MOST];
  bool compact[2 * MOST] = {false};
  for (int i = 0; i < 2 * MOST; i++) slot[i] = i;
  memset(dim, 0, sizeof dim);
  const gb_step whole = {
      .is_fold = true, .fold = x->f, .nin = x->f.noperands, .nout = x->nslots, .in = slot, .out = slot};
  const size_t extent = x->f.axis[c->axis].extent;
  assert_true(gb_window_room(&w, &x->f));
  send(gpu, &f, x);
  for (size_t lo = 0, n; lo < extent; lo += n) {
    n = extent - lo < step ? extent - lo : step;
    gb_window_of_fold(&w, &low, &whole, c, (gb_window){lo, n, lo, n, extent}, compact, dim);
    if (c->reduces && lo == 0) {
      const size_t bytes = gb_device_kernel_state(gpu, f.kernel, &w.fold);
      gb_error err;
      must(gb_memory_fill(&gpu->memory, room(gpu, &f.state, bytes), 0xff, bytes, &err), &err);
    }
    const gb_carry carry = {f.state.data, lo == 0, lo + n == extent};
    launch(gpu, &f, x, &w.fold, c->reduces ? &carry : NULL);
    far_parts++;
  }
  gb_window_free(&w);
  receive(gpu, &f, x);
}

void far_make_rough (fx *x) {
  for (int s = 0; s < x->f.noperands; s++) {
    const gb_dtype t = x->operand[s].dtype;
    for (size_t e = 0; e < x->in_n[s] && gb_dtype_is_float(t); e++)
      gb_element_set(x->in[s], e, t,
                     gb_element_get(x->in[s], e, t) * 0.70710678118654752 + 1e-3 * (double)(e % 7));
  }
}

/* -- values of functions whose library is the device's own */

static bool is_ieee (gb_op op) {
  switch (op) {
    case GB_OP_EXP:
    case GB_OP_EXPM1:
    case GB_OP_LOG:
    case GB_OP_LOG1P:
    case GB_OP_SIN:
    case GB_OP_COS:
    case GB_OP_TAN:
    case GB_OP_ASIN:
    case GB_OP_ACOS:
    case GB_OP_TANH:
    case GB_OP_SIGMOID:
    case GB_OP_SOFTPLUS:
    case GB_OP_ERF:
    case GB_OP_NDTR:
    case GB_OP_LOG_NDTR:
    case GB_OP_LGAMMA:
    case GB_OP_POW: return false;
    default: return true;
  }
}

bool far_has_exact_bits (const gb_fold *f) {
  for (int n = 0; n < f->nins; n++) {
    const gb_ins *i = &f->ins[n];
    if (i->kind == GB_INS_MAP && !is_ieee(i->op)) return false;
    if (i->kind == GB_INS_ACC && i->monoid == GB_LSE) return false;
    if (i->kind == GB_INS_RADIAL && i->profile == GB_RQ &&
        i->c >= 0) { /* alpha by element: exp and log1p of the library */
      bool number = false;
      for (int m = 0; m < f->nins; m++)
        if ((f->ins[m].kind == GB_INS_CONST || f->ins[m].kind == GB_INS_BIND) && f->ins[m].dst == i->c)
          number = true;
      if (!number) return false;
    }
  }
  for (int o = 0; o < f->nouts; o++)
    if (f->out[o].kind == GB_OUT_REDUCE && f->out[o].monoid == GB_LSE) return false;
  return true;
}
