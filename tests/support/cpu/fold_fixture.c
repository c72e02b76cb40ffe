/* fold_fixture.c - fold programs built by hand, run, printed and compared with the reference. */
#include "support/cpu/fold_fixture.h"

uint64_t fx_next (fx *x) {
  uint64_t z = (x->seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
int fx_below (fx *x, int n) { return (int)(fx_next(x) % (uint64_t)n); }

void fx_init (fx *x, gb_dtype compute, uint64_t seed) {
  memset(x, 0, sizeof *x);
  x->f.compute = compute;
  x->f.operand = x->operand;
  x->f.ins = x->ins;
  x->f.out = x->out;
  x->seed = seed * 2654435761u + 17;
}

void fx_free (fx *x) {
  for (int q = 0; q < MOST; q++) {
    free(x->in[q]);
    free(x->got[q]);
    free(x->want[q]);
  }
}

gb_axes fx_bit (int a) { return a < 0 ? 0 : (gb_axes)1 << a; }

int fx_axis (fx *x, gb_role role, size_t extent) {
  x->f.axis[x->f.naxes] = (gb_fold_axis){.extent = extent, .role = role};
  return x->f.naxes++;
}

/* Row-major strides over 'axes' taken in a random order, scaled by a random gap. Returns the elements
** spanned. */
static size_t fx_strides (fx *x, gb_axes axes, ptrdiff_t stride[GB_FOLD_AXES], ptrdiff_t *offset,
                          bool plain) {
  int list[GB_FOLD_AXES], n = 0;
  for (int a = 0; a < x->f.naxes; a++)
    if (axes >> a & 1) list[n++] = a;
  if (!plain && fx_below(x, 3) == 0)
    for (int q = n - 1; q > 0; q--) {
      int r = fx_below(x, q + 1), s = list[q];
      list[q] = list[r];
      list[r] = s;
    }
  size_t span = !plain && fx_below(x, 4) == 0 ? 2 : 1;
  *offset = plain || fx_below(x, 3) ? 0 : fx_below(x, 7);
  for (int q = n - 1; q >= 0; q--) {
    stride[list[q]] = (ptrdiff_t)span;
    span *= x->f.axis[list[q]].extent;
    if (!plain && fx_below(x, 8) == 0) span += (size_t)fx_below(x, 3);
  }
  for (int q = 0; q < n; q++) { /* sometimes a flipped axis */
    size_t e = x->f.axis[list[q]].extent;
    if (plain || e == 0 || fx_below(x, 10)) continue;
    *offset += (ptrdiff_t)(e - 1) * stride[list[q]];
    stride[list[q]] = -stride[list[q]];
  }
  return span + 8;
}

int fx_operand (fx *x, gb_dtype dtype, gb_axes axes, bool plain) {
  int o = x->f.noperands++;
  gb_operand *p = &x->operand[o];
  assert_true(o < MOST);
  *p = (gb_operand){.slot = o, .dtype = dtype, .deps = axes};
  size_t n = fx_strides(x, axes, p->stride, &p->offset, plain);
  x->in_n[o] = n;
  x->in[o] = aligned_alloc(64, (n * gb_dtype_size(dtype) + 63) / 64 * 64);
  for (size_t q = 0; q < n; q++) {
    int r = fx_below(x, 31) - 15;
    gb_element_set(x->in[o], q, dtype, dtype == GB_BOOL ? r & 1 : gb_dtype_is_whole(dtype) ? r : r / 16.0);
  }
  return o;
}

gb_ins *fx_ins (fx *x, gb_ins_kind kind) {
  assert_true(x->f.nins < MOST);
  gb_ins *i = &x->ins[x->f.nins++];
  *i = (gb_ins){.kind = kind, .dst = -1, .a = -1, .b = -1, .c = -1, .x = -1, .y = -1, .w = -1, .axis = -1};
  return i;
}
int fx_dst (fx *x, gb_ins *i) { return i->dst = x->f.nvalues++; }

int fx_load (fx *x, int operand) {
  gb_ins *i = fx_ins(x, GB_INS_LOAD);
  i->x = operand;
  return fx_dst(x, i);
}
int fx_const (fx *x, double v) {
  gb_ins *i = fx_ins(x, GB_INS_CONST);
  i->f = v;
  return fx_dst(x, i);
}
int fx_bind (fx *x, double v) {
  gb_ins *i = fx_ins(x, GB_INS_BIND);
  i->x = x->f.nconstants;
  x->constant[x->f.nconstants++] = x->f.compute == GB_I64 ? (gb_number){.i = (int64_t)v}
                                                          : (gb_number){.f = v};
  return fx_dst(x, i);
}
int fx_map (fx *x, gb_op op, int a, int b, int c) {
  gb_ins *i = fx_ins(x, GB_INS_MAP);
  i->op = op;
  i->a = a;
  i->b = b;
  i->c = c;
  return fx_dst(x, i);
}
int fx_along (fx *x, gb_ins_kind kind, int a, int b, int w, int axis) {
  gb_ins *i = fx_ins(x, kind);
  i->x = a;
  i->y = b;
  i->w = w;
  i->axis = axis;
  return fx_dst(x, i);
}
int fx_radial (fx *x, gb_profile p, int order, int dalpha, int s, int c, int alpha) {
  gb_ins *i = fx_ins(x, GB_INS_RADIAL);
  i->profile = p;
  i->order = order;
  i->dalpha = dalpha;
  i->a = s;
  i->b = c;
  i->c = alpha;
  return fx_dst(x, i);
}
void fx_loop (fx *x, int axis) { fx_ins(x, GB_INS_LOOP)->axis = axis; }
void fx_end (fx *x) { fx_ins(x, GB_INS_ENDLOOP); }
int fx_acc (fx *x, gb_monoid m, int a) {
  gb_ins *i = fx_ins(x, GB_INS_ACC);
  i->monoid = m;
  i->a = a;
  return fx_dst(x, i);
}

gb_out *fx_emit (fx *x, int value, gb_out_kind kind, gb_monoid m, gb_axes reduced, gb_axes loops,
                 gb_dtype dtype, int axis, bool plain) {
  gb_ins *i = fx_ins(x, GB_INS_EMIT);
  i->a = value;
  i->x = x->f.nouts;
  gb_out *o = &x->out[x->f.nouts++];
  *o = (gb_out){.kind = kind,
                .monoid = m,
                .reduced = reduced,
                .x = -1,
                .y = -1,
                .axis = axis,
                .slot2 = -1,
                .dtype = dtype};
  gb_axes kept = loops;
  for (int a = 0; a < x->f.naxes; a++)
    if (x->f.axis[a].role != GB_AXIS_INNER && !(reduced >> a & 1)) kept |= (gb_axes)1 << a;
  if (axis >= 0) kept |= (gb_axes)1 << axis;
  size_t n = fx_strides(x, kept, o->stride, &o->offset, plain);
  o->slot = x->nslots;
  x->out_n[x->nslots] = n;
  x->slot_dtype[x->nslots++] = dtype;
  return o;
}

void fx_select (fx *x, gb_out *o, int k) {
  o->monoid = GB_KSMALLEST;
  o->k = k;
  o->kstride = (ptrdiff_t)x->out_n[o->slot];
  x->out_n[o->slot] *= (size_t)k;
  o->slot2 = x->nslots;
  x->out_n[x->nslots] = x->out_n[o->slot];
  x->slot_dtype[x->nslots++] = GB_I64;
}

static size_t fx_bytes (const fx *x, int s) { return x->out_n[s] * gb_dtype_size(x->slot_dtype[s]); }

void fx_blank (fx *x, void **buf) {
  for (int s = 0; s < x->nslots; s++) {
    free(buf[s]);
    buf[s] = aligned_alloc(64, fx_bytes(x, s) / 64 * 64 + 64);
    memset(buf[s], 0x2a, fx_bytes(x, s));
  }
}

void fx_expect (fx *x) {
  fx_blank(x, x->want);
  gb_fold_reference(&x->f, (const void *const *)x->in, x->want, x->constant);
}

gb_kernel *fx_compile (const fx *x, gb_device *dev) {
  gb_kernel *k;
  gb_error err;
  if (gb_cpu_compile(dev, &x->f, &k, &err) != GB_OK) fail_msg("%s", err.text);
  return k;
}

gb_status fx_launch (const fx *x, gb_device *dev, const gb_kernel *k, const gb_fold *part, void **out,
                     const gb_carry *carry, void *scratch, gb_fold_stats *stats, gb_error *err) {
  const gb_fold_args args = {.part = part,
                             .operand = (const void *const *)x->in,
                             .out = out,
                             .constant = x->constant,
                             .carry = carry,
                             .scratch = scratch,
                             .stats = stats};
  return gb_cpu_launch(dev, k, &args, err);
}

gb_status fx_run (fx *x, gb_device *dev, int poison, gb_fold_stats *stats) {
  gb_error err;
  gb_kernel *k = fx_compile(x, dev);
  size_t n = gb_cpu_kernel_scratch(dev, k, &x->f);
  char *block = malloc(n + 64), *scratch = (char *)(((uintptr_t)block + 63) & ~(uintptr_t)63);
  memset(scratch, poison, n);
  memset(scratch + n, 0x5a, 64 - (size_t)(scratch - block));
  fx_blank(x, x->got);
  gb_status st = fx_launch(x, dev, k, &x->f, x->got, NULL, scratch, stats, &err);
  gb_cpu_release(k);
  for (char *q = scratch + n; q < block + n + 64; q++) assert_int_equal(*q, 0x5a);
  if (st != GB_OK && st != GB_EINTR) print_message("%s\n", err.text);
  free(block);
  return st;
}

bool fx_same (const fx *x, void **a, void **b) {
  for (int s = 0; s < x->nslots; s++)
    if (memcmp(a[s], b[s], fx_bytes(x, s)) != 0) return false;
  return true;
}

/* All NaN count as equal: the compiler decides which of two an addition propagates. */
static bool fx_alike_slot (const fx *x, int s, const void *a, const void *b) {
  const gb_dtype dtype = x->slot_dtype[s];
  const size_t size = gb_dtype_size(dtype);
  for (size_t e = 0; e < x->out_n[s]; e++) {
    if (memcmp((const char *)a + e * size, (const char *)b + e * size, size) == 0) continue;
    const double p = gb_element_get(a, e, dtype), q = gb_element_get(b, e, dtype);
    if (isnan(p) && isnan(q)) continue;
    print_message("slot %d element %zu: expected %.17g, got %.17g\n", s, e, p, q);
    return false;
  }
  return true;
}

bool fx_alike (const fx *x, void **a, void **b) {
  for (int s = 0; s < x->nslots; s++)
    if (!fx_alike_slot(x, s, a[s], b[s])) return false;
  return true;
}

static double fx_terms (const fx *x, const gb_out *o) {
  double n = 1;
  for (int a = 0; a < x->f.naxes; a++)
    if (o->reduced >> a & 1) n *= (double)x->f.axis[a].extent;
  return n;
}

void fx_print (const fx *x) {
  static const char *roles[] = {"lane", "tile", "outer", "inner"};
  static const char *kinds[] = {"load", "const",  "bind", "iota", "rand", "map", "sqdist",
                                "dot",  "radial", "loop", "end",  "acc",  "emit"};
  for (int a = 0; a < x->f.naxes; a++)
    print_message("axis %d %s %zu\n", a, roles[x->f.axis[a].role], x->f.axis[a].extent);
  for (int o = 0; o < x->f.noperands; o++) {
    print_message("operand %d %s at %td:", o, gb_dtype_name(x->operand[o].dtype), x->operand[o].offset);
    for (int a = 0; a < x->f.naxes; a++) print_message(" %td", x->operand[o].stride[a]);
    print_message("\n");
  }
  for (int n = 0; n < x->f.nins; n++) {
    const gb_ins *i = &x->ins[n];
    print_message("%2d %s %s dst %d a %d b %d c %d x %d y %d w %d axis %d monoid %d\n", n, kinds[i->kind],
                  i->kind == GB_INS_MAP ? gb_ops[i->op].name : "", i->dst, i->a, i->b, i->c, i->x, i->y, i->w,
                  i->axis, (int)i->monoid);
  }
  for (int o = 0; o < x->f.nouts; o++) {
    const gb_out *q = &x->out[o];
    print_message("out %d kind %d monoid %d reduced %x x %d y %d axis %d %s at %td:", o, (int)q->kind,
                  (int)q->monoid, q->reduced, q->x, q->y, q->axis, gb_dtype_name(q->dtype), q->offset);
    for (int a = 0; a < x->f.naxes; a++) print_message(" %td", q->stride[a]);
    print_message("\n");
  }
}

bool fx_close (fx *x, double tol) {
  for (int o = 0; o < x->f.nouts; o++) {
    const gb_out *q = &x->out[o];
    int slots[2] = {q->slot, q->slot2};
    double store = q->dtype == GB_BF16 ? 1e-2 : q->dtype == GB_F16 ? 2e-3 : q->dtype == GB_F32 ? 3e-7 : 0;
    for (int w = 0; w < 2 && slots[w] >= 0; w++)
      for (size_t e = 0; e < x->out_n[slots[w]]; e++) {
        double a = gb_element_get(x->got[slots[w]], e, x->slot_dtype[slots[w]]);
        double b = gb_element_get(x->want[slots[w]], e, x->slot_dtype[slots[w]]);
        double terms = fx_terms(x, q) * (q->kind == GB_OUT_REDUCE && q->monoid == GB_PROD ? fabs(b) + 1 : 1);
        double allow = x->exact[o] ? 0 : tol * (terms + fabs(b)) + store * fabs(b);
        if (a == b || (isnan(a) && isnan(b))) continue;
        if (!(fabs(a - b) <= allow)) {
          fx_print(x);
          print_message("output %d slot %d element %zu: expected %.17g, got %.17g\n", o, slots[w], e, b, a);
          return false;
        }
      }
  }
  return true;
}
