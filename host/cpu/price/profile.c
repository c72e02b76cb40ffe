/* profile.c - the figures of the CPU in their order, fixed ones, and the table of its prices. */
#include "cpu/price/cost.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "program/work.h"

/* every figure */

typedef gb_figure_visitor visitor;
typedef struct figure {
  const char *name;
  double *value;
} figure;

static void visit_one (const char *type, const char *group, const char *name, double *value, visitor *visit,
                       void *ud) {
  char full[64];
  snprintf(full, sizeof full, "%s.%s%s", type, group, name);
  visit(ud, full, value);
}

static void visit_tables (const char *type, gb_type_profile *t, visitor *visit, void *ud) {
  static const char *const profile[] = {"rbf", "m12", "m32", "m52", "rq"}, *const order[] = {"radial0.",
                                                                                             "radial1.",
                                                                                             "radial2."};
  static const char *const monoid[] = {"sum",    "prod",   "min", "max", "lse",
                                       "argmin", "argmax", "any", "all", "ksmallest"};
  for (int op = 0; op < GB_NOPS; op++)
    if (gb_ops[op].kind == GB_KIND_MAP && op != GB_OP_RADIAL)
      visit_one(type, "map.", gb_ops[op].name, &t->map[op], visit, ud);
  for (int p = 0; p < GB_NPROFILES; p++) {
    for (int o = 0; o < 3; o++) visit_one(type, order[o], profile[p], &t->radial[p][o], visit, ud);
    visit_one(type, "fused.", profile[p], &t->fused[p], visit, ud);
  }
  for (int m = 0; m < GB_NMONOIDS; m++) visit_one(type, "reduce.", monoid[m], &t->reduce[m], visit, ud);
}

#define FIGURE(name)                                                                                         \
  { #name, &t->name }
#define TAKEN(name)                                                                                          \
  { #name, &t->taken.name }

static void visit_type (const char *type, gb_type_profile *t, visitor *visit, void *ud) {
  const figure list[] = {FIGURE(radial_alpha), FIGURE(fused_symmetric),
                         FIGURE(sqdist),       FIGURE(sqdist_feature),
                         FIGURE(dot),          FIGURE(dot_feature),
                         FIGURE(load),         FIGURE(load_across),
                         FIGURE(store),        FIGURE(rand),
                         FIGURE(randn),        FIGURE(turn),
                         FIGURE(pass),         FIGURE(strip_load),
                         FIGURE(strip_store),  FIGURE(reduce_col),
                         FIGURE(reduce_all),   FIGURE(contract_row),
                         FIGURE(column_row),   FIGURE(contract_many),
                         FIGURE(column_many),  FIGURE(contract_col),
                         FIGURE(column_col),   FIGURE(diff_row),
                         FIGURE(diff_col),     FIGURE(gemm),
                         FIGURE(potrf),        FIGURE(trsm),
                         FIGURE(gemm_16),      FIGURE(trsm_16),
                         FIGURE(gemv),         FIGURE(qr),
                         FIGURE(lu),           FIGURE(eigh),
                         FIGURE(svd),          FIGURE(sort)};
  visit_tables(type, t, visit, ud);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    visit_one(type, "", list[i].name, list[i].value, visit, ud);
}

static void visit_whole (gb_cpu_profile *t, visitor *visit, void *ud) {
  const figure list[] = {FIGURE(threads),   FIGURE(read),   FIGURE(write),     FIGURE(read_all),
                         FIGURE(write_all), FIGURE(fresh),  FIGURE(fresh_all), FIGURE(near),
                         FIGURE(middle),    FIGURE(fold_s), FIGURE(opaque_s),  FIGURE(wake_s),
                         TAKEN(when),       TAKEN(share),   TAKEN(spread),     TAKEN(calm)};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) visit(ud, list[i].name, list[i].value);
}

void gb_cpu_profile_walk (gb_cpu_profile *r, visitor *visit, void *ud) {
  gb_cpu_rates *t = &r->device;
  const figure device[] = {FIGURE(fma), FIGURE(issue), FIGURE(scaling)};
  for (size_t i = 0; i < sizeof device / sizeof *device; i++) visit(ud, device[i].name, device[i].value);
  visit_whole(r, visit, ud);
  visit_type("f64", &r->type[0], visit, ud);
  visit_type("f32", &r->type[1], visit, ud);
}

double gb_cpu_profile_bound (const gb_cpu_profile *r, gb_dtype compute, double d, double columns) {
  const bool single = compute == GB_F32;
  const double fma = d + (single ? 5 : 13) + columns, all = fma + d + 3;
  return (single ? 16 : 8) / fmax(fma / r->device.fma, all / r->device.issue);
}

/* the fixed sheet */

static double fixed_map (int op) {
  if (gb_ops[op].kind != GB_KIND_MAP || op == GB_OP_RADIAL) return 0;
  switch (op) {
    case GB_OP_SQRT:
    case GB_OP_RSQRT:
    case GB_OP_RECIP:
    case GB_OP_DIV:
    case GB_OP_ATAN: return 5e-10;
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
    case GB_OP_POW: return 2e-9;
    case GB_OP_LOG_NDTR:
    case GB_OP_LGAMMA:
    case GB_OP_DIGAMMA:
    case GB_OP_TRIGAMMA:
    case GB_OP_NDTR_RATIO:
    case GB_OP_NDTR_GAP:
    case GB_OP_NDTR_SPREAD:
    case GB_OP_POLYGAMMA: return 5e-8;
    default: return 1e-10;
  }
}

/* f32 does everything that is vectorised in half the time. */
static gb_type_profile fixed_type (double half) {
  gb_type_profile t = {.radial_alpha = 8e-9 * half,
                       .fused_symmetric = 1.2,
                       .sqdist = 1e-10 * half,
                       .sqdist_feature = 2e-10 * half,
                       .dot = 1e-10 * half,
                       .dot_feature = 1e-10 * half,
                       .load = 1e-10 * half,
                       .load_across = 5e-10 * half,
                       .store = 2e-10 * half,
                       .rand = 4e-9,
                       .randn = 2e-8,
                       .turn = 2e-10 * half,
                       .pass = 1e-10 * half,
                       .strip_load = 1e-10 * half,
                       .strip_store = 1e-10 * half,
                       .reduce_col = 1e-10 * half,
                       .reduce_all = 1e-10 * half,
                       .contract_row = 1e-10 * half,
                       .column_row = 1e-10 * half,
                       .contract_many = 1e-10 * half,
                       .column_many = 2.5e-11 * half,
                       .contract_col = 1e-10 * half,
                       .column_col = 1e-10 * half,
                       .diff_row = 2e-10 * half,
                       .diff_col = 2e-10 * half,
                       .gemm = 5e10 / half,
                       .potrf = 1e10 / half,
                       .trsm = 2e10 / half,
                       .gemm_16 = 2.5e10 / half,
                       .trsm_16 = 1e10 / half,
                       .gemv = 1e10,
                       .qr = 1e10 / half,
                       .lu = 1e10 / half,
                       .eigh = 5e9 / half,
                       .svd = 5e9 / half,
                       .sort = 1e-8};
  for (int op = 0; op < GB_NOPS; op++) t.map[op] = fixed_map(op) * half;
  for (int p = 0; p < GB_NPROFILES; p++) {
    t.fused[p] = (p == GB_RQ ? 2e-9 : p == GB_RBF ? 1e-10 : 4e-10) * half;
    for (int order = 0; order < 3; order++)
      t.radial[p][order] = (p == GB_RQ ? 4e-9 : p == GB_RBF ? 1e-9 : 2e-9) * half;
  }
  for (int m = 0; m < GB_NMONOIDS; m++) t.reduce[m] = (m == GB_LSE ? 2e-9 : m < GB_LSE ? 1e-10 : 1e-9) * half;
  return t;
}

static gb_cpu_profile fixed; /* constant once it is filled */

static void fill_fixed (void) {
  fixed = (gb_cpu_profile){.threads = 2,
                           .device = {.fma = 4e9, .issue = 8e9, .scaling = 2},
                           .read = 1e10,
                           .write = 5e9,
                           .read_all = 2e10,
                           .write_all = 1e10,
                           .fresh = 2e9,
                           .fresh_all = 4e9,
                           .near = 5e10,
                           .middle = 3e10,
                           .fold_s = 1e-6,
                           .opaque_s = 1e-6,
                           .wake_s = 1e-5,
                           .taken = {.share = 1, .calm = 1},
                           .type = {fixed_type(1), fixed_type(0.5)}};
}

const gb_cpu_profile *gb_cpu_profile_fixed (void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill_fixed);
  return &fixed;
}

/* the table */

static const gb_cpu_profile *own (const gb_device_profile *p) { return (const gb_cpu_profile *)p; }

static const gb_device_profile *fixed_figures (void) { return &gb_cpu_profile_fixed()->taken; }

static void walk (gb_device_profile *p, visitor *visit, void *ud) {
  gb_cpu_profile_walk((gb_cpu_profile *)p, visit, ud);
}

static gb_status measure (gb_device *dev, gb_device_profile *out, gb_error *err) {
  return gb_cpu_profile_measure(dev, (gb_cpu_profile *)out, err);
}

static double seconds_of_fold (const gb_device_profile *p, int threads, const gb_fold *f, double fraction) {
  return fraction * gb_cost_fold(own(p), threads, f) + own(p)->fold_s;
}

static double seconds_of_opaque (const gb_device_profile *p, int threads, const gb_opaque *o,
                                 double fraction) {
  return fraction * gb_cost_opaque(own(p), threads, o) + own(p)->opaque_s;
}

/* Figures of multiply-adds count vectors of 64 bytes. */
static double bound_of_work (const gb_device_profile *p, int threads, const gb_work *w) {
  const double each = 2 * 64 / (double)gb_dtype_size(w->compute == GB_F32 ? GB_F32 : GB_F64);
  const double rate = own(p)->device.fma * gb_cost_speed(own(p), threads, threads) * each;
  return fmax(w->flops / rate, gb_cost_bytes(own(p), threads, w->bytes));
}

const gb_price_ops gb_cpu_price_ops = {.bytes = sizeof(gb_cpu_profile),
                                       .fixed = fixed_figures,
                                       .walk = walk,
                                       .fold = seconds_of_fold,
                                       .opaque = seconds_of_opaque,
                                       .bound = bound_of_work,
                                       .identity = gb_cpu_identity,
                                       .room = GB_RATES_ROOM,
                                       .measure = measure,
                                       .peak = gb_cpu_peak};
