/* test_lower.c - what lowering makes of expressions: one program for every spelling of a kernel product,
** and which values are stored, inlined, copied or refused. */
#include "base/hash.h"
#include "support/lower_fixture.h"
#include "support/reference.h"

/* One product, many spellings */

/* exp(-|x_i - y_j|^2 / (2 l^2)) v_j, summed over j. */
typedef struct product {
  gb_node *x, *y, *l, *v;
  size_t n, m, d;
} product;
typedef gb_node *spelling (const product *p);

static gb_node *pow_ (gb_node *a, double p) { return map2(GB_OP_POW, a, num(p)); }
static gb_node *norms (gb_node *x) { return sum_axis(square(x), 1); }
static gb_node *reshape (gb_node *a, int ndim, const size_t *dim) {
  const gb_shape s = gb_shape_of(ndim, dim);
  return BUILD(gb_reshape, a, &s);
}
static gb_node *expand (gb_node *a, int ndim, const size_t *dim) {
  const gb_shape s = gb_shape_of(ndim, dim);
  return BUILD(gb_expand, a, &s);
}
static gb_node *half_exp (gb_node *scaled) { return map1(GB_OP_EXP, mul(scaled, num(-0.5))); }
static gb_node *after (const product *p, gb_node *d2) { return half_exp(dvd(d2, square(p->l))); }
static gb_node *difference (const product *p) { return sub(unsq(p->x, 1), unsq(p->y, 0)); }
static gb_node *plain (const product *p) { return after(p, sum_axis(square(difference(p)), 2)); }
static gb_node *dots (const product *p) { return mm(p->x, tr(p->y)); }

static gb_node *s_plain (const product *p) { return mm(plain(p), p->v); }
static gb_node *s_power (const product *p) { return mm(after(p, sum_axis(pow_(difference(p), 2), 2)), p->v); }
static gb_node *s_times (const product *p) {
  return mm(after(p, sum_axis(mul(difference(p), difference(p)), 2)), p->v);
}
static gb_node *s_sign (const product *p) {
  return mm(after(p, sum_axis(square(sub(unsq(p->y, 0), unsq(p->x, 1))), 2)), p->v);
}
static gb_node *s_negated (const product *p) {
  gb_node *d2 = sum_axis(square(difference(p)), 2);
  return mm(map1(GB_OP_EXP, dvd(map1(GB_OP_NEG, d2), mul(num(2), mul(p->l, p->l)))), p->v);
}
static gb_node *s_scaled (const product *p) {
  return mm(half_exp(sum_axis(square(sub(unsq(dvd(p->x, p->l), 1), unsq(dvd(p->y, p->l), 0))), 2)), p->v);
}
static gb_node *s_reciprocal (const product *p) {
  gb_node *r = dvd(num(1), p->l);
  return mm(half_exp(sum_axis(square(sub(unsq(mul(p->x, r), 1), unsq(mul(r, p->y), 0))), 2)), p->v);
}
static gb_node *s_expanded (const product *p) {
  const size_t dim[] = {p->n, p->m, p->d};
  gb_node *d = sub(expand(unsq(p->x, 1), 3, dim), expand(unsq(p->y, 0), 3, dim));
  return mm(after(p, sum_axis(square(d), 2)), p->v);
}
static gb_node *s_reshaped (const product *p) {
  gb_node *x = reshape(p->x, 3, (size_t[]){p->n, 1, p->d}), *y = reshape(p->y, 3, (size_t[]){1, p->m, p->d});
  return mm(after(p, sum_axis(square(sub(x, y)), 2)), p->v);
}
static gb_node *s_norm (const product *p) {
  return mm(after(p, square(BUILD(gb_norm, difference(p), 1u << 2, false, 2))), p->v);
}
static gb_node *s_norm_kept (const product *p) {
  return mm(half_exp(square(dvd(sq(BUILD(gb_norm, difference(p), 1u << 2, true, 2), 2), p->l))), p->v);
}
static gb_node *s_quadratic (const product *p) {
  return mm(after(p, sub(add(unsq(norms(p->x), 1), unsq(norms(p->y), 0)), mul(num(2), dots(p)))), p->v);
}
static gb_node *s_quadratic_turned (const product *p) {
  gb_node *s = sub(sub(mul(num(2), tr(mm(p->y, tr(p->x)))), unsq(norms(p->x), 1)), norms(p->y));
  return mm(map1(GB_OP_EXP, mul(s, dvd(num(0.5), square(p->l)))), p->v);
}
static gb_node *s_quadratic_scaled (const product *p) {
  const product q = {
      .x = dvd(p->x, p->l), .y = dvd(p->y, p->l), .l = num(1), .v = p->v, .n = p->n, .m = p->m, .d = p->d};
  return s_quadratic(&q);
}
static gb_node *s_transposed (const product *p) {
  gb_node *d2 = sum_axis(square(sub(unsq(p->y, 1), unsq(p->x, 0))), 2);
  return mm(tr(after(p, d2)), p->v);
}
static gb_node *s_features_first (const product *p) {
  return mm(after(p, sum_axis(square(sub(unsq(tr(p->x), 2), unsq(tr(p->y), 1))), 0)), p->v);
}
static gb_node *s_unrolled (const product *p) {
  gb_node *s = NULL;
  for (size_t k = 0; k < p->d; k++) {
    gb_node *t = square(sub(unsq(BUILD(gb_select, p->x, 1, k), 1), unsq(BUILD(gb_select, p->y, 1, k), 0)));
    s = s == NULL ? t : add(s, t);
  }
  return mm(after(p, s), p->v);
}
static gb_node *s_unrolled_scaled (const product *p) {
  gb_node *s = num(0);
  for (size_t k = p->d; k-- > 0;) {
    gb_node *a = BUILD(gb_slice, dvd(p->x, p->l), 1, k, 1, 1),
            *b = tr(BUILD(gb_slice, dvd(p->y, p->l), 1, k, 1, 1));
    s = add(square(sub(a, b)), s);
  }
  return mm(half_exp(s), p->v);
}
static gb_node *s_mapped (const product *p) {
  const gb_tensor one = {.dtype = inputs.dtype, .shape = gb_shape_of(1, &p->d)};
  gb_node *xi = BUILD(gb_node_leaf, fx.g, &one, GB_NODE_TRACED, ""),
          *yj = BUILD(gb_node_leaf, fx.g, &one, GB_NODE_TRACED, "");
  gb_node *k = half_exp(dvd(sum_all(square(sub(xi, yj))), square(p->l))), *row, *all;
  const int first = 0;
  OK(gb_vmap(1, &yj, &p->y, &first, false, 1, &k, &row, &fx.err));
  hold(GB_OK, row);
  OK(gb_vmap(1, &xi, &p->x, &first, false, 1, &row, &all, &fx.err));
  return mm(hold(GB_OK, all), p->v);
}
/* vmap of a whole row of the product. */
static gb_node *s_mapped_row (const product *p) {
  const gb_tensor one = {.dtype = inputs.dtype, .shape = gb_shape_of(1, &p->d)};
  gb_node *xi = BUILD(gb_node_leaf, fx.g, &one, GB_NODE_TRACED, ""), *all;
  gb_node *z = sum_all(mul(half_exp(dvd(sum_axis(square(sub(xi, p->y)), 1), square(p->l))), p->v));
  const int first = 0;
  OK(gb_vmap(1, &xi, &p->x, &first, false, 1, &z, &all, &fx.err));
  return hold(GB_OK, all);
}
static gb_node *s_object (const product *p) {
  return mm(radial(GB_RBF, dist(p->x, p->y, NULL), map1(GB_OP_RECIP, square(p->l)), NULL), p->v);
}
static gb_node *s_object_scaled (const product *p) {
  return mm(radial(GB_RBF, dist(dvd(p->x, p->l), dvd(p->y, p->l), NULL), num(1), NULL), p->v);
}
static gb_node *s_sum (const product *p) { return sum_axis(mul(plain(p), unsq(p->v, 0)), 1); }
static gb_node *s_sum_first (const product *p) { /* features before points, weights before the sum */
  gb_node *k = after(p, sum_axis(square(sub(unsq(p->y, 1), unsq(p->x, 0))), 2));
  return sum_axis(mul(unsq(p->v, 1), k), 0);
}
static gb_node *s_column (const product *p) { return sq(mm(plain(p), unsq(p->v, 1)), 1); }
static gb_node *s_row (const product *p) { return mm(p->v, tr(plain(p))); }
static gb_node *s_row_of_matrix (const product *p) { return sq(tr(mm(unsq(p->v, 0), tr(plain(p)))), 1); }
static gb_node *s_einsum (const product *p) {
  return BUILD(gb_einsum, fx.g, "ij,j->i", 2, ((gb_node *const[]){plain(p), p->v}));
}
static gb_node *s_einsum_all (const product *p) {
  gb_node *xy = BUILD(gb_einsum, fx.g, "ik,jk->ij", 2, ((gb_node *const[]){p->x, p->y}));
  gb_node *k = after(p, sub(add(unsq(norms(p->x), 1), unsq(norms(p->y), 0)), add(xy, xy)));
  return BUILD(gb_einsum, fx.g, "ji,j->i", 2, ((gb_node *const[]){tr(k), p->v}));
}

static const struct {
  const char *name;
  spelling *f;
} spellings[] = {
    {"square", s_plain},
    {"power", s_power},
    {"product", s_times},
    {"other sign", s_sign},
    {"negated", s_negated},
    {"points / l", s_scaled},
    {"points * (1 / l)", s_reciprocal},
    {"expand", s_expanded},
    {"reshape", s_reshaped},
    {"norm ^ 2", s_norm},
    {"norm kept / l", s_norm_kept},
    {"x^2 + y^2 - 2 x y'", s_quadratic},
    {"-(2 x y' - x^2 - y^2)", s_quadratic_turned},
    {"quadratic of points / l", s_quadratic_scaled},
    {"transposed", s_transposed},
    {"features first", s_features_first},
    {"unrolled", s_unrolled},
    {"unrolled by slices", s_unrolled_scaled},
    {"vmap of a pair", s_mapped},
    {"vmap of a row", s_mapped_row},
    {"kernel object", s_object},
    {"kernel object of points / l", s_object_scaled},
    {"sum of products", s_sum},
    {"sum of products, turned", s_sum_first},
    {"one column", s_column},
    {"from the left", s_row},
    {"a row from the left", s_row_of_matrix},
    {"einsum", s_einsum},
    {"einsum throughout", s_einsum_all},
};
#define NSPELLINGS ((int)(sizeof spellings / sizeof spellings[0]))
_Static_assert(sizeof spellings / sizeof spellings[0] >= 15, "too few spellings");

typedef struct program {
  uint64_t identity;
  kept_bits value;
  uint64_t pairs;
  char *text;
} program;

/* m = 0: the same points twice. */
static product product_of (gb_dtype t, size_t n, size_t m, size_t d) {
  inputs_begin(3, t, 0);
  product p = {.x = in2(n, d, -1, 1), .n = n, .m = m > 0 ? m : n, .d = d};
  p.y = m > 0 ? in2(m, d, -1, 1) : p.x;
  p.l = in0(0.6, 0.7);
  p.v = in1(p.m, -1, 1);
  return p;
}

/* Lowered and run in a graph of its own. */
static program program_of (spelling *f, gb_dtype t, size_t n, size_t m, size_t d) {
  program r = {0};
  eval_begin(1, (size_t)1 << 28);
  const product p = product_of(t, n, m, d);
  gb_node *z = f(&p);
  gb_lowered *low = lowered(1, &z);
  for (int s = 0; s < low->nsteps; s++) {
    if (!visits_pairs(&low->step[s])) continue;
    r.identity = gb_hash_u64(r.identity, gb_fold_identity(&low->step[s].fold));
    if (r.text == NULL) r.text = gb_fold_dump(&low->step[s].fold);
  }
  gb_lowered_free(low);
  eval1(z);
  r.pairs = gb_last_eval.pairs;
  r.value = keep_bits(z);
  eval_end();
  return r;
}

static void free_program (program *p) {
  free(p->text);
  free(p->value.at);
}

static void compare_spellings (gb_dtype t, size_t n, size_t m, size_t d) {
  program want = program_of(spellings[0].f, t, n, m, d);
  int different = 0;
  assert_non_null(want.text);
  assert_true(want.pairs >= (m > 0 ? n * m : n * n / 2));
  for (int i = 1; i < NSPELLINGS; i++) {
    program got = program_of(spellings[i].f, t, n, m, d);
    const bool same = got.identity == want.identity && got.pairs == want.pairs &&
                      got.value.bytes == want.value.bytes &&
                      memcmp(got.value.at, want.value.at, want.value.bytes) == 0;
    if (!same) {
      different++;
      print_message("%s, %zu x %zu x %zu: identity %s, %llu pairs, value %s\n%s", spellings[i].name, n, m, d,
                    got.identity == want.identity ? "same" : "other", (unsigned long long)got.pairs,
                    memcmp(got.value.at, want.value.at, want.value.bytes) == 0 ? "same" : "other",
                    got.text ? got.text : "");
    }
    free_program(&got);
  }
  if (different > 0) print_message("wanted\n%s", want.text);
  free_program(&want);
  assert_int_equal(different, 0);
}

static void every_spelling_of_a_product_is_one_program (void **unused) {
  (void)unused;
  compare_spellings(GB_F64, 130, 77, 3);
  compare_spellings(GB_F32, 70, 300, 5);
  compare_spellings(GB_F64, 90, 133, 11);
  compare_spellings(GB_F64, 41, 52, 1);
  compare_spellings(GB_F64, 150, 0, 3);
  compare_spellings(GB_F32, 90, 0, 2);
}

/* A kernel product by a random route: each choice is an identity of real numbers. */
static uint32_t fuzz_state;
static unsigned pick (unsigned n) {
  fuzz_state = fuzz_state * 1664525u + 1013904223u;
  return (fuzz_state >> 16) % n;
}

static gb_node *random_distance (const product *p, int depth) {
  product twice = *p, turned = {.x = p->y, .y = p->x, .l = p->l, .v = p->v, .n = p->m, .m = p->n, .d = p->d};
  if (depth > 0) switch (pick(7)) {
      case 0:
        twice.x = mul(p->x, num(2));
        twice.y = mul(num(2), p->y);
        return mul(random_distance(&twice, depth - 1), num(0.25));
      case 1: return tr(random_distance(&turned, depth - 1));
      case 2: return square(map1(GB_OP_SQRT, random_distance(p, depth - 1)));
      case 3: return map1(GB_OP_NEG, sub(num(0), random_distance(p, depth - 1)));
      case 4: return dvd(mul(random_distance(p, depth - 1), num(8)), num(8));
      case 5: return sq(unsq(random_distance(p, depth - 1), 1), 1);
      default: return expand(random_distance(p, depth - 1), 2, (size_t[]){p->n, p->m});
    }
  switch (pick(5)) {
    case 0: return sum_axis(mul(difference(p), difference(p)), 2);
    case 1: return sq(BUILD(gb_reduce, GB_OP_SUM, pow_(difference(p), 2), 1u << 2, true), 2);
    case 2: return sub(unsq(norms(p->y), 0), sub(mul(dots(p), num(2)), unsq(norms(p->x), 1)));
    case 3: return square(BUILD(gb_norm, sub(unsq(p->y, 0), unsq(p->x, 1)), 1u << 2, false, 2));
    default: return sum_axis(square(sub(unsq(tr(p->x), 2), unsq(tr(p->y), 1))), 0);
  }
}

static gb_node *s_random (const product *p) {
  product scaled = *p;
  const bool first = pick(2);
  if (first) {
    scaled.x = dvd(p->x, p->l);
    scaled.y = dvd(p->y, p->l);
  }
  gb_node *d2 = random_distance(&scaled, (int)pick(6)), *k = first ? half_exp(d2) : after(p, d2);
  switch (pick(4)) {
    case 0: return mm(k, p->v);
    case 1: return sum_axis(mul(unsq(p->v, 0), k), 1);
    case 2: return mm(p->v, tr(k));
    default: return sq(mm(k, unsq(p->v, 1)), 1);
  }
}

static void random_rewrites_of_a_product_are_one_program (void **unused) {
  (void)unused;
  program want = program_of(s_plain, GB_F64, 71, 64, 3);
  assert_non_null(want.text);
  for (unsigned seed = 0; seed < 200; seed++) {
    fuzz_state = seed * 2654435761u + 1;
    program got = program_of(s_random, GB_F64, 71, 64, 3);
    if (got.identity != want.identity || memcmp(got.value.at, want.value.at, want.value.bytes) != 0)
      fail_msg("seed %u: identity %s, value %s\n%s", seed, got.identity == want.identity ? "same" : "other",
               memcmp(got.value.at, want.value.at, want.value.bytes) == 0 ? "same" : "other", got.text);
    free_program(&got);
  }
  free_program(&want);
}

/* Stored or inlined */

/* What lowering makes of small graphs, a word a step: 'map' stores without reducing, 'sum' reduces,
** 'pairs' reduces values of two axes, other words are opaque ops; with the number of results where there
** are several. */
typedef int graph_of (gb_node **out);

static gb_node *rbf (gb_node *x, gb_node *y) { return radial(GB_RBF, dist(x, y, NULL), num(0.7), NULL); }
static int one (gb_node **out, gb_node *a) {
  out[0] = a;
  return 1;
}
static int two (gb_node **out, gb_node *a, gb_node *b) {
  out[0] = a;
  out[1] = b;
  return 2;
}

static gb_node *points (void) { return in2(90, 3, -1, 1); }
static gb_node *column (void) { return in2(90, 1, -1, 1); }

static int g_chain (gb_node **out) {
  return one(out, map1(GB_OP_SIN, add(mul(in2(40, 7, -1, 1), num(3)), in1(7, -1, 1))));
}
static int g_sum (gb_node **out) { return one(out, sum_all(map1(GB_OP_EXP, in2(40, 7, -1, 1)))); }
static int g_product (gb_node **out) { return one(out, mm(rbf(points(), points()), column())); }
static int g_dense (gb_node **out) { return one(out, rbf(points(), points())); }
static int g_both (gb_node **out) {
  gb_node *k = rbf(points(), points());
  return two(out, k, mm(k, column()));
}
static int g_two_sided (gb_node **out) {
  gb_node *k = rbf(points(), points());
  return two(out, mm(k, column()), mm(tr(k), in2(90, 4, -1, 1)));
}
static int g_twice (gb_node **out) {
  gb_node *x = points(), *k = rbf(x, x);
  return one(out, mm(k, mm(k, column())));
}
static int g_gemm (gb_node **out) { return one(out, mm(in2(50, 60, -1, 1), in2(60, 70, -1, 1))); }
static int g_gemm_sum (gb_node **out) {
  return one(out, sum_axis(map1(GB_OP_EXP, mm(in2(50, 60, -1, 1), in2(60, 70, -1, 1))), 1));
}
static int g_thin (gb_node **out) {
  return one(out, sum_axis(map1(GB_OP_EXP, mm(points(), tr(points()))), 1));
}
static int g_softmax (gb_node **out) { return one(out, BUILD(gb_softmax, in2(30, 40, -1, 1), 1)); }
static int g_softmax_product (gb_node **out) {
  return one(out, mm(BUILD(gb_softmax, rbf(points(), points()), 1), column()));
}
static int g_cholesky (gb_node **out) {
  gb_node *x = points();
  return one(out, BUILD(gb_cholesky, add(rbf(x, x), mul(identity_of(90), num(0.1))), 0));
}
static int g_row (gb_node **out) { return one(out, BUILD(gb_select, rbf(points(), points()), 0, 7)); }
static int g_corner (gb_node **out) {
  gb_node *rows = BUILD(gb_slice, rbf(points(), points()), 0, 0, 1, 5);
  return one(out, BUILD(gb_slice, rows, 1, 85, 1, 5));
}
static int g_trace (gb_node **out) {
  gb_node *x = points(), *k = rbf(x, x);
  return one(out, sum_all(attr_node(GB_OP_DIAGONAL, 1, &k, (gb_attr){0})));
}
static int g_hoisted (gb_node **out) { /* exp(u) is computed once, not once a pair */
  gb_node *u = map1(GB_OP_EXP, in1(90, -1, 1));
  return one(out, mm(map1(GB_OP_TANH, mul(rbf(points(), points()), unsq(u, 1))), column()));
}
static int g_affine (gb_node **out) { /* a split that every value allows */
  gb_node *a = map1(GB_OP_SIN, in2(12, 35, -1, 1));
  return one(out, sum_axis(reshape(a, 3, (size_t[]){4, 3, 35}), 1));
}
static int g_merged (gb_node **out) {
  gb_node *a = map1(GB_OP_SIN, in2(12, 35, -1, 1));
  return one(out, sum_all(mul(reshape(a, 1, (size_t[]){420}), in1(420, -1, 1))));
}
static int g_not_affine (gb_node **out) { /* 3 x 8 of 4 x 6, row by row */
  gb_node *a = map1(GB_OP_SIN, in2(6, 4, -1, 1));
  return one(out, sum_axis(reshape(map1(GB_OP_EXP, tr(a)), 2, (size_t[]){3, 8}), 0));
}
static int g_cast (gb_node **out) {
  gb_node *a = map1(GB_OP_EXP, in2(12, 35, -1, 1));
  return one(out,
             sum_all(map1(GB_OP_SIN, BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &a, NULL, NULL, GB_F32))));
}
static gb_node *positions (size_t n) {
  const gb_shape s = gb_shape_of(1, &n);
  return BUILD(gb_node_build, fx.g, GB_OP_RANGE, 0, NULL, &(gb_attr){.i = {1, 1}}, &s, GB_I64);
}
static int g_mixed (gb_node **out) { /* whole numbers are compared as such, then used as booleans */
  gb_node *odd = map2(GB_OP_EQ, map2(GB_OP_MOD, positions(35), BUILD(gb_node_const, fx.g, 2, GB_I64)),
                      BUILD(gb_node_const, fx.g, 1, GB_I64));
  gb_node *a = in2(12, 35, -1, 1);
  return one(out, sum_axis(BUILD(gb_map3, GB_OP_WHERE, map2(GB_OP_AND, odd, map2(GB_OP_LT, a, num(0.3))), a,
                                 num(-2)),
                           1));
}
static int g_detached (gb_node **out) {
  return one(out, sum_all(map1(GB_OP_DETACH, map1(GB_OP_DETACH, map1(GB_OP_SIN, in1(50, -1, 1))))));
}
static int g_mean (gb_node **out) {
  gb_node *a = in2(30, 40, -1, 1);
  return one(out, sub(a, BUILD(gb_mean, a, 2, true)));
}
static int g_one_index (gb_node **out) {
  return one(out, BUILD(gb_reduce, GB_OP_MAX, map1(GB_OP_SIN, in2(40, 1, -1, 1)), 2, false));
}
static int g_outer (gb_node **out) { /* one right-hand side from nothing but an outer product */
  return one(out, mm(mul(unsq(in1(90, -1, 1), 1), unsq(in1(80, -1, 1), 0)), in2(80, 2, -1, 1)));
}
static int g_vectors (gb_node **out) { /* more than the values; squared, as their signs are free */
  gb_node *a = in2(30, 30, -1, 1), *s = add(a, tr(a));
  gb_node *both = BUILD(gb_node_build, fx.g, GB_OP_EIGH, 1, &s, NULL, NULL, GB_F64),
          *v = square(BUILD(gb_pick, both, 1));
  return one(out, sum_all(map1(GB_OP_TANH, mm(v, map1(GB_OP_SIN, v)))));
}
static int g_leaf (gb_node **out) { return one(out, in1(5, -1, 1)); }

static const struct {
  const char *name;
  graph_of *f;
  const char *steps;
} graphs[] = {
    {"a chain of maps", g_chain, "map"},
    {"a sum of maps", g_sum, "sum"},
    {"a kernel product", g_product, "pairs"},
    {"a dense kernel", g_dense, "map"},
    {"a kernel and its product", g_both, "pairs map"},
    {"both sides of a kernel", g_two_sided, "pairs/2"},
    {"a product of a product", g_twice, "pairs pairs"},
    {"a product of stored matrices", g_gemm, "gemm"},
    {"a sum of such a product", g_gemm_sum, "gemm pairs"},
    {"a sum over dots", g_thin, "pairs"},
    {"softmax", g_softmax, "pairs pairs map"},
    {"softmax of a kernel, times v", g_softmax_product, "pairs pairs pairs"},
    {"cholesky of a kernel", g_cholesky, "map cholesky"},
    {"a row of a kernel", g_row, "map"},
    {"a corner of a kernel", g_corner, "map"},
    {"a trace of a kernel", g_trace, "sum"},
    {"a vector's exponential under pairs", g_hoisted, "map pairs"},
    {"a splitting reshape", g_affine, "pairs"},
    {"a merging reshape", g_merged, "sum"},
    {"a reshape that is not affine", g_not_affine, "map pairs"},
    {"a cast inside", g_cast, "map cast sum"},
    {"positions and numbers", g_mixed, "map pairs"},
    {"detach", g_detached, "sum"},
    {"a mean taken off", g_mean, "pairs map map"},
    {"a maximum of one", g_one_index, "map"},
    {"an outer product, times v", g_outer, "pairs"},
    {"products of eigenvectors", g_vectors, "map eigh map map gemm sum"},
    {"nothing to do", g_leaf, ""},
};

static const char *word_of (const gb_step *st) {
  if (!st->is_fold) return gb_ops[st->opaque.op].name;
  for (int i = 0; i < st->fold.nouts; i++)
    if (st->fold.out[i].reduced != 0) return visits_pairs(st) ? "pairs" : "sum";
  return "map";
}

static void steps_text (const gb_lowered *low, char *text, size_t room) {
  *text = '\0';
  for (int s = 0; s < low->nsteps; s++) {
    const gb_step *st = &low->step[s];
    const size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s", s > 0 ? " " : "", word_of(st));
    if (st->is_fold && st->fold.nouts > 1)
      snprintf(text + strlen(text), room - strlen(text), "/%d", st->fold.nouts);
  }
}

static void what_is_stored_is_as_the_table_says (void **unused) {
  (void)unused;
  int different = 0;
  for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
    gb_node *out[4];
    char text[512];
    eval_begin(1, (size_t)1 << 28);
    inputs_begin(i + 1, GB_F64, 0);
    const int n = graphs[i].f(out);
    gb_lowered *low = lowered((size_t)n, out);
    steps_text(low, text, sizeof text);
    if (strcmp(text, graphs[i].steps) != 0) {
      print_message("%s: \"%s\", not \"%s\"\n", graphs[i].name, text, graphs[i].steps);
      print_steps(low);
      different++;
    }
    gb_lowered_free(low);
    double *want[4];
    for (int k = 0; k < n; k++) OK(reference_eval(out[k], 0, NULL, &want[k], NULL, &fx.err));
    eval_all((size_t)n, out);
    for (int k = 0; k < n; k++) {
      for (size_t e = 0; e < count_of(out[k]); e++)
        if (!reference_close(element(out[k], 0, e), want[k][e], 1e-5, 1e-5))
          fail_msg("%s: other values", graphs[i].name);
      free(want[k]);
    }
    eval_end();
  }
  assert_int_equal(different, 0);
}

/* One expression over leaves that lie differently: a program of one is none of another's. */
static void leaves_are_read_as_they_lie (void **unused) {
  (void)unused;
  static const struct {
    size_t offset;
    ptrdiff_t row, column;
  } lies[] = {{0, 6, 1}, {0, 1, 4}, {23, -6, -1}, {5, 0, 1}, {2, 6, 0}, {30, 12, 2}, {3, 7, 1}};
  eval_begin(1, (size_t)1 << 28);
  gb_tensor all, part;
  const gb_shape room = gb_shape_of(1, (size_t[]){100}), s = gb_shape_of(2, (size_t[]){4, 6});
  OK(gb_tensor_new(&device->ledger, GB_F64, &room, GB_MEM_TENSOR, "", "", &all, &fx.err));
  for (size_t i = 0; i < 100; i++) ((double *)gb_tensor_data(&all))[i] = sin((double)i);
  for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
    part = all;
    part.shape = s;
    part.offset = lies[k].offset;
    part.stride[0] = lies[k].row;
    part.stride[1] = lies[k].column;
    gb_node *x = BUILD(gb_node_leaf, fx.g, &part, 0, ""), *y = map1(GB_OP_EXP, x),
            *out[2] = {y, sum_axis(square(x), 0)};
    eval_all(2, out);
    for (size_t i = 0; i < 24; i++) {
      const double v = sin((double)((ptrdiff_t)part.offset + (ptrdiff_t)(i / 6) * lies[k].row +
                                    (ptrdiff_t)(i % 6) * lies[k].column));
      if (!(fabs(element(y, 0, i) - exp(v)) <= 1e-14))
        fail_msg("leaf %zu, element %zu: %.17g", k, i, element(y, 0, i));
    }
    for (size_t j = 0; j < 6; j++) {
      double want = 0;
      for (size_t i = 0; i < 4; i++) {
        const double v = sin(
            (double)((ptrdiff_t)part.offset + (ptrdiff_t)i * lies[k].row + (ptrdiff_t)j * lies[k].column));
        want += v * v;
      }
      if (!(fabs(element(out[1], 0, j) - want) <= 1e-14)) fail_msg("leaf %zu, column %zu", k, j);
    }
  }
  gb_tensor_clear(&all);
  eval_end();
}

/* What is detached from a stored value is that value; from a leaf, which may be set, a copy. */
static void what_is_detached_lies_where_it_was_stored (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  gb_node *x = empty_of(GB_F64, 2, (size_t[]){40, 3}), *s = BUILD(gb_sqdist, x, x, NULL),
          *eye = BUILD(gb_eye, fx.g, 40, GB_F64),
          *c = add(radial(GB_RBF, s, BUILD(gb_node_const, fx.g, 1, GB_F64), NULL), eye),
          *l = BUILD(gb_cholesky, c, 0), *of_leaf = map1(GB_OP_DETACH, x),
          *outs[] = {l, map1(GB_OP_DETACH, l), x, of_leaf, map1(GB_OP_DETACH, map1(GB_OP_EXP, x))};
  gb_lowered *low = lowered(5, outs);
  assert_int_equal(low->out[0], low->out[1]);
  assert_int_not_equal(low->out[2], low->out[3]);
  assert_int_not_equal(low->out[3], low->out[4]);
  gb_lowered_free(low);
  eval_end();
}

/* Depth and breadth */

static gb_node *grow (gb_node *x, gb_node *next) {
  gb_node_unref(x);
  return next;
}

static void a_hundred_thousand_maps_are_lowered_in_regions (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(1, GB_F64, 0);
  gb_node *x = in1(9, -1, 1), *y = gb_node_ref(x), *next;
  double want = element(x, 0, 4);
  for (int i = 0; i < 100000; i++) {
    OK(gb_map1(i % 2 ? GB_OP_SIN : GB_OP_ATAN, y, &next, &fx.err));
    y = grow(y, next);
    want = i % 2 ? sin(want) : atan(want);
  }
  hold(GB_OK, y);
  gb_plan *p;
  OK(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err));
  const int steps = gb_plan_lowered(p)->nsteps;
  assert_true(steps > 100 && steps < 1000);
  OK(gb_plan_run(p, &fx.err));
  gb_plan_free(p);
  if (!(fabs(element(y, 0, 4) - want) <= 1e-12)) fail_msg("%.17g, want %.17g", element(y, 0, 4), want);
  eval_end();
}

/* Each of 1,000 means needs the one before. */
static void a_thousand_stored_values_may_stand_on_each_other (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  inputs_begin(1, GB_F64, 0);
  gb_node *y = gb_node_ref(in1(5, -1, 1)), *mean, *next;
  for (int i = 0; i < 1000; i++) {
    OK(gb_mean(y, 1, true, &mean, &fx.err));
    OK(gb_map2(GB_OP_SUB, y, mean, &next, &fx.err));
    gb_node_unref(mean);
    y = grow(y, next);
  }
  hold(GB_OK, y);
  gb_lowered *low = lowered(1, &y);
  assert_true(low->nsteps >= 1000);
  gb_lowered_free(low);
  eval1(y);
  double sum = 0;
  for (size_t i = 0; i < 5; i++) sum += element(y, 0, i);
  assert_true(fabs(sum) <= 1e-14);
  eval_end();
}

static void a_thousand_tensors_are_added_in_one_step (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 28);
  double want = 0;
  gb_node *part[1000];
  for (int i = 0; i < 1000; i++) {
    const double v[] = {i, sin(i)};
    part[i] = leaf_of(GB_F64, 0, 1, (size_t[]){2}, v, 0, 0);
    want += sin(i);
  }
  for (int n = 1000; n > 1; n = (n + 1) / 2)
    for (int i = 0; i < n / 2; i++) part[i] = add(part[i], part[n - 1 - i]);
  gb_lowered *low = lowered(1, part);
  assert_int_equal(low->nsteps, 1);
  gb_lowered_free(low);
  eval1(part[0]);
  assert_true(element(part[0], 0, 0) == 999 * 500);
  assert_true(fabs(element(part[0], 0, 1) - want) <= 1e-12);
  eval_end();
}

/* Of two reduced axes the tiles run along the one whose elements lie side by side, unless it is short. */
static void reductions_over_several_axes_run_along_memory (void **unused) {
  static const struct {
    size_t dim[3], tile;
  } cases[] = {{{100, 200, 100}, 100}, {{150, 200, 100}, 100}, {{100, 200, 150}, 150}, {{150, 200, 10}, 150}};
  (void)unused;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    eval_begin(1, (size_t)1 << 28);
    inputs_begin(1, GB_F64, 0);
    gb_node *y = BUILD(gb_reduce, GB_OP_SUM, empty_of(GB_F64, 3, cases[k].dim), 1u << 0 | 1u << 2, false);
    gb_lowered *low = lowered(1, &y);
    assert_int_equal(low->nsteps, 1);
    const gb_fold *f = &low->step[0].fold;
    size_t tile = 0;
    ptrdiff_t stride = 0;
    for (int a = 0; a < f->naxes; a++)
      if (f->axis[a].role == GB_AXIS_TILE) tile = f->axis[a].extent, stride = f->operand[0].stride[a];
    assert_int_equal(tile, cases[k].tile);
    assert_true((stride == 1) == (cases[k].tile == cases[k].dim[2]));
    gb_lowered_free(low);
    eval_end();
  }
}

/* A sum of maxima over axes of their own: past the axes that a domain can have, the expression is named. */
static void more_axes_than_a_domain_has_are_refused_in_words (void **unused) {
  (void)unused;
  eval_begin(1, (size_t)1 << 40);
  inputs_begin(1, GB_F64, 0);
  fx.g->where = gb_graph_intern(fx.g, "script.lua:7");
  gb_node *k = NULL;
  for (size_t i = 0; i < 14; i++) {
    gb_node *a = empty_of(GB_F64, 1, (size_t[]){1000}), *b = empty_of(GB_F64, 1, (size_t[]){1001});
    gb_node *c = empty_of(GB_F64, 1, (size_t[]){2000 + i});
    gb_node *t = map1(GB_OP_SIN, mul(unsq(unsq(a, 1), 2), mul(unsq(unsq(b, 1), 0), unsq(unsq(c, 0), 0))));
    gb_node *m = BUILD(gb_reduce, GB_OP_MAX, t, 1u << 2, false);
    k = k == NULL ? m : map1(GB_OP_SIN, add(k, m));
  }
  gb_node *z = sum_axis(k, 1);
  gb_lowered *low;
  assert_int_equal(gb_lower(fx.g, 1, &z, &low, &fx.err), GB_EREFUSED);
  assert_non_null(strstr(fx.err.text, "script.lua:7 has more than 12 axes at once"));
  eval_end();
}

/* A mask that becomes numbers is never stored, by however many points. */
static void masks_as_numbers_stream (void **unused) {
  (void)unused;
  enum { N = 100000 };
  for (int wide = 0; wide < 2; wide++) {
    eval_begin(1, (size_t)1 << 60);
    const gb_dtype t = wide ? GB_F64 : GB_F32;
    inputs_begin(1, t, 0);
    gb_node *x = empty_of(t, 2, (size_t[]){N, 3}), *v = empty_of(t, 2, (size_t[]){N, 1});
    gb_node *mask = map2(GB_OP_LT, BUILD(gb_sqdist, x, x, NULL), num(0.5));
    gb_node *numbers = BUILD(gb_node_build, fx.g, GB_OP_CAST, 1, &mask, NULL, NULL, t);
    gb_node *out[] = {rows_sum(numbers, 1), mm(numbers, v), sum_all(numbers)};
    gb_lowered *low = lowered(3, out);
    for (int b = 0; b < low->nbufs; b++) assert_true(low->buf[b].bytes <= (size_t)N * 8);
    gb_lowered_free(low);
    eval_end();
  }
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_spelling_of_a_product_is_one_program),
      cmocka_unit_test(random_rewrites_of_a_product_are_one_program),
      cmocka_unit_test(what_is_stored_is_as_the_table_says),
      cmocka_unit_test(leaves_are_read_as_they_lie),
      cmocka_unit_test(what_is_detached_lies_where_it_was_stored),
      cmocka_unit_test(a_hundred_thousand_maps_are_lowered_in_regions),
      cmocka_unit_test(a_thousand_stored_values_may_stand_on_each_other),
      cmocka_unit_test(a_thousand_tensors_are_added_in_one_step),
      cmocka_unit_test(masks_as_numbers_stream),
      cmocka_unit_test(reductions_over_several_axes_run_along_memory),
      cmocka_unit_test(more_axes_than_a_domain_has_are_refused_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
