/* calibrate.c - measures a device sheet: small folds of which one is another and one instruction more,
** streams, canonical blocks.
**
** What one instruction costs is a difference of two folds, both the fastest of several runs of about 0.1
** ms; nothing is taken for cheaper than to be issued. Single figures are of one thread: a pool of one
** stands in for the device's. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cpu/price/probe.h"
#include "cpu/price/profile.h"

enum {
  LANES = 512,
  ROWS = 1024,      /* of a probe */
  FEW_ROWS = 256,   /* of the many of elementwise ops */
  FLAT = 64,        /* rows of a probe whose tile is stored or read: 256 KiB in f64 */
  APART = FLAT + 8, /* elements between lanes read across: no power of two */
  STRIP = 1 << 14,  /* lanes of a strip in the second-level cache */
  ORDER = 256,      /* of matrices */
  LONG = 1 << 16    /* elements sorted */
};

#define MIB ((size_t)1 << 20)
#define STREAM_BYTES (64 * MIB)
#define PART_BYTES (4 * MIB)
#define MIDDLE_BYTES (8 * MIB)
#define FRESH_BYTES (33 * MIB)
#define PAGE 4096

typedef struct bench {
  gb_device *dev, one; /* all threads; one */
  gb_cpu_profile *r;
  gb_type_profile *to; /* of 'type' */
  gb_dtype type;
  char *stream, *data, *matrix, *out, *scratch;
  gb_status rc; /* the first failure; nothing is run after it */
  gb_error *err;
} bench;

static const double pairs = (double)LANES * ROWS;

/* -- running */

/* Beyond the call itself. */
static double time_on (bench *b, gb_device *dev, gb_probe *p) {
  double seconds = 1;
  if (b->rc == GB_OK) b->rc = gb_probe_time(dev, p, b->scratch, PART_BYTES, &seconds, b->err);
  return fmax(seconds - b->r->fold_s, 1e-9);
}

static double time_one (bench *b, gb_probe *p) { return time_on(b, &b->one, p); }

/* Not below what it takes to issue one instruction. */
static double at_least_issued (const bench *b, double seconds) {
  return fmax(seconds, 1 / (b->r->device.issue * (b->type == GB_F32 ? 16 : 8)));
}

/* -- operands */

/* Numbers in (0.2, 0.45), where every op is at home; a matrix that dominates its diagonal. */
static void fill (bench *b) {
  uint32_t state = 1;
  const size_t n = PART_BYTES / gb_dtype_size(b->type) / 2;
  for (size_t i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    gb_element_set(b->data, i, b->type, 0.2 + 0.25 * (double)(state >> 8) / 16777216.0);
  }
  for (size_t i = 0; i < (size_t)ORDER * ORDER; i++)
    gb_element_set(b->matrix, i, b->type, i % (ORDER + 1) == 0 ? ORDER : gb_element_get(b->data, i, b->type));
}

/* -- parts of probes */

static const gb_axes lane_bit = 1u << GB_PROBE_LANE, tile_bit = 1u << GB_PROBE_TILE;

/* x_i + y_j */
static int begin_sum (bench *b, gb_probe *p, size_t rows, size_t inner) {
  gb_probe_begin(p, b->type, LANES, rows, inner);
  const int x = gb_probe_load(p, b->data, 1, 0), y = gb_probe_load(p, b->data, 0, 1);
  return gb_probe_map(p, GB_OP_ADD, x, y, -1);
}

/* A distance or a product of points with d features. */
static int begin_points (bench *b, gb_probe *p, gb_ins_kind kind, size_t d) {
  gb_probe_begin(p, b->type, LANES, ROWS, d);
  const int x = gb_probe_operand(p, b->data, (ptrdiff_t)d, 0, 1),
            y = gb_probe_operand(p, b->data, 0, (ptrdiff_t)d, 1);
  return gb_probe_ins(
      p, (gb_ins){.kind = kind, .a = -1, .b = -1, .c = -1, .x = x, .y = y, .w = -1, .axis = GB_PROBE_INNER});
}

static int add_radial (gb_probe *p, gb_profile profile, int order, int dalpha, int s) {
  const int c = gb_probe_const(p, 0.7), alpha = profile == GB_RQ ? gb_probe_const(p, 1.5) : -1;
  return gb_probe_ins(p, (gb_ins){.kind = GB_INS_RADIAL,
                                  .profile = profile,
                                  .order = order,
                                  .dalpha = dalpha,
                                  .a = s,
                                  .b = c,
                                  .c = alpha,
                                  .x = -1,
                                  .y = -1,
                                  .w = -1,
                                  .axis = -1});
}

static void end_rows (bench *b, gb_probe *p, int value, gb_monoid m) {
  const bool position = m == GB_ARGMINIMUM || m == GB_ARGMAXIMUM, list = m == GB_KSMALLEST;
  gb_probe_emit(p, value,
                (gb_out){.kind = GB_OUT_REDUCE,
                         .monoid = m,
                         .reduced = tile_bit,
                         .x = -1,
                         .y = -1,
                         .axis = -1,
                         .slot2 = -1,
                         .k = list ? 4 : 0,
                         .kstride = list,
                         .dtype = position ? GB_I64 : b->type,
                         .stride = {list ? 4 : 1}},
                b->out);
}

/* Columns times sums over one side, weighted by the other operand. */
static void end_contract (bench *b, gb_probe *p, int value, bool rows, int columns) {
  const int v = gb_probe_operand(p, b->data, rows ? 0 : columns, rows ? columns : 0, columns > 1);
  gb_probe_emit(p, value,
                (gb_out){.kind = GB_OUT_CONTRACT,
                         .monoid = GB_SUM,
                         .reduced = rows ? tile_bit : lane_bit,
                         .x = v,
                         .y = -1,
                         .axis = columns > 1 ? GB_PROBE_INNER : -1,
                         .slot2 = -1,
                         .stride = {rows ? columns : 0, rows ? 0 : columns, columns > 1}},
                b->out);
}

/* -- elementwise, monoids, contractions */

static double time_map (bench *b, gb_op op) {
  gb_probe p;
  const int t = begin_sum(b, &p, FEW_ROWS, 1), n = op == GB_NOPS ? 0 : gb_ops[op].inputs;
  const int z = n > 1 ? gb_probe_load(&p, b->data + STRIP, 1, 0) : -1;
  const int v = n == 0 ? t : gb_probe_map(&p, op, t, z, n > 2 ? t : -1);
  end_rows(b, &p, v, GB_SUM);
  return time_one(b, &p) / ((double)LANES * FEW_ROWS);
}

static void measure_maps (bench *b) {
  const double base = time_map(b, GB_NOPS);
  for (int op = 0; op < GB_NOPS; op++)
    if (gb_ops[op].kind == GB_KIND_MAP && op != GB_OP_RADIAL && op != GB_OP_DETACH)
      b->to->map[op] = at_least_issued(b, time_map(b, (gb_op)op) - base);
  b->to->map[GB_OP_DETACH] = b->to->map[GB_OP_NEG];
}

static void measure_monoids (bench *b) {
  const double before = b->to->map[GB_OP_ADD];
  gb_probe p;
  for (int m = 0; m < GB_NMONOIDS; m++) {
    if (m == GB_PROD) continue; /* would underflow: like a sum */
    const int t = begin_sum(b, &p, ROWS, 1);
    end_rows(b, &p, t, (gb_monoid)m);
    b->to->reduce[m] = at_least_issued(b, time_one(b, &p) / pairs - before);
  }
  b->to->reduce[GB_PROD] = b->to->reduce[GB_SUM];
  for (int both = 0; both < 2; both++) {
    const int t = begin_sum(b, &p, ROWS, 1);
    gb_probe_emit(&p, t,
                  (gb_out){.kind = GB_OUT_REDUCE,
                           .monoid = GB_SUM,
                           .reduced = both ? lane_bit | tile_bit : lane_bit,
                           .x = -1,
                           .y = -1,
                           .axis = -1,
                           .slot2 = -1,
                           .stride = {0, !both}},
                  b->out);
    *(both ? &b->to->reduce_all : &b->to->reduce_col) = at_least_issued(b, time_one(b, &p) / pairs - before);
  }
}

static double time_contract (bench *b, bool rows, int columns) {
  gb_probe p;
  const int t = begin_sum(b, &p, ROWS, (size_t)columns);
  end_contract(b, &p, t, rows, columns);
  return time_one(b, &p) / pairs - b->to->map[GB_OP_ADD];
}

static double time_diff (bench *b, bool rows) {
  enum { D = 3 };
  gb_probe p;
  const int t = begin_sum(b, &p, ROWS, D);
  const int x = gb_probe_operand(&p, b->data, D, 0, 1), y = gb_probe_operand(&p, b->data, 0, D, 1);
  gb_probe_emit(&p, t,
                (gb_out){.kind = GB_OUT_DIFF,
                         .monoid = GB_SUM,
                         .reduced = rows ? tile_bit : lane_bit,
                         .x = rows ? x : y,
                         .y = rows ? y : x,
                         .axis = GB_PROBE_INNER,
                         .slot2 = -1,
                         .stride = {rows ? D : 0, rows ? 0 : D, 1}},
                b->out);
  return at_least_issued(b, (time_one(b, &p) / pairs - b->to->map[GB_OP_ADD]) / D);
}

static void measure_contractions (bench *b) {
  enum { FEW = 4, MANY = 8, MORE = 24 };
  gb_type_profile *t = b->to;
  const double row = time_contract(b, true, 1), col = time_contract(b, false, 1),
               many = time_contract(b, true, MANY);
  t->column_row = at_least_issued(b, (time_contract(b, true, FEW) - row) / (FEW - 1));
  t->column_many = at_least_issued(b, (time_contract(b, true, MORE) - many) / (MORE - MANY));
  t->column_col = at_least_issued(b, (time_contract(b, false, MANY) - col) / (MANY - 1));
  t->contract_row = at_least_issued(b, row - t->column_row);
  t->contract_many = at_least_issued(b, many - MANY * t->column_many);
  t->contract_col = at_least_issued(b, col - t->column_col);
  t->diff_row = time_diff(b, true);
  t->diff_col = time_diff(b, false);
}

/* -- points */

static double time_points (bench *b, gb_ins_kind kind, size_t d) {
  gb_probe p;
  const int s = begin_points(b, &p, kind, d);
  end_rows(b, &p, s, GB_SUM);
  return time_one(b, &p) / pairs - b->to->reduce[GB_SUM];
}

static void measure_fronts (bench *b) {
  enum { FEW = 3, MANY = 19 };
  gb_type_profile *t = b->to;
  for (int product = 0; product < 2; product++) {
    const gb_ins_kind kind = product ? GB_INS_DOT : GB_INS_SQDIST;
    const double few = time_points(b, kind, FEW), many = time_points(b, kind, MANY);
    const double feature = at_least_issued(b, (many - few) / (MANY - FEW));
    *(product ? &t->dot_feature : &t->sqdist_feature) = feature;
    *(product ? &t->dot : &t->sqdist) = at_least_issued(b, few - FEW * feature);
  }
}

static gb_ins looped (gb_ins_kind kind, int a) {
  return (gb_ins){
      .kind = kind, .monoid = GB_SUM, .a = a, .b = -1, .c = -1, .x = -1, .y = -1, .w = -1, .axis = -1};
}

/* A distance written out: the sum over features of |x - y|. */
static double time_loop (bench *b) {
  enum { D = 8 };
  gb_probe p;
  gb_probe_begin(&p, b->type, LANES, ROWS, D);
  const int x = gb_probe_operand(&p, b->data, D, 0, 1), y = gb_probe_operand(&p, b->data, 0, D, 1);
  gb_ins loop = looped(GB_INS_LOOP, -1), load = looped(GB_INS_LOAD, -1);
  loop.axis = GB_PROBE_INNER;
  gb_probe_ins(&p, loop);
  load.x = x;
  const int xk = gb_probe_ins(&p, load);
  load.x = y;
  const int yk = gb_probe_ins(&p, load);
  const int gap = gb_probe_map(&p, GB_OP_ABS, gb_probe_map(&p, GB_OP_SUB, xk, yk, -1), -1, -1);
  const int sum = gb_probe_ins(&p, looped(GB_INS_ACC, gap));
  gb_probe_ins(&p, looped(GB_INS_ENDLOOP, -1));
  p.ins[p.f.nins - 2].deps &= ~(1u << GB_PROBE_INNER);
  end_rows(b, &p, sum, GB_SUM);
  p.ins[p.f.nins - 1].deps &= ~(1u << GB_PROBE_INNER);
  const double *map = b->to->map,
               known = b->to->reduce[GB_SUM] + D * (map[GB_OP_SUB] + map[GB_OP_ABS] + map[GB_OP_ADD]);
  return at_least_issued(b, (time_one(b, &p) / pairs - known) / D);
}

/* profile(s) + z: no template */
static double time_radial (bench *b, gb_profile profile, int order, int dalpha) {
  gb_probe p;
  int v = begin_points(b, &p, GB_INS_SQDIST, 3);
  if (order >= 0) v = add_radial(&p, profile, order, dalpha, v);
  v = gb_probe_map(&p, GB_OP_ADD, v, gb_probe_load(&p, b->data, 1, 0), -1);
  end_rows(b, &p, v, GB_SUM);
  return time_one(b, &p) / pairs;
}

static double time_fused (bench *b, gb_profile profile, bool symmetric) {
  gb_probe p;
  gb_probe_begin(&p, b->type, LANES, symmetric ? LANES : ROWS, 3);
  const int x = gb_probe_operand(&p, b->data, 3, 0, 1), y = gb_probe_operand(&p, b->data, 0, 3, 1);
  int v = gb_probe_ins(
      &p,
      (gb_ins){
          .kind = GB_INS_SQDIST, .a = -1, .b = -1, .c = -1, .x = x, .y = y, .w = -1, .axis = GB_PROBE_INNER});
  v = add_radial(&p, profile, 0, 0, v);
  end_contract(b, &p, v, true, 1);
  p.f.symmetric = symmetric;
  if (symmetric) p.out[0].y = gb_probe_operand(&p, b->data, 1, 0, 0);
  return time_one(b, &p) / (symmetric ? (double)LANES * (LANES + GB_TI) / 2 : pairs);
}

static void measure_profiles (bench *b) {
  const double base = time_radial(b, GB_RBF, -1, 0), least = 1 / gb_cpu_profile_bound(b->r, b->type, 3, 1);
  for (int p = 0; p < GB_NPROFILES; p++) {
    for (int order = 0; order < 3; order++)
      b->to->radial[p][order] = at_least_issued(b, time_radial(b, (gb_profile)p, order, 0) - base);
    b->to->fused[p] = fmax(0, time_fused(b, (gb_profile)p, false) - least);
  }
  b->to->radial_alpha = at_least_issued(b, time_radial(b, GB_RQ, 0, 1) - base);
  b->to->fused_symmetric = time_fused(b, GB_RBF, true) / time_fused(b, GB_RBF, false);
}

/* -- memory */

/* x_i + y_j, stored or summed; or stored values, along their lanes or across them, summed. */
enum { FLAT_SUM, FLAT_STORE, FLAT_LOAD, FLAT_ACROSS };

static double time_flat (bench *b, int what) {
  gb_probe p;
  int t = begin_sum(b, &p, FLAT, 1);
  if (what >= FLAT_LOAD) {
    gb_probe_begin(&p, b->type, LANES, FLAT, 1);
    t = gb_probe_load(&p, b->data, what == FLAT_LOAD ? 1 : APART, what == FLAT_LOAD ? LANES : 1);
  }
  if (what == FLAT_STORE)
    gb_probe_emit(
        &p, t,
        (gb_out){.kind = GB_OUT_STORE, .x = -1, .y = -1, .axis = -1, .slot2 = -1, .stride = {1, LANES}},
        b->out);
  else end_rows(b, &p, t, GB_SUM);
  return time_one(b, &p) / ((double)LANES * FLAT);
}

static double time_random (bench *b, bool normal) {
  gb_probe p;
  const int t = begin_sum(b, &p, FLAT, 1), at = gb_probe_operand(&p, b->data, 1, LANES, 0);
  const int u = gb_probe_ins(&p, (gb_ins){.kind = GB_INS_RAND,
                                          .profile = normal ? GB_M12 : GB_RBF,
                                          .a = -1,
                                          .b = -1,
                                          .c = -1,
                                          .x = at,
                                          .y = -1,
                                          .w = -1,
                                          .axis = -1,
                                          .f = 1,
                                          .seed = {1, 2}});
  end_rows(b, &p, gb_probe_map(&p, GB_OP_ADD, t, u, -1), GB_SUM);
  return time_one(b, &p) / ((double)LANES * FLAT);
}

/* A strip: the sum of so many operands added to itself so many times, stored. */
static double time_strip (bench *b, int operands, int additions) {
  gb_probe p;
  gb_probe_begin(&p, b->type, STRIP, 0, 1);
  int t = gb_probe_load(&p, b->data, 1, 0);
  for (int n = 1; n < operands; n++)
    t = gb_probe_map(&p, GB_OP_ADD, t, gb_probe_load(&p, b->data + (size_t)n * STRIP * sizeof(double), 1, 0),
                     -1);
  for (int n = 0; n < additions; n++) t = gb_probe_map(&p, GB_OP_ADD, t, t, -1);
  gb_probe_emit(&p, t,
                (gb_out){.kind = GB_OUT_STORE, .x = -1, .y = -1, .axis = -1, .slot2 = -1, .stride = {1}},
                b->out);
  return time_one(b, &p) / STRIP;
}

static void measure_strips (bench *b) {
  gb_type_profile *t = b->to;
  const double one = time_strip(b, 1, 1), more = time_strip(b, 1, 9), wide = time_strip(b, 5, 1),
               add = (more - one) / 8;
  t->pass = at_least_issued(b, add - t->map[GB_OP_ADD]);
  t->strip_load = at_least_issued(b, (wide - one) / 4 - add);
  t->strip_store = at_least_issued(b, one - add - t->strip_load);
}

static void measure_tiles (bench *b) {
  gb_type_profile *t = b->to;
  const double add = t->map[GB_OP_ADD], base = time_flat(b, FLAT_SUM), sum = t->reduce[GB_SUM];
  t->load = at_least_issued(b, time_flat(b, FLAT_LOAD) - sum);
  t->load_across = at_least_issued(b, time_flat(b, FLAT_ACROSS) - sum);
  t->store = at_least_issued(b, time_flat(b, FLAT_STORE) - add);
  t->rand = at_least_issued(b, time_random(b, false) - base - add);
  t->randn = at_least_issued(b, time_random(b, true) - base - add);
}

/* Bytes a second of a sum over, or of filling, so much memory. */
static double stream_rate (bench *b, gb_device *dev, size_t bytes, bool write) {
  gb_probe p;
  gb_probe_begin(&p, GB_F64, bytes / sizeof(double), 0, 1);
  const int v = write ? gb_probe_const(&p, 1) : gb_probe_load(&p, b->stream, 1, 0);
  gb_probe_emit(&p, v,
                (gb_out){.kind = write ? GB_OUT_STORE : GB_OUT_REDUCE,
                         .monoid = GB_SUM,
                         .reduced = write ? 0 : lane_bit,
                         .x = -1,
                         .y = -1,
                         .axis = -1,
                         .slot2 = -1,
                         .stride = {write}},
                write ? b->stream : b->out);
  return (double)bytes / time_on(b, dev, &p);
}

typedef struct touch {
  char *at;
  int threads;
} touch;

static void touch_pages (void *ud, int thread) {
  const touch *t = ud;
  for (size_t i = PAGE * (size_t)thread; i < FRESH_BYTES; i += PAGE * (size_t)t->threads) t->at[i] = 1;
}

static double fresh_once (bench *b, gb_pool *pool) {
  gb_block at = {0};
  if (b->rc == GB_OK)
    b->rc = gb_ledger_alloc(&b->dev->ledger, GB_MEM_WORKSPACE, FRESH_BYTES, "", "calibration", &at, b->err);
  if (b->rc != GB_OK) return 1;
  touch t = {at.data, gb_pool_threads(pool)};
  double (*const now)(void) = t.threads > 1 ? gb_clock : gb_clock_thread;
  const double start = now();
  gb_pool_run(pool, touch_pages, &t);
  const double seconds = fmax(now() - start, 1e-9);
  gb_ledger_free(&b->dev->ledger, &at);
  gb_ledger_release(&b->dev->ledger);
  return seconds;
}

/* The first time the system may have to find the pages, too: it does not count. */
static double fresh_rate (bench *b, gb_pool *pool) {
  double best = INFINITY;
  for (int n = 0; n < 4; n++) best = fmin(best, fresh_once(b, pool));
  return FRESH_BYTES / best;
}

static void measure_memory (bench *b) {
  gb_cpu_profile *r = b->r;
  r->write = stream_rate(b, &b->one, STREAM_BYTES, true);
  r->read = stream_rate(b, &b->one, STREAM_BYTES, false);
  r->write_all = fmax(r->write, stream_rate(b, b->dev, STREAM_BYTES, true));
  r->read_all = fmax(r->read, stream_rate(b, b->dev, STREAM_BYTES, false));
  r->middle = fmax(r->read, stream_rate(b, &b->one, MIDDLE_BYTES, false));
  r->near = fmax(r->middle, stream_rate(b, &b->one, MIB / 4, false));
  r->fresh = fresh_rate(b, b->one.pool);
  r->fresh_all = fmax(r->fresh, fresh_rate(b, b->dev->pool));
}

/* -- library calls */

static double time_opaque (bench *b, gb_opaque *o) {
  const void *const in[] = {b->matrix, b->data};
  void *const out[] = {b->out, b->out + PART_BYTES / 4, b->out + PART_BYTES / 2};
  double seconds = 1;
  for (int i = 0; i < o->nin; i++) o->in_dtype[i] = b->type;
  if (b->rc == GB_OK)
    b->rc = gb_probe_time_opaque(&b->one, o, in, out, b->scratch, PART_BYTES, &seconds, b->err);
  return fmax(seconds, 1e-9);
}

static gb_shape matrix_of (size_t n, size_t m) { return gb_shape_of(2, (size_t[]){n, m}); }

static double time_square (bench *b, gb_op op, size_t n, size_t columns) {
  gb_opaque o = {.op = op,
                 .nin = columns > 0 ? 2 : 1,
                 .nout = 1,
                 .in_shape = {matrix_of(n, n), matrix_of(n, columns)},
                 .out_dtype = {b->type, b->type, b->type},
                 .out_shape = {matrix_of(n, columns > 0 ? columns : n)}};
  if (op == GB_OP_LU_LOGDET) o.out_shape[0] = gb_shape_of(0, NULL);
  if (op == GB_OP_QR) o.nout = 2, o.out_shape[1] = matrix_of(n, n);
  if (op == GB_OP_EIGH) o.nout = 2, o.out_shape[0] = gb_shape_of(1, &n), o.out_shape[1] = matrix_of(n, n);
  if (op == GB_OP_SVD) o.nout = 3, o.out_shape[1] = gb_shape_of(1, &n), o.out_shape[2] = matrix_of(n, n);
  return time_opaque(b, &o);
}

static double time_sort (bench *b) {
  const size_t n = LONG;
  gb_opaque o = {.op = GB_OP_SORT,
                 .nin = 1,
                 .nout = 2,
                 .in_shape = {gb_shape_of(1, &n)},
                 .out_dtype = {b->type, GB_I64},
                 .out_shape = {gb_shape_of(1, &n), gb_shape_of(1, &n)}};
  return time_opaque(b, &o);
}

static void measure_library (bench *b) {
  gb_type_profile *t = b->to;
  const double n = ORDER, cube = n * n * n;
  t->gemm = 2 * cube / time_square(b, GB_OP_GEMM, ORDER, ORDER);
  t->gemv = n * n * (double)gb_dtype_size(b->type) / time_square(b, GB_OP_GEMM, ORDER, 1);
  t->potrf = cube / 3 / time_square(b, GB_OP_CHOLESKY, ORDER, 0);
  t->trsm = cube / time_square(b, GB_OP_TRISOLVE, ORDER, ORDER);
  t->gemm_16 = 2 * n * n * 16 / time_square(b, GB_OP_GEMM, ORDER, 16);
  t->trsm_16 = n * n * 16 / time_square(b, GB_OP_TRISOLVE, ORDER, 16);
  t->lu = 2 * cube / 3 / time_square(b, GB_OP_LU_LOGDET, ORDER, 0);
  t->qr = 2 * cube / time_square(b, GB_OP_QR, ORDER, 0);
  t->eigh = 9 * cube / time_square(b, GB_OP_EIGH, ORDER, 0);
  t->svd = 20 * cube / time_square(b, GB_OP_SVD, ORDER, 0);
  t->sort = time_sort(b) / (LONG * log2(LONG));
}

static void measure_overheads (bench *b) {
  gb_probe p;
  gb_opaque o = {.op = GB_OP_CAST, .nin = 1, .nout = 1, .out_dtype = {GB_F32}};
  b->type = GB_F64;
  fill(b);
  gb_probe_begin(&p, GB_F64, 1, 1, 1);
  end_rows(b, &p, gb_probe_load(&p, b->data, 1, 0), GB_SUM);
  b->r->fold_s = time_one(b, &p);
  b->r->opaque_s = time_opaque(b, &o);
}

static void wake (void *ud, int thread) { (void)ud, (void)thread; }

static void measure_waking (bench *b) {
  b->r->wake_s = 1;
  for (int n = 0; n < 20; n++) {
    const double start = gb_clock();
    gb_pool_run(b->dev->pool, wake, NULL);
    b->r->wake_s = fmin(b->r->wake_s, gb_clock() - start);
  }
}

/* -- the sheet */

static void measure_type (bench *b, gb_dtype type) {
  b->type = type;
  b->to = &b->r->type[type == GB_F32];
  fill(b);
  measure_maps(b);
  measure_monoids(b);
  measure_contractions(b);
  measure_fronts(b);
  b->to->turn = time_loop(b);
  measure_profiles(b);
  measure_tiles(b);
  measure_strips(b);
  measure_library(b);
}

/* One fold on all threads, by the clock: the same thing several times tells how steady the machine is. */
static double reference (bench *b) {
  gb_probe p;
  b->type = GB_F32;
  fill(b);
  end_rows(b, &p, begin_sum(b, &p, ROWS, 1), GB_SUM);
  return time_on(b, b->dev, &p);
}

#define BUSY_SHARE 0.8 /* of a processor that is no longer all ours */
#define BUSY_SPREAD 0.5

static void measure (bench *b) {
  double took[3];
  const double start = gb_clock(), worked = gb_clock_thread();
  b->r->threads = gb_pool_threads(b->dev->pool);
  gb_cpu_measure_rates(b->dev, 0.2, &b->r->device);
  measure_overheads(b);
  measure_waking(b);
  took[0] = reference(b);
  measure_type(b, GB_F32);
  took[1] = reference(b);
  measure_type(b, GB_F64);
  took[2] = reference(b);
  measure_memory(b);
  b->r->taken.when = (double)time(NULL);
  b->r->taken.share = fmin(1, (gb_clock_thread() - worked) / fmax(gb_clock() - start, 1e-9));
  b->r->taken.spread = fmax(took[0], fmax(took[1], took[2])) / fmin(took[0], fmin(took[1], took[2])) - 1;
  b->r->taken.calm = b->r->taken.share >= BUSY_SHARE && b->r->taken.spread <= BUSY_SPREAD;
}

gb_status gb_cpu_profile_measure (gb_device *dev, gb_cpu_profile *out, gb_error *err) {
  gb_block memory;
  bench b = {.dev = dev, .one = *dev, .r = out, .err = err};
  memset(out, 0, sizeof *out);
  GB_TRY(gb_ledger_alloc(&dev->ledger, GB_MEM_WORKSPACE, STREAM_BYTES + 4 * PART_BYTES, "", "calibration",
                         &memory, err));
  b.rc = gb_pool_new(1, &b.one.pool, err);
  b.stream = memory.data;
  b.data = b.stream + STREAM_BYTES;
  b.matrix = b.data + PART_BYTES;
  b.out = b.matrix + PART_BYTES;
  b.scratch = b.out + PART_BYTES;
  if (b.rc == GB_OK) {
    measure(&b);
    gb_pool_free(b.one.pool);
  }
  gb_ledger_free(&dev->ledger, &memory);
  return b.rc;
}
